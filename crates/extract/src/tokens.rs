//! Tokens of a text, and their features for fingerprint and sketch.

use std::borrow::Cow;
use std::collections::HashMap;

use sha2::{Digest as _, Sha256};

use crate::dictionary::jieba;
use crate::fold::fold;
use crate::frequency::weights;
use crate::lang::{is_cjk, is_katakana, is_unspaced};
use crate::numbers::numbers_of;
use crate::recipe_version::RecipeVersion;
use crate::stop_lists::StopLists;
use crate::traditional::simplified;
use crate::words::{Anchor, Cutter, Words};

/// Version of everything that affects a fingerprint: normalisation, segmentation, stop lists, stemmers, weights,
/// shingles. It is stored with fingerprints. Fingerprints of different recipes are never compared.
pub const RECIPE: &str = "content-words-tf-6";

/// Features of a text, hashed by the caller's function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// Stemmed content words with their counts, in the order of first occurrence.
    pub words: Vec<(u64, u32)>,
    /// Shingles of three tokens with a stopword; all shingles if fewer than 20 % of the tokens are stopwords.
    pub shingles: Vec<u64>,
    /// Digest of the token sequence: the first 128 bits of SHA-256 over the folded tokens, each followed by the byte
    /// `0xFF`, which never occurs in UTF-8. Case and punctuation do not matter, unless they change tokens: `it's`, or
    /// a space between two Han characters. `None` without tokens.
    pub digest: Option<[u8; 16]>,
    /// The digest of versions before 0.2, only for their records, because collisions can be constructed.
    pub former_digest: Option<[u8; 16]>,
    /// Number of content words.
    pub tokens: u32,
    /// Numbers except dates, times of day, counters and section numbers, which change on the same page.
    pub numbers: Vec<u64>,
}

impl Features {
    /// Returns the words with their weights in the default fingerprint. Weights grow faster than counts, up to a cap.
    ///
    /// # Complexity
    /// Linear in the words.
    pub fn weighted(&self) -> impl Iterator<Item = (u64, u32)> {
        let counts: Vec<u32> = self.words.iter().map(|(_, count)| *count).collect();
        let weights: Vec<u32> = weights(&counts).collect();
        self.words.iter().map(|(hash, _)| *hash).zip(weights)
    }
}

/// Returns the stemmed content words with their weights, heaviest first, then by word: a readable fingerprint.
pub fn weighted_words(text: &str, language: &str) -> Vec<(String, u32)> {
    weighted_words_by(text, language, RecipeVersion::default())
}

/// [`weighted_words`] of a version.
pub(crate) fn weighted_words_by(
    text: &str,
    language: &str,
    version: RecipeVersion,
) -> Vec<(String, u32)> {
    let counts = |language| {
        let cutter = Cutter::new(language, version.stop_lists());
        let mut counts: HashMap<String, u32> = HashMap::new();
        for_each_token(text, |token| {
            if !cutter.is_function(token) {
                *counts.entry(cutter.stem(token).into_owned()).or_default() += 1;
            }
        });
        counts
    };
    // As in the features, stopwords count if there are no other words.
    let counts = Some(counts(language))
        .filter(|counts| !counts.is_empty())
        .unwrap_or_else(|| counts(NO_LANGUAGE));
    let (words, counts): (Vec<String>, Vec<u32>) = counts.into_iter().unzip();
    let mut words: Vec<(String, u32)> = words.into_iter().zip(weights(&counts)).collect();
    words.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    words
}

/// Recipes of version 4 use all shingles if fewer than this have a stopword or a number.
const MIN_ANCHORED: usize = 12;
/// With a smaller share of stopwords, all shingles count: in any language, product lists have almost none.
const MIN_STOPWORDS: f64 = 0.2;

/// Splits a text into folded tokens and hashes its features. `hash` must depend only on its bytes. If it captures
/// nothing, each thread caches its results across texts.
///
/// # Complexity
/// Linear in the text.
pub fn features(
    text: &str,
    language: &str,
    hash: impl Fn(&[u8]) -> u64 + Copy + 'static,
) -> Features {
    features_by(text, language, RecipeVersion::default(), hash)
}

