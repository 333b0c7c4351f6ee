//! Temporary files.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// A uniquely named file in a folder, removed on drop.
#[derive(Debug)]
pub(super) struct Temporary {
    pub(super) path: PathBuf,
    pub(super) file: File,
    is_named: bool,
}

impl Temporary {
    pub(super) fn create(folder: &Path) -> Result<Self> {
        for number in 0..1000 {
            let path = folder.join(format!("hapax-spool-{}-{number}", std::process::id()));
            match File::options().read(true).write(true).create_new(true).open(&path) {
                Ok(file) => return Ok(Self { path, file, is_named: true }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(Error::Io { path, source }),
            }
        }
        Err(Error::Io { path: folder.to_owned(), source: io::ErrorKind::AlreadyExists.into() })
    }
}

impl Temporary {
    /// Creates a file without a name, where the system allows it, so that even a kill leaves nothing behind.
    pub(super) fn nameless(folder: &Path) -> Result<Self> {
        let mut temporary = Self::create(folder)?;
        // Another process may reuse the name from now on.
        temporary.is_named = !cfg!(unix) || std::fs::remove_file(&temporary.path).is_err();
        Ok(temporary)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if self.is_named {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
