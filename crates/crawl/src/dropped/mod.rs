//! Links that found no place in the queue (`--max-queued-per-host`, `--max-queue`), and how they come back:
//! once the queue of their host is empty, its archived pages are read again for links.

mod again;
mod archive;
mod damage;
mod sources;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use crate::error::Result;
use hapax_data::SkipReason;
use hapax_frontier::{Entry, Frontier, Pushed};
use hapax_url::host_key;
use url::Url;

use self::sources::Sources;
use super::fetch::VALIDATORS;
use super::writer::Writer;

/// Under this name the frontier remembers that links to a host were dropped, and where they stood.
const DROPPED: &str = "dropped";
/// Hosts that are remembered one by one; links to all further ones are remembered as those of [`OTHERS`].
const MAX_HOSTS: usize = 1_000;
/// No host is called so.
const OTHERS: &str = "*";
/// Hosts that a warning names.
const MAX_WARNINGS: u64 = 10;

/// The page whose links are queued now.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) page: Url,
    pub(super) archived: bool,
}

/// Why links cannot be found again in this run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stuck {
    #[default]
    No,
    /// URLs that wait for the next run leave no place: so do these links.
    Full,
    /// Only a recrawl finds them.
    Unarchived,
}

/// What was dropped of one host.
#[derive(Debug, Default)]
struct Host {
    /// In this run.
    links: u64,
    first: Option<Url>,
    /// Links wait to be found again.
    pending: bool,
    sources: Sources,
    stuck: Stuck,
    /// Links that the reading under way has queued.
    queued: u64,
}

/// The links that were dropped, by host.
#[derive(Debug, Default)]
pub(super) struct Dropped {
    hosts: BTreeMap<String, Host>,
    /// Where the links come from that are queued now; `None` for what is no link of a page.
    pub(super) source: Option<Source>,
    read: Option<Instant>,
    warnings: u64,
    /// Sitemaps that this run has requested again.
    requested: BTreeMap<String, Requested>,
}

/// What came of requesting a sitemap again.
#[derive(Clone, Copy, Debug, Default)]
struct Requested {
    times: u32,
    /// URLs that the last time has queued.
    queued: u64,
}

impl Dropped {
    /// What earlier runs dropped and did not find again.
    pub(super) fn read(frontier: &dyn Frontier) -> Result<Self> {
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
    fn missing(&self, stuck: Stuck) -> u64 {
        self.hosts.values().filter(|host| host.pending && host.stuck == stuck).count() as u64
    }

    /// The name under which links to a host are remembered.
    fn name_of<'n>(&self, host: &'n str) -> &'n str {
        let own = self.hosts.len() < MAX_HOSTS || self.hosts.contains_key(host);
        if own { host } else { OTHERS }
    }
}

impl Writer {
    /// Queues a link that the rules admit, unless something else speaks against it.
    pub(super) fn queue_link(&mut self, entry: Entry, sitemap: Option<&Url>) -> Result<()> {
        match self.may_queue(&entry.url, entry.depth)? {
            true => self.queue_if_place(entry, sitemap),
            false => Ok(()),
        }
    }

    /// Queues what a page or a `sitemap` names. What finds no place is counted and found again later.
    pub(super) fn queue_if_place(&mut self, entry: Entry, sitemap: Option<&Url>) -> Result<()> {
        let (url, host) = (entry.url.clone(), host_key(&entry.url));
        let pushed = self.frontier.push_link(entry)?;
        let name = self.dropped.name_of(&host);
        match pushed {
            Pushed::Known => {}
            Pushed::New => {
                if let Some(host) = self.dropped.hosts.get_mut(name) {
                    host.queued += 1;
                }
                if let Some(requested) =
                    sitemap.and_then(|map| self.dropped.requested.get_mut(map.as_str()))
                {
                    requested.queued += 1;
                }
            }
            Pushed::Full => self.drop_link(url, name, sitemap),
        }
        Ok(())
    }

