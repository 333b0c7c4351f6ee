//! The writer of a store: all changes to memory and journal.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use super::columns::Column;
use super::compact::{Ended, Job, NewDigests, Outcome, Running};
use super::idmap::IdMap;
use super::journal::{Batch, Journal, Kind};
use super::keys::Key;
use super::manifest::Manifest;
use super::memtable::Memtable;
use super::options::{MAX_MEMTABLE, Options};
use super::proposals::{Candidate, Extent};
use super::resident::{New, Resident};
use super::view::{View, read};
use crate::Layout;
use crate::confirm::Confirm;
use crate::dir::Directory;
use crate::error::{Error, Result};
use crate::limits::MAX_KEY;
use crate::policy::Verdict;
use crate::record::{DocId, Document};
use crate::row::encode;
use crate::row::{INDEXED, Row};

/// Below this number of documents the next open reads the journal as fast as a segment.
const MIN_ROWS_TO_SETTLE: usize = 4096;

/// An offer waits for a merge once memory is this many times its limit.
pub(super) const MAX_MEMORY_FACTOR: usize = 3;

/// The offers of a batch that are prefetched together.
const PREFETCH_BATCH: usize = 32;

/// The largest capacity, in bytes, that is reused for the next batch.
const MAX_REUSED: usize = 4 << 20;

#[derive(Debug)]
pub(crate) struct Writer {
    pub(super) view: View,
    pub(super) payload: Vec<u8>,
    pub(super) duplicates: u64,
    /// A write failed: the state on disk is unknown.
    pub(super) poisoned: bool,
    /// The error that poisoned the store, if it was not reported yet.
    pub(super) reason: Option<Error>,
    pub(super) batch: Batch,
    /// The number of the last requested commit.
    pub(super) ticket: u64,
    pub(super) ids: IdMap,
    pub(super) job: Option<Running>,
    /// Whether a job should do work that only speeds up look-ups.
    pub(super) wanted: Arc<AtomicBool>,
    pub(super) next: u64,
    /// The first needed journal, and the known length of the last one.
    pub(super) journal: u64,
    pub(super) closed: Option<(u64, u64)>,
    pub(super) layout: Layout,
    /// The number of documents when the resident set was dropped.
    pub(super) too_many: Option<u64>,
    /// The number of the active memtable's first document.
    pub(super) base: DocId,
}

impl Writer {
    pub(super) fn usable(&mut self) -> Result<()> {
        if self.poisoned { Err(self.reason.take().unwrap_or(Error::Poisoned)) } else { Ok(()) }
    }

    /// Checks that memory accepts this many more documents before the next commit.
    fn room_for(&mut self, rows: usize) -> Result<()> {
        self.usable()?;
        let rows = (self.view.end - self.base) as usize + rows;
        if rows > MAX_MEMTABLE { Err(Error::TooMany(rows as u64)) } else { Ok(()) }
    }

    pub(super) fn documents(&self) -> u64 {
        let segments: u64 = self.view.segments.iter().map(|segment| segment.footer.rows).sum();
        let memory: u64 = self.memtables().map(|table| read(table).rows() as u64).sum();
        (segments + memory).saturating_sub(self.view.deleted.len())
    }

    pub(super) fn capped(&self) -> u64 {
        let segments: u64 = self.view.segments.iter().map(|segment| segment.footer.capped).sum();
        segments + self.memtables().map(|table| read(table).capped).sum::<u64>()
    }

    pub(super) fn bytes(&self) -> u64 {
        let segments: u64 = self.view.segments.iter().map(|segment| segment.bytes).sum();
        let resident = self.view.resident.as_ref().map_or(0, |resident| read(resident).bytes());
        let memory = self.memtables().map(|table| read(table).bytes() as u64).sum::<u64>();
        segments + memory + resident as u64
    }

    fn memtables(&self) -> impl Iterator<Item = &super::view::Shared> {
        self.view.frozen.iter().chain([&self.view.active])
    }

