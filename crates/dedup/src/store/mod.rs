//! Documents, looked up by fingerprint and sketch, each stored once.

mod chain;
pub(crate) mod columns;
mod compact;
mod confirmed;
mod deleted;
mod file_names;
mod filter;
mod idmap;
mod journal;
mod keys;
mod manifest;
mod memtable;
mod open;
mod options;
mod proposals;
mod resident;
mod segment;
mod snapshot;
mod view;
mod writer;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use self::compact::{Ended, NewDigests};
use self::journal::Journal;
use self::writer::{PILED, Writer};
use crate::Fingerprint;
use crate::dir::{Directory, FsDirectory, Guard, MemDirectory};
use crate::error::{Error, Result};
use crate::policy::{Neighbour, Verdict};
use crate::record::{DocId, Document, Record};

pub use self::options::Options;
pub use self::proposals::MAX_CANDIDATES;
pub use self::snapshot::{Report, Snapshot};

/// Documents, looked up by fingerprint and sketch, each stored once.
///
/// On disk every commit is durable when it returns, and what was not committed is gone after a
/// crash, whole. One process holds a folder at a time; in it, any number of threads may share a
/// store: offers come one after the other, look-ups of a [`Snapshot`] run beside them, and commits
/// that come at the same time share its two syncs.
///
/// New documents lie in memory and in a journal. When there are enough of them a thread writes them
/// into a segment, and merges segments so that there are at most six beside those of some 2^28
/// documents, which are full; each segment's tables are arranged as [`plans`](crate::plans) finds
/// best for their number.
pub struct Store {
    options: Options,
    dir: Arc<dyn Directory>,
    /// Whose turn it is to commit.
    turn: Mutex<Turn>,
    freed: Condvar,
    /// Taken before `writer` where both are needed.
    journal: Mutex<Journal>,
    writer: Mutex<Writer>,
    /// Let go last.
    _guard: Guard,
}

