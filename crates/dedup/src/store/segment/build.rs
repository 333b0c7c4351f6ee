//! Writing a segment: from a memtable, or from segments that are merged into one.

use std::ops::Range;

use super::blocks::BlockWriter;
use super::footer::{Footer, TableMeta};
use super::postings::Postings;
use crate::dir::{Contents, Directory};
use crate::error::{Error, Result};
use crate::record::DocId;
use crate::store::columns::{COLUMNS, Column, Columns, INDEXED};
use crate::store::memtable::digest_key;
use crate::store::{MAX_BAND_BUCKET, key_hash};
use crate::tables::build;
use crate::tables::table::{SLACK, Shape, Table};
use crate::{BANDS, Layout};

/// In the list of documents: this is not a row but the place of a list of rows.
pub(super) const LISTED: u32 = 1 << 31;
/// A segment holds at most so many documents: places in the lists of 16 bands have 32 bits.
pub(crate) const MAX_ROWS: u64 = (1 << 32) / BANDS as u64 - 1;
/// The numbers of a segment's documents, less that of the first, have 32 bits.
pub(crate) const MAX_IDS: u64 = 1 << 32;

/// Documents that go into a segment.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    pub(crate) columns: Columns<'a>,
    /// The number of the first document.
    pub(crate) base: DocId,
    /// The rows to be kept, in ascending order; all if `None`.
    pub(crate) live: Option<Vec<u32>>,
}

impl Source<'_> {
    fn rows(&self) -> usize {
        self.live.as_ref().map_or(self.columns.rows, Vec::len)
    }

    fn each(&self) -> Box<dyn Iterator<Item = usize> + '_> {
        match &self.live {
            Some(live) => Box::new(live.iter().map(|row| *row as usize)),
            None => Box::new(0..self.columns.rows),
        }
    }
}

/// What a segment is built from, and how.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) ids: Range<DocId>,
    pub(crate) sources: Vec<Source<'a>>,
    pub(crate) layout: Layout,
    pub(crate) packed: bool,
    /// Bytes of tables held in memory at a time.
    pub(crate) budget: usize,
}

