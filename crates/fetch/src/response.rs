use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use reqwest::header::HeaderMap;
use tokio::sync::OwnedSemaphorePermit;
use url::Url;

use hapax_url::without_extra_slashes;

use crate::body::Packed;
use crate::content_type::content_type;

/// Headers that a crawler needs, kept first. Hosts may send others, such as Link, in numbers that displace the rest.
const NEEDED: [&str; 8] = [
    "content-encoding",
    "content-type",
    "etag",
    "last-modified",
    "location",
    "retry-after",
    "transfer-encoding",
    "x-robots-tag",
];

/// Joins headers of one name with commas, which is equivalent (RFC 9110, section 5.3).
pub(crate) fn in_one<'a>(values: impl Iterator<Item = &'a [u8]>) -> Option<String> {
    let values = values.map(|value| String::from_utf8_lossy(value).into_owned());
    values.reduce(|all, value| all + "," + &value)
}

/// Maximum of a Retry-After: a year. A longer one means the same to a crawl.
const LONGEST_RETRY: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Headers that set cookies: RFC 6265 and RFC 2965.
const COOKIES: [&str; 2] = ["set-cookie", "set-cookie2"];

/// A response.
#[derive(Clone, Debug)]
pub struct Response {
    /// Requested URL.
    pub url: Url,
    /// Status code.
    pub status: u16,
    /// Headers in order, names in lower case.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body as received, without chunked framing; empty if it is a sitemap that was compressed.
    pub raw: Bytes,
    pub(crate) packed: Option<Packed>,
    /// The decoded body; empty if it was not wanted.
    pub body: Bytes,
    /// Whether the response had no body.
    pub bodiless: bool,
    /// Whether the connection closed early although the content is complete: it ends with `</html>` or a gzip
    /// trailer.
    pub ended_early: bool,
    /// Whether the next request for this URL sends other cookies.
    pub cookies_changed: bool,
    /// Whether it came over HTTP/2.
    pub http2: bool,
    /// Address of the server; `None` behind a proxy or if unknown.
    pub peer: Option<SocketAddr>,
    /// Time until the body was received, without the wait for a large body's permit.
    pub took: Duration,
    /// The request head as a WARC stores it.
    pub request: Vec<u8>,
    /// Permit of a large body, until it is dropped.
    pub(crate) _permit: Option<Arc<OwnedSemaphorePermit>>,
}

impl Response {
    /// Makes a response that does not come from a [`Fetcher`](crate::Fetcher). Line breaks in headers become blanks,
    /// as in [`head`](Self::head).
    pub fn stored(url: Url, status: u16, mut headers: Vec<(String, Vec<u8>)>, raw: Bytes) -> Self {
        for (name, value) in &mut headers {
            if let Cow::Owned(clean) = one_line(value) {
                *value = clean;
            }
            if let Cow::Owned(clean) = one_line(name.as_bytes()) {
                *name = String::from_utf8_lossy(&clean).into_owned();
            }
        }
        let (body, request) = (raw.clone(), Vec::new());
        let (took, bodiless) = (Duration::ZERO, raw.is_empty());
        Self {
            url,
            status,
            headers,
            raw,
            packed: None,
            body,
            bodiless,
            ended_early: false,
            cookies_changed: false,
            http2: false,
            peer: None,
            took,
            request,
            _permit: None,
        }
    }

    /// Returns the number of bytes of the body that were received.
    pub fn received(&self) -> usize {
        self.packed.as_ref().map_or(self.raw.len(), |packed| packed.received)
    }

