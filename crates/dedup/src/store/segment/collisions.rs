//! Collision buckets: buckets of a segment's key table with more than [`MAX_BUCKET`] entries.
//!
//! The stored hash of keys is part of the format and publicly known, so an attacker can choose keys that fall into
//! one bucket. At its first look-up, such a bucket is sorted in memory by a hash with a random seed, and then searched by
//! bisection.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::Result;
use crate::store::keys::KeyHasher;

/// Maximum number of entries of an ordinary bucket, which usually has four to eight.
pub(super) const MAX_BUCKET: usize = 64;

type Sorted = Arc<[(u64, u32)]>;

/// The collision buckets found so far: 16 bytes for each of their entries.
#[derive(Debug, Default)]
pub(super) struct Collisions {
    any: AtomicBool,
    hasher: KeyHasher,
    buckets: Mutex<HashMap<usize, Sorted>>,
}

impl Collisions {
    /// Returns the rows whose random hash equals that of the key, in ascending order; the caller compares the keys. `None`
    /// if the bucket is not sorted yet.
    pub(super) fn rows(&self, bucket: usize, key: &[u8]) -> Option<Vec<u32>> {
        if !self.any.load(Ordering::Acquire) {
            return None;
        }
        let buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let sorted = Arc::clone(buckets.get(&bucket)?);
        drop(buckets);
        let hash = self.hasher.hash(key);
        let first = sorted.partition_point(|entry| entry.0 < hash);
        let equal = sorted.iter().skip(first).take_while(|entry| entry.0 == hash);
        Some(equal.map(|entry| entry.1).collect())
    }

    /// Sorts the rows of a bucket by the random hash of their keys.
    ///
    /// # Errors
    /// If a key cannot be read.
    pub(super) fn add<'a>(
        &self,
        bucket: usize,
        rows: impl Iterator<Item = u32>,
        key: impl Fn(u32) -> Result<&'a [u8]>,
    ) -> Result<()> {
        let entries = rows.map(|row| Ok((self.hasher.hash(key(row)?), row)));
        let mut sorted = entries.collect::<Result<Vec<_>>>()?;
        sorted.sort_unstable();
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        buckets.insert(bucket, sorted.into());
        self.any.store(true, Ordering::Release);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::store::held;
    use crate::store::keys::tests::colliding;
    use crate::{Document, Fingerprint, Options, Store, Verdict, mix64};

    fn offer(store: &Store, key: &[u8], number: u64) -> Verdict {
        store.offer(&Document::new(key, Fingerprint::from_bits(mix64(number)))).unwrap()
    }

    #[test]
    fn keys_that_were_chosen_to_collide_cost_no_more_than_others() {
        let keys = colliding(3000);
        for resident_bytes in [0, 64 << 20] {
            let mut options = Options { resident_bytes, ..Options::default() };
            options.policy.hamming_only = true;
            let store = Store::in_memory(options).unwrap();
            // In memory, in one segment, in two; each time all keys are offered again.
            for (part, numbers) in (1..).zip([0..1000, 1000..2000, 2000..3000]) {
                for number in numbers {
                    let id = number as u64;
                    assert_eq!(offer(&store, &keys[number], id), Verdict::New(id));
                }
                let known = |store: &Store| {
                    let of = |(key, id): (&Vec<u8>, u64)| store.id_of(key).unwrap() == Some(id);
                    assert!(keys.iter().take(1000 * part).zip(0..).all(of));
                };
                known(&store);
                store.commit(b"").unwrap();
                store.compact().unwrap();
                known(&store);
                store.check().unwrap();
            }
            store.delete(7).unwrap();
            assert_eq!(store.id_of(&keys[7]).unwrap(), None);
            assert_eq!(offer(&store, &keys[7], 9999), Verdict::New(3000));
            assert_eq!(store.id_of(&keys[7]).unwrap(), Some(3000));
            let view = held(&store.writer).view.clone();
            let collisions = &view.segments.last().unwrap().collisions;
            assert_eq!(collisions.buckets.lock().unwrap().len(), 1, "the bucket was put in order");
            // Each key is compared only with itself: no two keys share a 64-bit hash.
            let bucket = *collisions.buckets.lock().unwrap().keys().next().unwrap();
            let compared = keys.iter().map(|key| collisions.rows(bucket, key).unwrap().len());
            assert_eq!(compared.sum::<usize>(), 3000);
        }
    }
}
