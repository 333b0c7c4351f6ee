//! The durable state in one redb file: the state of each URL, and the queue of each host.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use redb::{
    Database, DatabaseError, ReadableDatabase, ReadableTable, ReadableTableMetadata,
    TableDefinition,
};

use hapax_url::UrlKey;

use crate::Entry;
use crate::bounds::QueueBytes;
use crate::entry::CLASSES;
use crate::error::{Error, Result};
use crate::guard::{ADVICE, guarded};
use crate::host::{class_of, host_hash, number_of, sequence};
use crate::read_only::ReadOnlyFile;

const VERSION: u64 = 1;
const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");
/// The number of the next entry, and what it was when the table of counts was last written.
const NEXT: &str = "next";
const COUNTED: &str = "counted";
const FIRST: u64 = 1;
/// URL key -> state (one byte).
const URLS: TableDefinition<'_, u128, u8> = TableDefinition::new("urls");
/// (host key, sequence, which begins with the class) -> depth and URL.
const QUEUE: TableDefinition<'_, (u64, u64), &[u8]> = TableDefinition::new("queue");
/// (host key, class) -> how many rows of the queue are there, so that an open need not count them.
const WAITING: TableDefinition<'_, (u64, u8), u64> = TableDefinition::new("waiting");
/// Host name -> nothing: the list of hosts.
const HOSTS: TableDefinition<'_, &str, ()> = TableDefinition::new("hosts");
/// (host or URL, kind) -> what is remembered of it.
const NOTES: TableDefinition<'_, (&str, &str), &[u8]> = TableDefinition::new("notes");
/// redb's page cache; the rest of the file stays on disk.
const CACHE_BYTES: usize = 32 << 20;

/// What is known of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum UrlState {
    Queued = 0,
    Done = 1,
}

/// Changes since the last commit.
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

/// What else a commit writes down.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counters {
    /// The sequence number of the next entry.
    pub(crate) next: u64,
    /// How many of the URL table's keys stand for refusals.
    pub(crate) refused: u64,
    /// Bytes of the URLs that wait.
    pub(crate) queue_bytes: QueueBytes,
}

/// How many URLs of each class.
pub(crate) type Classes = [u64; CLASSES as usize];

/// A row of a queue: its number, and its entry if that can be read.
pub(crate) type Row = (u64, Option<Entry>);

#[derive(Debug)]
pub(crate) struct Disk {
    /// Until it is dropped.
    db: Option<Database>,
    path: PathBuf,
    /// It has panicked: what it holds of itself is unknown.
    broken: AtomicBool,
    /// The first damage that ended the use of the file: each later error names it again, for whoever meets that first
    /// must not be advised to repeat the command.
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
            // Under another name until it is whole: a kill in the midst leaves no file that nobody can read.
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

    fn create(path: &Path) -> Result<Self> {
        Self::with_database(path, |builder| builder.create(path))
    }

    /// Opens the file for reading: what is written stays in memory.
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
                what: "written by another version: use that one, or start with --fresh".into(),
            }),
            None => self.write(|txn| {
                let mut meta = txn.open_table(META)?;
                meta.insert("version", VERSION.to_le_bytes().as_slice())?;
                meta.insert(NEXT, FIRST.to_le_bytes().as_slice())?;
                meta.insert(COUNTED, FIRST.to_le_bytes().as_slice())?;
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

    /// How many URLs were ever seen or refused.
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

    /// The first rows of a host's queue from sequence `from` on, of its class, up to `limit` of them and
    /// `bytes`, but one at least; `None` for one that is no entry. With them, whether more may follow.
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

    /// How many URLs of each class wait for each host, and the number of the next entry. The whole queue is
    /// counted where the table of counts is missing or damaged, or another version went on without it.
    pub(crate) fn queued(&self) -> Result<(HashMap<u64, Classes>, u64)> {
        match self.counted() {
            Ok(Some(counted)) => return Ok(counted),
            // The table says nothing that the queue does not.
            Ok(None) | Err(Error::Damaged { .. }) => {}
            Err(other) => return Err(other),
        }
        let (mut counts, mut next) = (HashMap::new(), 0);
        self.write(|txn| {
            let mut meta = txn.open_table(META)?;
            // A version that knew no classes may have stored the highest number with its class.
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

    /// What the table of counts says, if it is the queue's: who adds a row without it gives out a number, who
    /// only removes some makes the queue shorter.
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
            // Of a host that nobody knows nothing would be asked for.
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

    /// Holds every page of the file against its checksum.
    ///
    /// # Complexity
    /// Reads the file whole.
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
                // Rows that came, and rows that went: a probe never had one.
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

    /// Commits wait for as long as this lives.
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
            // One more sync a commit, and an open after a kill reads no more than any other.
            txn.set_quick_repair(true);
            work(&txn)?;
            txn.commit()?;
            Ok(())
        })
        .inspect_err(|error| self.remember(error))
    }

    fn remember(&self, error: &Error) {
        if let Error::Damaged { what, .. } = error {
            // The first one is the cause.
            let _ = self.damage.set(what.clone());
        }
    }

    /// Why the file is not used any more.
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

/// `false` for a class that there is not, or a count that is none.
fn add(counts: &mut HashMap<u64, Classes>, (host, class): (u64, u8), more: u64) -> bool {
    let count = counts.entry(host).or_default().get_mut(usize::from(class));
    let sum = count.as_ref().and_then(|count| count.checked_add(more));
    count.zip(sum).map(|(count, sum)| *count = sum).is_some()
}

/// A number among what is written down.
fn number(
    meta: &impl ReadableTable<&'static str, &'static [u8]>,
    name: &str,
) -> std::result::Result<Option<u64>, redb::Error> {
    Ok(meta.get(name)?.and_then(|value| value.value().try_into().ok()).map(u64::from_le_bytes))
}

/// An empty file would be taken for a new one, in which nothing was ever fetched.
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

/// Whether a damaged file leads to this error: redb asks for a place behind its end, for one that no file has, or says
/// itself that something cannot be. Other errors are of the file system.
fn is_damage(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof)
}
