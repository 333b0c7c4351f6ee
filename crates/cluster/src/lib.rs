/*!
One crawl on many machines: frontier and near-duplicate store on the Redis Cluster protocol.

# Brief overview

- [`Cluster::join`] makes a worker of a crawl that is known by its name.
- [`Cluster::frontier`] is the [`Frontier`](hapax_frontier::Frontier) that all workers share: one
  owner of a host at a time, politeness kept over all of them by the cluster's own clocks, leases that
  expire.
- [`Cluster::store`] is the [`DocumentStore`](hapax_dedup::DocumentStore) that all share: of two
  near-duplicates offered at the same moment exactly one is new.
- [`Cluster::workers`] tells who is at work.

Works with Redis, Valkey and what else speaks their cluster protocol with Lua. The loss of a master is
waited for up to [`Options::patience`]; what was sent twice by that does no harm.
*/
#![forbid(unsafe_code)]
#![warn(clippy::indexing_slicing)]
#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test may panic"))]

mod cluster;
mod error;
mod frontier;
mod keys;
mod link;
mod store;

pub use cluster::{Cluster, Options, WorkerState};
pub use error::{Error, Result};
pub use frontier::ClusterFrontier;
pub use store::{ClusterStore, MAX_DISTANCE};
