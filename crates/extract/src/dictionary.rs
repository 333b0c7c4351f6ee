//! The dictionary for Chinese segmentation.

use std::io::BufReader;
use std::sync::LazyLock;

use flate2::read::GzDecoder;
use jieba_rs::Jieba;

// The dictionary of jieba-rs, compressed with gzip. Its built-in one requires 17 more crates and zstd in C.
const WORDS: &[u8] = include_bytes!("../data/dictionary.txt.gz");

#[expect(clippy::expect_used, reason = "part of the program: a test reads it to its end")]
static JIEBA: LazyLock<Jieba> = LazyLock::new(|| {
    Jieba::with_dict(&mut BufReader::new(GzDecoder::new(WORDS)))
        .expect("a dictionary that is whole")
});

/// Returns the dictionary, shared by the process and loaded at first use (about 0.2 s, 35 MB).
pub fn jieba() -> &'static Jieba {
    &JIEBA
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_words_are_there() {
        // The first and the last entry, and one of several characters.
        for word in ["1号店", "龢", "中华人民共和国"] {
            assert!(jieba().has_word(word), "{word}");
        }
        assert!(!jieba().has_word("中华人民共和"));
        let cut: Vec<&str> =
            jieba().cut("我来到北京清华大学", false).iter().map(|word| word.word).collect();
        assert_eq!(cut, ["我", "来到", "北京", "清华大学"]);
    }
}
