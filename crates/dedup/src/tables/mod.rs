//! Permuted tables for fixed and for growing sets of fingerprints.

pub(crate) mod bits;
mod buckets;
pub(crate) mod buffer;
pub(crate) mod build;
pub(crate) mod growing;
mod index;
mod line;
mod lines;
mod long;
mod lookup;
mod moving;
pub(crate) mod pages;
pub(crate) mod simd;
pub(crate) mod table;

use std::ops::Range;
use std::sync::Arc;

use self::buffer::Buffer;
use self::table::{Shape, Table};
use crate::{Fingerprint, Layout};

pub use self::growing::GrowingTables;
pub use self::index::{MemoryIndex, Offered};
pub use self::simd::Simd;

/// A near fingerprint and the table that found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Near {
    /// The stored fingerprint.
    pub fingerprint: Fingerprint,
    /// Its Hamming distance from the query.
    pub distance: u32,
    /// The index of the first table in which the two are candidates.
    pub table: usize,
}

/// Options for building [`Tables`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableOptions {
    /// Omit from each entry the bits that its bucket implies: 5 to 7 bytes per entry instead of 8, at 0.9 to 1.05
    /// times the speed. Default off.
    pub packed: bool,
    /// Keep only the entries whose lead begins with these bits. Default: all.
    pub shard: Option<Shard>,
    /// The instruction set of the scan. Default: the best that the machine supports.
    pub simd: Simd,
}

impl Default for TableOptions {
    fn default() -> Self {
        Self { packed: false, shard: None, simd: Simd::detect() }
    }
}

/// One of `2^bits` parts of every table, by the leading bits of its lead. All shards of a set together find each
/// match of the whole tables once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// The number of leading bits that select a shard; at most those of the shortest lead (or 30) are used.
    pub bits: u32,
    /// The shard's number, below `2^bits`; shards with larger numbers are empty.
    pub number: u64,
}

/// Distinct fingerprints in the permuted tables of one [`Layout`].
///
/// # Complexity
/// A query reads `probes` buckets: a directory line and about four entries each, which costs `2 * probes` cache
/// lines. Building counts and scatters once per table. A table takes 8 bytes per fingerprint (5 to 7 if packed) and
/// about one for its directory.
///
/// ```
/// use hapax_dedup::{Fingerprint, Layout, Tables};
/// let stored: Vec<Fingerprint> = [0b0000, 0b0111, 0xffff_ffff].map(Fingerprint::from_bits).to_vec();
/// let tables = Tables::build(&stored, &Layout::for_distance(3)?);
/// let near = tables.near(Fingerprint::from_bits(0b0001));
/// assert_eq!(near.iter().map(|n| (n.fingerprint.bits(), n.distance)).collect::<Vec<_>>(), [(0, 1), (7, 2)]);
/// # Ok::<(), hapax_dedup::LayoutError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tables {
    layout: Layout,
    tables: Vec<Stored>,
    data: Arc<Buffer>,
    simd: Simd,
    probes: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) shape: Shape,
    pub(crate) directory: Range<usize>,
    pub(crate) entries: Range<usize>,
}

impl Tables {
    /// Builds tables of these fingerprints; repeated ones are stored once.
    pub fn build(fingerprints: &[Fingerprint], layout: &Layout) -> Self {
        Self::with_options(fingerprints, layout, &TableOptions::default())
    }

