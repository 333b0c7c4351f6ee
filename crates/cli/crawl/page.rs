//! A response on its way through extraction.

use std::time::SystemTime;

use hapax_dedup::{FeatureHash, Fingerprint, Numbers, Side, Simhash, Sketch, TieRule, name_hash};
use hapax_extract::{
    Basis, Document, Features, Limits, Recipe, Tie, extract, extract_plain, links,
};
use hapax_fetch::Response;
use hapax_frontier::Lease;
use tokio::sync::OwnedSemaphorePermit;
use url::Url;

/// The hash of features; part of the recipe.
pub(crate) const HASH: FeatureHash = FeatureHash::Fnv1aMix;

/// A page, read and fingerprinted, ready for the commit thread.
#[derive(Debug)]
pub(crate) struct PageWork {
    pub(crate) lease: Option<Lease>,
    pub(crate) url: Url,
    pub(crate) response: Response,
    pub(crate) document: Document,
    pub(crate) basis: Basis,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) sketch: Option<Sketch>,
    /// Hashes of what it calls itself: heading and title, 0 for none.
    pub(crate) names: [u64; 2],
    pub(crate) numbers: Numbers,
    pub(crate) time: SystemTime,
    /// The caller's id, where the caller brings one.
    pub(crate) key: Option<String>,
    /// Held while a large page is in memory: no other one is read until it is committed.
    pub(super) _alone: Option<OwnedSemaphorePermit>,
    /// Its room among the pages that wait for the commit thread.
    pub(super) _room: Option<OwnedSemaphorePermit>,
}

/// What kind of text a response holds, by its content type or, without one, by its bytes.
pub(crate) fn kind(content_type: Option<&str>, body: &[u8]) -> Option<Kind> {
    let essence = content_type.and_then(|t| t.split(';').next()).unwrap_or_default().trim();
    match essence.to_ascii_lowercase().as_str() {
        "text/html" | "application/xhtml+xml" => Some(Kind::Html),
        "text/plain" => Some(Kind::Plain),
        "" => {
            let start = body.trim_ascii_start();
            if start.starts_with(b"<") || start.starts_with(b"\xEF\xBB\xBF<") {
                Some(Kind::Html)
            } else if !body.is_empty() && !body.iter().take(1024).any(|&b| b == 0) {
                Some(Kind::Plain)
            } else {
                None
            }
        }
        _ => None,
    }
}

/// Whether a body of this content type is read.
pub(crate) fn is_wanted(content_type: &str) -> bool {
    // Without a type the bytes say what it is.
    content_type.trim_start().starts_with(';')
        || content_type.trim().is_empty()
        || kind(Some(content_type), b"").is_some()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Html,
    Plain,
}

/// Bytes to a document.
pub(crate) fn read_document(
    kind: Kind,
    url: &Url,
    content_type: Option<&str>,
    body: &[u8],
) -> Document {
    match kind {
        Kind::Html => extract(url, content_type, body, &Limits::default()),
        Kind::Plain => extract_plain(content_type, body, &Limits::default()),
    }
}

impl PageWork {
    /// Reads a response; without text, its links alone.
    ///
    /// # Errors
    /// If it holds no text that Hapax reads.
    pub(crate) fn read(
        lease: Option<Lease>,
        url: Url,
        response: Response,
        time: SystemTime,
        recipe: Recipe,
        limits: &Limits,
        with_text: bool,
    ) -> Result<Self, Unread> {
        let document = read_response(&url, &response, limits, with_text)?;
        Ok(Self::from_document(lease, url, response, document, time, recipe))
    }

    /// Fingerprints a document, and lets go of what nobody asks for after that: blocks, features.
    pub(crate) fn from_document(
        lease: Option<Lease>,
        url: Url,
        response: Response,
        mut document: Document,
        time: SystemTime,
        recipe: Recipe,
    ) -> Self {
        let Evidence { mut basis, fingerprint, sketch, names, numbers } =
            Evidence::of(&document, recipe);
        (document.text, document.blocks, document.images) = Default::default();
        let Features { words, shingles, numbers: hashes, .. } = &mut basis.features;
        (*words, *shingles, *hashes) = Default::default();
        Self {
            lease,
            url,
            response,
            document,
            basis,
            fingerprint,
            sketch,
            names,
            numbers,
            time,
            key: None,
            _alone: None,
            _room: None,
        }
    }
}

/// Why a response is no page.
#[derive(Debug)]
pub(crate) struct Unread {
    pub(crate) reason: &'static str,
    pub(crate) detail: String,
}

/// Beyond this share of bytes that stand for nothing, or of control characters, a page is no text,
/// whatever its type says.
const MAX_UNKNOWN: f64 = 0.3;
const MAX_CONTROLS: f64 = 0.05;

