//! `crawl duplicates export --feed` and `import`: duplicates for other crawls.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;
use hapax_page::HASH;

use crate::exit::{COMPLETE, USAGE, coded};
use crate::output::{counted, number};
use hapax_crawl::FeedImport;
use hapax_data::files::NewFile;
use hapax_data::{FeedWriter, Rows, UrlFilter, WholeFeed, must_hold_pages, read_feed};

/// Characters of a feed's digest that identify the import of a claim.
const IMPORT: usize = 16;

/// Writes the duplicates by host, and a filter of the URLs.
pub(super) fn export(file: &Path, data: &Path, quiet: bool) -> Result<u8> {
    must_hold_pages(data)?;
    let rows = Rows::open(data)?;
    let settings = crate::data::saved(data)?.unwrap_or_default().settings;
    let mut hosts: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    // Other crawls cannot fetch the pages of a reference, and a part is not the same page.
    for row in rows.discarded().filter(|r| !r.is_alias() && !r.is_against() && !r.is_part()) {
        hosts.entry(rows.host(row)).or_default().push(row);
    }
    let name = || file.display().to_string();
    let out = BufWriter::new(NewFile::create(file).with_context(name)?);
    let created = hapax_warc::format_time(std::time::SystemTime::now());
    let out = GzEncoder::new(out, Compression::default());
    let mut out = FeedWriter::new(out, settings.recipe()?.name(), created)?;
    let mut keys = Vec::new();
    for (host, rows_of_host) in &hosts {
        out.host(host)?;
        for row in rows_of_host {
            let entry = rows.entry(row)?;
            let is_web = |url: &str| url.starts_with("http://") || url.starts_with("https://");
            if !is_web(&entry.url) || !is_web(&entry.of.url) {
                continue;
            }
            keys.push(HASH.hash(entry.url.as_bytes()));
            out.entry(
                entry.url,
                entry.of.url,
                entry.kind.to_string(),
                entry.fingerprint,
                entry.time,
            )?;
        }
    }
    let (out, entries) = out.finish()?;
    out.finish().and_then(BufWriter::into_inner_flushed).with_context(name)?;
    let filter = PathBuf::from(format!("{}.filter", file.display()));
    NewFile::create(&filter)
        .and_then(|mut out| {
            out.write_all(&UrlFilter::of(&keys).to_bytes())?;
            out.finish()
        })
        .with_context(|| filter.display().to_string())?;
    if !quiet {
        writeln!(
            std::io::stdout(),
            "{} and its filter hold {} of {}",
            file.display(),
            counted(entries, "duplicate"),
            counted(hosts.len() as u64, "host")
        )?;
    }
    Ok(COMPLETE)
}

/// Flushes and syncs a written stream.
trait IntoInnerFlushed {
    fn into_inner_flushed(self) -> std::io::Result<()>;
}

impl IntoInnerFlushed for BufWriter<NewFile> {
    fn into_inner_flushed(self) -> std::io::Result<()> {
        let out = self.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        out.sync()?;
        out.finish()
    }
}

/// Imports a feed: the next crawl skips the claimed duplicates, except those it checks.
pub(super) fn import(file: &Path, data: &Path, quiet: bool) -> Result<u8> {
    // Verify the digest before any claim is stored. The file may change until the second reading, so the claims count
    // only if that finds the same digest.
    let first = read(file, |_, _| Ok(()))?;
    let import = first.sha256.get(..IMPORT).unwrap_or_default();
    let folder = crate::data::open(data)?;
    let settings = crate::data::saved(data)?.unwrap_or_default().settings;
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut claims = FeedImport::begin(folder, settings.config()?, &name, import)?;
    let second = read(file, |url, of| Ok(claims.claim(url, of)?))?;
    if second != first {
        return Err(coded(
            USAGE,
            format!("{}: the file changed during the import. Import it again", file.display()),
        ));
    }
    let taken = claims.finish()?;
    if !quiet {
        writeln!(
            std::io::stdout(),
            "imported {} of {} claims. The next crawl skips these pages. It verifies the feed by one page of \
             each host, then by one in 20",
            number(taken),
            number(first.entries)
        )?;
    }
    Ok(COMPLETE)
}

/// Reads a compressed feed to its end and calls `visit` with each URL and its kept page.
fn read(file: &Path, visit: impl FnMut(&str, &str) -> Result<()>) -> Result<WholeFeed> {
    let name = file.display().to_string();
    let opened = File::open(file).map_err(|error| coded(USAGE, format!("{name}: {error}")))?;
    read_feed(BufReader::new(MultiGzDecoder::new(BufReader::new(opened))), &name, visit)
}
