//! From one layout to the next while tables grow: each insertion moves a few fingerprints, so that
//! nobody waits for all of them.

use super::lines::Lines;
use super::simd::{Portable, Scan};
use crate::{Fingerprint, Layout};

/// Tables that take nothing more, and how far what they hold was moved.
#[derive(Clone, Debug)]
pub(super) struct Former {
    layout: Layout,
    tables: Vec<Lines>,
    /// The first of the first table's buckets that was not moved whole, and how much of it was.
    bucket: usize,
    moved: usize,
}

impl Former {
    /// What an insertion moves, at most: a bucket or so.
    pub(super) const AT_ONCE: usize = 16;

    pub(super) const fn new(layout: Layout, tables: Vec<Lines>) -> Self {
        Self { layout, tables, bucket: 0, moved: 0 }
    }

    /// The next fingerprints to be moved, with their numbers; none once all are.
    pub(super) fn take(&mut self) -> Vec<(u64, u32)> {
        let mut taken = Vec::with_capacity(Self::AT_ONCE);
        let Some(first) = self.tables.first() else { return taken };
        while taken.len() < Self::AT_ONCE && self.bucket < first.buckets() {
            let (before, room) = (taken.len(), Self::AT_ONCE - taken.len());
            first.take(self.bucket, self.moved, room, &mut taken);
            self.moved += taken.len() - before;
            if taken.len() < Self::AT_ONCE {
                (self.bucket, self.moved) = (self.bucket + 1, 0);
            }
        }
        taken
    }

    /// Calls `visit` with each fingerprint within the layout's distance once, whether it was moved or not.
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

    pub(super) fn find(&self, bits: u64) -> Option<u32> {
        self.tables.first()?.find(Portable, bits)
    }

    pub(super) fn bytes(&self) -> usize {
        self.tables.iter().map(Lines::bytes).sum()
    }

    #[inline(always)]
    pub(super) fn prefetch<S: Scan>(&self, scan: S, query: u64, step: u32) {
        self.tables.iter().for_each(|table| table.prefetch(scan, query, step));
    }
}
