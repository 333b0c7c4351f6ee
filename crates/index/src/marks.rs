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

/// Returns the other text of a page with these lines of its main text at the end.
pub(crate) fn with_lines<'t>(other: &'t str, text: &str, lines: &[usize]) -> Cow<'t, str> {
    if lines.is_empty() {
        return Cow::Borrowed(other);
    }
    let mut out = other.to_owned();
    for (_, line) in text.split('\n').enumerate().filter(|(at, _)| lines.binary_search(at).is_ok())
    {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(line);
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_come_and_go() {
        assert_eq!(marked("a\nb\n\nc", &[1, 3]), "a\n\u{1}b\n\n\u{1}c");
        assert_eq!(marked("\u{1}a\nb", &[]), "a\nb", "the page had it");
        assert_eq!(unmarked("a\n\u{1}b"), "a\nb");
        assert_eq!(with_lines("o", "a\nb\nc", &[0, 2]), "o\na\nc");
        assert_eq!(with_lines("", "a\nb", &[1, 9]), "b");
        assert_eq!(with_lines("o", "a", &[]), "o");
    }
}
