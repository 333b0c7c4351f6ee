//! A segment: documents and their tables in one immutable file.

pub(crate) mod blocks;
pub(crate) mod build;
mod check;
mod collisions;
pub(crate) mod footer;
mod postings;
mod sorting;

use std::cmp::Ordering;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use self::blocks::Checked;
use self::build::LISTED;
use self::collisions::{Collisions, MAX_BUCKET};
use self::footer::Footer;
use super::columns::{COLUMNS, Column, Columns};
use super::memtable::digest_key;
use crate::dir::Contents;
use crate::error::Result;
use crate::record::DocId;
use crate::row::Row;
use crate::store::keys::Key;
use crate::tables::table::Shape;
use crate::tables::{Near, Simd, Stored, Tables};
use crate::{Error, Fingerprint, Layout};

#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) name: String,
    pub(crate) footer: Footer,
    pub(crate) bytes: u64,
    data: Checked,
    /// For the distance of the layout or of the store.
    tables: Tables,
    collisions: Collisions,
}

impl Segment {
    /// Opens a segment for look-ups within `distance`. `trusted` bytes were just written by this process.
    pub(crate) fn open(
        path: &Path,
        name: &str,
        contents: Contents,
        distance: u32,
        trusted: bool,
    ) -> Result<Self> {
        let footer = Footer::decode(path, &contents)?;
        let leads: Vec<_> = footer.tables.iter().map(|table| table.lead).collect();
        let layout = Layout::stored(leads, footer.distance);
        let tables = footer.tables.iter().map(|table| Stored {
            shape: Shape::with_bits(table.lead, table.directory_bits, table.width < 8),
            directory: table.directory.clone(),
            entries: table.entries.clone(),
        });
        let bytes = contents.len() as u64;
        let data = contents.0;
        let tables =
            Tables::from_parts(layout, tables.collect(), Arc::clone(&data), Simd::detect());
        let tables = tables.with_distance(distance).map_err(|_| Error::Distance(distance))?;
        let crcs = footer.crcs.clone();
        let data = Checked::new(path, data, footer.body, crcs, trusted);
        Ok(Self {
            name: name.to_owned(),
            bytes,
            data,
            tables,
            footer,
            collisions: Collisions::default(),
        })
    }

    /// Returns the number of distinct fingerprints in the tables.
    pub(crate) fn fingerprints(&self) -> usize {
        self.footer.documents.len() / size_of::<u32>()
    }

    pub(crate) fn ids(&self) -> Range<DocId> {
        self.footer.ids.clone()
    }

    pub(crate) fn layout(&self) -> &Layout {
        self.tables.layout()
    }

