use std::collections::HashMap;

/// Returns pairs of equal words in order: a longest common subsequence, deterministic if there are several.
///
/// # Complexity
/// Time O(n m / 64), less if words are seldom repeated; memory O(n + m).
///
/// # References
/// D. S. Hirschberg, "A linear space algorithm for computing maximal common subsequences", 1975; M. Crochemore et
/// al., "A fast and practical bit-vector algorithm for the longest common subsequence problem", 2001.
pub(super) fn align(a: &[u64], b: &[u64]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    split(a, b, (0, 0), &mut pairs);
    pairs
}

fn split(a: &[u64], b: &[u64], (from_a, from_b): (usize, usize), pairs: &mut Vec<(usize, usize)>) {
    let same = |(one, other): &(&u64, &u64)| one == other;
    let head = a.iter().zip(b).take_while(same).count();
    pairs.extend((0..head).map(|at| (from_a + at, from_b + at)));
    let (a, b) = (a.get(head..).unwrap_or_default(), b.get(head..).unwrap_or_default());
    let tail = a.iter().rev().zip(b.iter().rev()).take_while(same).count();
    let (inner_a, inner_b) =
        (a.get(..a.len() - tail).unwrap_or_default(), b.get(..b.len() - tail).unwrap_or_default());
    let (at_a, at_b) = (from_a + head, from_b + head);
    match inner_a {
        [] => {}
        [word] => {
            let found = inner_b.iter().position(|other| other == word);
            pairs.extend(found.map(|at| (at_a, at_b + at)));
        }
        _ if inner_b.is_empty() => {}
        _ => {
            let middle = inner_a.len() / 2;
            let (first, second) = inner_a.split_at(middle);
            let before = lengths(first.iter(), inner_b.iter());
            let behind = lengths(second.iter().rev(), inner_b.iter().rev());
            let sums = before.iter().zip(behind.iter().rev()).map(|(one, other)| one + other);
            // The first maximum, so that every platform splits alike.
            let best = sums.enumerate().fold(
                (0, 0),
                |best, (at, sum)| {
                    if sum > best.1 { (at, sum) } else { best }
                },
            );
            let (first_b, second_b) = inner_b.split_at(best.0);
            split(first, first_b, (at_a, at_b), pairs);
            split(second, second_b, (at_a + middle, at_b + best.0), pairs);
        }
    }
    let (end_a, end_b) = (at_a + inner_a.len(), at_b + inner_b.len());
    pairs.extend((0..tail).map(|at| (end_a + at, end_b + at)));
}

/// Returns the length of a longest common subsequence of `a` with each prefix of `b`, the empty one first.
fn lengths<'w>(
    a: impl Iterator<Item = &'w u64>,
    b: impl ExactSizeIterator<Item = &'w u64>,
) -> Vec<usize> {
    let count = b.len();
    // Positions of each word of `b`, as masks of 64 bits.
    let mut places: HashMap<u64, Vec<(usize, u64)>> = HashMap::with_capacity(count);
    for (at, word) in b.enumerate() {
        let blocks = places.entry(*word).or_default();
        match blocks.last_mut() {
            Some((block, mask)) if *block == at / 64 => *mask |= 1 << (at % 64),
            _ => blocks.push((at / 64, 1 << (at % 64))),
        }
    }
    // A zero bit: the subsequence with the prefix up to here is longer than with the prefix before.
    let mut row = vec![u64::MAX; count.div_ceil(64)];
    for word in a {
        let Some(blocks) = places.get(word) else { continue };
        let mut carry_to: Option<usize> = None;
        for &(block, mask) in blocks {
            // Propagate the previous carry through blocks without the word.
            while let Some(at) = carry_to.filter(|at| *at < block) {
                carry_to = carry(&mut row, at);
            }
            let Some(bits) = row.get_mut(block) else { continue };
            let (sum, over) = bits.overflowing_add(*bits & mask);
            let (sum, more) = sum.overflowing_add(u64::from(carry_to == Some(block)));
            *bits = sum | (*bits & !mask);
            carry_to = (over || more).then_some(block + 1);
        }
        while let Some(at) = carry_to {
            carry_to = carry(&mut row, at);
        }
    }
    let mut length = 0;
    let zeros = (0..count).map(|at| {
        let bit = row.get(at / 64).map_or(1, |bits| bits >> (at % 64) & 1);
        length += usize::from(bit == 0);
        length
    });
    std::iter::once(0).chain(zeros).collect()
}

/// Adds a carry to a block without the word. Returns the block that receives the next carry.
fn carry(row: &mut [u64], at: usize) -> Option<usize> {
    let bits = row.get_mut(at)?;
    let (sum, over) = bits.overflowing_add(1);
    *bits |= sum;
    over.then_some(at + 1)
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
        fn pairs_are_a_longest_common_subsequence(
            a in prop::collection::vec(0u64..12, 0..300),
            b in prop::collection::vec(0u64..12, 0..300),
        ) {
            let pairs = align(&a, &b);
            prop_assert!(pairs.iter().all(|(x, y)| a[*x] == b[*y]));
            prop_assert!(pairs.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 < two[1].1));
            prop_assert_eq!(pairs.len(), slow(&a, &b));
        }

        #[test]
        fn words_that_are_seldom_repeated_are_aligned_too(
            a in prop::collection::vec(0u64..400, 0..400),
            cuts in prop::collection::vec((0usize..400, 0u64..400), 0..20),
        ) {
            let mut b = a.clone();
            for (at, word) in cuts {
                if at < b.len() { b[at] = word } else { b.push(word) }
            }
            prop_assert_eq!(align(&a, &b).len(), slow(&a, &b));
        }
    }
}
