//! What a crawler asks of a store, wherever it is kept.

use crate::error::Result;
use crate::policy::Verdict;
use crate::record::{DocId, Document, Record};
use crate::store::Store;

/// A store of documents that decides about new ones. [`Store`] keeps it in a folder, for one
/// process; others may share it among many.
///
/// Of two near-duplicates offered at the same moment, by whomever, exactly one is new.
pub trait DocumentStore: std::fmt::Debug + Send + Sync {
    /// Looks each document up and inserts it, in order; see [`Store::offer_many`].
    ///
    /// # Errors
    /// From the store.
    fn offer_many(&self, documents: &[Document<'_>]) -> Result<Vec<Verdict>>;

    /// The document offered under `key`.
    ///
    /// # Errors
    /// From the store.
    fn id_of(&self, key: &[u8]) -> Result<Option<DocId>>;

    /// The whole record of a document; `None` if there is none of that number.
    ///
    /// # Errors
    /// From the store.
    fn record(&self, id: DocId) -> Result<Option<Record>>;

    /// Removes a document; `false` if there is none of that number.
    ///
    /// # Errors
    /// From the store.
    fn delete(&self, id: DocId) -> Result<bool>;

    /// Takes a discarded document back, under the number that is returned; `None` if there is none
    /// of that number.
    ///
    /// # Errors
    /// From the store.
    fn restore(&self, id: DocId) -> Result<Option<DocId>>;

    /// Makes one document a duplicate of another, which is kept: the other way round than it was, say.
    /// Returns the first one's number from here on; `None`, and nothing is changed, if one of the
    /// two is not there.
    ///
    /// # Errors
    /// From the store.
    fn supersede(&self, id: DocId, of: DocId) -> Result<Option<DocId>>;

    /// How many documents are stored, duplicates among them.
    ///
    /// # Errors
    /// From the store.
    fn count(&self) -> Result<u64>;

    /// Makes everything offered through this handle durable. Returns the keys of documents that
    /// another writer has taken over meanwhile, which are its now; a store of one writer has none.
    ///
    /// # Errors
    /// From the store.
    fn settle(&self) -> Result<Vec<Vec<u8>>>;
}

impl DocumentStore for Store {
    fn offer_many(&self, documents: &[Document<'_>]) -> Result<Vec<Verdict>> {
        self.offer_many(documents)
    }

    fn id_of(&self, key: &[u8]) -> Result<Option<DocId>> {
        self.id_of(key)
    }

    fn record(&self, id: DocId) -> Result<Option<Record>> {
        self.record(id)
    }

    fn delete(&self, id: DocId) -> Result<bool> {
        self.delete(id)
    }

    fn restore(&self, id: DocId) -> Result<Option<DocId>> {
        self.restore(id)
    }

    fn supersede(&self, id: DocId, of: DocId) -> Result<Option<DocId>> {
        self.supersede(id, of)
    }

    fn count(&self) -> Result<u64> {
        Ok(self.len())
    }

    fn settle(&self) -> Result<Vec<Vec<u8>>> {
        self.commit_keeping_payload().map(|()| Vec::new())
    }
}
