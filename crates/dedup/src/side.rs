//! The part of a document that the decision uses.

use crate::{Numbers, Sketch};

/// The part of a document that the decision uses, for each of two documents.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// The sketch.
    pub sketch: Option<&'a Sketch>,
    /// The number of content tokens.
    pub tokens: u32,
    /// The hash of the site.
    pub site: u64,
    /// Hashes of the page names, or 0; see [`name_hash`](crate::name_hash).
    pub names: [u64; 2],
    /// The numbers in the text.
    pub numbers: Numbers,
}

impl Side<'_> {
    pub(crate) fn shares_name(&self, other: &Self) -> bool {
        self.names.iter().any(|name| *name != 0 && other.names.contains(name))
    }
}
