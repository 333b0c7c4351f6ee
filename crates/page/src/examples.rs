//! What two texts have in common, for a person.

use std::collections::{HashSet, VecDeque};

use hapax_extract::for_each_token;

use crate::evidence::HASH;

/// So many of a kind are shown.
const EXAMPLES: usize = 3;

/// Shingles of three tokens that two texts share, and that only the first has: the first few.
pub fn examples(text: &str, other: &str) -> (Vec<String>, Vec<String>) {
    let mut theirs: HashSet<u64> = HashSet::new();
    each_shingle(other, |shingle| {
        theirs.insert(HASH.hash(shingle.as_bytes()));
        true
    });
    let (mut shared, mut different) = (Vec::new(), Vec::new());
    each_shingle(text, |shingle| {
        let known = theirs.contains(&HASH.hash(shingle.as_bytes()));
        let list = if known { &mut shared } else { &mut different };
        if list.len() < EXAMPLES && !list.iter().any(|other| other == shingle) {
            list.push(shingle.to_owned());
        }
        shared.len() < EXAMPLES || different.len() < EXAMPLES
    });
    (shared, different)
}

/// Three tokens at a time, until `visit` has enough; of a text of fewer tokens all of them.
fn each_shingle(text: &str, mut visit: impl FnMut(&str) -> bool) {
    let mut window: VecDeque<String> = VecDeque::new();
    let (mut shingle, mut enough, mut any) = (String::new(), false, false);
    let mut join = |window: &VecDeque<String>, enough: &mut bool| {
        shingle.clear();
        for (at, token) in window.iter().enumerate() {
            shingle.push_str(if at == 0 { "" } else { " " });
            shingle.push_str(token);
        }
        *enough = !visit(&shingle);
    };
    for_each_token(text, |token| {
        if enough {
            return;
        }
        let mut next =
            if window.len() == 3 { window.pop_front().unwrap_or_default() } else { String::new() };
        next.clear();
        next.push_str(token);
        window.push_back(next);
        if window.len() == 3 {
            any = true;
            join(&window, &mut enough);
        }
    });
    if !any && !window.is_empty() {
        join(&window, &mut enough);
    }
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
