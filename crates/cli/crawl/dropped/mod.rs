//! Links that found no place in the queue (`--max-queued-per-host`, `--max-queue`), and how they come back:
//! once the queue of their host is empty, its archived pages are read again for links.

mod archive;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use anyhow::Result;
use hapax_frontier::{Entry, Frontier, Pushed, host_key};
use serde::{Deserialize, Serialize};
use url::Url;

use self::archive::{Copies, Ended};
use super::fetch::VALIDATORS;
use super::writer::Writer;

/// Under this name the frontier remembers that links to a host were dropped, and where they stood.
const DROPPED: &str = "dropped";
/// Sitemaps that are remembered of a host; entries of further ones are found by a recrawl.
const MAX_SITEMAPS: usize = 100;
/// Pages without an archive that are remembered of a host, to be requested by a recrawl.
const MAX_PAGES: usize = 20;
/// Hosts whose pages had dropped links to one host; beyond them the whole archive is read.
const MAX_SOURCES: usize = 100;
/// Hosts that are remembered one by one; links to all further ones are remembered as those of [`OTHERS`].
const MAX_HOSTS: usize = 1_000;
/// No host is called so.
const OTHERS: &str = "*";
/// Hosts that a warning names.
const MAX_WARNINGS: u64 = 10;
/// The archive is read again at most this often while other hosts have work.
const READ_EVERY: Duration = Duration::from_secs(30);

/// Where the dropped links to a host stood.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Sources {
    /// Hosts of pages that are archived.
    hosts: BTreeSet<String>,
    /// There were more of them.
    all: bool,
    sitemaps: BTreeSet<String>,
    /// Some cannot be found in the archive: they stood on pages that are not in it (`noindex`,
    /// `--links-only`, `--no-warc`) or cannot be read there, or in one sitemap too many.
    unarchived: bool,
    /// Such pages, as far as they are remembered.
    pages: BTreeSet<String>,
    /// There were more of them.
    more_pages: bool,
}

impl Sources {
    fn add_host(&mut self, host: &str) -> bool {
        if self.all || self.hosts.contains(host) {
            return false;
        }
        self.all = self.hosts.len() >= MAX_SOURCES;
        self.all || self.hosts.insert(host.to_owned())
    }

    fn add_sitemap(&mut self, sitemap: &Url) -> bool {
        if self.sitemaps.len() < MAX_SITEMAPS {
            return self.sitemaps.insert(sitemap.to_string());
        }
        !self.sitemaps.contains(sitemap.as_str()) && !std::mem::replace(&mut self.unarchived, true)
    }

