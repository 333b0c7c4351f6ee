//! Every setting, by name.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use clap::builder::BoolishValueParser;
use serde::{Deserialize, Serialize};

use super::{PolicyName, ScopeName};
use crate::units::{
    check_count, check_duration, check_duration_limit, check_size, check_size_limit, limit,
    parse_limit,
};

/// Between the values of a list in the environment: regular expressions and headers hold anything else.
const LINE: char = '\n';

/// Every setting, each of which may stand in a flag, in HAPAX_NAME, or in the file. A list that a
/// file names is emptied by one empty value, a switch turned off by `=false`, a limit without a default by `none`.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Settings {
    /// Stop after so many fetched pages, counted over the whole data directory; none: no limit
    #[arg(long, env = "HAPAX_MAX_PAGES", value_name = "N", value_parser = parse_limit, help_heading = "Limits")]
    #[serde(skip_serializing_if = "Option::is_none", with = "limit")]
    pub(crate) max_pages: Option<u64>,
    /// Follow links so far from a seed; none: any number
    #[arg(long, env = "HAPAX_MAX_DEPTH", value_name = "N", value_parser = parse_limit, help_heading = "Limits")]
    #[serde(skip_serializing_if = "Option::is_none", with = "limit")]
    pub(crate) max_depth: Option<u64>,
    /// Stop after so many bytes received in this run, such as 10GiB; none: no limit
    #[arg(long, env = "HAPAX_MAX_BYTES", value_name = "SIZE", value_parser = check_size_limit, help_heading = "Limits")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_bytes: Option<String>,
    /// Stop after this time, such as 2h; none: no limit
    #[arg(long, env = "HAPAX_TIME_LIMIT", value_name = "TIME", value_parser = check_duration_limit, help_heading = "Limits")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) time_limit: Option<String>,
    /// Which URLs belong to the crawl [default: host]
    #[arg(long, env = "HAPAX_SCOPE", value_name = "SCOPE", help_heading = "Scope")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) scope: Option<ScopeName>,
    /// Follow only links that match (repeatable)
    #[arg(long, env = "HAPAX_INCLUDE", value_delimiter = LINE, value_name = "REGEX", help_heading = "Scope")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) include: Option<Vec<String>>,
    /// Never fetch URLs that match (repeatable)
    #[arg(long, env = "HAPAX_EXCLUDE", value_delimiter = LINE, value_name = "REGEX", help_heading = "Scope")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) exclude: Option<Vec<String>>,
    /// Requests at a time; those that wait for a server (--aside-after) do not count, up to --aside-factor times as many [default: 64]
    #[arg(long, env = "HAPAX_CONCURRENCY", value_parser = check_count, value_name = "N", help_heading = "Politeness")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) concurrency: Option<usize>,
    /// Requests at a time to one host [default: 1]
    #[arg(long, env = "HAPAX_PER_HOST", value_parser = check_count, value_name = "N", help_heading = "Politeness")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) per_host: Option<usize>,
    /// Pause between two requests to a host; slow hosts get a longer one [default: 1s]
    #[arg(long, env = "HAPAX_DELAY", value_name = "TIME", value_parser = check_duration, help_heading = "Politeness")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delay: Option<String>,
    /// The User-Agent header [default: hapax/VERSION (+CONTACT)]
    #[arg(long, env = "HAPAX_USER_AGENT", value_name = "TEXT", help_heading = "Politeness")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user_agent: Option<String>,
    /// A URL or mail address put into the User-Agent, for webmasters
    #[arg(long, env = "HAPAX_CONTACT", value_name = "TEXT", help_heading = "Politeness")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) contact: Option<String>,
    /// Do not ask this host's robots.txt: only for your own hosts (repeatable)
    #[arg(long, env = "HAPAX_IGNORE_ROBOTS", value_delimiter = LINE, value_name = "HOST", help_heading = "Politeness")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ignore_robots: Option<Vec<String>>,
    /// Allow a private network, such as 10.0.0.0/8 (repeatable)
    #[arg(long, env = "HAPAX_ALLOW_PRIVATE", value_delimiter = LINE, value_name = "CIDR", help_heading = "Safety")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) allow_private: Option<Vec<String>>,
    /// Do not verify this host's TLS certificate (repeatable)
    #[arg(long, env = "HAPAX_INSECURE", value_delimiter = LINE, value_name = "HOST", help_heading = "Safety")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) insecure: Option<Vec<String>>,
    /// Send all requests through this proxy. It resolves names itself: of those, only address
    /// literals are checked here
    #[arg(long, env = "HAPAX_PROXY", value_name = "URL", help_heading = "Safety")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) proxy: Option<String>,
    /// Send this header to the seeds' hosts, by their scheme and port, and to no other (repeatable)
    #[arg(long, env = "HAPAX_HEADER", value_delimiter = LINE, value_name = "NAME:VALUE", help_heading = "Requests")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) header: Option<Vec<String>>,
    /// Keep cookies in memory and send them back to the host they came from
    #[arg(long, env = "HAPAX_COOKIES", value_name = "BOOL", value_parser = BoolishValueParser::new(), num_args = 0..=1, require_equals = true, default_missing_value = "true", help_heading = "Requests")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cookies: Option<bool>,
    /// Time to connect [default: 10s]
    #[arg(long, env = "HAPAX_CONNECT_TIMEOUT", value_name = "TIME", value_parser = check_duration, help_heading = "Requests")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) connect_timeout: Option<String>,
    /// Time between two pieces of a response [default: 15s]
    #[arg(long, env = "HAPAX_READ_TIMEOUT", value_name = "TIME", value_parser = check_duration, help_heading = "Requests")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) read_timeout: Option<String>,
    /// Time of a whole request [default: 60s]
    #[arg(long, env = "HAPAX_REQUEST_TIMEOUT", value_name = "TIME", value_parser = check_duration, help_heading = "Requests")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) request_timeout: Option<String>,
    /// Bytes of a body, on the wire and decoded [default: 10MiB]
    #[arg(long, env = "HAPAX_MAX_BODY", value_name = "SIZE", value_parser = check_size, help_heading = "Requests")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_body: Option<String>,
    /// Redirects in a row, at most 50 [default: 5]
    #[arg(long, env = "HAPAX_MAX_REDIRECTS", value_name = "N", help_heading = "Requests")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_redirects: Option<u8>,
    /// How many times a body may grow when it is decoded [default: 200]
    #[arg(
        long,
        env = "HAPAX_MAX_RATIO",
        value_name = "N",
        hide_short_help = true,
        help_heading = "Defences"
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_ratio: Option<usize>,
    /// Connections that wait for another request, over all hosts [default: 512]
    #[arg(
        long,
        env = "HAPAX_MAX_IDLE_CONNECTIONS",
        value_name = "N",
        hide_short_help = true,
        help_heading = "Defences"
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_idle_connections: Option<usize>,
    /// Bytes read of a body that is no text, or of an error's; a longer one is left [default: 64KiB]
    #[arg(long, env = "HAPAX_MAX_UNWANTED", value_name = "SIZE", value_parser = check_size, hide_short_help = true, help_heading = "Defences")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_unwanted: Option<String>,
    /// Bytes of headers kept of a response [default: 8KiB]
    #[arg(long, env = "HAPAX_MAX_HEADERS", value_name = "SIZE", value_parser = check_size, hide_short_help = true, help_heading = "Defences")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_headers: Option<String>,
    /// Bytes a second that a body must come in with, in each --slow-after [default: 1KiB]
    #[arg(long, env = "HAPAX_MIN_RATE", value_name = "SIZE", value_parser = check_size, hide_short_help = true, help_heading = "Defences")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) min_rate: Option<String>,
    /// Bytes read of a robots.txt [default: 500KiB]
    #[arg(long, env = "HAPAX_MAX_ROBOTS", value_name = "SIZE", value_parser = check_size, hide_short_help = true, help_heading = "Defences")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_robots: Option<String>,
    /// Bytes read of a sitemap, unpacked [default: 10MiB]
    #[arg(long, env = "HAPAX_MAX_SITEMAP", value_name = "SIZE", value_parser = check_size, hide_short_help = true, help_heading = "Defences")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_sitemap: Option<String>,
    /// URLs taken from a sitemap [default: 50000]
    #[arg(
        long,
        env = "HAPAX_MAX_SITEMAP_URLS",
        value_name = "N",
        hide_short_help = true,
        help_heading = "Defences"
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_sitemap_urls: Option<usize>,
    /// Links read from a page [default: 10000]
    #[arg(
        long,
        env = "HAPAX_MAX_LINKS",
        value_name = "N",
        hide_short_help = true,
        help_heading = "Defences"
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_links: Option<usize>,
    /// Elements inside each other that a page may have [default: 512]
    #[arg(
        long,
        env = "HAPAX_MAX_NESTING",
        value_name = "N",
        hide_short_help = true,
        help_heading = "Defences"
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_nesting: Option<usize>,
    /// Elements and texts that are read of a page [default: 500000]
    #[arg(
        long,
        env = "HAPAX_MAX_NODES",
        value_name = "N",
        hide_short_help = true,
        help_heading = "Defences"
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_nodes: Option<usize>,
    /// Attributes that are read of an element [default: 256]
    #[arg(
        long,
        env = "HAPAX_MAX_ATTRIBUTES",
        value_name = "N",
        hide_short_help = true,
        help_heading = "Defences"
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_attributes: Option<usize>,
    /// Time to parse a page [default: 2s]
    #[arg(long, env = "HAPAX_MAX_PARSE_TIME", value_name = "TIME", value_parser = check_duration, hide_short_help = true, help_heading = "Defences")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_parse_time: Option<String>,
    /// Bytes of a URL [default: 2048]
    #[arg(
        long,
        env = "HAPAX_MAX_URL_LENGTH",
        value_name = "N",
        hide_short_help = true,
        help_heading = "Defences"
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_url_length: Option<usize>,
    /// Segments of a URL's path [default: 32]
    #[arg(
        long,
        env = "HAPAX_MAX_URL_SEGMENTS",
        value_name = "N",
        hide_short_help = true,
        help_heading = "Defences"
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_url_segments: Option<usize>,
    /// Parameters of a URL's query [default: 16]
    #[arg(
        long,
        env = "HAPAX_MAX_URL_PARAMETERS",
        value_name = "N",
        hide_short_help = true,
        help_heading = "Defences"
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_url_parameters: Option<usize>,
    /// How often one segment may stand in a path [default: 3]
    #[arg(
        long,
        env = "HAPAX_MAX_REPEATED_SEGMENT",
        value_name = "N",
        hide_short_help = true,
        help_heading = "Defences"
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_repeated_segment: Option<usize>,
    /// Content-Encodings one over the other [default: 2]
    #[arg(
        long,
        env = "HAPAX_MAX_ENCODINGS",
        value_name = "N",
        hide_short_help = true,
        help_heading = "Defences"
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_encodings: Option<usize>,
    /// Bodies over 1 MiB in memory at a time; others wait [default: 4]
    #[arg(
        long,
        env = "HAPAX_LARGE_BODIES",
        value_name = "N",
        hide_short_help = true,
        help_heading = "Defences"
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) large_bodies: Option<usize>,
    /// So many of those wait; one more is asked for again later [default: 32]
    #[arg(
        long,
        env = "HAPAX_WAITING_BODIES",
        value_name = "N",
        hide_short_help = true,
        help_heading = "Defences"
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) waiting_bodies: Option<usize>,
    /// Bytes a second that a body over 1 MiB must come in with while others wait for its place [default: 16KiB]
    #[arg(long, env = "HAPAX_LARGE_RATE", value_name = "SIZE", value_parser = check_size, hide_short_help = true, help_heading = "Defences")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) large_rate: Option<String>,
    /// How long a body may be slower than --min-rate or --large-rate at a time [default: 10s]
    #[arg(long, env = "HAPAX_SLOW_AFTER", value_name = "TIME", value_parser = check_duration, hide_short_help = true, help_heading = "Defences")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) slow_after: Option<String>,
    /// Time in which a name must be resolved [default: 10s]
    #[arg(long, env = "HAPAX_DNS_TIMEOUT", value_name = "TIME", value_parser = check_duration, hide_short_help = true, help_heading = "Defences")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dns_timeout: Option<String>,
    /// A request that has waited so long for its server gives its place to another one [default: 2s]
    #[arg(long, env = "HAPAX_ASIDE_AFTER", value_name = "TIME", value_parser = check_duration, hide_short_help = true, help_heading = "Defences")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) aside_after: Option<String>,
    /// So many times --concurrency of those at most [default: 3]
    #[arg(
        long,
        env = "HAPAX_ASIDE_FACTOR",
        value_name = "N",
        hide_short_help = true,
        help_heading = "Defences"
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) aside_factor: Option<usize>,
    /// Longest pause that a slow host stretches --delay to [default: 30s]
    #[arg(long, env = "HAPAX_MAX_DELAY", value_name = "TIME", value_parser = check_duration, hide_short_help = true, help_heading = "Defences")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_delay: Option<String>,
    /// Pause between two requests to one address, whatever the host [default: a quarter of --delay]
    #[arg(long, env = "HAPAX_ADDRESS_DELAY", value_name = "TIME", value_parser = check_duration, hide_short_help = true, help_heading = "Defences")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) address_delay: Option<String>,
    /// A host that fails so many times in a row is left alone for a while [default: 5]
    #[arg(
        long,
        env = "HAPAX_BREAKER_AFTER",
        value_name = "N",
        hide_short_help = true,
        help_heading = "Defences"
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) breaker_after: Option<u32>,
    /// For how long at first; twice as long each time [default: ten times --delay, from 200ms to 60s]
    #[arg(long, env = "HAPAX_BREAKER_WAIT", value_name = "TIME", value_parser = check_duration, hide_short_help = true, help_heading = "Defences")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) breaker_wait: Option<String>,
    /// A host that fails so many times in a row is given up for this run [default: 8]
    #[arg(
        long,
        env = "HAPAX_GIVE_UP_AFTER",
        value_name = "N",
        hide_short_help = true,
        help_heading = "Defences"
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) give_up_after: Option<u32>,
    /// URLs of one host that may wait; further links are found again once its queue is empty [default: 100000]
    #[arg(
        long,
        env = "HAPAX_MAX_QUEUED_PER_HOST",
        value_name = "N",
        hide_short_help = true,
        help_heading = "Defences"
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_queued_per_host: Option<u64>,
    /// Bytes of all URLs that may wait; further links are found again later [default: 16GiB]
    #[arg(long, env = "HAPAX_MAX_QUEUE", value_name = "SIZE", value_parser = check_size, hide_short_help = true, help_heading = "Defences")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_queue: Option<String>,
    /// A host whose robots.txt asks for a longer pause is left out [default: 30s]
    #[arg(long, env = "HAPAX_MAX_CRAWL_DELAY", value_name = "TIME", value_parser = check_duration, hide_short_help = true, help_heading = "Defences")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_crawl_delay: Option<String>,
    /// A server that asks for a longer wait is not waited for in this run [default: 300s]
    #[arg(long, env = "HAPAX_MAX_RETRY_AFTER", value_name = "TIME", value_parser = check_duration, hide_short_help = true, help_heading = "Defences")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_retry_after: Option<String>,
    /// Years of dates in URLs: to the last one, in calendars from the first one [default: 1990..2035, later to five years from now]
    #[arg(
        long,
        env = "HAPAX_URL_YEARS",
        value_name = "FROM..TO",
        hide_short_help = true,
        help_heading = "Defences"
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) url_years: Option<String>,
    /// Pages of a URL pattern before it can be left out for repeating, a tenth on a host that repeats; none: never [default: 200]
    #[arg(long, env = "HAPAX_DUST_PAGES", value_name = "N", value_parser = parse_limit, hide_short_help = true, help_heading = "Defences")]
    #[serde(skip_serializing_if = "Option::is_none", with = "limit")]
    pub(crate) dust_pages: Option<u64>,
    /// Share of duplicates among them from which on it is [default: 0.95]
    #[arg(
        long,
        env = "HAPAX_DUST_SHARE",
        value_name = "S",
        hide_short_help = true,
        help_heading = "Defences"
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dust_share: Option<f64>,
    /// Only these ports, such as 80, 443 or 8000-8999; those of mail and databases never (repeatable)
    #[arg(long, env = "HAPAX_PORTS", value_delimiter = LINE, value_name = "PORTS", hide_short_help = true, help_heading = "Safety")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ports: Option<Vec<String>>,
    /// Fetch at most so many pages of one host [default: none]
    #[arg(long, env = "HAPAX_MAX_PAGES_PER_HOST", value_name = "N", value_parser = parse_limit, help_heading = "Limits")]
    #[serde(skip_serializing_if = "Option::is_none", with = "limit")]
    pub(crate) max_pages_per_host: Option<u64>,
    /// Stop while so much of the disk is still free [default: 1GiB]
    #[arg(long, env = "HAPAX_MIN_FREE_DISK", value_name = "SIZE", value_parser = check_size, help_heading = "Limits")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) min_free_disk: Option<String>,
    /// Take the order of a query's parameters for nothing: URLs that differ in it are one
    #[arg(long, env = "HAPAX_SORT_QUERY", value_name = "BOOL", value_parser = BoolishValueParser::new(), num_args = 0..=1, require_equals = true, default_missing_value = "true", help_heading = "Scope")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sort_query: Option<bool>,
    /// Do not read sitemaps
    #[arg(long, env = "HAPAX_NO_SITEMAPS", value_name = "BOOL", value_parser = BoolishValueParser::new(), num_args = 0..=1, require_equals = true, default_missing_value = "true", help_heading = "Scope")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) no_sitemaps: Option<bool>,
    /// Largest Hamming distance of near-duplicates, 0 to 7 [default: 3]
    #[arg(long, env = "HAPAX_DISTANCE", value_name = "K", help_heading = "Duplicates")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) distance: Option<u32>,
    /// Smallest similarity that confirms a near-duplicate on another host [default: 0.5]
    #[arg(long, env = "HAPAX_SIMILARITY", value_name = "S", help_heading = "Duplicates")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) similarity: Option<f64>,
    /// The same on one host [default: 0.55]
    #[arg(long, env = "HAPAX_SIMILARITY_SAME_HOST", value_name = "S", help_heading = "Duplicates")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) similarity_same_host: Option<f64>,
    /// How duplicates are decided [default: default]
    #[arg(long, env = "HAPAX_POLICY", value_name = "NAME", help_heading = "Duplicates")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) policy: Option<PolicyName>,
    /// What fingerprints are made of; a data directory keeps to one [default: content-words-tf]
    #[arg(long, env = "HAPAX_RECIPE", value_name = "NAME", help_heading = "Duplicates")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) recipe: Option<String>,
    /// Keep no WARC of what was fetched
    #[arg(long, env = "HAPAX_NO_WARC", value_name = "BOOL", value_parser = BoolishValueParser::new(), num_args = 0..=1, require_equals = true, default_missing_value = "true", help_heading = "Output")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) no_warc: Option<bool>,
    /// Build no search index
    #[arg(long, env = "HAPAX_NO_INDEX", value_name = "BOOL", value_parser = BoolishValueParser::new(), num_args = 0..=1, require_equals = true, default_missing_value = "true", help_heading = "Output")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) no_index: Option<bool>,
    /// Fetch and follow links only: no text, no duplicates, no WARC, no index
    #[arg(long, env = "HAPAX_LINKS_ONLY", value_name = "BOOL", value_parser = BoolishValueParser::new(), num_args = 0..=1, require_equals = true, default_missing_value = "true", help_heading = "Output")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) links_only: Option<bool>,
    /// Share the crawl with other workers: a Redis Cluster, redis://HOST:PORT[,HOST:PORT...]
    #[arg(long, env = "HAPAX_CLUSTER", value_name = "URL", help_heading = "Cluster", hide = !cfg!(feature = "cluster"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cluster: Option<String>,
    /// The crawl's name there [default: crawl]
    #[arg(long, env = "HAPAX_CLUSTER_NAME", value_name = "NAME", help_heading = "Cluster", hide = !cfg!(feature = "cluster"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cluster_name: Option<String>,
    /// Pages expected of all workers: above 2e7 ten tables hold them instead of four [default: 1e7]
    #[arg(long, env = "HAPAX_CLUSTER_PAGES", value_name = "N", help_heading = "Cluster", hide = !cfg!(feature = "cluster"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cluster_pages: Option<f64>,
    /// How long a worker that says nothing keeps what it leased [default: 60s]
    #[arg(long, env = "HAPAX_CLUSTER_LEASE", value_name = "TIME", help_heading = "Cluster", hide = !cfg!(feature = "cluster"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cluster_lease: Option<String>,
    /// As the flags of these three names, which belong to every command: read from a file, never saved.
    #[arg(skip)]
    #[serde(skip_serializing)]
    pub(crate) data: Option<PathBuf>,
    #[arg(skip)]
    #[serde(skip_serializing)]
    pub(crate) log_file: Option<PathBuf>,
    #[arg(skip)]
    #[serde(skip_serializing)]
    pub(crate) metrics: Option<SocketAddr>,
}

