//! Every setting but the defences, by groups of the help. Each may stand in a flag, in HAPAX_NAME, or in a file.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use clap::builder::BoolishValueParser;
use serde::{Deserialize, Serialize};

use super::{PolicyName, ScopeName};
use hapax_data::units::{Limit, Size, Time, check_count};

/// Between the values of a list in the environment: regular expressions and headers hold anything else.
const LINE: char = '\n';

/// How long a run goes on.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Limits")]
pub(crate) struct Limits {
    /// Stop after so many fetched pages, counted over the whole data directory; none: no limit
    #[arg(long, env = "HAPAX_MAX_PAGES", value_name = "N")]
    pub(crate) max_pages: Option<Limit<u64>>,
    /// Follow links so far from a seed; none: any number
    #[arg(long, env = "HAPAX_MAX_DEPTH", value_name = "N")]
    pub(crate) max_depth: Option<Limit<u64>>,
    /// Stop after so many bytes received in this run, such as 10GiB; none: no limit
    #[arg(long, env = "HAPAX_MAX_BYTES", value_name = "SIZE")]
    pub(crate) max_bytes: Option<Limit<Size>>,
    /// Stop after this time, such as 2h; none: no limit
    #[arg(long, env = "HAPAX_TIME_LIMIT", value_name = "TIME")]
    pub(crate) time_limit: Option<Limit<Time>>,
    /// Fetch at most so many pages of one host [default: none]
    #[arg(long, env = "HAPAX_MAX_PAGES_PER_HOST", value_name = "N")]
    pub(crate) max_pages_per_host: Option<Limit<u64>>,
    /// Stop while so much of the disk is still free [default: 1GiB]
    #[arg(long, env = "HAPAX_MIN_FREE_DISK", value_name = "SIZE")]
    pub(crate) min_free_disk: Option<Size>,
}

/// Which URLs belong to the crawl.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Scope")]
pub(crate) struct ScopeSettings {
    /// Which URLs belong to the crawl [default: host]
    #[arg(long, env = "HAPAX_SCOPE", value_name = "SCOPE")]
    pub(crate) scope: Option<ScopeName>,
    /// Follow only links that match (repeatable)
    #[arg(long, env = "HAPAX_INCLUDE", value_delimiter = LINE, value_name = "REGEX")]
    pub(crate) include: Option<Vec<String>>,
    /// Never fetch URLs that match (repeatable)
    #[arg(long, env = "HAPAX_EXCLUDE", value_delimiter = LINE, value_name = "REGEX")]
    pub(crate) exclude: Option<Vec<String>>,
    /// Take the order of a query's parameters for nothing: URLs that differ in it are one
    #[arg(long, env = "HAPAX_SORT_QUERY", value_name = "BOOL", value_parser = BoolishValueParser::new(), num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) sort_query: Option<bool>,
    /// Do not read sitemaps
    #[arg(long, env = "HAPAX_NO_SITEMAPS", value_name = "BOOL", value_parser = BoolishValueParser::new(), num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) no_sitemaps: Option<bool>,
}

