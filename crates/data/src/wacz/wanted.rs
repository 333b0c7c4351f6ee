//! The records that a WACZ file has, and their bytes.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;

use hapax_warc::Record;

use crate::corpus::Corpus;
use crate::error::Result;
use crate::rows::hash_of_url;

/// The addresses of a filter's pages and of their copies, by hash: 8 bytes each.
#[derive(Debug, Default)]
pub(super) struct Wanted(Option<HashSet<u64>>);

impl Wanted {
    /// All records.
    pub(super) const fn all() -> Self {
        Self(None)
    }

    /// The addresses of these pages, and of the pages that they represent now. A page is given by its number and address.
    pub(super) fn of(corpus: &Corpus<'_>, pages: &[(u64, u64)]) -> Result<Self> {
        let names: HashSet<u64> =
            pages.iter().map(|(id, url)| if corpus.is_joined() { *url } else { *id }).collect();
        let mut urls: HashSet<u64> = pages.iter().map(|(_, url)| *url).collect();
        for (dir, heads) in corpus.heads().iter().enumerate() {
            for row in heads.rows.discarded() {
                if corpus.representative(dir, row)?.is_some_and(|name| names.contains(&name)) {
                    urls.insert(row.key());
                }
            }
        }
        Ok(Self(Some(urls)))
    }

    pub(super) const fn is_all(&self) -> bool {
        self.0.is_none()
    }

    /// Returns whether a record is one of a wanted address, or describes the file.
    pub(super) fn has(&self, record: &Record) -> bool {
        let Some(urls) = &self.0 else { return true };
        let url = record.header("warc-target-uri");
        url.is_some_and(|url| urls.contains(&hash_of_url(url)))
            || record.header("warc-type") == Some("warcinfo")
    }
}

/// Reads ranges of a file one after the other.
#[derive(Debug)]
pub(super) struct Ranges<'r> {
    file: File,
    ranges: std::slice::Iter<'r, Range<u64>>,
    /// Bytes of the current one that were not read.
    left: u64,
}

impl<'r> Ranges<'r> {
    pub(super) fn new(file: File, ranges: &'r [Range<u64>]) -> Self {
        Self { file, ranges: ranges.iter(), left: 0 }
    }
}

impl Read for Ranges<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.left == 0 {
            let Some(range) = self.ranges.next() else { return Ok(0) };
            self.file.seek(SeekFrom::Start(range.start))?;
            self.left = range.end - range.start;
        }
        let read = Read::take(&mut self.file, self.left).read(buffer)?;
        self.left -= read as u64;
        Ok(read)
    }
}
