//! The published schemes, and those that go beyond them.

use super::{Layout, LayoutError, Lead, MAX_DISTANCE};

/// More blocks would make thousands of tables.
const MAX_BLOCKS: u32 = 16;
/// All choices of one level are fewer; those of two could be more than look-ups number.
const MOST_TABLES: usize = 1 << 14;

fn in_range(asked: u32, least: u32, most: u32) -> Result<(), LayoutError> {
    if (least..=most).contains(&asked) {
        Ok(())
    } else {
        Err(LayoutError::Blocks { asked, least, most })
    }
}

impl Layout {
    /// `blocks` blocks, one table for each choice of `blocks - distance` of them.
    ///
    /// `new(4, 3)` is the 4 tables of 16 bits, `new(5, 3)` the 10 of about 25, `new(6, 3)` the 20 of
    /// 31 to 33, `new(8, 6)` the 28 of 16.
    ///
    /// # Errors
    /// Unless `distance <= 7` and `distance < blocks <= 16`.
    pub fn new(blocks: u32, distance: u32) -> Result<Self, LayoutError> {
        in_range(blocks, distance + 1, MAX_BLOCKS)?;
        Self::from_blocks(&cut(u64::MAX, blocks), distance)
    }

    /// The layout used when nothing else is known: `distance + 1` blocks, so one block a table.
    ///
    /// # Errors
    /// A distance above 7.
    pub fn for_distance(distance: u32) -> Result<Self, LayoutError> {
        if distance > MAX_DISTANCE {
            return Err(LayoutError::Distance(distance));
        }
        Self::new(distance + 1, distance)
    }

    /// The layout for tables that [grow](crate::GrowingTables) beyond some 10^6: as
    /// [`for_distance`](Self::for_distance), but at distance 3 the [halves](Self::halves) of 6 x 21 bits,
    /// so that a look-up waits for one line of each table up to some 10^7.
    ///
    /// # Errors
    /// A distance above 7.
    pub fn for_growing(distance: u32) -> Result<Self, LayoutError> {
        if distance == 3 { Self::halves(3, 3) } else { Self::for_distance(distance) }
    }

    /// Blocks of one's own, as bit masks that sum to 64 bits: one table for each choice of all but
    /// `distance` of them. This is how permutations are written here: fingerprints are stored as
    /// they are and ordered by the bits of the mask.
    ///
    /// # Errors
    /// [`LayoutError::NotAPartition`], [`LayoutError::Blocks`], [`LayoutError::Distance`].
    pub fn from_blocks(blocks: &[u64], distance: u32) -> Result<Self, LayoutError> {
        if distance > MAX_DISTANCE {
            return Err(LayoutError::Distance(distance));
        }
        let count = u32::try_from(blocks.len()).unwrap_or(u32::MAX);
        in_range(count, distance + 1, MAX_BLOCKS)?;
        let all = blocks.iter().fold(0, |all, block| all | block);
        let bits: u32 = blocks.iter().map(|block| block.count_ones()).sum();
        if all != u64::MAX || bits != 64 || blocks.contains(&0) {
            return Err(LayoutError::NotAPartition);
        }
        let leads = choices(blocks, count - distance).map(|mask| Lead { mask, radius: 0 });
        Ok(Self { distance, leads: leads.collect() })
    }

    /// Two levels: `outer` blocks lead with all choices of `outer - distance`; for each, the bits
    /// left over are cut into `inner` blocks, of which `inner - distance` lead too.
    ///
    /// `two_level(4, 4, 3)` is the published 16 tables of 28 bits.
    ///
    /// # Errors
    /// As [`Layout::new`], for each of the two numbers; [`LayoutError::TooFine`] beyond some 2^14 tables.
    pub fn two_level(outer: u32, inner: u32, distance: u32) -> Result<Self, LayoutError> {
        let first = Self::new(outer, distance)?;
        let mut leads = Vec::new();
        for lead in first.leads {
            let rest = !lead.mask;
            in_range(inner, distance + 1, MAX_BLOCKS.min(rest.count_ones()))?;
            let blocks = cut(rest, inner);
            let inside = choices(&blocks, inner - distance);
            if leads.len() > MOST_TABLES {
                return Err(LayoutError::TooFine);
            }
            leads.extend(inside.map(|mask| Lead { mask: mask | lead.mask, radius: 0 }));
        }
        Ok(Self { distance, leads })
    }

