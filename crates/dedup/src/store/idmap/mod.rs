//! From a document's key to its number, in sled, of the last documents: a cache over the segments' own tables of keys.

#[cfg(feature = "sled")]
mod sled_map;

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
    /// Opens the map in `folder` and brings it up to the last documents that are stored, on a thread.
    pub(crate) fn open(folder: Option<&Path>, view: &View) -> Self {
        let sled = folder.map(|folder| {
            let stored = view.clone();
            // What cannot be read is damage, of which who looks it up is told.
            let key_of = move |id| {
                let key = stored.with_row(id, true, |row| row.key.to_vec());
                key.ok().flatten()
            };
            sled_map::SledMap::open(folder, view.end, most_bytes(view), Box::new(key_of))
        });
        Self { sled }
    }

    /// Whether the folder was damaged: it was set aside at this open, or is not used any more and will
    /// be when it is closed. Waits for the thread that opens it.
    pub(crate) fn was_set_aside(&mut self) -> bool {
        self.sled.as_mut().is_some_and(sled_map::SledMap::is_damaged)
    }

    pub(crate) fn get(&mut self, key: &[u8]) -> Option<DocId> {
        self.sled.as_mut()?.get(key)
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

    /// What was noted until now is part of a commit; what comes next is not.
    pub(crate) fn seal(&mut self) {
        if let Some(map) = &mut self.sled {
            map.seal();
        }
    }

    /// The commit has failed: what was part of it is not noted.
    pub(crate) fn forget_sealed(&mut self) {
        if let Some(map) = &mut self.sled {
            map.forget_sealed();
        }
    }

    /// The commit is durable: hands what is part of it to sled in one atomic batch.
    pub(crate) fn hand_over(&mut self) {
        if let Some(map) = &mut self.sled {
            map.hand_over();
        }
    }

    /// Makes the map durable and lets go of it. A damaged one is set aside.
    pub(crate) fn close(&mut self) -> Result<()> {
        self.sled.as_mut().map_or(Ok(()), sled_map::SledMap::close)
    }
}

/// So many bytes an entry takes beside its key: its length, its number and their place in a node.
#[cfg(feature = "sled")]
const ENTRY_BYTES: u64 = 20;
/// A map that takes so many times what its entries are is made anew: sled 0.34 gives little back.
#[cfg(feature = "sled")]
const MAX_GROWTH: u64 = 8;
/// Up to so many bytes nobody minds; a new map takes one.
#[cfg(feature = "sled")]
const FLOOR_BYTES: u64 = 16 << 20;

/// The most that a map of the last of these documents may take on disk, by the longest keys of a part of them.
#[cfg(feature = "sled")]
fn most_bytes(view: &View) -> u64 {
    let (mut rows, mut key_bytes) = (0, 0);
    let mut count = |part: u64, keys: u64| {
        rows += part;
        key_bytes = key_bytes.max(keys / part.max(1) + 1);
    };
    for segment in view.segments.iter() {
        count(segment.footer.rows, segment.footer.keys.len() as u64);
    }
    for table in view.frozen.iter().chain([&view.active]) {
        let table = super::view::read(table);
        count(table.rows() as u64, table.columns().keys.len() as u64);
    }
    MAX_GROWTH * rows.min(sled_map::MOST) * (ENTRY_BYTES + key_bytes) + FLOOR_BYTES
}

#[cfg(not(feature = "sled"))]
#[expect(
    clippy::unused_self,
    clippy::needless_pass_by_ref_mut,
    clippy::unnecessary_wraps,
    reason = "the same as with sled"
)]
impl IdMap {
    pub(crate) fn open(_: Option<&std::path::Path>, _: &View) -> Self {
        Self {}
    }
    pub(crate) fn get(&mut self, _: &[u8]) -> Option<DocId> {
        None
    }
    pub(crate) fn insert(&mut self, _: &[u8], _: DocId) {}
    pub(crate) fn remove(&mut self, _: &[u8]) {}
    pub(crate) fn seal(&mut self) {}
    pub(crate) fn forget_sealed(&mut self) {}
    pub(crate) fn hand_over(&mut self) {}
    pub(crate) fn was_set_aside(&mut self) -> bool {
        false
    }
    pub(crate) fn close(&mut self) -> Result<()> {
        Ok(())
    }
}
