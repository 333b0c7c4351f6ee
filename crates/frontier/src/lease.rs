//! Leases of URLs. Each one ends in exactly one way.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::entry::Entry;

/// A leased URL. It stays queued on disk until [`Frontier::end`](crate::Frontier::end) with [`End::Done`] and a
/// commit.
///
/// It is not `Clone`, and the frontier takes it back by value: to end it twice does not compile. A lease dropped
/// without an end blocks its host until the frontier is opened again, and [`LeaseCounts`] counts it.
#[derive(Debug)]
#[must_use = "a lease must be given to Frontier::end"]
pub struct Lease {
    /// The URL to fetch.
    pub entry: Entry,
    /// Its host, see [`host_key`](hapax_url::host_key).
    pub host: String,
    /// Earlier attempts.
    pub attempts: u8,
    /// Whether the host's address is known, see [`Frontier::set_address`](crate::Frontier::set_address).
    pub has_address: bool,
    /// The frontier's number for it.
    pub sequence: u64,
    host_free: bool,
    held: Held,
}

/// The next step of the crawler.
#[derive(Debug)]
pub enum Next {
    /// Fetch this URL.
    Lease(Box<Lease>),
    /// No request is allowed before this time.
    At(Instant),
    /// There is nothing to lease before a lease ends or, if a host's queue is long, before a
    /// [commit](crate::Frontier::commit).
    Idle,
}

/// How a lease's host responded, see [`Frontier::free`](crate::Frontier::free).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostAnswer {
    /// It answered.
    Answered {
        /// Time until the answer.
        took: Duration,
    },
    /// The request failed, and is not retried.
    Failed,
    /// It was not requested, for example because a rule excludes the URL. Its failures in a row stay. The clocks of
    /// host and address go back, unless another lease has advanced them since.
    Unasked,
}

/// The effect of a deferred lease on its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// None.
    None,
    /// None: the host was not requested, see [`HostAnswer::Unasked`].
    Unasked,
    /// A request failed: after several in a row the host is given up.
    Failure,
    /// The host asked for a pause longer than this run. It counts as [`CLOSED_COUNTS`] failures: three in a row end
    /// the host, a single page that always does so does not.
    Closed,
}

/// Failures that one [`Fault::Closed`] counts as.
pub const CLOSED_COUNTS: u32 = 3;

/// How a lease ends, see [`Frontier::end`](crate::Frontier::end).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Its URL is done, and leaves the queue with the next commit.
    Done,
    /// It returns to its position in the queue; this is not an attempt.
    PutBack {
        /// The host's next URL is leased after this time.
        wait: Duration,
    },
    /// It returns to the queue, and counts as an attempt.
    Retry {
        /// The host's next URL is leased after this time.
        wait: Duration,
        /// Whether it counts as a failure of its host: after several in a row the pause is longer.
        failure: bool,
    },
    /// It is deferred: it stays queued on disk, and is leased after the next open.
    Defer {
        /// The effect on its host.
        fault: Fault,
    },
}

/// Open leases of one frontier, and those dropped without an end.
#[derive(Debug, Default)]
pub struct LeaseCounts {
    open: AtomicU64,
    lost: AtomicU64,
}

impl LeaseCounts {
    /// Leases handed out and neither ended nor dropped.
    pub fn open(&self) -> u64 {
        self.open.load(Relaxed)
    }

    /// Leases dropped without an end: a defect, unless an error stopped the crawl.
    pub fn lost(&self) -> u64 {
        self.lost.load(Relaxed)
    }
}

/// Counts a lease until its end. A separate type, so that fields can be moved out of the lease.
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

    /// Counts it as open. Called by the frontier that hands it out.
    pub fn hand_out(mut self, counts: &Arc<LeaseCounts>) -> Self {
        counts.open.fetch_add(1, Relaxed);
        self.held = Held(Some(Arc::clone(counts)));
        self
    }

    /// Marks its host as free. Returns whether it was not free before. Called by the frontier.
    pub const fn free_host(&mut self) -> bool {
        !std::mem::replace(&mut self.host_free, true)
    }

    /// Returns whether its host is free, see [`Frontier::free`](crate::Frontier::free).
    pub const fn is_host_free(&self) -> bool {
        self.host_free
    }

    /// Counts it as ended. Called by the frontier that ends it.
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
