//! Rows of a label and numbers that are no table: prices, opening hours, results.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use hapax_extract::is_referring;

use crate::difference::{Difference, PartKind, Words, is_date_line, is_number};

/// Maximum number of words of a row, and of a row in which at least half of the words are numbers.
const LONGEST: [usize; 2] = [12, 48];
/// A line of at least this number of numbers and no word is a series, such as a lottery draw. It counts as two lines.
const SERIES: usize = 4;
/// Minimum number of lines with times of day in a text that lists opening hours.
const MIN_HOURS: usize = 3;
/// Lines with other hours: minimum count, and minimum share of all such lines.
const OTHER_HOURS: (usize, f64) = (2, 0.3);
/// The words that replace nothing: a row at the beginning of a text has no label before it.
const NO_LABEL: u64 = 0;

/// Numbers in rows of one text that the other text has with other numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Replaced {
    pub(super) numbers: usize,
    pub(super) lines: usize,
}

fn numbers_in(text: &Words, line: Range<usize>) -> usize {
    line.filter(|at| is_number(text.word(*at))).count()
}

/// Returns the label of a line: a hash of its words except numbers; of a line without words, that of the line before.
fn label(text: &Words, number: usize) -> u64 {
    let words = |number: usize| {
        let line = text.line(number);
        let hashes = text.hashes().get(line.clone()).unwrap_or_default();
        let words = line.zip(hashes).filter(|(at, _)| !is_number(text.word(*at)));
        words.fold(NO_LABEL, |hash, (_, word)| hash.rotate_left(7) ^ *word)
    };
    match words(number) {
        NO_LABEL => number.checked_sub(1).map_or(NO_LABEL, words),
        own => own,
    }
}

fn is_row(text: &Words, line: &Range<usize>) -> bool {
    let numbers = numbers_in(text, line.clone());
    let longest = LONGEST[usize::from(numbers * 2 >= line.len())];
    let refers = || line.clone().any(|at| is_referring(text.word(at)));
    numbers > 0 && line.len() <= longest && !refers()
}

/// Returns the numbers in rows that one text lacks, if the other one has a row with the same label instead: rows that only one
/// text has are a block of that text.
///
/// # Complexity
/// Linear in these lines.
pub(super) fn replaced(difference: &Difference, texts: [&Words; 2]) -> [Replaced; 2] {
    let rows = [0, 1].map(|side| {
        let mut rows: BTreeMap<usize, u64> = BTreeMap::new();
        for part in &difference.parts {
            let words = match (part.kind, side) {
                (PartKind::Removed, 0) => &part.first,
                (PartKind::Added, 1) => &part.second,
                _ => continue,
            };
            let text = texts[side];
            let first = text.line_of(words.start);
            let lines = (first..).map(|number| (number, text.line(number)));
            let lines = lines.take_while(|(_, line)| !line.is_empty() && line.end <= words.end);
            let rows_here = lines.filter(|(_, line)| is_row(text, line));
            rows.extend(rows_here.map(|(number, _)| (number, label(text, number))));
        }
        rows
    });
    let labels = rows.each_ref().map(|rows| rows.values().copied().collect::<HashSet<u64>>());
    [0, 1].map(|side| {
        let mut found = Replaced::default();
        for (number, label) in &rows[side] {
            if !labels[1 - side].contains(label) {
                continue;
            }
            let line = texts[side].line(*number);
            let numbers = numbers_in(texts[side], line.clone());
            let series = numbers >= SERIES && numbers == line.len();
            found.numbers += numbers;
            found.lines += 1 + usize::from(series);
        }
        found
    })
}

/// Returns the rows of opening hours by their label: lines of a label and times from and to.
fn hours(text: &Words) -> HashMap<u64, Vec<u64>> {
    let mut rows: HashMap<u64, Vec<u64>> = HashMap::new();
    for (number, line) in text.lines().enumerate() {
        if is_hours(text, &line) {
            let hashes = text.hashes().get(line).unwrap_or_default();
            rows.entry(label(text, number)).or_default().extend(hashes);
        }
    }
    rows
}

fn is_hours(text: &Words, line: &Range<usize>) -> bool {
    if line.len() > LONGEST[0] {
        return false;
    }
    let numbers = line.clone().map(|at| text.word(at)).filter(|word| is_number(word));
    let numbers: Vec<&str> = numbers.collect();
    let up_to = |word: &str, most: u32| word.parse::<u32>().is_ok_and(|value| value <= most);
    let clock = |time: &[&str]| match time {
        [hour, minute] => minute.len() == 2 && up_to(hour, 24) && up_to(minute, 59),
        _ => false,
    };
    let named = |word: &&str| word.ends_with("am") || word.ends_with("pm");
    let pairs = numbers.len() >= 4 && numbers.chunks(2).all(clock);
    (pairs || numbers.len() >= 2 && numbers.iter().all(named))
        && is_date_line(line.clone().map(|at| text.word(at)))
}

/// Returns whether both texts list hours, and these differ under the same labels. One other line is an exception for a day.
///
/// # Complexity
/// Linear in the texts.
pub(super) fn hours_differ(texts: [&Words; 2]) -> bool {
    let [one, other] = texts.map(hours);
    if one.len().min(other.len()) < MIN_HOURS {
        return false;
    }
    let (least, share) = OTHER_HOURS;
    let differs =
        |(label, row): &(&u64, &Vec<u64>)| other.get(label).is_some_and(|there| there != *row);
    let differing = one.iter().filter(differs).count();
    differing >= least && differing as f64 >= share * one.len().max(other.len()) as f64
}
