//! The commit thread's work: it owns the stores, and commits them in an order in which a crash
//! between any two steps repeats work and loses none:
//! WARC -> logs -> index -> dedup -> frontier.

use std::collections::{BTreeMap, HashSet};
use std::hash::BuildHasher;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant, SystemTime};

use crate::error::Result;
use hapax_data::Context;
use hapax_data::SkipReason;
use hapax_dedup::{Neighbour, Options, Store};
use hapax_extract::{Recipe, jieba};
use hapax_frontier::{Frontier, Lease};
use hapax_index::{Index, Searcher, StoredPage};
use hapax_url::{host_key, url_key};
use hapax_warc::{Location, WarcOptions, Writer, format_time};

use super::event::{Event, Observer};
use super::intact;
use super::page::PageWork;
use super::received::Received;
use super::rules::Refusal;
use super::sink::Sinks;
use super::stats::Stats;
use super::verdicts::{Asked, Told};
use crate::error::Error;
use hapax_data::DataDir;
use hapax_data::TextCache;
use hapax_data::url_of_key;
use hapax_data::{Committed, Log, Skipped};
use hapax_data::{Decisions, LogCounts, Rows};
use hapax_data::{Digests, Extent};
use hapax_data::{PagePosition, SkipPosition, digests_of, read_position};

/// Which stores a job uses, and how.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    /// What fingerprints are made of.
    pub(crate) recipe: Recipe,
    pub(crate) policy: hapax_dedup::Policy,
    pub(crate) warc: bool,
    pub(crate) index: bool,
    /// Without a frontier: skipped.jsonl is written all the same.
    pub(crate) skips: bool,
    /// Frontier and verdicts are shared with other workers.
    pub(crate) shared: bool,
    /// It is a crawl with seeds, whose frontier says what is committed.
    pub(crate) has_seeds: bool,
    /// Store duplicates too, so that later documents can match them.
    pub(crate) keep_duplicates: bool,
}

/// Memory of the dedup store before it writes a segment.
const DEDUP_MEMORY: usize = 32 << 20;
/// Under this name the frontier remembers how many pages of a host were fetched.
pub(super) const HOST_PAGES: &str = "pages";
/// Where so many pages lie is held in memory; of more the index is asked.
const MOST_PLACES: usize = 1 << 16;
/// A group of pages is committed at this size or age.
pub(super) const GROUP_PAGES: u64 = 1000;
/// Or for so many lines about refused URLs: one page may have as many.
const GROUP_LINES: u64 = 10_000;
const GROUP_AGE: Duration = Duration::from_secs(1);

