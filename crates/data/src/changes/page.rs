//! The change of one page.

use serde::Serialize;

use crate::stream::EventOf;

/// A part that only one of the two texts has, or that replaces another one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DiffPiece {
    /// Text of before.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub removed: String,
    /// Text of after.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub added: String,
}

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// A page is kept that was not known before.
    New,
    /// The text of a known page has changed.
    Changed,
    /// A page redirects to another one.
    Moved,
    /// A page is gone, must not be indexed any more, or was forgotten.
    Gone,
}

impl ChangeKind {
    /// Returns its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Changed => "changed",
            Self::Moved => "moved",
            Self::Gone => "gone",
        }
    }
}

/// The change of a page from the first event to the last one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageChange {
    /// The kind of change.
    pub change: ChangeKind,
    /// The time of its last event, RFC 3339.
    pub time: String,
    /// The page's URL.
    pub url: String,
    /// Its number in the store.
    pub id: u64,
    /// The target of a moved page, or the page that a changed page duplicates now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<EventOf>,
    /// Share of the words that the texts of before and after have in common.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub similarity: Option<f64>,
    /// The reason, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The differing parts of the two texts. `None` if one of them is not archived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<Vec<DiffPiece>>,
}
