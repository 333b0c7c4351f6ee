//! sled behind guards: what it gets wrong costs time alone.

use std::cell::Cell;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::record::DocId;

/// Names which documents the tree has seen: the first, and the one after the last. A document's key may be the
/// same: then it is not found here but in its segment.
const SPAN: &[u8] = b"\0";
/// So many of the last documents are in the map; with more it begins anew. sled holds more of a large tree in memory
/// than it is told to, and reads much of it when it is opened.
pub(super) const MOST: u64 = 1 << 17;
/// So many are read again for a map that is made anew at an open.
const AGAIN: u64 = MOST / 2;
/// So many are handed to sled at once then.
const AT_ONCE: usize = 16_384;

/// The key of a document that is stored.
pub(super) type KeyOf = Box<dyn FnMut(DocId) -> Option<Vec<u8>> + Send>;

#[derive(Debug)]
pub(super) struct SledMap {
    path: PathBuf,
    tree: Tree,
    /// Not yet committed; `None` removes.
    batch: HashMap<Vec<u8>, Option<DocId>>,
    /// Committed while the tree was being opened.
    waiting: HashMap<Vec<u8>, Option<DocId>>,
    /// Which documents the tree has seen, with those that wait.
    span: Range<DocId>,
    /// After the last one of the batch.
    end: DocId,
    /// It could not be read or written: from here on nothing is asked for or noted, and what is missing is
    /// looked up.
    broken: Cell<bool>,
    set_aside: bool,
}

#[derive(Debug)]
enum Tree {
    /// A thread does that: nobody waits for a cache.
    Opening(JoinHandle<Option<Opened>>),
    Open(sled::Db),
    /// Closed, or this time there is none.
    Absent,
}

#[derive(Debug)]
struct Opened {
    tree: sled::Db,
    first: DocId,
    damaged: bool,
}

/// What lies in a folder.
enum Found {
    /// A map of these documents.
    Map(sled::Db, Range<DocId>),
    /// One that is larger than it need be, of other documents than the last ones, or that has seen commits that the
    /// store has not: another store's.
    Useless,
    Damaged,
    /// The threads of one that was closed just now have not let go of it.
    Held,
}

/// A closed tree's threads hold its file for a moment: so often it is tried again, so long apart.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(10);

impl SledMap {
    /// Opens the tree behind its guards, on a thread, and brings it up to the store's last documents; one of more
    /// than `most` bytes is made anew. Until then, and if there is none this time, what is asked for is not known.
    pub(super) fn open(folder: &Path, documents: DocId, most: u64, mut key_of: KeyOf) -> Self {
        let path = folder.to_owned();
        let opener = move || {
            remove_half_snapshots(&path);
            let (opened, known) = open_found(&path, documents, most)?;
            fill(&opened.tree, known..documents, opened.first, &mut key_of);
            Some(opened)
        };
        Self {
            path: folder.to_owned(),
            tree: spawn(opener),
            batch: HashMap::new(),
            waiting: HashMap::new(),
            span: documents..documents,
            end: documents,
            broken: Cell::new(false),
            set_aside: false,
        }
    }

    /// Waits for the thread that opens it.
    pub(super) fn is_damaged(&mut self) -> bool {
        self.open_if(true);
        self.set_aside || self.broken.get()
    }

    pub(super) fn get(&self, key: &[u8]) -> Option<DocId> {
        if let Some(id) = self.batch.get(key).or_else(|| self.waiting.get(key)) {
            return *id;
        }
        let Tree::Open(tree) = &self.tree else { return None };
        if self.broken.get() {
            return None;
        }
        let Ok(value) = guarded(|| tree.get(key)) else {
            // A damaged page shows itself only when it is read.
            self.broken.set(true);
            return None;
        };
        decode(&value?)
    }

    pub(super) fn insert(&mut self, key: &[u8], id: DocId) {
        self.end = self.end.max(id + 1);
        self.note(key, Some(id));
    }

    pub(super) fn remove(&mut self, key: &[u8]) {
        self.note(key, None);
    }

    fn note(&mut self, key: &[u8], id: Option<DocId>) {
        if !self.broken.get() && !matches!(self.tree, Tree::Absent) {
            self.batch.insert(key.to_vec(), id);
        }
    }

