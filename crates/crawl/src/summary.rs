//! What a crawl came to: summary.json, and the same for a person.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, SystemTime};

use hapax_data::SkipReason;
use hapax_frontier::{Counts, Frontier};
use serde::{Deserialize, Serialize};

use super::stats::Stats;
use hapax_data::LogCounts;
use hapax_data::PageCounts;

/// Why a crawl ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Stop {
    /// Not ended yet: what a killed run leaves behind.
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
    /// Links that found a queue full can be found again by a recrawl alone.
    Queue,
    /// Links found no place among URLs that wait for the next run, and so do they.
    QueueFull,
    /// It was asked to stop.
    Signal,
    /// A store could not be written, or the observer failed.
    Write,
}

impl Stop {
    /// Why a crawl is not complete.
    pub const fn words(self) -> Option<&'static str> {
        match self {
            Self::Complete => None,
            Self::Running => {
                Some("the last run did not end properly: it was killed, or power was lost")
            }
            Self::MaxPages => Some("--max-pages is reached"),
            Self::MaxBytes => Some("--max-bytes is reached"),
            Self::TimeLimit => Some("--time-limit is reached"),
            Self::Disk => Some("less of the disk is free than --min-free-disk asks for"),
            Self::Queue => Some(QUEUE),
            Self::QueueFull => Some(QUEUE_FULL),
            Self::Signal => Some("interrupted"),
            Self::Write => Some("could not write"),
        }
    }

    /// Whether further pages would be too many, and nothing else.
    pub const fn is_of_pages(self) -> bool {
        matches!(self, Self::MaxPages)
    }
}

/// Why a crawl is not complete whose links found no place because other URLs wait for the next run.
const QUEUE_FULL: &str = "links found no place among the URLs that wait for the next run (--max-queued-per-host, --max-queue)";
/// Why a crawl is not complete whose links found no place and are not archived.
const QUEUE: &str = "links found a full queue (--max-queued-per-host, --max-queue), and their pages are not in the archive or damaged there";

/// summary.json.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Summary {
    /// When it was written, in RFC 3339.
    pub time: String,
    /// Whether all that was asked for is done.
    pub complete: bool,
    /// Why the last run ended; a summary of a version before does not say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// Why it is not complete, in words.
    pub stopped: Option<String>,
    /// Counts of pages, all runs together.
    pub pages: PageCounts,
    /// Skipped URLs by reason.
    pub skipped: BTreeMap<SkipReason, u64>,
    /// URLs ever seen.
    pub known_urls: u64,
    /// URLs that wait.
    pub queued_urls: u64,
    /// Queued, but given up for that run.
    pub deferred_urls: u64,
    /// Time of all runs.
    pub seconds: f64,
    /// Requests that were answered in the last run, whatever the status.
    pub responses: u64,
    /// The data directory.
    pub data: String,
    /// Those of which most was fetched.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostLine>,
    /// Other workers share the crawl, and may have done it all.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
    /// A recrawl that got no answer for any page, or failures alone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unreached: bool,
    /// Of the seeds none was ever fetched, whatever sitemaps brought.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub seed_missed: bool,
    /// `crawl upgrade` would change something; a summary of a version before does not say so.
    #[serde(default = "is_of_before")]
    pub needs_upgrade: bool,
}

const fn is_of_before() -> bool {
    true
}

/// What came of one host.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HostLine {
    /// Its name, with the port.
    pub host: String,
    /// URLs that wait.
    pub queued: u64,
    /// Pages that were fetched.
    pub fetched: u64,
    /// Of these, duplicates.
    pub discarded: u64,
    /// URLs that were not fetched, or whose answer was no page.
    pub failed: u64,
    /// Too many of its requests failed in a row in that run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub down: bool,
}

impl Summary {
    /// So many hosts are named.
    pub const HOSTS: usize = 20;

    /// Says of which hosts most was fetched, and what of them is left.
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
            pages: stats.pages(),
            skipped: stats.skipped(),
            known_urls: counts.known,
            queued_urls: counts.queued,
            deferred_urls: counts.deferred,
            seconds: elapsed.as_secs_f64(),
            responses: stats.answers.load(Relaxed),
            data: data.display().to_string(),
            hosts: Vec::new(),
            shared: false,
            unreached: false,
            seed_missed: false,
            needs_upgrade: stats.needs_upgrade.load(Relaxed),
        }
    }

    /// Of pages that were not fetched but read.
    pub(crate) fn of_pages(
        stats: &Stats,
        stopped: Option<Stop>,
        elapsed: Duration,
        data: &Path,
    ) -> Self {
        let stop = stopped.unwrap_or(Stop::Complete);
        Self::new(stats, Counts::default(), stop, elapsed, data)
    }

    /// Both together, of two data directories; of workers of one crawl each knows all queues.
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
        self.complete = (self.time.is_empty() || self.complete) && other.complete;
        self.stopped = self.stopped.or(other.stopped);
        self.time = self.time.max(other.time);
        self.needs_upgrade |= other.needs_upgrade;
        self
    }

    /// What is discarded is what the log says now, whatever was written when.
    pub fn take_discarded(&mut self, log: &LogCounts) {
        self.pages.take(log);
        for line in &mut self.hosts {
            line.discarded = log.hosts.get(&line.host).copied().unwrap_or(0);
        }
        if self.shared || self.known_urls == 0 {
            // Hosts are counted by none of these.
            return;
        }
        // A kill may have come before the first figures of a host.
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

    /// URLs that wait, but for those that this run gave up.
    pub const fn waiting(&self) -> u64 {
        self.queued_urls.saturating_sub(self.deferred_urls)
    }
}
