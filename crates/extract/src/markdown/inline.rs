//! Writes a run of text with marks as Markdown.
//!
//! CommonMark reads `*` as emphasis only beside certain characters. A mark that would not be read moves to the nearest
//! letters, so that its text stays the same: `是**“近”**的` becomes `是“**近**”的`.

use std::borrow::Cow;

use super::delimiters::readable;
use super::escape::{at_line_start, destination, escape};
pub(super) use super::token::Breaks;
use super::token::{Token, first_char};
use super::tree::{Mark, Marks, Run, What};

/// Returns the lines of a run, separated by `\n`.
///
/// # Complexity
/// Linear in the text, and in the addresses of its links.
pub(super) fn inline(run: &Run, marks: &Marks, breaks: Breaks) -> String {
    let mut tokens = tokens(run, marks);
    let delimiters = readable(&mut tokens, breaks);
    let mut out = String::new();
    let mut line_start = true;
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let mut plain = false;
        match token {
            Token::Text(_) => {
                let text = joined(&tokens, &mut at);
                let before = out.chars().next_back().filter(|_| !line_start);
                let mut later = tokens.iter().skip(at + 1);
                let next = later.find(|token| !matches!(token, Token::Dropped));
                let next = next.and_then(|next| first_char(next, breaks));
                if line_start {
                    let mut escaped = String::with_capacity(text.len());
                    escape(&text, before, next, &mut escaped);
                    out.push_str(&at_line_start(&escaped));
                } else {
                    escape(&text, before, next, &mut out);
                }
            }
            Token::Code(_) => out.push_str(&code(&joined(&tokens, &mut at))),
            Token::Raw(text) => out.push_str(text),
            Token::Space if line_start => plain = true,
            Token::Space => out.push(' '),
            Token::Break => {
                match breaks {
                    Breaks::Line => out.push_str("\\\n"),
                    Breaks::Tag => out.push_str("<br>"),
                    Breaks::Space => out.push(' '),
                }
                plain = breaks == Breaks::Line;
            }
            Token::Open(mark) | Token::Close(mark) => {
                let opens = matches!(token, Token::Open(_));
                let single = delimiters.get(at).copied().unwrap_or('*');
                write_mark(*mark, opens, single, marks, &mut out);
            }
            Token::Dropped => plain = line_start,
        }
        line_start = plain;
        at += 1;
    }
    if breaks == Breaks::Tag { out.replace('|', "\\|") } else { out }
}

/// Returns the text of tokens of one kind: those on both sides of a dropped mark belong together. Moves `at` to the last.
fn joined<'a>(tokens: &'a [Token<'_>], at: &mut usize) -> Cow<'a, str> {
    let is_code = matches!(tokens.get(*at), Some(Token::Code(_)));
    let mut text = Cow::default();
    let mut next = *at;
    loop {
        match tokens.get(next) {
            // The first part is not copied.
            Some(Token::Code(part)) if is_code => text += *part,
            Some(Token::Text(part)) if !is_code => text += &**part,
            Some(Token::Dropped) => {
                next += 1;
                continue;
            }
            _ => return text,
        }
        *at = next;
        next += 1;
    }
}

fn write_mark(mark: Mark, opens: bool, single: char, marks: &Marks, out: &mut String) {
    match mark {
        Mark::Strong => out.push_str("**"),
        Mark::Emphasis => out.push(single),
        Mark::Strike => out.push_str("~~"),
        Mark::Above => out.push_str(if opens { "<sup>" } else { "</sup>" }),
        Mark::Below => out.push_str(if opens { "<sub>" } else { "</sub>" }),
        Mark::Link(_) if opens => out.push('['),
        Mark::Link(number) => {
            let url = marks.links.get(number as usize).map(String::as_str).unwrap_or_default();
            out.push_str("](");
            out.push_str(&destination(url));
            out.push(')');
        }
    }
}

/// Returns the tokens of a run. Spaces at the ends of marks move out of them.
fn tokens<'a>(run: &'a Run, marks: &Marks) -> Vec<Token<'a>> {
    let mut tokens = Vec::with_capacity(4 * run.pieces.len());
    let mut open: Vec<(u32, Mark)> = Vec::new();
    let mut space = false;
    let mut line_break = false;
    for piece in &run.pieces {
        let raw = match &piece.what {
            What::Text(text) => {
                let trimmed = text.trim();
                space |= text.starts_with(char::is_whitespace);
                if trimmed.is_empty() {
                    space |= !text.is_empty();
                    continue;
                }
                Token::Text(trimmed.into())
            }
            What::Code(text) => {
                let trimmed = text.trim();
                space |= text.starts_with(char::is_whitespace);
                if trimmed.is_empty() {
                    continue;
                }
                Token::Code(trimmed)
            }
            What::Break => {
                line_break = true;
                continue;
            }
            What::Image { alt, url } => {
                let mut text = String::new();
                escape(alt, Some('['), Some(']'), &mut text);
                Token::Raw(format!("![{text}]({})", destination(url)))
            }
            What::Note(number) => Token::Raw(format!("[^{number}]")),
        };
        let wanted = marks.path(piece.mark);
        let wanted = wanted.as_slice();
        let same = |(one, other): &(&(u32, Mark), &(u32, Mark))| one.1 == other.1;
        let common = open.iter().zip(wanted).take_while(same).count();
        while open.len() > common
            && let Some((_, mark)) = open.pop()
        {
            tokens.push(Token::Close(mark));
        }
        let blank = std::mem::take(&mut space);
        if std::mem::take(&mut line_break) {
            tokens.push(Token::Break);
        } else if blank {
            tokens.push(Token::Space);
        }
        for &(entry, mark) in wanted.get(common..).unwrap_or_default() {
            tokens.push(Token::Open(mark));
            open.push((entry, mark));
        }
        tokens.push(raw);
        if let What::Text(text) | What::Code(text) = &piece.what {
            space = text.ends_with(char::is_whitespace);
        }
    }
    while let Some((_, mark)) = open.pop() {
        tokens.push(Token::Close(mark));
    }
    tokens
}

/// Writes a code span. Its fence is longer than any run of backticks in it.
fn code(text: &str) -> String {
    let fence = "`".repeat(longest_run(text, '`') + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Returns the length of the longest run of a character.
pub(super) fn longest_run(text: &str, of: char) -> usize {
    let (mut longest, mut run) = (0, 0);
    for c in text.chars() {
        run = if c == of { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}
