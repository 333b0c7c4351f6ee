//! The commit thread owns the stores, decides about pages and logs the decisions. [`open`] brings the stores back in
//! step after a crash, [`group`] commits them.

mod group;
mod open;
mod state;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant, SystemTime};

use hapax_data::{
    Again, ComparedTexts, Comparison, Digests, Extent, Findings, InReference, LogCounts, PageMeta,
    References, Rows, SiteStore, SkipCause, SkipReason, Skipped, TextCache, TextChange, TextStore,
    site_of_key, url_of_key,
};
use hapax_dedup::{Neighbour, Store};
use hapax_extract::Recipe;
use hapax_frontier::{End, Frontier, Lease};
use hapax_page::sites::site_of_url;
use hapax_url::url_key;
use hapax_warc::{Location, Packer, WarcOptions, format_time};

use self::state::{CacheNotice, Group, Logs, Run, Search, SecondLook, Warc};
use crate::admission::Skip;
use crate::ahead::Ahead;
use crate::error::Result;
use crate::event::{Event, Observer};
use crate::page::PageWork;
use crate::received::Received;
use crate::seeds::Seeds;
use crate::sink::Sinks;
use crate::stats::Stats;
use crate::verdicts::{Asked, SharedVerdict};
use crate::visits::Seen;

pub(crate) use self::state::GROUP_PAGES;

/// Which stores a job uses, and how.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    pub(crate) recipe: Recipe,
    pub(crate) policy: hapax_dedup::Policy,
    pub(crate) warc: bool,
    pub(crate) index: bool,
    /// Write skipped.jsonl although there is no frontier.
    pub(crate) skips: bool,
    pub(crate) shared: bool,
    /// A crawl with seeds was made here, whose frontier records what is committed.
    pub(crate) has_seeds: bool,
    /// Store duplicates too, so that later documents can match them.
    pub(crate) keep_duplicates: bool,
    /// Count the lines of each site.
    pub(crate) sites: bool,
    /// Stores of other crawls.
    pub(crate) against: Arc<References>,
}

/// Name of the frontier's note with the number of fetched pages of a host.
pub(super) const HOST_PAGES: &str = "pages";
#[derive(Debug)]
pub(crate) struct Committer {
    pub(crate) observer: Observer,
    pub(crate) sinks: Sinks,
    pub(super) store: Arc<Store>,
    pub(super) search: Search,
    pub(super) warc: Warc,
    pub(super) logs: Logs,
    pub(super) shared: Option<Asked>,
    pub(super) root: PathBuf,
    pub(super) frontier: Option<Arc<dyn Frontier>>,
    /// Responses on disk until their commit, if this job fetches pages.
    pub(super) received: Option<Arc<Received>>,
    pub(super) stats: Arc<Stats>,
    pub(super) texts: TextCache,
    /// The comparison texts of kept pages.
    pub(super) compared: Arc<TextStore>,
    /// How many kept pages of each site contain a line.
    pub(super) sites: SiteStore,
    /// Stores of other crawls, which are only read.
    pub(super) references: Arc<References>,
    /// Canonical URLs that kept pages name and that are not their own. Used if there is no frontier to remember them.
    pub(super) named: BTreeMap<u64, String>,
    pub(super) run: Run,
    pub(super) look: SecondLook,
    pub(crate) seeds: Seeds,
    /// Hosts with fetched pages in the last group, and their number of pages ever fetched.
    hosts: Vec<(String, u64)>,
    pub(super) digests: Digests,
    pub(super) policy: hapax_dedup::Policy,
    pub(super) recipe: Recipe,
    pub(super) keeps_duplicates: bool,
    /// The URL whose result is handled, and its inlinks.
    leased: (String, Vec<String>),
    group: Group,
    cache: CacheNotice,
}

#[derive(Debug)]
pub(crate) enum Outcome {
    /// It was kept. Other kept pages may have its name and most of its words.
    New {
        versions_of: Vec<u64>,
    },
    Known,
    Duplicate(Neighbour),
    /// It replaced the page with this URL, which it duplicates.
    Better(String),
    /// A reference has it, so it was discarded.
    Against(Box<InReference>),
}

/// What the tables find for a page.
#[derive(Debug, Default)]
struct Best {
    duplicate_of: Option<Neighbour>,
    /// The comparison with it.
    compared: Option<ComparedTexts>,
    /// Pages with the same name and most of the words, if it is no duplicate.
    versions_of: Vec<u64>,
}

impl Committer {
    /// Returns the time spent on this data directory, earlier runs included.
    pub(crate) fn elapsed(&self) -> Duration {
        self.run.before + self.run.started.elapsed()
    }

