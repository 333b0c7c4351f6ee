//! Where a batch comes from: memory, or a file that is read anew for each pass.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::{Error, Fingerprint, Result};

/// So many fingerprints are handed on at once.
const PIECE: usize = 8192;

/// Fingerprints that can be read from the start as often as needed.
pub trait Source {
    /// How many there are.
    fn len(&self) -> u64;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Calls `visit` with all of them, piece by piece, in the same order each time.
    ///
    /// # Errors
    /// Those of reading.
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

/// Fingerprints in a temporary file, 8 bytes each, which is removed at the end.
#[derive(Debug)]
pub struct Spool {
    path: PathBuf,
    file: io::BufWriter<File>,
    len: u64,
}

impl Spool {
    /// An empty one in `folder`.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be made.
    pub fn create(folder: &Path) -> Result<Self> {
        for number in 0..1000 {
            let path = folder.join(format!("hapax-spool-{}-{number}", std::process::id()));
            match File::create_new(&path) {
                Ok(file) => return Ok(Self { path, file: io::BufWriter::new(file), len: 0 }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(Error::Io { path, source }),
            }
        }
        Err(Error::Io { path: folder.to_owned(), source: io::ErrorKind::AlreadyExists.into() })
    }

    /// Adds one.
    ///
    /// # Errors
    /// [`Error::Io`], for example a full disk.
    pub fn push(&mut self, fingerprint: Fingerprint) -> Result<()> {
        self.len += 1;
        self.file.write_all(&fingerprint.bits().to_le_bytes()).map_err(Error::io(&self.path))
    }

    /// Ends the writing.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn finish(&mut self) -> Result<()> {
        self.file.flush().map_err(Error::io(&self.path))
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Source for Spool {
    fn len(&self) -> u64 {
        self.len
    }

    fn for_each(&self, visit: &mut dyn FnMut(&[Fingerprint])) -> Result<()> {
        let mut file = File::open(&self.path).map_err(Error::io(&self.path))?;
        let mut bytes = vec![0; 8 * PIECE];
        let mut piece = Vec::with_capacity(PIECE);
        let mut left = self.len;
        while left > 0 {
            let count = left.min(PIECE as u64) as usize;
            let bytes = bytes.get_mut(..8 * count).unwrap_or_default();
            file.read_exact(bytes).map_err(Error::io(&self.path))?;
            piece.clear();
            let (eights, _) = bytes.as_chunks::<8>();
            piece.extend(eights.iter().map(|e| Fingerprint::from_bits(u64::from_le_bytes(*e))));
            visit(&piece);
            left -= count as u64;
        }
        Ok(())
    }
}