/// Pauses, and the name of the crawler.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Politeness")]
pub(crate) struct Politeness {
    /// Requests at a time; those that wait for a server (--aside-after) do not count, up to --aside-factor times as many [default: 64]
    #[arg(long, env = "HAPAX_CONCURRENCY", value_parser = check_count, value_name = "N")]
    pub(crate) concurrency: Option<usize>,
    /// Requests at a time to one host [default: 1]
    #[arg(long, env = "HAPAX_PER_HOST", value_parser = check_count, value_name = "N")]
    pub(crate) per_host: Option<usize>,
    /// Pause between two requests to a host; slow hosts get a longer one [default: 1s]
    #[arg(long, env = "HAPAX_DELAY", value_name = "TIME")]
    pub(crate) delay: Option<Time>,
    /// The User-Agent header [default: hapax/VERSION (+CONTACT)]
    #[arg(long, env = "HAPAX_USER_AGENT", value_name = "TEXT")]
    pub(crate) user_agent: Option<String>,
    /// Skip hosts with a Crawl-delay above --max-crawl-delay
    #[arg(long, env = "HAPAX_MAX_CRAWL_DELAY_SKIP", value_name = "BOOL", value_parser = BoolishValueParser::new(), num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) max_crawl_delay_skip: Option<bool>,
    /// The crawler's name in robots.txt [default: the last product of the User-Agent that is not a browser's]
    #[arg(long, env = "HAPAX_ROBOTS_AGENT", value_name = "NAME")]
    pub(crate) robots_agent: Option<String>,
    /// A URL or mail address put into the User-Agent, for webmasters
    #[arg(long, env = "HAPAX_CONTACT", value_name = "TEXT")]
    pub(crate) contact: Option<String>,
    /// Do not ask this host's robots.txt: only for your own hosts (repeatable)
    #[arg(long, env = "HAPAX_IGNORE_ROBOTS", value_delimiter = LINE, value_name = "HOST")]
    pub(crate) ignore_robots: Option<Vec<String>>,
}

/// Which addresses may be requested, and how.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Safety")]
pub(crate) struct Safety {
    /// Allow a private network, such as 10.0.0.0/8 (repeatable)
    #[arg(long, env = "HAPAX_ALLOW_PRIVATE", value_delimiter = LINE, value_name = "CIDR")]
    pub(crate) allow_private: Option<Vec<String>>,
    /// Do not verify this host's TLS certificate (repeatable)
    #[arg(long, env = "HAPAX_INSECURE", value_delimiter = LINE, value_name = "HOST")]
    pub(crate) insecure: Option<Vec<String>>,
    /// Trust the certificates of this PEM file too, of a private network for example (repeatable)
    #[arg(long, env = "HAPAX_CA", value_delimiter = LINE, value_name = "FILE")]
    pub(crate) ca: Option<Vec<PathBuf>>,
    /// Send all requests through this proxy. It resolves names itself: of those, only address
    /// literals are checked here
    #[arg(long, env = "HAPAX_PROXY", value_name = "URL")]
    pub(crate) proxy: Option<String>,
    /// Only these ports, such as 80, 443 or 8000-8999; those of mail and databases never (repeatable)
    #[arg(long, env = "HAPAX_PORTS", value_delimiter = LINE, value_name = "PORTS", hide_short_help = true)]
    pub(crate) ports: Option<Vec<String>>,
}

/// Each request.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Requests")]
pub(crate) struct RequestSettings {
    /// Send this header to the seeds' hosts, by their scheme and port, and to no other (repeatable)
    #[arg(long, env = "HAPAX_HEADER", value_delimiter = LINE, value_name = "NAME:VALUE")]
    pub(crate) header: Option<Vec<String>>,
    /// Keep cookies in memory and send them back to the host they came from
    #[arg(long, env = "HAPAX_COOKIES", value_name = "BOOL", value_parser = BoolishValueParser::new(), num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) cookies: Option<bool>,
    /// Time to connect [default: 10s]
    #[arg(long, env = "HAPAX_CONNECT_TIMEOUT", value_name = "TIME")]
    pub(crate) connect_timeout: Option<Time>,
    /// Time between two pieces of a response [default: 15s]
    #[arg(long, env = "HAPAX_READ_TIMEOUT", value_name = "TIME")]
    pub(crate) read_timeout: Option<Time>,
    /// Time of a whole request [default: 60s]
    #[arg(long, env = "HAPAX_REQUEST_TIMEOUT", value_name = "TIME")]
    pub(crate) request_timeout: Option<Time>,
    /// Bytes of a body, on the wire and decoded [default: 10MiB]
    #[arg(long, env = "HAPAX_MAX_BODY", value_name = "SIZE")]
    pub(crate) max_body: Option<Size>,
    /// Redirects in a row, at most 50 [default: 10]
    #[arg(long, env = "HAPAX_MAX_REDIRECTS", value_name = "N")]
    pub(crate) max_redirects: Option<u8>,
}

