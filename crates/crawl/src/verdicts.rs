//! Verdicts of many workers.

use std::collections::HashMap;

use hapax_dedup::{DocumentStore, Neighbour, Verdict};

/// Verdicts about the pages of all workers that share a crawl.
pub trait Verdicts: Send + std::fmt::Debug {
    /// The documents of all workers.
    fn documents(&self) -> &dyn DocumentStore;

    /// Whether a document is this worker's, in whatever life.
    ///
    /// # Errors
    /// The store's.
    fn owns(&self, key: &[u8]) -> hapax_dedup::Result<bool>;

    /// Tells the others how many pages this worker has fetched.
    fn report(&self, fetched: u64);
}

/// Verdicts, and those of which the use is still to come.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) verdicts: Box<dyn Verdicts>,
    /// Asked for together, and not used yet.
    pub(crate) ahead: HashMap<Vec<u8>, Verdict>,
}

/// What the cluster says of a page.
pub(crate) enum Told {
    New,
    /// It is another worker's.
    Taken,
    Duplicate(Neighbour),
}
