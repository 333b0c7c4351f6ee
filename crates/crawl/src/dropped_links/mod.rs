//! Dropped links by host, and their notes between runs.

mod sources;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Instant;

use hapax_frontier::Frontier;
use hapax_url::UrlKey;
use url::Url;

pub(crate) use self::sources::Sources;
use crate::error::Result;

/// Name of the frontier's note with the sources of dropped links to a host.
pub(crate) const DROPPED: &str = "dropped";
/// Maximum number of hosts with a separate record. Links to further hosts are recorded under [`OTHERS`].
pub(crate) const MAX_HOSTS: usize = 1_000;
/// Not a valid name of a host.
pub(crate) const OTHERS: &str = "*";
pub(crate) const MAX_WARNINGS: u64 = 10;

#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) page: Url,
    pub(crate) archived: bool,
}

/// Why links cannot be found again in this run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stuck {
    #[default]
    No,
    /// Deferred URLs fill the queue; like them, these links wait for the next run.
    Full,
    /// Only a recrawl finds them.
    Unarchived,
}

#[derive(Debug, Default)]
pub(crate) struct Host {
    /// Number in this run.
    pub(crate) links: u64,
    pub(crate) first: Option<Url>,
    /// Whether links are still to be found again.
    pub(crate) pending: bool,
    pub(crate) sources: Sources,
    pub(crate) stuck: Stuck,
    /// Number of links that the current reading has queued.
    pub(crate) queued: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Dropped {
    pub(crate) hosts: BTreeMap<String, Host>,
    /// The source of the links that are being queued; `None` for URLs that are not links of a page.
    pub(crate) source: Option<Source>,
    /// Number of its links to its own host that were queued and not known before.
    pub(crate) new_urls: u64,
    /// Number of its new links, to any host, that cannot be other combinations of its filters.
    pub(crate) new_elsewhere: u64,
    /// Its links so far, if further links are evidence about URLs.
    pub(crate) links: HashSet<UrlKey>,
    pub(crate) read: Option<Instant>,
    pub(crate) warnings: u64,
    /// Other hosts whose pages have links that rules about the URLs of a site exclude, by site.
    pub(crate) excluding: HashMap<String, BTreeSet<String>>,
    /// Sitemaps that this run has requested again.
    pub(crate) requested: BTreeMap<String, Requested>,
}

/// Maximum number of sites of [`Dropped::excluding`], and of hosts for each.
pub(crate) const MAX_EXCLUDING: usize = 64;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Requested {
    pub(crate) times: u32,
    /// Number of URLs that the last request queued.
    pub(crate) queued: u64,
}

impl Dropped {
    pub(crate) fn read(frontier: &dyn Frontier) -> Result<Self> {
        let mut dropped = Self::default();
        frontier.notes(DROPPED, &mut |host, note| {
            // An empty note says that nothing is missing.
            if let Ok(sources) = serde_json::from_slice(note) {
                let dropped_of = Host { pending: true, sources, ..Host::default() };
                dropped.hosts.insert(host.to_owned(), dropped_of);
            }
        })?;
        Ok(dropped)
    }

    pub(crate) fn missing(&self, stuck: Stuck) -> u64 {
        self.hosts.values().filter(|host| host.pending && host.stuck == stuck).count() as u64
    }

    pub(crate) fn name_of<'n>(&self, host: &'n str) -> &'n str {
        let own = self.hosts.len() < MAX_HOSTS || self.hosts.contains_key(host);
        if own { host } else { OTHERS }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_very_many_hosts_share_one_name() {
        let mut dropped = Dropped::default();
        for number in 0..3 * MAX_HOSTS {
            let host = format!("{number}.example");
            let name = dropped.name_of(&host).to_owned();
            dropped.hosts.entry(name).or_default().pending = true;
        }
        assert_eq!(dropped.hosts.len(), MAX_HOSTS + 1);
        assert_eq!(
            (dropped.name_of("0.example"), dropped.name_of("new.example")),
            ("0.example", OTHERS)
        );
        assert_eq!(dropped.missing(Stuck::No), MAX_HOSTS as u64 + 1);
        if let Some(others) = dropped.hosts.get_mut(OTHERS) {
            others.stuck = Stuck::Full;
        }
        assert_eq!((dropped.missing(Stuck::Full), dropped.missing(Stuck::Unarchived)), (1, 0));
    }
}
