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

/// Returns a URL whose query is encoded in another charset with the query in UTF-8, as versions without charsets of
/// queries requested it. `None` if it is the same, or not in this charset.
pub fn utf8_query(url: &Url, charset: &str) -> Option<Url> {
    let encoding = Encoding::for_label(charset.as_bytes())?.output_encoding();
    let query = url.query().filter(|query| encoding != UTF_8 && query.contains('%'))?;
    // Only what is not ASCII was encoded; in some charsets the second byte of a character is ASCII.
    let mut bytes = Vec::with_capacity(query.len());
    let mut rest = query.as_bytes();
    while let Some((first, others)) = rest.split_first() {
        let byte = (*first == b'%')
            .then(|| std::str::from_utf8(others.get(..2)?).ok())
            .flatten()
            .and_then(|digits| u8::from_str_radix(digits, 16).ok())
            .filter(|byte| !byte.is_ascii());
        bytes.push(byte.unwrap_or(*first));
        rest = others.get(if byte.is_some() { 2 } else { 0 }..).unwrap_or_default();
    }
    let decoded = encoding.decode_without_bom_handling_and_without_replacement(&bytes)?;
    let mut utf8 = url.clone();
    utf8.set_query(Some(&decoded));
    (utf8 != *url).then_some(utf8)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_encoded_in_utf_8_again() {
        for (charset, now, before) in [
            ("windows-1252", "q=caf%E9&a=%26b", Some("q=caf%C3%A9&a=%26b")),
            ("GBK", "q=%C4%E3%BA%C3", Some("q=%E4%BD%A0%E5%A5%BD")),
            ("Shift_JIS", "q=%83A", Some("q=%E3%82%A2")),
            ("UTF-8", "q=%E9", None),
            ("windows-1252", "q=%41%", None),
            ("GBK", "q=%E9", None),
        ] {
            let of = |query: &str| Url::parse(&format!("http://a.example/?{query}")).unwrap();
            assert_eq!(utf8_query(&of(now), charset), before.map(of), "{charset} {now}");
        }
    }
}
