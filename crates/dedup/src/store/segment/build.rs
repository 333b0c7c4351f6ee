//! Writes a segment from a memtable or from merged segments.

use std::ops::Range;

use super::blocks::BlockWriter;
use super::footer::{Footer, TableMeta};
use super::postings::Writer;
use super::sorting::{Spool, by_bucket, read_back};
use crate::Layout;
use crate::dir::{Contents, Directory};
use crate::error::{Error, Result};
use crate::limits::MAX_BAND_BUCKET;
use crate::lists::{LISTS, candidate_lists};
use crate::record::DocId;
use crate::row::INDEXED;
use crate::store::columns::{COLUMNS, Column, Columns};
use crate::store::deleted::Deleted;
use crate::store::keys::key_hash;
use crate::store::memtable::digest_key;
use crate::tables::table::{SLACK, Shape, Table};

/// In the list of documents: the entry is the place of a list of rows instead of a row.
pub(super) const LISTED: u32 = 1 << 31;
/// The most documents of a segment: places in the lists of 16 bands and names have 32 bits.
pub(crate) const MAX_ROWS: u64 = (1 << 32) / LISTS as u64 - 1;
/// The range of a segment's document numbers: 32 bits after subtracting the first.
pub(crate) const MAX_IDS: u64 = 1 << 32;

#[derive(Debug)]
pub(crate) struct Source<'a> {
    columns: Columns<'a>,
    base: DocId,
    /// The documents to leave out; `None` to keep all.
    deleted: Option<&'a Deleted>,
    rows: usize,
}

impl<'a> Source<'a> {
    pub(crate) fn new(columns: Columns<'a>, ids: Range<DocId>, deleted: &'a Deleted) -> Self {
        let deleted = (deleted.count(ids.clone()) > 0).then_some(deleted);
        let mut source = Self { columns, base: ids.start, deleted, rows: 0 };
        source.rows = source.each().count();
        source
    }

    /// Returns the number of documents, including those left out.
    pub(crate) const fn total(&self) -> u64 {
        self.columns.rows as u64
    }

    /// Returns the kept rows in ascending order.
    fn each(&self) -> impl Iterator<Item = usize> + '_ {
        // Rows and deleted numbers both ascend, so one merge pass needs no searches.
        let from = |deleted: &'a Deleted| deleted.iter_from(self.base);
        let mut gone = self.deleted.into_iter().flat_map(from).peekable();
        (0..self.columns.rows).filter(move |row| {
            if self.deleted.is_none() {
                return true;
            }
            let id = self.base + u64::from(self.columns.relative_id(*row));
            while gone.next_if(|gone| *gone < id).is_some() {}
            gone.peek() != Some(&id)
        })
    }
}

#[derive(Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) ids: Range<DocId>,
    pub(crate) sources: Vec<Source<'a>>,
    pub(crate) layout: Layout,
    pub(crate) packed: bool,
    /// Bytes of memory to use: a quarter for the distinct fingerprints if they fit, an eighth for spools, the rest
    /// for sorting into buckets.
    pub(crate) budget: usize,
}

