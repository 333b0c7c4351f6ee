use std::collections::BTreeSet;
use std::ops::Range;

use hapax_dedup::mix64;
use hapax_extract::{for_each_word, is_unspaced};

use super::number::is_number;
use crate::evidence::HASH;

/// Maximum number of words read from a text; the rest is ignored.
pub const MAX_WORDS: usize = 20_000;

/// Maximum number of the parts of a section's number, and of their digits.
const MAX_PARTS: usize = 6;
const MAX_DIGITS: usize = 3;

/// Mean number of characters of a word in Thai, Lao, Khmer and Burmese.
const CHARACTERS: usize = 4;

/// A text, split into words (NFKC, lower case) and lines. In scripts without spaces, each character is a word.
#[derive(Clone, Debug, Default)]
pub struct Words {
    /// All words, concatenated.
    text: String,
    /// End of each word in `text`.
    ends: Vec<usize>,
    hashes: Vec<u64>,
    /// For each line with words, the number of words up to its end.
    lines: Vec<usize>,
    /// For each of them, its number in the text.
    sources: Vec<u32>,
    /// The words that are section numbers at the beginning of a line, in order.
    sections: Vec<usize>,
    /// Number of words that are single characters of Thai, Lao, Khmer or Burmese.
    characters: usize,
    cut: bool,
}

impl Words {
    /// Splits a text.
    ///
    /// # Complexity
    /// Linear in the text.
    pub fn of(text: &str) -> Self {
        Self::of_lines(text.lines().enumerate())
    }

