//! The words of a page's text, for the search and for showing passages.

use std::ops::Range;

use hapax_extract::for_each_word;
use xxhash_rust::xxh3::xxh3_64;

/// Maximum number of bytes of a shown passage.
const MAX_SHOWN: usize = 400;

/// Appends the hash of each word of a text.
pub(super) fn hashes(text: &str, into: &mut Vec<u64>) {
    for line in text.lines() {
        for_each_word(line, |word| into.push(xxh3_64(word.as_bytes())));
    }
}

/// A run of words of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Run {
    /// The words, joined by spaces.
    pub(super) words: String,
    /// Number of the line with the first word, from 1.
    pub(super) line: usize,
}

/// Returns some words of a text.
pub(super) fn run(text: &str, range: &Range<usize>) -> Run {
    let (mut run, mut at) = (Run::default(), 0);
    for (number, line) in (1..).zip(text.lines()) {
        for_each_word(line, |word| {
            if range.contains(&at) {
                if run.line == 0 {
                    run.line = number;
                } else {
                    run.words.push(' ');
                }
                run.words.push_str(word);
            }
            at += 1;
        });
        if at >= range.end {
            break;
        }
    }
    run
}

/// Returns the beginning of a passage.
pub(super) fn beginning(words: &str) -> String {
    if words.len() <= MAX_SHOWN {
        return words.to_owned();
    }
    let end = words.floor_char_boundary(MAX_SHOWN);
    let whole = words.get(..end).unwrap_or_default();
    // A word is shown whole; in scripts without spaces a word is a character, followed by a space too.
    format!("{} ...", whole.rsplit_once(' ').map_or(whole, |(before, _)| before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_its_words_and_the_line_of_the_first() {
        let text = "The old River\n\n--\n北京 is big, big\nand wet.";
        let mut words = Vec::new();
        hashes(text, &mut words);
        assert_eq!(words.len(), 10);
        assert_eq!(words[6], words[7]);
        assert_eq!(run(text, &(2..7)), Run { words: "river 北 京 is big".into(), line: 1 });
        assert_eq!(run(text, &(8..99)), Run { words: "and wet".into(), line: 5 });
        assert_eq!(run(text, &(50..99)), Run::default());
    }

    #[test]
    fn a_long_passage_is_shown_by_its_beginning() {
        assert_eq!(beginning("a b"), "a b");
        let long = "word ".repeat(200);
        let shown = beginning(&long);
        assert!(shown.ends_with("word ...") && shown.len() <= MAX_SHOWN + 4);
        assert!(beginning(&"字".repeat(400)).ends_with("字 ..."));
    }
}
