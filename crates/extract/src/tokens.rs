//! From text to tokens, and from tokens to the features of fingerprint and sketch.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::LazyLock;

use foldhash::fast::RandomState;
use jieba_rs::Jieba;
use rust_stemmers::Stemmer;

use crate::fold::fold;
use crate::lang::{StopList, is_cjk, is_han, stemmer, stopwords};

static JIEBA: LazyLock<Jieba> = LazyLock::new(Jieba::new);

/// The one dictionary of the process, loaded at first use (about 0.15 s, 35 MB).
pub fn jieba() -> &'static Jieba {
    &JIEBA
}

/// The name of everything that decides about a fingerprint: normalisation, segmentation, stop
/// lists, stemmers, weights, shingles. Stored with fingerprints; those of two recipes never compare.
pub const RECIPE: &str = "content-words-tf-2";

/// A text's features, as hashes by the caller's hash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// Stemmed content words, each as often as it occurs: term frequency is the weight.
    pub words: Vec<u64>,
    /// Shingles of three tokens that carry a stopword or a number; all shingles of a text that has
    /// few of those. For similarity.
    pub shingles: Vec<u64>,
    /// Digest of the whole token sequence, equal for texts of the same tokens, whatever their case
    /// and whatever stands between them. `None` without tokens. Texts that differ in spacing or
    /// punctuation may have other tokens: `it's`, or a space between two Han characters.
    pub digest: Option<[u8; 16]>,
    /// How many content words there are.
    pub tokens: u32,
    /// Its numbers, but for dates and times of day, which change on the same page.
    pub numbers: Vec<u64>,
}

/// The stemmed content words of a text with their weights, heaviest first, then by word: what the
/// fingerprint is made of, readable.
pub fn weighted_words(text: &str, language: &str) -> Vec<(String, u32)> {
    let cutter = Cutter::new(language);
    let mut weights: HashMap<String, u32> = HashMap::new();
    for_each_token(text, |token| {
        if !cutter.is_function(token) {
            *weights.entry(cutter.stem(token).into_owned()).or_default() += 1;
        }
    });
    let mut words: Vec<(String, u32)> = weights.into_iter().collect();
    words.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    words
}

/// What a language knows of its tokens.
struct Cutter<'a> {
    language: &'a str,
    list: Option<&'static StopList>,
    stem: Option<Stemmer>,
}

impl<'a> Cutter<'a> {
    fn new(language: &'a str) -> Self {
        Self { language, list: stopwords(language), stem: stemmer(language).map(Stemmer::create) }
    }

    fn is_function(&self, token: &str) -> bool {
        self.list.is_some_and(|list| list.contains(token))
            || (self.language == "ja"
                && !token.chars().any(is_han)
                && token.chars().all(is_cjk)
                && token.chars().count() <= 2)
    }

    fn stem<'t>(&self, token: &'t str) -> Cow<'t, str> {
        let Some(stemmer) = &self.stem else { return Cow::Borrowed(token) };
        if token.len() > MAX_KEPT_WORD {
            return stemmer.stem(token);
        }
        STEMS.with_borrow_mut(|(language, stems)| {
            if language != self.language || stems.len() >= MAX_STEMS {
                stems.clear();
                language.clear();
                language.push_str(self.language);
            }
            if let Some(stem) = stems.get(token) {
                return stem.as_ref().map_or(Cow::Borrowed(token), |stem| stem.to_string().into());
            }
            let stem = stemmer.stem(token);
            stems.insert(token.into(), (*stem != *token).then(|| stem.as_ref().into()));
            stem
        })
    }
}

/// Stems kept from page to page, of one language, and the longest word kept.
const MAX_STEMS: usize = 65_536;
const MAX_KEPT_WORD: usize = 24;

/// A word and its stem, if that is another word.
type Stems = HashMap<Box<str>, Option<Box<str>>, RandomState>;

thread_local! {
    /// Stemming is a third of what the features cost; most words come again on the next page.
    static STEMS: RefCell<(String, Stems)> = RefCell::default();
}

/// With fewer anchored shingles than this, all shingles count.
const MIN_ANCHORED: usize = 12;