    pub(super) fn commit(&mut self) {
        self.span.end = self.end;
        if self.waiting.is_empty() {
            std::mem::swap(&mut self.waiting, &mut self.batch);
        } else {
            self.waiting.extend(self.batch.drain());
        }
        self.open_if(self.waiting.len() as u64 > MOST);
        self.hand_over();
        if self.span.end - self.span.start > MOST {
            self.begin_anew();
        }
    }

    /// What waits goes into the tree, if that is open.
    fn hand_over(&mut self) {
        let Tree::Open(tree) = &self.tree else { return };
        if !self.waiting.is_empty() && !self.broken.get() {
            // A cache: its loss is a slower look-up, never a wrong one.
            self.broken.set(apply(tree, self.waiting.drain(), &self.span).is_err());
        }
    }

    /// Empty, in place of one that has become large.
    fn begin_anew(&mut self) {
        if self.broken.get() || !matches!(self.tree, Tree::Open(_)) {
            return;
        }
        let tree = std::mem::replace(&mut self.tree, Tree::Absent);
        let (path, first) = (self.path.clone(), self.span.end);
        self.span.start = first;
        self.tree = spawn(move || {
            let _ = catch_unwind(AssertUnwindSafe(|| drop(tree)));
            // Once its threads have let go of the file they write no more into the folder.
            drop(open_tree(&path).ok()?);
            let _ = fs::remove_dir_all(&path);
            Some(Opened { tree: open_tree(&path).ok()?, first, damaged: false })
        });
    }

    /// Takes in the tree that a thread has opened, or waits for it.
    fn open_if(&mut self, wait: bool) {
        if let Tree::Opening(thread) = &self.tree
            && (wait || thread.is_finished())
            && let Tree::Opening(thread) = std::mem::replace(&mut self.tree, Tree::Absent)
        {
            match thread.join().ok().flatten() {
                Some(opened) => {
                    self.span.start = opened.first;
                    self.set_aside |= opened.damaged;
                    self.tree = Tree::Open(opened.tree);
                }
                None => self.waiting = HashMap::new(),
            }
        }
    }

    /// What was committed reaches the drive: sled's own flush stops short of that. A map that could not be
    /// read or written is set aside, so that the next open makes it anew.
    pub(super) fn close(&mut self) -> Result<()> {
        self.open_if(true);
        self.hand_over();
        let Tree::Open(tree) = std::mem::replace(&mut self.tree, Tree::Absent) else {
            return Ok(());
        };
        let flushed = if self.broken.get() { Ok(0) } else { guarded(|| tree.flush()) };
        self.broken.set(self.broken.get() || flushed.is_err());
        let _ = catch_unwind(AssertUnwindSafe(|| drop(tree)));
        if self.broken.get() {
            set_aside(&self.path);
        }
        flushed.map_err(Error::io(&self.path))?;
        if self.broken.get() {
            return Ok(());
        }
        let file = self.path.join("db");
        let synced = File::options().write(true).open(&file).and_then(|file| file.sync_data());
        synced.map_err(Error::io(&file))
    }
}

impl Drop for SledMap {
    fn drop(&mut self) {
        // Who wants to know closes it.
        let _ = self.close();
    }
}

fn spawn(work: impl FnOnce() -> Option<Opened> + Send + 'static) -> Tree {
    let thread = std::thread::Builder::new().name("hapax-dedup-ids".to_owned()).spawn(work);
    thread.map_or(Tree::Absent, Tree::Opening)
}

/// The map in a folder, of which documents it is, and up to which it knows them.
fn open_found(folder: &Path, documents: DocId, most: u64) -> Option<(Opened, DocId)> {
    let first = documents.saturating_sub(AGAIN);
    let anew = |damaged| Some((Opened { tree: open_tree(folder).ok()?, first, damaged }, first));
    match find(folder, documents, most) {
        Found::Map(tree, span) => {
            Some((Opened { tree, first: span.start, damaged: false }, span.end))
        }
        Found::Useless => {
            let _ = fs::remove_dir_all(folder);
            anew(false)
        }
        Found::Held => None,
        Found::Damaged => {
            set_aside(folder);
            anew(true)
        }
    }
}

