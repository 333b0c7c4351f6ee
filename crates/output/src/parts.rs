//! A folder of Parquet files that are one table.

use std::fs;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hapax_data::files::NewFile;
use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};
use serde::{Deserialize, Serialize};

use crate::buffer::Buffer;
use crate::cell::{Cell, Column, ColumnType};
use crate::error::{Error, Result};

/// Written last: readers of a folder know that it is complete. Spark's convention; readers ignore the name.
const DONE: &str = "_SUCCESS";
/// The state of an unfinished export, to continue it. Readers ignore names that begin with `_`.
const PROGRESS: &str = "_export.json";
/// Most bytes of that file: it has a number a part.
const MAX_PROGRESS: u64 = 1 << 20;
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
    folder: PathBuf,
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
}

/// What an unfinished export has written: the content of its file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Progress {
    /// Of what the rows depend on.
    state: String,
    /// Rows of each complete part.
    rows: Vec<u64>,
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parts").field("folder", &self.folder).finish_non_exhaustive()
    }
}

struct Part {
    path: PathBuf,
    writer: SerializedFileWriter<BufWriter<NewFile>>,
    rows: u64,
}

impl Parts {
    /// Creates the folder if it is missing, and removes the parts of an earlier export from it.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn create(folder: &Path, columns: &'static [Column], limits: Limits) -> Result<Self> {
        Self::begin(folder, columns, limits, None)
    }

    /// Does the same, but continues an export that was interrupted: it keeps the complete parts of an export with the
    /// same `state`, which names all that the rows and their order depend on.
    ///
    /// # Errors
    /// If the folder cannot be read or written.
    pub fn resume(
        folder: &Path,
        columns: &'static [Column],
        limits: Limits,
        state: &str,
    ) -> Result<Self> {
        let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
        let state = format!("{state} {} {}", names.join(","), env!("CARGO_PKG_VERSION"));
        Self::begin(folder, columns, limits, Some(Progress { state, rows: Vec::new() }))
    }

    fn begin(
        folder: &Path,
        columns: &'static [Column],
        limits: Limits,
        mut progress: Option<Progress>,
    ) -> Result<Self> {
        fs::create_dir_all(folder).map_err(Error::at(folder))?;
        let mut written = Written::default();
        if let Some(progress) = &mut progress
            && let Some(before) = unfinished(folder, &progress.state)
        {
            written = kept_parts(folder, &before.rows);
            progress.rows = before.rows;
            progress.rows.truncate(written.parts as usize);
        }
        remove(&folder.join(DONE))?;
        for entry in fs::read_dir(folder).map_err(Error::at(folder))? {
            let entry = entry.map_err(Error::at(folder))?;
            let number = entry.file_name().to_str().and_then(part_number);
            if number.is_some_and(|number| number >= u64::from(written.parts)) {
                remove(&entry.path())?;
            }
        }
        if written.parts == 0 {
            remove(&folder.join(PROGRESS))?;
        }
        let schema = schema(columns).map_err(Error::of_part(folder))?;
        let level = ZstdLevel::try_new(3).map_err(Error::of_part(folder))?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            .set_write_batch_size(WRITE_BATCH)
            .set_created_by("hapax".to_owned())
            .build();
        Ok(Self {
            folder: folder.to_owned(),
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
        let done = self.folder.join(DONE);
        let file = NewFile::replacing(&done).map_err(Error::at(&done))?;
        file.sync().and_then(|()| file.finish()).map_err(Error::at(&done))?;
        sync_folder(&self.folder)?;
        // After `_SUCCESS`, which a new export removes: a crash in between does not matter.
        remove(&self.folder.join(PROGRESS))?;
        Ok(self.written)
    }

    /// Records a part that is complete and durable.
    fn record(&mut self, rows: u64) -> Result<()> {
        let Some(progress) = &mut self.progress else { return Ok(()) };
        progress.rows.push(rows);
        let path = self.folder.join(PROGRESS);
        let mut file = NewFile::replacing(&path).map_err(Error::at(&path))?;
        let text = serde_json::to_vec(progress).map_err(|error| Error::at(&path)(error.into()))?;
        let written = file.write_all(&text).and_then(|()| file.sync());
        written.and_then(|()| file.finish()).map_err(Error::at(&path))?;
        sync_folder(&self.folder)
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

    fn open_part(&self) -> Result<Part> {
        let path = self.folder.join(part_name(self.written.parts));
        let file = NewFile::replacing(&path).map_err(Error::at(&path))?;
        let (schema, properties) = (Arc::clone(&self.schema), Arc::clone(&self.properties));
        let writer = SerializedFileWriter::new(BufWriter::new(file), schema, properties)
            .map_err(Error::of_part(&path))?;
        Ok(Part { path, writer, rows: 0 })
    }

    fn finish_part(&mut self) -> Result<()> {
        let Some(Part { path, writer, rows }) = self.part.take() else { return Ok(()) };
        let mut buffered = writer.into_inner().map_err(Error::of_part(&path))?;
        buffered.flush().map_err(Error::at(&path))?;
        let file = buffered.into_inner().map_err(|error| Error::at(&path)(error.into_error()))?;
        file.sync().and_then(|()| file.finish()).map_err(Error::at(&path))?;
        sync_folder(&self.folder)?;
        self.written.parts += 1;
        self.written.bytes += fs::metadata(&path).map_err(Error::at(&path))?.len();
        self.record(rows)
    }
}

/// Returns what an interrupted export with this state has recorded.
fn unfinished(folder: &Path, state: &str) -> Option<Progress> {
    if folder.join(DONE).exists() {
        return None;
    }
    let mut text = Vec::new();
    let file = fs::File::open(folder.join(PROGRESS)).ok()?;
    file.take(MAX_PROGRESS).read_to_end(&mut text).ok()?;
    let progress: Progress = serde_json::from_slice(&text).ok()?;
    (progress.state == state).then_some(progress)
}

/// Returns the sum of the first parts that are there, one after the other.
fn kept_parts(folder: &Path, rows: &[u64]) -> Written {
    let mut kept = Written::default();
    for rows in rows {
        let path = folder.join(part_name(kept.parts));
        let Ok(meta) = path.symlink_metadata() else { break };
        if !meta.is_file() {
            break;
        }
        kept.rows += rows;
        kept.parts += 1;
        kept.bytes += meta.len();
    }
    kept
}

fn part_name(number: u32) -> String {
    format!("part-{number:05}.parquet")
}

/// Returns the number in the name of a part: `part-00000.parquet`.
fn part_number(name: &str) -> Option<u64> {
    let number = name.strip_prefix("part-")?.strip_suffix(".parquet")?;
    let is_number = number.len() >= 5 && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| number.parse().unwrap_or(u64::MAX))
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::at(path)(error)),
        _ => Ok(()),
    }
}

fn sync_folder(folder: &Path) -> Result<()> {
    if cfg!(unix) {
        fs::File::open(folder).and_then(|file| file.sync_all()).map_err(Error::at(folder))?;
    }
    Ok(())
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
