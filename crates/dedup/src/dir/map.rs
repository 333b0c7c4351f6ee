//! Memory maps of files. One of the two modules with unsafe code.
#![expect(unsafe_code, reason = "a file is mapped")]

use std::fs::File;
use std::io;

use memmap2::Mmap;

pub(super) fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: the bytes must not change while they are mapped. A segment is written front to back, so the mapped part
    // is never written again, even while more is appended. The folder is locked against other stores. We cannot
    // defend against another program that writes or truncates the file (SIGBUS would end the process). All reads use
    // `&[u8]` with bounds checks and assume only what checksums prove.
    unsafe { Mmap::map(file) }
}
