//! One tokenizer for all languages: words of letters, Chinese through jieba.

use jieba_rs::Jieba;
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

/// Gives the caller's dictionary; asked at the first Chinese or Japanese word, for loading takes time.
pub type Dictionary = fn() -> &'static Jieba;

/// Cuts Han and kana by jieba in search mode (long words and the words within), everything else
/// into runs of letters and digits; lower case. Shares the caller's dictionary.
#[derive(Clone)]
pub struct MixedTokenizer {
    jieba: Dictionary,
}

impl std::fmt::Debug for MixedTokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MixedTokenizer")
    }
}

impl MixedTokenizer {
    /// With this dictionary.
    pub const fn new(jieba: Dictionary) -> Self {
        Self { jieba }
    }
}

/// tantivy drops longer terms with a warning; no word is longer.
const MAX_WORD: usize = 255;

fn is_cjk(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3134F}')
}

impl Tokenizer for MixedTokenizer {
    type TokenStream<'a> = Tokens;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Tokens {
        let mut tokens = Vec::new();
        let mut position = 0;
        let mut push = |word: &str, from: usize, position: usize| {
            if word.len() <= MAX_WORD {
                tokens.push(Token {
                    offset_from: from,
                    offset_to: from + word.len(),
                    position,
                    text: word.to_lowercase(),
                    position_length: 1,
                });
            }
        };
        let mut at = 0;
        while let Some(start) = text.get(at..).and_then(|rest| rest.find(char::is_alphanumeric)) {
            let start = at + start;
            let rest = text.get(start..).unwrap_or_default();
            let cjk = rest.starts_with(is_cjk);
            let length =
                rest.find(|c: char| !c.is_alphanumeric() || is_cjk(c) != cjk).unwrap_or(rest.len());
            let run = rest.get(..length).unwrap_or_default();
            if cjk {
                for token in (self.jieba)().cut_for_search(run, false) {
                    push(token.word, start + token.byte_start, position + token.start);
                }
                position += run.chars().count();
            } else {
                push(run, start, position);
                position += 1;
            }
            at = start + length;
        }
        Tokens { tokens, next: 0, empty: Token::default() }
    }
}

/// The tokens of one text.
#[derive(Debug)]
pub struct Tokens {
    tokens: Vec<Token>,
    next: usize,
    empty: Token,
}

impl TokenStream for Tokens {
    fn advance(&mut self) -> bool {
        self.next += 1;
        self.next <= self.tokens.len()
    }

    fn token(&self) -> &Token {
        self.tokens.get(self.next.wrapping_sub(1)).unwrap_or(&self.empty)
    }

    fn token_mut(&mut self) -> &mut Token {
        self.tokens.get_mut(self.next.wrapping_sub(1)).unwrap_or(&mut self.empty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::LazyLock;

    #[test]
    fn chinese_and_english_in_one_text() {
        static JIEBA: LazyLock<Jieba> = LazyLock::new(Jieba::new);
        let mut tokenizer = MixedTokenizer::new(|| &JIEBA);
        let text = "学习Rust编程, in 北京大学 Today!";
        let mut stream = tokenizer.token_stream(text);
        let mut words = Vec::new();
        while stream.advance() {
            let token = stream.token();
            assert_eq!(text[token.offset_from..token.offset_to].to_lowercase(), token.text);
            words.push(token.text.clone());
        }
        for word in ["学习", "rust", "编程", "in", "北京", "大学", "北京大学", "today"]
        {
            assert!(words.iter().any(|w| w == word), "{word} in {words:?}");
        }
    }
}
