//! Background jobs: write a full memtable into a segment, and merge segments.
//!
//! The inputs of a job do not change: the frozen memtable, the segments, and the deletions at its start. While a job
//! runs, only it writes the manifest.

use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::columns::{Column, Columns};
use super::deleted::Deleted;
use super::file_names::Named;
use super::keys::KeyHasher;
use super::manifest::{Manifest, SegmentLine};
use super::resident::Resident;
use super::segment::Segment;
use super::segment::build::{MAX_IDS, MAX_ROWS, Plan, Source};
use super::view::{Shared, read};
use crate::Layout;
use crate::dir::Directory;
use crate::error::{Error, Result};
use crate::limits::VERSION;
use crate::plan;
use crate::record::DocId;
use crate::row::STRONG;

/// The most live segments; more would slow down each look-up.
pub(crate) const MAX_SEGMENTS: usize = 6;
/// A segment with this many times the documents of the newer ones is not merged with them.
const RATIO: u64 = 2;

/// Returns the strong digest of a document whose digest is replaced.
#[derive(Clone)]
pub(crate) struct NewDigests(pub(crate) Arc<dyn Fn(DocId) -> Option<[u8; 16]> + Send + Sync>);

impl std::fmt::Debug for NewDigests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewDigests").finish_non_exhaustive()
    }
}

#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) dir: Arc<dyn Directory>,
    pub(crate) frozen: Option<Shared>,
    pub(crate) segments: Vec<Arc<Segment>>,
    pub(crate) deleted: Arc<Deleted>,
    pub(crate) recipe: String,
    /// The first journal that is needed after the frozen memtable is a segment.
    pub(crate) journal: u64,
    pub(crate) closed: Option<(u64, u64)>,
    /// The number of the next new file.
    pub(crate) next: u64,
    pub(crate) distance: u32,
    pub(crate) budget: usize,
    pub(crate) bytes_per_fingerprint: f64,
    pub(crate) whole: bool,
    pub(crate) digests: Option<NewDigests>,
    /// Make all segments' fingerprints resident afterwards, with this layout.
    pub(crate) resident: Option<Layout>,
    pub(crate) hasher: KeyHasher,
    /// False once the resident set is no longer needed.
    pub(crate) wanted: Arc<AtomicBool>,
}

#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) segments: Vec<Arc<Segment>>,
    /// Ranges of numbers without the documents that were deleted at the start of the job.
    pub(crate) cleaned: Vec<Range<DocId>>,
    pub(crate) deleted: Arc<Deleted>,
    pub(crate) next: u64,
    pub(crate) resident: Option<Resident>,
}

#[derive(Debug)]
pub(crate) struct Running {
    thread: JoinHandle<Result<Outcome>>,
    ended: Ended,
}

impl Running {
    /// Returns a handle to wait on without a lock, or `None` if the job has ended.
    pub(crate) fn under_way(&self) -> Option<Ended> {
        (!self.ended.told()).then(|| self.ended.clone())
    }

    pub(crate) fn join(self) -> std::thread::Result<Result<Outcome>> {
        self.thread.join()
    }
}

/// Signals that a job has ended, even by a panic.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ended(Arc<(Mutex<bool>, Condvar)>);

impl Ended {
    fn told(&self) -> bool {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn wait(&self) {
        let (ended, told) = &*self.0;
        let ended = ended.lock().unwrap_or_else(PoisonError::into_inner);
        drop(told.wait_while(ended, |ended| !*ended));
    }
}

struct Tell(Ended);

impl Drop for Tell {
    fn drop(&mut self) {
        let (ended, told) = &*self.0.0;
        *ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        told.notify_all();
    }
}

impl Job {
    pub(crate) fn spawn(self) -> Result<Running> {
        let path = self.dir.path().to_owned();
        let ended = Ended::default();
        let tell = Tell(ended.clone());
        let builder = std::thread::Builder::new().name("hapax-merge".to_owned());
        let work = move || {
            let _tell = tell;
            self.run()
        };
        let thread = builder.spawn(work).map_err(Error::io(&path))?;
        Ok(Running { thread, ended })
    }