impl Plan<'_> {
    fn rows(&self) -> u64 {
        self.sources.iter().map(|source| source.rows() as u64).sum()
    }

    /// Every row that is in the tables: its new number, and where it comes from.
    fn indexed(&self, mut visit: impl FnMut(u32, &Columns<'_>, usize)) {
        let mut number = 0;
        for source in &self.sources {
            for row in source.each() {
                if source.columns.flags(row) & INDEXED != 0 {
                    visit(number, &source.columns, row);
                }
                number += 1;
            }
        }
    }

    /// Writes the segment under `name`, durable when it returns.
    pub(crate) fn write(&self, dir: &dyn Directory, name: &str) -> Result<()> {
        let path = dir.path().join(name);
        let out = dir.create(name).map_err(Error::io(&path))?;
        let mut out = BlockWriter::new(path, out);
        let rows = self.rows();
        let mut columns: [Range<usize>; COLUMNS.len()] = Default::default();
        for (column, range) in COLUMNS.into_iter().zip(&mut columns) {
            *range = self.column(column, &mut out)?;
        }
        let start = out.position() as usize;
        for source in &self.sources {
            match &source.live {
                None => out.write(source.columns.keys)?,
                Some(_) => source.each().try_for_each(|row| out.write(source.columns.key(row)))?,
            }
        }
        let keys = start..out.position() as usize;
        out.align()?;

        let mut tables = Vec::new();
        let (first, documents, lists, distinct) = self.first_table(&mut out)?;
        if let Some(first) = first {
            // What is too much to be held is read back from the file.
            let written = match &distinct {
                Some(_) => None,
                None => {
                    out.publish()?;
                    let contents = dir.contents(name);
                    Some(contents.map_err(Error::io(&dir.path().join(name)))?)
                }
            };
            let shape = Shape::with_bits(first.lead, first.directory_bits, first.width < 8);
            let fingerprints =
                Distinct { held: distinct.as_deref(), shape: &shape, first: &first, written };
            for &lead in self.layout.leads().iter().skip(1) {
                let table = self.further_table(lead, &fingerprints, &mut out)?;
                tables.push(table);
            }
            tables.insert(0, first);
        }
        drop(distinct);

        let mut counts = [0u64; 2];
        let mut duplicates = 0;
        self.indexed(|_, columns, row| {
            counts[0] += u64::from(columns.digest(row).is_some());
            counts[1] += u64::from(columns.sketch(row).is_some());
        });
        for source in &self.sources {
            duplicates +=
                source.each().filter(|row| source.columns.of(*row).is_some()).count() as u64;
        }
        let [digests, sketches] = counts;
        let (by_digest, _) = self.postings(&mut out, 1, digests, usize::MAX, &|visit| {
            self.indexed(|number, columns, row| {
                if let Some(digest) = columns.digest(row) {
                    visit(0, digest_key(digest), number);
                }
            });
            Ok(())
        })?;
        let (by_key, _) = self.postings(&mut out, 1, rows, usize::MAX, &|visit| {
            let mut number = 0;
            for source in &self.sources {
                for row in source.each() {
                    visit(0, key_hash(source.columns.key(row)), number);
                    number += 1;
                }
            }
            Ok(())
        })?;
        let groups = BANDS as u32;
        let (by_band, capped) =
            self.postings(&mut out, groups, sketches, MAX_BAND_BUCKET, &|visit| {
                self.indexed(|number, columns, row| {
                    for band in columns.sketch(row).iter().flat_map(|sketch| sketch.bands()) {
                        visit((band >> 32) as u32, band as u32, number);
                    }
                });
                Ok(())
            })?;
        let body = out.position() as usize;
        let footer = Footer {
            ids: self.ids.clone(),
            rows,
            duplicates,
            capped,
            columns,
            keys,
            distance: self.layout.distance(),
            tables,
            documents,
            lists,
            by_digest,
            by_key,
            by_band,
            body,
            crcs: out.finish_blocks()?,
        };
        out.finish(&footer.encode())
    }

    fn postings(
        &self,
        out: &mut BlockWriter,
        groups: u32,
        count: u64,
        cap: usize,
        feed: &super::postings::Feed<'_>,
    ) -> Result<(Postings, u64)> {
        if count == 0 {
            return Ok((Postings { groups, bits: 0, directory: 0..0, entries: 0..0 }, 0));
        }
        Postings::write(out, groups, count, cap, self.budget, feed)
    }

    /// Writes one column, or nothing if every row has its filler.
    fn column(&self, column: Column, out: &mut BlockWriter) -> Result<Range<usize>> {
        let start = out.position() as usize;
        let width = column.width();
        match column {
            Column::KeyEnd => {
                let mut end = 0;
                for source in &self.sources {
                    for row in source.each() {
                        end += source.columns.key_range(row).len() as u64;
                        out.write(&end.to_le_bytes())?;
                    }
                }
            }
            Column::Id => {
                if self.rows() == self.ids.end - self.ids.start {
                    return Ok(start..start);
                }
                for source in &self.sources {
                    let shift = source.base - self.ids.start;
                    for row in source.each() {
                        let id = u64::from(source.columns.relative_id(row)) + shift;
                        let id = u32::try_from(id).map_err(|_| Error::TooMany(id))?;
                        out.write(&id.to_le_bytes())?;
                    }
                }
            }
            _ => {
                let filler = column.filler();
                let left_out = |source: &Source<'_>| {
                    source.columns.bytes(column).iter().all(|byte| *byte == filler)
                };
                if self.sources.iter().all(left_out) {
                    return Ok(start..start);
                }
                let blank = [filler; 64];
                for source in &self.sources {
                    let bytes = source.columns.bytes(column);
                    if !bytes.is_empty() && source.live.is_none() {
                        out.write(bytes)?;
                        continue;
                    }
                    for row in source.each() {
                        let field = bytes.get(row * width..(row + 1) * width);
                        out.write(field.unwrap_or(blank.get(..width).unwrap_or_default()))?;
                    }
                }
            }
        }
        let range = start..out.position() as usize;
        out.align()?;
        Ok(range)
    }

    /// The first table, whose order is that of the documents' lists, and the distinct fingerprints.
    #[expect(clippy::type_complexity, reason = "four parts of one thing, taken apart at once")]
    fn first_table(
        &self,
        out: &mut BlockWriter,
    ) -> Result<(Option<TableMeta>, Range<usize>, Range<usize>, Option<Vec<u64>>)> {
        let Some(&lead) = self.layout.leads().first() else {
            return Ok((None, 0..0, 0..0, None));
        };
        let shape = Shape::new(lead, self.rows(), self.packed);
        let mut starts = vec![0u32; shape.bucket_count() + 1];
        let bucket = |bits: u64| shape.bucket_of(bits) as usize;
        self.indexed(|_, columns, row| {
            if let Some(count) = starts.get_mut(bucket(columns.fingerprint(row).bits())) {
                *count += 1;
            }
        });
        build::starts(&mut starts);

        let entries_start = out.position() as usize;
        let mut directory: Vec<u32> = Vec::with_capacity(starts.len());
        let mut documents: Vec<u32> = Vec::new();
        let mut lists: Vec<u32> = Vec::new();
        let mut distinct = (self.rows() * 8 <= self.budget as u64).then(Vec::new);
        let mut count = 0u32;
        directory.push(0);
        let mut entry = [0; 8];
        // Sixteen bytes a row here, against eight of an entry.
        for range in build::ranges(&shape, &starts, self.budget / 2) {
            let (from, to) = (range.start as usize, range.end as usize);
            let base = starts.get(from).copied().unwrap_or(0);
            let end = starts.get(to).copied().unwrap_or(base);
            let mut cursors: Vec<u32> = starts.get(from..to).unwrap_or_default().to_vec();
            let mut pairs = vec![(0u64, 0u32); (end - base) as usize];
            self.indexed(|number, columns, row| {
                let bits = columns.fingerprint(row).bits();
                if let Some(cursor) =
                    bucket(bits).checked_sub(from).and_then(|b| cursors.get_mut(b))
                    && let Some(pair) = pairs.get_mut((*cursor - base) as usize)
                {
                    *pair = (bits, number);
                    *cursor += 1;
                }
            });
            for bucket in from..to {
                let at = |i: usize| (starts.get(i).copied().unwrap_or(0) - base) as usize;
                let pairs = pairs.get_mut(at(bucket)..at(bucket + 1)).unwrap_or_default();
                pairs.sort_unstable();
                for same in pairs.chunk_by(|a, b| a.0 == b.0) {
                    let Some(&(bits, row)) = same.first() else { continue };
                    shape.write_entry(&mut entry, 0, bits);
                    out.write(entry.get(..shape.width).unwrap_or_default())?;
                    if let Some(distinct) = &mut distinct {
                        distinct.push(bits);
                    }
                    count += 1;
                    if same.len() == 1 {
                        documents.push(row);
                    } else {
                        documents.push(LISTED | lists.len() as u32);
                        lists.push(same.len() as u32);
                        lists.extend(same.iter().map(|pair| pair.1));
                    }
                }
                directory.push(count);
            }
        }
        out.write(&[0; SLACK])?;
        let entries = entries_start..out.position() as usize;
        out.align()?;
        let directory = words(out, &directory)?;
        let documents = words(out, &documents)?;
        let lists = words(out, &lists)?;
        let table = TableMeta {
            lead,
            directory_bits: shape.directory_bits,
            width: shape.width,
            directory,
            entries,
        };
        Ok((Some(table), documents, lists, distinct))
    }

    fn further_table(
        &self,
        lead: crate::Lead,
        distinct: &Distinct<'_>,
        out: &mut BlockWriter,
    ) -> Result<TableMeta> {
        let shape = Shape::new(lead, self.rows(), self.packed);
        let mut starts = build::count(&shape, distinct.iter());
        build::starts(&mut starts);
        let entries_start = out.position() as usize;
        for range in build::ranges(&shape, &starts, self.budget) {
            let at = |bucket: u64| starts.get(bucket as usize).copied().unwrap_or(0);
            let (base, end) = (at(range.start), at(range.end));
            let mut cursors = starts.clone();
            let mut entries =
                crate::tables::buffer::Buffer::zeroed((end - base) as usize * shape.width);
            let places = entries.as_mut();
            let write = |place, bits| shape.write_entry(places, place, bits);
            build::scatter(&shape, distinct.iter(), &range, base, &mut cursors, write);
            out.write(&entries)?;
        }
        out.write(&[0; SLACK])?;
        let entries = entries_start..out.position() as usize;
        out.align()?;
        let directory = words(out, &starts)?;
        let directory_bits = shape.directory_bits;
        Ok(TableMeta { lead, directory_bits, width: shape.width, directory, entries })
    }
}

/// The distinct fingerprints in the order of the first table: in memory, or in the file.
struct Distinct<'a> {
    held: Option<&'a [u64]>,
    shape: &'a Shape,
    first: &'a TableMeta,
    written: Option<Contents>,
}

impl Distinct<'_> {
    fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        let held = self.held.into_iter().flatten().copied();
        let written = self.written.iter().flat_map(move |contents| {
            let part = |range: &Range<usize>| contents.get(range.clone()).unwrap_or_default();
            let (directory, entries) = (part(&self.first.directory), part(&self.first.entries));
            Table { shape: self.shape, directory, entries, at: (0, 0) }.fingerprints()
        });
        held.chain(written)
    }
}

fn words(out: &mut BlockWriter, words: &[u32]) -> Result<Range<usize>> {
    let start = out.position() as usize;
    for word in words {
        out.write(&word.to_le_bytes())?;
    }
    let range = start..out.position() as usize;
    out.align()?;
    Ok(range)
}
