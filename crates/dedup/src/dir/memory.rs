use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::{Contents, Directory, Guard, Output};
use crate::tables::buffer::Buffer;

/// A folder in memory, for temporary stores. A clone shares the same files.
#[derive(Clone, Debug, Default)]
pub struct MemDirectory {
    files: Arc<Mutex<BTreeMap<String, Arc<Mutex<MemFile>>>>>,
    /// Alive while a guard locks the folder.
    holder: Arc<Mutex<Weak<()>>>,
}

#[derive(Debug)]
enum MemFile {
    Written(Vec<u8>),
    /// The file was read; readers share it.
    Shared(Arc<Buffer>),
}

impl Default for MemFile {
    fn default() -> Self {
        Self::Written(Vec::new())
    }
}

impl MemFile {
    fn edit(&mut self, change: impl FnOnce(&mut Vec<u8>)) {
        match self {
            Self::Written(bytes) => change(bytes),
            Self::Shared(buffer) => {
                let mut bytes = buffer.to_vec();
                change(&mut bytes);
                *self = Self::Written(bytes);
            }
        }
    }

    fn shared(&mut self) -> Arc<Buffer> {
        if let Self::Written(bytes) = self {
            // Uses huge pages where they help: look-ups read segments like any tables.
            let mut buffer = Buffer::zeroed(bytes.len());
            buffer.as_mut().copy_from_slice(bytes);
            *self = Self::Shared(Arc::new(buffer));
        }
        match self {
            Self::Shared(buffer) => Arc::clone(buffer),
            Self::Written(_) => Arc::new(Buffer::Heap(Vec::new())),
        }
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic elsewhere cannot leave a partial append.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MemDirectory {
    /// Creates an empty folder.
    pub fn new() -> Self {
        Self::default()
    }

    fn file(&self, name: &str) -> io::Result<Arc<Mutex<MemFile>>> {
        held(&self.files).get(name).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Directory for MemDirectory {
    fn path(&self) -> &Path {
        Path::new("memory")
    }

    fn lock(&self) -> io::Result<Option<Guard>> {
        let mut holder = held(&self.holder);
        if holder.strong_count() > 0 {
            return Ok(None);
        }
        let guard = Arc::new(());
        *holder = Arc::downgrade(&guard);
        Ok(Some(Guard::new(guard)))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(held(&self.files).keys().cloned().collect())
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn Output>> {
        let file = Arc::<Mutex<MemFile>>::default();
        held(&self.files).insert(name.to_owned(), Arc::clone(&file));
        Ok(Box::new(MemOutput(file)))
    }

    fn append(&self, name: &str, length: u64) -> io::Result<Box<dyn Output>> {
        let file = self.file(name)?;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        held(&file).edit(|bytes| bytes.truncate(length));
        Ok(Box::new(MemOutput(file)))
    }

    fn contents(&self, name: &str) -> io::Result<Contents> {
        let file = self.file(name)?;
        let shared = held(&file).shared();
        Ok(Contents(shared))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut files = held(&self.files);
        let file = files.remove(from).ok_or(io::ErrorKind::NotFound)?;
        files.insert(to.to_owned(), file);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        held(&self.files).remove(name).map(drop).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug)]
struct MemOutput(Arc<Mutex<MemFile>>);

impl Output for MemOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        held(&self.0).edit(|written| written.extend_from_slice(bytes));
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}
