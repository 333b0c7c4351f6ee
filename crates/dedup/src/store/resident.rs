//! All fingerprints and keys of a store in memory, beside the segments: so an offer reads no
//! segment but for what it matches.
//!
//! It may hold more than the store: documents that were deleted, or came after a snapshot. So what
//! it finds is looked up among the documents, and only what it does not find is final.

use super::columns::{Columns, INDEXED};
use super::filter::KeyFilter;
use super::key_hash;
use super::segment::Segment;
use crate::error::Result;
use crate::tables::{GrowingTables, Near};
use crate::{Fingerprint, Layout};

#[derive(Debug)]
pub(crate) struct Resident {
    tables: GrowingTables,
    keys: KeyFilter,
}

impl Resident {
    pub(crate) fn new(layout: Layout) -> Self {
        Self { tables: GrowingTables::new(layout), keys: KeyFilter::default() }
    }

    /// About how many bytes so many documents take: buckets are three quarters full.
    pub(crate) fn estimate(layout: &Layout, documents: u64) -> u64 {
        documents * (layout.leads().len() as u64 * 11 + 4)
    }

    /// What the segments hold.
    pub(crate) fn of(layout: Layout, segments: &[std::sync::Arc<Segment>]) -> Result<Self> {
        let mut resident = Self::new(layout);
        for segment in segments {
            resident.insert_all(&segment.columns_checked()?);
        }
        Ok(resident)
    }

    pub(crate) fn insert_all(&mut self, columns: &Columns<'_>) {
        for row in 0..columns.rows {
            let indexed = columns.flags(row) & INDEXED != 0;
            self.insert(columns.key(row), indexed.then(|| columns.fingerprint(row)));
        }
    }

    pub(crate) fn insert(&mut self, key: &[u8], fingerprint: Option<Fingerprint>) {
        self.keys.insert(key_hash(key));
        if let Some(fingerprint) = fingerprint {
            self.tables.insert(fingerprint);
        }
    }

    /// `false`: no document has this key.
    pub(crate) fn may_hold_key(&self, key: u32) -> bool {
        self.keys.may_hold(key)
    }

    pub(crate) fn near_each(&self, query: Fingerprint, visit: impl FnMut(Near)) {
        self.tables.near_each(query, visit);
    }

    /// Asks for the lines that look-ups will read.
    pub(crate) fn prefetch(&self, queries: impl Iterator<Item = Fingerprint> + Clone) {
        for step in 0..self.tables.steps() {
            queries.clone().for_each(|query| self.tables.prefetch(query, step));
        }
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
    use crate::store::held;
    use crate::{Document, Fingerprint, Options, Store, Verdict, mix64};

    fn offer(store: &Store, number: u64) -> Verdict {
        let key = number.to_le_bytes();
        store.offer(&Document::new(&key, Fingerprint::from_bits(mix64(number)))).unwrap()
    }

    /// Whether a document near that of a number is found to duplicate one.
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
        // The commit that begins a job, and documents that come before it has ended.
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
    fn what_grows_too_large_is_let_go_and_all_is_found() {
        // The tables' directories alone take a megabyte.
        let mut options =
            Options { memtable_documents: 50, resident_bytes: 1 << 20, ..Options::default() };
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
        assert!((0..300).all(|number| finds(&store, number)));

        options.resident_bytes = 0;
        let store = Store::in_memory(options).unwrap();
        fill(&store, 0..300);
        assert!(!is_resident(&store) && (0..300).all(|number| finds(&store, number)));
    }
}