    /// Returns all columns unchecked; touch the parts before reading them.
    fn columns_untouched(&self) -> Columns<'_> {
        let bytes = |range: &Range<usize>| self.data.data.get(range.clone()).unwrap_or_default();
        let mut all: [&[u8]; COLUMNS.len()] = [&[]; COLUMNS.len()];
        for (slot, range) in all.iter_mut().zip(&self.footer.columns) {
            *slot = bytes(range);
        }
        Columns { rows: self.footer.rows as usize, bytes: all, keys: bytes(&self.footer.keys) }
    }

    /// Returns all columns after checking every byte now. A merge writes fresh checksums, which must not cover bytes
    /// that the disk has corrupted since the last check.
    pub(crate) fn columns_rechecked(&self) -> Result<Columns<'_>> {
        for range in self.footer.columns.iter().chain([&self.footer.keys]) {
            self.data.recheck(range.clone())?;
        }
        Ok(self.columns_untouched())
    }

    /// Returns all columns, of which only fingerprints, flags and keys may be read.
    pub(crate) fn columns_of_keys(&self) -> Result<Columns<'_>> {
        if !self.footer.keys.is_empty() {
            self.data.touch(self.footer.keys.clone())?;
        }
        self.columns_of(&[Column::Fingerprint, Column::Flags, Column::KeyEnd])
    }

    /// Returns all columns, of which only the given ones may be read.
    pub(crate) fn columns_of(&self, columns: &[Column]) -> Result<Columns<'_>> {
        for column in columns {
            let range = self.footer.columns.get(*column as usize).cloned().unwrap_or_default();
            if !range.is_empty() {
                self.data.touch(range)?;
            }
        }
        Ok(self.columns_untouched())
    }

    fn touch_field(&self, column: Column, row: usize) -> Result<()> {
        let range = self.footer.columns.get(column as usize).cloned().unwrap_or_default();
        if range.is_empty() {
            return Ok(());
        }
        let at = range.start + row * column.width();
        self.data.touch(at..at + column.width())
    }

    pub(crate) fn evidence(&self, row: usize) -> Result<Row<'_>> {
        for column in COLUMNS {
            if !matches!(column, Column::KeyEnd | Column::Id) {
                self.touch_field(column, row)?;
            }
        }
        let columns = self.columns_untouched();
        Ok(Columns { keys: &[], ..columns }.row(row))
    }

    pub(crate) fn row(&self, row: usize) -> Result<Row<'_>> {
        let mut found = self.evidence(row)?;
        found.key = self.key(row)?;
        Ok(found)
    }

    fn key(&self, row: usize) -> Result<&[u8]> {
        self.touch_field(Column::KeyEnd, row)?;
        self.touch_field(Column::KeyEnd, row.saturating_sub(1))?;
        let (columns, keys) = (self.columns_untouched(), &self.footer.keys);
        let range = columns.key_range(row);
        if range.start > range.end || range.end > keys.len() {
            return Err(self.data.corrupt(keys.start, "a key ends outside of its section"));
        }
        self.data.get(keys.start + range.start..keys.start + range.end)
    }

    /// Returns the row of a document, if it is in this segment and no merge removed it.
    pub(crate) fn row_of(&self, id: DocId) -> Result<Option<usize>> {
        let Some(relative) = id.checked_sub(self.footer.ids.start) else { return Ok(None) };
        let columns = self.columns_untouched();
        if columns.bytes(Column::Id).is_empty() {
            return Ok(usize::try_from(relative).ok().filter(|row| *row < columns.rows));
        }
        // A manual binary search reads and checks only the blocks that it needs.
        let (mut from, mut to) = (0, columns.rows);
        while from < to {
            let middle = from.midpoint(to);
            self.touch_field(Column::Id, middle)?;
            match u64::from(columns.relative_id(middle)).cmp(&relative) {
                Ordering::Less => from = middle + 1,
                Ordering::Greater => to = middle,
                Ordering::Equal => return Ok(Some(middle)),
            }
        }
        Ok(None)
    }

    pub(crate) fn id(&self, row: u32) -> Result<DocId> {
        self.touch_field(Column::Id, row as usize)?;
        let relative = self.columns_untouched().relative_id(row as usize);
        Ok(self.footer.ids.start + u64::from(relative))
    }

    /// Calls `visit` with query index, near fingerprint and its rows in ascending order.
    pub(crate) fn near_many(
        &self,
        queries: &[Fingerprint],
        mut visit: impl FnMut(
            usize,
            Near,
            &mut dyn DoubleEndedIterator<Item = Result<u32>>,
        ) -> Result<()>,
    ) -> Result<()> {
        if self.tables.is_empty() {
            return Ok(());
        }
        let mut found: Vec<(usize, usize, Near)> = Vec::new();
        self.tables.look_checked(
            queries,
            |range| self.data.touch(range),
            |query, place, near| {
                found.push((query, place, near));
            },
        )?;
        for (query, place, near) in found {
            let place = if near.table == 0 {
                Some(place)
            } else {
                self.tables.rank_checked(near.fingerprint, |range| self.data.touch(range))?
            };
            let place = place.ok_or_else(|| {
                self.data.corrupt(0, "a fingerprint of one table is missing in the first")
            })?;
            visit(query, near, &mut self.documents_at(place)?)?;
        }
        Ok(())
    }

    /// Returns the rows with this fingerprint that are in the tables, in ascending order.
    pub(crate) fn rows_of(
        &self,
        fingerprint: Fingerprint,
    ) -> Result<impl DoubleEndedIterator<Item = Result<u32>> + '_> {
        let place = match self.tables.is_empty() {
            true => None,
            false => self.tables.rank_checked(fingerprint, |range| self.data.touch(range))?,
        };
        let rows = place.map(|place| self.documents_at(place)).transpose()?;
        Ok(rows.into_iter().flatten())
    }

    /// Returns the rows of the fingerprint at a place of the first table, in ascending order.
    fn documents_at(
        &self,
        place: usize,
    ) -> Result<impl DoubleEndedIterator<Item = Result<u32>> + '_> {
        let row = self.word(&self.footer.documents, place)?;
        let (section, places) = if row & LISTED == 0 {
            (&self.footer.documents, place..place + 1)
        } else {
            let at = (row & !LISTED) as usize;
            let count = self.word(&self.footer.lists, at)? as usize;
            (&self.footer.lists, at + 1..at + 1 + count)
        };
        Ok(places.map(move |place| self.word(section, place)))
    }

    fn word(&self, section: &Range<usize>, place: usize) -> Result<u32> {
        let at = section.start + 4 * place;
        if at + 4 > section.end {
            return Err(self.data.corrupt(at, "a list ends outside of its section"));
        }
        let four = self.data.get(at..at + 4)?.first_chunk::<4>().copied().unwrap_or_default();
        Ok(u32::from_le_bytes(four))
    }

    /// Returns the rows with this digest, strong or not, that are in the tables, in ascending order.
    pub(crate) fn rows_of_digest(
        &self,
        digest: [u8; 16],
        strong: bool,
    ) -> Result<impl DoubleEndedIterator<Item = Result<u32>> + '_> {
        let rows = self.footer.by_digest.get(&self.data, 0, digest_key(digest))?;
        Ok(rows.filter_map(move |row| match self.digest_of_kind(row as usize, strong) {
            Ok(found) => (found == Some(digest)).then_some(Ok(row)),
            Err(error) => Some(Err(error)),
        }))
    }

    fn digest_of_kind(&self, row: usize, strong: bool) -> Result<Option<[u8; 16]>> {
        self.touch_field(Column::Flags, row)?;
        self.touch_field(Column::Digest, row)?;
        Ok(self.columns_untouched().digest_of_kind(row, strong))
    }

    pub(crate) fn rows_of_list(
        &self,
        (kind, key): (usize, u32),
        visit: impl FnMut(u32),
    ) -> Result<()> {
        self.footer.by_list.get(&self.data, kind as u32, key)?.for_each(visit);
        Ok(())
    }

    /// Prefetches the first or the second line that the look-up of a key reads.
    pub(crate) fn prefetch_key(&self, key: u32, second: bool) {
        self.footer.by_key.prefetch(&self.data, (0, key), second);
    }

    /// Prefetches the first or the second line that the look-up of a digest reads.
    pub(crate) fn prefetch_digest(&self, digest: [u8; 16], second: bool) {
        self.footer.by_digest.prefetch(&self.data, (0, digest_key(digest)), second);
    }

    /// Prefetches the first or the second line that the look-up of a list of candidates reads.
    pub(crate) fn prefetch_list(&self, (kind, key): (usize, u32), second: bool) {
        self.footer.by_list.prefetch(&self.data, (kind as u32, key), second);
    }

    /// Returns the rows with this key, in ascending order; all except the last are deleted.
    ///
    /// # Complexity
    /// A bucket of at most 64 entries, or a binary search in a larger one.
    pub(crate) fn rows_of_key(&self, key: &Key<'_>) -> Result<Vec<u32>> {
        let bucket = self.footer.by_key.bucket(0, key.stored());
        let mut rows = match self.collisions.rows(bucket, key.bytes) {
            Some(rows) => rows,
            None => {
                let entries = self.footer.by_key.bucket_of(&self.data, 0, key.stored())?;
                let entries = entries.iter().map(|entry| u64::from_le_bytes(*entry));
                if entries.len() > MAX_BUCKET {
                    let all = entries.map(|entry| entry as u32);
                    self.collisions.add(bucket, all, |row| self.key(row as usize))?;
                    self.collisions.rows(bucket, key.bytes).unwrap_or_default()
                } else {
                    let own = entries.filter(|entry| (entry >> 32) as u32 == key.stored());
                    own.map(|entry| entry as u32).collect()
                }
            }
        };
        let mut equal = Ok(());
        rows.retain(|row| match self.key(*row as usize) {
            Ok(found) => found == key.bytes,
            Err(error) => {
                equal = Err(error);
                false
            }
        });
        equal.map(|()| rows)
    }
}
