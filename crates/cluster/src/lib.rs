#![doc = include_str!("../README.md")]
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
