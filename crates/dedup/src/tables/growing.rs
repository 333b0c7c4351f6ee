//! Tables that grow by one fingerprint at a time: what a store holds before it becomes a segment.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::Near;
use super::bits::{Compress, Flips, highest};
use super::buckets::Buckets;
use super::lines::Lines;
use super::simd::{Kernel, Portable, Scan, Simd};
use crate::hash::mix64;
use crate::layout::Lead;
use crate::{Fingerprint, Layout};

/// Keys here are bits of fingerprints: one mixing round is hash enough.
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

/// Leads that are probed, or have no more bits, get at most 2^16 buckets.
const MAX_BUCKET_BITS: u32 = 16;

/// So many values are looked through sooner than a smaller bucket is found.
const SMALL: usize = 32;

/// A line of tables can be followed by one of 2^28.
pub(super) const MAX_FINGERPRINTS: usize = 1 << 30;

/// One table: which bits tell its buckets apart.
#[derive(Clone, Debug)]
struct Table {
    radius: u32,
    entries: Entries,
}

#[derive(Clone, Debug)]
enum Entries {
    /// By no more bits than tell buckets apart.
    Buckets { bits: u32, bucket: Compress, buckets: Buckets },
    /// By long leads, asked for as they are.
    Lines(Lines),
}

/// By how many bits buckets of a lead are told apart, and whether as many as there are values.
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

    /// About how many values share a bucket.
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

/// Distinct fingerprints in tables of buckets that grow, by bits of each lead.
#[derive(Clone, Debug)]
pub struct GrowingTables {
    layout: Layout,
    tables: Vec<Table>,
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

impl GrowingTables {
    /// Empty tables.
    pub fn new(layout: Layout) -> Self {
        Self::with_numbers(layout, false)
    }

    /// With the number of each fingerprint in the first table, or without.
    pub(super) fn with_numbers(layout: Layout, numbered: bool) -> Self {
        let leads = layout.leads().iter().enumerate();
        let tables = leads.map(|(table, lead)| Table::new(lead, numbered && table == 0)).collect();
        Self { tables, layout, len: 0, simd: Simd::detect() }
    }

    /// About how many bytes tables of `len` uniform fingerprints take at most, up to some 10^8 of them.
    pub(crate) fn bytes_for(layout: &Layout, len: u64) -> u64 {
        let each = layout.leads().iter().map(|lead| match bits_of(lead) {
            // Lines of seven, later ten, that are full by four in five, some with a second one.
            (_, true) => 12 * len + 4 * len.min(1 << 19),
            // A bucket begins with room for four and says so in as much; then up to half is room.
            (bits, false) => (68 << bits) + 17 * len,
        });
        each.sum()
    }

    /// How many of `len` uniform fingerprints a look-up compares.
    pub(crate) fn compared(layout: &Layout, len: u64) -> u64 {
        let each = layout.leads().iter().map(|lead| {
            let (bits, own) = bits_of(lead);
            let bucket = len.checked_shr(bits).unwrap_or(0);
            if own {
                bucket.max(Lines::MEAN)
            } else {
                Flips::new(bits, lead.radius).count() as u64 * bucket
            }
        });
        each.sum()
    }

    /// The layout.
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// How many distinct fingerprints are stored.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether none is stored.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a fingerprint; `false` if it was there, or if they hold 2^30, which is all that they can
    /// (60 GB and more at distance 3).
    ///
    /// # Complexity
    /// One bucket a table, amortised over its growth, and a scan of the smallest of them.
    pub fn insert(&mut self, fingerprint: Fingerprint) -> bool {
        let fresh = self.len < MAX_FINGERPRINTS && !self.contains(fingerprint);
        if fresh {
            self.insert_distinct(fingerprint);
        }
        fresh
    }

    /// [`insert`](Self::insert) of a fingerprint that the caller knows is not there.
    pub(crate) fn insert_new(&mut self, fingerprint: Fingerprint) {
        if self.len < MAX_FINGERPRINTS {
            self.insert_distinct(fingerprint);
        }
    }

    /// Adds a fingerprint that the caller knows is not there; its number is that of those before it.
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
    }

    /// The number of a fingerprint that is stored, where they have one.
    pub(super) fn number(&self, fingerprint: Fingerprint) -> Option<u32> {
        self.tables.first()?.find(fingerprint.bits())
    }

    /// Whether a fingerprint is stored.
    pub fn contains(&self, fingerprint: Fingerprint) -> bool {
        // Any table will do: the first whose bucket is small, or the smallest.
        let bits = fingerprint.bits();
        let small = self.tables.iter().find(|table| table.len(bits) <= SMALL);
        let table = small.or_else(|| self.tables.iter().min_by_key(|table| table.len(bits)));
        table.is_some_and(|table| table.find(bits).is_some())
    }

    /// Bytes of the tables.
    pub fn bytes(&self) -> usize {
        self.tables.iter().map(Table::bytes).sum()
    }

    /// Every stored fingerprint within the layout's distance, nearest first, then by value.
    ///
    /// # Complexity
    /// For uniform fingerprints, a bucket of about eight, or `len / 2^lead` if that is more, for each lead
    /// of more than 16 bits that is not probed; else `probes` buckets of `len / 2^min(lead, 16)`.
    pub fn near(&self, query: Fingerprint) -> Vec<Near> {
        let mut found = Vec::new();
        self.near_each(query, |near| found.push(near));
        if found.len() > 1 {
            found.sort_unstable_by_key(|near| (near.distance, near.fingerprint));
        }
        found
    }

    /// Asks for what look-ups will read of each table's own bucket.
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
        }
    }

    /// Asks for what says where their values are, which is all where they are few.
    pub(crate) fn prefetch_first(&self, query: Fingerprint) {
        for table in &self.tables {
            let step = u32::from(matches!(table.entries, Entries::Buckets { .. }));
            table.prefetch(Portable, query.bits(), step);
        }
    }

    /// Calls `visit` with each of them, in the order of the tables.
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
    }
}
