//! The stored fields of a document and their encoding in a journal frame.

use crate::record::{DocId, Document, Record};
use crate::side::Side;
use crate::{Fingerprint, NUMBERS_SIZE, Numbers, SKETCH_SIZE, Sketch};

pub(crate) const HAS_DIGEST: u8 = 1;
pub(crate) const HAS_SKETCH: u8 = 2;
/// The document is in the tables: later documents can duplicate it.
pub(crate) const INDEXED: u8 = 4;
/// Since format 4: the digest has no known collisions.
pub(crate) const STRONG: u8 = 32;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'a> {
    pub(crate) fingerprint: Fingerprint,
    pub(crate) flags: u8,
    pub(crate) tokens: u32,
    pub(crate) of: Option<DocId>,
    pub(crate) site: u64,
    pub(crate) names: [u64; 2],
    pub(crate) numbers: Numbers,
    pub(crate) time: u64,
    pub(crate) digest: Option<[u8; 16]>,
    pub(crate) sketch: Option<Sketch>,
    pub(crate) key: &'a [u8],
}

impl<'a> Row<'a> {
    pub(crate) fn new(document: &Document<'a>, of: Option<DocId>, indexed: bool) -> Self {
        let flag = |on: bool, bit: u8| if on { bit } else { 0 };
        Self {
            fingerprint: document.fingerprint,
            flags: flag(document.digest.is_some(), HAS_DIGEST)
                | flag(document.sketch.is_some(), HAS_SKETCH)
                | flag(indexed, INDEXED),
            tokens: document.tokens,
            of,
            site: document.site,
            names: document.names,
            numbers: document.numbers,
            time: document.time,
            digest: document.digest,
            sketch: document.sketch,
            key: document.key,
        }
    }

    pub(crate) fn with_strong_digest(mut self, strong: bool) -> Self {
        self.flags &= !STRONG;
        if strong && self.digest.is_some() {
            self.flags |= STRONG;
        }
        self
    }

    pub(crate) fn record(&self, id: DocId) -> Record {
        Record {
            id,
            of: self.of,
            fingerprint: self.fingerprint,
            digest: self.digest,
            sketch: self.sketch,
            tokens: self.tokens,
            site: self.site,
            names: self.names,
            numbers: self.numbers,
            time: self.time,
            indexed: self.flags & INDEXED != 0,
            strong_digest: self.flags & STRONG != 0,
            key: self.key.to_vec(),
        }
    }

    pub(crate) const fn side(&self) -> Side<'_> {
        Side {
            sketch: self.sketch.as_ref(),
            tokens: self.tokens,
            site: self.site,
            names: self.names,
            numbers: self.numbers,
        }
    }
}

impl Record {
    /// Encodes the record as in a journal frame (FORMAT.md), for stores outside this crate.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let document = self.document();
        let row = Row::new(&document, self.of, self.indexed);
        encode(self.id, &row.with_strong_digest(self.strong_digest), &mut bytes);
        bytes
    }

    /// Decodes the output of [`to_bytes`](Self::to_bytes); `None` if the bytes are invalid.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (id, row) = decode(bytes)?;
        Some(row.record(id))
    }
}

const HAS_OF: u8 = 8;
const HAS_NUMBERS: u8 = 16;
const FLAGS: u8 = HAS_DIGEST | HAS_SKETCH | INDEXED | HAS_OF | HAS_NUMBERS | STRONG;

/// Appends a document as in a journal frame: id, flags, fingerprint, tokens, site, names, time, then the optional
/// parts and the key, little-endian.
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

/// Decodes the output of [`encode`]; `None` if the bytes are invalid.
pub(crate) fn decode(mut bytes: &[u8]) -> Option<(DocId, Row<'_>)> {
    let id = u64::from_le_bytes(take(&mut bytes)?);
    let [flags] = take(&mut bytes)?;
    // No writer sets the mark of a strong digest without a digest.
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
