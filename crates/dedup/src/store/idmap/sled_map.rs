//! A guarded sled map: its errors cost only time.

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

/// The key of the range of documents in the tree: the first, and one past the last. A document's key may equal it;
/// that document is found in its segment only.
const SPAN: &[u8] = b"\0";
/// The most documents in the map; above it the map restarts empty. sled uses more memory for a large tree than
/// configured, and reads most of it at open.
pub(super) const MOST: u64 = 1 << 17;
/// The documents that a map rebuilt at open receives.
const AGAIN: u64 = MOST / 2;
/// The entries per batch while a map is filled.
const BATCH: usize = 16_384;

pub(super) type KeyOf = Box<dyn FnMut(DocId) -> Option<Vec<u8>> + Send>;

/// Keys with their numbers; `None` removes.
type Entries = HashMap<Vec<u8>, Option<DocId>>;

#[derive(Debug)]
pub(super) struct SledMap {
    path: PathBuf,
    tree: Tree,
    /// Entries of no commit yet.
    batch: Entries,
    /// Entries of a commit that are not in the tree.
    waiting: Entries,
    /// The documents in the tree and in `waiting`.
    span: Range<DocId>,
    /// One past the last document of the batch.
    end: DocId,
    /// The map could not be read or written. It is no longer used, and look-ups fall back to the segments.
    broken: Option<Broken>,
    set_aside: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Broken {
    Damaged,
    /// The system refuses reads or writes, for example because the disk is full.
    Denied,
}

impl Broken {
    fn by(error: &sled::Error) -> Self {
        if is_damage(error) { Self::Damaged } else { Self::Denied }
    }
}

#[derive(Debug)]
enum Tree {
    /// A thread opens it, so that nobody waits for a cache.
    Opening(JoinHandle<Opened>),
    Open(sled::Db),
    /// Closed, or unavailable in this session.
    Absent,
}

#[derive(Debug)]
struct Opened {
    /// The tree and the first document in it.
    tree: Option<(sled::Db, DocId)>,
    damaged: bool,
}

enum Found {
    /// A map of these documents.
    Map(sled::Db, Range<DocId>),
    /// A map that is too large, of older documents, or with commits that the store does not have (from another
    /// store).
    Useless,
    Damaged,
    /// The threads of a map that was just closed still lock it, or the system refuses access.
    Denied,
}

/// The threads of a closed tree lock its file briefly: number of attempts, and the pause between them.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(10);

impl SledMap {
    /// Opens the tree on a thread and adds the store's last documents. A tree of more than `most` bytes is rebuilt.
    /// Until then, or if opening fails, look-ups return nothing.
    pub(super) fn open(folder: &Path, documents: DocId, most: u64, mut key_of: KeyOf) -> Self {
        let path = folder.to_owned();
        let opener = move || {
            let _ = fs::remove_dir_all(discarded(&path));
            remove_half_snapshots(&path);
            let (opened, known) = open_found(&path, documents, most);
            if let Some((tree, first)) = &opened.tree {
                fill(tree, known..documents, *first, &mut key_of);
            }
            opened
        };
        Self {
            path: folder.to_owned(),
            tree: spawn(opener),
            batch: HashMap::new(),
            waiting: HashMap::new(),
            span: documents..documents,
            end: documents,
            broken: None,
            set_aside: false,
        }
    }

    pub(super) fn is_damaged(&mut self) -> bool {
        self.open_if(true);
        self.set_aside || self.broken == Some(Broken::Damaged)
    }

    pub(super) fn get(&mut self, key: &[u8]) -> Option<DocId> {
        if let Some(id) = self.batch.get(key).or_else(|| self.waiting.get(key)) {
            return *id;
        }
        self.open_if(false);
        let Tree::Open(tree) = &self.tree else { return None };
        if self.broken.is_some() {
            return None;
        }
        match guarded(|| tree.get(key)) {
            Ok(value) => decode(&value?),
            Err(error) => {
                // sled detects a damaged page only when it reads it.
                self.broken = Some(Broken::by(&error));
                None
            }
        }
    }

    pub(super) fn insert(&mut self, key: &[u8], id: DocId) {
        self.end = self.end.max(id + 1);
        self.note(key, Some(id));
    }

    pub(super) fn remove(&mut self, key: &[u8]) {
        self.note(key, None);
    }

    fn note(&mut self, key: &[u8], id: Option<DocId>) {
        if self.broken.is_some() || matches!(self.tree, Tree::Absent) {
            return;
        }
        if self.batch.len() as u64 >= MOST {
            self.batch = HashMap::new();
        }
        self.batch.insert(key.to_vec(), id);
    }

    pub(super) fn seal(&mut self) {
        self.span.end = self.end;
        if self.waiting.is_empty() {
            std::mem::swap(&mut self.waiting, &mut self.batch);
        } else {
            self.waiting.extend(self.batch.drain());
        }
        if self.span.end - self.span.start > MOST || self.waiting.len() as u64 > MOST {
            self.waiting = HashMap::new();
            self.begin_anew();
        }
    }

