//! The input of a batch: memory, or a file that is read again for each pass.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::temporary::Temporary;
use crate::{Error, Fingerprint, Result};

/// Fingerprints per call of the visitor.
const PIECE: usize = 8192;

/// Fingerprints that can be read repeatedly from the start.
pub trait Source {
    /// Returns the number of fingerprints.
    fn len(&self) -> u64;

    /// Returns whether the source is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Calls `visit` with all fingerprints, piece by piece, in the same order each time.
    ///
    /// # Errors
    /// Those of the underlying reads.
    fn for_each(&self, visit: &mut dyn FnMut(&[Fingerprint])) -> Result<()>;
}

impl Source for [Fingerprint] {
    fn len(&self) -> u64 {
        <[Fingerprint]>::len(self) as u64
    }

    fn for_each(&self, visit: &mut dyn FnMut(&[Fingerprint])) -> Result<()> {
        visit(self);
        Ok(())
    }
}

/// Fingerprints in a temporary file, 8 bytes each. The file has no name on Unix; elsewhere it is removed on drop.
#[derive(Debug)]
pub struct Spool {
    // Declared first, so that it is flushed before the file is removed.
    file: BufWriter<File>,
    temporary: Temporary,
    len: u64,
}

impl Spool {
    /// Creates an empty spool in `folder`.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be created.
    pub fn create(folder: &Path) -> Result<Self> {
        let temporary = Temporary::nameless(folder)?;
        let file = temporary.file.try_clone().map_err(Error::io(&temporary.path))?;
        Ok(Self { file: BufWriter::new(file), temporary, len: 0 })
    }

    /// Adds a fingerprint.
    ///
    /// # Errors
    /// [`Error::Io`], for example a full disk.
    pub fn push(&mut self, fingerprint: Fingerprint) -> Result<()> {
        self.len += 1;
        self.file
            .write_all(&fingerprint.bits().to_le_bytes())
            .map_err(Error::io(&self.temporary.path))
    }

    /// Flushes the file. Call it after the last fingerprint.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn finish(&mut self) -> Result<()> {
        self.file.flush().map_err(Error::io(&self.temporary.path))
    }
}

/// Reads a file from its start, independently of the write position.
#[cfg(unix)]
struct Reader<'a> {
    file: &'a File,
    at: u64,
}

#[cfg(unix)]
impl<'a> Reader<'a> {
    #[expect(clippy::unnecessary_wraps, reason = "the same as elsewhere")]
    fn new(temporary: &'a Temporary) -> io::Result<Self> {
        Ok(Self { file: &temporary.file, at: 0 })
    }

    fn fill(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(self.file, bytes, self.at)?;
        self.at += bytes.len() as u64;
        Ok(())
    }
}

#[cfg(not(unix))]
struct Reader(File);

#[cfg(not(unix))]
impl Reader {
    fn new(temporary: &Temporary) -> io::Result<Self> {
        File::open(&temporary.path).map(Self)
    }

    fn fill(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        io::Read::read_exact(&mut self.0, bytes)
    }
}

impl Source for Spool {
    fn len(&self) -> u64 {
        self.len
    }

    fn for_each(&self, visit: &mut dyn FnMut(&[Fingerprint])) -> Result<()> {
        let mut reader = Reader::new(&self.temporary).map_err(Error::io(&self.temporary.path))?;
        let mut bytes = vec![0; 8 * PIECE];
        let mut piece = Vec::with_capacity(PIECE);
        let mut left = self.len;
        while left > 0 {
            let count = left.min(PIECE as u64) as usize;
            let bytes = bytes.get_mut(..8 * count).unwrap_or_default();
            reader.fill(bytes).map_err(Error::io(&self.temporary.path))?;
            piece.clear();
            let (eights, _) = bytes.as_chunks::<8>();
            piece.extend(eights.iter().map(|e| Fingerprint::from_bits(u64::from_le_bytes(*e))));
            visit(&piece);
            left -= count as u64;
        }
        Ok(())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_spool_file_is_unlinked_so_that_a_kill_leaves_none() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::create(folder.path()).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let all: Vec<Fingerprint> = (0..20_000).map(Fingerprint::from_bits).collect();
        all.iter().for_each(|fingerprint| spool.push(*fingerprint).unwrap());
        spool.finish().unwrap();
        // Each pass starts at the beginning, even a nested one.
        let read = |spool: &Spool| {
            let mut found = Vec::new();
            spool.for_each(&mut |piece| found.extend_from_slice(piece)).unwrap();
            found
        };
        assert!(read(&spool) == all && read(&spool) == all);
        let mut inner = Vec::new();
        spool.for_each(&mut |_| inner = read(&spool)).unwrap();
        assert!(inner == all);
    }
}
