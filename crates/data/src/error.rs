//! Errors of a data directory.

use std::fmt::Display;
use std::io;
use std::path::Path;

/// What is wrong with a data directory, or with what was asked of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What was asked for does not exist or cannot be.
    #[error("{0}")]
    Invalid(String),
    /// Files are missing, cut or changed, or of another version.
    #[error("{0}")]
    Damaged(String),
    /// Another process holds the directory.
    #[error("{0}")]
    Locked(String),
    /// A file cannot be written.
    #[error("{0}")]
    Write(String),
    /// A file cannot be read or written, and which one.
    #[error("{context}")]
    Io {
        /// The file, or what was done.
        context: String,
        /// Why.
        source: io::Error,
    },
    /// The same without a name.
    #[error(transparent)]
    Os(#[from] io::Error),
    /// A line or file that is written cannot be JSON, or the other way.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// The store of fingerprints.
    #[error(transparent)]
    Store(#[from] hapax_dedup::Error),
    /// The queue of URLs.
    #[error(transparent)]
    Frontier(#[from] hapax_frontier::Error),
    /// The full-text index.
    #[error(transparent)]
    Index(#[from] hapax_index::Error),
}

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Names the file that an error of the file system is about.
pub trait Context<T> {
    /// With a name at hand.
    ///
    /// # Errors
    /// Those of the result, as [`Error::Io`].
    fn context(self, name: impl Display) -> Result<T>;
    /// With a name that is made for an error only.
    ///
    /// # Errors
    /// As [`context`](Self::context).
    fn with_context<D: Display>(self, name: impl FnOnce() -> D) -> Result<T>;
}

impl<T> Context<T> for io::Result<T> {
    fn context(self, name: impl Display) -> Result<T> {
        self.map_err(|source| Error::Io { context: name.to_string(), source })
    }

    fn with_context<D: Display>(self, name: impl FnOnce() -> D) -> Result<T> {
        self.map_err(|source| Error::Io { context: name().to_string(), source })
    }
}

/// A file that cannot be read: no damage, where it is another user's.
pub fn unreadable(path: &Path, error: &io::Error) -> Error {
    let what = format!("cannot read {}: {error}", path.display());
    match error.kind() {
        io::ErrorKind::PermissionDenied => Error::Invalid(what),
        _ => Error::Damaged(what),
    }
}

/// A file that cannot be written.
pub fn unwritable(path: &Path, error: &io::Error) -> Error {
    Error::Write(format!("cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_ours_to_read_is_no_damage() {
        let error = |kind: io::ErrorKind| unreadable(Path::new("crawl.toml"), &kind.into());
        assert!(matches!(error(io::ErrorKind::PermissionDenied), Error::Invalid(_)));
        assert!(matches!(error(io::ErrorKind::InvalidData), Error::Damaged(_)));
    }
}
