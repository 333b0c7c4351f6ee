//! The error type of this crate.

use std::error::Error as StdError;

/// An error of an observer, a sink or another part of the embedder.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// Why a crawl cannot start or continue. Committed pages are safe: the same crawl, built again, resumes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A bad value in the [`Config`](crate::Config).
    #[error("{field}: {what}")]
    Config {
        /// The field's name.
        field: &'static str,
        /// The problem, and what is allowed.
        what: String,
    },
    /// The data directory is locked, damaged, full or of another version.
    #[error(transparent)]
    Data(#[from] hapax_data::Error),
    /// The commit thread panicked: a defect of this crate.
    #[error("the commit thread panicked. This is a bug: please report it")]
    Panicked,
    /// The observer or the sink failed; the crawl was stopped.
    #[error("the observer failed")]
    Observer(#[source] BoxError),
    /// The observer or the sink panicked; the crawl was stopped.
    #[error("the observer panicked: {0}")]
    ObserverPanicked(String),
}

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn config(field: &'static str, what: impl Into<String>) -> Self {
        Self::Config { field, what: what.into() }
    }

    pub(crate) fn damaged(what: impl Into<String>) -> Self {
        hapax_data::Error::Damaged(what.into()).into()
    }

    pub(crate) fn invalid(what: impl Into<String>) -> Self {
        hapax_data::Error::Invalid(what.into()).into()
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::Data(error.into())
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::Data(error.into())
    }
}

impl From<hapax_dedup::Error> for Error {
    fn from(error: hapax_dedup::Error) -> Self {
        Self::Data(error.into())
    }
}

impl From<hapax_frontier::Error> for Error {
    fn from(error: hapax_frontier::Error) -> Self {
        Self::Data(error.into())
    }
}

impl From<hapax_index::Error> for Error {
    fn from(error: hapax_index::Error) -> Self {
        Self::Data(error.into())
    }
}
