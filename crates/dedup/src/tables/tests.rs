//! Every layout, in every form, against the exhaustive scan.

use super::*;
use crate::mix64;
use crate::reference::{ExpandedSet, near_by_probing, near_by_scan};
use crate::{Layout, MAX_DISTANCE};
use proptest::prelude::*;

fn layouts(distance: u32) -> Vec<Layout> {
    let mut all = vec![
        Layout::new(distance + 1, distance),
        Layout::new(distance + 2, distance),
        Layout::new(distance + 3, distance),
        Layout::two_level(distance.max(1) + 1, distance.max(1) + 1, distance.max(1))
            .and_then(|l| l.with_distance(distance)),
        Layout::halves(distance / 2 + 1, distance),
        Layout::halves(distance / 2 + 3, distance),
        Layout::for_distance(distance / 2).unwrap().with_distance(distance),
        Layout::for_distance(MAX_DISTANCE).unwrap().with_distance(distance),
        Layout::from_blocks(&scattered(distance + 1), distance),
    ];
    all.extend(
        (1..=distance + 1).filter(|b| *b > 1 || distance < 3).map(|b| Layout::probing(b, distance)),
    );
    all.into_iter().map(Result::unwrap).collect()
}

/// Blocks whose bits are spread over all 64.
fn scattered(blocks: u32) -> Vec<u64> {
    let mut masks = vec![0; blocks as usize];
    (0..64).for_each(|bit| masks[bit * 7 % 64 % blocks as usize] |= 1u64 << bit);
    masks
}

fn of(bits: &[u64]) -> Vec<Fingerprint> {
    bits.iter().copied().map(Fingerprint::from_bits).collect()
}

