//! One table: fingerprints ordered by the leading bits of a mask, with a directory of those bits.
//!
//! A fingerprint is in the bucket of its `directory_bits` highest lead bits. The directory has the start of each
//! bucket; a packed entry omits the bits that its bucket implies. This is Elias-Fano coding with the low part in
//! whole bytes: within a byte of the minimum for a sorted set, and each bucket can be read alone.
//!
//! References: P. Elias, *Efficient storage and retrieval by content and address of static files*, JACM 1974; Manku,
//! Jain, Das Sarma, WWW 2007, section 3.2 (their Huffman blocks save a few more bits and must be decoded from the
//! start).

use std::ops::Range;

use super::bits::{Compress, highest};
use super::simd::{Scan, prefetch};
use crate::layout::Lead;

/// The average number of fingerprints per bucket.
pub(crate) const BUCKET_TARGET: u64 = 4;
/// 2^30 buckets have a directory of 4 GiB.
pub(crate) const MAX_DIRECTORY_BITS: u32 = 30;
/// Lines of a bucket that software prefetches; the hardware prefetches the rest of a long one.
const PREFETCHED_LINES: usize = 3;
/// Bytes after the last entry, so that it can be read as eight bytes.
pub(crate) const SLACK: usize = 8;

/// The shape of one table, derived from its lead and the number of fingerprints.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) lead: Lead,
    pub(crate) directory_bits: u32,
    pub(crate) width: usize,
    /// The buckets in this shard of the table; all buckets without sharding.
    pub(crate) buckets: Range<u64>,
    bucket: Compress,
    rest: Compress,
}

impl Shape {
    /// Returns the shape for about `count` fingerprints.
    pub(crate) fn new(lead: Lead, count: u64, packed: bool) -> Self {
        let wanted = (count / BUCKET_TARGET).checked_ilog2().unwrap_or(0);
        Self::with_bits(lead, wanted.min(lead.bits()).min(MAX_DIRECTORY_BITS), packed)
    }

    pub(crate) fn with_bits(lead: Lead, directory_bits: u32, packed: bool) -> Self {
        let mask = highest(lead.mask, directory_bits);
        let width = if packed { (64 - directory_bits).div_ceil(8) as usize } else { 8 };
        Self {
            lead,
            directory_bits,
            width,
            buckets: 0..1 << directory_bits,
            bucket: Compress::new(mask),
            // An entry of eight bytes is the whole fingerprint.
            rest: Compress::new(if width < 8 { !mask } else { u64::MAX }),
        }
    }

    /// Returns the part of the table whose `bits` leading bits are `number`; empty if it does not exist.
    pub(crate) fn shard(mut self, bits: u32, number: u64) -> Self {
        let each = self.directory_bits.saturating_sub(bits);
        let parts = 1u64 << self.directory_bits.min(bits);
        self.buckets = if number < parts { number << each..(number + 1) << each } else { 0..0 };
        self
    }

    #[inline(always)]
    pub(crate) fn bucket_of(&self, bits: u64) -> u64 {
        self.bucket.extract(bits)
    }

    #[inline(always)]
    pub(crate) fn entry_of(&self, bits: u64) -> u64 {
        if self.width == 8 { bits } else { self.rest.extract(bits) }
    }

    #[inline(always)]
    pub(crate) fn fingerprint(&self, bucket: u64, entry: u64) -> u64 {
        if self.width == 8 { entry } else { self.bucket.deposit(bucket) | self.rest.deposit(entry) }
    }

    pub(crate) fn bucket_count(&self) -> usize {
        (self.buckets.end - self.buckets.start) as usize
    }

    pub(crate) fn directory_bytes(&self) -> usize {
        4 * (self.bucket_count() + 1)
    }

    pub(crate) fn entry_bytes(&self, count: usize) -> usize {
        count * self.width + SLACK
    }

