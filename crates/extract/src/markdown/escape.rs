//! Escapes text that Markdown would read as markup.

use std::borrow::Cow;

/// Writes a text of one line. `before` and `after` are the characters around it, if it is not alone on its line.
///
/// # Complexity
/// Linear.
pub(super) fn escape(text: &str, before: Option<char>, after: Option<char>, out: &mut String) {
    let mut written = 0;
    let signs = text.bytes().enumerate().filter(|(_, byte)| has(SIGNS, *byte));
    for (at, byte) in signs {
        // Signs are ASCII, so `at` is a boundary.
        let (start, rest) = text.split_at(at);
        let before = start.chars().next_back().or(before).unwrap_or(' ');
        let mut later = rest.chars().skip(1);
        let last = at + 1 == text.len();
        let next = later.next().or(after).unwrap_or(' ');
        let is_word = |c: char| c.is_alphanumeric();
        let is_markup = match byte {
            // A brace begins an expression of MDX and of templates.
            b'\\' | b'`' | b'[' | b']' | b'{' => true,
            b'*' => !(before.is_whitespace() && next.is_whitespace()),
            b'_' => {
                let inside = is_word(before) && is_word(next);
                !(inside || before.is_whitespace() && next.is_whitespace())
            }
            b'~' => next == '~' || !before.is_whitespace(),
            b'<' => next.is_ascii_alphabetic() || matches!(next, '/' | '!' | '?'),
            b'&' => is_entity(rest),
            // A link follows, which would become an image. A bracket of the text is escaped itself.
            b'!' => after == Some('[') && last,
            _ => false,
        };
        if is_markup {
            out.push_str(text.get(written..at).unwrap_or_default());
            out.push('\\');
            written = at;
        }
    }
    out.push_str(text.get(written..).unwrap_or_default());
}

/// Characters that may be markup.
const SIGNS: u128 = set(b"\\`[]{*_~<&!");
/// Characters that need no escape in a destination.
const PLAIN: u128 =
    set(b"/:.-_?=#%+,;@~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");

/// Returns a set of ASCII characters, one bit each.
const fn set(mut characters: &[u8]) -> u128 {
    let mut set = 0;
    while let [first, rest @ ..] = characters {
        set |= 1 << *first;
        characters = rest;
    }
    set
}

const fn has(set: u128, byte: u8) -> bool {
    byte.is_ascii() && (set >> byte) & 1 == 1
}

/// Longest name of an entity in HTML, in bytes.
const MAX_ENTITY: usize = 32;

/// Returns whether a text begins with a character reference.
fn is_entity(text: &str) -> bool {
    let rest = text.get(1..).unwrap_or_default();
    let end = rest.bytes().position(|byte| !byte.is_ascii_alphanumeric() && byte != b'#');
    end.is_some_and(|end| {
        (1..=MAX_ENTITY).contains(&end) && rest.as_bytes().get(end) == Some(&b';')
    })
}

/// Returns an escaped line whose beginning is no heading, list, rule, quote, table, definition or statement of MDX.
pub(super) fn at_line_start(line: &str) -> Cow<'_, str> {
    let first = line.chars().next().unwrap_or(' ');
    let rest = line.get(first.len_utf8()..).unwrap_or_default();
    let next = rest.chars().next().unwrap_or(' ');
    let must = match first {
        '#' | '>' | '=' | '|' => true,
        '+' => next.is_whitespace(),
        '-' => next.is_whitespace() || matches!(next, '-' | '|' | ':'),
        '~' => next == '~',
        ':' => next.is_whitespace() || matches!(next, '-' | ':'),
        // `*` alone is not escaped between spaces.
        '*' => next.is_whitespace(),
        '_' => next.is_whitespace(),
        '0'..='9' => return numbered(line),
        'i' | 'e' => return statement(line),
        _ => false,
    };
    if must { format!("\\{line}").into() } else { line.into() }
}

