//! Parquet files of a folder, or below a prefix of a store, that are one table.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

use crate::buffer::Buffer;
use crate::cell::{Cell, Column, ColumnType};
use crate::error::{Error, Result};
use crate::progress::{Pending, Progress};
use crate::target::{NewPart, Target};

/// Written last: readers of a folder know that it is complete. Spark's convention; readers ignore the name.
const DONE: &str = "_SUCCESS";
/// The state of an unfinished export, to continue it. Readers ignore names that begin with `_`.
const PROGRESS: &str = "_export.json";
/// Most bytes of that file: it has a number a part.
const MAX_PROGRESS: u64 = 1 << 20;
/// Names of parts begin so.
const PART: &str = "part-";
/// Values of a column that the encoder holds before it writes a page.
const WRITE_BATCH: usize = 1024;

/// Limits on the files.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of the values of a row group, uncompressed. One row group is in memory. Default 32 MiB.
    pub group_bytes: usize,
    /// Bytes after which a part ends, compressed; a part may exceed it by one row group. Default 512 MiB.
    pub part_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { group_bytes: 32 << 20, part_bytes: 512 << 20 }
    }
}

/// The result of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Number of rows.
    pub rows: u64,
    /// Number of files.
    pub parts: u32,
    /// Bytes of the files.
    pub bytes: u64,
}

/// Writes a table as `part-00000.parquet`, `part-00001.parquet`, ... A part appears when it is complete and durable.
pub struct Parts {
    target: Target,
    columns: &'static [Column],
    schema: TypePtr,
    properties: WriterPropertiesPtr,
    limits: Limits,
    buffers: Vec<Buffer>,
    /// Rows and bytes in the buffers.
    buffered: (u64, usize),
    part: Option<Part>,
    written: Written,
    /// Rows of complete parts that the caller has still to leave out.
    skip: u64,
    progress: Option<Progress>,
    /// Lock of the folder.
    _lock: Option<File>,
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parts").field("target", &self.target).finish_non_exhaustive()
    }
}

struct Part {
    name: String,
    path: PathBuf,
    writer: SerializedFileWriter<BufWriter<NewPart>>,
    rows: u64,
}

impl Parts {
    /// Creates the folder if it is missing, and removes the parts of an earlier export from it.
    ///
    /// # Errors
    /// If the folder or the store cannot be written. If an object of a store has the name of a part but was written by
    /// another program.
    pub fn create(
        target: impl Into<Target>,
        columns: &'static [Column],
        limits: Limits,
    ) -> Result<Self> {
        Self::begin(target.into(), columns, limits, None)
    }

