//! Settings of a crawl.

use std::path::PathBuf;
use std::time::Duration;

use hapax_dedup::{MAX_DISTANCE, Policy};
use hapax_extract::Recipe;
use hapax_fetch::{AddressGuard, SitemapLimits};
use hapax_frontier::revisit::Pace;
use hapax_url::{GivenRules, ScopeKind, UrlLimits};
use regex::RegexSet;
use url::Url;

use crate::error::{Error, Result};

/// Settings of a crawl. The defaults are those of `crawl` without flags.
#[derive(Clone, Debug)]
pub struct Config {
    /// The crawl stops after this number of pages; it can be resumed. Default: no limit.
    pub max_pages: Option<u64>,
    /// The run stops after this number of bytes on the wire. Default: no limit.
    pub max_bytes: Option<u64>,
    /// The run stops after this time. Default: no limit.
    pub time_limit: Option<Duration>,
    /// Maximum number of pages per host. Default: no limit.
    pub max_pages_per_host: Option<u64>,
    /// The run stops when the disk has fewer free bytes. Default 1 GiB.
    pub min_free_disk: u64,
    /// Concurrent requests, over all hosts. Default 64.
    pub concurrency: usize,
    /// Consecutive redirects to follow. Default 10, at most 50.
    pub max_redirects: u8,
    /// URLs that belong to the crawl.
    pub scope: ScopeRules,
    /// Delays between requests, circuit breakers, sizes of queues.
    pub politeness: hapax_frontier::Options,
    /// Time to wait for servers.
    pub patience: Patience,
    /// User-Agent, limits, proxy, headers.
    pub requests: Requests,
    /// Limits of the text and links of a page.
    pub pages: hapax_extract::Limits,
    /// Limits of sitemaps; `None` reads none.
    pub sitemaps: Option<SitemapLimits>,
    /// Thresholds for URL patterns that yield only duplicates.
    pub dust: Dust,
    /// Fingerprints and thresholds.
    pub decision: Decision,
    /// Discard kept pages that are a part of another kept page, at the end of each run. They have log lines, but no
    /// [`Event`](crate::Event). Default off.
    pub discard_parts: bool,
    /// Stores of other crawls to compare with.
    pub against: Against,
    /// Stores to write.
    pub storage: Storage,
    /// When known pages are due again.
    pub revisits: Revisits,
}

/// When known pages are visited again, by a recrawl of the due pages.
#[derive(Clone, Debug)]
pub struct Revisits {
    /// Shortest time between two visits of a page. Default 1 h, at least 1 s.
    pub min: Duration,
    /// Longest time between two visits of a page. Default 30 d.
    pub max: Duration,
    /// Visits a day of all sites. Default: no limit.
    pub per_day: Option<u64>,
    /// Visits a day of one registrable site. Default: no limit.
    pub per_site: Option<u64>,
}

impl Default for Revisits {
    fn default() -> Self {
        Self {
            min: Duration::from_secs(60 * 60),
            max: Duration::from_secs(30 * 24 * 60 * 60),
            per_day: None,
            per_site: None,
        }
    }
}

impl Revisits {
    /// Returns the pace of budgets that are never used up.
    pub(crate) fn pace(&self) -> Pace {
        let has_budget = self.per_day.is_some() || self.per_site.is_some();
        Pace { value: has_budget.then_some(0.0), ..Pace::new(self.min, self.max) }
    }
}

/// URLs that belong to a crawl.
#[derive(Clone, Debug, Default)]
pub struct ScopeRules {
    /// Hosts in addition to those of the seeds. Default: none.
    pub kind: ScopeKind,
    /// Regular expressions. If any, a link must match one of them.
    pub include: Vec<String>,
    /// Regular expressions that a URL must not match.
    pub exclude: Vec<String>,
    /// Rules about links: parameters to drop, patterns to skip, hosts to replace. A crawl refuses rules that would
    /// discard unique pages of its data directory. Default: none.
    pub given: GivenRules,
    /// Maximum number of links between a seed and a page. Default: no limit.
    pub max_depth: Option<u16>,
    /// Limits of each URL.
    pub urls: UrlLimits,
}

/// Time to wait for servers.
#[derive(Clone, Debug)]
pub struct Patience {
    /// Maximum Crawl-delay; if robots.txt requires more, the crawl waits this long. Default 30 s.
    pub max_crawl_delay: Duration,
    /// Whether to skip hosts that require a longer Crawl-delay. Default off.
    pub skip_slow_hosts: bool,
    /// Whether to skip pages and hosts that reserve rights: Content-Signal, noai, TDM-Reservation, tdmrep.json, RSL. Default off.
    pub obey_reservations: bool,
    /// A URL with a longer Retry-After is deferred to the next run. Default 300 s.
    pub max_retry_after: Duration,
    /// A request that has waited this long for its server is parked: it no longer counts against
    /// [`Config::concurrency`]. Default 2 s.
    pub aside_after: Duration,
    /// Parked requests, as a multiple of [`Config::concurrency`]. Each holds a socket and up to 1 MiB of a body.
    /// Larger bodies, parsed trees and the commit queue have separate budgets. Default 3.
    pub aside_factor: usize,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            max_crawl_delay: Duration::from_secs(30),
            skip_slow_hosts: false,
            obey_reservations: false,
            max_retry_after: Duration::from_secs(300),
            aside_after: Duration::from_secs(2),
            aside_factor: 3,
        }
    }
}

