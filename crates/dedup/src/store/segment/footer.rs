//! The footer of a segment: the position of every section. See docs/format.md.

use std::ops::Range;
use std::path::Path;

use super::postings::Postings;
use crate::error::{Error, Result};
use crate::layout::Lead;
use crate::limits::{OLDEST, VERSION};
use crate::lists::LISTS;
use crate::store::columns::{COLUMNS, COLUMNS_OF_2};
use crate::tables::table::{SLACK, Shape};

pub(crate) const MAGIC: &[u8; 8] = b"HAPAXSEG";
/// The last bytes of the file: length and checksum of the footer, version and magic.
pub(crate) const TAIL: usize = 24;

/// An upper limit for numbers of documents.
const MAX_ID: u64 = 1 << 62;

#[derive(Clone, Debug)]
pub(crate) struct TableMeta {
    pub(crate) lead: Lead,
    pub(crate) directory_bits: u32,
    pub(crate) width: usize,
    pub(crate) directory: Range<usize>,
    pub(crate) entries: Range<usize>,
}

#[derive(Clone, Debug)]
pub(crate) struct Footer {
    /// The first number, and one past the last.
    pub(crate) ids: Range<u64>,
    /// Stored documents; fewer than numbers if some were deleted.
    pub(crate) rows: u64,
    pub(crate) duplicates: u64,
    /// Rows left out of full lists of candidates.
    pub(crate) capped: u64,
    pub(crate) columns: [Range<usize>; COLUMNS.len()],
    pub(crate) keys: Range<usize>,
    pub(crate) distance: u32,
    pub(crate) tables: Vec<TableMeta>,
    /// For each fingerprint in the order of the first table: its row, or the place of its list of rows.
    pub(crate) documents: Range<usize>,
    pub(crate) lists: Range<usize>,
    pub(crate) by_digest: Postings,
    pub(crate) by_key: Postings,
    pub(crate) by_list: Postings,
    /// Bytes of the part that has block checksums.
    pub(crate) body: usize,
    pub(crate) crcs: Vec<u32>,
}

struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, number: u64) {
        self.0.extend(number.to_le_bytes());
    }
    fn range(&mut self, range: &Range<usize>) {
        self.number(range.start as u64);
        self.number(range.end as u64);
    }
    fn postings(&mut self, postings: &Postings) {
        self.number(u64::from(postings.groups));
        self.number(u64::from(postings.bits));
        self.range(&postings.directory);
        self.range(&postings.entries);
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn number(&mut self) -> Option<u64> {
        let (head, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*head))
    }
    fn small(&mut self, limit: u64) -> Option<u32> {
        self.number().filter(|number| *number <= limit).map(|number| number as u32)
    }
    fn range(&mut self, body: usize) -> Option<Range<usize>> {
        let (start, end) = (self.number()?, self.number()?);
        (start <= end && end <= body as u64).then_some(start as usize..end as usize)
    }
    fn postings(&mut self, body: usize) -> Option<Postings> {
        let groups = self.small(64)?;
        let bits = self.small(32)?;
        let (directory, entries) = (self.range(body)?, self.range(body)?);
        let expected = 4 * (u64::from(groups) << bits) + 4;
        let right = directory.start == directory.end || directory.len() as u64 == expected;
        right.then_some(Postings { groups, bits, directory, entries })
    }
}

