//! What is stored of one document, and how it lies in a journal frame.

use crate::policy::Side;
use crate::store::columns::{HAS_DIGEST, HAS_SKETCH, INDEXED, Row, STRONG};
use crate::{Fingerprint, NUMBERS_SIZE, Numbers, SKETCH_SIZE, Sketch};

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
    /// The record in bytes, as it lies in a journal (FORMAT.md), for stores elsewhere.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let document = self.document();
        let row = Row::new(&document, self.of, self.indexed);
        encode(self.id, &row.with_strong_digest(self.strong_digest), &mut bytes);
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) gave; `None` if it is no record.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (id, row) = decode(bytes)?;
        Some(row.record(id))
    }

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

const HAS_OF: u8 = 8;
const HAS_NUMBERS: u8 = 16;
const FLAGS: u8 = HAS_DIGEST | HAS_SKETCH | INDEXED | HAS_OF | HAS_NUMBERS | STRONG;

/// Appends a document as it lies in a journal frame: id, flags, fingerprint, tokens, site, names,
/// time, then the optional parts and the key, all little-endian.
pub(crate) fn encode(id: DocId, row: &Row<'_>, out: &mut Vec<u8>) {
    out.extend(id.to_le_bytes());
    let of = if row.of.is_some() { HAS_OF } else { 0 };
    out.push(row.flags | of | if row.numbers.is_empty() { 0 } else { HAS_NUMBERS });
    out.extend(row.fingerprint.bits().to_le_bytes());
    out.extend(row.tokens.to_le_bytes());
    out.extend(row.site.to_le_bytes());
    row.names.iter().for_each(|name| out.extend(name.to_le_bytes()));
    out.extend(row.time.to_le_bytes());
    if let Some(of) = row.of {
        out.extend(of.to_le_bytes());
    }
    if let Some(digest) = row.digest {
        out.extend(digest);
    }
    if let Some(sketch) = &row.sketch {
        out.extend(sketch.as_bytes());
    }
    if !row.numbers.is_empty() {
        out.extend(row.numbers.to_bytes());
    }
    out.extend(row.key);
}

/// Reads what [`encode`] wrote; `None` if it is no document.
pub(crate) fn decode(mut bytes: &[u8]) -> Option<(DocId, Row<'_>)> {
    let id = u64::from_le_bytes(take(&mut bytes)?);
    let [flags] = take(&mut bytes)?;
    // A mark of a digest that is not there was written by nobody.
    if flags & !FLAGS != 0 || flags & (STRONG | HAS_DIGEST) == STRONG {
        return None;
    }
    let fingerprint = Fingerprint::from_bits(u64::from_le_bytes(take(&mut bytes)?));
    let tokens = u32::from_le_bytes(take(&mut bytes)?);
    let site = u64::from_le_bytes(take(&mut bytes)?);
    let names = [u64::from_le_bytes(take(&mut bytes)?), u64::from_le_bytes(take(&mut bytes)?)];
    let time = u64::from_le_bytes(take(&mut bytes)?);
    let (mut of, mut digest, mut sketch) = (None, None, None);
    if flags & HAS_OF != 0 {
        of = Some(u64::from_le_bytes(take(&mut bytes)?));
    }
    if flags & HAS_DIGEST != 0 {
        digest = Some(take(&mut bytes)?);
    }
    if flags & HAS_SKETCH != 0 {
        sketch = Some(Sketch::from_bytes(take::<SKETCH_SIZE>(&mut bytes)?));
    }
    let mut numbers = Numbers::default();
    if flags & HAS_NUMBERS != 0 {
        numbers = Numbers::from_bytes(take::<{ 2 * NUMBERS_SIZE }>(&mut bytes)?);
    }
    let flags = flags & !(HAS_OF | HAS_NUMBERS);
    let key = bytes;
    Some((
        id,
        Row { fingerprint, flags, tokens, of, site, names, numbers, time, digest, sketch, key },
    ))
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (head, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_round_trip_and_cut_ones_are_refused() {
        let document = Document {
            digest: Some([9; 16]),
            sketch: Sketch::from_hashes([1, 2, 3]),
            tokens: 55,
            site: 1,
            names: [9, 8],
            numbers: Numbers::from_hashes([1 << 50, 2 << 50]),
            time: 77,
            ..Document::new(b"http://a.example/", Fingerprint::from_bits(0xABCD))
        };
        let row = Row::new(&document, Some(3), true);
        let mut bytes = Vec::new();
        encode(7, &row, &mut bytes);
        let (id, read) = decode(&bytes).unwrap();
        assert_eq!((id, read.record(7)), (7, row.record(7)));
        for length in 0..bytes.len() - document.key.len() {
            assert!(decode(&bytes[..length]).is_none(), "cut to {length}");
        }
        assert_eq!(read.record(7).document().time, 77);
        let record = read.record(7);
        assert_eq!(Record::from_bytes(&record.to_bytes()), Some(record.clone()));
        let strong = Record { strong_digest: true, ..record };
        assert_eq!(Record::from_bytes(&strong.to_bytes()).as_ref(), Some(&strong));
        let without = Record { digest: None, ..strong.clone() };
        assert!(!Record::from_bytes(&without.to_bytes()).unwrap().strong_digest);
        let mut marked = without.to_bytes();
        marked[8] |= STRONG;
        assert_eq!(Record::from_bytes(&marked), None, "a mark without a digest");
    }
}
