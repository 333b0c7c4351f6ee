//! The format of an answer on disk until its commit. A frame consists of lengths, a head in JSON, the request, status
//! line and headers, and the body as received.
//!
//! It begins with `length` (u32, of the whole frame), `checksum` (u32, CRC-32 of everything after it) and `head`
//! (u32, its length), little-endian.

use std::net::SocketAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use hapax_fetch::Response;
use hapax_frontier::{Entry, EntryKind};
use hapax_url::{UrlKey, url_key};
use hapax_warc::http_parts;
use serde::{Deserialize, Serialize};

/// Bytes of the three numbers at the start of a frame.
pub(super) const NUMBERS: usize = 12;
/// Maximum bytes of a head, most of which are its URL.
const MAX_HEAD: usize = 64 << 10;

/// A response, and the time and duration of its request.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) response: Response,
    pub(super) time: SystemTime,
    pub(super) took: Duration,
    pub(super) asked_if_changed: bool,
}

/// Identifies the lease that an answer is for.
pub(super) type Key = (UrlKey, Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Page,
    Sitemap,
}

/// The JSON head of a frame.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Head {
    url: String,
    kind: Kind,
    /// Time since 1970.
    time: Duration,
    took: Duration,
    /// The part of `took` that the server needed.
    server_took: Duration,
    asked_if_changed: bool,
    peer: Option<SocketAddr>,
    bodiless: bool,
    #[serde(default)]
    ended_early: bool,
    #[serde(default)]
    http2: bool,
    wanted: bool,
    request_bytes: usize,
    head_bytes: usize,
}

/// Returns whether a status is temporary: request timeout, too early, too many requests (RFC 9110, section 15.5.9;
/// RFC 8470, section 5.2; RFC 6585, section 4), and server errors.
pub(super) const fn is_failure(status: u16) -> bool {
    matches!(status, 408 | 425 | 429) || status >= 500
}

/// Returns the key of an entry; `None` for a probe, which belongs to one run.
pub(super) fn key(entry: &Entry) -> Option<Key> {
    let kind = match entry.kind {
        EntryKind::Page => Kind::Page,
        EntryKind::Sitemap => Kind::Sitemap,
        EntryKind::Probe => return None,
    };
    Some((url_key(entry.url.as_str()), kind))
}

/// Returns a frame without the body, which comes last, and the length of the whole frame. `None` for answers that
/// could not be restored unchanged, and for temporary ones.
pub(super) fn frame(entry: &Entry, answer: &Answer) -> Option<(Vec<u8>, usize)> {
    let response = &answer.response;
    let packed = response.raw.as_ptr() != response.body.as_ptr() && !response.body.is_empty();
    if packed && response.header("content-encoding").is_none() {
        // The header was too long to be kept.
        return None;
    }
    // A sitemap that was compressed while it arrived is requested again.
    if is_failure(response.status) || response.received() != response.raw.len() {
        return None;
    }
    let http = response.head();
    let head = Head {
        url: entry.url.to_string(),
        kind: key(entry)?.1,
        time: answer.time.duration_since(UNIX_EPOCH).unwrap_or_default(),
        took: answer.took,
        server_took: response.took,
        asked_if_changed: answer.asked_if_changed,
        peer: response.peer,
        bodiless: response.bodiless,
        ended_early: response.ended_early,
        http2: response.http2,
        wanted: !response.body.is_empty(),
        request_bytes: response.request.len(),
        head_bytes: http.len(),
    };
    let head = serde_json::to_vec(&head).ok().filter(|head| head.len() <= MAX_HEAD)?;
    let mut frame = vec![0; NUMBERS];
    for piece in [&head, &response.request, &http] {
        frame.extend(piece);
    }
    let length = frame.len() + response.raw.len();
    let number = |length: usize| u32::try_from(length).ok().map(u32::to_le_bytes);
    frame.get_mut(8..NUMBERS)?.copy_from_slice(&number(head.len())?);
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(frame.get(8..)?);
    checksum.update(&response.raw);
    frame.get_mut(4..8)?.copy_from_slice(&checksum.finalize().to_le_bytes());
    frame.get_mut(..4)?.copy_from_slice(&number(length)?);
    Some((frame, length))
}

/// Returns the lengths of a frame and of its head, if they are valid.
pub(super) fn lengths(numbers: &[u8; NUMBERS]) -> Option<(usize, usize)> {
    let number = |at: usize| {
        let bytes = numbers.get(at..)?.first_chunk().copied()?;
        usize::try_from(u32::from_le_bytes(bytes)).ok()
    };
    let (length, head) = (number(0)?, number(8)?);
    (head <= MAX_HEAD && head + NUMBERS <= length).then_some((length, head))
}

