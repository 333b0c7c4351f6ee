//! Typos: words that differ in a letter or two.

/// Minimum number of letters of words that may be one, by the number of differing letters.
const LEAST: [usize; 2] = [6, 10];
/// Maximum number of letters of these words.
const LONGEST: usize = 40;

/// Returns whether one of two words is probably a typo of the other one: long words without digits in which a letter was
/// inserted, removed, replaced or swapped with the next; in very long words, two.
///
/// # Complexity
/// Quadratic in the words, of at most 40 letters.
pub(super) fn is_typo(one: &str, other: &str) -> bool {
    let [one, other] =
        [one, other].map(|word| word.chars().take(LONGEST + 1).collect::<Vec<char>>());
    let (short, long) = (one.len().min(other.len()), one.len().max(other.len()));
    let letters = one.iter().chain(&other).all(|c| c.is_alphabetic());
    let most = LEAST.iter().filter(|least| short >= **least).count();
    letters && most > 0 && long <= LONGEST && long - short <= most && distance(&one, &other) <= most
}

/// Returns the number of edits between two words. Letters that are swapped with the next are one edit.
fn distance(one: &[char], other: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.iter().enumerate() {
        let mut next = vec![at + 1];
        for (there, second) in other.iter().enumerate() {
            let replaced = row[there] + usize::from(letter != second);
            let mut least = replaced.min(row[there + 1] + 1).min(next[there] + 1);
            let swapped = at > 0
                && there > 0
                && one.get(at - 1) == Some(second)
                && other.get(there - 1) == Some(letter);
            if swapped {
                least = least.min(before[there - 1] + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typos_differ_in_few_letters_of_long_words() {
        for (one, other) in [
            ("recieve", "receive"),
            ("κατσάτημα", "κατάστημα"),
            ("harbour", "harbor"),
            ("neccessary", "necessary"),
            ("accomodations", "accommodation"),
        ] {
            assert!(is_typo(one, other) && is_typo(other, one), "{one}");
        }
        for (one, other) in [
            ("leeds", "reeds"),
            ("minimum", "maximum"),
            ("bristol", "leeds"),
            ("model19", "model18"),
            ("red brick", "red brook"),
            ("", ""),
        ] {
            assert!(!is_typo(one, other), "{one}");
        }
        assert!(!is_typo(&"a".repeat(100_000), &"b".repeat(100_000)));
    }
}
