//! Files that are gone once nobody needs them.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// A file of its own name in a folder, removed at the end.
#[derive(Debug)]
pub(super) struct Temporary {
    pub(super) path: PathBuf,
    pub(super) file: File,
}

impl Temporary {
    pub(super) fn create(folder: &Path) -> Result<Self> {
        for number in 0..1000 {
            let path = folder.join(format!("hapax-spool-{}-{number}", std::process::id()));
            match File::options().read(true).write(true).create_new(true).open(&path) {
                Ok(file) => return Ok(Self { path, file }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(Error::Io { path, source }),
            }
        }
        Err(Error::Io { path: folder.to_owned(), source: io::ErrorKind::AlreadyExists.into() })
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
