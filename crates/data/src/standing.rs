//! The current representative of a discarded page. The page in the log may have been discarded, redirected or removed
//! since; only the tables show that.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;

use hapax_dedup::{Policy, Record, Store};
use hapax_extract::Recipe;

use crate::error::Result;
use crate::lines::Discarded;
use crate::page_counts::PageCounts;
use crate::positions::{PagePosition, read_position};
use crate::rows::{Row, Rows};
use crate::tables::{is_reference_key, read_only, url_of_key};

/// Most redirects and discarded pages that are followed: a manually edited log may have a cycle.
const MOST_STEPS: usize = 64;

/// The current representative of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// A kept page, by its number.
    Page(u64),
    /// None: it was never fetched or used, or is gone.
    Nothing,
    /// The page in the log: the tables are missing or behind the log.
    AsWritten,
}

/// A row for display, with its current representative.
#[derive(Debug)]
pub struct Shown {
    /// The line, with its current representative.
    pub entry: Discarded,
    /// The page in the log's line, if another one is the representative now.
    pub compared_with: Option<String>,
    /// The target of a redirect, likewise.
    pub leads_to: Option<String>,
    /// Whether there is no representative any more.
    pub gone: bool,
}

/// Returns the tables of a data directory at their last commit. Without them the log is shown as it was written.
pub fn tables(data: &Path) -> Option<Store> {
    let store = read_only(data, Policy::default(), Recipe::default().name()).ok().flatten();
    store.map(|(store, _)| store)
}

/// Finds current representatives.
#[derive(Debug)]
pub struct Heads<'a> {
    /// The rows of the log.
    pub rows: &'a Rows,
    store: Option<&'a Store>,
    /// Cache of representatives by number: most rows share a few.
    found: RefCell<HashMap<u64, Standing>>,
}

impl<'a> Heads<'a> {
    /// Creates a finder for rows, with the store if there is one.
    pub fn new(rows: &'a Rows, store: Option<&'a Store>) -> Self {
        Self { rows, store, found: RefCell::default() }
    }

    /// Returns whether a recrawl has visited pages.
    pub(crate) fn was_recrawled(&self) -> bool {
        let payload = self.store.map(Store::payload).unwrap_or_default();
        let position = read_position::<PagePosition>(&payload).unwrap_or_default();
        let PageCounts { unchanged, changed, gone, .. } = position.counts;
        unchanged + changed + gone > 0
    }

    /// Returns the representative of a discarded row.
    pub fn of(&self, row: &Row) -> Result<Standing> {
        let (Some(store), true) = (self.store, row.is_alias()) else {
            return self.of_id(self.rows.kept_for(row).0);
        };
        // When the line was written, its page was unknown or had another number.
        match store.id_of(self.rows.line(row)?.of.url.as_bytes())? {
            Some(id) => self.of_id(id),
            None => Ok(Standing::Nothing),
        }
    }

    /// Returns the representative of the page with this number: itself, if it is kept.
    pub fn of_id(&self, id: u64) -> Result<Standing> {
        if let Some(found) = self.found.borrow().get(&id) {
            return Ok(*found);
        }
        let found = self.follow(id)?;
        self.found.borrow_mut().insert(id, found);
        Ok(found)
    }

    fn follow(&self, id: u64) -> Result<Standing> {
        let Some(store) = self.store else { return Ok(Standing::AsWritten) };
        let mut id = id;
        for _ in 0..MOST_STEPS {
            if let Some((now, _)) = self.rows.decisions.representative(id) {
                id = now;
            }
            if id >= store.next_id() {
                return Ok(Standing::AsWritten);
            }
            let Some(record) = store.record(id)? else {
                // A running crawl may just have replaced the page.
                return Ok(if self.rows.is_stale() {
                    Standing::AsWritten
                } else {
                    Standing::Nothing
                });
            };
            if is_reference_key(&record.key) {
                // The page is in a reference, which is not read here.
                return Ok(Standing::AsWritten);
            }
            let alias =
                self.rows.by_id(id).filter(|row| row.is_alias() && self.rows.is_discarded(row));
            match (record.of, alias) {
                (Some(of), _) => id = of,
                (None, None) => return Ok(Standing::Page(id)),
                (None, Some(row)) => match store.id_of(self.rows.line(&row)?.of.url.as_bytes())? {
                    Some(target) => id = target,
                    None => return Ok(Standing::Nothing),
                },
            }
        }
        Ok(Standing::Nothing)
    }

    /// Returns the number of the page with this URL; `None` if it is unknown or the tables are missing.
    pub(crate) fn id_of(&self, url: &str) -> Result<Option<u64>> {
        Ok(self.store.map(|store| store.id_of(url.as_bytes())).transpose()?.flatten())
    }

    /// Returns the record of a page; `None` if it is unknown or the tables are missing.
    pub fn record(&self, id: u64) -> Result<Option<Record>> {
        Ok(self.store.map(|store| store.record(id)).transpose()?.flatten())
    }

    /// Returns the record of a URL in normal form; `None` if it is unknown or the tables are missing.
    pub fn record_of(&self, url: &str) -> Result<Option<Record>> {
        let Some(store) = self.store else { return Ok(None) };
        Ok(store.id_of(url.as_bytes())?.map(|id| store.record(id)).transpose()?.flatten())
    }

    /// Returns whether there are tables.
    pub const fn has_tables(&self) -> bool {
        self.store.is_some()
    }

    /// Returns the URL of a page, or the caller's key.
    pub fn url(&self, id: u64) -> Result<String> {
        let key = self.record(id)?.map(|record| String::from_utf8_lossy(&record.key).into_owned());
        Ok(url_of_key(&key.unwrap_or_default()).to_owned())
    }

    /// Returns the line of a row with its current representative. A row that is no longer discarded stays as written.
    pub fn shown(&self, row: &Row) -> Result<Shown> {
        let entry = self.rows.entry(row)?;
        let compared_with = self.rows.compared_with(row)?;
        let mut shown = Shown { entry, compared_with, leads_to: None, gone: false };
        if !self.rows.is_discarded(row) {
            return Ok(shown);
        }
        match self.of(row)? {
            Standing::AsWritten => {}
            Standing::Nothing => shown.gone = true,
            Standing::Page(id) if shown.entry.of.id == Some(id) => {}
            Standing::Page(id) => {
                let before = std::mem::replace(&mut shown.entry.of.url, self.url(id)?);
                shown.entry.of.id = Some(id);
                shown.entry.of.warc = None;
                if before != shown.entry.of.url && !row.is_alias() {
                    shown.compared_with = Some(self.rows.line(row)?.of.url);
                }
            }
        }
        if row.is_alias() {
            shown.compared_with = None;
            let target = self.rows.line(row)?.of.url;
            shown.leads_to = Some(target).filter(|target| *target != shown.entry.of.url);
        }
        Ok(shown)
    }
}
