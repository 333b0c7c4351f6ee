//! Building tables by counting: one pass counts the buckets, one scatters the entries. Nothing is
//! sorted but the few fingerprints of a bucket of the first table.

use super::table::Shape;

/// Counts how many of `bits` lie in each bucket of the shape; the result's last item is 0.
pub(crate) fn count(shape: &Shape, bits: impl Iterator<Item = u64>) -> Vec<u32> {
    let mut counts = vec![0u32; shape.bucket_count() + 1];
    add_counts(shape, bits, &mut counts);
    counts
}

/// Adds to counts that [`count`] began.
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

/// Turns counts into where each bucket begins.
pub(crate) fn starts(counts: &mut [u32]) -> u32 {
    let mut at = 0;
    for count in counts {
        at += std::mem::replace(count, at);
    }
    at
}

/// Writes where buckets begin as a directory.
pub(crate) fn write_directory(starts: &[u32], out: &mut [u8]) {
    let (slots, _) = out.as_chunks_mut::<4>();
    for (slot, start) in slots.iter_mut().zip(starts) {
        *slot = start.to_le_bytes();
    }
}

/// Calls `write` with the place of each of those of `bits` that lie in `buckets`, counted from number
/// `base` of the table. `cursors` are the starts of all buckets, and move.
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

/// The ranges of buckets that are built at once: each of at most `budget` bytes of entries, but of
/// one bucket at least.
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
