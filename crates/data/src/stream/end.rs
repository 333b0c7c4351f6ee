//! The durable end of events.jsonl, for readers beside a running crawl. The store's commit has it too, but a store
//! takes too long to open at every poll.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use hapax_dedup::Policy;
use hapax_extract::Recipe;

use crate::dir::is_locked;
use crate::error::{Context, Result};
use crate::files;
use crate::positions::{PagePosition, read_position};
use crate::tables::read_only;

const NAME: &str = "events.end";
/// Bytes of the file: two numbers of 16 digits and a CRC-32 of 8 digits, each with a space or the end of the line.
const LENGTH: usize = 17 + 17 + 9;
/// How often, and at which interval, a file is read again that its writer has just changed.
const TRIES: u32 = 5;
const WAIT: Duration = Duration::from_millis(2);

/// The end of the durable events of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DurableEnd {
    /// The random number of the stream.
    pub(super) stream: u64,
    /// Length of the durable part of events.jsonl in bytes.
    pub(super) length: u64,
}

impl DurableEnd {
    /// Returns the end as of the store's last commit, or beside another process as that process last wrote it. `None`
    /// if no events are durable.
    pub(super) fn of(data: &Path) -> Result<Option<Self>> {
        if is_locked(data).unwrap_or(true) {
            return Self::written(data);
        }
        let Some((store, _)) = read_only(data, Policy::default(), Recipe::default().name())? else {
            return Ok(None);
        };
        let position: PagePosition = read_position(&store.payload())?;
        let end = Self { stream: position.events_stream, length: position.events };
        Ok((end.stream != 0).then_some(end))
    }

    /// Returns the end that the last commit wrote to its file. It is never beyond the store's commit.
    pub(super) fn written(data: &Path) -> Result<Option<Self>> {
        for _ in 0..TRIES {
            let mut bytes = Vec::new();
            match files::open_regular(&data.join(NAME)) {
                Ok(file) => file.take(LENGTH as u64 + 1).read_to_end(&mut bytes)?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => {
                    return Err(error).with_context(|| data.join(NAME).display().to_string());
                }
            };
            if let Some(end) = Self::parse(&bytes) {
                return Ok(Some(end));
            }
            std::thread::sleep(WAIT);
        }
        Ok(None)
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let number = |part: &str| u64::from_str_radix(part, 16).ok();
        let mut parts = text.split(' ');
        let end = Self { stream: number(parts.next()?)?, length: number(parts.next()?)? };
        (end.to_line() == text).then_some(end)
    }

    fn to_line(self) -> String {
        let numbers = format!("{:016x} {:016x}", self.stream, self.length);
        format!("{numbers} {:08x}\n", crc32fast::hash(numbers.as_bytes()))
    }
}

/// The file with the durable end, in the process that commits.
#[derive(Debug)]
pub(super) struct EndFile {
    path: PathBuf,
    file: Option<File>,
    last: Option<DurableEnd>,
}

impl EndFile {
    pub(super) fn of(data: &Path) -> Self {
        Self { path: data.join(NAME), file: None, last: None }
    }

    /// Writes the end in place. It is not synced: after a power cut, readers use the store's commit.
    pub(super) fn write(&mut self, end: DurableEnd) -> Result<()> {
        if self.last == Some(end) {
            return Ok(());
        }
        let name = || self.path.display().to_string();
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                let mut options = OpenOptions::new();
                files::without_links(options.create(true).truncate(false).write(true));
                let file = options.open(&self.path).with_context(name)?;
                self.file.insert(file)
            }
        };
        file.seek(SeekFrom::Start(0)).with_context(name)?;
        file.write_all(end.to_line().as_bytes()).with_context(name)?;
        self.last = Some(end);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_read_as_written_and_half_written_ones_are_not_read() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(DurableEnd::written(folder.path()).unwrap(), None);
        let mut file = EndFile::of(folder.path());
        let ends = [(1, 0), (u64::MAX, u64::MAX), (7, 12_345)];
        let ends = ends.map(|(stream, length)| DurableEnd { stream, length });
        for end in ends {
            file.write(end).unwrap();
            assert_eq!(DurableEnd::written(folder.path()).unwrap(), Some(end));
        }
        let lines = ends.map(|end| end.to_line().into_bytes());
        assert!(lines.iter().all(|line| line.len() == LENGTH));
        for cut in 1..LENGTH {
            let mixed = [&lines[1][..cut], &lines[2][cut..]].concat();
            if mixed != lines[1] && mixed != lines[2] {
                assert_eq!(DurableEnd::parse(&mixed), None, "{cut}");
            }
        }
    }
}
