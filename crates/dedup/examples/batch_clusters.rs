//! Finds the clusters of a whole set of fingerprints.
//!
//!   cargo run --release -p hapax-dedup --example batch_clusters
#![expect(clippy::print_stdout, reason = "an example talks")]

use hapax_dedup::{Fingerprint, Layout, find_clusters, mix64};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // 100,000 fingerprints; each tenth has a neighbour two bits away.
    let mut fingerprints: Vec<Fingerprint> = Vec::new();
    for number in 0..100_000 {
        let bits = mix64(number + 1);
        fingerprints.push(Fingerprint::from_bits(bits));
        if number % 10 == 0 {
            fingerprints.push(Fingerprint::from_bits(bits ^ 0b101));
        }
    }
    let clusters = find_clusters(&fingerprints, &Layout::for_batch(fingerprints.len() as u64, 3)?)?;
    println!("{} fingerprints, {} clusters", fingerprints.len(), clusters.len());
    Ok(())
}
