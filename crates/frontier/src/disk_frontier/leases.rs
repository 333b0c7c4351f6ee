//! How leases end: their host becomes free, and their URL is done or goes back to its queue.

use std::time::{Duration, Instant};

use hapax_url::url_key;

use super::DiskFrontier;
use crate::bounds::{QueueBytes, bytes_of};
use crate::disk::UrlState;
use crate::host::{Host, class_of, host_hash};
use crate::lease::{CLOSED_COUNTS, End, Fault, HostAnswer, Lease};

impl Host {
    fn leave(&mut self, lease: &Lease) {
        if lease.is_host_free() {
            self.unfinished = self.unfinished.saturating_sub(1);
        } else {
            self.in_flight = self.in_flight.saturating_sub(1);
        }
    }
}

impl DiskFrontier {
    pub(super) fn free_host(&self, lease: &mut Lease, answer: HostAnswer, now: Instant) -> bool {
        if !lease.free_host() {
            return false;
        }
        let mut state = self.lock();
        let Some(&index) = state.by_name.get(&lease.host) else { return false };
        let last = state.is_down(index, &self.options);
        let Some(host) = state.hosts.get_mut(index) else { return false };
        host.in_flight = host.in_flight.saturating_sub(1);
        host.unfinished += 1;
        let mut given_up = false;
        match answer {
            HostAnswer::Answered { took } => host.well(took, now, &self.options),
            HostAnswer::Failed => given_up = host.failed(host.delay, now, &self.options, last),
            HostAnswer::Unasked => state.give_back(index, lease.sequence),
        }
        if given_up {
            Self::give_up(&mut state, index);
        }
        self.wake(&mut state, index);
        given_up
    }

    pub(super) fn end_lease(&self, mut lease: Lease, end: End, now: Instant) -> bool {
        let took = Duration::ZERO;
        let given_up = match end {
            End::Done => {
                let given_up = self.free_host(&mut lease, HostAnswer::Answered { took }, now);
                self.finish(&lease);
                given_up
            }
            End::PutBack { wait } => self.put_back(&lease, wait, now),
            End::Retry { wait, failure } => self.retry(&lease, wait, failure, now),
            End::Defer { fault } => self.defer(&lease, fault, now),
        };
        lease.close();
        given_up
    }

    fn finish(&self, lease: &Lease) {
        let mut state = self.lock();
        state.queued = state.queued.saturating_sub(1);
        state.queue_bytes.remove(class_of(lease.sequence), bytes_of(&lease.entry));
        if state.queued == 0 {
            state.queue_bytes = QueueBytes::default();
        }
        state.batch.states.insert(url_key(lease.entry.url.as_str()), UrlState::Done);
        state.batch.dequeued.push((host_hash(&lease.host), lease.sequence));
        let Some(&index) = state.by_name.get(&lease.host) else { return };
        if let Some(host) = state.hosts.get_mut(index) {
            host.queued = host.queued.saturating_sub(1);
            host.unfinished = host.unfinished.saturating_sub(1);
        }
    }

    fn put_back(&self, lease: &Lease, wait: Duration, now: Instant) -> bool {
        let mut state = self.lock();
        let Some(&index) = state.by_name.get(&lease.host) else { return false };
        let Some(host) = state.hosts.get_mut(index) else { return false };
        host.leave(lease);
        host.waits_again(class_of(lease.sequence));
        if !wait.is_zero() {
            host.clock.hold(now + wait);
        }
        if host.given_up {
            host.deferred += 1;
            state.deferred += 1;
        } else {
            host.take_back(lease.sequence, lease.entry.clone(), lease.attempts);
        }
        self.wake(&mut state, index);
        false
    }

    fn retry(&self, lease: &Lease, wait: Duration, failure: bool, now: Instant) -> bool {
        let mut state = self.lock();
        let Some(&index) = state.by_name.get(&lease.host) else { return false };
        let last = state.is_down(index, &self.options);
        let Some(host) = state.hosts.get_mut(index) else { return false };
        host.leave(lease);
        host.waits_again(class_of(lease.sequence));
        let ends = failure && host.failed(wait, now, &self.options, last);
        host.clock.hold(now + wait);
        host.take_back(lease.sequence, lease.entry.clone(), lease.attempts.saturating_add(1));
        if ends {
            Self::give_up(&mut state, index);
        } else if host.given_up {
            host.lanes.clear();
            host.deferred += 1;
            state.deferred += 1;
        }
        self.wake(&mut state, index);
        ends
    }

    fn defer(&self, lease: &Lease, fault: Fault, now: Instant) -> bool {
        let mut state = self.lock();
        let Some(&index) = state.by_name.get(&lease.host) else { return false };
        let last = state.is_down(index, &self.options);
        let Some(host) = state.hosts.get_mut(index) else { return false };
        host.leave(lease);
        host.waits_again(class_of(lease.sequence));
        let mut failed = |_| host.failed(Duration::ZERO, now, &self.options, last);
        let ends = match fault {
            Fault::None | Fault::Unasked => false,
            Fault::Failure => failed(0),
            Fault::Closed => (0..CLOSED_COUNTS).any(failed),
        };
        if ends {
            Self::give_up(&mut state, index);
        } else {
            host.deferred += 1;
            state.deferred += 1;
        }
        if fault == Fault::Unasked {
            state.give_back(index, lease.sequence);
        }
        self.wake(&mut state, index);
        ends
    }
}

#[cfg(test)]
mod tests;