/// What is a duplicate.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Duplicates")]
pub(crate) struct Duplicates {
    /// Largest Hamming distance of near-duplicates, 0 to 7 [default: 3]
    #[arg(long, env = "HAPAX_DISTANCE", value_name = "K")]
    pub(crate) distance: Option<u32>,
    /// Smallest similarity that confirms a near-duplicate on another host [default: 0.5]
    #[arg(long, env = "HAPAX_SIMILARITY", value_name = "S")]
    pub(crate) similarity: Option<f64>,
    /// The same on one host [default: 0.55]
    #[arg(long, env = "HAPAX_SIMILARITY_SAME_HOST", value_name = "S")]
    pub(crate) similarity_same_host: Option<f64>,
    /// How duplicates are decided [default: default]
    #[arg(long, env = "HAPAX_POLICY", value_name = "NAME")]
    pub(crate) policy: Option<PolicyName>,
    /// What fingerprints are made of; a data directory keeps to one [default: content-words-tf]
    #[arg(long, env = "HAPAX_RECIPE", value_name = "NAME")]
    pub(crate) recipe: Option<String>,
}

/// Which stores are written.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Output")]
pub(crate) struct Output {
    /// Keep no WARC of what was fetched
    #[arg(long, env = "HAPAX_NO_WARC", value_name = "BOOL", value_parser = BoolishValueParser::new(), num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) no_warc: Option<bool>,
    /// Build no search index
    #[arg(long, env = "HAPAX_NO_INDEX", value_name = "BOOL", value_parser = BoolishValueParser::new(), num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) no_index: Option<bool>,
    /// Fetch and follow links only: no text, no duplicates, no WARC, no index
    #[arg(long, env = "HAPAX_LINKS_ONLY", value_name = "BOOL", value_parser = BoolishValueParser::new(), num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) links_only: Option<bool>,
    /// Keep lines in exported texts that a site repeats on three or more pages
    #[arg(long, env = "HAPAX_NO_SITE_BOILERPLATE", value_name = "BOOL", value_parser = BoolishValueParser::new(), num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) no_site_boilerplate: Option<bool>,
}

/// Work shared among many.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Cluster")]
pub(crate) struct ClusterSettings {
    /// Share the crawl with other workers: a Redis Cluster, redis://HOST:PORT[,HOST:PORT...]
    #[arg(long, env = "HAPAX_CLUSTER", value_name = "URL", hide = !cfg!(feature = "cluster"))]
    pub(crate) cluster: Option<String>,
    /// The crawl's name there [default: crawl]
    #[arg(long, env = "HAPAX_CLUSTER_NAME", value_name = "NAME", hide = !cfg!(feature = "cluster"))]
    pub(crate) cluster_name: Option<String>,
    /// Pages expected of all workers: above 2e7 ten tables hold them instead of four [default: 1e7]
    #[arg(long, env = "HAPAX_CLUSTER_PAGES", value_name = "N", hide = !cfg!(feature = "cluster"))]
    pub(crate) cluster_pages: Option<f64>,
    /// How long a worker that says nothing keeps what it leased [default: 60s]
    #[arg(long, env = "HAPAX_CLUSTER_LEASE", value_name = "TIME", hide = !cfg!(feature = "cluster"))]
    pub(crate) cluster_lease: Option<Time>,
}

/// As the flags of these names, which belong to every command: read from a file, never saved.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct FileOnly {
    /// As the flags of these three names, which belong to every command: read from a file, never saved.
    #[serde(skip_serializing)]
    pub(crate) data: Option<PathBuf>,
    #[serde(skip_serializing)]
    pub(crate) log_file: Option<PathBuf>,
    #[serde(skip_serializing)]
    pub(crate) metrics: Option<SocketAddr>,
}
