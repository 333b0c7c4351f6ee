//! Winnowing: a few anchors of each document, such that each window of consecutive anchors has a chosen one. The choice
//! depends on the window alone, so equal runs choose equal anchors.

/// Base of the rolling hash; odd, so that no word is lost.
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

/// A chosen anchor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Anchor {
    pub(crate) hash: u64,
    /// Index of its first word.
    pub(crate) start: usize,
    /// It is the choice of the windows that begin from `near` to `far` words before it.
    pub(crate) near: usize,
    pub(crate) far: usize,
}

/// Returns the hash of each run of `length` words.
fn hashes(words: &[u64], length: usize) -> Vec<u64> {
    let mut oldest = 1u64;
    (1..length).for_each(|_| oldest = oldest.wrapping_mul(BASE));
    let mut hash = 0u64;
    let mut all = Vec::with_capacity(words.len().saturating_sub(length - 1));
    for (at, word) in words.iter().enumerate() {
        if let Some(gone) = at.checked_sub(length).and_then(|gone| words.get(gone)) {
            hash = hash.wrapping_sub(mixed(*gone).wrapping_mul(oldest));
        }
        hash = hash.wrapping_mul(BASE).wrapping_add(mixed(*word));
        if at + 1 >= length {
            all.push(mixed(hash));
        }
    }
    all
}

/// A bijection that spreads the bits (splitmix64).
const fn mixed(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

/// Returns the chosen anchors of a document: in each window of `window` anchors the smallest hash, the first of equal
/// ones.
///
/// # Complexity
/// O(n) expected for n words, at most O(n times window).
pub(crate) fn anchors(words: &[u64], length: usize, window: usize) -> Vec<Anchor> {
    let hashes = hashes(words, length);
    let mut chosen = Vec::new();
    for (start, hash) in hashes.iter().enumerate() {
        let before = hashes.get(..start).unwrap_or_default().iter().rev().take(window - 1);
        let far = before.take_while(|other| *other > hash).count();
        let behind = hashes.get(start + 1..).unwrap_or_default().iter().take(window - 1);
        let near = window - 1 - behind.take_while(|other| *other >= hash).count();
        if near <= far {
            chosen.push(Anchor { hash: *hash, start, near, far });
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn each_window_has_one_anchor_with_the_smallest_hash(
            words in prop::collection::vec(0u64..4, 0..80), length in 1usize..6, window in 1usize..8,
        ) {
            let slow: Vec<u64> = words.windows(length).map(|run| hashes(run, length)[0]).collect();
            prop_assert_eq!(&slow, &hashes(&words, length));
            let chosen = anchors(&words, length, window);
            for (start, hashes) in slow.windows(window).enumerate() {
                let smallest = *hashes.iter().min().unwrap();
                let first = start + hashes.iter().position(|hash| *hash == smallest).unwrap();
                let of_window: Vec<_> = chosen
                    .iter()
                    .filter(|anchor| (anchor.near..=anchor.far).any(|before| anchor.start == start + before))
                    .collect();
                prop_assert_eq!(of_window.len(), 1);
                prop_assert_eq!((of_window[0].start, of_window[0].hash), (first, smallest));
            }
        }
    }

    #[test]
    fn few_words_have_no_anchor() {
        assert!(anchors(&[1, 2], 3, 2).is_empty());
        assert!(anchors(&[1, 2, 3], 3, 2).is_empty());
        assert_eq!(anchors(&[1, 2, 3, 4], 3, 2).len(), 1);
    }
}
