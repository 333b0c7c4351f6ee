use crate::Simd;
use crate::hash::mix64;
use crate::tables::simd::{Kernel, Scan};

/// The number of min-hashes in a sketch.
pub const SKETCH_SIZE: usize = 64;
/// The number of bands of a sketch, for candidate look-ups.
pub const BANDS: usize = 16;
const ROWS: usize = SKETCH_SIZE / BANDS;

/// 64 min-hashes of 8 bits over a set of shingles. It estimates the Jaccard similarity of two texts with a standard
/// error of at most 1/16. A min-hash is a sample: two texts have the same one as often as their sets agree.
///
/// A band is a group of four min-hashes. Texts that have one of the 16 bands in common are candidates: a pair of similarity .6 shares a band with probability .89, a pair of .5
/// with .64.
///
/// # References
/// A. Broder, *On the resemblance and containment of documents*, 1997;
/// P. Li, C. König, *b-Bit minwise hashing*, WWW 2010.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sketch([u8; SKETCH_SIZE]);

impl Sketch {
    /// Returns the sketch of a set of shingle hashes, or `None` for an empty set. Repetitions do not count.
    ///
    /// # Complexity
    /// 64 multiplications per shingle.
    pub fn from_hashes(shingles: impl IntoIterator<Item = u64>) -> Option<Self> {
        let shingles: Vec<u64> = shingles.into_iter().collect();
        if shingles.is_empty() {
            return None;
        }
        let minima = Simd::detect().run(Minima(&shingles));
        let mut sketch = [0; SKETCH_SIZE];
        for (byte, minimum) in sketch.iter_mut().zip(minima) {
            *byte = (mix64(minimum) & 0xff) as u8;
        }
        Some(Self(sketch))
    }

    /// Returns the sketch with these bytes.
    pub const fn from_bytes(bytes: [u8; SKETCH_SIZE]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes as stored.
    pub const fn as_bytes(&self) -> &[u8; SKETCH_SIZE] {
        &self.0
    }

    /// Returns the estimated Jaccard similarity in 0.0..=1.0, corrected for chance agreement of 8-bit values.
    pub fn similarity(&self, other: &Self) -> f64 {
        let equal = self.0.iter().zip(&other.0).filter(|(a, b)| a == b).count();
        let share = equal as f64 / SKETCH_SIZE as f64;
        ((share - 1.0 / 256.0) / (1.0 - 1.0 / 256.0)).max(0.0)
    }

    /// Returns one key per band: two sketches that share a key agree in four min-hashes.
    pub fn bands(&self) -> [u64; BANDS] {
        let mut keys = [0; BANDS];
        for (band, (key, rows)) in keys.iter_mut().zip(self.0.chunks_exact(ROWS)).enumerate() {
            let rows = rows.iter().fold(0u64, |key, &row| key << 8 | u64::from(row));
            *key = (band as u64) << 32 | rows;
        }
        keys
    }
}

/// Computes the minimum of each permutation over a set; compiled for each instruction set.
struct Minima<'a>(&'a [u64]);

impl Kernel for Minima<'_> {
    type Output = [u64; SKETCH_SIZE];

    #[inline(always)]
    fn run<S: Scan>(self, _: S) -> Self::Output {
        let mut minima = [u64::MAX; SKETCH_SIZE];
        for &shingle in self.0 {
            for (minimum, seed) in minima.iter_mut().zip(SEEDS) {
                // Each multiplication is a permutation of 2^64; the shingles' hashes are already mixed.
                *minimum = (*minimum).min((shingle ^ (seed >> 1)).wrapping_mul(seed));
            }
        }
        minima
    }
}

#[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
/// Odd multipliers from a splitmix64 sequence. Part of the format, because sketches are stored.
const SEEDS: [u64; SKETCH_SIZE] = {
    let mut seeds = [0; SKETCH_SIZE];
    let mut state = 0x4861_7061_7831_0001u64;
    let mut i = 0;
    while i < SKETCH_SIZE {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        seeds[i] = mix64(state) | 1;
        i += 1;
    }
    seeds
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minima_are_the_same_at_every_level() {
        let shingles: Vec<u64> = (0..300).map(mix64).collect();
        let plain = Simd::Portable.run(Minima(&shingles));
        for level in [Simd::Avx2, Simd::Avx512] {
            assert_eq!(level.run(Minima(&shingles)), plain);
        }
    }

    fn set(range: std::ops::Range<u64>) -> Sketch {
        Sketch::from_hashes(range.map(mix64)).unwrap()
    }

    #[test]
    fn similarity_estimates_jaccard() {
        let mut worst = 0f64;
        for seed in 0..40u64 {
            let base = seed * 10_000;
            // 600 shared of 1,000: Jaccard .6.
            let (a, b) = (set(base..base + 800), set(base + 200..base + 1000));
            worst = worst.max((a.similarity(&b) - 0.6).abs());
        }
        assert!(worst < 0.25, "worst error {worst}");
        assert!(set(0..500).similarity(&set(1000..1500)) < 0.1);
        assert_eq!(set(0..500).similarity(&set(0..500)), 1.0);
    }

    #[test]
    fn an_empty_set_has_no_sketch_and_repetitions_do_not_count() {
        assert_eq!(Sketch::from_hashes([]), None);
        assert_eq!(Sketch::from_hashes([7, 9, 7, 7]), Sketch::from_hashes([9, 7]));
    }

    #[test]
    fn golden_sketch_holds_for_ever() {
        let sketch = set(0..100);
        let sum: u64 = sketch.as_bytes().iter().zip(1u64..).map(|(&b, i)| u64::from(b) * i).sum();
        assert_eq!(sum, GOLDEN, "stored sketches would no longer compare");
    }
    const GOLDEN: u64 = 309_351;
}
