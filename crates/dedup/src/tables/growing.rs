//! Tables that grow by one fingerprint at a time: what a store holds before it becomes a segment.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::Near;
use super::bits::{Compress, Flips, highest};
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

/// Leads get at most 2^16 buckets: 1.5 MB of empty ones a table.
const MAX_BUCKET_BITS: u32 = 16;

#[derive(Clone, Debug)]
struct Table {
    lead: Lead,
    bits: u32,
    bucket: Compress,
    buckets: Vec<Vec<u8>>,
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
                let Some(bytes) = table.buckets.get((home ^ flip) as usize) else { continue };
                scan.scan(bytes, bytes.len() / 8, 8, query.bits(), limit, &mut |_, bits| {
                    let fingerprint = Fingerprint::from_bits(bits);
                    if layout.first_table(query, fingerprint) == Some(number) {
                        let distance = query.distance(fingerprint);
                        (self.visit)(Near { fingerprint, distance, table: number });
                    }
                });
            }
        }
    }
}

impl GrowingTables {
    /// Empty tables.
    pub fn new(layout: Layout) -> Self {
        let tables = layout.leads().iter().map(|&lead| {
            let bits = lead.bits().min(MAX_BUCKET_BITS);
            let bucket = Compress::new(highest(lead.mask, bits));
            Table { lead, bits, bucket, buckets: vec![Vec::new(); 1 << bits] }
        });
        Self { tables: tables.collect(), layout, len: 0, simd: Simd::detect() }
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
    /// One bucket a table, and a scan of the first table's.
    pub fn insert(&mut self, fingerprint: Fingerprint) -> bool {
        let fresh = !self.contains(fingerprint);
        if fresh {
            self.insert_distinct(fingerprint);
        }
        fresh
    }

    /// Adds a fingerprint that the caller knows is not there.
    pub(crate) fn insert_distinct(&mut self, fingerprint: Fingerprint) {
        for table in &mut self.tables {
            let bucket = table.bucket.extract(fingerprint.bits()) as usize;
            if let Some(bytes) = table.buckets.get_mut(bucket) {
                bytes.extend_from_slice(&fingerprint.bits().to_le_bytes());
            }
        }
        self.len += 1;
    }

    /// Whether a fingerprint is stored.
    pub fn contains(&self, fingerprint: Fingerprint) -> bool {
        let eight = fingerprint.bits().to_le_bytes();
        self.tables.first().is_some_and(|table| {
            let bucket = table.bucket.extract(fingerprint.bits()) as usize;
            table.buckets.get(bucket).is_some_and(|bytes| bytes.as_chunks::<8>().0.contains(&eight))
        })
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

    /// Calls `visit` with each of them, in the order of the tables.
    pub(crate) fn near_each(&self, query: Fingerprint, visit: impl FnMut(Near)) {
        self.simd.run(Find { tables: self, query, visit });
    }
}