/// Reads documents that a map lacks.
fn fill(tree: &sled::Db, documents: Range<DocId>, first: DocId, key_of: &mut KeyOf) {
    let mut batch = HashMap::new();
    for id in documents.clone() {
        batch.extend(key_of(id).map(|key| (key, Some(id))));
        let last = id + 1 == documents.end;
        // What it does not know is looked up elsewhere; damage shows itself at the first commit.
        if (last || batch.len() >= AT_ONCE) && apply(tree, batch.drain(), &(first..id + 1)).is_err()
        {
            return;
        }
    }
}

fn apply(
    tree: &sled::Db,
    entries: impl Iterator<Item = (Vec<u8>, Option<DocId>)>,
    span: &Range<DocId>,
) -> io::Result<()> {
    let mut batch = sled::Batch::default();
    for (key, id) in entries {
        match id {
            Some(id) => batch.insert(key, &id.to_le_bytes()),
            None => batch.remove(key),
        }
    }
    batch.insert(SPAN, [span.start.to_le_bytes(), span.end.to_le_bytes()].concat());
    guarded(|| tree.apply_batch(batch))
}

fn decode(value: &[u8]) -> Option<u64> {
    value.try_into().ok().map(u64::from_le_bytes)
}

/// None of what other versions wrote, which had no first one.
fn decode_span(value: &[u8]) -> Option<Range<DocId>> {
    let (first, end) = value.split_at_checked(8)?;
    let span = decode(first)?..decode(end)?;
    (span.start <= span.end && span.end - span.start <= MOST).then_some(span)
}

fn find(folder: &Path, documents: DocId, most: u64) -> Found {
    let tree = match open_tree(folder) {
        Ok(tree) => tree,
        Err(error) if is_held(&error) => return Found::Held,
        Err(_) => return Found::Damaged,
    };
    let Ok(said) = guarded(|| tree.get(SPAN)) else { return Found::Damaged };
    let bytes = guarded(|| tree.size_on_disk()).unwrap_or(0);
    let span = match said {
        Some(said) => decode_span(&said),
        None => Some(documents.saturating_sub(AGAIN)..documents.saturating_sub(AGAIN)),
    };
    match span.filter(|span| span.end <= documents && documents - span.start <= MOST) {
        Some(span) if bytes <= most => Found::Map(tree, span),
        _ => Found::Useless,
    }
}

/// sled 0.34.7 takes a half-written snapshot for the newest one and then never opens again.
fn remove_half_snapshots(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("snap.") && name.ends_with(".generating") {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn open_tree(folder: &Path) -> io::Result<sled::Db> {
    let config = sled::Config::new()
        .path(folder)
        .mode(sled::Mode::LowSpace)
        .cache_capacity(16 << 20)
        .flush_every_ms(None);
    let mut opened = guarded(|| config.open());
    for _ in 0..TRIES {
        if !opened.as_ref().is_err_and(is_held) {
            break;
        }
        std::thread::sleep(PAUSE);
        opened = guarded(|| config.open());
    }
    opened
}

/// sled 0.34 has no kind of error for it.
fn is_held(error: &io::Error) -> bool {
    error.to_string().contains("could not acquire lock")
}

/// What sled gives, or its error, or that it panicked over a damaged file.
fn guarded<T>(work: impl FnOnce() -> sled::Result<T>) -> io::Result<T> {
    let done = catch_unwind(AssertUnwindSafe(work));
    done.unwrap_or_else(|_| Err(sled::Error::ReportableBug("it panicked".to_owned())))
        .map_err(io::Error::from)
}

fn set_aside(folder: &Path) {
    let aside: PathBuf = folder.with_extension("damaged");
    let _ = fs::remove_dir_all(&aside);
    if fs::rename(folder, &aside).is_err() {
        let _ = fs::remove_dir_all(folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_that_is_held_by_another_is_waited_for_and_never_set_aside() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("ids");
        let held = open_tree(&folder).unwrap();
        let waits = std::thread::spawn({
            let folder = folder.clone();
            move || {
                let mut map = SledMap::open(&folder, 0, u64::MAX, Box::new(|_| None));
                !map.is_damaged() && matches!(map.tree, Tree::Open(_))
            }
        });
        std::thread::sleep(10 * PAUSE);
        drop(held);
        assert!(waits.join().unwrap());
        assert!(!folder.with_extension("damaged").exists());
    }
}
