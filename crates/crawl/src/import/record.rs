//! The records of an archive: pages, or the reason why a record is not a page.

use std::io::{self, Read, Seek};
use std::time::SystemTime;

use bytes::Bytes;
use hapax_data::{MAX_RECORD, SkipCause, SkipReason};
use hapax_fetch::{Limits, Response, decode_bytes_within};
use hapax_warc::{NEAR_DUPLICATE_PROFILE, Reader, Record, http_parts, parse_date};
use url::Url;

use crate::readers::StoredPage;

/// Maximum bytes of a record beside its body: the head, and the sizes of chunks.
const RECORD_ROOM: u64 = 1 << 20;
/// Maximum number of characters of an invalid address in the log.
const MAX_TARGET: usize = 2048;

/// The input of an archive.
pub trait ReadSeek: Read + Seek {}
impl<T: Read + Seek> ReadSeek for T {}

fn most(limits: &Limits) -> u64 {
    (limits.max_body as u64).saturating_add(RECORD_ROOM).min(MAX_RECORD)
}

/// The records of an archive. Damage is an error, after which reading continues.
pub struct Records {
    reader: Reader<Box<dyn ReadSeek>>,
    damaged: bool,
    ended: bool,
}

impl std::fmt::Debug for Records {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Records").field("ended", &self.ended).finish_non_exhaustive()
    }
}

impl Records {
    /// Reads records from the start. If a body exceeds the limits, its record has only the head.
    ///
    /// # Errors
    /// An error of the file.
    pub fn open(input: Box<dyn ReadSeek>, limits: &Limits) -> io::Result<Self> {
        Ok(Self { reader: Reader::new(input, most(limits))?, damaged: false, ended: false })
    }
}

impl Iterator for Records {
    type Item = io::Result<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        if std::mem::take(&mut self.damaged) {
            match self.reader.resync() {
                Ok(found) => self.ended = !found,
                Err(error) => {
                    self.ended = true;
                    return Some(Err(error));
                }
            }
        }
        if self.ended {
            return None;
        }
        let next = self.reader.next_record().transpose()?;
        self.damaged = next.is_err();
        Some(next)
    }
}

/// A record that cannot be used as a page.
#[derive(Debug)]
pub struct Refused {
    /// Its URL, as far as it has one.
    pub url: String,
    /// The reason, and the limit that it exceeds.
    pub cause: SkipCause,
    /// The reason in words.
    pub detail: String,
}

impl Refused {
    pub(crate) fn new(url: &Url, cause: impl Into<SkipCause>, detail: impl Into<String>) -> Self {
        Self { url: url.to_string(), cause: cause.into(), detail: detail.into() }
    }
}

/// Returns whether a record contains what a server sent for a URL.
pub fn holds_payload(record: &Record) -> bool {
    match record.header("warc-type") {
        // Some tools store a page without its HTTP headers, as a resource; WET files hold its text, as a conversion.
        Some("response" | "resource" | "conversion") => true,
        // Earlier versions stored the complete response of a near-duplicate this way.
        Some("revisit") => record.header("warc-profile") == Some(NEAR_DUPLICATE_PROFILE),
        _ => false,
    }
}

/// Returns the URL of the page that a record is about.
pub(crate) fn target(record: &Record) -> Result<Url, Refused> {
    let target = record.header("warc-target-uri").unwrap_or_default();
    // Some writers put the address in angle brackets.
    let target = target.trim_matches(['<', '>']);
    let Ok(url) = Url::parse(target) else {
        let url = target.chars().take(MAX_TARGET).collect();
        let detail = "the record has no valid URL".to_owned();
        return Err(Refused { url, cause: SkipReason::Protocol.into(), detail });
    };
    if matches!(url.scheme(), "dns" | "metadata" | "whois" | "filedesc" | "warcinfo" | "urn") {
        // DNS look-ups, and logs and settings of the archiver.
        return Err(Refused::new(&url, SkipReason::Protocol, "the record is not a page"));
    }
    if url.path() == "/robots.txt" {
        // Other crawlers archive it with the pages.
        return Err(Refused::new(&url, SkipReason::ContentType, "a robots.txt, not a page"));
    }
    Ok(url)
}

/// Returns the time of a record, or the current time if it is unknown.
pub(crate) fn time(record: &Record) -> SystemTime {
    let time = record.header("warc-date").and_then(parse_date);
    time.unwrap_or_else(SystemTime::now)
}

