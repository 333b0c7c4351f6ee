//! Skips text and irrelevant tags byte by byte, as the tokenization stage of the HTML standard reads them.

/// Returns the number of bytes before the next relevant tag, comment or incomplete tag.
///
/// # Complexity
/// Linear in the skipped bytes.
pub(crate) fn skip(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr(b'<', rest)) {
        at += found;
        let rest = bytes.get(at + 1..).unwrap_or_default();
        let (ends, rest) = match rest.strip_prefix(b"/") {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        match rest.first() {
            Some(letter) if letter.is_ascii_alphabetic() => {
                let length = rest.iter().position(|&byte| ends_name(byte)).unwrap_or(rest.len());
                let (name, after) = rest.split_at(length);
                match end_of_tag(after) {
                    Some(end) if !matters(name, ends) => {
                        at += 1 + usize::from(ends) + length + end;
                    }
                    _ => return at,
                }
            }
            Some(b'!' | b'?') | None => return at,
            _ if ends => return at,
            // Not a tag, but text.
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Returns whether the scan must read this tag: it may declare something, or its content is not markup.
fn matters(name: &[u8], ends: bool) -> bool {
    let mut lower = [0; 8];
    let Some(lower) = lower.get_mut(..name.len()) else { return false };
    lower.copy_from_slice(name);
    lower.make_ascii_lowercase();
    match &*lower {
        b"noscript" | b"template" | b"title" => true,
        b"a" | b"area" | b"base" | b"frame" | b"iframe" | b"link" | b"math" | b"meta"
        | b"noembed" | b"noframes" | b"script" | b"style" | b"svg" | b"textarea" | b"xmp" => !ends,
        _ => false,
    }
}

const fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\x0c' | b'\r' | b' ')
}

const fn ends_name(byte: u8) -> bool {
    is_space(byte) || matches!(byte, b'/' | b'>')
}

/// Returns the number of bytes from the end of a tag's name through its `>` (HTML, 13.2.5.32 to 13.2.5.40).
fn end_of_tag(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    let skip = |at: usize, stops: fn(u8) -> bool| {
        Some(at + bytes.get(at..)?.iter().position(|&byte| stops(byte))?)
    };
    loop {
        // Before an attribute's name.
        at = skip(at, |byte| !is_space(byte) && byte != b'/')?;
        if bytes.get(at) == Some(&b'>') {
            return Some(at + 1);
        }
        // In the name; its first byte may be an equals sign.
        at = skip(at + 1, |byte| ends_name(byte) || byte == b'=')?;
        at = skip(at, |byte| !is_space(byte))?;
        if bytes.get(at) != Some(&b'=') {
            continue;
        }
        at = skip(at + 1, |byte| !is_space(byte))?;
        at = match *bytes.get(at)? {
            quote @ (b'"' | b'\'') => at + 2 + memchr::memchr(quote, bytes.get(at + 1..)?)?,
            _ => skip(at, |byte| is_space(byte) || byte == b'>')?,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tags_that_declare_nothing_are_passed_over() {
        for (text, left) in [
            ("text <p class='>'>more <b>x</b> <A HREF=x>", "<A HREF=x>"),
            ("<p a=\"<a href=no>\"b='>'c = d>1 < 2 <3 </p x='>'>< a><base>", "<base>"),
            ("<p a=/><p/><p/a/=/'><p a==\">'><p a>=\"><link>", "<link>"),
            ("<p '=\"><a>", "<p '=\"><a>"),
            ("<noscripts></noscript>", "</noscript>"),
            ("<templates></template>", "</template>"),
            ("<p><TEMPLATE>", "<TEMPLATE>"),
            ("</a></svg></title>", "</title>"),
            ("<p><!-- <a> -->", "<!-- <a> -->"),
            ("<p></ a>", "</ a>"),
            ("<p><", "<"),
            ("<p></", "</"),
            ("<p><div class='a", "<div class='a"),
            ("no tag", ""),
            ("", ""),
        ] {
            assert_eq!(text.get(skip(text)..).unwrap(), left, "{text}");
        }
    }
}
