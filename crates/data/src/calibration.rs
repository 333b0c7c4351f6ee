//! Calibration: suggests a distance and a similarity for a set of pages.
//!
//! Pairs whose full shingle sets have a Jaccard similarity of at least .5 are alike. So the truth is independent of
//! fingerprints and sketches, which are calibrated.

use std::collections::HashSet;

use hapax_dedup::{Fingerprint, MAX_DISTANCE, Policy, Sketch};
use hapax_page::Evidence;

/// Jaccard similarity of the shingles from which on two pages are alike.
pub const ALIKE: f64 = 0.5;
/// Rows of a histogram of distances; the last one has all distances above.
const ROWS: usize = 33;
/// Steps of a histogram of similarities, a twentieth each.
pub const CALIBRATION_STEPS: usize = 20;
/// Alike pairs that are required for a suggestion.
const FEWEST: u64 = 30;

/// The features of a page that are compared.
#[derive(Clone, Debug)]
pub struct CalibrationPage {
    fingerprint: Fingerprint,
    sketch: Sketch,
    shingles: HashSet<u64>,
}

impl CalibrationPage {
    /// Returns `None` for a page without text, and for a thin page.
    pub fn of(evidence: &Evidence) -> Option<Self> {
        let sketch = evidence.sketch.filter(|_| !evidence.comparison_text.thin)?;
        let shingles = evidence.comparison_text.features.shingles.iter().copied().collect();
        Some(Self { fingerprint: evidence.fingerprint, sketch, shingles })
    }
}

/// Pairs of pages by distance and similarity.
#[derive(Clone, Debug, Default)]
pub struct Calibration {
    /// Number of pages.
    pub pages: usize,
    /// Alike pairs by distance; the last row holds all above.
    pub alike: Vec<u64>,
    /// The other pairs by distance.
    pub other: Vec<u64>,
    /// Alike pairs by estimated similarity, in steps of a twentieth.
    pub alike_by_similarity: Vec<u64>,
    /// The other pairs by estimated similarity.
    pub other_by_similarity: Vec<u64>,
    /// Alike pairs that share a band.
    pub by_band: u64,
    /// Alike pairs that share a band or are within each distance.
    pub by_either: Vec<u64>,
}

fn jaccard(a: &HashSet<u64>, b: &HashSet<u64>) -> f64 {
    let (small, large) = if a.len() < b.len() { (a, b) } else { (b, a) };
    // The sizes alone rule out the similarity.
    if (small.len() as f64) < ALIKE * large.len() as f64 {
        return 0.0;
    }
    let shared = small.iter().filter(|shingle| large.contains(shingle)).count();
    shared as f64 / (a.len() + b.len() - shared).max(1) as f64
}

fn count(list: &mut [u64], at: usize) {
    if let Some(slot) = list.get_mut(at) {
        *slot += 1;
    }
}

impl Calibration {
    /// Compares all pairs of pages.
    ///
    /// # Complexity
    /// Quadratic in the pages. Shingle sets are intersected only for pairs with similar sketches or fingerprints.
    pub fn of(pages: &[CalibrationPage]) -> Self {
        let mut all = Self {
            pages: pages.len(),
            alike: vec![0; ROWS],
            other: vec![0; ROWS],
            alike_by_similarity: vec![0; CALIBRATION_STEPS + 1],
            other_by_similarity: vec![0; CALIBRATION_STEPS + 1],
            by_band: 0,
            by_either: vec![0; MAX_DISTANCE as usize + 1],
        };
        all.compare(pages);
        all
    }

    fn compare(&mut self, pages: &[CalibrationPage]) {
        for (at, a) in pages.iter().enumerate() {
            for b in pages.iter().skip(at + 1) {
                let distance = a.fingerprint.distance(b.fingerprint) as usize;
                let similarity = a.sketch.similarity(&b.sketch);
                let step = (similarity * CALIBRATION_STEPS as f64).floor() as usize;
                // The estimate's standard error is a sixteenth: below .2 the true value is below .5.
                let near = similarity >= 0.2 || distance <= MAX_DISTANCE as usize;
                if near && jaccard(&a.shingles, &b.shingles) >= ALIKE {
                    count(&mut self.alike, distance.min(ROWS - 1));
                    count(&mut self.alike_by_similarity, step);
                    let band = a.sketch.bands().iter().zip(b.sketch.bands()).any(|(a, b)| *a == b);
                    self.by_band += u64::from(band);
                    for (k, slot) in self.by_either.iter_mut().enumerate() {
                        *slot += u64::from(band || distance <= k);
                    }
                } else {
                    count(&mut self.other, distance.min(ROWS - 1));
                    count(&mut self.other_by_similarity, step);
                }
            }
        }
    }

