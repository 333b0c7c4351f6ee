//! The commit thread: handles the results of leases and queues links.

mod admission;
mod begin;
mod claims;
mod cookie_walls;
mod dropped;
mod due;
mod ended;
mod failed_seeds;
mod links;
mod lists;
mod redirects;
mod refresh;
mod sitemaps;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::blank::BlankPages;
use crate::error::Result;
use hapax_data::{SkipCause, SkipReason};
use hapax_frontier::{End, EntryKind, Frontier, Lease, LeaseCounts};
use tokio::sync::mpsc;
use url::Url;

use crate::calendars::Calendars;
use crate::commit::Committer;
use crate::commit::Outcome;
use crate::control::Control;
use crate::dropped_links::Dropped;
use crate::feeds::{Feeds, OpenClaims};
use crate::message::{LeaseResult, Message};
use crate::missing::MissingPages;
use crate::page::PageWork;
use crate::patterns::Patterns;
use crate::removed::RemovedParameters;
use crate::rules::Rules;
use crate::seeds::AboutSeeds;
use crate::sitemap_origin::SitemapOrigin;
use crate::stats::Stats;
use crate::summary::{Stop, Summary};
use crate::url_rules::UrlRules;
use crate::visits::Seen;

pub(crate) use self::cookie_walls::CookieWalls;
pub(crate) use self::due::is_daily;

#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) committer: Committer,
    pub(crate) rules: Rules,
    pub(crate) control: Arc<Control>,
    pub(crate) frontier: Arc<dyn Frontier>,
    pub(crate) stats: Arc<Stats>,
    pub(crate) root: PathBuf,
    /// Seeds and the URLs that they moved to: if one of these moves, the scope moves too.
    pub(crate) seeds: BTreeSet<Url>,
    pub(crate) links_only: bool,
    pub(crate) max_redirects: u8,
    pub(crate) cookie_walls: CookieWalls,
    pub(crate) patterns: Patterns,
    pub(crate) url_rules: Arc<UrlRules>,
    pub(crate) removed: RemovedParameters,
    /// One URL of each site for which a rule was dropped in this run.
    pub(crate) given_up_rules: Vec<Url>,
    pub(crate) missing: MissingPages,
    pub(crate) calendars: Calendars,
    pub(crate) blank: BlankPages,
    pub(crate) feeds: Arc<Feeds>,
    pub(crate) claims: OpenClaims,
    pub(crate) dropped: Dropped,
    /// Whether pages are archived, so that they can be read again.
    pub(crate) archive: bool,
    pub(crate) page_limits: hapax_extract::Limits,
    /// Discards parts of other pages at the end, unless the flag is set by then.
    pub(crate) parts: Option<Arc<AtomicBool>>,
    /// Last check of the spool.
    pub(crate) looked: Instant,
    /// Last progress line in the log.
    pub(crate) told: Instant,
}

#[derive(Debug, Default)]
pub(crate) struct Ended {
    /// Time spent on the data directory in all runs.
    pub(crate) elapsed: Duration,
    /// Whether a seed was ever fetched for this data directory; `None` if unknown.
    pub(crate) seed_fetched: Option<bool>,
    pub(crate) seeds: AboutSeeds,
    /// The search for parts of pages was stopped.
    pub(crate) parts_stopped: bool,
}

/// End of the log line of a page that is gone once.
const FIRST_MISS: &str = "; it is removed if the next visit finds the same";
/// Interval of progress lines in the log.
const TELL_EVERY: Duration = Duration::from_secs(60);
/// Interval of checks of the spool.
const SPOOL_EVERY: Duration = Duration::from_millis(500);

/// Messages per query if verdicts come from a cluster.
const MESSAGES_PER_TURN: usize = 64;
/// Pages of a host before the crawl requests one that does not exist.
const PROBE_AFTER: u64 = 10;

