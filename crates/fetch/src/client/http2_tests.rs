//! HTTP/2 (RFC 9113) against servers that write raw frames: correct ones, and hostile ones, whose requests must end
//! with an error in bounded time.

use std::io::{Read as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::*;
use crate::tls::tests::{Connection, one_page, self_signed_server};

/// Frame types (section 6) and flags.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// `:status: 200` and `:status: 404` of the static table of HPACK (RFC 7541, appendix A).
const OK: &[u8] = &[0x88];
const NOT_FOUND: &[u8] = &[0x8d];

/// Numbers are in network byte order.
fn number(value: u32) -> [u8; 4] {
    [24, 16, 8, 0].map(|shift| (value >> shift) as u8)
}

fn of_bytes(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = number(payload.len() as u32);
    [&length[1..], &[kind, flags], &number(stream), payload].concat()
}

/// A literal header field with a new name, not indexed.
fn field(name: &str, value: &str) -> Vec<u8> {
    let text = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
    [vec![0], text(name), text(value)].concat()
}

fn page(stream: u32, body: &[u8]) -> Vec<u8> {
    let head = [OK.to_vec(), field("content-type", "text/html")].concat();
    [frame(HEADERS, END_HEADERS, stream, &head), frame(DATA, END_STREAM, stream, body)].concat()
}

/// Reads frames until a request arrives; returns its stream.
fn next_request(connection: &mut Connection) -> Option<u32> {
    loop {
        let mut head = [0; 9];
        connection.read_exact(&mut head).ok()?;
        let length = of_bytes(&head[..3]) as usize;
        connection.read_exact(&mut vec![0; length]).ok()?;
        let stream = of_bytes(&head[5..]);
        match (head[3], head[4] & 1) {
            (HEADERS, _) => return Some(stream),
            // SETTINGS and PING must be acknowledged.
            (SETTINGS, 0) => connection.write_all(&frame(SETTINGS, 1, 0, &[])).ok()?,
            (PING, 0) => connection.write_all(&frame(PING, 1, 0, &[0; 8])).ok()?,
            _ => {}
        }
    }
}

/// Starts a server that calls `answer` with the stream of each request while it returns true.
fn http2(answer: impl Fn(&mut Connection, u32) -> bool + Send + Sync + 'static) -> Url {
    let port = self_signed_server(&["h2", "http/1.1"], move |mut connection| {
        let mut preface = [0; 24];
        if connection.read_exact(&mut preface).is_err() {
            return;
        }
        assert_eq!(connection.conn.alpn_protocol(), Some(&b"h2"[..]));
        assert_eq!(&preface, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        let _ = connection.write_all(&frame(SETTINGS, 0, 0, &[]));
        while let Some(stream) = next_request(&mut connection) {
            if !answer(&mut connection, stream) {
                break;
            }
        }
        connection.conn.send_close_notify();
        let _ = connection.flush();
    });
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
    let port = self_signed_server(&["http/1.1"], one_page);
    let url = Url::parse(&format!("https://127.0.0.1:{port}/")).unwrap();
    let response = fetcher(&url).get(&url).await.unwrap();
    assert_eq!((&*response.body, response.http2), (&b"page"[..], false));
}

#[tokio::test]
async fn a_server_that_requires_http1_is_asked_again() {
    let port = self_signed_server(&["h2", "http/1.1"], |mut connection| {
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
    let url = Url::parse(&format!("https://127.0.0.1:{port}/")).unwrap();
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

/// Writes a frame repeatedly until the client stops reading or closes.
fn flood(connection: &mut Connection, frame: &[u8]) -> bool {
    let many = frame.repeat(1 + 8192 / frame.len());
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(8) {
        if connection.write_all(&many).is_err() {
            return false;
        }
    }
    false
}

type Attack = fn(&mut Connection, u32) -> bool;

#[tokio::test]
async fn hostile_frames_end_with_an_error_within_the_limits_of_time() {
    let attacks: [(&str, Attack); 12] = [
        ("settings without end", |connection, _| flood(connection, &frame(SETTINGS, 0, 0, &[]))),
        ("pings without end", |connection, _| flood(connection, &frame(PING, 0, 0, &[7; 8]))),
        ("continuations without end", |connection, stream| {
            let _ = connection.write_all(&frame(HEADERS, 0, stream, OK));
            flood(connection, &frame(CONTINUATION, 0, stream, &field("x", &"y".repeat(120))))
        }),
        ("empty continuations without end", |connection, stream| {
            let _ = connection.write_all(&frame(HEADERS, 0, stream, OK));
            flood(connection, &frame(CONTINUATION, 0, stream, &[]))
        }),
        ("fields that the table makes large", |connection, stream| {
            // One entry of 3,900 bytes; each further byte of the block copies it (RFC 7541, section 7.3).
            let value = "v".repeat(3_900);
            let length = [0x7f, 0xbd, 0x1d];
            let entry = [&[0x40, 1, b'x'], &length[..], value.as_bytes()].concat();
            let block = [OK, &entry, &[0xbe].repeat(9_000)].concat();
            connection.write_all(&frame(HEADERS, END_HEADERS | END_STREAM, stream, &block)).is_ok()
        }),
        ("empty data without end", |connection, stream| {
            let _ = connection.write_all(&frame(HEADERS, END_HEADERS, stream, OK));
            flood(connection, &frame(DATA, 0, stream, &[]))
        }),
        ("a body beyond the limit", |connection, stream| {
            let _ = connection.write_all(&frame(HEADERS, END_HEADERS, stream, OK));
            flood(connection, &frame(DATA, 0, stream, &[b'x'; 16_000]))
        }),
        ("streams reset at once", |connection, stream| {
            connection.write_all(&frame(RST_STREAM, 0, stream, &number(8))).is_ok()
        }),
        ("pushed responses", |connection, stream| {
            let promise = [&number(2)[..], &[0x82, 0x84, 0x87]].concat();
            flood(connection, &frame(PUSH_PROMISE, END_HEADERS, stream, &promise))
        }),
        ("a window that overflows", |connection, stream| {
            let most = number(0x7fff_ffff);
            let _ = connection.write_all(&frame(WINDOW_UPDATE, 0, stream, &most));
            connection.write_all(&frame(WINDOW_UPDATE, 0, stream, &most)).is_ok()
        }),
        ("informational heads without end", |connection, stream| {
            let early = [&[0x08, 3][..], b"103"].concat();
            flood(connection, &frame(HEADERS, END_HEADERS, stream, &early))
        }),
        ("a frame that is too long", |connection, stream| {
            connection.write_all(&frame(DATA, 0, stream, &vec![0; 1 << 20])).is_ok()
        }),
    ];
    let requests = attacks.map(|(name, attack)| {
        tokio::spawn(async move {
            let url = http2(attack);
            let started = Instant::now();
            let error = fetcher(&url).get(&url).await.map(|response| response.status);
            assert!(error.is_err(), "{name}: {error:?}");
            assert!(started.elapsed() < Duration::from_secs(12), "{name}: {:?}", started.elapsed());
        })
    });
    for request in requests {
        request.await.unwrap();
    }
}

#[tokio::test]
async fn a_status_beside_others_is_read() {
    let url = http2(|connection, stream| {
        connection.write_all(&frame(HEADERS, END_HEADERS | END_STREAM, stream, NOT_FOUND)).is_ok()
    });
    assert_eq!(fetcher(&url).get(&url).await.unwrap().status, 404);
}
