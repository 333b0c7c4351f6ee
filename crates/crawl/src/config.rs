//! What a crawl is told: typed, and validated once.

use std::time::Duration;

use hapax_dedup::{MAX_DISTANCE, Policy};
use hapax_extract::Recipe;
use hapax_fetch::{AddressGuard, SitemapLimits};
use hapax_url::{ScopeKind, UrlLimits};
use regex::RegexSet;
use url::Url;

use crate::error::{Error, Result};

/// How a crawl is made.
#[derive(Clone, Debug)]
pub struct Config {
    /// After so many pages the crawl stops; it can go on later. Default: no limit.
    pub max_pages: Option<u64>,
    /// After so many bytes on the wire, in one run. Default: no limit.
    pub max_bytes: Option<u64>,
    /// After so long, in one run. Default: no limit.
    pub time_limit: Option<Duration>,
    /// Pages of one host. Default: no limit.
    pub max_pages_per_host: Option<u64>,
    /// Bytes of the disk that stay free. Default 1 GiB.
    pub min_free_disk: u64,
    /// Requests at a time, to all hosts. Default 64.
    pub concurrency: usize,
    /// Redirects in a row. Default 5, at most 50.
    pub max_redirects: u8,
    /// Which URLs belong to the crawl.
    pub scope: ScopeRules,
    /// When hosts and addresses may be asked, and how much of them waits.
    pub politeness: hapax_frontier::Options,
    /// How long strangers are waited for.
    pub patience: Patience,
    /// How requests are made.
    pub requests: Requests,
    /// Limits of each page's text and links.
    pub pages: hapax_extract::Limits,
    /// Limits of sitemaps; `None` reads none.
    pub sitemaps: Option<SitemapLimits>,
    /// When the pages of a pattern of URLs repeat.
    pub dust: Dust,
    /// What is a duplicate.
    pub decision: Decision,
    /// What is stored.
    pub storage: Storage,
}

/// Which URLs belong to a crawl.
#[derive(Clone, Debug, Default)]
pub struct ScopeRules {
    /// How far from the seeds' hosts. Default: only those.
    pub kind: ScopeKind,
    /// If any, one of these regular expressions must match a link.
    pub include: Vec<String>,
    /// None of these may match a URL.
    pub exclude: Vec<String>,
    /// Links from a seed at most. Default: no limit.
    pub max_depth: Option<u16>,
    /// Limits of each URL.
    pub urls: UrlLimits,
}

/// How long strangers are waited for.
#[derive(Clone, Debug)]
pub struct Patience {
    /// Where robots.txt asks for a longer pause the host is skipped. Default 30 s.
    pub max_crawl_delay: Duration,
    /// A Retry-After beyond this is not waited for in this run. Default 300 s.
    pub max_retry_after: Duration,
    /// A lease that has waited so long for its server no longer counts among those at a time. Default 2 s.
    pub aside_after: Duration,
    /// For each lease at a time, so many stand aside at most: with them grow sockets, and the beginnings
    /// of bodies, up to 1 MiB each. Larger bodies, trees and what waits for the commit thread have
    /// budgets of their own. Default 3.
    pub aside_factor: usize,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            max_crawl_delay: Duration::from_secs(30),
            max_retry_after: Duration::from_secs(300),
            aside_after: Duration::from_secs(2),
            aside_factor: 3,
        }
    }
}

/// When the pages of a pattern of URLs repeat.
#[derive(Clone, Debug)]
pub struct Dust {
    /// So many of them were seen. Default 200, at least 10.
    pub pages: u64,
    /// And such a share of them were duplicates. Default 0.95, 0.5 to 1.
    pub share: f64,
}

impl Default for Dust {
    fn default() -> Self {
        Self { pages: 200, share: 0.95 }
    }
}

/// How requests are made.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    /// The whole User-Agent header. Default `hapax/VERSION`, with the contact.
    pub user_agent: Option<String>,
    /// A URL or mail address that tells hosts whom to ask.
    pub contact: Option<String>,
    /// Limits of each request.
    pub limits: hapax_fetch::Limits,
    /// Which addresses may be dialled; seeds that are address literals may.
    pub guard: AddressGuard,
    /// An HTTP proxy for all requests.
    pub proxy: Option<Url>,
    /// Hosts whose certificates are not verified.
    pub insecure: Vec<String>,
    /// Further headers, for the seeds' origins alone.
    pub headers: Vec<(String, String)>,
    /// Keep cookies while the crawl runs.
    pub cookies: bool,
    /// Hosts whose robots.txt is not asked.
    pub ignore_robots: Vec<String>,
}

impl Requests {
    /// The User-Agent header, and the token by which robots.txt knows it.
    pub fn agent(&self) -> (String, String) {
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

    /// The same as the client takes it; `seeds` are who may see the headers.
    pub fn client(&self, seeds: &[Url]) -> hapax_fetch::Options {
        let mut guard = self.guard.clone();
        seeds.iter().for_each(|seed| guard.allow_seed(seed));
        hapax_fetch::Options {
            user_agent: self.agent().0,
            limits: self.limits.clone(),
            guard,
            proxy: self.proxy.clone(),
            insecure: self.insecure.clone(),
            headers: self.headers.clone(),
            header_origins: seeds.iter().map(hapax_fetch::origin).collect(),
            cookies: self.cookies,
        }
    }
}

/// What is a duplicate.
#[derive(Clone, Copy, Debug, Default)]
pub struct Decision {
    /// What fingerprints are made of.
    pub recipe: Recipe,
    /// The thresholds.
    pub policy: Policy,
}

/// What is stored.
#[derive(Clone, Copy, Debug)]
pub struct Storage {
    /// Everything that is fetched, as WARC. Default on.
    pub archive: bool,
    /// The kept pages, to be searched. Default on.
    pub index: bool,
    /// Only links are followed: no text is read, and nothing is stored of pages. Default off.
    pub links_only: bool,
}

impl Default for Storage {
    fn default() -> Self {
        Self { archive: true, index: true, links_only: false }
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
            max_redirects: 5,
            scope: ScopeRules::default(),
            politeness: hapax_frontier::Options::default(),
            patience: Patience::default(),
            requests: Requests::default(),
            pages: hapax_extract::Limits::default(),
            sitemaps: Some(SitemapLimits::default()),
            dust: Dust::default(),
            decision: Decision::default(),
            storage: Storage::default(),
        }
    }
}

/// Redirects in a row: the frontier counts to 63.
const MOST_REDIRECTS: u8 = 50;
/// Bytes of a body: the archive gives back what is smaller than a record may be.
const MOST_BODY: usize = 255 << 20;

impl Config {
    /// Whether all values can be used.
    ///
    /// # Errors
    /// [`Error::Config`] of the first one that cannot, with what is allowed.
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
            // It may hold a password.
            within("requests.proxy", is_http, "URLs such as http://proxy.example:3128")?;
        }
        for host in self.requests.ignore_robots.iter().chain(&self.requests.insecure) {
            within("requests.ignore_robots", !host.contains('/'), "hosts such as a.example:8443")?;
        }
        Ok(())
    }

    /// Whether hosts are shown who asks, so that what they show is for the owner of the data alone.
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
