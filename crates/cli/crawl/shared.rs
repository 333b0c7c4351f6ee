//! A crawl that many workers share: frontier and verdicts come from a cluster, while WARC, index,
//! logs and a store of this worker's own pages lie in its data directory.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::Result;
use hapax_data::ELSEWHERE;
use hapax_data::SkipReason;
use hapax_dedup::{Document, DocumentStore, Neighbour, Record, Verdict};
use hapax_frontier::Frontier;

use super::commit::{Committer, GROUP_PAGES};
use super::page::PageWork;
use crate::exit::{USAGE, coded};
use crate::settings::Settings;
use hapax_data::DataDir;

/// Two groups, each page of which may stand beside another worker's.
const RECLAIMED: u64 = 4 * GROUP_PAGES;
const RECLAIMED_AT_A_TIME: usize = 256;

/// What a cluster gives to a crawl.
pub(super) struct Shared {
    pub(super) frontier: Arc<dyn Frontier>,
    pub(super) verdicts: Verdicts,
}

type Owns = Box<dyn Fn(&[u8]) -> Result<bool> + Send>;

/// The store of all workers.
pub(crate) struct Verdicts {
    store: Arc<dyn DocumentStore>,
    /// Whether a document is this worker's, in whatever life.
    owns: Owns,
    /// Tells the others how many pages were fetched here.
    report: Box<dyn Fn(u64) + Send>,
    /// Asked for together, and not used yet.
    ahead: HashMap<Vec<u8>, Verdict>,
}

impl std::fmt::Debug for Verdicts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.store.fmt(f)
    }
}

/// What the cluster says of a page.
pub(super) enum Told {
    New,
    /// It is another worker's.
    Taken,
    Duplicate(Neighbour),
}

/// Joins the cluster that the settings name, if they do.
#[cfg(feature = "cluster")]
pub(super) fn join(
    data: &DataDir,
    settings: &Settings,
    politeness: &hapax_frontier::Options,
) -> Result<Option<Shared>> {
    let Some(cluster) = connect(settings, &worker_name(data)?)? else { return Ok(None) };
    let pages = settings.cluster_pages.unwrap_or(1e7).clamp(0.0, 1e12) as u64;
    let store = cluster.store(settings.recipe()?.name(), settings.policy()?, pages);
    let store = store.map_err(|error| coded(USAGE, error.to_string()))?;
    let store = Arc::new(store);
    let owner = Arc::clone(&store);
    let frontier = cluster.frontier(&data.frontier(), politeness.clone())?;
    Ok(Some(Shared {
        frontier: Arc::new(frontier),
        verdicts: Verdicts {
            store,
            owns: Box::new(move |key| Ok(owner.owns(key)?)),
            report: Box::new(move |pages| cluster.fetched(pages)),
            ahead: HashMap::new(),
        },
    }))
}

/// The cluster that the settings name.
#[cfg(feature = "cluster")]
pub(crate) fn connect(
    settings: &Settings,
    worker: &str,
) -> Result<Option<Arc<hapax_cluster::Cluster>>> {
    let Some(address) = &settings.cluster else { return Ok(None) };
    let mut options = hapax_cluster::Options { worker: worker.to_owned(), ..Default::default() };
    if let Some(name) = &settings.cluster_name {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || !name.chars().all(plain) {
            return Err(coded(
                USAGE,
                format!("--cluster-name {name:?}: letters, digits, - _ and ."),
            ));
        }
        options.name.clone_from(name);
    }
    if let Some(lease) = &settings.cluster_lease {
        options.lease = crate::units::parse_duration(lease)?;
    }
    // Whoever starts a crawl is told soon; later, a failover is waited for.
    let cluster = hapax_cluster::Cluster::join(address, &options);
    cluster.map(Some).map_err(|error| coded(USAGE, error.to_string()))
}

/// What is said where a cluster is asked for.
#[cfg(not(feature = "cluster"))]
pub(crate) const WITHOUT: &str = "--cluster: this program was built without it: \
    cargo install --path . --locked --features cluster (or --cluster= to go on without)";

