//! A text as words and lines.

use std::ops::Range;

use hapax_extract::for_each_word;

use crate::evidence::HASH;

/// Words that are read of a text; the rest is left out.
pub const MAX_WORDS: usize = 20_000;

/// A text, cut into words and lines. Words are folded (NFKC, lower case); of scripts without spaces each character is
/// one.
#[derive(Clone, Debug, Default)]
pub struct Words {
    /// All words, one after the other.
    text: String,
    /// Where each word ends there.
    ends: Vec<usize>,
    hashes: Vec<u64>,
    /// The number of words up to the end of each line that has words.
    lines: Vec<usize>,
    cut: bool,
}

impl Words {
    /// Cuts a text.
    ///
    /// # Complexity
    /// Linear in the text.
    pub fn of(text: &str) -> Self {
        Self::of_lines(text.lines())
    }

    /// Cuts lines.
    pub(crate) fn of_lines<'l>(lines: impl Iterator<Item = &'l str>) -> Self {
        let mut all = Self::default();
        for line in lines {
            let before = all.len();
            for_each_word(line, |word| {
                if all.hashes.len() < MAX_WORDS {
                    all.text.push_str(word);
                    all.ends.push(all.text.len());
                    all.hashes.push(HASH.hash(word.as_bytes()));
                } else {
                    all.cut = true;
                }
            });
            if all.len() > before {
                all.lines.push(all.len());
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

    /// Returns whether there is no word.
    pub const fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Returns whether the text has more words than are read.
    pub const fn is_cut(&self) -> bool {
        self.cut
    }

    /// The word of this number; an empty one beyond the last.
    pub fn word(&self, at: usize) -> &str {
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        let end = self.ends.get(at).copied().unwrap_or(0);
        self.text.get(start.unwrap_or(0)..end).unwrap_or_default()
    }

    /// Words in a row, with spaces between them.
    pub fn phrase(&self, words: Range<usize>) -> String {
        let words: Vec<&str> = words.map(|at| self.word(at)).collect();
        words.join(" ")
    }

    /// The number of the line that a word is in.
    pub(crate) fn line_of(&self, word: usize) -> usize {
        self.lines.partition_point(|end| *end <= word)
    }

    /// The words of the line of this number.
    pub(crate) fn line(&self, number: usize) -> Range<usize> {
        let end = |number: usize| self.lines.get(number).copied();
        let start = number.checked_sub(1).map_or(Some(0), end);
        let (start, end) = (start.unwrap_or_default(), end(number).unwrap_or_default());
        start..end.max(start)
    }

    pub(crate) fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    /// The words of each line.
    pub(super) fn lines(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let starts = std::iter::once(0).chain(self.lines.iter().copied());
        starts.zip(self.lines.iter().copied()).map(|(start, end)| start..end)
    }
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
    fn a_text_without_end_is_cut() {
        let words = Words::of(&"word ".repeat(MAX_WORDS + 5));
        assert!(words.is_cut());
        assert_eq!(words.len(), MAX_WORDS);
        assert!(!Words::of("word").is_cut());
    }
}
