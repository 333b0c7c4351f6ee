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
    /// As [`offer`](Self::offer), plus at most [`MAX_COMPARED`](crate::MAX_COMPARED) comparisons.
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
    use crate::confirm::{MAX_COMPARED, MAX_COMPARED_OF_ALL, Proposal};
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
