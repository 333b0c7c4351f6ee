//! The state of a frontier in memory, behind its mutex.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use crate::address::Address;
use crate::bounds::QueueBytes;
use crate::clock::Clock;
use crate::disk::Batch;
use crate::entry::Options;
use crate::host::Host;
use crate::inlinks::RecentInlinks;
use crate::seen::Seen;

#[derive(Debug)]
pub(super) struct State {
    pub(super) seen: Seen,
    pub(super) hosts: Vec<Host>,
    pub(super) names: Vec<String>,
    pub(super) by_name: HashMap<String, usize>,
    pub(super) addresses: Vec<Address>,
    pub(super) by_address: HashMap<IpAddr, usize>,
    /// Hosts with URLs to lease, by the time of their next request.
    pub(super) ready: BTreeSet<(Instant, usize)>,
    pub(super) batch: Batch,
    pub(super) inlinks: RecentInlinks,
    /// The batch being written. Lookups read it like `batch` until it is on disk.
    pub(super) committing: Option<Arc<Batch>>,
    pub(super) commits_done: u64,
    /// A commit failed, and its batch is lost.
    pub(super) failed: bool,
    pub(super) queued: u64,
    /// Bytes of the queued URLs, those in flight included.
    pub(super) queue_bytes: QueueBytes,
    /// Bytes of the queued URLs of all hosts that are in memory.
    pub(super) held_bytes: usize,
    pub(super) deferred: u64,
    pub(super) next_sequence: u64,
}

impl State {
    /// Returns the batches that may not be on disk yet, newest first.
    pub(super) fn uncommitted(&self) -> impl Iterator<Item = &Batch> {
        std::iter::once(&self.batch).chain(self.committing.as_deref())
    }

    pub(super) fn count_held(&mut self, index: usize) {
        let Some(host) = self.hosts.get_mut(index) else { return };
        let held = host.held_bytes();
        self.held_bytes = (self.held_bytes + held).saturating_sub(host.counted_bytes);
        host.counted_bytes = held;
    }

    /// Returns when a host may be requested, by its own clock and that of its address.
    pub(super) fn due(&self, index: usize) -> Instant {
        let host = self.hosts.get(index);
        let address = host.and_then(|host| self.addresses.get(host.address?));
        let clocks = host.map(|host| &host.clock).into_iter();
        let clocks = clocks.chain(address.map(|address| &address.clock));
        clocks.map(Clock::at).max().unwrap_or_else(Instant::now)
    }

    pub(super) fn address_of(&mut self, host: usize) -> Option<&mut Address> {
        let address = self.hosts.get(host)?.address?;
        self.addresses.get_mut(address)
    }

    pub(super) fn is_down(&mut self, host: usize, options: &Options) -> bool {
        self.address_of(host).is_some_and(|address| address.is_down(options))
    }

    /// Gives a lease's delay back to the clocks of its host and address: no request was made.
    pub(super) fn give_back(&mut self, index: usize, sequence: u64) {
        if let Some(host) = self.hosts.get_mut(index) {
            host.clock.give_back(sequence);
        }
        if let Some(address) = self.address_of(index) {
            address.clock.give_back(sequence);
        }
    }
}

#[cfg(test)]
mod tests;