fn check(layout: &Layout, stored: &[Fingerprint], queries: &[Fingerprint]) {
    let distance = layout.distance();
    let expected: Vec<Vec<Fingerprint>> =
        queries.iter().map(|&query| near_by_scan(stored, query, distance)).collect();
    let plain = |near: Vec<Near>| near.iter().map(|near| near.fingerprint).collect::<Vec<_>>();

    let mut growing = GrowingTables::new(layout.clone());
    stored.iter().for_each(|&fingerprint| {
        growing.insert(fingerprint);
    });
    for (query, expected) in queries.iter().zip(&expected) {
        assert_eq!(&plain(growing.near(*query)), expected, "growing, {layout}");
    }
    for (packed, simd) in [
        (false, Simd::Portable),
        (true, Simd::Portable),
        (false, Simd::Avx512),
        (true, Simd::Avx512),
    ] {
        let options = TableOptions { packed, simd, shard: None };
        let tables = Tables::with_options(stored, layout, &options);
        assert_eq!(tables.len(), growing.len());
        let mut many = vec![Vec::new(); queries.len()];
        tables.near_many(queries, |query, near| many[query].push(near.fingerprint));
        for (index, (&query, expected)) in queries.iter().zip(&expected).enumerate() {
            let near = tables.near(query);
            assert!(near.iter().all(|n| n.distance == query.distance(n.fingerprint)));
            assert_eq!(&plain(near), expected, "{options:?}, {layout}");
            many[index].sort_by_key(|&other| (query.distance(other), other));
            assert_eq!(&many[index], expected, "many, {options:?}, {layout}");
        }
        let parallel = tables.near_parallel(queries, 3);
        assert_eq!(parallel.into_iter().map(plain).collect::<Vec<_>>(), expected);
        let mut sharded = vec![Vec::new(); queries.len()];
        for number in 0..4 {
            let shard = Some(Shard { bits: 2, number });
            let part = Tables::with_options(stored, layout, &TableOptions { packed, simd, shard });
            part.near_many(queries, |query, near| sharded[query].push(near.fingerprint));
        }
        for (index, &query) in queries.iter().enumerate() {
            sharded[index].sort_by_key(|&other| (query.distance(other), other));
        }
        assert_eq!(sharded, expected, "shards, {layout}");
        for (place, fingerprint) in tables.fingerprints().enumerate() {
            assert_eq!(tables.rank(fingerprint), Some(place));
            assert!(stored.contains(&fingerprint));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn every_layout_finds_what_the_exhaustive_scan_finds(
        center: u64,
        balls in prop::collection::vec(prop::collection::vec(0u32..64, 0..9), 1..60),
        far in prop::collection::vec(any::<u64>(), 0..20),
        distance in 0u32..=7,
    ) {
        let mut stored: Vec<u64> = balls.iter()
            .map(|flips| flips.iter().fold(center, |bits, flip| bits ^ 1u64 << flip))
            .chain(far).collect();
        stored.push(stored[0]);
        let queries: Vec<u64> = stored.iter().copied().chain([center, !center]).collect();
        for layout in layouts(distance) {
            check(&layout, &of(&stored), &of(&queries));
        }
    }
}

#[test]
fn adversarial_sets_are_found_whole() {
    let within_a_block: Vec<u64> = (0..300).collect();
    let all_equal = vec![7u64; 300];
    let ball: Vec<u64> =
        (0..64).flat_map(|a| (0..64).map(move |b| 1u64 << a | 1u64 << b)).collect();
    for set in [within_a_block, all_equal, ball, vec![], vec![0, u64::MAX]] {
        for distance in 0..=MAX_DISTANCE {
            for layout in [
                Layout::for_distance(distance).unwrap(),
                Layout::halves(distance / 2 + 1, distance).unwrap(),
                Layout::probing(distance.div_ceil(2) + 1, distance).unwrap(),
            ] {
                check(&layout, &of(&set), &of(&[0, 1, 255, 299, 7, 1 << 63, u64::MAX]));
            }
        }
    }
}

#[test]
fn the_references_agree_with_each_other() {
    let stored: Vec<u64> = (0..40u64).map(|i| crate::mix64(i / 8) ^ (1 << (i % 8))).collect();
    let mut sorted = of(&stored);
    sorted.sort_unstable();
    for distance in 0..=2 {
        let expanded = ExpandedSet::new(&sorted, distance).unwrap();
        for &query in &sorted {
            let expected = near_by_scan(&sorted, query, distance);
            assert_eq!(near_by_probing(&sorted, query, distance).unwrap(), expected);
            assert_eq!(expanded.near(query), expected);
        }
    }
    let expanded = ExpandedSet::new(&sorted[..4], 3).unwrap();
    for &query in &sorted {
        let expected = near_by_scan(&sorted[..4], query, 3);
        assert_eq!(expanded.near(query), expected);
        assert_eq!(near_by_probing(&sorted[..4], query, 3).unwrap(), expected);
    }
    assert!(near_by_probing(&sorted, sorted[0], 4).is_none());
    assert!(ExpandedSet::new(&sorted, 4).is_none());
}

#[test]
fn large_tables_have_long_directories_and_narrow_entries() {
    let stored: Vec<Fingerprint> =
        (0..70_000).map(|i| Fingerprint::from_bits(crate::mix64(i))).collect();
    for layout in [Layout::halves(3, 3), Layout::probing(3, 3), Layout::probing(4, 6)] {
        let layout = layout.unwrap();
        let packed = TableOptions { packed: true, ..TableOptions::default() };
        let (whole, packed) =
            (Tables::build(&stored, &layout), Tables::with_options(&stored, &layout, &packed));
        assert!(packed.bytes() < whole.bytes() * 9 / 10, "{} {}", packed.bytes(), whole.bytes());
        for i in (0..70_000).step_by(700) {
            let query = Fingerprint::from_bits(crate::mix64(i) ^ (1 << (i % 64)));
            assert!(!whole.near(query).is_empty());
            assert_eq!(whole.near(query), packed.near(query));
        }
    }
}

#[test]
fn radii_for_a_greater_distance_find_nothing_beyond_a_lower_one() {
    let stored: Vec<Fingerprint> = (0..2000).map(|i| Fingerprint::from_bits(mix64(i))).collect();
    let queries: Vec<Fingerprint> = (0..64)
        .map(|bit| Fingerprint::from_bits(mix64(bit) ^ 1 << bit ^ u64::from(bit % 3 == 0)))
        .collect();
    for (blocks, wide) in [(2, 3), (3, 5)] {
        for distance in 0..wide {
            let layout = Layout::probing(blocks, wide).unwrap().with_distance(distance).unwrap();
            check(&layout, &stored, &queries);
        }
    }
}
