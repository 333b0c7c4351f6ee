//! The file format of feeds, see docs/feed.md.

use std::io::{BufRead, Read, Write};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

const VERSION: u32 = 1;
const MAX_LINE: usize = 64 << 10;
/// Most lines of hosts in one feed, and longest host in bytes.
const MAX_HOSTS: u64 = 1_000_000;
const MAX_HOST: usize = 300;
/// Most bytes of a decompressed feed.
const MAX_BYTES: u64 = 16 << 30;
const MAX_ENTRIES: u64 = 50_000_000;

#[derive(Debug, Serialize, Deserialize)]
struct Head {
    format: String,
    version: u32,
    recipe: String,
    created: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Line {
    End { sha256: String, entries: u64 },
    Entry { url: String, of: String, kind: String, fingerprint: Option<String>, date: String },
    Host { host: String },
}

/// Writes a feed, and hashes what it writes.
#[derive(Debug)]
pub struct FeedWriter<W> {
    inner: W,
    hash: Sha256,
    entries: u64,
}

impl<W: Write> FeedWriter<W> {
    /// Begins a feed of pages with fingerprints of this recipe. `created` is a time in RFC 3339.
    ///
    /// # Errors
    /// From the output.
    pub fn new(inner: W, recipe: &str, created: String) -> Result<Self> {
        let mut writer = Self { inner, hash: Sha256::new(), entries: 0 };
        writer.line(&Head {
            format: "hapax-feed".into(),
            version: VERSION,
            recipe: recipe.to_owned(),
            created,
        })?;
        Ok(writer)
    }

    /// Begins the duplicates of a host.
    ///
    /// # Errors
    /// From the output.
    pub fn host(&mut self, host: &str) -> Result<()> {
        self.line(&Line::Host { host: host.to_owned() })
    }

    /// Adds a duplicate: `url` has the text of `of`.
    ///
    /// # Errors
    /// From the output.
    pub fn entry(
        &mut self,
        url: String,
        of: String,
        kind: String,
        fingerprint: Option<String>,
        date: String,
    ) -> Result<()> {
        self.entries += 1;
        self.line(&Line::Entry { url, of, kind, fingerprint, date })
    }

    /// Writes the digest. Returns the output and the number of entries.
    ///
    /// # Errors
    /// From the output.
    pub fn finish(mut self) -> Result<(W, u64)> {
        let sha256 = hex(&self.hash.clone().finalize());
        self.line(&Line::End { sha256, entries: self.entries })?;
        Ok((self.inner, self.entries))
    }

    fn line(&mut self, line: &impl Serialize) -> Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        self.hash.update(&bytes);
        self.inner.write_all(&bytes)?;
        Ok(())
    }
}

/// The summary of a completely read feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WholeFeed {
    /// Number of its entries.
    pub entries: u64,
    /// The verified digest at its end.
    pub sha256: String,
}

