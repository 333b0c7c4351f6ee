//! All settings except the defences, by help group. Each may be a flag, HAPAX_NAME, or in a file.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use clap::builder::BoolishValueParser;
use serde::{Deserialize, Serialize};

use super::{PartsRule, PolicyName, ScopeName};
use hapax_data::units::{Limit, Size, Time, check_count};

/// Separates list values in the environment, because regular expressions and headers may contain any other character.
const LINE: char = '\n';

/// Limits of a run.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Limits")]
pub(crate) struct Limits {
    /// Stop after N fetched pages, all runs in the data directory counted; none: no limit [default: none]
    #[arg(long, env = "HAPAX_MAX_PAGES", value_name = "N")]
    pub(crate) max_pages: Option<Limit<u64>>,
    /// Follow at most N links in a row from a seed; none: no limit [default: none]
    #[arg(long, env = "HAPAX_MAX_DEPTH", value_name = "N")]
    pub(crate) max_depth: Option<Limit<u64>>,
    /// Stop after this run has received SIZE, such as 10GiB; none: no limit [default: none]
    #[arg(long, env = "HAPAX_MAX_BYTES", value_name = "SIZE")]
    pub(crate) max_bytes: Option<Limit<Size>>,
    /// Stop after this time, such as 2h; none: no limit [default: none]
    #[arg(long, env = "HAPAX_TIME_LIMIT", value_name = "TIME")]
    pub(crate) time_limit: Option<Limit<Time>>,
    /// Fetch at most N pages of one host; none: no limit [default: none]
    #[arg(long, env = "HAPAX_MAX_PAGES_PER_HOST", value_name = "N")]
    pub(crate) max_pages_per_host: Option<Limit<u64>>,
    /// Stop when less than SIZE of the disk is free [default: 1GiB]
    #[arg(long, env = "HAPAX_MIN_FREE_DISK", value_name = "SIZE")]
    pub(crate) min_free_disk: Option<Size>,
}

/// When known pages are visited again (--watch, --recrawl --due).
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Revisits")]
pub(crate) struct RevisitSettings {
    /// Shortest time between two visits of a page, for --watch and --due [default: 1h]
    #[arg(long, env = "HAPAX_REVISIT_MIN", value_name = "TIME")]
    pub(crate) revisit_min: Option<Time>,
    /// Longest time between two visits of a page, for --watch and --due [default: 30d]
    #[arg(long, env = "HAPAX_REVISIT_MAX", value_name = "TIME")]
    pub(crate) revisit_max: Option<Time>,
    /// Visit at most N known pages a day, those that gain most; none: no limit [default: none]
    #[arg(long, env = "HAPAX_REVISITS_PER_DAY", value_name = "N")]
    pub(crate) revisits_per_day: Option<Limit<u64>>,
    /// Visit at most N known pages of one site a day; none: no limit [default: none]
    #[arg(long, env = "HAPAX_REVISITS_PER_SITE", value_name = "N")]
    pub(crate) revisits_per_site: Option<Limit<u64>>,
}

/// Which URLs belong to the crawl.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Scope")]
pub(crate) struct ScopeSettings {
    /// Which URLs belong to the crawl [default: host]
    #[arg(long, env = "HAPAX_SCOPE", value_name = "SCOPE")]
    pub(crate) scope: Option<ScopeName>,
    /// Follow only links whose URL matches (repeatable)
    #[arg(long, env = "HAPAX_INCLUDE", value_delimiter = LINE, value_name = "REGEX")]
    pub(crate) include: Option<Vec<String>>,
    /// Never fetch URLs that match (repeatable)
    #[arg(long, env = "HAPAX_EXCLUDE", value_delimiter = LINE, value_name = "REGEX")]
    pub(crate) exclude: Option<Vec<String>>,
    /// Apply the rules in FILE to links: drop parameters, skip patterns, replace hosts (`crawl duplicates advise`)
    #[arg(long, env = "HAPAX_RULES", value_name = "FILE")]
    pub(crate) rules: Option<PathBuf>,
    /// Sort the query parameters of URLs: URLs that differ only in their order are one URL
    #[arg(long, env = "HAPAX_SORT_QUERY", value_name = "BOOL", value_parser = BoolishValueParser::new(), num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) sort_query: Option<bool>,
    /// Do not read sitemaps
    #[arg(long, env = "HAPAX_NO_SITEMAPS", value_name = "BOOL", value_parser = BoolishValueParser::new(), num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) no_sitemaps: Option<bool>,
}

