//! Memory maps of files. One of the two modules with unsafe code.
#![expect(unsafe_code, reason = "a file is mapped")]

use std::fs::File;
use std::io;

use memmap2::Mmap;

/// Maps a whole file for reading.
pub(super) fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: the bytes must not change while they are mapped. A segment is written from front to
    // back: what is in the file when it is mapped is never written again, also while more is
    // appended behind it; the folder is locked against other stores. Another program that writes into the
    // folder or cuts a file is outside of what can be defended (it would end the process with SIGBUS). All reads go through
    // `&[u8]` with bounds checks, and nothing is assumed of the bytes but what checksums prove.
    unsafe { Mmap::map(file) }
}
