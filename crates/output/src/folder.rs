//! The parts of a table in a folder.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use hapax_data::files::{NewFile, is_temporary, lock_folder};

use crate::error::{Error, Result};

/// Temporary files without a write for this time are those of a killed export. Exports in other formats do not lock the
/// folder, and write more often.
const LEFTOVER: Duration = Duration::from_secs(600);

#[derive(Clone, Debug)]
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn create(&self) -> Result<()> {
        fs::create_dir_all(&self.0).map_err(Error::at(&self.0))
    }

    /// Locks out other exports to this folder until the lock is dropped, and removes what a killed one left.
    /// Returns `None` where folders cannot be locked.
    pub(crate) fn lock(&self) -> Result<Option<fs::File>> {
        let Some(folder) = lock_folder(&self.0).map_err(Error::at(&self.0))? else {
            return Ok(None);
        };
        for entry in fs::read_dir(&self.0).into_iter().flatten().flatten() {
            let age = entry.metadata().and_then(|meta| meta.modified()).map(|time| time.elapsed());
            let is_old = age.is_ok_and(|age| age.is_ok_and(|age| age > LEFTOVER));
            if is_old && entry.file_name().to_str().is_some_and(is_temporary) {
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(Some(folder))
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

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::kept::PAGE_COLUMNS;
    use crate::parts::{Limits, Parts};

    #[test]
    fn a_second_export_to_a_folder_is_refused_while_the_first_one_writes() {
        let folder = tempfile::tempdir().unwrap();
        let create = || Parts::create(folder.path(), PAGE_COLUMNS, Limits::default());
        let first = create().unwrap();
        let refused = create().unwrap_err().to_string();
        assert!(refused.contains("another export writes to this folder"), "{refused}");
        first.finish().unwrap();
        assert!(folder.path().join("_SUCCESS").exists());
        create().unwrap();
    }

    #[test]
    fn temporary_files_of_a_killed_export_are_removed_and_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let old = SystemTime::now() - LEFTOVER * 2;
        let names = [".hapax-AAAAAAAAAAAAAAAA.tmp", ".hapax-BBBBBBBBBBBBBBBB.tmp", "notes.tmp"];
        for (name, is_old) in names.into_iter().zip([true, false, true]) {
            let file = fs::File::create(folder.path().join(name)).unwrap();
            if is_old {
                file.set_modified(old).unwrap();
            }
        }
        let parts = Parts::create(folder.path(), PAGE_COLUMNS, Limits::default()).unwrap();
        parts.finish().unwrap();
        let left = names.map(|name| folder.path().join(name).exists());
        assert_eq!(left, [false, true, true]);
    }
}
