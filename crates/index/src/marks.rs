//! Marks lines of a stored text that belong to the site: the text stays whole, but such lines are found as other text.

use std::borrow::Cow;

/// First character of a line that is no main text.
pub(crate) const MARK: char = '\u{1}';

/// Returns the text with a mark before these lines, by ascending number. Marks that the page itself has are removed.
pub(crate) fn marked<'t>(text: &'t str, lines: &[usize]) -> Cow<'t, str> {
    let text = unmarked(text);
    if lines.is_empty() {
        return text;
    }
    let mut out = String::with_capacity(text.len() + lines.len());
    let mut next = lines.iter().copied().peekable();
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            out.push('\n');
        }
        if next.next_if_eq(&number).is_some() {
            out.push(MARK);
        }
        out.push_str(line);
    }
    Cow::Owned(out)
}

/// Returns the text without marks.
pub(crate) fn unmarked(text: &str) -> Cow<'_, str> {
    match text.contains(MARK) {
        true => Cow::Owned(text.replace(MARK, "")),
        false => Cow::Borrowed(text),
    }
}

/// Returns these lines of a text.
pub(crate) fn only_lines(text: &str, lines: &[usize]) -> String {
    let is_one = |(at, _): &(usize, &str)| lines.binary_search(at).is_ok();
    let found = unmarked(text).split('\n').enumerate().filter(is_one).fold(
        String::new(),
        |mut found, (_, line)| {
            found.push_str(line);
            found.push('\n');
            found
        },
    );
    found.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_come_and_go() {
        assert_eq!(marked("a\nb\n\nc", &[1, 3]), "a\n\u{1}b\n\n\u{1}c");
        assert_eq!(marked("\u{1}a\nb", &[]), "a\nb", "the page had it");
        assert_eq!(unmarked("a\n\u{1}b"), "a\nb");
        assert_eq!(only_lines("a\n\u{1}b\nc", &[0, 1]), "a\nb");
        assert_eq!(only_lines("a\nb", &[1, 9]), "b");
        assert_eq!(only_lines("a", &[]), "");
    }
}
