//! The parts of a table in a folder.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use hapax_data::files::NewFile;

use crate::error::{Error, Result};

#[derive(Clone, Debug)]
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn create(&self) -> Result<()> {
        fs::create_dir_all(&self.0).map_err(Error::at(&self.0))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Returns names of all entries, with the bytes of regular files.
    pub(crate) fn list(&self) -> Result<Vec<(String, Option<u64>)>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.0).map_err(Error::at(&self.0))? {
            let entry = entry.map_err(Error::at(&self.0))?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let meta = entry.path().symlink_metadata().ok().filter(fs::Metadata::is_file);
            found.push((name, meta.map(|meta| meta.len())));
        }
        Ok(found)
    }

    /// Returns at most `most` bytes of a file, or `None` if it cannot be read.
    pub(crate) fn read(&self, name: &str, most: u64) -> Option<Vec<u8>> {
        let mut content = Vec::new();
        let file = fs::File::open(self.path(name)).ok()?;
        file.take(most).read_to_end(&mut content).ok()?;
        Some(content)
    }

    /// Replaces a file atomically and durably.
    pub(crate) fn write(&self, name: &str, content: &[u8]) -> Result<()> {
        let path = self.path(name);
        let mut file = NewFile::replacing(&path).map_err(Error::at(&path))?;
        file.write_all(content).map_err(Error::at(&path))?;
        self.finish(file, &path)
    }

    /// Begins a file, which appears when it is [finished](Self::finish).
    pub(crate) fn begin(&self, name: &str) -> Result<NewFile> {
        let path = self.path(name);
        NewFile::replacing(&path).map_err(Error::at(&path))
    }

    /// Makes a file durable under its name.
    pub(crate) fn finish(&self, file: NewFile, path: &Path) -> Result<()> {
        file.sync().and_then(|()| file.finish()).map_err(Error::at(path))?;
        if cfg!(unix) {
            let sync = fs::File::open(&self.0).and_then(|folder| folder.sync_all());
            sync.map_err(Error::at(&self.0))?;
        }
        Ok(())
    }

    pub(crate) fn remove(&self, name: &str) -> Result<()> {
        let path = self.path(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::at(&path)(error)),
            _ => Ok(()),
        }
    }
}
