use std::io::{self, BufWriter, StdoutLock, Write};
use std::path::{Path, PathBuf};

use super::output::NewFile;
use crate::error::{Error, Result, unwritable};

/// Bytes in memory before they are written.
const BUFFER: usize = 64 << 10;

/// An output, which appears when it is finished if it has a name. Errors of [`Write`] contain an [`Error`].
pub trait Destination: Write {
    /// Returns the number of pages that an interrupted export had read before the first byte that this output misses.
    /// The caller writes as if it had just read them, and no heading if it is not 0.
    fn read_before(&self) -> u64 {
        0
    }

    /// Says that the next bytes are those of a page before which `read` pages were read: an export can be continued here.
    ///
    /// # Errors
    /// If what was written so far cannot be made durable.
    fn begin_row(&mut self, read: u64) -> Result<()> {
        let _ = read;
        Ok(())
    }

    /// Completes the output.
    ///
    /// # Errors
    /// If it cannot be written.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// A file that a person named.
#[derive(Debug)]
pub struct NamedFile {
    file: BufWriter<NewFile>,
    path: PathBuf,
}

impl NamedFile {
    /// Opens it as [`NewFile::create`] does.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn create(path: &Path) -> Result<Self> {
        let file = NewFile::create(path).map_err(|error| unwritable(path, &error))?;
        Ok(Self { file: BufWriter::with_capacity(BUFFER, file), path: path.to_owned() })
    }

    /// Returns whether it is a terminal.
    pub fn is_terminal(&self) -> bool {
        self.file.get_ref().is_terminal()
    }
}

/// Adds the path to an error and preserves its kind.
pub(super) fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), unwritable(path, error))
}

impl Write for NamedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).map_err(|error| named(&self.path, &error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().map_err(|error| named(&self.path, &error))
    }
}

impl Destination for NamedFile {
    fn finish(self: Box<Self>) -> Result<()> {
        let Self { file, path } = *self;
        let file = file.into_inner().map_err(|error| unwritable(&path, error.error()))?;
        file.finish().map_err(|error| unwritable(&path, &error))
    }
}

/// Standard output.
impl Destination for BufWriter<StdoutLock<'_>> {
    fn finish(mut self: Box<Self>) -> Result<()> {
        self.flush().map_err(Error::Os)
    }
}
