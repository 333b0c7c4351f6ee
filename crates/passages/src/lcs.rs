//! The number of words that two documents have in common, in order.

use std::collections::HashMap;

/// Returns the length of a longest common subsequence.
///
/// # Complexity
/// O(n m / 64) time, O(n) memory.
///
/// # References
/// M. Crochemore et al., "A fast and practical bit-vector algorithm for the longest common subsequence problem", 2001.
pub(crate) fn common_words(one: &[u64], other: &[u64]) -> usize {
    // The places of each word of `one`, as masks of 64 bits.
    let mut masks: HashMap<u64, Vec<(usize, u64)>, foldhash::fast::FixedState> = HashMap::default();
    for (at, word) in one.iter().enumerate() {
        let blocks = masks.entry(*word).or_default();
        match blocks.last_mut() {
            Some((block, mask)) if *block == at / 64 => *mask |= 1 << (at % 64),
            _ => blocks.push((at / 64, 1 << (at % 64))),
        }
    }
    // A zero bit: the subsequence gets longer here.
    let mut row = vec![u64::MAX; one.len().div_ceil(64)];
    for word in other {
        let Some(blocks) = masks.get(word) else { continue };
        let (mut blocks, mut carry) = (blocks.iter().peekable(), false);
        for (at, bits) in row.iter_mut().enumerate() {
            let mask = blocks.next_if(|(block, _)| *block == at).map_or(0, |(_, mask)| *mask);
            let (sum, over) = bits.overflowing_add(*bits & mask);
            let (sum, more) = sum.overflowing_add(u64::from(carry));
            carry = over || more;
            *bits = sum | (*bits & !mask);
        }
    }
    let mut zeros: usize = row.iter().map(|bits| bits.count_zeros() as usize).sum();
    // Bits behind the last word do not count.
    let unused = row.len() * 64 - one.len();
    if let Some(last) = row.last().filter(|_| unused > 0) {
        zeros -= (last >> (64 - unused)).count_zeros() as usize - (64 - unused);
    }
    zeros
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The textbook algorithm.
    fn slow(a: &[u64], b: &[u64]) -> usize {
        let mut row = vec![0; b.len() + 1];
        for x in a {
            let mut diagonal = 0;
            for (at, y) in b.iter().enumerate() {
                let above = row[at + 1];
                row[at + 1] = if x == y { diagonal + 1 } else { above.max(row[at]) };
                diagonal = above;
            }
        }
        row[b.len()]
    }

    proptest! {
        #[test]
        fn the_length_is_that_of_the_textbook(
            a in prop::collection::vec(0u64..6, 0..300), b in prop::collection::vec(0u64..6, 0..300),
        ) {
            prop_assert_eq!(common_words(&a, &b), slow(&a, &b));
        }
    }
}
