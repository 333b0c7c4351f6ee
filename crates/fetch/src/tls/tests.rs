use super::*;
use crate::client::{Fetcher, Options};
use crate::guard::AddressGuard;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, Stream};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use url::Url;

/// Made by `openssl req -x509 -newkey ec -days 36500`, for `localhost` and 127.0.0.1.
const CERTIFICATE: &[u8] = include_bytes!("../../tests/data/loopback-certificate.der");
const KEY: &[u8] = include_bytes!("../../tests/data/loopback-key.der");

/// A server whose certificate nobody has signed; its port.
fn server() -> u16 {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(KEY));
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![CertificateDer::from(CERTIFICATE)], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            let mut connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = Stream::new(&mut connection, &mut socket);
            // A handshake that the client breaks off is an error here.
            if stream.read(&mut [0; 2048]).is_ok() {
                let answer =
                    "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\npage";
                let _ = stream.write_all(answer.as_bytes());
            }
        }
    });
    port
}

#[tokio::test]
async fn a_certificate_of_nobody_is_taken_of_the_named_host_alone() {
    let port = server();
    let [named, other] = ["127.0.0.1", "localhost"]
        .map(|host| Url::parse(&format!("https://{host}:{port}/")).unwrap());
    let with = |insecure: &[&str]| {
        let mut guard = AddressGuard::default();
        guard.allow_seed(&named);
        guard.allow_seed(&other);
        let insecure = insecure.iter().map(|host| (*host).to_owned()).collect();
        Fetcher::new(Options { guard, insecure, ..Options::default() }).unwrap()
    };
    for url in [&named, &other] {
        let error = with(&[]).get(url).await.unwrap_err();
        assert_eq!(error.kind(), Kind::Tls, "{url}: {error}");
        assert!(!error.is_transient());
    }
    for host in ["127.0.0.1".to_owned(), format!("127.0.0.1:{port}")] {
        let insecure = with(&[&host]);
        assert_eq!(insecure.get(&named).await.unwrap().body, "page");
        assert_eq!(insecure.get(&other).await.unwrap_err().kind(), Kind::Tls);
    }
    let elsewhere = with(&["127.0.0.1:1"]);
    assert_eq!(elsewhere.get(&named).await.unwrap_err().kind(), Kind::Tls);
}
