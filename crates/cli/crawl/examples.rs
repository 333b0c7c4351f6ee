//! The evidence that a discarded page leaves in the log.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use hapax_dedup::Document;
use hapax_extract::for_each_token;
use hapax_fetch::warc::{http_parts, read_at};
use url::Url;

use super::page::{HASH, PageWork, kind, read_document};

/// Texts of pages kept lately, so that most evidence needs no look into the WARC.
const CACHE_BYTES: usize = 16 << 20;
/// A record is read back up to this size.
const MAX_RECORD: u64 = 64 << 20;
/// Examples a discard is logged with.
const EXAMPLES: usize = 3;

/// The page as the dedup store sees it.
pub(crate) fn dedup_document<'a>(page: &'a PageWork, key: &'a [u8]) -> Document<'a> {
    Document {
        key,
        fingerprint: page.fingerprint,
        digest: page.basis.features.digest,
        sketch: page.sketch,
        tokens: page.basis.features.tokens,
        site: site_of(&page.url, key),
        names: page.names,
        numbers: page.numbers,
        time: page.time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
    }
}

/// Files of a folder are mostly one site's pages; what else has no host is a site of its own.
pub(crate) fn site_of(url: &Url, key: &[u8]) -> u64 {
    match url.host() {
        Some(_) => HASH.hash(hapax_frontier::host_key(url).as_bytes()),
        None if url.scheme() == "file" => HASH.hash(b"file:"),
        None => HASH.hash(key),
    }
}

/// Texts by document id, the oldest forgotten first.
#[derive(Debug, Default)]
pub(super) struct TextCache {
    texts: HashMap<u64, Arc<str>>,
    order: VecDeque<u64>,
    bytes: usize,
}

impl TextCache {
    pub(super) fn insert(&mut self, id: u64, text: &str) {
        self.bytes += text.len();
        self.texts.insert(id, text.into());
        self.order.push_back(id);
        while self.bytes > CACHE_BYTES
            && let Some(oldest) = self.order.pop_front()
            && let Some(text) = self.texts.remove(&oldest)
        {
            self.bytes -= text.len();
        }
    }

    pub(super) fn get(&self, id: u64) -> Option<Arc<str>> {
        self.texts.get(&id).cloned()
    }
}

/// Shingles of three tokens that two texts share, and that only the first has: the first few.
pub(crate) fn examples(text: &str, other: &str) -> (Vec<String>, Vec<String>) {
    let mut theirs: HashSet<u64> = HashSet::new();
    each_shingle(other, |shingle| {
        theirs.insert(HASH.hash(shingle.as_bytes()));
        true
    });
    let (mut shared, mut different) = (Vec::new(), Vec::new());
    each_shingle(text, |shingle| {
        let known = theirs.contains(&HASH.hash(shingle.as_bytes()));
        let list = if known { &mut shared } else { &mut different };
        if list.len() < EXAMPLES && !list.iter().any(|other| other == shingle) {
            list.push(shingle.to_owned());
        }
        shared.len() < EXAMPLES || different.len() < EXAMPLES
    });
    (shared, different)
}

/// Three tokens at a time, until `visit` has enough; of a text of fewer tokens all of them.
fn each_shingle(text: &str, mut visit: impl FnMut(&str) -> bool) {
    let mut window: VecDeque<String> = VecDeque::new();
    let (mut shingle, mut enough, mut any) = (String::new(), false, false);
    let mut join = |window: &VecDeque<String>, enough: &mut bool| {
        shingle.clear();
        for (at, token) in window.iter().enumerate() {
            shingle.push_str(if at == 0 { "" } else { " " });
            shingle.push_str(token);
        }
        *enough = !visit(&shingle);
    };
    for_each_token(text, |token| {
        if enough {
            return;
        }
        let mut next =
            if window.len() == 3 { window.pop_front().unwrap_or_default() } else { String::new() };
        next.clear();
        next.push_str(token);
        window.push_back(next);
        if window.len() == 3 {
            any = true;
            join(&window, &mut enough);
        }
    });
    if !any && !window.is_empty() {
        join(&window, &mut enough);
    }
}

/// The text of a page as it lies in the WARC at `FILE:OFFSET`, read and extracted again.
pub(crate) fn stored_text(pages: &Path, place: &str, url: &Url) -> Option<String> {
    stored_page(pages, place, url).map(|(_, basis)| basis.text)
}

/// The same, and what else the page says.
pub(crate) fn stored_page(
    pages: &Path,
    place: &str,
    url: &Url,
) -> Option<(hapax_extract::Document, hapax_extract::Basis)> {
    let (file, offset) = place.split_once(':')?;
    let record = read_at(pages, file.parse().ok()?, offset.parse().ok()?, MAX_RECORD).ok()?;
    let (_, headers, raw) = http_parts(&record.block)?;
    let header = |name: &str| {
        let (_, value) = headers.iter().find(|(header, _)| header == name)?;
        std::str::from_utf8(value).ok()
    };
    // By whatever limits it was fetched, it was within them.
    let limits = hapax_fetch::Limits {
        max_body: MAX_RECORD as usize,
        max_ratio: usize::MAX,
        ..hapax_fetch::Limits::default()
    };
    let encoding = header("content-encoding").unwrap_or_default();
    let body = hapax_fetch::decode_body_within(raw, encoding, &limits).ok()?;
    let content_type = header("content-type");
    let document = read_document(kind(content_type, &body)?, url, content_type, &body);
    let basis = document.basis(|bytes| HASH.hash(bytes));
    Some((document, basis))
}