/// Owns dedup store, index, WARC and logs.
#[derive(Debug)]
pub(crate) struct Committer {
    pub(crate) observer: Observer,
    pub(crate) sinks: Sinks,
    pub(super) store: Store,
    pub(super) index: Option<Index>,
    pub(super) warc: Option<Writer>,
    pub(super) discarded: Log,
    skipped: Log,
    pub(super) decided: Log,
    pub(super) decisions: Decisions,
    /// Verdicts of all workers, where there are others.
    pub(super) shared: Option<Asked>,
    /// Pages that leave the index with the next commit.
    pub(super) leaving: Vec<u64>,
    /// Pages that were added to the index since the last commit.
    pub(super) added: HashSet<u64>,
    /// Pages are added to the index; without it, they only leave it.
    pub(super) indexes: bool,
    /// skipped.jsonl is this job's to write, though it has no frontier.
    skips: bool,
    /// Pages kept since the last commit, without their texts.
    pub(super) recent: BTreeMap<u64, StoredPage>,
    pub(super) root: PathBuf,
    pub(super) frontier: Option<Arc<dyn Frontier>>,
    /// Answers that wait for their commit, where pages are fetched.
    pub(super) received: Option<Arc<Received>>,
    pub(super) stats: Arc<Stats>,
    pub(super) pages_folder: PathBuf,
    pub(super) texts: TextCache,
    /// Where the pages kept in this run lie in the WARC, and when they were fetched.
    pub(super) kept: BTreeMap<u64, (Location, SystemTime)>,
    /// Kept pages that name another address as their own, where no frontier remembers it.
    pub(super) named: BTreeMap<u64, String>,
    /// The same for earlier runs' pages.
    pub(super) earlier: Option<Searcher>,
    /// The archive's end, also while this job writes none: a length of 0 would empty it.
    archived: (u32, u64),
    archive_name: u64,
    skipped_elsewhere: Committed,
    /// Where seeds moved to, earlier runs included.
    pub(super) moved_seeds: Vec<String>,
    /// Nothing is left to do, as far as the last commit knew.
    finished: bool,
    /// Known pages are looked at again.
    pub(super) recrawl: bool,
    /// Of these, pages that are taken for changed: the archive has no whole record of them.
    pub(super) renewed: HashSet<u128>,
    pub(super) looking: bool,
    /// Pages fetched before that began.
    pub(super) looked_at_before: u64,
    /// What was discarded before; opened when a known page has changed.
    pub(super) rows_before: Option<Rows>,
    /// The rules by which URLs were refused.
    pub(super) rules: String,
    /// A page was fetched where the crawl begins, if that is known.
    pub(super) seed_fetched: Option<bool>,
    /// Of which pages were fetched in the last group, and how many ever.
    hosts: Vec<(String, u64)>,
    /// Which digests the store's records have.
    pub(super) digests: Digests,
    pub(super) policy: hapax_dedup::Policy,
    pub(super) recipe: Recipe,
    before: Duration,
    started: Instant,
    /// Since the last commit: pages and what else came to an end, and lines about refused URLs.
    pending: u64,
    lines: u64,
    since: Instant,
    /// Whether the store's cache was asked for damage, and had some.
    cache_asked: bool,
    cache_told: bool,
}

const CACHE_DAMAGED: &str =
    "dedup/ids, a cache, was damaged: set aside as ids.damaged, it is made anew";

/// What became of a page.
#[derive(Debug)]
pub(crate) enum Outcome {
    New,
    Known,
    Duplicate(Neighbour),
    /// It took the place of the page that it duplicates.
    Better,
}

