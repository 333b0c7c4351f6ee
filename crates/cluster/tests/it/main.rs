//! Tests with a real cluster of three masters and three replicas on loopback.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test may panic and talk"
)]

mod frontier;
mod frontier_faults;
#[path = "../../../frontier/tests/suite/mod.rs"]
mod frontier_suite;
mod redis;
mod store;
mod store_faults;
#[path = "../../../dedup/tests/suite/mod.rs"]
mod store_suite;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use hapax_cluster::{Cluster, Options};

/// One cluster for all tests that do not stop its servers.
fn shared() -> Option<&'static Mutex<redis::RedisCluster>> {
    static CLUSTER: OnceLock<Option<Mutex<redis::RedisCluster>>> = OnceLock::new();
    CLUSTER.get_or_init(|| redis::RedisCluster::start().map(Mutex::new)).as_ref()
}

fn fresh_name() -> String {
    static NAMES: AtomicU64 = AtomicU64::new(0);
    format!("test{}", NAMES.fetch_add(1, Ordering::Relaxed))
}

fn join(address: &str, name: &str, worker: &str) -> Arc<Cluster> {
    let options = Options {
        name: name.into(),
        worker: worker.into(),
        lease: Duration::from_secs(2),
        patience: Duration::from_secs(30),
    };
    Cluster::join(address, &options).unwrap()
}
