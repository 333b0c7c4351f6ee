//! Decides by their texts whether two pages are duplicates.
//!
//! ```
//! use hapax_page::comparison::{Compared, PageText, Reason, compare_pages};
//!
//! let page = |colour: &str| Compared::new(PageText {
//!     heading: format!("Tee - {colour}"),
//!     title: format!("Tee - {colour} | The shop"),
//!     text: format!("The tee is made of cotton from a small farm in the hills.\nIt comes in {colour} today."),
//!     ..PageText::default()
//! });
//! let (navy, rust) = (page("navy"), page("rust"));
//! assert_eq!(compare_pages(&navy, &rust, true).reason, Reason::NameInText);
//! assert!(compare_pages(&navy, &navy, true).same());
//! ```

mod address;
mod cells;
mod names;
mod pattern;
mod rows;
mod rules;
mod text;
mod typos;

use std::sync::OnceLock;

pub use self::names::NameRelation;
pub use self::rules::{Outcome, Reason, compare_pages};
pub use self::text::{MAX_TEXT_BYTES, PageText};

use self::cells::Cells;
use self::names::{Name, Names};
use crate::difference::Words;

/// Maximum difference in bytes of the heading and a line that repeats it, with a section number or "(print version)".
const MAX_MORE: usize = 24;
/// Maximum number of lines of a page that are counted for its site.
const MAX_LINES: usize = 1_024;

/// A page, prepared for comparisons. Its parts are computed on first use.
#[derive(Debug)]
pub struct Compared {
    page: PageText,
    names: Names,
    words: OnceLock<Words>,
    cells: OnceLock<Cells>,
    /// Distinct words, sorted.
    known: OnceLock<Vec<u64>>,
    lines: OnceLock<Vec<u64>>,
}

impl Compared {
    /// Wraps a page.
    pub fn new(page: PageText) -> Self {
        let names = Names::of(&page.heading, &page.title);
        let (words, cells, known, lines) = Default::default();
        Self { page, names, words, cells, known, lines }
    }

    /// The page.
    pub const fn page(&self) -> &PageText {
        &self.page
    }

    /// Computes the parts that most comparisons need, for instance on an idle thread.
    pub fn prepare(&self) {
        self.knows(0);
        self.line_hashes();
    }

    /// Returns the words of its text, without lines that repeat the heading.
    pub fn words(&self) -> &Words {
        self.words.get_or_init(|| {
            let heading = &self.names.heading;
            let near = |line: &str| line.len().abs_diff(self.page.heading.len()) <= MAX_MORE;
            let lines =
                self.page.text.lines().enumerate().filter(|(_, line)| {
                    heading.is_empty() || !near(line) || !heading.is_line(line)
                });
            Words::of_lines(lines)
        })
    }

    /// Returns hashes of its lines, each once and sorted; at most 1,024.
    pub fn line_hashes(&self) -> &[u64] {
        self.lines.get_or_init(|| {
            let words = self.words();
            let mut lines: Vec<u64> = words.lines().map(|line| words.line_hash(line)).collect();
            lines.sort_unstable();
            lines.dedup();
            lines.truncate(MAX_LINES);
            lines
        })
    }

    /// Returns the lines of its text that have words and do not repeat the heading: the number of each in the text, and its
    /// hash as in [`line_hashes`](Self::line_hashes).
    pub fn numbered_lines(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.words().numbered_hashes().take(MAX_LINES)
    }

    /// Returns the number of words in lines that `known` returns true for, and of all words; without lines that repeat the
    /// heading.
    ///
    /// # Complexity
    /// Linear in the words.
    pub fn words_in_lines(&self, known: impl Fn(u64) -> bool) -> (usize, usize) {
        let words = self.words();
        words.lines().fold((0, 0), |(count, all), line| {
            let length = line.len();
            (count + if known(words.line_hash(line)) { length } else { 0 }, all + length)
        })
    }

    fn cells(&self) -> &Cells {
        self.cells.get_or_init(|| Cells::of(&self.page.cells))
    }

    /// Returns the share of a name's words that are in the text.
    fn share_known(&self, name: &Name) -> f64 {
        let known = name.words.iter().filter(|word| self.knows(**word)).count();
        known as f64 / name.words.len().max(1) as f64
    }

    fn knows(&self, word: u64) -> bool {
        let different = || {
            let mut words = self.words().hashes().to_vec();
            words.sort_unstable();
            words.dedup();
            words
        };
        self.known.get_or_init(different).binary_search(&word).is_ok()
    }

    /// Returns whether the text has these words in a row.
    fn has(&self, phrase: &[u64]) -> bool {
        match phrase {
            [] => true,
            [word] => self.knows(*word),
            [word, ..] => {
                self.knows(*word)
                    && self.words().hashes().windows(phrase.len()).any(|words| words == phrase)
            }
        }
    }
}

#[cfg(test)]
mod tests;
