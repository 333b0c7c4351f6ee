//! A response on its way through extraction.

use std::time::SystemTime;

use hapax_dedup::{FeatureHash, Fingerprint, Simhash, Sketch};
use hapax_extract::{Basis, Document, Limits, extract, extract_plain};
use hapax_fetch::Response;
use hapax_frontier::Lease;
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
    pub(crate) time: SystemTime,
    /// The caller's id, where the caller brings one.
    pub(crate) key: Option<String>,
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
    /// Reads a response; `None` if it holds no text that Hapax reads.
    pub(crate) fn read(
        lease: Option<Lease>,
        url: Url,
        response: Response,
        time: SystemTime,
    ) -> Option<Self> {
        let content_type = response.header("content-type");
        let kind = kind(content_type, &response.body)?;
        let mut document = read_document(kind, &url, content_type, &response.body);
        for (_, value) in response.headers.iter().filter(|(name, _)| name == "x-robots-tag") {
            let value = String::from_utf8_lossy(value);
            // `otherbot: noindex` speaks to another robot.
            match value.split_once(':') {
                Some((agent, rest)) if agent.trim().eq_ignore_ascii_case("hapax") => {
                    document.robots.read(rest);
                }
                Some((agent, _)) if !agent.contains(',') => {}
                _ => document.robots.read(&value),
            }
        }
        Some(Self::from_document(lease, url, response, document, time))
    }

    /// Fingerprints a document.
    pub(crate) fn from_document(
        lease: Option<Lease>,
        url: Url,
        response: Response,
        document: Document,
        time: SystemTime,
    ) -> Self {
        let basis = document.basis(|bytes| HASH.hash(bytes));
        let mut simhash = Simhash::new();
        for &word in &basis.features.words {
            simhash.add(word, 1);
        }
        let sketch = Sketch::from_hashes(basis.features.shingles.iter().copied());
        let fingerprint = simhash.finish();
        Self { lease, url, response, document, basis, fingerprint, sketch, time, key: None }
    }
}
