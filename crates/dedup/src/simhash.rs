use crate::{Fingerprint, mix64};

/// The value of a bit whose tally is exactly zero. Publications differ, so it is part of the recipe.
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
/// Each bit of a feature's hash adds the feature's weight if it is 1, and subtracts it if it is 0. The sign of the
/// tally is the bit of the fingerprint. The order of features does not matter.
///
/// # Complexity
/// 64 additions per feature, no allocation.
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
    /// Returns an empty accumulator with [`TieRule::Zero`].
    pub const fn new() -> Self {
        Self::with_tie(TieRule::Zero)
    }

    /// Returns an empty accumulator with this rule for ties.
    pub const fn with_tie(tie: TieRule) -> Self {
        Self { tally: [0; 64], tie }
    }

    /// Adds one feature by its hash. Sums of weights are exact up to 2^63.
    pub fn add(&mut self, hash: u64, weight: u32) {
        let weight = i64::from(weight);
        for (bit, tally) in self.tally.iter_mut().enumerate() {
            let vote = if hash >> bit & 1 == 1 { weight } else { -weight };
            *tally = tally.wrapping_add(vote);
        }
    }

    /// Adds features with their weights, faster than [`add`](Self::add): it sums positive votes in 32 bits and
    /// derives the negative ones from the sum of all weights.
    ///
    /// # Complexity
    /// 64 additions per feature, vectorised.
    pub fn add_weighted(&mut self, features: impl IntoIterator<Item = (u64, u32)>) {
        #[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
        const MASKS: [u32; 32] = {
            let mut masks = [0; 32];
            let mut bit = 0;
            while bit < 32 {
                masks[bit] = 1 << bit;
                bit += 1;
            }
            masks
        };
        let (mut votes, mut sum) = ([[0u32; 32]; 2], 0u32);
        for (hash, weight) in features {
            sum = sum.checked_add(weight).unwrap_or_else(|| {
                self.count(&mut votes, sum);
                weight
            });
            for (half, votes) in [hash as u32, (hash >> 32) as u32].into_iter().zip(&mut votes) {
                for (mask, votes) in MASKS.iter().zip(votes) {
                    *votes = votes.wrapping_add(if half & mask == *mask { weight } else { 0 });
                }
            }
        }
        self.count(&mut votes, sum);
    }

    /// Moves the votes for each bit, out of `sum`, to the tally.
    fn count(&mut self, votes: &mut [[u32; 32]; 2], sum: u32) {
        for (tally, votes) in self.tally.iter_mut().zip(votes.as_flattened_mut()) {
            let own = 2 * i64::from(std::mem::take(votes)) - i64::from(sum);
            *tally = tally.wrapping_add(own);
        }
    }

    /// Adds features of weight 1, faster than one by one: it counts votes in bit planes, 64 counters at a time.
    ///
    /// # Complexity
    /// About five word operations per feature.
    ///
    /// # References
    /// S. Harley, R. Seal: carry-save adders for counting bits (in H. Warren, *Hacker's Delight*, 5-1).
    pub fn add_all(&mut self, hashes: &[u64]) {
        for piece in hashes.chunks(MOST_PLANED) {
            let mut planes = Planes::default();
            let (eights, rest) = piece.as_chunks::<8>();
            eights.iter().for_each(|eight| planes.add_eight(eight));
            rest.iter().for_each(|&hash| planes.carry(0, hash));
            for (bit, tally) in self.tally.iter_mut().enumerate() {
                let set = planes.count(bit);
                *tally = tally.wrapping_add(2 * set - piece.len() as i64);
            }
        }
    }

    /// Adds one feature with the weight of its kind. Equal hashes of two kinds are two features.
    pub fn add_kind(&mut self, weights: &Weights, kind: FeatureKind, hash: u64) {
        self.add(kind.tag(hash), weights.of(kind));
    }

    /// Returns the fingerprint. Without features it is all zeroes, or all ones by the tie rule; do not compare such
    /// fingerprints.
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

