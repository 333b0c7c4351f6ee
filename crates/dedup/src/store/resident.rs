//! All fingerprints and keys of a store in memory, beside the segments. An offer then reads segments only for
//! matches.
//!
//! The set may have more than the store: deleted documents, or documents after a snapshot. So each result is checked
//! against the documents; only a miss is final.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::columns::Columns;
use super::filter::KeyFilter;
use super::keys::KeyHasher;
use super::segment::Segment;
use crate::row::INDEXED;
use crate::tables::{GrowingTables, Near};
use crate::{Fingerprint, Layout};

/// The most fingerprints that a look-up compares, if they are uniform. Above it the layouts of segments, chosen by
/// size, are faster.
const MAX_COMPARED: u64 = 4096;
/// The most resident fingerprints; tables hold no more than twice this number.
const MAX_RESIDENT: usize = 1 << 29;
/// The most fingerprints without a document that are tolerated, in addition to the number of documents.
const STALE: u64 = 65_536;

/// What look-ups under the same lock have just not found, so the insertion need not search for it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct New {
    pub(crate) key: bool,
    pub(crate) fingerprint: bool,
}

#[derive(Debug)]
pub(crate) struct Resident {
    /// The store's layout, whose tables are reported in results.
    layout: Layout,
    tables: GrowingTables,
    keys: KeyFilter,
}

impl Resident {
    pub(crate) fn new(layout: Layout, expected: usize) -> Self {
        let tables = GrowingTables::with_room(layout.distance(), expected, false);
        let tables = tables.unwrap_or_else(|_| GrowingTables::new(layout.clone()));
        Self { layout, tables, keys: KeyFilter::default() }
    }

    /// Returns whether the set is worth building: it must leave space for half as many documents again within `limit`
    /// bytes, so that it is not dropped soon.
    pub(crate) fn pays(distance: u32, documents: u64, limit: u64) -> bool {
        let grown = documents / 2 * 3;
        let tables = GrowingTables::bytes_for(distance, grown);
        let compared = GrowingTables::compared(distance, 2 * documents);
        tables + 6 * grown < limit && compared < MAX_COMPARED
    }

    /// Returns whether the set must be dropped. The temporary memory of a table conversion does not count.
    pub(crate) fn is_too_much(&self, documents: u64, limit: u64) -> bool {
        let len = self.tables.len() as u64;
        (self.tables.settled_bytes() + self.keys.bytes()) as u64 > limit
            || self.tables.len() > MAX_RESIDENT
            || GrowingTables::compared(self.layout.distance(), len) > MAX_COMPARED
            || len > 2 * documents + STALE
    }

    /// Builds the set from the segments. Returns `None` once `wanted` is false, or if a segment cannot be read: a
    /// look-up in that segment reports the error.
    pub(crate) fn of(
        layout: Layout,
        segments: &[Arc<Segment>],
        hasher: &KeyHasher,
        wanted: &AtomicBool,
    ) -> Option<Self> {
        let mut resident = Self::new(layout, segments.iter().map(|s| s.fingerprints()).sum());
        for segment in segments {
            let columns = segment.columns_of_keys().ok()?;
            for row in 0..columns.rows {
                if row % 65_536 == 0 && !wanted.load(Ordering::Relaxed) {
                    return None;
                }
                columns.keys.get(columns.key_range(row))?;
                resident.insert_row(&columns, row, hasher);
            }
        }
        Some(resident)
    }

    pub(crate) fn insert_all(&mut self, columns: &Columns<'_>, hasher: &KeyHasher) {
        (0..columns.rows).for_each(|row| self.insert_row(columns, row, hasher));
    }

    fn insert_row(&mut self, columns: &Columns<'_>, row: usize, hasher: &KeyHasher) {
        let indexed = columns.flags(row) & INDEXED != 0;
        let fingerprint = indexed.then(|| columns.fingerprint(row));
        self.insert(hasher.hash(columns.key(row)) as u32, fingerprint, New::default());
    }

