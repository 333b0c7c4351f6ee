//! `crawl upgrade`: replaces what earlier versions stored, computed from the stored texts.
//!
//! A digest is replaced only if the text has the former digest of the record: then it is the text that was compared.
//! Found digests are kept in a file until the store has them, so that a killed upgrade continues.

mod index;
mod inlinks;
mod sites;
mod texts;

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::Result;
use hapax_dedup::{Policy, Record, Store};
use hapax_extract::{Features, Recipe, features, jieba};
use hapax_index::Searcher;
use hapax_page::HASH;
use hapax_warc::Reader;
use url::Url;

use crate::commit::{Committer, Parts};
use crate::stats::Stats;
use hapax_data::Digests;
use hapax_data::files::{self, open_stored};
use hapax_data::{DataDir, unwritable};
use hapax_data::{MAX_RECORD, page_of_record};

/// Folder and file of the found digests, until the store has them.
const FOLDER: &str = "upgrade";
const FILE: &str = "digests";
/// Bytes of a row of the file: document number, digest, CRC-32 of both.
const ROW: usize = 28;
const SYNC_EVERY: usize = 4096;

/// The results of an upgrade.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Upgraded {
    /// Documents with the current digest, set by this run or by a killed one before.
    pub documents: u64,
    /// Kept pages without a stored text: they keep the former digest and are compared by it.
    pub without_text: u64,
    /// Discarded copies without a stored text. Nothing is compared with them.
    pub copies: u64,
    /// A file of the archive that cannot be read completely, and the error. The upgrade can be run again.
    pub damaged: Option<String>,
    /// Kept pages whose comparison text was added.
    pub texts: u64,
    /// Kept pages whose lines were counted for their site.
    pub sites: u64,
    /// Pages of the renewed index; 0 if the index is current.
    pub indexed: u64,
    /// URLs whose inlinks were found in the archive; 0 if they are complete, or without an archive.
    pub inlinks: u64,
    /// Nothing had to be done.
    pub was_current: bool,
}

/// Brings the data directory to the formats of this version, without requests.
///
/// # Complexity
/// Reads the index once, and the archive once if a kept page is not in the index, and once for inlinks. Takes about 40 bytes of memory for
/// each document. Rebuilds an index of an earlier version, with a look-up in the archive for each page.
pub fn upgrade(data: &DataDir, recipe: Recipe, policy: Policy) -> Result<Upgraded> {
    let mut result = upgrade_store(data, recipe, policy)?;
    result.indexed = index::renew(data)?;
    result.inlinks = inlinks::complete(data)?;
    result.was_current &= result.indexed == 0 && result.inlinks == 0;
    Ok(result)
}

fn upgrade_store(data: &DataDir, recipe: Recipe, policy: Policy) -> Result<Upgraded> {
    let parts = Parts {
        recipe,
        policy,
        warc: false,
        index: false,
        skips: false,
        shared: false,
        keep_duplicates: false,
        sites: true,
        against: Arc::default(),
        has_seeds: false,
    };
    let stats = Arc::new(Stats::default());
    let mut committer = Committer::open(data, &parts, None, stats)?;
    let mut result = Upgraded { texts: texts::add(&committer, data)?, ..Upgraded::default() };
    result.sites = sites::count(&mut committer)?;
    if !committer.digests().needs_upgrade() {
        result.was_current = result.texts == 0 && result.sites == 0;
        committer.close()?;
        // An upgrade that was killed at its end left it.
        Found::remove_folder(&data.root().join(FOLDER))?;
        return Ok(result);
    }
    let mut found = Found::open(&data.root().join(FOLDER))?;
    from_index(&committer, data, &mut found)?;
    if is_any_left(committer.store(), &found)? {
        result.damaged = from_archive(&committer, data, &mut found)?;
    }
    found.sync()?;
    result.documents = found.digests.len() as u64;
    let digests = std::mem::take(&mut found.digests);
    committer.store().replace_digests(move |id| digests.get(&id).copied())?;
    for record in committer.store().snapshot().records() {
        let record = record?;
        match is_former(&record) {
            true if record.indexed => result.without_text += 1,
            true => result.copies += 1,
            false => {}
        }
    }
    let left = result.without_text > 0;
    if !left {
        // The damage concerns no page, or only copies, which are never compared.
        result.damaged = None;
    }
    match (left, &result.damaged) {
        // Possible after the archive is repaired or those pages are fetched again.
        (true, Some(_)) => {}
        (true, None) => committer.set_digests(Digests::Mixed),
        (false, _) => committer.set_digests(Digests::Current),
    }
    committer.commit(true)?;
    committer.save_counts(data)?;
    committer.close()?;
    found.remove()?;
    Ok(result)
}

