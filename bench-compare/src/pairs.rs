//! All pairs within a distance beside the crate all-pairs-hamming, and clusters.

use all_pairs_hamming::chunked_join::ChunkedJoiner;
use hapax_dedup::{BatchOptions, Clusters, Fingerprint, Found, Layout, Simd, find_each};

use crate::{data, measure};

pub fn run(count: usize, rounds: usize, distance: u32) {
    let stored = data::stored(count);
    let values: Vec<Fingerprint> = stored.iter().copied().map(Fingerprint::from_bits).collect();
    let mut distinct = stored.clone();
    distinct.sort_unstable();
    distinct.dedup();
    let repeats = distinct.len() < stored.len();
    drop(distinct);
    // The peer's radius is a share of 64 bits.
    let radius = (f64::from(distance) + 0.5) / 64.0;
    let mut peer_times = Vec::new();
    let mut peer_found = 0;
    let layouts = [
        ("blocks", Layout::for_distance(distance)),
        ("halves", Layout::halves(distance / 2 + 2, distance)),
        ("halves+1", Layout::halves(distance / 2 + 3, distance)),
    ];
    let chosen = Layout::for_batch(count as u64, distance).expect("a layout");
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); layouts.len() + 1];
    let mut clusters = 0;
    for _ in 0..rounds {
        let (peer, found) = measure::seconds(|| {
            let mut joiner = ChunkedJoiner::<u64>::new(1).shows_progress(false);
            stored.iter().for_each(|&bits| joiner.add([bits]).expect("a value"));
            joiner.similar_pairs(radius).len()
        });
        peer_found = found;
        peer_times.push(peer);
        for (place, (_, layout)) in layouts.iter().enumerate() {
            let layout = layout.as_ref().expect("a layout");
            let (ours, found) = measure::seconds(|| {
                let mut pairs = Vec::new();
                let visit = |found| {
                    if let Found::Near(pair) = found {
                        pairs.push(pair)
                    }
                };
                find_each(values.as_slice(), layout, &BatchOptions::default(), visit, |_| {})
                    .expect("pairs");
                pairs.len()
            });
            times[place].push(ours);
            // The peer counts repeated values apart.
            assert!(found == peer_found || repeats && found < peer_found, "{found} {peer_found}");
        }
        let (ours, found) = measure::seconds(|| {
            let mut clusters = Clusters::default();
            find_each(
                values.as_slice(),
                &chosen,
                &BatchOptions::default(),
                |found| clusters.add(found),
                |_| {},
            )
            .expect("clusters");
            clusters.into_vec().len()
        });
        clusters = found;
        times[layouts.len()].push(ours);
    }
    println!(
        "{count} fingerprints, distance {distance}: all-pairs-hamming {} s, {peer_found} pairs",
        measure::show(&mut peer_times.clone())
    );
    let names = layouts.iter().map(|(name, _)| *name).chain(["clusters"]);
    for (name, mut times) in names.zip(times) {
        let mut ratios: Vec<f64> =
            peer_times.iter().zip(&times).map(|(peer, ours)| peer / ours).collect();
        println!("{name:<9} {} s, ratio {}", measure::show(&mut times), measure::show(&mut ratios));
    }
    println!("{clusters} clusters, chosen: {chosen}");
    let portable = BatchOptions { simd: Simd::Portable, ..BatchOptions::default() };
    let (plain, _) =
        measure::seconds(|| find_each(values.as_slice(), &chosen, &portable, |_| {}, |_| {}));
    println!("without vector instructions chosen at run time: {plain:.3} s");
}
