//! Reads the marks of a run as CommonMark does: "process emphasis" of its specification, for the marks that are written.

use super::token::{Breaks, Token, first_char, is_punctuation, last_char};
use super::tree::Mark;

/// A mark from its opening to its closing token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) from: usize,
    pub(super) to: usize,
}

/// Equal signs in a row: of one mark or of several.
#[derive(Debug)]
struct SignRun {
    sign: char,
    /// Number of signs at first.
    length: usize,
    /// Token of each sign that is not matched yet.
    signs: std::collections::VecDeque<usize>,
    opens: bool,
    closes: bool,
}

/// Returns the marks that CommonMark would not read between the same tokens, in the order of their ends.
///
/// # Complexity
/// Linear in the tokens.
pub(super) fn wrong_pairs(tokens: &[Token], signs: &[char], breaks: Breaks) -> Vec<Pair> {
    let mut partners = vec![None; tokens.len()];
    let mut reader = Reader { partners: &mut partners, ..Reader::new() };
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match (token, written(token, at, signs)) {
            (_, Some((sign, _))) => at = reader.run(tokens, signs, breaks, at, sign),
            (Token::Open(Mark::Link(_)), _) => reader.begin_link(),
            (Token::Close(Mark::Link(_)), _) => reader.end_link(),
            _ => {}
        }
        at += 1;
    }
    let mut open = Vec::new();
    let mut wrong = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Open(_) if written(token, at, signs).is_some() => open.push(at),
            Token::Close(_) if written(token, at, signs).is_some() => {
                let Some(from) = open.pop() else { continue };
                if partners.get(from).copied().flatten() != Some(at) {
                    wrong.push(Pair { from, to: at });
                }
            }
            _ => {}
        }
    }
    wrong
}

/// Returns the sign of a mark and how many of it are written.
fn written(token: &Token, at: usize, signs: &[char]) -> Option<(char, usize)> {
    match token {
        Token::Open(mark) | Token::Close(mark) => match mark {
            Mark::Strong => Some(('*', 2)),
            Mark::Emphasis => Some((signs.get(at).copied().unwrap_or('*'), 1)),
            Mark::Strike => Some(('~', 2)),
            _ => None,
        },
        _ => None,
    }
}

/// No opening run is below this height of the stack, by sign, by whether the closing run opens too, and by its length.
type Bottoms = [[[usize; 3]; 2]; 3];

struct Reader<'a> {
    partners: &'a mut [Option<usize>],
    /// Runs that may open a mark.
    stack: Vec<SignRun>,
    bottoms: Bottoms,
    /// Height of the stack at the beginning of each open link, and the bottoms there.
    links: Vec<(usize, Bottoms)>,
}

