use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::{Contents, Directory, Guard, Output};
#[cfg(feature = "mmap")]
use crate::tables::buffer::Buffer;
#[cfg(feature = "mmap")]
use std::sync::Arc;

/// A folder on disk.
#[derive(Clone, Debug)]
pub struct FsDirectory {
    path: PathBuf,
}

impl FsDirectory {
    /// Opens the folder and creates it if it is missing.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref().to_owned();
        let fresh: Vec<&Path> = path.ancestors().take_while(|folder| !folder.exists()).collect();
        fs::create_dir_all(&path)?;
        // A folder's name is durable once its parent is synced.
        for parent in fresh.iter().filter_map(|folder| folder.parent()).filter(|_| cfg!(unix)) {
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            File::open(parent)?.sync_all()?;
        }
        Ok(Self { path })
    }
}

impl Directory for FsDirectory {
    fn path(&self) -> &Path {
        &self.path
    }

    fn lock(&self) -> io::Result<Option<Guard>> {
        let path = self.path.join("LOCK");
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Guard::new(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                names.extend(entry.file_name().into_string());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn Output>> {
        let path = self.path.join(name);
        // Removes a link of this name instead of writing through it.
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        Ok(Box::new(FsOutput(OpenOptions::new().write(true).create_new(true).open(path)?)))
    }

    fn append(&self, name: &str, length: u64) -> io::Result<Box<dyn Output>> {
        let mut file = OpenOptions::new().write(true).open(self.path.join(name))?;
        if file.metadata()?.len() != length {
            file.set_len(length)?;
            file.sync_all()?;
        }
        file.seek(SeekFrom::Start(length))?;
        Ok(Box::new(FsOutput(file)))
    }

    fn contents(&self, name: &str) -> io::Result<Contents> {
        let path = self.path.join(name);
        #[cfg(feature = "mmap")]
        if name.starts_with("seg-") {
            let file = File::open(path)?;
            // An empty file cannot be mapped.
            if file.metadata()?.len() == 0 {
                return Ok(Vec::new().into());
            }
            let map = super::map::map(&file)?;
            return Ok(Contents(Arc::new(Buffer::File(map))));
        }
        fs::read(path).map(Contents::from)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn sync(&self) -> io::Result<()> {
        // Windows cannot open a folder as a file, and its journaled metadata needs no such sync.
        if cfg!(unix) { File::open(&self.path)?.sync_all() } else { Ok(()) }
    }
}

#[derive(Debug)]
struct FsOutput(File);

impl Output for FsOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }
}
