//! A read-only file for redb. Writes stay in memory, such as redb's repair after a kill. So `crawl check` works on a
//! read-only file system and changes nothing.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::ops::{Bound, Range};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use redb::backends::FileBackend;
use redb::{BackendError, DatabaseError, StorageBackend};

const BLOCK: usize = 4096;

#[derive(Debug)]
pub(crate) struct ReadOnlyFile {
    file: FileBackend,
    changes: Mutex<Changes>,
}

#[derive(Debug)]
struct Changes {
    length: u64,
    /// Valid bytes of the file; those behind were cut off and read as zeros.
    of_file: u64,
    blocks: HashMap<u64, Box<[u8; BLOCK]>>,
}

impl ReadOnlyFile {
    pub(crate) fn open(path: &Path) -> Result<Self, DatabaseError> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let changes = Changes { length, of_file: length, blocks: HashMap::new() };
        Ok(Self { file: FileBackend::new(file)?, changes: Mutex::new(changes) })
    }

    fn changes(&self) -> MutexGuard<'_, Changes> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads from the file without the changes. Bytes behind its end are zeros.
    fn read_file(&self, of_file: u64, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let there = usize::try_from(of_file.saturating_sub(offset)).unwrap_or(usize::MAX);
        let (known, behind) = out.split_at_mut(there.min(out.len()));
        behind.fill(0);
        if known.is_empty() { Ok(()) } else { self.file.read(offset, known) }
    }
}

/// Returns the blocks of a byte range: the number of each, the range in it, and the range in the whole.
fn blocks(offset: u64, length: usize) -> impl Iterator<Item = (u64, Range<usize>, Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let left = length.checked_sub(done).filter(|left| *left > 0)?;
        let place = offset + done as u64;
        let within = usize::try_from(place % BLOCK as u64).ok()?;
        let count = left.min(BLOCK - within);
        let part = done..done + count;
        done += count;
        Some((place / BLOCK as u64, within..within + count, part))
    })
}

impl StorageBackend for ReadOnlyFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.changes().length)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let changes = self.changes();
        let end = offset.checked_add(out.len() as u64);
        if end.is_none_or(|end| end > changes.length) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.read_file(changes.of_file, offset, out)?;
        if changes.blocks.is_empty() {
            return Ok(());
        }
        for (block, within, part) in blocks(offset, out.len()) {
            let bytes = changes.blocks.get(&block).and_then(|bytes| bytes.get(within));
            if let (Some(to), Some(bytes)) = (out.get_mut(part), bytes) {
                to.copy_from_slice(bytes);
            }
        }
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let mut changes = self.changes();
        if length < changes.length {
            changes.of_file = changes.of_file.min(length);
            changes.blocks.retain(|block, _| block * (BLOCK as u64) < length);
            let (last, within) = (length / BLOCK as u64, (length % BLOCK as u64) as usize);
            if let Some(behind) = changes.blocks.get_mut(&last).and_then(|b| b.get_mut(within..)) {
                behind.fill(0);
            }
        }
        changes.length = length;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut changes = self.changes();
        let of_file = changes.of_file;
        let end = offset.checked_add(data.len() as u64);
        changes.length = changes.length.max(end.ok_or(io::ErrorKind::InvalidInput)?);
        for (number, within, part) in blocks(offset, data.len()) {
            let block = match changes.blocks.entry(number) {
                std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
                std::collections::hash_map::Entry::Vacant(entry) => {
                    let mut block = Box::new([0; BLOCK]);
                    self.read_file(of_file, number * BLOCK as u64, &mut *block)?;
                    entry.insert(block)
                }
            };
            if let (Some(to), Some(from)) = (block.get_mut(within), data.get(part)) {
                to.copy_from_slice(from);
            }
        }
        Ok(())
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }

    /// A shared lock: an exclusive one requires write access. A running crawl holds an exclusive one.
    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.try_lock_shared_range(start, end)
    }

    fn try_lock_shared_range(
        &self,
        start: Bound<u64>,
        end: Bound<u64>,
    ) -> Result<bool, BackendError> {
        self.file.try_lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.query_lock_range(start, end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_read_back_and_leave_the_file_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let whole: Vec<u8> = (0..3 * BLOCK + 17).map(|at| (at % 251) as u8).collect();
        std::fs::write(&path, &whole).unwrap();
        let file = ReadOnlyFile::open(&path).unwrap();
        let mut same = whole.clone();
        let read = |file: &ReadOnlyFile| {
            let mut bytes = vec![9; usize::try_from(file.len().unwrap()).unwrap()];
            file.read(0, &mut bytes).unwrap();
            bytes
        };
        let mut seed = 7u64;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (seed >> 33) as usize % below
        };
        for step in 0..300 {
            if step % 7 == 6 {
                let length = random(5 * BLOCK) + 1;
                file.set_len(length as u64).unwrap();
                same.resize(length, 0);
            } else {
                let (at, count) = (random(same.len()), random(2 * BLOCK));
                let data = vec![step as u8; count];
                file.write(at as u64, &data).unwrap();
                same.resize(same.len().max(at + count), 0);
                same[at..at + count].copy_from_slice(&data);
            }
            assert!(read(&file) == same, "step {step}");
        }
        assert!(file.read(same.len() as u64, &mut [0]).is_err());
        assert!(file.read(u64::MAX, &mut [0]).is_err());
        assert!(std::fs::read(&path).unwrap() == whole);
    }
}
