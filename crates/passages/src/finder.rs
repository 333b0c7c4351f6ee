//! The batch job: collects words and anchors, and finds the maximal repeats of each anchor.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::anchors::{Anchor, anchors};
use crate::bucket::{Bucket, Member};
use crate::error::{Error, Result};
use crate::found::Found;
use crate::nested;
use crate::options::{
    MAX_ANCHOR_PLACES, MAX_MONOTONOUS, MAX_PER_DOCUMENT, MAX_WORDS_PER_DOCUMENT, MIN_DIFFERENT,
    Options,
};
use crate::parts::{PARTS, Pair, Parts};
use crate::repeats::repeats;
use crate::runs::Runs;
use crate::stop::Stop;
use crate::types::Totals;
use crate::words::Words;

/// Maximum number of stored runs: 24 bytes of memory each.
const MAX_RUNS: usize = 1 << 24;
/// Bits of the position of an anchor in its windows.
const WINDOW_BITS: u32 = 6;

/// Collects documents and finds the passages that they share.
#[derive(Debug)]
pub struct Finder {
    options: Options,
    folder: PathBuf,
    words: Words,
    anchors: Parts,
    totals: Totals,
    stop: Stop,
}

impl Finder {
    /// Creates a search with temporary files in `folder`. They have no names, so nothing remains after a crash.
    ///
    /// # Errors
    /// If the files cannot be created.
    pub fn new(folder: &Path, options: Options) -> Result<Self> {
        Ok(Self {
            options: options.checked(),
            folder: folder.to_owned(),
            words: Words::create(folder)?,
            anchors: Parts::create(folder)?,
            totals: Totals::default(),
            stop: Stop::default(),
        })
    }

    /// Sets a flag: while it is true, the search ends with [`Error::Stopped`].
    pub fn stops_at(&mut self, stop: Arc<AtomicBool>) {
        self.stop = Stop(stop);
    }

    /// Adds a document: the hashes of its words. Equal hashes mean equal words.
    ///
    /// # Errors
    /// From the temporary files, if there are 2^32 documents, or [`Error::Stopped`].
    ///
    /// # Complexity
    /// Expected linear in the words; 8 bytes on disk for a word, and about 3 for its anchors.
    pub fn add(&mut self, words: &[u64]) -> Result<()> {
        self.stop.check()?;
        let document = u32::try_from(self.words.documents()).map_err(|_| Error::TooMany)?;
        let searched = words.get(..MAX_WORDS_PER_DOCUMENT).unwrap_or(words);
        self.totals.documents += 1;
        self.totals.words += words.len() as u64;
        self.totals.words_beyond_limit += (words.len() - searched.len()) as u64;
        self.words.push(searched)?;
        let mut chosen = anchors(searched, self.options.anchor(), self.options.window());
        chosen.sort_unstable();
        for equal in chosen.chunk_by(|a, b| a.hash == b.hash) {
            let most = equal.first().map_or(0, |anchor| self.most_of(searched, anchor));
            self.totals.repeated_anchors += equal.len().saturating_sub(most) as u64;
            for anchor in equal.iter().take(most) {
                let place = u64::from(document) << 32
                    | (anchor.start as u64) << (2 * WINDOW_BITS)
                    | (anchor.near as u64) << WINDOW_BITS
                    | anchor.far as u64;
                let part = usize::try_from(anchor.hash % PARTS as u64).unwrap_or(0);
                self.anchors.push(part, [anchor.hash, place])?;
            }
        }
        Ok(())
    }

    /// Returns how many places of an anchor a document contributes.
    fn most_of(&self, words: &[u64], anchor: &Anchor) -> usize {
        let words = words.get(anchor.start..).unwrap_or_default();
        let mut different: Vec<u64> = Vec::with_capacity(MIN_DIFFERENT);
        for word in words.iter().take(self.options.anchor()) {
            if !different.contains(word) {
                different.push(*word);
            }
            if different.len() >= MIN_DIFFERENT {
                return MAX_PER_DOCUMENT;
            }
        }
        MAX_MONOTONOUS
    }

    /// Finds the passages of all added documents.
    ///
    /// # Errors
    /// From the temporary files, or [`Error::Stopped`].
    ///
    /// # Complexity
    /// Sorts the anchors, and reads the words of those that occur on two documents.
    pub fn find(mut self) -> Result<Found> {
        self.words.flush()?;
        self.anchors.flush()?;
        let mut runs = Runs::create(&self.folder)?;
        for part in 0..PARTS {
            self.stop.check()?;
            let sorted = self.anchors.sorted(part)?;
            for equal in sorted.chunk_by(|a, b| a[0] == b[0]) {
                if document_of(equal.first()) != document_of(equal.last()) {
                    self.of_anchor(equal, &mut runs)?;
                }
            }
        }
        drop(self.anchors);
        runs.flush()?;
        let reported = nested::reported(&runs, &self.options)?;
        Ok(Found::new(self.options, (self.words, runs), &reported, self.totals, self.stop))
    }

    fn of_anchor(&mut self, equal: &[Pair], runs: &mut Runs) -> Result<()> {
        let members = first_of_each(equal, MAX_ANCHOR_PLACES);
        self.totals.repeated_anchors += (equal.len() - members.len()) as u64;
        let window = self.options.window();
        let bucket = Bucket::new(&self.words, members, window)?;
        self.totals.cut_runs += bucket.cut;
        let shortest = u32::try_from(self.options.seed_words).unwrap_or(u32::MAX);
        let (documents, totals) = (self.words.documents(), &mut self.totals);
        repeats(&bucket, window, shortest, &mut |words, places| {
            if runs.runs.len() >= MAX_RUNS {
                totals.passages_beyond_limit += 1;
                return Ok(());
            }
            runs.push(words, places, documents)
        })
    }
}

/// Returns the places of an anchor: all, or beyond `limit` the first ones of each document.
fn first_of_each(equal: &[Pair], limit: usize) -> Vec<Member> {
    let documents = || equal.chunk_by(|a, b| document_of(Some(a)) == document_of(Some(b)));
    let mut each = MAX_PER_DOCUMENT;
    while each > 1 && documents().map(|places| places.len().min(each)).sum::<usize>() > limit {
        each /= 2;
    }
    let first = documents().flat_map(|places| places.iter().take(each)).take(limit);
    first.map(|pair| member(pair[1])).collect()
}

fn document_of(pair: Option<&Pair>) -> Option<u64> {
    pair.map(|pair| pair[1] >> 32)
}

fn member(packed: u64) -> Member {
    let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let mask = (1 << WINDOW_BITS) - 1;
    Member {
        document: narrow(packed >> 32),
        start: narrow((packed & u64::from(u32::MAX)) >> (2 * WINDOW_BITS)),
        near: narrow(packed >> WINDOW_BITS & mask),
        far: narrow(packed & mask),
    }
}

#[cfg(test)]
mod tests;
