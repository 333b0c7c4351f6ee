//! Content-Type, as servers write it.

/// Returns the content type that several header values declare together: the last one that is a type other than `*/*`,
/// with its charset; a charset of an equal type before it counts if it has none. `None` without a header; empty if no
/// value is a type, so the bytes decide.
///
/// `text/html charset=utf-8` (without a semicolon) is read as what was meant.
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

/// The parts between commas outside of quotes.
fn split(value: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    value.split(move |c| {
        quoted ^= c == '"';
        c == ',' && !quoted
    })
}

/// The essence and the charset of one type; `None` for what is none.
fn parse(text: &str) -> Option<(String, Option<String>)> {
    let text = text.trim();
    let end = text.find(|c: char| c == ';' || c.is_ascii_whitespace()).unwrap_or(text.len());
    let (essence, parameters) = text.split_at_checked(end)?;
    let (kind, subtype) = essence.split_once('/')?;
    let is_token = |text: &str| {
        !text.is_empty()
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
    };
    if !is_token(kind) || !is_token(subtype) || essence == "*/*" {
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
            (&["html"], Some("")),
            (&[""], Some("")),
            (&["; charset=utf-8"], Some("")),
            (&["text/\u{fffd}"], Some("")),
        ] {
            let found = content_type(values.iter().map(|value| value.as_bytes()));
            assert_eq!(found.as_deref(), expected, "{values:?}");
        }
    }
}
