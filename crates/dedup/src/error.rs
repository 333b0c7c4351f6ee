use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a store could not be opened, read or written.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The file system refused. A full disk is [`io::ErrorKind::StorageFull`].
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the file system said.
        source: io::Error,
    },
    /// The store is open already, in this process or in another.
    Locked {
        /// The lock file.
        path: PathBuf,
    },
    /// Bytes that were acknowledged do not match their checksum.
    Corrupt {
        /// The damaged file.
        path: PathBuf,
        /// Where the damage begins.
        offset: u64,
        /// What is wrong there.
        what: &'static str,
    },
    /// The store was written by another version. Export it with that version, or start a new one.
    Version {
        /// The file that says so.
        path: PathBuf,
        /// The version this crate writes.
        expected: u32,
        /// The version found.
        got: u32,
    },
    /// The store was made with other settings, and fingerprints of two recipes never compare.
    Recipe {
        /// The recipe in the store.
        stored: String,
        /// The recipe asked for.
        asked: String,
    },
    /// A distance above [`MAX_DISTANCE`](crate::MAX_DISTANCE).
    Distance(u32),
    /// A threshold of the [`Policy`](crate::Policy) that no similarity can be held against.
    Threshold {
        /// The field.
        name: &'static str,
        /// What it holds.
        value: f64,
    },
    /// A recipe's name of more than [`MAX_RECIPE`](crate::MAX_RECIPE) bytes or more than one line.
    RecipeName,
    /// A commit's payload longer than [`MAX_PAYLOAD`](crate::MAX_PAYLOAD).
    PayloadTooLong(usize),
    /// A key longer than [`MAX_KEY`](crate::MAX_KEY).
    KeyTooLong(usize),
    /// No document was ever given this number, so none can duplicate it.
    NoDocument(u64),
    /// More fingerprints than 2^32 - 1 at once, more documents than 2^27 - 1 in memory of which no segment is
    /// being made, more than 2^28 - 1 in the journals of a store that is opened, or numbers too far apart
    /// for one segment.
    TooMany(u64),
    /// An earlier write failed, so what is on disk is unknown: drop the store and open it again.
    Poisoned,
    /// A store that is kept elsewhere failed, see [`DocumentStore`](crate::DocumentStore).
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
                    "{}: the store is open already, here or in another process",
                    path.display()
                )
            }
            Self::Corrupt { path, offset, what } => {
                write!(f, "{}: damaged at byte {offset}: {what}", path.display())
            }
            Self::Version { path, expected, got } => write!(
                f,
                "{}: written in format {got}, this program writes format {expected} and reads the one before: \
                 use the program that wrote it, or start in a new folder",
                path.display()
            ),
            Self::Recipe { stored, asked } => write!(
                f,
                "the store holds fingerprints of recipe \"{stored}\", not \"{asked}\": \
                 they cannot be compared, use another folder"
            ),
            Self::Distance(distance) => {
                write!(f, "distance {distance} is above {}", crate::MAX_DISTANCE)
            }
            Self::Threshold { name, value } => {
                write!(f, "{name} = {value}: a similarity lies between 0 and 1")
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
                "{count} documents or fingerprints are too many at once: commit more often, or take them in parts"
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

/// The result of this crate's fallible functions.
pub type Result<T> = std::result::Result<T, Error>;
