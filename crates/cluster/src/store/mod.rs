//! The store that several workers share: documents, and buckets of the permuted tables, the sketch's bands and the
//! digests. Workers filter the buckets.

mod decide;
mod scripts;
mod tables;
mod value;

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hapax_dedup::{DocId, Document, DocumentStore, Policy, Record, Result, Verdict};
use redis::Value;
use redis::cluster::ClusterPipeline;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use self::tables::{Place, Shape};
use self::value::{NOTHING, State, Stored};
use crate::Cluster;
use crate::error::Error;
use crate::keys::{bytes, number};

pub use self::tables::MAX_DISTANCE;

const BATCH: usize = 64;
const RULES_VERSION: u32 = 1;
const MAX_SALT: u64 = 8;
/// Tickets reserved at a time.
const TICKETS: u64 = 256;
const SETTLED: usize = 1000;

/// A [`DocumentStore`] in a cluster, see [`Cluster::store`].
///
/// A document is appended to its buckets before they are read. So of two near-duplicates offered concurrently, at
/// least one sees the other. The document with the lowest ticket goes first: it marks the others, which wait for it.
/// So exactly one is kept.
///
/// # Complexity
/// Five round trips for a batch of 64 documents, six with a duplicate in it, seven with one that another worker is
/// deciding. 21 buckets a document, 27 in the shape for many pages; a band's bucket has at most 24 KiB. Bytes per
/// document: docs/benchmarks.md.
#[derive(Debug)]
pub struct ClusterStore {
    cluster: Arc<Cluster>,
    shape: Shape,
    policy: Policy,
    /// The worker, and an id of its process.
    writer: String,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    /// Offered here and not settled.
    unsettled: HashMap<DocId, Vec<u8>>,
    tickets: std::ops::Range<u64>,
}

/// The rules that all workers must share, as canonical JSON: fields in the order of their declaration.
#[derive(serde::Serialize)]
struct Rules {
    version: u32,
    policy: Policy,
}

impl Cluster {
    /// Opens the store that all workers share. The first worker fixes its layout by `recipe`, `policy` and the
    /// expected number of pages.
    ///
    /// # Errors
    /// As [`join`](Self::join); [`Error::Differs`](crate::Error::Differs) if the crawl has another recipe, policy or
    /// version, [`Error::Distance`](crate::Error::Distance).
    pub fn store(
        self: &Arc<Self>,
        recipe: &str,
        policy: hapax_dedup::Policy,
        expected_pages: u64,
    ) -> crate::error::Result<ClusterStore> {
        ClusterStore::open(Arc::clone(self), recipe, policy, expected_pages)
    }
}

impl ClusterStore {
    pub(crate) fn open(
        cluster: Arc<Cluster>,
        recipe: &str,
        policy: Policy,
        expected_pages: u64,
    ) -> crate::Result<Self> {
        if policy.distance > MAX_DISTANCE {
            return Err(Error::Distance(MAX_DISTANCE));
        }
        cluster.agree_version()?;
        cluster.agree("recipe", recipe)?;
        let rules = Rules { version: RULES_VERSION, policy };
        cluster.agree("rules", &serde_json::to_string(&rules).unwrap_or_default())?;
        let name = cluster.settle_on("shape", Shape::name_for(expected_pages))?;
        let shape = Shape::named(&name).ok_or_else(|| Error::Foreign {
            address: cluster.link.address.clone(),
            key: cluster.keys.crawl("shape"),
        })?;
        // Each hasher has different random keys.
        let life = std::hash::RandomState::new().hash_one(&cluster.worker);
        let writer = format!("{}:{life:016x}", cluster.worker);
        Ok(Self { cluster, shape, policy, writer, open: Mutex::default() })
    }

