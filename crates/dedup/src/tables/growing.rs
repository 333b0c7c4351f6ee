//! Tables that grow by one fingerprint at a time, as in memtables.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::Near;
use super::bits::{Compress, Flips, highest};
use super::buckets::Buckets;
use super::lines::Lines;
use super::moving::Former;
use super::simd::{Kernel, Portable, Scan, Simd};
use crate::hash::mix64;
use crate::layout::Lead;
use crate::{Fingerprint, Layout, LayoutError};

/// Keys are bits of fingerprints, so one mixing round is enough.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MixHasher(u64);

impl Hasher for MixHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = mix64(self.0 ^ u64::from(byte));
        }
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = mix64(value);
    }
}

pub(crate) type MixMap<V> = HashMap<u64, V, BuildHasherDefault<MixHasher>>;

/// The most bucket bits of leads that are probed or too short for lines.
const MAX_BUCKET_BITS: u32 = 16;

/// The largest bucket that is searched without looking for a smaller one in another table.
const SMALL: usize = 32;

/// The most fingerprints; lines of a table are numbered with 28 bits.
pub(super) const MAX_FINGERPRINTS: usize = 1 << 30;

/// At this number of fingerprints and distance 3, buckets of four tables of 16 bits are too full, and six tables of
/// 21 bits take over. Both cost the same at 1.5 million (`bench-compare -- offer` measures it).
const OUTGROWN: usize = 20 << 16;

/// One table: the lead bits that choose its buckets.
#[derive(Clone, Debug)]
struct Table {
    radius: u32,
    entries: Entries,
}

#[derive(Clone, Debug)]
enum Entries {
    /// Buckets chosen by a limited number of bits.
    Buckets { bits: u32, bucket: Compress, buckets: Buckets },
    /// Lines for long leads without probing.
    Lines(Lines),
}

/// Returns the number of bits that choose a bucket, and whether the lead suits [`Lines`].
const fn bits_of(lead: &Lead) -> (u32, bool) {
    if lead.radius == 0 && Lines::suit(lead.bits()) {
        return (lead.bits(), true);
    }
    (if lead.bits() < MAX_BUCKET_BITS { lead.bits() } else { MAX_BUCKET_BITS }, false)
}

impl Table {
    fn new(lead: &Lead, numbered: bool) -> Self {
        let entries = match bits_of(lead) {
            (_, true) => Entries::Lines(Lines::new(lead.mask, numbered)),
            (bits, false) => Entries::Buckets {
                bits,
                bucket: Compress::new(highest(lead.mask, bits)),
                buckets: Buckets::new(bits, numbered),
            },
        };
        Self { radius: lead.radius, entries }
    }

    #[inline(always)]
    fn push<S: Scan>(&mut self, scan: S, bits: u64, number: u32) {
        match &mut self.entries {
            Entries::Lines(lines) => lines.push(scan, bits, number),
            Entries::Buckets { bucket, buckets, .. } => {
                buckets.push(scan.extract(bucket, bits), bits, number);
            }
        }
    }

    fn find(&self, bits: u64) -> Option<u32> {
        match &self.entries {
            Entries::Lines(lines) => lines.find(Portable, bits),
            Entries::Buckets { bucket, buckets, .. } => buckets.find(bucket.extract(bits), bits),
        }
    }

    /// Returns the approximate number of values in the bucket.
    fn len(&self, bits: u64) -> usize {
        match &self.entries {
            Entries::Lines(lines) => lines.len(Portable, bits),
            Entries::Buckets { bucket, buckets, .. } => buckets.len(bucket.extract(bits)),
        }
    }

    fn bytes(&self) -> usize {
        match &self.entries {
            Entries::Lines(lines) => lines.bytes(),
            Entries::Buckets { buckets, .. } => buckets.bytes(),
        }
    }

    #[inline(always)]
    fn scan<S: Scan>(&self, scan: S, query: u64, limit: u32, visit: &mut impl FnMut(u64)) {
        match &self.entries {
            Entries::Lines(lines) => lines.scan(scan, query, limit, visit),
            Entries::Buckets { bits, bucket, buckets } => {
                let home = scan.extract(bucket, query);
                for flip in Flips::new(*bits, self.radius) {
                    buckets.scan(scan, home ^ flip, query, limit, visit);
                }
            }
        }
    }

    #[inline(always)]
    fn prefetch<S: Scan>(&self, scan: S, query: u64, step: u32) {
        match &self.entries {
            Entries::Lines(lines) => lines.prefetch(scan, query, step),
            Entries::Buckets { bucket, buckets, .. } => {
                buckets.prefetch(scan.extract(bucket, query), step);
            }
        }
    }
}

