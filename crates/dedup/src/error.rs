use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a store could not be opened, read or written.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The file system returned an error. A full disk is [`io::ErrorKind::StorageFull`].
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the file system.
        source: io::Error,
    },
    /// The store is already open in this process or another.
    Locked {
        /// The lock file.
        path: PathBuf,
    },
    /// Stored bytes are damaged.
    Corrupt {
        /// The damaged file.
        path: PathBuf,
        /// The offset of the damage.
        offset: u64,
        /// A description of the damage.
        what: &'static str,
    },
    /// Another version wrote the store. Export it with that version, or start a new store.
    Version {
        /// The file with the version number.
        path: PathBuf,
        /// The version that this crate writes.
        expected: u32,
        /// The version found.
        got: u32,
    },
    /// The store was created with another recipe. Fingerprints of two recipes cannot be compared.
    Recipe {
        /// The recipe in the store.
        stored: String,
        /// The requested recipe.
        asked: String,
    },
    /// A distance above [`MAX_DISTANCE`](crate::MAX_DISTANCE).
    Distance(u32),
    /// A threshold of the [`Policy`](crate::Policy) that is not a valid similarity.
    Threshold {
        /// The field's name.
        name: &'static str,
        /// The field's value.
        value: f64,
    },
    /// The recipe's name has a line break or more than [`MAX_RECIPE`](crate::MAX_RECIPE) bytes.
    RecipeName,
    /// A commit's payload longer than [`MAX_PAYLOAD`](crate::MAX_PAYLOAD).
    PayloadTooLong(usize),
    /// A key longer than [`MAX_KEY`](crate::MAX_KEY).
    KeyTooLong(usize),
    /// This number was never assigned, so no document can duplicate it.
    NoDocument(u64),
    /// Above a limit: 2^32 - 1 fingerprints at once; 119,304,646 documents in memory and in no running merge;
    /// 238,609,293 in the journals of an opened store; or numbers too far apart for one segment.
    TooMany(u64),
    /// An earlier write failed, so the state on disk is unknown: drop the store and open it again.
    Poisoned,
    /// A store outside this crate failed, see [`DocumentStore`](crate::DocumentStore).
    Elsewhere(Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Io { path: path.to_owned(), source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, source } => write!(f, "{}: {source}", path.display()),
            Self::Locked { path } => {
                write!(
                    f,
                    "{}: the store is already open, in this or another process",
                    path.display()
                )
            }
            Self::Corrupt { path, offset, what } => {
                write!(f, "{}: damaged at byte {offset}: {what}", path.display())
            }
            Self::Version { path, expected, got } => write!(
                f,
                "{}: format {got}; this program writes format {expected} and reads the previous one. Use the \
                 version of the program that wrote it, or a new folder",
                path.display()
            ),
            Self::Recipe { stored, asked } => write!(
                f,
                "the store has fingerprints of recipe \"{stored}\", not \"{asked}\", which cannot be \
                 compared. Use another folder"
            ),
            Self::Distance(distance) => {
                write!(f, "distance {distance} is above {}", crate::MAX_DISTANCE)
            }
            Self::Threshold { name, value } => {
                write!(f, "{name} = {value}: out of range. A similarity is from 0 to 1")
            }
            Self::RecipeName => {
                write!(f, "a recipe's name is one line of at most {} bytes", crate::MAX_RECIPE)
            }
            Self::PayloadTooLong(length) => {
                write!(f, "a payload of {length} bytes, at most {} fit", crate::MAX_PAYLOAD)
            }
            Self::NoDocument(id) => {
                write!(f, "there is no document {id} yet that another could duplicate")
            }
            Self::KeyTooLong(length) => {
                write!(f, "a key of {length} bytes, at most {} fit", crate::MAX_KEY)
            }
            Self::TooMany(count) => write!(
                f,
                "{count} documents or fingerprints in one batch are too many. Commit more often, or use \
                 smaller batches"
            ),
            Self::Elsewhere(error) => error.fmt(f),
            Self::Poisoned => f.write_str("an earlier write failed: open the store again"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::Elsewhere(error) => error.source(),
            _ => None,
        }
    }
}

/// The result of fallible functions.
pub type Result<T> = std::result::Result<T, Error>;