    /// Returns the first header with this name (lower case), if it is UTF-8.
    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(header, _)| header == name)?;
        std::str::from_utf8(value).ok()
    }

    /// Returns the content type that all Content-Type headers declare together; see [`content_type`].
    pub fn content_type(&self) -> Option<String> {
        let named = self.headers.iter().filter(|(name, _)| name == "content-type");
        content_type(named.map(|(_, value)| value.as_slice()))
    }

    /// Returns the Content-Encoding; the layer that was applied last comes last.
    pub fn encoding(&self) -> Option<String> {
        let named = self.headers.iter().filter(|(name, _)| name == "content-encoding");
        in_one(named.map(|(_, value)| value.as_slice()))
    }

    /// Returns the target of a redirect; `None` for any other response.
    pub fn redirect(&self) -> Option<Url> {
        if !matches!(self.status, 301 | 302 | 303 | 307 | 308) {
            return None;
        }
        let (_, value) = self.headers.iter().find(|(name, _)| name == "location")?;
        self.url.join(without_extra_slashes(header_text(value).trim())).ok()
    }

    /// Returns the Retry-After: seconds or a date (RFC 9110, section 10.2.3).
    pub fn retry_after(&self, now: SystemTime) -> Option<Duration> {
        let value = self.header("retry-after")?.trim();
        if !value.is_empty() && value.bytes().all(|digit| digit.is_ascii_digit()) {
            let seconds = Duration::from_secs(value.parse().unwrap_or(u64::MAX));
            return Some(seconds.min(LONGEST_RETRY));
        }
        let date = httpdate::parse_http_date(value).ok()?;
        Some(date.duration_since(now).unwrap_or_default().min(LONGEST_RETRY))
    }

    /// Returns the status line and headers as a WARC stores them.
    pub fn head(&self) -> Vec<u8> {
        // The blank is required even without a reason phrase (RFC 9112, section 4).
        let mut head = format!("HTTP/1.1 {} \r\n", self.status).into_bytes();
        for (name, value) in self.headers.iter().filter(|(name, _)| name != "transfer-encoding") {
            head.extend(&*one_line(name.as_bytes()));
            head.extend(b": ");
            head.extend(&*one_line(value));
            head.extend(b"\r\n");
        }
        head.extend(b"\r\n");
        head
    }
}

/// Returns the text of a header: UTF-8, else Latin-1 (WHATWG Fetch, "location URL", and HTML, "Refresh": isomorphic
/// decode).
pub fn header_text(value: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(value) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(value.iter().map(|&byte| char::from(byte)).collect()),
    }
}

/// Replaces CR, LF and NUL by blanks (RFC 9110, section 5.5): they could add headers or end the head.
pub fn one_line(value: &[u8]) -> Cow<'_, [u8]> {
    let breaks = |byte: u8| matches!(byte, b'\r' | b'\n' | 0);
    match value.iter().any(|&byte| breaks(byte)) {
        true => value.iter().map(|&byte| if breaks(byte) { b' ' } else { byte }).collect(),
        false => Cow::Borrowed(value),
    }
}

