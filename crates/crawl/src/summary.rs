//! The summary of a run: summary.json.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hapax_data::SkipReason;
use hapax_frontier::{Counts, Frontier};
use serde::{Deserialize, Serialize};

use super::seeds::{AboutSeeds, FailedSeed, SeedElsewhere};
use super::stats::Stats;
use hapax_data::LogCounts;
use hapax_data::PageCounts;

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Stop {
    /// The run has not ended, or it was killed.
    Running,
    /// Nothing is left to do.
    Complete,
    /// The limit of pages is reached.
    MaxPages,
    /// The limit of bytes is reached.
    MaxBytes,
    /// The limit of time is reached.
    TimeLimit,
    /// Too little of the disk is free.
    Disk,
    /// Links were dropped because of a full queue; only a recrawl finds them again.
    Queue,
    /// Links were dropped because of a full queue of deferred URLs; the next run finds them again.
    QueueFull,
    /// A person or the embedder stopped it.
    Signal,
    /// A store could not be written, or the observer failed.
    Write,
}

impl Stop {
    /// Returns why the crawl is not complete, in words.
    pub const fn words(self) -> Option<&'static str> {
        match self {
            Self::Complete => None,
            Self::Running => Some("the last run was interrupted by a kill or a power cut"),
            Self::MaxPages => Some("--max-pages is reached"),
            Self::MaxBytes => Some("--max-bytes is reached"),
            Self::TimeLimit => Some("--time-limit is reached"),
            Self::Disk => Some("the free disk space is below --min-free-disk"),
            Self::Queue => Some(QUEUE),
            Self::QueueFull => Some(QUEUE_FULL),
            Self::Signal => Some("interrupted"),
            Self::Write => Some("cannot write the data directory"),
        }
    }

    /// Returns whether the limit of pages ended the run.
    pub const fn is_of_pages(self) -> bool {
        matches!(self, Self::MaxPages)
    }
}

const QUEUE_FULL: &str = "the queue is full (--max-queued-per-host, --max-queue), and some links were not queued for the next run";
const QUEUE: &str = "the queue was full (--max-queued-per-host, --max-queue), and the pages with the dropped links are \
     missing or damaged in the archive";

/// The content of summary.json.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Summary {
    /// When it was written, RFC 3339.
    pub time: String,
    /// Whether nothing is left to do.
    pub complete: bool,
    /// Why the last run ended. Earlier versions did not write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// Why the crawl is not complete, in words.
    pub stopped: Option<String>,
    /// Counts of pages of all runs.
    pub pages: PageCounts,
    /// What the recrawl found, if the last run was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recrawl: Option<RunCounts>,
    /// When the next visit of a known page is due, RFC 3339. Recrawls write it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_visit: Option<String>,
    /// Skipped URLs by reason.
    pub skipped: BTreeMap<SkipReason, u64>,
    /// Number of URLs ever seen.
    pub known_urls: u64,
    /// Number of queued URLs.
    pub queued_urls: u64,
    /// Number of queued URLs that were deferred to the next run.
    pub deferred_urls: u64,
    /// Seconds of all runs.
    pub seconds: f64,
    /// Responses of the last run, with any status.
    pub responses: u64,
    /// The data directory.
    pub data: String,
    /// Seeds that were not fetched, or whose page was not used: the first 100 by URL.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed_seeds: Vec<FailedSeed>,
    /// Seeds that redirect to another site, of which one page is fetched: the first 100 by URL.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub seeds_elsewhere: Vec<SeedElsewhere>,
    /// Number of seeds that are not requested because `crawl forget` removed them or their host.
    #[serde(skip_serializing_if = "is_zero")]
    pub forgotten_seeds: u64,
    /// Number of pages that `crawl forget` removed. No run requests them.
    #[serde(skip_serializing_if = "is_zero")]
    pub forgotten_pages: u64,
    /// The hosts with the most fetched pages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostLine>,
    /// Whether other workers share the crawl; they may have fetched all pages.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
    /// Whether a recrawl got only failures, or no response.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unreached: bool,
    /// Whether no seed was ever fetched, even if sitemaps brought pages.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub seed_missed: bool,
    /// Whether `crawl upgrade` would change something. Earlier versions did not write it.
    #[serde(default = "is_of_before")]
    pub needs_upgrade: bool,
}

/// The last second of the year 9999.
const MOST_TIME: u64 = 253_402_300_799;

const fn is_zero(count: &u64) -> bool {
    *count == 0
}

const fn is_of_before() -> bool {
    true
}

/// What a recrawl found, alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunCounts {
    /// Number of new pages that were kept.
    pub new: u64,
    /// Number of known pages whose text or title had changed.
    pub changed: u64,
    /// Number of known pages that had not changed.
    pub unchanged: u64,
    /// Number of pages that were removed because they were gone.
    pub gone: u64,
}

impl RunCounts {
    fn since(before: &PageCounts, now: &PageCounts) -> Self {
        Self {
            new: now.added.saturating_sub(before.added),
            changed: now.changed.saturating_sub(before.changed),
            unchanged: now.unchanged.saturating_sub(before.unchanged),
            gone: now.gone.saturating_sub(before.gone),
        }
    }
}

/// Counts of one host.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HostLine {
    /// Host and port.
    pub host: String,
    /// Number of queued URLs.
    pub queued: u64,
    /// Number of fetched pages.
    pub fetched: u64,
    /// Number of duplicates among them.
    pub discarded: u64,
    /// Number of URLs that were not fetched or whose response was not used.
    pub failed: u64,
    /// Whether the run gave it up after too many failures in a row.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub down: bool,
}

