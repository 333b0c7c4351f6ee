//! Pairs of documents: nearly equal runs, and documents that are contained in others.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::found::Found;
use crate::lcs::common_words;
use crate::near::{NearRun, near_runs};
use crate::nested::Interval;
use crate::parts::PARTS;
use crate::types::{Contained, NearPair, Place, Shared};

/// Share of the words of a contained document.
const CONTAINED: f64 = 0.9;
/// Minimum share of the words of a contained document that are in common runs.
const COVERED: f64 = 0.3;
/// Documents with more words are not compared as a whole: O(n m).
const MAX_COMPARED_WORDS: usize = 64 << 10;
/// Runs of a document that propose other documents; further ones are ignored.
const MAX_INTERVALS: usize = 4096;
/// A nearly equal run whose longest equal run has a larger share is reported as a passage only.
const MOSTLY_EQUAL: f64 = 0.8;

/// Common runs with another document: start in both, and length.
pub(crate) type Seeds = Vec<(usize, usize, usize)>;

impl Found {
    /// Calls `each` with each near pair and each contained document, in the order of documents: near pairs by their
    /// first document, a contained document with the other document that contains most of it.
    ///
    /// A pair is found if it has an exact run of `seed_words` that occurs on at most `max_documents_of_a_seed` documents.
    /// Each document is compared with at most `max_partners` later ones, and as a part with as many longer ones.
    ///
    /// # Errors
    /// From the temporary files, and the first of `each`.
    ///
    /// # Complexity
    /// O(n m / 64) for each pair of documents that is compared as a whole.
    pub fn pairs<E: From<Error>>(
        &self,
        mut each: impl FnMut(Shared) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        self.each_document(|document, intervals| {
            let partners = self.partners(document, intervals)?;
            if partners.is_empty() {
                return Ok(());
            }
            let words = self.words.all(document)?;
            for near in self.near(document, &words, &partners)? {
                each(Shared::Near(near))?;
            }
            if let Some(part) = self.container(document, &words, &partners)? {
                each(Shared::Part(part))?;
            }
            Ok(())
        })
    }

    /// Calls `each` with each document that has a run, and all its runs in the order of their starts.
    pub(crate) fn each_document<E: From<Error>>(
        &self,
        mut each: impl FnMut(u32, &[Interval]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        for part in 0..PARTS {
            self.stop.check()?;
            let sorted = self.runs.by_document.sorted(part)?;
            for pairs in sorted.chunk_by(|a, b| a[0] >> 32 == b[0] >> 32) {
                let intervals: Vec<Interval> = pairs.iter().copied().map(Interval::of).collect();
                if let Some(first) = intervals.first() {
                    each(first.place.document, &intervals)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the documents with a common run, and these runs.
    pub(crate) fn partners(
        &self,
        document: u32,
        intervals: &[Interval],
    ) -> Result<BTreeMap<u32, Seeds>> {
        let mut partners: BTreeMap<u32, Seeds> = BTreeMap::new();
        for interval in intervals.iter().take(MAX_INTERVALS) {
            let Some(run) = self.runs.runs.get(interval.run) else { continue };
            if run.documents as usize > self.options.max_documents_of_a_seed {
                continue;
            }
            for place in self.places(run)?.iter().filter(|place| place.document != document) {
                let seed =
                    (interval.place.start as usize, place.start as usize, interval.words as usize);
                partners.entry(place.document).or_default().push(seed);
            }
        }
        Ok(partners)
    }

    /// Returns the first of the partners, by the number of covered words.
    fn best<'p>(
        &self,
        partners: impl Iterator<Item = (&'p u32, &'p Seeds)>,
        least: usize,
    ) -> Vec<(u32, &'p Seeds)> {
        let mut best: Vec<_> = partners
            .map(|(partner, seeds)| (Reverse(covered(seeds)), *partner, seeds))
            .filter(|(Reverse(words), ..)| *words >= least)
            .collect();
        best.sort_unstable_by_key(|(words, partner, _)| (*words, *partner));
        best.truncate(self.options.max_partners);
        best.into_iter().map(|(_, partner, seeds)| (partner, seeds)).collect()
    }

    fn near(
        &self,
        document: u32,
        words: &[u64],
        partners: &BTreeMap<u32, Seeds>,
    ) -> Result<Vec<NearPair>> {
        let mut found = Vec::new();
        let later = partners.range(document..);
        for (partner, seeds) in self.best(later, self.options.seed_words) {
            let runs = near_runs(words, &self.words.all(partner)?, seeds);
            let wanted = |run: &&NearRun| {
                run.words() >= self.options.min_words
                    && (run.longest as f64) < MOSTLY_EQUAL * run.words() as f64
            };
            for run in runs.iter().filter(wanted) {
                let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
                let side = |document, (start, words): (usize, usize)| {
                    (Place { document, start: narrow(start) }, narrow(words))
                };
                found.push(NearPair {
                    first: side(document, run.first),
                    second: side(partner, run.second),
                    equal: narrow(run.equal),
                });
            }
        }
        found.sort_by_key(|pair| (pair.first, pair.second));
        Ok(found)
    }

    fn container(
        &self,
        document: u32,
        words: &[u64],
        partners: &BTreeMap<u32, Seeds>,
    ) -> Result<Option<Contained>> {
        if words.len() > MAX_COMPARED_WORDS {
            return Ok(None);
        }
        let count = words.len();
        // Of two equal documents the later one is the part.
        let larger = partners.iter().filter(|(partner, _)| {
            let other = self.words.count(**partner);
            other <= MAX_COMPARED_WORDS && (other, document) > (count, **partner)
        });
        let least = (COVERED * count as f64).ceil() as usize;
        let mut best: Option<Contained> = None;
        for (whole, _) in self.best(larger, least) {
            let common = common_words(words, &self.words.all(whole)?);
            let share = common as f64 / count as f64;
            if share >= CONTAINED && best.is_none_or(|best| share > best.share) {
                best = Some(Contained { part: document, whole, share });
            }
        }
        Ok(best)
    }
}

/// Returns the number of words of the first document that are in a seed.
fn covered(seeds: &Seeds) -> usize {
    let mut ranges: Vec<(usize, usize)> =
        seeds.iter().map(|(start, _, words)| (*start, start + words)).collect();
    ranges.sort_unstable();
    let (mut end, mut words) = (0, 0);
    for (from, to) in ranges {
        words += to.saturating_sub(from.max(end));
        end = end.max(to);
    }
    words
}
