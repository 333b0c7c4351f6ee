//! The trait of a frontier, wherever it is stored.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use url::Url;

use crate::bounds::Pushed;
use crate::entry::{Counts, Entry, HostState};
use crate::error::Result;
use crate::lease::{End, HostAnswer, Lease, LeaseCounts, Next};

/// The seen-set, the queues and the clock of every host. Safe to share between threads.
///
/// [`DiskFrontier`](crate::DiskFrontier) keeps it in a folder, for one process; others may share it
/// among many.
pub trait Frontier: std::fmt::Debug + Send + Sync {
    /// What the last commit carried.
    ///
    /// # Errors
    /// From the file.
    fn payload(&self) -> Result<Vec<u8>>;

    /// Queues a URL unless it was ever seen; `true` if it is new.
    ///
    /// # Errors
    /// From the file.
    fn push(&self, entry: Entry) -> Result<bool>;

    /// Queues a link unless it was ever seen, within
    /// [`Options::max_queued_per_host`](crate::Options::max_queued_per_host) and
    /// [`Options::max_queue_bytes`](crate::Options::max_queue_bytes). A frontier without such limits
    /// queues it as [`push`](Self::push) does.
    ///
    /// # Errors
    /// From the file.
    fn push_link(&self, entry: Entry) -> Result<Pushed> {
        Ok(if self.push(entry)? { Pushed::New } else { Pushed::Known })
    }

    /// Queues a URL though it was seen, to look at it again; not if it is queued now.
    ///
    /// # Errors
    /// From the file.
    fn push_again(&self, entry: Entry) -> Result<bool>;

    /// Marks a URL as seen and done without queueing it, such as one that is out of scope or a
    /// canonical alias; `true` if it was not known.
    ///
    /// # Errors
    /// From the file.
    fn mark(&self, url: &Url) -> Result<bool>;

    /// Remembers that a URL was refused, by scope or depth, say; `true` the first time. It is not
    /// marked as seen: another way to it, or wider rules, may still queue it.
    ///
    /// # Errors
    /// From the file.
    fn refuse(&self, url: &Url) -> Result<bool>;

    /// Whether a URL in normal form was ever seen.
    ///
    /// # Errors
    /// From the file.
    fn knows(&self, url: &str) -> Result<bool>;

    /// Whether a URL in normal form waits, or is being worked on. A frontier that cannot say it answers `false`.
    ///
    /// # Errors
    /// From the file.
    fn is_waiting(&self, _url: &str) -> Result<bool> {
        Ok(false)
    }

    /// The next URL that politeness allows.
    ///
    /// # Errors
    /// From the file, when a queue's next part is read.
    fn next(&self, now: Instant) -> Result<Next>;

    /// Says which address the lease's host has, so that hosts of one address share a clock. `true` if
    /// that address may be requested now; otherwise the lease should end with [`End::PutBack`].
    fn set_address(&self, lease: &Lease, address: IpAddr, now: Instant) -> bool;

    /// Frees the host of a lease whose page is still being worked on: another URL of it may be requested. Does
    /// nothing at a second call for the same lease. Returns whether the host is given up by it.
    fn free(&self, lease: &mut Lease, answer: HostAnswer, now: Instant) -> bool;

    /// Ends a lease. With [`End::Done`] of a lease whose host is not free, the host counts as one that answered
    /// at once. Returns whether the host is given up by it. `now` must not lie before the hand-out.
    fn end(&self, lease: Lease, end: End, now: Instant) -> bool;

    /// Ends a lease that was answered: [`free`](Self::free) and [`End::Done`] in one.
    fn done(&self, mut lease: Lease, took: Duration, now: Instant) {
        self.free(&mut lease, HostAnswer::Answered { took }, now);
        self.end(lease, End::Done, now);
    }

    /// Counts the leases that are open or were lost. A frontier that does not count them returns `None`.
    fn leases(&self) -> Option<&LeaseCounts> {
        None
    }

    /// The lease's address answered a request, whatever it said. A frontier may do without.
    fn address_answered(&self, _lease: &Lease) {}

    /// It did not answer one that was sent at `asked`: where many hosts of one address fail so, all of
    /// them are left alone for a while. Before [`end`](Self::end), which says the same of the host. A frontier
    /// may do without.
    fn address_silent(&self, _lease: &Lease, _asked: Instant, _now: Instant) {}

    /// The host asks for this delay (robots' Crawl-delay); the longer one of the two holds.
    fn set_delay(&self, host: &str, delay: Duration);

    /// Remembers something of a host or URL, durable with the next commit.
    fn note(&self, subject: &str, kind: &'static str, value: Vec<u8>);

    /// What was remembered of a host or URL.
    ///
    /// # Errors
    /// From the file.
    fn note_of(&self, subject: &str, kind: &str) -> Result<Option<Vec<u8>>>;

    /// Everything of one kind that was remembered and committed.
    ///
    /// # Errors
    /// From the file.
    fn notes(&self, kind: &str, visit: &mut dyn FnMut(&str, &[u8])) -> Result<()>;

    /// Makes everything durable that was pushed and done before, with the caller's `payload`.
    ///
    /// # Errors
    /// From the file; then the frontier must be opened anew, and refuses everything until it is.
    fn commit(&self, payload: &[u8]) -> Result<()>;

    /// Whether anything waits for a commit.
    fn is_dirty(&self) -> bool;

    /// Whether any host has something to hand out without a commit before it, now or later.
    fn has_work(&self) -> bool;

    /// How many URLs are where.
    fn counts(&self) -> Counts;

    /// Every host: those of earlier opens first, by name, then in the order of their first URLs.
    fn hosts(&self) -> Vec<HostState>;

    /// One host, if any of its URLs was seen.
    fn host(&self, name: &str) -> Option<HostState>;

    /// How many of its host's URLs are before a queued one; `None` if it does not wait.
    ///
    /// # Errors
    /// From the file.
    ///
    /// # Complexity
    /// O(queue of the host).
    fn position(&self, url: &Url) -> Result<Option<u64>>;
}