    pub(super) fn id_of(&mut self, key: &[u8]) -> Result<Option<DocId>> {
        let key = Key::new(key, &self.view.hasher);
        if self.view.may_hold_key(&key) { self.id_of_known(&key) } else { Ok(None) }
    }

    fn id_of_known(&mut self, key: &Key<'_>) -> Result<Option<DocId>> {
        let newest = self.view.id_of_newest(key);
        if newest.is_some() || self.view.segments.is_empty() {
            return Ok(newest);
        }
        // The map is a cache: its answers are checked against the record, and a miss falls back to the segments.
        if let Some(id) = self.ids.get(key.bytes)
            && self.view.with_row(id, true, |row| row.key == key.bytes)? == Some(true)
        {
            return Ok(Some(id));
        }
        self.view.id_of_older(key)
    }

    pub(super) fn offer<'a>(
        &mut self,
        documents: &[Document<'a>],
        mut confirm: Option<&mut dyn Confirm>,
        options: &Options,
    ) -> Result<Vec<Verdict>> {
        self.usable()?;
        // All or nothing: check what can be checked first.
        if let Some(long) = documents.iter().find(|document| document.key.len() > MAX_KEY) {
            return Err(Error::KeyTooLong(long.key.len()));
        }
        let mut verdicts = Vec::with_capacity(documents.len());
        for documents in documents.chunks(PREFETCH_BATCH) {
            let key = |document: &Document<'a>| Key::new(document.key, &self.view.hasher);
            let keys: Vec<Key<'_>> = documents.iter().map(key).collect();
            self.view.prefetch(documents, &keys);
            let proposed = self.view.propose_from_segments(documents, Extent::Few)?;
            for ((document, key), proposed) in documents.iter().zip(&keys).zip(proposed) {
                let confirm = confirm.as_deref_mut().map(|confirm| confirm as &mut dyn Confirm);
                verdicts.push(self.decide(document, key, proposed, confirm, options)?);
            }
        }
        Ok(verdicts)
    }

    fn decide(
        &mut self,
        document: &Document<'_>,
        key: &Key<'_>,
        proposed: Vec<Candidate>,
        confirm: Option<&mut dyn Confirm>,
        options: &Options,
    ) -> Result<Verdict> {
        let new = !self.view.may_hold_key(key);
        if !new && let Some(id) = self.id_of_known(key)? {
            return Ok(Verdict::Known(id));
        }
        let (matches, fingerprint) = self.view.matches(document, proposed, Extent::Few, confirm)?;
        let best = matches.into_iter().next();
        let new = New { key: new, fingerprint };
        let id = self.insert_new(document, key.hash, best.map(|best| best.id), new, options)?;
        Ok(match best {
            Some(of) => Verdict::Duplicate { id, of },
            None => Verdict::New(id),
        })
    }

    pub(super) fn insert(
        &mut self,
        document: &Document<'_>,
        of: Option<DocId>,
        options: &Options,
    ) -> Result<DocId> {
        self.usable()?;
        let key = Key::new(document.key, &self.view.hasher);
        let new = New { key: !self.view.may_hold_key(&key), fingerprint: false };
        if !new.key
            && let Some(id) = self.id_of_known(&key)?
        {
            return Ok(id);
        }
        match of.filter(|of| *of >= self.view.end) {
            Some(of) => Err(Error::NoDocument(of)),
            None => self.insert_new(document, key.hash, of, new, options),
        }
    }

    fn insert_new(
        &mut self,
        document: &Document<'_>,
        key: u32,
        of: Option<DocId>,
        new: New,
        options: &Options,
    ) -> Result<DocId> {
        if document.key.len() > MAX_KEY {
            return Err(Error::KeyTooLong(document.key.len()));
        }
        self.room_for(1)?;
        let indexed = document.tokens > 0 && (of.is_none() || options.keep_duplicates);
        let row = Row::new(document, of, indexed).with_strong_digest(options.strong_digests);
        Ok(self.append(&row, key, new))
    }

