use crate::Fingerprint;

/// What a bit becomes when its tally is exactly zero. The publications differ, so it belongs to the
/// recipe of a fingerprint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TieRule {
    /// Zero stays 0 (`sum > 0` sets the bit), as in Charikar's random hyperplanes and simhash-cpp.
    #[default]
    Zero,
    /// Zero becomes 1 (`sum >= 0` sets the bit), as in several implementations for Chinese.
    One,
}

/// Accumulates weighted, hashed features into a [`Fingerprint`].
///
/// Each bit of a feature's hash votes with the feature's weight: for, if it is 1, against, if 0.
/// The sign of the tally is the bit of the fingerprint. The order of features does not matter.
///
/// # Complexity
/// 64 additions a feature, no allocation.
///
/// # References
/// M. Charikar, *Similarity estimation techniques from rounding algorithms*, STOC 2002;
/// G. Manku, A. Jain, A. Das Sarma, *Detecting near-duplicates for web crawling*, WWW 2007, section 2.
///
/// ```
/// use hapax_dedup::{FeatureHash, Simhash};
/// let hash = FeatureHash::default();
/// let mut simhash = Simhash::new();
/// for word in "the quick brown fox".split(' ') {
///     simhash.add(hash.hash(word.as_bytes()), 1);
/// }
/// let fingerprint = simhash.finish();
/// assert_eq!(fingerprint.distance(fingerprint), 0);
/// ```
#[derive(Clone, Debug)]
pub struct Simhash {
    tally: [i64; 64],
    tie: TieRule,
}

impl Default for Simhash {
    fn default() -> Self {
        Self::new()
    }
}

impl Simhash {
    /// An empty accumulator with [`TieRule::Zero`].
    pub const fn new() -> Self {
        Self::with_tie(TieRule::Zero)
    }

    /// An empty accumulator with this rule for ties.
    pub const fn with_tie(tie: TieRule) -> Self {
        Self { tally: [0; 64], tie }
    }

    /// Adds one feature by its hash. Weights are exact up to a sum of 2^63.
    pub fn add(&mut self, hash: u64, weight: u32) {
        let weight = i64::from(weight);
        for (bit, tally) in self.tally.iter_mut().enumerate() {
            // +weight for a set bit, -weight for a clear one, without a branch.
            let sign = ((hash >> bit) & 1) as i64 * 2 - 1;
            *tally = tally.saturating_add(sign * weight);
        }
    }

    /// The fingerprint of what was added. Without features it is all zeroes (or all ones, by the
    /// tie rule); callers should not compare texts that have none.
    pub fn finish(&self) -> Fingerprint {
        let bits = self.tally.iter().enumerate().fold(0u64, |bits, (bit, &tally)| {
            let set = match self.tie {
                TieRule::Zero => tally > 0,
                TieRule::One => tally >= 0,
            };
            bits | (u64::from(set) << bit)
        });
        Fingerprint::from_bits(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(hashes: &[u64]) -> u64 {
        let mut simhash = Simhash::new();
        hashes.iter().for_each(|&hash| simhash.add(hash, 1));
        simhash.finish().bits()
    }

    #[test]
    fn published_cases_of_simhash_cpp_hold() {
        assert_eq!(of(&[]), 0);
        assert_eq!(of(&[0xDEAD_BEEF; 100]), 0xDEAD_BEEF);
        assert_eq!(of(&[0xDEAD_BEEF, !0xDEAD_BEEF]), 0);
        assert_eq!(of(&[0xABCD, 0xBCDE, 0xCDEF]), 0xADCF);
    }

    #[test]
    fn the_tie_rule_decides_ties_only() {
        let mut one = Simhash::with_tie(TieRule::One);
        assert_eq!(one.finish().bits(), u64::MAX);
        one.add(5, 1);
        assert_eq!(one.finish().bits(), 5);
    }

    proptest! {
        #[test]
        fn a_weight_equals_that_many_repetitions(hashes in prop::collection::vec((any::<u64>(), 1u32..600), 0..20)) {
            let mut weighted = Simhash::new();
            let mut repeated = Simhash::new();
            for &(hash, weight) in &hashes {
                weighted.add(hash, weight);
                (0..weight).for_each(|_| repeated.add(hash, 1));
            }
            prop_assert_eq!(weighted.finish(), repeated.finish());
        }
    }
}
