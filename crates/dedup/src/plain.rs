//! The crate's plain recipe: folded words, and single characters of scripts without spaces.

use crate::hash::{FeatureHash, mix64};
use crate::record::Document;
use crate::{Fingerprint, Simhash, Sketch};

/// The name of the plain recipe, for [`Options::recipe`](crate::Options::recipe).
pub const PLAIN_RECIPE: &str = "plain-words-1";

/// Turns text into a [`Document`] without an external tokenizer.
///
/// A word is a run of letters and digits in lower case; each ideograph or kana is a word. The fingerprint counts
/// every occurrence of a word, the sketch hashes shingles of three words, the digest covers all words in order. Words
/// are hashed with [`FeatureHash::Rapid`], ideographs by code point.
///
/// The recipe never changes (except for characters that Unicode adds), so fingerprints may be stored. It knows no
/// stop words, stems or boilerplate: strip boilerplate from web pages first.
///
/// # Complexity
/// One pass over the text. Memory: 8 bytes per word, reused for the next text.
///
/// ```
/// use hapax_dedup::Plain;
/// let mut plain = Plain::default();
/// let a = plain.fingerprint("The river rose in spring, and the village moved up the hill.");
/// let b = plain.fingerprint("the RIVER rose in spring; and the village moved up the hill");
/// assert_eq!(a, b);
/// assert_eq!(plain.words("你好, world").len(), 3);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Plain {
    words: Vec<u64>,
    lower: String,
}

impl Plain {
    /// Returns the hashes of the words of a text, in order.
    pub fn words(&mut self, text: &str) -> &[u64] {
        self.words.clear();
        let bytes = text.as_bytes();
        let mut start = None;
        let (mut before, mut at) = (0u64, 0);
        while at < bytes.len() {
            let inside = word_bytes(bytes.get(at..).unwrap_or_default());
            // A bit is set where a word begins or ends.
            let mut edges = inside ^ (inside << 1 | before);
            before = inside >> 63;
            while edges != 0 {
                let edge = at + edges.trailing_zeros() as usize;
                edges &= edges - 1;
                match start.take() {
                    None => start = Some(edge),
                    Some(from) => self.run(text, from, edge),
                }
            }
            at += 64;
        }
        if let Some(from) = start {
            self.run(text, from, bytes.len());
        }
        &self.words
    }

    /// Returns the fingerprint of a text's words.
    pub fn fingerprint(&mut self, text: &str) -> Fingerprint {
        let mut simhash = Simhash::new();
        simhash.add_all(self.words(text));
        simhash.finish()
    }

    /// Returns a text as a document, with fingerprint, sketch, digest and number of words.
    pub fn document<'a>(&mut self, key: &'a [u8], text: &str) -> Document<'a> {
        let words = self.words(text);
        let mut simhash = Simhash::new();
        simhash.add_all(words);
        // A text of one or two words is one shingle.
        let whole = [words];
        let short = words.len() < 3 && !words.is_empty();
        let shingle =
            |words: &[u64]| words.iter().fold(0u64, |sum, word| mix64(sum.rotate_left(5) ^ word));
        let shingles: Vec<u64> = if short {
            whole.iter().map(|words| shingle(words)).collect()
        } else {
            words.windows(3).map(shingle).collect()
        };
        let mut digest = [0; 16];
        let (low, high) = digest.split_at_mut(8);
        low.copy_from_slice(&shingle(words).to_le_bytes());
        let second = words.iter().fold(1u64, |sum, word| mix64(sum ^ word.rotate_left(32)));
        high.copy_from_slice(&second.to_le_bytes());
        Document {
            digest: (!words.is_empty()).then_some(digest),
            sketch: Sketch::from_hashes(shingles),
            tokens: u32::try_from(words.len()).unwrap_or(u32::MAX),
            ..Document::new(key, simhash.finish())
        }
    }

    /// Adds the words in a run of letters, digits and non-ASCII bytes.
    #[inline]
    fn run(&mut self, text: &str, from: usize, to: usize) {
        let bytes = text.as_bytes().get(from..to).unwrap_or_default();
        if let Some(hash) =
            short_ascii(text.as_bytes().get(from..).unwrap_or_default(), bytes.len())
        {
            self.words.push(hash);
        } else if bytes.is_ascii() {
            self.lower.clear();
            self.lower.extend(bytes.iter().map(|byte| char::from(byte.to_ascii_lowercase())));
            self.words.push(FeatureHash::Rapid.hash(self.lower.as_bytes()));
        } else {
            self.beyond_ascii(text.get(from..to).unwrap_or_default());
        }
    }

    fn beyond_ascii(&mut self, text: &str) {
        self.lower.clear();
        let mut rest = text;
        loop {
            // Ideographs (except the rarest), kana and their punctuation are three bytes each.
            let threes = self.threes(rest.as_bytes().as_chunks().0);
            let mut chars = rest.get(3 * threes..).unwrap_or_default().chars();
            let Some(c) = chars.next() else { break };
            if is_word_by_itself(c) {
                self.end_word();
                self.words.push(of_code(u32::from(c)));
            } else if !is_plain_mark(c) && c.is_alphanumeric() {
                self.lower.extend(c.to_lowercase());
            } else {
                self.end_word();
            }
            rest = chars.as_str();
        }
        self.end_word();
    }

    /// Adds the leading characters that are words by themselves and skips marks between them. Returns the number of
    /// characters read.
    fn threes(&mut self, threes: &[[u8; 3]]) -> usize {
        if threes.first().is_none_or(|three| kind_of_three(*three).is_none()) {
            return 0;
        }
        self.end_word();
        let mut count = 0;
        for piece in threes.chunks(16) {
            // Without a branch: the hash of a mark is overwritten by the next. A branch would be mispredicted at
            // every mark.
            let (mut hashes, mut found) = ([0; 16], 0usize);
            let mut stop = piece.len();
            for (place, &three) in piece.iter().enumerate() {
                let Some(alone) = kind_of_three(three) else {
                    stop = place;
                    break;
                };
                if let Some(hash) = hashes.get_mut(found & 15) {
                    *hash = of_code(code_of_three(three));
                }
                found = found.wrapping_add(alone);
            }
            self.words.extend_from_slice(&hashes);
            self.words.truncate(self.words.len() - (16 - found));
            count += stop;
            if stop < piece.len() {
                break;
            }
        }
        count
    }

    fn end_word(&mut self) {
        if !self.lower.is_empty() {
            self.words.push(FeatureHash::Rapid.hash(self.lower.as_bytes()));
            self.lower.clear();
        }
    }
}

