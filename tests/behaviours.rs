//! A table of hostile servers.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::serve::http2::{self, Attack};
use crate::support::{prose, read_head, send};

/// The action of a hostile server on a connection, after it has read the request's head.
pub(crate) type Act = fn(&mut TcpStream, &str);

/// A listener without robots.txt, unless the behaviour concerns robots.txt.
pub(crate) fn hostile(act: Act, robots_too: bool) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let Some((path, _)) = read_head(&mut stream) else { return };
                let harmless = matches!(path.as_str(), "/robots.txt" | "/sitemap.xml");
                if harmless && !robots_too {
                    send(&mut stream, &crate::support::missing());
                } else {
                    act(&mut stream, &path);
                }
            });
        }
    });
    port
}

/// A server with HTTP/2 that attacks after its first response: it has no robots.txt.
pub(crate) fn hostile_http2(attack: Attack) -> u16 {
    let is_robots = AtomicBool::new(true);
    http2::server(move |connection, stream| match is_robots.swap(false, Relaxed) {
        true => connection.write_all(&http2::missing(stream)).is_ok(),
        false => attack(connection, stream),
    })
}

fn raw(stream: &mut TcpStream, bytes: impl AsRef<[u8]>) {
    let _ = stream.write_all(bytes.as_ref());
}

/// Sends `piece` repeatedly until the client closes, at most for a minute.
pub(crate) fn drip(stream: &mut TcpStream, piece: &[u8], pause: Duration) {
    for _ in 0..60_000 {
        if stream.write_all(piece).is_err() {
            return;
        }
        std::thread::sleep(pause);
    }
}

pub(crate) fn ok(stream: &mut TcpStream, headers: &str, body: impl AsRef<[u8]>) {
    let body = body.as_ref();
    raw(
        stream,
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        ),
    );
    raw(stream, body);
}

/// 64 MiB of spaces, compressed once to save time.
static BOMB: LazyLock<Vec<u8>> = LazyLock::new(|| gzip(&vec![b' '; 64 << 20]));
pub(crate) static BOMB_IN_GZIP: LazyLock<Vec<u8>> = LazyLock::new(|| gzip(&BOMB));

static BOMB_IN_ZSTD: LazyLock<Vec<u8>> =
    LazyLock::new(|| zstd::encode_all(&vec![b' '; 64 << 20][..], 1).unwrap());

/// A page whose decoder needs a window of 128 MiB.
fn zstd_with_large_window(body: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(27).unwrap();
    encoder.include_contentsize(false).unwrap();
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut gz = GzEncoder::new(Vec::new(), Compression::best());
    gz.write_all(body).unwrap();
    gz.finish().unwrap()
}

