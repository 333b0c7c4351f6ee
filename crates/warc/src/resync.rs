//! Resynchronises behind damage: finds the next start of a record.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use flate2::bufread::{GzDecoder, MultiGzDecoder};

use crate::arc;
use crate::reader::{Input, Reader};

/// Prefixes of a gzip member (RFC 1952, section 2.3) and of a record.
pub(crate) const GZIP: &[u8] = &[0x1f, 0x8b, 8];
const RECORD: &[u8] = b"WARC/";
/// Start of the header line in most uncompressed ARC records, with the line end before it.
const ARC_RECORD: &[u8] = b"\nhttp";
/// Compressed bytes of a member within which its record must begin.
const PROBE: u64 = 4096;
/// Most bytes that are read again: a multiple of the file, and a minimum for small files. Otherwise false record
/// starts could cause millions of reads of one byte.
const REREAD: u64 = 8;
const MIN_REREAD: u64 = 16 << 20;

impl<R: Read + Seek> Reader<R> {
    /// After an error: moves to the next start of a record. Returns `false` if there is none.
    ///
    /// # Errors
    /// From the input.
    ///
    /// # Complexity
    /// Linear in the bytes of the file, over all calls. After `REREAD` is reached, the search continues at the
    /// reader's position instead of the last record.
    pub fn resync(&mut self) -> io::Result<bool> {
        let (Some(input), Some(start)) = (self.input.take(), self.start) else {
            return Ok(false);
        };
        let (mut raw, gzip) = match input {
            Input::Gzip(input) => (input.into_inner().into_inner(), true),
            Input::Plain(input) => (input, false),
        };
        self.go_back(&mut raw, start + 1)?;
        let wanted = match (gzip, self.arc) {
            (true, _) => GZIP,
            (false, true) => ARC_RECORD,
            (false, false) => RECORD,
        };
        while let Some(mut at) = skip_to(&mut raw, wanted)? {
            let input = if !gzip && !self.arc {
                Input::Plain(raw)
            } else if !gzip {
                at += 1;
                raw.consume(1);
                if !begins_arc_record(&mut raw) {
                    self.go_back(&mut raw, at)?;
                    continue;
                }
                move_to(&mut raw, at)?;
                Input::Plain(raw)
            } else if begins_record(&mut raw, self.arc) {
                move_to(&mut raw, at)?;
                Input::Gzip(Box::new(BufReader::new(MultiGzDecoder::new(raw))))
            } else {
                self.go_back(&mut raw, at + 1)?;
                continue;
            };
            self.start = Some(at);
            self.input = Some(input);
            return Ok(true);
        }
        Ok(false)
    }

    /// Seeks back to `place`, unless too many bytes were read again already.
    fn go_back(&mut self, raw: &mut BufReader<R>, place: u64) -> io::Result<()> {
        let again = self.reread + raw.stream_position()?.saturating_sub(place);
        let length = self.length.unwrap_or_default();
        if again <= length.saturating_mul(REREAD).max(MIN_REREAD) {
            self.reread = again;
            move_to(raw, place)?;
        }
        Ok(())
    }
}

/// Seeks, and keeps the buffer if it contains the place.
pub(crate) fn move_to<R: Read + Seek>(raw: &mut BufReader<R>, place: u64) -> io::Result<()> {
    let here = raw.stream_position()?;
    match place.checked_signed_diff(here) {
        Some(distance) => raw.seek_relative(distance),
        None => raw.seek(SeekFrom::Start(place)).map(|_| ()),
    }
}

/// Returns whether the gzip member here begins a record: its magic bytes may occur anywhere.
pub(crate) fn begins_record<R: Read>(raw: &mut BufReader<R>, arc: bool) -> bool {
    let mut member = GzDecoder::new(raw.take(PROBE));
    if arc {
        return begins_arc_record(&mut BufReader::new(member));
    }
    let mut first = [0; RECORD.len()];
    member.read_exact(&mut first).is_ok() && first == RECORD
}

/// Returns whether the line here is the header of an ARC record.
fn begins_arc_record(input: &mut impl BufRead) -> bool {
    let mut line = Vec::new();
    let read = input.take(PROBE).read_until(b'\n', &mut line);
    read.is_ok() && arc::headers(String::from_utf8_lossy(&line).trim_end()).is_some()
}

/// Moves to the next `wanted`. Returns its offset, or `None` at the end.
pub(crate) fn skip_to<R: Read + Seek>(
    input: &mut BufReader<R>,
    wanted: &[u8],
) -> io::Result<Option<u64>> {
    let first = wanted.first().copied().unwrap_or_default();
    loop {
        let bytes = input.fill_buf()?;
        if bytes.is_empty() {
            return Ok(None);
        }
        match bytes.iter().position(|&byte| byte == first) {
            None => {
                let length = bytes.len();
                input.consume(length);
            }
            Some(at) => {
                input.consume(at);
                let mut found = Vec::with_capacity(wanted.len());
                input.by_ref().take(wanted.len() as u64).read_to_end(&mut found)?;
                if found.len() < wanted.len() {
                    return Ok(None);
                }
                if found == wanted {
                    input.seek_relative(-(found.len() as i64))?;
                    return input.stream_position().map(Some);
                }
                input.seek_relative(1 - found.len() as i64)?;
            }
        }
    }
}
