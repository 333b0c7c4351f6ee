//! Settings of the group Defences: limits of untrusted input.

use clap::Args;
use serde::{Deserialize, Serialize};

use hapax_data::units::{Limit, Size, Time};

/// Limits of responses and their bodies.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Defences")]
pub(crate) struct BodyLimits {
    /// A body may become at most N times larger when it is decompressed [default: 200]
    #[arg(long, env = "HAPAX_MAX_RATIO", value_name = "N", hide_short_help = true)]
    pub(crate) max_ratio: Option<usize>,
    /// Idle connections to keep open, over all hosts [default: 512]
    #[arg(long, env = "HAPAX_MAX_IDLE_CONNECTIONS", value_name = "N", hide_short_help = true)]
    pub(crate) max_idle_connections: Option<usize>,
    /// Read a body that is not text, or of an error, if it has at most SIZE; else close the connection [default: 64KiB]
    #[arg(long, env = "HAPAX_MAX_UNWANTED", value_name = "SIZE", hide_short_help = true)]
    pub(crate) max_unwanted: Option<Size>,
    /// Keep at most SIZE of a response's headers [default: 8KiB]
    #[arg(long, env = "HAPAX_MAX_HEADERS", value_name = "SIZE", hide_short_help = true)]
    pub(crate) max_headers: Option<Size>,
    /// Smallest rate of a body, in bytes a second over each --slow-after [default: 1KiB]
    #[arg(long, env = "HAPAX_MIN_RATE", value_name = "SIZE", hide_short_help = true)]
    pub(crate) min_rate: Option<Size>,
    /// Read at most SIZE of a robots.txt [default: 500KiB]
    #[arg(long, env = "HAPAX_MAX_ROBOTS", value_name = "SIZE", hide_short_help = true)]
    pub(crate) max_robots: Option<Size>,
    /// Largest number of nested Content-Encodings [default: 2]
    #[arg(long, env = "HAPAX_MAX_ENCODINGS", value_name = "N", hide_short_help = true)]
    pub(crate) max_encodings: Option<usize>,
    /// Bodies over 1 MiB in memory at a time; further ones wait [default: 3]
    #[arg(long, env = "HAPAX_LARGE_BODIES", value_name = "N", hide_short_help = true)]
    pub(crate) large_bodies: Option<usize>,
    /// Bodies over 1 MiB that may wait; the URLs of further ones are requested again later [default: 32]
    #[arg(long, env = "HAPAX_WAITING_BODIES", value_name = "N", hide_short_help = true)]
    pub(crate) waiting_bodies: Option<usize>,
    /// Smallest rate of a body over 1 MiB while other bodies wait, in bytes a second over each --slow-after [default: 16KiB]
    #[arg(long, env = "HAPAX_LARGE_RATE", value_name = "SIZE", hide_short_help = true)]
    pub(crate) large_rate: Option<Size>,
    /// Longest time for which a body may be slower than --min-rate or --large-rate [default: 10s]
    #[arg(long, env = "HAPAX_SLOW_AFTER", value_name = "TIME", hide_short_help = true)]
    pub(crate) slow_after: Option<Time>,
    /// Longest time to resolve a host name [default: 10s]
    #[arg(long, env = "HAPAX_DNS_TIMEOUT", value_name = "TIME", hide_short_help = true)]
    pub(crate) dns_timeout: Option<Time>,
}

/// Limits of pages and sitemaps.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Defences")]
pub(crate) struct DocumentLimits {
    /// Read at most SIZE of a sitemap, decompressed [default: 50MiB]
    #[arg(long, env = "HAPAX_MAX_SITEMAP", value_name = "SIZE", hide_short_help = true)]
    pub(crate) max_sitemap: Option<Size>,
    /// Take at most N URLs from a sitemap [default: 50000]
    #[arg(long, env = "HAPAX_MAX_SITEMAP_URLS", value_name = "N", hide_short_help = true)]
    pub(crate) max_sitemap_urls: Option<usize>,
    /// Take at most N links from a page [default: 10000]
    #[arg(long, env = "HAPAX_MAX_LINKS", value_name = "N", hide_short_help = true)]
    pub(crate) max_links: Option<usize>,
    /// Deepest nesting of elements in a page [default: 512]
    #[arg(long, env = "HAPAX_MAX_NESTING", value_name = "N", hide_short_help = true)]
    pub(crate) max_nesting: Option<usize>,
    /// Read at most N elements and texts of a page [default: 500000]
    #[arg(long, env = "HAPAX_MAX_NODES", value_name = "N", hide_short_help = true)]
    pub(crate) max_nodes: Option<usize>,
    /// Read at most N attributes of an element [default: 256]
    #[arg(long, env = "HAPAX_MAX_ATTRIBUTES", value_name = "N", hide_short_help = true)]
    pub(crate) max_attributes: Option<usize>,
    /// Longest time to parse a page [default: 2s]
    #[arg(long, env = "HAPAX_MAX_PARSE_TIME", value_name = "TIME", hide_short_help = true)]
    pub(crate) max_parse_time: Option<Time>,
}

