//! The headers and cookies of a request: which hosts receive them, and when.

use super::tests::fetcher;
use super::*;
use std::sync::Mutex;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::robots::{RobotsAnswer, fetch_robots};

type Heads = Arc<Mutex<Vec<(Instant, String)>>>;

/// Starts a server that answers each path with a complete response; returns its URL and the heads of all requests.
async fn recorded(answer: impl Fn(&str) -> String + Send + Sync + 'static) -> (Url, Heads) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    let heads = Heads::default();
    let seen = Arc::clone(&heads);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap_or(b'\n'));
            }
            let head = String::from_utf8_lossy(&head).into_owned();
            let response = answer(head.split(' ').nth(1).unwrap_or_default());
            seen.lock().unwrap().push((Instant::now(), head));
            let _ = stream.write_all(response.as_bytes()).await;
        }
    });
    (url, heads)
}

fn text(body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}")
}

fn to(target: &str) -> String {
    format!(
        "HTTP/1.1 302 Found\r\nConnection: close\r\nContent-Length: 0\r\nLocation: {target}\r\n\r\n"
    )
}

fn all(heads: &Heads) -> Vec<String> {
    heads.lock().unwrap().iter().map(|(_, head)| head.clone()).collect()
}

#[tokio::test]
async fn url_credentials_are_never_sent_and_never_stored() {
    let (url, heads) = recorded(|_| text("page")).await;
    let fetcher = fetcher(&url, Options::default());
    let mut with = url.join("/x?y#part").unwrap();
    with.set_username("admin").unwrap();
    with.set_password(Some("secret")).unwrap();
    let response = fetcher.get(&with).await.unwrap();
    assert_eq!(response.url, url.join("/x?y").unwrap());
    let request = String::from_utf8(response.request).unwrap();
    let target = with.to_string().replace("http://", "//");
    let (host, heads_of_host) = recorded(move |path| match path {
        "/robots.txt" => to(&target),
        _ => text("page"),
    })
    .await;
    let mut guard = AddressGuard::default();
    guard.allow_seed(&url);
    guard.allow_seed(&host);
    let both = Fetcher::new(Options { guard, ..Options::default() }).unwrap();
    let answer = fetch_robots(&both, &host, Duration::ZERO).await;
    assert!(matches!(&answer, RobotsAnswer::Text(text) if text == b"page"), "{answer:?}");
    let heads = all(&heads);
    assert_eq!(heads.len(), 2);
    for head in heads.iter().chain(&all(&heads_of_host)).chain([&request]) {
        let head = head.to_ascii_lowercase();
        let secrets = ["authorization", "admin", "secret", "part"];
        assert!(!secrets.iter().any(|secret| head.contains(secret)), "{head}");
    }
}

#[tokio::test]
async fn headers_go_to_their_own_scheme_host_and_port_alone() {
    let (url, heads) = recorded(|_| text("page")).await;
    let port = url.port().unwrap();
    let get = async |origin: String| {
        let headers = vec![("x-key".to_owned(), "secret".to_owned())];
        let options = Options { headers, header_origins: vec![origin], ..Options::default() };
        fetcher(&url, options).get(&url).await.unwrap();
        all(&heads).pop().unwrap().contains("secret")
    };
    assert!(get(origin(&url)).await);
    // The port is equal, but the headers for https would be sent unencrypted.
    assert!(!get(format!("https://127.0.0.1:{port}")).await);
    assert!(!get("http://127.0.0.1".to_owned()).await);
    for (text, expected) in [
        ("https://A.example:443/x", "https://a.example"),
        ("http://a.example:443/", "http://a.example:443"),
        ("http://[::1]:80/", "http://[::1]"),
    ] {
        assert_eq!(origin(&Url::parse(text).unwrap()), expected);
    }
}

#[tokio::test]
async fn each_redirect_of_a_robots_txt_waits_for_the_pause() {
    let (url, heads) = recorded(|path| match path {
        "/robots.txt" => to("/1"),
        "/1" => to("/2"),
        "/2" => text("User-agent: *"),
        _ => to("/robots.txt"),
    })
    .await;
    let pause = Duration::from_millis(300);
    let answer = fetch_robots(&fetcher(&url, Options::default()), &url, pause).await;
    assert!(matches!(answer, RobotsAnswer::Text(text) if text == b"User-agent: *"));
    let times: Vec<Instant> = heads.lock().unwrap().iter().map(|(time, _)| *time).collect();
    assert_eq!(times.len(), 3);
    let waited = times.windows(2).map(|pair| pair[1].duration_since(pair[0]));
    assert!(waited.clone().all(|time| time >= pause), "{:?}", waited.collect::<Vec<_>>());
}

