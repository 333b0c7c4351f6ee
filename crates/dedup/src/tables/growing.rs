//! Tables that grow by one fingerprint at a time: what a store holds before it becomes a segment.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::Near;
use super::bits::{Compress, Flips, highest};
use super::simd::{Kernel, Scan, Simd, prefetch};
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

/// Words of a bucket's first extent: one line of the processor's cache.
const FIRST_EXTENT: usize = 8;
/// Words of a bucket's largest extents; each has twice the words of the one before, up to here.
const LAST_EXTENT: usize = 512;

/// Buckets in one arena: each is a chain of extents, the newest and largest first, so nothing is
/// ever moved and a short bucket is one line. An extent's first word says how many values it holds,
/// how many fit, and where the next one lies.
#[derive(Clone, Debug)]
struct Table {
    lead: Lead,
    bits: u32,
    bucket: Compress,
    /// Where each bucket's newest extent begins; 0 for none.
    heads: Vec<u32>,
    words: Vec<u64>,
}

/// An extent's first word.
#[derive(Clone, Copy)]
struct Head {
    next: u32,
    count: u16,
    room: u16,
}

impl Head {
    const fn word(self) -> u64 {
        (self.next as u64) << 32 | (self.count as u64) << 16 | self.room as u64
    }
    const fn of(word: u64) -> Self {
        Self { next: (word >> 32) as u32, count: (word >> 16) as u16, room: word as u16 }
    }
}

impl Table {
    fn new(lead: Lead) -> Self {
        let bits = lead.bits().min(MAX_BUCKET_BITS);
        let bucket = Compress::new(highest(lead.mask, bits));
        // Place 0 is that of no extent.
        Self { lead, bits, bucket, heads: vec![0; 1 << bits], words: vec![0; FIRST_EXTENT] }
    }

    /// The extent at a place: where the next one lies, and the values.
    #[inline(always)]
    fn extent(&self, at: u32) -> Option<(u32, &[u64])> {
        let (word, rest) = self.words.get(at as usize..)?.split_first()?;
        let head = Head::of(*word);
        Some((head.next, rest.get(..usize::from(head.count))?))
    }

    fn push(&mut self, bits: u64) {
        let bucket = self.bucket.extract(bits) as usize;
        let Some(slot) = self.heads.get_mut(bucket) else { return };
        let at = *slot as usize;
        let mut head = Head::of(if at == 0 { 0 } else { self.words.get(at).copied().unwrap_or(0) });
        if head.count < head.room {
            head.count += 1;
            let place = at + usize::from(head.count);
            if let Some(value) = self.words.get_mut(place) {
                *value = bits;
            }
            if let Some(word) = self.words.get_mut(at) {
                *word = head.word();
            }
            return;
        }
        let words = if at == 0 { FIRST_EXTENT } else { 2 * (usize::from(head.room) + 1) };
        let words = words.min(LAST_EXTENT);
        let fresh = Head { next: at as u32, count: 1, room: (words - 1) as u16 };
        *slot = self.words.len() as u32;
        self.words.push(fresh.word());
        self.words.push(bits);
        self.words.resize(self.words.len() + words - 2, 0);
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
                let mut at = table.heads.get((home ^ flip) as usize).copied().unwrap_or(0);
                while at != 0 {
                    let Some((next, values)) = table.extent(at) else { break };
                    at = next;
                    scan.scan_words(values, query.bits(), limit, &mut |_, bits| {
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
}

impl GrowingTables {
    /// Empty tables.
    pub fn new(layout: Layout) -> Self {
        let tables = layout.leads().iter().map(|&lead| Table::new(lead)).collect();
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
    /// One bucket a table, and a scan of the smallest of them.
    pub fn insert(&mut self, fingerprint: Fingerprint) -> bool {
        let fresh = !self.contains(fingerprint);
        if fresh {
            self.insert_distinct(fingerprint);
        }
        fresh
    }

    /// Adds a fingerprint that the caller knows is not there.
    pub(crate) fn insert_distinct(&mut self, fingerprint: Fingerprint) {
        self.tables.iter_mut().for_each(|table| table.push(fingerprint.bits()));
        self.len += 1;
    }

    /// Whether a fingerprint is stored.
    pub fn contains(&self, fingerprint: Fingerprint) -> bool {
        // Any table will do: the one whose bucket is smallest, by the room of its newest extent.
        let buckets = self.tables.iter().map(|table| {
            let bucket = table.bucket.extract(fingerprint.bits()) as usize;
            let at = table.heads.get(bucket).copied().unwrap_or(0);
            (Head::of(table.words.get(at as usize).copied().unwrap_or(0)).room, table, at)
        });
        let Some((_, table, mut at)) = buckets.min_by_key(|(room, ..)| *room) else { return false };
        while at != 0 {
            let Some((next, values)) = table.extent(at) else { break };
            if values.contains(&fingerprint.bits()) {
                return true;
            }
            at = next;
        }
        false
    }

    /// Bytes of the tables.
    pub fn bytes(&self) -> usize {
        self.tables.iter().map(|table| 8 * table.words.len() + 4 * table.heads.len()).sum()
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

    /// Steps of [`prefetch`](Self::prefetch) that reach all of a bucket of usual size: each extent
    /// holds twice as much as the one before.
    pub(crate) fn steps(&self) -> usize {
        let bits = self.tables.first().map_or(0, |table| table.bits);
        let full = (self.len >> bits) / (FIRST_EXTENT - 1);
        2 + (full + 1).ilog2() as usize
    }

    /// Asks for what a look-up will read: where its buckets begin, then the first two lines of
    /// their newest extents, of the ones before, and so on, each step after all queries have done
    /// the one before it.
    pub(crate) fn prefetch(&self, query: Fingerprint, step: usize) {
        for table in &self.tables {
            let bucket = table.bucket.extract(query.bits()) as usize;
            let Some(step) = step.checked_sub(1) else {
                prefetch(&table.heads, bucket);
                continue;
            };
            let mut at = table.heads.get(bucket).copied().unwrap_or(0) as usize;
            for _ in 0..step {
                at = Head::of(table.words.get(at).copied().unwrap_or(0)).next as usize;
            }
            if at != 0 {
                prefetch(&table.words, at);
                prefetch(&table.words, at + FIRST_EXTENT);
            }
        }
    }

    /// Calls `visit` with each of them, in the order of the tables.
    pub(crate) fn near_each(&self, query: Fingerprint, visit: impl FnMut(Near)) {
        self.simd.run(Find { tables: self, query, visit });
    }
}