/// Returns the headers that fit in `max_bytes`, in their order; needed ones are chosen first. A `personal` request
/// keeps no Set-Cookie, which is as secret as the request.
pub(crate) fn kept_headers(
    headers: &HeaderMap,
    max_bytes: usize,
    personal: bool,
) -> Vec<(String, Vec<u8>)> {
    let mut room = max_bytes;
    let mut chosen = vec![false; headers.len()];
    for needed in [true, false] {
        for (chosen, (name, value)) in chosen.iter_mut().zip(headers) {
            let size = name.as_str().len() + value.len();
            let secret = personal && COOKIES.contains(&name.as_str());
            if NEEDED.contains(&name.as_str()) == needed && size <= room && !secret {
                room -= size;
                *chosen = true;
            }
        }
    }
    let both = headers.iter().zip(chosen).filter(|(_, chosen)| *chosen);
    both.map(|((name, value), _)| (name.as_str().to_owned(), value.as_bytes().to_vec())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(headers: &[(&str, &str)]) -> Response {
        let own = headers.iter().map(|(n, v)| ((*n).to_owned(), v.as_bytes().to_vec())).collect();
        Response::stored(Url::parse("http://a.example/x").unwrap(), 503, own, Bytes::new())
    }

    #[test]
    fn retry_after_is_read_in_both_forms() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        for (value, expected) in [
            ("120", Some(120)),
            ("Sun, 06 Nov 1994 08:50:37 GMT", Some(60)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", Some(0)),
            ("soon", None),
            ("-1", None),
            ("99999999999999999999999", Some(LONGEST_RETRY.as_secs())),
            ("Fri, 31 Dec 9999 23:59:59 GMT", Some(LONGEST_RETRY.as_secs())),
            ("", None),
        ] {
            let found = with(&[("retry-after", value)]).retry_after(now);
            assert_eq!(found, expected.map(Duration::from_secs), "{value}");
        }
    }

    #[test]
    fn a_redirect_is_read_whatever_its_bytes_are() {
        for (location, expected) in [
            (&b"/caf\xe9"[..], "http://a.example/caf%C3%A9"),
            ("/café".as_bytes(), "http://a.example/caf%C3%A9"),
            (b" /a b ", "http://a.example/a%20b"),
            (b"../y#z", "http://a.example/y#z"),
            (b"//b.example/", "http://b.example/"),
        ] {
            let mut response = with(&[]);
            response.status = 302;
            response.headers.push(("location".to_owned(), location.to_vec()));
            assert_eq!(response.redirect().unwrap().as_str(), expected);
        }
    }

    #[test]
    fn no_header_adds_a_line_to_the_head() {
        let hostile = [
            ("content-type", "text/html\r\nSet-Cookie: a=b\r\n\r\nFORGED"),
            ("x-a", "1\n\n2"),
            ("x-b", "1\r\r2\0"),
            ("x-c\r\n\r\nx-d", "3"),
        ];
        let mut response = with(&hostile);
        let stored = response.head();
        response.headers =
            hostile.iter().map(|(n, v)| ((*n).to_owned(), v.as_bytes().to_vec())).collect();
        assert_eq!(response.head(), stored, "whoever made it");
        let (status, headers, body) = crate::http_parts(&stored).unwrap();
        assert_eq!((status, headers.len(), body.len()), (503, 4, 0));
        let text = String::from_utf8(stored).unwrap();
        assert_eq!(text.matches(['\r', '\n', '\0']).count(), 2 * 6, "{text:?}");
        let value = "text/html  Set-Cookie: a=b    FORGED".as_bytes();
        assert_eq!(headers[0], ("content-type".to_owned(), value.to_vec()));
    }

    #[test]
    fn many_headers_do_not_push_out_the_needed_ones() {
        let mut headers = HeaderMap::new();
        for number in 0..50 {
            let name: reqwest::header::HeaderName = format!("x-{number}").parse().unwrap();
            headers.insert(name, "y".repeat(1000).parse().unwrap());
        }
        headers.insert("content-type", "text/html".parse().unwrap());
        let kept = kept_headers(&headers, 8192, false);
        assert!(kept.iter().any(|(name, _)| name == "content-type"));
        assert!(kept.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>() <= 8192);
        assert_eq!(kept.len(), 9);
    }

    #[test]
    fn cookies_and_links_push_out_nothing_and_are_not_kept_of_a_personal_request() {
        for many in ["set-cookie", "link"] {
            let mut headers = HeaderMap::new();
            for _ in 0..20 {
                headers.append(many, "y".repeat(1000).parse().unwrap());
            }
            let needed =
                [("content-encoding", "gzip"), ("location", "/x"), ("content-type", "a/b")];
            for (name, value) in needed {
                headers.insert(name, value.parse().unwrap());
            }
            let kept = kept_headers(&headers, 8192, false);
            let has = |wanted: &str| kept.iter().any(|(name, _)| name == wanted);
            assert!(needed.iter().all(|(name, _)| has(name)), "{many}");
            assert!(has(many), "as far as they fit");
            let kept = kept_headers(&headers, 8192, true);
            assert!(!kept.iter().any(|(name, _)| name == "set-cookie"), "{many}");
        }
    }
}