/// Thresholds for URL patterns that yield only duplicates ("DUST": different URLs with similar text).
#[derive(Clone, Debug)]
pub struct Dust {
    /// Minimum number of pages of the pattern. Default 200, at least 10.
    pub pages: u64,
    /// Minimum share of duplicates among them. Default 0.95, from 0.5 to 1.
    pub share: f64,
}

impl Default for Dust {
    fn default() -> Self {
        Self { pages: 200, share: 0.95 }
    }
}

/// User-Agent, limits, proxy, headers and other settings of requests.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    /// Complete User-Agent header. Default `hapax/VERSION`, with the contact.
    pub user_agent: Option<String>,
    /// URL or mail address for operators of hosts.
    pub contact: Option<String>,
    /// Limits of each request.
    pub limits: hapax_fetch::Limits,
    /// Addresses that may be dialled. Seeds with an IP address as host are allowed.
    pub guard: AddressGuard,
    /// HTTP proxy of all requests.
    pub proxy: Option<Url>,
    /// Hosts whose certificates are not verified.
    pub insecure: Vec<String>,
    /// PEM files of certificates that are trusted in addition to those of Mozilla and the system.
    pub roots: Vec<std::path::PathBuf>,
    /// Additional headers, sent to the origins of the seeds only.
    pub headers: Vec<(String, String)>,
    /// Whether to keep cookies during the run.
    pub cookies: bool,
    /// Hosts whose robots.txt is ignored.
    pub ignore_robots: Vec<String>,
    /// Token for robots.txt. Default: the last product name of the User-Agent that is not a browser's.
    pub robots_agent: Option<String>,
}

impl Requests {
    /// Returns the User-Agent header, and its product token for robots.txt.
    pub fn agent(&self) -> (String, String) {
        if let Some(agent) = &self.user_agent {
            let token = hapax_fetch::robots_token(agent);
            return (
                agent.clone(),
                self.robots_agent.clone().unwrap_or(token).to_ascii_lowercase(),
            );
        }
        let version = env!("CARGO_PKG_VERSION");
        let agent = match &self.contact {
            Some(contact) if !contact.is_empty() => format!("hapax/{version} (+{contact})"),
            _ => format!("hapax/{version}"),
        };
        let token = self.robots_agent.as_deref().unwrap_or("hapax");
        (agent, token.to_ascii_lowercase())
    }

    /// Returns the options of the HTTP client. It sends the additional headers to the origins of `seeds`.
    pub fn client(&self, seeds: &[Url]) -> hapax_fetch::Options {
        let mut guard = self.guard.clone();
        seeds.iter().for_each(|seed| guard.allow_seed(seed));
        hapax_fetch::Options {
            user_agent: self.agent().0,
            limits: self.limits.clone(),
            guard,
            proxy: self.proxy.clone(),
            insecure: self.insecure.clone(),
            roots: self.roots.clone(),
            headers: self.headers.clone(),
            header_origins: seeds.iter().map(hapax_fetch::origin).collect(),
            cookies: self.cookies,
        }
    }
}

/// How duplicates are found.
#[derive(Clone, Copy, Debug, Default)]
pub struct Decision {
    /// Recipe of the fingerprints.
    pub recipe: Recipe,
    /// Thresholds.
    pub policy: Policy,
}

/// Read-only stores (references) whose pages are not wanted again.
#[derive(Clone, Debug, Default)]
pub struct Against {
    /// Data directories, or the `dedup/` of one. Default: none. A path is the name of its store in the log.
    pub stores: Vec<PathBuf>,
    /// Keep pages that a store has, and mark them in the index, instead of discarding them. Default off.
    pub mark: bool,
}

/// Stores that a crawl writes.
#[derive(Clone, Copy, Debug)]
pub struct Storage {
    /// Archive every fetched page as WARC. Default on.
    pub archive: bool,
    /// Index kept pages for search. Default on.
    pub index: bool,
    /// Follow links only: extract no text, store no page. Default off.
    pub links_only: bool,
    /// Count the lines that each site repeats, in `sites/`. Default on.
    pub site_lines: bool,
}

impl Default for Storage {
    fn default() -> Self {
        Self { archive: true, index: true, links_only: false, site_lines: true }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            max_pages: None,
            max_bytes: None,
            time_limit: None,
            max_pages_per_host: None,
            min_free_disk: 1 << 30,
            concurrency: 64,
            max_redirects: 10,
            scope: ScopeRules::default(),
            politeness: hapax_frontier::Options::default(),
            patience: Patience::default(),
            requests: Requests::default(),
            pages: hapax_extract::Limits::default(),
            sitemaps: Some(SitemapLimits::default()),
            dust: Dust::default(),
            decision: Decision::default(),
            discard_parts: false,
            against: Against::default(),
            storage: Storage::default(),
            revisits: Revisits::default(),
        }
    }
}

