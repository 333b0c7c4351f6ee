//! The numbers in a document, in 16 bytes.

/// The most numbers that are kept.
pub const NUMBERS_SIZE: usize = 8;

/// The eight smallest 16-bit hashes of the numbers in a text: enough to see whether two short texts have different
/// numbers.
///
/// Pages of one template may differ only in numbers such as prices, while their similarity is high.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numbers([u16; NUMBERS_SIZE]);

impl Numbers {
    /// The value for a text without numbers, or an unknown text.
    pub const NONE: Self = Self([0; NUMBERS_SIZE]);

    /// Collects the hashes of a text's numbers; repetitions do not count.
    ///
    /// # Complexity
    /// One pass over the hashes, each compared with the eight smallest.
    pub fn from_hashes(hashes: impl IntoIterator<Item = u64>) -> Self {
        let mut smallest = [0; NUMBERS_SIZE];
        let mut count = 0;
        for hash in hashes {
            // 0 marks an empty slot.
            let value = ((hash >> 48) as u16).max(1);
            let kept = smallest.get(..count).unwrap_or_default();
            let Err(at) = kept.binary_search(&value) else { continue };
            if at == NUMBERS_SIZE {
                continue;
            }
            count = (count + 1).min(NUMBERS_SIZE);
            if let Some(rest) = smallest.get_mut(at..count) {
                rest.rotate_right(1);
                if let Some(slot) = rest.first_mut() {
                    *slot = value;
                }
            }
        }
        Self(smallest)
    }

    /// Decodes the output of [`to_bytes`](Self::to_bytes). Any bytes are accepted; the result of
    /// [`conflict`](Self::conflict) is unspecified for others.
    pub fn from_bytes(bytes: [u8; 2 * NUMBERS_SIZE]) -> Self {
        let mut values = [0; NUMBERS_SIZE];
        for (value, pair) in values.iter_mut().zip(bytes.as_chunks::<2>().0) {
            *value = u16::from_le_bytes(*pair);
        }
        Self(values)
    }

    /// Encodes the numbers as stored.
    pub fn to_bytes(self) -> [u8; 2 * NUMBERS_SIZE] {
        let mut bytes = [0; 2 * NUMBERS_SIZE];
        for (pair, value) in bytes.as_chunks_mut::<2>().0.iter_mut().zip(self.0) {
            *pair = value.to_le_bytes();
        }
        bytes
    }

    /// Returns whether there are no numbers.
    pub fn is_empty(&self) -> bool {
        *self == Self::NONE
    }

    fn values(&self) -> impl Iterator<Item = u16> + '_ {
        self.0.iter().copied().filter(|value| *value != 0)
    }

    /// Returns whether each has at least two numbers that the other lacks, for example price and item number. One
    /// added, missing or changed number is tolerated: a counter changes on the same page too.
    pub fn conflict(&self, other: &Self) -> bool {
        // A full list omits larger hashes, so only hashes up to the end of both are compared.
        let end = |numbers: &Self| match numbers.0 {
            [.., last] if last != 0 => last,
            _ => u16::MAX,
        };
        let end = end(self).min(end(other));
        let lacks = |numbers: &Self, value: u16| numbers.values().all(|other| other != value);
        let own = |numbers: &Self, other: &Self| {
            numbers.values().filter(|value| *value <= end && lacks(other, *value)).count()
        };
        own(self, other) >= 2 && own(other, self) >= 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mix64;
    use proptest::prelude::*;

    fn of(numbers: &[u64]) -> Numbers {
        Numbers::from_hashes(numbers.iter().copied().map(mix64))
    }

    #[test]
    fn substituted_numbers_conflict_and_added_numbers_do_not() {
        assert!(of(&[10, 99, 188, 2007, 3048, 51]).conflict(&of(&[10, 99, 2007, 25, 35172, 806])));
        assert!(of(&[1, 2]).conflict(&of(&[3, 4])));
        assert!(
            !of(&[2022, 98]).conflict(&of(&[2, 11, 2011, 2022, 23, 28, 50, 98])),
            "more of them"
        );
        assert!(!of(&[5, 6, 7]).conflict(&of(&[5, 6, 8])), "a counter");
        let (a, b) = (of(&[1, 2, 3, 7, 8]), of(&[1, 2, 3, 9, 10]));
        assert!(a.conflict(&b), "two changed among many");
        assert!(!of(&[]).conflict(&of(&[1, 2, 3])) && of(&[]).is_empty());
    }

    #[test]
    fn numbers_that_repeat_are_no_error() {
        // Found by a fuzzer: a file with valid checksums may repeat a number.
        let of = |values: [u16; NUMBERS_SIZE]| Numbers::from_bytes(Numbers(values).to_bytes());
        let (twice, once) = (of([3, 3, 0, 0, 0, 0, 0, 0]), of([3, 0, 0, 0, 0, 0, 0, 0]));
        assert!(!twice.conflict(&once) && !once.conflict(&twice));
    }

    #[test]
    fn a_full_list_of_numbers_never_conflicts_beyond_its_end() {
        let (full, other) =
            (Numbers([1, 2, 3, 4, 5, 6, 7, 8]), Numbers([1, 2, 3, 4, 5, 6, 20, 21]));
        assert!(!full.conflict(&other), "the first may hold 20 and 21 too");
    }

    proptest! {
        #[test]
        fn any_bytes_may_be_held_against_any(a: [u8; 2 * NUMBERS_SIZE], b: [u8; 2 * NUMBERS_SIZE], small: bool) {
            // With few values, so that they repeat.
            let of = |bytes: [u8; 2 * NUMBERS_SIZE]| {
                Numbers::from_bytes(if small { bytes.map(|byte| byte % 2) } else { bytes })
            };
            let (x, y) = (of(a), of(b));
            prop_assert_eq!(x.conflict(&y), y.conflict(&x));
            prop_assert!(!x.conflict(&x));
        }

        #[test]
        fn it_is_the_smallest_of_a_set_and_symmetric(a in prop::collection::vec(any::<u64>(), 0..30), b in prop::collection::vec(any::<u64>(), 0..30)) {
            let (x, y) = (Numbers::from_hashes(a.iter().copied()), Numbers::from_hashes(b.iter().copied()));
            let mut all: Vec<u16> = a.iter().map(|h| ((h >> 48) as u16).max(1)).collect();
            all.sort_unstable();
            all.dedup();
            all.truncate(NUMBERS_SIZE);
            prop_assert_eq!(x.values().collect::<Vec<_>>(), all);
            prop_assert_eq!(x.conflict(&y), y.conflict(&x));
            prop_assert!(!x.conflict(&x));
            prop_assert_eq!(Numbers::from_bytes(x.to_bytes()), x);
        }
    }
}
