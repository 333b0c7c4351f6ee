//! How a body that is longer than its limit or that ended early is handled, by what was requested.

use reqwest::header::{CONTENT_ENCODING, HeaderMap, HeaderValue};

use crate::decode::{is_complete_gzip, is_plain};
use crate::limits::LARGE_BODY;
use crate::response::in_one;

use super::whole::is_whole_page;

/// How to handle a body that is longer than its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beyond {
    Fails,
    /// A sitemap, or a seed that may be one.
    IsCut {
        decode: bool,
    },
    /// robots.txt; its body is read at every status.
    IsIgnored,
}

impl Beyond {
    /// Returns the number of bytes beyond which a body is compressed while it arrives.
    pub(super) fn pack_beyond(self, headers: &HeaderMap) -> usize {
        let encodings = headers.get_all(CONTENT_ENCODING).iter();
        let encoding = in_one(encodings.map(HeaderValue::as_bytes)).unwrap_or_default();
        match self == (Self::IsCut { decode: false }) && is_plain(&encoding) {
            true => LARGE_BODY,
            false => usize::MAX,
        }
    }

    /// Returns whether a body that ended early is an error. `framed`: it has a length or chunks, or came by HTTP/2.
    pub(super) fn lacks_content(
        self,
        framed: bool,
        content_type: Option<&str>,
        raw: &[u8],
        body: &[u8],
    ) -> bool {
        let is_text = content_type.is_some_and(|kind| kind.starts_with("text/plain"));
        match self {
            // Nothing in a text shows its end, and the server closes the next connection in the same way.
            Self::Fails if is_text && !framed => false,
            Self::Fails => !is_whole(raw, body),
            // The parser reports that it is cut.
            Self::IsCut { .. } => false,
            Self::IsIgnored => framed && !is_whole_gzip(raw),
        }
    }
}

/// Returns whether the content of an incomplete response is complete: a whole page, or a valid gzip trailer.
fn is_whole(raw: &[u8], body: &[u8]) -> bool {
    is_whole_page(body) || is_whole_gzip(raw)
}

/// Returns whether a body is gzip with a valid trailer. An empty one is not.
fn is_whole_gzip(raw: &[u8]) -> bool {
    raw.starts_with(&[0x1f, 0x8b]) && is_complete_gzip(raw)
}
