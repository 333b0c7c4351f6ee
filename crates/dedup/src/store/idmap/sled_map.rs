//! sled behind guards: what it gets wrong costs time alone.

use std::cell::Cell;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::record::DocId;

/// Names how many documents the tree has seen. A document's key may be the same: then it is
/// not found here but in its segment.
const COUNT: &[u8] = b"\0";

#[derive(Debug)]
pub(super) struct SledMap {
    path: PathBuf,
    /// None once it is closed.
    tree: Option<sled::Db>,
    /// Not yet in the tree: the current batch; `None` removes.
    batch: HashMap<Vec<u8>, Option<DocId>>,
    known: u64,
    /// It could not be read or written: from here on nothing is asked for or noted, and what is missing is
    /// looked up.
    broken: Cell<bool>,
    set_aside: bool,
}

/// What lies in a folder.
enum Found {
    /// A map of so many documents.
    Map(sled::Db, u64),
    /// One that is larger than it need be, or has seen commits that the store has not: another store's.
    Useless,
    Damaged,
    /// The threads of one that was closed just now have not let go of it.
    Held,
}

/// A closed tree's threads hold its file for a moment: so often it is tried again, so long apart.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(10);

impl SledMap {
    /// Opens the tree behind its guards; one of more than `most` bytes is made anew. `None` means: live
    /// without it this time.
    pub(super) fn open(folder: &Path, documents: u64, most: u64) -> Option<Self> {
        remove_half_snapshots(folder);
        let (mut known, mut damaged) = (0, false);
        let tree = match find(folder, documents, most) {
            Found::Map(tree, count) => {
                known = count;
                tree
            }
            Found::Useless => {
                let _ = fs::remove_dir_all(folder);
                open_tree(folder).ok()?
            }
            Found::Held => return None,
            Found::Damaged => {
                damaged = true;
                set_aside(folder);
                open_tree(folder).ok()?
            }
        };
        Some(Self {
            path: folder.to_owned(),
            tree: Some(tree),
            batch: HashMap::new(),
            known,
            broken: Cell::new(false),
            set_aside: damaged,
        })
    }

    pub(super) const fn known(&self) -> u64 {
        self.known
    }

    pub(super) const fn is_damaged(&self) -> bool {
        self.set_aside || self.broken.get()
    }

    pub(super) fn get(&self, key: &[u8]) -> Option<DocId> {
        if let Some(id) = self.batch.get(key) {
            return *id;
        }
        let tree = self.tree.as_ref().filter(|_| !self.broken.get())?;
        let Ok(value) = guarded(|| tree.get(key)) else {
            // A damaged page shows itself only when it is read.
            self.broken.set(true);
            return None;
        };
        decode(&value?)
    }

    pub(super) fn insert(&mut self, key: &[u8], id: DocId) {
        self.known = self.known.max(id + 1);
        if !self.broken.get() {
            self.batch.insert(key.to_vec(), Some(id));
        }
    }

    pub(super) fn remove(&mut self, key: &[u8]) {
        if !self.broken.get() {
            self.batch.insert(key.to_vec(), None);
        }
    }

    pub(super) fn commit(&mut self) {
        let Some(tree) = self.tree.as_ref().filter(|_| !self.broken.get()) else {
            self.batch.clear();
            return;
        };
        if self.batch.is_empty() {
            return;
        }
        let mut batch = sled::Batch::default();
        for (key, id) in self.batch.drain() {
            match id {
                Some(id) => batch.insert(key, &id.to_le_bytes()),
                None => batch.remove(key),
            }
        }
        batch.insert(COUNT, &self.known.to_le_bytes());
        // A cache: its loss is a slower look-up, never a wrong one.
        self.broken.set(guarded(|| tree.apply_batch(batch)).is_err());
    }

    /// What was committed reaches the drive: sled's own flush stops short of that. A map that could not be
    /// read or written is set aside, so that the next open makes it anew.
    pub(super) fn close(&mut self) -> Result<()> {
        let Some(tree) = self.tree.take() else { return Ok(()) };
        let flushed = if self.broken.get() { Ok(0) } else { guarded(|| tree.flush()) };
        self.broken.set(self.broken.get() || flushed.is_err());
        let _ = catch_unwind(AssertUnwindSafe(|| drop(tree)));
        if self.broken.get() {
            set_aside(&self.path);
        }
        flushed.map_err(Error::io(&self.path))?;
        if self.broken.get() {
            return Ok(());
        }
        let file = self.path.join("db");
        let synced = File::options().write(true).open(&file).and_then(|file| file.sync_data());
        synced.map_err(Error::io(&file))
    }
}

impl Drop for SledMap {
    fn drop(&mut self) {
        // Who wants to know closes it.
        let _ = self.close();
    }
}

fn decode(value: &[u8]) -> Option<u64> {
    value.try_into().ok().map(u64::from_le_bytes)
}

fn find(folder: &Path, documents: u64, most: u64) -> Found {
    let tree = match open_tree(folder) {
        Ok(tree) => tree,
        Err(error) if is_held(&error) => return Found::Held,
        Err(_) => return Found::Damaged,
    };
    let Ok(count) = guarded(|| tree.get(COUNT)) else { return Found::Damaged };
    let known = count.and_then(|count| decode(&count)).unwrap_or(0);
    let bytes = guarded(|| tree.size_on_disk()).unwrap_or(0);
    if known > documents || bytes > most { Found::Useless } else { Found::Map(tree, known) }
}

/// sled 0.34.7 takes a half-written snapshot for the newest one and then never opens again.
fn remove_half_snapshots(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("snap.") && name.ends_with(".generating") {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn open_tree(folder: &Path) -> io::Result<sled::Db> {
    let config = sled::Config::new()
        .path(folder)
        .mode(sled::Mode::LowSpace)
        .cache_capacity(16 << 20)
        .flush_every_ms(None);
    let mut opened = guarded(|| config.open());
    for _ in 0..TRIES {
        if !opened.as_ref().is_err_and(is_held) {
            break;
        }
        std::thread::sleep(PAUSE);
        opened = guarded(|| config.open());
    }
    opened
}

/// sled 0.34 has no kind of error for it.
fn is_held(error: &io::Error) -> bool {
    error.to_string().contains("could not acquire lock")
}

/// What sled gives, or its error, or that it panicked over a damaged file.
fn guarded<T>(work: impl FnOnce() -> sled::Result<T>) -> io::Result<T> {
    let done = catch_unwind(AssertUnwindSafe(work));
    done.unwrap_or_else(|_| Err(sled::Error::ReportableBug("it panicked".to_owned())))
        .map_err(io::Error::from)
}

fn set_aside(folder: &Path) {
    let aside: PathBuf = folder.with_extension("damaged");
    let _ = fs::remove_dir_all(&aside);
    if fs::rename(folder, &aside).is_err() {
        let _ = fs::remove_dir_all(folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_that_is_held_by_another_is_waited_for_and_never_set_aside() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("ids");
        let held = open_tree(&folder).unwrap();
        let waits = std::thread::spawn({
            let folder = folder.clone();
            move || SledMap::open(&folder, 0, u64::MAX).is_some_and(|map| !map.is_damaged())
        });
        std::thread::sleep(10 * PAUSE);
        drop(held);
        assert!(waits.join().unwrap());
        assert!(!folder.with_extension("damaged").exists());
    }
}
