//! The permuted tables in memory: for each table of the layout, the fingerprints by their lead.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::hash::mix64;
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

/// A near fingerprint and the table that found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Near {
    /// The stored fingerprint.
    pub fingerprint: Fingerprint,
    /// Its Hamming distance from the query.
    pub distance: u32,
    /// The first table in which the two share the lead.
    pub table: usize,
}

/// One table: the fingerprints by their lead.
#[derive(Clone, Debug)]
enum Table {
    /// A short lead of adjacent bits is the bucket's number.
    Direct { shift: u32, buckets: Vec<Vec<u64>> },
    /// Any other lead is looked up.
    Hashed { mask: u64, buckets: MixMap<Vec<u64>> },
}

/// Leads up to so many bits get a bucket each: 1.5 MB of empty buckets at 16 bits.
const MAX_DIRECT_BITS: u32 = 16;

impl Table {
    fn new(mask: u64) -> Self {
        let (bits, shift) = (mask.count_ones(), mask.trailing_zeros());
        let adjacent = mask.leading_zeros() + bits + shift == 64;
        if adjacent && bits > 0 && bits <= MAX_DIRECT_BITS {
            Self::Direct { shift, buckets: vec![Vec::new(); 1 << bits] }
        } else {
            Self::Hashed { mask, buckets: MixMap::default() }
        }
    }

    fn bucket(&self, bits: u64) -> &[u64] {
        match self {
            Self::Direct { shift, buckets } => {
                let number = (bits >> shift) as usize & (buckets.len() - 1);
                buckets.get(number).map_or(&[], Vec::as_slice)
            }
            Self::Hashed { mask, buckets } => {
                buckets.get(&(bits & mask)).map_or(&[], Vec::as_slice)
            }
        }
    }

    fn push(&mut self, bits: u64) {
        match self {
            Self::Direct { shift, buckets } => {
                let number = (bits >> *shift) as usize & (buckets.len() - 1);
                if let Some(bucket) = buckets.get_mut(number) {
                    bucket.push(bits);
                }
            }
            Self::Hashed { mask, buckets } => buckets.entry(bits & *mask).or_default().push(bits),
        }
    }
}

/// Calls `visit` with each value of a bucket within `K` bits of the query.
///
/// Clearing the lowest set bit `K` times leaves nothing of a difference of at most `K` bits: for
/// small distances that is cheaper than counting them all, and it vectorises on every machine.
fn scan<const K: u32>(bucket: &[u64], query: u64, visit: &mut impl FnMut(u64)) {
    for piece in bucket.chunks(8) {
        let near = |other: u64| {
            let mut differing = query ^ other;
            for _ in 0..K {
                differing &= differing.wrapping_sub(1);
            }
            differing == 0
        };
        // Without a branch in it; nearly all pieces hold nothing.
        if piece.iter().fold(false, |any, &other| any | near(other)) {
            piece.iter().copied().filter(|&other| near(other)).for_each(&mut *visit);
        }
    }
}

/// [`scan`] for a distance known at run time.
fn scan_within(bucket: &[u64], query: u64, distance: u32, mut visit: impl FnMut(u64)) {
    match distance {
        0 => scan::<0>(bucket, query, &mut visit),
        1 => scan::<1>(bucket, query, &mut visit),
        2 => scan::<2>(bucket, query, &mut visit),
        3 => scan::<3>(bucket, query, &mut visit),
        4 => scan::<4>(bucket, query, &mut visit),
        5 => scan::<5>(bucket, query, &mut visit),
        6 => scan::<6>(bucket, query, &mut visit),
        _ => scan::<7>(bucket, query, &mut visit),
    }
}

/// Distinct fingerprints in the permuted tables of one [`Layout`].
#[derive(Clone, Debug)]
pub struct Tables {
    layout: Layout,
    tables: Vec<Table>,
    len: usize,
}

impl Tables {
    /// Empty tables.
    pub fn new(layout: Layout) -> Self {
        let tables = layout.masks().iter().map(|&mask| Table::new(mask)).collect();
        Self { layout, tables, len: 0 }
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
    /// One look-up a table, and a scan of the first table's bucket.
    pub fn insert(&mut self, fingerprint: Fingerprint) -> bool {
        let bits = fingerprint.bits();
        if self.tables.first().is_some_and(|table| table.bucket(bits).contains(&bits)) {
            return false;
        }
        self.tables.iter_mut().for_each(|table| table.push(bits));
        self.len += 1;
        true
    }

    /// Every stored fingerprint within the layout's distance, nearest first, then by value.
    ///
    /// # Complexity
    /// One look-up a table and the candidates of its bucket: `len / 2^lead` expected for uniform
    /// fingerprints.
    pub fn near(&self, query: Fingerprint) -> Vec<Near> {
        let bits = query.bits();
        let mut found = Vec::new();
        let limit = self.layout.distance();
        for (number, table) in self.tables.iter().enumerate() {
            scan_within(table.bucket(bits), bits, limit, |other| {
                let fingerprint = Fingerprint::from_bits(other);
                if self.layout.first_table(query, fingerprint) == Some(number) {
                    let distance = query.distance(fingerprint);
                    found.push(Near { fingerprint, distance, table: number });
                }
            });
        }
        found.sort_unstable_by_key(|near| (near.distance, near.fingerprint));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(layout: Layout, stored: &[u64], queries: &[u64]) {
        let mut tables = Tables::new(layout);
        for &bits in stored {
            tables.insert(Fingerprint::from_bits(bits));
        }
        for &query in queries {
            let query = Fingerprint::from_bits(query);
            let mut expected: Vec<(u32, u64)> = stored
                .iter()
                .map(|&bits| (query.distance(Fingerprint::from_bits(bits)), bits))
                .filter(|(distance, _)| *distance <= tables.layout().distance())
                .collect();
            expected.sort_unstable();
            expected.dedup();
            let got: Vec<(u32, u64)> =
                tables.near(query).iter().map(|n| (n.distance, n.fingerprint.bits())).collect();
            assert_eq!(got, expected);
        }
    }

    proptest! {
        #[test]
        fn near_is_what_the_exhaustive_scan_finds(
            center: u64,
            balls in prop::collection::vec(prop::collection::vec(0u32..64, 0..9), 1..60),
            far in prop::collection::vec(any::<u64>(), 0..20),
            distance in 0u32..=7, extra in 1u32..3,
        ) {
            let mut stored: Vec<u64> = balls.iter()
                .map(|flips| flips.iter().fold(center, |bits, flip| bits ^ 1u64 << flip))
                .chain(far).collect();
            stored.push(stored[0]);
            let layout = Layout::new(distance + extra, distance).unwrap();
            let queries: Vec<u64> = stored.iter().copied().chain([center, !center]).collect();
            check(layout, &stored, &queries);
        }
    }

    #[test]
    fn a_dense_ball_within_one_block_is_found_whole() {
        let stored: Vec<u64> = (0..300).collect();
        check(Layout::for_distance(3).unwrap(), &stored, &[0, 1, 255, 299, 1 << 63]);
    }

    #[test]
    fn a_fingerprint_is_stored_once() {
        let mut tables = Tables::new(Layout::for_distance(3).unwrap());
        assert!(tables.insert(Fingerprint::from_bits(5)));
        assert!(!tables.insert(Fingerprint::from_bits(5)));
        assert_eq!(tables.len(), 1);
    }
}