    /// Discards the entries of a commit that is not durable. The tree may then belong to another store's state.
    pub(super) fn forget_sealed(&mut self) {
        self.waiting = HashMap::new();
    }

    /// Writes the waiting entries into the tree, if it is open.
    pub(super) fn hand_over(&mut self) {
        self.open_if(false);
        let Tree::Open(tree) = &self.tree else { return };
        if !self.waiting.is_empty() && self.broken.is_none() {
            // A lost entry makes a look-up slower, never wrong.
            let done = apply(tree, self.waiting.drain(), &self.span);
            self.broken = done.err().as_ref().map(Broken::by);
        }
    }

    /// Replaces a map that has become large by an empty one.
    fn begin_anew(&mut self) {
        // A map that is still opening restarts with the next commit.
        self.open_if(false);
        let is_open = matches!(self.tree, Tree::Open(_)) && self.broken.is_none();
        self.span.start = self.span.end;
        if !is_open {
            return;
        }
        let tree = std::mem::replace(&mut self.tree, Tree::Absent);
        let (path, first) = (self.path.clone(), self.span.end);
        self.tree = spawn(move || {
            if let Tree::Open(tree) = tree {
                close(tree);
            }
            let tree = discard(&path).then(|| open_tree(&path).ok()).flatten();
            Opened { tree: tree.map(|tree| (tree, first)), damaged: false }
        });
    }

    /// Receives the tree from the opening thread, if it has ended or if `wait` is set.
    fn open_if(&mut self, wait: bool) {
        if let Tree::Opening(thread) = &self.tree
            && (wait || thread.is_finished())
            && let Tree::Opening(thread) = std::mem::replace(&mut self.tree, Tree::Absent)
        {
            let opened = thread.join().unwrap_or(Opened { tree: None, damaged: false });
            self.set_aside |= opened.damaged;
            match opened.tree {
                Some((tree, first)) => {
                    self.span.start = first;
                    self.tree = Tree::Open(tree);
                }
                None => (self.batch, self.waiting) = (HashMap::new(), HashMap::new()),
            }
        }
    }

