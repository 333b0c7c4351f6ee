//! Checksums of blocks: written with a file, and checked at the first read by any process except the writer.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::dir::Output;
use crate::error::{Error, Result};
use crate::tables::buffer::Buffer;

/// Bytes per block. A CRC-32 detects every error burst of up to 32 bits in a block of any length.
pub(crate) const BLOCK: usize = 64 << 10;

/// Writes a file front to back and collects the checksum of each block.
#[derive(Debug)]
pub(crate) struct BlockWriter {
    path: PathBuf,
    out: Box<dyn Output>,
    buffer: Vec<u8>,
    written: u64,
    /// The bytes of the buffer that are already in the file.
    published: usize,
    crcs: Vec<u32>,
}

impl BlockWriter {
    pub(crate) fn new(path: PathBuf, out: Box<dyn Output>) -> Self {
        Self {
            path,
            out,
            buffer: Vec::with_capacity(BLOCK),
            written: 0,
            published: 0,
            crcs: Vec::new(),
        }
    }

    pub(crate) fn position(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let room = (BLOCK - self.buffer.len()).min(bytes.len());
            let (now, later) = bytes.split_at(room);
            self.buffer.extend_from_slice(now);
            bytes = later;
            if self.buffer.len() == BLOCK {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Pads with zeroes to a multiple of 64 bytes, a cache line.
    pub(crate) fn align(&mut self) -> Result<()> {
        let missing = self.position().next_multiple_of(64) - self.position();
        self.write([0; 64].get(..missing as usize).unwrap_or_default())
    }

    fn flush(&mut self) -> Result<()> {
        if !self.buffer.is_empty() {
            self.publish()?;
            self.crcs.push(crc32fast::hash(&self.buffer));
            self.written += self.buffer.len() as u64;
            self.buffer.clear();
            self.published = 0;
        }
        Ok(())
    }

    /// Writes everything so far into the file, so that it can be read back.
    pub(crate) fn publish(&mut self) -> Result<()> {
        let fresh = self.buffer.get(self.published..).unwrap_or_default();
        if !fresh.is_empty() {
            self.out.write(fresh).map_err(Error::io(&self.path))?;
            self.published = self.buffer.len();
        }
        Ok(())
    }

    /// Ends the checked part. Bytes written later have no block checksum.
    pub(crate) fn finish_blocks(&mut self) -> Result<Vec<u32>> {
        self.flush()?;
        Ok(std::mem::take(&mut self.crcs))
    }

    pub(crate) fn finish(mut self, tail: &[u8]) -> Result<()> {
        self.flush()?;
        self.out.write(tail).map_err(Error::io(&self.path))?;
        self.out.sync().map_err(Error::io(&self.path))
    }
}

/// A file's bytes. Each block is checked at its first use, unless this process has just written it.
#[derive(Debug)]
pub(crate) struct Checked {
    path: PathBuf,
    pub(crate) data: Arc<Buffer>,
    crcs: Vec<u32>,
    last: usize,
    /// One bit per block: checked.
    seen: Vec<AtomicU64>,
}

impl Checked {
    /// Creates a view whose first `body` bytes have checksums. `trusted` bytes were just written by this process.
    pub(crate) fn new(
        path: &Path,
        data: Arc<Buffer>,
        body: usize,
        crcs: Vec<u32>,
        trusted: bool,
    ) -> Self {
        let fill = if trusted { u64::MAX } else { 0 };
        let seen = (0..crcs.len().div_ceil(64)).map(|_| AtomicU64::new(fill)).collect();
        let last = body - crcs.len().saturating_sub(1).saturating_mul(BLOCK).min(body);
        Self { path: path.to_owned(), data, crcs, last, seen }
    }

    /// Checks the unchecked blocks in a range.
    #[inline(always)]
    pub(crate) fn touch(&self, range: Range<usize>) -> Result<()> {
        let first = range.start / BLOCK;
        let last = range.end.saturating_sub(1).max(range.start) / BLOCK;
        for block in first..=last {
            let word = self.seen.get(block / 64);
            let seen = word.is_some_and(|w| w.load(Ordering::Relaxed) >> (block % 64) & 1 == 1);
            if !seen {
                self.check(block)?;
            }
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn check(&self, block: usize) -> Result<()> {
        let (Some(word), Some(&crc)) = (self.seen.get(block / 64), self.crcs.get(block)) else {
            return Ok(());
        };
        let length = if block + 1 == self.crcs.len() { self.last } else { BLOCK };
        let bytes = self.data.get(block * BLOCK..block * BLOCK + length).unwrap_or_default();
        if crc32fast::hash(bytes) != crc {
            return Err(Error::Corrupt {
                path: self.path.clone(),
                offset: (block * BLOCK) as u64,
                what: "a block does not match its checksum",
            });
        }
        word.fetch_or(1 << (block % 64), Ordering::Relaxed);
        Ok(())
    }

    /// Checks the blocks in a range, even checked ones.
    pub(crate) fn recheck(&self, range: Range<usize>) -> Result<()> {
        let blocks = range.start / BLOCK..range.end.div_ceil(BLOCK);
        if range.is_empty() { Ok(()) } else { blocks.into_iter().try_for_each(|b| self.check(b)) }
    }

    pub(crate) fn verify(&self) -> Result<()> {
        self.seen.iter().for_each(|word| word.store(0, Ordering::Relaxed));
        (0..self.crcs.len()).try_for_each(|block| self.check(block))
    }

    #[inline]
    pub(crate) fn get(&self, range: Range<usize>) -> Result<&[u8]> {
        self.touch(range.clone())?;
        self.data.get(range.clone()).ok_or_else(|| Error::Corrupt {
            path: self.path.clone(),
            offset: range.start as u64,
            what: "a section ends outside of the file",
        })
    }

    pub(crate) fn corrupt(&self, offset: usize, what: &'static str) -> Error {
        Error::Corrupt { path: self.path.clone(), offset: offset as u64, what }
    }
}
