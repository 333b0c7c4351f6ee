//! The buckets of a document, and their entries.

use std::collections::BTreeMap;

use hapax_dedup::{
    BANDS, DocId, Document, Fingerprint, LISTS, Layout, Level, Record, candidate_lists,
    names_a_page,
};

/// The tables find every document within this distance.
pub const MAX_DISTANCE: u32 = 3;
/// Above this number of pages ten tables of 25 bits are better than four of 16.
const MANY_PAGES: u64 = 20_000_000;
/// Bits of the key that select a bucket of bands or digests, for few and for many pages.
const FEW_BITS: u32 = 16;
const MANY_BITS: u32 = 20;
/// Entries of a full bucket of a band or name, which limits the bytes that a batch reads. Of the entries with one key,
/// at most [`MAX_BAND_BUCKET`](hapax_dedup::MAX_BAND_BUCKET) count. Buckets fill up at 2^27 pages in the shape for
/// few, at 2^31 in the one for many. Buckets of Hamming tables and digests are never capped.
const FULL: usize = 4 * hapax_dedup::MAX_BAND_BUCKET;

#[derive(Clone, Debug)]
pub(super) struct Shape {
    masks: Vec<u64>,
    bits: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) table: usize,
    pub(super) lead: u64,
    /// The rest of the key, then the document's number.
    pub(super) entry: Vec<u8>,
    /// Bytes of a full bucket; `None`: it is never capped.
    pub(super) full: Option<usize>,
}

impl Shape {
    /// Returns the name of the shape for this number of pages.
    pub(super) fn name_for(expected_pages: u64) -> &'static str {
        if expected_pages <= MANY_PAGES { "4x16" } else { "10x25" }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        let (blocks, bits) = match name {
            "4x16" => (4, FEW_BITS),
            "10x25" => (5, MANY_BITS),
            _ => return None,
        };
        let layout = Layout::new(blocks, MAX_DISTANCE).ok()?;
        Some(Self { masks: layout.leads().iter().map(|lead| lead.mask).collect(), bits })
    }

    /// Returns the entries of a document; none without text.
    pub(super) fn places(&self, id: DocId, document: &Document<'_>, bands: bool) -> Vec<Place> {
        if document.tokens == 0 {
            return Vec::new();
        }
        let mut places = Vec::with_capacity(self.masks.len() + LISTS + 1);
        let bits = document.fingerprint.bits();
        for (table, &mask) in self.masks.iter().enumerate() {
            places.push(Place {
                table,
                lead: lead(bits, mask),
                entry: entry(&bits.to_le_bytes(), id),
                full: None,
            });
        }
        let digests = self.masks.len();
        let mut rest = |table: usize, low: u32| {
            let lead = u64::from(low >> (32 - self.bits));
            let entry = entry(&low.to_le_bytes(), id);
            let full = (table > digests).then_some(FULL * entry.len());
            places.push(Place { table, lead, entry, full });
        };
        if let Some(digest) = document.digest.as_ref().and_then(|digest| digest.first_chunk::<4>())
        {
            rest(digests, u32::from_le_bytes(*digest));
        }
        if let Some(sketch) = document.sketch.filter(|_| bands) {
            for (kind, key) in candidate_lists(&sketch, document.names) {
                rest(digests + 1 + kind, key);
            }
        }
        places
    }

    /// Adds the documents that the bucket of `place` proposes, each with the strongest level that proposes it.
    pub(super) fn propose(
        &self,
        place: &Place,
        bucket: &[u8],
        distance: u32,
        found: &mut BTreeMap<DocId, (Level, Option<usize>)>,
    ) {
        let size = place.entry.len();
        let hamming = place.table < self.masks.len();
        let kind = place.table.checked_sub(self.masks.len() + 1);
        let mut left = hapax_dedup::MAX_BAND_BUCKET;
        let own = place.entry.get(..size - 8).unwrap_or_default();
        let of_key = |entry: &&[u8]| entry.get(..size - 8) == Some(own);
        let documents = || bucket.chunks_exact(size).filter(of_key).count();
        if kind.is_some_and(|kind| kind >= BANDS && !names_a_page(kind, documents())) {
            return;
        }
        for other in bucket.chunks_exact(size) {
            let Some((key, id)) = other.split_last_chunk::<8>() else { continue };
            let id = DocId::from_le_bytes(*id);
            let proposal = if hamming {
                let (Some(a), Some(b)) = (own.first_chunk(), key.first_chunk()) else { continue };
                let [a, b] = [a, b].map(|bytes| Fingerprint::from_bits(u64::from_le_bytes(*bytes)));
                if a.distance(b) > distance {
                    continue;
                }
                (Level::Hamming, Some(place.table))
            } else if key != own {
                continue;
            } else if place.table == self.masks.len() {
                (Level::Text, None)
            } else if left == 0 {
                continue;
            } else {
                left -= 1;
                (Level::Sketch, kind)
            };
            let known = found.entry(id).or_insert(proposal);
            *known = (*known).min(proposal);
        }
    }
}

/// Returns the strongest level on which two documents match, regardless of the table that found them.
pub(super) fn level_of(document: &Document<'_>, other: &Record, distance: u32) -> Level {
    if document.digest.is_some() && document.digest == other.digest {
        Level::Text
    } else if document.fingerprint.distance(other.fingerprint) <= distance {
        Level::Hamming
    } else {
        Level::Sketch
    }
}

fn entry(key: &[u8], id: DocId) -> Vec<u8> {
    let mut entry = key.to_vec();
    entry.extend(id.to_le_bytes());
    entry
}

/// Extracts the bits under the mask, packed together.
fn lead(bits: u64, mut mask: u64) -> u64 {
    let (mut lead, mut at) = (0, 0);
    while mask != 0 {
        lead |= (bits >> mask.trailing_zeros() & 1) << at;
        at += 1;
        mask &= mask - 1;
    }
    lead
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(shape: &Shape, a: u64, b: u64) -> bool {
        let document = |bits| Document::new(b"", Fingerprint::from_bits(bits));
        let (mine, theirs) =
            (shape.places(1, &document(a), true), shape.places(2, &document(b), true));
        let mut found = BTreeMap::new();
        for place in &mine {
            let met = theirs.iter().filter(|p| p.table == place.table && p.lead == place.lead);
            met.for_each(|other| shape.propose(place, &other.entry, 3, &mut found));
        }
        found.contains_key(&2)
    }

    #[test]
    fn all_within_the_distance_meet_in_a_bucket_and_no_others() {
        let mut random = 7u64;
        for name in ["4x16", "10x25"] {
            let shape = Shape::named(name).unwrap();
            for _ in 0..2_000 {
                random = hapax_dedup::mix64(random.wrapping_add(1));
                let (a, mut b) = (random, random);
                for round in 0..4 {
                    assert_eq!(found(&shape, a, b), round <= 3, "{name} {round}");
                    loop {
                        random = hapax_dedup::mix64(random);
                        let bit = 1 << (random % 64);
                        if (a ^ b) & bit == 0 {
                            b ^= bit;
                            break;
                        }
                    }
                }
                assert!(!found(&shape, a, b), "{name} at distance 4");
            }
        }
        assert!(Shape::named("20x32").is_none());
        assert_eq!(Shape::name_for(1 << 20), "4x16");
    }
}