    /// Reads some lines of a text, each with its number there.
    pub(crate) fn of_lines<'l>(lines: impl Iterator<Item = (usize, &'l str)>) -> Self {
        let mut all = Self::default();
        for (number, line) in lines {
            let before = all.len();
            let sections = before + section_numbers(line);
            for_each_word(line, |word| {
                if all.len() < sections.min(MAX_WORDS) && is_number(word) {
                    all.sections.push(all.len());
                }
                if all.hashes.len() < MAX_WORDS {
                    all.characters += usize::from(word.starts_with(is_unspaced));
                    all.text.push_str(word);
                    all.ends.push(all.text.len());
                    all.hashes.push(HASH.hash(word.as_bytes()));
                } else {
                    all.cut = true;
                }
            });
            if all.len() > before {
                all.lines.push(all.len());
                all.sources.push(u32::try_from(number).unwrap_or(u32::MAX));
            }
            if all.cut {
                break;
            }
        }
        all
    }

    /// The number of words.
    pub const fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Returns the number of words as people count them, about: four characters of Thai, Lao, Khmer or Burmese are one.
    pub const fn length(&self) -> usize {
        self.len() - self.characters + self.characters.div_ceil(CHARACTERS)
    }

    /// Returns whether there is no word.
    pub const fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Returns whether the text has more than [`MAX_WORDS`] words.
    pub const fn is_cut(&self) -> bool {
        self.cut
    }

    /// Returns the word at this index; an empty one beyond the last.
    pub fn word(&self, at: usize) -> &str {
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        let end = self.ends.get(at).copied().unwrap_or(0);
        self.text.get(start.unwrap_or(0)..end).unwrap_or_default()
    }

    /// Returns consecutive words, joined by spaces.
    pub fn phrase(&self, words: Range<usize>) -> String {
        let words: Vec<&str> = words.map(|at| self.word(at)).collect();
        words.join(" ")
    }

    /// Returns whether all these words are numbers of a section at the beginning of a line, like `3.12. Limits`.
    pub(crate) fn are_section_numbers(&self, words: &Range<usize>) -> bool {
        !words.is_empty() && words.clone().all(|at| self.sections.binary_search(&at).is_ok())
    }

    /// Returns the numbers of the section whose line has this word: 3 and 12 of `3.12. Limits`.
    pub(crate) fn section_of(&self, word: usize) -> Vec<i64> {
        let line = self.line(self.line_of(word));
        let numbers = line.take_while(|at| self.sections.binary_search(at).is_ok());
        numbers.map(|at| self.word(at).parse().unwrap_or_default()).collect()
    }

    /// Returns whether two lines have the numbers of neighbouring sections, like `3.12.` and `3.13.`, or of those before and
    /// after one.
    ///
    /// # Complexity
    /// Linear in the lines with such numbers, times their logarithm.
    pub(crate) fn numbers_sections(&self) -> bool {
        let starts = self.sections.iter().filter(|at| self.line(self.line_of(**at)).start == **at);
        let all: BTreeSet<Vec<i64>> = starts.map(|at| self.section_of(*at)).collect();
        let is_followed = |section: &Vec<i64>| {
            (1..=2).any(|step| {
                let mut next = section.clone();
                if let Some(last) = next.last_mut() {
                    *last += step;
                }
                all.contains(&next)
            })
        };
        all.iter().any(is_followed)
    }

    /// Returns the words of a line without the section number at its beginning, whose parts look like those of a date.
    pub(crate) fn without_section(&self, line: Range<usize>) -> impl Iterator<Item = &str> + Clone {
        let first = self.sections.partition_point(|at| *at < line.start);
        let numbers = self.sections.get(first..).unwrap_or_default();
        let numbers = numbers.iter().take_while(|at| line.contains(at)).count();
        (line.start + numbers..line.end).map(|at| self.word(at))
    }

    /// Returns the index of the line with this word.
    pub(crate) fn line_of(&self, word: usize) -> usize {
        self.lines.partition_point(|end| *end <= word)
    }

    /// Returns the word range of a line.
    pub(crate) fn line(&self, number: usize) -> Range<usize> {
        let end = |number: usize| self.lines.get(number).copied();
        let start = number.checked_sub(1).map_or(Some(0), end);
        let (start, end) = (start.unwrap_or_default(), end(number).unwrap_or_default());
        start..end.max(start)
    }

    pub(crate) fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    /// Returns the hash of a line. `sites/` has hashes of lines, so this must never change.
    pub(crate) fn line_hash(&self, line: Range<usize>) -> u64 {
        let words = self.hashes.get(line).unwrap_or_default();
        words.iter().fold(0, |hash, word| with_word(hash, *word))
    }

    /// Returns the word range of each whole line in a range of words.
    pub(crate) fn lines_within(&self, words: &Range<usize>) -> Vec<Range<usize>> {
        let first = self.line_of(words.start);
        (first..self.lines.len())
            .map(|number| self.line(number))
            .skip_while(|line| line.start < words.start)
            .take_while(|line| line.end <= words.end)
            .collect()
    }

    /// Returns the hash and the number of words of each whole line in a range of words.
    pub(super) fn lines_in(&self, words: &Range<usize>) -> Vec<(u64, usize)> {
        let lines = self.lines_within(words).into_iter();
        lines.map(|line| (self.line_hash(line.clone()), line.len())).collect()
    }

    /// Returns the number in the text of each line with words, and its hash.
    pub(crate) fn numbered_hashes(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let hashes = self.lines().map(|line| self.line_hash(line));
        self.sources.iter().map(|number| *number as usize).zip(hashes)
    }

    /// Returns the word range of each line.
    pub(crate) fn lines(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let starts = std::iter::once(0).chain(self.lines.iter().copied());
        starts.zip(self.lines.iter().copied()).map(|(start, end)| start..end)
    }
}

/// Returns how many numbers a line begins with that are those of a section, as in `3.12. Limits`: at least two, each with a
/// dot behind it, none with a leading zero, which days have.
fn section_numbers(line: &str) -> usize {
    let mut rest = line.trim_start();
    let mut parts = 0;
    loop {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        match rest.get(digits..).and_then(|after| after.strip_prefix('.')) {
            Some(after) if (1..=MAX_DIGITS).contains(&digits) && !rest.starts_with('0') => {
                parts += 1;
                rest = after;
            }
            _ => break,
        }
    }
    let named = rest.starts_with(char::is_whitespace) && !rest.trim().is_empty();
    if named && (2..=MAX_PARTS).contains(&parts) { parts } else { 0 }
}

/// Returns the hash of a line, as [`Words::line_hash`] does, and its number of words.
pub(super) fn hash_of_line(line: &str) -> (u64, usize) {
    let (mut hash, mut words) = (0, 0);
    for_each_word(line, |word| {
        hash = with_word(hash, HASH.hash(word.as_bytes()));
        words += 1;
    });
    (hash, words)
}

