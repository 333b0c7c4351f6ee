//! One tokenizer for all languages: words of letters, Chinese through jieba.

use jieba_rs::Jieba;
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use crate::marks::MARK;

/// Returns the caller's dictionary. Called at the first Chinese or Japanese word, because loading takes time.
pub type Dictionary = fn() -> &'static Jieba;

/// Splits Han and kana with jieba in search mode (long words and the words in them), everything else into runs of
/// letters and digits. Lower case.
#[derive(Clone)]
pub(crate) struct MixedTokenizer {
    jieba: Dictionary,
}

impl MixedTokenizer {
    pub(crate) const fn new(jieba: Dictionary) -> Self {
        Self { jieba }
    }
}

/// Most bytes of a word, before and after lowercasing; the rest is cut off, as in the features of a page. tantivy
/// would allow 65,530 bytes and drop longer words.
const MAX_WORD: usize = 255;

/// Most bytes of Han and kana that are segmented at once: their word graph takes 50 times as much memory.
const MAX_RUN: usize = 24_576;

/// Returns whether a character is Han or kana, which have no spaces between words.
#[must_use]
pub const fn is_cjk(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3134F}')
}

impl Tokenizer for MixedTokenizer {
    type TokenStream<'a> = Tokens<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Tokens<'a> {
        Tokens {
            jieba: self.jieba,
            text,
            at: 0,
            position: 0,
            run: Vec::new().into_iter(),
            token: Token::default(),
        }
    }
}

/// A word: its byte range in the text, and its position.
#[derive(Debug)]
struct Word {
    from: usize,
    to: usize,
    position: usize,
}

pub(crate) struct Tokens<'a> {
    jieba: Dictionary,
    text: &'a str,
    at: usize,
    position: usize,
    run: std::vec::IntoIter<Word>,
    token: Token,
}

impl Tokens<'_> {
    /// Returns the next word. The words of a run of Han and kana are sorted by their start.
    fn word(&mut self) -> Option<Word> {
        loop {
            if let Some(word) = self.run.next() {
                return Some(word);
            }
            let rest = self.text.get(self.at..)?;
            let start = self.at + rest.find(|c: char| c.is_alphanumeric() || c == MARK)?;
            let rest = self.text.get(start..)?;
            if rest.starts_with(MARK) {
                // A phrase does not continue behind the line.
                self.position += 1;
                self.at = start + rest.find('\n').unwrap_or(rest.len());
                continue;
            }
            if !rest.starts_with(is_cjk) {
                let end = rest.find(|c: char| !c.is_alphanumeric() || is_cjk(c));
                let length = end.unwrap_or(rest.len());
                let position = self.position;
                self.at = start + length;
                self.position += 1;
                let cut = rest.floor_char_boundary(MAX_WORD.min(length));
                return Some(Word { from: start, to: start + cut, position });
            }
            let window = rest.get(..rest.floor_char_boundary(MAX_RUN))?;
            let end = window.find(|c: char| !c.is_alphanumeric() || !is_cjk(c));
            let run = window.get(..end.unwrap_or(window.len()))?;
            let mut words: Vec<Word> = (self.jieba)()
                .cut_for_search(run, false)
                .into_iter()
                .map(|token| Word {
                    from: start + token.byte_start,
                    to: start + token.byte_end,
                    position: self.position + token.start,
                })
                .collect();
            // jieba returns the words in a long one first, but tantivy's snippets require ascending offsets.
            words.sort_by_key(|word| (word.from, word.to));
            self.run = words.into_iter();
            self.at = start + run.len();
            self.position += run.chars().count();
        }
    }
}

impl TokenStream for Tokens<'_> {
    fn advance(&mut self) -> bool {
        let Some(word) = self.word() else { return false };
        let written = self.text.get(word.from..word.to).unwrap_or_default();
        let Token { offset_from, offset_to, position, text, .. } = &mut self.token;
        (*offset_from, *offset_to, *position) = (word.from, word.to, word.position);
        text.clear();
        if written.is_ascii() {
            text.push_str(written);
            text.make_ascii_lowercase();
        } else {
            text.push_str(&written.to_lowercase());
            // The lower case of some letters is longer.
            text.truncate(text.floor_char_boundary(MAX_WORD));
        }
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::few_words::jieba;

    fn tokens(text: &str) -> Vec<Token> {
        let mut tokenizer = MixedTokenizer::new(jieba);
        let mut stream = tokenizer.token_stream(text);
        let mut tokens = Vec::new();
        while stream.advance() {
            tokens.push(stream.token().clone());
        }
        tokens
    }

    #[test]
    fn marked_lines_have_no_words() {
        let words = |text: &str| -> Vec<(String, usize, usize)> {
            let all = tokens(text).into_iter();
            all.map(|token| (token.text, token.position, token.offset_from)).collect()
        };
        let of = |text: &str, position, from| (text.to_owned(), position, from);
        assert_eq!(words("one\n\u{1}two 北京\nthree"), [of("one", 0, 0), of("three", 2, 16)]);
        assert_eq!(words("\u{1}one"), []);
        assert_eq!(words("\u{1}one\n\u{1}two\n北京"), [of("北京", 2, 10)]);
    }

    #[test]
    fn chinese_and_english_in_one_text() {
        let text = "学习Rust编程, in 北京大学 Today!";
        let tokens = tokens(text);
        for token in &tokens {
            assert_eq!(text[token.offset_from..token.offset_to].to_lowercase(), token.text);
        }
        let places: Vec<(&str, usize)> =
            tokens.iter().map(|token| (token.text.as_str(), token.position)).collect();
        let expected = [
            ("学习", 0),
            ("rust", 2),
            ("编程", 3),
            ("in", 5),
            ("北京", 6),
            ("北京大学", 6),
            ("大学", 8),
            ("today", 10),
        ];
        assert_eq!(places, expected);
    }

    #[test]
    fn long_words_are_cut_where_a_character_ends() {
        let long = format!("{} b", "İ".repeat(100_000));
        let tokens = tokens(&long);
        assert_eq!(tokens.len(), 2);
        assert!(tokens[0].text.len() <= MAX_WORD && tokens[0].text.starts_with("i\u{307}i"));
        assert!(tokens[0].offset_to <= MAX_WORD);
        assert_eq!((tokens[1].text.as_str(), tokens[1].position), ("b", 1));
    }

    #[test]
    fn a_run_without_an_end_is_cut_in_pieces() {
        let word = "北京大学";
        let text = word.repeat(100_000);
        let mut tokenizer = MixedTokenizer::new(jieba);
        let mut stream = tokenizer.token_stream(&text);
        let (mut count, mut from, mut position) = (0, 0, 0);
        while stream.advance() {
            let token = stream.token();
            assert!(token.offset_from >= from && token.position >= position);
            assert!(token.offset_from == token.position * 3, "each character is one position");
            (from, position) = (token.offset_from, token.position);
            count += 1;
            assert!(stream.run.as_slice().len() <= MAX_RUN, "one run at a time");
        }
        assert_eq!(from, text.len() - "大学".len());
        assert!((300_000..310_000).contains(&count), "{count} tokens");
    }
}
