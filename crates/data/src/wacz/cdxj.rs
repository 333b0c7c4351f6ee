//! The index of an archive: a CDXJ line for each record, and the blocks of a compressed index (ZipNum).

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use hapax_url::surt;
use hapax_warc::{Member, Record, http_parts};
use serde::Serialize;

use crate::error::Result;

/// Lines of one compressed block, as cdxj-indexer writes them.
const BLOCK_LINES: usize = 300;

/// The JSON of a line, with the names of cdxj-indexer.
#[derive(Serialize)]
struct Entry<'a> {
    url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<&'a str>,
    length: String,
    offset: String,
    filename: &'a str,
}

/// Returns whether an index of an archive has a line for a record: it is a response or a revisit.
pub fn is_replayed(record: &Record) -> bool {
    let kind = record.header("warc-type").unwrap_or_default();
    let is_named = |name| record.header(name).is_some();
    matches!(kind, "response" | "revisit") && is_named("warc-target-uri") && is_named("warc-date")
}

/// Returns the line of a record at an offset of a file, if it [is replayed](is_replayed).
pub(super) fn line_of(member: &Member, offset: u64, file: &str) -> Result<Option<String>> {
    let record = &member.record;
    let kind = record.header("warc-type").unwrap_or_default();
    let (Some(url), Some(date)) = (record.header("warc-target-uri"), record.header("warc-date"))
    else {
        return Ok(None);
    };
    if !is_replayed(record) {
        return Ok(None);
    }
    let parts = http_parts(&record.block);
    let mime = match (kind, &parts) {
        ("revisit", _) => Some("warc/revisit".to_owned()),
        (_, Some((_, headers, _))) => headers
            .iter()
            .find(|(name, _)| name == "content-type")
            .map(|(_, value)| mime_of(&String::from_utf8_lossy(value)))
            .filter(|mime| !mime.is_empty()),
        _ => None,
    };
    let entry = Entry {
        url,
        mime,
        status: parts.map(|(status, _, _)| status.to_string()),
        digest: record.header("warc-payload-digest"),
        length: member.length.to_string(),
        offset: offset.to_string(),
        filename: file,
    };
    let digits: String = date.chars().filter(char::is_ascii_digit).take(14).collect();
    Ok(Some(format!("{} {digits} {}", surt(url), serde_json::to_string(&entry)?)))
}

fn mime_of(content_type: &str) -> String {
    let end = |c: char| c == ';' || c.is_whitespace();
    content_type.split(end).next().unwrap_or_default().to_owned()
}

/// Writes sorted lines as gzip members of some lines each, and an index of these members.
#[derive(Debug)]
pub(super) struct Blocks<W> {
    out: W,
    /// The index: a line a block, with its first key.
    index: Vec<u8>,
    offset: u64,
    lines: Vec<String>,
}

impl<W: Write> Blocks<W> {
    /// Writes blocks to `out`, which is the file `name` of the archive.
    pub(super) fn new(out: W, name: &str) -> Self {
        let meta = serde_json::json!({"format": "cdxj-gzip-1.0", "filename": name});
        let index = format!("!meta 0 {meta}\n").into_bytes();
        Self { out, index, offset: 0, lines: Vec::new() }
    }

    pub(super) fn add(&mut self, line: String) -> Result<()> {
        self.lines.push(line);
        if self.lines.len() < BLOCK_LINES { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> Result<()> {
        let Some(first) = self.lines.first() else { return Ok(()) };
        let key = first.split_once(" {").map_or("", |(key, _)| key).to_owned();
        let mut block = GzEncoder::new(Vec::new(), Compression::default());
        for line in self.lines.drain(..) {
            writeln!(block, "{line}")?;
        }
        let block = block.finish()?;
        self.out.write_all(&block)?;
        let place = serde_json::json!({"offset": self.offset, "length": block.len()});
        writeln!(self.index, "{key} {place}")?;
        self.offset += block.len() as u64;
        Ok(())
    }

    /// Writes the last block. Returns the blocks and their index.
    pub(super) fn finish(mut self) -> Result<(W, Vec<u8>)> {
        self.flush()?;
        Ok((self.out, self.index))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::{GzDecoder, MultiGzDecoder};

    use super::*;

    fn member(kind: &str, block: &str) -> Member {
        let headers = [
            ("warc-type", kind),
            ("warc-target-uri", "http://www.a.example/B?y&x"),
            ("warc-date", "2026-11-28T08:51:40Z"),
            ("warc-payload-digest", "sha1:AAAA"),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        Member { offset: 7, length: 9, record: Record { headers, block: block.into() } }
    }

    #[test]
    fn a_line_has_the_key_the_time_and_the_place_of_a_record() {
        let block = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=x\r\n\r\nbody";
        let line = line_of(&member("response", block), 7, "pages-00001.warc.gz").unwrap().unwrap();
        let expected = r#"example,a)/b?x&y 20261128085140 {"url":"http://www.a.example/B?y&x","mime":"text/html","status":"200","digest":"sha1:AAAA","length":"9","offset":"7","filename":"pages-00001.warc.gz"}"#;
        assert_eq!(line, expected);
        let line = line_of(&member("revisit", block), 7, "f").unwrap().unwrap();
        assert!(line.contains(r#""mime":"warc/revisit","status":"200""#), "{line}");
        assert!(line_of(&member("warcinfo", ""), 7, "f").unwrap().is_none());
    }

    #[test]
    fn each_block_of_the_compressed_index_is_read_by_its_place() {
        let lines: Vec<String> = (0..1000).map(|n| format!("key{n:04} 2026 {{}}")).collect();
        let mut out = Vec::new();
        let mut blocks = Blocks::new(&mut out, "index.cdx.gz");
        lines.iter().for_each(|line| blocks.add(line.clone()).unwrap());
        let index = String::from_utf8(blocks.finish().unwrap().1).unwrap();
        let mut whole = String::new();
        MultiGzDecoder::new(&*out).read_to_string(&mut whole).unwrap();
        assert_eq!(whole.lines().collect::<Vec<_>>(), lines);
        let mut starts = index.lines();
        assert_eq!(
            starts.next(),
            Some(r#"!meta 0 {"filename":"index.cdx.gz","format":"cdxj-gzip-1.0"}"#)
        );
        for (number, start) in starts.enumerate() {
            let (key, place) = start.split_once(" {").unwrap();
            let place: serde_json::Value = serde_json::from_str(&format!("{{{place}")).unwrap();
            let at = place["offset"].as_u64().unwrap() as usize;
            let block = &out[at..at + place["length"].as_u64().unwrap() as usize];
            let mut text = String::new();
            GzDecoder::new(block).read_to_string(&mut text).unwrap();
            assert!(text.starts_with(&format!("{key} {{")), "{text}");
            assert!(text.starts_with(&lines[number * BLOCK_LINES]));
        }
    }
}
