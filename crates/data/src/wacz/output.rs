//! The output of a ZIP writer, which still writes when it is dropped after an error, and prints if that fails.

use std::io::{self, Seek, SeekFrom, Write};

/// An output that ignores all writes after the first error, which it returns once.
#[derive(Debug)]
pub(super) struct Output<W> {
    inner: W,
    /// Where writing goes on.
    position: u64,
    failed: bool,
}

impl<W: Write + Seek> Output<W> {
    pub(super) const fn new(inner: W) -> Self {
        Self { inner, position: 0, failed: false }
    }

    pub(super) fn into_inner(self) -> W {
        self.inner
    }

    fn noting<T>(&mut self, done: io::Result<T>) -> io::Result<T> {
        self.failed |= done.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::Interrupted);
        done
    }
}

impl<W: Write + Seek> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let done = if self.failed { Ok(bytes.len()) } else { self.inner.write(bytes) };
        self.position += *done.as_ref().unwrap_or(&0) as u64;
        self.noting(done)
    }

    fn flush(&mut self) -> io::Result<()> {
        let done = if self.failed { Ok(()) } else { self.inner.flush() };
        self.noting(done)
    }
}

impl<W: Write + Seek> Seek for Output<W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let done = match to {
            _ if !self.failed => self.inner.seek(to),
            SeekFrom::Start(position) => Ok(position),
            SeekFrom::Current(by) | SeekFrom::End(by) => {
                Ok(self.position.saturating_add_signed(by))
            }
        };
        self.position = *done.as_ref().unwrap_or(&self.position);
        self.noting(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_error_is_returned() {
        /// A full disk.
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Err(io::ErrorKind::StorageFull.into())
            }
        }
        impl Seek for Full {
            fn seek(&mut self, _: SeekFrom) -> io::Result<u64> {
                Err(io::ErrorKind::StorageFull.into())
            }
        }
        let mut output = Output::new(Full);
        assert!(output.write(b"12").is_err());
        assert_eq!(output.write(b"12").unwrap(), 2);
        assert_eq!(output.stream_position().unwrap(), 2);
        assert_eq!(output.seek(SeekFrom::Start(7)).unwrap(), 7);
        output.flush().unwrap();
    }
}