/// Returns whether a page was requested and the server answered.
fn is_answer(lease: &Lease, result: &LeaseResult) -> bool {
    let answered = match result {
        LeaseResult::Page(_)
        | LeaseResult::Sitemap { .. }
        | LeaseResult::Unread { .. }
        | LeaseResult::Redirect { .. }
        | LeaseResult::Gone { .. }
        | LeaseResult::Unchanged { .. } => true,
        LeaseResult::Skip { cause: SkipCause { reason, .. }, .. } => matches!(
            reason,
            SkipReason::Http4xx
                | SkipReason::HttpOther
                | SkipReason::TooLarge
                | SkipReason::Bomb
                | SkipReason::Encoding
        ),
        _ => false,
    };
    answered && lease.entry.kind == EntryKind::Page
}

/// Returns what a visit shows if the page's text is not known to have changed.
const fn shows(result: &LeaseResult) -> Seen {
    match result {
        LeaseResult::Page(_)
        | LeaseResult::Redirect { .. }
        | LeaseResult::Gone { .. }
        | LeaseResult::Unchanged { .. } => Seen::Same,
        _ => Seen::Nothing,
    }
}

/// Returns whether a page was received, or is unchanged.
fn is_page(lease: &Lease, result: &LeaseResult) -> bool {
    let came = matches!(
        result,
        LeaseResult::Page(_)
            | LeaseResult::Sitemap { .. }
            | LeaseResult::Unread { bytes: Some(_), .. }
            | LeaseResult::Unchanged { .. }
    );
    came && lease.entry.kind == EntryKind::Page
}

/// Reports a panic of the commit thread to the scheduler: nothing more can be stored.
struct PanicGuard(Arc<Control>);

impl Drop for PanicGuard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.failed.store(true, Relaxed);
            self.0.wake.notify_one();
        }
    }
}

impl Writer {
    /// Writes summary.json, for readers during the crawl or after a kill.
    pub(crate) fn save_summary(&mut self) -> Result<()> {
        let (counts, elapsed) = (self.frontier.counts(), self.committer.elapsed());
        if self.told.elapsed() >= TELL_EVERY {
            self.told = Instant::now();
            let pages = self.stats.pages();
            tracing::info!(
                "{} fetched, {} indexed, {} discarded, {} queued",
                pages.fetched,
                pages.indexed,
                pages.discarded(),
                counts.queued
            );
        }
        let mut summary = Summary::new(&self.stats, counts, Stop::Running, elapsed, &self.root);
        summary.shared = self.committer.is_shared();
        summary.name_seeds(self.committer.about_seeds());
        if !summary.shared {
            summary.name_hosts(&self.stats, &*self.frontier);
        }
        let summary = serde_json::to_vec_pretty(&summary)?;
        Ok(hapax_data::replace(&self.root, "summary.json", &summary)?)
    }

    /// Handles messages until all senders are dropped.
    pub(crate) fn run(mut self, mut inbox: mpsc::Receiver<Message>) -> Result<Ended> {
        // A separate runtime for timeouts, whatever the caller's runtime is.
        let timer = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        let control = Arc::clone(&self.control);
        let _guard = PanicGuard(Arc::clone(&self.control));
        let result =
            self.committer.apply_spool().and_then(|_| self.receive(&mut inbox, &timer)).and_then(
                |()| {
                    self.committer.apply_spool()?;
                    self.log_dropped()?;
                    self.log_left_out()?;
                    let lost = self.frontier.leases().map_or(0, LeaseCounts::lost);
                    let aborted = control.aborted.load(Relaxed);
                    debug_assert!(lost <= aborted, "{lost} leases were dropped without an end");
                    let counts = self.frontier.counts();
                    let finished = counts.queued == counts.deferred;
                    self.committer.commit(finished)?;
                    let parts = self.parts.as_ref().map(|stop| self.committer.discard_parts(stop));
                    let parts_stopped = parts.transpose()? == Some(false);
                    self.committer.count_by_log()?;
                    let ended = Ended {
                        elapsed: self.committer.elapsed(),
                        seed_fetched: self.committer.run.seed_fetched,
                        seeds: self.committer.about_seeds(),
                        parts_stopped,
                    };
                    self.committer.close()?;
                    Ok(ended)
                },
            );
        if result.is_err() {
            control.failed.store(true, Relaxed);
            inbox.close();
        }
        control.wake.notify_one();
        result
    }

