use super::keys::Key;
use super::proposals::Extent;
use super::view::{View, read};
use crate::Fingerprint;
use crate::confirm::Confirm;
use crate::error::Result;
use crate::policy::Neighbour;
use crate::record::{DocId, Document, Record};
use crate::sketch::Sketch;

/// A read-only view of a store at one moment. Cheap to make, clone and send. It keeps its segments open even after a
/// merge has removed them.
#[derive(Clone)]
pub struct Snapshot {
    pub(super) view: View,
}

/// Omits the content, as for a [`Store`](crate::Store).
impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let segments = self.view.segments.len();
        f.debug_struct("Snapshot").field("segments", &segments).finish_non_exhaustive()
    }
}

/// The result of [`Store::check`](crate::Store::check).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The number of segments.
    pub segments: usize,
    /// Documents in segments.
    pub documents: u64,
    /// Bytes of the segments.
    pub bytes: u64,
    /// Documents in memory and in the journal.
    pub in_journal: u64,
}

impl Snapshot {
    /// Returns the number that the next document had at that moment.
    pub const fn next_id(&self) -> DocId {
        self.view.end
    }

    /// Returns the document offered under `key`.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt) from a segment, as for all methods here.
    pub fn id_of(&self, key: &[u8]) -> Result<Option<DocId>> {
        let key = Key::new(key, &self.view.hasher);
        if self.view.may_hold_key(&key) { self.view.id_of(&key) } else { Ok(None) }
    }

    /// Returns the whole record of a document.
    ///
    /// # Errors
    /// See [`id_of`](Self::id_of).
    pub fn record(&self, id: DocId) -> Result<Option<Record>> {
        self.view.record(id)
    }

    /// Returns all stored documents in the order of their numbers.
    ///
    /// # Complexity
    /// One look-up by number for each: a binary search among the segments, one row, its key.
    pub fn records(&self) -> impl Iterator<Item = Result<Record>> + '_ {
        (0..self.view.end).filter_map(|id| self.record(id).transpose())
    }

    /// See [`Store::matches`](crate::Store::matches).
    ///
    /// # Errors
    /// See [`id_of`](Self::id_of).
    pub fn matches(&self, document: &Document<'_>) -> Result<Vec<Neighbour>> {
        self.matches_of(document, Extent::All, None)
    }

    /// See [`Store::first_matches`](crate::Store::first_matches).
    ///
    /// # Errors
    /// See [`id_of`](Self::id_of).
    pub fn first_matches(&self, document: &Document<'_>) -> Result<Vec<Neighbour>> {
        self.matches_of(document, Extent::Few, None)
    }

    /// See [`Store::confirmed_matches`](crate::Store::confirmed_matches).
    ///
    /// # Errors
    /// See [`id_of`](Self::id_of).
    pub fn confirmed_matches(
        &self,
        document: &Document<'_>,
        confirm: &mut dyn Confirm,
    ) -> Result<Vec<Neighbour>> {
        self.matches_of(document, Extent::All, Some(confirm))
    }

    /// See [`Store::first_confirmed`](crate::Store::first_confirmed).
    ///
    /// # Errors
    /// See [`id_of`](Self::id_of).
    pub fn first_confirmed(
        &self,
        document: &Document<'_>,
        confirm: &mut dyn Confirm,
    ) -> Result<Option<Neighbour>> {
        Ok(self.matches_of(document, Extent::Few, Some(confirm))?.into_iter().next())
    }

    fn matches_of(
        &self,
        document: &Document<'_>,
        extent: Extent,
        confirm: Option<&mut dyn Confirm>,
    ) -> Result<Vec<Neighbour>> {
        let proposed = self.view.propose_from_segments(std::slice::from_ref(document), extent)?;
        let proposed = proposed.into_iter().next().unwrap_or_default();
        Ok(self.view.matches(document, proposed, extent, confirm)?.0)
    }

    /// See [`Store::near`](crate::Store::near).
    ///
    /// # Errors
    /// See [`id_of`](Self::id_of).
    pub fn near(&self, fingerprint: Fingerprint) -> Result<Vec<(DocId, u32)>> {
        let mut found = Vec::new();
        self.near_many(&[fingerprint], |_, id, distance| found.push((id, distance)))?;
        found.sort_unstable_by_key(|&(id, distance)| (distance, id));
        Ok(found)
    }

    /// See [`Store::near_many`](crate::Store::near_many).
    ///
    /// # Errors
    /// See [`id_of`](Self::id_of).
    pub fn near_many(
        &self,
        queries: &[Fingerprint],
        mut visit: impl FnMut(usize, DocId, u32),
    ) -> Result<()> {
        self.view.near_many(queries, |number, id, near| visit(number, id, near.distance))
    }

    /// Returns documents that share a band with the sketch, and their similarity: the most similar first, then the
    /// oldest. They are no proposals: the policy is not applied.
    ///
    /// # Errors
    /// See [`id_of`](Self::id_of).
    ///
    /// # Complexity
    /// 16 look-ups in each segment; at most [`MAX_BAND_BUCKET`](crate::MAX_BAND_BUCKET) documents of each band, the
    /// oldest ones, and a row read for each.
    pub fn sharing_band(&self, sketch: &Sketch) -> Result<Vec<(DocId, f64)>> {
        self.view.sharing_band(sketch)
    }

    pub(super) fn check(&self) -> Result<Report> {
        let mut report = Report::default();
        for segment in self.view.segments.iter() {
            segment.check()?;
            report.segments += 1;
            report.documents += segment.footer.rows;
            report.bytes += segment.bytes;
        }
        for table in self.view.frozen.iter().chain([&self.view.active]) {
            report.in_journal += read(table).rows() as u64;
        }
        Ok(report)
    }
}
