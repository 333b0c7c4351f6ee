//! The store as a whole: on a real disk, on one that crashes, on one that fails, against a model.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test may panic and talk")]

mod common;
mod concurrency;
mod corruption;
mod crash;
mod edges;
mod golden;
mod model;
mod peers;
mod recording;
mod segments;
mod store;