    #[inline(always)]
    pub(crate) fn write_entry(&self, out: &mut [u8], place: usize, bits: u64) {
        if self.width == 8 {
            if let Some(slot) = out.as_chunks_mut::<8>().0.get_mut(place) {
                *slot = bits.to_le_bytes();
            }
            return;
        }
        let entry = self.entry_of(bits).to_le_bytes();
        let slot = out.get_mut(place * self.width..(place + 1) * self.width);
        if let (Some(slot), Some(bytes)) = (slot, entry.get(..self.width)) {
            slot.copy_from_slice(bytes);
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Bucket {
    pub(super) number: u64,
    pub(super) places: Range<usize>,
    /// The number of bits in which the bucket differs from the query's bucket.
    pub(super) flips: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Table<'a> {
    pub(crate) shape: &'a Shape,
    /// The start of each bucket, as u32, and the end of the last.
    pub(crate) directory: &'a [u8],
    pub(crate) entries: &'a [u8],
    /// The offsets of directory and entries in the buffer.
    pub(crate) at: (usize, usize),
}

impl<'a> Table<'a> {
    pub(crate) fn len(&self) -> usize {
        self.entries.len().saturating_sub(SLACK) / self.shape.width
    }

    #[inline(always)]
    pub(crate) fn prefetch_directory(&self, bucket: u64) {
        prefetch(self.directory, (bucket - self.shape.buckets.start) as usize * 4);
    }

    /// Returns the places of a bucket's entries; an invalid directory gives an empty range.
    #[inline(always)]
    pub(crate) fn range(&self, bucket: u64) -> Range<usize> {
        let at = (bucket - self.shape.buckets.start) as usize * 4;
        let Some(eight) = self.directory.get(at..).and_then(|rest| rest.first_chunk::<8>()) else {
            return 0..0;
        };
        // One load for both ends.
        let both = u64::from_le_bytes(*eight);
        both as u32 as usize..(both >> 32) as usize
    }

    /// Returns the bytes that [`range`](Self::range) reads.
    #[inline(always)]
    pub(crate) fn directory_range(&self, bucket: u64) -> Range<usize> {
        let at = self.at.0 + (bucket - self.shape.buckets.start) as usize * 4;
        at..at + 8
    }

    /// Returns the bytes of entries, with those read beyond a packed one.
    #[inline(always)]
    pub(crate) fn entry_range(&self, places: &Range<usize>) -> Range<usize> {
        let (start, end) = (places.start * self.shape.width, places.end * self.shape.width);
        self.at.1 + start..self.at.1 + end + if self.shape.width < 8 { SLACK } else { 0 }
    }

    #[inline(always)]
    pub(crate) fn prefetch_entries(&self, range: &Range<usize>) {
        let (start, end) = (range.start * self.shape.width, range.end * self.shape.width);
        for line in 0..PREFETCHED_LINES {
            let at = (start & !63) + 64 * line;
            if at < end {
                prefetch(self.entries, at);
            }
        }
    }

    /// Calls `visit` with place and fingerprint of each entry of a bucket within `limit` bits of the query.
    #[inline(always)]
    pub(super) fn scan<S: Scan>(
        &self,
        scan: S,
        bucket: Bucket,
        query: u64,
        limit: u32,
        mut visit: impl FnMut(usize, u64),
    ) {
        let width = self.shape.width;
        let Some(bytes) = self.entries.get(bucket.places.start * width..) else { return };
        let count = bucket.places.end.saturating_sub(bucket.places.start);
        let limit = if width == 8 { limit } else { limit.saturating_sub(bucket.flips) };
        let entry = self.shape.entry_of(query);
        scan.scan(bytes, count, width, entry, limit, &mut |place, entry| {
            visit(bucket.places.start + place, self.shape.fingerprint(bucket.number, entry));
        });
    }

    pub(crate) fn fingerprints(self) -> impl Iterator<Item = u64> + Clone + 'a {
        self.placed().map(|(_, bits)| bits)
    }

    pub(crate) fn placed(self) -> impl Iterator<Item = (u64, u64)> + Clone + 'a {
        let width = self.shape.width;
        let mask = if width == 8 { u64::MAX } else { (1 << (8 * width)) - 1 };
        self.shape.buckets.clone().flat_map(move |bucket| {
            self.range(bucket).map(move |place| {
                let eight =
                    self.entries.get(place * width..).and_then(|rest| rest.first_chunk::<8>());
                let entry = u64::from_le_bytes(eight.copied().unwrap_or_default()) & mask;
                (bucket, self.shape.fingerprint(bucket, entry))
            })
        })
    }
}