    fn run(mut self) -> Result<Outcome> {
        let started = Arc::clone(&self.deleted);
        let mut kept = (*started).clone();
        let mut cleaned = Vec::new();
        if let Some(frozen) = self.frozen.take() {
            let segment = self.flush(&frozen)?;
            kept.forget(segment.ids());
            cleaned.push(segment.ids());
            self.segments.push(segment);
        }
        // Also without new documents: the manifest names the new journal as the first needed one.
        self.manifest(&kept)?;
        self.remove_journals();
        if let Some(digests) = self.digests.take() {
            self.replace_digests(&digests, &mut kept, &mut cleaned)?;
        }
        while let Some(range) = self.next_merge(&kept) {
            let old: Vec<Arc<Segment>> =
                self.segments.get(range.clone()).unwrap_or_default().to_vec();
            let segment = self.merge(&old)?;
            kept.forget(segment.ids());
            cleaned.push(segment.ids());
            self.segments.splice(range, [segment]);
            self.manifest(&kept)?;
            for segment in old {
                // If the system keeps the file, the next open removes it.
                let _ = self.dir.remove(&segment.name);
            }
        }
        let resident = self.resident.take();
        let resident = resident
            .and_then(|layout| Resident::of(layout, &self.segments, &self.hasher, &self.wanted));
        let Self { segments, next, .. } = self;
        Ok(Outcome { segments, cleaned, deleted: started, next, resident })
    }

    fn flush(&mut self, frozen: &Shared) -> Result<Arc<Segment>> {
        let table = read(frozen);
        let ids = table.base..table.end();
        let source = Source::new(table.columns(), ids.clone(), &self.deleted);
        self.write(ids, vec![source])
    }

    fn merge(&mut self, old: &[Arc<Segment>]) -> Result<Arc<Segment>> {
        let mut sources = Vec::new();
        for segment in old {
            let columns = segment.columns_rechecked()?;
            sources.push(Source::new(columns, segment.ids(), &self.deleted));
        }
        let start = old.first().map_or(0, |segment| segment.ids().start);
        let end = old.last().map_or(0, |segment| segment.ids().end);
        self.write(start..end, sources)
    }

    /// Rewrites each segment in which a document gets another digest.
    fn replace_digests(
        &mut self,
        digests: &NewDigests,
        kept: &mut Deleted,
        cleaned: &mut Vec<Range<DocId>>,
    ) -> Result<()> {
        for place in 0..self.segments.len() {
            let Some(old) = self.segments.get(place).cloned() else { continue };
            let columns = old.columns_rechecked()?;
            let Some(other) = OtherDigests::of(&columns, old.ids().start, digests) else {
                continue;
            };
            let source = Source::new(other.columns(columns), old.ids(), &self.deleted);
            let segment = self.write(old.ids(), vec![source])?;
            kept.forget(segment.ids());
            cleaned.push(segment.ids());
            self.segments.splice(place..=place, [segment]);
            self.manifest(kept)?;
            let _ = self.dir.remove(&old.name);
        }
        Ok(())
    }

    fn write(&self, ids: Range<DocId>, sources: Vec<Source<'_>>) -> Result<Arc<Segment>> {
        let rows = sources.iter().map(|source| source.total()).sum();
        let (layout, packed) = plan::for_segment(rows, self.distance, self.bytes_per_fingerprint);
        // The counter makes the name unique: each manifest advances it.
        let name = format!("seg-{}-{}-{}", self.next, ids.start, ids.end);
        let temporary = format!("{name}.tmp");
        let plan = Plan { ids, sources, layout, packed, budget: self.budget };
        plan.write(&*self.dir, &temporary).inspect_err(|_| {
            // The disk may be full: free the space at once.
            let _ = self.dir.remove(&temporary);
        })?;
        let path = self.dir.path().join(&name);
        self.dir.rename(&temporary, &name).map_err(Error::io(&path))?;
        self.dir.sync().map_err(Error::io(self.dir.path()))?;
        let contents = self.dir.contents(&name).map_err(Error::io(&path))?;
        Segment::open(&path, &name, contents, self.distance, true).map(Arc::new)
    }