impl Committer {
    /// Opens the stores and brings them back in step after a crash.
    pub(crate) fn open(
        data: &DataDir,
        parts: &Parts,
        frontier: Option<Arc<dyn Frontier>>,
        stats: Arc<Stats>,
    ) -> Result<Self> {
        let options = Options {
            policy: parts.policy,
            recipe: parts.recipe.name().to_owned(),
            keep_duplicates: parts.keep_duplicates,
            memtable_bytes: DEDUP_MEMORY,
            merge_bytes: DEDUP_MEMORY,
            // A crawl offers a thousand pages a second: its memory is better spent elsewhere.
            resident_bytes: 0,
            strong_digests: true,
            ..Options::default()
        };
        intact::has_store(data)?;
        let store = Store::open(data.dedup(), options).map_err(|error| match error {
            hapax_dedup::Error::Recipe { stored, asked } => {
                // A recipe of another version cannot be asked for.
                let way = match Recipe::parse(&stored) {
                    Some(_) => format!("give --recipe {stored}, or another --data"),
                    None => "use the version that made it, another --data, or --fresh".to_owned(),
                };
                let made = format!("this data directory was made by recipe {stored}, not {asked}");
                Error::invalid(format!("{made}: {way}"))
            }
            error => error.into(),
        })?;
        let pages: PagePosition = read_position(&store.payload())?;
        let digests = digests_of(&store.payload())?;
        let skips: SkipPosition = match &frontier {
            Some(frontier) => SkipPosition::read(&frontier.payload()?)?,
            None => SkipPosition::default(),
        };
        let archive = match pages.archive {
            // No two hashers have the same keys.
            0 => std::hash::RandomState::new().hash_one(pages.warc_length),
            archive => archive,
        };
        let there = data.index().join("meta.json").exists();
        if parts.index && !there {
            intact::has_index(data, pages.counts.indexed, pages.counts.fetched)?;
        }
        let index = if parts.index || there {
            Some(open_index(data, store.next_id(), &pages.leaves_index)?)
        } else {
            None
        };
        let warc = if parts.warc {
            let (file, length) = (pages.warc_file.max(1), pages.warc_length);
            let software = concat!("hapax/", env!("CARGO_PKG_VERSION")).to_owned();
            let name = format!("{archive:016x}");
            let options = WarcOptions { software, archive: name, ..WarcOptions::default() };
            let writer = Writer::open(&data.pages(), file, length, options);
            let what = |error: std::io::Error| match error.kind() {
                // Less is there than was committed.
                ErrorKind::NotFound | ErrorKind::UnexpectedEof | ErrorKind::InvalidData => {
                    Error::damaged(format!("{}: {error}", data.pages().display()))
                }
                _ => {
                    let context = data.pages().display().to_string();
                    hapax_data::Error::Io { context, source: error }.into()
                }
            };
            Some(writer.map_err(what)?)
        } else {
            None
        };
        let known = intact::knows_skipped(
            data,
            frontier.as_deref(),
            store.payload().is_empty(),
            parts.has_seeds,
        )?;
        let elsewhere = Committed { length: pages.skipped, sum: pages.skipped_sum };
        let skipped =
            Committed { length: skips.skipped, sum: skips.skipped_sum }.or_longer(elsewhere);
        let discarded = Committed { length: pages.discarded, sum: pages.discarded_sum };
        let decisions = Committed { length: pages.decisions, sum: pages.decisions_sum };
        let committer = Self {
            observer: Observer::default(),
            sinks: Sinks::default(),
            store,
            index,
            warc,
            discarded: Log::open(&data.discarded(), Some(discarded))?,
            skipped: Log::open(&data.skipped(), known.then_some(skipped))?,
            decided: Log::open(&data.root().join("decisions.jsonl"), Some(decisions))?,
            // Read after the log was cut back.
            decisions: Decisions::read(data.root())?,
            shared: None,
            leaving: Vec::new(),
            added: HashSet::new(),
            indexes: parts.index,
            skips: parts.skips,
            recent: BTreeMap::new(),
            root: data.root().to_owned(),
            frontier,
            received: None,
            stats,
            pages_folder: data.pages(),
            texts: TextCache::default(),
            kept: BTreeMap::new(),
            named: BTreeMap::new(),
            earlier: Searcher::open(&data.index(), jieba).ok(),
            archived: (pages.warc_file, pages.warc_length),
            archive_name: archive,
            skipped_elsewhere: elsewhere,
            moved_seeds: skips.moved_seeds,
            finished: skips.finished,
            recrawl: skips.recrawl,
            renewed: HashSet::new(),
            looking: skips.looking,
            looked_at_before: skips.looked_at_before,
            rows_before: None,
            rules: skips.rules,
            seed_fetched: skips.seed_fetched,
            hosts: pages.hosts,
            digests,
            policy: parts.policy,
            recipe: parts.recipe,
            before: Duration::from_millis(skips.elapsed_ms),
            started: Instant::now(),
            pending: 0,
            lines: 0,
            since: Instant::now(),
            cache_asked: false,
            cache_told: false,
        };
        committer.stats.restore(pages.counts, skips.counts);
        committer.stats.needs_upgrade.store(digests.needs_upgrade(), Relaxed);
        if let Some(frontier) = committer.frontier.as_ref().filter(|_| !parts.shared) {
            frontier.notes(HOST_PAGES, &mut |host, pages| {
                committer.stats.restore_host(host, pages);
            })?;
            for (host, fetched) in &committer.hosts {
                committer.stats.at_least(host, *fetched);
            }
        }
        Ok(committer)
    }

    /// Time spent on this data directory, earlier runs included.
    pub(crate) fn elapsed(&self) -> Duration {
        self.before + self.started.elapsed()
    }

    /// What fingerprints are made of.
    pub(crate) const fn recipe(&self) -> Recipe {
        self.recipe
    }

