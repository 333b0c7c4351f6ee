//! WARC 1.1 (ISO 28500:2017): what was fetched, in files that other tools read.

mod http;
mod member;
mod reader;
mod resync;
mod writer;

pub use http::{HttpParts, http_parts};
pub use reader::{Reader, Record, read_at};
pub use writer::{
    Location, NEAR_DUPLICATE_PROFILE, RecordKind, RefersTo, WarcOptions, Writer, format_time,
    parse_time,
};

use sha1::{Digest, Sha1};

/// `sha1:` and the digest in base32, as crawlers write it.
pub fn payload_digest(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let digest = Sha1::digest(bytes);
    let mut text = String::from("sha1:");
    // 20 bytes are 32 groups of five bits.
    for group in digest.chunks(5) {
        let bits = group.iter().fold(0u64, |bits, &byte| bits << 8 | u64::from(byte));
        for index in (0..8).rev() {
            let five = (bits >> (index * 5) & 31) as usize;
            text.push(ALPHABET.get(five).map_or('A', |&b| char::from(b)));
        }
    }
    text
}

#[cfg(test)]
#[path = "../warc_tests.rs"]
mod tests;
