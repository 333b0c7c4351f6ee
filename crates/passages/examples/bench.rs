//! Measures the search alone: `bench DOCUMENTS` makes documents of 500 words with planted copies, in memory, and prints
//! times and the peak of anonymous memory. `crates/data/examples/passages_bench.rs` measures a whole data directory.

use std::time::Instant;

use hapax_passages::{Error, Finder, Options, Shared};

const PARAGRAPHS: u64 = 7;
const PARAGRAPH: u64 = 65;
const NOTICE: u64 = 45;
const DOCUMENTS_OF_A_SITE: u64 = 1000;
const VOCABULARY: f64 = 60_000.0;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let argument = std::env::args().nth(1).ok_or("usage: bench DOCUMENTS")?;
    let documents = argument.parse::<f64>()? as u64;
    let start = Instant::now();
    let seconds = |what: &str| println!("{what}: {:.1} s", start.elapsed().as_secs_f64());
    let mut finder = Finder::new(&std::env::temp_dir(), Options::default())?;
    let mut words = Vec::new();
    for document in 0..documents {
        words.clear();
        text(document, &mut words);
        finder.add(&words)?;
    }
    seconds("added");
    let found = finder.find()?;
    seconds("found");
    let (mut near, mut parts) = (0, 0);
    found.pairs(|shared| {
        match shared {
            Shared::Near(_) => near += 1,
            Shared::Part(_) => parts += 1,
        }
        Ok::<_, Error>(())
    })?;
    seconds("compared");
    let passages = found.passages().len();
    println!("{passages} passages, {near} near pairs, {parts} parts; {:?}", found.totals());
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let memory =
        status.lines().filter(|line| line.starts_with("VmHWM") || line.starts_with("RssAnon"));
    memory.for_each(|line| println!("{line}"));
    Ok(())
}

/// A deterministic number of a seed and a position (splitmix64).
fn random(seed: u64, at: u64) -> u64 {
    let number = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ at.wrapping_mul(0xd1b5_4a32_d192_ed03);
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

fn paragraph(seed: u64, count: u64, changed: bool, into: &mut Vec<u64>) {
    into.extend((0..count).map(|at| {
        let at = at + u64::from(changed && at % 25 == 12);
        let uniform = (random(seed, at) >> 11) as f64 / (1u64 << 53) as f64;
        // Small numbers are frequent, as in a language.
        random(VOCABULARY.powf(uniform) as u64, 7)
    }));
}

/// Of 100 documents, ten contain a paragraph of an earlier one, five a changed one, and two are the beginning of one.
fn text(document: u64, into: &mut Vec<u64>) {
    let from = random(document, 1 << 41) % document.max(1);
    let kind = random(document, 1 << 40) % 100;
    let of = |document: u64, number: u64| document * PARAGRAPHS + number;
    if kind >= 98 {
        return (0..3).for_each(|number| paragraph(of(from, number), PARAGRAPH, false, into));
    }
    for number in 0..PARAGRAPHS {
        let seed = if number == 4 && kind < 15 { of(from, 2) } else { of(document, number) };
        paragraph(seed, PARAGRAPH, number == 4 && (10..15).contains(&kind), into);
    }
    paragraph(u64::MAX - document / DOCUMENTS_OF_A_SITE, NOTICE, false, into);
}
