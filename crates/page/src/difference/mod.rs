//! Compares two texts: which words are equal, which differ, and the kind of each difference.
//!
//! ```
//! use hapax_page::difference::{PartKind, Words, compare};
//!
//! let first = Words::of("The tee is made of cotton.\nIt comes in navy, and navy suits everybody.\n12 views");
//! let second = Words::of("The tee is made of cotton.\nIt comes in rust, and rust suits everybody.\n98 views");
//! let difference = compare(&first, &second);
//! let kinds: Vec<PartKind> = difference.parts.iter().map(|part| part.kind).collect();
//! assert_eq!(kinds, [PartKind::Words, PartKind::Words, PartKind::Counter]);
//! let [substitution] = &difference.substitutions(&first, &second)[..] else { panic!() };
//! assert_eq!((&*substitution.first, &*substitution.second, substitution.times), ("navy", "rust", 2));
//! ```

mod align;
mod kind;
mod line_set;
mod number;
mod phrases;
mod timed;
mod vocabulary;
mod words;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;

pub use self::kind::PartKind;
pub use self::line_set::{LineSet, MAX_SET_LINES};
pub use self::phrases::{Repeated, Summary, SummaryKind, phrases, phrases_of, summaries};
pub use self::words::{MAX_WORDS, Words};

pub(crate) use self::kind::{changing, is_counter_line, is_date_line, of_dates};
pub(crate) use self::number::is_number;

use self::align::align;
use self::kind::{Run, of_line, of_run};

/// Maximum number of aligned words per text; beyond them, whole lines are compared.
pub const MAX_ALIGNED: usize = 6_000;
/// A line with a smaller share of aligned words is unique to its text.
const OWN_LINE: f64 = 0.4;
/// A line counts as moved if the other text has this share of its shingles.
const MOVED: f64 = 0.8;
const SHINGLE: usize = 3;
/// Maximum number of words on each side of a substitution.
const MAX_PUT_IN: usize = 5;
/// Maximum number of amounts by which section numbers change between two editions: before and after an added section.
const MAX_MOVES: usize = 2;

/// A differing part, with its word ranges in both texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The kind of difference.
    pub kind: PartKind,
    /// Range in the first text.
    pub first: Range<usize>,
    /// Range in the second text.
    pub second: Range<usize>,
}

/// The difference of two texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// The number of words of each text.
    pub words: [usize; 2],
    /// Number of words in both texts, with multiplicity.
    pub shared: usize,
    /// Number of words in lines or runs that the other text lacks. Dates and counters do not count.
    pub own: [usize; 2],
    /// Number of words in lines that the other page has outside its text.
    pub outside: [usize; 2],
    /// The differing parts, in the order of the first text.
    pub parts: Vec<Part>,
    /// Whether a text is longer than the compared part.
    pub cut: bool,
}

/// A phrase that the other text replaces in every place: typical of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Substitution {
    /// The phrase in the first text.
    pub first: String,
    /// The phrase in the second text.
    pub second: String,
    /// Number of places.
    pub times: usize,
}

impl Difference {
    /// Returns the Jaccard similarity of the words; 1 if both texts are empty.
    pub fn jaccard(&self) -> f64 {
        let [first, second] = self.words;
        match first + second - self.shared {
            0 => 1.0,
            all => self.shared as f64 / all as f64,
        }
    }

    /// Returns the share of each text's words that are in the other text.
    pub fn containment(&self) -> [f64; 2] {
        self.words.map(|words| if words == 0 { 1.0 } else { self.shared as f64 / words as f64 })
    }

    /// Returns the unique share of each text.
    pub fn own_shares(&self) -> [f64; 2] {
        let [first, second] = self.words.map(|words| words.max(1) as f64);
        let [own_first, own_second] = self.own.map(|own| own as f64);
        [own_first / first, own_second / second]
    }

    /// Returns the phrases that are replaced in at least two places, most frequent first.
    pub fn substitutions(&self, first: &Words, second: &Words) -> Vec<Substitution> {
        let mut found: BTreeMap<(String, String), usize> = BTreeMap::new();
        let knows = |words: &Words| words.hashes().iter().copied().collect::<HashSet<u64>>();
        let (in_first, in_second) = (knows(first), knows(second));
        let strange = |words: &Words, range: &Range<usize>, known: &HashSet<u64>| {
            let hashes = words.hashes().get(range.clone()).unwrap_or_default();
            !hashes.is_empty() && hashes.iter().all(|hash| !known.contains(hash))
        };
        for Part { kind, first: one, second: other } in &self.parts {
            let short = one.len() <= MAX_PUT_IN && other.len() <= MAX_PUT_IN;
            if short
                && matches!(kind, PartKind::Words | PartKind::Number)
                && strange(first, one, &in_second)
                && strange(second, other, &in_first)
            {
                let pair = (first.phrase(one.clone()), second.phrase(other.clone()));
                *found.entry(pair).or_default() += 1;
            }
        }
        let mut all: Vec<Substitution> = found
            .into_iter()
            .filter(|(_, times)| *times > 1)
            .map(|((first, second), times)| Substitution { first, second, times })
            .collect();
        all.sort_by_key(|one| std::cmp::Reverse(one.times));
        all
    }
}

