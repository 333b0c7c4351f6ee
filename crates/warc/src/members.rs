use std::io::{self, BufReader, Read, Seek, SeekFrom};

use flate2::bufread::GzDecoder;

use crate::reader::{Record, read_record};
use crate::resync::{GZIP, begins_record, move_to, skip_to};

/// A record and its place in a compressed file.
#[derive(Clone, Debug)]
pub struct Member {
    /// Offset of the gzip member.
    pub offset: u64,
    /// Compressed length in bytes.
    pub length: u64,
    /// The record.
    pub record: Record,
}

/// Reads a file of one gzip member a record, as this crate writes them, with the place of each: for indexes.
#[derive(Debug)]
pub struct Members<R> {
    input: BufReader<R>,
    offset: u64,
    end: u64,
    max_block: u64,
}

impl<R: Read + Seek> Members<R> {
    /// Reads the first `length` bytes of a file. Blocks longer than `max_block` are skipped.
    ///
    /// # Errors
    /// From the input.
    pub fn new(mut input: R, length: u64, max_block: u64) -> io::Result<Self> {
        input.seek(SeekFrom::Start(0))?;
        let input = BufReader::with_capacity(64 * 1024, input);
        Ok(Self { input, offset: 0, end: length, max_block })
    }

    /// Returns the offset after the last record.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the next record, or `None` at the end. A record that is too long has an empty block.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] or [`io::ErrorKind::UnexpectedEof`] if no whole record begins here.
    pub fn next_member(&mut self) -> io::Result<Option<Member>> {
        let offset = self.offset;
        let left = self.end.saturating_sub(offset);
        if left == 0 {
            return Ok(None);
        }
        let mut member = BufReader::new(GzDecoder::new((&mut self.input).take(left)));
        let (mut longest, mut is_arc) = (u64::MAX, false);
        let record = read_record(&mut member, self.max_block, &mut longest, &mut is_arc)?;
        // Reads the checksum too.
        let after = io::copy(&mut member, &mut io::sink())?;
        let record = record.filter(|_| after <= END.len() as u64).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, "a gzip member that is not one record")
        })?;
        let length = left - member.into_inner().into_inner().limit();
        self.offset += length;
        Ok(Some(Member { offset, length, record }))
    }

    /// After an error: moves to the start of the next record. Returns `false` at the end of the file.
    ///
    /// # Errors
    /// From the input.
    ///
    /// # Complexity
    /// Linear in the bytes up to there.
    pub fn resync(&mut self) -> io::Result<bool> {
        let mut place = self.offset + 1;
        loop {
            move_to(&mut self.input, place)?;
            let found = skip_to(&mut self.input, GZIP)?.filter(|at| *at < self.end);
            let Some(at) = found else {
                self.offset = self.end;
                return Ok(false);
            };
            if begins_record(&mut self.input, false) {
                move_to(&mut self.input, at)?;
                self.offset = at;
                return Ok(true);
            }
            place = at + 1;
        }
    }
}

/// The end of a record.
const END: &[u8] = b"\r\n\r\n";

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

    use super::*;

    fn member(block: &str) -> Vec<u8> {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        write!(out, "WARC/1.1\r\nContent-Length: {}\r\n\r\n{block}\r\n\r\n", block.len()).unwrap();
        out.finish().unwrap()
    }

    #[test]
    fn each_record_is_found_at_its_place_and_a_cut_one_is_an_error() {
        let members: Vec<_> = ["one", "", "three"].iter().map(|block| member(block)).collect();
        let file = members.concat();
        let mut read = Members::new(Cursor::new(&file), file.len() as u64, 4).unwrap();
        let mut offset = 0;
        for (bytes, block) in members.iter().zip(["one", "", ""]) {
            let found = read.next_member().unwrap().unwrap();
            assert_eq!((found.offset, found.length), (offset, bytes.len() as u64));
            assert_eq!(found.record.block, block.as_bytes());
            offset += bytes.len() as u64;
        }
        assert!(read.next_member().unwrap().is_none() && read.offset() == offset);
        for length in 1..members[0].len() {
            let mut cut = Members::new(Cursor::new(&file), length as u64, 9).unwrap();
            assert!(cut.next_member().is_err(), "{length}");
        }
        let two =
            [b"WARC/1.1\r\nContent-Length: 0\r\n\r\n\r\n\r\nWARC/1.1\r\n".as_slice()].concat();
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(&two).unwrap();
        let file = out.finish().unwrap();
        let mut read = Members::new(Cursor::new(&file), file.len() as u64, 9).unwrap();
        assert!(read.next_member().is_err());
    }

    #[test]
    fn reading_goes_on_behind_a_damaged_record() {
        let members: Vec<_> =
            ["one", "two two two two", "three"].iter().map(|block| member(block)).collect();
        let (first, second) = (members[0].len(), members[1].len());
        for damaged in first + 2..first + second {
            let mut file = members.concat();
            file[damaged] ^= 0x55;
            let mut read = Members::new(Cursor::new(&file), file.len() as u64, 99).unwrap();
            let mut blocks = Vec::new();
            loop {
                match read.next_member() {
                    Ok(Some(found)) => blocks.push(found.record.block),
                    Ok(None) => break,
                    Err(_) if read.resync().unwrap() => {}
                    Err(_) => break,
                }
            }
            assert!(blocks.first().is_some_and(|block| block == b"one"), "{damaged}");
            assert!(blocks.last().is_some_and(|block| block == b"three"), "{damaged}");
        }
        // Nothing follows.
        let file = &members[0][..members[0].len() - 3];
        let mut read = Members::new(Cursor::new(file), file.len() as u64, 99).unwrap();
        assert!(read.next_member().is_err() && !read.resync().unwrap());
        assert!(read.next_member().unwrap().is_none());
    }
}
