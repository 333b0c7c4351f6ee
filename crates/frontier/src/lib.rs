#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test may panic"))]

mod address;
mod bounds;
mod clock;
mod disk;
mod disk_frontier;
mod entry;
mod error;
mod found_inlinks;
mod frontier;
mod guard;
mod host;
mod inlinks;
mod lease;
mod read_only;
pub mod revisit;
mod seen;

pub use address::network;
pub use bounds::Pushed;
pub use disk_frontier::DiskFrontier;
pub use entry::{Counts, Entry, EntryKind, HostState, Options};
pub use error::{Error, Result};
pub use found_inlinks::FoundInlinks;
pub use frontier::Frontier;
pub use guard::is_guarded;
pub use inlinks::MAX_INLINKS;
pub use lease::{CLOSED_COUNTS, End, Fault, HostAnswer, Lease, LeaseCounts, Next};
