//! Reasons of `skipped.jsonl`.

use serde::{Deserialize, Serialize};

/// Why a URL was not fetched, or its page not used: `reason` of skipped.jsonl. See `docs/logs.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
// Sorted by name: reports list them in this order.
pub enum SkipReason {
    /// The port belongs to mail, databases or other non-web services, or is not allowed.
    BadPort,
    /// The page shows no text, and a blank page of its host was kept.
    Blank,
    /// The body grows too much when decoded.
    Bomb,
    /// The host's page limit is reached.
    Budget,
    /// No free slot for the request in this process; it is tried again.
    Busy,
    /// Declared as text but not text.
    Charset,
    /// robots.txt says that a parameter does not change the page.
    CleanParam,
    /// The connection failed.
    Connect,
    /// Neither HTML nor plain text.
    ContentType,
    /// robots.txt requires a longer delay than the crawl accepts.
    CrawlDelay,
    /// The page was read only up to a limit.
    CutShort,
    /// Too far from a seed.
    Depth,
    /// The name could not be resolved.
    Dns,
    /// Pages of this URL pattern are duplicates.
    DustRule,
    /// The Content-Encoding could not be decoded.
    Encoding,
    /// An exclude pattern matches.
    Exclude,
    /// Extraction failed: a defect of the program.
    Extraction,
    /// A feed declares it equal to another page.
    Feed,
    /// A sample of a feed failed.
    FeedDistrusted,
    /// The user forgot it.
    Forgotten,
    /// The host was given up for this run.
    HostDown,
    /// A client error (status 4xx).
    #[serde(rename = "http-4xx")]
    Http4xx,
    /// A server error (status 5xx).
    #[serde(rename = "http-5xx")]
    Http5xx,
    /// Any other status.
    HttpOther,
    /// No include pattern matches.
    Include,
    /// Another worker has fetched it.
    LeaseLost,
    /// Some links of a page, or entries of a sitemap, are beyond the limits.
    Links,
    /// Its links, or a link to it, are nofollow.
    Nofollow,
    /// The page is noindex.
    Noindex,
    /// The address is not public.
    PrivateAddress,
    /// The response is not HTTP, or the record is not a page.
    Protocol,
    /// The queue was full.
    Queue,
    /// Too many redirects, or a redirect without a target.
    Redirects,
    /// The page or its host reserves rights, and the crawl obeys.
    Reserved,
    /// Retry-After requires a longer delay than the crawl accepts.
    RetryAfter,
    /// The payload of a stored page is missing.
    Revisit,
    /// robots.txt disallows it.
    Robots,
    /// robots.txt is unavailable.
    RobotsUnreachable,
    /// Out of scope.
    Scope,
    /// The page looks like the host's answer to an address that does not exist.
    #[serde(rename = "soft-404")]
    Soft404,
    /// The server did not answer in time.
    Timeout,
    /// The TLS handshake or certificate was refused.
    Tls,
    /// The body is too large.
    TooLarge,
    /// The URL looks like a crawler trap.
    Trap,
    /// Written by a later version.
    #[serde(other)]
    Other,
}

impl SkipReason {
    /// Returns whether the page is used despite this reason, which concerns a part of it or its links.
    pub const fn uses_the_page(self) -> bool {
        matches!(self, Self::CutShort | Self::Links | Self::Nofollow)
    }

    /// All reasons, sorted by name; `Other` comes last.
    pub const ALL: [Self; 45] = [
        Self::BadPort,
        Self::Blank,
        Self::Bomb,
        Self::Budget,
        Self::Busy,
        Self::Charset,
        Self::CleanParam,
        Self::Connect,
        Self::ContentType,
        Self::CrawlDelay,
        Self::CutShort,
        Self::Depth,
        Self::Dns,
        Self::DustRule,
        Self::Encoding,
        Self::Exclude,
        Self::Extraction,
        Self::Feed,
        Self::FeedDistrusted,
        Self::Forgotten,
        Self::HostDown,
        Self::Http4xx,
        Self::Http5xx,
        Self::HttpOther,
        Self::Include,
        Self::LeaseLost,
        Self::Links,
        Self::Nofollow,
        Self::Noindex,
        Self::PrivateAddress,
        Self::Protocol,
        Self::Queue,
        Self::Redirects,
        Self::Reserved,
        Self::RetryAfter,
        Self::Revisit,
        Self::Robots,
        Self::RobotsUnreachable,
        Self::Scope,
        Self::Soft404,
        Self::Timeout,
        Self::Tls,
        Self::TooLarge,
        Self::Trap,
        Self::Other,
    ];

