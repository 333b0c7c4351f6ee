//! The store that a crawler requires, local or shared.

use crate::error::Result;
use crate::policy::Verdict;
use crate::record::{DocId, Document, Record};
use crate::store::Store;

/// A store of documents that decides about new ones. [`Store`] is the store of one process; other implementations may
/// share one among several.
///
/// Of two near-duplicates offered at the same time by any callers, exactly one is new.
pub trait DocumentStore: std::fmt::Debug + Send + Sync {
    /// Looks each document up and inserts it, in order; see [`Store::offer_many`].
    ///
    /// # Errors
    /// Those of the store.
    fn offer_many(&self, documents: &[Document<'_>]) -> Result<Vec<Verdict>>;

    /// Returns the document offered under `key`.
    ///
    /// # Errors
    /// Those of the store.
    fn id_of(&self, key: &[u8]) -> Result<Option<DocId>>;

    /// Returns the whole record of a document, or `None` if the number is not stored.
    ///
    /// # Errors
    /// Those of the store.
    fn record(&self, id: DocId) -> Result<Option<Record>>;

    /// Removes a document. Returns `false` if the number is not stored.
    ///
    /// # Errors
    /// Those of the store.
    fn delete(&self, id: DocId) -> Result<bool>;

    /// Restores a discarded document and returns its new number, or `None` if the number is not stored.
    ///
    /// # Errors
    /// Those of the store.
    fn restore(&self, id: DocId) -> Result<Option<DocId>>;

    /// Makes one document a duplicate of another, which is kept, for example to swap the two. Returns the new number
    /// of the first. Returns `None` and changes nothing if one is not stored.
    ///
    /// # Errors
    /// Those of the store.
    fn supersede(&self, id: DocId, of: DocId) -> Result<Option<DocId>>;

    /// Returns the number of stored documents, duplicates included.
    ///
    /// # Errors
    /// Those of the store.
    fn count(&self) -> Result<u64>;

    /// Makes everything offered through this handle durable. Returns the keys of documents that another writer has
    /// taken over; empty for a store with one writer.
    ///
    /// # Errors
    /// Those of the store.
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
