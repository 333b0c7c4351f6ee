//! discarded.jsonl, skipped.jsonl and decisions.jsonl: append-only, truncated on opening to their committed length.
//! If only another job's store knows that length, they are truncated to whole lines.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use serde::Serialize;

use crate::error::{Context, Error, Result};

const PIECE: usize = 64 << 10;

/// An append-only file of JSON lines.
#[derive(Debug)]
pub struct Log {
    file: File,
    committed: Committed,
    /// Bytes written after the last sync.
    unsynced: u64,
    pending: Vec<u8>,
}

/// The committed part of a log: its length, and its CRC-32 if one writer wrote all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Committed {
    /// Length in bytes.
    pub length: u64,
    /// CRC-32 of these bytes.
    pub sum: Option<u32>,
}

impl Committed {
    /// Returns the longer one.
    pub const fn or_longer(self, other: Self) -> Self {
        if other.length > self.length { other } else { self }
    }
}

impl Log {
    /// Opens the log and truncates it to its committed part; with `None` all whole lines are kept.
    ///
    /// # Errors
    /// If the log is shorter than its committed part. Then nothing is written.
    pub fn open(path: &Path, committed: Option<Committed>) -> Result<Self> {
        let name = || path.display().to_string();
        let found = match std::fs::metadata(path) {
            Ok(meta) => meta.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error).with_context(name),
        };
        let mut committed = match committed {
            Some(committed) => committed,
            None => Committed { length: whole_lines(path, found).with_context(name)?, sum: None },
        };
        let length = committed.length;
        if length == 0 {
            committed.sum = Some(0);
        }
        if found < length {
            let what = format!(
                "{}: has {found} of {length} committed bytes. Restore the file from a backup (`crawl check` \
                 lists all damage), or create a new data directory from the archive: `crawl pages \
                 DIR/pages/*.warc.gz --data NEW`",
                path.display()
            );
            return Err(Error::Damaged(what));
        }
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let is_new = !path.exists();
        let mut file = options.open(path).with_context(name)?;
        if is_new && cfg!(unix) {
            // The name must be durable before a commit refers to it.
            let folder = path.parent().filter(|folder| *folder != Path::new(""));
            File::open(folder.unwrap_or(Path::new(".")))
                .and_then(|f| f.sync_all())
                .with_context(name)?;
        }
        if found > length {
            file.set_len(length).with_context(name)?;
        }
        file.seek(SeekFrom::Start(length)).with_context(name)?;
        Ok(Self { file, committed, unsynced: 0, pending: Vec::new() })
    }

    /// Appends a line to a buffer that [`sync`](Self::sync) writes.
    ///
    /// # Errors
    /// If the line cannot be serialised.
    pub fn append(&mut self, line: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.pending, line)?;
        self.pending.push(b'\n');
        Ok(())
    }

    /// Writes appended lines without making them durable, which bounds the memory of a long group.
    pub(crate) fn write(&mut self) -> io::Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        self.file.write_all(&self.pending)?;
        self.unsynced += self.pending.len() as u64;
        self.committed.sum = self.committed.sum.map(|sum| {
            let mut sum = crc32fast::Hasher::new_with_initial(sum);
            sum.update(&self.pending);
            sum.finalize()
        });
        self.pending.clear();
        Ok(())
    }

    /// Returns the committed part.
    pub(crate) const fn committed(&self) -> Committed {
        self.committed
    }

    /// Bytes of appended lines in memory.
    pub(crate) const fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Writes and syncs appended lines. Returns the new committed part.
    pub fn sync(&mut self) -> io::Result<Committed> {
        self.write()?;
        if self.unsynced > 0 {
            self.file.sync_data()?;
            self.committed.length += std::mem::take(&mut self.unsynced);
        }
        Ok(self.committed)
    }
}

/// Returns the end of the last whole line in the first `length` bytes. A full disk may truncate a line.
fn whole_lines(path: &Path, length: u64) -> io::Result<u64> {
    if length == 0 {
        return Ok(0);
    }
    let mut file = File::open(path)?;
    let mut end = length;
    let mut piece = vec![0; PIECE];
    while end > 0 {
        let start = end.saturating_sub(PIECE as u64);
        let piece = piece.get_mut(..(end - start) as usize).unwrap_or_default();
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(piece)?;
        if let Some(at) = piece.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_goes_on_where_the_last_run_left_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("skipped.jsonl");
        let mut committed = Committed::default();
        for run in 0..3 {
            let mut log = Log::open(&path, Some(committed)).unwrap();
            for line in 0..run + 2 {
                log.append(&line).unwrap();
                committed = log.sync().unwrap();
            }
            // Not committed: the next run cuts it off.
            log.append(&"lost").unwrap();
            log.sync().unwrap();
        }
        drop(Log::open(&path, Some(committed)).unwrap());
        let bytes = std::fs::read(&path).unwrap();
        let sum = Some(crc32fast::hash(&bytes));
        assert_eq!(committed, Committed { length: bytes.len() as u64, sum });
    }

    #[test]
    fn half_a_line_is_cut_off_however_long_it_is_and_whole_ones_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("skipped.jsonl");
        for half in [0, 1, PIECE - 1, PIECE, 3 * PIECE] {
            std::fs::write(&path, [b"{}\n{}\n".as_slice(), &vec![b'x'; half]].concat()).unwrap();
            drop(Log::open(&path, None).unwrap());
            assert_eq!(std::fs::read(&path).unwrap(), b"{}\n{}\n", "{half}");
            std::fs::write(&path, vec![b'x'; half]).unwrap();
            drop(Log::open(&path, None).unwrap());
            assert_eq!(std::fs::read(&path).unwrap(), b"", "{half}");
        }
    }
}