/// [`features`] of a version.
pub(crate) fn features_by(
    text: &str,
    language: &str,
    version: RecipeVersion,
    hash: impl Fn(&[u8]) -> u64 + Copy + 'static,
) -> Features {
    let Read { plain, anchors, words, tokens, digest, former_digest } =
        read(text, (language, version.stop_lists()), hash);
    // In a text of stopwords only, they count as content.
    let (words, tokens) = match tokens {
        0 if !plain.is_empty() => {
            let all = read(text, (NO_LANGUAGE, version.stop_lists()), hash);
            (all.words, all.tokens)
        }
        _ => (words, tokens),
    };

    let combine = |window: &[u64]| {
        let mut bytes = [0u8; 24];
        for (slot, token) in bytes.chunks_exact_mut(8).zip(window) {
            slot.copy_from_slice(&token.to_le_bytes());
        }
        hash(&bytes)
    };
    let is_anchor = |anchor: &Anchor| match version {
        RecipeVersion::Four => *anchor != Anchor::None,
        RecipeVersion::Five | RecipeVersion::Six => *anchor == Anchor::Stopword,
    };
    let anchored = plain.windows(3).zip(anchors.windows(3));
    let mut shingles: Vec<u64> = anchored
        .filter(|(_, anchors)| anchors.iter().any(is_anchor))
        .map(|(window, _)| combine(window))
        .collect();
    let few = match version {
        RecipeVersion::Four => shingles.len() < MIN_ANCHORED,
        RecipeVersion::Five | RecipeVersion::Six => {
            let stopwords = anchors.iter().filter(|anchor| is_anchor(anchor)).count();
            (stopwords as f64) < MIN_STOPWORDS * anchors.len() as f64
        }
    };
    if few {
        shingles = plain.windows(3.min(plain.len().max(1))).map(combine).collect();
    }
    let any = !plain.is_empty();
    drop((plain, anchors));
    let digest = any.then_some(digest);
    let former_digest = any.then(|| former_digest.finish());
    let numbers = numbers_of(text, hash);
    Features { words, shingles, digest, former_digest, tokens, numbers }
}

/// Maximum number of tokens that become features, 8 to 20 bytes each. Later tokens only affect the digest.
pub(crate) const MAX_TOKENS: usize = 1 << 21;

/// A language without stopwords and stems.
const NO_LANGUAGE: &str = "";

/// The hashed tokens of a text.
struct Read {
    plain: Vec<u64>,
    anchors: Vec<Anchor>,
    words: Vec<(u64, u32)>,
    /// Number of content tokens.
    tokens: u32,
    digest: [u8; 16],
    former_digest: FormerDigest,
}

fn read(
    text: &str,
    (language, lists): (&str, StopLists),
    hash: impl Fn(&[u8]) -> u64 + Copy + 'static,
) -> Read {
    let mut known = Words::new(language, lists, hash);
    let (mut plain, mut anchors, mut stems) = (Vec::new(), Vec::new(), Vec::new());
    let (mut digest, mut former_digest) = (Sha256::new(), FormerDigest::default());
    for_each_token(text, |token| {
        let word = known.get(token);
        digest.update(token);
        digest.update([END_OF_TOKEN]);
        former_digest.add(word.plain);
        if plain.len() < MAX_TOKENS {
            plain.push(word.plain);
            anchors.push(word.anchor);
            stems.extend(word.content);
        }
    });
    let tokens = u32::try_from(stems.len()).unwrap_or(u32::MAX);
    let digest = digest.finalize().first_chunk().copied().unwrap_or_default();
    Read { plain, anchors, words: known.finish(&stems), tokens, digest, former_digest }
}

/// Ends a token in the input of the digest; never occurs in UTF-8.
const END_OF_TOKEN: u8 = 0xFF;

/// Two 64-bit sums over word hashes, for old records. Each step is invertible, so equal sums can be constructed.
#[derive(Clone, Copy)]
struct FormerDigest([u64; 2]);

impl Default for FormerDigest {
    fn default() -> Self {
        Self([0, 1])
    }
}

impl FormerDigest {
    #[inline]
    const fn add(&mut self, token: u64) {
        let Self([a, b]) = *self;
        *self = Self([mix(a.rotate_left(5) ^ token), mix(b ^ token.rotate_left(32))]);
    }

    fn finish(self) -> [u8; 16] {
        let mut digest = [0; 16];
        for (half, sum) in digest.chunks_exact_mut(8).zip(self.0) {
            half.copy_from_slice(&sum.to_le_bytes());
        }
        digest
    }
}

