//! Documents at one moment, in segments and memtables, and the look-ups in them.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use super::deleted::Deleted;
use super::keys::{Key, KeyHasher};
use super::memtable::Memtable;
use super::proposals::{Candidate, Extent, trim};
use super::resident::Resident;
use super::segment::Segment;
use crate::Fingerprint;
use crate::confirm::{Confirm, MAX_COMPARED, MAX_COMPARED_BY_NAME, MAX_COMPARED_OF_ALL, Proposal};
use crate::error::Result;
use crate::limits::MAX_BAND_BUCKET;
use crate::lists::{candidate_lists, names_a_page};
use crate::policy::{Level, Neighbour, Policy};
use crate::record::{DocId, Document, Record};
use crate::row::Row;
use crate::sketch::Sketch;
use crate::tables::Near;

/// A memtable that its writer appends to while others read.
pub(crate) type Shared = Arc<RwLock<Memtable>>;

pub(crate) fn read<T>(table: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    // A panic leaves at worst a row that is in no table.
    table.read().unwrap_or_else(PoisonError::into_inner)
}

/// A snapshot; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) segments: Arc<Vec<Arc<Segment>>>,
    /// The memtable that becomes a segment.
    pub(crate) frozen: Option<Shared>,
    pub(crate) active: Shared,
    /// All fingerprints and keys, if they fit into memory; the memtables then need no tables.
    pub(crate) resident: Option<Arc<RwLock<Resident>>>,
    pub(crate) deleted: Arc<Deleted>,
    /// The first number after the snapshot.
    pub(crate) end: DocId,
    pub(crate) policy: Policy,
    /// The kind of digests that documents are compared with.
    pub(crate) strong_digests: bool,
    pub(crate) hasher: KeyHasher,
}

/// The number of look-ups that are prefetched together.
const AHEAD: usize = 32;

impl View {
    fn memtables(&self) -> impl Iterator<Item = &Shared> {
        self.frozen.iter().chain([&self.active])
    }

    fn visible(&self, id: DocId) -> bool {
        id < self.end && !self.deleted.contains(id)
    }

