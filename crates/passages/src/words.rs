//! The words of all documents, on disk.

use std::path::Path;

use crate::error::Result;
use crate::options::MAX_WORDS_PER_DOCUMENT;
use crate::scratch::Scratch;

#[derive(Debug)]
pub(crate) struct Words {
    file: Scratch,
    /// Index behind the last word of each document.
    ends: Vec<u64>,
}

impl Words {
    pub(crate) fn create(folder: &Path) -> Result<Self> {
        Ok(Self { file: Scratch::create(folder)?, ends: Vec::new() })
    }

    /// Adds a document, which is cut at [`MAX_WORDS_PER_DOCUMENT`].
    pub(crate) fn push(&mut self, words: &[u64]) -> Result<()> {
        self.file.push(words.iter().take(MAX_WORDS_PER_DOCUMENT).copied())?;
        self.ends.push(self.file.len());
        Ok(())
    }

    pub(crate) fn flush(&mut self) -> Result<()> {
        self.file.flush()
    }

    /// The number of documents.
    pub(crate) const fn documents(&self) -> usize {
        self.ends.len()
    }

    fn start(&self, document: u32) -> u64 {
        let before = (document as usize).checked_sub(1).and_then(|before| self.ends.get(before));
        before.copied().unwrap_or(0)
    }

    /// Returns the number of words of a document.
    #[expect(clippy::cast_possible_truncation, reason = "documents are cut")]
    pub(crate) fn count(&self, document: u32) -> usize {
        let end = self.ends.get(document as usize).copied().unwrap_or(0);
        (end - self.start(document).min(end)) as usize
    }

    /// Appends words of a document to `into`, from index `from` to `to` or its end.
    pub(crate) fn read(
        &self,
        document: u32,
        from: usize,
        to: usize,
        bytes: &mut Vec<u8>,
        into: &mut Vec<u64>,
    ) -> Result<()> {
        let to = to.min(self.count(document));
        if from >= to {
            return Ok(());
        }
        self.file.read(self.start(document) + from as u64, to - from, bytes, into)
    }

    /// Returns the words of a document.
    pub(crate) fn all(&self, document: u32) -> Result<Vec<u64>> {
        let (mut bytes, mut words) = (Vec::new(), Vec::new());
        self.read(document, 0, usize::MAX, &mut bytes, &mut words)?;
        Ok(words)
    }
}
