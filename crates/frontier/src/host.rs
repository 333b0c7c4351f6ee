//! One host's queue and clock, and the address it shares with others.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::entry::{Entry, Options};

#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) key: u64,
    pub(crate) queue: VecDeque<(u64, Entry, u8)>,
    /// Where the part of the queue begins that is on disk only; `None`: all is in memory.
    pub(crate) on_disk_from: Option<u64>,
    pub(crate) next_allowed: Instant,
    pub(crate) delay: Duration,
    pub(crate) in_flight: usize,
    pub(crate) in_heap: bool,
    /// Queued URLs, those in flight among them.
    pub(crate) queued: u64,
    /// Of these, given up for this run.
    pub(crate) deferred: u64,
    /// Answered, but not finished.
    pub(crate) unfinished: u64,
    pub(crate) failures: u32,
    pub(crate) given_up: bool,
    /// Among the addresses.
    pub(crate) address: Option<usize>,
}

impl Host {
    pub(crate) fn new(key: u64, delay: Duration) -> Self {
        Self {
            key,
            queue: VecDeque::new(),
            on_disk_from: None,
            next_allowed: Instant::now(),
            delay,
            in_flight: 0,
            in_heap: false,
            queued: 0,
            deferred: 0,
            unfinished: 0,
            failures: 0,
            given_up: false,
            address: None,
        }
    }

    /// A request went well.
    pub(crate) fn well(&mut self, took: Duration, now: Instant, options: &Options) {
        self.failures = 0;
        if !options.delay.is_zero() {
            // Slower when the host is slow: twice its answer's time, up to the ceiling.
            let slow = (took * 2).min(options.max_delay);
            self.next_allowed = self.next_allowed.max(now + self.delay.max(slow));
        } else if !self.delay.is_zero() {
            self.next_allowed = self.next_allowed.max(now + self.delay);
        }
    }

    /// A request failed: from some number on the host is left alone, longer each time, and at last
    /// given up. `true` if that is now.
    pub(crate) fn failed(&mut self, wait: Duration, now: Instant, options: &Options) -> bool {
        self.failures = self.failures.saturating_add(1);
        let mut wait = wait;
        if self.failures >= options.breaker_after {
            let times = (self.failures - options.breaker_after).min(8);
            wait = wait.max(options.breaker_wait * (1 << times));
        }
        self.next_allowed = self.next_allowed.max(now + wait);
        let ends = self.failures >= options.give_up_after && !self.given_up;
        self.given_up |= ends;
        ends
    }
}
