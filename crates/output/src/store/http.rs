//! The HTTP client of a store: TLS by rustls, no redirects, limited answers.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use http_body_util::{BodyExt, Limited};
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService,
};
use rustls::{ClientConfig, RootCertStore};

use super::limits::{CONNECT_TIME, MAX_ANSWER};

/// Hands out one client.
#[derive(Clone, Debug)]
pub(crate) struct Connector(reqwest::Client);

#[derive(Debug)]
struct Service(reqwest::Client);

impl Connector {
    /// Creates a client. `is_plain`: over `http`, to the loopback interface only.
    pub(crate) fn new(is_plain: bool, request_time: std::time::Duration) -> Result<Self, String> {
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls(!is_plain)?)
            // A redirect would send signed requests to another host.
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .http1_only()
            .https_only(!is_plain)
            .connect_timeout(CONNECT_TIME)
            .timeout(request_time)
            .user_agent(concat!("hapax/", env!("CARGO_PKG_VERSION")));
        if is_plain {
            let loopback: [SocketAddr; 2] =
                [(Ipv4Addr::LOCALHOST, 0).into(), (Ipv6Addr::LOCALHOST, 0).into()];
            builder = builder.no_proxy().resolve_to_addrs("localhost", &loopback);
        }
        builder.build().map(Self).map_err(|error| error.to_string())
    }
}

impl HttpConnector for Connector {
    fn connect(&self, _: &object_store::ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(Service(self.0.clone())))
    }
}

#[async_trait]
impl HttpService for Service {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (head, body) = HttpService::call(&self.0, request).await?.into_parts();
        let limited = Limited::new(body, MAX_ANSWER)
            .map_err(|error| HttpError::new_boxed(HttpErrorKind::Decode, error));
        Ok(HttpResponse::from_parts(head, HttpResponseBody::new(limited)))
    }
}

/// Trusts Mozilla's roots and those of the system or of `SSL_CERT_FILE`. Loads none if they are not `needed`.
fn tls(needed: bool) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    if needed {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| error.to_string())?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}
