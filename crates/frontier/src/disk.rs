//! The durable state in one redb file: the state of each URL, and the queue of each host.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use redb::{
    Database, DatabaseError, ReadableDatabase, ReadableTable, ReadableTableMetadata,
    TableDefinition,
};

use hapax_url::UrlKey;

use crate::Entry;
use crate::bounds::QueueBytes;
use crate::entry::CLASSES;
use crate::error::{Error, Result};
use crate::found_inlinks::{FoundInlinks, referrers};
use crate::guard::{ADVICE, guarded};
use crate::host::{class_of, host_hash, number_of, sequence};
use crate::read_only::ReadOnlyFile;

const VERSION: u64 = 1;
const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");
/// The number of the next entry, and its value when the table of counts was last written.
const NEXT: &str = "next";
const COUNTED: &str = "counted";
const FIRST: u64 = 1;
/// Longest wait for readers of the file, and the pause between two attempts.
const READERS: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 30 });
const PAUSE: Duration = Duration::from_millis(50);
/// Set if no run was made by a version that kept no inlinks, or an upgrade added those.
pub(crate) const ALL_INLINKS: &str = "all_inlinks";
/// URL key -> state (one byte).
const URLS: TableDefinition<'_, u128, u8> = TableDefinition::new("urls");
/// (host key, sequence, whose high bits are the class) -> depth and URL.
const QUEUE: TableDefinition<'_, (u64, u64), &[u8]> = TableDefinition::new("queue");
/// (host key, class) -> number of rows in the queue, so that opening need not count them.
const WAITING: TableDefinition<'_, (u64, u8), u64> = TableDefinition::new("waiting");
/// Host name -> nothing: the list of hosts.
const HOSTS: TableDefinition<'_, &str, ()> = TableDefinition::new("hosts");
/// (host or URL, kind) -> note.
const NOTES: TableDefinition<'_, (&str, &str), &[u8]> = TableDefinition::new("notes");
const CACHE_BYTES: usize = 32 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum UrlState {
    Queued = 0,
    Done = 1,
}

#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) states: HashMap<UrlKey, UrlState>,
    pub(crate) queued: Vec<(u64, u64, Entry)>,
    pub(crate) dequeued: Vec<(u64, u64)>,
    pub(crate) hosts: Vec<String>,
    pub(crate) notes: Vec<(String, &'static str, Vec<u8>)>,
}

impl Batch {
    pub(crate) fn is_empty(&self) -> bool {
        self.states.is_empty()
            && self.queued.is_empty()
            && self.dequeued.is_empty()
            && self.notes.is_empty()
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Counters {
    pub(crate) next: u64,
    /// Keys of the URL table that are refusals.
    pub(crate) refused: u64,
    pub(crate) queue_bytes: QueueBytes,
}

pub(crate) type Classes = [u64; CLASSES as usize];

/// A row of a queue: its number, and its entry unless the row is damaged.
pub(crate) type Row = (u64, Option<Entry>);

#[derive(Debug)]
pub(crate) struct Disk {
    /// `None` only while it is being dropped or verified.
    db: Option<Database>,
    path: PathBuf,
    /// redb has panicked, so its state in memory is unknown.
    broken: AtomicBool,
    /// The first damage found. Later errors repeat it: otherwise the user would be advised to run the command again.
    damage: OnceLock<String>,
}

impl Drop for Disk {
    fn drop(&mut self) {
        let db = self.db.take();
        if self.broken.load(Relaxed) {
            std::mem::forget(db);
        } else {
            let _ = guarded(|| drop(db));
        }
    }
}

impl Disk {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        if !path.exists() {
            // Created under a temporary name, so that a kill leaves no incomplete file.
            let new = path.with_extension("new");
            let error = |source| Error::Io { path: new.clone(), source };
            match std::fs::remove_file(&new) {
                Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                    return Err(error(source));
                }
                _ => {}
            }
            drop(Self::create(&new)?);
            std::fs::rename(&new, path).map_err(error)?;
            if cfg!(unix)
                && let Some(folder) = path.parent()
            {
                std::fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(error)?;
            }
        }
        if std::fs::metadata(path).is_ok_and(|meta| meta.len() == 0) {
            return Err(empty(path));
        }
        Self::create(path)
    }

