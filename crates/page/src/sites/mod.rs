//! `sites/`: how many kept pages of each site contain a line.
//!
//! A line that many pages of a site contain belongs to the site, not to the page. Only kept pages are counted, so a
//! page counts once with all its near-duplicates. A site is a registrable domain; see [`site_of_url`].
//!
//! Counts are lower limits: a site has at most 128 KiB, of which a full table drops the rarest lines, and all sites
//! together have 16 MiB. The counts depend on the order of pages only through these limits.
//!
//! The counts are in memory, and a thread of the store counts (`counting`). `sites/lines` has them on disk (`file`). Each of its frames names the commit of the dedup
//! store that it belongs to, so that a crash loses no page and counts none twice. The file may be deleted: then later
//! pages are counted, and `crawl upgrade` counts all.

mod counting;
mod counts;
mod file;
mod table;

use std::io;
use std::path::{Path, PathBuf};

use hapax_url::registrable_site;
use url::Url;

use crate::evidence::HASH;
use counting::Counting;
use counts::SiteCounts;
use file::{End, Writer};

/// Counts of the lines of each site.
#[derive(Debug)]
pub struct SiteStore {
    folder: PathBuf,
    counting: Counting,
    is_whole: bool,
    /// The last commit.
    commit: u64,
    /// `None` if nothing is counted.
    writer: Option<Writer>,
}

/// Returns the number of the site of a URL: a hash of its registrable domain. All local files are one site. Other URLs
/// without a host have none.
pub fn site_of_url(url: &Url) -> Option<u64> {
    if url.host().is_some() {
        return Some(HASH.hash(registrable_site(url).as_bytes()));
    }
    (url.scheme() == "file").then(|| HASH.hash(b"file:"))
}

impl SiteStore {
    /// Opens the counts in a folder, which the first commit creates. `commit` is the number that
    /// [`commit`](Self::commit) returned for the last commit of the dedup store; later changes are ignored. `is_new`
    /// means that the dedup store is empty. A damaged file is reported, and its valid part is used.
    ///
    /// # Complexity
    /// Linear in the file, which has at most 48 MiB and the changes of one commit.
    pub fn open(folder: &Path, commit: u64, is_new: bool) -> Self {
        let mut store = Self::off(commit);
        store.folder = folder.to_owned();
        store.is_whole = is_new;
        let mut end = End::default();
        match file::read(folder, commit) {
            Ok(None) => {}
            Ok(Some((counts, read))) => {
                (store.counting, end) = (Counting::of(counts), read);
                let is_intact = read.commit == commit;
                store.is_whole = is_new || is_intact && read.is_whole;
                if !is_intact {
                    let folder = folder.display();
                    tracing::warn!(
                        "{folder} is damaged: counts of lines that a site repeats are too small. To rebuild \
                         it, delete it and run `crawl upgrade`"
                    );
                }
            }
            Err(error) => {
                tracing::warn!("{}: {error}. No lines of sites are counted", folder.display());
                return store;
            }
        }
        store.writer = Some(Writer::new(folder, end));
        store
    }

    /// Opens the counts for reading, while another process may write. Without a readable file there are none.
    pub fn read_only(folder: &Path, commit: u64) -> Self {
        let mut store = Self::off(commit);
        if let Ok(Some((counts, _))) = file::read(folder, commit) {
            store.counting = Counting::of(counts);
        }
        store
    }

    /// Creates a store that counts nothing and leaves files as they are.
    pub fn off(commit: u64) -> Self {
        Self {
            folder: PathBuf::new(),
            counting: Counting::default(),
            is_whole: false,
            commit,
            writer: None,
        }
    }

    /// Verifies the file. Returns the numbers of sites and lines; `None` if there is no file.
    ///
    /// # Errors
    /// From the file system, or if changes up to `commit` are missing.
    pub fn verify(folder: &Path, commit: u64) -> io::Result<Option<(u64, u64)>> {
        let Some((counts, end)) = file::read(folder, commit)? else { return Ok(None) };
        if end.commit != commit {
            let what = format!(
                "a part of `lines` is damaged (it ends at commit {} of {commit}): counts of lines that a site \
                 repeats are too small. Delete the folder and run `crawl upgrade`",
                end.commit
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        let lines = |(_, table): (u64, &table::LineTable)| table.counted().count() as u64;
        Ok(Some((counts.sites().count() as u64, counts.sites().map(lines).sum())))
    }

    /// Returns whether all kept pages are counted.
    pub const fn is_whole(&self) -> bool {
        self.is_whole || self.writer.is_none()
    }

    /// Forgets all counts. Pages that are added before the next commit are all kept pages.
    pub fn rebuild(&mut self) {
        let mut counted = self.counting.counted();
        counted.counts = SiteCounts::default();
        counted.pending.clear();
        counted.writes_all = true;
        drop(counted);
        self.is_whole = true;
    }

    /// Counts a kept page. `lines` are hashes of its lines, each once
    /// ([`Compared::line_hashes`](crate::comparison::Compared::line_hashes)).
    ///
    /// # Complexity
    /// A copy of the lines. Another thread counts them, about 20 ns each.
    pub fn add(&mut self, site: u64, lines: &[u64]) {
        self.push(site, lines, false);
    }

    /// Removes a page that was kept.
    pub fn remove(&mut self, site: u64, lines: &[u64]) {
        self.push(site, lines, true);
    }

    fn push(&mut self, site: u64, lines: &[u64], is_removed: bool) {
        if self.writer.is_some() && !lines.is_empty() {
            self.counting.push(site, lines, is_removed);
        }
    }

    /// Returns the number of kept pages of a site that contain a line.
    pub fn pages_with(&self, site: u64, line: u64) -> u64 {
        self.counting.counted().counts.pages_with(site, line)
    }

    /// Returns the same for several lines.
    pub fn pages_with_each(&self, site: u64, lines: impl Iterator<Item = u64>) -> Vec<u64> {
        let counted = self.counting.counted();
        lines.map(|line| counted.counts.pages_with(site, line)).collect()
    }

    /// Writes the changes and makes them durable. Returns the number of this commit, which the next commit of the
    /// dedup store has to record.
    ///
    /// # Errors
    /// From the file system.
    pub fn commit(&mut self) -> io::Result<u64> {
        let Some(writer) = &mut self.writer else { return Ok(self.commit) };
        let next = self.commit + 1;
        let mut counted = self.counting.counted();
        let result = if counted.writes_all {
            let rewritten = writer.rewrite(&counted.counts, next, self.is_whole);
            rewritten.map(|counts| counted.counts = counts)
        } else if counted.pending.is_empty() {
            return Ok(self.commit);
        } else {
            writer.append(&counted.pending, next, self.is_whole)
        };
        self.named(result)?;
        counted.writes_all = false;
        counted.pending.clear();
        drop(counted);
        self.commit = next;
        Ok(next)
    }

    /// Rewrites a file of many changes. Called after the commit of the dedup store, and before further changes.
    ///
    /// # Errors
    /// From the file system.
    pub fn compact(&mut self) -> io::Result<()> {
        let Some(writer) = self.writer.as_mut().filter(|writer| writer.end.is_long()) else {
            return Ok(());
        };
        let mut counted = self.counting.counted();
        let result = writer.rewrite(&counted.counts, self.commit, self.is_whole);
        counted.counts = self.named(result)?;
        Ok(())
    }

    /// Adds the folder to an error.
    fn named<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", self.folder.display()))
        })
    }
}

#[cfg(test)]
mod tests;