/// Delays, and the name of the crawler.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Politeness")]
pub(crate) struct Politeness {
    /// Requests at a time, without those that wait for slow servers (see --aside-after) [default: 64]
    #[arg(long, env = "HAPAX_CONCURRENCY", value_parser = check_count, value_name = "N")]
    pub(crate) concurrency: Option<usize>,
    /// Requests at a time to one host [default: 1]
    #[arg(long, env = "HAPAX_PER_HOST", value_parser = check_count, value_name = "N")]
    pub(crate) per_host: Option<usize>,
    /// Delay between two requests to a host; longer for slow hosts [default: 1s]
    #[arg(long, env = "HAPAX_DELAY", value_name = "TIME")]
    pub(crate) delay: Option<Time>,
    /// The User-Agent header, sent as given [default: hapax/VERSION (+CONTACT)]
    #[arg(long, env = "HAPAX_USER_AGENT", value_name = "TEXT")]
    pub(crate) user_agent: Option<String>,
    /// Skip hosts whose robots.txt has a Crawl-delay above --max-crawl-delay
    #[arg(long, env = "HAPAX_MAX_CRAWL_DELAY_SKIP", value_name = "BOOL", value_parser = BoolishValueParser::new(), num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) max_crawl_delay_skip: Option<bool>,
    /// Skip pages and hosts that reserve rights: Content-Signal, noai, TDM-Reservation, tdmrep.json, RSL
    #[arg(long, env = "HAPAX_OBEY_RESERVATIONS", value_name = "BOOL", value_parser = BoolishValueParser::new(), num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) obey_reservations: Option<bool>,
    /// Obey the robots.txt rules for this name [default: the last product of the User-Agent except browsers' names]
    #[arg(long, env = "HAPAX_ROBOTS_AGENT", value_name = "NAME")]
    pub(crate) robots_agent: Option<String>,
    /// A URL or email address for webmasters, added to the User-Agent
    #[arg(long, env = "HAPAX_CONTACT", value_name = "TEXT")]
    pub(crate) contact: Option<String>,
    /// Ignore the robots.txt of this host; use it only for hosts that you own (repeatable)
    #[arg(long, env = "HAPAX_IGNORE_ROBOTS", value_delimiter = LINE, value_name = "HOST")]
    pub(crate) ignore_robots: Option<Vec<String>>,
}

/// Allowed addresses, certificates and proxy.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Safety")]
pub(crate) struct Safety {
    /// Allow requests to this private network, such as 10.0.0.0/8 (repeatable)
    #[arg(long, env = "HAPAX_ALLOW_PRIVATE", value_delimiter = LINE, value_name = "CIDR")]
    pub(crate) allow_private: Option<Vec<String>>,
    /// Do not verify the TLS certificate of this host (repeatable)
    #[arg(long, env = "HAPAX_INSECURE", value_delimiter = LINE, value_name = "HOST")]
    pub(crate) insecure: Option<Vec<String>>,
    /// Also trust the certificates in this PEM file, for example of a private network (repeatable)
    #[arg(long, env = "HAPAX_CA", value_delimiter = LINE, value_name = "FILE")]
    pub(crate) ca: Option<Vec<PathBuf>>,
    /// Send all requests through this proxy. The proxy resolves host names, so the crawl checks only
    /// URLs with IP addresses for private networks
    #[arg(long, env = "HAPAX_PROXY", value_name = "URL")]
    pub(crate) proxy: Option<String>,
    /// Request only these ports, such as 443 or 8000-8999 [default: all except ports of mail and databases] (repeatable)
    #[arg(long, env = "HAPAX_PORTS", value_delimiter = LINE, value_name = "PORTS", hide_short_help = true)]
    pub(crate) ports: Option<Vec<String>>,
}

/// Settings of each request.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Requests")]
pub(crate) struct RequestSettings {
    /// Send this header to the hosts of the seeds only, with the same scheme and port (repeatable)
    #[arg(long, env = "HAPAX_HEADER", value_delimiter = LINE, value_name = "NAME:VALUE")]
    pub(crate) header: Option<Vec<String>>,
    /// Keep cookies in memory and send them back to the host that set them
    #[arg(long, env = "HAPAX_COOKIES", value_name = "BOOL", value_parser = BoolishValueParser::new(), num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) cookies: Option<bool>,
    /// Longest time to connect, including the TLS handshake [default: 10s]
    #[arg(long, env = "HAPAX_CONNECT_TIMEOUT", value_name = "TIME")]
    pub(crate) connect_timeout: Option<Time>,
    /// Longest time without data while a response arrives [default: 15s]
    #[arg(long, env = "HAPAX_READ_TIMEOUT", value_name = "TIME")]
    pub(crate) read_timeout: Option<Time>,
    /// Longest time of a whole request [default: 60s]
    #[arg(long, env = "HAPAX_REQUEST_TIMEOUT", value_name = "TIME")]
    pub(crate) request_timeout: Option<Time>,
    /// Largest body, in bytes on the wire and decoded [default: 10MiB]
    #[arg(long, env = "HAPAX_MAX_BODY", value_name = "SIZE")]
    pub(crate) max_body: Option<Size>,
    /// Follow at most N redirects in a row, up to 50 [default: 10]
    #[arg(long, env = "HAPAX_MAX_REDIRECTS", value_name = "N")]
    pub(crate) max_redirects: Option<u8>,
}

