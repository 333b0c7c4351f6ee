//! The main job's settings: flag over environment over file over default.

// By its path, for the fuzz target that takes this file alone.
#[path = "settings/file.rs"]
mod file;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::builder::BoolishValueParser;
use clap::{Args, ValueEnum};
use hapax_extract::Recipe;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::exit::{USAGE, coded};
use crate::spelling::recipe_named;
use crate::units::{
    check_count, check_duration, check_duration_limit, check_size, check_size_limit, limit,
    parse_duration, parse_limit,
};

/// How far a crawl goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ScopeName {
    /// The seeds' hosts
    Host,
    /// The seeds' hosts without www. and all hosts below them
    Domain,
    /// URLs that begin like a seed up to its last slash
    Prefix,
    /// Everything
    Any,
}

/// How duplicates are decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PolicyName {
    /// Equal text, Hamming distance or sketch, confirmed by similarity
    Default,
    /// Equal text or Hamming distance alone, as in the papers
    Simhash,
}

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
    /// Stop after so many bytes received, such as 10GiB; none: no limit
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
    /// Requests at a time; those that wait 2 s for a server do not count, up to three times as many [default: 64]
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
    /// Redirects in a row [default: 5]
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
    /// Bytes a second that a body must come in with, over any 10 s [default: 1KiB]
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
    /// Pages of one host [default: none]
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

    /// What a list holds.
    pub(crate) fn list(values: &Option<Vec<String>>) -> impl Iterator<Item = &String> {
        values.iter().flatten().filter(|value| !value.is_empty())
    }

    /// Whether the index is built.
    pub(crate) fn index(&self) -> bool {
        self.no_index != Some(true) && self.links_only != Some(true)
    }

    /// Whether what is fetched is archived.
    pub(crate) fn warc(&self) -> bool {
        self.no_warc != Some(true) && self.links_only != Some(true)
    }

    /// The hosts whose robots.txt is not asked.
    pub(crate) fn ignore_robots(&self) -> Vec<String> {
        Self::list(&self.ignore_robots).cloned().collect()
    }

    /// The pause between two requests to a host.
    pub(crate) fn delay(&self) -> Result<Duration> {
        self.delay.as_deref().map_or(Ok(Duration::from_secs(1)), parse_duration)
    }

    /// The User-Agent header and the token by which robots.txt knows it.
    pub(crate) fn agent(&self) -> (String, String) {
        if let Some(agent) = &self.user_agent {
            let token = agent.split(['/', ' ']).next().unwrap_or_default().to_ascii_lowercase();
            return (agent.clone(), token);
        }
        let version = env!("CARGO_PKG_VERSION");
        let agent = match &self.contact {
            Some(contact) if !contact.is_empty() => format!("hapax/{version} (+{contact})"),
            _ => format!("hapax/{version}"),
        };
        (agent, "hapax".to_owned())
    }

    /// How requests are made; `seeds` are who may see `--header`.
    pub(crate) fn fetcher(
        &self,
        guard: hapax_fetch::AddressGuard,
        seeds: &[Url],
    ) -> Result<hapax_fetch::Options> {
        let proxy = self.proxy.as_deref().map(|text| {
            let proxy =
                Url::parse(text).ok().filter(|url| url.scheme() == "http" && url.has_host());
            proxy.ok_or_else(|| {
                coded(USAGE, format!("--proxy {text:?}: write it like http://proxy.example:3128"))
            })
        });
        let header = |text: &String| {
            let (name, value) = text.split_once(':').ok_or_else(|| {
                coded(USAGE, format!("--header {text:?}: write it like \"Accept-Language: de\""))
            })?;
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        };
        Ok(hapax_fetch::Options {
            user_agent: self.agent().0,
            limits: self.limits()?,
            guard,
            proxy: proxy.transpose()?,
            insecure: Self::list(&self.insecure).cloned().collect(),
            headers: Self::list(&self.header).map(header).collect::<Result<_>>()?,
            header_origins: seeds.iter().map(hapax_fetch::origin).collect(),
            cookies: self.cookies == Some(true),
        })
    }

    /// Which addresses may be dialled.
    pub(crate) fn guard(&self, seeds: &[Url]) -> Result<hapax_fetch::AddressGuard> {
        let mut guard = hapax_fetch::AddressGuard::default();
        for cidr in Self::list(&self.allow_private) {
            let net = cidr.parse().map_err(|_| {
                coded(
                    USAGE,
                    format!("--allow-private {cidr:?} is no network: write it like 10.0.0.0/8"),
                )
            })?;
            guard.allow.push(net);
        }
        seeds.iter().for_each(|seed| guard.allow_seed(seed));
        Ok(guard)
    }

    /// What fingerprints are made of.
    pub(crate) fn recipe(&self) -> Result<Recipe> {
        self.recipe.as_deref().map_or(Ok(Recipe::default()), recipe_named)
    }

    /// The thresholds of the duplicate decision.
    pub(crate) fn policy(&self) -> Result<hapax_dedup::Policy> {
        let default = hapax_dedup::Policy::default();
        let distance = self.distance.unwrap_or(default.distance);
        if distance > hapax_dedup::MAX_DISTANCE {
            return Err(coded(
                USAGE,
                format!("--distance {distance}: 0 to {} are possible", hapax_dedup::MAX_DISTANCE),
            ));
        }
        for value in [self.similarity, self.similarity_same_host].into_iter().flatten() {
            if !(0.0..=1.0).contains(&value) {
                return Err(coded(USAGE, format!("--similarity {value}: it lies between 0 and 1")));
            }
        }
        Ok(hapax_dedup::Policy {
            distance,
            similarity: self.similarity.unwrap_or(default.similarity),
            similarity_same_site: self.similarity_same_host.unwrap_or(default.similarity_same_site),
            hamming_only: self.policy == Some(PolicyName::Simhash),
            ..default
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_wins_over_the_file_and_a_wrong_name_is_guessed() {
        let file: Settings = toml::from_str("max-pages = 5\ndelay = \"2s\"").unwrap();
        let flags = Settings { max_pages: Some(7), ..Settings::default() };
        let both = flags.or(file);
        assert_eq!((both.max_pages, both.delay.as_deref()), (Some(7), Some("2s")));
        let error = Settings::parse("max-page = 5", "c.toml").unwrap_err().to_string();
        assert!(error.contains("unknown field `max-page`; did you mean `max-pages`?"), "{error}");
        let error = Settings::parse("zzzzzzzz = 5", "c.toml").unwrap_err().to_string();
        assert!(error.ends_with("`crawl --help` tells of them") && error.contains("zzzzzzzz"));
        let error = Settings::parse("scope = \"web\"", "c.toml").unwrap_err().to_string();
        assert!(error.contains("`prefix`") && !error.contains("did you mean"), "{error}");
        let all = "max-pages = \"none\"\nmax-depth = \"none\"\nmax-bytes = \"none\"";
        let none = Settings::parse(all, "c.toml").unwrap();
        assert_eq!((none.max_pages, none.max_depth), (Some(u64::MAX), Some(u64::MAX)));
        assert_eq!(
            Settings::parse(&toml::to_string(&none).unwrap(), "").unwrap().max_pages,
            none.max_pages
        );
    }

    #[test]
    fn the_file_of_defaults_is_read_and_says_nothing_new() {
        let text = include_str!("../../config/default.toml");
        let read: Settings = toml::from_str(text).unwrap();
        assert_eq!(toml::to_string(&read).unwrap(), "", "every line is a comment");
        let lines: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("#: ")).collect();
        toml::from_str::<Settings>(&lines.join("\n")).unwrap();
        let names: std::collections::BTreeSet<&str> =
            lines.iter().filter_map(|line| Some(line.split_once(" = ")?.0)).collect();
        let command = Settings::augment_args(clap::Command::new("crawl"));
        let flags = command.get_arguments().filter_map(clap::Arg::get_long);
        // What other commands have too.
        let flags = flags.chain(["data", "log-file", "metrics"]).collect();
        assert_eq!(names, flags, "every setting stands in the file");
    }
}