/// The frontier counts redirects in six bits.
const MOST_REDIRECTS: u8 = 50;
/// Maximum size of a body in bytes, so that it fits in a WARC record.
const MOST_BODY: usize = 255 << 20;

/// The schedule counts seconds.
const LEAST_REVISIT: Duration = Duration::from_secs(1);
/// Ten years: a longer time says nothing.
const MOST_REVISIT: Duration = Duration::from_secs(3650 * 24 * 60 * 60);

impl Config {
    /// Checks all values.
    ///
    /// # Errors
    /// [`Error::Config`] with the first invalid field and its valid values.
    pub fn validate(&self) -> Result<()> {
        let within = |field: &'static str, holds: bool, allowed: &str| match holds {
            true => Ok(()),
            false => Err(Error::config(field, format!("{allowed} are possible"))),
        };
        within("concurrency", self.concurrency > 0, "1 and more")?;
        within("max_redirects", self.max_redirects <= MOST_REDIRECTS, "0 to 50")?;
        within("dust.pages", self.dust.pages >= 10, "10 pages and more")?;
        within("dust.share", (0.5..=1.0).contains(&self.dust.share), "0.5 to 1")?;
        within("patience.aside_factor", self.patience.aside_factor <= 1000, "0 to 1,000")?;
        let body = self.requests.limits.max_body;
        within("requests.limits.max_body", (1..=MOST_BODY).contains(&body), "1 B to 255 MiB")?;
        let Revisits { min, max, per_day, per_site } = &self.revisits;
        within("revisits.min", *min >= LEAST_REVISIT, "1s and more")?;
        within("revisits.max", min <= max && *max <= MOST_REVISIT, "revisits.min to 3650d")?;
        within("revisits.per_day", *per_day != Some(0), "1 and more")?;
        within("revisits.per_site", *per_site != Some(0), "1 and more")?;
        let policy = &self.decision.policy;
        within("decision.policy.distance", policy.distance <= MAX_DISTANCE, "0 to 15")?;
        for (field, value) in [
            ("decision.policy.similarity", policy.similarity),
            ("decision.policy.similarity_same_site", policy.similarity_same_site),
        ] {
            within(field, (0.0..=1.0).contains(&value), "0 to 1")?;
        }
        for (field, patterns) in
            [("scope.include", &self.scope.include), ("scope.exclude", &self.scope.exclude)]
        {
            RegexSet::new(patterns).map_err(|error| Error::config(field, error.to_string()))?;
        }
        if let Some(proxy) = &self.requests.proxy {
            let is_http = proxy.scheme() == "http" && proxy.has_host();
            // The error omits the URL, which may contain a password.
            within("requests.proxy", is_http, "URLs such as http://proxy.example:3128")?;
        }
        for host in self.requests.ignore_robots.iter().chain(&self.requests.insecure) {
            within("requests.ignore_robots", !host.contains('/'), "hosts such as a.example:8443")?;
        }
        Ok(())
    }

    /// Returns whether requests identify a person: then only the owner of the data may read the responses.
    pub const fn is_personal(&self) -> bool {
        self.requests.cookies || !self.requests.headers.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_can_be_used_and_each_wrong_value_is_named() {
        Config::default().validate().unwrap();
        let wrong = |change: fn(&mut Config)| {
            let mut config = Config::default();
            change(&mut config);
            config.validate().unwrap_err().to_string()
        };
        for (said, field) in [
            (wrong(|config| config.concurrency = 0), "concurrency"),
            (wrong(|config| config.max_redirects = 51), "max_redirects"),
            (wrong(|config| config.dust.share = f64::NAN), "dust.share"),
            (wrong(|config| config.revisits.min = Duration::ZERO), "revisits.min"),
            (wrong(|config| config.revisits.max = Duration::from_secs(9)), "revisits.max"),
            (wrong(|config| config.revisits.max = Duration::MAX), "revisits.max"),
            (wrong(|config| config.revisits.per_day = Some(0)), "revisits.per_day"),
            (wrong(|config| config.decision.policy.distance = 99), "decision.policy.distance"),
            (wrong(|config| config.decision.policy.similarity = 1.5), "decision.policy.similarity"),
            (wrong(|config| config.scope.exclude = vec!["(".into()]), "scope.exclude"),
            (wrong(|config| config.requests.limits.max_body = 0), "requests.limits.max_body"),
            (
                wrong(|config| config.requests.proxy = "socks5://me:hunter2@h".parse().ok()),
                "requests.proxy",
            ),
        ] {
            assert!(said.starts_with(&format!("{field}: ")), "{said}");
            assert!(!said.contains("hunter2"), "{said}");
        }
    }
}