    fn drop_link(&mut self, url: Url, name: &str, sitemap: Option<&Url>) {
        let host = self.dropped.hosts.entry(name.to_owned()).or_default();
        if host.links == 0 && self.dropped.warnings < MAX_WARNINGS {
            self.dropped.warnings += 1;
            let name = if name == OTHERS { "further hosts" } else { name };
            tracing::warn!("{name}: the queue is full, further links wait until it is empty");
        }
        host.links += 1;
        host.first.get_or_insert(url);
        let was_pending = std::mem::replace(&mut host.pending, true);
        let fresh = match (sitemap, &self.dropped.source) {
            (Some(sitemap), _) => host.sources.add_sitemap(sitemap),
            (None, Some(source)) if source.archived && name == OTHERS => {
                !std::mem::replace(&mut host.sources.all, true)
            }
            (None, Some(source)) if source.archived => {
                host.sources.add_host(&host_key(&source.page))
            }
            (None, source) => host.sources.add_page(source.as_ref().map(|source| &source.page)),
        };
        if fresh || !was_pending {
            let note = serde_json::to_vec(&host.sources).unwrap_or_default();
            self.frontier.note(name, DROPPED, note);
        }
        if !was_pending {
            self.tell_dropped();
        }
    }

    fn tell_dropped(&self) {
        self.stats.dropped_hosts.store(self.dropped.missing(Stuck::Unarchived), Relaxed);
        self.stats.full_hosts.store(self.dropped.missing(Stuck::Full), Relaxed);
        self.control.rereads.store(self.dropped.missing(Stuck::No), Relaxed);
    }

    /// At the start of a run: what earlier runs dropped.
    pub(super) fn remember_dropped(&mut self) -> Result<()> {
        self.dropped = Dropped::read(&*self.frontier)?;
        self.tell_dropped();
        Ok(())
    }

    /// A recrawl requests every page of the store, so it meets their links again. Those pages must come
    /// whole: the answer "not modified" has no links. Pages that no store knows are queued here.
    pub(super) fn request_dropped(&mut self) -> Result<()> {
        let hosts = std::mem::take(&mut self.dropped.hosts);
        if hosts.is_empty() {
            return Ok(());
        }
        for record in self.committer.store().snapshot().records() {
            if let Ok(key) = std::str::from_utf8(&record?.key) {
                self.frontier.note(key, VALIDATORS, Vec::new());
            }
        }
        for (name, host) in hosts {
            for page in host.sources.pages.iter().filter_map(|page| Url::parse(page).ok()) {
                let depth = self.committer.depth_of(page.as_str())?;
                self.frontier.push_again(Entry::page(page, depth))?;
            }
            if self.links_only && host.sources.more_pages {
                // Nobody knows their pages any more.
                let sources = Sources { pages: BTreeSet::new(), ..host.sources };
                let note = serde_json::to_vec(&sources).unwrap_or_default();
                self.frontier.note(&name, DROPPED, note);
                let host =
                    Host { pending: true, stuck: Stuck::Unarchived, sources, ..Host::default() };
                self.dropped.hosts.insert(name, host);
            } else {
                self.frontier.note(&name, DROPPED, Vec::new());
            }
        }
        self.tell_dropped();
        Ok(())
    }

    /// One line a host whose links were dropped in this run.
    pub(super) fn log_dropped(&mut self) -> Result<()> {
        let hosts: Vec<(Url, String)> = self
            .dropped
            .hosts
            .iter()
            .filter_map(|(name, host)| {
                let again = match (host.pending, host.stuck) {
                    (false, _) => "they were found again",
                    (true, Stuck::Unarchived) => "--recrawl finds them again",
                    (true, _) => "a further run finds them again",
                };
                let (links, name) = (host.links, if name == OTHERS { "further hosts" } else { name });
                let detail = format!(
                    "{links} links to {name} found the queue full (--max-queued-per-host, --max-queue): {again}"
                );
                Some((host.first.clone()?, detail))
            })
            .collect();
        for (url, detail) in hosts {
            self.committer.skip(url.as_str(), SkipReason::Queue, &detail)?;
        }
        Ok(())
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