    /// Adds a document by its key's hash, and its fingerprint if others can duplicate it.
    pub(crate) fn insert(&mut self, key: u32, fingerprint: Option<Fingerprint>, new: New) {
        if new.key {
            self.keys.insert_new(key);
        } else {
            self.keys.insert(key);
        }
        match fingerprint {
            Some(fingerprint) if new.fingerprint => self.tables.insert_new(fingerprint),
            Some(fingerprint) => drop(self.tables.insert(fingerprint)),
            None => {}
        }
    }

    pub(crate) fn may_hold_key(&self, key: u32) -> bool {
        self.keys.may_hold(key)
    }

    pub(crate) fn near_each(&self, query: Fingerprint, mut visit: impl FnMut(Near)) {
        self.tables.near_each(query, |near| {
            let table = self.layout.first_table(query, near.fingerprint).unwrap_or(near.table);
            visit(Near { table, ..near });
        });
    }

    pub(crate) fn prefetch(&self, queries: &[Fingerprint]) {
        self.tables.prefetch(queries);
    }

    pub(crate) fn prefetch_key(&self, key: u32) {
        self.keys.prefetch(key);
    }

    pub(crate) fn bytes(&self) -> usize {
        self.tables.bytes() + self.keys.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::{New, Resident, STALE};
    use crate::store::held;
    use crate::{Document, Fingerprint, Layout, Options, Store, Verdict, mix64};

    fn offer(store: &Store, number: u64) -> Verdict {
        let key = number.to_le_bytes();
        store.offer(&Document::new(&key, Fingerprint::from_bits(mix64(number)))).unwrap()
    }

    /// Returns whether a look-up near the fingerprint of a number finds only that number.
    fn finds(store: &Store, number: u64) -> bool {
        let near = Fingerprint::from_bits(mix64(number) ^ 0b101);
        let found = store.near(near).unwrap();
        let many = {
            let mut found = Vec::new();
            store.near_many(&[near], |_, id, distance| found.push((id, distance))).unwrap();
            found
        };
        assert_eq!(found, many);
        found == [(number, 2)]
    }

    fn is_resident(store: &Store) -> bool {
        held(&store.writer).view.resident.is_some()
    }

    fn fill(store: &Store, numbers: std::ops::Range<u64>) {
        for number in numbers {
            assert!(matches!(offer(store, number), Verdict::New(id) if id == number));
            if number % 10 == 9 {
                store.commit(&[]).unwrap();
            }
        }
    }

    #[test]
    fn a_store_is_resident_from_the_start_or_from_its_next_segment_on() {
        let folder = tempfile::tempdir().unwrap();
        let mut options = Options { memtable_documents: 50, ..Options::default() };
        options.policy.hamming_only = true;
        let store = Store::open(folder.path(), options.clone()).unwrap();
        fill(&store, 0..500);
        assert!(is_resident(&store) && (0..500).all(|number| finds(&store, number)));
        assert!(matches!(offer(&store, 7), Verdict::Known(7)));
        drop(store);

        let store = Store::open(folder.path(), options.clone()).unwrap();
        assert!(!is_resident(&store), "the segments were not read");
        // A commit that begins a job, then documents that arrive before it ends.
        fill(&store, 500..550);
        fill(&store, 550..555);
        store.wait().unwrap();
        assert!(is_resident(&store));
        assert!((0..555).all(|number| finds(&store, number)), "also those from before the open");
        assert!(matches!(offer(&store, 7), Verdict::Known(7)));
        assert!(matches!(offer(&store, 552), Verdict::Known(552)));

        let snapshot = store.snapshot();
        store.delete(7).unwrap();
        offer(&store, 555);
        assert!(!finds(&store, 7) && finds(&store, 555));
        let near = |number| snapshot.near(Fingerprint::from_bits(mix64(number))).unwrap();
        assert_eq!((near(7), near(555)), (vec![(7, 0)], vec![]), "as it stood then");
    }

    #[test]
    fn a_batch_gets_the_verdicts_of_its_documents_one_by_one() {
        for resident_bytes in [0, 1 << 28] {
            let mut options =
                Options { memtable_documents: 70, resident_bytes, ..Options::default() };
            options.policy.hamming_only = true;
            let [one, many] = [(); 2].map(|()| Store::in_memory(options.clone()).unwrap());
            // Every third is near an earlier one, usually of the same batch.
            let bits = |number: u64| mix64(number / 3) ^ u64::from(number % 3 == 2) << 40;
            let keys: Vec<[u8; 8]> = (0..500u64).map(u64::to_le_bytes).collect();
            let fingerprints = (0..500).map(|number| Fingerprint::from_bits(bits(number)));
            let documents: Vec<Document<'_>> =
                keys.iter().zip(fingerprints).map(|(key, f)| Document::new(key, f)).collect();
            for batch in documents.chunks(100) {
                let expected: Vec<Verdict> =
                    batch.iter().map(|document| one.offer(document).unwrap()).collect();
                assert_eq!(many.offer_many(batch).unwrap(), expected);
                one.commit(&[]).unwrap();
                many.commit(&[]).unwrap();
            }
            assert_eq!(many.duplicates(), 333);
        }
    }

    #[test]
    fn resident_tables_that_pay_are_not_dropped_at_once_and_merge_equal_fingerprints() {
        let mut paid = 0;
        for distance in 0..=crate::MAX_DISTANCE {
            let layout = Layout::for_distance(distance).unwrap();
            for (documents, limit) in [(1000, 64 << 20), (150_000, 64 << 20), (300_000, 64 << 20)] {
                if !Resident::pays(distance, documents, limit) {
                    continue;
                }
                paid += 1;
                let mut resident = Resident::new(layout.clone(), 0);
                for number in 0..documents * 3 / 2 {
                    for _ in 0..2 {
                        let fingerprint = Fingerprint::from_bits(mix64(number));
                        resident.insert(mix64(number) as u32, Some(fingerprint), New::default());
                    }
                }
                assert_eq!(resident.tables.len() as u64, documents * 3 / 2);
                assert!(!resident.is_too_much(documents, limit), "{distance} {documents}");
                assert!(resident.is_too_much(documents, 0));
                assert_eq!(resident.is_too_much(0, limit), documents > STALE);
            }
        }
        assert!(paid > 10, "{paid}");
        // Short blocks: a look-up would compare too many.
        assert!(!Resident::pays(crate::MAX_DISTANCE, 1_000_000, 1 << 34));
        assert!(Resident::pays(3, 4_000_000, 512 << 20));
        assert!(!Resident::pays(3, 9_000_000, 512 << 20));
    }

    #[test]
    fn resident_tables_beyond_their_limit_are_dropped_and_all_documents_found() {
        // Little more than the first layer of the key filter.
        let mut options =
            Options { memtable_documents: 50, resident_bytes: 396_000, ..Options::default() };
        options.policy.hamming_only = true;
        let store = Store::in_memory(options.clone()).unwrap();
        assert!(is_resident(&store));
        fill(&store, 0..49);
        let snapshot = store.snapshot();
        offer(&store, 49);
        store.commit(&[]).unwrap();
        assert!(!is_resident(&store));
        assert!((0..50).all(|number| finds(&store, number)), "while they become a segment");
        assert_eq!(snapshot.near(Fingerprint::from_bits(mix64(3))).unwrap(), [(3, 0)]);
        fill(&store, 50..300);
        store.wait().unwrap();
        assert!(!is_resident(&store), "it is not tried again and again");
        assert!((0..300).all(|number| finds(&store, number)));

        options.resident_bytes = 0;
        let store = Store::in_memory(options).unwrap();
        fill(&store, 0..300);
        assert!(!is_resident(&store) && (0..300).all(|number| finds(&store, number)));
    }
}
