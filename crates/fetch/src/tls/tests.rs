use super::*;
use crate::client::{Fetcher, Options};
use crate::guard::AddressGuard;
use crate::serve::{Connection, SELF_SIGNED, SIGNED, tls_server};
use std::io::Write as _;
use url::Url;

pub(crate) fn one_page(mut stream: Connection) {
    // The client may abort the handshake.
    if stream.read(&mut [0; 2048]).is_ok() {
        let answer = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\npage";
        let _ = stream.write_all(answer.as_bytes());
    }
}

fn urls(port: u16) -> [Url; 2] {
    ["127.0.0.1", "localhost"].map(|host| Url::parse(&format!("https://{host}:{port}/")).unwrap())
}

fn fetcher(urls: &[Url], options: Options) -> Fetcher {
    let mut guard = AddressGuard::default();
    urls.iter().for_each(|url| guard.allow_seed(url));
    Fetcher::new(Options { guard, ..options }).unwrap()
}

#[tokio::test]
async fn a_self_signed_certificate_is_accepted_from_the_named_host_alone() {
    let port = tls_server(SELF_SIGNED, &[], one_page);
    let urls = urls(port);
    let [named, other] = &urls;
    let with = |insecure: &[&str]| {
        let insecure = insecure.iter().map(|host| (*host).to_owned()).collect();
        fetcher(&urls, Options { insecure, ..Options::default() })
    };
    for url in &urls {
        let error = with(&[]).get(url).await.unwrap_err();
        assert_eq!(error.kind(), Kind::Tls, "{url}: {error}");
        assert!(!error.is_transient());
    }
    for host in ["127.0.0.1".to_owned(), format!("127.0.0.1:{port}")] {
        let insecure = with(&[&host]);
        assert_eq!(insecure.get(named).await.unwrap().body, "page");
        assert_eq!(insecure.get(other).await.unwrap_err().kind(), Kind::Tls);
    }
    let elsewhere = with(&["127.0.0.1:1"]);
    assert_eq!(elsewhere.get(named).await.unwrap_err().kind(), Kind::Tls);
}

#[tokio::test]
async fn a_named_file_makes_its_certificates_trusted() {
    let data = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    let [signed, alone] = [SIGNED, SELF_SIGNED].map(|keys| urls(tls_server(keys, &[], one_page)));
    let all = [signed.clone(), alone.clone()].concat();
    let with = |roots: &[&str]| {
        let roots = roots.iter().map(|name| data(name)).collect();
        fetcher(&all, Options { roots, ..Options::default() })
    };
    let (root, itself) = (with(&["root.pem"]), with(&["loopback-certificate.pem"]));
    for [url, other] in [[&signed[0], &alone[0]], [&signed[1], &alone[1]]] {
        assert_eq!(root.get(url).await.unwrap().body, "page");
        assert_eq!(root.get(other).await.unwrap_err().kind(), Kind::Tls);
        // A self-signed certificate is trusted if the file contains it.
        assert_eq!(itself.get(other).await.unwrap().body, "page");
        assert_eq!(itself.get(url).await.unwrap_err().kind(), Kind::Tls);
    }
    for wrong in ["no-such.pem", "loopback-key.der"] {
        let options = Options { roots: vec![data(wrong)], ..Options::default() };
        let error = Fetcher::new(options).unwrap_err().to_string();
        assert!(error.contains(wrong), "{error}");
    }
}

#[test]
fn a_named_certificate_is_good_for_its_names_only() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/loopback-certificate.pem");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = Verifier::new(Some(&Trust::new(&[file]).unwrap()), provider).unwrap();
    let verify = |name: &'static str| {
        let name = ServerName::try_from(name).unwrap();
        let certificate = CertificateDer::from(SELF_SIGNED[0]);
        verifier.verify_server_cert(&certificate, &[], &name, &[], UnixTime::now())
    };
    assert!(verify("localhost").is_ok());
    assert!(verify("a.example").is_err());
}