    /// Adds a row to batch and memory, under the next number.
    fn append(&mut self, row: &Row<'_>, key: u32, new: New) -> DocId {
        let id = self.view.end;
        // A panic in between leaves an assigned number that is not counted.
        self.poisoned = true;
        self.batch.append(Kind::Record, |out| encode(id, row, out));
        self.remember(row, key, new);
        self.poisoned = false;
        id
    }

    pub(super) fn remember(&mut self, row: &Row<'_>, key: u32, new: New) {
        let mut table = self.view.active.write().unwrap_or_else(PoisonError::into_inner);
        table.insert(row, key);
        drop(table);
        if let Some(resident) = &self.view.resident {
            let indexed = row.flags & INDEXED != 0;
            let mut resident = resident.write().unwrap_or_else(PoisonError::into_inner);
            resident.insert(key, indexed.then_some(row.fingerprint), new);
        }
        self.duplicates += u64::from(row.of.is_some());
        self.ids.insert(row.key, self.view.end);
        self.view.end += 1;
    }

    pub(super) fn delete(&mut self, id: DocId) -> Result<bool> {
        self.usable()?;
        let Some((was_duplicate, key)) =
            self.view.with_row(id, true, |row| (row.of.is_some(), row.key.to_vec()))?
        else {
            return Ok(false);
        };
        self.batch.append(Kind::Delete, |out| out.extend(id.to_le_bytes()));
        self.forget(id, was_duplicate, &key);
        Ok(true)
    }

    pub(super) fn forget(&mut self, id: DocId, was_duplicate: bool, key: &[u8]) {
        Arc::make_mut(&mut self.view.deleted).insert(id);
        self.duplicates = self.duplicates.saturating_sub(u64::from(was_duplicate));
        self.ids.remove(key);
    }

    pub(super) fn restore(&mut self, id: DocId) -> Result<Option<DocId>> {
        self.room_for(1)?;
        let Some(record) = self.view.record(id)? else { return Ok(None) };
        if record.of.is_none() {
            return Ok(Some(id));
        }
        let document = record.document();
        let row =
            Row::new(&document, None, document.tokens > 0).with_strong_digest(record.strong_digest);
        self.replace(id, &row).map(Some)
    }

    pub(super) fn supersede(
        &mut self,
        id: DocId,
        of: DocId,
        options: &Options,
    ) -> Result<Option<DocId>> {
        // Both changes or neither: steps that may fail come first.
        self.room_for(2)?;
        let Some(record) = self.view.record(id)?.filter(|_| id != of) else { return Ok(None) };
        let Some(of) = self.restore(of)? else { return Ok(None) };
        let document = record.document();
        let row = Row::new(&document, Some(of), document.tokens > 0 && options.keep_duplicates)
            .with_strong_digest(record.strong_digest);
        self.replace(id, &row).map(Some)
    }

    fn replace(&mut self, old: DocId, row: &Row<'_>) -> Result<DocId> {
        self.delete(old)?;
        let hash = Key::new(row.key, &self.view.hasher).hash;
        Ok(self.append(row, hash, New::default()))
    }

    pub(super) fn expire(&mut self, before: u64) -> Result<u64> {
        let mut old = Vec::new();
        for segment in self.view.segments.iter() {
            let columns = segment.columns_of(&[Column::Time, Column::Id])?;
            let expired = (0..columns.rows).filter(|row| (1..before).contains(&columns.time(*row)));
            let start = segment.ids().start;
            old.extend(expired.map(|row| start + u64::from(columns.relative_id(row))));
        }
        for table in self.memtables() {
            let table = read(table);
            let columns = table.columns();
            let expired = (0..columns.rows).filter(|row| (1..before).contains(&columns.time(*row)));
            old.extend(expired.map(|row| table.base + row as u64));
        }
        let mut count = 0;
        for id in old {
            count += u64::from(self.delete(id)?);
        }
        Ok(count)
    }

    /// Registers a requested commit, with the last payload if it has none.
    pub(super) fn announce(&mut self, payload: Option<&[u8]>) -> Result<u64> {
        self.usable()?;
        if let Some(payload) = payload {
            self.payload = payload.to_vec();
        }
        self.ticket += 1;
        Ok(self.ticket)
    }