    fn receive(
        &mut self,
        inbox: &mut mpsc::Receiver<Message>,
        timer: &tokio::runtime::Runtime,
    ) -> Result<()> {
        loop {
            let message = match inbox.try_recv() {
                Ok(message) => message,
                Err(mpsc::error::TryRecvError::Disconnected) => return Ok(()),
                Err(mpsc::error::TryRecvError::Empty) => {
                    // No message waits: commit a group that is old enough.
                    if self.committer.maybe_commit()? || self.idle_commit()? || self.spool()? {
                        self.save_summary()?;
                        self.control.wake.notify_one();
                        continue;
                    }
                    let wait = async { tokio::time::timeout(SPOOL_EVERY, inbox.recv()).await };
                    match timer.block_on(wait) {
                        Ok(Some(message)) => message,
                        Ok(None) => return Ok(()),
                        Err(_) => continue,
                    }
                }
            };
            for message in self.together(message, inbox)? {
                // Sent before the result of its lease.
                let ends_lease = !matches!(message, Message::SitemapElsewhere(_));
                match message {
                    Message::Ended { lease, result } => self.ended(lease, result)?,
                    Message::Returned { down: Some(url) } => self.host_down(&url)?,
                    Message::Returned { down: None } => {}
                    Message::SitemapElsewhere(map) => {
                        self.sitemap_at(&map, SitemapOrigin::default())?
                    }
                }
                self.control.active.fetch_sub(u64::from(ends_lease), Relaxed);
            }
            self.committer.drop_ahead()?;
            if self.committer.maybe_commit()? {
                self.save_summary()?;
            }
            self.spool()?;
            self.control.wake.notify_one();
        }
    }

    /// Returns the message and, in a cluster, those that wait: one query covers all their pages.
    fn together(
        &mut self,
        first: Message,
        inbox: &mut mpsc::Receiver<Message>,
    ) -> Result<Vec<Message>> {
        let mut messages = vec![first];
        if !self.committer.is_shared() {
            return Ok(messages);
        }
        while messages.len() < MESSAGES_PER_TURN
            && let Ok(message) = inbox.try_recv()
        {
            messages.push(message);
        }
        let mut pages = Vec::new();
        for message in &messages {
            if let Message::Ended { lease, result: LeaseResult::Page(page) } = message
                && lease.entry.kind == EntryKind::Page
                && !self.links_only
                && !page.document.robots.noindex
                && !page.blank
                && self.meta_refresh_target(page).is_none()
                && !self.is_cookie_wall(page)
                && !self.committer.forgotten(&page.url, &lease.host)
                && !self.is_missing(&lease.host, page)?
            {
                pages.push(&**page);
            }
        }
        self.committer.ask_ahead(&pages)?;
        Ok(messages)
    }

    /// Executes requests of the spool; checks at most once per interval.
    fn spool(&mut self) -> Result<bool> {
        if self.looked.elapsed() < SPOOL_EVERY {
            return Ok(false);
        }
        self.looked = Instant::now();
        self.committer.apply_spool()
    }

    /// Commits while idle: queues on disk are readable only after a commit, and all changes must become durable.
    fn idle_commit(&mut self) -> Result<bool> {
        let quiet = self.control.active.load(Relaxed) == 0;
        let counts = self.frontier.counts();
        let done = quiet && counts.queued <= counts.deferred;
        if done && (self.settle_claims()? || self.take_back_left_out()?) {
            return Ok(true);
        }
        if self.read_again(done)? {
            return Ok(true);
        }
        let waits = !self.frontier.has_work() || self.committer.is_old();
        let idle = quiet && waits && self.frontier.is_dirty();
        if idle {
            self.committer.commit(false)?;
        }
        Ok(idle)
    }

