//! Links that were dropped because the queue was full (`--max-queued-per-host`, `--max-queue`). When the queue of
//! their host is empty, its archived pages are read again for links.

mod again;
mod archive;
mod damage;

use std::collections::BTreeSet;
use std::sync::atomic::Ordering::Relaxed;

use crate::error::Result;
use hapax_data::SkipReason;
use hapax_frontier::{Entry, Pushed};
use hapax_url::host_key;
use url::Url;

use crate::dropped_links::{DROPPED, Dropped, Host, MAX_WARNINGS, OTHERS, Sources, Stuck};
use crate::notes::VALIDATORS;
use crate::url_rules::is_outside_list;
use crate::writer::Writer;

impl Writer {
    /// Queues a link of a page or of a `sitemap`. If the queue is full, the link is counted and found again later.
    pub(crate) fn queue_if_place(&mut self, entry: Entry, sitemap: Option<&Url>) -> Result<()> {
        let (url, host) = (entry.url.clone(), host_key(&entry.url));
        let page = self.dropped.source.as_ref().map(|source| &source.page);
        let pushed = self.frontier.push_link(entry, sitemap.or(page))?;
        let name = self.dropped.name_of(&host);
        if pushed != Pushed::Known
            && let Some(source) = &self.dropped.source
        {
            self.dropped.new_elsewhere += u64::from(is_outside_list(&source.page, &url));
        }
        match pushed {
            Pushed::Known => {}
            Pushed::New => {
                if let Some(source) = &self.dropped.source {
                    let is_own =
                        source.page.host() == url.host() && source.page.port() == url.port();
                    self.dropped.new_urls += u64::from(is_own);
                }
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
            tracing::warn!(
                "{name}: the queue is full (--max-queued-per-host). Further links are queued again when it is empty"
            );
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

    /// Records that links to a host were wrongly excluded: its archived pages and those of these other hosts are read again.
    pub(crate) fn links_are_missing(&mut self, host: &str, others: &BTreeSet<String>) {
        let name = self.dropped.name_of(host).to_owned();
        let dropped = self.dropped.hosts.entry(name.clone()).or_default();
        dropped.pending = true;
        if self.archive {
            dropped.sources.add_host(host);
            for other in others {
                dropped.sources.add_host(other);
            }
        }
        let note = serde_json::to_vec(&dropped.sources).unwrap_or_default();
        self.frontier.note(&name, DROPPED, note);
        self.tell_dropped();
    }

    /// Records that links of a page were left out by a limit that is wider now. They are found like dropped ones: in
    /// the archive, or by a recrawl if the page is not there. Workers of a cluster do not read archives again.
    pub(crate) fn links_were_left_out(&mut self, page: &Url) -> Result<()> {
        if self.committer.is_shared() {
            return Ok(());
        }
        let host = host_key(page);
        if self.archive && self.committer.store().id_of(page.as_str().as_bytes())?.is_some() {
            self.links_are_missing(&host, &BTreeSet::new());
            return Ok(());
        }
        let name = self.dropped.name_of(&host).to_owned();
        let dropped = self.dropped.hosts.entry(name.clone()).or_default();
        dropped.pending = true;
        dropped.sources.add_page(Some(page));
        let note = serde_json::to_vec(&dropped.sources).unwrap_or_default();
        self.frontier.note(&name, DROPPED, note);
        self.tell_dropped();
        Ok(())
    }

    fn tell_dropped(&self) {
        self.stats.dropped_hosts.store(self.dropped.missing(Stuck::Unarchived), Relaxed);
        self.stats.full_hosts.store(self.dropped.missing(Stuck::Full), Relaxed);
        self.control.rereads.store(self.dropped.missing(Stuck::No), Relaxed);
    }

    /// Reads, at the start of a run, which links earlier runs dropped.
    pub(crate) fn remember_dropped(&mut self) -> Result<()> {
        self.dropped = Dropped::read(&*self.frontier)?;
        self.tell_dropped();
        Ok(())
    }

    /// Prepares a recrawl, which requests every page of the store and so finds their links again. Removes validators:
    /// a "not modified" response has no links. Queues pages that the store does not know.
    pub(crate) fn request_dropped(&mut self) -> Result<()> {
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
                // Their pages are not remembered.
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

    /// Logs one line for each host with links that were dropped in this run.
    pub(crate) fn log_dropped(&mut self) -> Result<()> {
        let hosts: Vec<(Url, String)> = self
            .dropped
            .hosts
            .iter()
            .filter_map(|(name, host)| {
                let again = match (host.pending, host.stuck) {
                    (false, _) => "they were queued later",
                    (true, Stuck::Unarchived) => "run --recrawl to queue them",
                    (true, _) => "the next run queues them",
                };
                let (links, name) =
                    (host.links, if name == OTHERS { "further hosts" } else { name });
                let detail = format!(
                    "{links} links to {name} were not queued, because the queue is full \
                     (--max-queued-per-host, --max-queue): {again}"
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
