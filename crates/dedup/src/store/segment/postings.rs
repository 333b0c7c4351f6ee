//! Sorted lists from a 32-bit key to rows, in groups: digests, keys and the bands of sketches.
//!
//! An entry is key and row in eight bytes; a directory of the leading bits of group and key says
//! where each bucket begins.

use std::ops::Range;

use super::blocks::{BlockWriter, Checked};
use crate::error::Result;
use crate::tables::build;
use crate::tables::simd::prefetch;

/// Buckets hold so many entries on average.
const TARGET: u64 = 4;

/// Where one set of lists lies in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Postings {
    pub(crate) groups: u32,
    /// Leading bits of the key that choose the bucket.
    pub(crate) bits: u32,
    pub(crate) directory: Range<usize>,
    pub(crate) entries: Range<usize>,
}

/// What to put into the lists: group, key, row; may be gone through several times.
pub(crate) type Feed<'a> = dyn Fn(&mut dyn FnMut(u32, u32, u32)) -> Result<()> + 'a;

impl Postings {
    fn bucket(&self, group: u32, key: u32) -> usize {
        let leading = if self.bits == 0 { 0 } else { key >> (32 - self.bits) };
        ((group as usize) << self.bits) + leading as usize
    }

    /// Writes the lists for about `count` entries a group, holding `budget` bytes at a time, and at
    /// most `cap` rows a key; returns how many rows were left out.
    pub(crate) fn write(
        out: &mut BlockWriter,
        groups: u32,
        count: u64,
        cap: usize,
        budget: usize,
        feed: &Feed<'_>,
    ) -> Result<(Self, u64)> {
        let bits = (count / TARGET).checked_ilog2().unwrap_or(0).min(28);
        let mut lists = Self { groups, bits, directory: 0..0, entries: 0..0 };
        let buckets = (groups as usize) << bits;
        let mut starts = vec![0u32; buckets + 1];
        feed(&mut |group, key, _| {
            if let Some(count) = starts.get_mut(lists.bucket(group, key)) {
                *count += 1;
            }
        })?;
        build::starts(&mut starts);

        let mut ends = Vec::with_capacity(buckets + 1);
        let (mut kept, mut capped) = (0u32, 0);
        ends.push(0);
        lists.entries.start = out.position() as usize;
        let mut from = 0;
        while from < buckets {
            let base = starts.get(from).copied().unwrap_or(0);
            let room = u32::try_from((budget / 8).max(1)).unwrap_or(u32::MAX);
            let limit = base.saturating_add(room);
            let mut to = from + 1;
            while to < buckets && starts.get(to + 1).is_some_and(|end| *end <= limit) {
                to += 1;
            }
            let end = starts.get(to).copied().unwrap_or(base);
            let mut entries = vec![0u64; (end - base) as usize];
            let mut cursors: Vec<u32> = starts.get(from..to).unwrap_or_default().to_vec();
            feed(&mut |group, key, row| {
                let bucket = lists.bucket(group, key);
                if (from..to).contains(&bucket)
                    && let Some(cursor) = cursors.get_mut(bucket - from)
                    && let Some(entry) = entries.get_mut((*cursor - base) as usize)
                {
                    *entry = u64::from(key) << 32 | u64::from(row);
                    *cursor += 1;
                }
            })?;
            for bucket in from..to {
                let at = |i: usize| (starts.get(i).copied().unwrap_or(0) - base) as usize;
                let entries = entries.get_mut(at(bucket)..at(bucket + 1)).unwrap_or_default();
                entries.sort_unstable();
                for list in entries.chunk_by(|a, b| a >> 32 == b >> 32) {
                    capped += list.len().saturating_sub(cap) as u64;
                    for entry in list.iter().take(cap) {
                        out.write(&entry.to_le_bytes())?;
                        kept += 1;
                    }
                }
                ends.push(kept);
            }
            from = to;
        }
        lists.entries.end = out.position() as usize;
        out.align()?;
        lists.directory.start = out.position() as usize;
        for end in ends {
            out.write(&end.to_le_bytes())?;
        }
        lists.directory.end = out.position() as usize;
        out.align()?;
        Ok((lists, capped))
    }

    /// Asks for the line of a bucket's ends.
    pub(crate) fn prefetch_directory(&self, data: &Checked, group: u32, key: u32) {
        if self.directory.start < self.directory.end {
            prefetch(&data.data, self.directory.start + 4 * self.bucket(group, key));
        }
    }

    /// Asks for the first line of a bucket.
    pub(crate) fn prefetch_entries(&self, data: &Checked, group: u32, key: u32) {
        let at = self.directory.start + 4 * self.bucket(group, key);
        let four = data.data.get(at..).and_then(|rest| rest.first_chunk::<4>());
        if let Some(start) = four.filter(|_| at < self.directory.end) {
            prefetch(&data.data, self.entries.start + 8 * u32::from_le_bytes(*start) as usize);
        }
    }

    /// Calls `visit` with the rows of a key, in ascending order.
    pub(crate) fn get(
        &self,
        data: &Checked,
        group: u32,
        key: u32,
        mut visit: impl FnMut(u32),
    ) -> Result<()> {
        if self.directory.is_empty() {
            return Ok(());
        }
        let at = self.directory.start + 4 * self.bucket(group, key);
        let both = data.get(at..at + 8)?.first_chunk::<8>().copied().unwrap_or_default();
        let both = u64::from_le_bytes(both);
        let (start, end) = ((both & 0xffff_ffff) as usize, (both >> 32) as usize);
        if start >= end {
            return Ok(());
        }
        let entries = self.entries.start + 8 * start..self.entries.start + 8 * end;
        if entries.end > self.entries.end {
            return Err(data.corrupt(at, "a bucket ends outside of its section"));
        }
        for entry in data.get(entries)?.as_chunks::<8>().0 {
            let entry = u64::from_le_bytes(*entry);
            if (entry >> 32) as u32 == key {
                visit(entry as u32);
            }
        }
        Ok(())
    }
}
