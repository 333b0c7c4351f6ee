//! The start of a run: queues seeds, URLs that earlier rules refused, and pages of a recrawl.

use crate::admission::Admission;
use crate::error::Result;
use hapax_data::Context;
use hapax_data::{Again, SitemapPart, SkipReason};
use hapax_frontier::Entry;
use url::Url;

use crate::host_file::outdate_all;
use crate::identity::{RulesIdentity, is_of_links};
use crate::notes::VALIDATORS;
use crate::recrawl::GONE;
use crate::sitemap_origin::SitemapOrigin;
use crate::writer::Writer;
use hapax_data::Skipped;

/// Returns the reasons that a recrawl considers temporary.
fn by_recrawl() -> Vec<SkipReason> {
    SkipReason::ALL.into_iter().filter(|reason| reason.again() == Again::Recrawl).collect()
}

/// Number of URLs queued between two commits.
const AGAIN: u64 = 10_000;

impl Writer {
    /// Prepares a run: queues the seeds, and what earlier runs left or skipped for a reason that has gone.
    pub(crate) fn begin(
        &mut self,
        seeds: &[Url],
        rules: &RulesIdentity,
        retry: &[SkipReason],
    ) -> Result<()> {
        self.seed(seeds)?;
        self.remember_claims()?;
        self.remember_dropped()?;
        self.reconsider(rules, retry)
    }

    /// Queues the seeds and commits them, so that the crawl can be resumed after any crash. Seeds that were not
    /// fetched are queued again.
    fn seed(&mut self, seeds: &[Url]) -> Result<()> {
        for seed in seeds {
            let entry = Entry::page(seed.clone(), 0);
            if self.has_failed(seed)? {
                if !self.leaves_list_out(seed)? {
                    self.retry_seed(seed)?;
                    self.frontier.push_again(entry)?;
                }
            } else {
                self.frontier.push(entry)?;
            }
        }
        self.committer.commit(false)?;
        self.save_summary()
    }

    /// Queues URLs again that earlier runs skipped by other rules, or for a reason in `retry`.
    fn reconsider(&mut self, rules: &RulesIdentity, retry: &[SkipReason]) -> Result<()> {
        let now = rules.to_text();
        let before = std::mem::replace(&mut self.committer.run.rules, now.clone());
        let mut reasons = retry.to_vec();
        let asks_files =
            retry.contains(&SkipReason::Robots) || retry.contains(&SkipReason::Reserved);
        if !before.is_empty() && before != now {
            reasons.extend(rules.changed_since(&before));
            // Until this is complete, the stored rules are those of before.
            self.committer.run.rules.clone_from(&before);
        }
        if asks_files || rules.reads_more_of_robots(&before) {
            outdate_all(&*self.frontier)?;
        }
        self.take_in(&reasons)?;
        self.committer.run.rules = now;
        self.committer.commit(false)
    }

    /// Queues URLs again that were skipped for these reasons, if the rules admit them now.
    pub(super) fn take_in(&mut self, reasons: &[SkipReason]) -> Result<()> {
        if reasons.is_empty() {
            return Ok(());
        }
        let (mut queued, mut used) = (0u64, 0u64);
        let log = match std::fs::File::open(self.root.join("skipped.jsonl")) {
            Ok(log) => std::io::BufReader::new(log),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Ok(Err(error).context("skipped.jsonl")?),
        };
        for line in std::io::BufRead::lines(log) {
            let line = line.context("skipped.jsonl")?;
            let Ok(skipped) = Skipped::parse(&line) else { continue };
            if !reasons.contains(&skipped.reason) {
                continue;
            }
            // The line of a learnt rule has an example only.
            if skipped.reason == SkipReason::DustRule && skipped.depth.is_none() {
                continue;
            }
            let Ok(url) = Url::parse(&skipped.url) else { continue };
            match (skipped.sitemap, skipped.reason) {
                (Some(SitemapPart::Whole), reason) if is_of_links(reason) => {
                    self.sitemap_at(&url, SitemapOrigin::BELOW)?;
                }
                // A recrawl requests all sitemaps again.
                (Some(SitemapPart::Entries), SkipReason::CutShort) if self.committer.look.on => {}
                (Some(SitemapPart::Whole | SitemapPart::Entries), _) => {
                    self.sitemap_again(&url)?;
                }
                // No rule changes how deep sitemaps are read.
                (Some(SitemapPart::TooDeep), _) => {}
                // These pages were used.
                (None, SkipReason::Links) => self.links_were_left_out(&url)?,
                (None, SkipReason::CutShort) => {
                    used += 1;
                    self.request_whole(&url);
                }
                (None, _) => queued += u64::from(self.take_back(&url, skipped.depth)?),
            }
            if queued >= AGAIN {
                queued = 0;
                self.committer.commit(false)?;
            }
        }
        if used > 0 && !self.committer.look.on {
            tracing::warn!(
                "{used} pages ended early or were cut, but are used: only --recrawl requests them again"
            );
        }
        Ok(())
    }

