use std::path::PathBuf;

/// Why the index could not be opened, written or searched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file system refused. A full disk is [`std::io::ErrorKind::StorageFull`].
    #[error("{}: {source}", path.display())]
    Io {
        /// The file, or the index's folder.
        path: PathBuf,
        /// What the file system said.
        source: std::io::Error,
    },
    /// Another process writes to it.
    #[error("{}: another process holds it", .0.display())]
    Locked(PathBuf),
    /// There is no index yet.
    #[error("{}: no index here", .0.display())]
    Missing(PathBuf),
    /// Its files are damaged, or another version wrote them.
    #[error("{}: {what}", path.display())]
    Damaged {
        /// The file, or the index's folder.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// An earlier write failed: drop the index and open it again.
    #[error("an earlier write of the index failed: open it again")]
    Poisoned,
    /// A query that cannot be read.
    #[error("the query cannot be read: {0}")]
    Query(String),
}

/// The result of this crate's fallible functions.
pub type Result<T> = std::result::Result<T, Error>;
