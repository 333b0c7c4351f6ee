use std::sync::Arc;
use std::time::Duration;

use url::Url;

/// The kind of resource at a URL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EntryKind {
    /// A page.
    #[default]
    Page,
    /// A sitemap. The crawler defines [`Entry::hops`] for it, except that 0 is the shortest way.
    Sitemap,
    /// An invented address that shows how the host reports a missing page.
    Probe,
}

/// Flags in the byte of the hops.
const SITEMAP: u8 = 0x80;
const PROBE: u8 = 0x40;

/// A queued URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The URL, in normal form.
    pub url: Url,
    /// Links from the seed to it.
    pub depth: u16,
    /// Redirects on the way to it, at most 63.
    pub hops: u8,
    /// The kind of resource.
    pub kind: EntryKind,
    /// It comes before links of any depth, in the order of arrival: a redirect leads to it, a sitemap lists it as
    /// changed, or it is requested again. Not stored: the class in its queue number says the same.
    pub recent: bool,
    /// The first page, redirect or sitemap that led to it; none for seeds.
    pub from: Option<Arc<str>>,
}

pub(crate) const CLASSES: u8 = 8;
/// The class of [recent](Entry::recent) entries.
pub(crate) const RECENT: u8 = 1;

impl Entry {
    /// A page that is `depth` links from a seed.
    pub fn page(url: Url, depth: u16) -> Self {
        Self { url, depth, hops: 0, kind: EntryKind::Page, recent: false, from: None }
    }

    /// Sets the page, redirect or sitemap that led to it.
    #[must_use]
    pub fn from_page(self, from: &Url) -> Self {
        let from = Some(Arc::from(from.as_str())).filter(|_| *from != self.url);
        Self { from, ..self }
    }

    /// Returns the class in its host's queue; lower ones come first: seeds and the sitemaps that robots.txt names,
    /// then recent entries, then by depth. Within a class the order of arrival counts. Nested sitemaps may be tens of
    /// thousands, so they share the class of links from seeds.
    pub(crate) fn class(&self) -> u8 {
        match (self.recent, self.depth) {
            (true, _) => RECENT,
            (false, 0) if self.kind == EntryKind::Sitemap && self.hops > 0 => 2,
            (false, 0) => 0,
            (false, depth) => depth.saturating_add(1).min(u16::from(CLASSES) - 1) as u8,
        }
    }

    /// A sitemap below `hops` sitemap indexes.
    pub fn sitemap(url: Url, hops: u8) -> Self {
        Self { kind: EntryKind::Sitemap, hops, ..Self::page(url, 0) }
    }

    /// Encodes the entry: depth (2 bytes), kind and hops (1 byte), URL, and `from` after a line feed.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.depth.to_le_bytes().to_vec();
        let kind = match self.kind {
            EntryKind::Page => 0,
            EntryKind::Sitemap => SITEMAP,
            EntryKind::Probe => PROBE,
        };
        bytes.push(self.hops.min(PROBE - 1) | kind);
        bytes.extend(self.url.as_str().as_bytes());
        if let Some(from) = &self.from {
            // A serialized URL has no line feed.
            bytes.push(b'\n');
            bytes.extend(from.as_bytes());
        }
        bytes
    }

    /// Decodes the output of [`encode`](Self::encode); `None` if it is not valid.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (depth, rest) = bytes.split_first_chunk::<2>()?;
        let (hops, url) = rest.split_first()?;
        let text = std::str::from_utf8(url).ok()?;
        let (url, from) =
            text.split_once('\n').map_or((text, None), |(url, from)| (url, Some(from)));
        let (url, from) = (Url::parse(url).ok()?, from.map(Arc::from));
        let kind = match (hops & SITEMAP, hops & PROBE) {
            (0, 0) => EntryKind::Page,
            (0, _) => EntryKind::Probe,
            _ => EntryKind::Sitemap,
        };
        let depth = u16::from_le_bytes(*depth);
        Some(Self { url, depth, hops: hops & (PROBE - 1), kind, recent: false, from })
    }
}

/// Rules of politeness, and limits of the queue.
#[derive(Clone, Debug)]
pub struct Options {
    /// The time in the set of ready hosts, if the host is in it.
    pub delay: Duration,
    /// Longest delay between requests to a slow host. Default 30 s.
    pub max_delay: Duration,
    /// Requests at a time to one host. Default 1.
    pub per_host: usize,
    /// Shortest time between two requests to one [`network`](crate::network) address, over all hosts. Default 250 ms.
    pub address_delay: Duration,
    /// Failures in a row after which a host is paused. Also the number of different unanswered hosts after which
    /// their address is paused. Default 5.
    pub breaker_after: u32,
    /// Length of the first pause; each further one is twice as long. Default 10 s.
    pub breaker_wait: Duration,
    /// Failures in a row after which a host is given up for this run. An address is down after as many: then each of
    /// its hosts is given up at its next failure. Default 8.
    pub give_up_after: u32,
    /// Most queued links of one host; further ones are not queued
    /// ([`Frontier::push_link`](crate::Frontier::push_link)). [Recent](Entry::recent) links have a separate limit of
    /// the same size. [Requeued](crate::Frontier::push_again) recent entries do not count. Default 100,000.
    pub max_queued_per_host: u64,
    /// Most bytes of queued links of all hosts. Each counts its URL, [`Entry::from`], and 64 bytes. Default 16 GiB.
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

/// The state of one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostState {
    /// Its name, see [`host_key`](hapax_url::host_key).
    pub host: String,
    /// Its queued URLs, those in flight included.
    pub queued: u64,
    /// Requests in flight.
    pub in_flight: usize,
    /// Failures in a row.
    pub failures: u32,
    /// Whether it was given up for this run.
    pub given_up: bool,
}

/// Numbers of URLs by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All URLs ever seen.
    pub known: u64,
    /// Queued URLs, those in flight and deferred included.
    pub queued: u64,
    /// URLs deferred to the next run.
    pub deferred: u64,
}
