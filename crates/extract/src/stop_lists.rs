//! Stop lists in two versions. A list never changes in its version, because fingerprints depend on it.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::LazyLock;

/// FNV-1a. The lists are fixed, so an attacker cannot add colliding words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WordHasher(u64);

impl Default for WordHasher {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for WordHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}

/// Stopwords of a language.
pub(crate) type StopList = HashSet<&'static str, BuildHasherDefault<WordHasher>>;

/// The lists of one version, by the two-letter code of their language.
type Lists = HashMap<&'static str, StopList>;

static FIRST: LazyLock<Lists> = LazyLock::new(|| read(include_str!("../data/stopwords.txt")));
static ADDED: LazyLock<Lists> = LazyLock::new(|| read(include_str!("../data/stopwords-6.txt")));

fn read(lists: &'static str) -> Lists {
    lists
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(": "))
        .map(|(language, words)| (language, words.split(' ').collect()))
        .collect()
}

/// A version of the stop lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopLists {
    /// Lists of 30 languages: for recipes up to version 5, and for the choice of blocks in any recipe, because the
    /// weights were fitted with them.
    First,
    /// These and lists of further languages.
    Second,
}

impl StopLists {
    /// Returns the stopwords of a language by its two-letter code; `None` if it has no list.
    pub(crate) fn of(self, language: &str) -> Option<&'static StopList> {
        let added = || ADDED.get(language).filter(|_| self == Self::Second);
        FIRST.get(language).or_else(added)
    }

    /// Returns the code of a language with a list.
    pub(crate) fn code(self, language: &str) -> Option<&'static str> {
        let added = || ADDED.get_key_value(language).filter(|_| self == Self::Second);
        FIRST.get_key_value(language).or_else(added).map(|(code, _)| *code)
    }
}

/// Languages with a list, sorted, and for each word a bit per language whose list contains it.
pub(crate) struct SharedWords {
    languages: Vec<&'static str>,
    words: HashMap<&'static str, u128, BuildHasherDefault<WordHasher>>,
}

impl SharedWords {
    /// Returns the words of the lists of this version.
    pub(crate) fn of(lists: StopLists) -> &'static Self {
        static OF_FIRST: LazyLock<SharedWords> = LazyLock::new(|| SharedWords::new(&[&FIRST]));
        static OF_ALL: LazyLock<SharedWords> =
            LazyLock::new(|| SharedWords::new(&[&FIRST, &ADDED]));
        match lists {
            StopLists::First => &OF_FIRST,
            StopLists::Second => &OF_ALL,
        }
    }

    fn new(lists: &[&'static Lists]) -> Self {
        let mut all: Vec<(&'static str, &StopList)> =
            lists.iter().flat_map(|lists| lists.iter()).map(|(code, list)| (*code, list)).collect();
        all.sort_unstable_by_key(|(language, _)| *language);
        let mut words: HashMap<_, u128, _> = HashMap::default();
        for (number, (_, list)) in all.iter().enumerate() {
            for word in *list {
                *words.entry(*word).or_default() |= 1 << number;
            }
        }
        Self { languages: all.into_iter().map(|(language, _)| language).collect(), words }
    }

    /// Returns the place of a language among the counts of [`Self::count`].
    pub(crate) fn place(&self, language: &str) -> Option<usize> {
        self.languages.binary_search(&language).ok()
    }

    /// Returns the language at a place.
    pub(crate) fn code(&self, place: usize) -> Option<&'static str> {
        self.languages.get(place).copied()
    }

    /// Returns one count per language, all zero.
    pub(crate) fn counts(&self) -> Vec<usize> {
        vec![0; self.languages.len()]
    }

    /// Adds a word to the counts of the languages whose lists contain it.
    pub(crate) fn count(&self, word: &str, counts: &mut [usize]) {
        let mut bits = self.words.get(word).copied().unwrap_or(0);
        while bits != 0 {
            if let Some(count) = counts.get_mut(bits.trailing_zeros() as usize) {
                *count += 1;
            }
            bits &= bits - 1;
        }
    }
}

/// Returns whether `c` is a function character of Chinese, simplified or traditional.
pub(crate) fn is_function_character(c: char) -> bool {
    /// One bit per character of the basic plane.
    static SET: LazyLock<Vec<u64>> = LazyLock::new(|| {
        let mut bits = vec![0; 0x1_0000 / 64];
        for c in FIRST.get("zh").into_iter().flatten().flat_map(|word| word.chars()) {
            if let Some(word) = bits.get_mut(c as usize / 64) {
                *word |= 1 << (c as usize % 64);
            }
        }
        bits
    });
    SET.get(c as usize / 64).is_some_and(|word| word >> (c as usize % 64) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::for_each_token;
    use crate::lang::is_unspaced;

    #[test]
    fn every_list_is_there() {
        for language in ["en", "de", "fr", "ru", "zh", "pl"] {
            assert!(
                StopLists::First.of(language).is_some_and(|list| list.len() > 90),
                "{language}"
            );
        }
        assert!(is_function_character('的') && !is_function_character('猫'));
        assert_eq!((FIRST.len(), ADDED.len()), (31, 39));
        assert!(FIRST.keys().all(|language| !ADDED.contains_key(language)), "a list would change");
        assert!(FIRST.len() + ADDED.len() <= u128::BITS as usize);
    }

    #[test]
    fn added_lists_belong_to_the_second_version_only() {
        assert!(StopLists::First.of("lt").is_none() && StopLists::Second.of("lt").is_some());
        assert_eq!((StopLists::First.code("lt"), StopLists::Second.code("lt")), (None, Some("lt")));
        assert_eq!(StopLists::Second.of("en"), StopLists::First.of("en"));
    }

    /// A word that is not a token as texts are cut would never be found.
    #[test]
    fn added_stopwords_are_tokens() {
        for (language, list) in ADDED.iter() {
            for word in list {
                let mut tokens = Vec::new();
                for_each_token(word, |token| tokens.push(token.to_owned()));
                let pair = word.chars().all(is_unspaced) && word.chars().count() <= 2;
                assert!(tokens == [*word] || pair, "{language}: {word} {tokens:?}");
            }
        }
    }

    #[test]
    fn words_of_several_lists_count_for_each() {
        let shared = SharedWords::of(StopLists::Second);
        let mut counts = shared.counts();
        shared.count("ovim", &mut counts);
        shared.count("nothing of the kind", &mut counts);
        let of = |language: &str| counts.get(shared.place(language).unwrap()).copied().unwrap();
        assert_eq!(
            (of("sr"), of("en"), counts.iter().sum::<usize>()),
            (1, 0, of("sr") + of("hr") + of("sl"))
        );
    }
}
