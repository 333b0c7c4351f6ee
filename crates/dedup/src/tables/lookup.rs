//! The probing loop for every layout, for one query and for several.
//!
//! Each probe costs two unpredictable cache lines. So probes run in groups that overlap their waits: first all
//! directory lines are prefetched, then all entry lines, then the buckets are scanned.

use std::ops::Range;

use super::bits::Flips;
use super::simd::{Kernel, Scan};
use super::table::{Bucket, Table};
use super::{Near, Tables};
use crate::{Fingerprint, Layout};

/// Queries whose probes are in flight together.
const BATCH: usize = 32;

/// Up to this number of tables a look-up needs no allocation.
const INLINE_TABLES: usize = 8;

/// A bucket to be read, packed into one word because a look-up has thousands of them.
#[derive(Clone, Copy, Default)]
struct Probe(u64);

impl Probe {
    #[inline(always)]
    fn new(bucket: u64, query: usize, table: u16, flips: u32) -> Self {
        Self(bucket | (query as u64) << 32 | u64::from(flips) << 40 | u64::from(table) << 48)
    }
    #[inline(always)]
    const fn bucket(self) -> u64 {
        self.0 & 0xffff_ffff
    }
    #[inline(always)]
    const fn query(self) -> usize {
        (self.0 >> 32 & 0xff) as usize
    }
    #[inline(always)]
    const fn flips(self) -> u32 {
        (self.0 >> 40 & 0xff) as u32
    }
    #[inline(always)]
    const fn table(self) -> usize {
        (self.0 >> 48) as usize
    }
}

/// `GROUP` probes are in flight together. The group is cleared first, so it should not exceed a query's probes.
struct Lookup<'a, F, C, const GROUP: usize> {
    tables: &'a [Option<Table<'a>>],
    layout: &'a Layout,
    limit: u32,
    queries: &'a [Fingerprint],
    check: &'a C,
    visit: F,
}

/// Called with each range of bytes before it is read; `false` forbids the read.
pub(crate) trait Check {
    fn allow(&self, range: Range<usize>) -> bool;
}

struct Unchecked;

impl Check for Unchecked {
    #[inline(always)]
    fn allow(&self, _: Range<usize>) -> bool {
        true
    }
}

impl<F, C, const GROUP: usize> Kernel for Lookup<'_, F, C, GROUP>
where
    F: FnMut(usize, usize, Near),
    C: Check,
{
    type Output = ();

    #[inline(always)]
    fn run<S: Scan>(mut self, scan: S) {
        let mut group = [Probe::default(); GROUP];
        let mut filled = 0;
        for (number, query) in self.queries.iter().enumerate() {
            for (table, which) in self.tables.iter().flatten().zip(0u16..) {
                let shape = table.shape;
                let home = shape.bucket_of(query.bits());
                for flip in Flips::new(shape.directory_bits, shape.lead.radius) {
                    let bucket = home ^ flip;
                    // The radii may belong to a layout for a larger distance.
                    if flip.count_ones() > self.limit {
                        continue;
                    }
                    if !shape.buckets.contains(&bucket) {
                        continue;
                    }
                    if filled == GROUP {
                        self.finish(scan, &group);
                        filled = 0;
                    }
                    table.prefetch_directory(bucket);
                    if let Some(probe) = group.get_mut(filled) {
                        *probe = Probe::new(bucket, number, which, flip.count_ones());
                    }
                    filled += 1;
                }
            }
        }
        if let Some(group) = group.get(..filled) {
            self.finish(scan, group);
        }
    }
}

