//! Counts of a block's text.

use crate::blocks::RawBlock;
use crate::fold::visible;
use crate::lang::{is_cjk, is_kana, is_letter, is_unspaced, lowered};
use crate::stop_lists::{StopList, is_function_character};

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Measure {
    pub(crate) words: f64,
    pub(crate) stopwords: f64,
    pub(crate) link_density: f64,
    /// Stopword shares of sentences in this script: strict for 20 words or more, lenient for 8 or more.
    pub(crate) dense: f64,
    pub(crate) fair: f64,
    pub(crate) heading: bool,
    /// Characters without white space; of these, digits and sentence punctuation.
    pub(crate) chars: usize,
    pub(crate) digits: usize,
    pub(crate) marks: usize,
    /// Words that begin with a capital.
    pub(crate) capitals: usize,
    pub(crate) ends_sentence: bool,
    /// Words, and each character of a script without spaces.
    pub(crate) tokens: usize,
}

/// Assumed share of stopwords in a language without a list.
const UNKNOWN: f64 = 0.4;
/// Characters per word in a script without spaces. Thai has 4 to 5 with marks.
const UNSPACED: usize = 4;

pub(crate) fn measure(block: &RawBlock, stopwords: Option<&StopList>) -> Measure {
    let counts = if block.text.is_ascii() {
        ascii(&block.text, stopwords)
    } else {
        unicode(&block.text, stopwords)
    };
    let Counts { chars, cjk, function, kana, .. } = counts;
    let ends_sentence = matches!(
        counts.last,
        '.' | '!' | '?' | '。' | '！' | '？' | '…' | '"' | '”' | '」' | ':' | '：'
    );
    let measure = Measure {
        link_density: block.link_chars as f64 / chars.max(1) as f64,
        heading: block.heading > 0,
        chars,
        digits: counts.digits,
        marks: counts.marks,
        ends_sentence,
        ..Measure::default()
    };
    if counts.is_cjk() {
        // About 1.6 characters per word. Of kana, nine in ten belong to stopwords.
        let words = cjk as f64 / 1.6;
        let stopwords = if kana * 10 > cjk { kana as f64 * 0.5 } else { function as f64 * 1.4 };
        return Measure { words, stopwords, dense: 0.2, fair: 0.12, tokens: cjk, ..measure };
    }
    let words = counts.words as f64;
    let stopwords = match stopwords {
        Some(_) => counts.found as f64 + counts.unspaced as f64 * UNKNOWN,
        None => words * UNKNOWN,
    };
    let tokens = counts.words + cjk;
    let capitals = counts.capitals;
    Measure { words, stopwords, dense: 0.35, fair: 0.30, capitals, tokens, ..measure }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    chars: usize,
    digits: usize,
    marks: usize,
    cjk: usize,
    function: usize,
    kana: usize,
    /// The last character that is not white space.
    last: char,
    /// Words; those that begin with a capital; those in the stop list. Not counted in blocks of ideographs.
    words: usize,
    capitals: usize,
    found: usize,
    /// Estimated number of these words in scripts without spaces.
    unspaced: usize,
}

impl Counts {
    const fn is_cjk(&self) -> bool {
        self.cjk * 10 > self.chars * 3
    }
}

fn unicode(text: &str, stopwords: Option<&StopList>) -> Counts {
    let text = visible(text);
    let mut counts = Counts { last: ' ', ..Counts::default() };
    let mut unspaced = 0;
    for c in text.chars().filter(|c| !c.is_whitespace()) {
        counts.chars += 1;
        counts.digits += usize::from(c.is_ascii_digit());
        counts.marks += usize::from(is_sentence_mark(c));
        counts.last = c;
        unspaced += usize::from(is_unspaced(c));
        if is_cjk(c) {
            counts.cjk += 1;
            counts.kana += usize::from(is_kana(c));
            counts.function += usize::from(is_function_character(c));
        }
    }
    if counts.is_cjk() {
        return counts;
    }
    counts.unspaced = unspaced.div_ceil(UNSPACED);
    counts.words = counts.unspaced;
    let mut lower = String::new();
    for word in
        text.split(|c: char| !is_letter(c) || is_unspaced(c)).filter(|word| !word.is_empty())
    {
        counts.words += 1;
        counts.capitals += usize::from(word.starts_with(char::is_uppercase));
        let found = stopwords.is_some_and(|list| list.contains(lowered(word, &mut lower)));
        counts.found += usize::from(found);
    }
    counts
}

/// Same as [`unicode`] for ASCII, byte by byte.
fn ascii(text: &str, stopwords: Option<&StopList>) -> Counts {
    let bytes = text.as_bytes();
    let mut counts = Counts { last: ' ', ..Counts::default() };
    for byte in bytes {
        // Unicode counts the vertical tab as white space; `u8` does not.
        counts.chars += usize::from(!matches!(byte, b' ' | b'\t'..=b'\r'));
        counts.digits += usize::from(byte.is_ascii_digit());
        counts.marks += usize::from(matches!(byte, b',' | b'.' | b';' | b'!' | b'?'));
    }
    counts.last = text.trim_end().chars().next_back().unwrap_or(' ');
    let mut room = [0; LONGEST];
    for word in bytes
        .split(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'\''))
        .filter(|word| !word.is_empty())
    {
        counts.words += 1;
        counts.capitals += usize::from(word.first().is_some_and(u8::is_ascii_uppercase));
        let (Some(list), Some(lower)) = (stopwords, room.get_mut(..word.len())) else { continue };
        lower.copy_from_slice(word);
        lower.make_ascii_lowercase();
        counts.found += usize::from(str::from_utf8(lower).is_ok_and(|word| list.contains(word)));
    }
    counts
}

/// Upper limit for the length of a stopword in bytes.
const LONGEST: usize = 32;

pub(crate) fn is_sentence_mark(c: char) -> bool {
    matches!(
        c,
        ',' | '.' | ';' | '!' | '?' | '，' | '。' | '、' | '；' | '！' | '？' | '،' | '؟' | '।'
    )
}

impl Measure {
    /// Returns the share of stopwords, relative to that of sentences in this script.
    pub(crate) fn density(&self) -> f64 {
        self.stopwords / self.words.max(1.0) / self.fair.max(0.01)
    }

    pub(crate) fn value(self) -> f64 {
        let density = self.stopwords / self.words.max(1.0);
        let free = 1.0 - self.link_density;
        if self.heading {
            0.0
        } else if self.words >= 20.0 && density >= self.dense && self.link_density < 0.75 {
            self.stopwords * free
        } else if self.link_density > 0.4 {
            -(0.4 * self.words.min(16.0) + 1.0)
        } else if self.words >= 8.0 && density >= self.fair {
            self.stopwords * free
        } else if self.words >= 8.0 {
            0.1 * self.words
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stop_lists::StopLists;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bytes_are_counted_as_characters_are(text in "[ -~\t\r\n\x0b\x0c\x1c-\x1f]{0,200}|([Tt]he|is|IN|a1|don't|[a-z]{30,34}|[ ,.;\"]){0,40}") {
            let list = StopLists::First.of("en");
            prop_assert_eq!(ascii(&text, list), unicode(&text, list));
            prop_assert_eq!(ascii(&text, None), unicode(&text, None));
        }
    }

    #[test]
    fn no_word_of_a_list_is_longer_than_what_is_looked_up() {
        let data = include_str!("../data/stopwords.txt");
        assert!(data.split([' ', '\n']).all(|word| word.len() <= LONGEST));
    }
}