impl Head {
    pub(super) fn read(json: &[u8]) -> Option<Self> {
        serde_json::from_slice(json).ok()
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn key(&self) -> Key {
        (url_key(&self.url), self.kind)
    }
}

/// Parses a frame. Returns the answer, and whether the body was wanted; [`Response::body`] is not decoded yet. `None`
/// if the frame is damaged or belongs to another entry.
pub(super) fn parse(frame: Vec<u8>, entry: &Entry) -> Option<(Answer, bool)> {
    let (length, head) = lengths(frame.first_chunk()?)?;
    let checksum = u32::from_le_bytes(frame.get(4..)?.first_chunk().copied()?);
    if length != frame.len() || crc32fast::hash(frame.get(8..)?) != checksum {
        return None;
    }
    let rest = NUMBERS + head;
    let head = Head::read(frame.get(NUMBERS..rest)?)?;
    if head.url != entry.url.as_str() || Some(head.key()) != key(entry) {
        return None;
    }
    let http = rest.checked_add(head.request_bytes)?;
    let body = http.checked_add(head.head_bytes)?;
    let request = frame.get(rest..http)?.to_vec();
    let (status, headers, _) = http_parts(frame.get(http..body)?)?;
    let raw = Bytes::from(frame).slice(body..);
    let mut response = Response::stored(entry.url.clone(), status, headers, raw);
    (response.peer, response.took, response.bodiless) =
        (head.peer, head.server_took, head.bodiless);
    (response.ended_early, response.http2) = (head.ended_early, head.http2);
    response.request = request;
    let answer = Answer {
        response,
        time: UNIX_EPOCH.checked_add(head.time)?,
        took: head.took,
        asked_if_changed: head.asked_if_changed,
    };
    Some((answer, head.wanted))
}

#[cfg(test)]
pub(super) mod tests {
    use url::Url;

    use super::*;

    pub(crate) fn answer(url: &str, status: u16, raw: &str) -> (Entry, Answer) {
        let url = Url::parse(url).unwrap();
        let headers = vec![
            ("content-type".to_owned(), b"text/html".to_vec()),
            ("x-odd".to_owned(), b"a: b \xFF".to_vec()),
        ];
        let raw = Bytes::from(raw.to_owned());
        let mut response = Response::stored(url.clone(), status, headers, raw);
        response.request = b"GET / HTTP/1.1\r\nhost: a.example\r\n\r\n".to_vec();
        response.peer = Some("93.184.216.34:80".parse().unwrap());
        response.took = Duration::from_micros(1234);
        let time = UNIX_EPOCH + Duration::from_millis(1_790_000_000_123);
        let took = Duration::from_micros(4567);
        (Entry::page(url, 3), Answer { response, time, took, asked_if_changed: true })
    }

    fn whole(entry: &Entry, answer: &Answer) -> Vec<u8> {
        let (mut bytes, length) = frame(entry, answer).unwrap();
        bytes.extend(&answer.response.raw);
        assert_eq!(bytes.len(), length);
        bytes
    }

    #[test]
    fn an_answer_comes_back_as_it_was() {
        for body in ["", "<p>one\r\n\r\ntwo"] {
            let (entry, before) = answer("http://a.example/x?y=%20", 200, body);
            let (after, wanted) = parse(whole(&entry, &before), &entry).unwrap();
            assert_eq!(format!("{after:?}"), format!("{before:?}"));
            assert_eq!(wanted, !body.is_empty());
        }
    }

    #[test]
    fn a_truncated_or_changed_frame_is_rejected() {
        let (entry, before) = answer("http://a.example/", 200, "text");
        let bytes = whole(&entry, &before);
        for cut in 0..bytes.len() {
            assert!(parse(bytes.get(..cut).unwrap().to_vec(), &entry).is_none(), "{cut}");
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x41;
            assert!(parse(changed, &entry).is_none(), "{at}");
        }
        let (other, _) = answer("http://a.example/other", 200, "text");
        assert!(parse(bytes.clone(), &other).is_none());
        let sitemap = Entry { kind: EntryKind::Sitemap, ..entry };
        assert!(parse(bytes, &sitemap).is_none());
    }

    #[test]
    fn an_answer_that_could_not_be_parsed_later_is_not_saved() {
        let (entry, mut packed) = answer("http://a.example/", 200, "text");
        assert!(frame(&entry, &packed).is_some());
        for status in [429, 503] {
            let (entry, failed) = answer("http://a.example/", status, "text");
            assert!(frame(&entry, &failed).is_none(), "{status} may be another one soon");
        }
        let probe = Entry { kind: EntryKind::Probe, ..entry.clone() };
        assert!(frame(&probe, &packed).is_none());
        packed.response.raw = Bytes::from_static(b"packed");
        assert!(frame(&entry, &packed).is_none(), "nobody would know how it is packed");
        packed.response.headers.push(("content-encoding".to_owned(), b"gzip".to_vec()));
        assert!(frame(&entry, &packed).is_some());
        let long = format!("http://a.example/{}", "x".repeat(MAX_HEAD));
        let (entry, answer) = answer(&long, 200, "text");
        assert!(frame(&entry, &answer).is_none());
    }
}
