use std::path::PathBuf;

/// Why the frontier's state could not be opened, read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another process holds it.
    #[error("{}: another process holds it", .0.display())]
    Locked(PathBuf),
    /// The stored state is damaged or of another version.
    #[error("{}: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The file system refused. A full disk is [`std::io::ErrorKind::StorageFull`].
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the file system said.
        source: std::io::Error,
    },
    /// An earlier commit failed for another reason than damage, so what is on disk is unknown: drop the frontier and open it again.
    #[error("an earlier commit of the frontier failed: open it again")]
    Poisoned,
    /// A frontier that is kept elsewhere failed, see [`Frontier`](crate::Frontier).
    #[error(transparent)]
    Elsewhere(Box<dyn std::error::Error + Send + Sync>),
}

/// The result of this crate's fallible functions.
pub type Result<T> = std::result::Result<T, Error>;
