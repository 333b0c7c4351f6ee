//! Determines whether bytes are HTML, plain text or neither.

use std::borrow::Cow;

use hapax_extract::{Document, Limits, Structured, extract, extract_plain, extract_structured};
use url::Url;

/// Without a content type, a body is text if this number of bytes contains no zero byte.
const LOOKED_AT: usize = 1024;

/// The kind of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// HTML or XHTML.
    Html,
    /// Text without markup.
    Plain,
}

impl Kind {
    /// Returns the kind of a response by its content type, else by its bytes. `None` if it is not a page.
    pub fn of(content_type: Option<&str>, body: &[u8]) -> Option<Self> {
        let essence = content_type.and_then(|t| t.split([';', ',']).next()).unwrap_or_default();
        let essence = essence.trim();
        match essence.to_ascii_lowercase().as_str() {
            "text/html" | "application/xhtml+xml" => Some(Self::Html),
            "text/plain" => Some(Self::Plain),
            "application/xml" | "text/xml" => is_xhtml(body).then_some(Self::Html),
            // WHATWG MIME Sniffing, section 7.
            "" | "*/*" | "unknown/unknown" | "application/unknown" => {
                let start = body.trim_ascii_start();
                let marked = |kind| if kind { Self::Html } else { Self::Plain };
                if let [0xFF, 0xFE, rest @ ..] | [0xFE, 0xFF, rest @ ..] = body {
                    // UTF-16 with a byte order mark.
                    let first = rest.as_chunks::<2>().0.iter().map(|[a, b]| a | b);
                    let first = first.clone().find(|byte| !byte.is_ascii_whitespace());
                    first.map(|byte| marked(byte == b'<'))
                } else if start.starts_with(b"<") || start.starts_with(b"\xEF\xBB\xBF<") {
                    Some(Self::Html)
                } else if !body.is_empty() && !body.iter().take(LOOKED_AT).any(|&b| b == 0) {
                    Some(Self::Plain)
                } else {
                    None
                }
            }
            _ => None,
        }
    }

    /// Returns whether a response with this content type may be a page.
    pub fn may_be(content_type: &str) -> bool {
        let essence = content_type.split([';', ',']).next().unwrap_or_default().trim();
        // The content decides about XML, and without a known type.
        let by_content =
            ["", "*/*", "unknown/unknown", "application/unknown", "application/xml", "text/xml"];
        by_content.iter().any(|kind| essence.eq_ignore_ascii_case(kind))
            || Self::of(Some(essence), b"").is_some()
    }

    /// Extracts a document, within the default limits.
    pub fn read(self, url: &Url, content_type: Option<&str>, body: &[u8]) -> Document {
        match self {
            Self::Html => extract(url, content_type, body, &Limits::default()),
            Self::Plain => extract_plain(content_type, body, &Limits::default()),
        }
    }

    /// Extracts a document and keeps its elements, within the default limits.
    pub fn read_structured(self, url: &Url, content_type: Option<&str>, body: &[u8]) -> Structured {
        let limits = Limits::default();
        match self {
            Self::Html => extract_structured(url, content_type, body, &limits),
            Self::Plain => Structured::plain(extract_plain(content_type, body, &limits)),
        }
    }
}

/// Number of bytes of an XML document that are searched for its root element.
const PROLOG: usize = 64 << 10;

/// Returns the beginning of an XML document, by its byte order mark.
fn prolog(body: &[u8]) -> Cow<'_, str> {
    let start = body.get(..PROLOG.min(body.len())).unwrap_or_default();
    let utf16 = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units = bytes.as_chunks::<2>().0.iter().map(|pair| unit(*pair));
        char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    };
    match start {
        [0xFF, 0xFE, rest @ ..] => Cow::Owned(utf16(rest, u16::from_le_bytes)),
        [0xFE, 0xFF, rest @ ..] => Cow::Owned(utf16(rest, u16::from_be_bytes)),
        _ => String::from_utf8_lossy(start),
    }
}