/// The finaliser of MurmurHash3, a bijection.
const fn mix(mut x: u64) -> u64 {
    x ^= x >> 33;
    x = x.wrapping_mul(0xff51_afd7_ed55_8ccd);
    x ^= x >> 33;
    x = x.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}

/// Calls `visit` with each token in order: NFKC, lower case, without soft hyphens and zero-width characters. Words are
/// runs of letters and digits. jieba segments Han and kana, without its hidden Markov model: faster and more accurate.
pub fn for_each_token(text: &str, mut visit: impl FnMut(&str)) {
    let folded = fold(text);
    let mut rest = folded.as_str();
    loop {
        let bytes = rest.as_bytes();
        let start = bytes.iter().position(|byte| kind(*byte) != Kind::Other).unwrap_or(bytes.len());
        let run = bytes.get(start..).unwrap_or_default();
        let length = run.iter().position(|byte| kind(*byte) != Kind::Word).unwrap_or(run.len());
        if run.get(length).is_none_or(u8::is_ascii) {
            // ASCII only.
            let Some(word) = rest.get(start..start + length).filter(|word| !word.is_empty()) else {
                return;
            };
            visit_word(word, &mut visit);
            rest = rest.get(start + length..).unwrap_or_default();
        } else {
            rest = rest.get(start..).unwrap_or_default();
            rest = mixed(rest, &mut visit);
        }
    }
}

/// Calls `visit` with each word, folded as by [`for_each_token`]. In scripts without spaces, each character is a word,
/// in simplified form. This is faster than a dictionary, and equal passages give equal words.
///
/// # Complexity
/// Linear in the text.
pub fn for_each_word(text: &str, mut visit: impl FnMut(&str)) {
    let folded = fold(text);
    let simple = simplified(&folded);
    let alone = |c: char| is_cjk(c) || is_unspaced(c);
    let mut rest: &str = &simple;
    while let Some(start) = rest.find(is_word) {
        rest = rest.get(start..).unwrap_or_default();
        let end = match rest.chars().next() {
            Some(first) if alone(first) => first.len_utf8(),
            _ => rest.find(|c| !is_word(c) || alone(c)).unwrap_or(rest.len()),
        };
        let (word, later) = rest.split_at(end);
        visit_word(word, &mut visit);
        rest = later;
    }
}

/// Visits the tokens of the first run of words and returns the text after it.
fn mixed<'t>(rest: &'t str, visit: &mut impl FnMut(&str)) -> &'t str {
    let Some(start) = rest.find(is_word) else { return "" };
    let rest = rest.get(start..).unwrap_or_default();
    let cjk = rest.starts_with(is_cjk);
    let end = rest.find(|c| !is_word(c) || is_cjk(c) != cjk).unwrap_or(rest.len());
    let (mut run, later) = rest.split_at(end);
    if !cjk {
        visit_unspaced(run, visit);
        return later;
    }
    while let Some(first) = run.chars().next() {
        // Katakana spells names and loanwords, which are not in the dictionary: the run is one word.
        let katakana = is_katakana(first);
        let most = if katakana { MAX_WORD } else { MAX_RUN };
        // Search no further than the longest piece: the rest would be searched again for each piece.
        let (head, _) = run.split_at(run.floor_char_boundary(most.min(run.len())));
        let end = head.find(|c| is_katakana(c) != katakana).unwrap_or(head.len());
        let (piece, rest) = run.split_at(end);
        run = rest;
        if katakana { visit(piece) } else { segment(piece, visit) }
    }
    later
}

/// Visits the words of a run of Han and hiragana.
fn segment(run: &str, visit: &mut impl FnMut(&str)) {
    let words = jieba().cut(run, false);
    if let Cow::Owned(simplified) = simplified(run) {
        // Fewer words in simplified form: the text is traditional, not simplified text with a shared character.
        let others = jieba().cut(&simplified, false);
        if others.len() < words.len() {
            let mut rest = run;
            for other in others {
                let (word, later) = rest.split_at(rest.floor_char_boundary(other.word.len()));
                visit(word);
                rest = later;
            }
            return;
        }
    }
    for word in words {
        visit(word.word);
    }
}