    /// Waits for readers, which hold the file for a moment.
    fn create(path: &Path) -> Result<Self> {
        let began = Instant::now();
        loop {
            match Self::with_database(path, |builder| builder.create(path)) {
                Err(Error::Locked(_)) if began.elapsed() < READERS => std::thread::sleep(PAUSE),
                opened => return opened,
            }
        }
    }

    /// Opens the file for reading; writes stay in memory.
    pub(crate) fn open_read_only(path: &Path) -> Result<Self> {
        match std::fs::metadata(path) {
            Ok(meta) if meta.len() == 0 => return Err(empty(path)),
            Err(source) => return Err(Error::Io { path: path.to_owned(), source }),
            Ok(_) => {}
        }
        Self::with_database(path, |builder| builder.create_with_backend(ReadOnlyFile::open(path)?))
    }

    fn with_database(
        path: &Path,
        open: impl FnOnce(&mut redb::Builder) -> std::result::Result<Database, DatabaseError>,
    ) -> Result<Self> {
        let open = || open(Database::builder().set_cache_size(CACHE_BYTES));
        let damaged = |what| Error::Damaged { path: path.to_owned(), what };
        let db = guarded(open).map_err(damaged)?.map_err(|e| match e {
            DatabaseError::DatabaseAlreadyOpen => Error::Locked(path.to_owned()),
            other => translate(path, other.into()),
        })?;
        let disk = Self {
            db: Some(db),
            path: path.to_owned(),
            broken: AtomicBool::new(false),
            damage: OnceLock::new(),
        };
        disk.check_version()?;
        Ok(disk)
    }

    fn check_version(&self) -> Result<()> {
        match self.meta("version")? {
            Some(bytes) if bytes == VERSION.to_le_bytes() => Ok(()),
            Some(_) => Err(Error::Damaged {
                path: self.path.clone(),
                what: "written by another version. Use that version, or start over with --fresh"
                    .into(),
            }),
            None => self.write(|txn| {
                let mut meta = txn.open_table(META)?;
                meta.insert("version", VERSION.to_le_bytes().as_slice())?;
                meta.insert(NEXT, FIRST.to_le_bytes().as_slice())?;
                meta.insert(COUNTED, FIRST.to_le_bytes().as_slice())?;
                meta.insert(ALL_INLINKS, [].as_slice())?;
                txn.open_table(URLS)?;
                txn.open_table(QUEUE)?;
                txn.open_table(WAITING)?;
                txn.open_table(HOSTS)?;
                Ok(())
            }),
        }
    }

    pub(crate) fn meta(&self, name: &str) -> Result<Option<Vec<u8>>> {
        self.read(|txn| match txn.open_table(META) {
            Ok(table) => Ok(table.get(name)?.map(|value| value.value().to_vec())),
            Err(redb::TableError::TableDoesNotExist(_)) => Ok(None),
            Err(other) => Err(other.into()),
        })
    }

    pub(crate) fn hosts(&self) -> Result<Vec<String>> {
        self.read(|txn| {
            let table = txn.open_table(HOSTS)?;
            let mut hosts = Vec::new();
            for row in table.iter()? {
                hosts.push(row?.0.value().to_owned());
            }
            Ok(hosts)
        })
    }

    /// Returns the number of URLs that were ever seen or refused.
    pub(crate) fn url_count(&self) -> Result<u64> {
        self.read(|txn| Ok(txn.open_table(URLS)?.len()?))
    }

    pub(crate) fn state(&self, key: UrlKey) -> Result<Option<UrlState>> {
        self.read(|txn| {
            let state = txn.open_table(URLS)?.get(key)?.map(|state| state.value());
            let queued = UrlState::Queued as u8;
            Ok(state.map(|s| if s == queued { UrlState::Queued } else { UrlState::Done }))
        })
    }