fn go_to(stream: &mut TcpStream, target: &str) {
    raw(
        stream,
        format!(
            "HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        ),
    );
}

const SECOND: Duration = Duration::from_secs(1);
const NONE: Duration = Duration::ZERO;

/// Name, action, and the allowed reasons in skipped.jsonl ("" for a page that is used).
pub(crate) const BEHAVIOURS: &[(&str, Act, &[&str])] = &[
    ("accepts and hangs", |_, _| std::thread::sleep(8 * SECOND), &["timeout"]),
    ("closes at once", |_, _| {}, &["protocol", "connect"]),
    (
        "closes in the body",
        |s, _| raw(s, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"),
        &["protocol"],
    ),
    (
        "drips headers",
        |s, _| {
            raw(s, "HTTP/1.1 200 OK\r\n");
            drip(s, b"x", SECOND);
        },
        &["timeout"],
    ),
    (
        "drips a body",
        |s, _| {
            raw(s, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n");
            drip(s, b"x", SECOND / 2);
        },
        &["timeout"],
    ),
    (
        "endless body",
        |s, _| {
            raw(s, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n");
            drip(s, &[b'x'; 65_536], NONE);
        },
        &["too-large"],
    ),
    (
        "endless chunks",
        |s, _| {
            raw(s, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
            drip(s, b"1\r\nx\r\n", NONE);
        },
        &["too-large", "timeout", "protocol"],
    ),
    (
        "endless headers",
        |s, _| {
            raw(s, "HTTP/1.1 200 OK\r\n");
            drip(s, b"X-Header: more of the same\r\n", NONE);
        },
        &["protocol"],
    ),
    ("a thousand headers", |s, _| ok(s, &"X-A: b\r\n".repeat(1000), "x"), &["protocol"]),
    (
        "more headers than anybody reads",
        |s, _| ok(s, &(0..1_001).map(|n| format!("X-{n}: y\r\n")).collect::<String>(), "<p>text"),
        &["protocol"],
    ),
    (
        "resets in the body",
        |s, _| {
            raw(s, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9999\r\n\r\n<p>");
            let _ = socket2::SockRef::from(&*s).set_linger(Some(Duration::ZERO));
        },
        &["protocol", "connect"],
    ),
    (
        "a header of a megabyte",
        |s, _| ok(s, &format!("X-A: {}\r\n", "b".repeat(1 << 20)), "x"),
        &["protocol"],
    ),
    ("a header without a colon", |s, _| ok(s, "no colon here\r\n", "x"), &[""]),
    (
        "bare line feeds",
        |s, _| raw(s, "HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: 6\n\n<p>ok "),
        &["", "protocol"],
    ),
    ("NUL in a header", |s, _| ok(s, "X-A: a\0b\r\n", "x"), &["protocol"]),
    ("two lengths", |s, _| ok(s, "Content-Length: 3\r\n", "<p>abcdef"), &["protocol"]),
    (
        "a negative length",
        |s, _| raw(s, "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nx"),
        &["protocol"],
    ),
    (
        "a huge length",
        |s, _| raw(s, "HTTP/1.1 200 OK\r\nContent-Length: 9000000000000000000\r\n\r\nx"),
        &["too-large", "protocol"],
    ),
    (
        "more than its length",
        |s, _| {
            raw(
                s,
                format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<p>ok {}",
                    "x".repeat(100_000)
                ),
            )
        },
        &[""],
    ),
    (
        "a chunk too large to count",
        |s, _| {
            raw(
                s,
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffffffff\r\nx",
            )
        },
        &["protocol"],
    ),
    (
        "a flood of chunk extensions",
        |s, _| {
            raw(s, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;");
            drip(s, &[b'a'; 16_384], NONE);
        },
        &["protocol"],
    ),
    (
        "a flood of trailers",
        |s, _| {
            raw(
                s,
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n",
            );
            drip(s, b"X-T: y\r\n", NONE);
        },
        &["protocol", "timeout"],
    ),
    (
        "a flood of 1xx",
        |s, _| drip(s, b"HTTP/1.1 102 Processing\r\n\r\n", NONE),
        &["timeout", "protocol"],
    ),
    (
        "204 with a body",
        |s, _| raw(s, "HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\nbody"),
        &["http-other"],
    ),
    ("304 unasked", |s, _| raw(s, "HTTP/1.1 304 Not Modified\r\n\r\n"), &["http-other"]),
    ("no HTTP at all", |s, _| raw(s, "SSH-2.0-OpenSSH_9.2\r\n"), &["protocol"]),
    ("a gzip bomb", |s, _| ok(s, "Content-Encoding: gzip\r\n", &*BOMB), &["bomb"]),
    (
        "a gzip bomb in gzip",
        |s, _| ok(s, "Content-Encoding: gzip, gzip\r\n", &*BOMB_IN_GZIP),
        &["bomb"],
    ),
    ("gzip three times", |s, _| ok(s, "Content-Encoding: gzip, gzip, gzip\r\n", "x"), &["bomb"]),
    (
        "gzip cut short",
        |s, _| {
            let all = gzip(prose(1, 30).as_bytes());
            ok(s, "Content-Encoding: gzip\r\n", &all[..all.len() / 2]);
        },
        &["", "encoding"],
    ),
    (
        "gzip that is none",
        |s, _| ok(s, "Content-Encoding: gzip\r\n", [7, 0, 1, 200]),
        &["encoding"],
    ),
    (
        "a brotli bomb",
        // 32 MiB of zeros, compressed by brotli's encoder.
        |s, _| {
            ok(
                s,
                "Content-Encoding: br\r\n",
                [
                    203, 255, 255, 63, 248, 39, 0, 226, 177, 64, 32, 247, 254, 143, 255, 255, 127,
                    240, 79, 0, 196, 97, 17, 128, 238, 253, 31, 255, 255, 255, 224, 159, 0, 136,
                    195, 2, 0, 221, 251, 63, 254, 255, 255, 193, 63, 1, 16, 135, 5, 0, 186, 247,
                    127, 3,
                ],
            )
        },
        &["bomb"],
    ),
    ("a zstd bomb", |s, _| ok(s, "Content-Encoding: zstd\r\n", &*BOMB_IN_ZSTD), &["bomb"]),
    (
        "a zstd window of 128 MiB",
        |s, _| {
            let page = zstd_with_large_window("<p>some words ".repeat(1 << 16).as_bytes());
            ok(s, "Content-Encoding: zstd\r\n", page);
        },
        &["encoding"],
    ),
    (
        "a zstd window of 2 TiB",
        // RFC 8878, section 3.1.1: magic number, descriptor, the largest exponent, and an empty last block.
        |s, _| {
            let frame: [u8; 9] = [0x28, 0xb5, 0x2f, 0xfd, 0, 0xf8, 1, 0, 0];
            ok(s, "Content-Encoding: zstd\r\n", frame);
        },
        &["encoding"],
    ),
    ("an unknown encoding", |s, _| ok(s, "Content-Encoding: quantum\r\n", "x"), &[""]),
    ("a redirect loop", |s, path| go_to(s, if path == "/a" { "/b" } else { "/a" }), &["redirects"]),
    (
        "a redirect chain",
        |s, path| {
            let step = path.len();
            go_to(s, &format!("/{}", "x".repeat(step)));
        },
        &[""],
    ),
    ("a redirect to a file", |s, _| go_to(s, "file:///etc/passwd"), &["redirects"]),
    ("a redirect to data", |s, _| go_to(s, "data:text/html,hello"), &["redirects"]),
    (
        "a redirect of 100 KiB",
        |s, _| go_to(s, &format!("/{}", "x".repeat(100 << 10))),
        &["http-other", "protocol", ""],
    ),
    ("deep nesting", |s, _| ok(s, "", "<div>".repeat(64_000)), &["cut-short"]),
    (
        "one attribute of half a megabyte",
        |s, _| ok(s, "", format!("<p class='{}'>x", "a ".repeat(1 << 18))),
        &[""],
    ),
    (
        "a hundred thousand links",
        |s, _| {
            ok(
                s,
                "",
                (0..100_000)
                    .map(|i| format!("<a href=//x{i}.example/>"))
                    .collect::<String>()
                    .get(..900_000)
                    .unwrap_or_default(),
            )
        },
        &["links"],
    ),
    (
        "an endless calendar",
        |s, path| {
            let number: u32 =
                path.rsplit('=').next().and_then(|n| n.parse().ok()).unwrap_or(2035 * 12);
            ok(
                s,
                "",
                format!(
                    "<p>Nothing in this month.</p><a href='/cal?year={}&month={}'>next</a>",
                    number / 12,
                    number % 12 + 1
                ),
            );
        },
        &[""],
    ),
    (
        "noise as HTML",
        |s, _| {
            ok(
                s,
                "",
                (0..20_000u32)
                    .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
                    .collect::<Vec<u8>>(),
            )
        },
        &["charset"],
    ),
    (
        "UTF-16 without a mark",
        |s, _| ok(s, "", "<p>words".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>()),
        &["", "charset"],
    ),
    (
        "a wait of thirty years",
        |s, _| {
            raw(
                s,
                "HTTP/1.1 503 Busy\r\nRetry-After: 1000000000\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            )
        },
        &["retry-after"],
    ),
    (
        "too many requests for ever",
        |s, _| {
            raw(
                s,
                "HTTP/1.1 429 Slow\r\nRetry-After: 0\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            )
        },
        &["http-4xx"],
    ),
    (
        "escapes in the title",
        |s, _| ok(s, "", "<title>\x1b[2J\x1b]0;owned\x07</title><p>text"),
        &[""],
    ),
    (
        "cookies without end",
        |s, _| {
            ok(
                s,
                &(0..90)
                    .map(|i| format!("Set-Cookie: c{i}={}\r\n", "v".repeat(500)))
                    .collect::<String>(),
                "<p>x",
            )
        },
        &[""],
    ),
];

/// The same for robots.txt.
pub(crate) const ROBOTS: &[(&str, Act, &[&str])] = &[
    (
        "robots.txt of 100 MiB",
        |s, path| {
            if path == "/robots.txt" {
                raw(s, "HTTP/1.1 200 OK\r\n\r\nUser-agent: *\nDisallow: /no\n");
                for _ in 0..1600 {
                    if s.write_all(&[b'#'; 65_536]).is_err() {
                        return;
                    }
                }
            } else {
                ok(s, "", "<p>text");
            }
        },
        &[""],
    ),
    (
        "robots.txt in a redirect loop",
        |s, path| {
            if path == "/robots.txt" { go_to(s, "/robots.txt") } else { ok(s, "", "<p>text") }
        },
        &[""],
    ),
    (
        "robots.txt as a bomb",
        |s, path| {
            if path == "/robots.txt" {
                ok(s, "Content-Encoding: gzip\r\n", gzip(&vec![b'\n'; 64 << 20]));
            } else {
                ok(s, "", "<p>text");
            }
        },
        &["robots-unreachable"],
    ),
    (
        "a sitemap as a bomb",
        |s, path| match path {
            "/robots.txt" => send(s, &crate::support::missing()),
            "/sitemap.xml" => ok(s, "", gzip("<urlset>".repeat(4 << 20).as_bytes())),
            _ => ok(s, "", "<p>text"),
        },
        &[""],
    ),
];