/// Visits a run with a script without spaces as overlapping pairs of characters: its words would need a dictionary.
fn visit_unspaced(run: &str, visit: &mut impl FnMut(&str)) {
    let mut rest = run;
    while let Some(start) = rest.find(is_unspaced) {
        let (before, from) = rest.split_at(start);
        if !before.is_empty() {
            visit_word(before, visit);
        }
        let end = from.find(|c| !is_unspaced(c)).unwrap_or(from.len());
        let (run, later) = from.split_at(end);
        let ends = run.char_indices().map(|(at, _)| at).skip(2).chain([run.len()]);
        for (first, end) in run.char_indices().map(|(at, _)| at).zip(ends) {
            visit(run.get(first..end).unwrap_or_default());
        }
        rest = later;
    }
    if !rest.is_empty() {
        visit_word(rest, visit);
    }
}

fn visit_word(run: &str, visit: &mut impl FnMut(&str)) {
    let mut word = run.trim_end_matches('\'');
    // A longer run of letters is data or an attack, not a word: split it.
    while word.len() > MAX_WORD {
        let (piece, rest) = word.split_at(word.floor_char_boundary(MAX_WORD));
        visit(piece);
        word = rest;
    }
    if !word.is_empty() {
        visit(word);
    }
}

/// The class of a byte of UTF-8, as far as one byte determines it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Other,
    Word,
    /// Part of a non-ASCII character.
    Wide,
}

#[inline(always)]
fn kind(byte: u8) -> Kind {
    #[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
    const KINDS: [Kind; 256] = {
        let mut kinds = [Kind::Other; 256];
        let mut byte = 0;
        while byte < 256 {
            if byte >= 128 {
                kinds[byte] = Kind::Wide;
            } else if (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'\'' {
                kinds[byte] = Kind::Word;
            }
            byte += 1;
        }
        kinds
    };
    KINDS.get(usize::from(byte)).copied().unwrap_or(Kind::Other)
}

/// Maximum number of bytes segmented at once, because the word graph takes 50 times as many.
const MAX_RUN: usize = 24_576;

/// Maximum length of a token in bytes.
const MAX_WORD: usize = 255;

#[inline]
fn is_word(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || c == '\'';
    }
    match c {
        '\u{4E00}'..='\u{9FFF}' | '\u{3041}'..='\u{3096}' | '\u{30A1}'..='\u{30FA}' => true,
        // Punctuation, which the Unicode tables would check last.
        '\u{2000}'..='\u{206F}' | '\u{3000}'..='\u{3003}' => false,
        _ => c.is_alphanumeric() || is_mark(c),
    }
}

