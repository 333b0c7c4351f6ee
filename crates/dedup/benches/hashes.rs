//! Compares the feature hashes on words of real texts: speed, evenness of the bits, and quality of the fingerprints.
//!
//!   cargo bench -p hapax-dedup --bench hashes -- FOLDER      files of UTF-8 text; made-up words without
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a benchmark"
)]

use std::collections::BTreeSet;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use hapax_dedup::{FeatureHash, Fingerprint, Simhash, mix64};

fn main() {
    let mut text = String::new();
    for folder in std::env::args().skip(1).filter(|arg| !arg.starts_with('-')) {
        read(Path::new(&folder), &mut text);
    }
    if text.is_empty() {
        text = (0..200_000u64).map(|i| format!("w{:x} ", mix64(i) % 30_000)).collect();
    }
    let words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let distinct: Vec<&String> = words.iter().collect::<BTreeSet<_>>().into_iter().collect();
    println!("{} words, {} distinct", words.len(), distinct.len());
    println!(
        "{:<16} {:>8} {:>10} {:>10} {:>12} {:>12} {:>12}",
        "hash", "M/s", "worst bit", "mean bit", "unrelated", "deviation", "2 % changed"
    );
    for hash in FeatureHash::ALL {
        let started = Instant::now();
        for _ in 0..5 {
            black_box(words.iter().fold(0, |sum, word| sum ^ hash.hash(word.as_bytes())));
        }
        let rate = 5.0 * words.len() as f64 / started.elapsed().as_secs_f64() / 1e6;
        // The deviation of each bit from one half over the distinct words, in standard errors.
        let mut set = [0u64; 64];
        for word in &distinct {
            let bits = hash.hash(word.as_bytes());
            (0..64).for_each(|bit| set[bit] += bits >> bit & 1);
        }
        let error = (distinct.len() as f64).sqrt() / 2.0;
        let off = set.map(|count| (count as f64 - distinct.len() as f64 / 2.0).abs() / error);
        let worst = off.iter().fold(0.0, |a: f64, b| a.max(*b));
        let mean = off.iter().sum::<f64>() / 64.0;
        // Fingerprints of 200 words: unrelated ones should be 32 bits apart, with a deviation of 4.
        let of = |piece: &[String], change: u64| {
            let mut simhash = Simhash::new();
            for (place, word) in piece.iter().enumerate() {
                let changed = change > 0 && mix64(place as u64 ^ change << 32).is_multiple_of(50);
                let word = if changed {
                    format!("changed{}", mix64(change ^ place as u64))
                } else {
                    word.clone()
                };
                simhash.add(hash.hash(word.as_bytes()), 1);
            }
            simhash.finish()
        };
        let pieces: Vec<&[String]> = words.chunks_exact(200).step_by(7).take(1500).collect();
        let fingerprints: Vec<Fingerprint> = pieces.iter().map(|piece| of(piece, 0)).collect();
        let mut apart = Vec::new();
        for (number, a) in fingerprints.iter().enumerate() {
            apart.extend(fingerprints[number + 1..].iter().map(|b| f64::from(a.distance(*b))));
        }
        let average = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let middle = average(&apart);
        let deviation =
            average(&apart.iter().map(|d| (d - middle).powi(2)).collect::<Vec<_>>()).sqrt();
        let changed: Vec<f64> = pieces
            .iter()
            .zip(&fingerprints)
            .zip(1..)
            .map(|((piece, whole), change)| f64::from(whole.distance(of(piece, change))))
            .collect();
        println!(
            "{:<16} {rate:>8.0} {worst:>10.2} {mean:>10.2} {middle:>12.2} {deviation:>12.2} {:>12.2}",
            hash.name(),
            average(&changed)
        );
    }
    println!("worst and mean bit: standard errors from even; by chance about 2.5 and 0.8");
}

fn read(path: &Path, text: &mut String) {
    if path.is_dir() {
        let mut entries: Vec<_> =
            std::fs::read_dir(path).unwrap().map(|e| e.unwrap().path()).collect();
        entries.sort();
        entries.iter().for_each(|entry| read(entry, text));
    } else if let Ok(more) = std::fs::read_to_string(path) {
        text.push_str(&more);
        text.push('\n');
    }
}