    pub(crate) fn note(&self, subject: &str, kind: &str) -> Result<Option<Vec<u8>>> {
        self.read(|txn| match txn.open_table(NOTES) {
            Ok(table) => Ok(table.get((subject, kind))?.map(|value| value.value().to_vec())),
            Err(redb::TableError::TableDoesNotExist(_)) => Ok(None),
            Err(other) => Err(other.into()),
        })
    }

    pub(crate) fn found_inlinks(&self, key: UrlKey) -> Result<Vec<String>> {
        self.read(|txn| referrers(key, txn))
    }

    /// Adds inlinks that were found in the archive, and records that they are all.
    pub(crate) fn add_inlinks(&self, found: &FoundInlinks, all: bool) -> Result<()> {
        self.write(|txn| {
            found.write(txn)?;
            if all {
                txn.open_table(META)?.insert(ALL_INLINKS, [].as_slice())?;
            }
            Ok(())
        })
    }

    pub(crate) fn notes(&self, kind: &str, mut visit: impl FnMut(&str, &[u8])) -> Result<()> {
        self.read(|txn| {
            let table = match txn.open_table(NOTES) {
                Ok(table) => table,
                Err(redb::TableError::TableDoesNotExist(_)) => return Ok(()),
                Err(other) => return Err(other.into()),
            };
            for row in table.iter()? {
                let (key, value) = row?;
                if key.value().1 == kind {
                    visit(key.value().0, value.value());
                }
            }
            Ok(())
        })
    }

    pub(crate) fn position(&self, host: u64, url: &str) -> Result<Option<(u64, Entry)>> {
        self.read(|txn| {
            let table = txn.open_table(QUEUE)?;
            for (before, row) in table.range((host, 0)..=(host, u64::MAX))?.enumerate() {
                let (_, value) = row?;
                if let Some(entry) = Entry::decode(value.value())
                    && entry.url.as_str() == url
                {
                    return Ok(Some((before as u64, entry)));
                }
            }
            Ok(None)
        })
    }

    /// Returns rows of a host's queue from sequence `from` on, of one class, up to `limit` rows and `bytes`, but at
    /// least one row. The entry of a damaged row is `None`. The flag says whether more rows may follow.
    pub(crate) fn queue(
        &self,
        host: u64,
        from: u64,
        limit: usize,
        bytes: usize,
    ) -> Result<(Vec<Row>, bool)> {
        self.read(|txn| {
            let table = txn.open_table(QUEUE)?;
            let (mut entries, mut left) = (Vec::new(), bytes);
            let last = sequence(class_of(from), u64::MAX);
            for row in table.range((host, from)..=(host, last))? {
                let (key, value) = row?;
                let taken = value.value().len() + size_of::<Entry>();
                entries.push((key.value().1, Entry::decode(value.value())));
                left = left.saturating_sub(taken);
                if left == 0 || entries.len() >= limit {
                    return Ok((entries, true));
                }
            }
            Ok((entries, false))
        })
    }

    /// Returns the number of queued URLs of each host and class, and the number of the next entry. Counts the whole
    /// queue if the table of counts is missing, damaged or out of date.
    pub(crate) fn queued(&self) -> Result<(HashMap<u64, Classes>, u64)> {
        match self.counted() {
            Ok(Some(counted)) => return Ok(counted),
            // The queue itself has the same information.
            Ok(None) | Err(Error::Damaged { .. }) => {}
            Err(other) => return Err(other),
        }
        let (mut counts, mut next) = (HashMap::new(), 0);
        self.write(|txn| {
            let mut meta = txn.open_table(META)?;
            // A version without classes may have stored the highest number with its class.
            next = number_of(number(&meta, NEXT)?.unwrap_or(0)).max(FIRST);
            for row in txn.open_table(QUEUE)?.iter()? {
                let (host, sequence) = row?.0.value();
                next = next.max(number_of(sequence) + 1);
                add(&mut counts, (host, class_of(sequence)), 1);
            }
            meta.insert(NEXT, next.to_le_bytes().as_slice())?;
            meta.insert(COUNTED, next.to_le_bytes().as_slice())?;
            txn.delete_table(WAITING)?;
            let mut waiting = txn.open_table(WAITING)?;
            for (&host, classes) in &counts {
                for (class, &count) in (0..).zip(classes).filter(|(_, count)| **count > 0) {
                    waiting.insert((host, class), count)?;
                }
            }
            Ok(())
        })?;
        Ok((counts, next))
    }

