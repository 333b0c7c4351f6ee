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
/// [`DiskFrontier`](crate::DiskFrontier) stores it in a folder, for one process; others may be shared by processes.
pub trait Frontier: std::fmt::Debug + Send + Sync {
    /// Returns the payload of the last commit.
    ///
    /// # Errors
    /// From the file.
    fn payload(&self) -> Result<Vec<u8>>;

    /// Queues a URL unless it was ever seen. Returns `true` if it is new.
    ///
    /// # Errors
    /// From the file.
    fn push(&self, entry: Entry) -> Result<bool>;

    /// Queues a link unless it was ever seen, within
    /// [`Options::max_queued_per_host`](crate::Options::max_queued_per_host) and
    /// [`Options::max_queue_bytes`](crate::Options::max_queue_bytes), and keeps `from`, the page or sitemap with the
    /// link, as an [inlink](Self::inlinks). The default ignores the limits, keeps the first inlink, and calls
    /// [`push`](Self::push).
    ///
    /// # Errors
    /// From the file.
    fn push_link(&self, mut entry: Entry, from: Option<&Url>) -> Result<Pushed> {
        entry.from = from.filter(|from| **from != entry.url).map(|from| from.as_str().into());
        Ok(if self.push(entry)? { Pushed::New } else { Pushed::Known })
    }

    /// Returns the first pages, redirects and sitemaps that led to a leased entry, at most
    /// [`MAX_INLINKS`](crate::MAX_INLINKS). A frontier may know the first one only.
    fn inlinks(&self, entry: &Entry) -> Vec<String> {
        entry.from.iter().map(|from| from.to_string()).collect()
    }

    /// Queues a seen URL again, unless it is queued now. Returns whether it was queued.
    ///
    /// # Errors
    /// From the file.
    fn push_again(&self, entry: Entry) -> Result<bool>;

    /// Marks a URL as seen and done without queueing it, for example a canonical alias. Returns `true` if it was not
    /// known.
    ///
    /// # Errors
    /// From the file.
    fn mark(&self, url: &Url) -> Result<bool>;

    /// Remembers that a URL was refused, for example by scope or depth. Returns `true` the first time. The URL is not
    /// marked as seen: a shorter path or wider rules may still queue it.
    ///
    /// # Errors
    /// From the file.
    fn refuse(&self, url: &Url) -> Result<bool>;

    /// Returns whether a URL in normal form was ever seen.
    ///
    /// # Errors
    /// From the file.
    fn knows(&self, url: &str) -> Result<bool>;

    /// Returns whether a URL in normal form is queued or in flight. A frontier that cannot know returns `false`.
    ///
    /// # Errors
    /// From the file.
    fn is_waiting(&self, _url: &str) -> Result<bool> {
        Ok(false)
    }

    /// Leases the next URL that politeness allows.
    ///
    /// # Errors
    /// From the file, if the next part of a queue is read.
    fn next(&self, now: Instant) -> Result<Next>;

    /// Sets the address of the lease's host, because hosts of one address share a clock. Returns `true` if that
    /// address may be requested now; otherwise the lease should end with [`End::PutBack`].
    fn set_address(&self, lease: &Lease, address: IpAddr, now: Instant) -> bool;

    /// Frees the host of a lease whose page is still being processed, so that the host's next URL can be requested. A
    /// second call for the same lease does nothing. Returns whether this call gave the host up.
    fn free(&self, lease: &mut Lease, answer: HostAnswer, now: Instant) -> bool;

    /// Ends a lease. If its host is not free, [`End::Done`] counts as an immediate answer of the host. Returns
    /// whether this call gave the host up. `now` must not be before the lease was handed out.
    fn end(&self, lease: Lease, end: End, now: Instant) -> bool;

    /// Ends a lease that was answered: calls [`free`](Self::free), then [`end`](Self::end) with [`End::Done`].
    fn done(&self, mut lease: Lease, took: Duration, now: Instant) {
        self.free(&mut lease, HostAnswer::Answered { took }, now);
        self.end(lease, End::Done, now);
    }

    /// Counts open and lost leases. A frontier that does not count them returns `None`.
    fn leases(&self) -> Option<&LeaseCounts> {
        None
    }

    /// Records that the lease's address answered a request, in any way. Optional.
    fn address_answered(&self, _lease: &Lease) {}

    /// Records that the address did not answer a request sent at `asked`. If several hosts of one address fail like
    /// this, all its hosts are paused. Call it before [`end`](Self::end), which records the host's failure. Optional.
    fn address_silent(&self, _lease: &Lease, _asked: Instant, _now: Instant) {}

    /// Sets the delay that a host requires (Crawl-delay in robots.txt). The longer of this and the option applies.
    fn set_delay(&self, host: &str, delay: Duration);

    /// Stores a note about a host or URL, durable with the next commit. A note is any bytes of the caller under a name
    /// (`kind`), such as the time of a page's last visit. Only the caller reads it.
    fn note(&self, subject: &str, kind: &'static str, value: Vec<u8>);

    /// Returns a note about a host or URL.
    ///
    /// # Errors
    /// From the file.
    fn note_of(&self, subject: &str, kind: &str) -> Result<Option<Vec<u8>>>;

    /// Visits all committed notes of one kind.
    ///
    /// # Errors
    /// From the file.
    fn notes(&self, kind: &str, visit: &mut dyn FnMut(&str, &[u8])) -> Result<()>;

    /// Makes all earlier changes durable, together with the caller's `payload`.
    ///
    /// # Errors
    /// From the file. The frontier then refuses every call and must be opened again.
    fn commit(&self, payload: &[u8]) -> Result<()>;

    /// Returns whether there are changes to commit.
    fn is_dirty(&self) -> bool;

    /// Returns whether any host can lease a URL, now or later, without another commit.
    fn has_work(&self) -> bool;

    /// Returns the numbers of URLs by state.
    fn counts(&self) -> Counts;

    /// Returns every host: those of earlier runs by name, then new ones in the order of their first URLs.
    fn hosts(&self) -> Vec<HostState>;

    /// Returns one host, if any of its URLs was seen.
    fn host(&self, name: &str) -> Option<HostState>;

    /// Returns how many of its host's URLs are before a queued one; `None` if it is not queued.
    ///
    /// # Errors
    /// From the file.
    ///
    /// # Complexity
    /// O(queue of the host).
    fn position(&self, url: &Url) -> Result<Option<u64>>;
}
