//! A nameless temporary file of integers: the system removes it when the process ends, even if it is killed.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Integers that are buffered before a write: 512 KiB.
const BUFFER: usize = 64 << 10;

#[derive(Debug)]
pub(crate) struct Scratch {
    folder: PathBuf,
    file: File,
    /// Integers in the file.
    written: u64,
    waiting: Vec<u64>,
}

impl Scratch {
    pub(crate) fn create(folder: &Path) -> Result<Self> {
        let file = tempfile::tempfile_in(folder)
            .map_err(|source| Error::Io { folder: folder.to_owned(), source })?;
        Ok(Self { folder: folder.to_owned(), file, written: 0, waiting: Vec::new() })
    }

    fn checked<T>(&self, result: io::Result<T>) -> Result<T> {
        result.map_err(|source| Error::Io { folder: self.folder.clone(), source })
    }

    /// The number of integers.
    pub(crate) fn len(&self) -> u64 {
        self.written + self.waiting.len() as u64
    }

    /// Appends integers.
    pub(crate) fn push(&mut self, numbers: impl IntoIterator<Item = u64>) -> Result<()> {
        self.waiting.extend(numbers);
        if self.waiting.len() < BUFFER { Ok(()) } else { self.flush() }
    }

    /// Writes the buffered integers; only these can be read.
    pub(crate) fn flush(&mut self) -> Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let bytes: Vec<u8> = self.waiting.iter().flat_map(|number| number.to_le_bytes()).collect();
        let written = (&self.file)
            .seek(SeekFrom::Start(self.written * 8))
            .and_then(|_| (&self.file).write_all(&bytes));
        self.checked(written)?;
        self.written += self.waiting.len() as u64;
        self.waiting.clear();
        Ok(())
    }

    /// Appends `count` integers from index `at` to `into`. `bytes` is a buffer.
    pub(crate) fn read(
        &self,
        at: u64,
        count: usize,
        bytes: &mut Vec<u8>,
        into: &mut Vec<u64>,
    ) -> Result<()> {
        bytes.resize(count * 8, 0);
        let read = read_at(&self.file, bytes, at * 8);
        self.checked(read)?;
        let (numbers, _) = bytes.as_chunks::<8>();
        into.extend(numbers.iter().map(|number| u64::from_le_bytes(*number)));
        Ok(())
    }
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, at)
}

#[cfg(windows)]
fn read_at(file: &File, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let read = std::os::windows::fs::FileExt::seek_read(file, bytes, at)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes = bytes.get_mut(read..).unwrap_or_default();
        at += read as u64;
    }
    Ok(())
}