fn with_word(hash: u64, word: u64) -> u64 {
    mix64(hash.rotate_left(7) ^ word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lines_and_characters() {
        let words = Words::of("The old River\n\n--\n北京 is 大\n");
        let all: Vec<&str> = (0..words.len()).map(|at| words.word(at)).collect();
        assert_eq!(all, ["the", "old", "river", "北", "京", "is", "大"]);
        assert_eq!(words.lines().collect::<Vec<_>>(), [0..3, 3..7]);
        assert_eq!(words.phrase(1..3), "old river");
        assert_eq!(words.word(99), "");
    }

    #[test]
    fn equal_lines_have_one_hash_whatever_their_case_and_spaces() {
        let words = Words::of("Follow us\nA B\nB A\nfollow  US!\nfollow");
        let hashes: Vec<u64> = words.lines().map(|line| words.line_hash(line)).collect();
        let [first, ab, ba, again, follow] = hashes[..] else { panic!("{hashes:?}") };
        assert_eq!(first, again);
        assert_ne!(ab, ba);
        assert_ne!(first, follow);
        // Directories contain this value.
        assert_eq!(follow, mix64(HASH.hash(b"follow")));
        assert_eq!(words.lines_in(&(0..4)), [(first, 2), (ab, 2)]);
        assert_eq!(words.lines_in(&(1..5)), [(ab, 2)]);
        assert_eq!(words.lines_in(&(6..8)), [(again, 2)]);
        assert_eq!(words.lines_in(&(99..100)), []);
    }

    #[test]
    fn numbers_of_sections_are_known_at_the_beginning_of_lines() {
        for (line, numbers) in [
            ("36.16. Oracle Compatibility Mode", 2),
            (" 3.12.1.\u{a0}Limits", 3),
            ("3.12 Limits", 0),
            ("12.50 Salad", 0),
            ("12. Session", 0),
            ("05.03. Market", 0),
            ("12.03.2026 Market", 0),
            ("1299.1. Limits", 0),
            ("3.12.", 0),
            ("3.12. ", 0),
            ("1.2.3.4.5.6.7. Limits", 0),
            ("", 0),
            ("See 3.12. Limits", 0),
        ] {
            assert_eq!(section_numbers(line), numbers, "{line}");
        }
        let words = Words::of("Limits\n36.16. Mode 2\n36.17. Limits\n0.1. None");
        let marked: Vec<usize> =
            (0..words.len()).filter(|at| words.are_section_numbers(&(*at..at + 1))).collect();
        assert_eq!(marked, [1, 2, 5, 6]);
        assert!(words.are_section_numbers(&(1..3)) && !words.are_section_numbers(&(1..4)));
        assert!(!words.are_section_numbers(&(1..1)));
        assert_eq!((words.section_of(2), words.section_of(0)), (vec![36, 16], vec![]));
        assert!(words.numbers_sections());
        assert!(!Words::of("8.50. Soup\n9.80. Salad\n8.60. Bread").numbers_sections());
        assert!(!Words::of("36.16. Mode").numbers_sections() && !Words::of("").numbers_sections());
        let named = |line: usize| words.without_section(words.line(line)).collect::<Vec<_>>();
        assert_eq!(named(1), ["mode", "2"]);
        assert_eq!((named(0), named(2)), (vec!["limits"], vec!["limits"]));
    }

    #[test]
    fn the_length_counts_four_characters_of_thai_or_khmer_as_a_word() {
        assert_eq!(Words::of("The old River 北京").length(), 5);
        let khmer = Words::of("LibreOffice សេចក្តី");
        assert_eq!((khmer.len(), khmer.length()), (8, 3));
        assert_eq!(Words::of("").length(), 0);
    }

    #[test]
    fn a_text_without_end_is_cut() {
        let words = Words::of(&"word ".repeat(MAX_WORDS + 5));
        assert!(words.is_cut());
        assert_eq!(words.len(), MAX_WORDS);
        assert!(!Words::of("word").is_cut());
    }
}
