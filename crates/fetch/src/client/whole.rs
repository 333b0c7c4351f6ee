//! Whether a page is complete although its response ended early: it has its end tag.

use std::borrow::Cow;

use encoding_rs::{UTF_16BE, UTF_16LE};

/// Bytes behind the end tag that may have any content.
const BEHIND: usize = 1024;
/// Bytes of comments, scripts and white space behind the end tag.
const TRAILER: usize = 16 << 10;
/// Elements whose content is text (WHATWG HTML, "parsing HTML documents"): no end tag of the page is in them.
const TEXTS: [&str; 6] = ["script", "style", "textarea", "title", "xmp", "iframe"];

/// Returns whether a page has the tag `</html>`, which is not in a comment or script, near its end.
pub(super) fn is_whole_page(body: &[u8]) -> bool {
    let text = in_ascii(body).to_ascii_lowercase();
    let mut rest = &*text;
    // Behind the last end tag: all content, and that other than comments, scripts and white space.
    let mut behind: Option<(&str, bool)> = None;
    while let Some(at) = rest.find('<') {
        let between = rest.get(..at).unwrap_or_default();
        rest = rest.get(at..).unwrap_or_default();
        if let Some(next) = behind_end_tag(rest) {
            (rest, behind) = (next, Some((next, false)));
            continue;
        }
        let (end, is_quiet) = match (rest.strip_prefix("<!--"), text_element(rest)) {
            (Some(comment), _) => (comment.find("-->").map(|end| end + "<!---->".len()), true),
            (_, Some(name)) => (end_of(rest, name), name == "script"),
            _ => (Some(1), false),
        };
        if let Some((_, other)) = &mut behind {
            *other |= !is_quiet || !between.trim().is_empty();
        }
        // A comment or script that is not closed reaches to the end.
        rest = end.and_then(|end| rest.get(end..)).unwrap_or_default();
    }
    behind.is_some_and(|(behind, other)| {
        let other = other || !rest.trim().is_empty();
        behind.len() <= if other { BEHIND } else { TRAILER }
    })
}

/// Returns the text behind `</html>`, in any spelling, if a text begins with it.
fn behind_end_tag(text: &str) -> Option<&str> {
    text.strip_prefix("</html")?.trim_start().strip_prefix('>')
}

/// Returns the element with text content whose start tag a text begins with.
fn text_element(text: &str) -> Option<&'static str> {
    let rest = text.strip_prefix('<')?;
    let begins = |name: &&&str| {
        let behind = rest.strip_prefix(**name).and_then(|behind| behind.chars().next());
        behind.is_some_and(|c| c.is_whitespace() || matches!(c, '>' | '/'))
    };
    TEXTS.iter().find(begins).copied()
}

/// Returns the position behind the end tag of an element.
fn end_of(text: &str, name: &str) -> Option<usize> {
    let mut from = 1;
    while let Some(at) = text.get(from..)?.find("</") {
        from += at + 2;
        if text.get(from..)?.starts_with(name) {
            return text.get(from..)?.find('>').map(|end| from + end + 1);
        }
    }
    None
}

/// Returns a body with its ASCII characters; UTF-16 is decoded.
fn in_ascii(body: &[u8]) -> Cow<'_, str> {
    match body {
        [0xFF, 0xFE, ..] | [b'<', 0, ..] => UTF_16LE.decode_with_bom_removal(body).0,
        [0xFE, 0xFF, ..] | [0, b'<', ..] => UTF_16BE.decode_with_bom_removal(body).0,
        _ => String::from_utf8_lossy(body),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_tag_that_the_parser_meets_completes_a_page() {
        let long = |part: &str, bytes: usize| part.repeat(bytes / part.len());
        for (page, expected) in [
            ("<p>text</html>".to_owned(), true),
            ("<p>text</HTML >".to_owned(), true),
            ("<p>text</html\n>\n".to_owned(), true),
            ("<p>text</html>\n<!-- in 0.2 s -->".to_owned(), true),
            (format!("</html><!-- {} -->\n", long("made ", 3000)), true),
            (format!("</html><script>{}</script> ", long("a();", 3000)), true),
            // A trailing comment that was cut.
            (format!("</html> <!-- {}", long("made ", 3000)), true),
            (format!("</html><p>{}", long("text ", 900)), true),
            (format!("</html><p>{}", long("text ", 2000)), false),
            (format!("</html>{}", long("text ", 2000)), false),
            (format!("</html><!-- {} -->", long("made ", 40_000)), false),
            ("<p>text".to_owned(), false),
            ("<p>text</htmlx>".to_owned(), false),
            ("<p>text</html".to_owned(), false),
            ("<script>var end = '</html>';".to_owned(), false),
            ("<script>var end = '</html>';</script><p>te".to_owned(), false),
            ("<script>a = '<!--'</script><p>text</html>".to_owned(), true),
            ("<p><!-- </html>".to_owned(), false),
            ("<p><!-- </html> --><p>te".to_owned(), false),
            ("<textarea><html></html></textarea><p>te".to_owned(), false),
            ("<titles></titles></html>".to_owned(), true),
            (String::new(), false),
        ] {
            assert_eq!(is_whole_page(page.as_bytes()), expected, "{page:.60}");
            let utf16 = |unit: fn(u16) -> [u8; 2], mark: &str| -> Vec<u8> {
                format!("{mark}{page}").encode_utf16().flat_map(unit).collect()
            };
            assert_eq!(is_whole_page(&utf16(u16::to_le_bytes, "\u{feff}")), expected, "{page:.60}");
            assert_eq!(is_whole_page(&utf16(u16::to_be_bytes, "\u{feff}")), expected, "{page:.60}");
            assert_eq!(is_whole_page(&utf16(u16::to_le_bytes, "<p>")), expected, "{page:.60}");
        }
    }

    #[test]
    fn many_open_tags_take_linear_time() {
        let started = std::time::Instant::now();
        for part in ["</html><!--", "<script </", "<script></script", "</html", "<"] {
            let _ = is_whole_page(part.repeat((1 << 20) / part.len()).as_bytes());
        }
        assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
    }
}
