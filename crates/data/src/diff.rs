//! The difference of two texts, by word; in Chinese and Japanese by character.

use std::time::{Duration, Instant};

use hapax_index::is_cjk;
use similar::{Algorithm, ChangeTag, capture_diff_slices_deadline};

/// A stretch of text, on one side or on both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// On both sides.
    Both(&'a str),
    /// Only in the old text.
    Old(&'a str),
    /// Only in the new text.
    New(&'a str),
}

/// Time limit of a comparison; the rest is shown as changed.
const MAX_TIME: Duration = Duration::from_millis(500);
const MAX_TEXT: usize = 400_000;

/// Returns when a comparison that begins now must end.
pub fn diff_deadline() -> Instant {
    Instant::now() + MAX_TIME
}

/// Returns the pieces of both texts, in order. The rest at the deadline counts as changed.
///
/// # References
/// E. W. Myers, "An O(ND) difference algorithm", 1986, by the crate `similar`.
pub fn diff<'a>(old: &'a str, new: &'a str, deadline: Instant) -> Vec<Piece<'a>> {
    let cut = |text: &'a str| text.get(..text.floor_char_boundary(MAX_TEXT)).unwrap_or_default();
    let (a, b) = (words(cut(old)), words(cut(new)));
    let mut pieces: Vec<(ChangeTag, &'a str)> = Vec::new();
    for op in capture_diff_slices_deadline(Algorithm::Myers, &a, &b, Some(deadline)) {
        for change in op.iter_changes(&a, &b) {
            pieces.push((change.tag(), change.value()));
        }
    }
    // Joins neighbours of one kind; they are adjacent in their text.
    let mut out: Vec<Piece<'a>> = Vec::new();
    let mut at = (0, 0);
    let mut rest = pieces.as_slice();
    while let Some(&(tag, _)) = rest.first() {
        let count = rest.iter().take_while(|(other, _)| *other == tag).count();
        let (group, later) = rest.split_at(count);
        let length: usize = group.iter().map(|(_, text)| text.len()).sum();
        let from = |text: &'a str, at: usize| text.get(at..at + length).unwrap_or_default();
        match tag {
            ChangeTag::Equal => {
                out.push(Piece::Both(from(new, at.1)));
                at = (at.0 + length, at.1 + length);
            }
            ChangeTag::Delete => {
                out.push(Piece::Old(from(old, at.0)));
                at.0 += length;
            }
            ChangeTag::Insert => {
                out.push(Piece::New(from(new, at.1)));
                at.1 += length;
            }
        }
        rest = later;
    }
    out
}

/// Splits a text into words and single other characters; each character of a script without spaces is separate.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if is_cjk(first) || !(first.is_alphanumeric() || first == '_') {
            first.len_utf8()
        } else {
            rest.find(|c: char| !(c.is_alphanumeric() || c == '_') || is_cjk(c))
                .unwrap_or(rest.len())
        };
        let (word, later) = rest.split_at(length);
        words.push(word);
        rest = later;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_differ_in_english_and_characters_in_chinese() {
        use Piece::{Both, New, Old};
        assert_eq!(
            diff("the old river rose", "the new river rose", diff_deadline()),
            [Both("the "), Old("old"), New("new"), Both(" river rose")]
        );
        assert_eq!(
            diff("北京大学很好", "北京中学很好", diff_deadline()),
            [Both("北京"), Old("大"), New("中"), Both("学很好")]
        );
        assert_eq!(diff("", "", diff_deadline()), []);
    }

    proptest! {
        #[test]
        fn pieces_make_up_both_texts(old in "[ab 中文\n.]{0,60}", new in "[ab 中文\n.]{0,60}") {
            let pieces = diff(&old, &new, diff_deadline());
            let side = |wanted: bool| -> String {
                pieces.iter().map(|piece| match *piece {
                    Piece::Both(text) => text,
                    Piece::Old(text) => if wanted { "" } else { text },
                    Piece::New(text) => if wanted { text } else { "" },
                }).collect()
            };
            prop_assert_eq!(&side(false), &old);
            prop_assert_eq!(&side(true), &new);
        }
    }

    #[test]
    fn text_left_at_the_diff_deadline_is_reported_as_changed() {
        let text = |seed: u64| -> String {
            (0..40_000u64).map(|i| format!("{} ", i.wrapping_mul(seed) % 9_973)).collect()
        };
        let (old, new) = (text(7), text(11));
        let started = Instant::now();
        let pieces = diff(&old, &new, started);
        assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
        let changed = pieces.iter().filter(|piece| !matches!(piece, Piece::Both(_))).count();
        assert!(changed >= 2);
    }
}
