//! HTTP/2 (RFC 9113) against servers that write raw frames: correct ones, and hostile ones, whose requests must end
//! with an error in bounded time.

use std::io::{Read as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::*;
use crate::serve::http2::{
    self, ATTACKS, DATA, END_HEADERS, HEADERS, OK, RST_STREAM, SETTINGS, frame, missing,
    next_request, number, page,
};
use crate::serve::{Connection, SELF_SIGNED, tls_server};
use crate::tls::tests::one_page;

/// A frame type (section 6.8).
const GOAWAY: u8 = 7;

/// Starts a server that calls `answer` with the stream of each request while it returns true.
fn http2(answer: impl Fn(&mut Connection, u32) -> bool + Send + Sync + 'static) -> Url {
    url_of(http2::server(answer))
}

fn url_of(port: u16) -> Url {
    Url::parse(&format!("https://127.0.0.1:{port}/")).unwrap()
}

fn fetcher(url: &Url) -> Fetcher {
    let mut guard = AddressGuard::default();
    guard.allow_seed(url);
    let limits = Limits {
        max_body: 300_000,
        read_timeout: Duration::from_millis(700),
        total_timeout: Duration::from_secs(4),
        slow_after: Duration::from_secs(1),
        ..Limits::default()
    };
    let insecure = vec!["127.0.0.1".to_owned()];
    Fetcher::new(Options { guard, limits, insecure, ..Options::default() }).unwrap()
}

#[tokio::test]
async fn requests_share_a_connection_that_negotiated_http2() {
    let connections = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&connections);
    let url = http2(move |connection, stream| {
        if stream == 1 {
            seen.fetch_add(1, Relaxed);
        }
        connection.write_all(&page(stream, b"<p>page")).is_ok()
    });
    let fetcher = fetcher(&url);
    for _ in 0..3 {
        let response = fetcher.get(&url).await.unwrap();
        assert_eq!((response.status, &*response.body), (200, &b"<p>page"[..]));
        assert!(response.http2 && response.peer.is_some());
        assert_eq!(response.header("content-type"), Some("text/html"));
        assert!(response.head().starts_with(b"HTTP/1.1 200 \r\n"));
        assert!(response.request.starts_with(b"GET / HTTP/1.1\r\nhost: 127.0.0.1:"));
    }
    assert_eq!(connections.load(Relaxed), 1);
}

#[tokio::test]
async fn a_server_without_http2_is_asked_over_http1() {
    let url = url_of(tls_server(SELF_SIGNED, &["http/1.1"], one_page));
    let response = fetcher(&url).get(&url).await.unwrap();
    assert_eq!((&*response.body, response.http2), (&b"page"[..], false));
}

#[tokio::test]
async fn a_server_that_requires_http1_is_asked_again() {
    let port = tls_server(SELF_SIGNED, &["h2", "http/1.1"], |mut connection| {
        let mut preface = [0; 24];
        if connection.read_exact(&mut preface).is_err() {
            return;
        }
        if connection.conn.alpn_protocol() != Some(b"h2") {
            let _ = connection.read(&mut [0; 2048]);
            let _ = connection.write_all(
                b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\npage",
            );
            return;
        }
        let _ = connection.write_all(&frame(SETTINGS, 0, 0, &[]));
        if let Some(stream) = next_request(&mut connection) {
            let _ = connection.write_all(&frame(RST_STREAM, 0, stream, &number(13)));
            next_request(&mut connection);
        }
    });
    let url = url_of(port);
    let response = fetcher(&url).get(&url).await.unwrap();
    assert_eq!((&*response.body, response.http2), (&b"page"[..], false));
}

#[tokio::test]
async fn a_connection_that_goes_away_is_replaced_and_a_complete_body_is_kept() {
    let url = http2(|connection, stream| {
        let away = [number(stream), [0; 4]].concat();
        let _ = connection.write_all(&page(stream, b"<p>page"));
        let _ = connection.write_all(&frame(GOAWAY, 0, 0, &away));
        false
    });
    let fetcher = fetcher(&url);
    for _ in 0..3 {
        assert_eq!(fetcher.get(&url).await.unwrap().body, "<p>page");
    }
    for (body, is_kept) in [("<html><p>page</html>", true), ("<html><p>pa", false)] {
        let url = http2(move |connection, stream| {
            let head = frame(HEADERS, END_HEADERS, stream, OK);
            let body = frame(DATA, 0, stream, body.as_bytes());
            let reset = frame(RST_STREAM, 0, stream, &number(2));
            connection.write_all(&[head, body].concat()).is_ok() && {
                std::thread::sleep(Duration::from_millis(50));
                connection.write_all(&reset).is_ok()
            }
        });
        let response = self::fetcher(&url).get(&url).await;
        assert_eq!(response.is_ok_and(|response| response.ended_early), is_kept, "{body}");
    }
}

#[tokio::test]
async fn hostile_frames_end_with_an_error_within_the_limits_of_time() {
    let requests = ATTACKS.map(|(name, attack, expected)| {
        tokio::spawn(async move {
            let url = http2(attack);
            let started = Instant::now();
            let answered = fetcher(&url).get(&url).await.map(|response| response.status);
            let error = answered.unwrap_err();
            assert!(expected.contains(&error.reason()), "{name}: {error}");
            assert!(started.elapsed() < Duration::from_secs(12), "{name}: {:?}", started.elapsed());
        })
    });
    for request in requests {
        request.await.unwrap();
    }
}

#[tokio::test]
async fn a_status_beside_others_is_read() {
    let url = http2(|connection, stream| connection.write_all(&missing(stream)).is_ok());
    assert_eq!(fetcher(&url).get(&url).await.unwrap().status, 404);
}
