//! The document store: look-ups by fingerprint, sketch and key.

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
use self::manifest::Manifest;
use self::writer::{MAX_MEMORY_FACTOR, Writer};
use crate::Fingerprint;
use crate::dir::{Directory, FsDirectory, Guard, MemDirectory};
use crate::error::{Error, Result};
use crate::policy::{Neighbour, Verdict};
use crate::record::{DocId, Document, Record};

pub use self::options::Options;
pub use self::proposals::MAX_CANDIDATES;
pub use self::snapshot::{Report, Snapshot};

/// A store of documents with look-ups by fingerprint, sketch and key.
///
/// A commit is durable when it returns. A crash discards uncommitted changes completely. One process opens a folder
/// at a time. In that process any number of threads may share the store: offers are serialised, look-ups of a
/// [`Snapshot`] run beside them, and concurrent commits share two syncs.
///
/// New documents are kept in memory and in a journal. A background thread writes full memtables into segments and
/// merges segments. At most six segments remain, plus full segments of about 238 million documents. Each segment uses the
/// tables that [`plans`](crate::plans) finds best for its size.
pub struct Store {
    options: Options,
    dir: Arc<dyn Directory>,
    /// The manifest at the open, which [`catch_up`](Self::catch_up) compares.
    opened: Manifest,
    /// Whether a thread is committing.
    turn: Mutex<Turn>,
    freed: Condvar,
    /// Lock order: before `writer`.
    journal: Mutex<Journal>,
    writer: Mutex<Writer>,
    /// Declared last, so that it is dropped last.
    _guard: Guard,
}

