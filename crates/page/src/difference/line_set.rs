use super::words::hash_of_line;

/// Maximum number of lines in a set.
pub const MAX_SET_LINES: usize = 256;
/// Lines with fewer words, such as links of a menu, are not in a set.
const MIN_WORDS: usize = 3;
/// Shorter lines have fewer words.
const MIN_BYTES: usize = 5;

/// A set of lines, by 32 bits of their hashes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineSet(Vec<u32>);

impl LineSet {
    /// The set without lines.
    pub const EMPTY: Self = Self(Vec::new());

    /// Creates the set of the lines with at least three words. Of more than [`MAX_SET_LINES`] lines, it has the longest
    /// in bytes.
    ///
    /// # Complexity
    /// Linear in these lines, after sorting all by length.
    pub fn of<'l>(lines: impl Iterator<Item = &'l str>) -> Self {
        let mut lines: Vec<&str> = lines.filter(|line| line.len() >= MIN_BYTES).collect();
        if lines.len() > MAX_SET_LINES {
            // Stable: of lines of one length, the first.
            lines.sort_by_key(|line| std::cmp::Reverse(line.len()));
            lines.truncate(MAX_SET_LINES);
        }
        let hashes = lines.into_iter().filter_map(|line| {
            let (hash, words) = hash_of_line(line);
            (words >= MIN_WORDS).then_some(short(hash))
        });
        let mut all: Vec<u32> = hashes.collect();
        all.sort_unstable();
        all.dedup();
        Self(all)
    }

    /// Returns whether a line with this hash is probably in the set. An unknown line is found with a probability of at
    /// most 2^-24.
    pub fn contains(&self, line: u64) -> bool {
        self.0.binary_search(&short(line)).is_ok()
    }

    /// Returns whether the set is empty.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Encodes the set: four bytes per line, little endian.
    pub fn encode(&self) -> Vec<u8> {
        self.0.iter().flat_map(|line| line.to_le_bytes()).collect()
    }

    /// Decodes a set; `None` if lines are not sorted or a part of one is missing.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (lines, rest) = bytes.as_chunks::<4>();
        let lines: Vec<u32> = lines.iter().map(|line| u32::from_le_bytes(*line)).collect();
        (rest.is_empty() && lines.is_sorted()).then_some(Self(lines))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the low bits of the hash")]
const fn short(hash: u64) -> u32 {
    hash as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::difference::Words;

    fn holds(set: &LineSet, line: &str) -> bool {
        let words = Words::of(line);
        set.contains(words.line_hash(0..words.len()))
    }

    #[test]
    fn a_set_has_lines_of_three_words_whatever_their_case() {
        let set =
            LineSet::of(["Follow us today!", "Follow us", "a b c", "北京大", "北京"].into_iter());
        for line in ["follow US  today", "a b c", "北京大"] {
            assert!(holds(&set, line), "{line}");
        }
        for line in ["Follow us", "北京", "us follow today", "Follow us today again"] {
            assert!(!holds(&set, line), "{line}");
        }
        assert!(LineSet::of(["one two"].into_iter()).is_empty());
    }

    #[test]
    fn of_very_many_lines_the_longest_are_in_the_set() {
        let line = |at: usize| format!("line number {at} {}", "x".repeat(at % 1_000));
        let lines: Vec<String> = (0..1_000).map(line).collect();
        let set = LineSet::of(lines.iter().map(String::as_str));
        assert_eq!(set.0.len(), MAX_SET_LINES);
        assert!(holds(&set, &lines[999]) && holds(&set, &lines[1_000 - MAX_SET_LINES]));
        assert!(!holds(&set, &lines[999 - MAX_SET_LINES]));
    }

    proptest! {
        #[test]
        fn sets_round_trip_and_any_bytes_are_read_without_a_panic(
            lines in prop::collection::vec("[a-c ]{0,12}", 0..40),
            bytes: Vec<u8>,
        ) {
            let set = LineSet::of(lines.iter().map(String::as_str));
            prop_assert_eq!(LineSet::decode(&set.encode()), Some(set));
            if let Some(read) = LineSet::decode(&bytes) {
                prop_assert_eq!(read.encode(), bytes);
            }
        }
    }
}
