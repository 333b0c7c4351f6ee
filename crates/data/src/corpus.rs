//! Data directories that are read as one corpus: each worker of a cluster has one. A page of one directory may represent
//! a page that another one discarded, so pages are matched by URL.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use hapax_dedup::Store;
use hapax_index::{Searcher, StoredPage};
use sha2::{Digest, Sha256};

use crate::error::Result;
use crate::rows::{NONE, Row, Rows, hash_of_url};
use crate::standing::{Heads, Standing, tables};
use crate::tables::{ELSEWHERE, url_of_key};

/// Most changes of representative between directories that are followed.
const MOST_STEPS: usize = 64;

/// A data directory with an index, opened for reading.
#[derive(Debug)]
pub struct CorpusDir {
    /// Its path.
    pub data: PathBuf,
    /// Its index.
    pub searcher: Searcher,
    /// Its log of discarded pages.
    pub rows: Rows,
    store: Option<Store>,
}

impl CorpusDir {
    /// Opens the log and the tables beside an index.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn open(data: &Path, searcher: Searcher) -> Result<Self> {
        // The tables last, so that they are not older than the log.
        let rows = Rows::open(data)?;
        Ok(Self { data: data.to_owned(), searcher, rows, store: tables(data) })
    }
}

/// One or more data directories, read as one.
#[derive(Debug)]
pub struct Corpus<'s> {
    dirs: &'s [CorpusDir],
    heads: Vec<Heads<'s>>,
    /// The first directory that keeps a URL; empty with one directory. The keys are digests: with a weaker
    /// hash, a site could choose a URL that hides a page of another site.
    kept: HashMap<[u8; 16], usize>,
    /// Hashes of these URLs as in the logs.
    kept_keys: HashSet<u64>,
    /// Cache of kept pages by directory and number: most rows share a few.
    found: RefCell<HashMap<(usize, u64), Option<u64>>>,
}

fn digest(url: &str) -> [u8; 16] {
    let mut short = [0; 16];
    short.iter_mut().zip(Sha256::digest(url.as_bytes())).for_each(|(to, from)| *to = from);
    short
}

impl<'s> Corpus<'s> {
    /// Joins directories. With several it reads the URLs of all kept pages.
    ///
    /// # Errors
    /// If an index cannot be read.
    ///
    /// # Complexity
    /// Memory: with several directories about 60 bytes for each kept page, otherwise constant.
    pub fn new(dirs: &'s [CorpusDir]) -> Result<Self> {
        let heads = dirs.iter().map(|dir| Heads::new(&dir.rows, dir.store.as_ref())).collect();
        let (kept, kept_keys, found) = Default::default();
        let mut corpus = Self { dirs, heads, kept, kept_keys, found };
        if dirs.len() > 1 {
            for (number, dir) in dirs.iter().enumerate() {
                dir.searcher.pages(|page| {
                    corpus.kept.entry(digest(&page.url)).or_insert(number);
                    corpus.kept_keys.insert(hash_of_url(&page.url));
                    true
                })?;
            }
        }
        Ok(corpus)
    }

    /// Joins logs alone, without the pages of an index.
    pub(crate) fn of_heads(heads: Vec<Heads<'s>>) -> Self {
        let (kept, kept_keys, found) = Default::default();
        Self { dirs: &[], heads, kept, kept_keys, found }
    }

