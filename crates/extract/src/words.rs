//! Caches the hash and stem of each word: most words of a page were on the page before.

use std::any::TypeId;
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use foldhash::fast::RandomState;
use rust_stemmers::Stemmer;

use crate::lang::{is_hiragana, stemmer};
use crate::stop_lists::{StopList, StopLists};

/// Stopwords and stemmer of a language.
pub(crate) struct Cutter<'a> {
    language: &'a str,
    list: Option<&'static StopList>,
    stem: Option<Stemmer>,
}

impl<'a> Cutter<'a> {
    pub(crate) fn new(language: &'a str, lists: StopLists) -> Self {
        Self { language, list: lists.of(language), stem: stemmer(language).map(Stemmer::create) }
    }

    pub(crate) fn is_function(&self, token: &str) -> bool {
        self.list.is_some_and(|list| list.contains(token))
            || (self.language == "ja"
                && token.chars().all(is_hiragana)
                && token.chars().count() <= 2)
    }

    pub(crate) fn stem<'t>(&self, token: &'t str) -> Cow<'t, str> {
        self.stem.as_ref().map_or(Cow::Borrowed(token), |stemmer| stemmer.stem(token))
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Word {
    /// Hash of the folded token.
    pub(crate) plain: u64,
    /// Its stem; `None` for a stopword.
    pub(crate) content: Option<Stem>,
    pub(crate) anchor: Anchor,
}

/// The kind of token that may select the shingles it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    None,
    Stopword,
    Number,
}

/// Index of a stem in [`Stems`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stem(u32);

/// Counts of the stems in a text.
#[derive(Default)]
struct Stems {
    /// Index of each stem, by its hash.
    places: HashMap<u64, u32, RandomState>,
    hashes: Vec<u64>,
    /// All zero between texts.
    counts: Vec<u32>,
}

impl Stems {
    fn place(&mut self, hash: u64) -> Stem {
        let next = u32::try_from(self.hashes.len()).unwrap_or(u32::MAX);
        let place = *self.places.entry(hash).or_insert(next);
        if place == next {
            self.hashes.push(hash);
            self.counts.push(0);
        }
        Stem(place)
    }

    /// Returns hashes of stems with their counts, in the order of first occurrence.
    fn count(&mut self, stems: &[Stem]) -> Vec<(u64, u32)> {
        let mut seen = vec![0u32; stems.len() + 1];
        let mut length = 0;
        for Stem(place) in stems {
            let Some(count) = self.counts.get_mut(*place as usize) else { continue };
            // Branch-free, because half of all words are new and which ones is unpredictable.
            if let Some(next) = seen.get_mut(length) {
                *next = *place;
            }
            length += usize::from(*count == 0);
            *count += 1;
        }
        let counted = |place: &u32| {
            let place = *place as usize;
            Some((*self.hashes.get(place)?, std::mem::take(self.counts.get_mut(place)?)))
        };
        seen.iter().take(length).filter_map(counted).collect()
    }
}

/// Maximum number of cached words: the load of a hash table of 65,536 slots before it doubles.
const MAX_WORDS: usize = 65_536 / 8 * 7;

/// Key of a word of at most 24 bytes, without a pointer. Over 16 bytes it is the bytes; from 8 on, the first 8, the
/// last 8 and the length; below, a packed number and the length. Keys are unique, because no word contains a zero byte
/// or ends in a control character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key([u64; 3]);

impl Key {
    #[inline]
    fn of(word: &str) -> Option<Self> {
        let bytes = word.as_bytes();
        let eight = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
        let four = |bytes: &[u8; 4]| u64::from(u32::from_le_bytes(*bytes));
        let length = bytes.len() as u64;
        if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
            return match bytes.get(8..) {
                Some(rest) if rest.len() > 16 => None,
                Some(rest) if rest.len() > 8 => {
                    let middle = rest.first_chunk().map_or(0, eight);
                    // Without the bytes that are in the middle part.
                    let left = eight(last) >> (8 * (24 - length));
                    Some(Self([eight(first), middle, left]))
                }
                _ => Some(Self([eight(first), eight(last), length])),
            };
        }
        let packed = match (bytes.first_chunk(), bytes.last_chunk(), bytes) {
            (Some(first), Some(last), _) => four(first) | four(last) << 32,
            (_, _, [a, rest @ ..]) => {
                let byte = |byte: Option<&u8>| u64::from(byte.copied().unwrap_or(0));
                u64::from(*a) | byte(rest.first()) << 8 | byte(rest.get(1)) << 16
            }
            _ => 0,
        };
        Some(Self([packed, length, 0]))
    }
}

