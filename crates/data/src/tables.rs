//! Reads the tables of a data directory without changing anything, even while a crawl writes to them.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hapax_dedup::{
    Contents, Directory, Error, FsDirectory, Guard, MemDirectory, Options, Output, Policy, Store,
};

use crate::error::Result;

/// How often, and at which interval, opening a store is retried while another process changes it.
const TRIES: u32 = 5;
const WAIT: Duration = Duration::from_millis(20);

pub(crate) const MANIFEST: &str = "MANIFEST";
const LOCK: &str = "LOCK";

/// Prefix of the key of a page that another worker keeps. The evidence is stored here, but the URL stays unknown.
pub const ELSEWHERE: &str = "elsewhere ";

/// Prefix of the key of a record that represents a reference (`--against`): pages that were discarded because of this
/// store are its duplicates. No URL begins like this.
const REFERENCE: &str = "\0against ";

/// Returns the URL of a key in the store. The key of a reference returns its path.
pub fn url_of_key(key: &str) -> &str {
    key.strip_prefix(ELSEWHERE).or_else(|| key.strip_prefix(REFERENCE)).unwrap_or(key)
}

/// Returns the key of the record that represents a reference.
pub fn reference_key(store: &str) -> Vec<u8> {
    format!("{REFERENCE}{store}").into_bytes()
}

/// Returns whether a record represents a reference: it is not a page.
pub fn is_reference_key(key: &[u8]) -> bool {
    key.starts_with(REFERENCE.as_bytes())
}

#[derive(Debug)]
struct ReadOnly {
    disk: FsDirectory,
    /// Files that the store writes when it is opened.
    own: MemDirectory,
    /// Whether to lock out writers.
    locks: bool,
}

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
            // A copy may lack the lock file: no process has locked it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Some(Guard::new(())));
            }
            file => file?,
        };
        // An exclusive lock requires write access on some file systems; a writer holds an exclusive one.
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

/// Returns the store of a data directory as of its last commit, and the name of its recipe, if there is a store.
pub fn read_only(data: &Path, policy: Policy, recipe: &str) -> Result<Option<(Store, String)>> {
    Ok(read_folder(&data.join("dedup"), policy, recipe)?)
}