/// The source of a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FeatureKind {
    /// A word or shingle of the text.
    Shingle,
    /// A word of the title.
    Title,
    /// A word of a heading.
    Heading,
    /// An embedded image, by its address or content.
    Image,
    /// An enumerated value, such as a category or a language.
    Value,
}

impl FeatureKind {
    /// Returns the hash of a feature of this kind. Text features keep their hashes, so a fingerprint of text alone is
    /// the same with and without kinds. The constants are part of every recipe that uses kinds.
    const fn tag(self, hash: u64) -> u64 {
        match self {
            Self::Shingle => hash,
            Self::Title => mix64(hash ^ 0x7469_746c_6500_0001),
            Self::Heading => mix64(hash ^ 0x6865_6164_0000_0001),
            Self::Image => mix64(hash ^ 0x696d_6167_6500_0001),
            Self::Value => mix64(hash ^ 0x7661_6c75_6500_0001),
        }
    }
}

/// The weight of each kind of feature: part of a recipe. In a file, a missing kind has its default, and an unknown
/// name is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Weights {
    /// Weight of a word or shingle of the text. Default 1.
    pub shingle: u32,
    /// Weight of a word of the title. Default 1.
    pub title: u32,
    /// Weight of a word of a heading. Default 1.
    pub heading: u32,
    /// Weight of an embedded image. Default 1.
    pub image: u32,
    /// Weight of an enumerated value. Default 1.
    pub value: u32,
}

impl Default for Weights {
    fn default() -> Self {
        Self { shingle: 1, title: 1, heading: 1, image: 1, value: 1 }
    }
}

impl Weights {
    /// Returns the weight of a kind.
    pub const fn of(&self, kind: FeatureKind) -> u32 {
        match kind {
            FeatureKind::Shingle => self.shingle,
            FeatureKind::Title => self.title,
            FeatureKind::Heading => self.heading,
            FeatureKind::Image => self.image,
            FeatureKind::Value => self.value,
        }
    }
}

const PLANES: usize = 16;
/// The most features that the planes count without overflow.
const MOST_PLANED: usize = (1 << PLANES) - 1;

/// 64 counters in bit planes: plane `p` holds bit `p` of each counter.
#[derive(Default)]
struct Planes([u64; PLANES]);

impl Planes {
    /// Adds `2^from` to each counter whose bit is set.
    #[inline(always)]
    fn carry(&mut self, from: usize, bits: u64) {
        let mut carry = bits;
        for plane in self.0.iter_mut().skip(from) {
            (*plane, carry) = (*plane ^ carry, *plane & carry);
            if carry == 0 {
                return;
            }
        }
    }

    /// Adds eight features with seven full adders over the three lowest planes and one carry.
    #[inline(always)]
    fn add_eight(&mut self, &[a, b, c, d, e, f, g, h]: &[u64; 8]) {
        let [ones, twos, fours, ..] = self.0;
        let (ones, t0) = add(ones, a, b);
        let (ones, t1) = add(ones, c, d);
        let (twos, f0) = add(twos, t0, t1);
        let (ones, t0) = add(ones, e, f);
        let (ones, t1) = add(ones, g, h);
        let (twos, f1) = add(twos, t0, t1);
        let (fours, eights) = add(fours, f0, f1);
        let [o, t, fo, ..] = &mut self.0;
        (*o, *t, *fo) = (ones, twos, fours);
        self.carry(3, eights);
    }

    fn count(&self, bit: usize) -> i64 {
        let planes = self.0.iter().enumerate();
        planes.fold(0, |sum, (plane, bits)| sum | ((bits >> bit & 1) << plane) as i64)
    }
}

