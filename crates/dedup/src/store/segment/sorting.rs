//! Sorts items into buckets within a memory budget, and spools secondary output.
//!
//! If the items do not fit, each part that fits takes another pass over the input. Secondary output is spooled to a
//! file.

use std::io;
use std::ops::Range;

use super::blocks::BlockWriter;
use crate::dir::{Contents, Directory, Output};
use crate::error::{Error, Result};
use crate::tables::build;

/// The approximate maximum of parts for any budget: each part costs a pass.
const MAX_PARTS: usize = 256;
/// The most groups of buckets that are counted to find the parts.
const GROUPS: usize = 1 << 16;
/// Bytes per bucket: its place in the present part, and its count for the next part.
const PLACE: usize = 8;

/// Calls `emit` with the items of each bucket, in the order of buckets and then of the feed. Each call of `feed` must
/// return the same items with their buckets, at most `count`.
///
/// Uses about `budget` bytes; more only for a single larger bucket, or for 1/[`MAX_PARTS`] of all items.
pub(super) fn by_bucket<T: Copy + Default, I: Iterator<Item = (usize, T)>>(
    buckets: usize,
    count: usize,
    budget: usize,
    feed: impl Fn() -> I,
    mut emit: impl FnMut(&mut [T]) -> Result<()>,
) -> Result<()> {
    let bucket = || feed().map(|(bucket, _)| bucket);
    let parts = parts(buckets, count, budget, size_of::<T>(), bucket);
    let mut next = parts.first().map(Counts::of);
    for bucket in bucket() {
        next.iter_mut().for_each(|next| next.add(bucket));
    }
    let following = parts.iter().skip(1).map(Some).chain([None]);
    for (part, following) in parts.iter().zip(following) {
        let Some(Counts { counts: mut places, .. }) = next else { break };
        next = following.map(Counts::of);
        let total = build::starts(&mut places);
        let mut items = vec![T::default(); total as usize];
        for (bucket, item) in feed() {
            if let Some(place) =
                bucket.checked_sub(part.start).and_then(|place| places.get_mut(place))
            {
                if let Some(slot) = items.get_mut(*place as usize) {
                    *slot = item;
                    *place += 1;
                }
            } else if let Some(next) = &mut next {
                next.add(bucket);
            }
        }
        // Each bucket's start has moved to its end.
        let mut rest = items.as_mut_slice();
        let mut start = 0;
        for end in places {
            let (bucket, later) =
                rest.split_at_mut_checked((end - start) as usize).unwrap_or_default();
            (rest, start) = (later, end);
            emit(bucket)?;
        }
    }
    Ok(())
}

struct Counts {
    start: usize,
    counts: Vec<u32>,
}

impl Counts {
    fn of(part: &Range<usize>) -> Self {
        Self { start: part.start, counts: vec![0; part.len()] }
    }

    fn add(&mut self, bucket: usize) {
        if let Some(count) =
            bucket.checked_sub(self.start).and_then(|place| self.counts.get_mut(place))
        {
            *count += 1;
        }
    }
}

/// Returns ranges of buckets, in order, that fit into the budget with their items.
fn parts<I: Iterator<Item = usize>>(
    buckets: usize,
    count: usize,
    budget: usize,
    width: usize,
    feed: impl Fn() -> I,
) -> Vec<Range<usize>> {
    let cost = |buckets: usize, items: usize| buckets * PLACE + items * width;
    let budget = budget.max(cost(buckets, count) / MAX_PARTS);
    let mut parts = Parts { budget, cost, done: Vec::new(), open: 0..0, items: 0 };
    if cost(buckets, count) <= budget {
        parts.add(0..buckets, count);
        return parts.finish();
    }
    let group = buckets.div_ceil(GROUPS);
    let mut counts = vec![0u32; buckets.div_ceil(group)];
    for bucket in feed() {
        if let Some(count) = counts.get_mut(bucket / group) {
            *count += 1;
        }
    }
    for (number, &count) in counts.iter().enumerate() {
        let range = number * group..((number + 1) * group).min(buckets);
        if group == 1 || cost(range.len(), count as usize) <= budget {
            parts.add(range, count as usize);
            continue;
        }
        // Too many items in one group: add its buckets one by one.
        let mut each = Counts::of(&range);
        feed().for_each(|bucket| each.add(bucket));
        for (bucket, &count) in range.zip(&each.counts) {
            parts.add(bucket..bucket + 1, count as usize);
        }
    }
    parts.finish()
}

struct Parts<C> {
    budget: usize,
    cost: C,
    done: Vec<Range<usize>>,
    open: Range<usize>,
    items: usize,
}

impl<C: Fn(usize, usize) -> usize> Parts<C> {
    fn add(&mut self, range: Range<usize>, items: usize) {
        let together = (self.cost)(range.end - self.open.start, self.items + items);
        if together > self.budget && !self.open.is_empty() {
            self.done.push(self.open.clone());
            self.open = range.start..range.start;
            self.items = 0;
        }
        self.open.end = range.end;
        self.items += items;
    }

    fn finish(mut self) -> Vec<Range<usize>> {
        self.done.push(self.open);
        self.done
    }
}

