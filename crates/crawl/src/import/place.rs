//! The location of an input, and how it may be opened.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use hapax_data::files::Root;
use hapax_fetch::Limits;

use super::record::{ReadSeek, Records};

/// A file, and how it may be opened.
#[derive(Clone, Debug)]
pub enum Place {
    /// A person named it: a link to it is followed.
    Named(PathBuf),
    /// It was found in a folder, as which path below it.
    Below {
        /// The folder.
        root: Arc<Root>,
        /// The path below it.
        relative: PathBuf,
        /// The path as it is shown.
        path: PathBuf,
    },
}

impl Place {
    /// The path as it is shown.
    pub fn path(&self) -> &Path {
        match self {
            Self::Named(path) | Self::Below { path, .. } => path,
        }
    }

    /// Opens the file.
    ///
    /// # Errors
    /// From the file system.
    pub fn open(&self) -> io::Result<File> {
        match self {
            Self::Named(path) => File::open(path),
            Self::Below { root, relative, .. } => root.file(relative),
        }
    }

    /// Returns whether it can be read a second time.
    pub fn is_file(&self) -> bool {
        match self {
            Self::Named(path) => path.is_file(),
            Self::Below { .. } => true,
        }
    }
}

/// Where an archive lies, so that it can be read again.
#[derive(Clone, Debug)]
pub enum Source {
    /// A file.
    File(Place),
    /// Of a pipe nothing can be read twice.
    Piped(Bytes),
}

impl Source {
    /// Its records from the first one on; of those with a body beyond the limits the head alone.
    ///
    /// # Errors
    /// From the file.
    pub fn records(&self, limits: &Limits) -> io::Result<Records> {
        let input: Box<dyn ReadSeek> = match self {
            Self::File(place) => Box::new(place.open()?),
            Self::Piped(bytes) => Box::new(io::Cursor::new(bytes.clone())),
        };
        Records::open(input, limits)
    }
}
