//! Opens a store: checks files against the manifest and replays the journals.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, Mutex, RwLock};

use super::deleted::Deleted;
use super::file_names::{MAX_NUMBER, Named};
use super::idmap::IdMap;
use super::journal::{self, Batch, HEADER, Journal, Kind};
use super::keys::{Key, KeyHasher};
use super::manifest::{self, Manifest};
use super::memtable::Memtable;
use super::resident::{New, Resident};
use super::segment::Segment;
use super::segment::build::MAX_ROWS;
use super::view::{Shared, View};
use super::writer::Writer;
use super::{Options, Store, held};
use crate::Layout;
use crate::dir::Directory;
use crate::error::{Error, Result};
use crate::limits::VERSION;
use crate::row::decode;

impl Store {
    pub(super) fn open_with(
        dir: Arc<dyn Directory>,
        folder: Option<&Path>,
        options: Options,
    ) -> Result<Self> {
        options.check()?;
        let path = dir.path().to_owned();
        let guard = dir.lock().map_err(Error::io(&path))?;
        let guard = guard.ok_or_else(|| Error::Locked { path: path.join("LOCK") })?;
        // A killed process, or one whose sync failed, may have left readable data that is not durable: names here,
        // the end of the journal below. Sync before building on it.
        dir.sync().map_err(Error::io(&path))?;
        let manifest = match Manifest::read(&*dir)? {
            Some(manifest) => manifest,
            None => create(&*dir, &options)?,
        };
        if manifest.recipe != options.recipe {
            return Err(Error::Recipe { stored: manifest.recipe, asked: options.recipe });
        }
        let (writer, last) = read_all(&*dir, folder, &manifest, &options)?;
        if manifest.version < VERSION {
            // From here on the store may have data that the older version cannot read.
            manifest.write(&*dir)?;
        }
        let journal = Journal::resume(&*dir, last.number, last.length)?;
        dir.sync().map_err(Error::io(&path))?;
        let overflows = dir.keeps() && writer.overflows(&options);
        let store = Self {
            options,
            dir,
            opened: manifest,
            turn: Mutex::default(),
            freed: Condvar::new(),
            journal: Mutex::new(journal),
            writer: Mutex::new(writer),
            _guard: guard,
        };
        if overflows {
            // Write a segment now, so that repeated kills do not make the replay ever longer. It runs in the
            // background: reads work at once, even on a full disk, and the next change reports an error.
            if let Err(error) = store.begin_to_settle(false, None) {
                held(&store.writer).reason = Some(error);
            }
        }
        Ok(store)
    }
}

impl Store {
    /// Adds the commits of another process since this store was opened, for a [`Directory`] that does not
    /// [keep](Directory::keeps) files. Returns `false` if they cannot be added, because the other process began a journal
    /// or wrote a segment: open the store again.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for the journal; [`Error::Io`] from the file system. Then open the store again.
    ///
    /// # Complexity
    /// Linear in the new documents, and in the number of files.
    pub fn catch_up(&self) -> Result<bool> {
        if self.dir.keeps() {
            return Ok(true);
        }
        let dir = &*self.dir;
        // The rewritten manifest of an older version is read back here instead of the one on disk.
        let is_same = Manifest::read(dir)?.is_some_and(|manifest| manifest == self.opened);
        if !is_same || self.opened.version < VERSION {
            return Ok(false);
        }
        let mut journal = held(&self.journal);
        let next = journal.number.checked_add(1).map(journal::name);
        let names = dir.list().map_err(Error::io(dir.path()))?;
        if names.into_iter().any(|name| Some(name) == next) {
            return Ok(false);
        }
        let name = journal::name(journal.number);
        let path = dir.path().join(&name);
        let bytes = dir.contents(&name).map_err(|error| missing(dir, &name, error))?;
        if (bytes.len() as u64) < journal.length {
            // Another store was created in this folder.
            return Ok(false);
        }
        let mut writer = held(&self.writer);
        let mut failed = None;
        let begin = journal.length as usize;
        let length = journal::replay_from(&path, &bytes, begin, (true, 0), |kind, payload| {
            apply(&mut writer, kind, payload).unwrap_or_else(|error| {
                failed = Some(error);
                false
            })
        });
        if let Some(error) = failed {
            return Err(error);
        }
        journal.length = length?;
        Ok(true)
    }
}

