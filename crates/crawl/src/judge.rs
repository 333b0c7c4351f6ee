//! What a crawl would do with a URL, by its rules and by what a frontier remembers.

use std::time::Duration;

use hapax_data::SkipReason;
use hapax_frontier::Frontier;
use url::Url;

use crate::config::ScopeRules;
use crate::error::Result;
use crate::rules::Rules;

/// Says of URLs whether they belong to a crawl.
#[derive(Clone, Debug)]
pub struct Judge {
    rules: Rules,
}

/// What the rules of a crawl say of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It belongs to the crawl, in this normal form.
    Taken(Url),
    /// It is no web address.
    NoWebAddress,
    /// It does not.
    Refused {
        /// In normal form, or as it is if it is a trap.
        url: Url,
        /// Why.
        reason: SkipReason,
        /// In words.
        detail: String,
    },
}

impl Judge {
    /// By the scope of a crawl and its seeds.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) of a pattern that is none.
    pub fn new<'s>(scope: &ScopeRules, seeds: impl IntoIterator<Item = &'s Url>) -> Result<Self> {
        Ok(Self { rules: Rules::new(scope, seeds)? })
    }

    /// A seed has moved: its scope comes along.
    pub fn seed_moved(&self, to: &Url) {
        self.rules.seed_moved(to);
    }

    /// The form in which a URL is known, unless it is a trap or no web address.
    pub fn normal(&self, url: &Url) -> Option<Url> {
        self.rules.normal(url)
    }

    /// What becomes of a URL so many links from a seed.
    pub fn admit(&self, url: &Url, depth: u16) -> Judgement {
        match self.rules.admit(url, depth) {
            None => Judgement::NoWebAddress,
            Some(Ok(url)) => Judgement::Taken(url),
            Some(Err(refusal)) => Judgement::Refused {
                url: refusal.url,
                reason: refusal.reason,
                detail: refusal.detail,
            },
        }
    }
}

/// Whether a list of hosts names the one of a URL: with its port or for all ports.
pub fn names_host(hosts: &[String], url: &Url) -> bool {
    crate::rules::names_host(hosts, url)
}

/// Pages of a host that were fetched, by what a frontier remembers.
///
/// # Errors
/// The frontier's.
pub fn host_pages(frontier: &dyn Frontier, host: &str) -> Result<u64> {
    crate::recrawl::host_pages(frontier, host)
}

/// The age and text of a host's robots.txt, as a frontier remembers it.
///
/// # Errors
/// The frontier's.
pub fn remembered_robots(
    frontier: &dyn Frontier,
    host: &str,
) -> Result<Option<(Duration, Vec<u8>)>> {
    crate::robots::remembered(frontier, host)
}

/// What a trusted feed says about a URL: the feed, and the page that stands for it.
///
/// # Errors
/// The frontier's.
pub fn claimed(frontier: &dyn Frontier, url: &Url) -> Result<Option<(String, Url)>> {
    crate::feeds::claimed(frontier, url)
}
