//! Compares fingerprints of 32, 64 and 128 bits: labelled pairs that they find, and unrelated pages that they match
//! by chance.
//!
//!   cargo bench -p hapax-dedup --bench width -- DOCS.jsonl TEXTS.jsonl
//!
//! The first file has `id` and `cluster` per line, the second `id` and `text` (or `main`). The features are words, or
//! three consecutive words, weighted by frequency. A pair is two pages of one cluster, and all pairs are compared.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a benchmark"
)]

use std::collections::HashMap;

use hapax_dedup::{FeatureHash, Simhash, mix64};
use serde_json::Value;

const WIDTHS: [u32; 3] = [32, 64, 128];

fn main() {
    let files: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let lines = |file: &String| -> Vec<Value> {
        let text = std::fs::read_to_string(file).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    if let [docs, texts] = files.as_slice() {
        let of = |line: &Value, key: &str| line[key].as_str().unwrap_or_default().to_owned();
        let clusters: HashMap<String, String> =
            lines(docs).iter().map(|doc| (of(doc, "id"), of(doc, "cluster"))).collect();
        let texts = lines(texts);
        for shingle in [1, 3] {
            let page = |line: &Value| {
                let text = line["text"].as_str().or(line["main"].as_str()).unwrap_or_default();
                (wide(text, shingle), clusters[&of(line, "id")].clone())
            };
            println!("{} pages, shingles of {shingle} words", texts.len());
            found(&texts.iter().map(page).collect::<Vec<_>>());
        }
    }
    chance();
}

fn wide(text: &str, shingle: usize) -> u128 {
    let mut halves = [Simhash::new(), Simhash::new()];
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(str::to_lowercase).collect();
    for shingle in words.windows(shingle) {
        let hash = FeatureHash::Fnv1aMix.hash(shingle.join(" ").as_bytes());
        halves[0].add(hash, 1);
        halves[1].add(mix64(hash ^ 0x9e37_79b9_7f4a_7c15), 1);
    }
    let [high, low] = halves.map(|half| u128::from(half.finish().bits()));
    high << 64 | low
}

fn found(pages: &[(u128, String)]) {
    println!("{:>5} {:>3} {:>10} {:>8} {:>7}", "bits", "k", "precision", "recall", "F1");
    for width in WIDTHS {
        let mut counts = vec![[0u64; 2]; 129];
        for (number, (a, cluster)) in pages.iter().enumerate() {
            for (b, other) in &pages[number + 1..] {
                let apart = ((a ^ b) >> (128 - width)).count_ones() as usize;
                counts[apart][usize::from(cluster == other)] += 1;
            }
        }
        let all: u64 = counts.iter().map(|[_, same]| same).sum();
        let mut within = [0u64; 2];
        let rows = counts.iter().take(width as usize / 4 + 1).enumerate().map(|(k, [un, same])| {
            within = [within[0] + un, within[1] + same];
            let precision = within[1] as f64 / (within[0] + within[1]).max(1) as f64;
            let recall = within[1] as f64 / all.max(1) as f64;
            (k, precision, recall, 2.0 * precision * recall / (precision + recall).max(1e-9))
        });
        let rows: Vec<_> = rows.collect();
        let best = rows.iter().max_by(|a, b| a.3.total_cmp(&b.3)).unwrap();
        // The usual distance at this width, and the best one.
        for (k, precision, recall, f1) in [&rows[3 * width as usize / 64], best] {
            println!("{width:>5} {k:>3} {precision:>10.3} {recall:>8.3} {f1:>7.3}");
        }
    }
}

/// Prints the pairs by chance among unrelated pages with even and independent bits.
fn chance() {
    println!("pairs within the same share of bits (k = 3 of 64), by chance:");
    println!(
        "{:>5} {:>3} {:>12} {:>12} {:>12} {:>12}",
        "bits", "k", "10^4", "10^5", "10^6", "10^9"
    );
    for width in WIDTHS {
        for k in [3 * width / 64, 3] {
            let mut ball = 0.0;
            let mut choose = 1.0;
            for i in 0..=k {
                ball += choose;
                choose *= f64::from(width - i) / f64::from(i + 1);
            }
            let pairs = |pages: f64| pages * pages / 2.0 * ball / 2f64.powi(width as i32);
            let [a, b, c, d] = [1e4, 1e5, 1e6, 1e9].map(pairs);
            println!("{width:>5} {k:>3} {a:>12.3e} {b:>12.3e} {c:>12.3e} {d:>12.3e}");
        }
    }
}
