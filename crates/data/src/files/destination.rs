use std::io::{self, StdoutLock, Write};
use std::path::{Path, PathBuf};

use super::output::NewFile;
use crate::error::{Error, Result, unwritable};

/// An output, which appears when it is finished if it has a name. Errors of [`Write`] contain an [`Error`].
pub trait Destination: Write {
    /// Completes the output.
    ///
    /// # Errors
    /// If it cannot be written.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// A file that a person named.
#[derive(Debug)]
pub struct NamedFile {
    file: NewFile,
    path: PathBuf,
}

impl NamedFile {
    /// Opens it as [`NewFile::create`] does.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn create(path: &Path) -> Result<Self> {
        let file = NewFile::create(path).map_err(|error| unwritable(path, &error))?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// Returns whether it is a terminal.
    pub fn is_terminal(&self) -> bool {
        self.file.is_terminal()
    }

    /// Adds the path to an error and preserves its kind.
    fn named(&self, error: &io::Error) -> io::Error {
        io::Error::new(error.kind(), unwritable(&self.path, error))
    }
}

impl Write for NamedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).map_err(|error| self.named(&error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().map_err(|error| self.named(&error))
    }
}

impl Destination for NamedFile {
    fn finish(self: Box<Self>) -> Result<()> {
        let Self { file, path } = *self;
        file.finish().map_err(|error| unwritable(&path, &error))
    }
}

impl Destination for StdoutLock<'_> {
    fn finish(mut self: Box<Self>) -> Result<()> {
        self.flush().map_err(Error::Os)
    }
}
