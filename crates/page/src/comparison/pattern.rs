//! Names that differ in numbers in several places: "Screws 4 x 40 mm, box of 200" and "Screws 5 x 60 mm, box of 100".

use std::ops::Range;

use crate::difference::changing;

/// Minimum number of places with other numbers. With one place, the common beginning and end show the pattern.
const MIN_PLACES: usize = 2;
/// Maximum number of replaced words beside the numbers, such as a month or a colour.
const MAX_REPLACED: usize = 1;
/// The word between the numbers of a size, in Latin and in Cyrillic letters.
const BY: [&str; 2] = ["x", "х"];

/// Returns whether the number before this word is part of a size, such as "40 x 40".
pub(super) fn is_by(word: &str) -> bool {
    BY.contains(&word)
}

/// Returns the number of words that two names have in common, if they have the same words in the same order (at most
/// one is replaced) and other numbers in at least two places between these. A code such as `M6` counts as a number.
///
/// Returns `None` if only dates, counters and section numbers differ: these change on one page. The same for an
/// edition, which replaces the same numbers in each place.
///
/// # Complexity
/// Linear in the words.
pub(super) fn common_words(words: [&[&str]; 2], folded: [&[u64]; 2]) -> Option<usize> {
    let names = [0, 1].map(|side| Template::of(words[side], folded[side]));
    let [one, other] = &names;
    if one.fixed.len() != other.fixed.len() {
        return None;
    }
    let fixed = one.fixed.iter().zip(&other.fixed);
    let replaced = fixed.filter(|(at, there)| one.folded.get(**at) != other.folded.get(**there));
    let replaced = replaced.count();
    if replaced > MAX_REPLACED {
        return None;
    }
    let changing = words.map(changing);
    let mut found = Found { common: one.fixed.len() - replaced, places: 0, lasting: false };
    let mut slots: Vec<[&[u64]; 2]> = Vec::new();
    let mut sized = false;
    for number in 0..=one.fixed.len() {
        let ranges = [one.slot(number), other.slot(number)];
        let slot = [0, 1].map(|side| {
            let (folded, changing) = (folded[side], &changing[side]);
            Slot {
                folded: folded.get(ranges[side].clone()).unwrap_or_default(),
                changing: changing.get(ranges[side].clone()).unwrap_or_default(),
            }
        });
        let numbers = slot.map(|slot| slot.folded);
        if numbers[0] == numbers[1] {
            found.common += numbers[0].len();
            continue;
        }
        if numbers.iter().any(|numbers| numbers.is_empty()) {
            return None;
        }
        found.add(slot);
        slots.push(numbers);
        sized |= names.iter().any(|name| name.fixed_word(number).is_some_and(is_by));
    }
    let edition = slots.len() > 1 && slots.windows(2).all(|two| two[0] == two[1]) && !sized;
    (found.places >= MIN_PLACES && found.lasting && !edition).then_some(found.common)
}

/// A name as words with slots for numbers before, between and behind them.
struct Template<'n> {
    words: &'n [&'n str],
    folded: &'n [u64],
    /// Indexes of the words without a digit.
    fixed: Vec<usize>,
}

impl<'n> Template<'n> {
    fn of(words: &'n [&'n str], folded: &'n [u64]) -> Self {
        let fixed = words.iter().enumerate().filter(|(_, word)| !word.contains(char::is_numeric));
        Self { words, folded, fixed: fixed.map(|(at, _)| at).collect() }
    }

    /// Returns a word without a digit by its number.
    fn fixed_word(&self, number: usize) -> Option<&'n str> {
        self.fixed.get(number).and_then(|at| self.words.get(*at)).copied()
    }

    /// Returns the range of numbers before a word without a digit, or behind the last.
    fn slot(&self, number: usize) -> Range<usize> {
        let before = number.checked_sub(1).and_then(|before| self.fixed.get(before));
        let end = self.fixed.get(number).copied().unwrap_or(self.words.len());
        before.map_or(0, |at| at + 1)..end
    }
}

