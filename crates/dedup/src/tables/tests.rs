//! Compares every layout, in every form, with the exhaustive scan.

use super::*;
use crate::mix64;
use crate::reference::{ExpandedSet, MAX_VARIANT_DISTANCE, near_by_probing, near_by_scan};
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
        Layout::halves(distance / 2 + 2, distance),
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
        let shard = |number| {
            let shard = Some(Shard { bits: 2, number });
            Tables::with_options(stored, layout, &TableOptions { packed, simd, shard })
        };
        let sharded = Tables::near_sharded(&[0, 1, 2, 3].map(shard), queries);
        assert_eq!(sharded.into_iter().map(plain).collect::<Vec<_>>(), expected, "{layout}");
        for (place, fingerprint) in tables.fingerprints().enumerate() {
            assert_eq!(tables.rank(fingerprint), Some(place));
            assert!(stored.contains(&fingerprint));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]
    #[test]
    fn every_layout_finds_what_the_exhaustive_scan_finds(
        center: u64,
        balls in prop::collection::vec(prop::collection::vec(0u32..64, 0..9), 1..60),
        far in prop::collection::vec(any::<u64>(), 0..20),
    ) {
        let mut stored: Vec<u64> = balls.iter()
            .map(|flips| flips.iter().fold(center, |bits, flip| bits ^ 1u64 << flip))
            .chain(far).collect();
        stored.push(stored[0]);
        let queries: Vec<u64> = stored.iter().copied().chain([center, !center]).collect();
        for layout in (0..=MAX_DISTANCE).flat_map(layouts) {
            check(&layout, &of(&stored), &of(&queries));
        }
    }
}

#[test]
fn adversarial_sets_are_found_whole() {
    let within_a_block: Vec<u64> = (0..300).collect();
    let all_equal = vec![7u64; 300];
    let ball: Vec<u64> =
        (0..64).step_by(7).flat_map(|a| (0..64).map(move |b| 1u64 << a | 1u64 << b)).collect();
    for set in [within_a_block, all_equal, ball, vec![], vec![0, u64::MAX]] {
        for distance in 0..=MAX_DISTANCE {
            let queries = of(&[0, 1, 255, 299, 7, 1 << 63, u64::MAX]);
            for layout in layouts(distance) {
                check(&layout, &of(&set), &queries);
            }
            let mut sorted = of(&set);
            sorted.sort_unstable();
            let near = |query| near_by_scan(&sorted, query, distance);
            // Larger distances have too many variants.
            for &query in queries.iter().filter(|_| distance <= 2) {
                assert_eq!(near_by_probing(&sorted, query, distance).unwrap(), near(query));
            }
            if distance <= 1
                && let Some(expanded) = ExpandedSet::new(&sorted, distance)
            {
                queries.iter().for_each(|&query| assert_eq!(expanded.near(query), near(query)));
            }
        }
    }
}

#[test]
fn shards_of_any_number_and_size_are_built_and_asked() {
    let stored = of(&(0..500).map(mix64).collect::<Vec<_>>());
    let layout = Layout::for_distance(3).unwrap();
    let shard = |bits, number| {
        let shard = Some(Shard { bits, number });
        Tables::with_options(&stored, &layout, &TableOptions { shard, ..TableOptions::default() })
    };
    for (bits, number) in [(2, 4), (0, 1), (40, u64::MAX), (u32::MAX, 1 << 20), (64, 1 << 16)] {
        let none = shard(bits, number);
        assert!(none.is_empty() && none.near(stored[0]).is_empty(), "{bits} {number}");
        assert_eq!((none.rank(stored[0]), none.candidates(stored[0])), (None, 0));
    }
    assert_eq!(shard(0, 0).len(), 500);
    // More bits than a lead has: all its bits are used.
    let parts: Vec<Tables> = (0..1 << 10).map(|number| shard(10, number)).collect();
    assert_eq!(parts.iter().map(Tables::len).sum::<usize>(), 500);
    let whole = Tables::build(&stored, &layout).near_parallel(&stored[..20], 2);
    assert_eq!(Tables::near_sharded(&parts, &stored[..20]), whole);
    assert!(Tables::near_sharded(&[], &stored[..20]).iter().all(Vec::is_empty));
}

#[test]
fn a_look_up_compares_what_the_plan_expects() {
    let stored = of(&(0..60_000).map(mix64).collect::<Vec<_>>());
    for distance in [1, 3] {
        for plan in crate::plans(60_000, distance, None).unwrap() {
            let tables = Tables::build(&stored, &plan.layout);
            let sum: u64 =
                (0..300).map(|i| tables.candidates(of(&[mix64(i + 1_000_000)])[0])).sum();
            let measured = sum as f64 / 300.0;
            let ratio = measured / plan.candidates;
            assert!((0.85..1.15).contains(&ratio), "{}: {measured} {}", plan.name, plan.candidates);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn the_references_agree_with_each_other(
        center: u64,
        flips in prop::collection::vec(prop::collection::vec(0u32..64, 0..6), 1..24),
        far: u64,
    ) {
        // A ball around one fingerprint, with some equal values.
        let ball: Vec<u64> = flips.iter()
            .map(|flips| flips.iter().fold(center, |bits, flip| bits ^ 1u64 << flip)).collect();
        let stored: Vec<u64> = ball.iter().copied().chain([center, center, far]).collect();
        for distance in 0..=MAX_VARIANT_DISTANCE {
            // At distance 3 each stored fingerprint has 43,745 variants.
            let most = if distance == MAX_VARIANT_DISTANCE { 6 } else { stored.len() };
            let mut sorted = of(&stored[stored.len().saturating_sub(most)..]);
            sorted.sort_unstable();
            let expanded = ExpandedSet::new(&sorted, distance).unwrap();
            for query in of(&stored).into_iter().chain(of(&[!center])) {
                let expected = near_by_scan(&sorted, query, distance);
                prop_assert_eq!(&near_by_probing(&sorted, query, distance).unwrap(), &expected);
                prop_assert_eq!(&expanded.near(query), &expected);
                let layout = Layout::for_distance(distance).unwrap();
                let near = Tables::build(&sorted, &layout).near(query);
                let near: Vec<Fingerprint> = near.iter().map(|near| near.fingerprint).collect();
                prop_assert_eq!(near, expected);
            }
        }
        let sorted = of(&[center]);
        prop_assert!(near_by_probing(&sorted, sorted[0], MAX_VARIANT_DISTANCE + 1).is_none());
        prop_assert!(ExpandedSet::new(&sorted, MAX_VARIANT_DISTANCE + 1).is_none());
    }
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

#[test]
fn no_more_threads_are_started_than_run_at_once() {
    let stored = of(&(0..100_000).map(mix64).collect::<Vec<_>>());
    let tables = Tables::build(&stored, &Layout::for_distance(3).unwrap());
    // One thread per query would be 100,000 threads.
    let found = tables.near_parallel(&stored, usize::MAX);
    assert!(found.iter().zip(&stored).all(|(near, own)| near[0].fingerprint == *own));
    let parts: Vec<Tables> =
        (0..2_000).map(|_| Tables::build(&stored[..1], tables.layout())).collect();
    assert_eq!(Tables::near_sharded(&parts, &stored[..1])[0].len(), 2_000);
}