#[cfg(not(feature = "cluster"))]
pub(super) fn join(
    _: &DataDir,
    settings: &Settings,
    _: &hapax_frontier::Options,
) -> Result<Option<Shared>> {
    match &settings.cluster {
        None => Ok(None),
        Some(_) => Err(coded(USAGE, WITHOUT)),
    }
}

/// The same for the same data directory, other for any other.
#[cfg(feature = "cluster")]
fn worker_name(data: &DataDir) -> Result<String> {
    use std::hash::BuildHasher;
    let path = data.root().join("worker");
    match std::fs::read_to_string(&path) {
        Ok(name) => Ok(name.trim().to_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
            let host: String = host.trim().chars().filter(|c| c.is_ascii_alphanumeric()).collect();
            // No two hashers have the same keys.
            let number = std::hash::RandomState::new().hash_one(data.root()) as u32;
            let name = format!("{host}-{number:08x}");
            data.replace("worker", name.as_bytes())?;
            Ok(name)
        }
        Err(error) => Err(error.into()),
    }
}

impl Committer {
    /// Verdicts come from all workers from here on.
    pub(super) fn share(&mut self, verdicts: Verdicts) -> Result<()> {
        self.shared = Some(verdicts);
        // What the last life kept and did not settle, or what a lost master had not passed on, may be
        // another worker's by now.
        let last: Vec<u64> =
            (self.store.next_id().saturating_sub(RECLAIMED)..self.store.next_id()).collect();
        for ids in last.chunks(RECLAIMED_AT_A_TIME) {
            self.reclaim(ids)?;
        }
        Ok(())
    }

    /// Holds pages that this worker keeps against what the others know by now; those that somebody
    /// else keeps leave this one.
    fn reclaim(&mut self, ids: &[u64]) -> Result<()> {
        let mut records = Vec::new();
        for &id in ids {
            let Some(record) = self.store.record(id)? else { continue };
            if record.indexed && record.of.is_none() && !Self::is_elsewhere(&record.key) {
                records.push(record);
            }
        }
        let documents: Vec<_> = records.iter().map(Record::document).collect();
        self.ask_ahead_of(&documents)?;
        for record in &records {
            let who = match self.ask_all(&record.document())? {
                Some(Told::Duplicate(of)) => self.url_of(of.id)?,
                Some(Told::Taken) if !self.owns(&record.key)? => "the same URL".to_owned(),
                _ => continue,
            };
            let url = String::from_utf8_lossy(&record.key).into_owned();
            self.supersede(record.id, &url)?;
            self.skip(&url, SkipReason::LeaseLost, &format!("another worker keeps {who}"))?;
        }
        Ok(())
    }

    fn owns(&self, key: &[u8]) -> Result<bool> {
        self.shared.as_ref().map_or(Ok(true), |shared| (shared.owns)(key))
    }

    /// Asks all workers about a page; `None` if there are no others.
    pub(super) fn ask_all(&mut self, document: &Document<'_>) -> Result<Option<Told>> {
        let Some(shared) = &mut self.shared else { return Ok(None) };
        let verdict = match shared.ahead.remove(document.key) {
            Some(verdict) => Some(verdict),
            None => shared.store.offer_many(std::slice::from_ref(document))?.pop(),
        };
        let of = match verdict {
            Some(Verdict::New(_)) => return Ok(Some(Told::New)),
            Some(Verdict::Duplicate { of, .. }) => of,
            Some(Verdict::Known(_)) | None => return Ok(Some(Told::Taken)),
        };
        let Some(record) = shared.store.record(of.id)? else { return Ok(Some(Told::New)) };
        let url = String::from_utf8_lossy(&record.key).into_owned();
        let own = String::from_utf8_lossy(document.key);
        if self.decisions.distinct(&own, &url) {
            // A person has said that they are not the same.
            if let Some(id) = shared.store.id_of(document.key)? {
                shared.store.restore(id)?;
            }
            return Ok(Some(Told::New));
        }
        let id = match self.store.id_of(&record.key)? {
            Some(id) => id,
            None => {
                let key = format!("{ELSEWHERE}{url}").into_bytes();
                self.store.insert(&Document { key: &key, ..record.document() }, None)?
            }
        };
        Ok(Some(Told::Duplicate(Neighbour { id, ..of })))
    }

