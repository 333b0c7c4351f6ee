//! The constants of the cost model, and the model held against what is measured.
//!
//!   cargo bench -p hapax-dedup --bench cost [-- FINGERPRINTS...]      default 1000000 10000000
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a benchmark"
)]

use std::hint::black_box;
use std::time::Instant;

use hapax_dedup::{Fingerprint, TableOptions, Tables, mix64, plans};

fn main() {
    let counts: Vec<u64> = std::env::args().skip(1).filter_map(|arg| arg.parse().ok()).collect();
    let counts = if counts.is_empty() { vec![1_000_000, 10_000_000] } else { counts };
    lines();
    searches(counts[0]);
    for count in counts {
        against_measurement(count, 3);
    }
    against_measurement(1_000_000, 6);
}

/// Random lines of buffers of growing size, in huge pages, sixteen asked for at once.
fn lines() {
    println!(
        "bytes of a buffer -> nanoseconds a line, sixteen reads in flight (LINE_COST in plan.rs)"
    );
    for bytes in [500_000usize, 4_000_000, 32_000_000, 256_000_000, 2_000_000_000] {
        let mut map = memmap2::MmapMut::map_anon(bytes).unwrap();
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        map.fill(1);
        let lines = bytes as u64 / 64;
        let mut best = f64::MAX;
        for round in 0..5u64 {
            let started = Instant::now();
            let mut sum = 0u64;
            let reads = 2_000_000u64;
            for group in 0..reads / 16 {
                // The next group depends on this one, as a query's end does on its answers.
                let seed = mix64(group ^ round << 40 ^ (sum & 1));
                for i in 0..16 {
                    let line = ((u128::from(mix64(seed.wrapping_add(i))) * u128::from(lines)) >> 64)
                        as usize;
                    sum += u64::from(map[line * 64]);
                }
            }
            black_box(sum);
            best = best.min(started.elapsed().as_secs_f64() * 1e9 / reads as f64);
        }
        println!("{bytes:>12} {best:>6.1}");
    }
}

/// Ways to find where a lead begins in a sorted table: the directory that tables have, and the two
/// searches that the literature proposes.
fn searches(count: u64) {
    let mut sorted: Vec<u64> = (0..count).map(mix64).collect();
    sorted.sort_unstable();
    let queries: Vec<u64> = (0..1_000_000).map(|i| mix64(i + (1 << 40))).collect();
    let bits = (count / 4).ilog2();
    let mut directory = vec![0u32; (1 << bits) + 1];
    sorted.iter().for_each(|value| directory[(value >> (64 - bits)) as usize + 1] += 1);
    (1..directory.len()).for_each(|i| directory[i] += directory[i - 1]);
    let time = |name: &str, find: &dyn Fn(u64) -> usize| {
        let mut best = f64::MAX;
        for _ in 0..3 {
            let started = Instant::now();
            black_box(queries.iter().fold(0, |sum, &query| sum ^ find(query)));
            best = best.min(started.elapsed().as_secs_f64() * 1e9 / queries.len() as f64);
        }
        println!("{name:<22} {best:>6.0} ns");
    };
    println!("\nwhere a lead begins among {count}");
    time("directory", &|query| {
        let bucket = (query >> (64 - bits)) as usize;
        let (from, to) = (directory[bucket] as usize, directory[bucket + 1] as usize);
        from + sorted[from..to].partition_point(|value| *value < query)
    });
    time("interpolation search", &|query| {
        let (mut from, mut to) = (0, sorted.len());
        while to - from > 16 {
            let (low, high) = (sorted[from], sorted[to - 1]);
            if query <= low || query > high {
                return if query <= low { from } else { to };
            }
            let share = (query - low) as f64 / (high - low) as f64;
            let guess = (from + (share * (to - 1 - from) as f64) as usize).clamp(from + 1, to - 1);
            // A window around the guess, widened if it misses.
            if sorted[guess] < query {
                from = guess;
                to = to.min(guess + 64).max(if sorted[to.min(guess + 64) - 1] < query {
                    to
                } else {
                    0
                });
            } else {
                to = guess + 1;
                let back = guess.saturating_sub(64).max(from);
                if sorted[back] < query {
                    from = back;
                }
            }
        }
        from + sorted[from..to].partition_point(|value| *value < query)
    });
    time("binary search", &|query| sorted.partition_point(|value| *value < query));
}

fn against_measurement(count: u64, distance: u32) {
    let mut stored: Vec<Fingerprint> =
        (0..count).map(|i| Fingerprint::from_bits(mix64(i))).collect();
    stored.sort_unstable();
    let queries: Vec<Fingerprint> =
        (0..100_000).map(|i| Fingerprint::from_bits(mix64(i + (1 << 40)))).collect();
    println!("\n{count} fingerprints, distance {distance}: model and measurement");
    println!(
        "{:<14} {:>10} {:>10} {:>6} {:>12} {:>12} {:>12} {:>12}",
        "scheme", "model ns", "measured", "ratio", "model B", "measured B", "candidates", "counted"
    );
    for plan in plans(count, distance, None).unwrap() {
        if plan.bytes > 4e9 {
            continue;
        }
        let options = TableOptions { packed: plan.packed, ..TableOptions::default() };
        let tables = Tables::with_options(&stored, &plan.layout, &options);
        let mut best = f64::MAX;
        for _ in 0..5 {
            let started = Instant::now();
            let found: usize = queries.iter().map(|&query| tables.near(query).len()).sum();
            black_box(found);
            best = best.min(started.elapsed().as_secs_f64() * 1e9 / queries.len() as f64);
        }
        let name = format!("{}{}", plan.name, if plan.packed { " p" } else { "" });
        println!(
            "{name:<14} {:>10.0} {best:>10.0} {:>6.2} {:>12.1} {:>12.1} {:>12.1} {:>12.1}",
            plan.nanoseconds,
            plan.nanoseconds / best,
            plan.bytes_per_fingerprint,
            tables.bytes() as f64 / tables.len() as f64,
            plan.candidates,
            queries.iter().map(|&query| tables.candidates(query)).sum::<u64>() as f64
                / queries.len() as f64,
        );
    }
}