/// The numbers between two words of a name.
#[derive(Clone, Copy)]
struct Slot<'n> {
    folded: &'n [u64],
    /// For each number, whether it may change on one page.
    changing: &'n [bool],
}

struct Found {
    /// Number of common words.
    common: usize,
    /// Number of places in which numbers differ.
    places: usize,
    /// Whether a number differs that does not change on one page.
    lasting: bool,
}

impl Found {
    /// Compares differing numbers between the same two words.
    fn add(&mut self, [one, other]: [Slot<'_>; 2]) {
        if one.folded.len() == other.folded.len() {
            let mut equal_before = true;
            for (at, (first, second)) in one.folded.iter().zip(other.folded).enumerate() {
                let equal = first == second;
                let changing = [one, other].map(|slot| slot.changing.get(at) == Some(&true));
                self.common += usize::from(equal);
                self.places += usize::from(!equal && equal_before);
                self.lasting |= !equal && changing != [true; 2];
                equal_before = equal;
            }
            return;
        }
        // "3,5" and "6" are different numbers of words.
        let same = |(first, second): &(&u64, &u64)| first == second;
        let head = one.folded.iter().zip(other.folded).take_while(same).count();
        let rest = [one, other].map(|slot| slot.folded.get(head..).unwrap_or_default());
        let tail = rest[0].iter().rev().zip(rest[1].iter().rev()).take_while(same).count();
        self.common += head + tail;
        self.places += 1;
        self.lasting |= [one, other].iter().any(|slot| {
            let differing = slot.changing.get(head..slot.changing.len() - tail);
            differing.unwrap_or_default().contains(&false)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::HASH;

    fn common(one: &str, other: &str) -> Option<usize> {
        let words = [one, other].map(|name| name.split(' ').collect::<Vec<&str>>());
        let hashes = words
            .each_ref()
            .map(|words| words.iter().map(|word| HASH.hash(word.as_bytes())).collect::<Vec<u64>>());
        let there = common_words([&words[0], &words[1]], [&hashes[0], &hashes[1]]);
        let back = common_words([&words[1], &words[0]], [&hashes[1], &hashes[0]]);
        assert_eq!(there, back, "in both orders");
        there
    }

    #[test]
    fn numbers_and_codes_differ_in_several_places_of_one_frame() {
        for (one, other, words) in [
            ("screws 4 x 40 mm box of 200", "screws 5 x 60 mm box of 100", 5),
            ("hex bolt m6 x 20", "hex bolt m8 x 30", 3),
            ("pan 20 cm 3 5 l", "pan 24 cm 6 l", 3),
            ("lamp gu10 5w 230v 3000k", "lamp gu10 7w 230v 4000k", 3),
            ("shelf 80 x 30 x 2 5 cm 4 pieces", "shelf 120 x 40 x 3 cm 2 pieces", 5),
            ("curtain blue 120 x 200 cm", "curtain red 140 x 240 cm", 3),
            ("report of 3 may 2025 session 4", "report of 7 june 2025 session 5", 4),
            ("cube 30 x 30 x 30 cm", "cube 40 x 40 x 40 cm", 4),
        ] {
            assert_eq!(common(one, other), Some(words), "{one}");
        }
    }

    #[test]
    fn one_place_other_words_and_changing_numbers_are_no_such_frame() {
        for (one, other) in [
            ("guide for windows 10", "guide for windows 11"),
            ("sale 3 x 40 in leeds", "offer 4 x 50 in bristol"),
            ("size 3 pack of 56", "size 3 or 4 pack of 50"),
            ("bolt 4 x 40 black", "bolt x 50 black"),
            ("3 may 2025 at 14 05 the news", "4 june 2025 at 09 12 the news"),
            ("12 views 3 comments flood", "30 views 5 comments flood"),
            ("table 12 to chapter 3 rain", "table 14 to chapter 4 rain"),
            ("icon java se 17 0 2 jdk 17 0 2", "icon java se 21 0 1 jdk 21 0 1"),
        ] {
            assert_eq!(common(one, other), None, "{one}");
        }
    }
}