#[derive(Clone, Copy)]
struct TokenInfo {
    /// Of the folded token.
    plain: u64,
    /// Of its stem; `None` for a stopword.
    content: Option<u64>,
    anchor: bool,
}

/// Cuts a text into folded tokens and hashes its features.
///
/// # Complexity
/// Linear in the text; each distinct word is stemmed once.
pub fn features(text: &str, language: &str, hash: impl Fn(&[u8]) -> u64) -> Features {
    let cutter = Cutter::new(language);
    let mut cache: HashMap<String, TokenInfo, RandomState> = HashMap::default();
    let (mut plain, mut anchors, mut words) = (Vec::new(), Vec::new(), Vec::new());
    let mut take = |token: TokenInfo| {
        plain.push(token.plain);
        anchors.push(token.anchor);
        words.extend(token.content);
    };
    for_each_token(text, |token| {
        if let Some(info) = cache.get(token) {
            return take(*info);
        }
        let plain = hash(token.as_bytes());
        let number = token.starts_with(|c: char| c.is_numeric());
        let function = cutter.is_function(token);
        let content = (!function).then(|| match cutter.stem(token) {
            stem if *stem == *token => plain,
            stem => hash(stem.as_bytes()),
        });
        let info = TokenInfo { plain, content, anchor: function || number };
        cache.insert(token.to_owned(), info);
        take(info);
    });
    drop(cache);

    let combine = |window: &[u64]| {
        let mut bytes = [0u8; 24];
        for (slot, token) in bytes.chunks_exact_mut(8).zip(window) {
            slot.copy_from_slice(&token.to_le_bytes());
        }
        hash(&bytes)
    };
    let anchored = plain.windows(3).zip(anchors.windows(3));
    let mut shingles: Vec<u64> = anchored
        .filter(|(_, anchors)| anchors.contains(&true))
        .map(|(window, _)| combine(window))
        .collect();
    if shingles.len() < MIN_ANCHORED {
        shingles = plain.windows(3.min(plain.len().max(1))).map(combine).collect();
    }
    let digest = (!plain.is_empty()).then(|| {
        let name = b"second half";
        let mut bytes = Vec::with_capacity(name.len() + 8 * plain.len());
        bytes.extend(name);
        bytes.extend(plain.iter().flat_map(|token| token.to_le_bytes()));
        let mut digest = [0; 16];
        let first = bytes.get(name.len()..).unwrap_or_default();
        digest[..8].copy_from_slice(&hash(first).to_le_bytes());
        digest[8..].copy_from_slice(&hash(&bytes).to_le_bytes());
        digest
    });
    let count = u32::try_from(words.len()).unwrap_or(u32::MAX);
    let numbers = numbers(text).map(|number| hash(number.as_bytes())).collect();
    Features { words, shingles, digest, tokens: count, numbers }
}

/// Runs of digits, with the marks between them: `1,299.00`, but neither `2026-11-20` nor `14:32`.
fn numbers(text: &str) -> impl Iterator<Item = &str> {
    let joint = |c: u8| matches!(c, b'.' | b',' | b':' | b'-' | b'/');
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = text.as_bytes().get(at..)?;
            let start = at + rest.iter().position(u8::is_ascii_digit)?;
            let run = text.as_bytes().get(start..)?;
            let length = run.iter().position(|c| !c.is_ascii_digit() && !joint(*c));
            at = start + length.unwrap_or(run.len());
            let run = text.get(start..at)?.trim_end_matches(|c: char| c.is_ascii_punctuation());
            let dated = run.contains([':', '-', '/']) || run.split('.').count() > 2;
            if !dated {
                return Some(run);
            }
        }
    })
}

