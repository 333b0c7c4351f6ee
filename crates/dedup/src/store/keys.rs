//! Hashes of keys: a stored one, and a random one that outsiders cannot predict.

use std::cell::OnceCell;
use std::hash::{BuildHasher, Hasher, RandomState};

use crate::hash;

/// Returns the hash by which segments look keys up. It is part of the format; whole keys are compared afterwards.
pub(crate) fn key_hash(key: &[u8]) -> u32 {
    (hash::FeatureHash::Fnv1aMix.hash(key) >> 32) as u32
}

/// Hashes keys in memory with a random seed per opened store, so that nobody can choose keys of equal hashes.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyHasher(RandomState);

impl KeyHasher {
    pub(crate) fn hash(&self, key: &[u8]) -> u64 {
        let mut hasher = self.0.build_hasher();
        hasher.write(key);
        hasher.finish()
    }
}

#[derive(Debug)]
pub(crate) struct Key<'a> {
    pub(crate) bytes: &'a [u8],
    /// By [`KeyHasher`].
    pub(crate) hash: u32,
    stored: OnceCell<u32>,
}

impl<'a> Key<'a> {
    pub(crate) fn new(bytes: &'a [u8], hasher: &KeyHasher) -> Self {
        Self { bytes, hash: hasher.hash(bytes) as u32, stored: OnceCell::new() }
    }

    pub(crate) fn stored(&self) -> u32 {
        *self.stored.get_or_init(|| key_hash(self.bytes))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns keys with equal stored hashes: these eight bytes set the state of FNV-1a to 0, and zeroes keep it.
    pub(crate) fn colliding(count: usize) -> Vec<Vec<u8>> {
        let to_zero = [0xd5, 0x6b, 0xb9, 0x53, 0x42, 0x87, 0x08, 0x36];
        (0..count).map(|zeroes| [&to_zero[..], &vec![0; zeroes]].concat()).collect()
    }

    #[test]
    fn keys_with_colliding_stored_hashes_have_distinct_hashes_in_memory() {
        let keys = colliding(300);
        let stored: std::collections::HashSet<u32> = keys.iter().map(|key| key_hash(key)).collect();
        assert_eq!(stored.len(), 1);
        let [one, other] = [(); 2].map(|()| KeyHasher::default());
        let of = |hasher: &KeyHasher| -> std::collections::HashSet<u64> {
            keys.iter().map(|key| hasher.hash(key)).collect()
        };
        assert_eq!(of(&one).len(), 300);
        assert!(of(&one).is_disjoint(&of(&other)), "each store has its own");
        assert_eq!(of(&one), of(&one.clone()));
    }
}
