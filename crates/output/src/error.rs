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
        /// The part.
        path: PathBuf,
        /// The cause.
        source: parquet::errors::ParquetError,
    },
}

impl Error {
    /// Returns a function that adds a path to an I/O error.
    pub(crate) fn at(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Write { path: path.to_owned(), source }
    }

    /// Returns a function that adds a path to an error of the encoder. An I/O error in it is taken out.
    pub(crate) fn of_part(path: &Path) -> impl FnOnce(parquet::errors::ParquetError) -> Self {
        use parquet::errors::ParquetError;
        move |source| match source {
            ParquetError::External(error) => match error.downcast::<std::io::Error>() {
                Ok(error) => Self::Write { path: path.to_owned(), source: *error },
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
            Error::Row { .. } => Self::Invalid(error.to_string()),
        }
    }
}