    /// Returns the name in the log.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BadPort => "bad-port",
            Self::Blank => "blank",
            Self::Bomb => "bomb",
            Self::Budget => "budget",
            Self::Busy => "busy",
            Self::Charset => "charset",
            Self::CleanParam => "clean-param",
            Self::Connect => "connect",
            Self::ContentType => "content-type",
            Self::CrawlDelay => "crawl-delay",
            Self::CutShort => "cut-short",
            Self::Depth => "depth",
            Self::Dns => "dns",
            Self::DustRule => "dust-rule",
            Self::Encoding => "encoding",
            Self::Exclude => "exclude",
            Self::Extraction => "extraction",
            Self::Feed => "feed",
            Self::FeedDistrusted => "feed-distrusted",
            Self::Forgotten => "forgotten",
            Self::HostDown => "host-down",
            Self::Http4xx => "http-4xx",
            Self::Http5xx => "http-5xx",
            Self::HttpOther => "http-other",
            Self::Include => "include",
            Self::LeaseLost => "lease-lost",
            Self::Links => "links",
            Self::Nofollow => "nofollow",
            Self::Noindex => "noindex",
            Self::PrivateAddress => "private-address",
            Self::Protocol => "protocol",
            Self::Queue => "queue",
            Self::Redirects => "redirects",
            Self::Reserved => "reserved",
            Self::RetryAfter => "retry-after",
            Self::Revisit => "revisit",
            Self::Robots => "robots",
            Self::RobotsUnreachable => "robots-unreachable",
            Self::Scope => "scope",
            Self::Soft404 => "soft-404",
            Self::Timeout => "timeout",
            Self::Tls => "tls",
            Self::TooLarge => "too-large",
            Self::Trap => "trap",
            Self::Other => "other",
        }
    }
}

impl std::fmt::Display for SkipReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

impl From<hapax_fetch::Kind> for SkipReason {
    fn from(kind: hapax_fetch::Kind) -> Self {
        use hapax_fetch::Kind;
        match kind {
            Kind::PrivateAddress => Self::PrivateAddress,
            Kind::BadPort => Self::BadPort,
            Kind::Dns => Self::Dns,
            Kind::Connect => Self::Connect,
            Kind::Tls => Self::Tls,
            Kind::Timeout => Self::Timeout,
            Kind::TooLarge => Self::TooLarge,
            Kind::Bomb => Self::Bomb,
            Kind::Encoding => Self::Encoding,
            Kind::Protocol => Self::Protocol,
            Kind::Busy => Self::Busy,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_written_as_it_is_called_and_what_is_unknown_is_read() {
        // All names of `as_str`, in their order.
        let names = include_str!("reason.rs").lines().filter_map(|line| {
            line.trim().strip_prefix("Self::")?.split_once(" => \"")?.1.strip_suffix("\",")
        });
        let names: Vec<&str> = names.collect();
        let (last, sorted) = names.split_last().unwrap();
        assert!(sorted.len() > 40 && sorted.is_sorted() && *last == "other", "{names:?}");
        let mut before = None;
        for name in names {
            let reason: SkipReason = serde_json::from_value(name.into()).unwrap();
            assert_eq!(
                (reason.as_str(), serde_json::to_value(reason).unwrap()),
                (name, name.into())
            );
            assert!(before < Some(reason), "{name}");
            before = Some(reason);
        }
        let unknown: SkipReason = serde_json::from_value("of-a-later-version".into()).unwrap();
        assert_eq!(unknown, SkipReason::Other);
    }
}
