//! The first pages that lead to each URL, so that a person can find the page with a broken link.
//!
//! A row has the numbers of up to [`MAX_INLINKS`] referrers; a second table has the URL of each number once. The number
//! is a part of the URL's key, so a recrawl adds no referrer twice.

use std::collections::{BTreeMap, HashMap};

use hapax_url::{UrlKey, url_key};
use redb::{ReadTransaction, ReadableTable, TableDefinition, TableError, WriteTransaction};
use url::Url;

/// Inlinks that are kept of each URL.
pub const MAX_INLINKS: usize = 3;
/// URLs with new inlinks between two commits, 56 bytes each; further inlinks are not kept. A group of 1,000 ordinary
/// pages has fewer than 100,000.
const MAX_CHANGED: usize = 1 << 18;
/// Slots for URLs whose rows are full: 8 MiB.
const SLOTS: usize = 1 << 21;

/// URL key -> numbers of referrers, eight bytes each, in the order in which they were found.
const INLINKS: TableDefinition<'_, u128, &[u8]> = TableDefinition::new("inlinks");
/// Number -> URL of the referrer.
const REFERRERS: TableDefinition<'_, u64, &str> = TableDefinition::new("referrers");

type Outcome<T> = std::result::Result<T, redb::Error>;

/// The numbers of the first referrers of one URL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Row {
    numbers: [u64; MAX_INLINKS],
    length: usize,
}

impl Row {
    fn decode(bytes: &[u8]) -> Self {
        let mut row = Self::default();
        for number in bytes.as_chunks::<8>().0 {
            row.add(u64::from_le_bytes(*number));
        }
        row
    }

    fn encode(&self) -> Vec<u8> {
        self.numbers().iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    fn numbers(&self) -> &[u64] {
        self.numbers.get(..self.length).unwrap_or_default()
    }

    /// Returns whether the number was added: it is new and the row had space.
    fn add(&mut self, number: u64) -> bool {
        let fresh = !self.numbers().contains(&number);
        let slot = self.numbers.get_mut(self.length).filter(|_| fresh);
        let Some(slot) = slot else { return false };
        *slot = number;
        self.length += 1;
        true
    }

    const fn is_full(&self) -> bool {
        self.length == MAX_INLINKS
    }
}

/// Inlinks that are not committed.
#[derive(Debug, Default)]
pub(crate) struct NewInlinks {
    rows: HashMap<UrlKey, Row>,
    referrers: BTreeMap<u64, String>,
}

impl NewInlinks {
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds these inlinks to the stored ones. Returns the URLs whose rows are full.
    pub(crate) fn write(&self, txn: &WriteTransaction) -> Outcome<Vec<UrlKey>> {
        let mut full = Vec::new();
        if self.rows.is_empty() {
            return Ok(full);
        }
        let mut rows: Vec<(&UrlKey, &Row)> = self.rows.iter().collect();
        rows.sort_unstable_by_key(|(key, _)| **key);
        let mut table = txn.open_table(INLINKS)?;
        for (key, new) in rows {
            let mut row = table.get(key)?.map(|row| Row::decode(row.value())).unwrap_or_default();
            let before = row.length;
            for number in new.numbers() {
                row.add(*number);
            }
            if row.length > before {
                table.insert(key, row.encode().as_slice())?;
            }
            if row.is_full() {
                full.push(*key);
            }
        }
        let mut table = txn.open_table(REFERRERS)?;
        for (number, url) in &self.referrers {
            table.insert(number, url.as_str())?;
        }
        Ok(full)
    }
}

/// Decides which inlinks are kept. Knows the URLs that have enough of them, as far as a table of fixed size holds
/// them: it may forget one, which costs a read at the next commit.
#[derive(Debug)]
pub(crate) struct InlinkFilter {
    full: Box<[u32]>,
    /// The last referrer: its URL, number and key. A page's links come together.
    last: (String, u64, UrlKey),
}

impl Default for InlinkFilter {
    fn default() -> Self {
        Self { full: vec![0; SLOTS].into_boxed_slice(), last: Default::default() }
    }
}

impl InlinkFilter {
    const fn slot(key: UrlKey) -> (usize, u32) {
        // Other bits than those of the cache of seen URLs. Zero marks an empty slot.
        ((key >> 64) as usize % SLOTS, (key >> 96) as u32 | 1)
    }

    fn is_full(&self, key: UrlKey) -> bool {
        let (slot, tag) = Self::slot(key);
        self.full.get(slot) == Some(&tag)
    }

    /// Records that these URLs need no further inlinks.
    pub(crate) fn fill(&mut self, keys: &[UrlKey]) {
        for key in keys {
            let (slot, tag) = Self::slot(*key);
            if let Some(slot) = self.full.get_mut(slot) {
                *slot = tag;
            }
        }
    }

    /// Adds an inlink, unless the URL has enough. A link of a page to itself is no inlink.
    pub(crate) fn add(&mut self, new: &mut NewInlinks, key: UrlKey, from: &Url) {
        if self.is_full(key) {
            return;
        }
        if self.last.0 != from.as_str() {
            let key = url_key(from.as_str());
            self.last = (from.to_string(), key as u64, key);
        }
        let (url, number, referrer) = &self.last;
        let has_space = new.rows.len() < MAX_CHANGED || new.rows.contains_key(&key);
        if *referrer != key && has_space && new.rows.entry(key).or_default().add(*number) {
            new.referrers.entry(*number).or_insert_with(|| url.clone());
        }
    }
}

/// Returns the URLs of a URL's referrers, first one first: those on disk, then those of the batches, oldest first.
pub(crate) fn referrers(
    key: UrlKey,
    txn: &ReadTransaction,
    batches: &[&NewInlinks],
) -> Outcome<Vec<String>> {
    let mut row = match txn.open_table(INLINKS) {
        Ok(table) => table.get(key)?.map(|row| Row::decode(row.value())).unwrap_or_default(),
        Err(TableError::TableDoesNotExist(_)) => Row::default(),
        Err(other) => return Err(other.into()),
    };
    for number in batches.iter().filter_map(|new| new.rows.get(&key)).flat_map(Row::numbers) {
        row.add(*number);
    }
    let stored = match txn.open_table(REFERRERS) {
        Ok(table) => Some(table),
        Err(TableError::TableDoesNotExist(_)) => None,
        Err(other) => return Err(other.into()),
    };
    let mut urls = Vec::new();
    for number in row.numbers() {
        let fresh = batches.iter().find_map(|new| new.referrers.get(number)).cloned();
        let url = match (fresh, &stored) {
            (None, Some(table)) => table.get(number)?.map(|url| url.value().to_owned()),
            (fresh, _) => fresh,
        };
        urls.extend(url);
    }
    Ok(urls)
}

#[cfg(test)]
mod tests;
