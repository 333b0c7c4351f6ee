//! Counts pairs of site and line in bounded memory: partitions them into temporary files by the hash of the line, and
//! sorts one partition at a time.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};

use crate::error::{Context, Result};

const PARTS: usize = 64;
/// Pairs of a partition that are buffered in memory: 256 KiB.
const WAITING: usize = 16_384;
const PAIR: usize = 16;
fn files() -> String {
    format!("temporary files of the export in {} (TMPDIR)", std::env::temp_dir().display())
}

#[derive(Debug)]
pub(super) struct Counter {
    parts: Vec<Part>,
}

#[derive(Debug, Default)]
struct Part {
    waiting: Vec<(u64, u64)>,
    file: Option<File>,
}

impl Default for Counter {
    fn default() -> Self {
        Self { parts: (0..PARTS).map(|_| Part::default()).collect() }
    }
}

impl Counter {
    pub(super) fn add(&mut self, site: u64, line: u64) -> Result<()> {
        let part = usize::try_from(line % PARTS as u64).unwrap_or(0);
        let Some(part) = self.parts.get_mut(part) else { return Ok(()) };
        part.waiting.push((site, line));
        if part.waiting.len() < WAITING { Ok(()) } else { part.write() }
    }

    /// Calls `each` with every pair and its count, partition by partition, in the order of hashes.
    pub(super) fn count(self, each: &mut impl FnMut(u64, u64, u32)) -> Result<()> {
        for part in self.parts {
            let mut pairs = part.read()?;
            pairs.sort_unstable();
            for equal in pairs.chunk_by(|a, b| a == b) {
                if let Some(&(site, line)) = equal.first() {
                    each(site, line, u32::try_from(equal.len()).unwrap_or(u32::MAX));
                }
            }
        }
        Ok(())
    }
}

impl Part {
    fn write(&mut self) -> Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile().with_context(files)?),
        };
        let bytes = self.waiting.iter().flat_map(|(site, line)| [*site, *line]);
        let bytes: Vec<u8> = bytes.flat_map(u64::to_le_bytes).collect();
        self.waiting.clear();
        file.write_all(&bytes).with_context(files)
    }

    fn read(mut self) -> Result<Vec<(u64, u64)>> {
        let Some(file) = &mut self.file else { return Ok(self.waiting) };
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0)).with_context(files)?;
        file.read_to_end(&mut bytes).with_context(files)?;
        let (pairs, _) = bytes.as_chunks::<PAIR>();
        self.waiting.extend(pairs.iter().map(|pair| {
            let both = u128::from_le_bytes(*pair);
            #[expect(clippy::cast_possible_truncation, reason = "its halves")]
            (both as u64, (both >> 64) as u64)
        }));
        Ok(self.waiting)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn pairs_are_counted_in_memory_and_in_files() {
        for pairs in [1_000_u64, 3 * (PARTS * WAITING) as u64] {
            let (mut counter, mut expected) = (Counter::default(), BTreeMap::new());
            for i in 0..pairs {
                // Seven sites, and one partition that is larger than the others.
                let (site, line) = (i % 7, if i % 2 == 0 { 64 } else { i % 1_001 });
                counter.add(site, line).unwrap();
                *expected.entry((site, line)).or_insert(0) += 1;
            }
            assert_eq!(pairs > 1_000, counter.parts.iter().any(|part| part.file.is_some()));
            let mut counted = BTreeMap::new();
            counter
                .count(&mut |site, line, times| {
                    assert_eq!(counted.insert((site, line), times), None);
                })
                .unwrap();
            assert_eq!(counted, expected);
        }
    }
}
