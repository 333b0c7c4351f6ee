//! Files as they are given to any command: gzipped ones are seen from their bytes.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

/// No page or text is larger.
pub(super) const MAX_FILE: u64 = 256 << 20;

/// Reads a file, or stdin for `-`, gzipped or plain.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let count = if path == Path::new("-") {
        io::stdin().take(MAX_FILE + 1).read_to_end(&mut bytes)?
    } else {
        File::open(path)?.take(MAX_FILE + 1).read_to_end(&mut bytes)?
    };
    if count as u64 > MAX_FILE {
        return Err(io::Error::other(format!("larger than {MAX_FILE} bytes")));
    }
    gunzip(bytes)
}

/// Undoes gzip if the bytes are gzipped.
pub(super) fn gunzip(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
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
