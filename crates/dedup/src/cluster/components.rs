//! Connected components of near pairs.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::pairs::Found;
use super::sorter::Sorter;
use super::stars::stars;
use crate::tables::growing::MixMap;
use crate::{Error, Fingerprint, Result};

/// Approximate bytes of memory per value, with the unused capacity of maps and vectors.
const BYTES_OF_VALUE: usize = 64;

/// Joins near pairs into clusters.
///
/// # Complexity
/// Near-linear in the pairs (union-find with path halving). Memory: about 40 bytes per value that is in a pair. With
/// [`spilling`](Self::spilling): about the given memory, plus the largest cluster when it is visited; the rest is
/// sorted on disk about ten times.
#[derive(Debug, Default)]
pub struct Clusters {
    place: MixMap<u32>,
    values: Vec<u64>,
    parents: Vec<u32>,
    /// The number of occurrences in the input, if more than one.
    times: HashMap<u32, u64>,
    spill: Option<Spill>,
}

/// The part that does not fit into memory.
#[derive(Debug)]
struct Spill {
    folder: PathBuf,
    memory_bytes: usize,
    /// Edges between values, and numbers of occurrences; `None` until the first spill.
    rows: Option<(Sorter<2>, Sorter<2>)>,
    error: Option<Error>,
}

impl Clusters {
    /// Creates clusters that use about this number of bytes of memory and temporary files in `folder`.
    pub fn spilling(folder: &Path, memory_bytes: usize) -> Self {
        let folder = folder.to_owned();
        let spill = Spill { folder, memory_bytes, rows: None, error: None };
        Self { spill: Some(spill), ..Self::default() }
    }

    /// Adds a result of [`find_each`](super::find_each). [`for_each`](Self::for_each) reports errors of the disk.
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
        let held = self.values.len() * BYTES_OF_VALUE;
        // The other half is for sorting.
        if self.spill.as_ref().is_some_and(|spill| held > spill.memory_bytes / 2) {
            self.write_out();
        }
    }

    fn write_out(&mut self) {
        let Some(mut spill) = self.spill.take() else { return };
        if spill.error.is_none()
            && let Err(error) = self.write_to(&mut spill)
        {
            spill.error = Some(error);
        }
        *self = Self { spill: Some(spill), ..Self::default() };
    }

    fn write_to(&mut self, spill: &mut Spill) -> Result<()> {
        let sorter = || Sorter::new(&spill.folder, spill.memory_bytes / 4);
        let (edges, times) = spill.rows.get_or_insert_with(|| (sorter(), sorter()));
        for place in 0..self.values.len() as u32 {
            let root = self.root(place);
            if root != place {
                edges.push([self.value(place), self.value(root)])?;
            }
        }
        for (&place, &count) in &self.times {
            times.push([self.value(place), count])?;
        }
        Ok(())
    }

    /// Calls `visit` with each cluster: all its occurrences in ascending order. Clusters are ordered by their
    /// smallest value.
    ///
    /// # Errors
    /// [`Error::Io`], if the clusters did not fit into memory.
    pub fn for_each(mut self, mut visit: impl FnMut(&[Fingerprint])) -> Result<()> {
        if self.spill.as_ref().is_some_and(|spill| spill.rows.is_some() || spill.error.is_some()) {
            self.write_out();
            return match self.spill {
                Some(Spill { error: Some(error), .. }) => Err(error),
                Some(Spill { folder, memory_bytes, rows: Some((edges, times)), .. }) => {
                    from_disk(edges, times, &folder, memory_bytes / 4, visit)
                }
                _ => Ok(()),
            };
        }
        self.into_vec().iter().for_each(|cluster| visit(cluster));
        Ok(())
    }

    fn into_vec(mut self) -> Vec<Vec<Fingerprint>> {
        let mut members: Vec<(u64, u64, u32)> = Vec::with_capacity(self.values.len());
        // The smallest value of a component identifies it.
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

/// Visits the clusters of spilled edges and repeated values.
fn from_disk(
    edges: Sorter<2>,
    times: Sorter<2>,
    folder: &Path,
    memory_bytes: usize,
    mut visit: impl FnMut(&[Fingerprint]),
) -> Result<()> {
    let mut members = Sorter::new(folder, memory_bytes);
    for edge in stars(edges, folder, memory_bytes)?.sorted()? {
        let [value, least] = edge?;
        members.push([value, least])?;
        members.push([least, least])?;
    }
    let (mut members, mut times) = (members.sorted()?, times.sorted()?);
    let (mut member, mut count) = (members.next().transpose()?, times.next().transpose()?);
    let mut rows = Sorter::new(folder, memory_bytes);
    // Both are ordered by value; a value may be in only one of them.
    while let Some(value) = [member, count].into_iter().flatten().map(|[value, _]| value).min() {
        let mut row = [value, value, 1];
        if let Some([_, least]) = member.filter(|[of, _]| *of == value) {
            row[0] = least;
            member = members.next().transpose()?;
        }
        if let Some([_, often]) = count.filter(|[of, _]| *of == value) {
            row[2] = often;
            count = times.next().transpose()?;
        }
        rows.push(row)?;
    }
    let mut cluster: Vec<Fingerprint> = Vec::new();
    let mut of = None;
    for row in rows.sorted()? {
        let [least, value, often] = row?;
        if of != Some(least) && !cluster.is_empty() {
            visit(&cluster);
            cluster.clear();
        }
        of = Some(least);
        cluster.extend(std::iter::repeat_n(Fingerprint::from_bits(value), often as usize));
    }
    if !cluster.is_empty() {
        visit(&cluster);
    }
    Ok(())
}
