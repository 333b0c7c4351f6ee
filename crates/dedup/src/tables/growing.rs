//! Tables that grow by one fingerprint at a time: what a store holds before it becomes a segment.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::Near;
use super::bits::{Compress, Flips, highest};
use super::buckets::Buckets;
use super::simd::{Kernel, Scan, Simd};
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

/// Leads get at most 2^16 buckets.
const MAX_BUCKET_BITS: u32 = 16;

/// One table: which bits tell its buckets apart.
#[derive(Clone, Debug)]
struct Table {
    lead: Lead,
    bits: u32,
    bucket: Compress,
    buckets: Buckets,
}

impl Table {
    fn new(lead: Lead, numbered: bool) -> Self {
        let bits = lead.bits().min(MAX_BUCKET_BITS);
        let bucket = Compress::new(highest(lead.mask, bits));
        Self { lead, bits, bucket, buckets: Buckets::new(bits, numbered) }
    }

    fn find(&self, fingerprint: Fingerprint) -> Option<u32> {
        self.buckets.find(self.bucket.extract(fingerprint.bits()), fingerprint.bits())
    }
}

/// Distinct fingerprints in tables of growable buckets, by the leading bits of each lead.
#[derive(Clone, Debug)]
pub struct GrowingTables {
    layout: Layout,
    tables: Vec<Table>,
    len: usize,
    simd: Simd,
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
        let (layout, query) = (&self.tables.layout, self.query);
        let limit = layout.distance();
        for (number, table) in self.tables.tables.iter().enumerate() {
            let home = table.bucket.extract(query.bits());
            for flip in Flips::new(table.bits, table.lead.radius) {
                let visit = &mut |bits| {
                    let fingerprint = Fingerprint::from_bits(bits);
                    if layout.first_table(query, fingerprint) == Some(number) {
                        let distance = query.distance(fingerprint);
                        (self.visit)(Near { fingerprint, distance, table: number });
                    }
                };
                table.buckets.scan(scan, home ^ flip, query.bits(), limit, visit);
            }
        }
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
        let tables = leads.map(|(table, &lead)| Table::new(lead, numbered && table == 0)).collect();
        Self { tables, layout, len: 0, simd: Simd::detect() }
    }

    /// By how many bits each table's buckets are told apart.
    pub(crate) fn bits(layout: &Layout) -> impl Iterator<Item = u32> + '_ {
        layout.leads().iter().map(|lead| lead.bits().min(MAX_BUCKET_BITS))
    }

    /// How many of `len` uniform fingerprints a look-up compares.
    pub(crate) fn compared(layout: &Layout, len: u64) -> u64 {
        let probes = |lead: &Lead, bits| Flips::new(bits, lead.radius).count() as u64;
        let each = layout.leads().iter().zip(Self::bits(layout));
        each.map(|(lead, bits)| probes(lead, bits) * (len >> bits)).sum()
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

    /// Adds a fingerprint; `false` if it was there.
    ///
    /// # Complexity
    /// One bucket a table, amortised over its growth, and a scan of the smallest of them.
    pub fn insert(&mut self, fingerprint: Fingerprint) -> bool {
        let fresh = !self.contains(fingerprint);
        if fresh {
            self.insert_distinct(fingerprint);
        }
        fresh
    }

    /// Adds a fingerprint that the caller knows is not there; its number is that of those before it.
    pub(crate) fn insert_distinct(&mut self, fingerprint: Fingerprint) {
        let (bits, number) = (fingerprint.bits(), self.len as u32);
        for table in &mut self.tables {
            table.buckets.push(table.bucket.extract(bits), bits, number);
        }
        self.len += 1;
    }

    /// The number of a fingerprint that is stored, where they have one.
    pub(super) fn number(&self, fingerprint: Fingerprint) -> Option<u32> {
        self.tables.first()?.find(fingerprint)
    }

    /// Whether a fingerprint is stored.
    pub fn contains(&self, fingerprint: Fingerprint) -> bool {
        // Any table will do: the one whose bucket is smallest.
        let len = |table: &&Table| table.buckets.len(table.bucket.extract(fingerprint.bits()));
        self.tables.iter().min_by_key(len).is_some_and(|table| table.find(fingerprint).is_some())
    }

    /// Bytes of the tables.
    pub fn bytes(&self) -> usize {
        self.tables.iter().map(|table| table.buckets.bytes()).sum()
    }

    /// Every stored fingerprint within the layout's distance, nearest first, then by value.
    ///
    /// # Complexity
    /// `probes` buckets of `len / 2^min(lead, 16)` entries for uniform fingerprints.
    pub fn near(&self, query: Fingerprint) -> Vec<Near> {
        let mut found = Vec::new();
        self.near_each(query, |near| found.push(near));
        if found.len() > 1 {
            found.sort_unstable_by_key(|near| (near.distance, near.fingerprint));
        }
        found
    }

    /// Asks for what look-ups will read of each table's own bucket.
    pub(crate) fn prefetch(&self, queries: impl Iterator<Item = Fingerprint> + Clone) {
        for step in 0..3 {
            for table in &self.tables {
                for query in queries.clone() {
                    table.buckets.prefetch(table.bucket.extract(query.bits()), step);
                }
            }
        }
    }

    /// Asks for what says where their values are, which is all where they are few.
    pub(crate) fn prefetch_first(&self, query: Fingerprint) {
        for table in &self.tables {
            table.buckets.prefetch(table.bucket.extract(query.bits()), 1);
        }
    }

    /// Calls `visit` with each of them, in the order of the tables.
    pub(crate) fn near_each(&self, query: Fingerprint, visit: impl FnMut(Near)) {
        self.simd.run(Find { tables: self, query, visit });
    }
}