/// Compares two texts. Swapped texts give the same result, mirrored.
///
/// # Complexity
/// Linear for equal lines. Words of other lines are aligned, at most [`MAX_ALIGNED`] per text.
pub fn compare(first: &Words, second: &Words) -> Difference {
    compare_in_pages([first, second], [&LineSet::default(); 2])
}

/// Compares the texts of two pages, of which other lines are known too: those outside its text.
///
/// # Complexity
/// That of [`compare`].
pub fn compare_in_pages([first, second]: [&Words; 2], outside: [&LineSet; 2]) -> Difference {
    // Choose the same one of several longest alignments in both orders.
    let order = first.len().cmp(&second.len()).then_with(|| first.hashes().cmp(second.hashes()));
    if order.is_le() {
        return Reading { texts: [first, second], outside }.read();
    }
    let outside = [outside[1], outside[0]];
    let mut difference = Reading { texts: [second, first], outside }.read();
    difference.words.reverse();
    difference.own.reverse();
    difference.outside.reverse();
    for part in &mut difference.parts {
        std::mem::swap(&mut part.first, &mut part.second);
        part.kind = match part.kind {
            PartKind::Added => PartKind::Removed,
            PartKind::Removed => PartKind::Added,
            other => other,
        };
    }
    difference.parts.sort_by_key(|part| (part.first.start, part.second.start));
    difference
}

/// Lines that the other text lacks.
struct Rest {
    /// Indexes of their words.
    words: Vec<usize>,
    /// Word range of each line, and its start in `words`.
    lines: Vec<(Range<usize>, usize)>,
    /// Lines that the other page has outside its text.
    outside: Vec<Range<usize>>,
}