/// Combining marks belong to the letter before them (vowels in Hindi, Arabic, Thai).
pub const fn is_mark(c: char) -> bool {
    matches!(c, '\u{0300}'..='\u{036F}' | '\u{0591}'..='\u{05BD}' | '\u{064B}'..='\u{065F}'
        | '\u{0900}'..='\u{0903}' | '\u{093A}'..='\u{094F}' | '\u{0E31}' | '\u{0E34}'..='\u{0E3A}' | '\u{0E47}'..='\u{0E4E}'
        | '\u{0EB1}' | '\u{0EB4}'..='\u{0EBC}' | '\u{0EC8}'..='\u{0ECE}' | '\u{102B}'..='\u{103E}' | '\u{17B4}'..='\u{17D3}')
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
    fn traditional_words_are_found_as_the_simplified_ones_and_katakana_are_words() {
        assert_eq!(tokens("我們在電影學校"), ["我們", "在", "電影", "學校"]);
        assert_eq!(tokens("乾坤"), ["乾坤"], "a simplified word with such a character");
        assert_eq!(tokens("コンピューターの電源"), ["コンピューター", "の", "電源"]);
        assert_eq!(features("ガスコンロ・ガス", "ja", hash).tokens, 2);
        assert_eq!(features("これはガスです", "ja", hash).words, [(hash("ガス".as_bytes()), 1)]);
    }

    #[test]
    fn a_text_of_function_words_alone_is_made_of_them() {
        let quote = features("To be or not to be", "en", hash);
        assert_eq!(quote.tokens, 6);
        assert_eq!(quote.words.first(), Some(&(hash(b"to"), 2)));
        assert_eq!(weighted_words("To be or not to be", "en").len(), 4);
        assert_eq!(features("' '' '", "en", hash), Features::default(), "no word at all");
    }

    #[test]
    fn an_overlong_token_is_hashed_to_its_end() {
        let long = |last: char| format!("{}{last}", "a".repeat(3 * MAX_WORD));
        assert_eq!(tokens(&long('b')).len(), 4);
        let of = |last| features(&long(last), "en", hash).digest;
        assert_ne!(of('b'), of('c'));
    }

    #[test]
    fn of_very_many_tokens_the_last_ones_count_in_the_digest_alone() {
        let text = "a ".repeat(MAX_TOKENS);
        let of = |end: &str| features(&format!("{text}{end}"), "xx", hash);
        let (one, other) = (of("b"), of("c"));
        assert_ne!(one.digest, other.digest);
        assert_eq!((one.words, one.tokens as usize), (other.words, MAX_TOKENS));
    }

    #[test]
    fn scripts_without_spaces_are_read_to_their_end() {
        assert_eq!(tokens("ไฟไหม้ abc"), ["ไฟ", "ฟไ", "ไห", "หม", "ม้", "abc"]);
        assert_eq!(
            (tokens("ก"), tokens("กข"), tokens("abกขค1")),
            (
                vec!["ก".to_owned()],
                vec!["กข".to_owned()],
                ["ab", "กข", "ขค", "1"].map(str::to_owned).to_vec(),
            )
        );
        let opening = "ข".repeat(200);
        let of = |end: &str| features(&format!("{opening}{end}"), "th", hash).digest;
        assert_ne!(of("กข"), of("กค"));
        for text in ["ລາວ", "ខ្មែរ", "မြန်မာ"] {
            assert_eq!(tokens(text).len(), text.chars().count() - 1, "{text}");
        }
        let numbers = |text| features(text, "ar", hash).numbers;
        assert_eq!(numbers("٤٩٩ و ٦٥٠"), numbers("499 و 650"));
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
        assert_eq!(words, [("dog".to_owned(), 29), ("walk".to_owned(), 29)]);
        let all = features("the dogs were walking, a dog walks by", "en", hash);
        let once = all.weighted().map(|(_, weight)| weight).collect::<Vec<_>>();
        assert_eq!(once, [29, 29], "the same weights");
    }

    #[test]
    fn a_digest_is_of_every_token_in_its_place() {
        let of = |text: &str| features(text, "en", hash).digest;
        let texts = ["a b c", "b a c", "a c b", "a b", "a b c c", "a b d", "b c", "c", "a a", "a"];
        for (place, text) in texts.iter().enumerate() {
            assert_eq!(of(text), of(&text.replace(' ', ", ")));
            assert!(texts.iter().skip(place + 1).all(|other| of(text) != of(other)), "{text}");
            // Both halves of the former digest differ too.
            let former = |text: &str| features(text, "en", hash).former_digest;
            let halves = |text: &str| u128::from_le_bytes(former(text).unwrap());
            for other in texts.iter().skip(place + 1) {
                let both = halves(text) ^ halves(other);
                assert!(both as u64 != 0 && both >> 64 != 0, "{text}, {other}");
            }
        }
        let mut digest = FormerDigest::default();
        [1, 2, 3].into_iter().for_each(|token| digest.add(token));
        let golden = digest.finish().map(|byte| format!("{byte:02x}")).concat();
        assert_eq!(golden, "248d21189dc78cf7dfa9ffc7c56a56e9");
        // sha256("a\xffb\xff"): it is in stores and must never change.
        let golden = of("a b").unwrap().map(|byte| format!("{byte:02x}")).concat();
        assert_eq!(golden, "8872fa7b26b0c523940efc1110657380");
    }

    #[test]
    fn two_words_of_one_hash_have_different_digests() {
        // A collision of 64-bit FNV-1a that an audit found.
        let [one, other] = ["jdkhlcfllcbaloji", "ooeaiibffnigdcni"].map(|word| {
            let text = format!("the word that differs is {word} in this text");
            features(&text, "en", fnv1a)
        });
        assert_eq!(
            one.former_digest, other.former_digest,
            "the former digest takes them for equal"
        );
        assert_ne!(one.digest, other.digest);
    }

    fn fnv1a(bytes: &[u8]) -> u64 {
        bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &b| {
            (hash ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    }

    #[test]
    fn punctuation_is_no_word() {
        let blocks = ('\u{2000}'..='\u{206F}').chain('\u{3000}'..='\u{3003}');
        for c in blocks {
            assert!(!is_word(c) && !c.is_alphanumeric() && !is_mark(c), "{c:?}");
        }
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
