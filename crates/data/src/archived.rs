//! Texts of kept pages for comparison: recent ones in memory, others in the archive.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::Arc;

use hapax_page::{HASH, Kind};
use hapax_warc::{Record, http_parts, read_at};
use url::Url;

/// Size of the text cache, which saves most reads of the WARC.
const CACHE_BYTES: usize = 16 << 20;
/// Records are read back up to this size; bodies are smaller (`--max-body`).
pub const MAX_RECORD: u64 = 256 << 20;

/// Texts by document number; the oldest are dropped first.
#[derive(Debug, Default)]
pub struct TextCache {
    texts: HashMap<u64, Arc<str>>,
    order: VecDeque<u64>,
    bytes: usize,
}

impl TextCache {
    /// Adds the text of a document, and drops the oldest ones beyond 16 MiB.
    pub fn insert(&mut self, id: u64, text: Arc<str>) {
        self.bytes += text.len();
        self.texts.insert(id, text);
        self.order.push_back(id);
        while self.bytes > CACHE_BYTES
            && let Some(oldest) = self.order.pop_front()
            && let Some(text) = self.texts.remove(&oldest)
        {
            self.bytes -= text.len();
        }
    }

    /// Returns the text of a document, if it is still cached.
    pub fn get(&self, id: u64) -> Option<Arc<str>> {
        self.texts.get(&id).cloned()
    }
}

/// Reads the text of a page from the WARC at `FILE:OFFSET`, by extracting it again.
pub fn stored_text(pages: &Path, place: &str, url: &Url) -> Option<String> {
    stored_page(pages, place, url).map(|(_, comparison_text)| comparison_text.text)
}

/// Does the same, and returns the whole document.
pub fn stored_page(
    pages: &Path,
    place: &str,
    url: &Url,
) -> Option<(hapax_extract::Document, hapax_extract::ComparisonText)> {
    let (file, offset) = place.split_once(':')?;
    let record = read_at(pages, file.parse().ok()?, offset.parse().ok()?, MAX_RECORD).ok()?;
    page_of_record(&record, url)
}

/// Returns whether the record at `FILE:OFFSET` has the body of a page.
pub fn has_body(pages: &Path, place: &str) -> bool {
    let record = || {
        let (file, offset) = place.split_once(':')?;
        read_at(pages, file.parse().ok()?, offset.parse().ok()?, MAX_RECORD).ok()
    };
    record()
        .is_some_and(|record| http_parts(&record.block).is_some_and(|(_, _, raw)| !raw.is_empty()))
}

/// Returns a page with its elements, from the same place.
pub fn structured_page(pages: &Path, place: &str, url: &Url) -> Option<hapax_extract::Structured> {
    let (file, offset) = place.split_once(':')?;
    let record = read_at(pages, file.parse().ok()?, offset.parse().ok()?, MAX_RECORD).ok()?;
    let (content_type, body) = body_of(&record)?;
    let content_type = content_type.as_deref();
    Some(Kind::of(content_type, &body)?.read_structured(url, content_type, &body))
}

/// Returns the page of a record of our own archive; `None` if the record has no body.
pub fn page_of_record(
    record: &Record,
    url: &Url,
) -> Option<(hapax_extract::Document, hapax_extract::ComparisonText)> {
    let (content_type, body) = body_of(record)?;
    let content_type = content_type.as_deref();
    let document = Kind::of(content_type, &body)?.read(url, content_type, &body);
    let comparison_text = document.comparison_text(|bytes| HASH.hash(bytes));
    Some((document, comparison_text))
}

/// Returns the content type and the decoded body of a record.
fn body_of(record: &Record) -> Option<(Option<String>, Vec<u8>)> {
    let (_, headers, raw) = http_parts(&record.block)?;
    let header = |name: &str| {
        let (_, value) = headers.iter().find(|(header, _)| header == name)?;
        std::str::from_utf8(value).ok()
    };
    // It was within the limits of its fetch, which may differ from the defaults.
    let limits = hapax_fetch::Limits {
        max_body: MAX_RECORD as usize,
        max_ratio: usize::MAX,
        ..hapax_fetch::Limits::default()
    };
    let encoding = header("content-encoding").unwrap_or_default();
    let body = hapax_fetch::decode_body_within(raw, encoding, &limits).ok()?;
    let kinds = headers.iter().filter(|(name, _)| name == "content-type");
    let content_type = hapax_fetch::content_type(kinds.map(|(_, value)| value.as_slice()));
    Some((content_type, body))
}
