//! Documents, as they are offered and as they are stored.

use crate::side::Side;
use crate::{Fingerprint, Numbers, Sketch};

/// The number of a document in a store, from 0, in order of insertion.
pub type DocId = u64;

/// A document as the caller offers it.
#[derive(Clone, Debug)]
pub struct Document<'a> {
    /// The caller's own identity of the document, such as its URL.
    pub key: &'a [u8],
    /// Its simhash.
    pub fingerprint: Fingerprint,
    /// A digest of its normalised text, for exact duplicates; `None` when it has no text.
    pub digest: Option<[u8; 16]>,
    /// Its sketch, for similarity; without one only the classic verdict is possible.
    pub sketch: Option<Sketch>,
    /// How many content tokens it has; `u32::MAX` if unknown. Zero means no text: such documents
    /// duplicate nothing.
    pub tokens: u32,
    /// Equal for documents of one site, where templates are shared and a stricter threshold holds.
    pub site: u64,
    /// Hashes of what it calls itself, such as main heading and title, 0 for none: pages of one
    /// site that have no name in common are mostly different pages of one template. By
    /// [`name_hash`](crate::name_hash) so are those whose first names differ in numbers alone.
    pub names: [u64; 2],
    /// The numbers in its text: short documents of one site whose numbers conflict are different.
    pub numbers: Numbers,
    /// When it was seen, by the caller's clock (seconds since 1970, say), for
    /// [`Store::expire`](crate::Store::expire); 0 never expires.
    pub time: u64,
}

impl<'a> Document<'a> {
    /// A document of which only key and fingerprint are known: it gets the classic verdict.
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

    /// What the decision looks at in it.
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

/// A document as the store holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its number.
    pub id: DocId,
    /// The document it duplicates, if it was discarded.
    pub of: Option<DocId>,
    /// Its simhash.
    pub fingerprint: Fingerprint,
    /// Digest of its normalised text.
    pub digest: Option<[u8; 16]>,
    /// Its sketch.
    pub sketch: Option<Sketch>,
    /// How many content tokens it has.
    pub tokens: u32,
    /// Its site.
    pub site: u64,
    /// Hashes of what it calls itself, or 0.
    pub names: [u64; 2],
    /// The numbers in its text.
    pub numbers: Numbers,
    /// When it was seen, by the caller's clock; 0 if unknown.
    pub time: u64,
    /// Whether it is in the tables, so that others can be found to duplicate it.
    pub indexed: bool,
    /// Whether the digest was made by a method without known collisions, see
    /// [`Options::strong_digests`](crate::Options::strong_digests).
    pub strong_digest: bool,
    /// The caller's key.
    pub key: Vec<u8>,
}

impl Record {
    /// Whether both records have a digest, of one method, and the digests are equal.
    pub fn has_digest_of(&self, other: &Self) -> bool {
        self.digest.is_some()
            && self.digest == other.digest
            && self.strong_digest == other.strong_digest
    }

    /// The record as a document to be offered.
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
