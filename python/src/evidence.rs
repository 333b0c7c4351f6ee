//! What the decision knows of a page: the same steps as in the binary, so that stores and fingerprints
//! of both can be used together.

use std::collections::HashSet;

use hapax_dedup::{FeatureHash, Fingerprint, Numbers, Simhash, Sketch, TieRule, name_hash};
use hapax_extract::{Basis, Document, Limits, Recipe, Tie, extract, extract_plain, for_each_token};
use url::Url;

use crate::errors::Failure;

/// The hash of features; part of the recipe.
const HASH: FeatureHash = FeatureHash::Fnv1aMix;
/// Links of a page without an address are resolved against this.
const BASE: &str = "http://localhost/";
/// Examples a discard is logged with.
const EXAMPLES: usize = 3;

/// What a page is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Html,
    Plain,
}

impl Kind {
    /// As `crawl fingerprint` sees it: what begins with `<` is HTML.
    pub(crate) fn of(body: &[u8]) -> Self {
        if body.trim_ascii_start().starts_with(b"<") { Self::Html } else { Self::Plain }
    }

    /// As a crawl sees a response: by its content type or, without one, by its bytes; `None` for what
    /// is no text.
    pub(crate) fn of_response(content_type: Option<&str>, body: &[u8]) -> Option<Self> {
        let essence = content_type.and_then(|t| t.split(';').next()).unwrap_or_default().trim();
        match essence.to_ascii_lowercase().as_str() {
            "text/html" | "application/xhtml+xml" => Some(Self::Html),
            "text/plain" => Some(Self::Plain),
            "" => {
                let start = body.trim_ascii_start();
                if start.starts_with(b"<") || start.starts_with(b"\xEF\xBB\xBF<") {
                    Some(Self::Html)
                } else if !body.is_empty() && !body.iter().take(1024).any(|&b| b == 0) {
                    Some(Self::Plain)
                } else {
                    None
                }
            }
            _ => None,
        }
    }
}

/// A page's bytes, and what is known of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body<'a> {
    pub(crate) kind: Kind,
    pub(crate) bytes: &'a [u8],
    pub(crate) content_type: Option<&'a str>,
    /// It was a string, so its charset is known.
    pub(crate) decoded: bool,
}

impl<'a> Body<'a> {
    pub(crate) fn new(bytes: &'a [u8], decoded: bool) -> Self {
        Self { kind: Kind::of(bytes), bytes, content_type: None, decoded }
    }

    /// Reads it as the page at `url`.
    pub(crate) fn document(&self, url: Option<&Url>) -> Result<Document, Failure> {
        let limits = Limits::default();
        let content_type = match (self.decoded, self.kind) {
            (true, Kind::Html) => Some("text/html; charset=utf-8"),
            (true, Kind::Plain) => Some("text/plain; charset=utf-8"),
            (false, _) => self.content_type,
        };
        Ok(match self.kind {
            Kind::Plain => extract_plain(content_type, self.bytes, &limits),
            Kind::Html => {
                let base = url.map_or_else(base, |url| Ok(url.clone()))?;
                extract(&base, content_type, self.bytes, &limits)
            }
        })
    }
}

fn base() -> Result<Url, Failure> {
    Url::parse(BASE).map_err(|error| Failure::value(error.to_string()))
}

/// The recipe of that name; none is the default.
pub(crate) fn recipe(name: Option<&str>) -> Result<Recipe, Failure> {
    let Some(name) = name else { return Ok(Recipe::default()) };
    Recipe::parse(name).ok_or_else(|| {
        let names: Vec<&str> = Recipe::ALL.iter().map(|recipe| recipe.name()).collect();
        Failure::value(format!("recipe {name:?}: there are {}", names.join(", ")))
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
        let names =
            document.names(|bytes| HASH.hash(bytes)).map(|[whole, masked]| name_hash(whole, masked));
        Self { basis, fingerprint, sketch, names, numbers }
    }

    /// The document as the store sees it.
    pub(crate) fn document<'a>(
        &self,
        key: &'a [u8],
        url: Option<&Url>,
        time: u64,
    ) -> hapax_dedup::Document<'a> {
        hapax_dedup::Document {
            key,
            fingerprint: self.fingerprint,
            digest: self.basis.features.digest,
            sketch: self.sketch,
            tokens: self.basis.features.tokens,
            site: site_of(url, key),
            names: self.names,
            numbers: self.numbers,
            time,
        }
    }
}

/// A page's fingerprint and its number of content words. Without an address, or with one that is none,
/// its links are resolved against [`BASE`].
pub(crate) fn fingerprint_of(
    body: &Body<'_>,
    url: Option<&[u8]>,
    recipe: Recipe,
) -> Result<(Fingerprint, u32), Failure> {
    let url = url.and_then(|url| Url::parse(std::str::from_utf8(url).ok()?).ok());
    let document = body.document(url.as_ref())?;
    let basis = document.basis(|bytes| HASH.hash(bytes));
    Ok((fingerprint(&document, &basis, recipe), basis.features.tokens))
}

fn fingerprint(document: &Document, basis: &Basis, recipe: Recipe) -> Fingerprint {
    let tie = match recipe.tie() {
        Tie::Zero => TieRule::Zero,
        Tie::One => TieRule::One,
    };
    let mut simhash = Simhash::with_tie(tie);
    simhash.add_weighted(recipe.features(document, basis, |bytes| HASH.hash(bytes)));
    simhash.finish()
}

/// Host and port, as the logs name a site; port 80 is left out.
pub(crate) fn host_key(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match (url.port(), url.scheme()) {
        (Some(port), _) => format!("{host}:{port}"),
        (None, "https") => format!("{host}:443"),
        (None, _) => host.to_owned(),
    }
}

/// Files of a folder are mostly one site's pages; what else has no host is a site of its own.
pub(crate) fn site_of(url: Option<&Url>, key: &[u8]) -> u64 {
    match url {
        Some(url) if url.host().is_some() => HASH.hash(host_key(url).as_bytes()),
        Some(url) if url.scheme() == "file" => HASH.hash(b"file:"),
        _ => HASH.hash(key),
    }
}

fn tokens(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    for_each_token(text, |token| all.push(token.to_owned()));
    all
}

/// Shingles of three tokens that two texts share, and that only the first has: the first few.
pub(crate) fn examples(text: &str, other: &str) -> (Vec<String>, Vec<String>) {
    let theirs: HashSet<String> = shingles(other).into_iter().collect();
    let (mut shared, mut different) = (Vec::new(), Vec::new());
    for shingle in shingles(text) {
        let list = if theirs.contains(&shingle) { &mut shared } else { &mut different };
        if list.len() < EXAMPLES && !list.contains(&shingle) {
            list.push(shingle);
        }
    }
    (shared, different)
}

fn shingles(text: &str) -> Vec<String> {
    let tokens = tokens(text);
    tokens.windows(3.min(tokens.len().max(1))).map(|window| window.join(" ")).collect()
}
