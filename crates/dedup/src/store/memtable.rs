//! The newest documents, in memory and in the journal but in no segment yet.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::MAX_CANDIDATES;
use super::chain::Chain;
use super::columns::{COLUMNS, Columns};
use super::proposals::{Extent, OLDEST};
use crate::hash::mix64;
use crate::limits::MAX_BAND_BUCKET;
use crate::lists::candidate_lists;
use crate::record::DocId;
use crate::row::{INDEXED, Row};
use crate::tables::{GrowingTables, Near};
use crate::{Fingerprint, Layout};

#[derive(Debug)]
pub(crate) struct Memtable {
    pub(crate) base: DocId,
    rows: usize,
    columns: [Vec<u8>; COLUMNS.len()],
    keys: Vec<u8>,
    /// `None` if the fingerprints are resident.
    tables: Option<GrowingTables>,
    by_fingerprint: Chain,
    by_digest: Chain,
    by_key: Chain,
    by_list: Chain,
    pub(crate) capped: u64,
    collisions: [Collisions; 3],
}

/// Cached rows, oldest first, of fingerprints or digests with more rows than a decision considers. The chains are
/// ordered newest first.
type Collisions = Mutex<HashMap<u128, Vec<u32>>>;

impl Memtable {
    /// Creates a memtable with tables of `layout`, or without tables if the fingerprints are resident.
    pub(crate) fn new(base: DocId, layout: Option<Layout>) -> Self {
        Self {
            base,
            rows: 0,
            columns: Default::default(),
            keys: Vec::new(),
            tables: layout.map(GrowingTables::new),
            by_fingerprint: Chain::default(),
            by_digest: Chain::default(),
            by_key: Chain::default(),
            by_list: Chain::default(),
            capped: 0,
            collisions: Default::default(),
        }
    }

    pub(crate) const fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) const fn end(&self) -> DocId {
        self.base + self.rows as u64
    }

    /// Returns the approximate bytes, unused capacity included except that of the tables.
    pub(crate) fn bytes(&self) -> usize {
        let chains = [&self.by_fingerprint, &self.by_digest, &self.by_key, &self.by_list];
        self.columns.iter().map(Vec::capacity).sum::<usize>()
            + self.keys.capacity()
            + chains.map(Chain::bytes).iter().sum::<usize>()
            + self.tables.as_ref().map_or(0, GrowingTables::bytes)
    }

    pub(crate) fn columns(&self) -> Columns<'_> {
        let mut bytes: [&[u8]; COLUMNS.len()] = [&[]; COLUMNS.len()];
        for (slot, column) in bytes.iter_mut().zip(&self.columns) {
            *slot = column;
        }
        Columns { rows: self.rows, bytes, keys: &self.keys }
    }

    pub(crate) fn insert(&mut self, row: &Row<'_>, key: u32) {
        let number = self.rows as u32;
        row.push(self.rows, &mut self.columns, &mut self.keys);
        self.rows += 1;
        self.by_key.insert(key, number);
        if row.flags & INDEXED == 0 {
            return;
        }
        if let Some(digest) = row.digest {
            self.by_digest.insert(digest_key(digest), number);
        }
        if self.tables.is_some() && self.rows_of(row.fingerprint).next().is_none() {
            self.tables.iter_mut().for_each(|tables| tables.insert_distinct(row.fingerprint));
        }
        self.by_fingerprint.insert(fingerprint_key(row.fingerprint), number);
        for list in row.sketch.iter().flat_map(|sketch| candidate_lists(sketch, row.names)) {
            let key = list_key(list);
            if self.by_list.get(key).take(MAX_BAND_BUCKET).count() < MAX_BAND_BUCKET {
                self.by_list.insert(key, number);
            } else {
                self.capped += 1;
            }
        }
    }

    /// Returns the rows with this fingerprint that are in the tables, newest first.
    pub(crate) fn rows_of(&self, fingerprint: Fingerprint) -> impl Iterator<Item = u32> + '_ {
        // Uses the accessor, because the column is omitted while all fingerprints are 0.
        let columns = self.columns();
        let rows = self.by_fingerprint.get(fingerprint_key(fingerprint));
        rows.filter(move |row| columns.fingerprint(*row as usize) == fingerprint)
    }

    /// Returns the rows with this digest, strong or not, that are in the tables, newest first.
    pub(crate) fn rows_of_digest(
        &self,
        (digest, strong): ([u8; 16], bool),
    ) -> impl Iterator<Item = u32> + '_ {
        let columns = self.columns();
        let rows = self.by_digest.get(digest_key(digest));
        rows.filter(move |row| columns.digest_of_kind(*row as usize, strong) == Some(digest))
    }

    /// Appends the documents with this fingerprint that are in the tables.
    pub(crate) fn take_of(
        &self,
        fingerprint: Fingerprint,
        extent: Extent,
        visible: impl Fn(DocId) -> bool,
        ids: &mut Vec<DocId>,
    ) {
        let [collisions, ..] = &self.collisions;
        let key = u128::from(fingerprint.bits());
        self.take(|| self.rows_of(fingerprint), (collisions, key), extent, visible, ids);
    }

    pub(crate) fn take_of_digest(
        &self,
        digest: ([u8; 16], bool),
        extent: Extent,
        visible: impl Fn(DocId) -> bool,
        ids: &mut Vec<DocId>,
    ) {
        let [_, strong, former] = &self.collisions;
        let collisions = if digest.1 { strong } else { former };
        let key = u128::from_le_bytes(digest.0);
        self.take(|| self.rows_of_digest(digest), (collisions, key), extent, visible, ids);
    }

    fn take<I: Iterator<Item = u32>>(
        &self,
        rows: impl Fn() -> I,
        (collisions, key): (&Collisions, u128),
        extent: Extent,
        visible: impl Fn(DocId) -> bool,
        ids: &mut Vec<DocId>,
    ) {
        let id = |row| self.base + u64::from(row);
        let newest = rows().map(id).filter(|id| visible(*id));
        if extent == Extent::All {
            return ids.extend(newest);
        }
        let before = ids.len();
        ids.extend(newest.take(MAX_CANDIDATES + 1));
        if ids.len() - before <= MAX_CANDIDATES {
            return;
        }
        let first = |rows: &[u32]| -> Vec<DocId> {
            let ids = rows.iter().map(|row| id(*row));
            ids.filter(|id| visible(*id)).take(OLDEST).collect()
        };
        let mut collisions = collisions.lock().unwrap_or_else(PoisonError::into_inner);
        let known = collisions.entry(key).or_default();
        let mut oldest = first(known);
        if oldest.len() < OLDEST {
            // The cache is empty, or most of its rows were deleted.
            known.clear();
            known.extend(rows());
            known.reverse();
            oldest = first(known);
        }
        drop(collisions);
        // The oldest replace some of the newest.
        ids.truncate(before + MAX_CANDIDATES - oldest.len());
        ids.extend(oldest);
    }

    /// Returns the rows with this key, newest first; all except the newest are deleted.
    pub(crate) fn rows_of_key<'a>(
        &'a self,
        key: &'a [u8],
        hash: u32,
    ) -> impl Iterator<Item = u32> + 'a {
        let columns = self.columns();
        self.by_key.get(hash).filter(move |row| columns.key(*row as usize) == key)
    }

    /// Returns the rows of a list of candidates, and possibly some of another list (hash collision).
    pub(crate) fn rows_of_list(&self, list: (usize, u32)) -> impl Iterator<Item = u32> + '_ {
        self.by_list.get(list_key(list))
    }

    /// Prefetches the first lines that a look-up of this fingerprint and key reads.
    pub(crate) fn prefetch(&self, fingerprint: Fingerprint, key: u32) {
        if let Some(tables) = &self.tables {
            tables.prefetch_first(fingerprint);
        }
        self.by_key.prefetch(key);
        self.by_fingerprint.prefetch(fingerprint_key(fingerprint));
    }

    pub(crate) fn prefetch_places(&self, fingerprint: Fingerprint, key: u32) {
        self.by_key.prefetch_head(key);
        self.by_fingerprint.prefetch_head(fingerprint_key(fingerprint));
    }

    pub(crate) fn near_each(&self, query: Fingerprint, visit: impl FnMut(Near)) {
        if let Some(tables) = &self.tables {
            tables.near_each(query, visit);
        }
    }

    /// Builds separate tables for the memtable.
    pub(crate) fn stand_alone(&mut self, layout: Layout) {
        let columns = self.columns();
        let indexed = (0..self.rows).filter(|row| columns.flags(*row) & INDEXED != 0);
        let mut fingerprints: Vec<Fingerprint> =
            indexed.map(|row| columns.fingerprint(row)).collect();
        fingerprints.sort_unstable();
        fingerprints.dedup();
        let mut tables = GrowingTables::new(layout);
        fingerprints.into_iter().for_each(|fingerprint| tables.insert_distinct(fingerprint));
        self.tables = Some(tables);
    }
}

