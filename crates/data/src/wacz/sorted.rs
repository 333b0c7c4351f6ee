//! Sorts lines in bounded memory, with temporary files.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};

use crate::error::{Context, Result};

/// Bytes of lines in memory before they are sorted and written.
const IN_MEMORY: usize = 32 << 20;

fn files() -> String {
    format!("temporary files of the export in {} (TMPDIR)", std::env::temp_dir().display())
}

/// Lines to be sorted by their bytes.
#[derive(Debug)]
pub(super) struct SortedLines {
    lines: Vec<String>,
    bytes: usize,
    in_memory: usize,
    runs: Vec<File>,
}

impl SortedLines {
    pub(super) fn new() -> Self {
        Self { lines: Vec::new(), bytes: 0, in_memory: IN_MEMORY, runs: Vec::new() }
    }

    /// Adds a line, without a line break.
    pub(super) fn add(&mut self, line: String) -> Result<()> {
        self.bytes += line.len();
        self.lines.push(line);
        if self.bytes > self.in_memory { self.spill() } else { Ok(()) }
    }

    fn spill(&mut self) -> Result<()> {
        self.lines.sort_unstable();
        let mut out = BufWriter::new(tempfile::tempfile().with_context(files)?);
        for line in self.lines.drain(..) {
            writeln!(out, "{line}").with_context(files)?;
        }
        let mut file = out.into_inner().map_err(|error| error.into_error()).with_context(files)?;
        file.seek(SeekFrom::Start(0)).with_context(files)?;
        self.runs.push(file);
        self.bytes = 0;
        Ok(())
    }

    /// Calls `each` with every line, in order.
    pub(super) fn finish(mut self, mut each: impl FnMut(String) -> Result<()>) -> Result<()> {
        if self.runs.is_empty() {
            self.lines.sort_unstable();
            return self.lines.into_iter().try_for_each(each);
        }
        self.spill()?;
        let mut runs: Vec<_> =
            self.runs.into_iter().map(|run| BufReader::new(run).lines()).collect();
        let mut heads = BinaryHeap::new();
        for (number, run) in runs.iter_mut().enumerate() {
            if let Some(line) = run.next() {
                heads.push(Reverse((line.with_context(files)?, number)));
            }
        }
        while let Some(Reverse((line, number))) = heads.pop() {
            if let Some(next) = runs.get_mut(number).and_then(Iterator::next) {
                heads.push(Reverse((next.with_context(files)?, number)));
            }
            each(line)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_sorted_in_memory_and_over_files() {
        let lines: Vec<String> = (0..500u64).map(|n| format!("{} {n}", n * 7919 % 101)).collect();
        let mut expected = lines.clone();
        expected.sort();
        for in_memory in [usize::MAX, 1000, 0] {
            let mut sorted = SortedLines { in_memory, ..SortedLines::new() };
            lines.iter().for_each(|line| sorted.add(line.clone()).unwrap());
            let mut found = Vec::new();
            let take = |line| {
                found.push(line);
                Ok(())
            };
            sorted.finish(take).unwrap();
            assert_eq!(found, expected, "{in_memory}");
        }
    }
}