    fn ended(&mut self, mut lease: Lease, result: LeaseResult) -> Result<()> {
        if is_answer(&lease, &result) {
            self.stats.reached.fetch_add(1, Relaxed);
        }
        if is_page(&lease, &result)
            && self.seeds.contains(&lease.entry.url)
            && !self.is_stub(&result)
        {
            self.committer.run.seed_fetched = Some(true);
        }
        let no_page = matches!(
            result,
            LeaseResult::Skip { .. } | LeaseResult::Gone { .. } | LeaseResult::Unread { .. }
        );
        if no_page {
            self.url_rules.failed(&*self.frontier, &lease.entry.url)?;
            if lease.entry.kind == EntryKind::Page {
                self.end_former_alias(&lease.entry.url, None)?;
            }
        }
        let inlinks = self.frontier.inlinks(&lease.entry);
        self.committer.leased(lease.entry.url.as_str(), inlinks);
        if !matches!(result, LeaseResult::Page(_) | LeaseResult::Unchanged { .. }) {
            // Before the record of a page that is gone is removed.
            let inlinks = self.committer.inlinks(lease.entry.url.as_str())?;
            self.committer.leased(lease.entry.url.as_str(), inlinks);
        }
        let seen = shows(&result);
        (self.committer.look.seen, self.committer.look.since) = (None, None);
        let end = self.handle(&mut lease, result)?;
        let url = lease.entry.url.clone();
        if lease.entry.kind == EntryKind::Page && end == End::Done {
            let seen = self.committer.look.seen.take().unwrap_or(seen);
            self.committer.visited(url.as_str(), seen)?;
        }
        match self.committer.end(lease, end) {
            true => self.host_down(&url),
            false => Ok(()),
        }
    }

    fn handle(&mut self, lease: &mut Lease, result: LeaseResult) -> Result<End> {
        match result {
            LeaseResult::Quiet => Ok(End::Done),
            LeaseResult::Skip { cause, detail } => self.skipped(lease, cause, detail),
            LeaseResult::Unread { why, bytes } => self.unread(lease, &why, bytes),
            LeaseResult::Defer { reason, detail, fault } => {
                self.deferred(lease, reason, &detail, fault)
            }
            LeaseResult::Redirect { target, moved, sets_cookie } => match lease.entry.kind {
                // A redirect shows nothing about missing pages.
                EntryKind::Probe => Ok(End::Done),
                EntryKind::Sitemap => {
                    self.sitemap_moved(&lease.entry, &target)?;
                    Ok(End::Done)
                }
                EntryKind::Page => {
                    self.committer.seeds.fetched(&*self.frontier, lease.entry.url.as_str());
                    if sets_cookie {
                        self.cookie_walls.set_cookie(lease.entry.url.as_str());
                    }
                    self.redirected(lease, &target, moved)
                }
            },
            LeaseResult::Gone { status } => self.gone(lease, status),
            LeaseResult::Clean { target } => self.clean(lease, &target),
            LeaseResult::Given { result } => self.given(lease, result),
            LeaseResult::Sitemap { sitemap, .. } => {
                // A seed that lists pages.
                if lease.entry.kind == EntryKind::Page {
                    if sitemap.is_empty() {
                        let detail = "a sitemap or feed without a URL";
                        let url = lease.entry.url.as_str();
                        self.committer.skip(url, SkipReason::ContentType, detail)?;
                    } else {
                        self.committer.seeds.fetched(&*self.frontier, lease.entry.url.as_str());
                    }
                    self.end_former_alias(&lease.entry.url, None)?;
                    self.list_was_read(&lease.entry.url);
                    self.stats.release(&lease.host);
                }
                self.sitemap(&lease.entry, sitemap)?;
                Ok(End::Done)
            }
            LeaseResult::Claimed { claim } => self.claimed(lease, &claim),
            LeaseResult::Unchanged { response, time } => {
                self.committer.seeds.fetched(&*self.frontier, lease.entry.url.as_str());
                self.committer.unchanged(lease, &response, time)
            }
            LeaseResult::Page(page) => {
                let end = self.page(lease, *page)?;
                if lease.entry.kind == EntryKind::Page {
                    self.stats.release(&lease.host);
                }
                Ok(end)
            }
        }
    }

