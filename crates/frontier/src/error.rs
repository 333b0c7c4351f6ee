use std::path::PathBuf;

/// Why the frontier's state could not be opened, read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another process has locked it.
    #[error("{}: in use by another process. Wait for it or stop it", .0.display())]
    Locked(PathBuf),
    /// The stored state is damaged or has another version.
    #[error("{}: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The kind of damage.
        what: String,
    },
    /// The file system returned an error. On a full disk it is [`std::io::ErrorKind::StorageFull`].
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the file system.
        source: std::io::Error,
    },
    /// An earlier commit failed. The state on disk is unknown: drop the frontier and open it again.
    #[error("an earlier commit of the frontier failed. Run the command again")]
    Poisoned,
    /// A frontier that is stored elsewhere failed, see [`Frontier`](crate::Frontier).
    #[error(transparent)]
    Elsewhere(Box<dyn std::error::Error + Send + Sync>),
}

/// The result of this crate's fallible functions.
pub type Result<T> = std::result::Result<T, Error>;