impl Summary {
    /// Number of hosts in the summary.
    pub const HOSTS: usize = 20;
    /// Number of failed seeds in the summary.
    pub const FAILED_SEEDS: usize = 100;

    pub(crate) fn name_hosts(&mut self, stats: &Stats, frontier: &dyn Frontier) {
        let line = |(host, [fetched, discarded, failed]): (String, [u64; 3])| {
            let state = frontier.host(&host);
            let queued = state.as_ref().map_or(0, |state| state.queued);
            let down = state.is_some_and(|state| state.given_up);
            HostLine { host, queued, fetched, discarded, failed, down }
        };
        self.hosts = stats.largest_hosts(Self::HOSTS).into_iter().map(line).collect();
    }

    pub(crate) fn new(
        stats: &Stats,
        counts: Counts,
        stop: Stop,
        elapsed: Duration,
        data: &Path,
    ) -> Self {
        Self {
            time: hapax_warc::format_time(SystemTime::now()),
            complete: stop == Stop::Complete && counts.deferred == 0,
            stop: Some(stop),
            stopped: stop.words().map(str::to_owned),
            recrawl: stats.baseline().map(|before| RunCounts::since(&before, &stats.pages())),
            next_visit: match stats.next_due.load(Relaxed) {
                0 => None,
                at => Some(hapax_warc::format_time(
                    UNIX_EPOCH + Duration::from_secs(at.min(MOST_TIME)),
                )),
            },
            pages: stats.pages(),
            skipped: stats.skipped(),
            known_urls: counts.known,
            queued_urls: counts.queued,
            deferred_urls: counts.deferred,
            seconds: elapsed.as_secs_f64(),
            responses: stats.answers.load(Relaxed),
            data: data.display().to_string(),
            failed_seeds: Vec::new(),
            seeds_elsewhere: Vec::new(),
            forgotten_seeds: 0,
            forgotten_pages: 0,
            hosts: Vec::new(),
            shared: false,
            unreached: false,
            seed_missed: false,
            needs_upgrade: stats.needs_upgrade.load(Relaxed),
        }
    }

    pub(crate) fn of_pages(
        stats: &Stats,
        stopped: Option<Stop>,
        elapsed: Duration,
        data: &Path,
    ) -> Self {
        let stop = stopped.unwrap_or(Stop::Complete);
        Self::new(stats, Counts::default(), stop, elapsed, data)
    }

    pub(crate) fn name_seeds(&mut self, seeds: AboutSeeds) {
        self.failed_seeds = seeds.failed;
        self.seeds_elsewhere = seeds.elsewhere;
        self.forgotten_seeds = seeds.forgotten;
        self.forgotten_pages = seeds.forgotten_pages;
    }

    /// Merges the summaries of two data directories. Workers of one crawl share queues: numbers of URLs are not
    /// added.
    pub fn and(mut self, other: Self, one_crawl: bool) -> Self {
        let pages = other.pages;
        self.pages.add(&pages);
        for (reason, count) in other.skipped {
            *self.skipped.entry(reason).or_default() += count;
        }
        let both = if one_crawl { u64::max } else { u64::saturating_add };
        self.known_urls = both(self.known_urls, other.known_urls);
        self.queued_urls = both(self.queued_urls, other.queued_urls);
        self.deferred_urls = both(self.deferred_urls, other.deferred_urls);
        self.seconds = self.seconds.max(other.seconds);
        self.responses += other.responses;
        self.failed_seeds.extend(other.failed_seeds);
        self.failed_seeds.truncate(Self::FAILED_SEEDS);
        self.seeds_elsewhere.extend(other.seeds_elsewhere);
        self.seeds_elsewhere.truncate(Self::FAILED_SEEDS);
        self.forgotten_seeds = both(self.forgotten_seeds, other.forgotten_seeds);
        self.forgotten_pages = both(self.forgotten_pages, other.forgotten_pages);
        self.complete = (self.time.is_empty() || self.complete) && other.complete;
        self.stopped = self.stopped.or(other.stopped);
        self.time = self.time.max(other.time);
        self.needs_upgrade |= other.needs_upgrade;
        self
    }

    /// Replaces the duplicate counters by those of the log.
    pub fn take_discarded(&mut self, log: &LogCounts) {
        self.pages.take(log);
        for line in &mut self.hosts {
            line.discarded = log.hosts.get(&line.host).copied().unwrap_or(0);
        }
        if self.shared || self.known_urls == 0 {
            // These summaries count no hosts.
            return;
        }
        // A killed run may have written no figures of a host.
        let named: HashSet<&str> = self.hosts.iter().map(|line| &*line.host).collect();
        let mut more: Vec<_> =
            log.hosts.iter().filter(|(host, _)| !named.contains(&***host)).collect();
        more.sort_unstable_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        let more = more.into_iter().take(Self::HOSTS.saturating_sub(self.hosts.len()));
        let line = |(host, discarded): (&String, &u64)| HostLine {
            host: host.clone(),
            discarded: *discarded,
            ..HostLine::default()
        };
        let more: Vec<HostLine> = more.map(line).collect();
        self.hosts.extend(more);
    }

    /// Number of queued URLs, without those deferred to the next run.
    pub const fn waiting(&self) -> u64 {
        self.queued_urls.saturating_sub(self.deferred_urls)
    }
}