/// Creates an empty store. A crash leaves at most a journal without a commit, which the next call replaces.
fn create(dir: &dyn Directory, options: &Options) -> Result<Manifest> {
    for name in dir.list().map_err(Error::io(dir.path()))? {
        let journal = name == journal::name(1);
        let contents = || dir.contents(&name).map_err(Error::io(&dir.path().join(&name)));
        let fresh = journal && contents()?.len() <= HEADER;
        let ours = matches!(Named::of(&name), Some(Named::Segment(_) | Named::Journal(_)));
        if ours && !fresh {
            return Err(Error::Corrupt {
                path: dir.path().join(manifest::NAME),
                offset: 0,
                what: "missing, but other files of the store exist",
            });
        }
    }
    drop(Journal::create(dir, 1, None)?);
    let manifest = Manifest::new(&options.recipe);
    manifest.write(dir)?;
    Ok(manifest)
}

struct Last {
    number: u64,
    length: u64,
}

fn read_all(
    dir: &dyn Directory,
    folder: Option<&Path>,
    manifest: &Manifest,
    options: &Options,
) -> Result<(Writer, Last)> {
    let distance = options.policy.distance;
    let (segments, end) = open_segments(dir, manifest, distance)?;
    let deleted = match &manifest.deleted {
        Some(name) => {
            let path = dir.path().join(name);
            let bytes = dir.contents(name).map_err(|error| missing(dir, name, error))?;
            Deleted::decode(&path, &bytes, end)?
        }
        None => Deleted::default(),
    };
    let next = clean(dir, manifest)?;
    let layout = Layout::for_distance(distance).map_err(|_| Error::Distance(distance))?;
    // A store without segments receives all its documents through memory.
    let all = options.resident_bytes > 0 && segments.is_empty();
    let memtable = Memtable::new(end, (!all).then(|| layout.clone()));
    let resident = all.then(|| Arc::new(RwLock::new(Resident::new(layout.clone(), 0))));
    let active: Shared = Arc::new(RwLock::new(memtable));
    let mut duplicates: u64 = segments.iter().map(|segment| segment.footer.duplicates).sum();
    let mut view = View {
        segments: Arc::new(segments),
        frozen: None,
        active,
        resident,
        deleted: Arc::default(),
        end,
        policy: options.policy,
        strong_digests: options.strong_digests,
        hasher: KeyHasher::default(),
    };
    for id in deleted.iter() {
        let of = view.with_row(id, false, |row| row.of)?.flatten();
        duplicates = duplicates.saturating_sub(u64::from(of.is_some()));
    }
    view.deleted = Arc::new(deleted);
    let mut writer = Writer {
        view,
        payload: Vec::new(),
        duplicates,
        poisoned: false,
        reason: None,
        batch: Batch::default(),
        ticket: 0,
        ids: IdMap::default(),
        job: None,
        wanted: Arc::new(AtomicBool::new(true)),
        next,
        journal: manifest.journal,
        closed: manifest.closed,
        layout,
        too_many: None,
        base: end,
    };
    let last = replay(dir, manifest, &mut writer)?;
    writer.ids = IdMap::open(folder.map(|folder| folder.join("ids")).as_deref(), &writer.view);
    Ok((writer, last))
}

fn missing(dir: &dyn Directory, name: &str, error: std::io::Error) -> Error {
    let path = dir.path().join(name);
    if error.kind() == std::io::ErrorKind::NotFound {
        return Error::Corrupt {
            path,
            offset: 0,
            what: "the manifest names it, but it is missing",
        };
    }
    Error::Io { path, source: error }
}

fn open_segments(
    dir: &dyn Directory,
    manifest: &Manifest,
    distance: u32,
) -> Result<(Vec<Arc<Segment>>, u64)> {
    let mut segments = Vec::new();
    let mut end = 0;
    for line in &manifest.segments {
        let path = dir.path().join(&line.name);
        let contents = dir.contents(&line.name).map_err(|error| missing(dir, &line.name, error))?;
        let length = contents.len() as u64;
        let segment = Segment::open(&path, &line.name, contents, distance, false)?;
        let ids = segment.ids();
        if length != line.bytes || (ids.start, ids.end) != line.ids || ids.start != end {
            let what = "it is not the segment that the manifest names";
            return Err(Error::Corrupt { path, offset: 0, what });
        }
        end = ids.end;
        segments.push(Arc::new(segment));
    }
    Ok((segments, end))
}

