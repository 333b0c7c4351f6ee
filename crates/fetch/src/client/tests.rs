use super::*;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::error::Kind;
use crate::sitemap::{Sitemap, SitemapLimits};

/// Starts a server that answers each path with the head and body that `answer` returns.
async fn server(answer: impl Fn(&str) -> (String, Vec<u8>) + Send + Sync + 'static) -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let answer = Arc::new(answer);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let answer = Arc::clone(&answer);
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await.unwrap_or(b'\n'));
                }
                let head = String::from_utf8_lossy(&head).into_owned();
                let (headers, body) = answer(head.split(' ').nth(1).unwrap_or_default());
                let length = body.len();
                let head = format!(
                    "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n"
                );
                let _ = stream.write_all(&[head.into_bytes(), body].concat()).await;
            });
        }
    });
    Url::parse(&url).unwrap()
}

pub(super) fn fetcher(url: &Url, options: Options) -> Fetcher {
    let mut guard = AddressGuard::default();
    guard.allow_seed(url);
    Fetcher::new(Options { guard, user_agent: "test".into(), ..options }).unwrap()
}

fn zeros(length: usize) -> Vec<u8> {
    let mut gz = GzEncoder::new(Vec::new(), Compression::best());
    gz.write_all(&vec![0; length]).unwrap();
    gz.finish().unwrap()
}

#[tokio::test]
async fn words_in_a_url_do_not_change_the_kind_of_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let closed = format!("http://{}/certificates/timed out", listener.local_addr().unwrap());
    drop(listener);
    let url = Url::parse(&closed).unwrap();
    let error = fetcher(&url, Options::default()).get(&url).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Connect, "{error}");
    let url = url.join("/invalid%20peer?tls%20handshake&certificate").unwrap();
    let error = fetcher(&url, Options::default()).get(&url).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Connect, "{error}");
}

