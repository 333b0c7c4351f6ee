//! Finds all near pairs of a whole set, and its clusters.

mod components;
mod join;
mod pairs;
mod sorter;
mod source;
mod stars;
mod temporary;

use crate::{Fingerprint, Layout, Result};

pub use self::components::Clusters;
pub use self::pairs::{BatchOptions, Found, Pair, Progress, find_each};
pub use self::sorter::{Sorted, Sorter};
pub use self::source::{Source, Spool};

/// Returns every pair of values within the layout's distance once, in ascending order. A repeated value is paired
/// with itself.
///
/// # Errors
/// [`Error::TooMany`](crate::Error::TooMany) above 2^32 - 1 values.
///
/// # Complexity
/// That of [`find_each`], which also handles sets larger than memory.
pub fn find_all(fingerprints: &[Fingerprint], layout: &Layout) -> Result<Vec<Pair>> {
    let mut pairs = Vec::new();
    let visit = |found| {
        pairs.push(match found {
            Found::Near(pair) => pair,
            Found::Repeated(a, _) => Pair { a, b: a, distance: 0 },
        });
    };
    find_each(fingerprints, layout, &BatchOptions::default(), visit, |_| {})?;
    pairs.sort_unstable();
    Ok(pairs)
}

/// Returns the connected components of the near pairs, each with all its occurrences in ascending order. Components
/// of a single occurrence are left out.
///
/// # Errors
/// [`Error::TooMany`](crate::Error::TooMany) above 2^32 - 1 values.
///
/// # Complexity
/// That of [`find_each`] and of [`Clusters`].
pub fn find_clusters(
    fingerprints: &[Fingerprint],
    layout: &Layout,
) -> Result<Vec<Vec<Fingerprint>>> {
    let mut clusters = Clusters::default();
    let visit = |found| clusters.add(found);
    find_each(fingerprints, layout, &BatchOptions::default(), visit, |_| {})?;
    let mut all = Vec::new();
    clusters.for_each(|cluster| all.push(cluster.to_vec()))?;
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A source with more values than can be numbered.
    struct Endless;

    impl Source for Endless {
        fn len(&self) -> u64 {
            1 << 32
        }

        fn for_each(&self, _: &mut dyn FnMut(&[Fingerprint])) -> Result<()> {
            unreachable!("it is refused before it is read")
        }
    }

    #[test]
    fn too_many_values_are_an_error() {
        let layout = Layout::for_distance(3).unwrap();
        let found = find_each(&Endless, &layout, &BatchOptions::default(), |_| {}, |_| {});
        assert!(matches!(found, Err(crate::Error::TooMany(count)) if count == 1 << 32));
    }

    fn of(values: &[u64]) -> Vec<Fingerprint> {
        values.iter().map(|&bits| Fingerprint::from_bits(bits)).collect()
    }

    fn brute_force(values: &[u64], distance: u32) -> Vec<(u64, u64)> {
        let mut pairs = Vec::new();
        for (i, a) in values.iter().enumerate() {
            for b in &values[i + 1..] {
                if (a ^ b).count_ones() <= distance {
                    pairs.push((*a.min(b), *a.max(b)));
                }
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }

    #[test]
    fn clusters_match_the_test_cases_of_simhash_cpp() {
        let lanes: Vec<u64> = [0xFF, 0xEF, 0xEE, 0xCE, 0x33]
            .iter()
            .flat_map(|value| (0..4).map(move |lane| value << (8 * lane)))
            .collect();
        for blocks in 4..=9 {
            let layout = Layout::new(blocks, 3).unwrap();
            assert_eq!(find_all(&of(&lanes), &layout).unwrap().len(), 24, "{blocks} blocks");
            let clusters = find_clusters(&of(&lanes), &layout).unwrap();
            assert_eq!(clusters.iter().map(Vec::len).collect::<Vec<_>>(), [4; 4]);
        }
        let layout = Layout::new(5, 4).unwrap();
        assert_eq!(find_clusters(&of(&[10, 20]), &layout).unwrap(), [of(&[10, 20])]);
    }

    #[test]
    fn exact_duplicates_are_reported() {
        let layout = Layout::new(5, 4).unwrap();
        let pairs = find_all(&of(&[10, 20, 10]), &layout).unwrap();
        let pairs: Vec<(u64, u64)> = pairs.iter().map(|p| (p.a.bits(), p.b.bits())).collect();
        assert_eq!(pairs, [(10, 10), (10, 20)]);
        assert_eq!(find_clusters(&of(&[10, 20, 10]), &layout).unwrap(), [of(&[10, 10, 20])]);
        assert!(
            find_all(&[], &layout).unwrap().is_empty()
                && find_clusters(&[], &layout).unwrap().is_empty()
        );
    }

    proptest! {
        #[test]
        fn pairs_are_those_of_brute_force(
            center: u64, flips in prop::collection::vec(prop::collection::vec(0u32..64, 0..8), 0..60),
            far in prop::collection::vec(any::<u64>(), 0..20), distance in 0u32..=7, extra in 1u32..4,
        ) {
            let values: Vec<u64> = flips.iter()
                .map(|flips| flips.iter().fold(center, |bits, flip| bits ^ 1u64 << flip))
                .chain(far).collect();
            let layout = Layout::new(distance + extra, distance).unwrap();
            let found = find_all(&of(&values), &layout).unwrap();
            let found: Vec<(u64, u64)> = found.iter().map(|p| (p.a.bits(), p.b.bits())).collect();
            prop_assert_eq!(&found, &brute_force(&values, distance));
            // In several passes, from a file, without vector instructions.
            let folder = tempfile::tempdir().unwrap();
            let mut spool = Spool::create(folder.path()).unwrap();
            values.iter().for_each(|&bits| spool.push(Fingerprint::from_bits(bits)).unwrap());
            spool.finish().unwrap();
            let options = BatchOptions { memory_bytes: 8 * 20, simd: crate::Simd::Portable };
            let mut streamed = Vec::new();
            let mut last = None;
            find_each(&spool, &layout, &options, |found| streamed.push(match found {
                Found::Near(pair) => (pair.a.bits(), pair.b.bits()),
                Found::Repeated(a, times) => {
                    assert_eq!(values.iter().filter(|v| **v == a.bits()).count() as u64, times);
                    (a.bits(), a.bits())
                }
            }), |progress| last = Some(progress)).unwrap();
            streamed.sort_unstable();
            prop_assert_eq!(&streamed, &found);
            // Also clusters, with little memory.
            let expected = find_clusters(&of(&values), &layout).unwrap();
            for memory in [0, 1 << 10, 1 << 20] {
                let mut clusters = Clusters::spilling(folder.path(), memory);
                find_each(&spool, &layout, &options, |found| clusters.add(found), |_| {}).unwrap();
                let mut all = Vec::new();
                clusters.for_each(|cluster| all.push(cluster.to_vec())).unwrap();
                prop_assert_eq!(&all, &expected);
            }
            let last = last.unwrap();
            prop_assert_eq!((last.done, last.pairs), (last.total, found.len() as u64));
        }
    }

    #[test]
    fn many_parts_find_what_one_finds() {
        let two_bits = |i: u64| 1u64 << (i % 64) ^ 1 << ((i % 64 + 1 + i / 64 % 62) % 64);
        let near = |i: u64| if i % 10 == 9 { two_bits(i) } else { 0 };
        let values: Vec<u64> =
            (0..150_000).map(|i| crate::mix64(i - i % 10 / 9) ^ near(i)).collect();
        let values = of(&values);
        let pairs = find_all(&values, &Layout::for_distance(3).unwrap()).unwrap();
        assert_eq!(pairs.len(), 15_000, "each tenth is near the one before");
        for layout in [Layout::halves(3, 3), Layout::new(5, 3)] {
            let layout = layout.unwrap();
            assert_eq!(find_all(&values, &layout).unwrap(), pairs);
            let options = BatchOptions { memory_bytes: 64 << 10, ..BatchOptions::default() };
            let mut found = Vec::new();
            let visit = |one| found.push(one);
            find_each(values.as_slice(), &layout, &options, visit, |_| {}).unwrap();
            found.sort_unstable_by_key(|one| match one {
                Found::Near(pair) => (pair.a, pair.b),
                Found::Repeated(value, _) => (*value, *value),
            });
            assert_eq!(found, pairs.iter().copied().map(Found::Near).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_cluster_larger_than_memory_is_one_cluster() {
        // Each value differs from the next in one bit (Gray code).
        let gray = |i: u64| (i ^ i >> 1) << 7;
        let values: Vec<Fingerprint> =
            (0..5000).map(|i| Fingerprint::from_bits(gray(i))).chain(of(&[3, 3])).collect();
        let layout = Layout::for_distance(1).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut clusters = Clusters::spilling(folder.path(), 4096);
        let options = BatchOptions::default();
        find_each(values.as_slice(), &layout, &options, |found| clusters.add(found), |_| {})
            .unwrap();
        let mut all = Vec::new();
        clusters.for_each(|cluster| all.push(cluster.to_vec())).unwrap();
        assert_eq!(all, find_clusters(&values, &layout).unwrap());
        assert_eq!(all.iter().map(Vec::len).collect::<Vec<_>>(), [5000, 2]);
        let mut lost = Clusters::spilling(&folder.path().join("none"), 0);
        find_each(values.as_slice(), &layout, &options, |found| lost.add(found), |_| {}).unwrap();
        assert!(lost.for_each(|_| {}).is_err(), "the disk's error is told");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_hot_bucket_is_cut_again() {
        // Values that share the bits of all leads except one.
        let values: Vec<u64> =
            (0..6_000u64).map(|i| crate::mix64(i / 2) >> 32 ^ (i % 2) << 7).collect();
        let pairs = find_all(&of(&values), &Layout::new(4, 3).unwrap()).unwrap();
        let pairs: Vec<(u64, u64)> = pairs.iter().map(|p| (p.a.bits(), p.b.bits())).collect();
        assert!(pairs.len() >= 3000);
        assert_eq!(pairs, brute_force(&values, 3));
        let ball: Vec<Fingerprint> = (0..3000).map(Fingerprint::from_bits).collect();
        let near = |a: u64, b: u64| (a ^ b).count_ones() <= 3;
        let all = (0..3000u64).flat_map(|a| (a + 1..3000).map(move |b| (a, b)));
        let found = find_all(&ball, &Layout::new(4, 3).unwrap()).unwrap();
        let expected: Vec<(u64, u64)> = all.filter(|&(a, b)| near(a, b)).collect();
        assert_eq!(found.iter().map(|p| (p.a.bits(), p.b.bits())).collect::<Vec<_>>(), expected);
    }
}
