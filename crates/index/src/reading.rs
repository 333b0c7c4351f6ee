//! Read access without write permission: on a read-only file system or as another user. tantivy's reader takes a
//! lock, for which it opens a file for writing.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::Directory;
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{DirectoryLock, FileHandle, Lock, WatchCallback, WatchHandle, WritePtr};

/// A directory whose lock needs no write permission.
#[derive(Clone, Debug)]
pub(crate) struct Reading<D> {
    within: D,
    folder: PathBuf,
}

impl<D: Directory + Clone> Reading<D> {
    pub(crate) fn new(within: D, folder: &Path) -> Self {
        Self { within, folder: folder.to_owned() }
    }

    /// Takes a shared lock, which a writer respects. Without the file, as in a copy, no writer can be active.
    fn lock_as_it_lies(&self, lock: &Lock) -> DirectoryLock {
        let file = File::open(self.folder.join(&lock.filepath)).ok();
        DirectoryLock::from(Box::new(file.filter(|file| file.lock_shared().is_ok())))
    }
}

impl<D: Directory + Clone> Directory for Reading<D> {
    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        match self.within.acquire_lock(lock) {
            Err(LockError::IoError(error)) if is_refusal(&error) => Ok(self.lock_as_it_lies(lock)),
            other => other,
        }
    }

    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.within.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.within.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.within.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        self.within.open_write(path)
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.within.atomic_read(path)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        self.within.atomic_write(path, data)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.within.sync_directory()
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.within.watch(callback)
    }
}

fn is_refusal(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    use tantivy::directory::{META_LOCK, MmapDirectory};

    use crate::few_words::jieba;
    use crate::{Error, Index, Page, Searcher};

    /// A folder that refuses writes, also for root.
    #[derive(Clone, Debug)]
    struct Refusing(MmapDirectory, io::ErrorKind);

    impl Directory for Refusing {
        fn acquire_lock(&self, _: &Lock) -> Result<DirectoryLock, LockError> {
            Err(LockError::IoError(Arc::new(self.1.into())))
        }

        fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
            self.0.get_file_handle(path)
        }

        fn delete(&self, path: &Path) -> Result<(), DeleteError> {
            panic!("{} is removed", path.display());
        }

        fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
            self.0.exists(path)
        }

        fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
            panic!("{} is written", path.display());
        }

        fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
            self.0.atomic_read(path)
        }

        fn atomic_write(&self, path: &Path, _: &[u8]) -> io::Result<()> {
            panic!("{} is written", path.display());
        }

        fn sync_directory(&self) -> io::Result<()> {
            panic!("it is synced");
        }

        fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
            self.0.watch(callback)
        }
    }

    fn index() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let mut index = Index::open(folder.path(), jieba).unwrap();
        index
            .add(&Page {
                id: 7,
                url: "http://a.example/",
                title: "Rivers",
                text: "The river rose.",
                language: "en",
                fetched: "",
                stored_at: "",
                bytes: 1,
                canonical: false,
                meta: "",
                ..Page::default()
            })
            .unwrap();
        index.commit().unwrap();
        index.close().unwrap();
        folder
    }

    fn search(folder: &Path, kind: io::ErrorKind) -> crate::Result<Vec<u64>> {
        let refusing = Refusing(MmapDirectory::open(folder).unwrap(), kind);
        let searcher = Searcher::read(Reading::new(refusing, folder), folder, jieba)?;
        assert!(searcher.page(7)?.is_some());
        Ok(searcher.search("river", 9)?.0.into_iter().map(|hit| hit.id).collect())
    }

    #[test]
    fn a_search_works_without_write_permission_and_reports_other_errors() {
        use io::ErrorKind::{Other, PermissionDenied, ReadOnlyFilesystem};
        let folder = index();
        for kind in [PermissionDenied, ReadOnlyFilesystem] {
            assert_eq!(search(folder.path(), kind).unwrap(), [7]);
        }
        assert!(matches!(search(folder.path(), Other), Err(Error::Io { .. })));
        // A copy may lack the lock file.
        std::fs::remove_file(folder.path().join(&META_LOCK.filepath)).unwrap();
        assert_eq!(search(folder.path(), PermissionDenied).unwrap(), [7]);
        assert!(!folder.path().join(&META_LOCK.filepath).exists());
    }

    #[test]
    fn a_search_without_write_permission_waits_for_a_writer_that_removes_files() {
        let folder = index();
        let held = File::open(folder.path().join(&META_LOCK.filepath)).unwrap();
        held.lock().unwrap();
        let path = folder.path().to_owned();
        let reader = std::thread::spawn(move || search(&path, io::ErrorKind::PermissionDenied));
        std::thread::sleep(Duration::from_millis(300));
        assert!(!reader.is_finished());
        held.unlock().unwrap();
        assert_eq!(reader.join().unwrap().unwrap(), [7]);
    }
}
