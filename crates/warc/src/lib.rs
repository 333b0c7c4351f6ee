#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test may panic"))]

mod arc;
mod head;
mod location;
mod member;
mod members;
mod overwrite;
mod packed;
mod reader;
mod resync;
mod time;
mod writer;

pub use hapax_fetch::{HttpParts, http_parts};
pub use location::{Location, file_name};
pub use members::{Member, Members};
pub use overwrite::overwrite;
pub use packed::{Packed, Packer};
pub use reader::{Reader, Record, read_at};
pub use time::{format_time, parse_date, parse_time};
pub use writer::{
    NEAR_DUPLICATE_FIELD, NEAR_DUPLICATE_PROFILE, RecordKind, RefersTo, WarcOptions, Writer,
};

use sha1::{Digest, Sha1};

/// Returns `sha1:` and the digest in base32, the usual format of crawlers.
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
mod tests;
