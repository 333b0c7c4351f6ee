//! What is counted in one block of text.

use crate::blocks::RawBlock;
use crate::lang::{StopList, is_cjk, is_function_character, is_kana};

/// What is counted in one block.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Measure {
    pub(crate) words: f64,
    pub(crate) stopwords: f64,
    pub(crate) link_density: f64,
    /// Density of function words that sentences of this script reach.
    pub(crate) dense: f64,
    pub(crate) fair: f64,
    pub(crate) heading: bool,
    /// Characters but white space, and how many of them are digits, and punctuation of sentences.
    pub(crate) chars: usize,
    pub(crate) digits: usize,
    pub(crate) marks: usize,
    /// Words that begin with a capital.
    pub(crate) capitals: usize,
    pub(crate) ends_sentence: bool,
    /// Words, and each character of a script without spaces.
    pub(crate) tokens: usize,
}

pub(crate) fn measure(block: &RawBlock, stopwords: Option<&StopList>) -> Measure {
    let (mut chars, mut cjk, mut function, mut kana) = (0usize, 0usize, 0usize, 0usize);
    let (mut digits, mut marks, mut capitals, mut last) = (0, 0, 0, ' ');
    for c in block.text.chars().filter(|c| !c.is_whitespace()) {
        chars += 1;
        digits += usize::from(c.is_ascii_digit());
        marks += usize::from(is_sentence_mark(c));
        last = c;
        if is_cjk(c) {
            cjk += 1;
            kana += usize::from(is_kana(c));
            function += usize::from(is_function_character(c));
        }
    }
    let link_density = block.link_chars as f64 / chars.max(1) as f64;
    let heading = block.heading > 0;
    let ends_sentence =
        matches!(last, '.' | '!' | '?' | '。' | '！' | '？' | '…' | '"' | '”' | '」' | ':' | '：');
    let measure = Measure {
        link_density,
        heading,
        chars,
        digits,
        marks,
        ends_sentence,
        ..Measure::default()
    };
    if cjk * 10 > chars * 3 {
        // About two characters a word; kana are function words nine times in ten.
        let words = cjk as f64 / 1.6;
        let stopwords = if kana * 10 > cjk { kana as f64 * 0.5 } else { function as f64 * 1.4 };
        return Measure { words, stopwords, dense: 0.2, fair: 0.12, tokens: cjk, ..measure };
    }
    let mut words = 0f64;
    let mut found = 0f64;
    let mut lower = String::new();
    for word in block.text.split(|c: char| !is_letter(c)).filter(|word| !word.is_empty()) {
        words += 1.0;
        capitals += usize::from(word.starts_with(char::is_uppercase));
        if let Some(list) = stopwords {
            lower.clear();
            if word.is_ascii() {
                lower.push_str(word);
                lower.make_ascii_lowercase();
            } else {
                let straight = |c| if c == '’' { '\'' } else { c };
                lower.extend(word.chars().flat_map(char::to_lowercase).map(straight));
            }
            if list.contains(lower.as_str()) {
                found += 1.0;
            }
        }
    }
    // A language without a list: every word counts a little.
    let found = if stopwords.is_some() { found } else { words * 0.4 };
    let tokens = words as usize + cjk;
    Measure { words, stopwords: found, dense: 0.35, fair: 0.30, capitals, tokens, ..measure }
}

fn is_letter(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_alphanumeric() || c == '\''
    } else {
        c.is_alphanumeric() || c == '’'
    }
}

fn is_sentence_mark(c: char) -> bool {
    matches!(
        c,
        ',' | '.' | ';' | '!' | '?' | '，' | '。' | '、' | '；' | '！' | '？' | '،' | '؟' | '।'
    )
}

impl Measure {
    /// Share of function words, as a multiple of what sentences of this script reach.
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
