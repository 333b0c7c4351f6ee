//! Fits the constants of the cost model (plan.rs) to measurements, and compares the model with them.
//!
//!   cargo bench -p hapax-dedup --bench cost [-- FINGERPRINTS...]      default 100000 1000000 10000000
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a benchmark"
)]

use std::hint::black_box;
use std::time::Instant;

use hapax_dedup::{
    BatchOptions, Fingerprint, Layout, Simd, TableOptions, Tables, find_each, mix64, plans,
};

fn main() {
    let counts: Vec<u64> = std::env::args().skip(1).filter_map(|arg| arg.parse().ok()).collect();
    let counts = if counts.is_empty() { vec![100_000, 1_000_000, 10_000_000] } else { counts };
    lines();
    searches(counts[0]);
    let (mut rows, mut packed, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
    for &count in &counts {
        against_measurement(count, 3, &mut rows, &mut packed);
    }
    for distance in [1, 6] {
        against_measurement(1_000_000, distance, &mut rows, &mut packed);
    }
    for count in counts.into_iter().filter(|count| *count >= 1_000_000) {
        [3, 6].iter().for_each(|&distance| batches(count, distance, &mut pairs));
    }
    println!("\nfitted, as plan.rs has them; how far off what it is fitted to, mean and most:");
    let costs = fit(&rows);
    // The packing factor is the measured time divided by the time of the same terms.
    let logs = packed.iter().map(|(terms, time)| (time / dot(terms, &costs)).ln());
    let factor = (logs.sum::<f64>() / packed.len().max(1) as f64).exp();
    println!("COSTS {costs:.2?} {}", off(&rows, &costs));
    println!("PACKED_FACTOR {factor:.2} {}", off(&packed, &costs.map(|cost| cost * factor)));
    let costs = fit(&pairs);
    println!("BATCH_COSTS {costs:.2?} {}", off(&pairs, &costs));
}

/// The model's terms, and measured nanoseconds.
type Row<const N: usize> = ([f64; N], f64);

fn dot<const N: usize>(terms: &[f64; N], costs: &[f64; N]) -> f64 {
    terms.iter().zip(costs).map(|(term, cost)| term * cost).sum()
}

/// Fits non-negative constants by least squares of the relative errors, one after the other until they converge.
fn fit<const N: usize>(rows: &[Row<N>]) -> [f64; N] {
    let mut costs = [0.0; N];
    for _ in 0..100_000 {
        for at in 0..N {
            let (mut above, mut below) = (0.0, 0.0);
            for (terms, time) in rows {
                let rest = dot(terms, &costs) - terms[at] * costs[at];
                above += terms[at] * (time - rest) / (time * time);
                below += terms[at] * terms[at] / (time * time);
            }
            costs[at] = f64::max(above / below, 0.0);
        }
    }
    costs
}

fn off<const N: usize>(rows: &[Row<N>], costs: &[f64; N]) -> String {
    let off = rows.iter().map(|(terms, time)| (dot(terms, costs) / time).ln().abs().exp());
    let (sum, most) = off.fold((0.0, 0.0), |(sum, most), off| (sum + off, f64::max(most, off)));
    format!("{:.2} x, {most:.2} x", sum / rows.len().max(1) as f64)
}

/// Measures all pairs of a batch in every plain layout with each supported instruction set. The constant of an
/// unsupported one results in 0.
fn batches(count: u64, distance: u32, rows: &mut Vec<Row<4>>) {
    let values: Vec<Fingerprint> = (0..count).map(|i| Fingerprint::from_bits(mix64(i))).collect();
    println!("\n{count} fingerprints, all pairs within {distance}: nanoseconds a value");
    let plain = |layout: &Layout| layout.leads().iter().all(|lead| lead.radius == 0);
    let plans = plans(count, distance, None).unwrap().into_iter();
    for plan in plans.filter(|plan| !plan.packed && plain(&plan.layout)) {
        let [tables, others] = plan.layout.batch_terms(count);
        // Takes minutes if buckets have thousands of values.
        if others > 20_000.0 {
            continue;
        }
        let kinds = [Simd::Avx512, Simd::Avx2, Simd::Portable];
        for (at, simd) in kinds.into_iter().enumerate().filter(|(_, simd)| *simd <= Simd::detect())
        {
            let mut best = f64::MAX;
            for _ in 0..3 {
                let started = Instant::now();
                let options = BatchOptions { simd, ..BatchOptions::default() };
                find_each(values.as_slice(), &plan.layout, &options, |_| {}, |_| {}).unwrap();
                best = best.min(started.elapsed().as_secs_f64() * 1e9 / count as f64);
            }
            println!("{:<14} {best:>10.0} of {tables} and {others:.0}, {simd:?}", plan.name);
            let mut terms = [tables, 0.0, 0.0, 0.0];
            terms[at + 1] = others;
            rows.push((terms, best));
        }
    }
}

/// Reads random lines of buffers of growing size, in huge pages, sixteen in flight.
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
                // The next group depends on this one, like the end of a query on its answers.
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

/// Compares ways to find the start of a lead in a sorted table: the directory of tables, and two searches from the
/// literature.
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
            // A window around the guess, widened on a miss.
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

fn against_measurement(
    count: u64,
    distance: u32,
    rows: &mut Vec<Row<6>>,
    packed: &mut Vec<Row<6>>,
) {
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
        if plan.packed { &mut *packed } else { &mut *rows }.push((plan.terms, best));
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