    /// One half of 32 bits holds at most half of the errors: each half is cut into `parts`, and all
    /// choices of `parts - distance / 2` of them lead.
    ///
    /// `halves(3, 3)` is 6 tables of 21 bits, `halves(4, 3)` 8 of 24: fewer tables than blocks over
    /// all 64 bits need for leads of that length.
    ///
    /// # Errors
    /// Unless `distance / 2 < parts <= 16`.
    pub fn halves(parts: u32, distance: u32) -> Result<Self, LayoutError> {
        if distance > MAX_DISTANCE {
            return Err(LayoutError::Distance(distance));
        }
        in_range(parts, distance / 2 + 1, MAX_BLOCKS)?;
        let mut leads = Vec::new();
        for half in cut(u64::MAX, 2) {
            let blocks = cut(half, parts);
            let inside = choices(&blocks, parts - distance / 2);
            leads.extend(inside.map(|mask| Lead { mask, radius: 0 }));
        }
        Ok(Self { distance, leads })
    }

    /// One table a block, and the errors that the pigeonhole principle leaves are probed for: radii
    /// whose sum of `radius + 1` is `distance + 1`, spread evenly, the larger ones first.
    ///
    /// `probing(3, 3)` is 3 tables with 24 probes, `probing(2, 3)` 2 with 66, `probing(4, 6)` 4 with
    /// 52: the least memory of all.
    ///
    /// # Errors
    /// Unless `1 <= blocks <= distance + 1`.
    pub fn probing(blocks: u32, distance: u32) -> Result<Self, LayoutError> {
        if distance > MAX_DISTANCE {
            return Err(LayoutError::Distance(distance));
        }
        in_range(blocks, 1, distance + 1)?;
        let spare = distance + 1 - blocks;
        let (each, further) = (spare / blocks, spare % blocks);
        // The wider blocks come last in `cut`; the narrower ones take the larger radii.
        let leads = (0u32..)
            .zip(cut(u64::MAX, blocks))
            .map(|(index, mask)| Lead { mask, radius: each + u32::from(index < further) });
        Ok(Self { distance, leads: leads.collect() })
    }
}

/// The set bits of `bits`, cut into `count` runs of nearly the same number, narrower ones first.
pub(crate) fn cut(bits: u64, count: u32) -> Vec<u64> {
    let places: Vec<u32> = (0..64).filter(|place| bits >> place & 1 == 1).collect();
    let total = places.len();
    let count = count as usize;
    (0..count)
        .map(|block| {
            let run = places.get(block * total / count..(block + 1) * total / count);
            run.unwrap_or_default().iter().fold(0, |mask, place| mask | 1u64 << place)
        })
        .collect()
}

