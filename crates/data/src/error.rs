use std::fmt::Display;
use std::io;
use std::path::Path;

/// An error of a data directory.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The request is not possible: it names something that does not exist.
    #[error("{0}")]
    Invalid(String),
    /// Files are missing, truncated, changed, or of another version.
    #[error("{0}")]
    Damaged(String),
    /// Another process has locked the directory.
    #[error("{0}")]
    Locked(String),
    /// A file could not be written.
    #[error("{0}")]
    Write(String),
    /// An I/O error, with the file.
    #[error("{context}")]
    Io {
        /// The file, or the operation.
        context: String,
        /// The cause.
        source: io::Error,
    },
    /// An I/O error without a file name.
    #[error(transparent)]
    Os(#[from] io::Error),
    /// A value could not be serialised, or a line or file parsed.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// From the dedup store.
    #[error(transparent)]
    Store(#[from] hapax_dedup::Error),
    /// From the frontier.
    #[error(transparent)]
    Frontier(#[from] hapax_frontier::Error),
    /// From the full-text index.
    #[error(transparent)]
    Index(#[from] hapax_index::Error),
}

impl Error {
    /// Returns the error if a cause is one, or an I/O error that contains one to name the file.
    pub fn of_cause<'a>(cause: &'a (dyn std::error::Error + 'static)) -> Option<&'a Self> {
        let inner = || cause.downcast_ref::<io::Error>()?.get_ref()?.downcast_ref();
        cause.downcast_ref().or_else(inner)
    }
}

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Adds the name of the file to an I/O error.
pub trait Context<T> {
    /// Adds this name.
    ///
    /// # Errors
    /// Those of the result, as [`Error::Io`].
    fn context(self, name: impl Display) -> Result<T>;
    /// Adds a name that is created only on error.
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

/// Returns the error for an unreadable file. Missing permission is not damage.
pub fn unreadable(path: &Path, error: &io::Error) -> Error {
    let what = format!("cannot read {}: {error}", path.display());
    match error.kind() {
        io::ErrorKind::PermissionDenied => Error::Invalid(what),
        _ => Error::Damaged(what),
    }
}

/// Returns the error for a file that cannot be written.
pub fn unwritable(path: &Path, error: &io::Error) -> Error {
    Error::Write(format!("cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_inside_of_an_io_error_is_found() {
        let inner = || Error::Invalid("no such bucket".into());
        let wrapped = io::Error::other(inner());
        for cause in [&inner() as &(dyn std::error::Error + 'static), &wrapped] {
            assert!(matches!(Error::of_cause(cause), Some(Error::Invalid(_))), "{cause:?}");
        }
        assert!(Error::of_cause(&io::Error::other("other")).is_none());
    }

    #[test]
    fn a_missing_read_permission_is_not_damage() {
        let error = |kind: io::ErrorKind| unreadable(Path::new("crawl.toml"), &kind.into());
        assert!(matches!(error(io::ErrorKind::PermissionDenied), Error::Invalid(_)));
        assert!(matches!(error(io::ErrorKind::InvalidData), Error::Damaged(_)));
    }
}
