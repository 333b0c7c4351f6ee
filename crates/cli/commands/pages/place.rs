//! The location of an input, and how it may be opened.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use hapax_crawl::import::{ReadSeek, Records};
use hapax_data::files::Root;
use hapax_fetch::Limits;

/// A file, and how it may be opened.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// A person named it: a link to it is followed.
    Named(PathBuf),
    /// It was found in a folder, as which path below it.
    Below { root: Arc<Root>, relative: PathBuf, path: PathBuf },
}

impl Place {
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Named(path) | Self::Below { path, .. } => path,
        }
    }

    pub(super) fn open(&self) -> io::Result<File> {
        match self {
            Self::Named(path) => File::open(path),
            Self::Below { root, relative, .. } => root.file(relative),
        }
    }

    /// Whether it can be read a second time.
    pub(super) fn is_file(&self) -> bool {
        match self {
            Self::Named(path) => path.is_file(),
            Self::Below { .. } => true,
        }
    }
}

/// Where an archive lies, so that it can be read again.
#[derive(Clone, Debug)]
pub(super) enum Source {
    File(Place),
    /// Of a pipe nothing can be read twice.
    Piped(Bytes),
}

impl Source {
    /// Its records from the first one on; of those with a body beyond the limits the head alone.
    pub(super) fn records(&self, limits: &Limits) -> io::Result<Records> {
        let input: Box<dyn ReadSeek> = match self {
            Self::File(place) => Box::new(place.open()?),
            Self::Piped(bytes) => Box::new(io::Cursor::new(bytes.clone())),
        };
        Records::open(input, limits)
    }
}
