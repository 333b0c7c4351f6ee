use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::bufread::{GzDecoder, MultiGzDecoder};

use super::writer::name;

/// Bytes of a record's header block.
const MAX_HEADER: usize = 64 * 1024;

/// One record.
#[derive(Clone, Debug)]
pub struct Record {
    /// Header names in lower case, and their values.
    pub headers: Vec<(String, String)>,
    /// Its block.
    pub block: Vec<u8>,
}

impl Record {
    /// The first header of this name (lower case).
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }
}

/// Reads the records of a WARC file in order, compressed or not.
#[derive(Debug)]
pub struct Reader<R> {
    input: Option<Input<R>>,
    max_block: u64,
    /// Where in the file the last record began, or a little behind; a pipe has no places.
    start: Option<u64>,
}

#[derive(Debug)]
enum Input<R> {
    Gzip(Box<BufReader<MultiGzDecoder<BufReader<R>>>>),
    Plain(BufReader<R>),
}

/// What a gzip member begins with (RFC 1952, section 2.3), and what a record begins with.
const GZIP: &[u8] = &[0x1f, 0x8b, 8];
const RECORD: &[u8] = b"WARC/";

impl<R: Read + Seek> Reader<R> {
    /// Reads from `input`, gzipped or plain; a block longer than `max_block` is skipped.
    ///
    /// # Errors
    /// From the input.
    pub fn new(input: R, max_block: u64) -> io::Result<Self> {
        let mut input = BufReader::with_capacity(64 * 1024, input);
        let gzip = input.fill_buf()?.starts_with(&[0x1f, 0x8b]);
        let input = if gzip {
            Input::Gzip(Box::new(BufReader::new(MultiGzDecoder::new(input))))
        } else {
            Input::Plain(input)
        };
        Ok(Self { input: Some(input), max_block, start: None })
    }

    /// The next record, or `None` at the end. A record too long has an empty block.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] where no record begins, [`io::ErrorKind::UnexpectedEof`] in a
    /// cut one; then [`resync`](Self::resync) looks for what can be read behind it.
    pub fn next_record(&mut self) -> io::Result<Option<Record>> {
        let max = self.max_block;
        match &mut self.input {
            Some(Input::Gzip(input)) => {
                self.start = input.get_mut().get_mut().stream_position().ok();
                read_record(input, max)
            }
            Some(Input::Plain(input)) => {
                self.start = input.stream_position().ok();
                read_record(input, max)
            }
            None => Ok(None),
        }
    }

    /// After an error: goes on to the next place where a record begins; `false` if there is none.
    ///
    /// # Errors
    /// From the input.
    ///
    /// # Complexity
    /// Linear in the bytes passed over.
    pub fn resync(&mut self) -> io::Result<bool> {
        let (Some(input), Some(start)) = (self.input.take(), self.start) else {
            return Ok(false);
        };
        let (mut raw, gzip) = match input {
            Input::Gzip(input) => (input.into_inner().into_inner(), true),
            Input::Plain(input) => (input, false),
        };
        raw.seek(SeekFrom::Start(start + 1))?;
        let wanted = if gzip { GZIP } else { RECORD };
        loop {
            let at = skip_to(&mut raw, wanted)?;
            let Some(at) = at else { return Ok(false) };
            let input = if gzip {
                let mut decoder = BufReader::new(MultiGzDecoder::new(raw));
                // The same bytes may stand anywhere: a record must begin behind them.
                if decoder.fill_buf().is_ok_and(|bytes| bytes.starts_with(RECORD)) {
                    Input::Gzip(Box::new(decoder))
                } else {
                    raw = decoder.into_inner().into_inner();
                    raw.seek(SeekFrom::Start(at + 1))?;
                    continue;
                }
            } else {
                Input::Plain(raw)
            };
            self.start = Some(at);
            self.input = Some(input);
            return Ok(true);
        }
    }
}

/// Moves to the next `wanted`; the place, or `None` at the end.
fn skip_to<R: Read + Seek>(input: &mut BufReader<R>, wanted: &[u8]) -> io::Result<Option<u64>> {
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
                let place = input.stream_position()?;
                let mut found = Vec::new();
                input.by_ref().take(wanted.len() as u64).read_to_end(&mut found)?;
                if found.len() < wanted.len() {
                    return Ok(None);
                }
                if found == wanted {
                    input.seek_relative(-(found.len() as i64))?;
                    return Ok(Some(place));
                }
                input.seek_relative(1 - found.len() as i64)?;
            }
        }
    }
}

fn read_record(input: &mut impl BufRead, max_block: u64) -> io::Result<Option<Record>> {
    let Some(headers) = read_headers(input)? else { return Ok(None) };
    let length: u64 = headers
        .iter()
        .find(|(name, _)| name == "content-length")
        .and_then(|(_, value)| value.parse().ok())
        .ok_or_else(|| invalid("a record without a Content-Length"))?;
    let mut block = Vec::new();
    let mut limited = input.take(length);
    let read = if length > max_block {
        io::copy(&mut limited, &mut io::sink())?
    } else {
        limited.read_to_end(&mut block)? as u64
    };
    if read < length {
        return Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "a record is cut, or its length is wrong",
        ));
    }
    Ok(Some(Record { headers, block }))
}

/// Reads the one record at `offset` of file `file` in `folder`.
///
/// # Errors
/// From the file system, or when no record lies there.
pub fn read_at(folder: &Path, file: u32, offset: u64, max_block: u64) -> io::Result<Record> {
    let mut input = File::open(folder.join(name(file)))?;
    input.seek(SeekFrom::Start(offset))?;
    let mut decoder = BufReader::new(GzDecoder::new(BufReader::new(input)));
    read_record(&mut decoder, max_block)?.ok_or_else(|| invalid("no record there"))
}

/// Status, headers and body of an HTTP response.
pub type HttpParts<'a> = (u16, Vec<(String, Vec<u8>)>, &'a [u8]);

/// Takes apart an HTTP response as it lies in a record's block.
pub fn http_parts(block: &[u8]) -> Option<HttpParts<'_>> {
    let end = block.windows(4).position(|w| w == b"\r\n\r\n").map(|at| (at, at + 4));
    let (head_end, body_start) =
        end.or_else(|| block.windows(2).position(|w| w == b"\n\n").map(|at| (at, at + 2)))?;
    let head = block.get(..head_end)?;
    let mut lines =
        head.split(|&b| b == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let status = String::from_utf8_lossy(lines.next()?).into_owned();
    let status = status.strip_prefix("HTTP/")?.split_whitespace().nth(1)?.parse().ok()?;
    let headers = lines
        .filter_map(|line| {
            let colon = line.iter().position(|&b| b == b':')?;
            let name = String::from_utf8_lossy(line.get(..colon)?).trim().to_ascii_lowercase();
            Some((name, line.get(colon + 1..)?.trim_ascii().to_vec()))
        })
        .collect();
    Some((status, headers, block.get(body_start..).unwrap_or_default()))
}

fn read_headers(input: &mut impl BufRead) -> io::Result<Option<Vec<(String, String)>>> {
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
            // Blank lines end the record before.
            if line.is_empty() {
                total = 0;
                continue;
            }
            if !line.starts_with("WARC/") {
                return Err(invalid("this is no WARC file, or it is damaged here"));
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
