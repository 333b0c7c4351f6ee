//! `crawl duplicates export --feed` and `import`: what was found, for other crawls. docs/feed.md says
//! every byte.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;
use hapax_frontier::{DiskFrontier, Frontier, UrlLimits, normalize};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use url::Url;

use crate::crawl::{CLAIM, HASH, TRUST};
use crate::data::{DataDir, must_exist};
use crate::duplicates::Rows;
use crate::exit::{COMPLETE, USAGE, coded};
use crate::output::number;

/// The version of the format.
const VERSION: u32 = 1;
/// A longer line is no feed.
const MAX_LINE: usize = 64 << 10;
/// Claims taken from one feed.
const MAX_ENTRIES: u64 = 50_000_000;
/// Claims that are made durable at a time.
const GROUP: u64 = 50_000;

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

/// Writes what was found, by host, and beside it a filter of the URLs.
pub(super) fn export(file: &Path, data: &Path, quiet: bool) -> Result<u8> {
    must_exist(data)?;
    let rows = Rows::open(data)?;
    let settings = crate::data::saved(data)?.unwrap_or_default().settings;
    let mut hosts: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for row in rows.discarded().filter(|row| row.kind != 3) {
        hosts.entry(rows.host(row)).or_default().push(row);
    }
    let name = || file.display().to_string();
    let out = BufWriter::new(File::create(file).with_context(name)?);
    let mut out =
        Hashing { inner: GzEncoder::new(out, Compression::default()), hash: Sha256::new() };
    let head = Head {
        format: "hapax-feed".into(),
        version: VERSION,
        recipe: settings.recipe()?.name().to_owned(),
        created: hapax_fetch::warc::format_time(std::time::SystemTime::now()),
    };
    out.line(&head)?;
    let (mut entries, mut keys) = (0u64, Vec::new());
    for (host, rows_of_host) in &hosts {
        out.line(&Line::Host { host: (*host).to_owned() })?;
        for row in rows_of_host {
            let entry = rows.entry(row)?;
            let is_web = |url: &str| url.starts_with("http://") || url.starts_with("https://");
            if !is_web(&entry.url) || !is_web(&entry.of.url) {
                continue;
            }
            keys.push(HASH.hash(entry.url.as_bytes()));
            out.line(&Line::Entry {
                url: entry.url,
                of: entry.of.url,
                kind: entry.kind,
                fingerprint: entry.fingerprint,
                date: entry.time,
            })?;
            entries += 1;
        }
    }
    let sha256 = hex(&out.hash.clone().finalize());
    out.line(&Line::End { sha256, entries })?;
    out.inner.finish().and_then(BufWriter::into_inner_flushed).with_context(name)?;
    let filter = PathBuf::from(format!("{}.filter", file.display()));
    std::fs::write(&filter, Filter::of(&keys).to_bytes())
        .with_context(|| filter.display().to_string())?;
    if !quiet {
        writeln!(
            std::io::stdout(),
            "{} and its filter hold {} duplicates of {} hosts",
            file.display(),
            number(entries),
            number(hosts.len() as u64)
        )?;
    }
    Ok(COMPLETE)
}

/// What a stream wrote, whole and on disk.
trait IntoInnerFlushed {
    fn into_inner_flushed(self) -> std::io::Result<()>;
}

impl IntoInnerFlushed for BufWriter<File> {
    fn into_inner_flushed(self) -> std::io::Result<()> {
        self.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()
    }
}

/// Hashes what it writes.
struct Hashing<W> {
    inner: W,
    hash: Sha256,
}

impl<W: Write> Hashing<W> {
    fn line(&mut self, line: &impl Serialize) -> Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        self.hash.update(&bytes);
        self.inner.write_all(&bytes)?;
        Ok(())
    }
}

/// Takes a feed in: the next crawl leaves out what it says, but for checks.
pub(super) fn import(file: &Path, data: &Path, quiet: bool) -> Result<u8> {
    // All of it is held against its digest before any of it is believed.
    let entries = read(file, |_, _| Ok(()))?;
    let folder = DataDir::open(data)?;
    let frontier = DiskFrontier::open(&folder.frontier(), hapax_frontier::Options::default())?;
    let payload = frontier.payload()?;
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // The name stands in log lines, before a colon.
    let name: String =
        name.chars().map(|c| if c == ':' || c.is_control() { '_' } else { c }).collect();
    let mut taken = 0u64;
    read(file, |url, of| {
        let normal = |text: &str| {
            let url = Url::parse(text).ok()?;
            normalize(&url, &UrlLimits::default()).ok()
        };
        if let (Some(url), Some(of)) = (normal(url), normal(of))
            && url != of
        {
            frontier.note(url.as_str(), CLAIM, format!("{name}\n{of}").into_bytes());
            taken += 1;
            if taken.is_multiple_of(GROUP) {
                frontier.commit(&payload)?;
            }
        }
        Ok(())
    })?;
    frontier.note(&name, TRUST, b"{\"checks\":0,\"failed\":0}".to_vec());
    frontier.commit(&payload)?;
    if !quiet {
        writeln!(
            std::io::stdout(),
            "{} of {} claims are taken in; the next crawl here leaves those pages out, and fetches one in 20 as a check",
            number(taken),
            number(entries)
        )?;
    }
    Ok(COMPLETE)
}

