//! Where the parts of a table are written.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hapax_data::files::NewFile;

use crate::error::{Error, Result};
use crate::folder::Folder;
use crate::store::{self, Prefix, Upload};

/// A folder, or a prefix of a bucket of an object store.
#[derive(Clone, Debug)]
pub struct Target(Place);

#[derive(Clone, Debug)]
enum Place {
    Folder(Folder),
    Store(Prefix),
}

impl Target {
    /// Returns the prefix of `s3://BUCKET/PREFIX`, and a folder for any other path. Credentials, region and endpoint
    /// come from the variables `AWS_*` of the environment. Makes no request. When `stop` becomes true, the next write to
    /// a store fails, and what was sent of the part is removed.
    ///
    /// # Errors
    /// If the address or a variable is not valid, or credentials are missing.
    pub fn of_path(path: &Path, stop: Arc<AtomicBool>) -> Result<Self> {
        Ok(match store::address(path) {
            Some(address) => Self(Place::Store(store::prefix(address, stop)?)),
            None => path.into(),
        })
    }

    /// Returns whether an interrupted upload leaves something in the store, although it has no name there.
    pub(crate) const fn has_uploads(&self) -> bool {
        matches!(self.0, Place::Store(_))
    }

    /// Returns the path or URL of a file, for messages.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        match &self.0 {
            Place::Folder(folder) => folder.path(name),
            Place::Store(prefix) => prefix.url(name).into(),
        }
    }

    pub(crate) fn create(&self) -> Result<()> {
        match &self.0 {
            Place::Folder(folder) => folder.create(),
            Place::Store(_) => Ok(()),
        }
    }

    /// Locks out other exports to the same folder. A store cannot be locked.
    pub(crate) fn lock(&self) -> Result<Option<fs::File>> {
        match &self.0 {
            Place::Folder(folder) => folder.lock(),
            Place::Store(_) => Ok(None),
        }
    }

    /// Returns the files whose names begin so, with the bytes of regular ones. A folder may return more.
    pub(crate) fn list(&self, begin: &str) -> Result<Vec<(String, Option<u64>)>> {
        match &self.0 {
            Place::Folder(folder) => folder.list(),
            Place::Store(prefix) => {
                let found = prefix.list(begin)?.into_iter();
                Ok(found.map(|(name, bytes)| (name, Some(bytes))).collect())
            }
        }
    }

    /// Returns the content of a file, or `None` if the file does not exist.
    pub(crate) fn read(&self, name: &str, most: u64) -> Result<Option<Vec<u8>>> {
        match &self.0 {
            Place::Folder(folder) => Ok(folder.read(name, most)),
            Place::Store(prefix) => prefix.read(name, most),
        }
    }

    /// Fails if another program wrote an object of a store with this name. Returns whether it is there.
    pub(crate) fn claim(&self, name: &str) -> Result<bool> {
        match &self.0 {
            Place::Folder(folder) => Ok(folder.path(name).exists()),
            Place::Store(prefix) => prefix.claim(name),
        }
    }

    /// Replaces a small file atomically and durably.
    pub(crate) fn write(&self, name: &str, content: Vec<u8>) -> Result<()> {
        match &self.0 {
            Place::Folder(folder) => folder.write(name, &content),
            Place::Store(prefix) => prefix.write(name, content),
        }
    }

    pub(crate) fn remove(&self, name: &str) -> Result<()> {
        match &self.0 {
            Place::Folder(folder) => folder.remove(name),
            Place::Store(prefix) => prefix.remove(name),
        }
    }

    /// Removes what an interrupted upload sent.
    pub(crate) fn abort(&self, name: &str, id: &str) -> Result<()> {
        match &self.0 {
            Place::Folder(_) => Ok(()),
            Place::Store(prefix) => prefix.abort(name, id),
        }
    }

    /// Begins a file, which appears when it is [finished](Self::finish).
    pub(crate) fn begin(&self, name: &str) -> Result<NewPart> {
        Ok(match &self.0 {
            Place::Folder(folder) => NewPart::File(folder.begin(name)?),
            Place::Store(prefix) => NewPart::Upload(prefix.upload(name)?),
        })
    }

    /// Makes a file durable under its name. Returns its bytes.
    pub(crate) fn finish(&self, part: NewPart, name: &str) -> Result<u64> {
        match (part, &self.0) {
            (NewPart::Upload(upload), _) => upload.finish(),
            (NewPart::File(file), Place::Folder(folder)) => {
                let path = folder.path(name);
                folder.finish(file, &path)?;
                Ok(fs::metadata(&path).map_err(Error::at(&path))?.len())
            }
            (NewPart::File(_), Place::Store(_)) => Ok(0),
        }
    }
}

impl From<&Path> for Target {
    fn from(folder: &Path) -> Self {
        Self(Place::Folder(Folder(folder.to_owned())))
    }
}

impl From<&PathBuf> for Target {
    fn from(folder: &PathBuf) -> Self {
        folder.as_path().into()
    }
}

impl From<Prefix> for Target {
    fn from(prefix: Prefix) -> Self {
        Self(Place::Store(prefix))
    }
}

/// A part that is being written.
#[derive(Debug)]
pub(crate) enum NewPart {
    File(NewFile),
    Upload(Upload),
}

impl NewPart {
    /// Returns the store's name of the unfinished upload.
    pub(crate) fn upload_id(&self) -> Option<&str> {
        match self {
            Self::File(_) => None,
            Self::Upload(upload) => Some(upload.id()),
        }
    }
}

impl Write for NewPart {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Upload(upload) => upload.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Upload(upload) => upload.flush(),
        }
    }
}