fn is_former(record: &Record) -> bool {
    record.digest.is_some() && !record.strong_digest
}

fn is_any_left(store: &Store, found: &Found) -> Result<bool> {
    for record in store.snapshot().records() {
        let record = record?;
        if is_former(&record) && !found.digests.contains_key(&record.id) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the current digest of a record, if the features are those of its text.
fn digest_for(record: &Record, features: &Features) -> Option<[u8; 16]> {
    features.digest.filter(|_| is_former(record) && record.digest == features.former_digest)
}

/// Finds digests of kept pages, whose texts are in the index.
fn from_index(committer: &Committer, data: &DataDir, found: &mut Found) -> Result<()> {
    let searcher = match Searcher::open(&data.index(), jieba) {
        Ok(searcher) => searcher,
        Err(hapax_index::Error::Missing(_)) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let mut failure = None;
    searcher.pages(|page| {
        let mut step = || -> Result<()> {
            if found.digests.contains_key(&page.id) {
                return Ok(());
            }
            let Some(record) = committer.store().record(page.id)? else { return Ok(()) };
            if !is_former(&record) {
                return Ok(());
            }
            let of_text = features(&page.text, &page.language, |bytes| HASH.hash(bytes));
            match digest_for(&record, &of_text) {
                Some(digest) => found.add(page.id, digest),
                None => Ok(()),
            }
        };
        failure = step().err();
        failure.is_none()
    })?;
    failure.map_or(Ok(()), Err)
}

/// Finds digests of other pages with an archived body: kept pages of a crawl without an index, and near-duplicates.
/// Returns the first damage. Reads all records that are readable, also after damage.
fn from_archive(
    committer: &Committer,
    data: &DataDir,
    found: &mut Found,
) -> Result<Option<String>> {
    let mut damaged = None;
    for path in &archive_files(data)? {
        let mut tell = |error: io::Error| {
            damaged.get_or_insert_with(|| format!("{}: {error}", path.display()));
        };
        let opened = open_stored(path).and_then(|file| Reader::new(file, MAX_RECORD));
        let mut records = match opened {
            Ok(records) => records,
            Err(error) => {
                tell(error);
                continue;
            }
        };
        loop {
            let warc = match records.next_record() {
                Ok(Some(warc)) => warc,
                Ok(None) => break,
                Err(error) => {
                    tell(error);
                    if records.resync().is_ok_and(|found| found) {
                        continue;
                    }
                    break;
                }
            };
            let Some(url) = warc.header("warc-target-uri").and_then(|url| Url::parse(url).ok())
            else {
                continue;
            };
            let Some(id) = committer.store().id_of(url.as_str().as_bytes())? else { continue };
            let Some(record) = committer.store().record(id)? else { continue };
            if !is_former(&record) || found.digests.contains_key(&id) {
                continue;
            }
            let Some((_, comparison_text)) = page_of_record(&warc, &url) else { continue };
            if let Some(digest) = digest_for(&record, &comparison_text.features) {
                found.add(id, digest)?;
            }
        }
    }
    Ok(damaged)
}

fn archive_files(data: &DataDir) -> Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> = match fs::read_dir(data.pages()) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(hapax_data::unreadable(&data.pages(), &error).into()),
    };
    files.retain(|path| path.to_string_lossy().ends_with(".warc.gz"));
    files.sort();
    Ok(files)
}

#[derive(Debug)]
struct Found {
    folder: PathBuf,
    path: PathBuf,
    file: File,
    digests: HashMap<u64, [u8; 16]>,
    unsynced: usize,
}

impl Found {
    /// Opens the digests of a killed upgrade. Reading ends at the first row with a wrong checksum.
    fn open(folder: &Path) -> Result<Self> {
        let made =
            fs::create_dir_all(folder).and_then(|()| match folder.symlink_metadata()?.is_dir() {
                true => files::close_to_others(folder),
                false => Err(io::Error::other("not a folder: remove it")),
            });
        made.map_err(|error| unwritable(folder, &error))?;
        let path = folder.join(FILE);
        let mut digests = HashMap::new();
        let mut length = 0u64;
        let before = match files::open_regular(&path) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(unwritable(&path, &error).into()),
        };
        if let Some(file) = before {
            let mut input = BufReader::new(file);
            let mut row = [0; ROW];
            while input.read_exact(&mut row).is_ok()
                && let Some((id, digest)) = decode(&row)
            {
                digests.insert(id, digest);
                length += ROW as u64;
            }
        }
        let mut options = OpenOptions::new();
        files::without_links(options.create(true).append(true));
        let file = options.open(&path).and_then(|file| match file.metadata()?.is_file() {
            true => Ok(file),
            false => Err(io::Error::other("not a regular file: remove it")),
        });
        let file = file.map_err(|error| unwritable(&path, &error))?;
        file.set_len(length).map_err(|error| unwritable(&path, &error))?;
        Ok(Self { folder: folder.to_owned(), path, file, digests, unsynced: 0 })
    }

    fn add(&mut self, id: u64, digest: [u8; 16]) -> Result<()> {
        self.file.write_all(&encode(id, digest)).map_err(|error| unwritable(&self.path, &error))?;
        self.digests.insert(id, digest);
        self.unsynced += 1;
        if self.unsynced >= SYNC_EVERY { self.sync() } else { Ok(()) }
    }

    fn sync(&mut self) -> Result<()> {
        self.unsynced = 0;
        Ok(self.file.sync_data().map_err(|error| unwritable(&self.path, &error))?)
    }

    fn remove(self) -> Result<()> {
        Self::remove_folder(&self.folder)
    }

    fn remove_folder(folder: &Path) -> Result<()> {
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(unwritable(folder, &error).into())
            }
            _ => Ok(()),
        }
    }
}

