//! Proposed duplicates, and how many of them a decision considers.

use crate::error::Result;
use crate::policy::Level;
use crate::record::DocId;

/// The most documents of equal digest, and of equal fingerprint, that a decision considers: half the oldest, half the
/// newest. Otherwise pages of equal text that are kept apart, such as empty application shells with different names,
/// would slow down each offer. Look-ups find all of them.
pub const MAX_CANDIDATES: usize = 512;
pub(crate) const OLDEST: usize = MAX_CANDIDATES / 2;

/// The number of documents of one digest or fingerprint that a caller needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    All,
    /// At most [`MAX_CANDIDATES`].
    Few,
}

impl Extent {
    /// Appends the needed documents to `out`; `ids` is ordered oldest first.
    pub(crate) fn take(
        self,
        mut ids: impl DoubleEndedIterator<Item = Result<DocId>>,
        out: &mut Vec<DocId>,
    ) -> Result<()> {
        if self == Self::All {
            return ids.try_for_each(|id| id.map(|id| out.push(id)));
        }
        let before = out.len();
        ids.by_ref().take(OLDEST).try_for_each(|id| id.map(|id| out.push(id)))?;
        let left = MAX_CANDIDATES - (out.len() - before);
        ids.rev().take(left).try_for_each(|id| id.map(|id| out.push(id)))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Candidate {
    pub(crate) id: DocId,
    pub(crate) level: Level,
    pub(crate) table: Option<usize>,
    /// The fingerprint, if the fingerprint proposed the document.
    pub(crate) bits: u64,
}

/// Keeps the documents of each digest and fingerprint that a decision considers. It sees segments and memory
/// together, so the timing of merges does not matter.
pub(crate) fn trim(found: &mut Vec<Candidate>) {
    if found.len() <= MAX_CANDIDATES {
        return;
    }
    found.sort_unstable_by_key(|one| (one.level, one.bits, one.id, one.table));
    found.dedup();
    let mut kept = Vec::with_capacity(found.len());
    for same in found.chunk_by(|a, b| (a.level, a.bits) == (b.level, b.bits)) {
        // Lists of bands have a separate limit.
        let banded = same.first().is_some_and(|one| one.level == Level::Sketch);
        let newest = same.len().saturating_sub(OLDEST).min(MAX_CANDIDATES - OLDEST);
        if banded {
            kept.extend_from_slice(same);
        } else {
            kept.extend(same.iter().take(OLDEST));
            kept.extend(same.iter().rev().take(newest));
        }
    }
    *found = kept;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::held;
    use crate::{Document, Fingerprint, Options, Store, Verdict};

    /// Returns a page of one short text under a separate name.
    fn shell(key: &[u8; 8]) -> Document<'_> {
        let name = u64::from_le_bytes(*key) + 1;
        Document {
            digest: Some([7; 16]),
            tokens: 30,
            names: [name << 32 | name, 0],
            ..Document::new(key, Fingerprint::from_bits(77))
        }
    }

    #[test]
    fn a_decision_looks_at_few_of_many_equal_documents_wherever_they_are() {
        let count = 5_000u64;
        let mut seen = Vec::new();
        for (memtable_documents, resident_bytes) in
            [(1 << 18, 0), (1 << 18, 1 << 28), (700, 0), (700, 1 << 28)]
        {
            let options = Options { memtable_documents, resident_bytes, ..Options::default() };
            let store = Store::in_memory(options).unwrap();
            for number in 0..count {
                let key = number.to_le_bytes();
                assert_eq!(store.offer(&shell(&key)).unwrap(), Verdict::New(number));
                if number % 300 == 0 {
                    store.commit(b"").unwrap();
                }
            }
            store.wait().unwrap();
            for id in [3, 4_990] {
                store.delete(id).unwrap();
            }
            let view = held(&store.writer).view.clone();
            assert_eq!(view.segments.is_empty(), memtable_documents > 700);
            let key = u64::MAX.wrapping_sub(9).to_le_bytes();
            let new = shell(&key);
            let proposed = |extent| {
                let found = view.propose_from_segments(std::slice::from_ref(&new), extent).unwrap();
                let found = found.into_iter().next().unwrap();
                let mut found = view.proposed(&new, found, extent).unwrap().0;
                found.sort_unstable();
                found
            };
            assert_eq!(proposed(Extent::All).len() as u64, 2 * (count - 2));
            let few = proposed(Extent::Few);
            assert_eq!(few.len(), 2 * MAX_CANDIDATES);
            seen.push(few);
            // The same name is found among the oldest and the newest.
            let unnamed = Document { names: [0; 2], ..shell(&key) };
            assert_eq!(store.matches(&unnamed).unwrap().len() as u64, count - 2);
            assert_eq!(store.first_matches(&unnamed).unwrap().len(), MAX_CANDIDATES);
            assert_eq!(store.near(unnamed.fingerprint).unwrap().len() as u64, count - 2);
            for (again, name) in [(10_000u64, 250u64), (10_001, 4_800)] {
                let (key, named) = (again.to_le_bytes(), name.to_le_bytes());
                let copy = Document { key: &key, ..shell(&named) };
                let verdict = store.offer(&copy).unwrap();
                assert!(matches!(verdict, Verdict::Duplicate { of, .. } if of.id == name));
            }
        }
        assert!(seen.iter().all(|few| *few == seen[0]), "whatever of them has become a segment");
        let ids = |level| seen[0].iter().filter(move |one| one.level == level).map(|one| one.id);
        let expected = (0..257).filter(|id| *id != 3).chain(4_743..count).filter(|id| *id != 4_990);
        assert!(ids(Level::Text).eq(expected.clone()) && ids(Level::Hamming).eq(expected));
    }

    #[test]
    fn below_the_limit_every_document_is_proposed_once_copies_were_deleted_too() {
        let store = Store::in_memory(Options::default()).unwrap();
        for number in 0..1_000u64 {
            store.offer(&shell(&number.to_le_bytes())).unwrap();
        }
        (0..600).for_each(|id| assert!(store.delete(id).unwrap()));
        let (key, named) = (5_000u64.to_le_bytes(), 600u64.to_le_bytes());
        let verdict = store.offer(&Document { key: &key, ..shell(&named) }).unwrap();
        assert!(matches!(verdict, Verdict::Duplicate { of, .. } if of.id == 600), "{verdict:?}");
    }
}