#[tokio::test]
async fn a_copy_is_asked_for_by_its_date_alone_and_a_304_comes_through() {
    let (url, heads) = recorded(|_| {
        "HTTP/1.1 304 Not Modified\r\nConnection: close\r\nETag: \"2\"\r\n\r\n".to_owned()
    })
    .await;
    let fetcher = fetcher(&url, Options::default());
    let date = "Wed, 21 Oct 2026 07:28:00 GMT".to_owned();
    let known = Validators { etag: None, last_modified: Some(date.clone()) };
    let response = fetcher.get_if_changed(&url, &known).await.unwrap();
    assert_eq!((response.status, response.body.len(), response.bodiless), (304, 0, true));
    assert_eq!(response.header("etag"), Some("\"2\""));
    let head = all(&heads).pop().unwrap();
    assert!(head.contains(&format!("if-modified-since: {date}\r\n")), "{head}");
    assert!(!head.contains("if-none-match"), "{head}");
    let archived = String::from_utf8(response.request).unwrap();
    assert!(archived.contains("if-modified-since"), "{archived}");
}

#[tokio::test]
async fn cookies_go_back_to_their_host_and_to_it_alone() {
    let cookie = |path: &str| {
        text("page").replace("\r\n\r\n", &format!("\r\nSet-Cookie: id={path}; Domain=0.1\r\n\r\n"))
    };
    let (url, heads) = recorded(move |path| cookie(&path[1..])).await;
    for cookies in [true, false] {
        let fetcher = fetcher(&url, Options { cookies, ..Options::default() });
        for path in ["/7", "/8"] {
            fetcher.get(&url.join(path).unwrap()).await.unwrap();
        }
        let head = all(&heads).pop().unwrap();
        assert_eq!(head.contains("\r\ncookie: id=7\r\n"), cookies, "{head}");
    }
}

#[tokio::test]
async fn an_unresolved_host_name_fails_within_the_dns_timeout() {
    let limits = Limits { dns_timeout: Duration::from_millis(200), ..Limits::default() };
    let fetcher = Fetcher::new(Options { limits, ..Options::default() }).unwrap();
    *fetcher.resolver.script.lock().unwrap() = vec![None, None];
    let url = Url::parse("http://hangs.example/").unwrap();
    let began = Instant::now();
    for error in [fetcher.address(&url).await.unwrap_err(), fetcher.get(&url).await.unwrap_err()] {
        assert_eq!(error.kind(), Kind::Dns, "{error}");
        assert!(error.to_string().contains("no name server answered within 0.2 s"), "{error}");
    }
    assert!(began.elapsed() < Duration::from_secs(5));
    assert_eq!(Limits::default().dns_timeout, Duration::from_secs(10));
}

/// RFC 8305: an address that does not answer delays a request briefly, not by the connect timeout.
#[tokio::test]
async fn a_host_whose_ipv6_address_does_not_answer_is_reached_by_ipv4() {
    let (url, _) = recorded(|_| text("page")).await;
    let port = url.port().unwrap();
    // Fill the accept queue: further connections get no answer.
    let silent = socket2::Socket::new(socket2::Domain::IPV6, socket2::Type::STREAM, None).unwrap();
    let address: std::net::SocketAddr = format!("[::1]:{port}").parse().unwrap();
    if silent.bind(&address.into()).is_err() {
        eprintln!("left out: this machine has no IPv6");
        return;
    }
    silent.listen(0).unwrap();
    let wait = Duration::from_millis(100);
    let mut queued = Vec::new();
    while let Ok(stream) = std::net::TcpStream::connect_timeout(&address, wait) {
        queued.push(stream);
    }
    let allow = vec!["::1/128".parse().unwrap(), "127.0.0.0/8".parse().unwrap()];
    let guard = AddressGuard { allow, ..AddressGuard::default() };
    let fetcher = Fetcher::new(Options { guard, ..Options::default() }).unwrap();
    let answer = ["[::1]:0", "127.0.0.1:0"].map(|address| address.parse().unwrap()).to_vec();
    fetcher.resolver.script.lock().unwrap().push(Some(answer));
    let url = Url::parse(&format!("http://dual.example:{port}/")).unwrap();
    let started = Instant::now();
    assert_eq!(fetcher.get(&url).await.unwrap().status, 200);
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
}