    fn manifest(&mut self, deleted: &Deleted) -> Result<()> {
        let mut file = None;
        if deleted.len() > 0 {
            let name = format!("deleted-{}", self.next);
            let write = || {
                let mut out = self.dir.create(&name)?;
                out.write(&deleted.encode())?;
                out.sync()
            };
            write().map_err(Error::io(&self.dir.path().join(&name)))?;
            // The name must be durable before the manifest that names it.
            self.dir.sync().map_err(Error::io(self.dir.path()))?;
            file = Some(name);
        }
        self.next += 1;
        let line = |segment: &Arc<Segment>| SegmentLine {
            name: segment.name.clone(),
            bytes: segment.bytes,
            ids: (segment.ids().start, segment.ids().end),
        };
        let manifest = Manifest {
            version: VERSION,
            recipe: self.recipe.clone(),
            journal: self.journal,
            closed: self.closed,
            deleted: file.clone(),
            segments: self.segments.iter().map(line).collect(),
        };
        manifest.write(&*self.dir)?;
        for name in self.dir.list().unwrap_or_default() {
            if matches!(Named::of(&name), Some(Named::Deleted(_))) && Some(&name) != file.as_ref() {
                let _ = self.dir.remove(&name);
            }
        }
        Ok(())
    }

    fn remove_journals(&self) {
        for name in self.dir.list().unwrap_or_default() {
            if matches!(Named::of(&name), Some(Named::Journal(number)) if number < self.journal) {
                let _ = self.dir.remove(&name);
            }
        }
    }

    fn next_merge(&self, deleted: &Deleted) -> Option<Range<usize>> {
        let sizes: Vec<Size> = self.segments.iter().map(Size::of).collect();
        if self.whole {
            return self.next_of_whole(&sizes, deleted);
        }
        let emptier = |segment: &Arc<Segment>| {
            segment.footer.rows > 0 && deleted.count(segment.ids()) > segment.footer.rows / 4
        };
        if let Some(place) = self.segments.iter().position(emptier) {
            return Some(place..place + 1);
        }
        merge_of(&sizes)
    }

    /// Returns the longest run, from old to new, that fits into one segment, so that each document is written once.
    fn next_of_whole(&self, sizes: &[Size], deleted: &Deleted) -> Option<Range<usize>> {
        let mut start = 0;
        while start < sizes.len() {
            let mut total = sizes.get(start).copied()?;
            let mut end = start + 1;
            while let Some(sum) = sizes.get(end).and_then(|size| total.with(*size)) {
                total = sum;
                end += 1;
            }
            let first = self.segments.get(start)?;
            if end > start + 1 || deleted.count(first.ids()) > 0 {
                return Some(start..end);
            }
            start = end;
        }
        None
    }
}

struct OtherDigests {
    flags: Vec<u8>,
    digests: Vec<u8>,
}

impl OtherDigests {
    /// Returns `None` if no document of the segment gets another digest.
    fn of(columns: &Columns<'_>, base: DocId, digests: &NewDigests) -> Option<Self> {
        let mut any = false;
        let mut other = Self {
            flags: Vec::with_capacity(columns.rows),
            digests: Vec::with_capacity(16 * columns.rows),
        };
        for row in 0..columns.rows {
            let id = base + u64::from(columns.relative_id(row));
            let has = columns.digest(row).is_some();
            let new = has.then(|| (digests.0)(id)).flatten();
            any |= new.is_some();
            let strong = if new.is_some() { STRONG } else { 0 };
            other.flags.push(columns.flags(row) | strong);
            other.digests.extend(new.or_else(|| columns.digest(row)).unwrap_or_default());
        }
        any.then_some(other)
    }

    fn columns<'a>(&'a self, mut columns: Columns<'a>) -> Columns<'a> {
        let changed = [(Column::Flags, &self.flags), (Column::Digest, &self.digests)];
        for (column, bytes) in changed {
            if let Some(slot) = columns.bytes.get_mut(column as usize) {
                *slot = bytes;
            }
        }
        columns
    }
}

/// The two limited sizes of a segment.
#[derive(Clone, Copy, Debug)]
struct Size {
    rows: u64,
    ids: u64,
}

impl Size {
    fn of(segment: &Arc<Segment>) -> Self {
        let ids = segment.ids();
        Self { rows: segment.footer.rows, ids: ids.end - ids.start }
    }

