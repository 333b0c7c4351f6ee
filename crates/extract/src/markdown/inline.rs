//! Writes a run of text with marks as Markdown.
//!
//! CommonMark reads `*` as emphasis only beside certain characters. A mark that would not be read moves to the nearest
//! letters, so that its text stays the same: `是**“近”**的` becomes `是“**近**”的`.

use super::escape::{at_line_start, destination, escape};
use super::tree::{Mark, Marks, Run, What};

/// Maximum number of passes over the marks of a run.
const MAX_CHANGES: usize = 8;

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
enum Token {
    /// Text without markup characters.
    Text(String),
    /// Text of a code span.
    Code(String),
    /// An image or a reference.
    Raw(String),
    Space,
    Break,
    Open(Mark),
    Close(Mark),
    /// A mark that Markdown cannot express here.
    Dropped,
}

/// Returns the lines of a run, separated by `\n`.
///
/// # Complexity
/// Linear in the text, and in the addresses of its links.
pub(super) fn inline(run: &Run, marks: &Marks, breaks: Breaks) -> String {
    let mut tokens = tokens(run, marks);
    // Each change may affect the marks beside it.
    let mut delimiters = Vec::new();
    for _ in 0..MAX_CHANGES {
        let mut changed = settle(&mut tokens);
        (delimiters, changed) = choose(&mut tokens, changed);
        if !changed {
            break;
        }
    }
    let mut out = String::new();
    let mut line_start = true;
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let mut plain = false;
        match token {
            Token::Text(_) => {
                let text = joined(&tokens, &mut at);
                let before = out.chars().next_back().filter(|_| !line_start);
                let mut escaped = String::new();
                let mut later = tokens.iter().skip(at + 1);
                let next = later.find(|token| !matches!(token, Token::Dropped));
                let next = next.and_then(|next| next_char(next, breaks));
                escape(&text, before, next, &mut escaped);
                out.push_str(&if line_start { at_line_start(&escaped) } else { escaped });
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
fn joined(tokens: &[Token], at: &mut usize) -> String {
    let is_code = matches!(tokens.get(*at), Some(Token::Code(_)));
    let mut text = String::new();
    let mut next = *at;
    loop {
        match tokens.get(next) {
            Some(Token::Code(part)) if is_code => text.push_str(part),
            Some(Token::Text(part)) if !is_code => text.push_str(part),
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
fn tokens(run: &Run, marks: &Marks) -> Vec<Token> {
    let mut tokens = Vec::new();
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
                Token::Text(trimmed.to_owned())
            }
            What::Code(text) => {
                let trimmed = text.trim();
                space |= text.starts_with(char::is_whitespace);
                if trimmed.is_empty() {
                    continue;
                }
                Token::Code(trimmed.to_owned())
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
        let same = |(one, other): &(&(u32, Mark), &(u32, Mark))| one.1 == other.1;
        let common = open.iter().zip(&wanted).take_while(same).count();
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

/// Moves or drops the marks that would not be read. Returns whether it changed something.
fn settle(tokens: &mut [Token]) -> bool {
    let mut changed = false;
    let mut opened: Vec<usize> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match tokens.get(at) {
            Some(Token::Open(mark)) if is_delimiter(*mark) => {
                if !reads_as_start(tokens, at) {
                    changed = true;
                    move_out(tokens, at, true);
                }
                opened.push(at);
            }
            Some(Token::Close(mark)) if is_delimiter(*mark) => {
                let mark = *mark;
                let from = opened.pop().unwrap_or(0);
                let starts = reads_as_start(tokens, from);
                if starts && !reads_as_end(tokens, at) {
                    changed = true;
                    move_out(tokens, at, false);
                }
                let collides =
                    mark == Mark::Strike && (collides(tokens, from) || collides(tokens, at));
                if !starts || !reads_as_end(tokens, at) || collides {
                    changed = true;
                    for place in [from, at] {
                        if let Some(token) = tokens.get_mut(place) {
                            *token = Token::Dropped;
                        }
                    }
                }
            }
            _ => {}
        }
        at += 1;
    }
    changed
}

/// Returns whether other tildes are beside a strike, so that the runs would be read as one.
fn collides(tokens: &[Token], at: usize) -> bool {
    let is_dropped = |token: &&Token| **token == Token::Dropped;
    let before = tokens.get(..at).unwrap_or_default().iter().rev().find(|token| !is_dropped(token));
    let after = tokens.get(at + 1..).unwrap_or_default().iter().find(|token| !is_dropped(token));
    let is_strike = |token: Option<&Token>| {
        matches!(token, Some(Token::Open(Mark::Strike) | Token::Close(Mark::Strike)))
    };
    is_strike(before)
        || is_strike(after)
        || before.and_then(last_char) == Some('~')
        || after.and_then(first_char) == Some('~')
}

const fn is_delimiter(mark: Mark) -> bool {
    matches!(mark, Mark::Strong | Mark::Emphasis | Mark::Strike)
}

/// Moves the punctuation at the inner side of a mark to its outer side, without changing the number of tokens.
fn move_out(tokens: &mut [Token], mark: usize, is_start: bool) {
    let (inner, outer) = if is_start {
        (mark.checked_add(1), mark.checked_sub(1))
    } else {
        (mark.checked_sub(1), mark.checked_add(1))
    };
    let Some(Token::Text(text)) = inner.and_then(|at| tokens.get(at)) else { return };
    let kept = if is_start {
        text.trim_start_matches(is_punctuation)
    } else {
        text.trim_end_matches(is_punctuation)
    };
    // A space must not remain at the inner side.
    if kept.is_empty()
        || kept.starts_with(char::is_whitespace)
        || kept.ends_with(char::is_whitespace)
    {
        return;
    }
    let (kept, moved) = if is_start {
        (kept.to_owned(), text.get(..text.len() - kept.len()).unwrap_or_default().to_owned())
    } else {
        (kept.to_owned(), text.get(kept.len()..).unwrap_or_default().to_owned())
    };
    match outer.and_then(|at| tokens.get_mut(at)) {
        Some(Token::Text(text)) if is_start => text.push_str(&moved),
        Some(Token::Text(text)) => text.insert_str(0, &moved),
        // The mark begins or ends beside another mark, code or link: give up.
        _ => return,
    }
    if let Some(token) = inner.and_then(|at| tokens.get_mut(at)) {
        *token = Token::Text(kept);
    }
}

/// Punctuation and symbols, as CommonMark classes them.
fn is_punctuation(c: char) -> bool {
    !c.is_alphanumeric() && !c.is_whitespace() && !c.is_control()
}

/// Returns the characters on both sides of the run of delimiters around a token.
fn around(tokens: &[Token], at: usize) -> (Option<char>, Option<char>) {
    let is_part = |token: &&Token| match token {
        Token::Open(mark) | Token::Close(mark) => {
            matches!(mark, Mark::Strong | Mark::Emphasis)
                && !matches!(
                    tokens.get(at),
                    Some(Token::Open(Mark::Strike) | Token::Close(Mark::Strike))
                )
        }
        Token::Dropped => true,
        _ => false,
    };
    let before = tokens.get(..at).unwrap_or_default().iter().rev().find(|token| !is_part(token));
    let after = tokens.get(at + 1..).unwrap_or_default().iter().find(|token| !is_part(token));
    (before.and_then(last_char), after.and_then(first_char))
}

fn first_char(token: &Token) -> Option<char> {
    match token {
        Token::Text(text) | Token::Raw(text) => text.chars().next(),
        Token::Code(_) => Some('`'),
        Token::Space | Token::Break => Some(' '),
        Token::Open(_) | Token::Close(_) | Token::Dropped => Some('*'),
    }
}

/// Returns the character that is written first.
fn next_char(token: &Token, breaks: Breaks) -> Option<char> {
    match token {
        Token::Break if breaks == Breaks::Line => Some('\\'),
        Token::Break if breaks == Breaks::Tag => Some('<'),
        Token::Open(Mark::Link(_)) => Some('['),
        Token::Open(Mark::Strike) | Token::Close(Mark::Strike) => Some('~'),
        token => first_char(token),
    }
}

fn last_char(token: &Token) -> Option<char> {
    match token {
        Token::Text(text) | Token::Raw(text) => text.chars().next_back(),
        _ => first_char(token),
    }
}

/// CommonMark: a left-flanking run of delimiters.
fn reads_as_start(tokens: &[Token], at: usize) -> bool {
    let (before, after) = around(tokens, at);
    let blank = |c: Option<char>| c.is_none_or(char::is_whitespace);
    !blank(after)
        && (!after.is_some_and(is_punctuation)
            || blank(before)
            || before.is_some_and(is_punctuation))
}

/// CommonMark: a right-flanking run of delimiters.
fn reads_as_end(tokens: &[Token], at: usize) -> bool {
    let (before, after) = around(tokens, at);
    let blank = |c: Option<char>| c.is_none_or(char::is_whitespace);
    !blank(before)
        && (!before.is_some_and(is_punctuation)
            || blank(after)
            || after.is_some_and(is_punctuation))
}

/// Chooses the character of each single delimiter: `_` beside other delimiters, otherwise `*`. Drops a mark that neither
/// of them can express. Returns the characters, and whether a mark was dropped or `changed` before.
fn choose(tokens: &mut [Token], mut changed: bool) -> (Vec<char>, bool) {
    let mut all = vec!['*'; tokens.len()];
    let mut opened = Vec::new();
    for at in 0..tokens.len() {
        match tokens.get(at) {
            Some(Token::Open(Mark::Emphasis)) => opened.push(at),
            Some(Token::Close(Mark::Emphasis)) => {
                let Some(from) = opened.pop() else { continue };
                match single(tokens, from, at) {
                    Some(single) => {
                        for place in [from, at] {
                            all.get_mut(place).into_iter().for_each(|char| *char = single);
                        }
                    }
                    None => {
                        changed = true;
                        for place in [from, at] {
                            tokens
                                .get_mut(place)
                                .into_iter()
                                .for_each(|token| *token = Token::Dropped);
                        }
                    }
                }
            }
            _ => {}
        }
    }
    (all, changed)
}

/// Returns the character for the emphasis between two tokens, if there is one.
fn single(tokens: &[Token], from: usize, to: usize) -> Option<char> {
    let near = |at: usize, step: isize| -> Option<&Token> {
        let mut at = at.checked_add_signed(step)?;
        while let Some(Token::Dropped) = tokens.get(at) {
            at = at.checked_add_signed(step)?;
        }
        tokens.get(at)
    };
    let strong = |token: Option<&Token>, opens: bool| match token {
        Some(Token::Open(Mark::Strong)) => opens,
        Some(Token::Close(Mark::Strong)) => !opens,
        _ => false,
    };
    let letter = |c: Option<char>| c.is_some_and(|c| !c.is_whitespace() && !is_punctuation(c));
    let (left, right) = (near(from, -1), near(to, 1));
    let (first, last) = (near(from, 1), near(to, -1));
    // `**a***b*` is not read as two marks.
    let beside = strong(left, false) || strong(right, true);
    let nested =
        strong(left, true) || strong(right, false) || strong(first, true) || strong(last, false);
    let touches = letter(left.and_then(last_char)) || letter(right.and_then(first_char));
    let (before, after) = (around(tokens, from).0, around(tokens, to).1);
    let around_strong =
        strong(left, true) && letter(before) || strong(right, false) && letter(after);
    match (beside, nested) {
        (true, _) if touches || around_strong => None,
        (true, _) => Some('_'),
        (false, true) if !touches && !around_strong => Some('_'),
        _ => Some('*'),
    }
}