    /// Calls `look` with the row of a document, without its key; `None` if the document does not exist.
    fn evidence<T>(&self, id: DocId, look: impl FnOnce(&Row<'_>) -> T) -> Result<Option<T>> {
        self.with_row(id, false, look)
    }

    pub(crate) fn record(&self, id: DocId) -> Result<Option<Record>> {
        self.with_row(id, true, |row| row.record(id))
    }

    pub(crate) fn with_row<T>(
        &self,
        id: DocId,
        key: bool,
        look: impl FnOnce(&Row<'_>) -> T,
    ) -> Result<Option<T>> {
        if !self.visible(id) {
            return Ok(None);
        }
        for table in self.memtables() {
            let table = read(table);
            if id >= table.base && id < table.end() {
                return Ok(Some(look(&table.columns().row((id - table.base) as usize))));
            }
        }
        let place = self.segments.partition_point(|segment| segment.ids().end <= id);
        let Some(segment) = self.segments.get(place) else { return Ok(None) };
        let Some(row) = segment.row_of(id)? else { return Ok(None) };
        let row = if key { segment.row(row)? } else { segment.evidence(row)? };
        Ok(Some(look(&row)))
    }

    /// Returns `false` if no document has this key.
    pub(crate) fn may_hold_key(&self, key: &Key<'_>) -> bool {
        let resident = self.resident.as_ref();
        resident.is_none_or(|resident| read(resident).may_hold_key(key.hash))
    }

    /// Returns the document with this key. Call [`may_hold_key`](Self::may_hold_key) first.
    pub(crate) fn id_of(&self, key: &Key<'_>) -> Result<Option<DocId>> {
        let newest = self.id_of_newest(key);
        if newest.is_some() { Ok(newest) } else { self.id_of_older(key) }
    }

    pub(crate) fn id_of_newest(&self, key: &Key<'_>) -> Option<DocId> {
        for table in [Some(&self.active), self.frozen.as_ref()].into_iter().flatten() {
            let table = read(table);
            let rows =
                table.rows_of_key(key.bytes, key.hash).map(|row| table.base + u64::from(row));
            if let Some(id) = rows.filter(|id| self.visible(*id)).max() {
                return Some(id);
            }
        }
        None
    }

    pub(crate) fn id_of_older(&self, key: &Key<'_>) -> Result<Option<DocId>> {
        for segment in self.segments.iter().rev() {
            for row in segment.rows_of_key(key)?.into_iter().rev() {
                let id = segment.id(row)?;
                if self.visible(id) {
                    return Ok(Some(id));
                }
            }
        }
        Ok(None)
    }

    /// Calls `visit` with query index, document and result for each document within the distance.
    pub(crate) fn near_many(
        &self,
        queries: &[Fingerprint],
        mut visit: impl FnMut(usize, DocId, Near),
    ) -> Result<()> {
        let all = Extent::All;
        if let Some(resident) = &self.resident {
            for (numbers, queries) in (0..).step_by(AHEAD).zip(queries.chunks(AHEAD)) {
                let table = read(resident);
                table.prefetch(queries);
                drop(table);
                for (number, &query) in (numbers..).zip(queries) {
                    let visit = &mut |id, near| visit(number, id, near);
                    self.near_in_resident(resident, query, all, visit)?;
                }
            }
            return Ok(());
        }
        self.near_in_segments(queries, all, &mut visit)?;
        for (number, &query) in queries.iter().enumerate() {
            self.near_in_memtables(query, all, |id, near| visit(number, id, near));
        }
        Ok(())
    }

    fn take_rows(
        &self,
        segment: &Segment,
        rows: &mut dyn DoubleEndedIterator<Item = Result<u32>>,
        extent: Extent,
        ids: &mut Vec<DocId>,
    ) -> Result<()> {
        let visible = rows.filter_map(|row| match row.and_then(|row| segment.id(row)) {
            Ok(id) => self.visible(id).then_some(Ok(id)),
            Err(error) => Some(Err(error)),
        });
        extent.take(visible, ids)
    }

    /// Visits near documents. Returns whether the fingerprint itself was not found.
    fn near_in_resident(
        &self,
        resident: &RwLock<Resident>,
        query: Fingerprint,
        extent: Extent,
        visit: &mut dyn FnMut(DocId, Near),
    ) -> Result<bool> {
        let (mut found, mut new) = (Vec::new(), true);
        read(resident).near_each(query, |near| {
            new &= near.distance > 0;
            found.push(near);
        });
        for near in found {
            let mut ids = Vec::new();
            for segment in self.segments.iter() {
                let mut rows = segment.rows_of(near.fingerprint)?;
                self.take_rows(segment, &mut rows, extent, &mut ids)?;
            }
            for table in self.memtables() {
                let visible = |id| self.visible(id);
                read(table).take_of(near.fingerprint, extent, visible, &mut ids);
            }
            // Not under a lock: the caller's visitor may call the store.
            ids.into_iter().for_each(|id| visit(id, near));
        }
        Ok(new)
    }

    fn near_in_segments(
        &self,
        queries: &[Fingerprint],
        extent: Extent,
        visit: &mut dyn FnMut(usize, DocId, Near),
    ) -> Result<()> {
        let mut ids = Vec::new();
        for segment in self.segments.iter() {
            segment.near_many(queries, |query, near, rows| {
                self.take_rows(segment, rows, extent, &mut ids)?;
                ids.drain(..).for_each(|id| visit(query, id, near));
                Ok(())
            })?;
        }
        Ok(())
    }

    fn near_in_memtables(
        &self,
        query: Fingerprint,
        extent: Extent,
        mut visit: impl FnMut(DocId, Near),
    ) {
        let (mut found, mut ids) = (Vec::new(), Vec::new());
        for table in self.memtables() {
            let table = read(table);
            table.near_each(query, |near| {
                table.take_of(near.fingerprint, extent, |id| self.visible(id), &mut ids);
                found.extend(ids.drain(..).map(|id| (id, near)));
            });
        }
        found.into_iter().for_each(|(id, near)| visit(id, near));
    }

    /// See [`Snapshot::sharing_band`](super::Snapshot::sharing_band).
    pub(crate) fn sharing_band(&self, sketch: &Sketch) -> Result<Vec<(DocId, f64)>> {
        let bands = sketch.bands();
        let mut all = Vec::new();
        for list in candidate_lists(sketch, [0; 2]) {
            let mut ids = Vec::new();
            for segment in self.segments.iter() {
                let mut rows = Vec::new();
                segment.rows_of_list(list, |row| rows.push(row))?;
                rows.into_iter().try_for_each(|row| segment.id(row).map(|id| ids.push(id)))?;
            }
            for table in self.memtables() {
                let table = read(table);
                ids.extend(table.rows_of_list(list).map(|row| table.base + u64::from(row)));
            }
            ids.sort_unstable();
            all.extend(ids.into_iter().filter(|id| self.visible(*id)).take(MAX_BAND_BUCKET));
        }
        all.sort_unstable();
        all.dedup();
        let mut found = Vec::new();
        for id in all {
            // The lists have hashes of bands: compare the bands themselves.
            let shares = |other: &Sketch| bands.iter().zip(other.bands()).any(|(a, b)| *a == b);
            let other = self.evidence(id, |row| row.sketch)?.flatten();
            let other = other.filter(|other| shares(other));
            found.extend(other.map(|other| (id, sketch.similarity(&other))));
        }
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        Ok(found)
    }

    /// Prefetches the lines that a batch's offers read, during the look-ups in the segments.
    pub(crate) fn prefetch(&self, documents: &[Document<'_>], keys: &[Key<'_>]) {
        if let Some(resident) = &self.resident {
            let (resident, active) = (read(resident), read(&self.active));
            for (document, key) in documents.iter().zip(keys) {
                resident.prefetch_key(key.hash);
                active.prefetch_places(document.fingerprint, key.hash);
            }
            let queries: Vec<Fingerprint> = documents.iter().map(|d| d.fingerprint).collect();
            resident.prefetch(&queries);
            return;
        }
        for second in [false, true] {
            for (document, key) in documents.iter().zip(keys) {
                let segments = self.segments.iter();
                segments.for_each(|segment| segment.prefetch_key(key.stored(), second));
                if !second {
                    self.memtables()
                        .for_each(|table| read(table).prefetch(document.fingerprint, key.hash));
                }
            }
        }
    }

    /// Returns the segments' proposals for each document. They do not change during a batch.
    pub(crate) fn propose_from_segments(
        &self,
        documents: &[Document<'_>],
        extent: Extent,
    ) -> Result<Vec<Vec<Candidate>>> {
        let mut found: Vec<Vec<Candidate>> = vec![Vec::new(); documents.len()];
        if self.segments.is_empty() {
            return Ok(found);
        }
        if self.resident.is_none() {
            let queries: Vec<Fingerprint> = documents.iter().map(|d| d.fingerprint).collect();
            self.near_in_segments(&queries, extent, &mut |number, id, near| {
                found.get_mut(number).into_iter().for_each(|found| found.push(by_near(id, near)));
            })?;
        }
        let mut ids = Vec::new();
        for (document, found) in documents.iter().zip(&mut found) {
            self.prefetch_lists(document);
            for segment in self.segments.iter() {
                if let Some(digest) = document.digest {
                    let mut rows = segment.rows_of_digest(digest, self.strong_digests)?;
                    self.take_rows(segment, &mut rows, extent, &mut ids)?;
                }
            }
            found.extend(ids.drain(..).map(by_digest));
            let Some(sketch) = document.sketch.filter(|_| !self.policy.hamming_only) else {
                continue;
            };
            for list in candidate_lists(&sketch, document.names) {
                let mut left = MAX_BAND_BUCKET;
                for segment in self.segments.iter() {
                    let mut rows = Vec::new();
                    segment.rows_of_list(list, |row| rows.push(row))?;
                    for row in rows {
                        let id = segment.id(row)?;
                        if left > 0 && self.visible(id) {
                            found.push(by_list(id, list.0));
                            left -= 1;
                        }
                    }
                }
            }
        }
        Ok(found)
    }

    /// Prefetches the lines that the look-ups by digest and list read in the segments. Otherwise each of the 38 in a
    /// segment would wait for memory in turn.
    fn prefetch_lists(&self, document: &Document<'_>) {
        let sketch = document.sketch.filter(|_| !self.policy.hamming_only);
        let lists = sketch.iter().flat_map(|sketch| candidate_lists(sketch, document.names));
        let lists: Vec<(usize, u32)> = lists.collect();
        for second in [false, true] {
            for segment in self.segments.iter() {
                document.digest.iter().for_each(|digest| segment.prefetch_digest(*digest, second));
                lists.iter().for_each(|list| segment.prefetch_list(*list, second));
            }
        }
    }

    /// Adds proposals from memory. Returns whether the document's fingerprint is certainly not resident.
    fn propose_from_memory(
        &self,
        document: &Document<'_>,
        extent: Extent,
        found: &mut Vec<Candidate>,
    ) -> Result<bool> {
        let fingerprint = document.fingerprint;
        let mut propose = |id, near| found.push(by_near(id, near));
        let new = match &self.resident {
            Some(resident) => self.near_in_resident(resident, fingerprint, extent, &mut propose)?,
            None => {
                self.near_in_memtables(fingerprint, extent, propose);
                false
            }
        };
        if let Some(digest) = document.digest {
            let mut ids = Vec::new();
            for table in self.memtables() {
                let digest = (digest, self.strong_digests);
                read(table).take_of_digest(digest, extent, |id| self.visible(id), &mut ids);
            }
            found.extend(ids.into_iter().map(by_digest));
        }
        let Some(sketch) = document.sketch.filter(|_| !self.policy.hamming_only) else {
            return Ok(new);
        };
        for list in candidate_lists(&sketch, document.names) {
            // Counts the oldest over segments and memory, so the timing of merges does not matter.
            let of_list = |c: &&Candidate| c.level == Level::Sketch && c.table == Some(list.0);
            let before = found.iter().filter(of_list).count();
            let left = MAX_BAND_BUCKET.saturating_sub(before);
            let mut ids: Vec<DocId> = Vec::new();
            for table in self.memtables() {
                let table = read(table);
                ids.extend(table.rows_of_list(list).map(|row| table.base + u64::from(row)));
            }
            ids.sort_unstable();
            ids.retain(|id| self.visible(*id));
            ids.truncate(left);
            if names_a_page(list.0, before + ids.len()) {
                found.extend(ids.into_iter().map(|id| by_list(id, list.0)));
            } else {
                found.retain(|candidate| !of_list(&candidate));
            }
        }
        Ok(new)
    }

    /// Returns all proposals for a document, given those of the segments, and whether its fingerprint is certainly
    /// not resident.
    pub(super) fn proposed(
        &self,
        document: &Document<'_>,
        mut found: Vec<Candidate>,
        extent: Extent,
    ) -> Result<(Vec<Candidate>, bool)> {
        let new = self.propose_from_memory(document, extent, &mut found)?;
        if extent == Extent::Few {
            trim(&mut found);
        }
        Ok((found, new))
    }

    /// Returns the documents that this one duplicates, best first, given the proposals of the segments, and whether
    /// its fingerprint is certainly not resident.
    pub(crate) fn matches(
        &self,
        document: &Document<'_>,
        found: Vec<Candidate>,
        extent: Extent,
        confirm: Option<&mut dyn Confirm>,
    ) -> Result<(Vec<Neighbour>, bool)> {
        if document.tokens == 0 {
            return Ok((Vec::new(), false));
        }
        let (found, new) = self.proposed(document, found, extent)?;
        Ok((self.neighbours(document, found, extent, confirm)?, new))
    }

    /// See [`Store::equal_by_former_digest`](crate::Store::equal_by_former_digest).
    pub(crate) fn equal_by_former_digest(
        &self,
        document: &Document<'_>,
        former: [u8; 16],
    ) -> Result<Vec<Neighbour>> {
        let mut ids = Vec::new();
        for segment in self.segments.iter() {
            let mut rows = segment.rows_of_digest(former, false)?;
            self.take_rows(segment, &mut rows, Extent::Few, &mut ids)?;
        }
        for table in self.memtables() {
            let digest = (former, false);
            read(table).take_of_digest(digest, Extent::Few, |id| self.visible(id), &mut ids);
        }
        let found = ids.into_iter().map(by_digest).collect();
        self.neighbours(document, found, Extent::Few, None)
    }

    /// Returns the candidates that `document` duplicates, best first. With a [`Confirm`] and [`Extent::Few`], stops
    /// at the first that is confirmed by its text.
    fn neighbours(
        &self,
        document: &Document<'_>,
        mut found: Vec<Candidate>,
        extent: Extent,
        confirm: Option<&mut dyn Confirm>,
    ) -> Result<Vec<Neighbour>> {
        // Keeps the strongest level that proposes each document.
        found.sort_unstable();
        found.dedup_by_key(|candidate| candidate.id);
        let side = document.side();
        let confirm = confirm.filter(|_| !self.policy.hamming_only);
        let mut all = Vec::new();
        for Candidate { id, level, table, .. } in found {
            let weighed = self.evidence(id, |row| {
                let fingerprints = [document.fingerprint, row.fingerprint];
                let other = row.side();
                let weighed = self.policy.weigh(id, (level, table), fingerprints, [side, other]);
                let names = (side.shares_name(&other), Policy::names_differ(side, other));
                (weighed, names)
            })?;
            let wanted = |((near, confirmed), _): &((Neighbour, bool), (bool, bool))| {
                *confirmed || confirm.is_some() && self.policy.is_in_doubt(near)
            };
            all.extend(weighed.filter(wanted));
        }
        all.sort_by(|((a, _), _), ((b, _), _)| a.best_first(b).then(a.id.cmp(&b.id)));
        let Some(confirm) = confirm else {
            return Ok(all.into_iter().map(|((near, _), _)| near).collect());
        };
        // Among pages of one template, those of the same name come first; those that share nothing but the name last.
        all.sort_by_key(|((near, _), (shares_name, _))| (near.is_by_name(), !shares_name));
        let all = all.into_iter().map(|((near, confirmed), (_, differ))| (near, confirmed, differ));
        self.confirmed(document, all, extent, confirm)
    }

    fn confirmed(
        &self,
        document: &Document<'_>,
        proposed: impl Iterator<Item = (Neighbour, bool, bool)>,
        extent: Extent,
        confirm: &mut dyn Confirm,
    ) -> Result<Vec<Neighbour>> {
        let mut left = match extent {
            Extent::Few => [MAX_COMPARED, MAX_COMPARED_BY_NAME],
            Extent::All => [MAX_COMPARED_OF_ALL; 2],
        };
        let mut matches = Vec::new();
        for (neighbour, mut confirmed, names_differ) in proposed {
            let [by_more, by_name] = &mut left;
            let left = if neighbour.is_by_name() { by_name } else { by_more };
            // After the last comparison only equal text under the same name counts: a sketch sees no difference
            // between variants of one product.
            confirmed &= *left > 0 || neighbour.level == Level::Text && !names_differ;
            if *left > 0
                && self.policy.is_in_doubt(&neighbour)
                && let Some(record) = self.record(neighbour.id)?
                && let Some(same) =
                    confirm.confirm(document, &Proposal { record: &record, neighbour, confirmed })
            {
                *left -= 1;
                let one_site = record.site == document.site;
                confirmed = same && self.policy.reaches_what_was_asked(&neighbour, one_site);
            }
            matches.extend(confirmed.then_some(neighbour));
            if confirmed && extent == Extent::Few {
                break;
            }
        }
        Ok(matches)
    }
}

fn by_near(id: DocId, near: Near) -> Candidate {
    let bits = near.fingerprint.bits();
    Candidate { id, level: Level::Hamming, table: Some(near.table), bits }
}

const fn by_digest(id: DocId) -> Candidate {
    Candidate { id, level: Level::Text, table: None, bits: 0 }
}

const fn by_list(id: DocId, kind: usize) -> Candidate {
    Candidate { id, level: Level::Sketch, table: Some(kind), bits: 0 }
}
