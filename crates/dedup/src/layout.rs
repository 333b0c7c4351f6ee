use crate::Fingerprint;

/// How 64 bits are cut into blocks, and which combinations of blocks lead a table.
///
/// By the pigeonhole principle, two fingerprints within distance `k` agree in at least
/// `blocks - k` of the blocks. One table for each choice of `blocks - k` blocks therefore finds
/// every near-duplicate among the entries that agree in the table's lead.
///
/// # References
/// Manku, Jain, Das Sarma, WWW 2007, section 3.1 and table 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    blocks: u32,
    distance: u32,
    masks: Vec<u64>,
}

/// The largest distance a layout can be made for.
pub const MAX_DISTANCE: u32 = 7;

impl Layout {
    /// The layout with `blocks` blocks that is complete up to `distance`; `None` unless
    /// `distance <= 7` and `distance < blocks <= 16`.
    ///
    /// It has C(blocks, distance) tables: `new(4, 3)` is the 4 tables of 16 bits, `new(5, 3)` the
    /// 10 of about 25, `new(6, 3)` the 20 of 31 to 33.
    pub fn new(blocks: u32, distance: u32) -> Option<Self> {
        if distance > MAX_DISTANCE || distance >= blocks || blocks > 16 {
            return None;
        }
        let bounds = |block: u32| block * 64 / blocks;
        let block_mask = |block: u32| {
            (bounds(block)..bounds(block + 1)).fold(0u64, |mask, bit| mask | 1u64 << bit)
        };
        let masks = (0u32..1 << blocks)
            .filter(|choice| choice.count_ones() == blocks - distance)
            .map(|choice| {
                (0..blocks)
                    .filter(|block| choice >> block & 1 == 1)
                    .fold(0u64, |mask, block| mask | block_mask(block))
            })
            .collect();
        Some(Self { blocks, distance, masks })
    }

    /// The layout used when nothing else is known: `distance + 1` blocks, so one block a table.
    pub fn for_distance(distance: u32) -> Option<Self> {
        Self::new(distance + 1, distance)
    }

    /// Up to which Hamming distance nothing is missed.
    pub const fn distance(&self) -> u32 {
        self.distance
    }

    /// How many blocks the 64 bits are cut into.
    pub const fn blocks(&self) -> u32 {
        self.blocks
    }

    /// One mask a table: the bits that lead it.
    pub fn masks(&self) -> &[u64] {
        &self.masks
    }

    /// The first table whose lead two fingerprints share: the one that reports the pair, so that
    /// nothing is reported twice and no set is needed to see to it.
    pub fn first_table(&self, a: Fingerprint, b: Fingerprint) -> Option<usize> {
        let differing = a.bits() ^ b.bits();
        self.masks.iter().position(|mask| differing & mask == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_published_designs_have_their_table_counts() {
        for (blocks, distance, tables) in
            [(4, 3, 4), (5, 3, 10), (6, 3, 20), (7, 3, 35), (8, 6, 28), (1, 0, 1)]
        {
            assert_eq!(Layout::new(blocks, distance).unwrap().masks().len(), tables);
        }
        let leads: Vec<u32> =
            Layout::new(6, 3).unwrap().masks().iter().map(|m| m.count_ones()).collect();
        assert!(leads.iter().all(|bits| (31..=33).contains(bits)), "{leads:?}");
    }

    #[test]
    fn impossible_layouts_are_refused() {
        assert!(Layout::new(3, 3).is_none());
        assert!(Layout::new(9, 8).is_none());
        assert!(Layout::new(17, 3).is_none());
    }

    proptest! {
        #[test]
        fn every_pair_within_the_distance_shares_a_lead(
            bits: u64, flips in prop::collection::vec(0u32..64, 0..7), extra in 1u32..4
        ) {
            let other = flips.iter().fold(bits, |b, flip| b ^ 1u64 << flip);
            let (a, b) = (Fingerprint::from_bits(bits), Fingerprint::from_bits(other));
            for distance in a.distance(b)..=MAX_DISTANCE {
                let layout = Layout::new(distance + extra, distance).unwrap();
                prop_assert!(layout.first_table(a, b).is_some());
            }
        }
    }
}
