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
#[expect(missing_debug_implementations, reason = "a boxed reader has none")]
pub struct Reader {
    input: BufReader<Box<dyn Read>>,
    max_block: u64,
}

impl Reader {
    /// Reads from `input`, gzipped or plain; a block longer than `max_block` is skipped.
    ///
    /// # Errors
    /// From the input.
    pub fn new(input: impl Read + 'static, max_block: u64) -> io::Result<Self> {
        let mut input = BufReader::with_capacity(64 * 1024, input);
        let gz = input.fill_buf()?.starts_with(&[0x1f, 0x8b]);
        let input: Box<dyn Read> =
            if gz { Box::new(MultiGzDecoder::new(input)) } else { Box::new(input) };
        Ok(Self { input: BufReader::new(input), max_block })
    }

    /// The next record, or `None` at the end. A record too long has an empty block.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] where no record begins, [`io::ErrorKind::UnexpectedEof`] in a
    /// cut one; nothing after it can be read.
    pub fn next_record(&mut self) -> io::Result<Option<Record>> {
        let Some(headers) = read_headers(&mut self.input)? else { return Ok(None) };
        let length: u64 = headers
            .iter()
            .find(|(name, _)| name == "content-length")
            .and_then(|(_, value)| value.parse().ok())
            .ok_or_else(|| invalid("a record without a Content-Length"))?;
        let mut block = Vec::new();
        let mut limited = (&mut self.input).take(length);
        let read = if length > self.max_block {
            io::copy(&mut limited, &mut io::sink())?
        } else {
            limited.read_to_end(&mut block)? as u64
        };
        if read < length {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the last record is cut"));
        }
        Ok(Some(Record { headers, block }))
    }
}

/// Reads the one record at `offset` of file `file` in `folder`.
///
/// # Errors
/// From the file system, or when no record lies there.
pub fn read_at(folder: &Path, file: u32, offset: u64, max_block: u64) -> io::Result<Record> {
    let mut input = File::open(folder.join(name(file)))?;
    input.seek(SeekFrom::Start(offset))?;
    let decoder: Box<dyn Read> = Box::new(GzDecoder::new(BufReader::new(input)));
    let mut reader = Reader { input: BufReader::new(decoder), max_block };
    reader.next_record()?.ok_or_else(|| invalid("no record there"))
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
