//! Deleted documents that are still in a segment: a sparse bitmap and its file.

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::{Error, Result};
use crate::record::DocId;

const MAGIC: &[u8; 8] = b"HAPAXDEL";
const WORDS: usize = 64;
const CHUNK: u64 = 64 * WORDS as u64;

/// Numbers of documents: 512 bytes for each 4,096 numbers of which one is set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Deleted {
    chunks: BTreeMap<u64, Box<[u64; WORDS]>>,
    len: u64,
}

impl Deleted {
    pub(crate) fn insert(&mut self, id: DocId) -> bool {
        let chunk = self.chunks.entry(id / CHUNK).or_insert_with(|| Box::new([0; WORDS]));
        let bit = 1 << (id % 64);
        let Some(word) = chunk.get_mut((id % CHUNK / 64) as usize) else { return false };
        let fresh = *word & bit == 0;
        *word |= bit;
        self.len += u64::from(fresh);
        fresh
    }

    #[inline]
    pub(crate) fn contains(&self, id: DocId) -> bool {
        if self.len == 0 {
            return false;
        }
        let word = self.chunks.get(&(id / CHUNK)).and_then(|c| c.get((id % CHUNK / 64) as usize));
        word.is_some_and(|word| word >> (id % 64) & 1 == 1)
    }

    pub(crate) const fn len(&self) -> u64 {
        self.len
    }

    /// Counts the numbers in a range, one by one.
    pub(crate) fn count(&self, range: std::ops::Range<DocId>) -> u64 {
        let ids = self.iter_from(range.start);
        ids.take_while(|id| *id < range.end).count() as u64
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = DocId> + '_ {
        self.iter_from(0)
    }

    pub(crate) fn iter_from(&self, start: DocId) -> impl Iterator<Item = DocId> + '_ {
        let chunks = self.chunks.range(start / CHUNK..);
        let ids = chunks.flat_map(|(chunk, words)| {
            words.iter().enumerate().flat_map(move |(number, word)| {
                let bits = (0..64).filter(move |bit| word >> bit & 1 == 1);
                bits.map(move |bit| chunk * CHUNK + number as u64 * 64 + bit)
            })
        });
        ids.filter(move |id| *id >= start)
    }

    /// Removes the numbers of a range whose rows a merge has dropped.
    pub(crate) fn forget(&mut self, range: std::ops::Range<DocId>) {
        let all = self.clone();
        self.forget_those_of(&all, range);
    }

    /// Removes the numbers of a range that another set has too.
    pub(crate) fn forget_those_of(&mut self, other: &Self, range: std::ops::Range<DocId>) {
        for id in other.iter_from(range.start).take_while(|id| *id < range.end) {
            if !self.contains(id) {
                continue;
            }
            if let Some(chunk) = self.chunks.get_mut(&(id / CHUNK)) {
                if let Some(word) = chunk.get_mut((id % CHUNK / 64) as usize) {
                    *word &= !(1 << (id % 64));
                }
                if chunk.iter().all(|word| *word == 0) {
                    self.chunks.remove(&(id / CHUNK));
                }
            }
            self.len -= 1;
        }
    }

    /// Encodes the file: magic, number and words of each chunk, then a CRC-32 of everything before.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        for (number, words) in &self.chunks {
            out.extend(number.to_le_bytes());
            words.iter().for_each(|word| out.extend(word.to_le_bytes()));
        }
        let crc = crc32fast::hash(&out);
        out.extend(crc.to_le_bytes());
        out
    }

    /// Decodes a file of documents below `end`.
    pub(crate) fn decode(path: &Path, bytes: &[u8], end: DocId) -> Result<Self> {
        let corrupt = |what| Error::Corrupt { path: path.to_owned(), offset: 0, what };
        let (body, crc) = bytes.split_last_chunk::<4>().ok_or_else(|| corrupt("it is cut"))?;
        if crc32fast::hash(body) != u32::from_le_bytes(*crc) {
            return Err(corrupt("it does not match its checksum"));
        }
        let chunks = body.strip_prefix(MAGIC).ok_or_else(|| corrupt("no list of the deleted"))?;
        let mut deleted = Self::default();
        for chunk in chunks.chunks(8 * (1 + WORDS)) {
            let (words, rest) = chunk.as_chunks::<8>();
            let mut words = words.iter().map(|word| u64::from_le_bytes(*word));
            let number = words.next().ok_or_else(|| corrupt("a chunk is truncated"))?;
            let mut bits = Box::new([0; WORDS]);
            for slot in bits.iter_mut() {
                *slot = words.next().ok_or_else(|| corrupt("a chunk is truncated"))?;
            }
            if !rest.is_empty() {
                return Err(corrupt("a chunk is truncated"));
            }
            if number > end / CHUNK
                || deleted.chunks.last_key_value().is_some_and(|l| *l.0 >= number)
            {
                return Err(corrupt("it names documents that do not exist"));
            }
            deleted.len += bits.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
            deleted.chunks.insert(number, bits);
        }
        if deleted.iter().any(|id| id >= end) {
            return Err(corrupt("it names documents that do not exist"));
        }
        Ok(deleted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn numbers_that_no_document_has_are_refused() {
        let mut far = Deleted::default();
        far.insert(u64::MAX - 5);
        let path = Path::new("deleted");
        assert!(Deleted::decode(path, &far.encode(), 1000).is_err());
        let mut twice = far.encode();
        twice.truncate(twice.len() - 4);
        let chunk = twice[8..].to_vec();
        twice.extend(chunk);
        twice.extend(crc32fast::hash(&twice).to_le_bytes());
        assert!(Deleted::decode(path, &twice, u64::MAX).is_err());
    }

    proptest! {
        #[test]
        fn it_is_a_set(ids in prop::collection::vec(0u64..20_000, 0..200), from in 0u64..20_000, to in 0u64..20_000) {
            let mut deleted = Deleted::default();
            let mut set = BTreeSet::new();
            for &id in &ids {
                prop_assert_eq!(deleted.insert(id), set.insert(id));
            }
            let range = from.min(to)..from.max(to);
            prop_assert_eq!(deleted.count(range.clone()), set.range(range.clone()).count() as u64);
            let path = Path::new("deleted");
            prop_assert_eq!(Deleted::decode(path, &deleted.encode(), 20_000).unwrap(), deleted.clone());
            deleted.forget(range.clone());
            set.retain(|id| !range.contains(id));
            prop_assert_eq!(deleted.len(), set.len() as u64);
            (0..20_000).for_each(|id| assert_eq!(deleted.contains(id), set.contains(&id)));
        }
    }
}
