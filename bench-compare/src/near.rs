//! Compares queries by hapax-dedup with mih-rs: every layout, one query at a time and in batches.

use hapax_dedup::{Fingerprint, Layout, Simd, TableOptions, Tables};

use crate::{data, measure};

/// Number of queries that an exhaustive scan answers too.
const SAMPLE: usize = 40;

pub fn run(stored: Vec<u64>, queries: usize, rounds: usize, distance: u32, only: Option<&str>) {
    let count = stored.len();
    let asked = data::queries(&stored, queries, distance);
    let mut distinct: Vec<u64> = stored.clone();
    distinct.sort_unstable();
    distinct.dedup();
    let fingerprints: Vec<Fingerprint> = distinct.iter().copied().map(Fingerprint::from_bits).collect();
    drop(stored);
    let peer_bytes = resident();
    let (build, peer) = measure::seconds(|| mih_rs::Index::new(distinct).expect("an index"));
    let peer_bytes = (resident() - peer_bytes) as f64 / count as f64 + 8.0;
    println!("{count} fingerprints, {queries} queries, distance {distance}; bytes a fingerprint with 4 for an id");
    println!("mih-rs: built in {build:.2} s, about {peer_bytes:.0} bytes a fingerprint (resident)");

    let mut layouts = vec![("blocks", Layout::for_distance(distance))];
    layouts.push(("halves-3", Layout::halves(distance / 2 + 2, distance)));
    layouts.push(("halves-4", Layout::halves(distance / 2 + 3, distance)));
    layouts.push(("probing", Layout::probing(distance.div_ceil(2) + 1, distance)));
    layouts.push(("choose-2", Layout::new(distance + 2, distance)));
    layouts.push(("choose-3", Layout::new(distance + 3, distance)));
    for (name, layout) in layouts {
        if only.is_some_and(|only| !name.starts_with(only)) {
            continue;
        }
        let layout = layout.expect("a layout");
        let sample = &asked[..asked.len().min(SAMPLE)];
        let scanned: Vec<usize> = sample
            .iter()
            .map(|q| fingerprints.iter().filter(|f| q.distance(**f) <= distance).count())
            .collect();
        for packed in [false, true] {
            for simd in [Simd::detect(), Simd::Avx2, Simd::Portable] {
                let options = TableOptions { packed, simd, shard: None };
                let (build, tables) = measure::seconds(|| Tables::with_options(&fingerprints, &layout, &options));
                let looked_up: Vec<usize> = sample.iter().map(|&q| tables.near(q).len()).collect();
                assert_eq!(looked_up, scanned, "the exhaustive scan finds the same");
                let (mut single, mut many, mut rates) = (Vec::new(), Vec::new(), Vec::new());
                for _ in 0..rounds {
                    let (a, found) = measure::seconds(|| asked.iter().map(|&q| tables.near(q).len()).sum::<usize>());
                    let (b, theirs) = measure::seconds(|| {
                        let mut searcher = peer.range_searcher();
                        asked.iter().map(|q| searcher.run(q.bits(), distance as usize).len()).sum::<usize>()
                    });
                    let (c, batched) = measure::seconds(|| {
                        let mut found = 0;
                        tables.near_many(&asked, |_, _| found += 1);
                        found
                    });
                    assert_eq!((found, found), (theirs, batched), "all find the same");
                    single.push(b / a);
                    many.push(b / c);
                    rates.push([a, b, c].map(|s| queries as f64 / s / 1e6));
                }
                let median = |i: usize| measure::spread(&mut rates.iter().map(|r| r[i]).collect::<Vec<_>>()).0;
                println!(
                    "{name:<9} {layout}, {:<6} {simd:?}: {:.1} B, built in {build:.2} s, {:.2} M/s {:.2} M/s, peer {:.2} M/s, \
                     ratio single {} batched {}",
                    if packed { "packed" } else { "whole" },
                    tables.bytes() as f64 / tables.len() as f64 + 4.0,
                    median(0), median(2), median(1),
                    measure::show(&mut single), measure::show(&mut many),
                );
            }
        }
    }
}

/// Returns the resident bytes of this process.
pub fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    status.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}
