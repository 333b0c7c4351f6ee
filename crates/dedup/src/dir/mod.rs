//! The interface between a store and the disk: one folder of flat files.
//!
//! Tests implement it with a recording or failing folder, to stop a store at every single operation.

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
/// Written bytes are durable after [`Output::sync`]; created, renamed and removed names are durable after
/// [`Directory::sync`]. [`contents`](Self::contents) returns written bytes at once, durable or not.
pub trait Directory: Send + Sync + fmt::Debug {
    /// Returns the folder's path for error messages.
    fn path(&self) -> &Path;

    /// Locks the folder for this process until the guard is dropped. Returns `None` if it is already locked.
    ///
    /// # Errors
    /// Those of the file system.
    fn lock(&self) -> io::Result<Option<Guard>>;

    /// Returns whether files outlive the store. If not, the store skips work that only speeds up the next open.
    fn keeps(&self) -> bool {
        true
    }

    /// Returns the names of all files.
    ///
    /// # Errors
    /// Those of the file system.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Creates an empty file and replaces an existing one.
    ///
    /// # Errors
    /// Those of the file system.
    fn create(&self, name: &str) -> io::Result<Box<dyn Output>>;

    /// Truncates an existing file to `length` bytes and opens it for appending.
    ///
    /// # Errors
    /// Those of the file system.
    fn append(&self, name: &str, length: u64) -> io::Result<Box<dyn Output>>;

    /// Returns the bytes of a file, mapped if possible. They stay readable and unchanged when the file is appended
    /// to, renamed, replaced or removed.
    ///
    /// # Errors
    /// Those of the file system; [`io::ErrorKind::NotFound`] if the file does not exist.
    fn contents(&self, name: &str) -> io::Result<Contents>;

    /// Renames a file and replaces a file of the new name.
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
    /// Appends bytes.
    ///
    /// # Errors
    /// Those of the file system. After one, the content of the file is unknown.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Makes the written bytes durable.
    ///
    /// # Errors
    /// Those of the file system. Do not retry: the system may have dropped the dirty pages.
    fn sync(&mut self) -> io::Result<()>;
}

/// Locks a folder until it is dropped.
pub struct Guard(Box<dyn Send + Sync>);

impl Guard {
    /// Locks the folder while `held` lives.
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
