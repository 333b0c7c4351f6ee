//! Judges what a crawl would do with a URL, by its rules and its frontier.

use std::time::Duration;

use hapax_data::SkipCause;
use hapax_frontier::Frontier;
use url::Url;

use crate::admission::Admission;
use crate::config::ScopeRules;
use crate::error::Result;
use crate::host_file::{ROBOTS, remembered};
use crate::rules::Rules;

/// Judges whether URLs belong to a crawl.
#[derive(Clone, Debug)]
pub struct Judge {
    rules: Rules,
}

/// The verdict of a crawl's rules about a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It belongs to the crawl, in this normal form.
    Taken(Url),
    /// It is not an http or https URL.
    NoWebAddress,
    /// It does not belong to the crawl.
    Refused {
        /// The normal form, or the URL itself if it is a trap.
        url: Url,
        /// The reason, and the limit that is exceeded.
        cause: SkipCause,
        /// The same in words.
        detail: String,
    },
}

impl Judge {
    /// Makes the rules from the scope of a crawl and its seeds.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) for an invalid pattern.
    pub fn new<'s>(scope: &ScopeRules, seeds: impl IntoIterator<Item = &'s Url>) -> Result<Self> {
        Ok(Self { rules: Rules::new(scope, seeds)? })
    }

    /// Adds the target of a moved seed to the scope.
    pub fn seed_moved(&self, to: &Url) {
        self.rules.seed_moved(to);
    }

    /// Returns the normal form, unless the URL is a trap or not an http or https URL.
    pub fn normal(&self, url: &Url) -> Option<Url> {
        self.rules.normal(url)
    }

    /// Judges a URL that is `depth` links from a seed.
    pub fn admit(&self, url: &Url, depth: u16) -> Judgement {
        match self.rules.admit(url, depth) {
            Admission::Admitted(url) => Judgement::Taken(url),
            Admission::NoWebAddress | Admission::LeftToFeed | Admission::Repeats(_) => {
                Judgement::NoWebAddress
            }
            Admission::Refused(skip) | Admission::LeftOut(skip) => {
                Judgement::Refused { url: skip.url, cause: skip.cause, detail: skip.detail }
            }
        }
    }
}

/// Returns whether a list of hosts contains the host of a URL, with its port or for all ports.
pub fn names_host(hosts: &[String], url: &Url) -> bool {
    crate::rules::names_host(hosts, url)
}

/// Returns how many pages of a host were fetched, according to the frontier.
///
/// # Errors
/// An error of the frontier.
pub fn host_pages(frontier: &dyn Frontier, host: &str) -> Result<u64> {
    crate::recrawl::host_pages(frontier, host)
}

/// Returns age and text of a host's robots.txt, as stored in the frontier.
///
/// # Errors
/// An error of the frontier.
pub fn remembered_robots(
    frontier: &dyn Frontier,
    host: &str,
) -> Result<Option<(Duration, Vec<u8>)>> {
    remembered(frontier, host, ROBOTS)
}

/// Returns the reservation of a URL by the tdmrep.json of its host, as stored in the frontier.
///
/// # Errors
/// An error of the frontier.
pub fn remembered_reservation(frontier: &dyn Frontier, url: &Url) -> Result<Option<String>> {
    crate::tdm::remembered_reservation(frontier, url)
}

/// Returns the claim of a trusted feed about a URL: the feed, and the representative.
///
/// # Errors
/// An error of the frontier.
pub fn claimed(frontier: &dyn Frontier, url: &Url) -> Result<Option<(String, Url)>> {
    crate::feeds::claimed(frontier, url)
}