    pub(crate) const fn recipe(&self) -> Recipe {
        self.recipe
    }

    pub(crate) fn packer(&self) -> Option<Packer> {
        self.warc.writer.as_ref().map(|_| Packer::new(WarcOptions::default().level))
    }

    /// Returns what workers need to compare pages ahead; `None` if nothing is compared.
    pub(crate) fn ahead(&self) -> Option<Ahead> {
        let compares = !self.policy.hamming_only;
        let references = Arc::clone(&self.references);
        let is_needed = self.shared.is_none() && (compares || !references.is_empty());
        let (store, texts) = (Arc::clone(&self.store), Arc::clone(&self.compared));
        is_needed.then_some(Ahead { store, texts, compares, references, looks: self.look.on })
    }

    pub(crate) fn texts(&self) -> &TextStore {
        &self.compared
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Decides about a page, and indexes or logs it. The page then has the documents of references that it
    /// duplicates, as far as they were needed.
    pub(crate) fn page(&mut self, page: &mut PageWork) -> Result<Outcome> {
        let findings = std::mem::take(&mut page.findings);
        let mut against = page.against.take();
        let outcome = self.decide_page(page, findings, &mut against)?;
        page.against = against;
        Ok(outcome)
    }

    fn decide_page(
        &mut self,
        page: &PageWork,
        findings: Findings,
        against: &mut Option<Vec<InReference>>,
    ) -> Result<Outcome> {
        let url = page.url.as_str();
        let key = page.key.as_deref().unwrap_or(url);
        let mut superseded = None;
        (self.look.changed, self.look.change) = (false, None);
        if let Some(known) = self.store.id_of(key.as_bytes())? {
            let renewed = self.look.renewed.contains(&url_key(url));
            self.look.since = self.store.record(known)?.map(|record| record.time);
            if !self.look.on || (!renewed && self.is_unchanged(known, page)?) {
                if self.look.on {
                    self.stats.update(|counts| counts.unchanged += 1);
                }
                if self.store.record(known)?.is_some_and(|record| record.of.is_none()) {
                    self.remember_named(page, known);
                }
                self.tell_known(known)?;
                return Ok(Outcome::Known);
            }
            self.leased = (url.to_owned(), self.inlinks(url)?);
            self.look.seen = Some(match page.delta {
                Some(delta) if delta.is_volatile => Seen::Same,
                _ => Seen::Changed,
            });
            self.look.change = Some(TextChange {
                similarity: page.delta.map(|delta| delta.similarity),
                before: self.place_of(known).map(|(place, _)| place).filter(|p| !p.is_empty()),
                after: None,
            });
            self.supersede(known, url)?;
            superseded = Some(known);
            self.look.changed = true;
        }
        if self.logs.decisions.forgotten(url, &page.host) {
            self.skip(url, SkipReason::Forgotten, "")?;
            self.event_of_unused_change(superseded, key)?;
            self.unused(page);
            return Ok(Outcome::Known);
        }
        let document = page.stored(key.as_bytes());
        let best = match self.ask_all(&document)? {
            None => self.best(page, &document, findings)?,
            Some(SharedVerdict::New) => Best::default(),
            Some(SharedVerdict::Duplicate(of)) => {
                Best { duplicate_of: Some(of), ..Best::default() }
            }
            Some(SharedVerdict::Taken) => {
                self.skip(url, SkipReason::LeaseLost, "another worker fetched it in the meantime")?;
                self.event_of_unused_change(superseded, key)?;
                self.unused(page);
                return Ok(Outcome::Known);
            }
        };
        let outcome = self.store_page(page, &document, best, against)?;
        self.count_decided(page, &outcome);
        Ok(outcome)
    }

    fn count_decided(&mut self, page: &PageWork, outcome: &Outcome) {
        let is_discarded = matches!(outcome, Outcome::Duplicate(_) | Outcome::Against(_));
        let (has_changed, is_recrawl) = (self.look.changed, self.look.on);
        if page.depth.is_some() {
            let host = page.host.clone();
            self.stats.host_page(&host);
            if is_discarded {
                self.stats.host_discarded(&host);
            }
            self.remember_validators(page, outcome);
        }
        self.stats.update(|counts| {
            counts.fetched += 1;
            counts.changed += u64::from(has_changed);
            counts.added += u64::from(is_recrawl && !has_changed && !is_discarded);
            counts.bytes += page.response.raw.len() as u64;
            if is_discarded {
                counts.discarded_bytes += page.response.body.len() as u64;
            }
        });
    }

    /// Keeps or discards a page. An own page that it duplicates is named before a document of a reference.
    fn store_page(
        &mut self,
        page: &PageWork,
        document: &hapax_dedup::Document<'_>,
        Best { duplicate_of: best, compared, versions_of }: Best,
        against: &mut Option<Vec<InReference>>,
    ) -> Result<Outcome> {
        let time = format_time(page.time);
        let better = match &best {
            Some(best) => self.is_better(page, best)?,
            None => false,
        };
        // References are not needed for a page that is discarded in any case.
        let found = match best.is_none() || better {
            true => self.in_references(page, document, against.take())?,
            false => Vec::new(),
        };
        let marks = InReference::stores(&found);
        let first = found.first().filter(|_| !self.references.marks()).cloned();
        *against = Some(found);
        Ok(match (best, first) {
            (None, Some(found)) => {
                self.discard_against(page, document, &found, time)?;
                Outcome::Against(Box::new(found))
            }
            (None, None) => {
                let id = self.store.insert(document, None)?;
                let location = self.archive(page, id, None)?;
                self.keep(page, id, &time, (location, marks))?;
                self.remember_named(page, id);
                Outcome::New { versions_of }
            }
            (Some(best), None) if better => {
                let other = self.url_of(best.id)?;
                self.take_over(page, document, &best, marks)?;
                self.tell_better(&other, page.url.as_str())?;
                Outcome::Better(other)
            }
            (Some(best), _) => {
                let id = self.store.insert(document, Some(best.id))?;
                let location = self.archive(page, id, Some(&best))?;
                self.discard(page, id, (&best, compared), time, location)?;
                Outcome::Duplicate(best)
            }
        })
    }

    /// Returns the stored documents that a page duplicates or is a version of, and the comparison of the texts.
    fn best(
        &self,
        page: &PageWork,
        document: &hapax_dedup::Document<'_>,
        known: Findings,
    ) -> Result<Best> {
        let url = page.url.as_str();
        let mut comparison = Comparison::new(&self.compared, &page.compared, known);
        let best = if self.logs.decisions.has_distinct(url) {
            let all = self.matches_by(page, document, Extent::All, &mut comparison)?;
            self.first_alike(url, all.into_iter())?
        } else {
            self.matches_by(page, document, Extent::Few, &mut comparison)?.into_iter().next()
        };
        let compared = best.and_then(|best| Some((best.id, comparison.take(best.id)?)));
        // Here, and not on the worker: these counts depend on the order of pages only.
        let compared = compared.map(|(of, compared)| {
            let own = site_of_url(&page.url);
            let kept = self.store.record(of)?.and_then(|kept| {
                // The key of a document of `crawl dedup` is no URL.
                site_of_key(&kept.key).or_else(|| own.filter(|_| kept.site == document.site))
            });
            hapax_dedup::Result::Ok(compared.with_sites(&self.sites, [own, kept]))
        });
        let versions_of = if best.is_none() { comparison.versions_of() } else { Vec::new() };
        Ok(Best { duplicate_of: best, compared: compared.transpose()?, versions_of })
    }

    /// Returns the stored documents that a page duplicates, best first.
    pub(crate) fn matches(
        &self,
        page: &PageWork,
        document: &hapax_dedup::Document<'_>,
        extent: Extent,
    ) -> Result<Vec<Neighbour>> {
        let mut comparison = Comparison::new(&self.compared, &page.compared, Findings::new());
        self.matches_by(page, document, extent, &mut comparison)
    }

    fn matches_by(
        &self,
        page: &PageWork,
        document: &hapax_dedup::Document<'_>,
        extent: Extent,
        comparison: &mut Comparison<'_>,
    ) -> Result<Vec<Neighbour>> {
        let former = page.evidence.comparison_text.features.former_digest;
        let former = former.filter(|_| self.digests.has_former());
        Ok(hapax_data::matches(&self.store, document, former, extent, Some(comparison))?)
    }

    pub(crate) const fn digests(&self) -> Digests {
        self.digests
    }

    /// Records that all stored documents have these digests, from the next commit on.
    pub(super) fn set_digests(&mut self, digests: Digests) {
        self.digests = digests;
        self.stats.needs_upgrade.store(digests.needs_upgrade(), Relaxed);
    }

    /// Logs a URL that was not fetched or not used.
    pub(crate) fn skip(
        &mut self,
        url: &str,
        cause: impl Into<SkipCause>,
        detail: &str,
    ) -> Result<()> {
        self.skip_line(&Skipped::new(format_time(SystemTime::now()), url, cause, detail))
    }

    /// Logs a URL that rules refuse.
    pub(crate) fn skip_refused(&mut self, skip: Skip) -> Result<()> {
        let Skip { url, cause, detail, depth, sitemap, again, rule, from } = skip;
        let line = Skipped::new(format_time(SystemTime::now()), url, cause, detail);
        let flag = if rule.is_some() { Some("--rules".to_owned()) } else { line.flag.clone() };
        let from = from.into_iter().map(String::from).collect();
        self.skip_line(&Skipped { depth, sitemap, again, rule, flag, from, ..line })
    }

    /// Sets the inlinks of the URL whose result is handled next.
    pub(crate) fn leased(&mut self, url: &str, inlinks: Vec<String>) {
        self.leased = (url.to_owned(), inlinks);
    }

    /// Returns the first pages, redirects and sitemaps that led to a URL. A recrawl finds those of a known page in the
    /// index.
    pub(crate) fn inlinks(&self, url: &str) -> Result<Vec<String>> {
        match &self.leased {
            (leased, inlinks) if leased == url && !inlinks.is_empty() => Ok(inlinks.clone()),
            _ if !self.look.on => Ok(Vec::new()),
            _ => match (self.store.id_of(url.as_bytes())?, &self.search.earlier) {
                (Some(id), Some(earlier)) => {
                    let page = earlier.page(id)?;
                    Ok(page.map(|page| PageMeta::from_json(&page.meta).from).unwrap_or_default())
                }
                _ => Ok(Vec::new()),
            },
        }
    }

    pub(crate) fn skip_line(&mut self, line: &Skipped) -> Result<()> {
        let mut line = line.clone();
        if let Some(frontier) = &self.frontier {
            let again = line.again.unwrap_or_else(|| line.reason.again());
            // Workers of a cluster request no failed seed again, and neither recrawl nor retry.
            let by_every_run = again == Again::Recrawl
                && !line.reason.uses_the_page()
                && self.seeds.holds(&line.url);
            line.again = Some(match by_every_run {
                true if self.is_shared() => Again::Never,
                true => Again::Seed,
                false => again,
            });
            if line.from.is_empty() && line.count.is_none() {
                line.from = self.inlinks(&line.url)?;
            }
            self.seeds.skipped(&**frontier, &line);
        }
        let line = &line;
        self.logs.skipped.append(line)?;
        self.observer.tell(&Event::Skipped { line })?;
        self.stats.skip(line.reason);
        self.group.lines += 1;
        Ok(())
    }

    /// Counts a page that was fetched and must not be used.
    pub(crate) fn unused(&mut self, page: &PageWork) {
        let host = page.depth.map(|_| page.host.clone());
        self.count_unused(host.as_deref(), page.response.raw.len() as u64);
    }

    /// Counts a response whose body is not used.
    pub(super) fn count_unused(&self, host: Option<&str>, bytes: u64) {
        if let Some(host) = host {
            self.stats.host_page(host);
        }
        self.stats.update(|counts| {
            counts.fetched += 1;
            counts.bytes += bytes;
        });
    }

    /// Ends a lease. Returns whether this gives up its host.
    pub(crate) fn end(&mut self, lease: Lease, end: End) -> bool {
        if end == End::Done {
            if let Some(received) = &self.received {
                received.finish(&lease.entry);
            }
            self.count_in_group();
        }
        self.frontier.as_ref().is_some_and(|frontier| frontier.end(lease, end, Instant::now()))
    }

    pub(crate) const fn count_in_group(&mut self) {
        self.group.pages += 1;
    }

    /// Recomputes the duplicate counters from the log and the decisions, which are authoritative. Earlier changes
    /// must be committed.
    pub(crate) fn count_by_log(&mut self) -> Result<LogCounts> {
        let log = LogCounts::of(&Rows::open(&self.root)?);
        if self.stats.take_discarded(&log) {
            self.commit_as_it_is()?;
        }
        Ok(log)
    }

    /// Returns where a kept page is stored in the WARC, and when it was fetched.
    pub(super) fn place_of(&self, id: u64) -> Option<(String, String)> {
        if let Some((location, time)) = self.warc.places.get(&id) {
            return Some((place(location), format_time(*time)));
        }
        let hit = self.search.earlier.as_ref()?.page(id).ok()??;
        Some((hit.stored_at, hit.fetched))
    }

    /// Returns a random number that only this data directory knows.
    pub(super) const fn secret(&self) -> u64 {
        self.warc.name
    }

    pub(super) fn record_id(&self, id: u64) -> String {
        format!("urn:hapax:{:016x}:page:{id}", self.warc.name)
    }

    pub(super) fn url_of(&self, id: u64) -> Result<String> {
        let record = self.store.record(id)?;
        let key = record.map(|r| String::from_utf8_lossy(&r.key).into_owned()).unwrap_or_default();
        Ok(url_of_key(&key).to_owned())
    }
}

pub(super) fn place(location: &Location) -> String {
    format!("{}:{}", location.file, location.offset)
}