fn tables_of(layout: &Layout, numbered: bool) -> Vec<Table> {
    let leads = layout.leads().iter().enumerate();
    leads.map(|(table, lead)| Table::new(lead, numbered && table == 0)).collect()
}

/// Distinct fingerprints in growing tables, one per lead. Tables made [for a distance](Self::for_distance) change
/// their layout once as they grow.
#[derive(Clone, Debug)]
pub struct GrowingTables {
    layout: Layout,
    tables: Vec<Table>,
    numbered: bool,
    /// The next layout, and the number of fingerprints at which it takes over.
    next: Option<(usize, Layout)>,
    former: Option<Box<Former>>,
    len: usize,
    pub(super) simd: Simd,
}

struct Find<'a, V> {
    tables: &'a GrowingTables,
    query: Fingerprint,
    visit: V,
}

impl<V: FnMut(Near)> Kernel for Find<'_, V> {
    type Output = ();

    #[inline(always)]
    fn run<S: Scan>(mut self, scan: S) {
        self.tables.near_by(scan, self.query, &mut self.visit);
    }
}

struct Ask<'a>(&'a GrowingTables, &'a [Fingerprint]);

impl Kernel for Ask<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Scan>(self, scan: S) {
        self.0.prefetch_by(scan, self.1);
    }
}

struct Insert<'a>(&'a mut GrowingTables, Fingerprint);

impl Kernel for Insert<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Scan>(self, scan: S) {
        self.0.insert_by(scan, self.1);
    }
}

struct Move<'a>(&'a mut GrowingTables, &'a [(u64, u32)]);

impl Kernel for Move<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Scan>(self, scan: S) {
        for step in 0..2 {
            for table in &self.0.tables {
                self.1.iter().for_each(|(bits, _)| table.prefetch(scan, *bits, step));
            }
        }
        for (bits, number) in self.1 {
            self.0.tables.iter_mut().for_each(|table| table.push(scan, *bits, *number));
        }
    }
}

impl GrowingTables {
    /// Creates empty tables with a fixed layout.
    pub fn new(layout: Layout) -> Self {
        Self::with_numbers(layout, false)
    }

    /// Creates empty tables that change from [`Layout::for_distance`] to [`Layout::for_growing`] as they grow. The
    /// change does not block an insertion: each one moves a few fingerprints.
    ///
    /// # Errors
    /// A distance above 7.
    pub fn for_distance(distance: u32) -> Result<Self, LayoutError> {
        Self::with_room(distance, 0, false)
    }

    /// Creates tables for a distance and at least `expected` fingerprints, with or without numbers.
    pub(crate) fn with_room(
        distance: u32,
        expected: usize,
        numbered: bool,
    ) -> Result<Self, LayoutError> {
        let (first, then) = (Layout::for_distance(distance)?, Layout::for_growing(distance)?);
        Ok(if expected >= OUTGROWN || first == then {
            Self::with_numbers(then, numbered)
        } else {
            Self::in_turn(first, OUTGROWN, then, numbered)
        })
    }

    /// Creates tables that change from layout `first` to `then` at `until` fingerprints.
    pub(super) fn in_turn(first: Layout, until: usize, then: Layout, numbered: bool) -> Self {
        Self { next: Some((until, then)), ..Self::with_numbers(first, numbered) }
    }

    pub(super) fn with_numbers(layout: Layout, numbered: bool) -> Self {
        let tables = tables_of(&layout, numbered);
        let simd = Simd::detect();
        Self { tables, layout, numbered, next: None, former: None, len: 0, simd }
    }

    /// Returns the approximate bytes of tables [for a distance](Self::for_distance) with `len` uniform fingerprints,
    /// up to about 10^8, without tables that are being moved.
    pub(crate) fn bytes_for(distance: u32, len: u64) -> u64 {
        let bytes = |layout: &Layout, len: u64| -> u64 {
            let each = layout.leads().iter().map(|lead| match bits_of(lead) {
                // Lines of seven, later ten values, filled to four fifths; some lines have a second one.
                (_, true) => 12 * len + 4 * len.min(1 << 19),
                // A bucket begins with capacity for four and a header of equal size; later up to half is unused.
                (bits, false) => (68 << bits) + 17 * len,
            });
            each.sum()
        };
        let (Ok(first), Ok(then)) = (Layout::for_distance(distance), Layout::for_growing(distance))
        else {
            return u64::MAX;
        };
        bytes(if len < OUTGROWN as u64 { &first } else { &then }, len)
    }