impl Reader<'_> {
    fn new() -> Self {
        Self {
            partners: &mut [],
            stack: Vec::new(),
            bottoms: Bottoms::default(),
            links: Vec::new(),
        }
    }

    fn begin_link(&mut self) {
        self.links.push((self.stack.len(), self.bottoms));
    }

    /// Signs in a link that match nothing are text.
    fn end_link(&mut self) {
        if let Some((height, bottoms)) = self.links.pop() {
            self.bottoms = bottoms;
            self.cut(height);
        }
    }

    fn cut(&mut self, height: usize) {
        self.stack.truncate(height);
        for bottom in self.bottoms.iter_mut().flatten().flatten() {
            *bottom = (*bottom).min(self.stack.len());
        }
    }

    /// Reads the run that begins at a token. Returns its last token.
    fn run(
        &mut self,
        tokens: &[Token],
        signs: &[char],
        breaks: Breaks,
        from: usize,
        sign: char,
    ) -> usize {
        let mut run =
            SignRun { sign, length: 0, signs: Default::default(), opens: false, closes: false };
        let mut last = from;
        let mut after = None;
        for (at, token) in tokens.iter().enumerate().skip(from) {
            match written(token, at, signs) {
                Some((other, count)) if other == sign => {
                    run.signs.extend(std::iter::repeat_n(at, count));
                    last = at;
                }
                _ if *token == Token::Dropped => {}
                Some((other, _)) => {
                    after = Some(other);
                    break;
                }
                None => {
                    after = first_char(token, breaks);
                    break;
                }
            }
        }
        let mut earlier = tokens.iter().enumerate().take(from).rev();
        let before = earlier.find(|(_, token)| **token != Token::Dropped);
        let before = before.and_then(|(at, token)| {
            written(token, at, signs)
                .map_or_else(|| last_char(token, breaks), |(sign, _)| Some(sign))
        });
        run.length = run.signs.len();
        (run.opens, run.closes) = flanking(sign, before.unwrap_or(' '), after.unwrap_or(' '));
        self.close_with(run);
        last
    }

    /// Matches a run with the open ones before it.
    fn close_with(&mut self, mut run: SignRun) {
        let kind = match run.sign {
            '*' => 0,
            '_' => 1,
            _ => 2,
        };
        while run.closes && !run.signs.is_empty() {
            let floor = self.links.last().map_or(0, |(height, _)| *height);
            let place =
                self.bottoms.get(kind).and_then(|bottoms| bottoms.get(usize::from(run.opens)));
            let bottom =
                place.and_then(|bottoms| bottoms.get(run.length % 3)).copied().unwrap_or(0);
            let bottom = bottom.max(floor).min(self.stack.len());
            let fits = self.stack.iter().skip(bottom).rposition(|open| matches(open, &run));
            let Some(found) = fits.map(|found| found + bottom) else {
                let height = self.stack.len();
                let place = self
                    .bottoms
                    .get_mut(kind)
                    .and_then(|bottoms| bottoms.get_mut(usize::from(run.opens)));
                if let Some(bottom) = place.and_then(|bottoms| bottoms.get_mut(run.length % 3)) {
                    *bottom = height;
                }
                break;
            };
            self.cut(found + 1);
            let Some(open) = self.stack.last_mut() else { break };
            let count = if run.sign == '~' {
                run.length
            } else {
                1 + usize::from(open.signs.len() > 1 && run.signs.len() > 1)
            };
            let ends: Vec<usize> = run.signs.drain(..count.min(run.signs.len())).collect();
            let starts = open.signs.split_off(open.signs.len().saturating_sub(count));
            // A mark is read if all its signs are, together.
            if let (Some(&from), Some(&to)) = (starts.front(), ends.first())
                && starts.iter().all(|start| *start == from)
                && ends.iter().all(|end| *end == to)
                && !open.signs.contains(&from)
                && !run.signs.contains(&to)
                && let Some(partner) = self.partners.get_mut(from)
            {
                *partner = Some(to);
            }
            if open.signs.is_empty() {
                let height = self.stack.len() - 1;
                self.cut(height);
            }
        }
        if run.opens && !run.signs.is_empty() {
            self.stack.push(run);
        }
    }
}

fn matches(open: &SignRun, close: &SignRun) -> bool {
    if open.sign != close.sign {
        return false;
    }
    if open.sign == '~' {
        return open.length == close.length && open.length <= 2;
    }
    let both = open.closes || close.opens;
    let odd = (open.length + close.length).is_multiple_of(3) && !open.length.is_multiple_of(3);
    !(both && odd)
}

/// Returns whether a run of signs between two characters may open a mark, and whether it may close one.
fn flanking(sign: char, before: char, after: char) -> (bool, bool) {
    let left = !after.is_whitespace()
        && (!is_punctuation(after) || before.is_whitespace() || is_punctuation(before));
    let right = !before.is_whitespace()
        && (!is_punctuation(before) || after.is_whitespace() || is_punctuation(after));
    match sign {
        '_' => {
            (left && (!right || is_punctuation(before)), right && (!left || is_punctuation(after)))
        }
        _ => (left, right),
    }
}
