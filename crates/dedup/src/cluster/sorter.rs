//! External sorting: sorted runs in a temporary file, merged as they are read.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::temporary::Temporary;
use crate::{Error, Result};

/// The smallest piece, in bytes, in which a run is read.
const LEAST_PIECE: usize = 4096;

/// Sorts rows of numbers and removes repeated ones.
///
/// # Complexity
/// `n log n` comparisons. Memory: the given bytes, or 4 KiB per run if that is more. Disk: `8 * N` bytes per row that
/// does not fit into memory.
///
/// # References
/// Knuth, *The Art of Computer Programming*, volume 3, section 5.4 (external sorting).
#[derive(Debug)]
pub struct Sorter<const N: usize> {
    folder: PathBuf,
    rows: Vec<[u64; N]>,
    most: usize,
    file: Option<Temporary>,
    runs: Vec<Range<u64>>,
}

impl<const N: usize> Sorter<N> {
    /// Creates a sorter that keeps about this number of bytes in memory and the rest in a file in `folder`.
    pub fn new(folder: &Path, memory_bytes: usize) -> Self {
        const { assert!(N > 0, "a row has a number") };
        let most = (memory_bytes / (8 * N)).max(16);
        Self { folder: folder.to_owned(), rows: Vec::new(), most, file: None, runs: Vec::new() }
    }

    /// Adds a row.
    ///
    /// # Errors
    /// [`Error::Io`], for example a full disk.
    pub fn push(&mut self, row: [u64; N]) -> Result<()> {
        if self.rows.len() >= self.most {
            self.rows.sort_unstable();
            self.rows.dedup();
            // Removing repeated rows may have freed enough space.
            if self.rows.len() > self.most / 2 {
                self.spill()?;
            }
        }
        self.rows.push(row);
        Ok(())
    }

    fn spill(&mut self) -> Result<()> {
        let temporary = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(Temporary::nameless(&self.folder)?),
        };
        let io = Error::io(&temporary.path);
        let start = self.runs.last().map_or(0, |run| run.end);
        // A failed write may have left a part of itself.
        if let Err(error) = temporary.file.seek(SeekFrom::Start(start)) {
            return Err(io(error));
        }
        let mut out = std::io::BufWriter::with_capacity(1 << 16, &temporary.file);
        let mut numbers = self.rows.iter().flatten();
        let written = numbers.try_for_each(|number| out.write_all(&number.to_le_bytes()));
        written.and_then(|()| out.flush()).map_err(io)?;
        let end = start + (self.rows.len() * 8 * N) as u64;
        self.runs.push(start..end);
        self.rows.clear();
        Ok(())
    }

    /// Returns the rows in ascending order, each once.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn sorted(mut self) -> Result<Sorted<N>> {
        self.rows.sort_unstable();
        self.rows.dedup();
        if self.file.is_some() {
            if !self.rows.is_empty() {
                self.spill()?;
            }
            // Frees the memory for the pieces of the runs.
            self.rows = Vec::new();
        }
        let each = (self.most * 8 * N / self.runs.len().max(1)).max(LEAST_PIECE) / (8 * N) * 8 * N;
        let run = |left: Range<u64>| Run { left, piece: Vec::new(), at: 0, each: each.max(8 * N) };
        let mut sorted = Sorted {
            memory: std::mem::take(&mut self.rows).into_iter(),
            file: self.file,
            runs: self.runs.into_iter().map(run).collect(),
            heads: BinaryHeap::new(),
            last: None,
        };
        for number in 0..sorted.runs.len() {
            sorted.advance(number)?;
        }
        Ok(sorted)
    }
}

#[derive(Debug)]
struct Run {
    left: Range<u64>,
    piece: Vec<u8>,
    at: usize,
    each: usize,
}

/// An iterator over rows in ascending order, each once.
#[derive(Debug)]
pub struct Sorted<const N: usize> {
    memory: std::vec::IntoIter<[u64; N]>,
    file: Option<Temporary>,
    runs: Vec<Run>,
    /// The next row of each run.
    heads: BinaryHeap<Reverse<([u64; N], usize)>>,
    last: Option<[u64; N]>,
}

impl<const N: usize> Sorted<N> {
    /// Adds the next row of a run to the heads.
    fn advance(&mut self, number: usize) -> Result<()> {
        let (Some(run), Some(temporary)) = (self.runs.get_mut(number), &mut self.file) else {
            return Ok(());
        };
        if run.at == run.piece.len() {
            let length = (run.left.end - run.left.start).min(run.each as u64);
            if length == 0 {
                run.piece = Vec::new();
                run.at = 0;
                return Ok(());
            }
            run.piece.resize(length as usize, 0);
            let file = &mut temporary.file;
            let read = file.seek(SeekFrom::Start(run.left.start));
            let read = read.and_then(|_| file.read_exact(&mut run.piece));
            read.map_err(Error::io(&temporary.path))?;
            (run.left.start, run.at) = (run.left.start + length, 0);
        }
        let bytes = run.piece.get(run.at..run.at + 8 * N).unwrap_or_default();
        let (eights, _) = bytes.as_chunks::<8>();
        let mut row = [0; N];
        row.iter_mut().zip(eights).for_each(|(number, eight)| *number = u64::from_le_bytes(*eight));
        run.at += 8 * N;
        self.heads.push(Reverse((row, number)));
        Ok(())
    }

    fn next_row(&mut self) -> Result<Option<[u64; N]>> {
        if self.file.is_none() {
            return Ok(self.memory.next());
        }
        while let Some(Reverse((row, run))) = self.heads.pop() {
            self.advance(run)?;
            if self.last != Some(row) {
                self.last = Some(row);
                return Ok(Some(row));
            }
        }
        Ok(None)
    }
}

impl<const N: usize> Iterator for Sorted<N> {
    type Item = Result<[u64; N]>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_row().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rows_come_in_order_each_once_however_little_memory_there_is(
            rows in prop::collection::vec((0u64..40, any::<u64>(), 0u64..3), 0..600),
            memory in 0usize..20_000,
        ) {
            let folder = tempfile::tempdir().unwrap();
            let rows = rows.into_iter().map(|(a, b, c)| [a, b % 7, c]);
            let mut sorter = Sorter::new(folder.path(), memory);
            rows.clone().for_each(|row| sorter.push(row).unwrap());
            let sorted: Vec<[u64; 3]> =
                sorter.sorted().unwrap().collect::<Result<_>>().unwrap();
            let expected: std::collections::BTreeSet<[u64; 3]> = rows.collect();
            prop_assert_eq!(sorted, expected.into_iter().collect::<Vec<_>>());
            prop_assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        }
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let mut sorter = Sorter::new(Path::new("/no such folder"), 0);
        let error = (0..99).find_map(|number| sorter.push([number]).err()).unwrap();
        assert!(error.to_string().contains("/no such folder"), "{error}");
    }
}
