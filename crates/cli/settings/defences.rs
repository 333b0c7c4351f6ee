//! Settings of the group Defences: limits of what comes from the web.

use clap::Args;
use serde::{Deserialize, Serialize};

use hapax_data::units::{Limit, Size, Time};

/// Limits of responses and their bodies.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Defences")]
pub(crate) struct BodyLimits {
    /// How many times a body may grow when it is decoded [default: 200]
    #[arg(long, env = "HAPAX_MAX_RATIO", value_name = "N", hide_short_help = true)]
    pub(crate) max_ratio: Option<usize>,
    /// Connections that wait for another request, over all hosts [default: 512]
    #[arg(long, env = "HAPAX_MAX_IDLE_CONNECTIONS", value_name = "N", hide_short_help = true)]
    pub(crate) max_idle_connections: Option<usize>,
    /// Bytes read of a body that is no text, or of an error's; a longer one is left [default: 64KiB]
    #[arg(long, env = "HAPAX_MAX_UNWANTED", value_name = "SIZE", hide_short_help = true)]
    pub(crate) max_unwanted: Option<Size>,
    /// Bytes of headers kept of a response [default: 8KiB]
    #[arg(long, env = "HAPAX_MAX_HEADERS", value_name = "SIZE", hide_short_help = true)]
    pub(crate) max_headers: Option<Size>,
    /// Bytes a second that a body must come in with, in each --slow-after [default: 1KiB]
    #[arg(long, env = "HAPAX_MIN_RATE", value_name = "SIZE", hide_short_help = true)]
    pub(crate) min_rate: Option<Size>,
    /// Bytes read of a robots.txt [default: 500KiB]
    #[arg(long, env = "HAPAX_MAX_ROBOTS", value_name = "SIZE", hide_short_help = true)]
    pub(crate) max_robots: Option<Size>,
    /// Content-Encodings one over the other [default: 2]
    #[arg(long, env = "HAPAX_MAX_ENCODINGS", value_name = "N", hide_short_help = true)]
    pub(crate) max_encodings: Option<usize>,
    /// Bodies over 1 MiB in memory at a time; others wait [default: 4]
    #[arg(long, env = "HAPAX_LARGE_BODIES", value_name = "N", hide_short_help = true)]
    pub(crate) large_bodies: Option<usize>,
    /// So many of those wait; one more is asked for again later [default: 32]
    #[arg(long, env = "HAPAX_WAITING_BODIES", value_name = "N", hide_short_help = true)]
    pub(crate) waiting_bodies: Option<usize>,
    /// Bytes a second that a body over 1 MiB must come in with while others wait for its place [default: 16KiB]
    #[arg(long, env = "HAPAX_LARGE_RATE", value_name = "SIZE", hide_short_help = true)]
    pub(crate) large_rate: Option<Size>,
    /// How long a body may be slower than --min-rate or --large-rate at a time [default: 10s]
    #[arg(long, env = "HAPAX_SLOW_AFTER", value_name = "TIME", hide_short_help = true)]
    pub(crate) slow_after: Option<Time>,
    /// Time in which a name must be resolved [default: 10s]
    #[arg(long, env = "HAPAX_DNS_TIMEOUT", value_name = "TIME", hide_short_help = true)]
    pub(crate) dns_timeout: Option<Time>,
}

/// Limits of pages and sitemaps.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Defences")]
pub(crate) struct DocumentLimits {
    /// Bytes of a sitemap, decompressed [default: 50MiB]
    #[arg(long, env = "HAPAX_MAX_SITEMAP", value_name = "SIZE", hide_short_help = true)]
    pub(crate) max_sitemap: Option<Size>,
    /// URLs taken from a sitemap [default: 50000]
    #[arg(long, env = "HAPAX_MAX_SITEMAP_URLS", value_name = "N", hide_short_help = true)]
    pub(crate) max_sitemap_urls: Option<usize>,
    /// Links read from a page [default: 10000]
    #[arg(long, env = "HAPAX_MAX_LINKS", value_name = "N", hide_short_help = true)]
    pub(crate) max_links: Option<usize>,
    /// Elements inside each other that a page may have [default: 512]
    #[arg(long, env = "HAPAX_MAX_NESTING", value_name = "N", hide_short_help = true)]
    pub(crate) max_nesting: Option<usize>,
    /// Elements and texts that are read of a page [default: 500000]
    #[arg(long, env = "HAPAX_MAX_NODES", value_name = "N", hide_short_help = true)]
    pub(crate) max_nodes: Option<usize>,
    /// Attributes that are read of an element [default: 256]
    #[arg(long, env = "HAPAX_MAX_ATTRIBUTES", value_name = "N", hide_short_help = true)]
    pub(crate) max_attributes: Option<usize>,
    /// Time to parse a page [default: 2s]
    #[arg(long, env = "HAPAX_MAX_PARSE_TIME", value_name = "TIME", hide_short_help = true)]
    pub(crate) max_parse_time: Option<Time>,
}

