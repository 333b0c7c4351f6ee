//! Joins the cluster of a shared crawl.

#[cfg(feature = "cluster")]
use std::sync::Arc;

use anyhow::Result;
#[cfg(feature = "cluster")]
use hapax_crawl::Verdicts;
use hapax_data::DataDir;
#[cfg(feature = "cluster")]
use hapax_dedup::DocumentStore;

use crate::exit::{USAGE, coded};
use crate::settings::Settings;

/// The frontier and the verdicts that all workers share.
pub(crate) type Joined =
    (std::sync::Arc<dyn hapax_frontier::Frontier>, Box<dyn hapax_crawl::Verdicts>);

#[cfg(feature = "cluster")]
#[derive(Debug)]
struct OfWorkers {
    store: hapax_cluster::ClusterStore,
    cluster: Arc<hapax_cluster::Cluster>,
}

#[cfg(feature = "cluster")]
impl Verdicts for OfWorkers {
    fn documents(&self) -> &dyn DocumentStore {
        &self.store
    }

    fn owns(&self, key: &[u8]) -> hapax_dedup::Result<bool> {
        self.store.owns(key).map_err(|error| hapax_dedup::Error::Elsewhere(error.into()))
    }

    fn report(&self, fetched: u64) {
        self.cluster.fetched(fetched);
    }
}

/// Joins the cluster in the settings, if any.
#[cfg(feature = "cluster")]
pub(crate) fn join(
    data: &DataDir,
    settings: &Settings,
    politeness: &hapax_frontier::Options,
) -> Result<Option<Joined>> {
    let Some(cluster) = connect(settings, &worker_name(data)?)? else { return Ok(None) };
    let pages = settings.cluster.cluster_pages.unwrap_or(1e7).clamp(0.0, 1e12) as u64;
    let store = cluster.store(settings.recipe()?.name(), settings.policy()?, pages);
    let store = store.map_err(|error| coded(USAGE, error.to_string()))?;
    let frontier = cluster.frontier(&data.frontier(), politeness.clone())?;
    let verdicts = OfWorkers { store, cluster };
    Ok(Some((Arc::new(frontier), Box::new(verdicts))))
}

/// Connects to the cluster in the settings, if any.
#[cfg(feature = "cluster")]
pub(crate) fn connect(
    settings: &Settings,
    worker: &str,
) -> Result<Option<Arc<hapax_cluster::Cluster>>> {
    let Some(address) = &settings.cluster.cluster else { return Ok(None) };
    let mut options = hapax_cluster::Options { worker: worker.to_owned(), ..Default::default() };
    if let Some(name) = &settings.cluster.cluster_name {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || !name.chars().all(plain) {
            return Err(coded(
                USAGE,
                format!("--cluster-name {name:?}: letters, digits, - _ and ."),
            ));
        }
        options.name.clone_from(name);
    }
    if let Some(lease) = &settings.cluster.cluster_lease {
        options.lease = lease.duration();
    }
    // The first connection fails fast; later ones wait for a failover.
    let cluster = hapax_cluster::Cluster::join(address, &options);
    cluster.map(Some).map_err(|error| coded(USAGE, error.to_string()))
}

/// The error of `--cluster` in a build without the feature.
#[cfg(not(feature = "cluster"))]
pub(crate) const WITHOUT: &str = "--cluster: this program was built without cluster support. Rebuild it: cargo install --path . --locked \
     --features cluster (or continue without: --cluster=)";

#[cfg(not(feature = "cluster"))]
pub(crate) fn join(
    _: &DataDir,
    settings: &Settings,
    _: &hapax_frontier::Options,
) -> Result<Option<Joined>> {
    match &settings.cluster.cluster {
        None => Ok(None),
        Some(_) => Err(coded(USAGE, WITHOUT)),
    }
}

/// A worker's name: stable for a data directory and different for others.
#[cfg(feature = "cluster")]
fn worker_name(data: &DataDir) -> Result<String> {
    use std::hash::BuildHasher;
    let path = data.root().join("worker");
    match std::fs::read_to_string(&path) {
        Ok(name) => Ok(name.trim().to_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
            let host: String = host.trim().chars().filter(|c| c.is_ascii_alphanumeric()).collect();
            // Each hasher has random keys.
            let number = std::hash::RandomState::new().hash_one(data.root()) as u32;
            let name = format!("{host}-{number:08x}");
            data.replace("worker", name.as_bytes())?;
            Ok(name)
        }
        Err(error) => Err(error.into()),
    }
}
