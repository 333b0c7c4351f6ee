//! Offered and stored documents.

use crate::side::Side;
use crate::{Fingerprint, Numbers, Sketch};

/// The number of a document in a store, from 0, in order of insertion.
pub type DocId = u64;

/// A document as the caller offers it.
#[derive(Clone, Debug)]
pub struct Document<'a> {
    /// The caller's key for the document, such as its URL.
    pub key: &'a [u8],
    /// The simhash.
    pub fingerprint: Fingerprint,
    /// A digest of the normalised text, for exact duplicates; `None` without a text.
    pub digest: Option<[u8; 16]>,
    /// The sketch, for similarity; without it the distance alone decides.
    pub sketch: Option<Sketch>,
    /// The number of content tokens; `u32::MAX` if unknown. A document with 0 tokens has no text and duplicates
    /// nothing.
    pub tokens: u32,
    /// A hash of the site. Documents of one site share templates, so stricter thresholds apply.
    pub site: u64,
    /// Hashes of the page names, such as heading and title; 0 for none. Pages of one site are usually different if
    /// they share no name, or if first names differ only in numbers ([`name_hash`](crate::name_hash)).
    pub names: [u64; 2],
    /// The numbers in the text: short documents of one site with conflicting numbers are different.
    pub numbers: Numbers,
    /// The time by the caller's clock, such as seconds since 1970, for [`Store::expire`](crate::Store::expire); 0
    /// never expires.
    pub time: u64,
}

impl<'a> Document<'a> {
    /// Creates a document of key and fingerprint; the distance alone decides about it.
    pub const fn new(key: &'a [u8], fingerprint: Fingerprint) -> Self {
        Self {
            key,
            fingerprint,
            digest: None,
            sketch: None,
            tokens: u32::MAX,
            site: 0,
            names: [0; 2],
            numbers: Numbers::NONE,
            time: 0,
        }
    }

    /// Returns the part that the decision uses.
    pub const fn side(&self) -> Side<'_> {
        Side {
            sketch: self.sketch.as_ref(),
            tokens: self.tokens,
            site: self.site,
            names: self.names,
            numbers: self.numbers,
        }
    }
}

/// A stored document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The number.
    pub id: DocId,
    /// The document it duplicates, if it was discarded.
    pub of: Option<DocId>,
    /// The simhash.
    pub fingerprint: Fingerprint,
    /// A digest of the normalised text.
    pub digest: Option<[u8; 16]>,
    /// The sketch.
    pub sketch: Option<Sketch>,
    /// The number of content tokens.
    pub tokens: u32,
    /// The hash of the site.
    pub site: u64,
    /// Hashes of the page names, or 0.
    pub names: [u64; 2],
    /// The numbers in the text.
    pub numbers: Numbers,
    /// The time by the caller's clock; 0 if unknown.
    pub time: u64,
    /// Whether it is in the tables, so that later documents can duplicate it.
    pub indexed: bool,
    /// Whether the digest is strong, see [`Options::strong_digests`](crate::Options::strong_digests).
    pub strong_digest: bool,
    /// The caller's key.
    pub key: Vec<u8>,
}

impl Record {
    /// Returns whether both have digests of one kind, and these are equal.
    pub fn has_digest_of(&self, other: &Self) -> bool {
        self.digest.is_some()
            && self.digest == other.digest
            && self.strong_digest == other.strong_digest
    }

    /// Returns the record as a document to offer.
    pub fn document(&self) -> Document<'_> {
        Document {
            key: &self.key,
            fingerprint: self.fingerprint,
            digest: self.digest,
            sketch: self.sketch,
            tokens: self.tokens,
            site: self.site,
            names: self.names,
            numbers: self.numbers,
            time: self.time,
        }
    }
}
