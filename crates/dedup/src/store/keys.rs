//! Hashes of keys: one that is stored, and one that nobody outside can foresee.

use std::cell::OnceCell;
use std::hash::{BuildHasher, Hasher, RandomState};

use crate::hash;

/// In segments keys are looked up by 32 bits of a hash that is part of the format, and compared whole.
pub(crate) fn key_hash(key: &[u8]) -> u32 {
    (hash::FeatureHash::Fnv1aMix.hash(key) >> 32) as u32
}

/// Hashes keys for memory, otherwise in each store that is opened: whoever chooses keys cannot choose
/// ones of equal hashes.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyHasher(RandomState);

impl KeyHasher {
    pub(crate) fn hash(&self, key: &[u8]) -> u64 {
        let mut hasher = self.0.build_hasher();
        hasher.write(key);
        hasher.finish()
    }
}

/// A key with its hashes, each made once.
#[derive(Debug)]
pub(crate) struct Key<'a> {
    pub(crate) bytes: &'a [u8],
    /// Of [`KeyHasher`].
    pub(crate) hash: u32,
    stored: OnceCell<u32>,
}

impl<'a> Key<'a> {
    pub(crate) fn new(bytes: &'a [u8], hasher: &KeyHasher) -> Self {
        Self { bytes, hash: hasher.hash(bytes) as u32, stored: OnceCell::new() }
    }

    /// The hash by which segments know it.
    pub(crate) fn stored(&self) -> u32 {
        *self.stored.get_or_init(|| key_hash(self.bytes))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Keys of one stored hash. After these eight bytes the state of FNV-1a is 0, and zeroes leave it so.
    pub(crate) fn colliding(count: usize) -> Vec<Vec<u8>> {
        let to_zero = [0xd5, 0x6b, 0xb9, 0x53, 0x42, 0x87, 0x08, 0x36];
        (0..count).map(|zeroes| [&to_zero[..], &vec![0; zeroes]].concat()).collect()
    }

    #[test]
    fn keys_of_one_stored_hash_have_others_in_memory() {
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
