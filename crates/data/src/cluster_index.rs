//! The clusters of logs by numbers, for a program that shows them many times: 8 bytes a row, 40 a cluster.

use crate::clusters::{Cluster, url};
use crate::error::{Error, Result};
use crate::rows::{NONE, hash_of_url};
use crate::standing::{Heads, Standing};

/// The clusters of logs, the largest first.
#[derive(Debug, Default)]
pub struct ClusterIndex {
    groups: Vec<Group>,
    /// The rows of all clusters, those of one cluster in the order of the logs.
    members: Vec<Member>,
    /// Number of a kept page and index of its cluster, in ascending order. Empty for several logs.
    by_id: Vec<(u64, u32)>,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    first: u32,
    copies: u32,
    redirects: u32,
    bytes: u64,
    gone: bool,
}

/// A row: the numbers of its log and of its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Member {
    log: u32,
    row: u32,
}

/// A kept page by its number, or by the hash of its URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Name {
    Page(u64),
    Url(u64),
}

impl ClusterIndex {
    /// Groups the discarded rows of logs as [`clusters`](crate::clusters) does.
    ///
    /// # Errors
    /// If log or tables cannot be read.
    ///
    /// # Complexity
    /// O(n log n) for n rows; a record read for each kept page, and a line for each redirect. 40 bytes of memory for a
    /// row meanwhile.
    pub fn of(logs: &[Heads<'_>]) -> Result<Self> {
        let is_single = logs.len() == 1;
        let mut named: Vec<(Name, Member, bool)> = Vec::new();
        for (log, heads) in (0u32..).zip(logs) {
            for (place, row) in (0u32..).zip(heads.rows.all()) {
                if !heads.rows.is_discarded(row) {
                    continue;
                }
                let standing = heads.of(row)?;
                let id = match standing {
                    Standing::Page(id) => Some(id),
                    Standing::AsWritten => Some(heads.rows.kept_for(row).0),
                    Standing::Nothing => None,
                };
                let name = match id.filter(|id| is_single && *id != NONE) {
                    Some(id) => Name::Page(id),
                    None => Name::Url(hash_of_url(&url(heads, row, standing)?)),
                };
                named.push((name, Member { log, row: place }, standing == Standing::Nothing));
            }
        }
        if u32::try_from(named.len()).is_err() {
            return Err(Error::Invalid("more than 2^32 discarded pages".to_owned()));
        }
        named.sort_unstable();
        let mut index = Self::default();
        index.members.extend(named.iter().map(|(_, member, _)| *member));
        let mut names = Vec::new();
        let mut first = 0;
        for equal in named.chunk_by(|a, b| a.0 == b.0) {
            let mut group = Group { first, copies: 0, redirects: 0, bytes: 0, gone: true };
            for (name, member, gone) in equal {
                let row = logs.get(member.log as usize);
                let row = row.and_then(|heads| heads.rows.all().get(member.row as usize));
                let Some(row) = row else { continue };
                *(if row.is_alias() { &mut group.redirects } else { &mut group.copies }) += 1;
                group.bytes += u64::from(row.bytes);
                group.gone &= gone;
                first += 1;
                if group.copies + group.redirects == 1 {
                    names.push(*name);
                }
            }
            index.groups.push(group);
        }
        index.sort(&names);
        Ok(index)
    }

    /// Sorts the groups by size; equal ones keep their order.
    fn sort(&mut self, names: &[Name]) {
        let mut order: Vec<u32> = (0u32..).take(self.groups.len()).collect();
        let size = |at: &u32| {
            self.groups.get(*at as usize).map_or((0, 0), |group| (group.copies, group.redirects))
        };
        order.sort_by_key(|at| std::cmp::Reverse(size(at)));
        for (place, at) in (0u32..).zip(&order) {
            if let Some(Name::Page(id)) = names.get(*at as usize) {
                self.by_id.push((*id, place));
            }
        }
        self.by_id.sort_unstable();
        let groups = order.iter().filter_map(|at| self.groups.get(*at as usize).copied());
        self.groups = groups.collect();
    }

    /// Returns the number of clusters.
    pub const fn len(&self) -> usize {
        self.groups.len()
    }

    /// Returns whether there are no clusters.
    pub const fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Returns the place of the cluster of a kept page, if there is only one log.
    pub fn place_of(&self, id: u64) -> Option<usize> {
        let at = self.by_id.binary_search_by_key(&id, |entry| entry.0).ok()?;
        self.by_id.get(at).map(|entry| entry.1 as usize)
    }

    /// Returns the cluster at a place, with at most `most` of its rows. The logs are those of [`of`](Self::of), or have
    /// more rows now.
    ///
    /// # Errors
    /// If log or tables cannot be read.
    pub fn cluster<'a>(
        &self,
        logs: &[Heads<'a>],
        place: usize,
        most: usize,
    ) -> Result<Option<Cluster<'a>>> {
        let Some(group) = self.groups.get(place) else { return Ok(None) };
        let size = (group.copies + group.redirects) as usize;
        let members = self.members.iter().skip(group.first as usize).take(size.min(most));
        let row = |member: &Member| {
            let heads = logs.get(member.log as usize)?;
            Some((heads, *heads.rows.all().get(member.row as usize)?))
        };
        let rows: Vec<_> = members.filter_map(row).collect();
        let Some((heads, first)) = rows.first() else { return Ok(None) };
        let standing = heads.of(first)?;
        let id = match standing {
            Standing::Page(id) => Some(id),
            Standing::AsWritten => Some(heads.rows.kept_for(first).0).filter(|id| *id != NONE),
            Standing::Nothing => None,
        };
        Ok(Some(Cluster {
            id: id.filter(|_| logs.len() == 1),
            url: url(heads, first, standing)?,
            gone: group.gone,
            copies: group.copies.into(),
            redirects: group.redirects.into(),
            bytes: group.bytes,
            rows: rows.iter().map(|(heads, row)| (heads.rows, *row)).collect(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::clusters::clusters;
    use crate::rows::{Row, Rows};

    fn line(id: u64, of: u64, kind: &str) -> String {
        let of_id = if of == 0 { "null".to_owned() } else { of.to_string() };
        format!(
            "{{\"time\":\"2026-11-20T19:16:34Z\",\"id\":{id},\"url\":\"http://a.example/{id}\",\"kind\":\"{kind}\",\
             \"of\":{{\"id\":{of_id},\"url\":\"http://a.example/kept/{of}\"}},\"fingerprint\":null,\"of_fingerprint\":null,\
             \"distance\":2,\"threshold\":3,\"similarity\":0.97,\"table\":5,\"title\":\"t\",\"language\":\"zh\",\"host\":\"a.example\",\
             \"bytes\":{id}}}\n"
        )
    }

    /// What a cluster shows.
    type Seen = (Option<u64>, String, bool, [u64; 3], Vec<u64>);

    fn seen(cluster: &Cluster<'_>, most: usize) -> Seen {
        let sizes = [cluster.copies, cluster.redirects, cluster.bytes];
        let rows = cluster.rows.iter().take(most).map(|(_, row)| row.id).collect();
        (cluster.id, cluster.url.clone(), cluster.gone, sizes, rows)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn the_index_has_the_clusters_of_the_logs(
            logs in prop::collection::vec(prop::collection::vec((0u64..5, any::<bool>()), 0..30), 1..3),
            most in 1usize..6,
        ) {
            let folders: Vec<_> = logs.iter().map(|lines| {
                let folder = tempfile::tempdir().unwrap();
                let line = |(id, (of, is_alias)): (u64, &(u64, bool))| {
                    line(id, *of, if *is_alias { "alias" } else { "near" })
                };
                let text: String = (100u64..).zip(lines).map(line).collect();
                std::fs::write(folder.path().join("discarded.jsonl"), text).unwrap();
                folder
            }).collect();
            let rows: Vec<Rows> = folders.iter().map(|folder| Rows::open(folder.path()).unwrap()).collect();
            let heads: Vec<Heads<'_>> = rows.iter().map(|rows| Heads::new(rows, None)).collect();
            let every = |_: &Rows, _: &Row| Ok::<_, Error>(true);
            let mut expected: Vec<_> = clusters(&heads, every).unwrap().iter().map(|one| seen(one, most)).collect();
            let index = ClusterIndex::of(&heads).unwrap();
            let mut found = Vec::new();
            for place in 0..index.len() {
                let cluster = index.cluster(&heads, place, most).unwrap().unwrap();
                if let Some(id) = cluster.id {
                    prop_assert_eq!(index.place_of(id), Some(place));
                }
                found.push(seen(&cluster, most));
            }
            let sizes = |all: &[Seen]| {
                all.iter().map(|one| (one.3[0], one.3[1])).collect::<Vec<_>>()
            };
            prop_assert_eq!(sizes(&found), sizes(&expected));
            found.sort();
            expected.sort();
            prop_assert_eq!(found, expected);
            prop_assert_eq!(index.place_of(77), None);
            prop_assert!(index.cluster(&heads, index.len(), most).unwrap().is_none());
        }
    }
}
