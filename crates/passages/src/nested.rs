//! Which runs are reported: a run that is only a little longer than a more frequent run inside it is omitted.

use crate::error::Result;
use crate::options::Options;
use crate::parts::{PARTS, Pair};
use crate::runs::Runs;
use crate::types::Place;

/// Maximum number of runs of a document that are compared with each other; further ones are reported.
const MAX_COMPARED: usize = 4096;

/// A run on one document.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interval {
    pub(crate) place: Place,
    pub(crate) words: u32,
    pub(crate) run: usize,
}

impl Interval {
    pub(crate) fn of(pair: Pair) -> Self {
        let Place { document: words, start: run } = Place::unpacked(pair[1]);
        Self { place: Place::unpacked(pair[0]), words, run: run as usize }
    }

    const fn end(&self) -> u32 {
        self.place.start + self.words
    }

    const fn is_inside(&self, other: &Self) -> bool {
        other.place.start <= self.place.start && self.end() <= other.end()
    }
}

/// Returns the numbers of the reported runs, in order.
///
/// The runs inside a run are the same in each of its places. So its first document decides.
pub(crate) fn reported(runs: &Runs, options: &Options) -> Result<Vec<usize>> {
    let (mut bytes, mut first) = (Vec::new(), Vec::new());
    let mut reported = Vec::new();
    for part in 0..PARTS {
        let sorted = runs.by_document.sorted(part)?;
        for document in sorted.chunk_by(|a, b| a[0] >> 32 == b[0] >> 32) {
            let mut intervals: Vec<Interval> = document.iter().copied().map(Interval::of).collect();
            intervals.retain(|interval| interval.words as usize >= options.min_words);
            let of_document = kept(intervals, options.gain);
            for interval in of_document {
                let Some(run) = runs.runs.get(interval.run) else { continue };
                first.clear();
                runs.places.read(run.at, 1, &mut bytes, &mut first)?;
                if first == [interval.place.packed()] {
                    reported.push(interval.run);
                }
            }
        }
    }
    reported.sort_unstable();
    reported.dedup();
    Ok(reported)
}

/// Returns the intervals of a document without those that gain little on one inside them.
fn kept(mut intervals: Vec<Interval>, gain: usize) -> Vec<Interval> {
    intervals.sort_by_key(|interval| (interval.words, interval.place, interval.run));
    let mut kept: Vec<Interval> = Vec::new();
    for interval in intervals {
        let little_longer = |inner: &Interval| {
            inner.run != interval.run
                && ((interval.words - inner.words) as usize) < gain
                && inner.is_inside(&interval)
        };
        // The kept ones are sorted by length: only those of nearly its length matter.
        let from =
            kept.partition_point(|inner| inner.words as usize + gain <= interval.words as usize);
        let near = kept.get(from..).unwrap_or_default();
        if !near.iter().rev().take(MAX_COMPARED).any(little_longer) {
            kept.push(interval);
        }
    }
    kept
}