/// Thresholds of the duplicate decision.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Duplicates")]
pub(crate) struct Duplicates {
    /// Largest Hamming distance of near-duplicates, 0 to 7 [default: 3]
    #[arg(long, env = "HAPAX_DISTANCE", value_name = "K")]
    pub(crate) distance: Option<u32>,
    /// Smallest similarity of near-duplicates on different hosts, 0 to 1 [default: 0.5]
    #[arg(long, env = "HAPAX_SIMILARITY", value_name = "S")]
    pub(crate) similarity: Option<f64>,
    /// Smallest similarity of near-duplicates on one host, 0 to 1 [default: 0.55]
    #[arg(long, env = "HAPAX_SIMILARITY_SAME_HOST", value_name = "S")]
    pub(crate) similarity_same_host: Option<f64>,
    /// Method that decides about duplicates [default: default]
    #[arg(long, env = "HAPAX_POLICY", value_name = "NAME")]
    pub(crate) policy: Option<PolicyName>,
    /// Recipe of the fingerprints; all runs in a data directory need the same [default: content-words-tf]
    #[arg(long, env = "HAPAX_RECIPE", value_name = "NAME")]
    pub(crate) recipe: Option<String>,
    /// At the end of the run, discard or keep pages that are a part of a longer kept page [default: keep]
    #[arg(long, env = "HAPAX_PARTS", value_name = "WHAT")]
    pub(crate) parts: Option<PartsRule>,
    /// Discard pages that this data directory (or its dedup/) has; it is only read (repeatable)
    #[arg(long, env = "HAPAX_AGAINST", value_delimiter = LINE, value_name = "STORE", value_parser = absolute)]
    pub(crate) against: Option<Vec<PathBuf>>,
    /// Keep pages that a store of --against has, and name the store in the field "against" of export and search
    #[arg(long, env = "HAPAX_AGAINST_MARK", value_name = "BOOL", value_parser = BoolishValueParser::new(), num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) against_mark: Option<bool>,
}

/// An absolute path, because a later run may start in another folder. An empty value, which empties the list, stays.
fn absolute(path: &str) -> Result<PathBuf, std::io::Error> {
    if path.is_empty() {
        return Ok(PathBuf::new());
    }
    // Without a slash at its end, so that a store has one name.
    Ok(std::path::absolute(path)?.components().collect())
}

/// Selection of the outputs.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Output")]
pub(crate) struct Output {
    /// Write no WARC archive of the responses
    #[arg(long, env = "HAPAX_NO_WARC", value_name = "BOOL", value_parser = BoolishValueParser::new(), num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) no_warc: Option<bool>,
    /// Build no search index
    #[arg(long, env = "HAPAX_NO_INDEX", value_name = "BOOL", value_parser = BoolishValueParser::new(), num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) no_index: Option<bool>,
    /// Only fetch and follow links: no text, no duplicates, no WARC, no index
    #[arg(long, env = "HAPAX_LINKS_ONLY", value_name = "BOOL", value_parser = BoolishValueParser::new(), num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) links_only: Option<bool>,
    /// Do not count lines that a site repeats; keep those of three or more pages in exported texts
    #[arg(long, env = "HAPAX_NO_SITE_BOILERPLATE", value_name = "BOOL", value_parser = BoolishValueParser::new(), num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) no_site_boilerplate: Option<bool>,
}

/// Settings of a crawl that many workers share.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Cluster")]
pub(crate) struct ClusterSettings {
    /// Share the crawl with other workers through this Redis Cluster: redis://HOST:PORT[,HOST:PORT...]
    #[arg(long, env = "HAPAX_CLUSTER", value_name = "URL", hide = !cfg!(feature = "cluster"))]
    pub(crate) cluster: Option<String>,
    /// The crawl's name in the cluster [default: crawl]
    #[arg(long, env = "HAPAX_CLUSTER_NAME", value_name = "NAME", hide = !cfg!(feature = "cluster"))]
    pub(crate) cluster_name: Option<String>,
    /// Expected pages of all workers; above 2e7 the cluster uses ten tables, not four [default: 1e7]
    #[arg(long, env = "HAPAX_CLUSTER_PAGES", value_name = "N", hide = !cfg!(feature = "cluster"))]
    pub(crate) cluster_pages: Option<f64>,
    /// Time after which the URLs of a worker that does not respond go to other workers [default: 60s]
    #[arg(long, env = "HAPAX_CLUSTER_LEASE", value_name = "TIME", hide = !cfg!(feature = "cluster"))]
    pub(crate) cluster_lease: Option<Time>,
}

/// Settings of flags that every command has: read from a file, never saved.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct FileOnly {
    /// The data directory.
    #[serde(skip_serializing)]
    pub(crate) data: Option<PathBuf>,
    #[serde(skip_serializing)]
    pub(crate) log_file: Option<PathBuf>,
    #[serde(skip_serializing)]
    pub(crate) metrics: Option<SocketAddr>,
}
