use std::path::{Path, PathBuf};

/// The result of an export.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an export failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be written: the disk is full, or the folder is read-only.
    #[error("{}: {source}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// An object store could not be used.
    #[error("{url}: {problem}")]
    Store {
        /// The object, prefix or bucket.
        url: String,
        /// Whose fault it is.
        fault: StoreFault,
        /// The problem, and what to do. It has no credential.
        problem: String,
    },
    /// A row does not fit its columns.
    #[error("row {row}: {problem}")]
    Row {
        /// Number of the row, from 0.
        row: u64,
        /// The problem.
        problem: String,
    },
    /// The encoder failed.
    #[error("{}: {source}", path.display())]
    Parquet {
        /// The part: a path or a URL.
        path: PathBuf,
        /// The cause.
        source: parquet::errors::ParquetError,
    },
}

/// Why an object store could not be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreFault {
    /// The address or a variable of the environment is not valid, credentials are missing, or objects of another
    /// program have the names of the export.
    Setting,
    /// The bucket does not exist.
    Bucket,
    /// The bucket is in another region.
    Region,
    /// The store refused the credentials.
    Refused,
    /// The store does not answer, or failed repeatedly.
    Lost,
    /// The caller stopped the export.
    Stopped,
    /// The store refused a request, or does not speak the protocol.
    Answer,
}

impl Error {
    /// Returns a function that adds a path to an I/O error. The error of a store has its URL.
    pub(crate) fn at(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| match source.downcast::<Self>() {
            Ok(error) => error,
            Err(source) => Self::Write { path: path.to_owned(), source },
        }
    }

    /// Returns a function that adds a path to an error of the encoder. An I/O error in it is taken out.
    pub(crate) fn of_part(path: &Path) -> impl FnOnce(parquet::errors::ParquetError) -> Self {
        use parquet::errors::ParquetError;
        move |source| match source {
            ParquetError::External(error) => match error.downcast::<std::io::Error>() {
                Ok(error) => Self::at(path)(*error),
                Err(error) => {
                    Self::Parquet { path: path.to_owned(), source: ParquetError::External(error) }
                }
            },
            source => Self::Parquet { path: path.to_owned(), source },
        }
    }
}

impl From<Error> for hapax_data::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Write { path, source } => hapax_data::unwritable(&path, &source),
            Error::Parquet { .. } => Self::Write(format!("cannot write {error}")),
            Error::Store { fault: StoreFault::Setting | StoreFault::Bucket, .. } => {
                Self::Invalid(error.to_string())
            }
            Error::Store { .. } => Self::Write(format!("cannot write {error}")),
            Error::Row { .. } => Self::Invalid(error.to_string()),
        }
    }
}