impl Footer {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Writer(Vec::new());
        for number in [self.ids.start, self.ids.end, self.rows, self.duplicates, self.capped] {
            out.number(number);
        }
        self.columns.iter().chain([&self.keys]).for_each(|range| out.range(range));
        out.number(u64::from(self.distance));
        out.number(self.tables.len() as u64);
        for table in &self.tables {
            out.number(table.lead.mask);
            out.number(u64::from(table.lead.radius));
            out.number(u64::from(table.directory_bits));
            out.number(table.width as u64);
            out.range(&table.directory);
            out.range(&table.entries);
        }
        out.range(&self.documents);
        out.range(&self.lists);
        [&self.by_digest, &self.by_key, &self.by_list].iter().for_each(|p| out.postings(p));
        out.number(self.body as u64);
        let mut out = out.0;
        self.crcs.iter().for_each(|crc| out.extend(crc.to_le_bytes()));
        let length = out.len() as u64;
        out.extend(length.to_le_bytes());
        out.extend(VERSION.to_le_bytes());
        let crc = crc32fast::hash(&out);
        out.extend(crc.to_le_bytes());
        out.extend(MAGIC);
        out
    }

    pub(crate) fn decode(path: &Path, bytes: &[u8]) -> Result<Self> {
        let corrupt = |what| Error::Corrupt {
            path: path.to_owned(),
            offset: bytes.len().saturating_sub(TAIL) as u64,
            what,
        };
        let (before, tail) =
            bytes.split_last_chunk::<TAIL>().ok_or_else(|| corrupt("the file is cut"))?;
        let [a, b, c, d, e, f, g, h, v0, v1, v2, v3, c0, c1, c2, c3, magic @ ..] = *tail;
        if &magic != MAGIC {
            return Err(corrupt("not a segment, or truncated"));
        }
        let length = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
        let start = (before.len() as u64).checked_sub(length).map(|start| start as usize);
        let checked = start.and_then(|start| bytes.get(start..bytes.len() - 12));
        let checked = checked.ok_or_else(|| corrupt("the footer's length is wrong"))?;
        if crc32fast::hash(checked) != u32::from_le_bytes([c0, c1, c2, c3]) {
            return Err(corrupt("the footer does not match its checksum"));
        }
        let got = u32::from_le_bytes([v0, v1, v2, v3]);
        if !(OLDEST..=VERSION).contains(&got) {
            return Err(Error::Version { path: path.to_owned(), expected: VERSION, got });
        }
        let fields = before.get(start.unwrap_or_default()..).unwrap_or_default();
        let columns = if got == 2 { COLUMNS_OF_2 } else { COLUMNS.len() };
        Self::fields(fields, start.unwrap_or_default(), columns)
            .ok_or_else(|| corrupt("the footer makes no sense"))
    }

    fn fields(bytes: &[u8], body_limit: usize, count: usize) -> Option<Self> {
        let mut fields = Reader(bytes);
        let ids = fields.number()?..fields.number()?;
        let (rows, duplicates, capped) = (fields.number()?, fields.number()?, fields.number()?);
        if ids.start > ids.end
            || ids.end > MAX_ID
            || rows > ids.end - ids.start
            || rows > u64::from(u32::MAX)
            || duplicates > rows
            || capped > rows * LISTS as u64
        {
            return None;
        }
        let mut columns: [Range<usize>; COLUMNS.len()] = Default::default();
        for (column, range) in COLUMNS.iter().zip(&mut columns).take(count) {
            *range = fields.range(body_limit)?;
            if range.start < range.end && range.len() as u64 != rows * column.width() as u64 {
                return None;
            }
        }
        let keys = fields.range(body_limit)?;
        let distance = fields.small(u64::from(crate::MAX_DISTANCE))?;
        let count = fields.small(20_000)?;
        let mut tables = Vec::new();
        for _ in 0..count {
            let radius_limit = u64::from(crate::MAX_DISTANCE);
            let lead = Lead { mask: fields.number()?, radius: fields.small(radius_limit)? };
            let directory_bits = fields.small(u64::from(lead.bits().min(32)))?;
            let width = fields.small(8)? as usize;
            let (directory, entries) = (fields.range(body_limit)?, fields.range(body_limit)?);
            let shape = Shape::with_bits(lead, directory_bits, width < 8);
            let whole = entries.len().checked_sub(SLACK).is_some_and(|b| b.is_multiple_of(width));
            if shape.width != width || directory.len() != shape.directory_bytes() || !whole {
                return None;
            }
            tables.push(TableMeta { lead, directory_bits, width, directory, entries });
        }
        let (documents, lists) = (fields.range(body_limit)?, fields.range(body_limit)?);
        let by_digest = fields.postings(body_limit)?;
        let by_key = fields.postings(body_limit)?;
        let by_list = fields.postings(body_limit)?;
        let body = usize::try_from(fields.number()?).ok().filter(|body| *body <= body_limit)?;
        let (crcs, rest) = fields.0.as_chunks::<4>();
        let blocks = body.div_ceil(super::blocks::BLOCK);
        if !rest.is_empty() || crcs.len() != blocks || body != body_limit {
            return None;
        }
        let crcs = crcs.iter().map(|crc| u32::from_le_bytes(*crc)).collect();
        Some(Self {
            ids,
            rows,
            duplicates,
            capped,
            columns,
            keys,
            distance,
            tables,
            documents,
            lists,
            by_digest,
            by_key,
            by_list,
            body,
            crcs,
        })
    }
}