/// A full adder for 64 counters: sum and carry.
#[inline(always)]
const fn add(a: u64, b: u64, c: u64) -> (u64, u64) {
    let half = a ^ b;
    (half ^ c, a & b | half & c)
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

    #[test]
    fn kinds_have_their_own_features_and_weights() {
        let weights = Weights { title: 300, ..Weights::default() };
        let mut with_title = Simhash::new();
        with_title.add_kind(&weights, FeatureKind::Title, 5);
        (0..200).for_each(|i| with_title.add_kind(&weights, FeatureKind::Shingle, mix64(i)));
        let mut title = Simhash::new();
        title.add(FeatureKind::Title.tag(5), 1);
        // 300 outvotes 200 features, and weights above 255 do not overflow.
        assert_eq!(with_title.finish(), title.finish());
        assert_ne!(FeatureKind::Title.tag(5), FeatureKind::Heading.tag(5));
        let mut text = Simhash::new();
        text.add_kind(&weights, FeatureKind::Shingle, 77);
        assert_eq!(text.finish().bits(), 77);
    }

    /// Part of every recipe that uses kinds: these values must never change.
    #[test]
    fn golden_fingerprints_of_each_kind() {
        let weights = Weights { shingle: 2, title: 3, heading: 5, image: 7, value: 11 };
        let kinds = [
            (FeatureKind::Shingle, 2, "0123456789abcdef"),
            (FeatureKind::Title, 3, "be522264a81ef9b3"),
            (FeatureKind::Heading, 5, "b82eabc882053eae"),
            (FeatureKind::Image, 7, "07d35ac75f035fee"),
            (FeatureKind::Value, 11, "5b1cd7eebcb42dc3"),
        ];
        let mut mixed = Simhash::new();
        for (kind, weight, golden) in kinds {
            assert_eq!(weights.of(kind), weight, "{kind:?}");
            let mut one = Simhash::new();
            one.add_kind(&weights, kind, 0x0123_4567_89ab_cdef);
            assert_eq!(one.finish().to_string(), golden, "{kind:?}");
            (0..9).for_each(|i| mixed.add_kind(&weights, kind, mix64(i)));
        }
        assert_eq!(mixed.finish().to_string(), "902d042ff37dc12d");
    }

    #[test]
    fn counting_in_planes_does_not_overflow() {
        for length in [65_534, 65_535, 65_536, 131_073] {
            let mut fast = Simhash::new();
            fast.add_all(&vec![0xF0; length]);
            fast.add(0x0F, length as u32 - 1);
            assert_eq!(fast.finish().bits(), 0xF0);
        }
    }

    proptest! {
        #[test]
        fn counting_in_planes_equals_the_plain_loop(
            hashes in prop::collection::vec(any::<u64>(), 0..300), more in prop::collection::vec(any::<u64>(), 0..40),
        ) {
            let (mut fast, mut plain) = (Simhash::new(), Simhash::new());
            fast.add_all(&hashes);
            fast.add_all(&more);
            hashes.iter().chain(&more).for_each(|&hash| plain.add(hash, 1));
            prop_assert_eq!(fast.tally, plain.tally);
        }

        #[test]
        fn a_weight_equals_that_many_repetitions(hashes in prop::collection::vec((any::<u64>(), 1u32..600), 0..20)) {
            let mut weighted = Simhash::new();
            let mut repeated = Simhash::new();
            let mut at_once = Simhash::new();
            at_once.add_weighted(hashes.iter().copied());
            for &(hash, weight) in &hashes {
                weighted.add(hash, weight);
                (0..weight).for_each(|_| repeated.add(hash, 1));
            }
            prop_assert_eq!(&weighted.tally, &repeated.tally);
            prop_assert_eq!(weighted.tally, at_once.tally);
        }

        #[test]
        fn sums_beyond_32_bits_are_counted(hashes in prop::collection::vec((any::<u64>(), any::<u32>()), 0..20)) {
            let (mut one_by_one, mut at_once) = (Simhash::new(), Simhash::new());
            hashes.iter().for_each(|&(hash, weight)| one_by_one.add(hash, weight));
            at_once.add_weighted(hashes);
            prop_assert_eq!(one_by_one.tally, at_once.tally);
        }
    }
}
