//! Servers that write raw frames of HTTP/2 (RFC 9113): correct ones, and attacks.

use std::io::{Read as _, Write as _};
use std::time::{Duration, Instant};

use super::{Connection, SELF_SIGNED, tls_server};

/// Frame types (section 6) and flags.
pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;
/// `:status: 200` and `:status: 404` of the static table of HPACK (RFC 7541, appendix A).
pub(crate) const OK: &[u8] = &[0x88];
const NOT_FOUND: &[u8] = &[0x8d];

/// Numbers are in network byte order.
pub(crate) fn number(value: u32) -> [u8; 4] {
    [24, 16, 8, 0].map(|shift| (value >> shift) as u8)
}

fn of_bytes(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = number(payload.len() as u32);
    [&length[1..], &[kind, flags], &number(stream), payload].concat()
}

/// A literal header field with a new name, not indexed.
fn field(name: &str, value: &str) -> Vec<u8> {
    let text = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
    [vec![0], text(name), text(value)].concat()
}

/// A page of at most 16 KiB.
pub(crate) fn page(stream: u32, body: &[u8]) -> Vec<u8> {
    let head = [OK.to_vec(), field("content-type", "text/html")].concat();
    [frame(HEADERS, END_HEADERS, stream, &head), frame(DATA, END_STREAM, stream, body)].concat()
}

/// A response with status 404.
pub(crate) fn missing(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | END_STREAM, stream, NOT_FOUND)
}

/// Reads frames until a request arrives; returns its stream.
pub(crate) fn next_request(connection: &mut Connection) -> Option<u32> {
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

/// Starts a server with a self-signed certificate. It calls `answer` with the stream of each request while it returns
/// true. Returns the port.
pub(crate) fn server(answer: impl Fn(&mut Connection, u32) -> bool + Send + Sync + 'static) -> u16 {
    tls_server(SELF_SIGNED, &["h2", "http/1.1"], move |mut connection| {
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
    })
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

/// SETTINGS_INITIAL_WINDOW_SIZE (section 6.5.2).
fn initial_window(size: u32) -> Vec<u8> {
    frame(SETTINGS, 0, 0, &[&[0, 4][..], &number(size)].concat())
}

/// The action of a hostile server on a request, by its stream. Returns whether the server reads another one.
pub(crate) type Attack = fn(&mut Connection, u32) -> bool;

/// Reasons of frames that the client may tolerate: it closes the connection, or no response arrives in time.
const TOLERATED: &[&str] = &["protocol", "timeout"];

/// Name, action, and the allowed reasons of the request's error.
pub(crate) const ATTACKS: [(&str, Attack, &[&str]); 16] = [
    (
        "settings without end",
        |connection, _| flood(connection, &frame(SETTINGS, 0, 0, &[])),
        TOLERATED,
    ),
    (
        "windows that change without end",
        |connection, _| {
            flood(connection, &[initial_window(0), initial_window(0x7fff_ffff)].concat())
        },
        TOLERATED,
    ),
    (
        "a window beyond its limit",
        |connection, _| connection.write_all(&initial_window(1 << 31)).is_ok(),
        &["protocol"],
    ),
    (
        "a window that overflows",
        |connection, stream| {
            let most = number(0x7fff_ffff);
            let _ = connection.write_all(&frame(WINDOW_UPDATE, 0, stream, &most));
            connection.write_all(&frame(WINDOW_UPDATE, 0, stream, &most)).is_ok()
        },
        TOLERATED,
    ),
    (
        "pings without end",
        |connection, _| flood(connection, &frame(PING, 0, 0, &[7; 8])),
        TOLERATED,
    ),
    (
        "continuations without end",
        |connection, stream| {
            let _ = connection.write_all(&frame(HEADERS, 0, stream, OK));
            flood(connection, &frame(CONTINUATION, 0, stream, &field("x", &"y".repeat(120))))
        },
        &["protocol"],
    ),
    (
        "empty continuations without end",
        |connection, stream| {
            let _ = connection.write_all(&frame(HEADERS, 0, stream, OK));
            flood(connection, &frame(CONTINUATION, 0, stream, &[]))
        },
        &["protocol"],
    ),
    (
        "fields that the table makes large",
        |connection, stream| {
            // One entry of 3,900 bytes; each further byte of the block copies it (RFC 7541, section 7.3).
            let value = "v".repeat(3_900);
            let length = [0x7f, 0xbd, 0x1d];
            let entry = [&[0x40, 1, b'x'], &length[..], value.as_bytes()].concat();
            let block = [OK, &entry, &[0xbe].repeat(9_000)].concat();
            connection.write_all(&frame(HEADERS, END_HEADERS | END_STREAM, stream, &block)).is_ok()
        },
        &["protocol"],
    ),
    (
        "informational heads without end",
        |connection, stream| {
            let early = [&[0x08, 3][..], b"103"].concat();
            flood(connection, &frame(HEADERS, END_HEADERS, stream, &early))
        },
        TOLERATED,
    ),
    (
        "a body that never comes",
        |connection, stream| connection.write_all(&frame(HEADERS, END_HEADERS, stream, OK)).is_ok(),
        &["timeout"],
    ),
    (
        "empty data without end",
        |connection, stream| {
            let _ = connection.write_all(&frame(HEADERS, END_HEADERS, stream, OK));
            flood(connection, &frame(DATA, 0, stream, &[]))
        },
        TOLERATED,
    ),
    (
        "a body beyond the limit and the window",
        |connection, stream| {
            let _ = connection.write_all(&frame(HEADERS, END_HEADERS, stream, OK));
            flood(connection, &frame(DATA, 0, stream, &[b'x'; 16_000]))
        },
        &["protocol", "timeout", "too-large"],
    ),
    (
        "streams reset at once",
        |connection, stream| {
            connection.write_all(&frame(RST_STREAM, 0, stream, &number(8))).is_ok()
        },
        &["protocol"],
    ),
    (
        "resets without end",
        |connection, stream| flood(connection, &frame(RST_STREAM, 0, stream, &number(8))),
        TOLERATED,
    ),
    (
        "pushed responses",
        |connection, stream| {
            let promise = [&number(2)[..], &[0x82, 0x84, 0x87]].concat();
            flood(connection, &frame(PUSH_PROMISE, END_HEADERS, stream, &promise))
        },
        &["protocol"],
    ),
    (
        "a frame that is too long",
        |connection, stream| {
            connection.write_all(&frame(DATA, 0, stream, &vec![0; 1 << 20])).is_ok()
        },
        &["protocol"],
    ),
];
