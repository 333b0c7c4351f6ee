//! Finds all near pairs within one bucket.

use crate::layout::{MAX_DISTANCE, cut};
use crate::tables::Simd;

/// From this size on a bucket is split again by the bits in which its values differ: a million values would cost
/// 10^12 / 2 comparisons.
pub(super) const LARGE: usize = 2048;

/// Calls `visit` with each pair of distinct values of the bucket within `limit` bits.
pub(super) fn join(values: &mut [u64], limit: u32, simd: Simd, visit: &mut dyn FnMut(u64, u64)) {
    let blocks = limit + 1;
    let varying = if values.len() < LARGE { 0 } else { varying(values) };
    if varying.count_ones() < 2 * blocks || limit > MAX_DISTANCE {
        return simd.scan_pairs(values, limit, visit);
    }
    // The pigeonhole principle over the remaining bits: near values agree in some block, and the first such block
    // reports the pair.
    let masks = cut(varying, blocks);
    for (number, &mask) in masks.iter().enumerate() {
        values.sort_unstable_by_key(|value| value & mask);
        let earlier = masks.get(..number).unwrap_or_default();
        for group in values.chunk_by_mut(|a, b| (a ^ b) & mask == 0) {
            if group.len() > 1 {
                join(group, limit, simd, &mut |a, b| {
                    if earlier.iter().all(|mask| (a ^ b) & mask != 0) {
                        visit(a, b);
                    }
                });
            }
        }
    }
}

fn varying(values: &[u64]) -> u64 {
    let first = values.first().copied().unwrap_or(0);
    values.iter().fold(0, |bits, value| bits | value ^ first)
}