fn encode(id: u64, digest: [u8; 16]) -> [u8; ROW] {
    let mut row = [0; ROW];
    let (number, rest) = row.split_at_mut(8);
    let (bytes, sum) = rest.split_at_mut(16);
    number.copy_from_slice(&id.to_le_bytes());
    bytes.copy_from_slice(&digest);
    let crc = crc32fast::hash(&[&id.to_le_bytes()[..], &digest[..]].concat());
    sum.copy_from_slice(&crc.to_le_bytes());
    row
}

fn decode(row: &[u8; ROW]) -> Option<(u64, [u8; 16])> {
    let (id, rest) = row.split_first_chunk::<8>()?;
    let digest = rest.first_chunk::<16>()?;
    let id = u64::from_le_bytes(*id);
    (encode(id, *digest) == *row).then_some((id, *digest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_behind_a_damaged_one_are_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join(FOLDER);
        let mut found = Found::open(&folder).unwrap();
        for id in 0..5 {
            found.add(id, [id as u8; 16]).unwrap();
        }
        drop(found);
        let path = folder.join(FILE);
        let mut bytes = fs::read(&path).unwrap();
        bytes[2 * ROW + 9] ^= 1;
        fs::write(&path, &bytes[..4 * ROW + 3]).unwrap();
        let found = Found::open(&folder).unwrap();
        assert_eq!(found.digests.len(), 2);
        assert_eq!(fs::read(&path).unwrap().len(), 2 * ROW);
        found.remove().unwrap();
        assert!(!folder.exists());
    }
}
