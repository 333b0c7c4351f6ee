//! Removes line breaks in text without spaces.

use std::borrow::Cow;

use crate::lang::is_cjk;

/// Returns whether `c` is as wide as an ideograph and does not separate words.
pub(crate) fn is_wide(c: char) -> bool {
    is_cjk(c) || matches!(c, '\u{3000}'..='\u{303F}' | '\u{FF00}'..='\u{FF60}')
}

/// Removes single line breaks between two wide characters, which are not spaces (CSS Text 3, 4.1.3).
///
/// # Complexity
/// Linear.
pub(crate) fn unwrapped(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_wide) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        // Otherwise each empty line would scan all empty lines before it.
        if line.trim_start().is_empty() {
            out.push_str(line);
            continue;
        }
        let joins = line.trim_start().starts_with(is_wide) && out.trim_end().ends_with(is_wide);
        let end = out.trim_end();
        // Only one line break between them.
        if joins && out.get(end.len()..).is_some_and(|space| space.matches('\n').count() == 1) {
            out.truncate(end.len());
            out.push_str(line.trim_start());
        } else {
            out.push_str(line);
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_empty_lines_are_looked_through_once() {
        let text = format!("天{}地\n和", "\n".repeat(4 << 20));
        let started = std::time::Instant::now();
        assert_eq!(unwrapped(&text).len(), text.len() - 1);
        assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
    }

    #[test]
    fn line_breaks_between_wide_characters_are_removed() {
        assert_eq!(
            unwrapped("我们在公\r\n  园里散步，\n看见\nmany people\n也在\n\n那里\n"),
            "我们在公园里散步，看见\nmany people\n也在\n\n那里\n"
        );
        assert!(matches!(unwrapped("no\nsuch\ntext"), Cow::Borrowed(_)));
    }
}