    /// The dedup store.
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Decides about a page, and indexes or logs it. The lease, if there is one, is finished.
    pub(crate) fn page(&mut self, page: &PageWork) -> Result<Outcome> {
        let url = page.url.as_str();
        let key = page.key.as_deref().unwrap_or(url);
        if let Some(known) = self.store.id_of(key.as_bytes())? {
            let renewed = self.renewed.contains(&url_key(url));
            if !self.recrawl || (!renewed && self.is_unchanged(known, page)?) {
                if self.recrawl {
                    self.stats.update(|counts| counts.unchanged += 1);
                }
                if self.store.record(known)?.is_some_and(|record| record.of.is_none()) {
                    self.remember_named(page, known);
                }
                self.tell_known(known)?;
                self.finish(page.lease.as_ref());
                return Ok(Outcome::Known);
            }
            self.supersede(known, url)?;
        }
        if self.decisions.forgotten(url, &host_key(&page.url)) {
            self.skip(url, SkipReason::Forgotten, "")?;
            self.unused(page);
            return Ok(Outcome::Known);
        }
        let document = page.stored(key.as_bytes());
        let best = match self.ask_all(&document)? {
            None => match self.decisions.has_distinct(url) {
                false => self.matches(page, &document, Extent::Few)?.into_iter().next(),
                true => {
                    let all = self.matches(page, &document, Extent::All)?;
                    self.first_alike(url, all.into_iter())?
                }
            },
            Some(Told::New) => None,
            Some(Told::Duplicate(of)) => Some(of),
            Some(Told::Taken) => {
                self.skip(url, SkipReason::LeaseLost, "another worker has fetched it meanwhile")?;
                self.unused(page);
                return Ok(Outcome::Known);
            }
        };
        let time = format_time(page.time);
        let bytes = page.response.body.len() as u64;
        let outcome = match best {
            None => {
                let id = self.store.insert(&document, None)?;
                let location = self.archive(page, id, None)?;
                self.keep(page, id, &time, location)?;
                self.remember_named(page, id);
                Outcome::New
            }
            Some(best) if self.is_better(page, &best)? => {
                let other = self.url_of(best.id)?;
                self.take_over(page, &document, &best)?;
                self.tell_better(&other, url)?;
                Outcome::Better
            }
            Some(best) => {
                let id = self.store.insert(&document, Some(best.id))?;
                let location = self.archive(page, id, Some(&best))?;
                self.discard(page, id, &best, time, location)?;
                Outcome::Duplicate(best)
            }
        };
        if let Some(lease) = &page.lease {
            self.stats.host_page(&lease.host);
            if matches!(outcome, Outcome::Duplicate(_)) {
                self.stats.host_discarded(&lease.host);
            }
            self.remember_validators(page, &outcome);
        }
        self.stats.update(|counts| {
            counts.fetched += 1;
            counts.bytes += page.response.raw.len() as u64;
            if matches!(outcome, Outcome::Duplicate(_)) {
                counts.discarded_bytes += bytes;
            }
        });
        self.finish(page.lease.as_ref());
        Ok(outcome)
    }

    /// The stored documents that a page duplicates, best first.
    pub(crate) fn matches(
        &self,
        page: &PageWork,
        document: &hapax_dedup::Document<'_>,
        extent: Extent,
    ) -> Result<Vec<Neighbour>> {
        let former = page.evidence.basis.features.former_digest;
        let former = former.filter(|_| self.digests.has_former());
        Ok(hapax_data::matches(&self.store, document, former, extent)?)
    }

    /// Which digests the store's records have.
    pub(crate) const fn digests(&self) -> Digests {
        self.digests
    }

    /// They have others from the next commit on.
    pub(super) fn set_digests(&mut self, digests: Digests) {
        self.digests = digests;
        self.stats.needs_upgrade.store(digests.needs_upgrade(), Relaxed);
    }

    /// Logs a URL that was not fetched or not used.
    pub(crate) fn skip(&mut self, url: &str, reason: SkipReason, detail: &str) -> Result<()> {
        self.skip_line(&Skipped::new(format_time(SystemTime::now()), url, reason, detail))
    }

    /// The same of a URL that rules refuse.
    pub(crate) fn skip_refused(&mut self, refusal: Refusal) -> Result<()> {
        let Refusal { url, reason, detail, depth, sitemap } = refusal;
        let line = Skipped::new(format_time(SystemTime::now()), url, reason, detail);
        self.skip_line(&Skipped { depth, sitemap, ..line })
    }

