//! The location of an input, and how it is opened.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use hapax_data::files::Root;
use hapax_fetch::Limits;

use super::record::{ReadSeek, Records};

/// A file, and how it is opened.
#[derive(Clone, Debug)]
pub enum Place {
    /// A person named it: symbolic links are followed.
    Named(PathBuf),
    /// It was found in a folder.
    Below {
        /// The folder.
        root: Arc<Root>,
        /// The path below it.
        relative: PathBuf,
        /// The path to display.
        path: PathBuf,
    },
}

impl Place {
    /// Returns the path to display.
    pub fn path(&self) -> &Path {
        match self {
            Self::Named(path) | Self::Below { path, .. } => path,
        }
    }

    /// Opens the file.
    ///
    /// # Errors
    /// An error of the file system.
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

/// The location of an archive, for reading it again.
#[derive(Clone, Debug)]
pub enum Source {
    /// A file.
    File(Place),
    /// The bytes of a pipe, which cannot be read twice.
    Piped(Bytes),
}

impl Source {
    /// Returns its records from the start. If a body exceeds the limits, its record has only the head.
    ///
    /// # Errors
    /// An error of the file.
    pub fn records(&self, limits: &Limits) -> io::Result<Records> {
        let input: Box<dyn ReadSeek> = match self {
            Self::File(place) => Box::new(place.open()?),
            Self::Piped(bytes) => Box::new(io::Cursor::new(bytes.clone())),
        };
        Records::open(input, limits)
    }
}