    /// Lets a recrawl of all pages request a page that was cut short without validators: a "not modified" response has
    /// no body.
    fn request_whole(&self, url: &Url) {
        if self.committer.look.on && !self.committer.look.due {
            self.frontier.note(url.as_str(), VALIDATORS, Vec::new());
        }
    }

    /// Queues a refused page if the rules admit it now. Its URL was known then, or leased, and may have been fetched
    /// since.
    fn take_back(&self, url: &Url, depth: Option<u16>) -> Result<bool> {
        let depth = depth.unwrap_or(1);
        match self.rules.admit(url, depth) {
            Admission::Admitted(url)
                if self.committer.store().id_of(url.as_str().as_bytes())?.is_none() =>
            {
                Ok(self.frontier.push_again(Entry::page(url, depth))?)
            }
            _ => Ok(false),
        }
    }

    /// Begins a recrawl, of all pages or of those that are due: its counts begin with 0.
    pub(super) fn begin_look(&mut self, due: bool) {
        (self.committer.look.on, self.committer.look.due) = (true, due);
        self.committer.look.fetched_before = self.stats.looked_at();
        self.stats.set_baseline(Some(self.stats.pages()));
        self.stats.begin_look();
    }

    /// Queues all known pages for a recrawl: kept pages before their duplicates. Returns the number of pages that it
    /// requests, including those that were queued before.
    pub(crate) fn again(&mut self) -> Result<u64> {
        self.begin_look(false);
        let (mut queued, mut wanted) = (0u64, 0u64);
        // Seeds first: a seed that has moved extends the scope.
        for seed in &self.seeds {
            if self.committer.store().id_of(seed.as_str().as_bytes())?.is_some()
                && let Admission::Admitted(url) = self.rules.admit(seed, 0)
            {
                wanted += 1;
                self.frontier.push_again(Entry::page(url, 0))?;
            }
        }
        for duplicates in [false, true] {
            for id in 0..self.committer.store().next_id() {
                let Some(record) = self.committer.store().record(id)? else { continue };
                let url =
                    std::str::from_utf8(&record.key).ok().and_then(|key| Url::parse(key).ok());
                let Some(url) = url.filter(|_| record.of.is_some() == duplicates) else { continue };
                let depth = self.known_depth(&url)?;
                let Admission::Admitted(url) = self.rules.admit(&url, depth) else { continue };
                wanted += 1;
                // In this order at any depth: a copy is compared with what is kept now.
                let entry = Entry { recent: true, ..Entry::page(url, depth) };
                if self.frontier.push_again(entry)? {
                    queued += 1;
                    if queued.is_multiple_of(AGAIN) {
                        self.committer.commit(false)?;
                    }
                }
            }
        }
        // Pages that were gone the last time may be back.
        let mut gone = Vec::new();
        self.frontier.notes(GONE, &mut |url, note| {
            gone.extend(Url::parse(url).ok().filter(|_| !note.is_empty()));
        })?;
        for url in gone {
            let depth = self.known_depth(&url)?;
            if let Admission::Admitted(url) = self.rules.admit(&url, depth) {
                self.frontier.push_again(Entry::page(url, depth))?;
            }
        }
        outdate_all(&*self.frontier)?;
        self.take_in(&by_recrawl())?;
        self.committer.look.under_way = true;
        self.committer.commit(false)?;
        self.save_summary()?;
        Ok(wanted)
    }
}
