//! TLS: trusted roots, ALPN, and connections without verification for hosts that the user named.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::error::{Error, Kind};

/// Environment variable: a file of trusted roots that replaces the system's.
const SSL_CERT_FILE: &str = "SSL_CERT_FILE";
/// Certificates per file.
const MAX_ROOTS: usize = 10_000;
/// Bytes that are read of a file.
const MAX_FILE: u64 = 16 << 20;

/// Returns the file of trusted roots that the environment variable `SSL_CERT_FILE` names.
pub fn roots_file() -> Option<PathBuf> {
    std::env::var_os(SSL_CERT_FILE).filter(|path| !path.is_empty()).map(PathBuf::from)
}

#[derive(Debug)]
pub(crate) struct Trust {
    roots: Arc<RootCertStore>,
    /// Certificates of files that the user named. A server with one of them is accepted without a check of the
    /// signature: most self-signed certificates are marked as a CA, which verifiers reject for a server (RFC 5280,
    /// section 4.2.1.9).
    named: Vec<CertificateDer<'static>>,
}

impl Trust {
    /// Loads Mozilla's roots, the system's or those of `SSL_CERT_FILE`, and those of the PEM files `more`.
    ///
    /// # Errors
    /// If a file of `more` or `SSL_CERT_FILE` is unreadable or has no certificate. Ignores unreadable system roots.
    pub(crate) fn new(more: &[PathBuf]) -> Result<Self, Error> {
        let (mut roots, mut named) = (RootCertStore::empty(), Vec::new());
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        match roots_file() {
            Some(path) => named.extend(read_file(SSL_CERT_FILE, &path)?),
            None => {
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            }
        }
        for path in more {
            named.extend(read_file("--ca", path)?);
        }
        roots.add_parsable_certificates(named.iter().cloned());
        Ok(Self { roots: Arc::new(roots), named })
    }
}

fn read_file(source: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let wrong = |what: &str| Error::new(Kind::Tls, format!("{source} {}: {what}", path.display()));
    let file = File::open(path).map_err(|error| wrong(&error.to_string()))?;
    // A device has no end, and may have no line end.
    let input = BufReader::new(file.take(MAX_FILE));
    let read: Result<Vec<_>, _> = CertificateDer::pem_reader_iter(input).take(MAX_ROOTS).collect();
    match read {
        Ok(read) if read.is_empty() => Err(wrong("it has no certificate in PEM format")),
        Ok(read) => Ok(read),
        Err(error) => Err(wrong(&error.to_string())),
    }
}

/// Builds a configuration. Without `trust` it verifies no certificate: use it only for hosts that the user named.
pub(crate) fn config(trust: Option<&Trust>, protocols: &[&str]) -> Result<ClientConfig, Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = Verifier::new(trust, Arc::clone(&provider))?;
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::new(Kind::Protocol, error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    Ok(config)
}

/// Verifies certificates, except those that the user named, or none at all. It always checks the signatures of the
/// handshake.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    /// `None` accepts every certificate.
    roots: Option<Arc<WebPkiServerVerifier>>,
    named: Vec<CertificateDer<'static>>,
}

impl Verifier {
    fn new(trust: Option<&Trust>, provider: Arc<CryptoProvider>) -> Result<Self, Error> {
        let Some(trust) = trust else {
            return Ok(Self { provider, roots: None, named: Vec::new() });
        };
        let roots = Arc::clone(&trust.roots);
        let roots = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider))
            .build()
            .map_err(|error| Error::new(Kind::Tls, error.to_string()))?;
        Ok(Self { provider, roots: Some(roots), named: trust.named.clone() })
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(roots) = &self.roots else { return Ok(ServerCertVerified::assertion()) };
        if self.named.iter().any(|named| named.as_ref() == certificate.as_ref()) {
            verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
            return Ok(ServerCertVerified::assertion());
        }
        roots.verify_server_cert(certificate, intermediates, name, ocsp, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
pub(crate) mod tests;