    /// Adds a line to skipped.jsonl.
    pub(crate) fn skip_line(&mut self, line: &Skipped) -> Result<()> {
        self.skipped.append(line)?;
        self.observer.tell(&Event::Skipped { line })?;
        self.stats.skip(line.reason);
        self.lines += 1;
        Ok(())
    }

    /// A page that was fetched and must not be used: counted, not kept.
    pub(crate) fn unused(&mut self, page: &PageWork) {
        self.count_unused(page.lease.as_ref(), page.response.raw.len() as u64);
        self.finish(page.lease.as_ref());
    }

    /// Counts a response with a body that is not used.
    pub(super) fn count_unused(&self, lease: Option<&Lease>, bytes: u64) {
        if let Some(lease) = lease {
            self.stats.host_page(&lease.host);
        }
        self.stats.update(|counts| {
            counts.fetched += 1;
            counts.bytes += bytes;
        });
    }

    /// A lease has come to its end.
    pub(crate) fn finish(&mut self, lease: Option<&Lease>) {
        if let (Some(frontier), Some(lease)) = (&self.frontier, lease) {
            frontier.finish(lease);
        }
        if let (Some(received), Some(lease)) = (&self.received, lease) {
            received.finish(&lease.entry);
        }
        self.pending += 1;
    }

