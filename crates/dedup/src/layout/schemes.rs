//! The published schemes and further ones.

use super::{Layout, LayoutError, Lead, MAX_DISTANCE};

/// More blocks would make thousands of tables.
const MAX_BLOCKS: u32 = 16;
/// The most tables of a two-level layout; every one-level layout has fewer.
const MOST_TABLES: usize = 1 << 14;

fn in_range(asked: u32, least: u32, most: u32) -> Result<(), LayoutError> {
    if (least..=most).contains(&asked) {
        Ok(())
    } else {
        Err(LayoutError::Blocks { asked, least, most })
    }
}

impl Layout {
    /// Makes one table for each choice of `blocks - distance` out of `blocks` blocks.
    ///
    /// `new(4, 3)` has 4 tables of 16 bits, `new(5, 3)` 10 of about 25, `new(6, 3)` 20 of 31 to 33, `new(8, 6)` 28 of
    /// 16.
    ///
    /// # Errors
    /// Unless `distance <= 7` and `distance < blocks <= 16`.
    pub fn new(blocks: u32, distance: u32) -> Result<Self, LayoutError> {
        in_range(blocks, distance + 1, MAX_BLOCKS)?;
        Self::from_blocks(&cut(u64::MAX, blocks), distance)
    }

    /// Makes the default layout: `distance + 1` blocks, one per table.
    ///
    /// # Errors
    /// A distance above 7.
    pub fn for_distance(distance: u32) -> Result<Self, LayoutError> {
        if distance > MAX_DISTANCE {
            return Err(LayoutError::Distance(distance));
        }
        Self::new(distance + 1, distance)
    }

    /// Makes the layout for tables that [grow](crate::GrowingTables) beyond about 10^6: as
    /// [`for_distance`](Self::for_distance), except 6 x 21 bits by [halves](Self::halves) at distance 3. A look-up
    /// then reads one cache line per table up to about 10^7.
    ///
    /// # Errors
    /// A distance above 7.
    pub fn for_growing(distance: u32) -> Result<Self, LayoutError> {
        if distance == 3 { Self::halves(3, 3) } else { Self::for_distance(distance) }
    }

    /// Makes one table for each choice of all but `distance` of the given blocks, which are masks that partition the
    /// 64 bits. Permutations are expressed this way: fingerprints are stored unchanged and ordered by the bits of the
    /// mask.
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

    /// Makes two levels: all choices of `outer - distance` of `outer` blocks lead. For each choice the remaining bits
    /// are cut into `inner` blocks, of which `inner - distance` lead too.
    ///
    /// `two_level(4, 4, 3)` is the published layout of 16 tables of 28 bits.
    ///
    /// # Errors
    /// As [`Layout::new`], for each of the two numbers; [`LayoutError::TooFine`] above about 2^14 tables.
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

    /// Cuts each half of 32 bits into `parts`; all choices of `parts - distance / 2` of them lead. It is complete
    /// because one half has at most half of the errors.
    ///
    /// `halves(3, 3)` has 6 tables of 21 bits, `halves(4, 3)` 8 of 24: fewer than blocks over 64 bits need for such
    /// leads.
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

    /// Makes one table per block and probes for the errors that the pigeonhole principle leaves: the sum of `radius +
    /// 1` is `distance + 1`, spread evenly, larger radii first.
    ///
    /// `probing(3, 3)` has 3 tables with 24 probes, `probing(2, 3)` 2 with 66, `probing(4, 6)` 4 with 52. These
    /// layouts use the least memory.
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
        // `cut` returns narrower blocks first, so these get the larger radii.
        let leads = (0u32..)
            .zip(cut(u64::MAX, blocks))
            .map(|(index, mask)| Lead { mask, radius: each + u32::from(index < further) });
        Ok(Self { distance, leads: leads.collect() })
    }
}

/// Cuts the set bits of `bits` into `count` runs of nearly equal length, narrower ones first.
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

/// Returns the union of each choice of `pick` blocks.
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
        // At distance 0 the first level uses all bits.
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
