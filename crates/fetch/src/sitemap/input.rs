//! The bytes of a sitemap as UTF-8: decompressed, decoded, limited, and from the first tag on.

use std::io::{self, BufRead, BufReader, Read};

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use flate2::bufread::MultiGzDecoder;

/// Bytes at the start that may contain the XML declaration, or text before the first tag: warnings of a script, one
/// for each of its lines.
const MAX_PROLOG: usize = 64 << 10;
/// First tags of XML sitemaps and feeds.
const BEGINNINGS: [&[u8]; 6] =
    [b"<?xml", b"<urlset", b"<sitemapindex", b"<rss", b"<feed", b"<rdf:RDF"];
const BUFFER: usize = 64 << 10;
/// Maximum number of layers of gzip in the file itself.
const MAX_GZIP: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    Xml,
    Text,
}

pub(super) struct Input<'b> {
    reader: BufReader<Limited<'b>>,
    prefix: Vec<u8>,
    /// Bytes of `prefix` that were consumed.
    at: usize,
}

impl<'b> Input<'b> {
    /// Reads at most `max` decompressed bytes.
    pub(super) fn new(mut body: Box<dyn BufRead + 'b>, max: usize) -> Self {
        // A server may compress a file once more that is compressed already, without saying so.
        for _ in 0..MAX_GZIP {
            let is_gzip = body.fill_buf().is_ok_and(|head| head.starts_with(&[0x1f, 0x8b]));
            if is_gzip {
                // One byte beyond the limit shows that it is longer.
                let limited = MultiGzDecoder::new(body).take((max as u64).saturating_add(1));
                body = Box::new(BufReader::with_capacity(BUFFER, limited));
            }
        }
        let limited = Limited { source: body, left: max, is_cut: false };
        Self { reader: BufReader::with_capacity(BUFFER, limited), prefix: Vec::new(), at: 0 }
    }

    /// Finds the charset and the first tag, with at most `before` bytes of text before it. `declared`: the charset of
    /// the Content-Type. Call it once, before reading.
    pub(super) fn start(&mut self, before: usize, declared: Option<&'static Encoding>) -> Start {
        let mut head = Vec::new();
        let _ = self.reader.by_ref().take(MAX_PROLOG as u64).read_to_end(&mut head);
        let (own, bom) = charset(&head);
        let encoding = own.or(declared).unwrap_or(UTF_8);
        if encoding != UTF_8 {
            // Other charsets are rare: decode them in memory.
            let max = self.reader.get_ref().left;
            let _ = self.reader.read_to_end(&mut head);
            // Servers declare one charset for all files: the bytes of UTF-8 are another's only by chance.
            if own.is_some() || std::str::from_utf8(&head).is_err() {
                let (text, _) =
                    encoding.decode_without_bom_handling(head.get(bom..).unwrap_or_default());
                head = text.into_owned().into_bytes();
            }
            // UTF-8 may be longer than the original: cut it at the limit.
            head.truncate(max.saturating_add(MAX_PROLOG));
        } else {
            head.drain(..bom);
        }
        let start = head.trim_ascii_start();
        // Warnings of a server-side script may precede the file.
        let first =
            BEGINNINGS.iter().filter_map(|tag| find(start.get(..before).unwrap_or(start), tag));
        let tag = match start.starts_with(b"<")
            && !start.starts_with(b"<br")
            && !start.starts_with(b"<b>")
        {
            true => Some(0),
            false => first.min(),
        };
        self.prefix = start.get(tag.unwrap_or(0)..).unwrap_or_default().to_vec();
        if tag.is_some() { Start::Xml } else { Start::Text }
    }

    /// Returns whether the body is longer than was read, or damaged.
    pub(super) fn is_cut(&self) -> bool {
        self.reader.get_ref().is_cut
    }
}

impl Read for Input<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(out)?;
        self.consume(read);
        Ok(read)
    }
}

impl BufRead for Input<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match self.prefix.get(self.at..) {
            Some(rest) if !rest.is_empty() => Ok(rest),
            _ => self.reader.fill_buf(),
        }
    }

    fn consume(&mut self, count: usize) {
        match self.at < self.prefix.len() {
            true => self.at += count,
            false => self.reader.consume(count),
        }
    }
}

/// Reads at most `left` bytes; an error of the source counts as its end.
struct Limited<'b> {
    source: Box<dyn Read + 'b>,
    left: usize,
    is_cut: bool,
}

impl Read for Limited<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            // One more byte shows whether the body continues.
            self.is_cut |= !matches!(self.source.read(&mut [0]), Ok(0));
            return Ok(0);
        }
        let room = out.len().min(self.left);
        match self.source.read(out.get_mut(..room).unwrap_or_default()) {
            Ok(read) => {
                self.left -= read;
                Ok(read)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(_) => {
                // Keep the beginning of a truncated or damaged file.
                (self.is_cut, self.left) = (true, 0);
                self.source = Box::new(io::empty());
                Ok(0)
            }
        }
    }
}

/// Returns the charset by byte order mark, zeros (XML 1.0, appendix F) or declaration, and the length of the mark.
fn charset(head: &[u8]) -> (Option<&'static Encoding>, usize) {
    if let Some((found, length)) = Encoding::for_bom(head) {
        return (Some(found), length);
    }
    match head {
        [b'<', 0, ..] => return (Some(UTF_16LE), 0),
        [0, b'<', ..] => return (Some(UTF_16BE), 0),
        _ => {}
    }
    let declaration = find(head, b"<?xml").and_then(|start| head.get(start..)).unwrap_or_default();
    let end = find(declaration, b"?>");
    let declaration = end.and_then(|end| declaration.get(..end)).unwrap_or_default();
    let named =
        find(declaration, b"encoding").and_then(|at| declaration.get(at..)).and_then(|rest| {
            let quote = rest.iter().position(|byte| matches!(byte, b'"' | b'\''))?;
            let rest = rest.get(quote + 1..)?;
            let end = rest.iter().position(|byte| matches!(byte, b'"' | b'\''))?;
            Encoding::for_label(rest.get(..end)?)
        });
    // The declaration was read as ASCII, so it is not UTF-16.
    let named = named.filter(|named| ![UTF_16LE, UTF_16BE].contains(named));
    (named, 0)
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|part| part == wanted)
}