impl Settings {
    /// Fills what is not set here from `other`.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            max_pages: self.max_pages.or(other.max_pages),
            max_depth: self.max_depth.or(other.max_depth),
            max_bytes: self.max_bytes.or(other.max_bytes),
            time_limit: self.time_limit.or(other.time_limit),
            scope: self.scope.or(other.scope),
            include: self.include.or(other.include),
            exclude: self.exclude.or(other.exclude),
            concurrency: self.concurrency.or(other.concurrency),
            per_host: self.per_host.or(other.per_host),
            delay: self.delay.or(other.delay),
            user_agent: self.user_agent.or(other.user_agent),
            contact: self.contact.or(other.contact),
            ignore_robots: self.ignore_robots.or(other.ignore_robots),
            allow_private: self.allow_private.or(other.allow_private),
            insecure: self.insecure.or(other.insecure),
            proxy: self.proxy.or(other.proxy),
            header: self.header.or(other.header),
            cookies: self.cookies.or(other.cookies),
            connect_timeout: self.connect_timeout.or(other.connect_timeout),
            read_timeout: self.read_timeout.or(other.read_timeout),
            request_timeout: self.request_timeout.or(other.request_timeout),
            max_body: self.max_body.or(other.max_body),
            max_redirects: self.max_redirects.or(other.max_redirects),
            max_ratio: self.max_ratio.or(other.max_ratio),
            max_idle_connections: self.max_idle_connections.or(other.max_idle_connections),
            max_unwanted: self.max_unwanted.or(other.max_unwanted),
            max_headers: self.max_headers.or(other.max_headers),
            min_rate: self.min_rate.or(other.min_rate),
            max_robots: self.max_robots.or(other.max_robots),
            max_sitemap: self.max_sitemap.or(other.max_sitemap),
            max_sitemap_urls: self.max_sitemap_urls.or(other.max_sitemap_urls),
            max_links: self.max_links.or(other.max_links),
            max_nesting: self.max_nesting.or(other.max_nesting),
            max_nodes: self.max_nodes.or(other.max_nodes),
            max_attributes: self.max_attributes.or(other.max_attributes),
            max_parse_time: self.max_parse_time.or(other.max_parse_time),
            max_url_length: self.max_url_length.or(other.max_url_length),
            max_url_segments: self.max_url_segments.or(other.max_url_segments),
            max_url_parameters: self.max_url_parameters.or(other.max_url_parameters),
            max_repeated_segment: self.max_repeated_segment.or(other.max_repeated_segment),
            max_encodings: self.max_encodings.or(other.max_encodings),
            large_bodies: self.large_bodies.or(other.large_bodies),
            waiting_bodies: self.waiting_bodies.or(other.waiting_bodies),
            large_rate: self.large_rate.or(other.large_rate),
            slow_after: self.slow_after.or(other.slow_after),
            dns_timeout: self.dns_timeout.or(other.dns_timeout),
            aside_after: self.aside_after.or(other.aside_after),
            aside_factor: self.aside_factor.or(other.aside_factor),
            max_delay: self.max_delay.or(other.max_delay),
            address_delay: self.address_delay.or(other.address_delay),
            breaker_after: self.breaker_after.or(other.breaker_after),
            breaker_wait: self.breaker_wait.or(other.breaker_wait),
            give_up_after: self.give_up_after.or(other.give_up_after),
            max_queued_per_host: self.max_queued_per_host.or(other.max_queued_per_host),
            max_queue: self.max_queue.or(other.max_queue),
            max_crawl_delay: self.max_crawl_delay.or(other.max_crawl_delay),
            max_retry_after: self.max_retry_after.or(other.max_retry_after),
            url_years: self.url_years.or(other.url_years),
            dust_pages: self.dust_pages.or(other.dust_pages),
            dust_share: self.dust_share.or(other.dust_share),
            ports: self.ports.or(other.ports),
            max_pages_per_host: self.max_pages_per_host.or(other.max_pages_per_host),
            min_free_disk: self.min_free_disk.or(other.min_free_disk),
            sort_query: self.sort_query.or(other.sort_query),
            no_sitemaps: self.no_sitemaps.or(other.no_sitemaps),
            distance: self.distance.or(other.distance),
            similarity: self.similarity.or(other.similarity),
            similarity_same_host: self.similarity_same_host.or(other.similarity_same_host),
            policy: self.policy.or(other.policy),
            recipe: self.recipe.or(other.recipe),
            no_warc: self.no_warc.or(other.no_warc),
            no_index: self.no_index.or(other.no_index),
            links_only: self.links_only.or(other.links_only),
            cluster: self.cluster.or(other.cluster),
            cluster_name: self.cluster_name.or(other.cluster_name),
            cluster_pages: self.cluster_pages.or(other.cluster_pages),
            cluster_lease: self.cluster_lease.or(other.cluster_lease),
            data: self.data.or(other.data),
            log_file: self.log_file.or(other.log_file),
            metrics: self.metrics.or(other.metrics),
        }
    }
}
