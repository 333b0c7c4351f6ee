//! Converts settings to the engine's configuration.

use std::time::Duration;

use anyhow::Result;
use hapax_crawl::{Against, Config, Decision, Revisits, ScopeRules, Storage};
use hapax_data::References;
use hapax_data::inputs::read_rules;
use hapax_fetch::Fetcher;
use hapax_url::{GivenRules, ScopeKind};
use url::Url;

use crate::exit::{USAGE, coded};
use crate::settings::{PartsRule, ScopeName, Settings};
use hapax_data::units::{Limit, Size, Time};

/// A limit that is set and not `none`.
fn given<T>(limit: &Option<Limit<T>>) -> Option<&T> {
    limit.as_ref()?.0.as_ref()
}

impl Settings {
    /// Returns when known pages are due again. The errors name the flags.
    pub(crate) fn revisits(&self) -> Result<Revisits> {
        let (default, own) = (Revisits::default(), &self.revisits);
        let min = own.revisit_min.as_ref().map_or(default.min, Time::duration);
        let max = own.revisit_max.as_ref().map(Time::duration);
        // A longer shortest time alone is no contradiction.
        let max = max.unwrap_or_else(|| default.max.max(min));
        let per_day = own.revisits_per_day.and_then(|Limit(visits)| visits);
        let per_site = own.revisits_per_site.and_then(|Limit(visits)| visits);
        let revisits = Revisits { min, max, per_day, per_site };
        let wrong = |what: &str| Err(coded(USAGE, what.to_owned()));
        match revisits {
            _ if min < Duration::from_secs(1) => wrong("--revisit-min: 1s and more are possible"),
            _ if max < min => wrong("--revisit-max is shorter than --revisit-min (default 1h)"),
            _ if max > Duration::from_secs(3650 * 86_400) => {
                wrong("--revisit-max: at most 3650d are possible")
            }
            _ if per_day == Some(0) || per_site == Some(0) => wrong(
                "--revisits-per-day and --revisits-per-site: 1 and more, or none, are possible",
            ),
            revisits => Ok(revisits),
        }
    }

    pub(crate) fn config(&self) -> Result<Config> {
        let default = Config::default();
        let depth = self.limits.max_depth.and_then(|Limit(depth)| depth);
        let depth = depth.map(|depth| u16::try_from(depth).unwrap_or(u16::MAX));
        Ok(Config {
            max_pages: self.limits.max_pages.and_then(|Limit(pages)| pages),
            max_bytes: given(&self.limits.max_bytes).map(Size::bytes),
            time_limit: given(&self.limits.time_limit).map(Time::duration),
            max_pages_per_host: self.limits.max_pages_per_host.and_then(|Limit(pages)| pages),
            min_free_disk: self
                .limits
                .min_free_disk
                .as_ref()
                .map_or(default.min_free_disk, Size::bytes),
            concurrency: self.politeness.concurrency.unwrap_or(default.concurrency).max(1),
            max_redirects: self.redirects()?,
            scope: ScopeRules {
                kind: match self.scope.scope.unwrap_or(ScopeName::Host) {
                    ScopeName::Host => ScopeKind::Host,
                    ScopeName::Domain => ScopeKind::Domain,
                    ScopeName::Prefix => ScopeKind::Prefix,
                    ScopeName::Any => ScopeKind::Any,
                },
                include: Self::patterns("include", &self.scope.include)?,
                exclude: Self::patterns("exclude", &self.scope.exclude)?,
                given: self.given_rules()?,
                max_depth: depth.filter(|depth| *depth < u16::MAX),
                urls: self.url_limits()?,
            },
            politeness: self.politeness()?,
            patience: self.patience()?,
            requests: self.requests()?,
            pages: self.page_limits()?,
            sitemaps: match self.scope.no_sitemaps {
                Some(true) => None,
                _ => Some(self.sitemap_limits()?),
            },
            dust: self.dust()?,
            decision: self.decision()?,
            discard_parts: self.duplicates.parts == Some(PartsRule::Discard),
            against: self.against(),
            revisits: self.revisits()?,
            storage: Storage {
                archive: self.output.no_warc != Some(true),
                index: self.output.no_index != Some(true),
                links_only: self.output.links_only == Some(true),
                site_lines: self.output.no_site_boilerplate != Some(true),
            },
        })
    }

    /// The rules for duplicates.
    pub(crate) fn decision(&self) -> Result<Decision> {
        Ok(Decision { recipe: self.recipe()?, policy: self.policy()? })
    }

    fn against(&self) -> Against {
        let stores = self.duplicates.against.iter().flatten();
        Against {
            stores: stores.filter(|path| !path.as_os_str().is_empty()).cloned().collect(),
            mark: self.duplicates.against_mark == Some(true),
        }
    }

    fn patterns(flag: &str, list: &Option<Vec<String>>) -> Result<Vec<String>> {
        let patterns: Vec<String> = Self::list(list).cloned().collect();
        regex::RegexSet::new(&patterns)
            .map_err(|error| coded(USAGE, format!("--{flag}: {error}")))?;
        Ok(patterns)
    }

    /// The rules of `--rules`.
    fn given_rules(&self) -> Result<GivenRules> {
        let named = self.scope.rules.as_deref().filter(|path| !path.as_os_str().is_empty());
        named.map_or(Ok(GivenRules::default()), |path| Ok(read_rules(path)?))
    }

    /// Checks that a crawl with these settings can start.
    ///
    /// # Errors
    /// The first unusable setting, with valid values.
    pub(crate) fn check(&self, seeds: &[Url]) -> Result<()> {
        let shared = self.cluster.cluster.as_deref().is_some_and(|address| !address.is_empty());
        #[cfg(not(feature = "cluster"))]
        if shared {
            return Err(coded(USAGE, crate::cluster::WITHOUT));
        }
        let config = self.config()?;
        if shared && config.discard_parts {
            return Err(coded(USAGE, "--parts discard does not work with --cluster. Remove it"));
        }
        if shared && !config.against.stores.is_empty() {
            return Err(coded(USAGE, "--against does not work with --cluster. Remove it"));
        }
        // Before --fresh deletes anything.
        References::open(&config.against.stores, config.decision.policy, false)?;
        if shared && (self.hosts.max_queued_per_host.is_some() || self.hosts.max_queue.is_some()) {
            let what =
                "--max-queued-per-host and --max-queue do not work with --cluster. Remove them";
            return Err(coded(USAGE, what));
        }
        Fetcher::new(config.requests.client(seeds))
            .map_err(|error| coded(USAGE, error.detail()))?;
        Ok(())
    }
}
