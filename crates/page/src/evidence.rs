//! Turns a document into the input of the duplicate decision.

use hapax_dedup::{FeatureHash, Fingerprint, Numbers, Side, Simhash, Sketch, TieRule, name_hash};
use hapax_extract::{ComparisonText, Document, Recipe, Tie};
use hapax_url::site_name;
use url::Url;

/// Hash function of features; part of every recipe.
pub const HASH: FeatureHash = FeatureHash::Fnv1aMix;

/// Input of the duplicate decision for one document.
#[derive(Debug)]
pub struct Evidence {
    /// Comparison text and features.
    pub comparison_text: ComparisonText,
    /// Fingerprint by the requested recipe.
    pub fingerprint: Fingerprint,
    /// Sketch of the shingles; `None` without shingles.
    pub sketch: Option<Sketch>,
    /// Hashes of the page names, heading and title; 0 if missing.
    pub names: [u64; 2],
    /// Numbers of the text.
    pub numbers: Numbers,
}

impl Evidence {
    /// Computes the evidence of a document.
    ///
    /// # Complexity
    /// Linear in the text.
    pub fn of(document: &Document, recipe: Recipe) -> Self {
        let comparison_text = recipe.comparison_text(document, |bytes| HASH.hash(bytes));
        let fingerprint = fingerprint(document, &comparison_text, recipe);
        let sketch = Sketch::from_hashes(comparison_text.features.shingles.iter().copied());
        let numbers = Numbers::from_hashes(comparison_text.features.numbers.iter().copied());
        Self { comparison_text, fingerprint, sketch, names: Self::names_of(document), numbers }
    }

    /// Returns hashes of the page names, heading and title.
    pub fn names_of(document: &Document) -> [u64; 2] {
        document.names(|bytes| HASH.hash(bytes)).map(|[whole, masked]| name_hash(whole, masked))
    }

    /// Returns the document as one side of the policy's comparison.
    pub fn side(&self, site: u64) -> Side<'_> {
        let sketch = self.sketch.as_ref();
        let tokens = self.comparison_text.features.tokens;
        Side { sketch, tokens, site, names: self.names, numbers: self.numbers }
    }

    /// Returns the document in the form of the store. `time` is in seconds since 1970.
    pub fn document<'a>(
        &self,
        key: &'a [u8],
        url: Option<&Url>,
        time: u64,
    ) -> hapax_dedup::Document<'a> {
        hapax_dedup::Document {
            key,
            fingerprint: self.fingerprint,
            digest: self.comparison_text.features.digest,
            sketch: self.sketch,
            tokens: self.comparison_text.features.tokens,
            site: site_of(url, key),
            names: self.names,
            numbers: self.numbers,
            time,
        }
    }
}

/// Computes the fingerprint of a document by a recipe.
pub fn fingerprint(
    document: &Document,
    comparison_text: &ComparisonText,
    recipe: Recipe,
) -> Fingerprint {
    let tie = match recipe.tie() {
        Tie::Zero => TieRule::Zero,
        Tie::One => TieRule::One,
    };
    let mut simhash = Simhash::with_tie(tie);
    simhash.add_weighted(recipe.features(document, comparison_text, |bytes| HASH.hash(bytes)));
    simhash.finish()
}

/// Returns the site of a page: a hash of its host without `www.` and scheme, but with a non-default port. All local
/// files are one site. Other URLs without a host are separate sites, identified by their key.
pub fn site_of(url: Option<&Url>, key: &[u8]) -> u64 {
    match url {
        Some(url) if url.host().is_some() => HASH.hash(site_name(url).as_bytes()),
        Some(url) if url.scheme() == "file" => HASH.hash(b"file:"),
        _ => HASH.hash(key),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_a_host_with_its_port_a_folder_or_a_key() {
        let site = |url: &str, key: &str| site_of(Url::parse(url).ok().as_ref(), key.as_bytes());
        assert_eq!(site("http://a.example/x", "1"), site("http://a.example:80/y?z", "2"));
        assert_eq!(site("http://a.example/x", "1"), site("https://www.a.example/x", "1"));
        assert_ne!(site("http://a.example/x", "1"), site("http://a.example:8080/x", "1"));
        assert_ne!(site("http://a.example/x", "1"), site("http://b.a.example/x", "1"));
        assert_eq!(site("file:///a", "1"), site("file:///b", "2"));
        assert_ne!(site("urn:a", "1"), site("urn:a", "2"));
        assert_eq!(site("urn:a", "1"), site("no address", "1"));
        // Stores contain this value, so it must never change.
        assert_eq!(site("http://a.example/x", "1"), HASH.hash(b"a.example"));
    }
}