/// Returns the page of a record that [holds a payload](holds_payload).
///
/// # Errors
/// The reason why it is not a page.
pub fn page_of(record: Record, limits: &Limits) -> Result<StoredPage, Refused> {
    let url = target(&record)?;
    let refused = |reason: SkipReason, detail: String| Err(Refused::new(&url, reason, detail));
    // The block was not read.
    let length = record.header("content-length").and_then(|l| l.parse::<u64>().ok());
    if let Some(length) = length.filter(|length| *length > most(limits)) {
        return refused(SkipReason::TooLarge, format!("a record of {length} bytes"));
    }
    let max_body = limits.max_body;
    let too_large = || format!("larger than {max_body} bytes (--max-body)");
    let time = time(&record);
    let resource = matches!(record.header("warc-type"), Some("resource" | "conversion"));
    let content_type = record.header("content-type").unwrap_or_default().to_owned();
    let block = Bytes::from(record.block);
    if resource {
        if block.len() > max_body {
            return refused(SkipReason::TooLarge, too_large());
        }
        let response = of_resource(&url, &content_type, block);
        return Ok(StoredPage { url, response, time, title: None });
    }
    let Some((status, headers, raw)) = http_parts(&block) else {
        return refused(SkipReason::Protocol, "the record contains no HTTP response".to_owned());
    };
    // A slice of the block, not a copy.
    let raw = block.slice(block.len().saturating_sub(raw.len())..);
    if !matches!(status, 200 | 203) {
        return refused(SkipReason::HttpOther, format!("status {status}"));
    }
    let header = |name: &str| {
        let (_, value) = headers.iter().find(|(header, _)| header == name)?;
        Some(String::from_utf8_lossy(value).into_owned())
    };
    let raw = match header("transfer-encoding").is_some_and(|t| t.contains("chunked")) {
        true => dechunk(&raw).map_or(raw, Bytes::from),
        false => raw,
    };
    if raw.len() > max_body {
        return refused(SkipReason::TooLarge, too_large());
    }
    let encoding = header("content-encoding").unwrap_or_default();
    let body = match decode_bytes_within(&raw, &encoding, limits) {
        Ok(body) => body,
        Err(error) => return Err(Refused::new(&url, &error, error.to_string())),
    };
    let mut response = Response::stored(url.clone(), status, headers, raw);
    response.body = body;
    Ok(StoredPage { url, response, time, title: None })
}

/// Makes a response for a page that was stored without one.
pub fn of_resource(url: &Url, content_type: &str, body: impl Into<Bytes>) -> Response {
    let body = body.into();
    let headers = vec![
        ("content-type".to_owned(), content_type.as_bytes().to_vec()),
        ("content-length".to_owned(), body.len().to_string().into_bytes()),
    ];
    Response::stored(url.clone(), 200, headers, body)
}

/// Bytes of the line with the size of a chunk that was cut.
const MAX_CUT_SIZE: usize = 16;

/// Undoes chunked transfer coding, which some crawlers leave in their records. A record may be cut anywhere: then the
/// result is what came before. Returns `None` if the body does not begin with a chunk.
fn dechunk(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let Some(end) = rest.iter().position(|&b| b == b'\n') else {
            return (!body.is_empty() && rest.len() <= MAX_CUT_SIZE).then_some(body);
        };
        let line = std::str::from_utf8(rest.get(..end)?).ok()?;
        let size = usize::from_str_radix(line.split(';').next()?.trim(), 16).ok()?;
        rest = rest.get(end + 1..)?;
        if size == 0 {
            return Some(body);
        }
        let Some(chunk) = rest.get(..size) else {
            body.extend_from_slice(rest);
            return line.ends_with('\r').then_some(body);
        };
        body.extend_from_slice(chunk);
        rest = rest.get(size..)?;
        if matches!(rest, [] | [b'\r']) {
            return Some(body);
        }
        rest = rest.strip_prefix(b"\r\n").or_else(|| rest.strip_prefix(b"\n"))?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_joined_and_a_cut_one_has_what_came() {
        assert_eq!(dechunk(b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n").unwrap(), b"abcde");
        assert_eq!(dechunk(b"3\r\nab").unwrap(), b"ab");
        assert_eq!(dechunk(b"zz\r\n"), None);
        let whole = b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n";
        for length in 4..whole.len() {
            let cut = dechunk(&whole[..length]).unwrap();
            assert!(b"abcde".starts_with(&cut[..]), "{length}: {cut:?}");
        }
        // The header declares chunks, and the body has none.
        assert_eq!(dechunk(b"<p>page\n"), None);
        assert_eq!(dechunk(b"2024\nwas a year"), None);
    }
}
