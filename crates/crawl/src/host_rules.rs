//! The robots.txt rules of the hosts of this run.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hapax_fetch::{Robots, TdmRules, Unreachable};
use hapax_url::{UrlKey, url_key};
use tokio::sync::OnceCell;
use url::Url;

use crate::usual_sitemap::UsualSitemaps;

/// Hosts with rules in memory: a file of 500 KiB takes about 1.4 MB.
pub(crate) const MAX_HOSTS: usize = 256;

/// The effect of robots.txt on a host in this run.
#[derive(Clone, Debug)]
pub(crate) enum HostRule {
    Rules(Arc<Robots>),
    Unreachable(Unreachable),
    Refused,
    TooSlow(Duration),
}

/// A rule and its expiry, which depends on the file's age, not on when it was loaded.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) rule: HostRule,
    until: Instant,
}

impl Found {
    pub(crate) fn holds_for(rule: HostRule, time: Duration) -> Self {
        Self { rule, until: Instant::now() + time }
    }
}

pub(crate) type Cell = Arc<OnceCell<Found>>;

/// Returns whether a cell may be used: it has not expired, or is still empty.
pub(crate) fn holds(cell: &Cell) -> bool {
    cell.get().is_none_or(|found| Instant::now() < found.until)
}

/// Where a lease got the rule from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// It was already in memory.
    Known,
    /// This lease requested it.
    Lease,
    /// Another lease requested it while this one waited. It was leased before the Crawl-delay was known.
    Other,
}

/// A parsed tdmrep.json and its expiry.
#[derive(Clone, Debug)]
pub(crate) struct FoundTdm {
    pub(crate) rules: Arc<TdmRules>,
    pub(crate) until: Instant,
}

pub(crate) type TdmCells = HashMap<String, Arc<OnceCell<FoundTdm>>>;

#[derive(Debug, Default)]
pub(crate) struct HostRules {
    pub(crate) held: Mutex<Held>,
    /// tdmrep.json of at most [`MAX_HOSTS`] hosts; the frontier stores the files.
    pub(crate) tdm: Mutex<TdmCells>,
    /// Sitemaps that were queued again in a recrawl.
    named: Mutex<HashSet<UrlKey>>,
    /// Hosts whose long Crawl-delay was logged.
    slow: Mutex<HashSet<UrlKey>>,
    pub(crate) usual_sitemaps: Mutex<UsualSitemaps>,
    /// Sitemaps outside of the crawl that are not yet logged.
    pub(crate) elsewhere: Mutex<Vec<Url>>,
}

type Cells = HashMap<String, Cell>;

#[derive(Debug, Default)]
pub(crate) struct Held {
    hosts: Cells,
    /// Results without rules: small, so that more of them are kept.
    without: Cells,
}

impl Held {
    pub(crate) fn cell(&mut self, host: &str) -> Cell {
        if self.hosts.len() >= MAX_HOSTS {
            for (host, cell) in std::mem::take(&mut self.hosts) {
                match cell.get().map(|found| &found.rule) {
                    // The frontier stores the files.
                    Some(HostRule::Rules(_)) => {}
                    Some(_) => drop(self.without.insert(host, cell)),
                    None => drop(self.hosts.insert(host, cell)),
                }
            }
            if self.without.len() >= 100 * MAX_HOSTS {
                self.without.clear();
            }
        }
        if let Some(cell) = self.without.get(host).filter(|cell| holds(cell)) {
            return Arc::clone(cell);
        }
        let cell = self.hosts.entry(host.to_owned()).or_default();
        if !holds(cell) {
            *cell = Cell::default();
        }
        Arc::clone(cell)
    }
}

impl HostRules {
    /// Returns the rights that the robots.txt of a host reserves, for a page of it; empty if it was not read in this
    /// run.
    pub(crate) fn reservations(&self, host: &str, page: &Url) -> Vec<String> {
        let cell = self.held.lock().unwrap_or_else(PoisonError::into_inner).cell(host);
        match cell.get().map(|found| &found.rule) {
            Some(HostRule::Rules(rules)) => rules.reservations_at(page),
            _ => Vec::new(),
        }
    }

    /// Returns whether this sitemap is named for the first time in this run.
    pub(crate) fn is_first(&self, map: &Url) -> bool {
        self.named.lock().unwrap_or_else(PoisonError::into_inner).insert(url_key(map.as_str()))
    }

    /// Returns whether the long Crawl-delay of a host was not logged yet in this run.
    pub(crate) fn is_first_slow(&self, host: &str) -> bool {
        self.slow.lock().unwrap_or_else(PoisonError::into_inner).insert(url_key(host))
    }

    /// Takes the sitemaps outside of the crawl that were named since the last call.
    pub(crate) fn elsewhere(&self) -> Vec<Url> {
        std::mem::take(&mut self.elsewhere.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
