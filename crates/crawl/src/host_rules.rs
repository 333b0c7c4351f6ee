//! The robots.txt rules of hosts, as far as this run needed them.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hapax_fetch::Robots;
use hapax_url::{UrlKey, url_key};
use tokio::sync::OnceCell;
use url::Url;

/// Hosts whose rules are held in memory: a file of 500 KiB takes about 1.4 MB.
pub(crate) const MAX_HOSTS: usize = 256;

/// What robots.txt means for a host in this run.
#[derive(Clone, Debug)]
pub(crate) enum HostRule {
    Rules(Arc<Robots>),
    Unreachable(String),
    Refused,
    TooSlow(Duration),
}

/// What was found, and how long it holds: from the file's own age on, not from when it was loaded.
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

/// Whether it may be used; also one that nobody has filled yet.
pub(crate) fn holds(cell: &Cell) -> bool {
    cell.get().is_none_or(|found| Instant::now() < found.until)
}

/// Where a lease has the rule from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// It was known.
    Known,
    /// The lease found it out itself.
    Lease,
    /// It waited while another one asked: it was handed out when no pause was known yet.
    Other,
}

/// The rules of each host, as far as they were needed.
#[derive(Debug, Default)]
pub(crate) struct HostRules {
    pub(crate) held: Mutex<Held>,
    /// Sitemaps that were named in a recrawl.
    named: Mutex<HashSet<UrlKey>>,
    /// Hosts whose long Crawl-delay was logged.
    slow: Mutex<HashSet<UrlKey>>,
    /// Sitemaps that were named, but are not of this crawl, until it is said.
    pub(crate) elsewhere: Mutex<Vec<Url>>,
}

type Cells = HashMap<String, Cell>;

#[derive(Debug, Default)]
pub(crate) struct Held {
    hosts: Cells,
    /// What was found of hosts that have no rules: small, so more of them stay.
    without: Cells,
}

impl Held {
    pub(crate) fn cell(&mut self, host: &str) -> Cell {
        if self.hosts.len() >= MAX_HOSTS {
            for (host, cell) in std::mem::take(&mut self.hosts) {
                match cell.get().map(|found| &found.rule) {
                    // The frontier remembers the files.
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
    /// Returns the rights that the robots.txt of a host reserves, as far as it was read in this run.
    pub(crate) fn reservations(&self, host: &str) -> Vec<String> {
        let cell = self.held.lock().unwrap_or_else(PoisonError::into_inner).cell(host);
        match cell.get().map(|found| &found.rule) {
            Some(HostRule::Rules(rules)) => rules.reservations.clone(),
            _ => Vec::new(),
        }
    }

    /// Whether this sitemap is named for the first time in this run.
    pub(crate) fn is_first(&self, map: &Url) -> bool {
        self.named.lock().unwrap_or_else(PoisonError::into_inner).insert(url_key(map.as_str()))
    }

    /// Returns whether the long Crawl-delay of a host was not logged yet in this run.
    pub(crate) fn is_first_slow(&self, host: &str) -> bool {
        self.slow.lock().unwrap_or_else(PoisonError::into_inner).insert(url_key(host))
    }

    /// Sitemaps that were named since the last call, but are not of this crawl.
    pub(crate) fn elsewhere(&self) -> Vec<Url> {
        std::mem::take(&mut self.elsewhere.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