impl Hash for Key {
    #[inline]
    fn hash<S: Hasher>(&self, state: &mut S) {
        self.0.iter().for_each(|part| state.write_u64(*part));
    }
}

/// The cache of one thread, for one hash function, one language and one version of the lists.
#[derive(Default)]
struct Memory {
    hash: Option<TypeId>,
    language: String,
    lists: Option<StopLists>,
    words: HashMap<Key, Word, RandomState>,
    stems: Stems,
}

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::default();
}

pub(crate) struct Words<'a, H> {
    cutter: Cutter<'a>,
    hash: H,
    memory: Memory,
}

impl<'a, H: Fn(&[u8]) -> u64 + 'static> Words<'a, H> {
    /// A closure that captures nothing is identified by its type: its cached hashes stay valid for the next text.
    const LASTING: bool = size_of::<H>() == 0;

    pub(crate) fn new(language: &'a str, lists: StopLists, hash: H) -> Self {
        let mut memory = if Self::LASTING { MEMORY.take() } else { Memory::default() };
        let of = Some(TypeId::of::<H>());
        if memory.hash != of || memory.lists != Some(lists) || memory.language != language {
            memory.words.clear();
            memory.stems = Stems::default();
            memory.hash = of;
            memory.lists = Some(lists);
            memory.language.clear();
            memory.language.push_str(language);
        }
        Self { cutter: Cutter::new(language, lists), hash, memory }
    }

    #[inline]
    pub(crate) fn get(&mut self, token: &str) -> Word {
        let Some(key) = Key::of(token) else { return self.read(token) };
        if let Some(word) = self.memory.words.get(&key) {
            return *word;
        }
        let word = self.read(token);
        if self.memory.words.len() >= MAX_WORDS {
            self.memory.words.clear();
        }
        self.memory.words.insert(key, word);
        word
    }

    #[cold]
    fn read(&mut self, token: &str) -> Word {
        let plain = (self.hash)(token.as_bytes());
        let number = token.starts_with(|c: char| c.is_numeric());
        let function = self.cutter.is_function(token);
        let stem = (!function).then(|| match self.cutter.stem(token) {
            stem if *stem == *token => plain,
            stem => (self.hash)(stem.as_bytes()),
        });
        let content = stem.map(|hash| self.memory.stems.place(hash));
        let anchor = match (function, number) {
            (true, _) => Anchor::Stopword,
            (false, true) => Anchor::Number,
            (false, false) => Anchor::None,
        };
        Word { plain, content, anchor }
    }

    /// Returns hashes of a text's stems with their counts, by first occurrence. Keeps the cache for the next text.
    pub(crate) fn finish(mut self, stems: &[Stem]) -> Vec<(u64, u32)> {
        let stems = self.memory.stems.count(stems);
        // A text with more stems is not kept, which limits the memory.
        if Self::LASTING && self.memory.stems.hashes.len() <= MAX_WORDS {
            MEMORY.set(self.memory);
        }
        stems
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn length(bytes: &[u8]) -> u64 {
        bytes.len() as u64
    }

    #[test]
    fn remembered_words_belong_to_one_hash_and_one_language() {
        fn ask<H: Fn(&[u8]) -> u64 + 'static>(
            mut words: Words<'_, H>,
            token: &str,
        ) -> (u64, Option<u64>, Anchor) {
            let word = words.get(token);
            let stem = words.finish(word.content.as_slice()).first().map(|(hash, _)| *hash);
            (word.plain, stem, word.anchor)
        }
        let read = |language: &str, salt: Option<u64>, token: &str| match salt {
            Some(salt) => ask(
                Words::new(language, StopLists::First, move |b: &[u8]| salt + b.len() as u64),
                token,
            ),
            None => ask(Words::new(language, StopLists::First, length), token),
        };
        for _ in 0..2 {
            assert_eq!(read("en", None, "the"), (3, None, Anchor::Stopword));
            assert_eq!(read("en", None, "houses"), (6, Some(4), Anchor::None));
            assert_eq!(read("xx", None, "the"), (3, Some(3), Anchor::None));
            assert_eq!(read("en", Some(100), "the"), (103, None, Anchor::Stopword));
            assert_eq!(read("en", Some(200), "houses"), (206, Some(204), Anchor::None));
            assert_eq!(read("en", None, "42nd"), (4, Some(4), Anchor::Number));
        }
    }

    #[test]
    fn memory_is_bounded() {
        let mut words = Words::new("en", StopLists::First, length);
        for number in 0..3 * MAX_WORDS {
            words.get(&number.to_string());
            assert!(words.memory.words.len() <= MAX_WORDS);
        }
        words.get(&"a".repeat(25));
        assert!(!words.memory.words.is_empty());
    }

    #[test]
    fn stems_are_counted_separately_for_each_text_even_when_the_memory_is_full() {
        let hash = |bytes: &[u8]| bytes.iter().fold(7, |h: u64, b| h * 31 + u64::from(*b));
        let mut words = Words::new("en", StopLists::First, hash);
        let mut stems = Vec::new();
        stems
            .extend(["house", "the", "boat", "houses"].iter().filter_map(|w| words.get(w).content));
        for number in 0..2 * MAX_WORDS {
            words.get(&number.to_string());
        }
        stems.extend(["houses", "boat"].iter().filter_map(|word| words.get(word).content));
        assert_eq!(words.finish(&stems), [(hash(b"hous"), 3), (hash(b"boat"), 2)]);
        for _ in 0..2 {
            let mut next = Words::new("en", StopLists::First, hash);
            assert!(next.memory.stems.hashes.len() <= MAX_WORDS);
            let boat = next.get("boat").content;
            assert_eq!(next.finish(boat.as_slice()), [(hash(b"boat"), 1)]);
        }
    }

    proptest! {
        #[test]
        fn no_two_words_have_one_key(
            a in "[ab天é]{1,26}",
            other in "[ab天é]{1,26}",
            at in 0usize..27,
            letters in "[ab天é]{0,2}",
        ) {
            // Random words are seldom this similar: one letter more, less or replaced.
            let (before, after) = (a.chars().take(at), a.chars().skip(at + 1));
            let neighbour: String = before.chain(letters.chars()).chain(after).collect();
            for b in [other, neighbour] {
                let (one, other) = (Key::of(&a), Key::of(&b));
                prop_assert_eq!(one.is_some(), a.len() <= 24);
                prop_assert_eq!(one.is_some() && one == other, a == b && one.is_some());
            }
        }
    }

    #[test]
    fn short_words_and_their_neighbours_have_keys_of_their_own() {
        let mut words = vec![String::new()];
        for length in 0..10 {
            let longer = words.iter().filter(|word| word.len() == length);
            let longer: Vec<String> =
                longer.flat_map(|word| ["a", "b"].map(|c| format!("{word}{c}"))).collect();
            words.extend(longer);
        }
        // Long words in which one letter is doubled at any position.
        let letters = "abcdefghijklmnopqrstuvwxyz";
        for length in 10..=24 {
            for doubled in 0..length {
                let (before, after) = letters[..length - 1].split_at(doubled);
                words.push(format!("{before}{}{after}", before.chars().last().unwrap_or('z')));
            }
            words.push("a".repeat(length));
        }
        words.sort();
        words.dedup();
        let mut keys: Vec<[u64; 3]> =
            words.iter().filter_map(|w| Key::of(w)).map(|k| k.0).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), words.len());
    }
}