    pub(super) fn take_batch(&mut self) -> (Batch, Vec<u8>, u64) {
        self.ids.seal();
        (std::mem::take(&mut self.batch), self.payload.clone(), self.ticket)
    }

    /// Reuses the buffer of a written batch, unless the next batch has begun.
    pub(super) fn reuse(&mut self, mut batch: Batch) {
        if batch.clear() <= MAX_REUSED && self.batch.is_empty() {
            self.batch = batch;
        }
    }

    pub(super) fn is_full(&self, options: &Options) -> bool {
        let table = read(&self.view.active);
        table.rows() >= options.full_at() || table.bytes() >= options.memtable_bytes
    }

    /// Returns whether memory exceeds the limit for offers during a merge, because the process was killed repeatedly
    /// before its segment was written.
    pub(super) fn overflows(&self, options: &Options) -> bool {
        let (table, times) = (read(&self.view.active), MAX_MEMORY_FACTOR);
        table.rows() >= options.full_at().saturating_mul(times).min(MAX_MEMTABLE)
            || table.bytes() / times >= options.memtable_bytes
    }

    pub(super) fn worth_settling(&self) -> bool {
        self.batch.is_empty() && read(&self.view.active).rows() > MIN_ROWS_TO_SETTLE
    }

    /// Installs the result of a finished job, and begins one if the memtable is full.
    pub(super) fn after_commit(
        &mut self,
        journal: &mut Journal,
        freeze: bool,
        dir: &Arc<dyn Directory>,
        options: &Options,
    ) -> Result<()> {
        self.ids.hand_over();
        if self.under_way().is_none() {
            self.take_in()?;
        }
        if !freeze || self.job.is_some() {
            return Ok(());
        }
        self.usable()?;
        // Poisoned until success: an error or a panic leaves files that memory does not know.
        self.poisoned = true;
        let mut job = self.freeze(journal, false, dir, options)?;
        job.resident = self.wants_resident(options);
        self.job = Some(job.spawn()?);
        self.poisoned = false;
        Ok(())
    }

    /// Returns the running job if memory is `times` its limit, because documents arrive faster than they are merged.
    pub(super) fn congested(&self, times: usize, options: &Options) -> Option<Ended> {
        let ended = self.under_way()?;
        let table = read(&self.view.active);
        let over = table.rows() >= options.full_at().saturating_mul(times)
            || table.bytes() / times >= options.memtable_bytes;
        over.then_some(ended)
    }

    pub(super) fn under_way(&self) -> Option<Ended> {
        self.job.as_ref().and_then(Running::under_way)
    }

    /// Begins to write memory into a segment. No job may be running.
    pub(super) fn settle(
        &mut self,
        journal: &mut Journal,
        (whole, digests): (bool, Option<NewDigests>),
        dir: &Arc<dyn Directory>,
        options: &Options,
    ) -> Result<()> {
        self.take_in()?;
        // Poisoned until success: an error or a panic leaves files that memory does not know.
        self.poisoned = true;
        if !self.batch.is_empty() {
            // Another thread offered since the last commit: only durable documents may become a segment.
            let (batch, payload, _) = self.take_batch();
            journal.commit(&batch, &payload).inspect_err(|_| self.ids.forget_sealed())?;
        }
        let mut job = self.freeze(journal, whole, dir, options)?;
        job.digests = digests;
        self.job = Some(job.spawn()?);
        self.poisoned = false;
        Ok(())
    }