/// Returns whether a character belongs to a script without spaces between words.
const fn is_word_by_itself(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Returns the code point of three bytes of UTF-8, if they are one character.
#[inline(always)]
const fn code_of_three([a, b, c]: [u8; 3]) -> u32 {
    (a as u32 & 0x0f) << 12 | (b as u32 & 0x3f) << 6 | c as u32 & 0x3f
}

/// Returns 1 for three bytes that are a word by themselves, 0 for a mark of [`is_plain_mark`], `None` for anything
/// else.
#[inline(always)]
fn kind_of_three([a, b, c]: [u8; 3]) -> Option<usize> {
    static ALONE: [u64; 1 << 10] = bits_of(true, false);
    static EITHER: [u64; 1 << 10] = bits_of(true, true);
    let row = usize::from(a & 15) << 6 | usize::from(b & 63);
    let bit = |bits: &[u64; 1 << 10]| bits.get(row).map_or(0, |row| row >> (c & 63) & 1);
    (a >> 4 == 0xe && bit(&EITHER) == 1).then(|| bit(&ALONE) as usize)
}

/// Returns a bit for each code point below 2^16 that is a word by itself or a plain mark, as requested.
#[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
const fn bits_of(alone: bool, marks: bool) -> [u64; 1 << 10] {
    let mut bits = [0; 1 << 10];
    let mut code = 0;
    while code < 1 << 16 {
        if let Some(c) = char::from_u32(code)
            && (alone && is_word_by_itself(c) || marks && is_plain_mark(c))
        {
            bits[(code >> 6) as usize] |= 1 << (code & 63);
        }
        code += 1;
    }
    bits
}

#[inline(always)]
const fn of_code(code: u32) -> u64 {
    mix64(code as u64 ^ 0x6861_7061_7800_0001)
}

/// Returns whether a character is common punctuation of such scripts. Unicode's tables would be slower.
const fn is_plain_mark(c: char) -> bool {
    matches!(c, '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{3003}' | '\u{3008}'..='\u{3020}'
        | '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}')
}

/// Returns the hash of a lower-cased word of up to 16 ASCII letters and digits at the start of `bytes`.
#[inline(always)]
fn short_ascii(bytes: &[u8], length: usize) -> Option<u64> {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    if length > 16 {
        return None;
    }
    let sixteen = bytes.first_chunk::<16>()?;
    let (low, high) = (u128::from_le_bytes(*sixteen), u128::MAX >> (128 - 8 * length.max(1)));
    // Setting bit 0x20 lower-cases letters and does not change digits.
    let word = (low | 0x2020_2020_2020_2020_2020_2020_2020_2020) & high;
    if (word as u64 | (word >> 64) as u64) & HIGH != 0 {
        return None;
    }
    let lower = word.to_le_bytes();
    Some(FeatureHash::Rapid.hash(lower.get(..length)?))
}

/// Returns one bit for each of up to 64 bytes: whether it is a letter, a digit or non-ASCII.
#[inline(always)]
fn word_bytes(bytes: &[u8]) -> u64 {
    let (eights, rest) = bytes.get(..bytes.len().min(64)).unwrap_or_default().as_chunks::<8>();
    let mut mask = 0;
    for (place, eight) in eights.iter().enumerate() {
        mask |= of_eight(u64::from_le_bytes(*eight)) << (8 * place);
    }
    if !rest.is_empty() {
        let mut last = [0; 8];
        last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        mask |= of_eight(u64::from_le_bytes(last)) << (8 * eights.len());
    }
    mask
}

/// Computes the same for eight bytes in one word, by additions that cannot carry between bytes.
#[inline(always)]
const fn of_eight(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * ONES;
    let low = word & !HIGH;
    let lower = low | (0x20 * ONES);
    // The high bit of a byte is set if it is at least `a` (0x61), and cleared if it is above `z`.
    let letter = (lower + (0x80 - 0x61) * ONES) & !(lower + (0x80 - 0x7b) * ONES);
    let digit = (low + (0x80 - 0x30) * ONES) & !(low + (0x80 - 0x3a) * ONES);
    let bits = ((letter | digit | word) & HIGH) >> 7;
    // Gathers the eight low bits.
    bits.wrapping_mul(0x0102_0408_1020_4080) >> 56
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Computes the words character by character.
    fn slowly(text: &str) -> Vec<u64> {
        let mut words = Vec::new();
        let mut word = String::new();
        for c in text.chars().chain([' ']) {
            let alone = is_word_by_itself(c);
            if !alone && c.is_alphanumeric() {
                word.extend(c.to_lowercase());
                continue;
            }
            if !word.is_empty() {
                words.push(FeatureHash::Rapid.hash(word.as_bytes()));
                word.clear();
            }
            if alone {
                words.push(mix64(u64::from(u32::from(c)) ^ 0x6861_7061_7800_0001));
            }
        }
        words
    }

    proptest! {
        #[test]
        fn words_are_those_of_the_plain_loop(text in "([a-zA-Z0-9 .,\n@\\[`{/:]|[äÖß你好世界かカ“—é]|.){0,200}") {
            prop_assert_eq!(Plain::default().words(&text).to_vec(), slowly(&text));
        }
    }

    #[test]
    fn every_character_is_what_the_tables_say() {
        for c in ('\0'..='\u{2ffff}').filter(|c| !c.is_ascii()) {
            assert!(!is_plain_mark(c) || !c.is_alphanumeric(), "{c:?}");
            if let Some(three) = c.to_string().as_bytes().as_array::<3>() {
                let kind = (is_word_by_itself(c) || is_plain_mark(c))
                    .then(|| usize::from(is_word_by_itself(c)));
                assert_eq!(kind_of_three(*three), kind, "{c:?}");
                assert_eq!(code_of_three(*three), u32::from(c), "{c:?}");
            }
            for text in [format!("a{c}b"), format!("é{c}天{c}")] {
                assert_eq!(Plain::default().words(&text), slowly(&text), "{text:?}");
            }
        }
    }

    #[test]
    fn words_of_every_length_at_every_place_are_found() {
        for length in 1..80 {
            for start in 0..70 {
                let text = format!(
                    "{}{} x",
                    " ".repeat(start),
                    "Ab3".repeat(length).get(..length).unwrap()
                );
                assert_eq!(Plain::default().words(&text), slowly(&text), "{text:?}");
            }
        }
        for byte in 0..128u8 {
            let text = format!("a{}b", char::from(byte));
            assert_eq!(Plain::default().words(&text), slowly(&text), "{byte}");
        }
    }

    #[test]
    fn golden_fingerprints_hold_for_ever() {
        let mut plain = Plain::default();
        let text =
            "The river rose in the spring, and 北京大学 was far away. Élan vital, x² and 42 straße";
        assert_eq!(plain.words(text).len(), 20);
        assert_eq!(plain.fingerprint(text).to_string(), "09464a83adac8a00");
        assert_eq!(plain.fingerprint("").bits(), 0);
        let document = plain.document(b"k", text);
        assert_eq!((document.tokens, document.fingerprint), (20, plain.fingerprint(text)));
        assert_eq!(plain.document(b"k", "!").tokens, 0);
        assert_eq!(plain.document(b"k", "!").digest, None);
        assert!(plain.document(b"k", "one").sketch.is_some());
        assert_ne!(plain.document(b"k", "a b").digest, plain.document(b"k", "b a").digest);
    }
}