/// Not what is in it: that may be gigabytes, and behind a lock that is held.
impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("Store");
        all.field("path", &self.dir.path()).field("options", &self.options).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct Turn {
    /// Somebody is committing.
    busy: bool,
    /// Up to which commit everything is durable.
    durable: u64,
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What a panic leaves half done is in memory only: the writer is poisoned by a flag of its own, which is set
    // while a document is put there.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Store {
    /// A store in memory: the same segments and merges, in no folder.
    ///
    /// # Errors
    /// [`Error::Distance`], [`Error::Threshold`], [`Error::RecipeName`].
    pub fn in_memory(options: Options) -> Result<Self> {
        Self::open_in(Arc::new(MemDirectory::new()), options)
    }

    /// Opens or creates the store in `folder`.
    ///
    /// # Errors
    /// [`Error::Locked`] if it is open already, [`Error::Corrupt`], [`Error::Version`] and
    /// [`Error::Recipe`] for what lies there, [`Error::Io`] from the file system, [`Error::TooMany`] if its journals hold
    /// more than memory may; [`Error::Distance`], [`Error::Threshold`] and [`Error::RecipeName`] for the options.
    ///
    /// # Complexity
    /// Reads the footers of the segments, the list of the deleted with a field of each, and the
    /// journals: what no segment holds yet. With the feature `sled` a thread opens its cache and reads the keys of the
    /// last documents that it lacks.
    pub fn open(folder: impl AsRef<Path>, options: Options) -> Result<Self> {
        let folder: PathBuf = folder.as_ref().to_owned();
        let dir = FsDirectory::create(&folder).map_err(Error::io(&folder))?;
        Self::open_with(Arc::new(dir), Some(&folder), options)
    }

    /// Opens the store in `folder`, which must be there.
    ///
    /// # Errors
    /// [`Error::Io`] of kind `NotFound` if there is none, else as [`open`](Self::open).
    pub fn open_existing(folder: impl AsRef<Path>, options: Options) -> Result<Self> {
        let manifest = folder.as_ref().join(manifest::NAME);
        if !manifest.exists() {
            let source = std::io::ErrorKind::NotFound.into();
            return Err(Error::Io { path: manifest, source });
        }
        Self::open(folder, options)
    }

    /// Opens or creates the store in a [`Directory`] of the caller's.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_in(dir: Arc<dyn Directory>, options: Options) -> Result<Self> {
        Self::open_with(dir, None, options)
    }

    /// How many documents are stored, duplicates among them.
    pub fn len(&self) -> u64 {
        held(&self.writer).documents()
    }

    /// Whether none is stored.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of the next document. Numbers of deleted ones are not given again.
    pub fn next_id(&self) -> DocId {
        held(&self.writer).view.end
    }

    /// How many of the documents are duplicates.
    pub fn duplicates(&self) -> u64 {
        held(&self.writer).duplicates
    }

    /// How often a document was left out of a band's list because it was full.
    pub fn capped_bands(&self) -> u64 {
        held(&self.writer).capped()
    }

    /// Whether sled's folder was damaged: when the store was opened it was set aside as
    /// `ids.damaged` and filled anew; what shows itself later ends its use, and it is set aside when the
    /// store is closed. Nothing but time is lost by that. Waits until the folder has been opened, some 20 ms, and
    /// others wait meanwhile: ask when the work is done.
    pub fn cache_was_set_aside(&self) -> bool {
        held(&self.writer).ids.was_set_aside()
    }

    /// What the last commit carries, see [`commit`](Self::commit): from the moment that one is asked for, also
    /// while it is under way and if it fails. After an open: what the last one carried that is durable.
    pub fn payload(&self) -> Vec<u8> {
        held(&self.writer).payload.clone()
    }

    /// The document offered under `key`.
    ///
    /// # Errors
    /// [`Error::Corrupt`] from a segment.
    pub fn id_of(&self, key: &[u8]) -> Result<Option<DocId>> {
        held(&self.writer).id_of(key)
    }

    /// The document that `id` was discarded for, if it was.
    ///
    /// # Errors
    /// [`Error::Corrupt`] from a segment.
    pub fn duplicate_of(&self, id: DocId) -> Result<Option<DocId>> {
        let view = self.snapshot().view;
        Ok(view.with_row(id, false, |row| row.of)?.flatten())
    }

    /// The whole record of a document; `None` if there is none of that number.
    ///
    /// # Errors
    /// [`Error::Corrupt`] from a segment.
    pub fn record(&self, id: DocId) -> Result<Option<Record>> {
        self.snapshot().record(id)
    }

    /// All stored documents that `document` duplicates by the policy, best first: equal text, then
    /// by similarity, distance and age. All are found, where a decision looks at [`MAX_CANDIDATES`] of equal
    /// ones.
    ///
    /// # Errors
    /// [`Error::Corrupt`] from a segment.
    pub fn matches(&self, document: &Document<'_>) -> Result<Vec<Neighbour>> {
        self.snapshot().matches(document)
    }

    /// As [`matches`](Self::matches), but of equal ones those that a decision looks at:
    /// [`MAX_CANDIDATES`], the oldest and the newest. What [`offer`](Self::offer) decides by, for who
    /// decides otherwise.
    ///
    /// # Errors
    /// [`Error::Corrupt`] from a segment.
    pub fn first_matches(&self, document: &Document<'_>) -> Result<Vec<Neighbour>> {
        self.snapshot().first_matches(document)
    }

    /// The documents whose fingerprints are within the policy's distance, with the distance,
    /// nearest first, then oldest first. No other evidence is asked for. Not among them are documents
    /// without tokens, and discarded ones unless [`Options::keep_duplicates`] says so.
    ///
    /// # Errors
    /// [`Error::Corrupt`] from a segment.
    ///
    /// # Complexity
    /// One look-up in the tables of each segment (six, and those that are full) and in memory, see [`Tables`](crate::Tables),
    /// and one read of a record's row for each document found.
    pub fn near(&self, fingerprint: Fingerprint) -> Result<Vec<(DocId, u32)>> {
        self.snapshot().near(fingerprint)
    }

    /// Calls `visit` with the number of a query, a document within the distance, and the distance;
    /// the look-ups of many queries overlap.
    ///
    /// # Errors
    /// [`Error::Corrupt`] from a segment.
    pub fn near_many(
        &self,
        queries: &[Fingerprint],
        visit: impl FnMut(usize, DocId, u32),
    ) -> Result<()> {
        self.snapshot().near_many(queries, visit)
    }

    /// The store as it stands now, for look-ups on other threads while this one goes on.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { view: held(&self.writer).view.clone() }
    }

    /// Looks a document up and inserts it, in one step: of two near-duplicates offered at the same
    /// moment exactly one is new. The same key again is [`Verdict::Known`] and changes nothing.
    ///
    /// # Errors
    /// [`Error::KeyTooLong`], [`Error::Corrupt`] from a segment, [`Error::Poisoned`],
    /// [`Error::TooMany`] from 2^27 documents on in memory that no segment is being made of: commit.
    ///
    /// # Complexity
    /// That of [`near`](Self::near) and of 16 look-ups of bands where the document has a sketch, or of one
    /// look-up in memory while fingerprints are [resident](Options::resident_bytes); comparing evidence
    /// with each document found, of equal ones with at most [`MAX_CANDIDATES`]. The insertion is amortised over merges: each document is written once
    /// for each doubling or so of the store.
    pub fn offer(&self, document: &Document<'_>) -> Result<Verdict> {
        let mut verdicts =
            self.writer_with_room().offer(std::slice::from_ref(document), None, &self.options)?;
        verdicts.pop().ok_or(Error::Poisoned)
    }

    /// [`offer`](Self::offer) for each document in order, with the look-ups in the segments done
    /// together. The verdicts are the same.
    ///
    /// # Errors
    /// As [`offer`](Self::offer). If one's key is too long, nothing is inserted. After another error all but the
    /// last 31 of those before the one that failed are inserted, and of these perhaps some: offered again they are
    /// [`Verdict::Known`].
    pub fn offer_many(&self, documents: &[Document<'_>]) -> Result<Vec<Verdict>> {
        self.writer_with_room().offer(documents, None, &self.options)
    }

    /// The documents whose digest has no mark of a strong one ([`Options::strong_digests`]) and equals
    /// `former`, as far as the policy takes `document` for their duplicate, best first. `former` is the
    /// digest of the document's text by the method of before.
    ///
    /// # Errors
    /// [`Error::Corrupt`] from a segment.
    ///
    /// # Complexity
    /// One look-up by digest in each segment and in memory.
    pub fn equal_by_former_digest(
        &self,
        document: &Document<'_>,
        former: [u8; 16],
    ) -> Result<Vec<Neighbour>> {
        self.snapshot().view.equal_by_former_digest(document, former)
    }

    /// Stores the document of a record again, under the next number and with the mark of its digest. A
    /// key that is known keeps its first record, as for [`insert`](Self::insert).
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn insert_record(&self, record: &Record, of: Option<DocId>) -> Result<DocId> {
        let options = Options { strong_digests: record.strong_digest, ..self.options.clone() };
        self.writer_with_room().insert(&record.document(), of, &options)
    }

    /// Replaces digests in all segments: `strong` returns the strong digest of the document with this
    /// number, or `None` for one that keeps what it has. What is in memory is committed and becomes a
    /// segment first. Each segment is replaced in one step: after a crash some documents have the new
    /// digest, the others keep the former one, and calling this again goes on.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    ///
    /// # Complexity
    /// Reads and writes every segment once, within [`Options::merge_bytes`] of memory and 17 bytes a
    /// document of the largest segment.
    pub fn replace_digests(
        &self,
        strong: impl Fn(DocId) -> Option<[u8; 16]> + Send + Sync + 'static,
    ) -> Result<()> {
        self.commit_with(None)?;
        self.begin_to_settle(false, Some(NewDigests(Arc::new(strong))))?;
        self.wait()
    }

    /// Stores a document under a verdict that the caller has reached, as a duplicate of `of` or as
    /// new. A key that is known keeps its first record, and its number is returned.
    ///
    /// # Errors
    /// [`Error::KeyTooLong`] for a key above [`MAX_KEY`](crate::MAX_KEY) bytes, [`Error::NoDocument`] if `of` was never
    /// given, [`Error::Corrupt`] from a segment, [`Error::Poisoned`], [`Error::TooMany`].
    pub fn insert(&self, document: &Document<'_>, of: Option<DocId>) -> Result<DocId> {
        self.writer_with_room().insert(document, of, &self.options)
    }

    /// Removes a document; its key is unknown from here on, and no later document is a duplicate
    /// of it. Those discarded for it before still name it. `false` if there is none of that number.
    ///
    /// # Errors
    /// [`Error::Corrupt`] from a segment, [`Error::Poisoned`].
    pub fn delete(&self, id: DocId) -> Result<bool> {
        held(&self.writer).delete(id)
    }

    /// Takes a discarded document back: it becomes a document like any other, which later ones can
    /// duplicate, under a new number, which is returned. One that was not discarded keeps its own.
    /// `None` if there is none of that number.
    ///
    /// # Errors
    /// [`Error::Corrupt`] from a segment, [`Error::Poisoned`], [`Error::TooMany`].
    pub fn restore(&self, id: DocId) -> Result<Option<DocId>> {
        held(&self.writer).restore(id)
    }

    /// Makes one document a duplicate of another, which is taken back first if it was discarded
    /// itself. Returns the first one's number from here on; `None`, and nothing is changed, if one
    /// of the two is not there or both are one.
    ///
    /// # Errors
    /// [`Error::Corrupt`] from a segment, [`Error::Poisoned`], [`Error::TooMany`].
    pub fn supersede(&self, id: DocId, of: DocId) -> Result<Option<DocId>> {
        held(&self.writer).supersede(id, of, &self.options)
    }

    /// Deletes every document with a time before `before`, and returns how many. Documents without
    /// a time (0) stay.
    ///
    /// # Errors
    /// As [`delete`](Self::delete).
    ///
    /// # Complexity
    /// Reads the times of all documents, and the records of those that go. Their space is given
    /// back by merges.
    pub fn expire(&self, before: u64) -> Result<u64> {
        held(&self.writer).expire(before)
    }

    /// Makes everything done before durable. `payload` comes back from [`payload`](Self::payload)
    /// after the next open: a place for the caller's own positions, moved forward in the same
    /// atomic step. Commits at the same time share its syncs; the last one's payload stands for all.
    ///
    /// # Errors
    /// [`Error::Io`]; then the store is poisoned until it is opened again, for what reached the
    /// disk is unknown. [`Error::PayloadTooLong`] above [`MAX_PAYLOAD`](crate::MAX_PAYLOAD) bytes.
    ///
    /// # Complexity
    /// Two writes, each synced: what was done since the last, then a frame that seals it. A merge that it begins runs on a thread of
    /// its own, and is waited for only once a second full memtable stands behind it.
    pub fn commit(&self, payload: &[u8]) -> Result<()> {
        if payload.len() > crate::limits::MAX_PAYLOAD {
            return Err(Error::PayloadTooLong(payload.len()));
        }
        self.commit_with(Some(payload))
    }

    /// [`commit`](Self::commit) with the payload that stands, whoever else commits meanwhile.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub fn commit_keeping_payload(&self) -> Result<()> {
        self.commit_with(None)
    }

    fn commit_with(&self, payload: Option<&[u8]>) -> Result<()> {
        let ticket = held(&self.writer).announce(payload)?;
        let mut turn = held(&self.turn);
        while turn.busy && turn.durable < ticket {
            turn = self.freed.wait(turn).unwrap_or_else(PoisonError::into_inner);
        }
        if turn.durable >= ticket {
            // Another commit took this one's documents along.
            return Ok(());
        }
        turn.busy = true;
        drop(turn);
        // Also after a panic the others get their turn.
        let _free = Free(self);
        let (durable, result) = self.lead();
        let mut turn = held(&self.turn);
        turn.durable = durable.max(turn.durable);
        result
    }

    /// Commits for everybody who waits: up to which commit all is durable, and how it went.
    fn lead(&self) -> (u64, Result<()>) {
        let mut journal = held(&self.journal);
        let mut writer = held(&self.writer);
        if let Err(error) = writer.usable() {
            return (0, Err(error));
        }
        let (batch, payload, ticket) = writer.take_batch();
        // A full memtable is frozen with nothing in it that is not durable; else others go on
        // offering while this thread waits for the disk.
        let full = writer.is_full(&self.options) || journal.length >= journal::FULL;
        let full = full.then_some(writer);
        let written = catch_unwind(AssertUnwindSafe(|| journal.commit(&batch, &payload)));
        if !matches!(written, Ok(Ok(()))) {
            let mut writer = full.unwrap_or_else(|| held(&self.writer));
            writer.poisoned = true;
            writer.ids.forget_sealed();
            return match written {
                Ok(written) => (0, written),
                Err(panic) => resume_unwind(panic),
            };
        }
        let mut freeze = full.is_some();
        let mut writer = full.unwrap_or_else(|| held(&self.writer));
        writer.reuse(batch);
        if writer.congested(2, &self.options).is_some() {
            // Others may offer meanwhile, so that the next commit freezes.
            drop(writer);
            writer = self.writer_once(|writer| writer.congested(2, &self.options));
            freeze = false;
        }
        let result = writer.after_commit(&mut journal, freeze, &self.dir, &self.options);
        writer.poisoned |= result.is_err();
        (ticket, result)
    }

    /// Writes what is in memory into a segment and merges all segments into one. What was not
    /// committed is committed first.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    ///
    /// # Complexity
    /// Reads and writes every segment once, within [`Options::merge_bytes`] of memory.
    pub fn compact(&self) -> Result<()> {
        self.commit_with(None)?;
        self.settle(true)
    }

    /// Waits until no merge is under way.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub fn wait(&self) -> Result<()> {
        let mut writer = self.writer_once(Writer::under_way);
        writer.take_in()?;
        // Somebody else may have taken in how it went.
        writer.usable()
    }

    /// The writer, once there is nothing to wait for. Look-ups go on meanwhile: the lock is not held.
    fn writer_once(&self, wait: impl Fn(&Writer) -> Option<Ended>) -> MutexGuard<'_, Writer> {
        loop {
            let writer = held(&self.writer);
            let Some(ended) = wait(&writer) else { return writer };
            drop(writer);
            ended.wait();
        }
    }

    /// The writer, for more documents. Who commits waits for merges sooner; this is for offers on
    /// other threads meanwhile.
    fn writer_with_room(&self) -> MutexGuard<'_, Writer> {
        self.writer_once(|writer| writer.congested(PILED, &self.options))
    }

    /// Writes what is durable but in memory only into a segment, so that the next open need not
    /// read it from the journal.
    fn settle(&self, whole: bool) -> Result<()> {
        self.begin_to_settle(whole, None)?;
        self.wait()
    }

    /// The same in the background.
    fn begin_to_settle(&self, whole: bool, digests: Option<NewDigests>) -> Result<()> {
        let mut journal = held(&self.journal);
        let mut writer = self.writer_once(Writer::under_way);
        writer.usable()?;
        let result = writer.settle(&mut journal, (whole, digests), &self.dir, &self.options);
        writer.poisoned |= result.is_err();
        result
    }

    /// Bytes of the store: its segments and its memory.
    pub fn bytes(&self) -> u64 {
        held(&self.writer).bytes()
    }

    /// The arrangement of each segment and how many documents it holds, oldest first.
    pub fn segments(&self) -> Vec<(crate::Layout, u64)> {
        let view = self.snapshot().view;
        view.segments.iter().map(|s| (s.layout().clone(), s.footer.rows)).collect()
    }

    /// Checks every byte of the segments: all blocks against their checksums, and tables and lists
    /// by key and digest against the documents. The lists by band are held against their checksums
    /// alone; journal and manifest are not read, for the open has done so.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for the first thing that is wrong.
    pub fn check(&self) -> Result<Report> {
        self.snapshot().check()
    }

    /// Closes the store in order. Dropping it does the same, but cannot report an error or a panic of a
    /// merge; nothing that was committed is lost either way. Of a shared one: `Arc::into_inner`, or [`wait`](Self::wait)
    /// for its merge and drop it.
    ///
    /// # Errors
    /// As [`commit`](Self::commit); [`Error::Io`] if sled's cache cannot be made durable, of which nothing
    /// but time is lost.
    pub fn close(self) -> Result<()> {
        self.finish()
    }

    fn finish(&self) -> Result<()> {
        let worth = {
            held(&self.writer).hurry();
            let mut writer = self.writer_once(Writer::under_way);
            writer.take_in()?;
            writer.usable()?;
            self.dir.keeps() && writer.worth_settling()
        };
        if worth {
            self.settle(false)?;
        }
        let journal = held(&self.journal);
        let mut writer = held(&self.writer);
        let noted = match self.dir.keeps() {
            true => writer.note_closed(&journal, &self.dir),
            false => Ok(()),
        };
        let closed = writer.ids.close();
        noted.and(closed)
    }
}

/// Ends a turn.
struct Free<'a>(&'a Store);

impl Drop for Free<'_> {
    fn drop(&mut self) {
        held(&self.0.turn).busy = false;
        self.0.freed.notify_all();
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // The journal is the truth: what fails here only makes the next open slower. A job that panicked
        // would end the process here if this drop is part of another panic.
        let _ = catch_unwind(AssertUnwindSafe(|| self.finish()));
    }
}
