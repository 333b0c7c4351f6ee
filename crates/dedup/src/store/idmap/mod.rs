//! A cache in sled from the keys of the last documents to their numbers, over the segments' tables of keys.

#[cfg(feature = "sled")]
mod sled_map;

#[cfg(feature = "sled")]
use std::path::Path;

use super::view::View;
use crate::error::Result;
use crate::record::DocId;

/// The cache with the feature `sled`, otherwise empty. Its answers are checked against the records, and a miss falls
/// back to the segments: a deleted or damaged cache costs only time.
#[derive(Debug, Default)]
pub(crate) struct IdMap {
    #[cfg(feature = "sled")]
    sled: Option<sled_map::SledMap>,
}

#[cfg(feature = "sled")]
impl IdMap {
    /// Opens the map in `folder` on a thread and adds the last stored documents.
    pub(crate) fn open(folder: Option<&Path>, view: &View) -> Self {
        let sled = folder.map(|folder| {
            let stored = view.clone();
            // An unreadable segment is reported to the caller that looks something up in it.
            let key_of = move |id| {
                let key = stored.with_row(id, true, |row| row.key.to_vec());
                key.ok().flatten()
            };
            sled_map::SledMap::open(folder, view.end, most_bytes(view), Box::new(key_of))
        });
        Self { sled }
    }

    /// Returns whether the folder was damaged and set aside at open, or will be at close. Waits for the thread that
    /// opens it.
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

    /// Assigns the entries so far to a commit.
    pub(crate) fn seal(&mut self) {
        if let Some(map) = &mut self.sled {
            map.seal();
        }
    }

    /// Discards the entries of a failed commit.
    pub(crate) fn forget_sealed(&mut self) {
        if let Some(map) = &mut self.sled {
            map.forget_sealed();
        }
    }

    /// Passes the entries of a durable commit to sled in one atomic batch.
    pub(crate) fn hand_over(&mut self) {
        if let Some(map) = &mut self.sled {
            map.hand_over();
        }
    }

    /// Makes the map durable and closes it. Sets a damaged one aside.
    pub(crate) fn close(&mut self) -> Result<()> {
        self.sled.as_mut().map_or(Ok(()), sled_map::SledMap::close)
    }
}

/// Bytes of an entry in addition to its key: its length, its number and their place in a node.
#[cfg(feature = "sled")]
const ENTRY_BYTES: u64 = 20;
/// The map is rebuilt when it is this many times larger than its entries: sled 0.34 rarely returns free space.
#[cfg(feature = "sled")]
const MAX_GROWTH: u64 = 8;
/// Size in bytes below which the map is never rebuilt; a new map takes one.
#[cfg(feature = "sled")]
const FLOOR_BYTES: u64 = 16 << 20;

/// Returns the largest size in bytes on disk for a map of the last documents. Assumes the largest mean key length.
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