/// Limits of URLs and their patterns.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Defences")]
pub(crate) struct UrlSettings {
    /// Bytes of a URL [default: 2048]
    #[arg(long, env = "HAPAX_MAX_URL_LENGTH", value_name = "N", hide_short_help = true)]
    pub(crate) max_url_length: Option<usize>,
    /// Segments of a URL's path [default: 32]
    #[arg(long, env = "HAPAX_MAX_URL_SEGMENTS", value_name = "N", hide_short_help = true)]
    pub(crate) max_url_segments: Option<usize>,
    /// Parameters of a URL's query [default: 16]
    #[arg(long, env = "HAPAX_MAX_URL_PARAMETERS", value_name = "N", hide_short_help = true)]
    pub(crate) max_url_parameters: Option<usize>,
    /// How often one segment may stand in a path [default: 3]
    #[arg(long, env = "HAPAX_MAX_REPEATED_SEGMENT", value_name = "N", hide_short_help = true)]
    pub(crate) max_repeated_segment: Option<usize>,
    /// Years of dates in URLs: to the last one, in calendars from the first one [default: 1990..2035, later to five years from now]
    #[arg(long, env = "HAPAX_URL_YEARS", value_name = "FROM..TO", hide_short_help = true)]
    pub(crate) url_years: Option<String>,
    /// Pages of a URL pattern before it can be left out for repeating, a tenth on a host that repeats; none: never [default: 200]
    #[arg(long, env = "HAPAX_DUST_PAGES", value_name = "N", hide_short_help = true)]
    pub(crate) dust_pages: Option<Limit<u64>>,
    /// Share of duplicates among them from which on it is [default: 0.95]
    #[arg(long, env = "HAPAX_DUST_SHARE", value_name = "S", hide_short_help = true)]
    pub(crate) dust_share: Option<f64>,
}

/// Limits of slow and failing hosts.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Defences")]
pub(crate) struct HostLimits {
    /// A request that has waited so long for its server gives its place to another one [default: 2s]
    #[arg(long, env = "HAPAX_ASIDE_AFTER", value_name = "TIME", hide_short_help = true)]
    pub(crate) aside_after: Option<Time>,
    /// So many times --concurrency of those at most [default: 3]
    #[arg(long, env = "HAPAX_ASIDE_FACTOR", value_name = "N", hide_short_help = true)]
    pub(crate) aside_factor: Option<usize>,
    /// Longest pause that a slow host stretches --delay to [default: 30s]
    #[arg(long, env = "HAPAX_MAX_DELAY", value_name = "TIME", hide_short_help = true)]
    pub(crate) max_delay: Option<Time>,
    /// Pause between two requests to one address, whatever the host [default: a quarter of --delay]
    #[arg(long, env = "HAPAX_ADDRESS_DELAY", value_name = "TIME", hide_short_help = true)]
    pub(crate) address_delay: Option<Time>,
    /// A host that fails so many times in a row is left alone for a while [default: 5]
    #[arg(long, env = "HAPAX_BREAKER_AFTER", value_name = "N", hide_short_help = true)]
    pub(crate) breaker_after: Option<u32>,
    /// For how long at first; twice as long each time [default: ten times --delay, from 200ms to 60s]
    #[arg(long, env = "HAPAX_BREAKER_WAIT", value_name = "TIME", hide_short_help = true)]
    pub(crate) breaker_wait: Option<Time>,
    /// A host that fails so many times in a row is given up for this run [default: 8]
    #[arg(long, env = "HAPAX_GIVE_UP_AFTER", value_name = "N", hide_short_help = true)]
    pub(crate) give_up_after: Option<u32>,
    /// URLs of one host that may wait; further links are found again once its queue is empty [default: 100000]
    #[arg(long, env = "HAPAX_MAX_QUEUED_PER_HOST", value_name = "N", hide_short_help = true)]
    pub(crate) max_queued_per_host: Option<u64>,
    /// Bytes of all URLs that may wait; further links are found again later [default: 16GiB]
    #[arg(long, env = "HAPAX_MAX_QUEUE", value_name = "SIZE", hide_short_help = true)]
    pub(crate) max_queue: Option<Size>,
    /// Upper limit of a Crawl-delay of robots.txt; the crawl waits this long if it is longer [default: 30s]
    #[arg(long, env = "HAPAX_MAX_CRAWL_DELAY", value_name = "TIME", hide_short_help = true)]
    pub(crate) max_crawl_delay: Option<Time>,
    /// A server that asks for a longer wait is not waited for in this run [default: 300s]
    #[arg(long, env = "HAPAX_MAX_RETRY_AFTER", value_name = "TIME", hide_short_help = true)]
    pub(crate) max_retry_after: Option<Time>,
}