    /// Begins a new memtable and a new journal. Everything in memory must be durable.
    fn freeze(
        &mut self,
        journal: &mut Journal,
        whole: bool,
        dir: &Arc<dyn Directory>,
        options: &Options,
    ) -> Result<Job> {
        if self.view.frozen.is_some() {
            return Err(Error::Poisoned);
        }
        *journal = Journal::create(&**dir, journal.number + 1, Some(&self.payload))?;
        self.journal = journal.number;
        self.closed = None;
        self.fit_resident(options);
        let own = self.view.resident.is_none().then(|| self.layout.clone());
        let fresh = Memtable::new(self.view.end, own);
        self.base = self.view.end;
        let full = std::mem::replace(&mut self.view.active, Arc::new(RwLock::new(fresh)));
        let rows = read(&full).rows();
        self.view.frozen = (rows > 0).then_some(full);
        Ok(Job {
            dir: Arc::clone(dir),
            frozen: self.view.frozen.clone(),
            segments: self.view.segments.to_vec(),
            deleted: Arc::clone(&self.view.deleted),
            recipe: options.recipe.clone(),
            journal: self.journal,
            closed: None,
            next: self.next,
            distance: options.policy.distance,
            budget: options.merge_bytes,
            bytes_per_fingerprint: options.bytes_per_fingerprint,
            whole,
            digests: None,
            resident: None,
            hasher: self.view.hasher.clone(),
            wanted: Arc::clone(&self.wanted),
        })
    }

    fn fit_resident(&mut self, options: &Options) {
        let (documents, limit) = (self.documents(), options.resident_limit());
        let too_much =
            |resident: &Arc<RwLock<Resident>>| read(resident).is_too_much(documents, limit);
        if self.view.resident.take_if(|resident| too_much(resident)).is_some() {
            let mut active = self.view.active.write().unwrap_or_else(PoisonError::into_inner);
            active.stand_alone(self.layout.clone());
            self.too_many = Some(documents);
        }
    }

    /// Returns the layout of the resident set that a job should build, if that pays.
    fn wants_resident(&self, options: &Options) -> Option<Layout> {
        // Includes deleted documents that are still in segments.
        let rows = self.documents() + self.view.deleted.len();
        // The estimate assumes uniform fingerprints; these were larger before.
        let may = self.too_many.is_none_or(|documents| rows < documents / 2);
        let pays = may && Resident::pays(self.layout.distance(), rows, options.resident_limit());
        (self.view.resident.is_none() && pays).then(|| self.layout.clone())
    }

    /// Asks a running job to skip optional work because the store is closing.
    pub(super) fn hurry(&self) {
        self.wanted.store(false, Ordering::Relaxed);
    }

    pub(super) fn take_in(&mut self) -> Result<()> {
        let Some(job) = self.job.take() else { return Ok(()) };
        match job.join() {
            Ok(Ok(outcome)) => {
                self.install(outcome);
                Ok(())
            }
            Ok(Err(error)) => {
                // The journals still have what the segment lacks.
                self.poisoned = true;
                Err(error)
            }
            Err(panic) => {
                // The state of the job's files is unknown.
                self.poisoned = true;
                std::panic::resume_unwind(panic)
            }
        }
    }

    fn install(&mut self, outcome: Outcome) {
        let deleted = Arc::make_mut(&mut self.view.deleted);
        // The job dropped these deleted documents in the ranges that it rewrote.
        for range in outcome.cleaned {
            deleted.forget_those_of(&outcome.deleted, range);
        }
        self.view.segments = Arc::new(outcome.segments);
        self.view.frozen = None;
        self.next = outcome.next;
        if let Some(mut resident) = outcome.resident {
            // Adds documents that arrived during the job.
            resident.insert_all(&read(&self.view.active).columns(), &self.view.hasher);
            self.view.resident = Some(Arc::new(RwLock::new(resident)));
        }
    }

    /// Records the journal's length in the manifest, so that a truncated end is detected.
    pub(super) fn note_closed(
        &mut self,
        journal: &Journal,
        dir: &Arc<dyn Directory>,
    ) -> Result<()> {
        let closed = Some((journal.number, journal.length));
        if self.closed == closed {
            return Ok(());
        }
        let Some(mut manifest) = Manifest::read(&**dir)? else { return Ok(()) };
        manifest.closed = closed;
        manifest.write(&**dir)?;
        self.closed = closed;
        Ok(())
    }
}
