//! Parses Content-Type as leniently as browsers.

/// Returns the content type that all values of the header declare together.
///
/// It is the last valid type except `*/*` and its equivalents, with its charset or that of an equal type directly before it. Returns
/// `None` without a header, and an empty string if no value is valid: then the content decides. Accepts `text/html
/// charset=utf-8` without a semicolon.
///
/// Source: WHATWG Fetch, "extract a MIME type"; WHATWG MIME Sniffing, section 4.4.
pub fn content_type<'a>(values: impl Iterator<Item = &'a [u8]>) -> Option<String> {
    let mut found: Option<(String, Option<String>)> = None;
    let mut any = false;
    for value in values {
        any = true;
        let value = String::from_utf8_lossy(value);
        for part in split(&value) {
            let Some((essence, charset)) = parse(part) else { continue };
            let before = found.take().filter(|(other, _)| *other == essence);
            let charset = charset.or_else(|| before.and_then(|(_, charset)| charset));
            found = Some((essence, charset));
        }
    }
    any.then(|| match found {
        Some((essence, Some(charset))) => format!("{essence};charset={charset}"),
        Some((essence, None)) => essence,
        None => String::new(),
    })
}

/// Types of unknown content, which decides (WHATWG MIME Sniffing, section 7).
const UNKNOWN: [&str; 3] = ["*/*", "unknown/unknown", "application/unknown"];

/// Splits at commas outside of quotes.
fn split(value: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    value.split(move |c| {
        quoted ^= c == '"';
        c == ',' && !quoted
    })
}

/// Parses one type: essence and charset. Returns `None` if it is invalid.
fn parse(text: &str) -> Option<(String, Option<String>)> {
    let text = text.trim();
    let end = text.find(|c: char| c == ';' || c.is_ascii_whitespace()).unwrap_or(text.len());
    let (essence, parameters) = text.split_at_checked(end)?;
    let (kind, subtype) = essence.split_once('/')?;
    let is_token = |text: &str| {
        !text.is_empty()
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
    };
    let is_unknown = UNKNOWN.iter().any(|unknown| essence.eq_ignore_ascii_case(unknown));
    if !is_token(kind) || !is_token(subtype) || is_unknown {
        return None;
    }
    let mut pairs = parameters.split([';', ' ', '\t']).filter_map(|pair| pair.split_once('='));
    let charset = pairs.find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"));
    let charset = charset.map(|(_, value)| value.trim().trim_matches(['"', '\'']).to_owned());
    Some((essence.to_ascii_lowercase(), charset.filter(|charset| !charset.is_empty())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_read_as_browsers_read_them() {
        for (values, expected) in [
            (&[][..], None),
            (&["text/html"][..], Some("text/html")),
            (&["Text/HTML; Charset=\"UTF-8\""], Some("text/html;charset=UTF-8")),
            (&["text/html charset=utf-8"], Some("text/html;charset=utf-8")),
            (&["text/html;charset=gbk, text/html"], Some("text/html;charset=gbk")),
            (&["text/html;charset=gbk", "text/plain"], Some("text/plain")),
            (&["text/plain", "text/html"], Some("text/html")),
            (&["text/html, */*"], Some("text/html")),
            (&["text/html;x=\"a,b\""], Some("text/html")),
            (&["text/html;;charset=x;"], Some("text/html;charset=x")),
            (&["*/*"], Some("")),
            (&["unknown/unknown"], Some("")),
            (&["Application/Unknown; charset=utf-8"], Some("")),
            (&["html"], Some("")),
            (&[""], Some("")),
            (&["; charset=utf-8"], Some("")),
            (&["text/\u{fffd}"], Some("")),
        ] {
            let found = content_type(values.iter().map(|value| value.as_bytes()));
            assert_eq!(found.as_deref(), expected, "{values:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_header_is_read_without_a_panic(values: Vec<Vec<u8>>) {
            let found = content_type(values.iter().map(Vec::as_slice));
            proptest::prop_assert_eq!(found.is_none(), values.is_empty());
            // The result is valid and parses to itself.
            let again = content_type(found.iter().map(String::as_bytes));
            proptest::prop_assert_eq!(again, found);
        }
    }
}
