//! Shows a user the common parts of two texts.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use hapax_extract::for_each_token;

use crate::evidence::HASH;

/// Number of examples of each kind.
const EXAMPLES: usize = 3;
const SHINGLE: usize = 3;

/// Returns the first shingles of three tokens that both texts have, and the first that only `text` has.
///
/// # Complexity
/// Linear in the texts; memory 8 bytes per token.
pub fn examples(text: &str, other: &str) -> (Vec<String>, Vec<String>) {
    let (own, theirs) = (hashes(text), hashes(other));
    let theirs: HashSet<&[u64], RandomState> = shingles(&theirs).collect();
    let (mut shared, mut different): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    for (at, shingle) in shingles(&own).enumerate() {
        let list = if theirs.contains(shingle) { &mut shared } else { &mut different };
        let is_new = |other: &usize| own.get(*other..*other + shingle.len()) != Some(shingle);
        if list.len() < EXAMPLES && list.iter().all(is_new) {
            list.push(at);
        }
        if shared.len() == EXAMPLES && different.len() == EXAMPLES {
            break;
        }
    }
    (phrases(text, &shared), phrases(text, &different))
}

fn hashes(text: &str) -> Vec<u64> {
    let mut hashes = Vec::with_capacity(text.len() / 6);
    for_each_token(text, |token| hashes.push(HASH.hash(token.as_bytes())));
    hashes
}

/// Returns all windows of three tokens; of a shorter text, one window.
fn shingles(tokens: &[u64]) -> impl Iterator<Item = &[u64]> {
    tokens.windows(SHINGLE.min(tokens.len().max(1)))
}

/// Returns the shingles that begin at these tokens, as text.
fn phrases(text: &str, starts: &[usize]) -> Vec<String> {
    let mut phrases = vec![String::new(); starts.len()];
    let mut at = 0;
    for_each_token(text, |token| {
        for (start, phrase) in starts.iter().zip(&mut phrases) {
            if (*start..*start + SHINGLE).contains(&at) {
                phrase.push_str(if phrase.is_empty() { "" } else { " " });
                phrase.push_str(token);
            }
        }
        at += 1;
    });
    phrases
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_few_of_each_kind_are_shown_and_a_short_text_is_its_own() {
        let (shared, different) = examples("one two three four five six", "one two three four");
        assert_eq!(shared, ["one two three", "two three four"]);
        assert_eq!(different, ["three four five", "four five six"]);
        assert_eq!(examples("one two", "one two"), (vec!["one two".to_owned()], vec![]));
        let long = "a b c d e f g h";
        assert_eq!(examples(long, long).0.len(), EXAMPLES);
        assert_eq!(examples("", long), (vec![], vec![]));
    }
}