    /// Returns the table of counts if it matches the queue. A version that does not maintain the table either assigns
    /// a new number or shortens the queue; both are detected.
    fn counted(&self) -> Result<Option<(HashMap<u64, Classes>, u64)>> {
        self.read(|txn| {
            let meta = txn.open_table(META)?;
            let (next, at) = (number(&meta, NEXT)?, number(&meta, COUNTED)?);
            let Some(next) = next.filter(|_| next == at) else { return Ok(None) };
            let mut counts = HashMap::new();
            for row in txn.open_table(WAITING)?.iter()? {
                let (key, count) = row?;
                if !add(&mut counts, key.value(), count.value()) {
                    return Ok(None);
                }
            }
            // A count for an unknown host would never be used, so it is an error.
            let (mut known, mut all) = (0, Some(0u64));
            for name in txn.open_table(HOSTS)?.iter()? {
                if let Some(classes) = counts.get(&host_hash(name?.0.value())) {
                    known += 1;
                    all = classes.iter().fold(all, |all, of| all?.checked_add(*of));
                }
            }
            let same = known == counts.len() && all == Some(txn.open_table(QUEUE)?.len()?);
            Ok(same.then_some((counts, next)))
        })
    }

    /// Compares every page of the file with its checksum.
    ///
    /// # Complexity
    /// Reads the whole file.
    pub(crate) fn verify(&mut self) -> Result<()> {
        let mut db = self.db.take();
        let done = self.guarded(|| db.as_mut().map(Database::check_integrity));
        self.db = db;
        match done? {
            Some(Ok(true)) => Ok(()),
            Some(Err(error)) => Err(translate(&self.path, error.into())),
            Some(Ok(false)) | None => Err(Error::Damaged {
                path: self.path.clone(),
                what: format!("pages do not match their checksums: {ADVICE}"),
            }),
        }
    }

    pub(crate) fn commit(&self, batch: &Batch, counters: Counters, payload: &[u8]) -> Result<()> {
        self.write(|txn| {
            {
                let mut urls = txn.open_table(URLS)?;
                for (key, state) in &batch.states {
                    urls.insert(key, *state as u8)?;
                }
                let mut queue = txn.open_table(QUEUE)?;
                // Rows added and removed. A probe has no row, so only actual changes count.
                let mut changes: BTreeMap<(u64, u8), (u64, u64)> = BTreeMap::new();
                for (host, sequence, entry) in &batch.queued {
                    if queue.insert((*host, *sequence), entry.encode().as_slice())?.is_none() {
                        changes.entry((*host, class_of(*sequence))).or_default().0 += 1;
                    }
                }
                for key in &batch.dequeued {
                    if queue.remove(key)?.is_some() {
                        changes.entry((key.0, class_of(key.1))).or_default().1 += 1;
                    }
                }
                let mut waiting = txn.open_table(WAITING)?;
                for (key, (came, went)) in changes {
                    let before = waiting.get(key)?.map_or(0, |count| count.value());
                    match before.saturating_add(came).saturating_sub(went) {
                        0 => drop(waiting.remove(key)?),
                        count => drop(waiting.insert(key, count)?),
                    }
                }
                let mut hosts = txn.open_table(HOSTS)?;
                for host in &batch.hosts {
                    hosts.insert(host.as_str(), ())?;
                }
                let mut notes = txn.open_table(NOTES)?;
                for (subject, kind, value) in &batch.notes {
                    notes.insert((subject.as_str(), *kind), value.as_slice())?;
                }
                let mut meta = txn.open_table(META)?;
                meta.insert("payload", payload)?;
                meta.insert(NEXT, counters.next.to_le_bytes().as_slice())?;
                meta.insert(COUNTED, counters.next.to_le_bytes().as_slice())?;
                meta.insert("refused", counters.refused.to_le_bytes().as_slice())?;
                let QueueBytes { all, recent } = counters.queue_bytes;
                meta.insert("queue_bytes", all.to_le_bytes().as_slice())?;
                meta.insert("recent_bytes", recent.to_le_bytes().as_slice())?;
            }
            Ok(())
        })
    }