#[tokio::test]
async fn few_large_bodies_wait_and_one_more_is_put_off_at_once() {
    let limits = Limits { large_bodies: 1, waiting_bodies: 2, ..Limits::default() };
    let bodies = crate::body::Bodies::new(limits);
    let held = bodies.permit().await.unwrap();
    let waits: Vec<_> = (0..2)
        .map(|_| {
            let bodies = bodies.clone();
            tokio::spawn(async move { bodies.permit().await.is_ok() })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(50)).await;
    let error = bodies.permit().await.unwrap_err();
    assert!(error.is_ours() && error.kind() == Kind::Busy, "{error}");
    drop(held);
    for wait in waits {
        assert!(wait.await.unwrap());
    }
    assert!(bodies.permit().await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn few_large_bodies_are_decoded_at_a_time() {
    let (honest, bomb) = (zeros(2 << 20), zeros(9 << 20));
    let url = server(move |path| {
        let body = if path == "/bomb" { &bomb } else { &honest };
        ("Content-Encoding: gzip\r\n".into(), body.clone())
    })
    .await;
    let limits =
        Limits { large_bodies: 2, max_ratio: 10_000, max_body: 8 << 20, ..Limits::default() };
    let fetcher = fetcher(&url, Options { limits, ..Options::default() });
    let bomb = url.join("/bomb").unwrap();

    let held = [fetcher.get(&url).await.unwrap(), fetcher.get(&url).await.unwrap()];
    assert!(held.iter().all(|response| response.body.len() == 2 << 20));
    // Their size shows only after decoding, so none of them was decoded.
    let get = || {
        let (fetcher, bomb) = (fetcher.clone(), bomb.clone());
        tokio::spawn(async move { fetcher.get(&bomb).await.map(|_| ()) })
    };
    let bombs: Vec<_> = (0..32).map(|_| get()).collect();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!bombs.iter().any(tokio::task::JoinHandle::is_finished));
    drop(held);
    for bomb in bombs {
        assert_eq!(bomb.await.unwrap().unwrap_err().kind(), Kind::Bomb);
    }

    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let all: Vec<_> = (0..16)
        .map(|_| {
            let (fetcher, url) = (fetcher.clone(), url.clone());
            let (now, most) = (Arc::clone(&now), Arc::clone(&most));
            tokio::spawn(async move {
                let response = fetcher.get(&url).await.unwrap();
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(5)).await;
                now.fetch_sub(1, Ordering::SeqCst);
                drop(response);
            })
        })
        .collect();
    for one in all {
        one.await.unwrap();
    }
    assert!(most.load(Ordering::SeqCst) <= 2, "{most:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_for_a_large_body_permit_does_not_consume_the_timeout() {
    let url = server(|_| (String::new(), vec![b'x'; 4 << 20])).await;
    let limits =
        Limits { large_bodies: 1, read_timeout: Duration::from_secs(1), ..Limits::default() };
    let fetcher = fetcher(&url, Options { limits, ..Options::default() });
    let held = fetcher.get(&url).await.unwrap();
    let (other, at) = (fetcher.clone(), url.clone());
    let waits = tokio::spawn(async move { other.get(&at).await });
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(!waits.is_finished());
    drop(held);
    let response = waits.await.unwrap().unwrap();
    assert_eq!(response.body.len(), 4 << 20);
    assert!(response.took < Duration::from_millis(1500), "{:?}", response.took);
}

#[tokio::test]
async fn a_dripping_server_is_abandoned_even_after_a_fast_start() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    tokio::spawn(async move {
        // The second one keeps a permit of large bodies while it drips.
        for begins_with in [1, 3 << 20] {
            let Ok((mut stream, _)) = listener.accept().await else { return };
            let _ = stream.read(&mut [0; 1024]).await;
            let head = b"HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n".to_vec();
            let _ = stream.write_all(&[head, vec![b'x'; begins_with]].concat()).await;
            while stream.write_all(b"x").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    });
    let limits = Limits { slow_after: Duration::from_millis(500), ..Limits::default() };
    let fetcher = fetcher(&url, Options { limits, ..Options::default() });
    for _ in 0..2 {
        let began = Instant::now();
        let error = fetcher.get(&url).await.unwrap_err();
        assert_eq!(error.kind(), Kind::Timeout, "{error}");
        assert!(error.to_string().contains("too slow"), "{error}");
        let took = began.elapsed();
        assert!((500..10_000).contains(&took.as_millis()), "{took:?}");
    }
}

#[tokio::test]
async fn a_server_that_stops_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    tokio::spawn(async move {
        let mut kept = Vec::new();
        // The first one never answers; the second one sends single bytes.
        for drips in [false, true] {
            let Ok((mut stream, _)) = listener.accept().await else { return };
            let _ = stream.read(&mut [0; 1024]).await;
            let head = "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n";
            if drips {
                let _ = stream.write_all(head.as_bytes()).await;
                while stream.write_all(b"x").await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
            kept.push(stream);
        }
    });
    let (read_timeout, total_timeout) = (Duration::from_millis(400), Duration::from_millis(900));
    let limits = Limits { read_timeout, total_timeout, ..Limits::default() };
    let fetcher = fetcher(&url, Options { limits, ..Options::default() });
    for expected in [read_timeout, total_timeout] {
        let began = Instant::now();
        let error = fetcher.get(&url).await.unwrap_err();
        assert_eq!(error.kind(), Kind::Timeout, "{error}");
        assert!(began.elapsed() >= expected, "{error}");
    }
}

#[tokio::test]
async fn a_slow_connect_and_a_slow_response_have_separate_timeouts_and_errors() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut kept = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            kept.push(stream);
        }
    });
    let milliseconds = Duration::from_millis;
    for (scheme, connect, read, kind, least) in [
        // Over TLS, without an answer to the handshake.
        ("https", 600, 200, Kind::Connect, 600),
        ("https", 200, 600, Kind::Connect, 200),
        ("http", 300, 200, Kind::Timeout, 500),
        ("http", 200, 300, Kind::Timeout, 300),
    ] {
        let url = Url::parse(&format!("{scheme}://{address}/")).unwrap();
        let (connect_timeout, read_timeout) = (milliseconds(connect), milliseconds(read));
        let limits = Limits { connect_timeout, read_timeout, ..Limits::default() };
        let fetcher = fetcher(&url, Options { limits, ..Options::default() });
        let began = Instant::now();
        let error = fetcher.get(&url).await.unwrap_err();
        let took = began.elapsed();
        assert_eq!(error.kind(), kind, "{scheme} {connect} {read}: {error}");
        assert!(took >= milliseconds(least), "{scheme} {connect} {read}: {took:?}");
    }
}

