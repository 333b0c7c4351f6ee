//! Files that a person names on the command line, and files that an input names: the latter only below a folder.

use std::fs::File;
use std::io::{self, Cursor, ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use super::compressed::within;
use crate::error::Error;
use crate::files::Root;

const PIECE: usize = 1 << 16;
const PIECES_AHEAD: usize = 4;
/// Interval at which a wait for a pipe checks the stop flag.
const LOOK: Duration = Duration::from_millis(50);

/// Opens the folder of `--root`, below which inputs may name files.
///
/// # Errors
/// [`Error::Invalid`] if it cannot be read.
pub fn root_of(path: &Path) -> Result<Root, Error> {
    Root::open(path).map_err(|error| {
        let path = path.display();
        Error::Invalid(format!("--root {path}: {error}. Name a folder that can be read"))
    })
}

/// Reads a file that a JSON line names.
///
/// # Errors
/// A description: the file is not below `root`, or cannot be read.
pub fn read_named(root: Option<&Root>, path: &str) -> Result<Vec<u8>, String> {
    let Some(root) = root else {
        return Err(format!("\"path\" ({path}) needs a folder: add --root DIR"));
    };
    let bytes = root.file(Path::new(path)).and_then(within);
    bytes.map_err(|error| match error.kind() {
        ErrorKind::NotFound => format!("{path}: no such file"),
        _ => format!("{path}: {error}"),
    })
}

/// Opens a file that a person named. A pipe or terminal is read by another thread, so that a signal ends the wait.
///
/// # Errors
/// From the file.
pub fn open_named(path: &Path, stop: &Arc<AtomicBool>) -> io::Result<Box<dyn Read>> {
    if path == Path::new("-") {
        return Ok(Box::new(Waiting::begin(|| Ok(io::stdin()), stop)?));
    }
    if std::fs::metadata(path)?.is_file() {
        return Ok(Box::new(File::open(path)?));
    }
    let path = path.to_owned();
    // Opening a pipe waits for its writer.
    Ok(Box::new(Waiting::begin(|| File::open(path), stop)?))
}

/// An input that another thread reads.
#[derive(Debug)]
struct Waiting {
    pieces: Receiver<io::Result<Vec<u8>>>,
    piece: Cursor<Vec<u8>>,
    stop: Arc<AtomicBool>,
}

impl Waiting {
    fn begin<R: Read>(
        open: impl FnOnce() -> io::Result<R> + Send + 'static,
        stop: &Arc<AtomicBool>,
    ) -> io::Result<Self> {
        let (send, pieces) = sync_channel(PIECES_AHEAD);
        let read = move || {
            let mut input = match open() {
                Ok(input) => input,
                Err(error) => return drop(send.send(Err(error))),
            };
            loop {
                let mut piece = vec![0; PIECE];
                let piece = match input.read(&mut piece) {
                    Ok(0) => return,
                    Ok(count) => {
                        piece.truncate(count);
                        Ok(piece)
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    Err(error) => Err(error),
                };
                let failed = piece.is_err();
                if send.send(piece).is_err() || failed {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("input".into()).spawn(read)?;
        Ok(Self { pieces, piece: Cursor::default(), stop: Arc::clone(stop) })
    }
}

impl Read for Waiting {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.piece.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            if self.stop.load(Relaxed) {
                return Err(io::Error::other(Stopped));
            }
            match self.pieces.recv_timeout(LOOK) {
                Ok(piece) => self.piece = Cursor::new(piece?),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
            }
        }
    }
}

/// The error if a signal ended a wait.
#[derive(Debug)]
struct Stopped;

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("interrupted while it was read")
    }
}

impl std::error::Error for Stopped {}

/// Returns whether a signal ended the wait for an input, so that the input is not invalid.
pub fn is_stop(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Stopped>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_with_a_signal_and_an_input_with_its_last_byte() {
        let stop = Arc::new(AtomicBool::new(false));
        let text = "x".repeat(3 * PIECE + 7);
        let input = Cursor::new(text.clone().into_bytes());
        let mut read = String::new();
        Waiting::begin(|| Ok(input), &stop).unwrap().read_to_string(&mut read).unwrap();
        assert_eq!(read, text);
        stop.store(true, Relaxed);
        let forever = || {
            std::thread::sleep(Duration::from_secs(3600));
            Ok(io::empty())
        };
        let error = Waiting::begin(forever, &stop).unwrap().read(&mut [0; 8]).unwrap_err();
        assert!(is_stop(&error), "{error}");
        assert!(read_named(None, "x").unwrap_err().contains("--root"));
    }
}
