//! Connected components of more edges than fit into memory, by sorting alone.

use std::path::Path;

use super::sorter::Sorter;
use crate::Result;

/// Turns edges between values into stars: each value but the smallest of its component stands once,
/// with that one.
///
/// Two steps take turns until neither changes anything. In the *large star*, each value's greater
/// neighbours are tied to its smallest one; in the *small star* its smaller neighbours, and itself, are.
///
/// # Complexity
/// Two sorts of at most twice the edges a turn, and O(log^2 n) turns; memory: three times
/// `memory_bytes`.
///
/// # References
/// Kiveris, Lattanzi, Mirrokni, Rastogi, Vassilvitskii, *Connected Components in MapReduce and Beyond*,
/// SoCC 2014.
pub(super) fn stars(mut edges: Sorter<2>, folder: &Path, memory_bytes: usize) -> Result<Sorter<2>> {
    loop {
        let mut changed = false;
        let mut both = Sorter::new(folder, memory_bytes);
        for edge in edges.sorted()? {
            let [a, b] = edge?;
            both.push([a, b])?;
            both.push([b, a])?;
        }
        let mut large = Sorter::new(folder, memory_bytes);
        // A value's neighbours come in ascending order, so that the first one is the smallest.
        let mut star: Option<[u64; 2]> = None;
        for edge in both.sorted()? {
            let [value, neighbour] = edge?;
            let least = match star {
                Some([center, least]) if center == value => least,
                _ => value.min(neighbour),
            };
            star = Some([value, least]);
            if neighbour > value {
                changed |= least != value;
                large.push([neighbour, least])?;
            }
        }
        let mut small = Sorter::new(folder, memory_bytes);
        let mut star: Option<[u64; 2]> = None;
        for edge in large.sorted()? {
            let [value, smaller] = edge?;
            match star {
                Some([center, least]) if center == value => {
                    changed = true;
                    small.push([smaller, least])?;
                }
                _ => {
                    star = Some([value, smaller]);
                    small.push([value, smaller])?;
                }
            }
        }
        edges = small;
        if !changed {
            return Ok(edges);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mix64;

    #[test]
    fn the_longest_chain_and_the_widest_star_become_stars_of_their_smallest_value() {
        let folder = tempfile::tempdir().unwrap();
        let sorter = || Sorter::new(folder.path(), 1 << 10);
        let count = 3000;
        let chain: Vec<[u64; 2]> = (1..count).map(|i| [mix64(i), mix64(i + 1)]).collect();
        let star: Vec<[u64; 2]> = (1..count).map(|i| [mix64(1), mix64(i + 1)]).collect();
        let least = (1..=count).map(mix64).min().unwrap();
        let mut expected: Vec<[u64; 2]> = (1..=count).map(|i| [mix64(i), least]).collect();
        expected.retain(|[value, least]| value != least);
        expected.sort_unstable();
        for edges in [chain, star] {
            let mut unsorted = sorter();
            edges.into_iter().for_each(|edge| unsorted.push(edge).unwrap());
            let found = stars(unsorted, folder.path(), 1 << 10).unwrap().sorted().unwrap();
            assert_eq!(found.collect::<Result<Vec<_>>>().unwrap(), expected);
        }
        assert_eq!(stars(sorter(), folder.path(), 0).unwrap().sorted().unwrap().count(), 0);
    }

    #[test]
    fn each_kind_of_star_that_changes_something_asks_for_another_turn() {
        let folder = tempfile::tempdir().unwrap();
        let of = |edges: &[[u64; 2]]| {
            let mut sorter = Sorter::new(folder.path(), 1 << 10);
            edges.iter().for_each(|edge| sorter.push(*edge).unwrap());
            let found = stars(sorter, folder.path(), 1 << 10).unwrap().sorted().unwrap();
            found.collect::<Result<Vec<_>>>().unwrap()
        };
        let expected = [[2, 1], [3, 1], [4, 1]];
        // Both centers are the smallest of their neighbours, and 4 knows the greater one alone.
        assert_eq!(of(&[[1, 3], [2, 3], [2, 4]]), expected);
        // No value has two smaller neighbours.
        assert_eq!(of(&[[1, 2], [2, 3], [3, 4]]), expected);
    }
}
