//! Limits of queued links, per host and in total, so that links cannot fill the disk.

use crate::entry::{Entry, Options, RECENT};

/// Bytes that a queued URL takes on disk in addition to its text.
const ROW_BYTES: u64 = 64;
/// Estimated bytes of a queued URL in a file of a version that did not count them.
pub(crate) const UNCOUNTED_BYTES: u64 = 256;

/// The result of queueing a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// It is new and now queued.
    New,
    /// It was seen before.
    Known,
    /// A limit of its host or of all hosts is reached: it is neither queued nor remembered as seen.
    Full,
}

pub(crate) fn bytes_of(entry: &Entry) -> u64 {
    let from = entry.from.as_ref().map_or(0, |from| from.len());
    (entry.url.as_str().len() + from) as u64 + ROW_BYTES
}

/// Bytes of all queued URLs, those in flight included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct QueueBytes {
    pub(crate) all: u64,
    /// Of these, bytes of the class [`RECENT`]: requeued pages of a recrawl must not use up the limit for links.
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

/// Returns whether a link is within the limits, given the host's queued links, its queued URLs and the bytes of all
/// hosts. A recent entry that exceeds the limit for recent ones is queued as an ordinary link.
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
        // The recent class is full, so this recent link is queued behind it, as an ordinary one.
        assert_eq!(frontier.push_link(recent(10), None).unwrap(), Pushed::New);
        assert_eq!(frontier.push_link(link(11), None).unwrap(), Pushed::New);
        assert_eq!(frontier.push_link(link(12), None).unwrap(), Pushed::Full);
        frontier.commit(&[]).unwrap();
        drop(frontier);
        let frontier = DiskFrontier::open(folder.path(), options).unwrap();
        assert_eq!(frontier.push_link(link(12), None).unwrap(), Pushed::Full);
        let mut leases = Vec::new();
        while let Next::Lease(lease) = frontier.next(Instant::now()).unwrap() {
            leases.push(lease);
        }
        let order: Vec<&str> = leases.iter().map(|lease| lease.entry.url.path()).collect();
        assert_eq!(order, ["/0", "/1", "/2", "/3", "/4", "/10", "/11"]);
        // A URL in flight does not count as queued.
        assert_eq!(frontier.push_link(link(12), None).unwrap(), Pushed::New);
        let last = leases.pop().unwrap();
        frontier.end(*last, End::PutBack { wait: Duration::ZERO }, Instant::now());
        assert_eq!(frontier.push_link(link(13), None).unwrap(), Pushed::Full);
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
            (10..13).map(|path| frontier.push_link(link(path), None).unwrap()).collect();
        assert_eq!(pushed, [Pushed::New, Pushed::New, Pushed::Full]);
    }
}
