use std::time::Duration;

use url::Url;

/// What is expected behind a URL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EntryKind {
    /// A page.
    #[default]
    Page,
    /// A sitemap; what [`Entry::hops`] says of the way to it is up to the crawler, but that 0 is the shortest.
    Sitemap,
    /// Nothing: an address made up to see how the host says so.
    Probe,
}

/// Set in the byte of the hops.
const SITEMAP: u8 = 0x80;
const PROBE: u8 = 0x40;

/// A URL that waits to be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The URL, in normal form.
    pub url: Url,
    /// Links from the seed to it.
    pub depth: u16,
    /// Redirects on the way to it, at most 63.
    pub hops: u8,
    /// What is expected there.
    pub kind: EntryKind,
    /// It comes before links, however far from a seed, in the order of its coming: a sitemap says that
    /// it changed lately, or it is looked at again. Not stored, for its place in the queue is.
    pub recent: bool,
}

/// Classes of a host's queue.
pub(crate) const CLASSES: u8 = 8;
/// The class of what is [recent](Entry::recent).
pub(crate) const RECENT: u8 = 1;

impl Entry {
    /// A page so many links from a seed.
    pub fn page(url: Url, depth: u16) -> Self {
        Self { url, depth, hops: 0, kind: EntryKind::Page, recent: false }
    }

    /// Which class of its host's queue it waits in, the lower first: seeds and the sitemaps that
    /// robots.txt names, what is recent, then by depth; within one, in the order of their coming.
    /// Sitemaps below others may be tens of thousands: they wait beside what seeds link to.
    pub(crate) fn class(&self) -> u8 {
        match (self.recent, self.depth) {
            (true, _) => RECENT,
            (false, 0) if self.kind == EntryKind::Sitemap && self.hops > 0 => 2,
            (false, 0) => 0,
            (false, depth) => depth.saturating_add(1).min(u16::from(CLASSES) - 1) as u8,
        }
    }

    /// A sitemap below so many indexes.
    pub fn sitemap(url: Url, hops: u8) -> Self {
        Self { kind: EntryKind::Sitemap, hops, ..Self::page(url, 0) }
    }

    /// As it is stored: depth (2 bytes), kind and hops (1 byte), URL.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.depth.to_le_bytes().to_vec();
        let kind = match self.kind {
            EntryKind::Page => 0,
            EntryKind::Sitemap => SITEMAP,
            EntryKind::Probe => PROBE,
        };
        bytes.push(self.hops.min(PROBE - 1) | kind);
        bytes.extend(self.url.as_str().as_bytes());
        bytes
    }

    /// Reads what [`encode`](Self::encode) wrote; `None` if it is no entry.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (depth, rest) = bytes.split_first_chunk::<2>()?;
        let (hops, url) = rest.split_first()?;
        let url = Url::parse(std::str::from_utf8(url).ok()?).ok()?;
        let kind = match (hops & SITEMAP, hops & PROBE) {
            (0, 0) => EntryKind::Page,
            (0, _) => EntryKind::Probe,
            _ => EntryKind::Sitemap,
        };
        let depth = u16::from_le_bytes(*depth);
        Some(Self { url, depth, hops: hops & (PROBE - 1), kind, recent: false })
    }
}

/// Politeness.
#[derive(Clone, Debug)]
pub struct Options {
    /// Shortest time between two requests to a host. Default 1 s.
    pub delay: Duration,
    /// Longest time a slow host stretches the delay to. Default 30 s.
    pub max_delay: Duration,
    /// Requests at a time to one host. Default 1.
    pub per_host: usize,
    /// Shortest time between two requests to one address ([`network`](crate::network)), whatever the
    /// host. Default 250 ms.
    pub address_delay: Duration,
    /// After so many failures in a row a host is left alone for a while, and so is an address after so
    /// many different hosts without an answer. Default 5.
    pub breaker_after: u32,
    /// For how long at first, twice as long each time. Default 10 s.
    pub breaker_wait: Duration,
    /// After so many failures in a row a host is given up for this run; of an address that answers
    /// nobody as often, every host that fails once more. Default 8.
    pub give_up_after: u32,
    /// So many links of one host may wait; further ones are not queued
    /// ([`Frontier::push_link`](crate::Frontier::push_link)). What is [recent](Entry::recent) has as many
    /// places beside them, and what is [pushed again](crate::Frontier::push_again) is not counted as long
    /// as it is recent. Default 100,000.
    pub max_queued_per_host: u64,
    /// So many bytes of links of all hosts may wait: each counts its URL and 64 bytes. Default 16 GiB.
    pub max_queue_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            delay: Duration::from_secs(1),
            max_delay: Duration::from_secs(30),
            per_host: 1,
            address_delay: Duration::from_millis(250),
            breaker_after: 5,
            breaker_wait: Duration::from_secs(10),
            give_up_after: 8,
            max_queued_per_host: 100_000,
            max_queue_bytes: 16 << 30,
        }
    }
}

/// What one host looks like from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostState {
    /// Its name, see [`host_key`](hapax_url::host_key).
    pub host: String,
    /// Its queued URLs, those in flight among them.
    pub queued: u64,
    /// Requests in flight.
    pub in_flight: usize,
    /// Failures in a row.
    pub failures: u32,
    /// It was given up for this run.
    pub given_up: bool,
}

/// How many URLs are where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Every URL ever seen.
    pub known: u64,
    /// Waiting, those in flight and deferred among them.
    pub queued: u64,
    /// Given up for this run.
    pub deferred: u64,
}
