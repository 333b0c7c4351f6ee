//! Finds all near pairs of a set, table by table and bucket by bucket.

use std::ops::Range;

use super::join::{LARGE, join};
use super::source::Source;
use crate::tables::Simd;
use crate::tables::buffer::Buffer;
use crate::tables::build;
use crate::tables::table::Shape;
use crate::{Fingerprint, Layout, Result};

/// Values per part of a table, so that a part is sorted into buckets within a core's cache: 256 KiB.
const PART: u64 = 1 << 15;
/// With more parts, the lines being written side by side would exceed that cache.
const MAX_PART_BITS: u32 = 11;

/// A pair of near fingerprints, the smaller value first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    /// The smaller value.
    pub a: Fingerprint,
    /// The larger value, or the same value if it is repeated in the input.
    pub b: Fingerprint,
    /// Their Hamming distance.
    pub distance: u32,
}

/// Options of a batch.
#[derive(Clone, Debug)]
pub struct BatchOptions {
    /// Bytes of fingerprints in memory at once. A larger set is read several times for each table. Default 1 GiB.
    pub memory_bytes: usize,
    /// The instruction set of the scan. Default: the best that the machine supports.
    pub simd: Simd,
}

impl Default for BatchOptions {
    fn default() -> Self {
        Self { memory_bytes: 1 << 30, simd: Simd::detect() }
    }
}

/// The progress of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Fingerprints done, over all tables.
    pub done: u64,
    /// Fingerprints to do, over all tables.
    pub total: u64,
    /// Pairs found.
    pub pairs: u64,
}

/// A result of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Two distinct values within the distance.
    Near(Pair),
    /// A repeated value, and its number of occurrences.
    Repeated(Fingerprint, u64),
}

/// Calls `visit` with every near pair and every repeated value of a set once, in an arbitrary but reproducible order,
/// and `progress` after each pass.
///
/// For each table it splits the fingerprints into parts by their leading bits, with as many parts at once as fit into
/// memory. Within the cache it splits each part into buckets and compares their values. The first table that could
/// find a pair reports it, so no set of pairs is kept.
///
/// # Errors
/// Those of the source; `TooMany` above 2^32 - 1 values.
///
/// # Complexity
/// For `n` values and `t` tables: `t * (2 + n * 8 / memory)` reads of the source, and `t * n` times the bucket size
/// in comparisons. Memory: `memory_bytes`, plus one part: 256 KiB or 1/2,048 of all values, more if leading bits are
/// unevenly distributed. Pairs are kept only for one bucket of at most 2,047 values. A layout that probes (a radius
/// above 0) is replaced by the plain blocks of its distance.
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
    // Probing would have to compare buckets with the variants of their leads too.
    let plain = layout.leads().iter().all(|lead| lead.radius == 0);
    let blocks = if plain { None } else { Layout::for_distance(layout.distance()).ok() };
    let layout = blocks.as_ref().unwrap_or(layout);
    let tables = layout.leads().len() as u64;
    let part = PART.min(options.memory_bytes as u64 / 32).max(1);
    let part_bits = (source.len() / part).checked_ilog2().unwrap_or(0).min(MAX_PART_BITS);
    let mut state = Progress { done: 0, total: source.len() * tables, pairs: 0 };
    let mut near: Vec<Pair> = Vec::new();
    let mut buckets = Buckets::default();
    // The system zeroes new memory, so all tables reuse one buffer.
    let mut buffer = Buffer::zeroed(0);
    for (number, &lead) in layout.leads().iter().enumerate() {
        let table = Join { layout, number, simd: options.simd };
        let shape = Shape::new(lead, source.len(), false);
        let parts = Shape::with_bits(lead, part_bits.min(shape.directory_bits), false);
        let mut starts = vec![0; parts.bucket_count() + 1];
        source.for_each(&mut |piece| build::add_counts(&parts, bits(piece), &mut starts))?;
        build::starts(&mut starts);
        let ranges = build::ranges(&parts, &starts, options.memory_bytes);
        let places = |range: &Range<u64>| {
            let at = |part: u64| starts.get(part as usize).copied().unwrap_or(0) as usize;
            at(range.start)..at(range.end)
        };
        let largest = ranges.iter().map(|range| places(range).len()).max().unwrap_or(0);
        if buffer.len() < 8 * largest {
            buffer = Buffer::zeroed(8 * largest);
        }
        for range in ranges {
            let mut cursors = starts.clone();
            let base = places(&range).start;
            let (entries, _) = buffer.as_mut().as_chunks_mut::<8>();
            source.for_each(&mut |piece| {
                let write = |place: usize, bits: u64| {
                    if let Some(entry) = entries.get_mut(place) {
                        *entry = bits.to_le_bytes();
                    }
                };
                build::scatter(&parts, bits(piece), &range, base as u32, &mut cursors, write);
            })?;
            for part in range.clone() {
                let places = places(&(part..part + 1));
                let entries = entries.get(places.start - base..places.end - base);
                let shard = shape.clone().shard(parts.directory_bits, part);
                buckets.fill(&shard, entries.unwrap_or_default());
                buckets.each(|bucket| {
                    table.join(bucket, &mut near, |found| {
                        state.pairs += 1;
                        visit(found);
                    });
                });
            }
            state.done += places(&range).len() as u64;
            progress(state);
        }
    }
    Ok(())
}