impl<F, C, const GROUP: usize> Lookup<'_, F, C, GROUP>
where
    F: FnMut(usize, usize, Near),
    C: Check,
{
    #[inline(always)]
    fn finish<S: Scan>(&mut self, scan: S, group: &[Probe]) {
        let mut ranges = [0u64; GROUP];
        for (probe, both) in group.iter().zip(&mut ranges) {
            if let Some(Some(table)) = self.tables.get(probe.table()) {
                if !self.check.allow(table.directory_range(probe.bucket())) {
                    continue;
                }
                let range = table.range(probe.bucket());
                table.prefetch_entries(&range);
                *both = range.start as u64 | (range.end as u64) << 32;
            }
        }
        for (probe, both) in group.iter().zip(ranges) {
            let number = probe.table();
            let (Some(Some(table)), Some(&query)) =
                (self.tables.get(number), self.queries.get(probe.query()))
            else {
                continue;
            };
            let range = (both & 0xffff_ffff) as usize..(both >> 32) as usize;
            if range.is_empty() || !self.check.allow(table.entry_range(&range)) {
                continue;
            }
            let (layout, visit) = (self.layout, &mut self.visit);
            let bucket = Bucket { number: probe.bucket(), places: range, flips: probe.flips() };
            table.scan(scan, bucket, query.bits(), self.limit, |place, bits| {
                let fingerprint = Fingerprint::from_bits(bits);
                if layout.first_table(query, fingerprint) == Some(number) {
                    let distance = query.distance(fingerprint);
                    visit(probe.query(), place, Near { fingerprint, distance, table: number });
                }
            });
        }
    }
}

fn workers(asked: usize) -> usize {
    let at_once = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    asked.clamp(1, at_once)
}

impl Tables {
    /// Returns every stored fingerprint within the layout's distance, nearest first, then by value.
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

    /// Calls `visit` with query index and match, for each stored fingerprint within the layout's distance of a query.
    /// The look-ups of the queries overlap.
    pub fn near_many(&self, queries: &[Fingerprint], mut visit: impl FnMut(usize, Near)) {
        for (batch, queries) in queries.chunks(BATCH).enumerate() {
            self.look(queries, |number, _, near| visit(batch * BATCH + number, near));
        }
    }