    fn host_down(&mut self, url: &Url) -> Result<()> {
        let host = url.join("/").unwrap_or_else(|_| url.clone());
        let detail = "it asks to be left alone, or too many requests in a row failed; what waits for \
                      this host is tried at the next run";
        self.committer.skip(host.as_str(), SkipReason::HostDown, detail)
    }

    fn page(&mut self, lease: &Lease, mut page: PageWork) -> Result<End> {
        let entry = &lease.entry;
        if entry.kind == EntryKind::Probe {
            self.missing.learn(&*self.frontier, &lease.host, &page)?;
            return Ok(End::Done);
        }
        if self.committer.forgotten(&page.url, &lease.host) {
            self.committer.skip(page.url.as_str(), SkipReason::Forgotten, "")?;
            self.committer.unused(&page);
            return Ok(End::Done);
        }
        if let Some(end) = self.behind_cookie(lease, &page)? {
            return Ok(end);
        }
        self.committer.seeds.fetched(&*self.frontier, page.url.as_str());
        if let Some(target) = self.meta_refresh_target(&page).cloned() {
            if page.response.header("set-cookie").is_some() {
                self.cookie_walls.set_cookie(entry.url.as_str());
            }
            return self.redirected(lease, &target, true);
        }
        self.end_former_alias(&page.url, None)?;
        if self.is_missing(&lease.host, &page)? {
            let mut detail = "like the answer to an address that does not exist, and another such page of this host was kept".to_owned();
            if self.committer.is_first_miss(page.url.as_str())? {
                detail.push_str(FIRST_MISS);
            } else {
                self.committer.gone(page.url.as_str())?;
            }
            self.committer.skip(page.url.as_str(), SkipReason::Soft404, &detail)?;
            self.committer.unused(&page);
            return Ok(End::Done);
        }
        self.links_of(&page, entry)?;
        // A recrawl reads pages again that were counted.
        let mut is_new = !self.committer.look.on;
        if self.links_only {
            self.committer.unused(&page);
        } else if page.document.robots.noindex {
            self.committer.skip(
                page.url.as_str(),
                SkipReason::Noindex,
                "the page asks not to be indexed",
            )?;
            self.committer.gone(page.url.as_str())?;
            self.committer.ask_again(page.url.as_str());
            self.committer.unused(&page);
        } else if self.blank.repeats(&*self.frontier, &lease.host, &page)? {
            let detail = "no visible text, and another blank page of this host was kept";
            self.committer.skip(page.url.as_str(), SkipReason::Blank, detail)?;
            self.committer.gone(page.url.as_str())?;
            self.committer.ask_again(page.url.as_str());
            self.committer.unused(&page);
        } else {
            if self.rules.have_depth() && entry.depth > 0 {
                self.committer.remember_depth(page.url.as_str(), entry.depth);
            }
            let validators = self.committer.validators_before(&page.url)?;
            let outcome = self.committer.page(&mut page)?;
            self.committer.check_validators(&page, &validators)?;
            self.check_claims(&page.url, &outcome)?;
            self.learn_urls(&page, &outcome)?;
            is_new = !matches!(outcome, Outcome::Known);
        }
        if is_new {
            self.calendars.add(&*self.frontier, &page)?;
        }
        if self.stats.host_pages(&lease.host) >= PROBE_AFTER
            && !self.links_only
            && let Some(probe) = self.missing.probe(&page.url, &lease.host)
        {
            self.frontier.push(probe)?;
        }
        Ok(End::Done)
    }

    /// Returns whether a page looks like its host's answer to a missing one, and another such page is kept. False for
    /// seeds and the home page.
    fn is_missing(&mut self, host: &str, page: &PageWork) -> Result<bool> {
        let first = page.url.path() == "/" && page.url.query().is_none();
        let can_be_kept = !self.links_only && !page.document.robots.noindex;
        Ok(!first
            && !self.seeds.contains(&page.url)
            && self.missing.repeats(&*self.frontier, host, page, can_be_kept)?)
    }
}
