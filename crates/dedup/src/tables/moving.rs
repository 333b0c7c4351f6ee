//! Moves fingerprints from one layout to the next while tables grow. Each insertion moves a few, so that none waits
//! for the whole move.

use super::lines::Lines;
use super::simd::{Portable, Scan};
use crate::{Fingerprint, Layout};

/// Read-only tables of the former layout, and the progress of the move.
#[derive(Clone, Debug)]
pub(super) struct Former {
    layout: Layout,
    tables: Vec<Lines>,
    /// The number of finished buckets of the first table, and of moved values of the next one.
    looked_at: usize,
    moved: usize,
}

impl Former {
    /// The most fingerprints that an insertion moves: about one bucket.
    pub(super) const BATCH: usize = 16;

    pub(super) const fn new(layout: Layout, tables: Vec<Lines>) -> Self {
        Self { layout, tables, looked_at: 0, moved: 0 }
    }

    /// Returns the next fingerprints to move, with their numbers; empty at the end.
    pub(super) fn take(&mut self) -> Vec<(u64, u32)> {
        let mut taken = Vec::with_capacity(Self::BATCH);
        let Some(first) = self.tables.first() else { return taken };
        while taken.len() < Self::BATCH && self.looked_at < first.buckets().next_power_of_two() {
            let (before, room) = (taken.len(), Self::BATCH - taken.len());
            let bucket = scattered(self.looked_at, first.buckets());
            if bucket < first.buckets() {
                first.take(bucket, self.moved, room, &mut taken);
            }
            self.moved += taken.len() - before;
            if taken.len() < Self::BATCH {
                (self.looked_at, self.moved) = (self.looked_at + 1, 0);
            }
        }
        taken
    }

    /// Calls `visit` once with each fingerprint within the layout's distance, moved or not.
    #[inline(always)]
    pub(super) fn near_by<S: Scan>(
        &self,
        scan: S,
        query: u64,
        visit: &mut impl FnMut(Fingerprint),
    ) {
        let asked = Fingerprint::from_bits(query);
        for (number, table) in self.tables.iter().enumerate() {
            table.scan(scan, query, self.layout.distance(), &mut |bits| {
                let fingerprint = Fingerprint::from_bits(bits);
                if self.layout.first_table(asked, fingerprint) == Some(number) {
                    visit(fingerprint);
                }
            });
        }
    }

    /// Returns the number of a fingerprint, moved or not.
    pub(super) fn find(&self, bits: u64) -> Option<u32> {
        self.tables.first()?.find(Portable, bits)
    }

    /// Returns whether a fingerprint is stored, moved or not; searches its smallest bucket.
    pub(super) fn holds(&self, bits: u64) -> bool {
        let smallest = self.tables.iter().min_by_key(|table| table.len(Portable, bits));
        smallest.is_some_and(|table| table.find(Portable, bits).is_some())
    }

    pub(super) fn bytes(&self) -> usize {
        self.tables.iter().map(Lines::bytes).sum()
    }

    #[inline(always)]
    pub(super) fn prefetch<S: Scan>(&self, scan: S, query: u64, step: u32) {
        self.tables.iter().for_each(|table| table.prefetch(scan, query, step));
    }
}

/// Returns buckets in bit-reversed order, because neighbours share leads and would overfill the first buckets of the
/// new tables. Results up to the next power of two can be out of range.
const fn scattered(number: usize, buckets: usize) -> usize {
    let bits = buckets.next_power_of_two().trailing_zeros();
    if bits == 0 { number } else { number.reverse_bits() >> (usize::BITS - bits) }
}

#[cfg(test)]
mod tests {
    use super::scattered;

    #[test]
    fn every_bucket_is_moved_exactly_once() {
        for buckets in [1, 2, 3, 64, 65, 1000] {
            let turns = 0..usize::next_power_of_two(buckets);
            let mut all: Vec<usize> = turns.map(|turn| scattered(turn, buckets)).collect();
            all.sort_unstable();
            all.retain(|bucket| *bucket < buckets);
            assert_eq!(all, (0..buckets).collect::<Vec<_>>());
        }
        assert_eq!([0, 1, 2, 3].map(|turn| scattered(turn, 1 << 16)), [0, 0x8000, 0x4000, 0xc000]);
    }
}
