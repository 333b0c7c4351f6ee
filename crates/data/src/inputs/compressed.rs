//! Input files of all commands: gzip is recognised by its bytes.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

/// Largest page or text: reading one of this size takes seconds and half a gigabyte.
const MAX_FILE: u64 = 32 << 20;
/// Bytes that determine the kind of a file.
const HEAD: u64 = 1024;
const BUFFER: usize = 1 << 18;

/// Reads a file that a person named, or stdin for `-`, gzipped or plain.
///
/// # Errors
/// From the file, or if it is larger than 32 MiB.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    if path == Path::new("-") { within(io::stdin()) } else { within(File::open(path)?) }
}

/// Reads an input to its end, gzipped or plain.
///
/// # Errors
/// From the file, or if it is larger than 32 MiB.
pub fn within(from: impl Read) -> io::Result<Vec<u8>> {
    gunzip(as_it_lies(from)?)
}

/// Reads an input to its end, without decompression.
///
/// # Errors
/// From the file, or if it is larger than 32 MiB.
pub fn as_it_lies(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let count = from.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    if count as u64 > MAX_FILE {
        return Err(io::Error::other(format!(
            "larger than {} MiB, the maximum for a page",
            MAX_FILE >> 20
        )));
    }
    Ok(bytes)
}

/// Returns the first bytes of a file, decompressed, which determine its kind, and a reader of the whole file: a pipe
/// cannot be read twice. Damage only shortens the first bytes, because the later read reports it.
///
/// # Errors
/// From the file.
pub fn head_and_whole<R: Read>(mut file: R) -> io::Result<(Vec<u8>, impl Read + use<R>)> {
    let (mut start, mut head) = (Vec::new(), Vec::new());
    file.by_ref().take(HEAD).read_to_end(&mut start)?;
    let _ = unpacked(start.as_slice())?.take(HEAD).read_to_end(&mut head);
    Ok((head, io::Cursor::new(start).chain(file)))
}

/// Returns a reader of an input of any length, decompressed if it is gzipped.
///
/// # Errors
/// From the input.
pub fn unpacked<'a>(mut input: impl BufRead + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    // A pipe may deliver them one by one.
    let mut start = Vec::new();
    input.by_ref().take(2).read_to_end(&mut start)?;
    let gzipped = is_gzip(&start);
    let whole = io::Cursor::new(start).chain(input);
    Ok(match gzipped {
        true => Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(whole))),
        false => Box::new(whole),
    })
}

fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b])
}

/// Returns the next line with its end; `None` after the last one. A line longer than `max` is cut after `max` + 1
/// bytes, and the rest is skipped.
///
/// # Errors
/// From the input.
pub fn read_line(input: &mut impl BufRead, max: usize) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    if input.by_ref().take(max as u64 + 1).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.len() > max && !line.ends_with(b"\n") {
        loop {
            let piece = input.fill_buf()?;
            let end = piece.iter().position(|&byte| byte == b'\n');
            let (read, ends) = end.map_or((piece.len(), piece.is_empty()), |at| (at + 1, true));
            input.consume(read);
            if ends {
                break;
            }
        }
    }
    Ok(Some(line))
}

fn gunzip(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    if !is_gzip(&bytes) {
        return Ok(bytes);
    }
    let mut plain = Vec::new();
    let count = MultiGzDecoder::new(bytes.as_slice()).take(MAX_FILE + 1).read_to_end(&mut plain)?;
    if count as u64 > MAX_FILE {
        return Err(io::Error::other(format!(
            "larger than {} MiB decompressed, the maximum for a page",
            MAX_FILE >> 20
        )));
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_a_damaged_file_is_no_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"\x1f\x8b\x08\0damaged").unwrap();
        let head = |path: &Path| head_and_whole(File::open(path)?).map(|(head, _)| head);
        assert!(head(file.path()).unwrap().len() < 9);
        std::fs::write(file.path(), "é".repeat(HEAD as usize)).unwrap();
        assert_eq!(head(file.path()).unwrap().len() as u64, HEAD);
        assert!(head(Path::new("no-such-file")).is_err());
    }

    #[test]
    fn a_line_that_is_too_long_is_read_over_and_the_next_one_is_whole() {
        let mut input = io::BufReader::with_capacity(4, &b"short\n0123456789abcdef\nlast"[..]);
        let mut next = || read_line(&mut input, 8).unwrap();
        assert_eq!(next().as_deref(), Some(&b"short\n"[..]));
        assert_eq!(next().map(|line| line.len()), Some(9), "too long, and told by its length");
        assert_eq!(next().as_deref(), Some(&b"last"[..]));
        assert_eq!(next(), None);
    }
}
