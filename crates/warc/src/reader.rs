use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::bufread::{GzDecoder, MultiGzDecoder};

use crate::arc;
use crate::location::{Location, file_name};

const MAX_HEADER: usize = 64 * 1024;
/// Highest compression ratio of deflate, and bytes that a decoder may buffer.
const MAX_DEFLATE: u64 = 1032;
const HELD_BACK: u64 = 64 * 1024;

/// One record.
#[derive(Clone, Debug)]
pub struct Record {
    /// Header names in lower case, and their values.
    pub headers: Vec<(String, String)>,
    /// Its block.
    pub block: Vec<u8>,
}

impl Record {
    /// Returns the first header with this name (lower case).
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }
}

/// Reads the records of a WARC or ARC file in order, compressed or not. ARC records get the header fields of WARC.
#[derive(Debug)]
pub struct Reader<R> {
    pub(crate) input: Option<Input<R>>,
    max_block: u64,
    /// Offset at or a little after the start of the last record; `None` for a pipe.
    pub(crate) start: Option<u64>,
    pub(crate) length: Option<u64>,
    /// Upper limit for a block's length: a longer one would exceed the file.
    left: u64,
    /// Bytes read again after damage.
    pub(crate) reread: u64,
    pub(crate) arc: bool,
}

#[derive(Debug)]
pub(crate) enum Input<R> {
    Gzip(Box<BufReader<MultiGzDecoder<BufReader<R>>>>),
    Plain(BufReader<R>),
}

impl<R: Read + Seek> Reader<R> {
    /// Reads from `input`, gzipped or plain. Blocks longer than `max_block` are skipped.
    ///
    /// # Errors
    /// From the input.
    pub fn new(mut input: R, max_block: u64) -> io::Result<Self> {
        let length = length(&mut input)?;
        let mut input = BufReader::with_capacity(64 * 1024, input);
        let gzip = input.fill_buf()?.starts_with(&[0x1f, 0x8b]);
        let input = if gzip {
            Input::Gzip(Box::new(BufReader::new(MultiGzDecoder::new(input))))
        } else {
            Input::Plain(input)
        };
        let left = u64::MAX;
        Ok(Self { input: Some(input), max_block, start: None, length, left, reread: 0, arc: false })
    }

    /// Returns the next record, or `None` at the end. A record that is too long has an empty block.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] if no record begins here, [`io::ErrorKind::UnexpectedEof`] in a truncated one.
    /// Then [`resync`](Self::resync) finds the next readable record.
    pub fn next_record(&mut self) -> io::Result<Option<Record>> {
        let (max, length, arc) = (self.max_block, self.length, &mut self.arc);
        let rest = |start: Option<u64>| Some(length?.saturating_sub(start?));
        match &mut self.input {
            Some(Input::Gzip(input)) => {
                self.start = input.get_mut().get_mut().stream_position().ok();
                let rest = rest(self.start)
                    .map(|r| r.saturating_mul(MAX_DEFLATE).saturating_add(HELD_BACK));
                self.left = self.left.min(rest.unwrap_or(u64::MAX));
                read_record(input, max, &mut self.left, arc)
            }
            Some(Input::Plain(input)) => {
                self.start = input.stream_position().ok();
                self.left = self.left.min(rest(self.start).unwrap_or(u64::MAX));
                read_record(input, max, &mut self.left, arc)
            }
            None => Ok(None),
        }
    }
}

/// Returns a file's length; `None` for pipes and for virtual files, which report 0.
fn length(input: &mut impl Seek) -> io::Result<Option<u64>> {
    let Ok(start) = input.stream_position() else { return Ok(None) };
    let Ok(end) = input.seek(SeekFrom::End(0)) else { return Ok(None) };
    input.seek(SeekFrom::Start(start))?;
    Ok(Some(end).filter(|end| *end > start))
}

/// Reads a record whose block is at most `left` bytes. If the input ends within it, reduces `left` to the bytes read:
/// no later record can be longer.
pub(crate) fn read_record(
    input: &mut impl BufRead,
    max_block: u64,
    left: &mut u64,
    is_arc: &mut bool,
) -> io::Result<Option<Record>> {
    let Some(mut headers) = read_headers(input, is_arc)? else { return Ok(None) };
    let length: u64 = headers
        .iter()
        .find(|(name, _)| name == "content-length")
        .and_then(|(_, value)| value.parse().ok())
        .ok_or_else(|| invalid("a record without a Content-Length"))?;
    let cut = || {
        io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "a record is truncated, or its length is wrong",
        )
    };
    if length > *left {
        return Err(cut());
    }
    let mut block = Vec::new();
    let mut limited = input.take(length);
    let read = if length > max_block {
        io::copy(&mut limited, &mut io::sink())?
    } else {
        limited.read_to_end(&mut block)? as u64
    };
    if read < length {
        *left = read;
        return Err(cut());
    }
    if *is_arc && length <= max_block {
        arc::set_type(&mut headers, &block);
    }
    Ok(Some(Record { headers, block }))
}

/// Reads the record at `offset` of file `file` in `folder`.
///
/// # Errors
/// From the file system, or if no record is stored there.
pub fn read_at(folder: &Path, file: u32, offset: u64, max_block: u64) -> io::Result<Record> {
    let mut member = member(folder, &Location { file, offset })?;
    let mut left = u64::MAX;
    let record = read_record(&mut member, max_block, &mut left, &mut false)?;
    record.ok_or_else(|| invalid("no record there"))
}

/// Returns the payload digest in the header of the response at a place, if there is one.
pub(crate) fn payload_digest_at(folder: &Path, place: &Location) -> io::Result<Option<String>> {
    let headers = read_headers(&mut member(folder, place)?, &mut false)?.unwrap_or_default();
    let header = |name: &str| headers.iter().find(|(n, _)| n == name).map(|(_, value)| value);
    let response = header("warc-type").is_some_and(|kind| kind == "response");
    Ok(header("warc-payload-digest").filter(|_| response).cloned())
}

fn member(folder: &Path, place: &Location) -> io::Result<impl BufRead + use<>> {
    let mut input = File::open(folder.join(file_name(place.file)))?;
    input.seek(SeekFrom::Start(place.offset))?;
    Ok(BufReader::new(GzDecoder::new(BufReader::new(input))))
}

fn read_headers(
    input: &mut impl BufRead,
    is_arc: &mut bool,
) -> io::Result<Option<Vec<(String, String)>>> {
    let mut headers = Vec::new();
    let mut total = 0;
    let mut started = false;
    loop {
        let mut line = Vec::new();
        let count = input.take((MAX_HEADER + 1) as u64).read_until(b'\n', &mut line)?;
        total += count;
        if count == 0 {
            return if started {
                Err(io::Error::new(io::ErrorKind::UnexpectedEof, "a record's header is cut"))
            } else {
                Ok(None)
            };
        }
        if total > MAX_HEADER {
            return Err(invalid("a record's header is too long"));
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end();
        if !started {
            // Blank lines end the previous record.
            if line.is_empty() {
                total = 0;
                continue;
            }
            if !line.starts_with("WARC/") {
                *is_arc |= arc::begins_file(line);
                let headers = arc::headers(line).filter(|_| *is_arc);
                return headers.map(Some).ok_or_else(|| {
                    invalid("this is not a WARC or ARC file, or it is damaged here")
                });
            }
            started = true;
        } else if line.is_empty() {
            return Ok(Some(headers));
        } else if let Some((name, value)) = line.split_once(':') {
            headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}
