//! Locks of folders that an export writes to.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

/// Locks out other exports to a folder until the lock is dropped. Returns `None` where folders cannot be locked.
///
/// # Errors
/// [`io::ErrorKind::ResourceBusy`] if another process has locked it.
pub fn lock_folder(folder: &Path) -> io::Result<Option<File>> {
    let Ok(folder) = File::open(folder) else { return Ok(None) };
    match folder.try_lock() {
        Ok(()) => Ok(Some(folder)),
        Err(TryLockError::WouldBlock) => {
            let why = "another export writes to this folder: wait until it has ended, or name another folder";
            Err(io::Error::new(io::ErrorKind::ResourceBusy, why))
        }
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_locked_until_the_lock_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let lock = lock_folder(folder.path()).unwrap().unwrap();
        let busy = lock_folder(folder.path()).unwrap_err();
        assert_eq!(busy.kind(), io::ErrorKind::ResourceBusy);
        drop(lock);
        assert!(lock_folder(folder.path()).unwrap().is_some());
        assert!(lock_folder(&folder.path().join("missing")).unwrap().is_none());
    }
}
