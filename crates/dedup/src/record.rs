//! What is stored of one document, and how it lies in a journal frame.

use crate::{Fingerprint, SKETCH_SIZE, Sketch};

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
    /// site that have no name in common are mostly different pages of one template.
    pub names: [u64; 2],
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
    /// The caller's key.
    pub key: Vec<u8>,
}

const HAS_OF: u8 = 1;
const HAS_DIGEST: u8 = 2;
const HAS_SKETCH: u8 = 4;

impl Record {
    /// Appends the record to `out`: id, flags, fingerprint, tokens, site, names, then the optional
    /// parts and the key, all little-endian.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.id.to_le_bytes());
        out.push(
            if self.of.is_some() { HAS_OF } else { 0 }
                | if self.digest.is_some() { HAS_DIGEST } else { 0 }
                | if self.sketch.is_some() { HAS_SKETCH } else { 0 },
        );
        out.extend(self.fingerprint.bits().to_le_bytes());
        out.extend(self.tokens.to_le_bytes());
        out.extend(self.site.to_le_bytes());
        self.names.iter().for_each(|name| out.extend(name.to_le_bytes()));
        if let Some(of) = self.of {
            out.extend(of.to_le_bytes());
        }
        if let Some(digest) = self.digest {
            out.extend(digest);
        }
        if let Some(sketch) = &self.sketch {
            out.extend(sketch.as_bytes());
        }
        out.extend(&self.key);
    }

    /// Reads what [`encode`](Self::encode) wrote; `None` if it is no record.
    pub(crate) fn decode(mut bytes: &[u8]) -> Option<Self> {
        let id = u64::from_le_bytes(take(&mut bytes)?);
        let [flags] = take(&mut bytes)?;
        if flags & !(HAS_OF | HAS_DIGEST | HAS_SKETCH) != 0 {
            return None;
        }
        let fingerprint = Fingerprint::from_bits(u64::from_le_bytes(take(&mut bytes)?));
        let tokens = u32::from_le_bytes(take(&mut bytes)?);
        let site = u64::from_le_bytes(take(&mut bytes)?);
        let names = [u64::from_le_bytes(take(&mut bytes)?), u64::from_le_bytes(take(&mut bytes)?)];
        let mut of = None;
        if flags & HAS_OF != 0 {
            of = Some(u64::from_le_bytes(take(&mut bytes)?));
        }
        let mut digest = None;
        if flags & HAS_DIGEST != 0 {
            digest = Some(take(&mut bytes)?);
        }
        let mut sketch = None;
        if flags & HAS_SKETCH != 0 {
            sketch = Some(Sketch::from_bytes(take::<SKETCH_SIZE>(&mut bytes)?));
        }
        Some(Self { id, of, fingerprint, digest, sketch, tokens, site, names, key: bytes.to_vec() })
    }
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
    fn records_round_trip_and_cut_ones_are_refused() {
        let record = Record {
            id: 7,
            of: Some(3),
            fingerprint: Fingerprint::from_bits(0xABCD),
            digest: Some([9; 16]),
            sketch: Sketch::from_hashes([1, 2, 3]),
            tokens: 55,
            site: 1,
            names: [9, 8],
            key: b"http://a.example/".to_vec(),
        };
        let mut bytes = Vec::new();
        record.encode(&mut bytes);
        assert_eq!(Record::decode(&bytes), Some(record.clone()));
        for length in 0..bytes.len() - record.key.len() {
            assert_eq!(Record::decode(&bytes[..length]), None, "cut to {length}");
        }
    }
}