    /// Commits if the group is large or old enough.
    pub(crate) fn maybe_commit(&mut self) -> Result<bool> {
        let full = self.pending >= GROUP_PAGES || self.lines >= GROUP_LINES;
        if full || (self.pending + self.lines > 0 && self.is_old()) {
            self.commit(false)?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Whether the last commit is so long ago that there should be another, if there is anything for it.
    pub(super) fn is_old(&self) -> bool {
        self.since.elapsed() >= GROUP_AGE
    }

    /// Makes everything done so far durable, whether the job is finished or not.
    pub(super) fn commit_as_it_is(&mut self) -> Result<()> {
        self.commit(self.finished)
    }

    /// Makes everything done so far durable, in order.
    pub(crate) fn commit(&mut self, finished: bool) -> Result<()> {
        self.finished = finished;
        self.looking &= !finished;
        if !self.cache_asked {
            // Not at the start: nobody waits for a cache.
            self.cache_asked = true;
            self.cache_told = self.store.cache_was_set_aside();
            if self.cache_told {
                tracing::warn!("{CACHE_DAMAGED}");
            }
        }
        if self.frontier.is_some() && self.shared.is_none() {
            let hosts = self.stats.new_host_pages();
            if !hosts.is_empty() {
                self.hosts = hosts;
            }
        }
        let mut position = PagePosition {
            counts: self.stats.pages(),
            archive: self.archive_name,
            hosts: self.hosts.clone(),
            digests: self.digests,
            ..PagePosition::default()
        };
        if let Some(warc) = &mut self.warc {
            self.archived = warc.sync().context("pages/")?;
        }
        (position.warc_file, position.warc_length) = self.archived;
        let discarded = self.discarded.sync().context("discarded.jsonl")?;
        (position.discarded, position.discarded_sum) = (discarded.length, discarded.sum);
        let decisions = self.decided.sync().context("decisions.jsonl")?;
        (position.decisions, position.decisions_sum) = (decisions.length, decisions.sum);
        let skipped = self.skipped.sync().context("skipped.jsonl")?;
        if self.frontier.is_none() && self.skips {
            self.skipped_elsewhere = skipped;
        }
        (position.skipped, position.skipped_sum) =
            (self.skipped_elsewhere.length, self.skipped_elsewhere.sum);
        if let Some(index) = &mut self.index {
            index.commit()?;
        }
        self.sinks.commit()?;
        position.leaves_index = std::mem::take(&mut self.leaving);
        self.store.commit(&serde_json::to_vec(&position)?)?;
        // A page leaves the index only when the store says so for good: a crash in between leaves
        // one too many there, which the next open takes out.
        if let Some(index) = self.index.as_mut().filter(|_| !position.leaves_index.is_empty()) {
            for &id in &position.leaves_index {
                index.delete(id);
            }
            index.commit()?;
        }
        let lost = self.settle_shared()?;
        if let Some(frontier) = &self.frontier {
            self.stats.changed_hosts(|host, pages| {
                if self.shared.is_some() {
                    // Of a crawl of many workers each counts its own, in this run.
                    return;
                }
                frontier.note(host, HOST_PAGES, pages);
            });
            let recrawl = self.recrawl && !(finished && frontier.counts().queued == 0);
            let position = SkipPosition {
                skipped: skipped.length,
                skipped_sum: skipped.sum,
                counts: self.stats.skipped(),
                elapsed_ms: u64::try_from(self.elapsed().as_millis()).unwrap_or(u64::MAX),
                finished,
                moved_seeds: self.moved_seeds.clone(),
                recrawl,
                looking: self.looking,
                looked_at_before: if recrawl { self.looked_at_before } else { 0 },
                rules: self.rules.clone(),
                seed_fetched: self.seed_fetched,
            };
            frontier.commit(&serde_json::to_vec(&position)?)?;
        }
        self.observer.tell(&Event::Committed { pages: &self.stats.pages() })?;
        if let Some(received) = &self.received {
            received.committed();
        }
        self.recent.clear();
        self.added.clear();
        if self.kept.len() > MOST_PLACES && self.indexes {
            // The index has them now.
            self.look_up_again();
            self.kept.clear();
        }
        // Without an index nobody else has them: the log of what is discarded for old ones does without.
        while self.kept.len() > MOST_PLACES {
            self.kept.pop_first();
        }
        (self.pending, self.lines) = (0, 0);
        self.since = Instant::now();
        if lost { self.commit(finished) } else { Ok(()) }
    }

    /// Makes the figures of what is discarded those of the log, in which every change of it stands.
    /// What was done before is committed.
    pub(crate) fn count_by_log(&mut self) -> Result<LogCounts> {
        let log = LogCounts::of(&Rows::open(&self.root)?);
        if self.stats.take_discarded(&log) {
            self.commit_as_it_is()?;
        }
        Ok(log)
    }

    /// Ends the background work of index and dedup store.
    pub(crate) fn close(self) -> Result<()> {
        self.index.map_or(Ok(()), Index::close)?;
        // What the first commit told of, or what has shown itself since.
        if !self.cache_told && self.store.cache_was_set_aside() {
            tracing::warn!("{CACHE_DAMAGED}");
        }
        self.store.close()?;
        Ok(())
    }

    /// Where a kept page lies in the WARC, and when it was fetched.
    pub(super) fn place_of(&self, id: u64) -> Option<(String, String)> {
        if let Some((location, time)) = self.kept.get(&id) {
            return Some((place(location), format_time(*time)));
        }
        let hit = self.earlier.as_ref()?.page(id).ok()??;
        Some((hit.stored_at, hit.fetched))
    }

    /// What nobody else knows of this data directory.
    pub(super) const fn secret(&self) -> u64 {
        self.archive_name
    }

    /// Pages have other numbers in the index than when it was opened for look-ups.
    pub(super) fn look_up_again(&mut self) {
        if self.index.is_some() {
            self.earlier = Searcher::open(&self.root.join("index"), jieba).ok();
        }
    }

    pub(super) fn record_id(&self, id: u64) -> String {
        format!("urn:hapax:{:016x}:page:{id}", self.archive_name)
    }

    pub(super) fn url_of(&self, id: u64) -> Result<String> {
        let record = self.store.record(id)?;
        let key = record.map(|r| String::from_utf8_lossy(&r.key).into_owned()).unwrap_or_default();
        Ok(url_of_key(&key).to_owned())
    }
}

fn open_index(data: &DataDir, documents: u64, leaving: &[u64]) -> Result<Index> {
    let mut index = Index::open(&data.index(), jieba)?;
    // What a crash left ahead of the dedup store would otherwise be indexed twice.
    index.delete_from(documents)?;
    for &id in leaving {
        index.delete(id);
    }
    index.commit()?;
    Ok(index)
}

pub(super) fn place(location: &Location) -> String {
    format!("{}:{}", location.file, location.offset)
}

pub(super) fn round(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}
