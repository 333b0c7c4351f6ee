//! All near pairs of a set, table by table and bucket by bucket.

use super::join::{LARGE, join};
use super::source::Source;
use crate::tables::Simd;
use crate::tables::buffer::Buffer;
use crate::tables::build;
use crate::tables::table::Shape;
use crate::{Fingerprint, Layout, Result};

/// A pair of near fingerprints, the smaller value first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    /// The smaller one.
    pub a: Fingerprint,
    /// The larger one, or the same again if it stands in the input more than once.
    pub b: Fingerprint,
    /// Their Hamming distance.
    pub distance: u32,
}

/// How a batch is worked off.
#[derive(Clone, Debug)]
pub struct BatchOptions {
    /// Bytes of fingerprints held at once. A set that is larger is read several times for each
    /// table. Default 1 GiB.
    pub memory_bytes: usize,
    /// The instructions of the scan. Default: the best that the machine has.
    pub simd: Simd,
}

impl Default for BatchOptions {
    fn default() -> Self {
        Self { memory_bytes: 1 << 30, simd: Simd::detect() }
    }
}

/// How far a batch has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Fingerprints done, over all tables.
    pub done: u64,
    /// Fingerprints to do, over all tables.
    pub total: u64,
    /// Pairs found.
    pub pairs: u64,
}

/// What is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Two distinct values within the distance.
    Near(Pair),
    /// A value that stands in the input more than once, and how often.
    Repeated(Fingerprint, u64),
}

/// Calls `visit` with every near pair and every repeated value of a set, each once, in no order
/// that means anything (but the same one on every run), and `progress` now and then.
///
/// For each table, buckets are counted and the fingerprints scattered into them, as many buckets at
/// once as fit into memory; then the values of each bucket are compared. A pair is reported by the
/// first table that could find it, so no set of pairs is kept.
///
/// # Errors
/// Those of the source.
///
/// # Complexity
/// For `n` values and `t` tables, `t * (2 + n * 8 / memory)` readings of the source, and `t * n`
/// times the size of a bucket in comparisons. Memory: `memory_bytes`, about two bytes a value for
/// the directory and a copy of it, and the values of a bucket; of its pairs only those of at most
/// 2,047 values. A layout that probes (a radius above 0) is replaced by the plain blocks of its
/// distance.
///
/// # References
/// Manku, Jain, Das Sarma, WWW 2007, section 3.2 (the batch version).
pub fn find_each<S: Source + ?Sized>(
    source: &S,
    layout: &Layout,
    options: &BatchOptions,
    mut visit: impl FnMut(Found),
    mut progress: impl FnMut(Progress),
) -> Result<()> {
    if source.len() > u64::from(u32::MAX) {
        return Err(crate::Error::TooMany(source.len()));
    }
    // Probing would ask each bucket's values for the variants of their leads too.
    let plain = layout.leads().iter().all(|lead| lead.radius == 0);
    let blocks = if plain { None } else { Layout::for_distance(layout.distance()).ok() };
    let layout = blocks.as_ref().unwrap_or(layout);
    let distance = layout.distance();
    let tables = layout.leads().len() as u64;
    let mut state = Progress { done: 0, total: source.len() * tables, pairs: 0 };
    for (number, &lead) in layout.leads().iter().enumerate() {
        let shape = Shape::new(lead, source.len(), false);
        let mut counts = vec![0; shape.bucket_count() + 1];
        source.for_each(&mut |piece| build::add_counts(&shape, bits(piece), &mut counts))?;
        build::starts(&mut counts);
        let starts = counts;
        let ranges = build::ranges(&shape, &starts, options.memory_bytes);
        let whole = |range: &std::ops::Range<u64>| {
            let at = |bucket: u64| starts.get(bucket as usize).copied().unwrap_or(0) as usize;
            at(range.end) - at(range.start)
        };
        let largest = ranges.iter().map(whole).max().unwrap_or(0);
        let mut entries = Buffer::zeroed(shape.entry_bytes(largest));
        let mut values: Vec<u64> = Vec::new();
        let mut near: Vec<Pair> = Vec::new();
        for range in ranges {
            let mut cursors = starts.clone();
            let base = starts.get(range.start as usize).copied().unwrap_or(0) as usize;
            source.for_each(&mut |piece| {
                let out = entries.as_mut();
                build::scatter(&shape, bits(piece), &range, base as u32, &mut cursors, out);
            })?;
            let (eights, _) = entries.as_chunks::<8>();
            for bucket in range.clone() {
                let (Some(&from), Some(&to)) =
                    (starts.get(bucket as usize), starts.get(bucket as usize + 1))
                else {
                    break;
                };
                let Some(bucket) = eights.get(from as usize - base..to as usize - base) else {
                    break;
                };
                if bucket.len() < 2 {
                    continue;
                }
                values.clear();
                values.extend(bucket.iter().map(|eight| u64::from_le_bytes(*eight)));
                // What an earlier table finds too is not even kept: a bucket may hold many of them.
                let first = |a: u64, b: u64| {
                    let (a, b) =
                        (Fingerprint::from_bits(a.min(b)), Fingerprint::from_bits(a.max(b)));
                    let pair = || Pair { a, b, distance: a.distance(b) };
                    (layout.first_table(a, b) == Some(number)).then(pair)
                };
                near.clear();
                let mut repeated = values.len() >= LARGE;
                if !repeated {
                    join(&mut values, distance, options.simd, &mut |a, b| {
                        repeated |= a == b;
                        near.extend(first(a, b));
                    });
                }
                // Equal values are rare: they are looked for only where a pair of them was seen.
                if repeated {
                    near.clear();
                    distinct(&mut values, |value, times| {
                        if number == 0 {
                            state.pairs += 1;
                            visit(Found::Repeated(Fingerprint::from_bits(value), times));
                        }
                    });
                    join(&mut values, distance, options.simd, &mut |a, b| {
                        if let Some(pair) = first(a, b) {
                            state.pairs += 1;
                            visit(Found::Near(pair));
                        }
                    });
                }
                for pair in near.drain(..) {
                    state.pairs += 1;
                    visit(Found::Near(pair));
                }
            }
            state.done += whole(&range) as u64;
            progress(state);
        }
    }
    Ok(())
}

/// Removes repeated values, and reports each with how often it was there.
fn distinct(values: &mut Vec<u64>, mut repeated: impl FnMut(u64, u64)) {
    values.sort_unstable();
    for group in values.chunk_by(|a, b| a == b) {
        if let [value, _, ..] = group {
            repeated(*value, group.len() as u64);
        }
    }
    values.dedup();
}

fn bits(piece: &[Fingerprint]) -> impl Iterator<Item = u64> + '_ {
    piece.iter().map(|fingerprint| fingerprint.bits())
}
