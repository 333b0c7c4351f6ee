//! Compares all pairs within a distance with the crate all-pairs-hamming and, if its program is given, simhash-cpp. Also
//! measures clusters.

use std::path::Path;
use std::process::Command;

use all_pairs_hamming::chunked_join::ChunkedJoiner;
use hapax_dedup::{BatchOptions, Clusters, Fingerprint, Found, Layout, Simd, find_each};

use crate::{data, measure};

/// Returns the CPU seconds of simhash-cpp's `find_all` with this number of blocks, and the number of pairs.
fn simhash_cpp(program: &str, file: &Path, blocks: u32, distance: u32) -> (f64, usize) {
    let arguments = [blocks.to_string(), distance.to_string()];
    let output = Command::new(program).arg(file).args(arguments).output().expect("simhash-cpp");
    let text = String::from_utf8_lossy(&output.stdout);
    let mut words = text.split_whitespace();
    let seconds = words.next().and_then(|word| word.parse().ok()).expect("its seconds");
    (seconds, words.next().and_then(|word| word.parse().ok()).expect("its pairs"))
}

pub fn run(count: usize, rounds: usize, distance: u32, simhash_program: Option<&str>) {
    let stored = data::stored(count);
    let values: Vec<Fingerprint> = stored.iter().copied().map(Fingerprint::from_bits).collect();
    let mut distinct = stored.clone();
    distinct.sort_unstable();
    distinct.dedup();
    let repeats = distinct.len() < stored.len();
    let file = std::env::temp_dir().join("hapax-bench-pairs");
    if simhash_program.is_some() {
        let bytes: Vec<u8> = distinct.iter().flat_map(|bits| bits.to_le_bytes()).collect();
        std::fs::write(&file, bytes).expect("a file");
    }
    drop(distinct);
    // With the fewest blocks, where it is fastest, and with two more, as its documentation recommends.
    let blocks = [distance + 1, distance + 3];
    let mut simhash_times = [Vec::new(), Vec::new()];
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
        let mut simhash_found = None;
        if let Some(program) = simhash_program {
            for (times, blocks) in simhash_times.iter_mut().zip(blocks) {
                let (seconds, found) = simhash_cpp(program, &file, blocks, distance);
                times.push(seconds);
                assert!(simhash_found.is_none_or(|before| before == found), "{found}");
                simhash_found = Some(found);
            }
        }
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
            // The peer counts repeated values separately.
            assert!(found == peer_found || repeats && found < peer_found, "{found} {peer_found}");
            assert!(simhash_found.is_none_or(|theirs| theirs == found), "{found} {simhash_found:?}");
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
            let mut count = 0;
            clusters.for_each(|_| count += 1).expect("clusters");
            count
        });
        clusters = found;
        times[layouts.len()].push(ours);
    }
    println!(
        "{count} fingerprints, distance {distance}: all-pairs-hamming {} s, {peer_found} pairs",
        measure::show(&mut peer_times.clone())
    );
    for (theirs, blocks) in simhash_times.iter_mut().zip(blocks) {
        if theirs.is_empty() {
            continue;
        }
        let over = |ours: &Vec<f64>| {
            measure::show(&mut theirs.iter().zip(ours).map(|(theirs, ours)| theirs / ours).collect::<Vec<f64>>())
        };
        let [pairs, clusters] = [&times[0], &times[layouts.len()]].map(over);
        let seconds = measure::show(&mut theirs.clone());
        println!("simhash-cpp, {blocks} blocks: {seconds} s, ratio to our blocks {pairs}, to our clusters {clusters}");
    }
    let _ = std::fs::remove_file(&file);
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
