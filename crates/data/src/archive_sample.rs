//! A sample of an archive's pages, for calibration.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use hapax_extract::Recipe;
use hapax_page::{Evidence, HASH};
use hapax_warc::{Reader, Record};
use url::Url;

use crate::archived::{MAX_RECORD, page_of_record};
use crate::calibration::CalibrationPage;
use crate::error::{Result, unreadable};
use crate::files::open_stored;

/// The pages of a sample, and what was left out.
#[derive(Debug, Default)]
pub struct ArchiveSample {
    /// The pages, by the hash of their URLs.
    pub pages: Vec<CalibrationPage>,
    /// Thin pages, and records without a body.
    pub without: usize,
    /// Damaged files, with the error.
    pub unreadable: Vec<String>,
}

/// Returns at most `limit` pages of the archive in a folder: those with the lowest hashes of their URLs, so that each
/// page has the same chance and the sample is the same on every run.
///
/// # Errors
/// The folder cannot be read.
///
/// # Complexity
/// Reads the archive once. Extracts about `limit` times the logarithm of (pages / `limit`) pages.
pub fn sample_archive(folder: &Path, limit: usize, recipe: Recipe) -> Result<ArchiveSample> {
    let entries = std::fs::read_dir(folder).map_err(|error| unreadable(folder, &error))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.to_string_lossy().ends_with(".warc.gz"));
    files.sort();
    let mut sample = ArchiveSample::default();
    let mut lowest: BTreeMap<(u64, String), Option<CalibrationPage>> = BTreeMap::new();
    for path in &files {
        let opened = open_stored(path).and_then(|file| Reader::new(file, MAX_RECORD));
        let mut records = match opened {
            Ok(records) => records,
            Err(error) => {
                sample.unreadable.push(format!("{}: {error}", path.display()));
                continue;
            }
        };
        loop {
            match records.next_record() {
                Ok(Some(record)) => add(&record, limit, recipe, &mut lowest),
                Ok(None) => break,
                Err(error) => {
                    sample.unreadable.push(format!("{}: {error}", path.display()));
                    if !records.resync().is_ok_and(|found| found) {
                        break;
                    }
                }
            }
        }
    }
    sample.without = lowest.values().filter(|page| page.is_none()).count();
    sample.pages = lowest.into_values().flatten().collect();
    Ok(sample)
}

fn add(
    record: &Record,
    limit: usize,
    recipe: Recipe,
    lowest: &mut BTreeMap<(u64, String), Option<CalibrationPage>>,
) {
    let kind = record.header("warc-type").unwrap_or_default();
    let is_page = matches!(kind, "response" | "resource" | "revisit");
    let url = record.header("warc-target-uri").and_then(|url| Url::parse(url).ok());
    let Some(url) = url.filter(|_| is_page) else { return };
    let key = (HASH.hash(url.as_str().as_bytes()), url.to_string());
    if lowest.len() >= limit && lowest.last_key_value().is_some_and(|(last, _)| *last < key) {
        return;
    }
    let page = page_of_record(record, &url)
        .and_then(|(document, _)| CalibrationPage::of(&Evidence::of(&document, recipe)));
    // The archive may have several versions of a page, and revisits without a body.
    if page.is_some() || !lowest.contains_key(&key) {
        lowest.insert(key, page);
    }
    if lowest.len() > limit {
        lowest.pop_last();
    }
}
