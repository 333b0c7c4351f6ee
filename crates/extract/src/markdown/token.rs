//! A run of text as tokens, and the characters at their ends.

use std::borrow::Cow;

use unicode_normalization::char::is_combining_mark;

use super::tree::Mark;

/// How line breaks are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Breaks {
    /// A backslash and a new line.
    Line,
    /// `<br>`, in a cell.
    Tag,
    /// A space, in a heading.
    Space,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'a> {
    /// Text without markup characters.
    Text(Cow<'a, str>),
    /// Text of a code span.
    Code(&'a str),
    /// An image or a reference.
    Raw(String),
    Space,
    Break,
    Open(Mark),
    Close(Mark),
    /// A mark that Markdown cannot express here.
    Dropped,
}

/// Returns whether CommonMark classes a character as punctuation or a symbol.
pub(super) fn is_punctuation(c: char) -> bool {
    !c.is_alphanumeric() && !c.is_whitespace() && !c.is_control() && !is_joined(c)
}

/// Returns whether a character is a mark on the one before it, or a format character. Both are no punctuation.
fn is_joined(c: char) -> bool {
    is_combining_mark(c)
        || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{e000}'..='\u{f8ff}')
}

/// Returns the character that is written first.
pub(super) fn first_char(token: &Token<'_>, breaks: Breaks) -> Option<char> {
    match token {
        Token::Text(text) => text.chars().next(),
        Token::Raw(text) => text.chars().next(),
        Token::Code(_) => Some('`'),
        Token::Break if breaks == Breaks::Line => Some('\\'),
        Token::Break if breaks == Breaks::Tag => Some('<'),
        Token::Space | Token::Break => Some(' '),
        Token::Open(Mark::Link(_)) => Some('['),
        Token::Close(Mark::Link(_)) => Some(']'),
        Token::Open(Mark::Above | Mark::Below) | Token::Close(Mark::Above | Mark::Below) => {
            Some('<')
        }
        Token::Open(Mark::Strike) | Token::Close(Mark::Strike) => Some('~'),
        Token::Open(_) | Token::Close(_) | Token::Dropped => Some('*'),
    }
}

/// Returns the character that is written last.
pub(super) fn last_char(token: &Token<'_>, breaks: Breaks) -> Option<char> {
    match token {
        Token::Text(text) => text.chars().next_back(),
        Token::Raw(text) => text.chars().next_back(),
        Token::Break if breaks == Breaks::Tag => Some('>'),
        Token::Space | Token::Break => Some(' '),
        Token::Open(Mark::Above | Mark::Below) | Token::Close(Mark::Above | Mark::Below) => {
            Some('>')
        }
        Token::Close(Mark::Link(_)) => Some(')'),
        _ => first_char(token, breaks),
    }
}