    /// Makes the file one of a version that kept no inlinks.
    #[cfg(test)]
    pub(crate) fn forget_all_inlinks(&self) {
        let removed = self.write(|txn| {
            txn.open_table(META)?.remove(ALL_INLINKS)?;
            Ok(())
        });
        removed.unwrap();
    }

    /// Blocks commits until the returned transaction is dropped.
    #[cfg(test)]
    pub(crate) fn hold(&self) -> redb::WriteTransaction {
        self.db.as_ref().unwrap().begin_write().unwrap()
    }

    fn read<T>(
        &self,
        work: impl FnOnce(&redb::ReadTransaction) -> std::result::Result<T, redb::Error>,
    ) -> Result<T> {
        self.with(|db| work(&db.begin_read()?))
    }

    fn write(
        &self,
        work: impl FnOnce(&redb::WriteTransaction) -> std::result::Result<(), redb::Error>,
    ) -> Result<()> {
        self.with(|db| {
            let mut txn = db.begin_write()?;
            // Costs one more sync per commit; without it, opening after a kill would read the whole file.
            txn.set_quick_repair(true);
            work(&txn)?;
            txn.commit()?;
            Ok(())
        })
        .inspect_err(|error| self.remember(error))
    }

    fn remember(&self, error: &Error) {
        if let Error::Damaged { what, .. } = error {
            // Keeps only the first damage: it is the cause.
            let _ = self.damage.set(what.clone());
        }
    }

    pub(crate) fn poisoned(&self) -> Error {
        match self.damage.get() {
            Some(what) => Error::Damaged { path: self.path.clone(), what: what.clone() },
            None => Error::Poisoned,
        }
    }

    fn with<T>(
        &self,
        work: impl FnOnce(&Database) -> std::result::Result<T, redb::Error>,
    ) -> Result<T> {
        let Some(db) = self.db.as_ref().filter(|_| !self.broken.load(Relaxed)) else {
            return Err(self.poisoned());
        };
        self.guarded(|| work(db))?.map_err(|error| match error {
            redb::Error::PreviousIo => self.poisoned(),
            error => translate(&self.path, error),
        })
    }

    fn guarded<T>(&self, work: impl FnOnce() -> T) -> Result<T> {
        guarded(work)
            .map_err(|what| {
                self.broken.store(true, Relaxed);
                Error::Damaged { path: self.path.clone(), what }
            })
            .inspect_err(|error| self.remember(error))
    }
}

/// Returns `false` for an invalid class or if the sum overflows.
fn add(counts: &mut HashMap<u64, Classes>, (host, class): (u64, u8), more: u64) -> bool {
    let count = counts.entry(host).or_default().get_mut(usize::from(class));
    let sum = count.as_ref().and_then(|count| count.checked_add(more));
    count.zip(sum).map(|(count, sum)| *count = sum).is_some()
}

fn number(
    meta: &impl ReadableTable<&'static str, &'static [u8]>,
    name: &str,
) -> std::result::Result<Option<u64>, redb::Error> {
    Ok(meta.get(name)?.and_then(|value| value.value().try_into().ok()).map(u64::from_le_bytes))
}

/// redb would take an empty file for a new one, and the crawl would lose its history.
fn empty(path: &Path) -> Error {
    Error::Damaged { path: path.to_owned(), what: format!("it is empty: {ADVICE}") }
}

fn translate(path: &Path, error: redb::Error) -> Error {
    let path = path.to_owned();
    match error {
        redb::Error::Io(source) if !is_damage(&source) => Error::Io { path, source },
        redb::Error::PreviousIo => Error::Poisoned,
        other => Error::Damaged { path, what: format!("it cannot be read ({other}): {ADVICE}") },
    }
}

/// Returns whether a damaged file causes this error: redb reads beyond its end or at an impossible offset, or reports
/// invalid data. Other errors come from the file system.
fn is_damage(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof)
}
