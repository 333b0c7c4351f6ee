//! Limits of queued links, per host and in total, so that links cannot fill the disk.

use crate::entry::{Entry, Options, RECENT};

/// Bytes that a waiting URL takes on disk beside its own.
const ROW_BYTES: u64 = 64;
/// Bytes that are taken for a waiting URL of a frontier that did not count them.
pub(crate) const UNCOUNTED_BYTES: u64 = 256;

/// What became of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// It is new, and waits now.
    New,
    /// It was seen before.
    Known,
    /// Its host, or all hosts, have as many URLs waiting as they may: it is not queued, and not
    /// remembered as seen.
    Full,
}

/// Bytes that an entry takes while it waits.
pub(crate) fn bytes_of(entry: &Entry) -> u64 {
    entry.url.as_str().len() as u64 + ROW_BYTES
}

/// Bytes of all that waits, what is in flight among it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct QueueBytes {
    pub(crate) all: u64,
    /// Of these, bytes of the class [`RECENT`]: pages that a recrawl requests again do not take the
    /// place of links.
    pub(crate) recent: u64,
}

impl QueueBytes {
    pub(crate) const fn add(&mut self, class: u8, bytes: u64) {
        self.all += bytes;
        if class == RECENT {
            self.recent += bytes;
        }
    }

    pub(crate) const fn remove(&mut self, class: u8, bytes: u64) {
        self.all = self.all.saturating_sub(bytes);
        if class == RECENT {
            self.recent = self.recent.saturating_sub(bytes);
        }
    }
}

/// Whether a link finds a place, with so many links of its host waiting, so many URLs of its host
/// queued, and so many bytes of all. One that would come first, but has no place there, waits among the
/// others.
pub(crate) fn find_place(
    options: &Options,
    entry: &mut Entry,
    links: u64,
    of_host: u64,
    bytes: QueueBytes,
) -> bool {
    let own = bytes_of(entry);
    let fits = |waiting: u64, bytes: u64| {
        waiting < options.max_queued_per_host
            && bytes.saturating_add(own) <= options.max_queue_bytes
    };
    entry.recent &= fits(of_host, bytes.all);
    fits(links, bytes.all.saturating_sub(bytes.recent))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use url::Url;

    use super::*;
    use crate::{DiskFrontier, End, Frontier, Next};

    fn link(path: u32) -> Entry {
        Entry::page(Url::parse(&format!("http://a.example/{path}")).unwrap(), 1)
    }

    fn recent(path: u32) -> Entry {
        Entry { recent: true, ..link(path) }
    }

    #[test]
    fn pages_that_are_looked_at_again_take_no_place_of_links() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options {
            delay: Duration::ZERO,
            per_host: 10,
            max_queued_per_host: 2,
            ..Options::default()
        };
        let frontier = DiskFrontier::open(folder.path(), options.clone()).unwrap();
        for path in 0..5 {
            assert!(frontier.push_again(recent(path)).unwrap());
        }
        // The others are first: one that would be among them waits behind.
        assert_eq!(frontier.push_link(recent(10)).unwrap(), Pushed::New);
        assert_eq!(frontier.push_link(link(11)).unwrap(), Pushed::New);
        assert_eq!(frontier.push_link(link(12)).unwrap(), Pushed::Full);
        frontier.commit(&[]).unwrap();
        drop(frontier);
        let frontier = DiskFrontier::open(folder.path(), options).unwrap();
        assert_eq!(frontier.push_link(link(12)).unwrap(), Pushed::Full);
        let mut leases = Vec::new();
        while let Next::Lease(lease) = frontier.next(Instant::now()).unwrap() {
            leases.push(lease);
        }
        let order: Vec<&str> = leases.iter().map(|lease| lease.entry.url.path()).collect();
        assert_eq!(order, ["/0", "/1", "/2", "/3", "/4", "/10", "/11"]);
        // What is in flight does not wait.
        assert_eq!(frontier.push_link(link(12)).unwrap(), Pushed::New);
        let last = leases.pop().unwrap();
        frontier.end(*last, End::PutBack { wait: Duration::ZERO }, Instant::now());
        assert_eq!(frontier.push_link(link(13)).unwrap(), Pushed::Full);
    }

    #[test]
    fn bytes_of_what_is_looked_at_again_are_not_those_of_links() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { max_queue_bytes: 200, ..Options::default() };
        let frontier = DiskFrontier::open(folder.path(), options).unwrap();
        for path in 0..9 {
            frontier.push_again(recent(path)).unwrap();
        }
        let pushed: Vec<Pushed> =
            (10..13).map(|path| frontier.push_link(link(path)).unwrap()).collect();
        assert_eq!(pushed, [Pushed::New, Pushed::New, Pushed::Full]);
    }
}
