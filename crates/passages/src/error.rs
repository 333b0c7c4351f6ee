use std::io;
use std::path::PathBuf;

/// The result of a search.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure of a search.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A temporary file cannot be created, written or read.
    #[error(
        "temporary files in {folder}: {source}. They need about 14 bytes a word of all documents"
    )]
    Io {
        /// The folder of the files.
        folder: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// The caller ended the search.
    #[error("the search was stopped")]
    Stopped,
    /// There are more documents than 32-bit numbers.
    #[error("more than 4,294,967,295 documents. Search fewer at once")]
    TooMany,
}