struct Reading<'a> {
    texts: [&'a Words; 2],
    outside: [&'a LineSet; 2],
}

impl Reading<'_> {
    fn read(&self) -> Difference {
        let [first, second] = self.texts;
        let mut difference = Difference {
            words: [first.len(), second.len()],
            shared: shared(first.hashes(), second.hashes()),
            cut: first.is_cut() || second.is_cut(),
            ..Difference::default()
        };
        if first.hashes() == second.hashes() {
            return difference;
        }
        let rests = self.rests();
        let aligned = rests.each_ref().map(|rest| rest.words.len().min(MAX_ALIGNED));
        let hashes = |side: usize| -> Vec<u64> {
            let (text, rest) = (self.text(side), &rests[side]);
            let words = rest.words.iter().take(aligned[side]);
            words.filter_map(|at| text.hashes().get(*at)).copied().collect()
        };
        let pairs = align(&hashes(0), &hashes(1));
        let mut partner = [vec![None; rests[0].words.len()], vec![None; rests[1].words.len()]];
        for &(one, other) in &pairs {
            partner[0][one] = Some(other);
            partner[1][other] = Some(one);
        }
        difference.cut |= (0..2).any(|side| rests[side].words.len() > MAX_ALIGNED);
        let own = [0, 1].map(|side| self.own_lines(side, &rests[side], &partner[side]));
        for side in 0..2 {
            self.put_own_lines(side, &rests[side], &own[side], &mut difference);
            put_outside(side, &rests[side], &mut difference);
        }
        self.put_runs(&rests, &pairs, &own, &mut difference);
        self.mark_renumbered(&mut difference);
        difference.parts.sort_by_key(|part| (part.first.start, part.second.start));
        difference
    }

    fn text(&self, side: usize) -> &Words {
        self.texts[side]
    }

    /// Returns whether only the other page has a line outside its text. What both have there is a list of the site.
    fn is_outside(&self, side: usize, line: &Range<usize>) -> bool {
        let (own, other) = (self.outside[side], self.outside[1 - side]);
        let hash = self.text(side).line_hash(line.clone());
        !other.is_empty() && other.contains(hash) && !own.contains(hash)
    }

    /// Returns the lines of each text that the other text lacks, in any order.
    fn rests(&self) -> [Rest; 2] {
        let mut counts: HashMap<&[u64], [usize; 2]> = HashMap::new();
        for side in 0..2 {
            let hashes = self.text(side).hashes();
            for line in self.text(side).lines() {
                let key = hashes.get(line).unwrap_or_default();
                counts.entry(key).or_default()[side] += 1;
            }
        }
        [0, 1].map(|side| {
            let hashes = self.text(side).hashes();
            let mut rest = Rest { words: Vec::new(), lines: Vec::new(), outside: Vec::new() };
            let mut met: HashMap<&[u64], usize> = HashMap::new();
            for line in self.text(side).lines() {
                let key = hashes.get(line.clone()).unwrap_or_default();
                let met = met.entry(key).or_default();
                *met += 1;
                // Occurrences up to the count in the other text are paired.
                if counts.get(key).is_some_and(|counts| *met <= counts[1 - side]) {
                    continue;
                }
                if self.is_outside(side, &line) {
                    rest.outside.push(line);
                    continue;
                }
                rest.lines.push((line.clone(), rest.words.len()));
                rest.words.extend(line);
            }
            rest
        })
    }

    /// Returns the kind of each line without a counterpart in the other text; `None` for the other lines.
    fn own_lines(
        &self,
        side: usize,
        rest: &Rest,
        partner: &[Option<usize>],
    ) -> Vec<Option<PartKind>> {
        let text = self.text(side);
        let mut theirs: Option<HashSet<&[u64]>> = None;
        let own = |(line, start): &(Range<usize>, usize)| {
            let partners = partner.get(*start..start + line.len()).unwrap_or_default();
            let matched = partners.iter().flatten().count();
            if matched as f64 >= OWN_LINE * line.len() as f64 {
                return None;
            }
            if let Some(kind) = of_line(text.without_section(line.clone())) {
                return Some(kind);
            }
            let hashes = text.hashes().get(line.clone()).unwrap_or_default();
            let other = self.text(1 - side).hashes();
            let theirs = theirs.get_or_insert_with(|| other.windows(SHINGLE).collect());
            let shingles = hashes.windows(SHINGLE);
            let known = shingles.clone().filter(|shingle| theirs.contains(shingle)).count();
            let moved = shingles.len() > 0 && known as f64 >= MOVED * shingles.len() as f64;
            Some(match (moved, side) {
                (true, _) => PartKind::Moved,
                (false, 0) => PartKind::Removed,
                (false, _) => PartKind::Added,
            })
        };
        rest.lines.iter().map(own).collect()
    }

    /// Adds unique lines. Adjacent lines of one kind become one part.
    fn put_own_lines(
        &self,
        side: usize,
        rest: &Rest,
        own: &[Option<PartKind>],
        difference: &mut Difference,
    ) {
        let mut last: Option<(PartKind, Range<usize>)> = None;
        let mut put = |part: Option<(PartKind, Range<usize>)>| {
            let Some((kind, words)) = part else { return };
            if matches!(kind, PartKind::Added | PartKind::Removed) {
                difference.own[side] += words.len();
            }
            let part = match side {
                0 => Part { kind, first: words, second: 0..0 },
                _ => Part { kind, first: 0..0, second: words },
            };
            difference.parts.push(part);
        };
        for ((line, _), kind) in rest.lines.iter().zip(own) {
            let Some(kind) = *kind else { continue };
            match &mut last {
                Some((before, words)) if *before == kind && words.end == line.start => {
                    words.end = line.end;
                }
                _ => put(last.replace((kind, line.clone()))),
            }
        }
        put(last);
    }

    /// Adds the runs of words between aligned words, in lines with a counterpart.
    fn put_runs(
        &self,
        rests: &[Rest; 2],
        pairs: &[(usize, usize)],
        own: &[Vec<Option<PartKind>>; 2],
        difference: &mut Difference,
    ) {
        // For each word, whether its line is unique.
        let alone = [0, 1].map(|side| {
            let lines = rests[side].lines.iter().zip(&own[side]);
            let flags =
                lines.flat_map(|((line, _), own)| std::iter::repeat_n(own.is_some(), line.len()));
            flags.collect::<Vec<bool>>()
        });
        let kept = |pair: &&(usize, usize)| !alone[0][pair.0] && !alone[1][pair.1];
        let ends = [(rests[0].words.len(), rests[1].words.len())];
        let mut from = (0, 0);
        for &(one, other) in pairs.iter().filter(kept).chain(&ends) {
            let runs = [from.0..one, from.1..other].into_iter().enumerate().map(|(side, run)| {
                let words = run.filter(|at| !alone[side][*at]).map(|at| rests[side].words[at]);
                words.collect::<Vec<usize>>()
            });
            let runs: Vec<Vec<usize>> = runs.collect();
            // Unique lines in between split a run.
            let mut pieces = [0, 1].map(|side| in_a_row(&runs[side]).into_iter());
            loop {
                let [first, second] = pieces.each_mut().map(Iterator::next);
                if first.is_none() && second.is_none() {
                    break;
                }
                self.put_run([first, second].map(Option::unwrap_or_default), difference);
            }
            from = (one + 1, other + 1);
        }
    }

    fn put_run(&self, [first, second]: [Range<usize>; 2], difference: &mut Difference) {
        let runs = [first, second];
        // If both lines are dates, the run is a date in any format.
        let kind = match [0, 1].map(|side| self.line_kind(side, &runs[side])) {
            [Some(one), Some(other)] if one == other => one,
            _ => of_run(&[0, 1].map(|side| self.run(side, &runs[side]))),
        };
        if matches!(kind, PartKind::Words | PartKind::Number) {
            (0..2).for_each(|side| difference.own[side] += runs[side].len());
        }
        let [first, second] = runs;
        difference.parts.push(Part { kind, first, second });
    }

    /// Turns changed section numbers into references. Both texts must number their sections, and all numbers must change by
    /// the same amounts; where a section was added, a second amount is allowed. Prices and times change by many amounts.
    fn mark_renumbered(&self, difference: &mut Difference) {
        if !self.texts.iter().all(|text| text.numbers_sections()) {
            return;
        }
        let is_section = |part: &Part| {
            part.kind == PartKind::Number
                && self.text(0).are_section_numbers(&part.first)
                && self.text(1).are_section_numbers(&part.second)
        };
        let mut moves = BTreeSet::new();
        for part in difference.parts.iter().filter(|part| is_section(part)) {
            let [first, second] = [(0, &part.first), (1, &part.second)]
                .map(|(side, words)| self.text(side).section_of(words.start));
            if first.len() != second.len() {
                return;
            }
            let moved = first.iter().zip(&second).map(|(one, other)| other - one);
            moves.insert(moved.collect::<Vec<i64>>());
        }
        if moves.len() > MAX_MOVES {
            return;
        }
        for part in difference.parts.iter_mut().filter(|part| is_section(part)) {
            part.kind = PartKind::Reference;
            difference.own[0] -= part.first.len();
            difference.own[1] -= part.second.len();
        }
    }

    fn line_kind(&self, side: usize, run: &Range<usize>) -> Option<PartKind> {
        let text = self.text(side);
        of_line(text.without_section(text.line(text.line_of(run.start))))
    }

    fn run(&self, side: usize, run: &Range<usize>) -> Run<'_> {
        let words =
            |range: Range<usize>| range.map(|at| self.text(side).word(at)).collect::<Vec<&str>>();
        if run.is_empty() {
            return Run::new(&[], &[], &[]);
        }
        let end = (run.end + Run::AROUND).min(self.text(side).len());
        let before = words(run.start.saturating_sub(Run::AROUND)..run.start);
        Run::new(&before, &words(run.clone()), &words(run.end..end))
    }
}

/// Adds the lines that the other page has outside its text.
fn put_outside(side: usize, rest: &Rest, difference: &mut Difference) {
    for line in rest.outside.iter().cloned() {
        difference.outside[side] += line.len();
        let [first, second] = if side == 0 { [line, 0..0] } else { [0..0, line] };
        difference.parts.push(Part { kind: PartKind::Outside, first, second });
    }
}

/// Groups consecutive numbers into ranges.
fn in_a_row(numbers: &[usize]) -> Vec<Range<usize>> {
    let stretches = numbers.chunk_by(|one, next| *next == one + 1);
    stretches.filter_map(|stretch| Some(*stretch.first()?..stretch.last()? + 1)).collect()
}

/// Returns the number of words in both texts, with multiplicity.
fn shared(a: &[u64], b: &[u64]) -> usize {
    let mut counts: HashMap<u64, usize> = HashMap::with_capacity(a.len());
    for word in a {
        *counts.entry(*word).or_default() += 1;
    }
    let takes = |word: &&u64| match counts.get_mut(word) {
        Some(left) if *left > 0 => {
            *left -= 1;
            true
        }
        _ => false,
    };
    b.iter().filter(takes).count()
}

#[cfg(test)]
mod tests;
