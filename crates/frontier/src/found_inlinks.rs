//! Inlinks that an upgrade found in the archive, for directories of versions that kept none.

use std::collections::{BTreeMap, HashMap};

use hapax_url::{UrlKey, url_key};
use redb::{ReadTransaction, ReadableTable, TableDefinition, TableError, WriteTransaction};
use url::Url;

use crate::inlinks::MAX_INLINKS;

/// URL key -> numbers of referrers, eight bytes each, in the order in which they were found.
const INLINKS: TableDefinition<'_, u128, &[u8]> = TableDefinition::new("inlinks");
/// Number -> URL of the referrer. The number is a part of its key.
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
}

/// Inlinks to be [added](crate::DiskFrontier::add_inlinks).
#[derive(Debug, Default)]
pub struct FoundInlinks {
    rows: HashMap<UrlKey, Row>,
    referrers: BTreeMap<u64, String>,
}

impl FoundInlinks {
    /// Returns the number of URLs.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds an inlink of a URL in normal form, up to [`MAX_INLINKS`]. A link of a page to itself is no inlink.
    pub fn add(&mut self, url: &Url, from: &Url) {
        let (key, referrer) = (url_key(url.as_str()), url_key(from.as_str()));
        let number = referrer as u64;
        if referrer != key && self.rows.entry(key).or_default().add(number) {
            self.referrers.entry(number).or_insert_with(|| from.to_string());
        }
    }

    /// Adds these inlinks to the stored ones.
    pub(crate) fn write(&self, txn: &WriteTransaction) -> Outcome<()> {
        let mut rows: Vec<(&UrlKey, &Row)> = self.rows.iter().collect();
        rows.sort_unstable_by_key(|(key, _)| **key);
        let mut table = txn.open_table(INLINKS)?;
        for (key, new) in rows {
            let mut row = table.get(key)?.map(|row| Row::decode(row.value())).unwrap_or_default();
            for number in new.numbers() {
                row.add(*number);
            }
            table.insert(key, row.encode().as_slice())?;
        }
        let mut table = txn.open_table(REFERRERS)?;
        for (number, url) in &self.referrers {
            table.insert(number, url.as_str())?;
        }
        Ok(())
    }
}

/// Returns the URLs of a URL's referrers, the first one first.
pub(crate) fn referrers(key: UrlKey, txn: &ReadTransaction) -> Outcome<Vec<String>> {
    let (rows, names) = match (txn.open_table(INLINKS), txn.open_table(REFERRERS)) {
        (Ok(rows), Ok(names)) => (rows, names),
        (Err(TableError::TableDoesNotExist(_)), _) | (_, Err(TableError::TableDoesNotExist(_))) => {
            return Ok(Vec::new());
        }
        (Err(other), _) | (_, Err(other)) => return Err(other.into()),
    };
    let row = rows.get(key)?.map(|row| Row::decode(row.value())).unwrap_or_default();
    let mut urls = Vec::new();
    for number in row.numbers() {
        urls.extend(names.get(number)?.map(|url| url.value().to_owned()));
    }
    Ok(urls)
}

#[cfg(test)]
mod tests;
