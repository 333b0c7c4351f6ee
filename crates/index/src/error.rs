use std::path::PathBuf;

/// Why the index could not be opened, written or searched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file system returned an error. On a full disk it is [`std::io::ErrorKind::StorageFull`].
    #[error("{}: {source}", path.display())]
    Io {
        /// The file, or the index's folder.
        path: PathBuf,
        /// The error of the file system.
        source: std::io::Error,
    },
    /// Another process is writing to it.
    #[error("{}: in use by another process. Wait for it or stop it", .0.display())]
    Locked(PathBuf),
    /// The folder has no index.
    #[error("{}: no index here", .0.display())]
    Missing(PathBuf),
    /// Its files are damaged, or another version wrote them.
    #[error("{}: {what}", path.display())]
    Damaged {
        /// The file, or the index's folder.
        path: PathBuf,
        /// The kind of damage.
        what: String,
    },
    /// An earlier write failed: drop the index and open it again.
    #[error("an earlier write of the index failed. Run the command again")]
    Poisoned,
    /// An index of an earlier version lacks a filter.
    #[error(
        "{}: an earlier version made this index, which has no {filter} to filter by. Run `crawl upgrade`",
        path.display()
    )]
    Earlier {
        /// The index's folder.
        path: PathBuf,
        /// The field.
        filter: &'static str,
    },
    /// The query is invalid.
    #[error("the query cannot be read: {0}")]
    Query(String),
}

/// The result of this crate's fallible functions.
pub type Result<T> = std::result::Result<T, Error>;
