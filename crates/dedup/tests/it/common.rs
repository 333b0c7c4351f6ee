//! Synthetic documents.

use hapax_dedup::{Document, Numbers, Sketch, mix64};

/// Returns a document of 200 synthetic tokens, `changed` of which are unique to it.
pub(crate) fn document(key: &[u8], family: u64, changed: u64) -> Document<'_> {
    let own = u64::from(crc(key)) << 32;
    let tokens: Vec<u64> =
        (0..200).map(|i| mix64(if i < changed { own + i } else { family * 1000 + i })).collect();
    let mut simhash = hapax_dedup::Simhash::new();
    tokens.iter().for_each(|&token| simhash.add(token, 1));
    Document {
        key,
        fingerprint: simhash.finish(),
        digest: Some({
            let sum = tokens.iter().fold(0u64, |sum, &t| mix64(sum ^ t));
            (u128::from(sum) | 1 << 100).to_le_bytes()
        }),
        sketch: Sketch::from_hashes(tokens.windows(3).map(|w| mix64(w[0] ^ w[1] << 1 ^ w[2] << 2))),
        tokens: 200,
        site: family,
        names: [0; 2],
        numbers: Numbers::NONE,
        time: 0,
    }
}

fn crc(bytes: &[u8]) -> u32 {
    bytes.iter().fold(7, |sum: u32, &b| sum.wrapping_mul(31).wrapping_add(u32::from(b)))
}
