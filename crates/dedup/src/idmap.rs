//! From a page's key to its document: a cache over the journal, never the only copy of anything.

use std::collections::HashMap;
use std::path::Path;

use crate::error::Result;
use crate::record::DocId;

/// In memory, or in sled with the feature of that name.
#[derive(Debug)]
pub(crate) enum IdMap {
    Memory(HashMap<Vec<u8>, DocId>),
    #[cfg(feature = "sled")]
    Sled(sled_map::SledMap),
}

impl IdMap {
    /// Opens the map in `folder`; the second value is how many documents it already knows.
    #[cfg_attr(not(feature = "sled"), expect(unused_variables, reason = "only sled keeps files"))]
    pub(crate) fn open(folder: Option<&Path>, documents: u64) -> (Self, u64) {
        #[cfg(feature = "sled")]
        if let Some(map) = folder.and_then(|folder| sled_map::SledMap::open(folder, documents)) {
            let known = map.known();
            return (Self::Sled(map), known);
        }
        (Self::Memory(HashMap::new()), 0)
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<DocId> {
        match self {
            Self::Memory(map) => map.get(key).copied(),
            #[cfg(feature = "sled")]
            Self::Sled(map) => map.get(key),
        }
    }

    pub(crate) fn insert(&mut self, key: Vec<u8>, id: DocId) {
        match self {
            Self::Memory(map) => {
                map.insert(key, id);
            }
            #[cfg(feature = "sled")]
            Self::Sled(map) => map.insert(key, id),
        }
    }

    /// Hands what was inserted to sled in one atomic batch.
    pub(crate) fn commit(&mut self) -> Result<()> {
        #[cfg(feature = "sled")]
        if let Self::Sled(map) = self {
            map.commit();
        }
        Ok(())
    }
}

#[cfg(feature = "sled")]
mod sled_map {
    use std::collections::HashMap;
    use std::fs;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::path::{Path, PathBuf};

    use crate::record::DocId;

    /// The number of documents the tree holds; no page key is that short.
    const COUNT: &[u8] = b"\0";

    #[derive(Debug)]
    pub(crate) struct SledMap {
        tree: sled::Db,
        /// Not yet in the tree: the current batch.
        batch: HashMap<Vec<u8>, DocId>,
        known: u64,
        /// A failed write: from here on everything stays in `batch`.
        broken: bool,
    }

    impl SledMap {
        /// Opens the tree behind its guards; `None` means: live without it this time.
        pub(crate) fn open(folder: &Path, documents: u64) -> Option<Self> {
            remove_half_snapshots(folder);
            let tree = open_tree(folder).or_else(|| {
                set_aside(folder);
                open_tree(folder)
            })?;
            let known = tree.get(COUNT).ok().flatten().and_then(|v| decode(&v)).unwrap_or(0);
            if known > documents {
                // It has seen commits that the journal has not: another journal's cache.
                tree.clear().ok()?;
                return Some(Self { tree, batch: HashMap::new(), known: 0, broken: false });
            }
            Some(Self { tree, batch: HashMap::new(), known, broken: false })
        }

        pub(crate) const fn known(&self) -> u64 {
            self.known
        }

        pub(crate) fn get(&self, key: &[u8]) -> Option<DocId> {
            self.batch
                .get(key)
                .copied()
                .or_else(|| self.tree.get(key).ok().flatten().and_then(|value| decode(&value)))
        }

        pub(crate) fn insert(&mut self, key: Vec<u8>, id: DocId) {
            self.known = self.known.max(id + 1);
            self.batch.insert(key, id);
        }

        pub(crate) fn commit(&mut self) {
            if self.broken || self.batch.is_empty() {
                return;
            }
            let mut batch = sled::Batch::default();
            for (key, id) in &self.batch {
                batch.insert(key.as_slice(), &id.to_le_bytes());
            }
            batch.insert(COUNT, &self.known.to_le_bytes());
            // A cache: its loss is a slower start, so an error costs memory, not correctness.
            match self.tree.apply_batch(batch) {
                Ok(()) => self.batch.clear(),
                Err(_) => self.broken = true,
            }
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
        catch_unwind(AssertUnwindSafe(|| config.open())).ok()?.ok()
    }

    fn set_aside(folder: &Path) {
        let aside: PathBuf = folder.with_extension("damaged");
        let _ = fs::remove_dir_all(&aside);
        if fs::rename(folder, &aside).is_err() {
            let _ = fs::remove_dir_all(folder);
        }
    }
}