/// What a response says: its body, and the headers that speak about it; without text, its links alone.
///
/// # Errors
/// If it holds no text that Hapax reads.
pub(crate) fn read_response(
    url: &Url,
    response: &Response,
    limits: &Limits,
    with_text: bool,
) -> Result<Document, Unread> {
    let content_type = response.header("content-type");
    let mut document = match kind(content_type, &response.body) {
        Some(Kind::Html) if with_text => extract(url, content_type, &response.body, limits),
        Some(Kind::Html) => links(url, content_type, &response.body, limits),
        Some(Kind::Plain) => extract_plain(content_type, &response.body, limits),
        None => {
            let detail = content_type.unwrap_or("none").to_owned();
            return Err(Unread { reason: "content-type", detail });
        }
    };
    if let Some(share) = no_text(&document) {
        let detail = format!("{:.0} % is no text as {}", 100.0 * share, document.charset);
        return Err(Unread { reason: "charset", detail });
    }
    for (name, value) in &response.headers {
        let value = String::from_utf8_lossy(value);
        match name.as_str() {
            "x-robots-tag" => robots_tag(&value, &limits.agent, &mut document),
            // RFC 8288; a page's own link comes first.
            "link" if document.canonical.is_none() => {
                document.canonical = canonical_link(&value).and_then(|href| url.join(href).ok());
            }
            _ => {}
        }
    }
    Ok(document)
}

/// The share of characters that are none, if it is too large.
fn no_text(document: &Document) -> Option<f64> {
    let (mut all, mut unknown, mut controls) = (0u32, 0u32, 0u32);
    let blocks = document.blocks.iter().map(|block| block.text.as_str());
    for c in blocks.flat_map(str::chars).take(100_000) {
        all += 1;
        unknown += u32::from(c == '\u{FFFD}');
        controls += u32::from(c.is_control() && !c.is_whitespace());
    }
    let share = |count: u32| f64::from(count) / f64::from(all.max(1));
    let bad = share(unknown) > MAX_UNKNOWN || share(controls) > MAX_CONTROLS;
    bad.then(|| share(unknown + controls))
}

/// `otherbot: noindex` speaks to another robot.
fn robots_tag(value: &str, agent: &str, document: &mut Document) {
    match value.split_once(':') {
        Some((name, rest)) if name.trim().eq_ignore_ascii_case(agent) => document.robots.read(rest),
        // `unavailable_after: DATE` and the like are no names, but say nothing that is read here.
        Some((name, _)) if !name.contains(',') => {}
        _ => document.robots.read(value),
    }
}

/// The target of `Link: <URL>; rel="canonical"`.
fn canonical_link(value: &str) -> Option<&str> {
    value.split('<').skip(1).find_map(|link| {
        let (href, parameters) = link.split_once('>')?;
        let canonical = parameters.split(';').any(|parameter| {
            let (name, value) = parameter.split_once('=').unwrap_or_default();
            let value = value.trim().trim_end_matches(',').trim().trim_matches('"');
            name.trim().eq_ignore_ascii_case("rel")
                && value.split_whitespace().any(|word| word.eq_ignore_ascii_case("canonical"))
        });
        canonical.then_some(href.trim())
    })
}

/// What the decision knows of a document.
#[derive(Debug)]
pub(crate) struct Evidence {
    pub(crate) basis: Basis,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) sketch: Option<Sketch>,
    pub(crate) names: [u64; 2],
    pub(crate) numbers: Numbers,
}

impl Evidence {
    pub(crate) fn of(document: &Document, recipe: Recipe) -> Self {
        let basis = document.basis(|bytes| HASH.hash(bytes));
        let fingerprint = fingerprint(document, &basis, recipe);
        let sketch = Sketch::from_hashes(basis.features.shingles.iter().copied());
        let numbers = Numbers::from_hashes(basis.features.numbers.iter().copied());
        let names = document
            .names(|bytes| HASH.hash(bytes))
            .map(|[whole, masked]| name_hash(whole, masked));
        Self { basis, fingerprint, sketch, names, numbers }
    }

    /// The document as a side of the policy's comparison.
    pub(crate) fn side(&self, site: u64) -> Side<'_> {
        let sketch = self.sketch.as_ref();
        let tokens = self.basis.features.tokens;
        Side { sketch, tokens, site, names: self.names, numbers: self.numbers }
    }
}

/// The fingerprint of a page by a recipe.
pub(crate) fn fingerprint(document: &Document, basis: &Basis, recipe: Recipe) -> Fingerprint {
    let tie = match recipe.tie() {
        Tie::Zero => TieRule::Zero,
        Tie::One => TieRule::One,
    };
    let mut simhash = Simhash::with_tie(tie);
    simhash.add_weighted(recipe.features(document, basis, |bytes| HASH.hash(bytes)));
    simhash.finish()
}