#[tokio::test]
async fn response_cookies_are_kept_only_for_requests_without_cookies_or_headers() {
    let text = zeros(3000);
    let cookies = format!("Set-Cookie: {}\r\n", "y".repeat(500)).repeat(20);
    let url = server(move |_| (format!("{cookies}Content-Encoding: gzip\r\n"), text.clone())).await;
    let plain = fetcher(&url, Options::default()).get(&url).await.unwrap();
    assert_eq!(plain.body.len(), 3000);
    assert_eq!(plain.header("content-encoding"), Some("gzip"));
    assert!(plain.header("set-cookie").is_some());
    let limits = Limits { max_headers: 5, ..Limits::default() };
    let bare = fetcher(&url, Options { limits, ..Options::default() }).get(&url).await.unwrap();
    assert_eq!((bare.headers.len(), bare.body.len()), (0, 3000));
    let headers = vec![("x-key".to_owned(), "secret".to_owned())];
    for options in
        [Options { cookies: true, ..Options::default() }, Options { headers, ..Options::default() }]
    {
        let response = fetcher(&url, options).get(&url).await.unwrap();
        assert_eq!(response.header("set-cookie"), None);
        assert!(response.header("content-encoding").is_some());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unwanted_body_is_not_read_unless_it_is_short() {
    let url = server(|path| {
        let (kind, length) = match path {
            "/page" => ("text/html", 1 << 20),
            "/image" => ("image/png", 1 << 20),
            "/icon" => ("image/png", 100),
            // An unwanted body is never decoded, so an error in it does not matter.
            "/packed" => ("image/png\r\nContent-Encoding: gzip", 100),
            _ => ("image/png", 0),
        };
        (format!("Content-Type: {kind}\r\n"), vec![b'x'; length])
    })
    .await;
    let limits = Limits { max_body: 2 << 20, ..Limits::default() };
    let fetcher = fetcher(&url, Options { limits, ..Options::default() });
    for (path, raw, body, bodiless) in [
        ("/page", 1 << 20, 1 << 20, false),
        ("/image", 0, 0, false),
        ("/icon", 100, 0, false),
        ("/packed", 100, 0, false),
        ("/nothing", 0, 0, true),
    ] {
        let url = url.join(path).unwrap();
        let wanted = |kind: &str| kind == "text/html";
        let response = fetcher.get_wanted(&url, &Validators::default(), wanted).await.unwrap();
        assert_eq!((response.raw.len(), response.body.len()), (raw, body), "{path}");
        assert_eq!(response.bodiless, bodiless, "{path}");
    }
}

#[tokio::test]
async fn a_body_that_breaks_off_matters_only_where_it_is_wanted() {
    let url = server(|path| {
        let kind = if path == "/page" { "text/html" } else { "image/png" };
        let head = format!("Content-Type: {kind}\r\nTransfer-Encoding: chunked\r\n");
        (head, b"5\r\nwhole\r\nno chunk".to_vec())
    })
    .await;
    let fetcher = fetcher(&url, Options::default());
    let get = async |path: &str| {
        let (url, wanted) = (url.join(path).unwrap(), |kind: &str| kind == "text/html");
        fetcher.get_wanted(&url, &Validators::default(), wanted).await
    };
    assert_eq!(get("/page").await.unwrap_err().kind(), Kind::Protocol);
    let image = get("/image").await.unwrap();
    assert_eq!((image.status, image.raw.len(), image.bodiless), (200, 0, false));
}

#[tokio::test]
async fn old_and_odd_headers_lose_no_page() {
    let twice = |body: &[u8]| {
        let gzip = |body: &[u8]| {
            let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
            gz.write_all(body).unwrap();
            gz.finish().unwrap()
        };
        gzip(&gzip(body))
    };
    let url = server(move |path| match path {
        "/folded" => ("X-Long: one\r\n\ttwo\r\n".to_owned(), b"page".to_vec()),
        "/space" => ("X-Odd : one\r\nX Odd: two\r\n".to_owned(), b"page".to_vec()),
        "/none" => ("Content-Encoding: none\r\n".to_owned(), b"page".to_vec()),
        "/utf" => ("Content-Encoding: UTF-8\r\n".to_owned(), b"page".to_vec()),
        _ => ("Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n".to_owned(), twice(b"page")),
    })
    .await;
    let fetcher = fetcher(&url, Options::default());
    for path in ["/folded", "/space", "/none", "/utf", "/twice"] {
        let response = fetcher.get(&url.join(path).unwrap()).await;
        assert_eq!(response.map(|response| response.body).unwrap(), "page", "{path}");
    }
}

#[tokio::test]
async fn an_encoded_sitemap_is_read_as_a_stream_and_cut_at_its_limit() {
    let entry = |n: usize| format!("<url><loc>http://a.example/{n}</loc></url>");
    let map: String = (0..3000).map(entry).collect();
    let map = format!("<urlset>{map}</urlset>");
    let mut gz = GzEncoder::new(Vec::new(), Compression::best());
    gz.write_all(map.as_bytes()).unwrap();
    let packed = gz.finish().unwrap();
    let url = server(move |path| match path {
        "/plain" => (String::new(), map.clone().into_bytes()),
        "/declared" => ("Content-Encoding: gzip\r\n".into(), map.clone().into_bytes()),
        _ => ("Content-Encoding: gzip\r\n".into(), packed.clone()),
    })
    .await;
    let known = Validators::default();
    let whole = fetcher(&url, Options::default());
    for (path, is_decoded) in [("/plain", true), ("/declared", false), ("/packed", false)] {
        let at = url.join(path).unwrap();
        let response = whole.get_sitemap(&at, &known).await.unwrap();
        assert_eq!(!response.body.is_empty(), is_decoded, "{path}");
        let found = Sitemap::of_response(&at, &response, &SitemapLimits::default());
        assert_eq!((found.pages.len(), found.cut), (3000, false), "{path}");
        let response = whole.get_list(&at, &known).await.unwrap();
        let found = Sitemap::of_response(&at, &response, &SitemapLimits::default());
        assert_eq!((found.pages.len(), found.cut), (3000, false), "{path}");
    }
    // The decoded body is longer than the limit, the one on the wire is not.
    let limits = Limits { max_sitemap: 20_000, ..Limits::default() };
    let short = SitemapLimits { max_bytes: 20_000, ..SitemapLimits::default() };
    let client = fetcher(&url, Options { limits, ..Options::default() });
    let at = url.join("/packed").unwrap();
    for response in [client.get_sitemap(&at, &known).await, client.get_list(&at, &known).await] {
        let found = Sitemap::of_response(&at, &response.unwrap(), &short);
        assert!(found.cut && (400..600).contains(&found.pages.len()), "{}", found.pages.len());
    }
}

#[tokio::test]
async fn a_large_plain_sitemap_is_compressed_while_it_arrives() {
    let entry = |n: usize| format!("<url><loc>http://a.example/{n}</loc></url>");
    let map: String = (0..30_000).map(entry).collect();
    let map = format!("<urlset>{map}</urlset>");
    let length = map.len();
    assert!(length > LARGE_BODY);
    let url = server(move |_| (String::new(), map.clone().into_bytes())).await;
    let known = Validators::default();
    let whole = fetcher(&url, Options::default());
    let response = whole.get_sitemap(&url, &known).await.unwrap();
    assert!(response.raw.is_empty() && response.body.is_empty() && !response.bodiless);
    assert_eq!(response.received(), length);
    assert!(response.packed.as_ref().unwrap().gzip.len() < length / 4);
    let found = Sitemap::of_response(&url, &response, &SitemapLimits::default());
    assert_eq!((found.pages.len(), found.cut), (30_000, false));
    // A seed may be a page: its body is kept.
    let list = whole.get_list(&url, &known).await.unwrap();
    assert_eq!((list.body.len(), list.received()), (length, length));
    // Beyond the limit of sitemaps.
    let most = LARGE_BODY + 1000;
    let limits = Limits { max_sitemap: most, ..Limits::default() };
    let short = SitemapLimits { max_bytes: most, ..SitemapLimits::default() };
    let client = fetcher(&url, Options { limits, ..Options::default() });
    let response = client.get_sitemap(&url, &known).await.unwrap();
    assert_eq!(response.received(), most + 1, "one byte more shows that it is longer");
    let found = Sitemap::of_response(&url, &response, &short);
    assert!(found.cut && (20_000..30_000).contains(&found.pages.len()), "{}", found.pages.len());
}