    /// Returns the directories.
    pub const fn dirs(&self) -> &'s [CorpusDir] {
        self.dirs
    }

    /// Returns whether there are several directories.
    pub const fn is_joined(&self) -> bool {
        self.heads.len() > 1
    }

    /// Returns the finders of representatives, one a directory.
    pub fn heads(&self) -> &[Heads<'s>] {
        &self.heads
    }

    /// Returns whether a recrawl has visited pages of one of them.
    pub(crate) fn was_recrawled(&self) -> bool {
        self.heads.iter().any(Heads::was_recrawled)
    }

    /// Returns the number of pages in all indexes. A page that two directories keep counts twice.
    pub fn len(&self) -> u64 {
        self.dirs.iter().map(|dir| dir.searcher.len()).sum()
    }

    /// Returns whether no page is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Calls `each` with every kept page and the number of its directory, until `each` fails. A URL that several
    /// directories keep is a page of the first one only. The order depends on the indexes alone.
    ///
    /// # Errors
    /// Those of the indexes, and the first of `each`.
    pub fn pages<E: From<hapax_index::Error>>(
        &self,
        mut each: impl FnMut(usize, StoredPage) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        self.pages_from(0, |_, dir, page| each(dir, page))
    }

    /// Does the same without the first `skip` pages of the indexes. `each` is also called with the number of pages of
    /// the indexes before its page.
    ///
    /// # Errors
    /// As [`pages`](Self::pages).
    pub(crate) fn pages_from<E: From<hapax_index::Error>>(
        &self,
        skip: u64,
        mut each: impl FnMut(u64, usize, StoredPage) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let mut before = 0;
        for (number, dir) in self.dirs.iter().enumerate() {
            let (begin, mut failure) = (before, None);
            before += dir.searcher.len();
            if skip >= before {
                continue;
            }
            let mut at = skip.max(begin);
            dir.searcher.pages_from(at - begin, |page| {
                if !self.is_joined() || self.kept.get(&digest(&page.url)) == Some(&number) {
                    failure = each(at, number, page).err();
                }
                at += 1;
                failure.is_none()
            })?;
            failure.map_or(Ok(()), Err)?;
        }
        Ok(())
    }

    /// Returns whether a row is a copy: its page is discarded now, is no redirect and no part, and no
    /// other directory keeps it.
    pub fn is_copy(&self, dir: usize, row: &Row) -> bool {
        let discarded = self.heads.get(dir).is_some_and(|heads| heads.rows.is_discarded(row));
        discarded && !row.is_alias() && !row.is_part() && !self.kept_keys.contains(&row.key())
    }

    /// Returns the name of the page that represents a discarded row now, if one is kept: its number or, with several
    /// directories, the hash of its URL.
    ///
    /// # Errors
    /// If a log or the tables cannot be read.
    pub(crate) fn representative(&self, dir: usize, row: &Row) -> Result<Option<u64>> {
        let Some(heads) = self.heads.get(dir) else { return Ok(None) };
        let standing = heads.of(row)?;
        if !self.is_joined() {
            return Ok(match standing {
                Standing::Page(id) => Some(id),
                Standing::AsWritten => Some(heads.rows.kept_for(row).0).filter(|id| *id != NONE),
                Standing::Nothing => None,
            });
        }
        let Standing::Page(id) = standing else {
            let url = heads.rows.entry(row)?.of.url;
            return Ok(self.kept_url(&url)?.map(|url| hash_of_url(&url)));
        };
        if let Some(found) = self.found.borrow().get(&(dir, id)) {
            return Ok(*found);
        }
        let found = self.kept_url(&heads.url(id)?)?.map(|url| hash_of_url(&url));
        self.found.borrow_mut().insert((dir, id), found);
        Ok(found)
    }

    /// Returns the URL of the page that is kept for a page with this URL, if another directory keeps it. `None` with one
    /// directory.
    ///
    /// # Errors
    /// If a log or the tables cannot be read.
    pub fn elsewhere(&self, dir: usize, url: &str) -> Result<Option<String>> {
        if !self.is_joined() {
            return Ok(None);
        }
        let found = self.kept_url(url)?;
        Ok(found.filter(|url| self.kept.get(&digest(url)).is_some_and(|kept| *kept != dir)))
    }

    /// Returns a name of what is read: of the pages and their order, and of the commit of the tables.
    pub(crate) fn state(&self) -> String {
        let mut digest = Sha256::new();
        for dir in self.dirs {
            let payload = dir.store.as_ref().map(Store::payload).unwrap_or_default();
            for part in [dir.data.as_os_str().as_encoded_bytes(), &dir.searcher.state(), &payload] {
                digest.update((part.len() as u64).to_le_bytes());
                digest.update(part);
            }
        }
        digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns the URL of the page that represents the page with this URL now, in any directory: the same one, if it is
    /// kept.
    ///
    /// # Errors
    /// If a log or the tables cannot be read.
    pub fn kept_url(&self, url: &str) -> Result<Option<String>> {
        let mut url = url.to_owned();
        for _ in 0..MOST_STEPS {
            if self.kept.contains_key(&digest(&url)) {
                return Ok(Some(url));
            }
            // Its directory may have discarded it since.
            let mut next = None;
            for heads in &self.heads {
                next = heads.follow_url(&url)?.filter(|next| *next != url);
                if next.is_some() {
                    break;
                }
            }
            match next {
                Some(next) => url = next,
                None => return Ok(None),
            }
        }
        Ok(None)
    }
}

impl Heads<'_> {
    /// Returns the URL of the page that represents another one in this directory, as far as the directory knows. `None`
    /// if it does not know the page.
    fn follow_url(&self, url: &str) -> Result<Option<String>> {
        let Some(id) = self.id_of(url)? else { return Ok(None) };
        if let Standing::Page(found) = self.of_id(id)? {
            let key = self.record(found)?.map(|record| record.key).unwrap_or_default();
            let key = String::from_utf8_lossy(&key);
            let is_other = found != id || key.starts_with(ELSEWHERE);
            return Ok(is_other.then(|| url_of_key(&key).to_owned()));
        }
        let row = self.rows.by_id(id).filter(|row| self.rows.is_discarded(row));
        row.map(|row| Ok(self.rows.entry(&row)?.of.url)).transpose()
    }
}

#[cfg(test)]
mod tests;
