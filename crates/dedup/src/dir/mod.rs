//! The seam between a store and the disk: one folder of flat files.
//!
//! Tests put a recording or a failing folder here, to stop a store at every single operation.

mod fs;
#[cfg(feature = "mmap")]
mod map;
mod memory;

use std::fmt;
use std::io;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

pub use self::fs::FsDirectory;
pub use self::memory::MemDirectory;
use crate::tables::buffer::Buffer;

/// One folder of flat files.
///
/// What was written is durable after [`Output::sync`]; that a file exists, is renamed or removed is
/// durable after [`Directory::sync`]. To be read it need not be durable: what [`Output::write`] took is in
/// [`contents`](Self::contents) at once, also while more is written.
pub trait Directory: Send + Sync + fmt::Debug {
    /// What errors call the folder.
    fn path(&self) -> &Path;

    /// Takes the folder for this process, until the guard is dropped; `None` if another has it.
    ///
    /// # Errors
    /// Those of the file system.
    fn lock(&self) -> io::Result<Option<Guard>>;

    /// Whether what is written stays. A store in a folder that forgets it is there to be asked: what would
    /// only make its next open faster is left out.
    fn keeps(&self) -> bool {
        true
    }

    /// The names of all files.
    ///
    /// # Errors
    /// Those of the file system.
    fn list(&self) -> io::Result<Vec<String>>;

    /// A new, empty file, in place of one of that name.
    ///
    /// # Errors
    /// Those of the file system.
    fn create(&self, name: &str) -> io::Result<Box<dyn Output>>;

    /// An existing file, cut to `length` bytes, to be written from there on.
    ///
    /// # Errors
    /// Those of the file system.
    fn append(&self, name: &str, length: u64) -> io::Result<Box<dyn Output>>;

    /// The bytes of a file, mapped where that is possible. They stay readable as they are when the file is
    /// written on, renamed, replaced or removed.
    ///
    /// # Errors
    /// Those of the file system; [`io::ErrorKind::NotFound`] if there is none.
    fn contents(&self, name: &str) -> io::Result<Contents>;

    /// Renames a file, over one of the new name.
    ///
    /// # Errors
    /// Those of the file system.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// Those of the file system.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Makes creations, renames and removals durable.
    ///
    /// # Errors
    /// Those of the file system.
    fn sync(&self) -> io::Result<()>;
}

/// A file that is being written.
pub trait Output: Send + fmt::Debug {
    /// Appends.
    ///
    /// # Errors
    /// Those of the file system; what reached the file is then unknown.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Makes what was written durable.
    ///
    /// # Errors
    /// Those of the file system; never to be tried again, for the pages may be gone.
    fn sync(&mut self) -> io::Result<()>;
}

/// Holds a folder until it is dropped.
pub struct Guard(Box<dyn Send + Sync>);

impl Guard {
    /// Holds the folder as long as `held` lives.
    pub fn new(held: impl Send + Sync + 'static) -> Self {
        Self(Box::new(held))
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let _ = &self.0;
        f.write_str("Guard")
    }
}

/// The bytes of a file.
#[derive(Debug)]
pub struct Contents(pub(crate) Arc<Buffer>);

impl From<Vec<u8>> for Contents {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Arc::new(Buffer::Heap(bytes)))
    }
}

impl Deref for Contents {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}