/// Reads a decompressed feed to its end, and verifies its digest. Calls `visit` with each URL and the page that
/// represents it.
///
/// # Errors
/// [`Error::Invalid`] with `name` and line if the feed is truncated, changed or invalid; and errors of `visit`.
pub fn read_feed<E: From<Error>>(
    mut input: impl BufRead,
    name: &str,
    mut visit: impl FnMut(&str, &str) -> std::result::Result<(), E>,
) -> std::result::Result<WholeFeed, E> {
    let wrong =
        |number: u64, what: &str| E::from(Error::Invalid(format!("{name}, line {number}: {what}")));
    let (mut hash, mut entries, mut count) = (Sha256::new(), 0u64, 0u64);
    let (mut hosts, mut bytes) = (0u64, 0u64);
    let mut line = Vec::new();
    loop {
        line.clear();
        count += 1;
        let read = (&mut input).take(MAX_LINE as u64).read_until(b'\n', &mut line);
        read.map_err(|error| wrong(count, &format!("cannot decompress: {error}")))?;
        if !line.ends_with(b"\n") {
            return Err(wrong(count, "the feed is truncated, or this is not a feed"));
        }
        bytes += line.len() as u64;
        if bytes > MAX_BYTES {
            return Err(wrong(count, "larger than 16 GiB decompressed. Split the feed"));
        }
        if count == 1 {
            let head: Head = serde_json::from_slice(&line).map_err(|_| {
                wrong(1, "not a feed. Give a file written by `crawl duplicates export --feed`")
            })?;
            if head.format != "hapax-feed" || head.version != VERSION {
                return Err(wrong(
                    1,
                    &format!(
                        "format {} {}; this program reads hapax-feed {VERSION}. Export the feed with this version",
                        head.format, head.version
                    ),
                ));
            }
        } else {
            match serde_json::from_slice(&line).map_err(|error| wrong(count, &error.to_string()))? {
                Line::End { sha256, entries: said } => {
                    let found = hex(&hash.finalize());
                    if sha256 != found || said != entries {
                        return Err(wrong(
                            count,
                            "the digest does not match: the feed was changed or damaged",
                        ));
                    }
                    return Ok(WholeFeed { entries, sha256: found });
                }
                Line::Entry { url, of, .. } => {
                    entries += 1;
                    if entries > MAX_ENTRIES {
                        return Err(wrong(count, "too many claims"));
                    }
                    visit(&url, &of)?;
                }
                Line::Host { host } => {
                    hosts += 1;
                    if hosts > MAX_HOSTS {
                        return Err(wrong(count, "more than 1,000,000 hosts: split the feed"));
                    }
                    if host.len() > MAX_HOST {
                        return Err(wrong(count, "the name of a host is longer than 300 bytes"));
                    }
                }
            }
        }
        hash.update(&line);
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A Bloom filter of a feed's URLs, which avoids most searches for absent URLs.
///
/// Its file: `HAPXBLM1`, the number of hashes, the number of bytes (8 bytes each, little-endian), and those bytes.
/// Key `k` of a URL sets bit `(k >> 32) + i * (k as u32 | 1)` modulo the number of bits, for each hash `i`.
///
/// # References
/// B. H. Bloom, "Space/time trade-offs in hash coding with allowable errors", 1970; A. Kirsch and M. Mitzenmacher,
/// "Less hashing, same performance", 2006.
#[derive(Debug)]
pub struct UrlFilter {
    bits: Vec<u8>,
}

/// Bits per URL, and hashes: 0.8 % false positives.
const BITS: usize = 10;
const HASHES: u64 = 7;
const MAGIC: &[u8] = b"HAPXBLM1";

impl UrlFilter {
    /// Returns a filter of these keys: `hapax_page::HASH` of the URLs.
    pub fn of(keys: &[u64]) -> Self {
        let bytes = (keys.len() * BITS).div_ceil(8).max(8);
        let mut filter = Self { bits: vec![0; bytes] };
        for &key in keys {
            for at in filter.places(key) {
                if let Some(byte) = filter.bits.get_mut(at / 8) {
                    *byte |= 1 << (at % 8);
                }
            }
        }
        filter
    }

    fn places(&self, key: u64) -> impl Iterator<Item = usize> + use<> {
        let size = self.bits.len() as u64 * 8;
        let (one, two) = (key >> 32, (key & 0xffff_ffff) | 1);
        (0..HASHES).map(move |i| (one.wrapping_add(i.wrapping_mul(two)) % size) as usize)
    }

    /// Parses a filter's file.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it is truncated or invalid.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let wrong = || Error::Invalid("not a filter of a feed, or truncated".to_owned());
        let rest = bytes.strip_prefix(MAGIC).ok_or_else(wrong)?;
        let (hashes, rest) = rest.split_first_chunk().ok_or_else(wrong)?;
        let (length, bits) = rest.split_first_chunk().ok_or_else(wrong)?;
        let fits = u64::from_le_bytes(*hashes) == HASHES
            && u64::from_le_bytes(*length) == bits.len() as u64
            && !bits.is_empty();
        if fits { Ok(Self { bits: bits.to_owned() }) } else { Err(wrong()) }
    }

    /// Returns the filter's file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend(HASHES.to_le_bytes());
        out.extend((self.bits.len() as u64).to_le_bytes());
        out.extend(&self.bits);
        out
    }

    /// Returns whether a URL with this key may be in the feed. `false` is certain.
    pub fn holds(&self, key: u64) -> bool {
        let is_set =
            |at: usize| self.bits.get(at / 8).is_some_and(|byte| byte & (1 << (at % 8)) != 0);
        self.places(key).all(is_set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feed_round_trips_and_a_changed_byte_is_detected() {
        let mut writer =
            FeedWriter::new(Vec::new(), "words", "2026-01-01T00:00:00Z".into()).unwrap();
        writer.host("a.example").unwrap();
        for n in 0..3 {
            let (url, of) = (format!("http://a.example/{n}"), "http://a.example/".to_owned());
            writer.entry(url, of, "near".into(), None, "2026-01-01T00:00:00Z".into()).unwrap();
        }
        let (bytes, entries) = writer.finish().unwrap();
        assert_eq!(entries, 3);
        let mut seen = Vec::new();
        let count = read_feed::<Error>(bytes.as_slice(), "f", |url, _| {
            seen.push(url.to_owned());
            Ok(())
        });
        assert_eq!((count.unwrap().entries, seen.len()), (3, 3));
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(
                read_feed::<Error>(changed.as_slice(), "f", |_, _| Ok(())).is_err(),
                "byte {at}"
            );
            assert!(read_feed::<Error>(&bytes[..at], "f", |_, _| Ok(())).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn a_filter_forgets_none_and_invents_few() {
        let key = |n: u32| {
            let digest = Sha256::digest(format!("http://a.example/{n}").as_bytes());
            u64::from_le_bytes(*digest.first_chunk().unwrap())
        };
        let keys: Vec<u64> = (0..20_000).map(key).collect();
        let filter = UrlFilter::of(&keys);
        assert!(keys.iter().all(|&key| filter.holds(key)));
        let wrong = (20_000..40_000).filter(|&n| filter.holds(key(n))).count();
        assert!(wrong < 300, "{wrong} of 20,000");
        let bytes = filter.to_bytes();
        assert_eq!(bytes.len(), 24 + 25_000);
        let again = UrlFilter::from_bytes(&bytes).unwrap();
        assert!((0..40_000).all(|n| again.holds(key(n)) == filter.holds(key(n))));
        for cut in [0, 7, 20, bytes.len() - 1] {
            assert!(UrlFilter::from_bytes(&bytes[..cut]).is_err(), "{cut}");
        }
        assert!(!UrlFilter::of(&[]).holds(7));
    }
}
