//! Builds tables by counting: one pass counts the buckets, one scatters the entries. Only the few fingerprints within
//! a bucket of the first table are sorted.

use super::table::Shape;

/// Counts how many of `bits` are in each bucket of the shape; the last item is 0.
pub(crate) fn count(shape: &Shape, bits: impl Iterator<Item = u64>) -> Vec<u32> {
    let mut counts = vec![0u32; shape.bucket_count() + 1];
    add_counts(shape, bits, &mut counts);
    counts
}

/// Adds to the result of [`count`].
pub(crate) fn add_counts(shape: &Shape, bits: impl Iterator<Item = u64>, counts: &mut [u32]) {
    for bits in bits {
        let bucket = shape.bucket_of(bits);
        if shape.buckets.contains(&bucket)
            && let Some(count) = counts.get_mut((bucket - shape.buckets.start) as usize)
        {
            *count += 1;
        }
    }
}

/// Turns counts into the start of each bucket and returns the total.
pub(crate) fn starts(counts: &mut [u32]) -> u32 {
    let mut at = 0;
    for count in counts {
        at += std::mem::replace(count, at);
    }
    at
}

/// Writes the starts of buckets as a directory.
pub(crate) fn write_directory(starts: &[u32], out: &mut [u8]) {
    let (slots, _) = out.as_chunks_mut::<4>();
    for (slot, start) in slots.iter_mut().zip(starts) {
        *slot = start.to_le_bytes();
    }
}

/// Calls `write` with the place, relative to `base`, of each of `bits` in `buckets`. Advances `cursors`, the starts
/// of all buckets.
#[inline(always)]
pub(crate) fn scatter(
    shape: &Shape,
    bits: impl Iterator<Item = u64>,
    buckets: &std::ops::Range<u64>,
    base: u32,
    cursors: &mut [u32],
    mut write: impl FnMut(usize, u64),
) {
    for bits in bits {
        let bucket = shape.bucket_of(bits);
        if buckets.contains(&bucket)
            && let Some(cursor) = cursors.get_mut((bucket - shape.buckets.start) as usize)
        {
            write((*cursor - base) as usize, bits);
            *cursor += 1;
        }
    }
}

/// Returns the ranges of buckets to build at once: at most `budget` bytes of entries each, or a single bucket.
pub(crate) fn ranges(shape: &Shape, starts: &[u32], budget: usize) -> Vec<std::ops::Range<u64>> {
    let mut ranges = Vec::new();
    let mut from = 0;
    let limit = u32::try_from((budget / shape.width).max(1)).unwrap_or(u32::MAX);
    for bucket in 0..shape.bucket_count() {
        let (Some(start), Some(end)) = (starts.get(from), starts.get(bucket + 1)) else { break };
        if end - start > limit && bucket > from {
            ranges.push(shape.buckets.start + from as u64..shape.buckets.start + bucket as u64);
            from = bucket;
        }
    }
    ranges.push(shape.buckets.start + from as u64..shape.buckets.end);
    ranges
}
