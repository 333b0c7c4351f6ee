//! The seen-set: URLs that are not committed yet, and a cache of those on disk.

use std::collections::HashSet;

use hapax_url::UrlKey;

/// Slots of the cache: 16 MiB.
const PLACES: usize = 1 << 21;

/// A set of keys. The cache has a fixed size: it may lose a key, but never invents one.
#[derive(Debug)]
pub(crate) struct Seen {
    /// Keys since the last commit, and keys of the running commit.
    fresh: HashSet<UrlKey>,
    committing: HashSet<UrlKey>,
    /// One key a slot. Slot and half a key are 85 bits: with 10^10 URLs, one new URL in 10^15 is mistaken for a known
    /// one.
    cache: Box<[u64]>,
    count: u64,
    /// Keys of refusals, which do not count as known URLs.
    refused: u64,
}

impl Seen {
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

    /// Returns whether the key is certainly known. If not, the disk decides.
    pub(crate) fn has(&self, key: UrlKey) -> bool {
        let (place, half) = Self::place(key);
        self.cache.get(place) == Some(&half)
            || self.fresh.contains(&key)
            || self.committing.contains(&key)
    }

    /// Adds a key that is on disk.
    pub(crate) fn cache(&mut self, key: UrlKey) {
        let (place, half) = Self::place(key);
        if let Some(slot) = self.cache.get_mut(place) {
            *slot = half;
        }
    }

    pub(crate) fn insert(&mut self, key: UrlKey) {
        self.fresh.insert(key);
        self.count += 1;
    }

    /// Adds a new key that does not count as a known URL.
    pub(crate) fn insert_refusal(&mut self, key: UrlKey) {
        self.fresh.insert(key);
        self.refused += 1;
    }

    pub(crate) fn begin_commit(&mut self) {
        self.committing = std::mem::take(&mut self.fresh);
    }

    /// Ends the commit: the keys can be read from disk.
    pub(crate) fn end_commit(&mut self) {
        for key in std::mem::take(&mut self.committing) {
            self.cache(key);
        }
    }

    pub(crate) const fn count(&self) -> u64 {
        self.count
    }

    pub(crate) const fn refused(&self) -> u64 {
        self.refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_a_running_commit_are_known() {
        let mut seen = Seen::new(0, 0);
        seen.insert(7);
        seen.begin_commit();
        assert!(seen.has(7) && !seen.has(8));
        seen.end_commit();
        assert!(seen.has(7), "from the cache");
    }
}
