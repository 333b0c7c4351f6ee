//! Decisions with a caller that compares texts.

use super::Store;
use crate::confirm::Confirm;
use crate::error::{Error, Result};
use crate::policy::{Neighbour, Verdict};
use crate::record::Document;

impl Store {
    /// [Offers](Self::offer) a document with the caller's comparison of texts. Meanwhile no other document is
    /// offered.
    ///
    /// # Errors
    /// As [`offer`](Self::offer).
    ///
    /// # Complexity
    /// As [`offer`](Self::offer), plus at most [`MAX_COMPARED`](crate::MAX_COMPARED) and
    /// [`MAX_COMPARED_BY_NAME`](crate::MAX_COMPARED_BY_NAME) comparisons.
    pub fn offer_confirmed(
        &self,
        document: &Document<'_>,
        confirm: &mut dyn Confirm,
    ) -> Result<Verdict> {
        let documents = std::slice::from_ref(document);
        let mut writer = self.writer_with_room();
        writer.offer(documents, Some(confirm), &self.options)?.pop().ok_or(Error::Poisoned)
    }

    /// Returns [`matches`](Self::matches) with the caller's comparison of texts.
    ///
    /// # Errors
    /// [`Error::Corrupt`] from a segment.
    pub fn confirmed_matches(
        &self,
        document: &Document<'_>,
        confirm: &mut dyn Confirm,
    ) -> Result<Vec<Neighbour>> {
        self.snapshot().confirmed_matches(document, confirm)
    }

    /// Returns the best document that the given one duplicates, with the caller's comparison of texts.
    ///
    /// # Errors
    /// [`Error::Corrupt`] from a segment.
    pub fn first_confirmed(
        &self,
        document: &Document<'_>,
        confirm: &mut dyn Confirm,
    ) -> Result<Option<Neighbour>> {
        self.snapshot().first_confirmed(document, confirm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confirm::{MAX_COMPARED, MAX_COMPARED_BY_NAME, MAX_COMPARED_OF_ALL, Proposal};
    use crate::{Fingerprint, Options, Policy, Sketch, Store};

    /// Records the proposed documents and gives the same answer to each.
    struct Asked(Vec<u64>, Option<bool>);

    impl Confirm for Asked {
        fn confirm(&mut self, _: &Document<'_>, proposal: &Proposal<'_>) -> Option<bool> {
            self.0.push(proposal.record.id);
            self.1
        }
    }

    fn document<'k>(key: &'k [u8], name: u64) -> Document<'k> {
        let digest = Some([7; 16]);
        let sketch = Sketch::from_hashes((0..200).map(crate::mix64));
        Document {
            digest,
            sketch,
            tokens: 100,
            names: [name << 32, 0],
            ..Document::new(key, Fingerprint::from_bits(9))
        }
    }

    /// Returns a store of documents with equal text and different names, all of which the policy keeps.
    fn store(count: u64, policy: Policy) -> Store {
        let store = Store::in_memory(Options { policy, ..Options::default() }).unwrap();
        for number in 0..count {
            store.insert(&document(&number.to_le_bytes(), number + 1), None).unwrap();
        }
        store
    }

    #[test]
    fn few_documents_are_compared_those_of_the_same_name_first() {
        let store = store(100, Policy::default());
        let new = document(b"new", 43);
        let mut asked = Asked(Vec::new(), Some(false));
        assert_eq!(store.first_confirmed(&new, &mut asked).unwrap(), None);
        assert_eq!(asked.0.len(), MAX_COMPARED);
        assert_eq!(asked.0[0], 42, "the one of the same name");
        let mut asked = Asked(Vec::new(), Some(false));
        store.confirmed_matches(&new, &mut asked).unwrap();
        assert_eq!(asked.0.len(), MAX_COMPARED_OF_ALL);
    }

    #[test]
    fn documents_that_share_a_name_alone_are_compared_last_and_few_of_them() {
        let store = Store::in_memory(Options::default()).unwrap();
        // Sets that share two fifths of their shingles have a similarity of a fourth, and mostly no band in common.
        let set = |number: u64| (0..80).chain(1_000 * (number + 1)..1_000 * (number + 1) + 120);
        let sketch = |number| Sketch::from_hashes(set(number).map(crate::mix64)).unwrap();
        fn named(key: &[u8], number: u64, sketch: Sketch, name: u64) -> Document<'_> {
            let fingerprint = Fingerprint::from_bits(crate::mix64(number));
            let names = [name, 0];
            Document { sketch: Some(sketch), tokens: 900, names, ..Document::new(key, fingerprint) }
        }
        let new = sketch(0);
        let shares = |other: &Sketch| new.bands().iter().zip(other.bands()).any(|(a, b)| *a == b);
        let alone: Vec<u64> = (1..200)
            .filter(|number| !shares(&sketch(*number)) && new.similarity(&sketch(*number)) > 0.2)
            .take(crate::MAX_NAMED)
            .collect();
        assert_eq!(alone.len(), crate::MAX_NAMED);
        for number in alone {
            let key = number.to_le_bytes();
            store.insert(&named(&key, number, sketch(number), 5), None).unwrap();
        }
        let copies = MAX_COMPARED as u64 + 2;
        let first = crate::MAX_NAMED as u64;
        for number in first..first + copies {
            let key = number.to_le_bytes();
            store.insert(&named(&key, number + 900, new, number + 50), None).unwrap();
        }
        let mut asked = Asked(Vec::new(), Some(false));
        store.first_confirmed(&named(b"new", 777, new, 5), &mut asked).unwrap();
        let (copies, named) = asked.0.split_at(MAX_COMPARED);
        assert!(copies.iter().all(|id| *id >= first), "{asked:?}", asked = asked.0);
        assert_eq!(named.len(), MAX_COMPARED_BY_NAME);
        assert!(named.iter().all(|id| *id < first), "{asked:?}", asked = asked.0);
    }

    #[test]
    fn the_caller_decides_and_without_an_opinion_the_policy() {
        let store = store(3, Policy::default());
        let offer = |key: &[u8], name: u64, opinion: Option<bool>| {
            let mut asked = Asked(Vec::new(), opinion);
            let verdict = store.offer_confirmed(&document(key, name), &mut asked).unwrap();
            (matches!(verdict, Verdict::New(_)), asked.0.len())
        };
        assert_eq!(offer(b"a", 2, Some(false)), (true, 3), "equal text under the same name");
        assert_eq!(offer(b"b", 2, Some(true)), (false, 1));
        assert!(!offer(b"c", 2, None).0, "equal text is enough for the policy");
    }

    #[test]
    fn the_papers_policy_compares_no_texts() {
        let store = store(2, Policy { hamming_only: true, ..Policy::default() });
        let mut asked = Asked(Vec::new(), Some(false));
        assert!(store.first_confirmed(&document(b"new", 1), &mut asked).unwrap().is_some());
        assert!(asked.0.is_empty());
    }
}
