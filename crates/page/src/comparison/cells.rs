//! Compares table cells with numbers.

use std::collections::HashMap;

use hapax_extract::{for_each_word, plain_name};

use crate::difference::{is_counter_line, is_number};
use crate::evidence::HASH;

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
