//! A hash map from a 32-bit key to several rows: 12 bytes per entry plus 4 to 8 for its bucket.

use crate::tables::pages::Pages;
use crate::tables::simd::prefetch;

const END: u32 = u32::MAX;
/// Entries per page, as a power of two: 96 KiB.
const PAGE_BITS: u32 = 13;

#[derive(Clone, Copy, Debug)]
struct Entry {
    key: u32,
    row: u32,
    next: u32,
}

/// Keys may collide, so the caller checks each row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chain {
    heads: Vec<u32>,
    entries: Pages<Entry, PAGE_BITS>,
}

impl Chain {
    fn bucket_of(heads: usize) -> impl Fn(u32) -> usize {
        // Keys are bits of hashes; the multiplication spreads them over all heads.
        move |key| ((u64::from(key.wrapping_mul(0x9e37_79b1)) * heads as u64) >> 32) as usize
    }

    fn bucket(&self, key: u32) -> usize {
        Self::bucket_of(self.heads.len())(key)
    }

    pub(crate) fn insert(&mut self, key: u32, row: u32) {
        if self.entries.len() >= self.heads.len() {
            self.grow();
        }
        let bucket = self.bucket(key);
        let at = self.entries.len() as u32;
        if let Some(head) = self.heads.get_mut(bucket) {
            let next = std::mem::replace(head, at);
            self.entries.push(Entry { key, row, next });
        }
    }

    fn grow(&mut self) {
        let room = (self.heads.len() * 2).max(64);
        // Frees the old heads before it allocates the new ones.
        self.heads = Vec::new();
        self.heads = vec![END; room];
        let bucket_of = Self::bucket_of(room);
        for (at, entry) in (0..).zip(self.entries.iter_mut()) {
            if let Some(head) = self.heads.get_mut(bucket_of(entry.key)) {
                entry.next = std::mem::replace(head, at);
            }
        }
    }

    pub(crate) fn prefetch_head(&self, key: u32) {
        prefetch(&self.heads, self.bucket(key));
    }

    pub(crate) fn prefetch(&self, key: u32) {
        if let Some(&head) = self.heads.get(self.bucket(key)) {
            self.entries.prefetch(head as usize);
        }
    }

    /// Returns the rows of a key, newest first.
    pub(crate) fn get(&self, key: u32) -> impl Iterator<Item = u32> + '_ {
        let mut at = self.heads.get(self.bucket(key)).copied().unwrap_or(END);
        std::iter::from_fn(move || {
            while let Some(entry) = self.entries.get(at as usize) {
                at = entry.next;
                if entry.key == key {
                    return Some(entry.row);
                }
            }
            None
        })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.heads.capacity() * size_of::<u32>() + self.entries.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_a_key_is_found_newest_first() {
        let mut chain = Chain::default();
        assert_eq!(chain.get(3).count(), 0);
        (0..10_000).for_each(|row| chain.insert(row % 997, row));
        for key in 0..997 {
            let rows: Vec<u32> = chain.get(key).collect();
            let expected: Vec<u32> = (0..10_000).rev().filter(|row| row % 997 == key).collect();
            assert_eq!(rows, expected);
        }
        assert_eq!(chain.get(997).count(), 0);
    }

    #[test]
    fn each_chain_entry_is_in_exactly_one_bucket() {
        let mut chain = Chain::default();
        (0..10_000).for_each(|row| chain.insert(row * 7, row));
        let length = |head: &u32| {
            let first = chain.entries.get(*head as usize);
            std::iter::successors(first, |entry| chain.entries.get(entry.next as usize)).count()
        };
        assert_eq!(chain.heads.iter().map(length).sum::<usize>(), 10_000);
    }
}