/// Omits the content: it may be gigabytes, and its lock may be held.
impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("Store");
        all.field("path", &self.dir.path()).field("options", &self.options).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct Turn {
    /// Whether a thread is committing.
    busy: bool,
    /// The last commit that is durable.
    durable: u64,
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic leaves only memory incomplete. A separate flag poisons the writer; it is set while a document is
    // inserted.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Store {
    /// Creates a store in memory, with the same segments and merges as one on disk.
    ///
    /// # Errors
    /// [`Error::Distance`], [`Error::Threshold`], [`Error::RecipeName`].
    pub fn in_memory(options: Options) -> Result<Self> {
        Self::open_in(Arc::new(MemDirectory::new()), options)
    }

    /// Opens or creates the store in `folder`.
    ///
    /// # Errors
    /// [`Error::Locked`] if the store is already open; [`Error::Corrupt`], [`Error::Version`] and [`Error::Recipe`]
    /// for the stored files; [`Error::Io`] from the file system; [`Error::TooMany`] if the journals hold more than
    /// memory may; [`Error::Distance`], [`Error::Threshold`] and [`Error::RecipeName`] for the options.
    ///
    /// # Complexity
    /// Reads the footers of the segments, the list of deleted documents with one field of each, and the journals.
    /// With the feature `sled` a thread opens the cache and adds the keys that it lacks.
    pub fn open(folder: impl AsRef<Path>, options: Options) -> Result<Self> {
        let folder: PathBuf = folder.as_ref().to_owned();
        let dir = FsDirectory::create(&folder).map_err(Error::io(&folder))?;
        Self::open_with(Arc::new(dir), Some(&folder), options)
    }

    /// Opens the existing store in `folder`.
    ///
    /// # Errors
    /// [`Error::Io`] of kind `NotFound` if there is no store, else as [`open`](Self::open).
    pub fn open_existing(folder: impl AsRef<Path>, options: Options) -> Result<Self> {
        let manifest = folder.as_ref().join(manifest::NAME);
        if !manifest.exists() {
            let source = std::io::ErrorKind::NotFound.into();
            return Err(Error::Io { path: manifest, source });
        }
        Self::open(folder, options)
    }

    /// Opens or creates the store in a [`Directory`] that the caller implements.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_in(dir: Arc<dyn Directory>, options: Options) -> Result<Self> {
        Self::open_with(dir, None, options)
    }

    /// Returns the number of stored documents, duplicates included.
    pub fn len(&self) -> u64 {
        held(&self.writer).documents()
    }

    /// Returns whether the store is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of the next document. Numbers of deleted documents are not reused.
    pub fn next_id(&self) -> DocId {
        held(&self.writer).view.end
    }

    /// Returns the number of stored duplicates.
    pub fn duplicates(&self) -> u64 {
        held(&self.writer).duplicates
    }

    /// Returns the number of times that a full list of a band or name left a document out.
    pub fn capped_bands(&self) -> u64 {
        held(&self.writer).capped()
    }

    /// Returns whether sled's folder was damaged. At open it is moved to `ids.damaged` and rebuilt; later damage ends
    /// its use, and close moves it. Damage costs time, not data.
    ///
    /// The call waits until the folder is open (about 20 ms) and blocks other threads meanwhile: call it after the
    /// work.
    pub fn cache_was_set_aside(&self) -> bool {
        held(&self.writer).ids.was_set_aside()
    }

    /// Returns the payload of the last [`commit`](Self::commit), even if that commit is still running or failed.
    /// After an open it is the last durable payload.
    pub fn payload(&self) -> Vec<u8> {
        held(&self.writer).payload.clone()
    }

    /// Returns the document offered under `key`.
    ///
    /// # Errors
    /// [`Error::Corrupt`] from a segment.
    pub fn id_of(&self, key: &[u8]) -> Result<Option<DocId>> {
        held(&self.writer).id_of(key)
    }

    /// Returns the document that `id` duplicates, if it was discarded.
    ///
    /// # Errors
    /// [`Error::Corrupt`] from a segment.
    pub fn duplicate_of(&self, id: DocId) -> Result<Option<DocId>> {
        let view = self.snapshot().view;
        Ok(view.with_row(id, false, |row| row.of)?.flatten())
    }

    /// Returns the whole record of a document, or `None` if the number is not stored.
    ///
    /// # Errors
    /// [`Error::Corrupt`] from a segment.
    pub fn record(&self, id: DocId) -> Result<Option<Record>> {
        self.snapshot().record(id)
    }

    /// Returns all stored documents that `document` duplicates by the policy, best first: equal text, then
    /// similarity, distance and age. Unlike a decision, it is not limited to [`MAX_CANDIDATES`] equal documents.
    ///
    /// # Errors
    /// [`Error::Corrupt`] from a segment.
    pub fn matches(&self, document: &Document<'_>) -> Result<Vec<Neighbour>> {
        self.snapshot().matches(document)
    }

    /// Returns the candidates by which [`offer`](Self::offer) decides: as [`matches`](Self::matches), but only the
    /// oldest and newest of equal documents, [`MAX_CANDIDATES`] in total. For callers that decide by other rules.
    ///
    /// # Errors
    /// [`Error::Corrupt`] from a segment.
    pub fn first_matches(&self, document: &Document<'_>) -> Result<Vec<Neighbour>> {
        self.snapshot().first_matches(document)
    }

    /// Returns documents within the policy's distance, with the distance: nearest first, then oldest first. It checks
    /// no other evidence. Documents without tokens are left out, and so are duplicates unless
    /// [`Options::keep_duplicates`] is set.
    ///
    /// # Errors
    /// [`Error::Corrupt`] from a segment.
    ///
    /// # Complexity
    /// One look-up in memory and one in the tables of each segment (six, plus full ones), see
    /// [`Tables`](crate::Tables); one row read for each result.
    pub fn near(&self, fingerprint: Fingerprint) -> Result<Vec<(DocId, u32)>> {
        self.snapshot().near(fingerprint)
    }

    /// Calls `visit` with query index, document and distance for each document within the distance. The look-ups of
    /// the queries overlap.
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

    /// Returns the present state of the store, for look-ups on other threads.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { view: held(&self.writer).view.clone() }
    }

    /// Looks a document up and inserts it in one step: of two near-duplicates offered at the same time, exactly one
    /// is new. A known key returns [`Verdict::Known`] and changes nothing.
    ///
    /// # Errors
    /// [`Error::KeyTooLong`]; [`Error::Corrupt`] from a segment; [`Error::Poisoned`]; [`Error::TooMany`] from 2^27
    /// documents on that are in memory and in no running merge: commit first.
    ///
    /// # Complexity
    /// That of [`near`](Self::near), plus 16 band look-ups if the document has a sketch; one look-up in memory while
    /// fingerprints are [resident](Options::resident_bytes). Compares evidence with each result, and with at most
    /// [`MAX_CANDIDATES`] equal documents. Merges rewrite each document about once per doubling of the store.
    pub fn offer(&self, document: &Document<'_>) -> Result<Verdict> {
        let mut verdicts =
            self.writer_with_room().offer(std::slice::from_ref(document), None, &self.options)?;
        verdicts.pop().ok_or(Error::Poisoned)
    }

    /// [Offers](Self::offer) the documents in order and looks them up in the segments together. The verdicts are the
    /// same.
    ///
    /// # Errors
    /// As [`offer`](Self::offer). If a key is too long, nothing is inserted. After any other error all documents
    /// before the failed one are inserted, except perhaps some of the last 31. Offered again, inserted ones are
    /// [`Verdict::Known`].
    pub fn offer_many(&self, documents: &[Document<'_>]) -> Result<Vec<Verdict>> {
        self.writer_with_room().offer(documents, None, &self.options)
    }

    /// Returns the documents that `document` duplicates by the policy and whose digest is not strong
    /// ([`Options::strong_digests`]) and equals `former`, best first. `former` is the digest of the document's text
    /// by the previous method.
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

    /// Stores the document of a record again, under the next number and with the mark of its digest. A known key
    /// keeps its first record, as in [`insert`](Self::insert).
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn insert_record(&self, record: &Record, of: Option<DocId>) -> Result<DocId> {
        let options = Options { strong_digests: record.strong_digest, ..self.options.clone() };
        self.writer_with_room().insert(&record.document(), of, &options)
    }

    /// Replaces digests in all segments. `strong` returns the strong digest of a document, or `None` to keep the
    /// present one. The call first commits and writes memory into a segment. It replaces each segment atomically:
    /// after a crash, call it again to continue.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    ///
    /// # Complexity
    /// Reads and writes every segment once, using [`Options::merge_bytes`] of memory plus 17 bytes for each document
    /// of the largest segment.
    pub fn replace_digests(
        &self,
        strong: impl Fn(DocId) -> Option<[u8; 16]> + Send + Sync + 'static,
    ) -> Result<()> {
        self.commit_with(None)?;
        self.begin_to_settle(false, Some(NewDigests(Arc::new(strong))))?;
        self.wait()
    }

    /// Stores a document with the caller's verdict: as a duplicate of `of`, or as new. A known key keeps its first
    /// record, and its number is returned.
    ///
    /// # Errors
    /// [`Error::KeyTooLong`] above [`MAX_KEY`](crate::MAX_KEY) bytes, [`Error::NoDocument`] if `of` was never
    /// assigned, [`Error::Corrupt`] from a segment, [`Error::Poisoned`], [`Error::TooMany`].
    pub fn insert(&self, document: &Document<'_>, of: Option<DocId>) -> Result<DocId> {
        self.writer_with_room().insert(document, of, &self.options)
    }

    /// Removes a document and its key. Later documents cannot duplicate it; earlier duplicates still refer to it.
    /// Returns `false` if the number is not stored.
    ///
    /// # Errors
    /// [`Error::Corrupt`] from a segment, [`Error::Poisoned`].
    pub fn delete(&self, id: DocId) -> Result<bool> {
        held(&self.writer).delete(id)
    }

    /// Restores a discarded document as a document that later ones can duplicate. Returns its new number, or the old
    /// one if it was not discarded, or `None` if the number is not stored.
    ///
    /// # Errors
    /// [`Error::Corrupt`] from a segment, [`Error::Poisoned`], [`Error::TooMany`].
    pub fn restore(&self, id: DocId) -> Result<Option<DocId>> {
        held(&self.writer).restore(id)
    }

    /// Makes one document a duplicate of another, which is restored first if it was discarded. Returns the new number
    /// of the first. Returns `None` and changes nothing if one is not stored or both are the same.
    ///
    /// # Errors
    /// [`Error::Corrupt`] from a segment, [`Error::Poisoned`], [`Error::TooMany`].
    pub fn supersede(&self, id: DocId, of: DocId) -> Result<Option<DocId>> {
        held(&self.writer).supersede(id, of, &self.options)
    }

    /// Deletes every document with a time before `before` and returns their number. Documents without a time (0)
    /// stay.
    ///
    /// # Errors
    /// As [`delete`](Self::delete).
    ///
    /// # Complexity
    /// Reads the times of all documents, and the records of those it deletes. Merges free their space.
    pub fn expire(&self, before: u64) -> Result<u64> {
        held(&self.writer).expire(before)
    }

    /// Makes all earlier changes durable. [`payload`](Self::payload) returns `payload` after the next open: use it
    /// for positions of the caller that must advance in the same atomic step. Concurrent commits share syncs; the
    /// payload of the last one is stored.
    ///
    /// # Errors
    /// [`Error::Io`]: the store is poisoned until it is opened again, because the state on disk is unknown.
    /// [`Error::PayloadTooLong`] above [`MAX_PAYLOAD`](crate::MAX_PAYLOAD) bytes.
    ///
    /// # Complexity
    /// Two synced writes: the batch, then the frame that seals it. A merge runs on another thread. A commit waits for
    /// it only if a second full memtable is waiting.
    pub fn commit(&self, payload: &[u8]) -> Result<()> {
        if payload.len() > crate::limits::MAX_PAYLOAD {
            return Err(Error::PayloadTooLong(payload.len()));
        }
        self.commit_with(Some(payload))
    }

    /// [Commits](Self::commit) and keeps the present payload, whichever thread set it.
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
            // Another commit included this one's documents.
            return Ok(());
        }
        turn.busy = true;
        drop(turn);
        // Frees the turn after a panic too.
        let _free = Free(self);
        let (durable, result) = self.lead();
        let mut turn = held(&self.turn);
        turn.durable = durable.max(turn.durable);
        result
    }

    /// Commits for all waiting threads. Returns the last durable commit and the result.
    fn lead(&self) -> (u64, Result<()>) {
        let mut journal = held(&self.journal);
        let mut writer = held(&self.writer);
        if let Err(error) = writer.usable() {
            return (0, Err(error));
        }
        let (batch, payload, ticket) = writer.take_batch();
        // Keep the lock if the memtable is full: a frozen memtable must hold durable documents only. Otherwise other
        // threads go on offering during the sync.
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
            // Other threads may offer while this one waits, so the next commit freezes the memtable.
            drop(writer);
            writer = self.writer_once(|writer| writer.congested(2, &self.options));
            freeze = false;
        }
        let result = writer.after_commit(&mut journal, freeze, &self.dir, &self.options);
        writer.poisoned |= result.is_err();
        (ticket, result)
    }

    /// Commits, writes memory into a segment and merges all segments into one.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    ///
    /// # Complexity
    /// Reads and writes every segment once, using [`Options::merge_bytes`] of memory.
    pub fn compact(&self) -> Result<()> {
        self.commit_with(None)?;
        self.settle(true)
    }

    /// Waits for running merges.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub fn wait(&self) -> Result<()> {
        let mut writer = self.writer_once(Writer::under_way);
        writer.take_in()?;
        // Another thread may have received the result of the merge.
        writer.usable()
    }

    /// Returns the writer once `wait` has nothing to wait for. The lock is not held while waiting, so look-ups go on.
    fn writer_once(&self, wait: impl Fn(&Writer) -> Option<Ended>) -> MutexGuard<'_, Writer> {
        loop {
            let writer = held(&self.writer);
            let Some(ended) = wait(&writer) else { return writer };
            drop(writer);
            ended.wait();
        }
    }

    /// Returns the writer once it accepts more documents. Commits wait for merges earlier; this limit is for offers
    /// on other threads.
    fn writer_with_room(&self) -> MutexGuard<'_, Writer> {
        self.writer_once(|writer| writer.congested(MAX_MEMORY_FACTOR, &self.options))
    }

    /// Writes durable documents from memory into a segment, so that the next open need not read them from the
    /// journal.
    fn settle(&self, whole: bool) -> Result<()> {
        self.begin_to_settle(whole, None)?;
        self.wait()
    }

    fn begin_to_settle(&self, whole: bool, digests: Option<NewDigests>) -> Result<()> {
        let mut journal = held(&self.journal);
        let mut writer = self.writer_once(Writer::under_way);
        writer.usable()?;
        let result = writer.settle(&mut journal, (whole, digests), &self.dir, &self.options);
        writer.poisoned |= result.is_err();
        result
    }

    /// Returns the bytes of segments and memory.
    pub fn bytes(&self) -> u64 {
        held(&self.writer).bytes()
    }

    /// Returns layout and number of documents of each segment, oldest first.
    pub fn segments(&self) -> Vec<(crate::Layout, u64)> {
        let view = self.snapshot().view;
        view.segments.iter().map(|s| (s.layout().clone(), s.footer.rows)).collect()
    }

    /// Checks every byte of the segments: all blocks against checksums, tables and lists by key and digest against
    /// the documents. Lists by band are checked by checksum only. Journal and manifest are not read: the open checked
    /// them.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for the first damage found.
    pub fn check(&self) -> Result<Report> {
        self.snapshot().check()
    }

    /// Closes the store. Dropping it does the same but cannot report an error or a panic of a merge. Both keep all
    /// committed data. For a shared store use `Arc::into_inner`, or [`wait`](Self::wait) and drop it.
    ///
    /// # Errors
    /// As [`commit`](Self::commit); [`Error::Io`] if sled's cache cannot be made durable, which costs only time.
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

struct Free<'a>(&'a Store);

impl Drop for Free<'_> {
    fn drop(&mut self) {
        held(&self.0.turn).busy = false;
        self.0.freed.notify_all();
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // Ignoring a failure is safe: the journal has everything, the next open is only slower. An uncaught panic
        // here would abort the process if this drop is part of another panic.
        let _ = catch_unwind(AssertUnwindSafe(|| self.finish()));
    }
}
