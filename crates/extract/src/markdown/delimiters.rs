//! Chooses, moves and drops the marks of a run, so that CommonMark reads each mark that is written, and no other.

use super::read_back::{Pair, wrong_pairs};
use super::token::{Breaks, Token, first_char, is_punctuation, last_char};
use super::tree::Mark;

/// Maximum number of passes over the marks of a run.
const MAX_CHANGES: usize = 8;
/// Passes that mend one mark each. Further ones drop all marks that would not be read.
const SINGLE_REPAIRS: usize = 16;
/// Passes over the marks, after which none of them stays.
const MAX_REPAIRS: usize = 32;

/// Changes the marks that would not be read. Returns the character of each mark of emphasis.
///
/// # Complexity
/// Linear in the text.
pub(super) fn readable(tokens: &mut [Token<'_>], breaks: Breaks) -> Vec<char> {
    // Most texts have no such mark.
    if !tokens.iter().any(|token| matches!(token, Token::Open(mark) if is_delimiter(*mark))) {
        return Vec::new();
    }
    // Each change may affect the marks beside it.
    let mut signs = Vec::new();
    for _ in 0..MAX_CHANGES {
        let mut changed = settle(tokens, breaks);
        (signs, changed) = choose(tokens, breaks, changed);
        if !changed {
            break;
        }
    }
    repair(tokens, &mut signs, breaks);
    signs
}

/// Reads the marks as CommonMark does, and mends those that it would not read as meant.
fn repair(tokens: &mut [Token<'_>], signs: &mut [char], breaks: Breaks) {
    let mut flipped = Vec::new();
    for pass in 0..MAX_REPAIRS {
        let wrong = wrong_pairs(tokens, signs, breaks);
        let Some(first) = wrong.first() else { return };
        if pass >= SINGLE_REPAIRS {
            wrong.iter().for_each(|pair| drop_pair(tokens, *pair));
        } else if !swap_with_outer(tokens, *first) {
            let emphasis = matches!(tokens.get(first.from), Some(Token::Open(Mark::Emphasis)));
            if emphasis && !flipped.contains(first) {
                flipped.push(*first);
                for place in [first.from, first.to] {
                    if let Some(sign) = signs.get_mut(place) {
                        *sign = if *sign == '*' { '_' } else { '*' };
                    }
                }
            } else {
                drop_pair(tokens, *first);
            }
        }
    }
    for token in tokens {
        if matches!(token, Token::Open(mark) | Token::Close(mark) if is_delimiter(*mark)) {
            *token = Token::Dropped;
        }
    }
}

fn drop_pair(tokens: &mut [Token<'_>], pair: Pair) {
    for place in [pair.from, pair.to] {
        if let Some(token) = tokens.get_mut(place) {
            *token = Token::Dropped;
        }
    }
}

/// Exchanges emphasis with the strong mark directly around it: CommonMark reads `***a***` as the former outside.
fn swap_with_outer(tokens: &mut [Token<'_>], Pair { from, to }: Pair) -> bool {
    let Some(before) = from.checked_sub(1) else { return false };
    let is = |at: usize, token: Token| tokens.get(at) == Some(&token);
    let nested = is(from, Token::Open(Mark::Emphasis))
        && is(before, Token::Open(Mark::Strong))
        && is(to + 1, Token::Close(Mark::Strong));
    if nested {
        tokens.swap(before, from);
        tokens.swap(to, to + 1);
    }
    nested
}

/// Moves or drops the marks that would not be read. Returns whether it changed something.
fn settle(tokens: &mut [Token<'_>], breaks: Breaks) -> bool {
    let mut changed = false;
    let mut opened: Vec<usize> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match tokens.get(at) {
            Some(Token::Open(mark)) if is_delimiter(*mark) => {
                if !reads_as_start(tokens, at, breaks) {
                    changed = true;
                    move_out(tokens, at, true);
                }
                opened.push(at);
            }
            Some(Token::Close(mark)) if is_delimiter(*mark) => {
                let mark = *mark;
                let from = opened.pop().unwrap_or(0);
                let starts = reads_as_start(tokens, from, breaks);
                if starts && !reads_as_end(tokens, at, breaks) {
                    changed = true;
                    move_out(tokens, at, false);
                }
                let collides = mark == Mark::Strike
                    && (collides(tokens, from, breaks) || collides(tokens, at, breaks));
                if !starts || !reads_as_end(tokens, at, breaks) || collides {
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
fn collides(tokens: &[Token<'_>], at: usize, breaks: Breaks) -> bool {
    let is_dropped = |token: &&Token<'_>| **token == Token::Dropped;
    let before = tokens.get(..at).unwrap_or_default().iter().rev().find(|token| !is_dropped(token));
    let after = tokens.get(at + 1..).unwrap_or_default().iter().find(|token| !is_dropped(token));
    let is_strike = |token: Option<&Token<'_>>| {
        matches!(token, Some(Token::Open(Mark::Strike) | Token::Close(Mark::Strike)))
    };
    is_strike(before)
        || is_strike(after)
        || before.and_then(|token| last_char(token, breaks)) == Some('~')
        || after.and_then(|token| first_char(token, breaks)) == Some('~')
}

const fn is_delimiter(mark: Mark) -> bool {
    matches!(mark, Mark::Strong | Mark::Emphasis | Mark::Strike)
}

/// Moves the punctuation at the inner side of a mark to its outer side, without changing the number of tokens.
fn move_out(tokens: &mut [Token<'_>], mark: usize, is_start: bool) {
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
        Some(Token::Text(text)) if is_start => text.to_mut().push_str(&moved),
        Some(Token::Text(text)) => text.to_mut().insert_str(0, &moved),
        // The mark begins or ends beside another mark, code or link: give up.
        _ => return,
    }
    if let Some(token) = inner.and_then(|at| tokens.get_mut(at)) {
        *token = Token::Text(kept.into());
    }
}

/// Returns the characters on both sides of the run of delimiters around a token.
fn around(tokens: &[Token<'_>], at: usize, breaks: Breaks) -> (Option<char>, Option<char>) {
    let is_part = |token: &&Token<'_>| match token {
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
    (
        before.and_then(|token| last_char(token, breaks)),
        after.and_then(|token| first_char(token, breaks)),
    )
}

/// CommonMark: a left-flanking run of delimiters.
fn reads_as_start(tokens: &[Token<'_>], at: usize, breaks: Breaks) -> bool {
    let (before, after) = around(tokens, at, breaks);
    flanks(after, before)
}

/// CommonMark: a right-flanking run of delimiters.
fn reads_as_end(tokens: &[Token<'_>], at: usize, breaks: Breaks) -> bool {
    let (before, after) = around(tokens, at, breaks);
    flanks(before, after)
}

/// Returns whether a run of delimiters flanks the character inside of it.
fn flanks(inside: Option<char>, outside: Option<char>) -> bool {
    let blank = |c: Option<char>| c.is_none_or(char::is_whitespace);
    !blank(inside)
        && (!inside.is_some_and(is_punctuation)
            || blank(outside)
            || outside.is_some_and(is_punctuation))
}

/// Chooses the character of each single delimiter: `_` beside other delimiters, otherwise `*`. Drops a mark that neither
/// of them can express. Returns the characters, and whether a mark was dropped or `changed` before.
fn choose(tokens: &mut [Token<'_>], breaks: Breaks, mut changed: bool) -> (Vec<char>, bool) {
    let mut all = vec!['*'; tokens.len()];
    let mut opened = Vec::new();
    for at in 0..tokens.len() {
        match tokens.get(at) {
            Some(Token::Open(Mark::Emphasis)) => opened.push(at),
            Some(Token::Close(Mark::Emphasis)) => {
                let Some(from) = opened.pop() else { continue };
                match single(tokens, from, at, breaks) {
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
fn single(tokens: &[Token<'_>], from: usize, to: usize, breaks: Breaks) -> Option<char> {
    let near = |at: usize, step: isize| -> Option<&Token<'_>> {
        let mut at = at.checked_add_signed(step)?;
        while let Some(Token::Dropped) = tokens.get(at) {
            at = at.checked_add_signed(step)?;
        }
        tokens.get(at)
    };
    let strong = |token: Option<&Token<'_>>, opens: bool| match token {
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
    let touches = letter(left.and_then(|token| last_char(token, breaks)))
        || letter(right.and_then(|token| first_char(token, breaks)));
    let (before, after) = (around(tokens, from, breaks).0, around(tokens, to, breaks).1);
    let around_strong =
        strong(left, true) && letter(before) || strong(right, false) && letter(after);
    match (beside, nested) {
        (true, _) if touches || around_strong => None,
        (true, _) => Some('_'),
        (false, true) if !touches && !around_strong => Some('_'),
        _ => Some('*'),
    }
}
