//! The results of a search.

use std::cmp::Reverse;

use crate::error::Result;
use crate::options::Options;
use crate::runs::Runs;
use crate::stop::Stop;
use crate::types::{Passage, Place, Totals};
use crate::words::Words;

/// The passages of a search. Its temporary files are removed with it.
#[derive(Debug)]
pub struct Found {
    pub(crate) options: Options,
    pub(crate) words: Words,
    pub(crate) runs: Runs,
    passages: Vec<Passage>,
    totals: Totals,
    pub(crate) stop: Stop,
}

impl Found {
    pub(crate) fn new(
        options: Options,
        (words, runs): (Words, Runs),
        reported: &[usize],
        totals: Totals,
        stop: Stop,
    ) -> Self {
        let mut passages: Vec<Passage> =
            reported.iter().filter_map(|run| runs.runs.get(*run).copied()).collect();
        passages.sort_by_key(|passage| {
            let words = u64::from(passage.words) * u64::from(passage.documents - 1);
            (Reverse(words), Reverse(passage.words), passage.at)
        });
        Self { options, words, runs, passages, totals, stop }
    }

    /// Returns the passages: first those that repeat most words.
    pub fn passages(&self) -> &[Passage] {
        &self.passages
    }

    /// Returns counts of the search.
    pub const fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Returns the places of a passage, in the order of documents.
    ///
    /// # Errors
    /// From the temporary files.
    pub fn places(&self, passage: &Passage) -> Result<Vec<Place>> {
        let (mut bytes, mut places) = (Vec::new(), Vec::new());
        self.runs.places.read(passage.at, passage.places as usize, &mut bytes, &mut places)?;
        Ok(places.into_iter().map(Place::unpacked).collect())
    }

    /// Returns the number of words of a document that were searched.
    pub fn words_of(&self, document: u32) -> usize {
        self.words.count(document)
    }
}
