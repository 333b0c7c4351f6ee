//! Output of a command: a named file, or stdout.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Result;

use crate::output::escape;
use hapax_data::files::{Destination, NamedFile};

pub(super) struct Sink {
    out: BufWriter<Box<dyn Destination>>,
    terminal: bool,
}

impl Sink {
    /// A file or an object of a store, which appears when it is finished; stdout without a path or for `-`.
    pub(super) fn create(path: Option<&Path>) -> Result<Self> {
        Self::until(path, &Arc::default())
    }

    /// Does the same. Writing to a store ends with an error when `stop` becomes true.
    #[cfg_attr(not(feature = "parquet"), expect(unused_variables, reason = "no store"))]
    pub(super) fn until(path: Option<&Path>, stop: &Arc<AtomicBool>) -> Result<Self> {
        let (out, terminal): (Box<dyn Destination>, bool) = match path {
            #[cfg(feature = "parquet")]
            Some(path) if hapax_output::is_store(path) => {
                (hapax_output::object(path, Arc::clone(stop))?, false)
            }
            Some(path) if path != Path::new("-") => {
                let file = NamedFile::create(path)?;
                let terminal = file.is_terminal();
                (Box::new(file), terminal)
            }
            _ => (Box::new(io::stdout().lock()), io::stdout().is_terminal()),
        };
        Ok(Self { out: BufWriter::new(out), terminal })
    }

    pub(super) fn finish(self) -> Result<()> {
        let out = self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok(out.finish()?)
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
