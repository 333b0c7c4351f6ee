//! Compares table cells with numbers.

use std::collections::HashMap;

use hapax_extract::{Block, Reason, for_each_word, plain_name};

use crate::difference::{is_counter_line, is_date_line, is_number};
use crate::evidence::HASH;

/// Longer cells are not compared as cells.
const MAX_CELL_WORDS: usize = 12;
/// Maximum number of bytes of the cells.
const MAX_CELL_BYTES: usize = 16 << 10;
/// Minimum number of rows in a list without a table.
const MIN_ROWS: usize = 3;
/// Maximum number of labels before a row.
const MAX_LABELS: usize = 1;
/// Maximum number of words of a row per number. With more, it is a headline.
const PER_NUMBER: usize = 3;

/// Returns the short table cells of a page, one per line, and the rows of numbers that were dropped: lists of prices and results.
///
/// # Complexity
/// Linear in the blocks; at most 16 KiB.
pub(super) fn cells_of(blocks: &[Block]) -> String {
    let mut cells = String::new();
    let mut put = |text: &str| {
        let text = text.trim();
        if !text.is_empty() && cells.len() + text.len() < MAX_CELL_BYTES {
            cells.extend([text, "\n"]);
        }
    };
    let mut rows = Listed::default();
    for block in blocks {
        let short = block.text.split_whitespace().nth(MAX_CELL_WORDS).is_none();
        let compared = matches!(block.reason, Reason::Text | Reason::OutsideRun | Reason::Unlike);
        if block.cell && short && compared {
            put(&block.text);
        }
        rows.read(block, short).into_iter().for_each(&mut put);
    }
    rows.end().into_iter().for_each(&mut put);
    cells
}

/// A run of dropped rows directly behind a kept block. Rows elsewhere are boxes of the site, such as prices of stocks.
#[derive(Default)]
struct Listed<'b> {
    rows: Vec<&'b str>,
    /// Number of blocks that are no row since the last row or kept block.
    labels: usize,
    follows: bool,
}

impl<'b> Listed<'b> {
    /// Reads the next block. Returns the rows of a list that ends here.
    fn read(&mut self, block: &'b Block, short: bool) -> Vec<&'b str> {
        let dropped =
            matches!(block.reason, Reason::OutsideRun | Reason::Unlike | Reason::OutsideContainer);
        let listed = dropped && short && !block.cell && !block.menu;
        if listed && self.follows && is_row(&block.text) {
            self.rows.push(&block.text);
            self.labels = 0;
            return Vec::new();
        }
        self.labels += 1;
        // A label is between two rows in a list of definitions.
        if listed && self.labels <= MAX_LABELS {
            return Vec::new();
        }
        let ended = self.end();
        self.follows = block.reason == Reason::Text;
        self.labels = 0;
        ended
    }

    fn end(&mut self) -> Vec<&'b str> {
        let rows = std::mem::take(&mut self.rows);
        if rows.len() >= MIN_ROWS { rows } else { Vec::new() }
    }
}

/// Returns whether a short text is numbers with a label, and neither a date nor a counter.
fn is_row(text: &str) -> bool {
    let mut words: Vec<String> = Vec::new();
    for_each_word(text, |word| words.push(word.to_owned()));
    let numbers = words.iter().filter(|word| is_number(word)).count();
    let words = || words.iter().map(String::as_str);
    numbers > 0
        && words().count() <= PER_NUMBER * numbers
        && !is_counter_line(words())
        && !is_date_line(words())
}

/// Counts of the cells with numbers, by the hash of their words.
#[derive(Clone, Debug, Default)]
pub(super) struct Cells {
    counts: HashMap<u64, usize>,
    all: usize,
}

impl Cells {
    pub(super) fn of(cells: &str) -> Self {
        let mut found = Self::default();
        for cell in cells.lines() {
            let mut words: Vec<String> = Vec::new();
            for_each_word(plain_name(cell), |word| words.push(word.to_owned()));
            let numbered = words.iter().any(|word| is_number(word));
            if numbered && !is_counter_line(words.iter().map(String::as_str)) {
                *found.counts.entry(HASH.hash(words.join(" ").as_bytes())).or_default() += 1;
                found.all += 1;
            }
        }
        found
    }

    pub(super) const fn len(&self) -> usize {
        self.all
    }

    /// Returns the number of cells that the other page lacks.
    pub(super) fn own(&self, other: &Self) -> usize {
        let own = self.counts.iter().map(|(cell, count)| {
            count.saturating_sub(other.counts.get(cell).copied().unwrap_or_default())
        });
        own.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(blocks: &[(&str, Reason)]) -> String {
        let block = |&(text, reason): &(&str, Reason)| Block {
            text: text.to_owned(),
            reason,
            chance: 0.0,
            cell: false,
            menu: false,
        };
        cells_of(&blocks.iter().map(block).collect::<Vec<_>>())
    }

    #[test]
    fn dropped_rows_of_numbers_are_cells() {
        use Reason::{Name, Structure, Text, Unlike};
        let prices = [
            ("Prices of today", Text),
            ("Adult £7.00", Unlike),
            ("Child £4.00", Unlike),
            ("Group £9.50", Unlike),
        ];
        assert_eq!(cells(&prices), "Adult £7.00\nChild £4.00\nGroup £9.50\n");
        let terms = ["Adult", "£7.00", "Child", "£4.00", "Group", "£9.50"].map(|row| (row, Unlike));
        let terms = [&prices[..1], &terms].concat();
        assert_eq!(cells(&terms), "£7.00\n£4.00\n£9.50\n");
        assert_eq!(cells(&prices[..3]), "", "two rows are no list");
        assert_eq!(cells(&prices[1..]), "", "not behind the text");
        for other in [
            ["10 ways to mend a wall", "5 tips for a dry cellar", "7 roads to the hill"],
            ["12 comments", "204 views", "7 comments"],
            ["3 May 2025", "2 hours ago", "12.03.2025"],
        ] {
            let other = other.map(|row| (row, Unlike));
            assert_eq!(cells(&[&prices[..1], &other].concat()), "", "{other:?}");
        }
        for reason in [Text, Name, Structure] {
            let rows = prices.map(|(row, _)| (row, reason));
            assert_eq!(cells(&[&prices[..1], &rows[1..]].concat()), "", "{reason:?}");
        }
    }
}