/// Removes unreferenced files that a crash left. Returns the number of the next new file.
fn clean(dir: &dyn Directory, manifest: &Manifest) -> Result<u64> {
    let named: HashSet<&str> = manifest
        .segments
        .iter()
        .map(|line| line.name.as_str())
        .chain(manifest.deleted.as_deref())
        .collect();
    let mut next = 1;
    for name in dir.list().map_err(Error::io(dir.path()))? {
        let leftover = match Named::of(&name) {
            Some(Named::Segment(number) | Named::Deleted(number)) => {
                if number >= MAX_NUMBER {
                    let path = dir.path().join(&name);
                    let what = "its number is the largest possible. Move the file away";
                    return Err(Error::Corrupt { path, offset: 0, what });
                }
                let leftover = !named.contains(name.as_str());
                // Removals are durable before anything new is written, so their numbers may be reused.
                next = next.max(if leftover { 0 } else { number + 1 });
                leftover
            }
            Some(Named::Journal(number)) => number < manifest.journal,
            Some(Named::Unfinished) => true,
            None => false,
        };
        if leftover {
            dir.remove(&name).map_err(Error::io(&dir.path().join(&name)))?;
        }
    }
    Ok(next)
}

fn replay(dir: &dyn Directory, manifest: &Manifest, writer: &mut Writer) -> Result<Last> {
    let names: HashSet<String> = dir.list().map_err(Error::io(dir.path()))?.into_iter().collect();
    let mut number = manifest.journal;
    loop {
        let name = journal::name(number);
        let path = dir.path().join(&name);
        let bytes = dir.contents(&name).map_err(|error| missing(dir, &name, error))?;
        let Some(after) = number.checked_add(1) else {
            let (path, what) = (path.clone(), "no journal has this number");
            return Err(Error::Corrupt { path, offset: 0, what });
        };
        let followed = names.contains(&journal::name(after));
        let next = dir.path().join(journal::name(after));
        // A journal that a power loss interrupted before its first commit does not count.
        let begun = followed && !is_begun(dir, after).map_err(Error::io(&next))?;
        let last = !followed || begun;
        // A journal is created only after the previous one has its first commit.
        let beyond =
            |name: &&String| matches!(Named::of(name), Some(Named::Journal(n)) if n > after);
        if let Some(name) = names.iter().filter(beyond).min().filter(|_| last) {
            let what = "a journal before it is missing or damaged";
            return Err(Error::Corrupt { path: dir.path().join(name), offset: 0, what });
        }
        let expected = manifest.closed.map_or(0, |closed| closed.0);
        if begun && expected <= number {
            dir.remove(&journal::name(after)).map_err(Error::io(&next))?;
        }
        let at_least = manifest.closed.filter(|c| c.0 == number).map_or(0, |closed| closed.1);
        let mut failed = None;
        let length = journal::replay(&path, &bytes, last, at_least, |kind, payload| {
            match apply(writer, kind, payload) {
                Ok(valid) => valid,
                Err(error) => {
                    failed = Some(error);
                    false
                }
            }
        });
        if let Some(error) = failed {
            return Err(error);
        }
        let length = length?;
        let corrupt = |what| Err(Error::Corrupt { path: path.clone(), offset: length, what });
        if number > 1 && length <= HEADER as u64 {
            // The manifest names a journal only after its first commit is durable.
            return corrupt("the journal is cut, or its first commit is damaged");
        }
        if last && manifest.closed.is_some_and(|closed| closed.0 > number) {
            return corrupt("a later journal, which the manifest names, is missing or damaged");
        }
        if last {
            return Ok(Last { number, length });
        }
        number = after;
    }
}

/// Returns whether a journal has, or had, its first commit: nothing is written after it before it is durable.
fn is_begun(dir: &dyn Directory, number: u64) -> std::io::Result<bool> {
    let bytes = dir.contents(&journal::name(number))?;
    Ok(journal::has_commit(&bytes) || bytes.len() > journal::FIRST)
}

fn apply(writer: &mut Writer, kind: Kind, payload: &[u8]) -> Result<bool> {
    match kind {
        Kind::Commit => writer.payload = payload.to_vec(),
        Kind::Record => match decode(payload) {
            Some((id, row)) if id == writer.view.end => {
                if id - writer.base >= MAX_ROWS {
                    return Err(Error::TooMany(id - writer.base));
                }
                let key = Key::new(row.key, &writer.view.hasher);
                writer.remember(&row, key.hash, New::default());
            }
            _ => return Ok(false),
        },
        Kind::Delete => {
            let Some(id) = payload.try_into().ok().map(u64::from_le_bytes) else {
                return Ok(false);
            };
            // The document may be gone: the segments may be newer than this deletion.
            let found =
                writer.view.with_row(id, true, |row| (row.of.is_some(), row.key.to_vec()))?;
            if let Some((was_duplicate, key)) = found {
                writer.forget(id, was_duplicate, &key);
            }
        }
    }
    Ok(true)
}