/// The unions of every choice of `pick` blocks.
fn choices(blocks: &[u64], pick: u32) -> impl Iterator<Item = u64> + '_ {
    (0u32..1 << blocks.len()).filter(move |choice| choice.count_ones() == pick).map(|choice| {
        let chosen = blocks.iter().enumerate().filter(|(block, _)| choice >> block & 1 == 1);
        chosen.fold(0, |mask, (_, block)| mask | block)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_level(distance: u32) -> Result<Layout, LayoutError> {
        // Without errors to place, the first level leaves nothing over.
        if distance == 0 {
            Layout::new(1, 0)
        } else {
            Layout::two_level(distance + 1, distance + 1, distance)
        }
    }

    use crate::Fingerprint;
    use proptest::prelude::*;

    #[test]
    fn the_published_designs_have_their_tables_leads_and_probes() {
        let bits = |layout: &Layout| {
            let all = layout.leads().iter().map(|lead| lead.bits());
            (all.clone().min().unwrap(), all.max().unwrap())
        };
        for (layout, tables, leads, probes) in [
            (Layout::new(4, 3), 4, (16, 16), 4),
            (Layout::new(5, 3), 10, (25, 26), 10),
            (Layout::new(6, 3), 20, (31, 33), 20),
            (Layout::two_level(4, 4, 3), 16, (28, 28), 16),
            (Layout::new(8, 6), 28, (16, 16), 28),
            (Layout::halves(3, 3), 6, (21, 22), 6),
            (Layout::halves(4, 3), 8, (24, 24), 8),
            (Layout::probing(3, 3), 3, (21, 22), 24),
            (Layout::probing(2, 3), 2, (32, 32), 66),
            (Layout::probing(4, 6), 4, (16, 16), 52),
            (Layout::new(1, 0), 1, (64, 64), 1),
        ] {
            let layout = layout.unwrap();
            assert_eq!(
                (layout.leads().len(), bits(&layout), layout.probes()),
                (tables, leads, probes)
            );
        }
    }

    #[test]
    fn every_scheme_passes_the_check_of_own_tables() {
        for distance in 0..=MAX_DISTANCE {
            let mut layouts =
                vec![Layout::new(distance + 1, distance), Layout::new(distance + 2, distance)];
            layouts.extend((1..=distance + 1).map(|blocks| Layout::probing(blocks, distance)));
            layouts.extend(
                (distance / 2 + 1..=distance / 2 + 3).map(|parts| Layout::halves(parts, distance)),
            );
            layouts.push(two_level(distance));
            for layout in layouts {
                let layout = layout.unwrap();
                if layout.leads().len() <= super::super::MAX_OWN_TABLES {
                    match Layout::from_leads(layout.leads().to_vec(), distance) {
                        Ok(same) => assert_eq!(same, layout),
                        Err(error) => assert_eq!(error, LayoutError::TooFine, "{layout}"),
                    }
                }
            }
        }
    }

    #[test]
    fn own_tables_that_miss_something_are_refused_with_an_example() {
        let three = Layout::new(4, 3).unwrap().leads()[..3].to_vec();
        let Err(LayoutError::Incomplete(bits)) = Layout::from_leads(three.clone(), 3) else {
            panic!()
        };
        assert_eq!(bits.count_ones(), 3);
        assert!(three.iter().all(|lead| lead.mask & bits != 0), "{bits:x}");
        assert_eq!(Layout::from_blocks(&[1, 2, !3], 2).unwrap().leads().len(), 3);
        assert_eq!(Layout::from_blocks(&[1, 3, !3], 2), Err(LayoutError::NotAPartition));
        assert_eq!(Layout::from_blocks(&[1, 2, !7], 2), Err(LayoutError::NotAPartition));
    }

    #[test]
    fn impossible_layouts_are_refused() {
        for layout in [Layout::new(3, 3), Layout::new(9, 8), Layout::new(17, 3), Layout::new(65, 3)]
        {
            assert!(layout.is_err());
        }
        assert!(Layout::halves(1, 3).is_err() && Layout::probing(5, 3).is_err());
        assert!(Layout::probing(0, 3).is_err() && Layout::two_level(4, 3, 3).is_err());
    }

    #[test]
    fn another_distance_keeps_the_tables() {
        for (layout, distance, probes) in
            [(Layout::new(4, 3), 2, 4), (Layout::new(4, 3), 4, 20), (Layout::new(4, 3), 7, 68)]
        {
            let layout = layout.unwrap();
            let other = layout.with_distance(distance).unwrap();
            assert_eq!(other.probes(), probes, "{other}");
            let masks = |l: &Layout| l.leads().iter().map(|lead| lead.mask).collect::<Vec<_>>();
            assert_eq!(masks(&layout), masks(&other));
        }
    }

    proptest! {
        #[test]
        fn every_pair_within_the_distance_is_a_candidate(
            bits: u64, flips in prop::collection::vec(0u32..64, 0..8), extra in 1u32..4
        ) {
            let other = flips.iter().fold(bits, |b, flip| b ^ 1u64 << flip);
            let (a, b) = (Fingerprint::from_bits(bits), Fingerprint::from_bits(other));
            for distance in a.distance(b)..=MAX_DISTANCE {
                for layout in [
                    Layout::new(distance + extra, distance),
                    Layout::probing(extra.min(distance + 1), distance),
                    Layout::halves(distance / 2 + extra, distance),
                    two_level(distance),
                    Layout::for_distance(3).unwrap().with_distance(distance),
                ] {
                    prop_assert!(layout.unwrap().first_table(a, b).is_some());
                }
            }
        }
    }
}
