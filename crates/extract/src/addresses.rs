//! Resolves the addresses that a page declares.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8};
use hapax_url::without_extra_slashes;
use url::Url;

use crate::limits::Limits;

/// Returns an absolute address, or `None` if it is too long.
pub(crate) fn join(base: &Url, href: &str, limits: &Limits) -> Option<Url> {
    base.join(without_extra_slashes(href))
        .ok()
        .filter(|url| url.as_str().len() <= limits.max_url_bytes)
}

/// Resolves a link. Its query is encoded in the charset of the page, as in browsers.
///
/// Source: WHATWG HTML, "encoding-parse a URL"; WHATWG URL, "percent-encode after encoding".
pub(crate) fn join_in(base: &Url, href: &str, encoding: &'static Encoding) -> Option<Url> {
    let (href, encoding) = (without_extra_slashes(href), encoding.output_encoding());
    if encoding == UTF_8 || href.is_ascii() {
        return base.join(href).ok();
    }
    let encode: &dyn Fn(&str) -> Cow<'_, [u8]> = &|text| Cow::Owned(encoded(text, encoding));
    Url::options().base_url(Some(base)).encoding_override(Some(encode)).parse(href).ok()
}

/// Encodes a text. Characters missing in the charset become percent-encoded character references (`%26%23233%3B`).
fn encoded(text: &str, encoding: &'static Encoding) -> Vec<u8> {
    let (all, _, lacks) = encoding.encode(text);
    if !lacks {
        return all.into_owned();
    }
    let mut bytes = Vec::with_capacity(all.len());
    let mut buffer = [0; 4];
    for c in text.chars() {
        match encoding.encode(c.encode_utf8(&mut buffer)) {
            (known, _, false) => bytes.extend(&*known),
            _ => bytes.extend(format!("%26%23{}%3B", u32::from(c)).bytes()),
        }
    }
    bytes
}
