//! The queue and clock of one host.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::clock::Clock;
use crate::entry::{CLASSES, Entry, Options, RECENT};

/// Bits of a sequence number below those of its class.
const CLASS_SHIFT: u32 = u64::BITS - CLASSES.trailing_zeros();

/// Returns the sequence number of entry `number` in this class. A host's queue on disk is sorted by it.
pub(crate) const fn sequence(class: u8, number: u64) -> u64 {
    (class as u64) << CLASS_SHIFT | number_of(number)
}

pub(crate) const fn class_of(sequence: u64) -> u8 {
    (sequence >> CLASS_SHIFT) as u8
}

pub(crate) const fn number_of(sequence: u64) -> u64 {
    sequence & ((1 << CLASS_SHIFT) - 1)
}

pub(crate) fn host_hash(name: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64(name.as_bytes())
}

/// A queued URL: sequence number, entry, attempts.
type Waiting = (u64, Entry, u8);

fn bytes_of((_, entry, _): &Waiting) -> usize {
    let from = entry.from.as_ref().map_or(0, |from| from.len());
    size_of::<Waiting>() + entry.url.as_str().len() + from
}

/// The queued URLs of one class, sorted by sequence number.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    pub(crate) class: u8,
    queue: VecDeque<Waiting>,
    bytes: usize,
    /// The first number that is on disk only; `None` if all are in memory.
    pub(crate) on_disk_from: Option<u64>,
    /// The highest number that was leased and came back. Higher numbers were never leased.
    taken_back: u64,
    /// Unreadable rows below this number have been counted.
    pub(crate) counted: u64,
    /// Number of finished commits when these URLs were not on disk yet. They are read again after another commit.
    pub(crate) waits: Option<u64>,
}

impl Lane {
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.on_disk_from.is_none()
    }

    pub(crate) fn held(&self) -> usize {
        self.queue.len()
    }

    pub(crate) fn push(&mut self, waiting: Waiting) {
        self.bytes += bytes_of(&waiting);
        self.queue.push_back(waiting);
    }

    pub(crate) fn pop(&mut self) -> Option<Waiting> {
        let first = self.queue.pop_front()?;
        self.bytes -= bytes_of(&first);
        Some(first)
    }

    /// Drops URLs from memory that were never leased: they are on disk, or will be after the next commit.
    pub(crate) fn spill(&mut self) {
        let keep = self.queue.partition_point(|(sequence, ..)| *sequence <= self.taken_back);
        if let Some(&(first, ..)) = self.queue.get(keep) {
            self.bytes -= self.queue.range(keep..).map(bytes_of).sum::<usize>();
            self.queue.truncate(keep);
            self.queue.shrink_to_fit();
            (self.on_disk_from, self.waits) = (Some(first), None);
        }
    }
}

#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) key: u64,
    /// Sorted by class; none is empty.
    pub(crate) lanes: Vec<Lane>,
    pub(crate) clock: Clock,
    pub(crate) delay: Duration,
    pub(crate) in_flight: usize,
    /// The time in the set of ready hosts, if the host is in it.
    pub(crate) ready_at: Option<Instant>,
    /// Queued URLs, those in flight included.
    pub(crate) queued: u64,
    /// Of these, deferred to the next run.
    pub(crate) deferred: u64,
    /// Of these, subject to the limit: neither in flight nor answered nor [`RECENT`].
    pub(crate) links: u64,
    /// Answered, but not finished.
    pub(crate) unfinished: u64,
    pub(crate) failures: u32,
    pub(crate) given_up: bool,
    pub(crate) address: Option<usize>,
    /// The part of the frontier's `held_bytes` that belongs to this host.
    pub(crate) counted_bytes: usize,
}

impl Host {
    pub(crate) fn new(key: u64, delay: Duration) -> Self {
        Self {
            key,
            lanes: Vec::new(),
            clock: Clock::new(Instant::now()),
            delay,
            in_flight: 0,
            ready_at: None,
            queued: 0,
            links: 0,
            deferred: 0,
            unfinished: 0,
            failures: 0,
            given_up: false,
            address: None,
            counted_bytes: 0,
        }
    }

    pub(crate) fn waits_again(&mut self, class: u8) {
        self.links += u64::from(class != RECENT);
    }

    pub(crate) fn is_lent(&mut self, class: u8) {
        self.links = self.links.saturating_sub(u64::from(class != RECENT));
    }

    /// Returns the lane of a class, which is created if missing.
    pub(crate) fn lane(&mut self, class: u8) -> &mut Lane {
        let at = self.lanes.partition_point(|lane| lane.class < class);
        if self.lanes.get(at).is_none_or(|lane| lane.class != class) {
            self.lanes.insert(at, Lane { class, ..Lane::default() });
        }
        #[expect(clippy::indexing_slicing, reason = "found or made above")]
        &mut self.lanes[at]
    }

    pub(crate) fn held(&self) -> usize {
        self.lanes.iter().map(Lane::held).sum()
    }

    pub(crate) fn held_bytes(&self) -> usize {
        self.lanes.iter().map(|lane| lane.bytes).sum()
    }

    /// Returns whether a part of its queue is on disk only.
    pub(crate) fn is_on_disk(&self) -> bool {
        self.lanes.iter().any(|lane| lane.on_disk_from.is_some())
    }

    /// Puts a leased URL back as the first of its class.
    pub(crate) fn take_back(&mut self, sequence: u64, entry: Entry, attempts: u8) {
        let lane = self.lane(class_of(sequence));
        lane.taken_back = lane.taken_back.max(sequence);
        let waiting = (sequence, entry, attempts);
        lane.bytes += bytes_of(&waiting);
        lane.queue.push_front(waiting);
    }

    pub(crate) fn well(&mut self, took: Duration, now: Instant, options: &Options) {
        self.failures = 0;
        if !options.delay.is_zero() {
            // Slow hosts get a longer delay: twice the answer's time, up to `max_delay`.
            let slow = (took * 2).min(options.max_delay);
            self.clock.hold(now + self.delay.max(slow));
        } else if !self.delay.is_zero() {
            self.clock.hold(now + self.delay);
        }
    }

    /// Records a failed request. From `breaker_after` failures on the pauses grow, and finally the host is given up,
    /// immediately if this is the `last` try. Returns `true` if this call gave it up.
    pub(crate) fn failed(
        &mut self,
        wait: Duration,
        now: Instant,
        options: &Options,
        last: bool,
    ) -> bool {
        self.failures = self.failures.saturating_add(1);
        let mut wait = wait;
        if self.failures >= options.breaker_after {
            let times = (self.failures - options.breaker_after).min(8);
            wait = wait.max(options.breaker_wait * (1 << times));
        }
        self.clock.hold(now + wait);
        let ends = (last || self.failures >= options.give_up_after) && !self.given_up;
        self.given_up |= ends;
        ends
    }
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;

    #[test]
    fn urls_that_were_never_leased_leave_the_memory() {
        let url = Url::parse("http://a.example/").unwrap();
        let mut lane = Lane { taken_back: 2, ..Lane::default() };
        (1..=5).for_each(|number| lane.push((number, Entry::page(url.clone(), 1), 0)));
        let one = lane.bytes / 5;
        lane.spill();
        assert_eq!((lane.held(), lane.bytes, lane.on_disk_from), (2, 2 * one, Some(3)));
        lane.spill();
        assert_eq!((lane.held(), lane.on_disk_from), (2, Some(3)));
    }
}