    fn held(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ticket(&self) -> crate::Result<u64> {
        let mut open = self.held();
        if let Some(ticket) = open.tickets.next() {
            return Ok(ticket);
        }
        let end = self.cluster.add("tickets", TICKETS as i64)?;
        open.tickets = end.saturating_sub(TICKETS)..end;
        open.tickets.next().ok_or(Error::Refused {
            address: self.cluster.link.address.clone(),
            why: "no tickets".into(),
        })
    }

    /// Returns whether this worker made the last claim of a document, in this process or an earlier one.
    ///
    /// # Errors
    /// If the cluster is unavailable.
    pub fn owns(&self, key: &[u8]) -> crate::Result<bool> {
        for salt in 0..MAX_SALT {
            let id = number_of(key, salt);
            match self.fetch(&[id])?.remove(&id) {
                None => return Ok(false),
                Some(found) if found.record.key == key => {
                    let (worker, _) = found.writer.rsplit_once(':').unwrap_or_default();
                    return Ok(worker == self.cluster.worker);
                }
                Some(_) => {}
            }
        }
        Ok(false)
    }

    fn eval(&self, pipe: &mut ClusterPipeline, script: &str, id: DocId) {
        pipe.cmd("EVAL").arg(script).arg(1).arg(self.cluster.keys.document(id));
    }

    fn fetch(&self, ids: &[DocId]) -> crate::Result<HashMap<DocId, Stored>> {
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let mut pipe = ClusterPipeline::new();
        for &id in ids {
            pipe.cmd("GET").arg(self.cluster.keys.document(id));
        }
        let answers = self.cluster.link.pipe(&pipe)?;
        let read = ids.iter().zip(&answers);
        Ok(read.filter_map(|(&id, answer)| Some((id, value::decode(bytes(answer)?)?))).collect())
    }

    fn places(&self, id: DocId, document: &Document<'_>) -> Vec<Place> {
        self.shape.places(id, document, !self.policy.hamming_only)
    }

    fn withdraw(&self, documents: &[(DocId, &Document<'_>)]) -> crate::Result<()> {
        let mut pipe = ClusterPipeline::new();
        let mut any = false;
        for (id, document) in documents {
            for place in self.places(*id, document) {
                any = true;
                pipe.cmd("EVAL").arg(scripts::REMOVE).arg(1);
                pipe.arg(self.cluster.keys.bucket(place.table, place.lead)).arg(place.entry);
            }
        }
        if any { self.cluster.link.pipe(&pipe).map(|_| ()) } else { Ok(()) }
    }

    fn set(&self, id: DocId, state: State, of: DocId) -> crate::Result<bool> {
        let mut pipe = ClusterPipeline::new();
        self.eval(&mut pipe, scripts::SET, id);
        pipe.arg(&[state.letter()][..]).arg(&of.to_le_bytes()[..]);
        let answers = self.cluster.link.pipe(&pipe)?;
        Ok(answers.first().and_then(bytes).is_some_and(|state| !state.is_empty()))
    }

    /// Appends to buckets, then reads each, in the order of `places`.
    fn append(&self, places: &[Place]) -> crate::Result<Vec<Value>> {
        if places.is_empty() {
            return Ok(Vec::new());
        }
        let mut pipe = ClusterPipeline::new();
        for place in places {
            let key = self.cluster.keys.bucket(place.table, place.lead);
            let entry = place.entry.as_slice();
            match place.full {
                Some(full) => {
                    pipe.cmd("EVAL").arg(scripts::BAND).arg(1).arg(key).arg(entry).arg(full);
                }
                None => {
                    pipe.cmd("APPEND").arg(&key).arg(entry);
                    pipe.cmd("GET").arg(&key);
                }
            }
        }
        let mut answers = self.cluster.link.pipe(&pipe)?.into_iter();
        let bucket = |place: &Place| answers.nth(usize::from(place.full.is_none()));
        Ok(places.iter().filter_map(bucket).collect())
    }
}

/// Returns the number of a key. Different salts give different numbers, in case two keys share one.
fn number_of(key: &[u8], salt: u64) -> DocId {
    // The highest number means "none".
    xxh3_64_with_seed(key, salt).min(NOTHING - 1)
}

impl DocumentStore for ClusterStore {
    fn offer_many(&self, documents: &[Document<'_>]) -> Result<Vec<Verdict>> {
        let mut verdicts = Vec::with_capacity(documents.len());
        if let Some(long) = documents.iter().find(|d| d.key.len() > hapax_dedup::MAX_KEY) {
            return Err(hapax_dedup::Error::KeyTooLong(long.key.len()));
        }
        let mut claimed = Vec::new();
        for documents in documents.chunks(BATCH) {
            match self.decide(documents, &mut claimed) {
                Ok(decided) => verdicts.extend(decided),
                Err(error) => {
                    // The caller does not learn these verdicts: offered again, the documents are claims again.
                    let mut held = self.held();
                    claimed.iter().for_each(|id| drop(held.unsettled.remove(id)));
                    return Err(error.into());
                }
            }
        }
        Ok(verdicts)
    }

    fn id_of(&self, key: &[u8]) -> Result<Option<DocId>> {
        for salt in 0..MAX_SALT {
            let id = number_of(key, salt);
            match self.record(id)? {
                None => return Ok(None),
                Some(record) if record.key == key => return Ok(Some(id)),
                Some(_) => {}
            }
        }
        Ok(None)
    }

    fn record(&self, id: DocId) -> Result<Option<Record>> {
        let stored = self.fetch(&[id])?.remove(&id);
        Ok(stored.map(|stored| Record {
            id,
            of: stored.of.filter(|_| stored.state == State::Discarded),
            indexed: stored.state == State::Kept,
            ..stored.record
        }))
    }

    fn delete(&self, id: DocId) -> Result<bool> {
        let Some(record) = self.record(id)? else { return Ok(false) };
        self.withdraw(&[(id, &record.document())])?;
        let mut pipe = ClusterPipeline::new();
        pipe.cmd("DEL").arg(self.cluster.keys.document(id));
        let answers = self.cluster.link.pipe(&pipe)?;
        self.held().unsettled.remove(&id);
        if answers.first().and_then(number) == Some(1) {
            self.cluster.add("documents", -1)?;
        }
        Ok(true)
    }

    fn restore(&self, id: DocId) -> Result<Option<DocId>> {
        let Some(record) = self.record(id)? else { return Ok(None) };
        if record.of.is_some() {
            self.set(id, State::Kept, NOTHING)?;
            self.append(&self.places(id, &record.document()))?;
        }
        Ok(Some(id))
    }

    fn supersede(&self, id: DocId, of: DocId) -> Result<Option<DocId>> {
        let Some(record) = self.record(id)? else { return Ok(None) };
        // If the other document does not exist, neither page would be kept.
        if self.restore(of)?.is_none() {
            return Ok(None);
        }
        self.set(id, State::Discarded, of)?;
        self.withdraw(&[(id, &record.document())])?;
        Ok(Some(id))
    }

    fn count(&self) -> Result<u64> {
        Ok(self.cluster.add("documents", 0)?)
    }

    fn settle(&self) -> Result<Vec<Vec<u8>>> {
        let mut open: Vec<DocId> = self.held().unsettled.keys().copied().collect();
        open.sort_unstable();
        let mut lost = Vec::new();
        for batch in open.chunks(SETTLED) {
            let mut pipe = ClusterPipeline::new();
            for &id in batch {
                self.eval(&mut pipe, scripts::SETTLE, id);
                pipe.arg(&self.writer);
            }
            let answers = self.cluster.link.pipe(&pipe)?;
            let mut held = self.held();
            for (&id, answer) in batch.iter().zip(&answers) {
                if number(answer) == Some(0) {
                    lost.push(id);
                } else {
                    held.unsettled.remove(&id);
                }
            }
        }
        // Removed last: after an error the caller does not learn of them.
        let mut held = self.held();
        Ok(lost.iter().filter_map(|id| held.unsettled.remove(id)).collect())
    }
}