    /// Builds tables with options. Only the smallest 2^32 - 1 distinct fingerprints are stored: use [shards](Shard)
    /// of smaller sets, or a [`Store`](crate::Store), for more.
    pub fn with_options(
        fingerprints: &[Fingerprint],
        layout: &Layout,
        options: &TableOptions,
    ) -> Self {
        let mut distinct = Vec::new();
        let mut distinct: &[Fingerprint] = if fingerprints.is_sorted_by(|a, b| a < b) {
            fingerprints
        } else {
            distinct.extend_from_slice(fingerprints);
            distinct.sort_unstable();
            distinct.dedup();
            &distinct
        };
        distinct = distinct.get(..distinct.len().min(u32::MAX as usize)).unwrap_or(distinct);
        let bits = || distinct.iter().map(|fingerprint| fingerprint.bits());

        let shortest = layout.leads().iter().map(|lead| lead.bits()).min().unwrap_or(0);
        let most = shortest.min(table::MAX_DIRECTORY_BITS);
        let mut at = 0;
        let mut tables = Vec::new();
        let mut all_starts = Vec::new();
        for &lead in layout.leads() {
            let mut shape = Shape::new(lead, distinct.len() as u64, options.packed);
            if let Some(shard) = options.shard {
                let cut = shard.bits.min(most);
                shape = Shape::with_bits(lead, shape.directory_bits.max(cut), options.packed)
                    .shard(cut, shard.number);
            }
            let mut starts = build::count(&shape, bits());
            let total = build::starts(&mut starts);
            let directory = at..at + shape.directory_bytes();
            // Aligned to a line, so that no entry of eight bytes crosses two lines.
            let first = directory.end.next_multiple_of(64);
            let entries = first..first + shape.entry_bytes(total as usize);
            at = entries.end.next_multiple_of(64);
            tables.push(Stored { shape, directory, entries });
            all_starts.push(starts);
        }
        let mut data = Buffer::zeroed(at);
        for (table, mut starts) in tables.iter().zip(all_starts) {
            let out = data.as_mut();
            if let Some(out) = out.get_mut(table.directory.clone()) {
                build::write_directory(&starts, out);
            }
            if let Some(out) = out.get_mut(table.entries.clone()) {
                let all = table.shape.buckets.clone();
                let write = |place, bits| table.shape.write_entry(out, place, bits);
                build::scatter(&table.shape, bits(), &all, 0, &mut starts, write);
            }
        }
        Self::from_parts(layout.clone(), tables, Arc::new(data), options.simd)
    }

    pub(crate) fn from_parts(
        layout: Layout,
        tables: Vec<Stored>,
        data: Arc<Buffer>,
        simd: Simd,
    ) -> Self {
        let probes = layout.probes();
        Self { layout, tables, data, simd, probes }
    }

    /// Returns the layout.
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the number of stored distinct fingerprints; for a shard, that of its first table.
    pub fn len(&self) -> usize {
        self.table(0).map_or(0, |table| table.len())
    }

    /// Returns whether the tables are empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes of the tables.
    pub fn bytes(&self) -> u64 {
        let of = |stored: &Stored| stored.directory.len() + stored.entries.len();
        self.tables.iter().map(|stored| of(stored) as u64).sum()
    }

    /// Returns all fingerprints in the order of the first table, that of [`rank`](Self::rank).
    pub fn fingerprints(&self) -> impl Iterator<Item = Fingerprint> + '_ {
        let table = self.table(0).into_iter();
        table.flat_map(|table| table.fingerprints().map(Fingerprint::from_bits))
    }

    pub(crate) fn table(&self, number: usize) -> Option<Table<'_>> {
        let stored = self.tables.get(number)?;
        Some(Table {
            shape: &stored.shape,
            directory: self.data.get(stored.directory.clone())?,
            entries: self.data.get(stored.entries.clone())?,
            at: (stored.directory.start, stored.entries.start),
        })
    }

    /// Returns the same tables for another distance: only the radii of the leads change.
    ///
    /// # Errors
    /// As [`Layout::with_distance`].
    pub fn with_distance(&self, distance: u32) -> Result<Self, crate::LayoutError> {
        let layout = self.layout.with_distance(distance)?;
        // Each table has a copy of its radius.
        let mut tables = self.tables.clone();
        for (table, lead) in tables.iter_mut().zip(layout.leads()) {
            table.shape.lead = *lead;
        }
        Ok(Self::from_parts(layout, tables, Arc::clone(&self.data), self.simd))
    }
}

#[cfg(test)]
mod tests;