    /// Makes committed entries durable, because sled's flush does not sync the drive. Sets a map that failed aside,
    /// so that the next open rebuilds it.
    pub(super) fn close(&mut self) -> Result<()> {
        self.open_if(true);
        self.hand_over();
        let Tree::Open(tree) = std::mem::replace(&mut self.tree, Tree::Absent) else {
            return Ok(());
        };
        let flushed = if self.broken.is_some() { Ok(0) } else { guarded(|| tree.flush()) };
        self.broken = self.broken.or_else(|| flushed.as_ref().err().map(Broken::by));
        close(tree);
        match self.broken {
            Some(Broken::Damaged) => set_aside(&self.path),
            // The next open rebuilds it.
            Some(Broken::Denied) => {
                discard(&self.path);
            }
            None => {}
        }
        flushed.map_err(io::Error::from).map_err(Error::io(&self.path))?;
        if self.broken.is_some() {
            return Ok(());
        }
        let file = self.path.join("db");
        let synced = File::options().write(true).open(&file).and_then(|file| file.sync_data());
        synced.map_err(Error::io(&file))
    }
}

impl Drop for SledMap {
    fn drop(&mut self) {
        // Callers that need the error call `close`.
        let _ = self.close();
    }
}

fn spawn(work: impl FnOnce() -> Opened + Send + 'static) -> Tree {
    let thread = std::thread::Builder::new().name("hapax-dedup-ids".to_owned()).spawn(work);
    thread.map_or(Tree::Absent, Tree::Opening)
}

/// Returns the map in a folder, and the end of the documents in it.
fn open_found(folder: &Path, documents: DocId, most: u64) -> (Opened, DocId) {
    let first = documents.saturating_sub(AGAIN);
    let anew = |damaged| {
        let tree = open_tree(folder).ok().map(|tree| (tree, first));
        (Opened { tree, damaged }, first)
    };
    match find(folder, documents, most) {
        Found::Map(tree, span) => {
            (Opened { tree: Some((tree, span.start)), damaged: false }, span.end)
        }
        Found::Useless if discard(folder) => anew(false),
        Found::Useless | Found::Denied => (Opened { tree: None, damaged: false }, documents),
        Found::Damaged => {
            set_aside(folder);
            anew(true)
        }
    }
}

fn fill(tree: &sled::Db, documents: Range<DocId>, first: DocId, key_of: &mut KeyOf) {
    let mut batch = HashMap::new();
    for id in documents.clone() {
        batch.extend(key_of(id).map(|key| (key, Some(id))));
        let last = id + 1 == documents.end;
        // A missing entry falls back to the segments; damage shows at the first commit.
        if (last || batch.len() >= BATCH) && apply(tree, batch.drain(), &(first..id + 1)).is_err() {
            return;
        }
    }
}

fn apply(
    tree: &sled::Db,
    entries: impl Iterator<Item = (Vec<u8>, Option<DocId>)>,
    span: &Range<DocId>,
) -> sled::Result<()> {
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

/// Returns `None` for values of older versions, which have no first number.
fn decode_span(value: &[u8]) -> Option<Range<DocId>> {
    let (first, end) = value.split_at_checked(8)?;
    let span = decode(first)?..decode(end)?;
    (span.start <= span.end && span.end - span.start <= MOST).then_some(span)
}

fn find(folder: &Path, documents: DocId, most: u64) -> Found {
    let tree = match open_tree(folder) {
        Ok(tree) => tree,
        Err(error) if is_damage(&error) => return Found::Damaged,
        Err(_) => return Found::Denied,
    };
    let Ok(said) = guarded(|| tree.get(SPAN)) else {
        close(tree);
        return Found::Damaged;
    };
    let bytes = guarded(|| tree.size_on_disk()).unwrap_or(0);
    let empty = documents.saturating_sub(AGAIN);
    let span = said.map_or(Some(empty..empty), |said| decode_span(&said));
    match span.filter(|span| span.end <= documents && documents - span.start <= MOST) {
        Some(span) if bytes <= most => Found::Map(tree, span),
        _ => {
            close(tree);
            Found::Useless
        }
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

fn open_tree(folder: &Path) -> sled::Result<sled::Db> {
    let config = sled::Config::new()
        .path(folder)
        .mode(sled::Mode::LowSpace)
        .cache_capacity(8 << 20)
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

/// sled 0.34 has no error kind for a locked file.
fn is_held(error: &sled::Error) -> bool {
    error.to_string().contains("could not acquire lock")
}

/// Returns whether the files are damaged. Errors of the system, such as a full disk, are not damage.
fn is_damage(error: &sled::Error) -> bool {
    use io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    let sled::Error::Io(system) = error else { return true };
    // sled keeps some errors without the system's error number.
    let denied = [StorageFull, QuotaExceeded, ReadOnlyFilesystem, PermissionDenied];
    system.raw_os_error().is_none() && !denied.contains(&system.kind()) && !is_held(error)
}

/// Calls sled and turns a panic over a damaged file into an error.
fn guarded<T>(work: impl FnOnce() -> sled::Result<T>) -> sled::Result<T> {
    let done = catch_unwind(AssertUnwindSafe(work));
    done.unwrap_or_else(|_| Err(sled::Error::ReportableBug("it panicked".to_owned())))
}

/// Closes a tree. sled syncs and panics if that fails.
fn close(tree: sled::Db) {
    let _ = catch_unwind(AssertUnwindSafe(|| drop(tree)));
}

fn discarded(folder: &Path) -> PathBuf {
    folder.with_extension("old")
}

/// Removes a map by renaming it first, so that a kill never leaves a part of it under its name.
fn discard(folder: &Path) -> bool {
    let old = discarded(folder);
    let _ = fs::remove_dir_all(&old);
    let renamed = fs::rename(folder, &old).is_ok();
    let _ = fs::remove_dir_all(&old);
    renamed
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

    fn map(folder: &Path, documents: DocId) -> SledMap {
        SledMap::open(folder, documents, u64::MAX, Box::new(|_| None))
    }

    #[test]
    fn an_insert_after_a_seal_is_not_part_of_that_commit() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("ids");
        let mut one = map(&folder, 0);
        one.insert(b"committed", 0);
        one.seal();
        // While that commit waits for the disk.
        one.insert(b"later", 1);
        one.hand_over();
        one.close().unwrap();
        let mut two = map(&folder, 1);
        assert!(!two.is_damaged());
        assert_eq!((two.get(b"committed"), two.get(b"later")), (Some(0), None));
    }

    #[test]
    fn a_commit_larger_than_the_id_map_is_not_handed_to_it() {
        let parent = tempfile::tempdir().unwrap();
        let mut one = map(&parent.path().join("ids"), 0);
        assert!(!one.is_damaged(), "it is open");
        for id in 0..3 * MOST / 2 {
            one.insert(&id.to_le_bytes(), id);
        }
        assert!(one.batch.len() as u64 <= MOST);
        one.seal();
        assert!(one.waiting.is_empty());
        one.hand_over();
        assert!(!one.is_damaged());
        assert_eq!(one.get(&7u64.to_le_bytes()), None);
        one.insert(b"later", 3 * MOST / 2);
        one.seal();
        one.hand_over();
        assert_eq!(one.get(b"later"), Some(3 * MOST / 2));
        assert_eq!(one.span, 3 * MOST / 2..3 * MOST / 2 + 1);
    }

    #[test]
    fn an_operating_system_error_of_the_map_is_not_damage() {
        let full = io::Error::from_raw_os_error(28);
        assert!(!is_damage(&sled::Error::Io(full)));
        assert!(is_damage(&sled::Error::Io(io::ErrorKind::UnexpectedEof.into())));
        assert!(is_damage(&sled::Error::ReportableBug(String::new())));
    }
}
