//! The addresses of the documents of `crawl dedup`, whose tables store only ids.
//!
//! One line a document, sorted by number for binary search. Losing lines in a power cut is not an error.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Context, Result};

const NAME: &str = "addresses.jsonl";
/// Longer addresses are not stored.
const MAX_URL: usize = 8192;
/// Longest line: each byte of an address may be escaped to six.
const MAX_LINE: u64 = 6 * MAX_URL as u64 + 64;

#[derive(Debug, Serialize, Deserialize)]
struct Line {
    /// The document's number in the tables.
    id: u64,
    url: String,
}

/// The addresses of the kept documents.
#[derive(Debug)]
pub struct Addresses {
    path: PathBuf,
    file: Option<BufReader<File>>,
    length: u64,
    pending: Vec<Line>,
}

impl Addresses {
    /// Opens the file in `root`, and removes the addresses of uncommitted documents, from `next` on.
    ///
    /// # Errors
    /// From the file.
    pub fn open(root: &Path, next: u64) -> Result<Self> {
        let path = root.join(NAME);
        let mut all = Self { path, file: None, length: 0, pending: Vec::new() };
        if all.path.exists() {
            all.cut(next).with_context(|| all.path.display().to_string())?;
        }
        Ok(all)
    }

    fn cut(&mut self, next: u64) -> io::Result<()> {
        let file = OpenOptions::new().read(true).write(true).open(&self.path)?;
        self.length = file.metadata()?.len();
        self.file = Some(BufReader::new(file));
        self.length = self.place_of(next)?;
        self.file.as_ref().map_or(Ok(()), |file| file.get_ref().set_len(self.length))
    }

    /// Adds the address of the newest document.
    pub fn add(&mut self, id: u64, url: &str) {
        if url.len() <= MAX_URL {
            self.pending.push(Line { id, url: url.to_owned() });
        }
    }

    /// Writes the addresses of this batch.
    ///
    /// # Errors
    /// From the file.
    pub fn write(&mut self) -> Result<()> {
        let mut lines = Vec::new();
        for line in self.pending.drain(..) {
            serde_json::to_writer(&mut lines, &line)?;
            lines.push(b'\n');
        }
        if !lines.is_empty() {
            self.append(&lines).with_context(|| self.path.display().to_string())?;
        }
        Ok(())
    }

    fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        if self.file.is_none() {
            let mut options = OpenOptions::new();
            let file = options.read(true).write(true).create_new(true).open(&self.path)?;
            self.file = Some(BufReader::new(file));
        }
        if let Some(file) = &mut self.file {
            file.seek(SeekFrom::Start(self.length))?;
            file.get_mut().write_all(lines)?;
            self.length += lines.len() as u64;
        }
        Ok(())
    }

    /// Returns the address of a document, if it has one.
    ///
    /// # Errors
    /// From the file.
    pub fn of(&mut self, id: u64) -> Result<Option<String>> {
        let mut pending = self.pending.iter();
        if let Some(line) = pending.find(|line| line.id == id) {
            return Ok(Some(line.url.clone()));
        }
        let found = self.place_of(id).and_then(|place| self.line_behind(place));
        let found = found.with_context(|| self.path.display().to_string())?;
        let line = found.and_then(|(_, line)| line).filter(|line| line.id == id);
        Ok(line.map(|line| line.url))
    }

    /// Returns the offset of the first line with a number of `id` or above.
    fn place_of(&mut self, id: u64) -> io::Result<u64> {
        // Lines that begin before `low` have lower numbers, lines from `high` on do not.
        let (mut low, mut high) = (0, self.length);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.line_behind(middle)? {
                Some((end, Some(line))) if line.id < id => low = end,
                // An unreadable line was truncated.
                _ => high = middle,
            }
        }
        Ok(low)
    }

    /// Returns the first line that begins at or after `place`, and the offset of its end.
    fn line_behind(&mut self, place: u64) -> io::Result<Option<(u64, Option<Line>)>> {
        let Some(file) = &mut self.file else { return Ok(None) };
        let mut text = Vec::new();
        let mut begin = place.saturating_sub(1);
        file.seek(SeekFrom::Start(begin))?;
        if place > 0 {
            // Garbage after a power cut may be longer than any line.
            loop {
                text.clear();
                let count = file.take(MAX_LINE).read_until(b'\n', &mut text)? as u64;
                begin += count;
                if count == 0 || text.ends_with(b"\n") {
                    break;
                }
            }
            text.clear();
        }
        let count = file.take(MAX_LINE).read_until(b'\n', &mut text)? as u64;
        let line = text.ends_with(b"\n").then(|| serde_json::from_slice(&text).ok()).flatten();
        Ok((count > 0 && begin < self.length).then_some((begin + count, line)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(id: u64) -> String {
        format!("http://a.example/{}{id}", "x".repeat(usize::try_from(id % 70).unwrap()))
    }

    #[test]
    fn every_committed_url_is_found_and_crash_leftovers_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let mut all = Addresses::open(folder.path(), 0).unwrap();
        assert_eq!(all.of(0).unwrap(), None);
        for batch in 0..40 {
            for id in (batch * 50..batch * 50 + 50).filter(|id| id % 3 != 1) {
                all.add(id, &url(id));
                assert_eq!(all.of(id).unwrap(), Some(url(id)));
            }
            all.write().unwrap();
        }
        let whole = |all: &mut Addresses, next: u64| {
            for id in 0..2010 {
                let there = id < next && id % 3 != 1;
                assert_eq!(all.of(id).unwrap(), there.then(|| url(id)), "{id}");
            }
        };
        whole(&mut all, 2000);
        drop(all);
        let path = folder.path().join(NAME);
        // Half a line, and documents that were not committed.
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{\"id\":2000,\"ur").unwrap();
        whole(&mut Addresses::open(folder.path(), 2000).unwrap(), 2000);
        let mut all = Addresses::open(folder.path(), 1234).unwrap();
        whole(&mut all, 1234);
        all.add(1234, "http://b.example/");
        all.write().unwrap();
        drop(all);
        let mut all = Addresses::open(folder.path(), 1235).unwrap();
        assert_eq!(all.of(1234).unwrap().as_deref(), Some("http://b.example/"));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(Addresses::open(folder.path(), 1235).unwrap().of(1).unwrap(), None);
    }
}