    /// Whether verdicts come from a cluster.
    pub(super) const fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// Asks all workers about pages that are to be decided next, in one go.
    pub(super) fn ask_ahead(&mut self, pages: &[&PageWork]) -> Result<()> {
        let mut documents = Vec::with_capacity(pages.len());
        for page in pages {
            let key = page.key.as_deref().unwrap_or(page.url.as_str());
            if self.store.id_of(key.as_bytes())?.is_none() {
                documents.push(page.stored(key.as_bytes()));
            }
        }
        self.ask_ahead_of(&documents)
    }

    fn ask_ahead_of(&mut self, documents: &[Document<'_>]) -> Result<()> {
        let Some(shared) = &mut self.shared else { return Ok(()) };
        if documents.len() > 1 {
            let verdicts = shared.store.offer_many(documents)?;
            let keys = documents.iter().map(|document| document.key.to_vec());
            for (key, verdict) in keys.zip(verdicts) {
                // The second of two equal keys is known by the first.
                shared.ahead.entry(key).or_insert(verdict);
            }
        }
        Ok(())
    }

    /// What was asked about and is not used in the end is nobody's again. Before a commit, which
    /// settles all that was asked about.
    pub(super) fn drop_ahead(&mut self) -> Result<()> {
        let Some(shared) = &mut self.shared else { return Ok(()) };
        for (key, verdict) in std::mem::take(&mut shared.ahead) {
            if !matches!(verdict, Verdict::Known(_))
                && let Some(id) = shared.store.id_of(&key)?
            {
                shared.store.delete(id)?;
            }
        }
        Ok(())
    }

    /// A page is known here, and its lease came all the same: the others must know it too.
    pub(super) fn tell_known(&mut self, id: u64) -> Result<()> {
        if self.is_shared() { self.reclaim(&[id]) } else { Ok(()) }
    }

    /// A page of this worker took the place of another one of its.
    pub(super) fn tell_better(&self, old: &str, new: &str) -> Result<()> {
        let Some(shared) = &self.shared else { return Ok(()) };
        let id = |url: &str| shared.store.id_of(url.as_bytes());
        if let (Some(old), Some(new)) = (id(old)?, id(new)?) {
            shared.store.supersede(old, new)?;
        }
        Ok(())
    }

    /// A person took a page back.
    pub(super) fn tell_restored(&self, url: &str) -> Result<()> {
        let Some(shared) = &self.shared else { return Ok(()) };
        if let Some(id) = shared.store.id_of(url.as_bytes())? {
            shared.store.restore(id)?;
        }
        Ok(())
    }

    /// A person wants a page to be forgotten.
    pub(super) fn tell_forgotten(&self, url: &str) -> Result<()> {
        let Some(shared) = &self.shared else { return Ok(()) };
        if let Some(id) = shared.store.id_of(url.as_bytes())? {
            shared.store.delete(id)?;
        }
        Ok(())
    }

    /// What is durable here is settled for all; pages that another worker has taken over meanwhile
    /// leave this one.
    ///
    /// Returns whether there were such pages: they leave with one more commit.
    pub(super) fn settle_shared(&mut self) -> Result<bool> {
        let Some(shared) = &self.shared else { return Ok(false) };
        let lost = shared.store.settle()?;
        (shared.report)(self.stats.pages().fetched);
        let any = !lost.is_empty();
        for key in lost {
            let Some(id) = self.store.id_of(&key)? else { continue };
            let url = String::from_utf8_lossy(&key).into_owned();
            self.supersede(id, &url)?;
            self.skip(&url, SkipReason::LeaseLost, "another worker has fetched it meanwhile")?;
        }
        Ok(any)
    }

    /// Whether a document of the store is another worker's page.
    pub(super) fn is_elsewhere(key: &[u8]) -> bool {
        key.starts_with(ELSEWHERE.as_bytes())
    }
}
