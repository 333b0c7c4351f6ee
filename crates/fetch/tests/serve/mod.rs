//! TLS servers on loopback, for the tests of this crate and those of the whole program.

pub(crate) mod http2;

use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A certificate and its key, in DER.
pub(crate) type Identity = [&'static [u8]; 2];

/// Made by `openssl req -x509 -newkey ec -days 36500`, for `localhost` and 127.0.0.1.
pub(crate) const SELF_SIGNED: Identity = [
    include_bytes!("../data/loopback-certificate.der"),
    include_bytes!("../data/loopback-key.der"),
];
/// For the same names, signed with the key of root.pem.
pub(crate) const SIGNED: Identity =
    [include_bytes!("../data/signed-certificate.der"), include_bytes!("../data/signed-key.der")];

pub(crate) type Connection = StreamOwned<ServerConnection, TcpStream>;

/// Starts a server that offers these protocols and passes each connection to `serve`; returns its port.
pub(crate) fn tls_server(
    [certificate, key]: Identity,
    protocols: &[&str],
    serve: impl Fn(Connection) + Send + Sync + 'static,
) -> u16 {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key));
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![CertificateDer::from(certificate)], key)
        .unwrap();
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    let (config, serve) = (Arc::new(config), Arc::new(serve));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let serve = Arc::clone(&serve);
            std::thread::spawn(move || serve(StreamOwned::new(connection, socket)));
        }
    });
    port
}