/// Does the same for the folder of a store.
pub(crate) fn read_folder(
    folder: &Path,
    policy: Policy,
    recipe: &str,
) -> hapax_dedup::Result<Option<(Store, String)>> {
    let mut tries = TRIES;
    let mut recipe = recipe.to_owned();
    while folder.join(MANIFEST).exists() {
        match open(folder, policy, &recipe, false) {
            Ok(store) => return Ok(Some((store, recipe))),
            // A store can only be opened with its own recipe.
            Err(Error::Recipe { stored, .. }) if stored != recipe => recipe = stored,
            // A running crawl has just merged files that the manifest named.
            Err(Error::Corrupt { .. } | Error::Io { .. }) if tries > 0 => {
                tries -= 1;
                std::thread::sleep(WAIT);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Returns the store in `folder`, with any recipe, and locks out writers.
///
/// # Errors
/// [`Error::Io`] of kind `NotFound` if there is no store, [`Error::Locked`] while another process writes to it.
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
    use proptest::prelude::*;

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
        // Uncommitted documents are not visible, and the writer loses nothing.
        insert(1000);
        let (read, _) = read_only(data.path(), Policy::default(), "b").unwrap().unwrap();
        assert_eq!(read.len(), 1000);
        drop(read);
        store.commit(b"").unwrap();
        store.check().unwrap();
        assert_eq!(store.len(), 1001);
    }

    #[test]
    fn open_tables_catch_up_with_the_process_that_writes_until_it_begins_a_journal() {
        let data = tempfile::tempdir().unwrap();
        let options =
            || Options { recipe: "a".into(), memtable_documents: 40, ..Options::default() };
        let store = Store::open(data.path().join("dedup"), options()).unwrap();
        let insert = |number: u64| {
            let key = number.to_string();
            let bits = Fingerprint::from_bits(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            store.insert(&Document::new(key.as_bytes(), bits), None).unwrap();
        };
        insert(0);
        store.commit(b"").unwrap();
        let open = || read_only(data.path(), Policy::default(), "a").unwrap().unwrap().0;
        let (mut read, mut opens) = (open(), 0);
        for number in 1..200 {
            insert(number);
            let is_commit = number % 5 == 0;
            if is_commit {
                store.delete(number - 1).unwrap();
                store.commit(format!("{number}").as_bytes()).unwrap();
            }
            // A thread of the writer may end a segment at any moment.
            if !read.catch_up().unwrap_or(false) {
                (read, opens) = (open(), opens + 1);
            }
            assert_eq!(read.record(number).unwrap().is_some(), is_commit, "{number}");
            if is_commit {
                let all = |store: &Store| {
                    (0..=number).map(|id| store.record(id).unwrap()).collect::<Vec<_>>()
                };
                assert!(all(&read) == all(&store), "{number}");
                assert_eq!((read.payload(), read.len()), (store.payload(), store.len()));
            }
        }
        assert!((1..40).contains(&opens), "{opens} of 199 look-ups opened the tables");
        assert!(store.catch_up().unwrap(), "a writer has its own changes");
        // Another store in the same folder.
        drop(store);
        std::fs::remove_dir_all(data.path().join("dedup")).unwrap();
        let store = Store::open(data.path().join("dedup"), options()).unwrap();
        store.commit(b"").unwrap();
        assert!(!read.catch_up().unwrap_or(false));
    }

    /// What a writer does between two look-ups.
    #[derive(Clone, Debug)]
    enum Step {
        Insert(u8, Option<u8>),
        Delete(u8),
        Restore(u8),
        Supersede(u8, u8),
        Expire(u64),
        Commit(u8),
        Compact,
        Reopen,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            8 => any::<(u8, Option<u8>)>().prop_map(|(family, of)| Step::Insert(family, of)),
            1 => any::<u8>().prop_map(Step::Delete),
            1 => any::<u8>().prop_map(Step::Restore),
            1 => any::<(u8, u8)>().prop_map(|(id, of)| Step::Supersede(id, of)),
            1 => (0u64..60).prop_map(Step::Expire),
            5 => any::<u8>().prop_map(Step::Commit),
            1 => Just(Step::Compact),
            1 => Just(Step::Reopen),
        ]
    }

    fn bits_of(family: u8, number: u64) -> Fingerprint {
        let family = u64::from(family % 8).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Fingerprint::from_bits(family ^ (number % 4))
    }

    /// Everything that a reader can see.
    fn seen(store: &Store) -> impl PartialEq + std::fmt::Debug + use<> {
        let records: Vec<_> = (0..store.next_id()).map(|id| store.record(id).unwrap()).collect();
        let near: Vec<_> = (0..8).map(|family| store.near(bits_of(family, 0)).unwrap()).collect();
        (records, near, store.payload(), store.len(), store.duplicates())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn caught_up_tables_equal_freshly_opened_ones(
            steps in prop::collection::vec(step(), 1..120),
        ) {
            let data = tempfile::tempdir().unwrap();
            let options =
                || Options { recipe: "a".into(), memtable_documents: 16, ..Options::default() };
            let writer = || Store::open(data.path().join("dedup"), options()).unwrap();
            let reader = || read_only(data.path(), Policy::default(), "a").unwrap().unwrap().0;
            let (mut store, mut read) = (writer(), None);
            store.commit(b"").unwrap();
            for step in steps {
                let all = store.next_id().max(1);
                let kept = |id: u8| {
                    let id = u64::from(id) % all;
                    let record = store.record(id).unwrap();
                    record.filter(|record| record.of.is_none()).map(|_| id)
                };
                match step {
                    Step::Insert(family, of) => {
                        let (number, of) = (store.next_id(), of.and_then(kept));
                        let key = number.to_string();
                        let document = Document::new(key.as_bytes(), bits_of(family, number));
                        store.insert(&Document { time: 1 + number, ..document }, of).unwrap();
                    }
                    Step::Delete(id) => drop(store.delete(u64::from(id) % all).unwrap()),
                    Step::Restore(id) => drop(store.restore(u64::from(id) % all)),
                    Step::Supersede(id, of) => {
                        if let (Some(id), Some(of)) = (kept(id), kept(of)) && id != of {
                            store.supersede(id, of).unwrap();
                        }
                    }
                    Step::Expire(before) => drop(store.expire(before).unwrap()),
                    Step::Commit(payload) => store.commit(&[payload]).unwrap(),
                    Step::Compact => store.compact().unwrap(),
                    Step::Reopen => {
                        store.commit(b"closed").unwrap();
                        store.close().unwrap();
                        store = writer();
                    }
                }
                // Segments are written by a thread.
                store.wait().unwrap();
                let open = read.take().filter(|read: &Store| read.catch_up().unwrap_or(false));
                let open = open.unwrap_or_else(reader);
                let fresh = reader();
                prop_assert_eq!(seen(&open), seen(&fresh));
                read = Some(open);
            }
        }
    }
}