/// Limits of URLs and their patterns.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Defences")]
pub(crate) struct UrlSettings {
    /// Longest URL, in bytes [default: 2048]
    #[arg(long, env = "HAPAX_MAX_URL_LENGTH", value_name = "N", hide_short_help = true)]
    pub(crate) max_url_length: Option<usize>,
    /// Largest number of segments in a URL's path [default: 32]
    #[arg(long, env = "HAPAX_MAX_URL_SEGMENTS", value_name = "N", hide_short_help = true)]
    pub(crate) max_url_segments: Option<usize>,
    /// Largest number of parameters in a URL's query [default: 16]
    #[arg(long, env = "HAPAX_MAX_URL_PARAMETERS", value_name = "N", hide_short_help = true)]
    pub(crate) max_url_parameters: Option<usize>,
    /// Largest number of times that one segment may occur in a URL's path [default: 3]
    #[arg(long, env = "HAPAX_MAX_REPEATED_SEGMENT", value_name = "N", hide_short_help = true)]
    pub(crate) max_repeated_segment: Option<usize>,
    /// Years that dates in URLs may have; FROM applies to calendars only [default: 1990..2035, later to five years from now]
    #[arg(long, env = "HAPAX_URL_YEARS", value_name = "FROM..TO", hide_short_help = true)]
    pub(crate) url_years: Option<String>,
    /// Fetch N pages of a URL pattern before it can be skipped for repeating (a tenth on repetitive hosts); none: never skip [default: 200]
    #[arg(long, env = "HAPAX_DUST_PAGES", value_name = "N", hide_short_help = true)]
    pub(crate) dust_pages: Option<Limit<u64>>,
    /// Skip a URL pattern if at least this share of its pages (see --dust-pages) are duplicates, 0.5 to 1 [default: 0.95]
    #[arg(long, env = "HAPAX_DUST_SHARE", value_name = "S", hide_short_help = true)]
    pub(crate) dust_share: Option<f64>,
}

/// Limits of slow and failing hosts.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Defences")]
pub(crate) struct HostLimits {
    /// Wait this long for a server before the request no longer counts towards --concurrency [default: 2s]
    #[arg(long, env = "HAPAX_ASIDE_AFTER", value_name = "TIME", hide_short_help = true)]
    pub(crate) aside_after: Option<Time>,
    /// Largest number of requests that wait for slow servers, as a multiple of --concurrency [default: 3]
    #[arg(long, env = "HAPAX_ASIDE_FACTOR", value_name = "N", hide_short_help = true)]
    pub(crate) aside_factor: Option<usize>,
    /// Longest delay between two requests to a slow host [default: 30s]
    #[arg(long, env = "HAPAX_MAX_DELAY", value_name = "TIME", hide_short_help = true)]
    pub(crate) max_delay: Option<Time>,
    /// Delay between two requests to one IP address, over all its hosts [default: a quarter of --delay]
    #[arg(long, env = "HAPAX_ADDRESS_DELAY", value_name = "TIME", hide_short_help = true)]
    pub(crate) address_delay: Option<Time>,
    /// Pause a host after N failed requests in a row [default: 5]
    #[arg(long, env = "HAPAX_BREAKER_AFTER", value_name = "N", hide_short_help = true)]
    pub(crate) breaker_after: Option<u32>,
    /// First pause of a failing host, doubled at each further failure [default: ten times --delay, from 200ms to 60s]
    #[arg(long, env = "HAPAX_BREAKER_WAIT", value_name = "TIME", hide_short_help = true)]
    pub(crate) breaker_wait: Option<Time>,
    /// Give up a host for this run after N failed requests in a row [default: 8]
    #[arg(long, env = "HAPAX_GIVE_UP_AFTER", value_name = "N", hide_short_help = true)]
    pub(crate) give_up_after: Option<u32>,
    /// Queue at most N URLs of one host; further links are found again when the queue is empty [default: 100000]
    #[arg(long, env = "HAPAX_MAX_QUEUED_PER_HOST", value_name = "N", hide_short_help = true)]
    pub(crate) max_queued_per_host: Option<u64>,
    /// Largest queue of all hosts, in bytes of URLs; further links are found again later [default: 16GiB]
    #[arg(long, env = "HAPAX_MAX_QUEUE", value_name = "SIZE", hide_short_help = true)]
    pub(crate) max_queue: Option<Size>,
    /// Longest Crawl-delay of robots.txt to obey; a longer one is shortened to this [default: 30s]
    #[arg(long, env = "HAPAX_MAX_CRAWL_DELAY", value_name = "TIME", hide_short_help = true)]
    pub(crate) max_crawl_delay: Option<Time>,
    /// Longest Retry-After to obey; a URL with a longer one is left for the next run [default: 300s]
    #[arg(long, env = "HAPAX_MAX_RETRY_AFTER", value_name = "TIME", hide_short_help = true)]
    pub(crate) max_retry_after: Option<Time>,
}