impl Plan<'_> {
    fn rows(&self) -> u64 {
        self.sources.iter().map(|source| source.rows as u64).sum()
    }

    /// Returns every row: its new number and its origin.
    fn numbered(&self) -> impl Iterator<Item = (u32, &Columns<'_>, usize)> {
        let rows = self.sources.iter().flat_map(|source| {
            let columns = &source.columns;
            source.each().map(move |row| (columns, row))
        });
        (0u32..).zip(rows).map(|(number, (columns, row))| (number, columns, row))
    }

    fn indexed(&self) -> impl Iterator<Item = (u32, &Columns<'_>, usize)> {
        self.numbered().filter(|(_, columns, row)| columns.flags(*row) & INDEXED != 0)
    }

    /// Writes the segment as the file `name`, durable on return.
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
            match source.deleted {
                None => out.write(source.columns.keys)?,
                Some(_) => source.each().try_for_each(|row| out.write(source.columns.key(row)))?,
            }
        }
        let keys = start..out.position() as usize;
        out.align()?;

        let (tables, documents, lists) = self.tables(dir, name, &mut out)?;

        let (mut digests, mut sketches) = (0, 0);
        for (_, columns, row) in self.indexed() {
            digests += u64::from(columns.digest(row).is_some());
            sketches += u64::from(columns.sketch(row).is_some());
        }
        let duplicates =
            self.numbered().filter(|(_, columns, row)| columns.of(*row).is_some()).count() as u64;
        let spool = |part| self.spool(dir, name, part);
        let budget = self.budget / 8 * 7;
        let mut postings = Writer { out: &mut out, budget, ends: || spool("directory") };
        let (by_digest, _) = postings.write(1, digests, usize::MAX, || {
            let key = |columns: &Columns<'_>, row| columns.digest(row).map(digest_key);
            self.indexed()
                .filter_map(move |(number, columns, row)| Some((0, key(columns, row)?, number)))
        })?;
        let (by_key, _) = postings.write(1, rows, usize::MAX, || {
            self.numbered().map(|(number, columns, row)| (0, key_hash(columns.key(row)), number))
        })?;
        let (by_list, capped) = postings.write(LISTS as u32, sketches, MAX_BAND_BUCKET, || {
            self.indexed().flat_map(|(number, columns, row)| {
                let names = columns.names(row);
                let sketch = columns.sketch(row);
                let lists = sketch.into_iter();
                let lists = lists.flat_map(move |sketch| candidate_lists(&sketch, names));
                lists.map(move |(kind, key)| (kind as u32, key, number))
            })
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
            by_list,
            body,
            crcs: out.finish_blocks()?,
        };
        out.finish(&footer.encode())
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
                        // Counts the bytes that are written: none for a damaged range.
                        end += source.columns.key(row).len() as u64;
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
                    if !bytes.is_empty() && source.deleted.is_none() {
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

    fn spool<'d>(&self, dir: &'d dyn Directory, name: &str, part: &str) -> Spool<'d> {
        Spool::new(dir, format!("{name}.{part}.tmp"), self.budget / 24)
    }

    /// Writes all tables. Returns them, and the ranges of documents and lists of the first table.
    fn tables(
        &self,
        dir: &dyn Directory,
        name: &str,
        out: &mut BlockWriter,
    ) -> Result<(Vec<TableMeta>, Range<usize>, Range<usize>)> {
        let spool = |part| self.spool(dir, name, part);
        let mut tables = Vec::new();
        let first = self.first_table(out, [spool("directory"), spool("rows"), spool("lists")])?;
        let FirstTable { table, documents, lists, distinct } = first;
        if let Some(first) = table {
            // Fingerprints that do not fit into memory are read back from the file.
            let written = match &distinct {
                Some(_) => None,
                None => {
                    out.publish()?;
                    Some(read_back(dir, name, out.position())?)
                }
            };
            let shape = Shape::with_bits(first.lead, first.directory_bits, first.width < 8);
            let fingerprints =
                Distinct { held: distinct.as_deref(), shape: &shape, first: &first, written };
            for &lead in self.layout.leads().iter().skip(1) {
                let table = self.further_table(lead, &fingerprints, out, spool("directory"))?;
                tables.push(table);
            }
            tables.insert(0, first);
        }
        Ok((tables, documents, lists))
    }

    /// Writes the first table, whose order is that of the documents' lists.
    fn first_table(&self, out: &mut BlockWriter, spools: [Spool<'_>; 3]) -> Result<FirstTable> {
        let [mut directory, mut documents, mut lists] = spools;
        let Some(&lead) = self.layout.leads().first() else {
            return Ok(FirstTable::default());
        };
        let shape = Shape::new(lead, self.rows(), self.packed);
        let entries_start = out.position() as usize;
        let mut distinct = (self.rows() * 8 <= self.budget as u64 / 4).then(Vec::new);
        let mut count = 0u32;
        directory.push(0)?;
        let mut entry = [0; 8];
        let feed = || {
            self.indexed().map(|(number, columns, row)| {
                let bits = columns.fingerprint(row).bits();
                (shape.bucket_of(bits) as usize, (bits, number))
            })
        };
        let (rows, budget) = (self.rows() as usize, self.budget / 8 * 5);
        by_bucket(shape.bucket_count(), rows, budget, feed, |pairs| {
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
                    documents.push(row)?;
                } else {
                    documents.push(LISTED | lists.len() as u32)?;
                    lists.push(same.len() as u32)?;
                    same.iter().try_for_each(|pair| lists.push(pair.1))?;
                }
            }
            directory.push(count)
        })?;
        out.write(&[0; SLACK])?;
        let entries = entries_start..out.position() as usize;
        out.align()?;
        let directory = directory.write(out)?;
        let documents = documents.write(out)?;
        let lists = lists.write(out)?;
        let (directory_bits, width) = (shape.directory_bits, shape.width);
        let table = TableMeta { lead, directory_bits, width, directory, entries };
        Ok(FirstTable { table: Some(table), documents, lists, distinct })
    }

    fn further_table(
        &self,
        lead: crate::Lead,
        distinct: &Distinct<'_>,
        out: &mut BlockWriter,
        mut directory: Spool<'_>,
    ) -> Result<TableMeta> {
        let shape = Shape::new(lead, self.rows(), self.packed);
        let entries_start = out.position() as usize;
        let mut entry = [0; 8];
        let mut count = 0u32;
        let feed = || distinct.iter().map(|bits| (shape.bucket_of(bits) as usize, bits));
        directory.push(0)?;
        let (rows, budget) = (self.rows() as usize, self.budget / 8 * 5);
        by_bucket(shape.bucket_count(), rows, budget, feed, |bucket| {
            for &mut bits in bucket {
                shape.write_entry(&mut entry, 0, bits);
                out.write(entry.get(..shape.width).unwrap_or_default())?;
                count += 1;
            }
            directory.push(count)
        })?;
        out.write(&[0; SLACK])?;
        let entries = entries_start..out.position() as usize;
        out.align()?;
        let directory = directory.write(out)?;
        let directory_bits = shape.directory_bits;
        Ok(TableMeta { lead, directory_bits, width: shape.width, directory, entries })
    }
}

#[derive(Default)]
struct FirstTable {
    /// `None` if the segment has no indexed documents.
    table: Option<TableMeta>,
    documents: Range<usize>,
    lists: Range<usize>,
    /// The distinct fingerprints in the table's order, if they fit into memory.
    distinct: Option<Vec<u64>>,
}

/// The distinct fingerprints in the order of the first table, in memory or in the file.
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
