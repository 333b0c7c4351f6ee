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
use crate::seen::Seen;

#[derive(Debug)]
pub(super) struct State {
    pub(super) seen: Seen,
    pub(super) hosts: Vec<Host>,
    pub(super) names: Vec<String>,
    pub(super) by_name: HashMap<String, usize>,
    pub(super) addresses: Vec<Address>,
    pub(super) by_address: HashMap<IpAddr, usize>,
    /// Hosts that have something to hand out, by the time when they may be asked.
    pub(super) ready: BTreeSet<(Instant, usize)>,
    pub(super) batch: Batch,
    /// On its way to disk; asked like the batch until it can be read from there.
    pub(super) committing: Option<Arc<Batch>>,
    /// Commits that have come to their end.
    pub(super) commits_done: u64,
    /// A commit failed, and its batch with it.
    pub(super) failed: bool,
    pub(super) queued: u64,
    /// Bytes of the URLs that wait, those in flight among them.
    pub(super) queue_bytes: QueueBytes,
    /// Bytes of the URLs of all hosts that wait in memory.
    pub(super) held_bytes: usize,
    pub(super) deferred: u64,
    pub(super) next_sequence: u64,
}

impl State {
    /// What no look at the disk is sure to show, newest first.
    pub(super) fn uncommitted(&self) -> impl Iterator<Item = &Batch> {
        std::iter::once(&self.batch).chain(self.committing.as_deref())
    }

    /// Counts what a host holds in memory, after any change of it.
    pub(super) fn count_held(&mut self, index: usize) {
        let Some(host) = self.hosts.get_mut(index) else { return };
        let held = host.held_bytes();
        self.held_bytes = (self.held_bytes + held).saturating_sub(host.counted_bytes);
        host.counted_bytes = held;
    }

    /// When a host may be asked, by its own clock and its address's.
    pub(super) fn due(&self, index: usize) -> Instant {
        let host = self.hosts.get(index);
        let address = host.and_then(|host| self.addresses.get(host.address?));
        let clocks = host.map(|host| &host.clock).into_iter();
        let clocks = clocks.chain(address.map(|address| &address.clock));
        clocks.map(Clock::at).max().unwrap_or_else(Instant::now)
    }

    /// The address of a host, if it is known.
    pub(super) fn address_of(&mut self, host: usize) -> Option<&mut Address> {
        let address = self.hosts.get(host)?.address?;
        self.addresses.get_mut(address)
    }

    /// Whether a host's address answers nobody.
    pub(super) fn is_down(&mut self, host: usize, options: &Options) -> bool {
        self.address_of(host).is_some_and(|address| address.is_down(options))
    }

    /// A lease has asked nothing of its host.
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
