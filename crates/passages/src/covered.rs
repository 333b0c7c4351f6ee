//! Documents that are a part of a longer one: almost all of their words are in long runs of it. Words of ignored runs
//! do not count.

use crate::error::{Error, Result};
use crate::found::Found;
use crate::nested::Interval;
use crate::pairs::Seeds;
use crate::types::{Passage, Place};

/// Minimum share of the counted words of a part that are in runs of the other document.
const COVERED: (u64, u64) = (9, 10);
/// The other document has at least this multiple of counted words: documents of nearly equal length are near pairs.
const LONGER: (u64, u64) = (5, 4);

/// A document and a longer one that has almost all of its words in runs of at least `min_words`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Covered {
    /// The part.
    pub part: u32,
    /// The longer document.
    pub whole: u32,
    /// Counted words of both: those outside ignored runs.
    pub words: [u32; 2],
    /// Counted words of the part that are in the runs.
    pub shared: u32,
    /// The longest of the runs: index of its first word in the part, and its length.
    pub longest: (u32, u32),
}

impl Found {
    /// Calls `each` with each document that is a part of a longer one, once for each longer one, in the order of
    /// parts. `ignores` says of a run on at least `least` documents whether its words count. Documents with fewer than
    /// `min_words` counted words are not parts.
    ///
    /// A part is found if it has a run with the longer document that is on at most `max_documents_of_a_seed` documents.
    ///
    /// # Errors
    /// From the temporary files, and the first of `each`.
    ///
    /// # Complexity
    /// Reads each place twice. Memory: four bytes for each document and a bit for each run.
    pub fn covered<E: From<Error>>(
        &self,
        least: u32,
        ignores: impl FnMut(&Passage, &[Place]) -> bool,
        mut each: impl FnMut(Covered) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let ignored = self.ignored(least, ignores)?;
        let counted = self.counted(&ignored)?;
        self.each_document(|document, intervals| {
            let words = counted.get(document as usize).copied().unwrap_or(0);
            if (words as usize) < self.options.min_words {
                return Ok(());
            }
            let counts = Counts::of(self.words_of(document), intervals, &ignored);
            for (whole, seeds) in self.partners(document, intervals)? {
                let of_whole = counted.get(whole as usize).copied().unwrap_or(0);
                if u64::from(of_whole) * LONGER.1 < u64::from(words) * LONGER.0 {
                    continue;
                }
                let seeds: Seeds = seeds
                    .into_iter()
                    .filter(|(.., words)| *words >= self.options.min_words)
                    .collect();
                let shared = counts.inside(&seeds);
                if u64::from(shared) * COVERED.1 < u64::from(words) * COVERED.0 {
                    continue;
                }
                // The first of equal length.
                let longest = seeds.iter().max_by_key(|(at, _, words)| (*words, usize::MAX - at));
                let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
                let longest =
                    longest.map_or((0, 0), |(at, _, words)| (narrow(*at), narrow(*words)));
                each(Covered { part: document, whole, words: [words, of_whole], shared, longest })?;
            }
            Ok(())
        })
    }

    /// Asks about each run on at least `least` documents. Returns the answers, by the number of the run.
    fn ignored(
        &self,
        least: u32,
        mut ignores: impl FnMut(&Passage, &[Place]) -> bool,
    ) -> Result<Vec<bool>> {
        let mut ignored = vec![false; self.runs.runs.len()];
        for (run, ignored) in self.runs.runs.iter().zip(&mut ignored) {
            if run.documents >= least {
                self.stop.check()?;
                *ignored = ignores(run, &self.places(run)?);
            }
        }
        Ok(ignored)
    }

    /// Returns the number of counted words of each document.
    fn counted(&self, ignored: &[bool]) -> Result<Vec<u32>> {
        let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let documents = narrow(self.words.documents());
        let mut counted: Vec<u32> = (0..documents).map(|at| narrow(self.words_of(at))).collect();
        self.each_document::<Error>(|document, intervals| {
            let counts = Counts::of(self.words_of(document), intervals, ignored);
            if let (Some(words), Some(all)) = (counted.get_mut(document as usize), counts.0.last())
            {
                *words = *all;
            }
            Ok(())
        })?;
        Ok(counted)
    }
}

/// For each index in a document, the number of counted words before it.
struct Counts(Vec<u32>);

impl Counts {
    fn of(words: usize, intervals: &[Interval], ignored: &[bool]) -> Self {
        let mut before = Vec::with_capacity(words + 1);
        let (mut count, mut until) = (0, 0);
        let mut ranges = intervals
            .iter()
            .filter(|interval| ignored.get(interval.run) == Some(&true))
            .map(|interval| (interval.place.start as usize, interval.words as usize))
            .peekable();
        for at in 0..words {
            before.push(count);
            // Sorted by their starts.
            while let Some((start, words)) = ranges.next_if(|(start, _)| *start <= at) {
                until = until.max(start + words);
            }
            count += u32::from(at >= until);
        }
        before.push(count);
        Self(before)
    }

    /// Returns the number of counted words in runs.
    fn inside(&self, seeds: &Seeds) -> u32 {
        let mut ranges: Vec<(usize, usize)> =
            seeds.iter().map(|(start, _, words)| (*start, start + words)).collect();
        ranges.sort_unstable();
        let count = |at: usize| self.0.get(at).or(self.0.last()).copied().unwrap_or(0);
        let (mut end, mut inside) = (0, 0);
        for (from, to) in ranges {
            let from = from.max(end);
            if from < to {
                inside += count(to) - count(from);
                end = to;
            }
        }
        inside
    }
}

#[cfg(test)]
mod tests;
