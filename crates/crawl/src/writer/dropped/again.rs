//! Finds dropped links again: reads archived pages for links, and requests sitemaps once more.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::error::Result;
use url::Url;

use super::archive::Copies;
use crate::archived::Ended;
use crate::dropped_links::{DROPPED, OTHERS, Requested, Sources, Stuck};
use crate::writer::Writer;

/// Minimum time between two readings of the archive while other hosts have work.
const READ_EVERY: Duration = Duration::from_secs(30);
/// Maximum number of repeated requests of one sitemap in a run. With the default limit of the queue, all its 50,000
/// entries (sitemaps.org) are queued the first time.
const MAX_REQUESTS: u32 = 100;

impl Writer {
    /// Reads the archived pages of hosts with dropped links and an empty queue again. Returns whether it did
    /// anything. `idle`: nothing else is left to do.
    pub(crate) fn read_again(&mut self, idle: bool) -> Result<bool> {
        let early = self.dropped.read.is_some_and(|read| read.elapsed() < READ_EVERY);
        if self.dropped.missing(Stuck::No) == 0 || (early && !idle) {
            return Ok(false);
        }
        let ready = self.ready_hosts(idle);
        if ready.is_empty() {
            return Ok(false);
        }
        self.dropped.read = Some(Instant::now());
        self.committer.commit(false)?;
        let archived = self.archives()?;
        let mut sources = Sources::default();
        let mut sitemaps = Vec::new();
        for name in &ready {
            let of_host = self.begin_reading(name, !archived.is_empty(), &mut sources);
            sitemaps.extend(of_host.into_iter().map(|map| (name.clone(), map)));
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
        if ended == Ended::Partly {
            ended = self.is_a_page_missing(&archived, &sources)?;
        }
        self.dropped.source = None;
        for (name, map) in &sitemaps {
            self.request_sitemap(name, map, ended == Ended::Stopped)?;
        }
        self.end_reading(&ready, ended, idle);
        self.committer.commit(false)?;
        self.tell_dropped();
        Ok(true)
    }

    /// Returns the hosts whose dropped links can be queued now.
    fn ready_hosts(&self, idle: bool) -> BTreeSet<String> {
        let is_empty = |name: &str| {
            // Deferred URLs wait for the next run.
            let own = || self.frontier.host(name).is_none_or(|host| host.queued == 0);
            idle || name != OTHERS && own()
        };
        let hosts = self.dropped.hosts.iter();
        hosts
            .filter(|(name, host)| host.pending && host.stuck == Stuck::No && is_empty(name))
            .map(|(name, _)| name.clone())
            .collect()
    }

    /// Clears the record of a host's dropped links before its pages are read; links that are dropped again are
    /// recorded again. Without an archive all of them need a recrawl. Returns the sitemaps to request again.
    fn begin_reading(
        &mut self,
        name: &str,
        has_archive: bool,
        sources: &mut Sources,
    ) -> BTreeSet<String> {
        let Some(host) = self.dropped.hosts.get_mut(name) else { return BTreeSet::new() };
        host.queued = 0;
        if !has_archive {
            host.stuck = Stuck::Unarchived;
            return BTreeSet::new();
        }
        let of = std::mem::take(&mut host.sources);
        // Links on pages that are not archived stay missing until a recrawl.
        if of.unarchived {
            host.stuck = Stuck::Unarchived;
        }
        host.pending = of.unarchived;
        let (unarchived, pages, more_pages) = (of.unarchived, of.pages, of.more_pages);
        host.sources = Sources { unarchived, pages, more_pages, ..Sources::default() };
        sources.hosts.extend(of.hosts);
        sources.all |= of.all;
        self.frontier.note(name, DROPPED, Vec::new());
        of.sitemaps
    }

    /// Requests a sitemap again whose entries were dropped, unless the run was `stopped`. If the last request queued
    /// nothing it is not repeated: it would be repeated forever.
    fn request_sitemap(&mut self, name: &str, map: &str, stopped: bool) -> Result<()> {
        let Ok(url) = Url::parse(map) else { return Ok(()) };
        let requested = self.dropped.requested.entry(map.to_owned()).or_default();
        let Requested { times, queued } = *requested;
        let goes_on = !stopped && (times == 0 || (queued > 0 && times < MAX_REQUESTS));
        if goes_on {
            *requested = Requested { times: times + 1, queued: 0 };
            self.sitemap_again(&url)?;
        }
        let Some(host) = self.dropped.hosts.get_mut(name) else { return Ok(()) };
        if goes_on {
            host.queued += 1;
        } else {
            host.sources.add_sitemap(&url);
            host.pending = true;
        }
        Ok(())
    }

    fn end_reading(&mut self, ready: &BTreeSet<String>, ended: Ended, idle: bool) {
        let queued = |name: &String| self.dropped.hosts.get(name).map_or(0, |host| host.queued);
        let whole = ended != Ended::Stopped;
        // Another reading would find the same links on the same pages, without end.
        let in_vain = idle && whole && ready.iter().map(queued).sum::<u64>() == 0;
        for name in ready {
            let Some(host) = self.dropped.hosts.get_mut(name) else { continue };
            if !whole {
                // The next run reads the archive again.
                (host.pending, host.sources.all) = (true, true);
            }
            if ended == Ended::Partly {
                // Links on pages that could not be read are missing until a recrawl.
                (host.pending, host.stuck) = (true, Stuck::Unarchived);
                host.sources.unarchived = true;
            }
            if host.pending {
                let note = serde_json::to_vec(&host.sources).unwrap_or_default();
                self.frontier.note(name, DROPPED, note);
            }
            if in_vain && host.pending && host.stuck == Stuck::No {
                host.stuck = Stuck::Full;
            }
        }
    }
}