    /// A page that the archive has not.
    fn add_page(&mut self, page: Option<&Url>) -> bool {
        let mut fresh = !std::mem::replace(&mut self.unarchived, true);
        match page {
            Some(page) if self.pages.len() < MAX_PAGES => {
                fresh |= self.pages.insert(page.to_string());
            }
            Some(page) if self.pages.contains(page.as_str()) => {}
            _ => fresh |= !std::mem::replace(&mut self.more_pages, true),
        }
        fresh
    }
}

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
    /// Queues a link that the rules admit, unless something else speaks against it. One that finds no place
    /// is counted and found again later.
    pub(super) fn queue_link(&mut self, entry: Entry, sitemap: Option<&Url>) -> Result<()> {
        if !self.may_queue(&entry.url, entry.depth)? {
            return Ok(());
        }
        let (url, host) = (entry.url.clone(), host_key(&entry.url));
        let pushed = self.frontier.push_link(entry)?;
        let name = self.dropped.name_of(&host);
        match pushed {
            Pushed::Known => {}
            Pushed::New => {
                if let Some(host) = self.dropped.hosts.get_mut(name) {
                    host.queued += 1;
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

    /// Reads the archived pages of hosts with dropped links and an empty queue again. Whether anything was
    /// done. `idle`: nothing else is left to do.
    pub(super) fn read_again(&mut self, idle: bool) -> Result<bool> {
        let early = self.dropped.read.is_some_and(|read| read.elapsed() < READ_EVERY);
        if self.dropped.missing(Stuck::No) == 0 || (early && !idle) {
            return Ok(false);
        }
        let is_empty = |name: &str| {
            // What is deferred waits for the next run.
            let own = || self.frontier.host(name).is_none_or(|host| host.queued == 0);
            idle || name != OTHERS && own()
        };
        let ready: BTreeSet<String> = self
            .dropped
            .hosts
            .iter()
            .filter(|(name, host)| host.pending && host.stuck == Stuck::No && is_empty(name))
            .map(|(name, _)| name.clone())
            .collect();
        if ready.is_empty() {
            return Ok(false);
        }
        self.dropped.read = Some(Instant::now());
        self.committer.commit(false)?;
        let archived = self.archives()?;
        let mut sources = Sources::default();
        for name in &ready {
            self.begin_reading(name, !archived.is_empty(), &mut sources)?;
        }
        let (mut ended, mut copies) = (Ended::Whole, Copies::default());
        for path in &archived {
            ended = ended.max(self.read_archive(path, &sources, &mut copies)?);
        }
        if copies.count > 0 {
            for path in &archived {
                ended = ended.max(self.read_copies(path, &mut copies)?);
            }
        }
        if copies.found.len() < copies.wanted.len() {
            ended = ended.max(Ended::Partly);
        }
        let whole = ended != Ended::Stopped;
        self.dropped.source = None;
        let queued = |name: &String| self.dropped.hosts.get(name).map_or(0, |host| host.queued);
        // It would not end: the same pages would be read for the same links.
        let in_vain = idle && whole && ready.iter().map(queued).sum::<u64>() == 0;
        for name in &ready {
            let Some(host) = self.dropped.hosts.get_mut(name) else { continue };
            if !whole {
                // The next run reads again.
                (host.pending, host.sources.all) = (true, true);
            }
            if ended == Ended::Partly {
                // What stood on the pages that were not read is missing until a recrawl.
                (host.pending, host.stuck) = (true, Stuck::Unarchived);
                host.sources.unarchived = true;
            }
            if !whole || (host.pending && host.sources.unarchived) {
                let note = serde_json::to_vec(&host.sources).unwrap_or_default();
                self.frontier.note(name, DROPPED, note);
            }
            if in_vain && host.pending && host.stuck == Stuck::No {
                host.stuck = Stuck::Full;
            }
        }
        self.committer.commit(false)?;
        self.tell_dropped();
        Ok(true)
    }

    /// Nothing of the host is missing from here on, but what is dropped again. Its sitemaps are requested
    /// again; without an archive all else waits for a recrawl.
    fn begin_reading(
        &mut self,
        name: &str,
        has_archive: bool,
        sources: &mut Sources,
    ) -> Result<()> {
        let Some(host) = self.dropped.hosts.get_mut(name) else { return Ok(()) };
        host.queued = 0;
        if !has_archive {
            host.stuck = Stuck::Unarchived;
            return Ok(());
        }
        let of = std::mem::take(&mut host.sources);
        // Those on pages that are not archived stay missing until a recrawl.
        if of.unarchived {
            host.stuck = Stuck::Unarchived;
        }
        host.pending = of.unarchived;
        let (unarchived, pages, more_pages) = (of.unarchived, of.pages, of.more_pages);
        host.sources = Sources { unarchived, pages, more_pages, ..Sources::default() };
        sources.hosts.extend(of.hosts);
        sources.all |= of.all;
        let sitemaps = of.sitemaps;
        self.frontier.note(name, DROPPED, Vec::new());
        for sitemap in sitemaps {
            if let Ok(sitemap) = Url::parse(&sitemap)
                && self.sitemap_again(&sitemap)?
                && let Some(host) = self.dropped.hosts.get_mut(name)
            {
                host.queued += 1;
            }
        }
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
            self.committer.skip(url.as_str(), "queue", &detail)?;
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

    #[test]
    fn what_is_beyond_the_limits_of_a_host_waits_for_a_recrawl() {
        let url = |number: usize| Url::parse(&format!("http://a.example/{number}")).unwrap();
        let mut sources = Sources::default();
        assert!((0..MAX_SITEMAPS).all(|number| sources.add_sitemap(&url(number))));
        assert!(!sources.add_sitemap(&url(3)) && !sources.unarchived, "known");
        assert!(sources.add_sitemap(&url(MAX_SITEMAPS)) && sources.unarchived);
        let mut sources = Sources::default();
        assert!((0..MAX_PAGES).all(|number| sources.add_page(Some(&url(number)))));
        assert!(!sources.add_page(Some(&url(3))) && !sources.more_pages, "known");
        assert!(sources.add_page(Some(&url(MAX_PAGES))) && sources.more_pages);
    }

    #[test]
    fn sources_are_remembered_up_to_a_limit_and_read_back() {
        let mut sources = Sources::default();
        let url = Url::parse("http://a.example/sitemap.xml").unwrap();
        assert!(sources.add_host("a.example") && !sources.add_host("a.example"));
        assert!(sources.add_sitemap(&url) && !sources.add_sitemap(&url));
        for number in 0..=MAX_SOURCES {
            sources.add_host(&number.to_string());
        }
        assert!(sources.all && sources.hosts.len() == MAX_SOURCES);
        let note = serde_json::to_vec(&sources).unwrap();
        assert_eq!(serde_json::from_slice::<Sources>(&note).unwrap(), sources);
        assert!(serde_json::from_slice::<Sources>(b"").is_err(), "nothing is missing");
    }
}
