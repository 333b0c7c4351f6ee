//! Settings to the configuration of the engine.

use anyhow::Result;
use hapax_crawl::{Config, Decision, ScopeRules, Storage};
use hapax_fetch::Fetcher;
use hapax_url::ScopeKind;
use url::Url;

use crate::exit::{USAGE, coded};
use crate::settings::{ScopeName, Settings};
use crate::units::{NONE, parse_duration, parse_size};

impl Settings {
    /// The configuration of a crawl.
    pub(crate) fn config(&self) -> Result<Config> {
        let limited = |text: &&str| *text != NONE;
        let default = Config::default();
        let depth = self.max_depth.map(|depth| u16::try_from(depth).unwrap_or(u16::MAX));
        Ok(Config {
            max_pages: self.max_pages,
            max_bytes: self.max_bytes.as_deref().filter(limited).map(parse_size).transpose()?,
            time_limit: self
                .time_limit
                .as_deref()
                .filter(limited)
                .map(parse_duration)
                .transpose()?,
            max_pages_per_host: self.max_pages_per_host,
            min_free_disk: self
                .min_free_disk
                .as_deref()
                .map_or(Ok(default.min_free_disk), parse_size)?,
            concurrency: self.concurrency.unwrap_or(default.concurrency).max(1),
            max_redirects: self.redirects()?,
            scope: ScopeRules {
                kind: match self.scope.unwrap_or(ScopeName::Host) {
                    ScopeName::Host => ScopeKind::Host,
                    ScopeName::Domain => ScopeKind::Domain,
                    ScopeName::Prefix => ScopeKind::Prefix,
                    ScopeName::Any => ScopeKind::Any,
                },
                include: Self::patterns("include", &self.include)?,
                exclude: Self::patterns("exclude", &self.exclude)?,
                max_depth: depth.filter(|depth| *depth < u16::MAX),
                urls: self.url_limits()?,
            },
            politeness: self.politeness()?,
            patience: self.patience()?,
            requests: self.requests()?,
            pages: self.page_limits()?,
            sitemaps: match self.no_sitemaps {
                Some(true) => None,
                _ => Some(self.sitemap_limits()?),
            },
            dust: self.dust()?,
            decision: self.decision()?,
            storage: Storage {
                archive: self.no_warc != Some(true),
                index: self.no_index != Some(true),
                links_only: self.links_only == Some(true),
            },
        })
    }

    /// What is a duplicate.
    pub(crate) fn decision(&self) -> Result<Decision> {
        Ok(Decision { recipe: self.recipe()?, policy: self.policy()? })
    }

    fn patterns(flag: &str, list: &Option<Vec<String>>) -> Result<Vec<String>> {
        let patterns: Vec<String> = Self::list(list).cloned().collect();
        regex::RegexSet::new(&patterns)
            .map_err(|error| coded(USAGE, format!("--{flag}: {error}")))?;
        Ok(patterns)
    }

    /// Whether a crawl by these settings can begin.
    ///
    /// # Errors
    /// The first setting that cannot be used, with what to write instead.
    pub(crate) fn check(&self, seeds: &[Url]) -> Result<()> {
        let shared = self.cluster.as_deref().is_some_and(|address| !address.is_empty());
        #[cfg(not(feature = "cluster"))]
        if shared {
            return Err(coded(USAGE, crate::cluster::WITHOUT));
        }
        let config = self.config()?;
        if shared && (self.max_queued_per_host.is_some() || self.max_queue.is_some()) {
            let what = "--max-queued-per-host and --max-queue bound the queues of one data directory: leave them out with --cluster";
            return Err(coded(USAGE, what));
        }
        Fetcher::new(config.requests.client(seeds))
            .map_err(|error| coded(USAGE, error.to_string()))?;
        Ok(())
    }
}
