//! Links that found no place in the queue, by host, and how they are remembered between runs.

mod sources;

use std::collections::BTreeMap;
use std::time::Instant;

use hapax_frontier::Frontier;
use url::Url;

pub(crate) use self::sources::Sources;
use crate::error::Result;

/// Under this name the frontier remembers that links to a host were dropped, and where they stood.
pub(crate) const DROPPED: &str = "dropped";
/// Hosts that are remembered one by one; links to all further ones are remembered as those of [`OTHERS`].
pub(crate) const MAX_HOSTS: usize = 1_000;
/// No host is called so.
pub(crate) const OTHERS: &str = "*";
/// Hosts that a warning names.
pub(crate) const MAX_WARNINGS: u64 = 10;

/// The page whose links are queued now.
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
    /// URLs that wait for the next run leave no place: so do these links.
    Full,
    /// Only a recrawl finds them.
    Unarchived,
}

/// What was dropped of one host.
#[derive(Debug, Default)]
pub(crate) struct Host {
    /// In this run.
    pub(crate) links: u64,
    pub(crate) first: Option<Url>,
    /// Links wait to be found again.
    pub(crate) pending: bool,
    pub(crate) sources: Sources,
    pub(crate) stuck: Stuck,
    /// Links that the reading under way has queued.
    pub(crate) queued: u64,
}

/// The links that were dropped, by host.
#[derive(Debug, Default)]
pub(crate) struct Dropped {
    pub(crate) hosts: BTreeMap<String, Host>,
    /// Where the links come from that are queued now; `None` for what is no link of a page.
    pub(crate) source: Option<Source>,
    pub(crate) read: Option<Instant>,
    pub(crate) warnings: u64,
    /// Sitemaps that this run has requested again.
    pub(crate) requested: BTreeMap<String, Requested>,
}

/// What came of requesting a sitemap again.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Requested {
    pub(crate) times: u32,
    /// URLs that the last time has queued.
    pub(crate) queued: u64,
}

impl Dropped {
    /// What earlier runs dropped and did not find again.
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

    /// How many hosts miss links for this reason.
    pub(crate) fn missing(&self, stuck: Stuck) -> u64 {
        self.hosts.values().filter(|host| host.pending && host.stuck == stuck).count() as u64
    }

    /// The name under which links to a host are remembered.
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