    /// Returns the number of fingerprints that a look-up compares in tables for a distance with `len` uniform ones.
    pub(crate) fn compared(distance: u32, len: u64) -> u64 {
        let layout = if len < OUTGROWN as u64 {
            Layout::for_distance(distance)
        } else {
            Layout::for_growing(distance)
        };
        let each = |lead: &Lead| {
            let (bits, own) = bits_of(lead);
            let bucket = len.checked_shr(bits).unwrap_or(0);
            if own {
                bucket.max(Lines::MEAN)
            } else {
                Flips::new(bits, lead.radius).count() as u64 * bucket
            }
        };
        layout.map_or(u64::MAX, |layout| layout.leads().iter().map(each).sum())
    }

    /// Returns the layout.
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the number of stored distinct fingerprints.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the tables are empty.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a fingerprint. Returns `false` if it was stored already, or if the tables have 2^30 fingerprints, their
    /// maximum (60 GB and more at distance 3).
    ///
    /// # Complexity
    /// One bucket per table, amortised over its growth, and a scan of the smallest bucket.
    pub fn insert(&mut self, fingerprint: Fingerprint) -> bool {
        let fresh = self.len < MAX_FINGERPRINTS && !self.contains(fingerprint);
        if fresh {
            self.insert_distinct(fingerprint);
        }
        fresh
    }

    /// [Inserts](Self::insert) a fingerprint that the caller knows is new.
    pub(crate) fn insert_new(&mut self, fingerprint: Fingerprint) {
        if self.len < MAX_FINGERPRINTS {
            self.insert_distinct(fingerprint);
        }
    }

    /// Adds a fingerprint that the caller knows is new. Its number is the count before it.
    pub(crate) fn insert_distinct(&mut self, fingerprint: Fingerprint) {
        self.simd.run(Insert(self, fingerprint));
    }

    #[inline(always)]
    pub(super) fn insert_by<S: Scan>(&mut self, scan: S, fingerprint: Fingerprint) {
        let (bits, number) = (fingerprint.bits(), self.len as u32);
        for table in &mut self.tables {
            table.push(scan, bits, number);
        }
        self.len += 1;
        if self.former.is_some() {
            self.move_some();
        } else if self.next.as_ref().is_some_and(|(until, _)| self.len >= *until) {
            self.outgrow();
        }
    }

    /// Begins the next layout and keeps the former tables until their fingerprints are moved.
    #[cold]
    fn outgrow(&mut self) {
        let Some((_, layout)) = self.next.take() else { return };
        if self.tables.iter().any(|table| matches!(table.entries, Entries::Buckets { .. })) {
            // Bucket bits do not determine the values' places, so these tables keep their layout.
            return;
        }
        let tables = std::mem::replace(&mut self.tables, tables_of(&layout, self.numbered));
        let lines = tables.into_iter().filter_map(|table| match table.entries {
            Entries::Lines(lines) => Some(lines),
            Entries::Buckets { .. } => None,
        });
        let former = Former::new(std::mem::replace(&mut self.layout, layout), lines.collect());
        self.former = Some(Box::new(former));
    }

    #[cold]
    fn move_some(&mut self) {
        let Some(former) = &mut self.former else { return };
        let some = former.take();
        if some.is_empty() {
            self.former = None;
            return;
        }
        self.simd.run(Move(self, &some));
    }

    /// Returns the number of a stored fingerprint, if the tables have numbers.
    pub(super) fn number(&self, fingerprint: Fingerprint) -> Option<u32> {
        let bits = fingerprint.bits();
        let number = self.tables.first()?.find(bits);
        number.or_else(|| self.former.as_ref()?.find(bits))
    }

    /// Returns whether a fingerprint is stored.
    pub fn contains(&self, fingerprint: Fingerprint) -> bool {
        let before = || self.former.as_ref().is_some_and(|former| former.holds(fingerprint.bits()));
        self.holds(fingerprint) || before()
    }

    fn holds(&self, fingerprint: Fingerprint) -> bool {
        // Any table would do; uses the first small bucket, or else the smallest.
        let bits = fingerprint.bits();
        let small = self.tables.iter().find(|table| table.len(bits) <= SMALL);
        let table = small.or_else(|| self.tables.iter().min_by_key(|table| table.len(bits)));
        table.is_some_and(|table| table.find(bits).is_some())
    }

    /// Returns the bytes of the tables.
    pub fn bytes(&self) -> usize {
        self.settled_bytes() + self.former.as_ref().map_or(0, |former| former.bytes())
    }

    /// Returns the bytes without the former tables, which are freed as the tables grow.
    pub(crate) fn settled_bytes(&self) -> usize {
        self.tables.iter().map(Table::bytes).sum()
    }

