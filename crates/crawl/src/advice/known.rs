//! All addresses of a crawl.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use hapax_data::{Heads, Rows, Standing};
use hapax_dedup::Store;
use hapax_page::HASH;
use url::Url;

use crate::error::Result;
use crate::given::is_kept;

/// Maximum number of addresses, of about 120 bytes each. Larger crawls get no advice.
const MAX_KNOWN: usize = 4_000_000;
/// No address.
pub(super) const NONE: u32 = u32::MAX;

/// The addresses that were requested and are kept pages, duplicates or redirects.
#[derive(Debug, Default)]
pub(super) struct Known {
    by_hash: HashMap<u64, u32>,
    /// All addresses, one behind the other.
    text: String,
    /// Where each ends in `text`.
    ends: Vec<usize>,
    /// Whether each is a redirect.
    pub(super) is_redirect: Vec<bool>,
    /// Bytes of the body.
    pub(super) bytes: Vec<u32>,
    /// The target of each redirect.
    pub(super) redirects: Vec<(u32, u32)>,
    /// Number of kept pages, which come first.
    pub(super) pages: u32,
}

impl Known {
    /// Reads the store and the log; `None` if there are too many addresses.
    pub(super) fn read(rows: &Rows, store: &Store) -> Result<Option<Self>> {
        let mut known = Self::default();
        for record in store.snapshot().records() {
            let record = record?;
            if is_kept(&record) {
                known.add(&String::from_utf8_lossy(&record.key), false, 0);
                known.pages += 1;
            }
            if known.ends.len() > MAX_KNOWN {
                return Ok(None);
            }
        }
        let heads = Heads::new(rows, Some(store));
        let mut targets = Vec::new();
        for row in rows.discarded() {
            let line = rows.line(row)?;
            if row.is_alias() {
                let at = known.add(&line.url, true, 0);
                targets.push((at, line.of.url));
            } else if let Standing::Page(_) = heads.of(row)? {
                known.add(&line.url, false, row.bytes);
            }
            if known.ends.len() > MAX_KNOWN {
                return Ok(None);
            }
        }
        for (from, target) in targets {
            if let (true, Some(to)) = (from != NONE, known.find(&target)) {
                known.redirects.push((from, to));
            }
        }
        Ok(Some(known))
    }

    #[cfg(test)]
    pub(super) fn of_test<'u>(urls: impl Iterator<Item = (&'u str, bool)>, pages: u32) -> Self {
        let mut known = Self { pages, ..Self::default() };
        for (url, is_redirect) in urls {
            known.add(url, is_redirect, 1);
        }
        known
    }

    /// Adds an address; [`NONE`] if it is known.
    fn add(&mut self, url: &str, is_redirect: bool, bytes: u32) -> u32 {
        let at = u32::try_from(self.ends.len()).unwrap_or(NONE);
        if let Entry::Vacant(place) = self.by_hash.entry(HASH.hash(url.as_bytes())) {
            place.insert(at);
            self.text.push_str(url);
            self.ends.push(self.text.len());
            self.is_redirect.push(is_redirect);
            self.bytes.push(bytes);
            return at;
        }
        NONE
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn find(&self, url: &str) -> Option<u32> {
        let at = *self.by_hash.get(&HASH.hash(url.as_bytes()))?;
        (self.url(at) == url).then_some(at)
    }

    pub(super) fn url(&self, at: u32) -> &str {
        let at = at as usize;
        let begin =
            at.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.get(at).copied().unwrap_or(begin);
        self.text.get(begin..end).unwrap_or_default()
    }

    pub(super) fn parsed(&self, at: u32) -> Option<Url> {
        Url::parse(self.url(at)).ok()
    }

    /// Returns the addresses of kept pages.
    pub(super) fn kept(&self) -> impl Iterator<Item = u32> + '_ {
        0..self.pages
    }

    pub(super) fn all(&self) -> std::ops::Range<u32> {
        0..u32::try_from(self.len()).unwrap_or(NONE)
    }
}
