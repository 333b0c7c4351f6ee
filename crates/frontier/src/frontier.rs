//! The trait of a frontier, wherever it is stored.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use url::Url;

use crate::bounds::Pushed;
use crate::entry::{Counts, Entry, HostState, Lease, Next};
use crate::error::Result;

/// So many failures is one [`Fault::Closed`].
pub const CLOSED_COUNTS: u32 = 3;

/// What a lease that came to nothing says of its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// Nothing, for it was not asked: as [`Frontier::free_unasked`].
    Unasked,
    /// A request failed: after some in a row the host is given up.
    Failure,
    /// It asked to be left alone for longer than this run: as three failures, so that the third in a
    /// row ends it, and one page that always says so does not.
    Closed,
}

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

    /// The next URL that politeness allows.
    ///
    /// # Errors
    /// From the file, when a queue's next part is read.
    fn next(&self, now: Instant) -> Result<Next>;

    /// Says which address the lease's host has, so that hosts of one address share a clock. `true` if
    /// that address may be asked now; otherwise the lease should be [put back](Self::put_back).
    fn set_address(&self, lease: &Lease, address: IpAddr, now: Instant) -> bool;

    /// Gives a lease back untouched; nothing of its host is handed out for `wait`.
    fn put_back(&self, lease: Lease, wait: Duration, now: Instant);

    /// A lease has come to its end; `took` is how long the host needed. `now` must not lie before
    /// the lease's.
    fn done(&self, lease: &Lease, took: Duration, now: Instant) {
        self.free(lease, took, now);
        self.finish(lease);
    }

    /// The host may be asked again, though the lease's page is still being worked on: called when
    /// the response is in, before [`finish`](Self::finish).
    fn free(&self, lease: &Lease, took: Duration, now: Instant);

    /// The lease's address answered a request, whatever it said. A frontier may do without.
    fn address_answered(&self, _lease: &Lease) {}

    /// It did not answer one that was sent at `asked`: where many hosts of one address fail so, all of
    /// them are left alone for a while. Before [`retry`](Self::retry) and the like, which say the same
    /// of the host. A frontier may do without.
    fn address_silent(&self, _lease: &Lease, _asked: Instant, _now: Instant) {}

    /// As [`free`](Self::free), of a request that failed for good. `true` if its host is given up by
    /// that.
    fn free_failed(&self, lease: &Lease, now: Instant) -> bool;

    /// As [`free`](Self::free), where nothing was asked of the host, because its robots.txt or a rule
    /// forbids the URL, say: its failures in a row stay as they are, and its clock and that of its
    /// address go back to where they were before the lease, unless another one has moved them since.
    fn free_unasked(&self, lease: &Lease, now: Instant);

    /// The second half of [`done`](Self::done), after [`free`](Self::free).
    fn finish(&self, lease: &Lease);

    /// Puts a lease back, to be tried again after `wait`. Nothing of the host is handed out before;
    /// with `failure`, later still if it was not the first in a row. `true` if the host is given up
    /// by that.
    fn retry(&self, lease: Lease, wait: Duration, failure: bool, now: Instant) -> bool;

    /// Gives a lease up for this run: it stays queued on disk and is handed out after the next open.
    /// `true` if its host is given up by that.
    fn defer(&self, lease: &Lease, fault: Fault, now: Instant) -> bool;

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