struct Join<'a> {
    layout: &'a Layout,
    number: usize,
    simd: Simd,
}

impl Join<'_> {
    /// Reports the pairs that this table is the first to find in a bucket. `near` is a reused buffer.
    fn join(&self, bucket: &mut [u64], near: &mut Vec<Pair>, mut report: impl FnMut(Found)) {
        let distance = self.layout.distance();
        // Skips pairs that an earlier table finds: a bucket may have thousands of them.
        let first = |a: u64, b: u64| {
            let (a, b) = (Fingerprint::from_bits(a.min(b)), Fingerprint::from_bits(a.max(b)));
            let pair = || Pair { a, b, distance: a.distance(b) };
            (self.layout.first_table(a, b) == Some(self.number)).then(pair)
        };
        near.clear();
        let mut repeated = bucket.len() >= LARGE;
        if !repeated {
            join(bucket, distance, self.simd, &mut |a, b| {
                repeated |= a == b;
                near.extend(first(a, b));
            });
        }
        // Equal values are rare, so they are searched only after an equal pair was seen.
        if repeated {
            near.clear();
            let bucket = distinct(bucket, |value, times| {
                if self.number == 0 {
                    report(Found::Repeated(Fingerprint::from_bits(value), times));
                }
            });
            join(bucket, distance, self.simd, &mut |a, b| {
                if let Some(pair) = first(a, b) {
                    report(Found::Near(pair));
                }
            });
        }
        near.drain(..).for_each(|pair| report(Found::Near(pair)));
    }
}

/// A part of a table, ordered by buckets.
#[derive(Default)]
struct Buckets {
    values: Vec<u64>,
    /// The end of each bucket.
    ends: Vec<u32>,
}

impl Buckets {
    fn fill(&mut self, shape: &Shape, part: &[[u8; 8]]) {
        let values = || part.iter().map(|eight| u64::from_le_bytes(*eight));
        self.ends.clear();
        self.ends.resize(shape.bucket_count() + 1, 0);
        build::add_counts(shape, values(), &mut self.ends);
        build::starts(&mut self.ends);
        self.values.resize(part.len(), 0);
        let out = &mut self.values;
        let write = |place: usize, bits: u64| {
            if let Some(slot) = out.get_mut(place) {
                *slot = bits;
            }
        };
        build::scatter(shape, values(), &shape.buckets, 0, &mut self.ends, write);
    }

    /// Calls `visit` with each bucket of more than one value.
    fn each(&mut self, mut visit: impl FnMut(&mut [u64])) {
        let mut from = 0;
        for &end in &self.ends {
            if end - from > 1
                && let Some(bucket) = self.values.get_mut(from as usize..end as usize)
            {
                visit(bucket);
            }
            from = end;
        }
    }
}

/// Returns the distinct values, and reports each repeated one with its number of occurrences.
fn distinct(values: &mut [u64], mut repeated: impl FnMut(u64, u64)) -> &mut [u64] {
    values.sort_unstable();
    let (mut kept, mut at) = (0, 0);
    while let Some(&value) = values.get(at) {
        let times = values.iter().skip(at).take_while(|other| **other == value).count();
        if times > 1 {
            repeated(value, times as u64);
        }
        if let Some(slot) = values.get_mut(kept) {
            *slot = value;
        }
        kept += 1;
        at += times;
    }
    values.get_mut(..kept).unwrap_or_default()
}

fn bits(piece: &[Fingerprint]) -> impl Iterator<Item = u64> + '_ {
    piece.iter().map(|fingerprint| fingerprint.bits())
}
