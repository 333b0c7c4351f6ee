//! The state of an unfinished export.

use serde::{Deserialize, Serialize};

/// The content of `_export.json`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Progress {
    /// Of what the rows depend on. Empty: the export cannot be continued.
    pub(crate) state: String,
    /// Rows of each complete part.
    pub(crate) rows: Vec<u64>,
    /// The upload to a store that is not complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) upload: Option<Pending>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Pending {
    /// The name of the part.
    pub(crate) part: String,
    /// The store's name of the upload.
    pub(crate) id: String,
}