fn numbered(line: &str) -> Cow<'_, str> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = line.split_at(digits);
    let mut rest = rest.chars();
    let is_marker = matches!(rest.next(), Some('.' | ')'));
    if is_marker && rest.next().is_none_or(char::is_whitespace) {
        format!("{number}\\{}", line.get(digits..).unwrap_or_default()).into()
    } else {
        line.into()
    }
}

/// MDX executes a line that begins with one of these words.
fn statement(line: &str) -> Cow<'_, str> {
    for (word, escaped) in [("import", "&#105;mport"), ("export", "&#101;xport")] {
        if let Some(rest) = line.strip_prefix(word)
            && rest.starts_with([' ', '{', '"', '\'', '\\', '*'])
        {
            return format!("{escaped}{rest}").into();
        }
    }
    line.into()
}

/// Returns an address as the destination of a link. It has no spaces, line ends or pipes.
pub(super) fn destination(url: &str) -> Cow<'_, str> {
    if url.bytes().all(|byte| has(PLAIN, byte)) {
        return url.into();
    }
    let mut safe = String::with_capacity(url.len());
    for (at, c) in url.char_indices() {
        match c {
            '<' | '>' | '\\' | '|' | '`' | '"' => safe.push_str(&format!("%{:02X}", u32::from(c))),
            '&' if is_entity(url.get(at..).unwrap_or_default()) => safe.push_str("&amp;"),
            c if c.is_whitespace() || c.is_control() => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    safe.push_str(&format!("%{byte:02X}"));
                }
            }
            c => safe.push(c),
        }
    }
    if safe.contains(['(', ')']) { format!("<{safe}>").into() } else { safe.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(text: &str) -> String {
        let mut out = String::new();
        escape(text, None, None, &mut out);
        at_line_start(&out).into_owned()
    }

    #[test]
    fn text_that_looks_like_markdown_is_escaped_and_other_text_is_not() {
        for (text, expected) in [
            ("# heading", "\\# heading"),
            ("#!/bin/sh", "\\#!/bin/sh"),
            ("- item", "\\- item"),
            ("---", "\\---"),
            ("===", "\\==="),
            ("+ item", "\\+ item"),
            ("12. item", "12\\. item"),
            ("3) item", "3\\) item"),
            ("3.5 % of all", "3.5 % of all"),
            ("> quote", "\\> quote"),
            ("| a | b |", "\\| a | b |"),
            ("a * b = c", "a * b = c"),
            ("*bold*", "\\*bold\\*"),
            ("snake_case_name", "snake_case_name"),
            ("_it_", "\\_it\\_"),
            ("~~gone~~", "\\~\\~gone\\~\\~"),
            ("~5 of ~6", "~5 of ~6"),
            ("`code`", "\\`code\\`"),
            ("[a](b)", "\\[a\\](b)"),
            ("![a](b)", "!\\[a\\](b)"),
            ("a < b > c", "a < b > c"),
            ("<b>", "\\<b>"),
            ("a &amp; b & c &c", "a \\&amp; b & c &c"),
            ("{{ site.secret }}", "\\{\\{ site.secret }}"),
            ("back\\slash", "back\\\\slash"),
            ("import fs from 'fs'", "&#105;mport fs from 'fs'"),
            ("importers say", "importers say"),
            (":--", "\\:--"),
            ("-5 to -3", "-5 to -3"),
            ("stop!", "stop!"),
        ] {
            assert_eq!(escaped(text), expected);
        }
    }

    #[test]
    fn a_destination_has_no_character_that_ends_a_link() {
        for (url, expected) in [
            ("http://a.example/b?c=1&d=2", "http://a.example/b?c=1&d=2"),
            ("http://a.example/?a=1&copy;=2", "http://a.example/?a=1&amp;copy;=2"),
            ("http://a.example/x_(y)", "<http://a.example/x_(y)>"),
            ("mailto:a b>\n|", "mailto:a%20b%3E%0A%7C"),
        ] {
            assert_eq!(destination(url), expected);
        }
    }
}
