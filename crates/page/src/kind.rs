//! Whether bytes are HTML, plain text or neither.

use hapax_extract::{Document, Limits, extract, extract_plain};
use url::Url;

/// So many bytes without a zero are a text, if nothing else is known.
const LOOKED_AT: usize = 1024;

/// What a page is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// HTML or XHTML.
    Html,
    /// Text without markup.
    Plain,
}

impl Kind {
    /// What a response holds, by its content type or, without one, by its bytes; `None` for what is no
    /// page.
    pub fn of(content_type: Option<&str>, body: &[u8]) -> Option<Self> {
        let essence = content_type.and_then(|t| t.split(';').next()).unwrap_or_default().trim();
        match essence.to_ascii_lowercase().as_str() {
            "text/html" | "application/xhtml+xml" => Some(Self::Html),
            "text/plain" => Some(Self::Plain),
            "" => {
                let start = body.trim_ascii_start();
                let marked = |kind| if kind { Self::Html } else { Self::Plain };
                if let [0xFF, 0xFE, rest @ ..] | [0xFE, 0xFF, rest @ ..] = body {
                    // UTF-16, as its byte order mark says.
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

    /// Bytes to a document, within the default limits.
    pub fn read(self, url: &Url, content_type: Option<&str>, body: &[u8]) -> Document {
        match self {
            Self::Html => extract(url, content_type, body, &Limits::default()),
            Self::Plain => extract_plain(content_type, body, &Limits::default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