    /// Returns every stored fingerprint within the layout's distance, nearest first, then by value.
    ///
    /// # Complexity
    /// For uniform fingerprints and each lead of 16 bits or more without probing: a bucket of about eight, or `len /
    /// 2^lead` if that is more. Otherwise `probes` buckets of `len / 2^min(lead, 16)`. During a layout change, which
    /// takes one insertion per 16 stored fingerprints, both layouts are searched.
    pub fn near(&self, query: Fingerprint) -> Vec<Near> {
        let mut found = Vec::new();
        self.near_each(query, |near| found.push(near));
        if found.len() > 1 {
            found.sort_unstable_by_key(|near| (near.distance, near.fingerprint));
        }
        found
    }

    pub(crate) fn prefetch(&self, queries: &[Fingerprint]) {
        self.simd.run(Ask(self, queries));
    }

    #[inline(always)]
    pub(super) fn prefetch_by<S: Scan>(&self, scan: S, queries: &[Fingerprint]) {
        for step in 0..3 {
            for table in &self.tables {
                for query in queries {
                    table.prefetch(scan, query.bits(), step);
                }
            }
            if let Some(former) = &self.former {
                queries.iter().for_each(|query| former.prefetch(scan, query.bits(), step));
            }
        }
    }

    /// Prefetches the bucket pointers, or the values themselves if the buckets are small.
    pub(crate) fn prefetch_first(&self, query: Fingerprint) {
        for table in &self.tables {
            let step = u32::from(matches!(table.entries, Entries::Buckets { .. }));
            table.prefetch(Portable, query.bits(), step);
        }
        if let Some(former) = &self.former {
            former.prefetch(Portable, query.bits(), 0);
        }
    }

    /// Calls `visit` with each near fingerprint, table by table, then those of the former tables.
    pub(crate) fn near_each(&self, query: Fingerprint, visit: impl FnMut(Near)) {
        self.simd.run(Find { tables: self, query, visit });
    }

    #[inline(always)]
    pub(super) fn near_by<S: Scan>(
        &self,
        scan: S,
        query: Fingerprint,
        visit: &mut impl FnMut(Near),
    ) {
        let limit = self.layout.distance();
        for (number, table) in self.tables.iter().enumerate() {
            table.scan(scan, query.bits(), limit, &mut |bits| {
                let fingerprint = Fingerprint::from_bits(bits);
                if self.layout.first_table(query, fingerprint) == Some(number) {
                    let distance = query.distance(fingerprint);
                    visit(Near { fingerprint, distance, table: number });
                }
            });
        }
        if let Some(former) = &self.former {
            former.near_by(scan, query.bits(), &mut |fingerprint| {
                // Fingerprints that were moved are reported above.
                if let Some(table) = self.layout.first_table(query, fingerprint)
                    && !self.holds(fingerprint)
                {
                    visit(Near { fingerprint, distance: query.distance(fingerprint), table });
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mix64;

    #[test]
    fn outgrown_tables_are_moved_completely_and_stay_searchable() {
        let mut tables = GrowingTables::with_room(3, 0, true).unwrap();
        let value = |number: usize| Fingerprint::from_bits(mix64(number as u64));
        let check = |tables: &GrowingTables, step: usize| {
            for number in (0..tables.len()).step_by(step) {
                assert_eq!(tables.number(value(number)), Some(number as u32));
                let query = Fingerprint::from_bits(value(number).bits() ^ 1 << 63 ^ 1 << 40 ^ 1);
                let near = tables.near(query);
                let found: Vec<_> = near.iter().map(|n| (n.fingerprint, n.distance)).collect();
                assert_eq!(found, [(value(number), 3)]);
                assert_eq!(tables.layout().first_table(query, value(number)), Some(near[0].table));
            }
        };
        let moves = OUTGROWN / Former::BATCH;
        for number in 0..OUTGROWN + moves + 10 {
            assert!(tables.insert(value(number)));
            assert!(number % 1009 > 0 || !tables.insert(value(number / 2)), "known already");
            assert_eq!(tables.layout().leads().len(), if number + 1 < OUTGROWN { 4 } else { 6 });
            if (OUTGROWN..OUTGROWN + moves).contains(&number) && number % 16_384 == 0 {
                assert!(tables.former.is_some());
                check(&tables, 1009);
            }
        }
        assert!(tables.former.is_none(), "all is moved");
        check(&tables, 7);
        let bytes = tables.bytes();
        assert!(bytes < 80 * tables.len(), "{bytes}");
    }
}
