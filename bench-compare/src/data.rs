//! Test sets, the same on every machine.

use hapax_dedup::{Fingerprint, Plain, mix64};

/// Words of a passage, and words from the start of one passage to the next.
const PASSAGE: usize = 120;
const STEP: usize = 2;

/// Returns fingerprints of overlapping passages of texts: neighbours are similar, and buckets differ in size.
pub fn passages(texts: &[String]) -> Vec<u64> {
    let mut plain = Plain::default();
    let mut stored = Vec::new();
    for text in texts {
        let starts: Vec<usize> = text.split_whitespace().map(|word| word.as_ptr() as usize - text.as_ptr() as usize).collect();
        for words in starts.windows(PASSAGE + 1).step_by(STEP) {
            stored.push(plain.fingerprint(&text[words[0]..words[PASSAGE]]).bits());
        }
    }
    stored
}

/// Returns fingerprints: 95 % uniform random, 5 % at distance 1 to 6 from an earlier one. Some may repeat.
pub fn stored(count: usize) -> Vec<u64> {
    let mut stored: Vec<u64> = Vec::with_capacity(count);
    for i in 0..count as u64 {
        let random = mix64(i + 1);
        let planted = i > 0 && random % 20 == 0;
        let earlier = |random: u64| stored[(random >> 8) as usize % stored.len()];
        let value = if planted { flip(earlier(random), mix64(random), 1 + (random >> 5) % 6) } else { random };
        stored.push(value);
    }
    stored
}

/// Returns queries: half uniform random, half at distance 0 to `distance + 2` from a stored fingerprint.
pub fn queries(stored: &[u64], count: usize, distance: u32) -> Vec<Fingerprint> {
    let of = |i: u64| {
        let random = mix64(i + (1 << 40));
        if i % 2 == 0 {
            random
        } else {
            flip(stored[(random >> 8) as usize % stored.len()], mix64(random), random % u64::from(distance + 3))
        }
    };
    (0..count as u64).map(|i| Fingerprint::from_bits(of(i))).collect()
}

fn flip(bits: u64, seed: u64, count: u64) -> u64 {
    (0..count).fold(bits, |bits, i| bits ^ 1 << (mix64(seed ^ i) % 64))
}
