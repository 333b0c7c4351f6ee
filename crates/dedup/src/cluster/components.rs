//! Connected components of near pairs.

use std::collections::HashMap;

use super::pairs::Found;
use crate::Fingerprint;
use crate::tables::growing::MixMap;

/// Joins near pairs into clusters.
///
/// # Complexity
/// Near-linear in the pairs (union-find with path halving). Memory: about 40 bytes for each value
/// that stands in some pair, none for the others.
#[derive(Clone, Debug, Default)]
pub struct Clusters {
    place: MixMap<u32>,
    values: Vec<u64>,
    parents: Vec<u32>,
    /// How often a value stands in the input, where more than once.
    times: HashMap<u32, u64>,
}

impl Clusters {
    /// Takes in what [`find_each`](super::find_each) found.
    pub fn add(&mut self, found: Found) {
        match found {
            Found::Near(pair) => {
                let (a, b) = (self.place(pair.a.bits()), self.place(pair.b.bits()));
                self.union(a, b);
            }
            Found::Repeated(value, times) => {
                let place = self.place(value.bits());
                self.times.insert(place, times);
            }
        }
    }

    /// The clusters, each with all its occurrences, in ascending order.
    pub fn into_vec(mut self) -> Vec<Vec<Fingerprint>> {
        let mut members: Vec<(u64, u64, u32)> = Vec::with_capacity(self.values.len());
        // The smallest value of a component names it.
        let mut smallest: HashMap<u32, u64> = HashMap::new();
        for place in 0..self.values.len() as u32 {
            let (root, value) = (self.root(place), self.value(place));
            let least = smallest.entry(root).or_insert(value);
            *least = value.min(*least);
        }
        for place in 0..self.values.len() as u32 {
            let root = self.root(place);
            let name = smallest.get(&root).copied().unwrap_or(0);
            members.push((name, self.value(place), place));
        }
        members.sort_unstable();
        let occurrences = |&(_, value, place): &(u64, u64, u32)| {
            let times = self.times.get(&place).copied().unwrap_or(1);
            std::iter::repeat_n(Fingerprint::from_bits(value), times as usize)
        };
        members
            .chunk_by(|a, b| a.0 == b.0)
            .map(|group| group.iter().flat_map(occurrences).collect())
            .collect()
    }

    fn value(&self, place: u32) -> u64 {
        self.values.get(place as usize).copied().unwrap_or(0)
    }

    fn place(&mut self, value: u64) -> u32 {
        let next = self.values.len() as u32;
        let place = *self.place.entry(value).or_insert(next);
        if place == next {
            self.values.push(value);
            self.parents.push(next);
        }
        place
    }

    fn root(&mut self, mut at: u32) -> u32 {
        while let Some(&parent) = self.parents.get(at as usize) {
            if parent == at {
                break;
            }
            let grand = self.parents.get(parent as usize).copied().unwrap_or(parent);
            if let Some(slot) = self.parents.get_mut(at as usize) {
                *slot = grand;
            }
            at = grand;
        }
        at
    }

    fn union(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        if let Some(slot) = self.parents.get_mut(a.max(b) as usize) {
            *slot = a.min(b);
        }
    }
}
