//! Files as they are given to any command: gzipped ones are seen from their bytes.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

/// No page or text is larger: one of this size takes some seconds and half a gigabyte to read.
const MAX_FILE: u64 = 32 << 20;

/// Reads a file, or stdin for `-`, gzipped or plain.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    if path == Path::new("-") { within(io::stdin()) } else { read_file(path) }
}

/// Reads a file of whatever name, gzipped or plain.
pub(super) fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    within(File::open(path)?)
}

fn within(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let count = from.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    if count as u64 > MAX_FILE {
        return Err(io::Error::other(format!("larger than {MAX_FILE} bytes")));
    }
    gunzip(bytes)
}

/// Undoes gzip if the bytes are gzipped.
fn gunzip(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(bytes);
    }
    let mut plain = Vec::new();
    let count = MultiGzDecoder::new(bytes.as_slice()).take(MAX_FILE + 1).read_to_end(&mut plain)?;
    if count as u64 > MAX_FILE {
        return Err(io::Error::other(format!("larger than {MAX_FILE} bytes unpacked")));
    }
    Ok(plain)
}
