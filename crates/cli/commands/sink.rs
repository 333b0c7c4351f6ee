//! Where a command's results go: into a file that was named, or to stdout.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

use anyhow::Result;

use crate::data::unwritable;
use crate::output::escape;

/// A file or stdout.
pub(super) struct Sink {
    out: BufWriter<Box<dyn Write>>,
    terminal: bool,
}

impl Sink {
    /// The file, made anew; stdout without one or for `-`.
    pub(super) fn create(path: Option<&Path>) -> Result<Self> {
        let (out, terminal): (Box<dyn Write>, bool) = match path {
            Some(path) if path != Path::new("-") => {
                let file = File::create(path).map_err(|error| unwritable(path, &error))?;
                let terminal = file.is_terminal();
                (Box::new(file), terminal)
            }
            _ => (Box::new(io::stdout().lock()), io::stdout().is_terminal()),
        };
        Ok(Self { out: BufWriter::new(out), terminal })
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

/// A table for spreadsheets. What a terminal would obey is escaped there, and there alone: a file or
/// a program gets the bytes as they are.
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

    pub(super) fn finish(mut self) -> Result<()> {
        Ok(self.rows.flush()?)
    }
}

/// What went wrong with the output itself, as that: a reader who has gone is no error.
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