fn fingerprint_key(fingerprint: Fingerprint) -> u32 {
    (mix64(fingerprint.bits()) >> 32) as u32
}

/// Returns the first four bytes: the digest is already a hash.
pub(crate) fn digest_key(digest: [u8; 16]) -> u32 {
    let [a, b, c, d, ..] = digest;
    u32::from_le_bytes([a, b, c, d])
}

fn list_key((kind, key): (usize, u32)) -> u32 {
    (mix64((kind as u64) << 32 | u64::from(key)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Document;

    #[test]
    fn a_fingerprint_of_no_bits_is_found_before_any_other_comes() {
        let mut table = Memtable::new(5, Some(Layout::for_distance(3).unwrap()));
        let none = Fingerprint::from_bits(0);
        table.insert(&Row::new(&Document::new(b"a", none), None, true), 1);
        table.insert(&Row::new(&Document::new(b"b", none), None, true), 2);
        assert_eq!(table.rows_of(none).collect::<Vec<_>>(), [1, 0]);
        let mut found = 0;
        table.near_each(Fingerprint::from_bits(1), |_| found += 1);
        assert_eq!(found, 1);
    }

    #[test]
    fn a_memtable_has_little_memory_overhead() {
        let mut table = Memtable::new(0, None);
        for number in 0..20_000u32 {
            let key = format!("http://a.example/{number}");
            let mut document = Document::new(key.as_bytes(), Fingerprint::from_bits(number.into()));
            document.sketch = Some(crate::Sketch::from_bytes([number as u8; crate::SKETCH_SIZE]));
            table.insert(&Row::new(&document, None, true), number);
            let vecs = || table.columns.iter().chain([&table.keys]);
            assert!(vecs().all(|vec| vec.capacity() <= 256 + vec.len() / 4 * 5), "{number}");
            // With its lists, whose heads double: 18 entries of 12 bytes, 4 to 8 each for heads, and 104 in columns.
            assert!(table.bytes() <= (1 << 19) + 520 * table.rows(), "{number}: {}", table.bytes());
        }
    }

    #[test]
    fn the_size_of_a_memtable_includes_reserved_capacity() {
        let mut table = Memtable::new(0, None);
        table.keys.reserve(1 << 20);
        assert!(table.bytes() >= 1 << 20);
        let before = table.bytes();
        table.columns.iter_mut().for_each(|column| column.reserve(1 << 16));
        assert!(table.bytes() >= before + (COLUMNS.len() << 16));
    }
}
