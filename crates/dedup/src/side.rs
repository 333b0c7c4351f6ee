//! What the decision looks at in a document.

use crate::{Numbers, Sketch};

/// What the decision looks at in each of two documents.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// The sketch.
    pub sketch: Option<&'a Sketch>,
    /// Content tokens.
    pub tokens: u32,
    /// Site.
    pub site: u64,
    /// Hashes of what it calls itself, or 0; see [`name_hash`](crate::name_hash).
    pub names: [u64; 2],
    /// The numbers in its text.
    pub numbers: Numbers,
}

impl Side<'_> {
    /// Returns whether both have a name in common.
    pub(crate) fn shares_name(&self, other: &Self) -> bool {
        self.names.iter().any(|name| *name != 0 && other.names.contains(name))
    }
}
