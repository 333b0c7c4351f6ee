//! The external sort: pairs of integers, partitioned on disk; one partition at a time is sorted in memory.

use std::path::Path;

use crate::error::Result;
use crate::scratch::Scratch;

pub(crate) const PARTS: usize = 256;
/// Pairs of a partition that are buffered: 64 KiB, so 16 MiB for all partitions.
const WAITING: usize = 4 << 10;

pub(crate) type Pair = [u64; 2];

#[derive(Debug)]
pub(crate) struct Parts {
    file: Scratch,
    parts: Vec<Part>,
}

#[derive(Debug, Default)]
struct Part {
    waiting: Vec<Pair>,
    /// Index of each block in the file; each has `WAITING` pairs.
    blocks: Vec<u64>,
}

impl Parts {
    pub(crate) fn create(folder: &Path) -> Result<Self> {
        let parts = (0..PARTS).map(|_| Part::default()).collect();
        Ok(Self { file: Scratch::create(folder)?, parts })
    }

    /// Adds a pair to a partition, below [`PARTS`].
    pub(crate) fn push(&mut self, part: usize, pair: Pair) -> Result<()> {
        let Some(part) = self.parts.get_mut(part) else { return Ok(()) };
        part.waiting.push(pair);
        if part.waiting.len() < WAITING {
            return Ok(());
        }
        part.blocks.push(self.file.len());
        self.file.push(part.waiting.drain(..).flatten())?;
        Ok(())
    }

    /// Makes all pairs readable.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.file.flush()
    }

    /// Returns the sorted pairs of a partition.
    pub(crate) fn sorted(&self, part: usize) -> Result<Vec<Pair>> {
        let Some(part) = self.parts.get(part) else { return Ok(Vec::new()) };
        let mut pairs = Vec::with_capacity(part.blocks.len() * WAITING + part.waiting.len());
        let (mut bytes, mut numbers) = (Vec::new(), Vec::new());
        for block in &part.blocks {
            numbers.clear();
            self.file.read(*block, 2 * WAITING, &mut bytes, &mut numbers)?;
            pairs.extend_from_slice(numbers.as_chunks::<2>().0);
        }
        pairs.extend_from_slice(&part.waiting);
        pairs.sort_unstable();
        Ok(pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_sorted_in_memory_and_from_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut parts = Parts::create(folder.path()).unwrap();
        let count = 3 * WAITING as u64 + 5;
        for number in (0..count).rev() {
            parts.push(7, [number / 2, number]).unwrap();
            parts.push(number as usize % 5, [number, 1]).unwrap();
        }
        parts.flush().unwrap();
        let expected: Vec<Pair> = (0..count).map(|number| [number / 2, number]).collect();
        assert_eq!(parts.sorted(7).unwrap(), expected);
        assert_eq!(parts.sorted(3).unwrap().first(), Some(&[3, 1]));
        assert!(parts.sorted(200).unwrap().is_empty());
        // The file has no name.
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