    /// Does the same, but continues an export that was interrupted: it keeps the complete parts of an export with the
    /// same `state`, which names all that the rows and their order depend on.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn resume(
        target: impl Into<Target>,
        columns: &'static [Column],
        limits: Limits,
        state: &str,
    ) -> Result<Self> {
        let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
        let state = format!("{state} {} {}", names.join(","), env!("CARGO_PKG_VERSION"));
        let progress = Progress { state, ..Progress::default() };
        Self::begin(target.into(), columns, limits, Some(progress))
    }

    fn begin(
        target: Target,
        columns: &'static [Column],
        limits: Limits,
        mut progress: Option<Progress>,
    ) -> Result<Self> {
        target.create()?;
        let lock = target.lock()?;
        let found = target.list(PART)?.into_iter();
        let found: BTreeMap<_, _> = found.filter(|(name, _)| part_number(name).is_some()).collect();
        let before = target.read(PROGRESS, MAX_PROGRESS)?;
        let before = before.and_then(|text| serde_json::from_slice::<Progress>(&text).ok());
        let was_done = target.claim(DONE)?;
        let mut written = Written::default();
        if let (Some(progress), Some(before)) = (&mut progress, &before)
            && before.state == progress.state
            && !was_done
        {
            written = kept_parts(&found, &before.rows);
            progress.rows.extend(before.rows.iter().take(written.parts as usize));
        }
        let is_stale = |name: &&String| part_number(name) >= Some(u64::from(written.parts));
        // First look at all of them: then nothing is removed if one must stay.
        for name in found.keys().filter(is_stale) {
            target.claim(name)?;
        }
        if let Some(upload) = before.and_then(|before| before.upload)
            && part_number(&upload.part).is_some()
        {
            target.abort(&upload.part, &upload.id)?;
        }
        target.remove(DONE)?;
        for name in found.keys().filter(is_stale) {
            target.remove(name)?;
        }
        if written.parts == 0 {
            target.remove(PROGRESS)?;
        }
        if target.has_uploads() {
            // The next export must know the upload of one that was killed.
            progress = progress.or_else(|| Some(Progress::default()));
        }
        let schema = schema(columns).map_err(Error::of_part(&target.path("")))?;
        let level = ZstdLevel::try_new(3).map_err(Error::of_part(&target.path("")))?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            .set_write_batch_size(WRITE_BATCH)
            .set_created_by("hapax".to_owned())
            .build();
        Ok(Self {
            target,
            columns,
            schema,
            properties: Arc::new(properties),
            limits,
            buffers: columns.iter().map(Buffer::new).collect(),
            buffered: (0, 0),
            part: None,
            written,
            skip: written.rows,
            progress,
            _lock: lock,
        })
    }

    /// Returns what complete parts of an interrupted export have.
    pub const fn written(&self) -> Written {
        self.written
    }

    /// Returns whether the next row is in a complete part of the interrupted export. Then it must not be pushed.
    pub const fn has_next(&mut self) -> bool {
        let has = self.skip > 0;
        self.skip = self.skip.saturating_sub(1);
        has
    }

    /// Adds a row.
    ///
    /// # Errors
    /// If it does not fit the columns, or a part cannot be written.
    pub fn push(&mut self, row: Vec<Cell>) -> Result<()> {
        let bad = row.len() != self.columns.len();
        let bad = bad.then(|| format!("{} values for {} columns", row.len(), self.columns.len()));
        let all = || self.columns.iter().zip(&self.buffers).zip(&row);
        let unfit = || {
            let ((column, _), cell) = all().find(|((_, buffer), cell)| !buffer.accepts(cell))?;
            Some(format!("column {} cannot have {cell:?}", column.name))
        };
        if let Some(problem) = bad.or_else(unfit) {
            return Err(Error::Row { row: self.written.rows + self.buffered.0, problem });
        }
        let bytes: usize =
            self.buffers.iter_mut().zip(row).map(|(buffer, cell)| buffer.push(cell)).sum();
        self.buffered = (self.buffered.0 + 1, self.buffered.1 + bytes);
        if self.buffered.1 >= self.limits.group_bytes {
            self.write_group()?;
        }
        Ok(())
    }

    /// Writes the rest and marks the table as complete. A table without rows has one part.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn finish(mut self) -> Result<Written> {
        if self.buffered.0 > 0 || self.written.parts == 0 && self.part.is_none() {
            self.write_group()?;
        }
        self.finish_part()?;
        self.target.write(DONE, Vec::new())?;
        // After `_SUCCESS`, which a new export removes: a crash in between does not matter.
        self.target.remove(PROGRESS)?;
        Ok(self.written)
    }

    /// Records a part that is complete and durable.
    fn record(&mut self, rows: u64) -> Result<()> {
        let Some(progress) = &mut self.progress else { return Ok(()) };
        progress.rows.push(rows);
        progress.upload = None;
        self.write_progress()
    }

    fn write_progress(&self) -> Result<()> {
        let path = self.target.path(PROGRESS);
        let text = serde_json::to_vec(&self.progress);
        self.target.write(PROGRESS, text.map_err(|error| Error::at(&path)(error.into()))?)
    }

    fn write_group(&mut self) -> Result<()> {
        let mut part = match self.part.take() {
            Some(part) => part,
            None => self.open_part()?,
        };
        let mut write = || {
            let mut group = part.writer.next_row_group()?;
            for buffer in &mut self.buffers {
                let Some(mut column) = group.next_column()? else { break };
                buffer.write(&mut column)?;
                column.close()?;
            }
            group.close().map(drop)
        };
        write().map_err(Error::of_part(&part.path))?;
        self.written.rows += self.buffered.0;
        part.rows += self.buffered.0;
        self.buffered = (0, 0);
        let full = part.writer.bytes_written() as u64 >= self.limits.part_bytes;
        self.part = Some(part);
        if full { self.finish_part() } else { Ok(()) }
    }

    fn open_part(&mut self) -> Result<Part> {
        let name = part_name(self.written.parts);
        let path = self.target.path(&name);
        let file = self.target.begin(&name)?;
        if let (Some(id), Some(progress)) = (file.upload_id(), &mut self.progress) {
            progress.upload = Some(Pending { part: name.clone(), id: id.to_owned() });
            self.write_progress()?;
        }
        let (schema, properties) = (Arc::clone(&self.schema), Arc::clone(&self.properties));
        let writer = SerializedFileWriter::new(BufWriter::new(file), schema, properties)
            .map_err(Error::of_part(&path))?;
        Ok(Part { name, path, writer, rows: 0 })
    }

    fn finish_part(&mut self) -> Result<()> {
        let Some(Part { name, path, writer, rows }) = self.part.take() else { return Ok(()) };
        let mut buffered = writer.into_inner().map_err(Error::of_part(&path))?;
        buffered.flush().map_err(Error::at(&path))?;
        let file = buffered.into_inner().map_err(|error| Error::at(&path)(error.into_error()))?;
        self.written.bytes += self.target.finish(file, &name)?;
        self.written.parts += 1;
        self.record(rows)
    }
}

/// Returns the sum of the first parts that are there, one after the other.
fn kept_parts(found: &BTreeMap<String, Option<u64>>, rows: &[u64]) -> Written {
    let mut kept = Written::default();
    for rows in rows {
        let Some(Some(bytes)) = found.get(&part_name(kept.parts)) else { break };
        kept.rows += rows;
        kept.parts += 1;
        kept.bytes += bytes;
    }
    kept
}

fn part_name(number: u32) -> String {
    format!("part-{number:05}.parquet")
}

/// Returns the number in the name of a part: `part-00000.parquet`.
fn part_number(name: &str) -> Option<u64> {
    let number = name.strip_prefix(PART)?.strip_suffix(".parquet")?;
    let is_number = number.len() >= 5 && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| number.parse().unwrap_or(u64::MAX))
}

fn schema(columns: &[Column]) -> parquet::errors::Result<TypePtr> {
    let field = |column: &Column| {
        let repetition = if column.required { Repetition::REQUIRED } else { Repetition::OPTIONAL };
        let (physical, logical) = match column.kind {
            ColumnType::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
            ColumnType::Integer => (PhysicalType::INT64, None),
            ColumnType::Float => (PhysicalType::DOUBLE, None),
        };
        let built = Type::primitive_type_builder(column.name, physical)
            .with_repetition(repetition)
            .with_logical_type(logical)
            .build()?;
        Ok(Arc::new(built))
    };
    let fields = columns.iter().map(field).collect::<parquet::errors::Result<Vec<_>>>()?;
    Ok(Arc::new(Type::group_type_builder("schema").with_fields(fields).build()?))
}

#[cfg(test)]
pub(crate) mod tests;