/// Returns whether the root element of an XML document is `html`, with any prefix.
fn is_xhtml(body: &[u8]) -> bool {
    let text = prolog(body);
    let mut rest = &*text;
    while let Some(at) = rest.find('<') {
        rest = rest.get(at + 1..).unwrap_or_default();
        let end = match rest.get(..3) {
            Some("!--") => rest.find("-->"),
            _ if rest.starts_with(['?', '!']) => rest.find('>'),
            _ => {
                let end = rest.find(|c: char| c.is_whitespace() || c == '>' || c == '/');
                let name = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
                let name = name.rsplit(':').next().unwrap_or_default();
                return name.eq_ignore_ascii_case("html");
            }
        };
        let Some(end) = end else { return false };
        rest = rest.get(end..).unwrap_or_default();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xhtml_is_found_in_utf_16_and_behind_a_long_comment() {
        let page =
            |root: &str| format!("<?xml version='1.0'?><!-- {} --><{root}>", "long ".repeat(2000));
        for (root, expected) in [("html xmlns='x'", Some(Kind::Html)), ("rss", None)] {
            assert_eq!(Kind::of(Some("text/xml"), page(root).as_bytes()), expected);
            for unit in [u16::to_le_bytes, u16::to_be_bytes] {
                let text = format!("\u{feff}{}", page(root));
                let bytes: Vec<u8> = text.encode_utf16().flat_map(unit).collect();
                assert_eq!(Kind::of(Some("application/xml"), &bytes), expected);
            }
        }
    }

    #[test]
    fn a_type_says_what_bytes_are_and_without_one_they_do() {
        let html = Some(Kind::Html);
        assert_eq!(Kind::of(Some("Text/HTML; charset=x"), b"no tag"), html);
        assert_eq!(Kind::of(Some("text/plain"), b"<p>"), Some(Kind::Plain));
        assert_eq!(Kind::of(Some("image/png"), b"<p>"), None);
        for body in [&b" \n<p>"[..], b"\xEF\xBB\xBF<p>"] {
            assert_eq!(Kind::of(None, body), html);
            assert_eq!(Kind::of(Some(" ; charset=utf-8"), body), html);
        }
        assert_eq!(Kind::of(None, b"a text"), Some(Kind::Plain));
        for kind in ["application/xml", "text/xml; charset=utf-8"] {
            let root = b"<?xml version='1.0'?><!-- <x> --><!DOCTYPE html>\n<html xmlns='x'>";
            assert_eq!(Kind::of(Some(kind), root), html);
            assert_eq!(Kind::of(Some(kind), b"<?xml?><x:html>"), html);
            assert_eq!(Kind::of(Some(kind), b"<rss><html>"), None);
            assert!(Kind::may_be(kind));
        }
        for (kind, may_be) in [("text/html", true), ("", true), ("*/*", true), ("image/png", false)]
        {
            assert_eq!(Kind::may_be(kind), may_be, "{kind}");
        }
        for kind in ["*/*", "unknown/unknown", "Application/Unknown; charset=x"] {
            assert_eq!((Kind::of(Some(kind), b"<p>"), Kind::may_be(kind)), (html, true), "{kind}");
            assert_eq!(Kind::of(Some(kind), b"PK\x03\x04\0"), None, "{kind}");
        }
        for big in [false, true] {
            let utf16 = |text: &str| -> Vec<u8> {
                let units = "\u{FEFF}".encode_utf16().chain(text.encode_utf16());
                let swapped = |unit: u16| if big { unit.swap_bytes() } else { unit };
                units.flat_map(|unit| swapped(unit).to_le_bytes()).collect()
            };
            assert_eq!(Kind::of(None, &utf16("\n <p>text")), html);
            assert_eq!(Kind::of(None, &utf16("text")), Some(Kind::Plain));
            assert_eq!(Kind::of(None, &utf16("")), None);
            let text = utf16("<title>π");
            let url = Url::parse("http://a.example/").ok();
            let page = url.map(|url| Kind::Html.read(&url, None, &text));
            assert_eq!(page.map(|page| page.title).as_deref(), Some("π"));
        }
        assert_eq!((Kind::of(None, b""), Kind::of(None, b"PK\x03\x04\0")), (None, None));
    }
}
