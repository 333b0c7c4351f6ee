//! Verdicts in a crawl that several workers share.

use std::collections::HashMap;

use hapax_dedup::{DocumentStore, Neighbour, Verdict};

/// Verdicts about the pages of all workers that share a crawl.
pub trait Verdicts: Send + std::fmt::Debug {
    /// The documents of all workers.
    fn documents(&self) -> &dyn DocumentStore;

    /// Returns whether this worker has offered the document, now or before a restart.
    ///
    /// # Errors
    /// An error of the store.
    fn owns(&self, key: &[u8]) -> hapax_dedup::Result<bool>;

    /// Reports to the other workers how many pages this worker has fetched.
    fn report(&self, fetched: u64);
}

/// The shared verdicts, and a cache of verdicts requested ahead.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) verdicts: Box<dyn Verdicts>,
    /// Verdicts requested in one batch and not used yet.
    pub(crate) ahead: HashMap<Vec<u8>, Verdict>,
}

pub(crate) enum SharedVerdict {
    New,
    /// Another worker has fetched it.
    Taken,
    Duplicate(Neighbour),
}