/// Calls `visit` with each token in order: NFKC, lower case, without soft hyphens and zero-width
/// characters. Words are runs of letters and digits; runs of Han and kana are segmented by jieba
/// without its hidden Markov model, which is both faster and more accurate here.
pub fn for_each_token(text: &str, mut visit: impl FnMut(&str)) {
    let folded = fold(text);
    let mut rest = folded.as_str();
    while let Some(start) = rest.find(is_word) {
        rest = rest.get(start..).unwrap_or_default();
        let cjk = rest.starts_with(is_cjk);
        let end = rest.find(|c| !is_word(c) || is_cjk(c) != cjk).unwrap_or(rest.len());
        let (run, later) = rest.split_at(end);
        if cjk {
            let mut run = run;
            while !run.is_empty() {
                let (piece, rest) = run.split_at(run.floor_char_boundary(MAX_RUN.min(run.len())));
                run = rest;
                for token in JIEBA.cut(piece, false) {
                    visit(token.word);
                }
            }
        } else {
            let word = run.trim_end_matches('\'');
            // A longer run of letters is no word of any language: data, or an attack.
            visit(word.get(..word.floor_char_boundary(MAX_WORD)).unwrap_or(word));
        }
        rest = later;
    }
}

/// Bytes that are segmented at once: a run without any punctuation is seldom so long, and its graph
/// of words takes 50 times as much.
const MAX_RUN: usize = 24_576;

/// Bytes of the longest token.
const MAX_WORD: usize = 255;

#[inline]
fn is_word(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || c == '\'';
    }
    matches!(c, '\u{4E00}'..='\u{9FFF}' | '\u{3041}'..='\u{3096}' | '\u{30A1}'..='\u{30FA}')
        || c.is_alphanumeric()
        || is_mark(c)
}

/// Combining marks belong to the letter before them (Hindi, Arabic, Thai vowels).
fn is_mark(c: char) -> bool {
    matches!(c, '\u{0300}'..='\u{036F}' | '\u{0591}'..='\u{05BD}' | '\u{064B}'..='\u{065F}'
        | '\u{0900}'..='\u{0903}' | '\u{093A}'..='\u{094F}' | '\u{0E31}' | '\u{0E34}'..='\u{0E3A}' | '\u{0E47}'..='\u{0E4E}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tokens(text: &str) -> Vec<String> {
        let mut all = Vec::new();
        for_each_token(text, |token| all.push(token.to_owned()));
        all
    }

    fn hash(bytes: &[u8]) -> u64 {
        bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h: u64, b| {
            (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3)
        })
    }

    #[test]
    fn words_are_folded_and_chinese_is_segmented() {
        assert_eq!(
            tokens("The Qui\u{AD}ck, brown\u{200B} FOX’s 42nd"),
            ["the", "quick", "brown", "fox's", "42nd"]
        );
        assert_eq!(tokens("我们在北京大学learn编程"), ["我们", "在", "北京大学", "learn", "编程"]);
        assert_eq!(tokens("ﬁne Ｆｕｌｌ"), ["fine", "full"]);
        assert!(tokens(" -- ... ").is_empty());
    }

    #[test]
    fn stopwords_are_no_content_and_stems_are_one() {
        let a = features("the dogs were walking in the park", "en", hash);
        let b = features("a dog walks to parks", "en", hash);
        assert_eq!((a.tokens, b.tokens), (3, 3));
        assert_eq!(a.words, b.words);
        assert_ne!(a.digest, b.digest);
        assert_eq!(features("", "en", hash), Features::default());
        let words = weighted_words("the dogs were walking, a dog walks", "en");
        assert_eq!(words, [("dog".to_owned(), 2), ("walk".to_owned(), 2)]);
    }

    #[test]
    fn dates_and_times_are_no_numbers() {
        let found: Vec<&str> =
            numbers("On 2026-11-20 at 14:32, 3 of 1,299.00 (1/2) left; see 10.0.3. Part 7.")
                .collect();
        assert_eq!(found, ["3", "1,299.00", "7"]);
    }

    proptest! {
        #[test]
        fn spacing_and_case_change_nothing(words in prop::collection::vec("[a-z]{1,9}|[一-三]{1,4}", 1..40)) {
            let a = words.join(" ");
            let b = words.join("\n  ").to_uppercase();
            prop_assert_eq!(features(&a, "en", hash), features(&b, "en", hash));
        }

        #[test]
        fn no_text_makes_it_panic(text in ".{0,300}", language in "en|zh|ja|ar|xx") {
            let _ = features(&text, &language, hash);
        }
    }
}
