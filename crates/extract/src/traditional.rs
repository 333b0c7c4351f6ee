//! Simplified forms of traditional Chinese, for a segmenter with a simplified dictionary.

use std::borrow::Cow;
use std::sync::LazyLock;

const PAIRS: &str = include_str!("../data/traditional.txt");

/// Simplified form of each traditional character, sorted by code.
static FORMS: LazyLock<Vec<(char, char)>> = LazyLock::new(|| {
    let pairs = PAIRS.lines().filter(|line| !line.starts_with('#')).flat_map(|line| {
        let (traditional, simplified) = (line.chars().step_by(2), line.chars().skip(1).step_by(2));
        traditional.zip(simplified)
    });
    pairs.collect()
});

/// One bit per character of the basic plane that has a simplified form. Nearly all look-ups find none.
static HAS_ONE: LazyLock<Vec<u64>> = LazyLock::new(|| {
    let mut bits = vec![0; 0x1_0000 / 64];
    for (traditional, _) in FORMS.iter() {
        if let Some(word) = bits.get_mut(*traditional as usize / 64) {
            *word |= 1 << (*traditional as usize % 64);
        }
    }
    bits
});

fn form(c: char) -> Option<char> {
    if HAS_ONE.get(c as usize / 64).is_none_or(|word| word >> (c as usize % 64) & 1 == 0) {
        return None;
    }
    let at = FORMS.binary_search_by_key(&c, |(traditional, _)| *traditional).ok()?;
    FORMS.get(at).map(|(_, simplified)| *simplified)
}

/// Returns a text in simplified characters. Byte offsets do not change.
///
/// # Complexity
/// Linear.
pub(crate) fn simplified(text: &str) -> Cow<'_, str> {
    // All of these characters are above U+3000: the first byte of their UTF-8 is at least 0xE3.
    if text.bytes().fold(0, u8::max) < 0xE3 || text.chars().all(|c| form(c).is_none()) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|c| form(c).unwrap_or(c)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_read_whole_and_each_form_is_as_long() {
        let lines = PAIRS.lines().filter(|line| !line.starts_with('#'));
        assert_eq!(FORMS.len() * 2, lines.map(|line| line.chars().count()).sum::<usize>());
        assert!(FORMS.is_sorted_by_key(|(traditional, _)| *traditional));
        assert!(FORMS.len() > 2900);
        for (traditional, simplified) in FORMS.iter() {
            assert_eq!((traditional.len_utf8(), simplified.len_utf8()), (3, 3));
            assert!(*traditional > '\u{3000}');
            assert_ne!(traditional, simplified);
        }
    }

    #[test]
    fn a_text_keeps_its_length() {
        assert_eq!(simplified("我們去看電影abc"), "我们去看电影abc");
        for text in ["我们去看电影", "kana カナ", ""] {
            assert!(matches!(simplified(text), Cow::Borrowed(same) if same == text));
        }
    }
}