    /// Runs [`near_many`](Self::near_many) on `threads` threads, at most the machine's parallelism. Returns the
    /// matches of each query, nearest first.
    pub fn near_parallel(&self, queries: &[Fingerprint], threads: usize) -> Vec<Vec<Near>> {
        let each = queries.len().div_ceil(workers(threads)).max(1);
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

    /// Looks queries up in all shards of a set, on as many threads as the machine runs in parallel. The result is
    /// that of [`near_parallel`](Self::near_parallel) on the whole tables. The [`Shard`](super::Shard) numbers are
    /// arbitrary; content of missing shards is not found.
    pub fn near_sharded(shards: &[Self], queries: &[Fingerprint]) -> Vec<Vec<Near>> {
        let part = |shards: &[Self]| {
            let mut found = vec![Vec::new(); queries.len()];
            for shard in shards {
                shard.near_many(queries, |number, near| {
                    found.get_mut(number).into_iter().for_each(|found| found.push(near));
                });
            }
            found
        };
        let each = shards.len().div_ceil(workers(shards.len())).max(1);
        let mut all = vec![Vec::new(); queries.len()];
        std::thread::scope(|scope| {
            let workers: Vec<_> =
                shards.chunks(each).map(|shards| scope.spawn(move || part(shards))).collect();
            for worker in workers {
                let found: Vec<Vec<Near>> =
                    worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                all.iter_mut().zip(found).for_each(|(all, found)| all.extend(found));
            }
        });
        for found in &mut all {
            found.sort_unstable_by_key(|near: &Near| (near.distance, near.fingerprint));
        }
        all
    }

    /// Returns the number of stored fingerprints that a look-up compares in full: its cost.
    /// [`Plan::candidates`](crate::Plan::candidates) is the expected value for uniform ones. Candidates of several
    /// tables count several times.
    pub fn candidates(&self, query: Fingerprint) -> u64 {
        let limit = self.layout.distance();
        let mut candidates = 0;
        for table in (0..self.tables.len()).filter_map(|number| self.table(number)) {
            let home = table.shape.bucket_of(query.bits());
            let flips = Flips::new(table.shape.directory_bits, table.shape.lead.radius);
            let buckets = flips.filter(|flip| flip.count_ones() <= limit).map(|flip| home ^ flip);
            let held = buckets.filter(|bucket| table.shape.buckets.contains(bucket));
            candidates += held.map(|bucket| table.range(bucket).len() as u64).sum::<u64>();
        }
        candidates
    }

    /// Returns the rank of a fingerprint in the order of the first table: an index for arrays of the caller.
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
                let bucket = Bucket { number: self.1, places: self.0.range(self.1), flips: 0 };
                self.0.scan(scan, bucket, self.2, 0, |place, _| rank = Some(place));
                rank
            }
        }
        self.simd.run(Rank(table, bucket, fingerprint.bits()))
    }

    /// Returns the [`rank`](Self::rank) after checking the bytes with `touch`.
    pub(crate) fn rank_checked(
        &self,
        fingerprint: Fingerprint,
        touch: impl Fn(Range<usize>) -> crate::Result<()>,
    ) -> crate::Result<Option<usize>> {
        if let Some(table) = self.table(0) {
            let bucket = table.shape.bucket_of(fingerprint.bits());
            touch(table.directory_range(bucket))?;
            touch(table.entry_range(&table.range(bucket)))?;
        }
        Ok(self.rank(fingerprint))
    }

    /// [Looks](Self::look) queries up and checks bytes with `touch` before reading them.
    pub(crate) fn look_checked(
        &self,
        queries: &[Fingerprint],
        touch: impl Fn(Range<usize>) -> crate::Result<()>,
        mut visit: impl FnMut(usize, usize, Near),
    ) -> crate::Result<()> {
        struct First<T>(T, std::cell::RefCell<Option<crate::Error>>);
        impl<T: Fn(Range<usize>) -> crate::Result<()>> Check for First<T> {
            #[inline(always)]
            fn allow(&self, range: Range<usize>) -> bool {
                match (self.0)(range) {
                    Ok(()) => true,
                    Err(error) => {
                        self.1.borrow_mut().get_or_insert(error);
                        false
                    }
                }
            }
        }
        let check = First(touch, std::cell::RefCell::new(None));
        for (batch, queries) in queries.chunks(BATCH).enumerate() {
            self.look_with(queries, &check, |query, place, near| {
                visit(batch * BATCH + query, place, near);
            });
        }
        check.1.into_inner().map_or(Ok(()), Err)
    }

    /// Calls `visit` with query index, place in the table and match.
    #[inline]
    pub(crate) fn look(&self, queries: &[Fingerprint], visit: impl FnMut(usize, usize, Near)) {
        self.look_with(queries, &Unchecked, visit);
    }

    #[inline]
    fn look_with<C: Check>(
        &self,
        queries: &[Fingerprint],
        check: &C,
        visit: impl FnMut(usize, usize, Near),
    ) {
        let few: [Option<Table<'_>>; INLINE_TABLES];
        let many: Vec<Option<Table<'_>>>;
        let tables: &[Option<Table<'_>>] = if self.tables.len() <= INLINE_TABLES {
            few = std::array::from_fn(|number| self.table(number));
            &few
        } else {
            many = (0..self.tables.len()).map(|number| self.table(number)).collect();
            &many
        };
        let (layout, limit) = (&self.layout, self.layout.distance());
        let probes = self.probes * queries.len() as u64;
        if probes <= 8 {
            self.simd.run(Lookup::<_, _, 8> { tables, layout, limit, queries, check, visit });
        } else if probes <= 64 {
            self.simd.run(Lookup::<_, _, 64> { tables, layout, limit, queries, check, visit });
        } else {
            self.simd.run(Lookup::<_, _, 256> { tables, layout, limit, queries, check, visit });
        }
    }
}
