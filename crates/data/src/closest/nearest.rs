//! The nearest neighbour of each page by its sketch.

use hapax_dedup::{BANDS, Sketch};

/// Pages of one band with which a page is compared, the next ones by number. A template fills a band with many pages.
const MAX_COMPARED: usize = 64;

/// The most similar other page of each page.
#[derive(Debug, Default)]
pub(super) struct Nearest {
    /// Index of the other page, and the similarity.
    pub(super) of: Vec<Option<(u32, f64)>>,
    /// Bands with more pages than a page is compared with: a closer page may be missing.
    pub(super) large_bands: u64,
}

/// Finds the nearest pages among those that share a band of the sketch. Of equally similar pages the first one counts.
///
/// # Complexity
/// For n pages and each of the 16 bands O(n log n), and at most 64 n comparisons; 16 bytes of memory for a page.
pub(super) fn nearest(sketches: &[Option<Sketch>]) -> Nearest {
    let mut nearest = Nearest { of: vec![None; sketches.len()], large_bands: 0 };
    for band in 0..BANDS {
        let mut keys: Vec<(u64, u32)> = Vec::new();
        for (page, sketch) in (0u32..).zip(sketches) {
            let key = sketch.as_ref().and_then(|sketch| sketch.bands().get(band).copied());
            keys.extend(key.map(|key| (key, page)));
        }
        keys.sort_unstable();
        for equal in keys.chunk_by(|a, b| a.0 == b.0) {
            nearest.large_bands += u64::from(equal.len() > MAX_COMPARED + 1);
            for (at, (_, page)) in equal.iter().enumerate() {
                for (_, other) in equal.iter().skip(at + 1).take(MAX_COMPARED) {
                    nearest.compare(sketches, *page, *other);
                }
            }
        }
    }
    nearest
}

impl Nearest {
    /// Returns the similarity of a page to its nearest one, or -1 without one.
    pub(super) fn similarity(&self, page: u32) -> f64 {
        self.of.get(page as usize).copied().flatten().map_or(-1.0, |(_, similarity)| similarity)
    }

    fn compare(&mut self, sketches: &[Option<Sketch>], page: u32, other: u32) {
        let sketch = |page: u32| sketches.get(page as usize).and_then(Option::as_ref);
        let (Some(one), Some(two)) = (sketch(page), sketch(other)) else { return };
        let similarity = one.similarity(two);
        for (page, other) in [(page, other), (other, page)] {
            let Some(best) = self.of.get_mut(page as usize) else { continue };
            if best.is_none_or(|(before, most)| {
                similarity > most || (similarity >= most && other < before)
            }) {
                *best = Some((other, similarity));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_nearest_page_is_that_of_all_pairs_with_a_common_band(
            texts in prop::collection::vec(prop::option::of(prop::collection::vec(0u64..40, 1..40)), 0..40),
        ) {
            let sketches: Vec<Option<Sketch>> = texts
                .iter()
                .map(|text| Sketch::from_hashes(text.as_ref()?.iter().map(|word| word.wrapping_mul(0x9e37_79b9_7f4a_7c15))))
                .collect();
            let found = nearest(&sketches);
            for (page, sketch) in sketches.iter().enumerate() {
                let mut best: Option<(u32, f64)> = None;
                for (other, of_other) in sketches.iter().enumerate() {
                    let (Some(one), Some(two)) = (sketch, of_other) else { continue };
                    let common = one.bands().iter().zip(two.bands()).any(|(a, b)| *a == b);
                    let similarity = one.similarity(two);
                    if page != other && common && best.is_none_or(|(_, most)| similarity > most) {
                        best = Some((other as u32, similarity));
                    }
                }
                prop_assert_eq!(found.of[page], best);
            }
            prop_assert_eq!(found.large_bands, 0);
        }
    }

    #[test]
    fn a_band_of_many_pages_is_compared_within_its_limit() {
        let sketches = vec![Sketch::from_hashes([1, 2, 3]); 1000];
        let found = nearest(&sketches);
        assert_eq!(found.large_bands, BANDS as u64);
        assert_eq!(found.of[5], Some((0, 1.0)));
        assert!(found.of.iter().all(Option::is_some));
    }
}
