//! The seen-set: URLs that are not committed yet, and a cache of those on disk.

use std::collections::HashSet;

use hapax_url::UrlKey;

/// Places of the cache; 16 MiB.
const PLACES: usize = 1 << 21;

/// Remembers keys in memory of a fixed size: it may forget one, and never invents one.
#[derive(Debug)]
pub(crate) struct Seen {
    /// Since the last commit, and of the commit that is under way.
    fresh: HashSet<UrlKey>,
    committing: HashSet<UrlKey>,
    /// One key a place. Half of a key and its place are 85 bits: with 10^10 URLs, one in 10^15 of
    /// the new ones would be taken for a known one.
    cache: Box<[u64]>,
    count: u64,
    /// Keys that stand for refusals, which are no known URLs.
    refused: u64,
}

impl Seen {
    /// `count` keys are on disk, so many of them `refused`.
    pub(crate) fn new(count: u64, refused: u64) -> Self {
        Self {
            fresh: HashSet::new(),
            committing: HashSet::new(),
            cache: vec![0; PLACES].into_boxed_slice(),
            count: count.saturating_sub(refused),
            refused,
        }
    }

    fn place(key: UrlKey) -> (usize, u64) {
        ((key >> 64) as usize % PLACES, key as u64)
    }

    /// Whether the key is surely known; if not, the disk must be asked.
    pub(crate) fn has(&self, key: UrlKey) -> bool {
        let (place, half) = Self::place(key);
        self.cache.get(place) == Some(&half)
            || self.fresh.contains(&key)
            || self.committing.contains(&key)
    }

    /// Notes that the disk holds the key.
    pub(crate) fn cache(&mut self, key: UrlKey) {
        let (place, half) = Self::place(key);
        if let Some(slot) = self.cache.get_mut(place) {
            *slot = half;
        }
    }

    /// A new key.
    pub(crate) fn insert(&mut self, key: UrlKey) {
        self.fresh.insert(key);
        self.count += 1;
    }

    /// A new key that is not counted as a known URL.
    pub(crate) fn insert_refusal(&mut self, key: UrlKey) {
        self.fresh.insert(key);
        self.refused += 1;
    }

    /// What is fresh now is being written.
    pub(crate) fn begin_commit(&mut self) {
        self.committing = std::mem::take(&mut self.fresh);
    }

    /// It is written, and can be read from disk.
    pub(crate) fn end_commit(&mut self) {
        for key in std::mem::take(&mut self.committing) {
            self.cache(key);
        }
    }

    /// Known URLs.
    pub(crate) const fn count(&self) -> u64 {
        self.count
    }

    pub(crate) const fn refused(&self) -> u64 {
        self.refused
    }
}
