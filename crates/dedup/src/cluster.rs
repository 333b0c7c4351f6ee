//! All near pairs of a whole set at once, and its clusters.

use crate::{Fingerprint, Layout};

/// A pair of near fingerprints, the smaller value first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    /// The smaller one.
    pub a: Fingerprint,
    /// The larger one, or the same again if it stands in the input more than once.
    pub b: Fingerprint,
    /// Their Hamming distance.
    pub distance: u32,
}

/// Every pair of values within the layout's distance, each once, in ascending order. A value that
/// stands in the input more than once is paired with itself.
///
/// Sorts the set once for each table by the table's lead, and compares within groups of one lead;
/// a pair is reported by the first table that could find it, so no set of pairs is kept.
///
/// # Complexity
/// For `n` distinct values and `t` tables: `t` sorts of `n`, and `t * n^2 / 2^lead` comparisons for
/// uniform fingerprints. Memory: 16 bytes a value, and the result.
///
/// # References
/// Manku, Jain, Das Sarma, WWW 2007, section 3.2 (the batch version).
pub fn find_all(fingerprints: &[Fingerprint], layout: &Layout) -> Vec<Pair> {
    let mut values = fingerprints.to_vec();
    values.sort_unstable();
    let mut pairs: Vec<Pair> = values
        .chunk_by(|a, b| a == b)
        .filter(|group| group.len() > 1)
        .filter_map(|group| group.first().map(|&a| Pair { a, b: a, distance: 0 }))
        .collect();
    values.dedup();
    for (number, &mask) in layout.masks().iter().enumerate() {
        values.sort_unstable_by_key(|value| value.bits() & mask);
        for group in values.chunk_by(|a, b| (a.bits() ^ b.bits()) & mask == 0) {
            for (index, &first) in group.iter().enumerate() {
                for &second in group.get(index + 1..).unwrap_or_default() {
                    let distance = first.distance(second);
                    if distance <= layout.distance()
                        && layout.first_table(first, second) == Some(number)
                    {
                        let (a, b) = (first.min(second), first.max(second));
                        pairs.push(Pair { a, b, distance });
                    }
                }
            }
        }
    }
    pairs.sort_unstable();
    pairs
}

/// The connected components of the near pairs: each with all its occurrences in the input, in
/// ascending order; components of a single occurrence are left out.
///
/// # Complexity
/// That of [`find_all`], and near-linear in the pairs (union-find with path halving).
pub fn find_clusters(fingerprints: &[Fingerprint], layout: &Layout) -> Vec<Vec<Fingerprint>> {
    let mut values = fingerprints.to_vec();
    values.sort_unstable();
    let mut parents: Vec<usize> = (0..values.len()).collect();
    let place = |value: Fingerprint| values.partition_point(|other| *other < value);
    for pair in find_all(fingerprints, layout) {
        union(&mut parents, place(pair.a), place(pair.b));
    }
    // Equal values stand side by side; each joins the first of them.
    for index in 1..values.len() {
        if values.get(index) == values.get(index - 1) {
            union(&mut parents, index - 1, index);
        }
    }
    let mut members: Vec<(usize, Fingerprint)> = Vec::with_capacity(values.len());
    for (index, &value) in values.iter().enumerate() {
        members.push((root(&mut parents, index), value));
    }
    members.sort_unstable();
    members
        .chunk_by(|a, b| a.0 == b.0)
        .filter(|group| group.len() > 1)
        .map(|group| group.iter().map(|member| member.1).collect())
        .collect()
}

fn root(parents: &mut [usize], mut at: usize) -> usize {
    while let Some(&parent) = parents.get(at) {
        if parent == at {
            break;
        }
        let grand = parents.get(parent).copied().unwrap_or(parent);
        if let Some(slot) = parents.get_mut(at) {
            *slot = grand;
        }
        at = grand;
    }
    at
}

/// Joins two components; the smaller index becomes the root, so results do not depend on order.
fn union(parents: &mut [usize], a: usize, b: usize) {
    let (a, b) = (root(parents, a), root(parents, b));
    if let Some(slot) = parents.get_mut(a.max(b)) {
        *slot = a.min(b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Vec<Fingerprint> {
        values.iter().map(|&bits| Fingerprint::from_bits(bits)).collect()
    }

    fn brute_force(values: &[u64], distance: u32) -> Vec<(u64, u64)> {
        let mut pairs = Vec::new();
        for (i, a) in values.iter().enumerate() {
            for b in &values[i + 1..] {
                if (a ^ b).count_ones() <= distance {
                    pairs.push((*a.min(b), *a.max(b)));
                }
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }

    #[test]
    fn the_cases_of_simhash_cpp_hold() {
        let lanes: Vec<u64> = [0xFF, 0xEF, 0xEE, 0xCE, 0x33]
            .iter()
            .flat_map(|value| (0..4).map(move |lane| value << (8 * lane)))
            .collect();
        for blocks in 4..=9 {
            let layout = Layout::new(blocks, 3).unwrap();
            assert_eq!(find_all(&of(&lanes), &layout).len(), 24, "{blocks} blocks");
            let clusters = find_clusters(&of(&lanes), &layout);
            assert_eq!(clusters.iter().map(Vec::len).collect::<Vec<_>>(), [4; 4]);
        }
        let layout = Layout::new(5, 4).unwrap();
        assert_eq!(find_clusters(&of(&[10, 20]), &layout), [of(&[10, 20])]);
    }

    #[test]
    fn exact_duplicates_are_reported() {
        let layout = Layout::new(5, 4).unwrap();
        let pairs = find_all(&of(&[10, 20, 10]), &layout);
        let pairs: Vec<(u64, u64)> = pairs.iter().map(|p| (p.a.bits(), p.b.bits())).collect();
        assert_eq!(pairs, [(10, 10), (10, 20)]);
        assert_eq!(find_clusters(&of(&[10, 20, 10]), &layout), [of(&[10, 10, 20])]);
        assert!(find_all(&[], &layout).is_empty() && find_clusters(&[], &layout).is_empty());
    }

    proptest! {
        #[test]
        fn pairs_are_those_of_brute_force(
            center: u64, flips in prop::collection::vec(prop::collection::vec(0u32..64, 0..8), 0..60),
            far in prop::collection::vec(any::<u64>(), 0..20), distance in 0u32..=7, extra in 1u32..4,
        ) {
            let values: Vec<u64> = flips.iter()
                .map(|flips| flips.iter().fold(center, |bits, flip| bits ^ 1u64 << flip))
                .chain(far).collect();
            let layout = Layout::new(distance + extra, distance).unwrap();
            let found = find_all(&of(&values), &layout);
            let found: Vec<(u64, u64)> = found.iter().map(|p| (p.a.bits(), p.b.bits())).collect();
            prop_assert_eq!(found, brute_force(&values, distance));
        }
    }
}
