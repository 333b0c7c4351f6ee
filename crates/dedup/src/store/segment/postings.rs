//! Sorted lists from a 32-bit key to rows, in groups: digests, keys, bands of sketches and names.
//!
//! An entry is key and row in eight bytes. A directory over the leading bits of group and key gives the start of each
//! bucket.

use std::ops::Range;

use super::blocks::{BlockWriter, Checked};
use super::sorting::{Spool, by_bucket};
use crate::error::Result;
use crate::tables::simd::prefetch;

/// The average number of entries per bucket.
const TARGET: u64 = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Postings {
    pub(crate) groups: u32,
    /// The number of leading key bits that choose the bucket.
    pub(crate) bits: u32,
    pub(crate) directory: Range<usize>,
    pub(crate) entries: Range<usize>,
}

pub(crate) struct Writer<'a, F> {
    pub(crate) out: &'a mut BlockWriter,
    /// Bytes of memory for sorting.
    pub(crate) budget: usize,
    pub(crate) ends: F,
}

impl<'a, F: Fn() -> Spool<'a>> Writer<'a, F> {
    /// Writes lists of the items (group, key, row) that each call of `feed` returns. `count` is the expected maximum
    /// per group; at most `cap` rows per key are kept. Returns the number of rows left out.
    pub(crate) fn write<I: Iterator<Item = (u32, u32, u32)>>(
        &mut self,
        groups: u32,
        count: u64,
        cap: usize,
        feed: impl Fn() -> I,
    ) -> Result<(Postings, u64)> {
        if count == 0 {
            return Ok((Postings { groups, bits: 0, directory: 0..0, entries: 0..0 }, 0));
        }
        let out = &mut *self.out;
        let bits = (count / TARGET).checked_ilog2().unwrap_or(0).min(28);
        let mut lists = Postings { groups, bits, directory: 0..0, entries: 0..0 };
        let buckets = (groups as usize) << bits;
        let all = (u64::from(groups) * count) as usize;
        let (mut kept, mut capped) = (0u32, 0);
        let mut ends = (self.ends)();
        ends.push(0)?;
        let start = out.position() as usize;
        let feed = || {
            let entry = |(group, key, row)| {
                (lists.bucket(group, key), u64::from(key) << 32 | u64::from(row))
            };
            feed().map(entry)
        };
        by_bucket(buckets, all, self.budget, feed, |entries| {
            entries.sort_unstable();
            for list in entries.chunk_by(|a, b| a >> 32 == b >> 32) {
                capped += list.len().saturating_sub(cap) as u64;
                for entry in list.iter().take(cap) {
                    out.write(&entry.to_le_bytes())?;
                    kept += 1;
                }
            }
            ends.push(kept)
        })?;
        lists.entries = start..out.position() as usize;
        out.align()?;
        lists.directory = ends.write(out)?;
        Ok((lists, capped))
    }
}

impl Postings {
    pub(super) fn bucket(&self, group: u32, key: u32) -> usize {
        let leading = if self.bits == 0 { 0 } else { key >> (32 - self.bits) };
        ((group as usize) << self.bits) + leading as usize
    }

    /// Prefetches the first or the second line that the look-up of a key in a group reads.
    pub(crate) fn prefetch(&self, data: &Checked, (group, key): (u32, u32), second: bool) {
        if group >= self.groups {
            return;
        }
        if second {
            self.prefetch_entries(data, group, key);
        } else {
            self.prefetch_directory(data, group, key);
        }
    }

    fn prefetch_directory(&self, data: &Checked, group: u32, key: u32) {
        if self.directory.start < self.directory.end {
            prefetch(&data.data, self.directory.start + 4 * self.bucket(group, key));
        }
    }

    fn prefetch_entries(&self, data: &Checked, group: u32, key: u32) {
        let at = self.directory.start + 4 * self.bucket(group, key);
        let four = data.data.get(at..).and_then(|rest| rest.first_chunk::<4>());
        if let Some(start) = four.filter(|_| at < self.directory.end) {
            prefetch(&data.data, self.entries.start + 8 * u32::from_le_bytes(*start) as usize);
        }
    }

    /// Calls `visit` with each key and row of all groups, bucket by bucket.
    pub(crate) fn each(&self, data: &Checked, mut visit: impl FnMut(u32, u32)) -> Result<()> {
        if self.directory.is_empty() {
            return Ok(());
        }
        for group in 0..self.groups {
            for leading in 0..1u64 << self.bits {
                let first = (leading << (32 - self.bits)) as u32;
                for entry in self.bucket_of(data, group, first)? {
                    let entry = u64::from_le_bytes(*entry);
                    let key = (entry >> 32) as u32;
                    if self.bucket(group, key) != self.bucket(group, first) {
                        let what = "an entry is in the wrong bucket of a list";
                        return Err(data.corrupt(self.entries.start, what));
                    }
                    visit(key, entry as u32);
                }
            }
        }
        Ok(())
    }

    /// Returns the rows of a key, in ascending order.
    pub(crate) fn get<'a>(
        &self,
        data: &'a Checked,
        group: u32,
        key: u32,
    ) -> Result<impl DoubleEndedIterator<Item = u32> + use<'a>> {
        let entries = self.bucket_of(data, group, key)?.iter();
        let entries = entries.map(|entry| u64::from_le_bytes(*entry));
        Ok(entries.filter(move |entry| (entry >> 32) as u32 == key).map(|entry| entry as u32))
    }

    pub(super) fn bucket_of<'a>(
        &self,
        data: &'a Checked,
        group: u32,
        key: u32,
    ) -> Result<&'a [[u8; 8]]> {
        // Segments of earlier versions have no lists of names.
        if self.directory.is_empty() || group >= self.groups {
            return Ok(&[]);
        }
        let at = self.directory.start + 4 * self.bucket(group, key);
        let both = data.get(at..at + 8)?.first_chunk::<8>().copied().unwrap_or_default();
        let both = u64::from_le_bytes(both);
        let (start, end) = ((both & 0xffff_ffff) as usize, (both >> 32) as usize);
        if start >= end {
            return Ok(&[]);
        }
        let entries = self.entries.start + 8 * start..self.entries.start + 8 * end;
        if entries.end > self.entries.end {
            return Err(data.corrupt(at, "a bucket ends outside of its section"));
        }
        Ok(data.get(entries)?.as_chunks::<8>().0)
    }
}