    fn with(self, other: Self) -> Option<Self> {
        let sum = Self { rows: self.rows + other.rows, ids: self.ids + other.ids };
        (sum.rows <= MAX_ROWS && sum.ids <= MAX_IDS).then_some(sum)
    }
}

/// Segments grow geometrically: from old to new, each has at least [`RATIO`] times the documents of the next. There
/// are at most [`MAX_SEGMENTS`], not counting full ones.
fn merge_of(sizes: &[Size]) -> Option<Range<usize>> {
    let mut start = sizes.len().checked_sub(1)?;
    let mut total = sizes.last().copied()?;
    while let Some(before) = start.checked_sub(1)
        && let Some(older) = sizes.get(before)
        && older.rows < RATIO * total.rows
        && let Some(sum) = older.with(total)
    {
        start = before;
        total = sum;
    }
    if start + 1 < sizes.len() {
        return Some(start..sizes.len());
    }
    // Segments before two that do not fit together are full and do not count.
    let fits = |pair: &[Size]| matches!(pair, [older, newer] if older.with(*newer).is_some());
    let first = sizes.windows(2).rposition(|pair| !fits(pair)).map_or(0, |last| last + 1);
    if sizes.len() - first > MAX_SEGMENTS {
        let sum = |pair: &[Size]| pair.iter().map(|size| size.rows).sum::<u64>();
        let sums = sizes.windows(2).enumerate().skip(first);
        let (place, _) = sums.min_by_key(|(_, pair)| sum(pair))?;
        return Some(place..place + 2);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_do_not_outgrow_their_numbers() {
        let of = |rows, ids| Size { rows, ids };
        assert_eq!(merge_of(&[of(MAX_ROWS - 5, MAX_ROWS), of(6, 6)]), None);
        assert_eq!(merge_of(&[of(8, 8), of(5, 5)]), Some(0..2));
        assert_eq!(merge_of(&[of(8, MAX_IDS - 2), of(5, 5)]), None);
        let large = [of(MAX_ROWS, MAX_ROWS); 9];
        assert_eq!(merge_of(&large), None);
    }

    #[test]
    fn segments_as_large_as_can_be_do_not_count() {
        let full = Size { rows: MAX_ROWS, ids: MAX_ROWS };
        let mut sizes = vec![full; 7];
        let mut written = 0;
        for _ in 0..1000 {
            sizes.push(Size { rows: 1, ids: 1 });
            while let Some(range) = merge_of(&sizes) {
                assert!(range.start >= 7, "{range:?}");
                let parts = &sizes[range.clone()];
                let sum = parts.iter().skip(1).fold(parts[0], |sum, size| sum.with(*size).unwrap());
                written += sum.rows;
                sizes.splice(range, [sum]);
            }
            assert!(sizes.len() <= 7 + MAX_SEGMENTS, "{sizes:?}");
        }
        assert!(written < 12 * 1000, "{written}");
        let small = [5, 2, 1].map(|rows| Size { rows, ids: rows });
        assert_eq!(merge_of(&[&[full; 7][..], &small].concat()), None);
    }

    #[test]
    fn segments_stay_few_and_each_document_is_rewritten_seldom() {
        let mut rows: Vec<u64> = Vec::new();
        let mut written = 0;
        for _ in 0..1000 {
            rows.push(1);
            let sizes = |rows: &[u64]| -> Vec<Size> {
                rows.iter().map(|rows| Size { rows: *rows, ids: *rows }).collect()
            };
            while let Some(range) = merge_of(&sizes(&rows)) {
                let sum = rows[range.clone()].iter().sum();
                written += sum;
                rows.splice(range, [sum]);
            }
            assert!(rows.len() <= MAX_SEGMENTS, "{rows:?}");
        }
        assert_eq!(rows.iter().sum::<u64>(), 1000);
        assert!(written < 12 * 1000, "{written}");
    }
}
