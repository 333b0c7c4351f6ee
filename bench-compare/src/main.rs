//! `near` at distance 3 beside the crate mih-rs, interleaved in one run, with the matches compared.
//!
//!   cargo run --release -- [FINGERPRINTS] [QUERIES] [ROUNDS]      default 1000000 100000 5

use std::time::Instant;

use hapax_dedup::{Fingerprint, Layout, Tables, mix64};

const DISTANCE: u32 = 3;

fn main() {
    let args: Vec<usize> = std::env::args().skip(1).filter_map(|arg| arg.parse().ok()).collect();
    let arg = |index: usize, default: usize| args.get(index).copied().unwrap_or(default);
    let (count, queries, rounds) = (arg(0, 1_000_000), arg(1, 100_000), arg(2, 5));

    // 95 % uniform random, 5 % planted at distance 1 to 6 from an earlier one.
    let mut stored: Vec<u64> = Vec::with_capacity(count);
    for i in 0..count as u64 {
        let random = mix64(i + 1);
        let planted = i > 0 && random % 20 == 0;
        stored.push(if planted { flip(stored[(random >> 8) as usize % stored.len()], random, 1 + random % 6) } else { random });
    }
    // Half of the queries are planted at distance 0 to 5 from a stored one.
    let asked: Vec<u64> = (0..queries as u64)
        .map(|i| {
            let random = mix64(i + (1 << 40));
            if i % 2 == 0 { random } else { flip(stored[random as usize % stored.len()], random, random % 6) }
        })
        .collect();

    let started = Instant::now();
    let mut tables = Tables::new(Layout::for_distance(DISTANCE).expect("a layout"));
    for &bits in &stored {
        tables.insert(Fingerprint::from_bits(bits));
    }
    let ours_build = started.elapsed().as_secs_f64();
    let mut distinct = stored.clone();
    distinct.sort_unstable();
    distinct.dedup();
    let started = Instant::now();
    let peer = mih_rs::Index::new(distinct).expect("an index");
    let peer_build = started.elapsed().as_secs_f64();
    println!("{count} fingerprints; build: hapax-dedup {ours_build:.2} s, mih-rs {peer_build:.2} s");

    let mut ratios = Vec::new();
    for round in 0..rounds {
        let started = Instant::now();
        let ours: usize = asked.iter().map(|&bits| tables.near(Fingerprint::from_bits(bits)).len()).sum();
        let ours_time = started.elapsed().as_secs_f64();
        let started = Instant::now();
        let mut searcher = peer.range_searcher();
        let theirs: usize = asked.iter().map(|&bits| searcher.run(bits, DISTANCE as usize).len()).sum();
        let peer_time = started.elapsed().as_secs_f64();
        assert_eq!(ours, theirs, "both find the same");
        let (a, b) = (queries as f64 / ours_time, queries as f64 / peer_time);
        println!("round {round}: hapax-dedup {a:>9.0}/s   mih-rs {b:>9.0}/s   ratio {:.2}   {ours} matches", a / b);
        ratios.push(a / b);
    }
    ratios.sort_by(f64::total_cmp);
    println!("ratio: median {:.2}, from {:.2} to {:.2}", ratios[ratios.len() / 2], ratios[0], ratios[ratios.len() - 1]);
}

fn flip(bits: u64, seed: u64, count: u64) -> u64 {
    (0..count).fold(bits, |bits, i| bits ^ 1 << (mix64(seed ^ i) % 64))
}