/// A sequence of 32-bit numbers that is written after the main output: in memory, and from `limit` bytes on in a
/// file.
pub(super) struct Spool<'a> {
    dir: &'a dyn Directory,
    name: String,
    limit: usize,
    held: Vec<u8>,
    file: Option<Box<dyn Output>>,
    len: u64,
}

impl<'a> Spool<'a> {
    pub(super) fn new(dir: &'a dyn Directory, name: String, limit: usize) -> Self {
        Self { dir, name, limit, held: Vec::new(), file: None, len: 0 }
    }

    pub(super) const fn len(&self) -> u64 {
        self.len
    }

    pub(super) fn push(&mut self, number: u32) -> Result<()> {
        if self.held.len() + 4 > self.limit.max(4) {
            self.spill()?;
        }
        self.held.extend_from_slice(&number.to_le_bytes());
        self.len += 1;
        Ok(())
    }

    fn spill(&mut self) -> Result<()> {
        let path = self.dir.path().join(&self.name);
        if self.file.is_none() {
            self.file = Some(self.dir.create(&self.name).map_err(Error::io(&path))?);
        }
        if let Some(file) = &mut self.file {
            file.write(&self.held).map_err(Error::io(&path))?;
        }
        self.held.clear();
        Ok(())
    }

    pub(super) fn write(mut self, out: &mut BlockWriter) -> Result<Range<usize>> {
        let start = out.position() as usize;
        if self.file.is_some() {
            self.spill()?;
            out.write(&read_back(self.dir, &self.name, 4 * self.len)?)?;
        } else {
            out.write(&self.held)?;
        }
        let range = start..out.position() as usize;
        out.align()?;
        Ok(range)
    }
}

/// Returns the bytes of a file that was just written with this length.
pub(super) fn read_back(dir: &dyn Directory, name: &str, written: u64) -> Result<Contents> {
    let path = dir.path().join(name);
    let contents = dir.contents(name).map_err(Error::io(&path))?;
    if contents.len() as u64 == written {
        return Ok(contents);
    }
    let what = format!("{written} bytes were written, {} can be read", contents.len());
    Err(Error::Io { path, source: io::Error::new(io::ErrorKind::UnexpectedEof, what) })
}

impl Drop for Spool<'_> {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            // If removal fails, the next open removes the file.
            let _ = self.dir.remove(&self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::dir::MemDirectory;

    fn sorted(buckets: usize, budget: usize, items: &[(usize, u32)]) -> Vec<Vec<u32>> {
        let mut all = Vec::new();
        let feed = || items.iter().copied();
        by_bucket(buckets, items.len(), budget, feed, |bucket| {
            all.push(bucket.to_vec());
            Ok(())
        })
        .unwrap();
        all
    }

    proptest! {
        #[test]
        fn every_budget_gives_the_same_buckets(
            items in prop::collection::vec((0usize..40, any::<u32>()), 0..200),
            spread in prop::sample::select(vec![1usize, 7, 5000]),
            budget in 0usize..2000,
        ) {
            let items: Vec<_> = items.iter().map(|(b, item)| (b * spread, *item)).collect();
            let buckets = 40 * spread;
            let mut expected = vec![Vec::new(); buckets];
            for (bucket, item) in &items {
                expected[*bucket].push(*item);
            }
            prop_assert_eq!(sorted(buckets, budget, &items), expected);
        }
    }

    #[test]
    fn parts_fit_into_the_budget_however_uneven_the_buckets() {
        // Half of all items in three of 200,000 buckets, all in one group.
        let buckets = 200_000;
        let of = |i: usize| if i.is_multiple_of(2) { 8 + i % 3 } else { i * 7919 % buckets };
        let parts = parts(buckets, 100_000, 200_000, 8, || (0..100_000).map(of));
        assert_eq!(parts.first().unwrap().start, 0);
        assert_eq!(parts.last().unwrap().end, buckets);
        assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start), "{parts:?}");
        let cost = |part: &Range<usize>| {
            PLACE * part.len() + 8 * (0..100_000).map(of).filter(|b| part.contains(b)).count()
        };
        assert!(parts.iter().all(|part| part.len() == 1 || cost(part) <= 200_000), "{parts:?}");
        assert!(parts.len() < 16, "{parts:?}");
        // The smallest budget does not cause the most passes.
        let parts = super::parts(buckets, 100_000, 0, 8, || (0..100_000).map(of));
        assert!(parts.len() < 2 * MAX_PARTS, "{}", parts.len());
    }

    #[test]
    fn a_spool_of_a_file_is_as_one_in_memory_and_leaves_none() {
        let dir = MemDirectory::default();
        let written = |limit| {
            let out = dir.create("out").unwrap();
            let mut out = BlockWriter::new("out".into(), out);
            let mut spool = Spool::new(&dir, "spool.tmp".to_owned(), limit);
            (0..1000).try_for_each(|number| spool.push(number)).unwrap();
            assert_eq!(spool.len(), 1000);
            assert_eq!(dir.list().unwrap().len(), if limit < 4000 { 2 } else { 1 });
            let range = spool.write(&mut out).unwrap();
            out.finish(b"").unwrap();
            assert_eq!(dir.list().unwrap(), ["out"]);
            (range, dir.contents("out").unwrap().to_vec())
        };
        assert_eq!(written(4000), written(100));
        drop(Spool::new(&dir, "spool.tmp".to_owned(), 4));
    }
}
