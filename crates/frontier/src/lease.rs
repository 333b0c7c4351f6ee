//! Leases: URLs handed out. Each one ends in exactly one way.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::entry::Entry;

/// A URL handed out. It stays queued on disk until [`Frontier::end`](crate::Frontier::end) with [`End::Done`]
/// and a commit.
///
/// It is not `Clone`, and the frontier takes it back by value: to end it twice does not compile. One that is
/// dropped without an end blocks its host until the frontier is opened again, and is counted in [`LeaseCounts`].
#[derive(Debug)]
#[must_use = "a lease must be given to Frontier::end"]
pub struct Lease {
    /// What to fetch.
    pub entry: Entry,
    /// Its host, as [`host_key`](hapax_url::host_key) writes it.
    pub host: String,
    /// How often it was tried before.
    pub attempts: u8,
    /// Whether the host's address is known, see [`Frontier::set_address`](crate::Frontier::set_address).
    pub has_address: bool,
    /// The frontier's own number for it.
    pub sequence: u64,
    host_free: bool,
    held: Held,
}

/// What to do now.
#[derive(Debug)]
pub enum Next {
    /// Fetch this.
    Lease(Box<Lease>),
    /// Nothing is allowed before this moment.
    At(Instant),
    /// Nothing can be handed out before a lease ends or, if a host's queue is long, before a
    /// [commit](crate::Frontier::commit).
    Idle,
}

/// What a lease's host did, see [`Frontier::free`](crate::Frontier::free).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostAnswer {
    /// It answered, after this time.
    Answered {
        /// How long it needed.
        took: Duration,
    },
    /// A request failed for good.
    Failed,
    /// It was not requested, for instance because a rule forbids the URL: its failures in a row stay as they
    /// are, and its clock and that of its address go back, unless another lease has moved them since.
    Unasked,
}

/// What a deferred lease says about its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// Nothing, for it was not requested, see [`HostAnswer::Unasked`].
    Unasked,
    /// A request failed: after some in a row the host is given up.
    Failure,
    /// The host asked to be left alone for longer than this run. It counts as [`CLOSED_COUNTS`] failures, so
    /// that the third in a row ends the host, and a single page that always says so does not.
    Closed,
}

/// Failures that one [`Fault::Closed`] counts as.
pub const CLOSED_COUNTS: u32 = 3;

/// How a lease ends, see [`Frontier::end`](crate::Frontier::end).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Its URL is done, and leaves the queue with the next commit.
    Done,
    /// It goes back to its place in the queue, untouched.
    PutBack {
        /// No other URL of its host is handed out before.
        wait: Duration,
    },
    /// It goes back to the queue, and counts as tried.
    Retry {
        /// No other URL of its host is handed out before.
        wait: Duration,
        /// Whether it counts as a failure of its host: after several in a row the wait is longer.
        failure: bool,
    },
    /// It is given up for this run: it stays queued on disk, and is handed out after the next open.
    Defer {
        /// What that says about its host.
        fault: Fault,
    },
}

/// Leases of one frontier that are open, or were dropped without an end.
#[derive(Debug, Default)]
pub struct LeaseCounts {
    open: AtomicU64,
    lost: AtomicU64,
}

impl LeaseCounts {
    /// Handed out, and neither ended nor dropped.
    pub fn open(&self) -> u64 {
        self.open.load(Relaxed)
    }

    /// Dropped without an end: a defect, unless the crawl was stopped by an error.
    pub fn lost(&self) -> u64 {
        self.lost.load(Relaxed)
    }
}

/// Counts a lease from its hand-out to its end. A type of its own, so that the other fields can be moved out of
/// a lease.
#[derive(Debug, Default)]
struct Held(Option<Arc<LeaseCounts>>);

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(counts) = self.0.take() {
            counts.open.fetch_sub(1, Relaxed);
            counts.lost.fetch_add(1, Relaxed);
        }
    }
}

impl Lease {
    /// A lease that is not handed out yet.
    pub fn new(entry: Entry, host: String, sequence: u64) -> Self {
        let held = Held::default();
        Self { entry, host, attempts: 0, has_address: false, sequence, host_free: false, held }
    }

    /// Counts it as open from now on. The frontier that hands it out calls this.
    pub fn hand_out(mut self, counts: &Arc<LeaseCounts>) -> Self {
        counts.open.fetch_add(1, Relaxed);
        self.held = Held(Some(Arc::clone(counts)));
        self
    }

    /// Marks its host as free. Returns whether it was not before. The frontier calls this.
    pub const fn free_host(&mut self) -> bool {
        !std::mem::replace(&mut self.host_free, true)
    }

    /// Returns whether its host is free, see [`Frontier::free`](crate::Frontier::free).
    pub const fn is_host_free(&self) -> bool {
        self.host_free
    }

    /// Counts it as ended. The frontier that ends it calls this.
    pub fn close(&mut self) {
        if let Some(counts) = self.held.0.take() {
            counts.open.fetch_sub(1, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;

    #[test]
    fn counts_leases_from_hand_out_to_end() {
        let counts = Arc::default();
        let lease = |number| {
            let url = Url::parse("http://a.example/").unwrap();
            Lease::new(Entry::page(url, 0), "a.example".into(), number)
        };
        drop(lease(1));
        let (mut ended, dropped) = (lease(2).hand_out(&counts), lease(3).hand_out(&counts));
        assert_eq!((counts.open(), counts.lost()), (2, 0));
        ended.close();
        drop(ended);
        assert_eq!((counts.open(), counts.lost()), (1, 0));
        drop(dropped);
        assert_eq!((counts.open(), counts.lost()), (0, 1));
    }

    #[test]
    fn frees_a_host_once() {
        let url = Url::parse("http://a.example/").unwrap();
        let mut lease = Lease::new(Entry::page(url, 0), "a.example".into(), 1);
        assert!(!lease.is_host_free());
        assert!(lease.free_host());
        assert!(!lease.free_host());
        assert!(lease.is_host_free());
    }
}
