//! The tables of a data directory, read without a trace: also while a crawl is at work on them.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hapax_dedup::{
    Contents, Directory, Error, FsDirectory, Guard, MemDirectory, Options, Output, Policy, Store,
};

use crate::error::Result;

/// So often, and so long in between, a store is opened that somebody changes meanwhile.
const TRIES: u32 = 5;
const WAIT: Duration = Duration::from_millis(20);

/// The file without which there is no store.
const MANIFEST: &str = "MANIFEST";
/// The file that a writer locks.
const LOCK: &str = "LOCK";

/// Begins the key of a page that another worker keeps, before its URL: the evidence is at hand here, and the
/// URL itself stays unknown.
pub const ELSEWHERE: &str = "elsewhere ";

/// The URL of a key of the store.
pub fn url_of_key(key: &str) -> &str {
    key.strip_prefix(ELSEWHERE).unwrap_or(key)
}

/// A folder as it lies on disk; what is written goes nowhere.
#[derive(Debug)]
struct ReadOnly {
    disk: FsDirectory,
    /// What the store writes when it is opened.
    own: MemDirectory,
    /// Whether nobody else may write meanwhile.
    locks: bool,
}

/// Takes everything, and keeps nothing.
#[derive(Debug)]
struct Nowhere;

impl Output for Nowhere {
    fn write(&mut self, _: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Directory for ReadOnly {
    fn path(&self) -> &Path {
        self.disk.path()
    }

    fn lock(&self) -> io::Result<Option<Guard>> {
        if !self.locks {
            return Ok(Some(Guard::new(())));
        }
        let file = match File::open(self.path().join(LOCK)) {
            // As in a copy: nobody holds it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Some(Guard::new(())));
            }
            file => file?,
        };
        // An exclusive lock needs the right to write on some file systems; a writer holds an exclusive one.
        match file.try_lock_shared() {
            Ok(()) => Ok(Some(Guard::new(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn keeps(&self) -> bool {
        false
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.disk.list()
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn Output>> {
        self.own.create(name)
    }

    fn append(&self, _: &str, _: u64) -> io::Result<Box<dyn Output>> {
        Ok(Box::new(Nowhere))
    }

    fn contents(&self, name: &str) -> io::Result<Contents> {
        match self.own.contents(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.disk.contents(name),
            contents => contents,
        }
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.own.rename(from, to)
    }

    fn remove(&self, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

/// The store of a data directory as of its last commit, and the name of the recipe that made it; `None`
/// where there is none.
pub fn read_only(data: &Path, policy: Policy, recipe: &str) -> Result<Option<(Store, String)>> {
    let folder = data.join("dedup");
    let mut tries = TRIES;
    let mut recipe = recipe.to_owned();
    while folder.join(MANIFEST).exists() {
        match open(&folder, policy, &recipe, false) {
            Ok(store) => return Ok(Some((store, recipe))),
            // Its own recipe is the only one by which it can be asked.
            Err(Error::Recipe { stored, .. }) if stored != recipe => recipe = stored,
            // A crawl at work has merged files away that were named a moment ago.
            Err(Error::Corrupt { .. } | Error::Io { .. }) if tries > 0 => {
                tries -= 1;
                std::thread::sleep(WAIT);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}

/// The store in `folder`, whatever recipe made it, while nobody writes to it.
///
/// # Errors
/// [`Error::Io`] of kind `NotFound` where there is none, [`Error::Locked`] while another process writes to it.
pub fn locked(folder: &Path, recipe: &str) -> hapax_dedup::Result<Store> {
    let path = folder.join(MANIFEST);
    if !path.exists() {
        return Err(Error::Io { path, source: io::ErrorKind::NotFound.into() });
    }
    match open(folder, Policy::default(), recipe, true) {
        Err(Error::Recipe { stored, .. }) => open(folder, Policy::default(), &stored, true),
        store => store,
    }
}

fn open(folder: &Path, policy: Policy, recipe: &str, locks: bool) -> hapax_dedup::Result<Store> {
    let wrong = |source| Error::Io { path: folder.to_owned(), source };
    let disk = FsDirectory::create(folder).map_err(wrong)?;
    let folder = ReadOnly { disk, own: MemDirectory::new(), locks };
    let options = Options {
        policy,
        recipe: recipe.to_owned(),
        resident_bytes: 0,
        strong_digests: true,
        ..Options::default()
    };
    Store::open_in(Arc::new(folder), options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hapax_dedup::{Document, Fingerprint};

    #[test]
    fn tables_are_read_while_another_holds_and_changes_them() {
        let data = tempfile::tempdir().unwrap();
        assert!(read_only(data.path(), Policy::default(), "a").unwrap().is_none());
        assert!(!data.path().join("dedup").exists());
        let options = Options { recipe: "b".into(), memtable_documents: 64, ..Options::default() };
        let store = Store::open(data.path().join("dedup"), options).unwrap();
        let insert = |number: u64| {
            let key = number.to_string();
            let bits = Fingerprint::from_bits(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            store
                .insert(&Document { tokens: 9, ..Document::new(key.as_bytes(), bits) }, None)
                .unwrap();
        };
        for number in 0..1000 {
            insert(number);
            if number % 50 == 49 {
                store.commit(b"").unwrap();
                let (read, recipe) =
                    read_only(data.path(), Policy::default(), "a").unwrap().unwrap();
                assert_eq!((read.len(), recipe.as_str()), (number + 1, "b"));
                assert!(read.id_of(number.to_string().as_bytes()).unwrap().is_some());
            }
        }
        // What is not committed yet is not seen; and nothing was lost to who holds it.
        insert(1000);
        let (read, _) = read_only(data.path(), Policy::default(), "b").unwrap().unwrap();
        assert_eq!(read.len(), 1000);
        drop(read);
        store.commit(b"").unwrap();
        store.check().unwrap();
        assert_eq!(store.len(), 1001);
    }
}
