//! Output of a command: a named file, or stdout.

use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::output::escape;
use hapax_data::files::NewFile;
use hapax_data::unwritable;

pub(super) struct Sink {
    out: BufWriter<Place>,
    terminal: bool,
}

enum Place {
    File(NewFile, PathBuf),
    Stdout(StdoutLock<'static>),
}

impl Sink {
    /// A file, which appears when it is finished; stdout without a path or for `-`.
    pub(super) fn create(path: Option<&Path>) -> Result<Self> {
        let (out, terminal) = match path {
            Some(path) if path != Path::new("-") => {
                let file = NewFile::create(path).map_err(|error| unwritable(path, &error))?;
                let terminal = file.is_terminal();
                (Place::File(file, path.to_owned()), terminal)
            }
            _ => (Place::Stdout(io::stdout().lock()), io::stdout().is_terminal()),
        };
        Ok(Self { out: BufWriter::new(out), terminal })
    }

    pub(super) fn finish(self) -> Result<()> {
        match self.out.into_inner().map_err(io::IntoInnerError::into_error)? {
            Place::File(file, path) => {
                Ok(file.finish().map_err(|error| unwritable(&path, &error))?)
            }
            Place::Stdout(mut out) => Ok(out.flush()?),
        }
    }
}

/// Adds the path to an error and preserves its kind.
fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), unwritable(path, error))
}

impl Write for Place {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file, path) => file.write(bytes).map_err(|error| named(path, &error)),
            Self::Stdout(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file, path) => file.flush().map_err(|error| named(path, &error)),
            Self::Stdout(out) => out.flush(),
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A table for spreadsheets. Control characters are escaped on a terminal only; a file or program gets the bytes as
/// they are.
pub(super) struct Table {
    rows: csv::Writer<Sink>,
    terminal: bool,
}

impl Table {
    pub(super) fn new(out: Sink) -> Self {
        Self { terminal: out.terminal, rows: csv::Writer::from_writer(out) }
    }

    pub(super) fn row<'a>(&mut self, cells: impl IntoIterator<Item = &'a str>) -> Result<()> {
        let written = if self.terminal {
            self.rows.write_record(cells.into_iter().map(escape))
        } else {
            self.rows.write_record(cells)
        };
        written.map_err(of_table)
    }

    pub(super) fn finish(self) -> Result<()> {
        self.rows.into_inner().map_err(csv::IntoInnerError::into_error)?.finish()
    }
}

/// Extracts the I/O error, so that a closed pipe is recognised.
fn of_table(error: csv::Error) -> anyhow::Error {
    match error.is_io_error() {
        true => match error.into_kind() {
            csv::ErrorKind::Io(error) => error.into(),
            other => anyhow::anyhow!("{other:?}"),
        },
        false => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of a table with one hostile cell.
    fn table(terminal: bool) -> Vec<u8> {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut out = Sink::create(Some(file.path())).unwrap();
        out.terminal = terminal;
        let mut table = Table::new(out);
        table.row(["id", "a\u{1b}[31mb\u{9b}c\u{202e}\nd"]).unwrap();
        table.finish().unwrap();
        std::fs::read(file.path()).unwrap()
    }

    #[test]
    fn a_table_cannot_command_a_terminal_and_is_whole_elsewhere() {
        let shown = String::from_utf8(table(true)).unwrap();
        assert_eq!(shown, "id,\"a\\u{1b}[31mb\\u{9b}c\\u{202e}\nd\"\n");
        assert_eq!(table(false), "id,\"a\u{1b}[31mb\u{9b}c\u{202e}\nd\"\n".as_bytes());
    }
}
