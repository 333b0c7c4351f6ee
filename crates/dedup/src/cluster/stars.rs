//! Connected components of more edges than fit into memory, by sorting only.

use std::path::Path;

use super::sorter::Sorter;
use crate::Result;

/// Turns edges between values into stars: each value except the smallest of its component is returned once, with that
/// smallest value.
///
/// Two steps alternate until neither changes anything. The *large star* connects the greater neighbours of each value
/// to its smallest neighbour. The *small star* connects its smaller neighbours and itself.
///
/// # Complexity
/// Two sorts of at most twice the edges per round, and O(log^2 n) rounds. Memory: three times `memory_bytes`.
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
        // Neighbours are in ascending order, so the first is the smallest.
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
    fn every_kind_of_star_change_requests_another_iteration() {
        let folder = tempfile::tempdir().unwrap();
        let of = |edges: &[[u64; 2]]| {
            let mut sorter = Sorter::new(folder.path(), 1 << 10);
            edges.iter().for_each(|edge| sorter.push(*edge).unwrap());
            let found = stars(sorter, folder.path(), 1 << 10).unwrap().sorted().unwrap();
            found.collect::<Result<Vec<_>>>().unwrap()
        };
        let expected = [[2, 1], [3, 1], [4, 1]];
        // Both centers are the smallest of their neighbours, and 4 is connected only to the greater one.
        assert_eq!(of(&[[1, 3], [2, 3], [2, 4]]), expected);
        // No value has two smaller neighbours.
        assert_eq!(of(&[[1, 2], [2, 3], [3, 4]]), expected);
    }
}