/// Reads a feed to its end, and checks its digest; `visit` gets URL and survivor.
fn read(file: &Path, mut visit: impl FnMut(&str, &str) -> Result<()>) -> Result<u64> {
    let name = file.display();
    let wrong = |number: u64, what: &str| coded(USAGE, format!("{name}, line {number}: {what}"));
    let opened = File::open(file).map_err(|error| coded(USAGE, format!("{name}: {error}")))?;
    let mut input = BufReader::new(MultiGzDecoder::new(BufReader::new(opened)));
    let (mut hash, mut entries, mut count) = (Sha256::new(), 0u64, 0u64);
    let mut line = Vec::new();
    loop {
        line.clear();
        count += 1;
        let read = (&mut input).take(MAX_LINE as u64).read_until(b'\n', &mut line);
        read.map_err(|error| wrong(count, &format!("it cannot be unpacked: {error}")))?;
        if !line.ends_with(b"\n") {
            return Err(wrong(
                count,
                "it ends here, or the line is too long: the feed is cut or no feed",
            ));
        }
        if count == 1 {
            let head: Head =
                serde_json::from_slice(&line).map_err(|_| wrong(1, "this is no feed"))?;
            if head.format != "hapax-feed" || head.version != VERSION {
                return Err(wrong(
                    1,
                    &format!(
                        "a feed of {} {}; this program reads hapax-feed {VERSION}",
                        head.format, head.version
                    ),
                ));
            }
        } else {
            match serde_json::from_slice(&line).map_err(|error| wrong(count, &error.to_string()))? {
                Line::End { sha256, entries: said } => {
                    if sha256 != hex(&hash.finalize()) || said != entries {
                        return Err(wrong(
                            count,
                            "the digest does not match: the feed was changed or damaged",
                        ));
                    }
                    return Ok(entries);
                }
                Line::Entry { url, of, .. } => {
                    entries += 1;
                    if entries > MAX_ENTRIES {
                        return Err(wrong(count, "too many claims"));
                    }
                    visit(&url, &of)?;
                }
                Line::Host { .. } => {}
            }
        }
        hash.update(&line);
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A Bloom filter of the feed's URLs: who asks it first rarely looks into the feed in vain.
///
/// # References
/// B. H. Bloom, "Space/time trade-offs in hash coding with allowable errors", 1970; A. Kirsch and
/// M. Mitzenmacher, "Less hashing, same performance", 2006.
struct Filter {
    bits: Vec<u8>,
}

/// Bits of a URL, and how many of them are set: 0.8 % of other URLs are taken for one.
const BITS: usize = 10;
const HASHES: u64 = 7;

impl Filter {
    fn of(keys: &[u64]) -> Self {
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

    fn to_bytes(&self) -> Vec<u8> {
        let mut out = b"HAPXBLM1".to_vec();
        out.extend(HASHES.to_le_bytes());
        out.extend((self.bits.len() as u64).to_le_bytes());
        out.extend(&self.bits);
        out
    }

    #[cfg(test)]
    fn holds(&self, key: u64) -> bool {
        self.places(key).all(|at| self.bits[at / 8] & (1 << (at % 8)) != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_forgets_none_and_invents_few() {
        let key = |n: u32| HASH.hash(format!("http://a.example/{n}").as_bytes());
        let keys: Vec<u64> = (0..20_000).map(key).collect();
        let filter = Filter::of(&keys);
        assert!(keys.iter().all(|&key| filter.holds(key)));
        let wrong = (20_000..40_000).filter(|&n| filter.holds(key(n))).count();
        assert!(wrong < 300, "{wrong} of 20,000");
        assert_eq!(filter.to_bytes().len(), 24 + 25_000);
        assert!(!Filter::of(&[]).holds(7));
    }
}
