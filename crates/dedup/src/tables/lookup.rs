//! The probing loop: one for every layout, for one query and for many.
//!
//! Each probe costs two cache lines that nothing can predict. So probes are taken in groups: first
//! all directory lines are asked for, then all entry lines, then the buckets are scanned, and the
//! waiting overlaps.

use super::bits::for_each_flip;
use super::simd::{Kernel, Scan};
use super::table::Table;
use super::{Near, Tables};
use crate::{Fingerprint, Layout};

/// Queries whose probes are in flight together.
const BATCH: usize = 32;

/// So many tables need no allocation to be looked up in.
const FEW: usize = 8;

/// One bucket to be read.
#[derive(Clone, Copy, Default)]
struct Probe {
    bucket: u64,
    start: u32,
    end: u32,
    query: u32,
    table: u16,
    flips: u16,
}

/// `GROUP` probes are in flight together: as few as a query needs, for the group is cleared first.
struct Lookup<'a, F, const GROUP: usize> {
    tables: &'a [Option<Table<'a>>],
    layout: &'a Layout,
    limit: u32,
    queries: &'a [Fingerprint],
    visit: F,
}

impl<F: FnMut(usize, usize, Near), const GROUP: usize> Kernel for Lookup<'_, F, GROUP> {
    type Output = ();

    #[inline(always)]
    fn run<S: Scan>(mut self, scan: S) {
        let mut group = [Probe::default(); GROUP];
        let mut filled = 0;
        for (number, query) in self.queries.iter().enumerate() {
            for (table, which) in self.tables.iter().flatten().zip(0u16..) {
                let shape = table.shape;
                let home = shape.bucket_of(query.bits());
                for_each_flip(shape.directory_bits, shape.lead.radius, |flip| {
                    let bucket = home ^ flip;
                    if !shape.buckets.contains(&bucket) {
                        return;
                    }
                    if filled == GROUP {
                        self.finish(scan, &mut group);
                        filled = 0;
                    }
                    table.prefetch_directory(bucket);
                    if let Some(probe) = group.get_mut(filled) {
                        *probe = Probe {
                            bucket,
                            start: 0,
                            end: 0,
                            query: number as u32,
                            table: which,
                            flips: flip.count_ones() as u16,
                        };
                    }
                    filled += 1;
                });
            }
        }
        if let Some(group) = group.get_mut(..filled) {
            self.finish(scan, group);
        }
    }
}

impl<F: FnMut(usize, usize, Near), const GROUP: usize> Lookup<'_, F, GROUP> {
    #[inline(always)]
    fn finish<S: Scan>(&mut self, scan: S, group: &mut [Probe]) {
        for probe in &mut *group {
            if let Some(Some(table)) = self.tables.get(usize::from(probe.table)) {
                let range = table.range(probe.bucket);
                table.prefetch_entries(&range);
                (probe.start, probe.end) = (range.start as u32, range.end as u32);
            }
        }
        for probe in &*group {
            let number = usize::from(probe.table);
            let (Some(Some(table)), Some(&query)) =
                (self.tables.get(number), self.queries.get(probe.query as usize))
            else {
                continue;
            };
            let range = probe.start as usize..probe.end as usize;
            let flips = u32::from(probe.flips);
            let (layout, visit) = (self.layout, &mut self.visit);
            table.scan(scan, probe.bucket, range, query.bits(), self.limit, flips, |place, bits| {
                let fingerprint = Fingerprint::from_bits(bits);
                if layout.first_table(query, fingerprint) == Some(number) {
                    let distance = query.distance(fingerprint);
                    visit(probe.query as usize, place, Near { fingerprint, distance, table: number });
                }
            });
        }
    }
}

impl Tables {
    /// Every stored fingerprint within the layout's distance, nearest first, then by value.
    ///
    /// # Complexity
    /// See [`Tables`].
    pub fn near(&self, query: Fingerprint) -> Vec<Near> {
        let mut found = Vec::new();
        self.look(&[query], |_, _, near| found.push(near));
        if found.len() > 1 {
            found.sort_unstable_by_key(|near| (near.distance, near.fingerprint));
        }
        found
    }

    /// Calls `visit` with the number of a query and a stored fingerprint within the layout's
    /// distance of it, for all of them; the look-ups of many queries overlap.
    pub fn near_many(&self, queries: &[Fingerprint], mut visit: impl FnMut(usize, Near)) {
        for (batch, queries) in queries.chunks(BATCH).enumerate() {
            self.look(queries, |number, _, near| visit(batch * BATCH + number, near));
        }
    }

    /// [`near_many`](Self::near_many) on `threads` threads, each with its part of the queries; the
    /// matches of each query, nearest first.
    pub fn near_parallel(&self, queries: &[Fingerprint], threads: usize) -> Vec<Vec<Near>> {
        let each = queries.len().div_ceil(threads.max(1)).max(1);
        let part = |queries: &[Fingerprint]| {
            let mut found = vec![Vec::new(); queries.len()];
            self.near_many(queries, |number, near| {
                if let Some(found) = found.get_mut(number) {
                    found.push(near);
                }
            });
            for found in &mut found {
                found.sort_unstable_by_key(|near: &Near| (near.distance, near.fingerprint));
            }
            found
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> =
                queries.chunks(each).map(|queries| scope.spawn(move || part(queries))).collect();
            let joined = workers.into_iter().map(|worker| match worker.join() {
                Ok(found) => found,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            joined.flatten().collect()
        })
    }

    /// Where a fingerprint stands in the order of the first table: an index into arrays that the
    /// caller keeps beside the tables.
    pub fn rank(&self, fingerprint: Fingerprint) -> Option<usize> {
        let table = self.table(0)?;
        let bucket = table.shape.bucket_of(fingerprint.bits());
        if !table.shape.buckets.contains(&bucket) {
            return None;
        }
        struct Rank<'a>(Table<'a>, u64, u64);
        impl Kernel for Rank<'_> {
            type Output = Option<usize>;
            #[inline(always)]
            fn run<S: Scan>(self, scan: S) -> Option<usize> {
                let mut rank = None;
                let range = self.0.range(self.1);
                self.0.scan(scan, self.1, range, self.2, 0, 0, |place, _| rank = Some(place));
                rank
            }
        }
        self.simd.run(Rank(table, bucket, fingerprint.bits()))
    }

    /// Calls `visit` with the number of the query, the place in the table and the match.
    #[inline]
    pub(crate) fn look(&self, queries: &[Fingerprint], visit: impl FnMut(usize, usize, Near)) {
        let few: [Option<Table<'_>>; FEW];
        let many: Vec<Option<Table<'_>>>;
        let tables: &[Option<Table<'_>>] = if self.tables.len() <= FEW {
            few = std::array::from_fn(|number| self.table(number));
            &few
        } else {
            many = (0..self.tables.len()).map(|number| self.table(number)).collect();
            &many
        };
        let (layout, limit) = (&self.layout, self.layout.distance());
        match self.probes * queries.len() as u64 {
            0..=8 => self.simd.run(Lookup::<_, 8> { tables, layout, limit, queries, visit }),
            9..=72 => self.simd.run(Lookup::<_, 72> { tables, layout, limit, queries, visit }),
            _ => self.simd.run(Lookup::<_, 256> { tables, layout, limit, queries, visit }),
        }
    }
}
