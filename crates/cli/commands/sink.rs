//! Output of a command: a named file, or stdout.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Result;

use crate::output::escape;
use hapax_data::files::{ContinuedFile, Destination, NamedFile};

pub(super) struct Sink {
    out: Box<dyn Destination>,
    terminal: bool,
}

impl Sink {
    /// A file or an object of a store, which appears when it is finished; stdout without a path or for `-`.
    pub(super) fn create(path: Option<&Path>) -> Result<Self> {
        Self::continued(path, None, &Arc::default())
    }

    /// Does the same, and continues what an interrupted command with the same state left there. Writing to a store ends
    /// with an error when `stop` becomes true.
    #[cfg_attr(not(feature = "parquet"), expect(unused_variables, reason = "no store"))]
    pub(super) fn continued(
        path: Option<&Path>,
        state: Option<&str>,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self> {
        let (out, terminal): (Box<dyn Destination>, bool) = match path {
            #[cfg(feature = "parquet")]
            Some(path) if hapax_output::is_store(path) => {
                (hapax_output::object(path, state, Arc::clone(stop))?, false)
            }
            Some(path) if path != Path::new("-") => {
                match state.and_then(|state| ContinuedFile::open(path, state)) {
                    Some(file) => (Box::new(file), false),
                    None => {
                        let file = NamedFile::create(path)?;
                        let terminal = file.is_terminal();
                        (Box::new(file), terminal)
                    }
                }
            }
            _ => (Box::new(BufWriter::new(io::stdout().lock())), io::stdout().is_terminal()),
        };
        Ok(Self { out, terminal })
    }

    /// Pages that need not be read again.
    pub(super) fn read_before(&self) -> u64 {
        self.out.read_before()
    }

    /// Says that the next line is that of a page before which `read` pages were read.
    pub(super) fn begin_row(&mut self, read: u64) -> Result<()> {
        Ok(self.out.begin_row(read)?)
    }

    /// Writes a record of CSV. Control characters are escaped on a terminal only; a file or program gets the bytes as
    /// they are.
    pub(super) fn record<'a>(&mut self, cells: impl IntoIterator<Item = &'a str>) -> Result<()> {
        let mut record = csv::Writer::from_writer(Vec::new());
        if self.terminal {
            record.write_record(cells.into_iter().map(escape))?;
        } else {
            record.write_record(cells)?;
        }
        let record = record.into_inner().map_err(csv::IntoInnerError::into_error)?;
        Ok(self.write_all(&record)?)
    }

    pub(super) fn finish(self) -> Result<()> {
        Ok(self.out.finish()?)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of a table with one hostile cell.
    fn table(terminal: bool) -> Vec<u8> {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut out = Sink::create(Some(file.path())).unwrap();
        out.terminal = terminal;
        out.record(["id", "a\u{1b}[31mb\u{9b}c\u{202e}\nd"]).unwrap();
        out.finish().unwrap();
        std::fs::read(file.path()).unwrap()
    }

    #[test]
    fn a_table_cannot_command_a_terminal_and_is_whole_elsewhere() {
        let shown = String::from_utf8(table(true)).unwrap();
        assert_eq!(shown, "id,\"a\\u{1b}[31mb\\u{9b}c\\u{202e}\nd\"\n");
        assert_eq!(table(false), "id,\"a\u{1b}[31mb\u{9b}c\u{202e}\nd\"\n".as_bytes());
    }
}
