//! Commits groups of pages, in this order: WARC, logs, index and sinks, dedup store, frontier. A crash between any
//! two steps repeats work and loses none.

use std::time::Instant;

use hapax_data::{Committed, Context, PagePosition, SkipPosition};
use hapax_index::Index;

use super::state::MAX_PLACES;
use super::{Committer, HOST_PAGES};
use crate::error::Result;
use crate::event::Event;

impl Committer {
    /// Commits if the group is large or old enough. Returns whether it did.
    pub(crate) fn maybe_commit(&mut self) -> Result<bool> {
        let due = self.group.is_full() || (!self.group.is_empty() && self.group.is_old());
        if due {
            self.commit(false)?;
        }
        Ok(due)
    }

    /// Returns whether a commit is due by age.
    pub(crate) fn is_old(&self) -> bool {
        self.group.is_old()
    }

    /// Commits everything done so far, without changing whether the job is finished.
    pub(crate) fn commit_as_it_is(&mut self) -> Result<()> {
        self.commit(self.run.finished)
    }

    /// Commits everything done so far. Commits again if the cluster has taken pages back.
    pub(crate) fn commit(&mut self, finished: bool) -> Result<()> {
        while self.commit_once(finished)? {}
        Ok(())
    }

    /// Returns whether the cluster has taken pages back, which requires another commit.
    fn commit_once(&mut self, finished: bool) -> Result<bool> {
        self.run.finished = finished;
        self.look.under_way &= !finished;
        self.cache.at_commit(|| self.store.cache_was_set_aside());
        if self.frontier.is_some() && self.shared.is_none() {
            let hosts = self.stats.new_host_pages();
            if !hosts.is_empty() {
                self.hosts = hosts;
            }
        }
        let mut position = PagePosition {
            counts: self.stats.pages(),
            hosts: self.hosts.clone(),
            digests: self.digests,
            ..PagePosition::default()
        };
        let skipped = self.sync_files(&mut position)?;
        self.commit_pages(position)?;
        let lost = self.settle_shared()?;
        self.commit_frontier(finished, skipped)?;
        self.observer.tell(&Event::Committed { pages: &self.stats.pages() })?;
        if let Some(received) = &self.received {
            received.committed();
        }
        self.forget_group();
        Ok(lost)
    }

    /// Steps 1 and 2: archive and logs. Returns the committed position of skipped.jsonl.
    fn sync_files(&mut self, position: &mut PagePosition) -> Result<Committed> {
        if let Some(writer) = &mut self.warc.writer {
            self.warc.end = writer.sync().context("pages/")?;
        }
        position.archive = self.warc.name;
        (position.warc_file, position.warc_length) = self.warc.end;
        let discarded = self.logs.discarded.sync().context("discarded.jsonl")?;
        (position.discarded, position.discarded_sum) = (discarded.length, discarded.sum);
        let decisions = self.logs.decided.sync().context("decisions.jsonl")?;
        (position.decisions, position.decisions_sum) = (decisions.length, decisions.sum);
        self.logs.events.sync(position)?;
        let skipped = self.logs.skipped.sync().context("skipped.jsonl")?;
        if self.frontier.is_none() && self.logs.skips {
            self.logs.elsewhere = skipped;
        }
        let elsewhere = self.logs.elsewhere;
        (position.skipped, position.skipped_sum) = (elsewhere.length, elsewhere.sum);
        Ok(skipped)
    }

    /// Steps 3 and 4: index and sinks, then the dedup store.
    fn commit_pages(&mut self, mut position: PagePosition) -> Result<()> {
        self.compared.commit()?;
        position.sites = self.sites.commit()?;
        if let Some(index) = &mut self.search.index {
            index.commit()?;
        }
        self.sinks.commit()?;
        position.leaves_index = std::mem::take(&mut self.search.leaving);
        self.store.commit(&serde_json::to_vec(&position)?)?;
        self.compared.erase()?;
        self.sites.compact()?;
        if let Some(index) = &mut self.warc.index {
            index.committed(position.warc_file);
        }
        // A page leaves the index only after the store's commit names it. A crash between the two leaves one document
        // too many, which the next open removes.
        let (leaving, events) = (position.leaves_index, position.events);
        if let Some(index) = self.search.index.as_mut().filter(|_| !leaving.is_empty()) {
            for id in leaving {
                index.delete(id);
            }
            index.commit()?;
        }
        Ok(self.logs.events.publish(events)?)
    }

    /// Step 5: the frontier.
    fn commit_frontier(&self, finished: bool, skipped: Committed) -> Result<()> {
        let Some(frontier) = &self.frontier else { return Ok(()) };
        self.stats.changed_hosts(|host, pages| {
            // In a shared crawl each worker counts its own pages, in this run only.
            if self.shared.is_none() {
                frontier.note(host, HOST_PAGES, pages);
            }
        });
        let recrawl = self.look.on && !(finished && frontier.counts().queued == 0);
        let position = SkipPosition {
            skipped: skipped.length,
            skipped_sum: skipped.sum,
            counts: self.stats.skipped(),
            elapsed_ms: u64::try_from(self.elapsed().as_millis()).unwrap_or(u64::MAX),
            finished,
            moved_seeds: self.run.moved_seeds.clone(),
            recrawl,
            looking: self.look.under_way,
            due: recrawl && self.look.due,
            baseline: self.stats.baseline().filter(|_| recrawl),
            looked_at_before: if recrawl { self.look.fetched_before } else { 0 },
            rules: self.run.rules.clone(),
            seed_fetched: self.run.seed_fetched,
            utf8_queries: Some(self.run.utf8_queries),
        };
        Ok(frontier.commit(&serde_json::to_vec(&position)?)?)
    }

    fn forget_group(&mut self) {
        self.search.recent.clear();
        self.search.added.clear();
        if self.warc.places.len() > MAX_PLACES && self.search.adds {
            // The index has these locations now.
            self.search.look_up_again();
            self.warc.places.clear();
        }
        // Without an index nothing else has them: log lines about older kept pages omit the location.
        while self.warc.places.len() > MAX_PLACES {
            self.warc.places.pop_first();
        }
        (self.group.pages, self.group.lines) = (0, 0);
        self.group.since = Instant::now();
    }

    /// Ends the background work of index and dedup store.
    pub(crate) fn close(mut self) -> Result<()> {
        self.search.index.map_or(Ok(()), Index::close)?;
        self.cache.at_close(|| self.store.cache_was_set_aside());
        if let Some(store) = std::sync::Arc::into_inner(self.store) {
            store.close()?;
        }
        Ok(())
    }
}
