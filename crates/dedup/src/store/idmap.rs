//! From a document's key to its number, in sled: a cache over the segments' own tables of keys.

#[cfg(feature = "sled")]
use std::path::Path;

use super::view::View;
use crate::error::Result;
use crate::record::DocId;

/// Nothing, or sled with the feature of that name. What it knows is held against the records, and
/// what it does not know is looked up elsewhere: deleted or damaged it costs time alone.
#[derive(Debug, Default)]
pub(crate) struct IdMap {
    #[cfg(feature = "sled")]
    sled: Option<sled_map::SledMap>,
}

#[cfg(feature = "sled")]
impl IdMap {
    /// Opens the map in `folder` and brings it up to what is stored.
    pub(crate) fn open(folder: Option<&Path>, view: &View) -> Result<Self> {
        let mut sled = folder.and_then(|folder| sled_map::SledMap::open(folder, view.end));
        if let Some(map) = &mut sled {
            for id in map.known()..view.end {
                if let Some(key) = view.with_row(id, true, |row| row.key.to_vec())? {
                    map.insert(&key, id);
                }
                if id % 65_536 == 0 {
                    map.commit();
                }
            }
        }
        Ok(Self { sled })
    }

    /// Whether the folder was damaged, and was set aside at this open.
    pub(crate) fn was_set_aside(&self) -> bool {
        self.sled.as_ref().is_some_and(|map| map.set_aside)
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<DocId> {
        self.sled.as_ref()?.get(key)
    }

    pub(crate) fn insert(&mut self, key: &[u8], id: DocId) {
        if let Some(map) = &mut self.sled {
            map.insert(key, id);
        }
    }

    pub(crate) fn remove(&mut self, key: &[u8]) {
        if let Some(map) = &mut self.sled {
            map.remove(key);
        }
    }

    /// Hands what was inserted to sled in one atomic batch.
    pub(crate) fn commit(&mut self) {
        if let Some(map) = &mut self.sled {
            map.commit();
        }
    }
}

#[cfg(not(feature = "sled"))]
#[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "the same as with sled")]
impl IdMap {
    pub(crate) fn open(_: Option<&std::path::Path>, _: &View) -> Result<Self> {
        Ok(Self {})
    }
    pub(crate) fn get(&self, _: &[u8]) -> Option<DocId> {
        None
    }
    pub(crate) fn insert(&mut self, _: &[u8], _: DocId) {}
    pub(crate) fn remove(&mut self, _: &[u8]) {}
    pub(crate) fn commit(&mut self) {}
    pub(crate) fn was_set_aside(&self) -> bool {
        false
    }
}

#[cfg(feature = "sled")]
mod sled_map {
    use std::collections::HashMap;
    use std::fs::{self, File};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::path::{Path, PathBuf};

    use crate::record::DocId;

    /// Names how many documents the tree has seen. A document's key may be the same: then it is
    /// not found here but in its segment.
    const COUNT: &[u8] = b"\0";

    #[derive(Debug)]
    pub(super) struct SledMap {
        path: PathBuf,
        tree: sled::Db,
        /// Not yet in the tree: the current batch; `None` removes.
        batch: HashMap<Vec<u8>, Option<DocId>>,
        known: u64,
        /// A failed write: from here on nothing more is noted, and what is missing is looked up.
        broken: bool,
        pub(super) set_aside: bool,
    }

    impl SledMap {
        /// Opens the tree behind its guards; `None` means: live without it this time.
        pub(super) fn open(folder: &Path, documents: u64) -> Option<Self> {
            remove_half_snapshots(folder);
            let mut damaged = false;
            let tree = open_tree(folder).or_else(|| {
                damaged = true;
                set_aside(folder);
                open_tree(folder)
            })?;
            // A damaged page shows itself only when it is read.
            let known = guarded(|| tree.get(COUNT))?.and_then(|v| decode(&v)).unwrap_or(0);
            if known > documents {
                // It has seen commits that the store has not: another store's cache.
                guarded(|| tree.clear())?;
                return Some(Self::new(folder, tree, 0, damaged));
            }
            Some(Self::new(folder, tree, known, damaged))
        }

        fn new(folder: &Path, tree: sled::Db, known: u64, set_aside: bool) -> Self {
            let path = folder.to_owned();
            Self { path, tree, batch: HashMap::new(), known, broken: false, set_aside }
        }

        pub(super) const fn known(&self) -> u64 {
            self.known
        }

        pub(super) fn get(&self, key: &[u8]) -> Option<DocId> {
            if let Some(id) = self.batch.get(key) {
                return *id;
            }
            decode(&guarded(|| self.tree.get(key))??)
        }

        pub(super) fn insert(&mut self, key: &[u8], id: DocId) {
            self.known = self.known.max(id + 1);
            if !self.broken {
                self.batch.insert(key.to_vec(), Some(id));
            }
        }

        pub(super) fn remove(&mut self, key: &[u8]) {
            if !self.broken {
                self.batch.insert(key.to_vec(), None);
            }
        }

        pub(super) fn commit(&mut self) {
            if self.broken || self.batch.is_empty() {
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
            self.broken = guarded(|| self.tree.apply_batch(batch)).is_none();
        }
    }

    impl Drop for SledMap {
        /// sled's own flush stops short of the drive: its file is synced as well.
        fn drop(&mut self) {
            let _ = guarded(|| self.tree.flush());
            let _ = File::open(self.path.join("db")).and_then(|file| file.sync_data());
        }
    }

    fn decode(value: &[u8]) -> Option<u64> {
        value.try_into().ok().map(u64::from_le_bytes)
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

    fn open_tree(folder: &Path) -> Option<sled::Db> {
        let config = sled::Config::new()
            .path(folder)
            .mode(sled::Mode::LowSpace)
            .cache_capacity(16 << 20)
            .flush_every_ms(None);
        guarded(|| config.open())
    }

    /// What sled gives; `None` of an error, or of a panic over a damaged file.
    fn guarded<T>(work: impl FnOnce() -> sled::Result<T>) -> Option<T> {
        catch_unwind(AssertUnwindSafe(work)).ok()?.ok()
    }

    fn set_aside(folder: &Path) {
        let aside: PathBuf = folder.with_extension("damaged");
        let _ = fs::remove_dir_all(&aside);
        if fs::rename(folder, &aside).is_err() {
            let _ = fs::remove_dir_all(folder);
        }
    }
}
