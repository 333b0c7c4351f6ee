//! The page of `crawl explain`.

use hapax_extract::{Document, Recipe};
use hapax_page::Evidence;
use url::Url;

/// A page that was read.
pub(super) struct Page {
    pub(super) name: String,
    pub(super) bytes: usize,
    pub(super) document: Document,
    pub(super) evidence: Evidence,
    /// What a crawl would call it: the address that was given, or that of the file.
    pub(super) address: Option<Url>,
    pub(super) site: u64,
    pub(super) recipe: Recipe,
}