    /// Returns the number of alike pairs, and of others.
    pub fn total(&self) -> (u64, u64) {
        (self.alike.iter().sum(), self.other.iter().sum())
    }

    /// Returns the number of pairs within a distance.
    pub fn within(list: &[u64], k: usize) -> u64 {
        list.iter().take(k + 1).sum()
    }

    /// Returns the share of alike pairs among the pairs within the distance: in the sample, and in a corpus of this
    /// size. There a page has as many copies as in the sample, and proportionally more other pages.
    pub fn precision(&self, k: usize, corpus: u64) -> (f64, f64) {
        let right = Self::within(&self.alike, k) as f64;
        let wrong = Self::within(&self.other, k) as f64;
        let share = |wrong: f64| if right + wrong == 0.0 { 1.0 } else { right / (right + wrong) };
        let growth = corpus.saturating_sub(1) as f64 / (self.pages.max(2) - 1) as f64;
        (share(wrong), share(wrong * growth))
    }

    /// Returns the share `found` of all alike pairs.
    pub fn recall(&self, found: u64) -> f64 {
        let (alike, _) = self.total();
        if alike == 0 { 1.0 } else { found as f64 / alike as f64 }
    }

    /// Returns the largest distance at which 99 % of the fingerprint's pairs in the corpus are alike; `None` if there is
    /// none up to `MAX_DISTANCE`.
    pub fn distance(&self, corpus: u64) -> Option<usize> {
        (0..=MAX_DISTANCE as usize).rev().find(|k| self.precision(*k, corpus).1 >= 0.99)
    }

    /// Returns the similarity that classifies most pairs of the sample correctly.
    pub fn similarity(&self) -> f64 {
        let errors = |step: usize| {
            let missed: u64 = self.alike_by_similarity.iter().take(step).sum();
            let wrong: u64 = self.other_by_similarity.iter().skip(step).sum();
            missed + wrong
        };
        let least = (4..CALIBRATION_STEPS).map(errors).min().unwrap_or(0);
        // The middle of the best steps, in the gap between the two classes.
        let best: Vec<usize> =
            (4..CALIBRATION_STEPS).filter(|step| errors(*step) == least).collect();
        best.get(best.len() / 2)
            .map_or(Policy::default().similarity, |step| *step as f64 / CALIBRATION_STEPS as f64)
    }

    /// Returns whether there are enough alike pairs to advise by.
    pub fn is_enough(&self) -> bool {
        self.total().0 >= FEWEST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(range: std::ops::Range<u64>, bits: u64) -> CalibrationPage {
        let shingles: HashSet<u64> = range.map(hapax_dedup::mix64).collect();
        let sketch = Sketch::from_hashes(shingles.iter().copied()).unwrap();
        CalibrationPage { fingerprint: Fingerprint::from_bits(bits), sketch, shingles }
    }

    #[test]
    fn recall_precision_and_advice_are_those_of_the_pairs() {
        // Two alike at distance 2, two alike at 5, all others distant.
        let mut pages = vec![
            page(0..100, 0),
            page(5..105, 0b11),
            page(1000..1100, u64::MAX),
            page(1005..1105, u64::MAX ^ 0b11111),
        ];
        let measured = Calibration::of(&pages);
        assert_eq!(measured.total(), (2, 4));
        let recall = |k| measured.recall(Calibration::within(&measured.alike, k));
        assert_eq!([recall(1), recall(2), recall(5)], [0.0, 0.5, 1.0]);
        assert_eq!(measured.distance(4), Some(7));
        // Another page with a different text and a fingerprint at distance 4.
        pages.push(page(5000..5100, 0b1111));
        let measured = Calibration::of(&pages);
        assert_eq!(measured.precision(4, 5), (1.0 / 3.0, 1.0 / 3.0));
        assert!(measured.precision(4, 500).1 < 0.01);
        assert_eq!(measured.distance(5), Some(1), "at 2 the new page is as near as the copy");
        assert!((0.3..0.9).contains(&measured.similarity()));
    }
}
