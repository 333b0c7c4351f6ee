//! What a crawl came to: summary.json, and the same for a person.

use std::collections::{BTreeMap, HashSet};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, SystemTime};

use hapax_data::SkipReason;
use hapax_frontier::{Counts, Frontier};
use serde::{Deserialize, Serialize};

use super::stats::Stats;
use crate::exit;
use crate::output::{bytes, duration, escape, number, shell_path};
use hapax_data::LogCounts;
use hapax_data::PageCounts;

/// Why a crawl ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Not ended yet: what a killed run leaves behind.
    Running,
    Complete,
    MaxPages,
    MaxBytes,
    TimeLimit,
    Disk,
    /// Links that found a queue full can be found again by a recrawl alone.
    Queue,
    /// Links found no place among URLs that wait for the next run, and so do they.
    QueueFull,
    Signal,
    Write,
}

impl Stop {
    /// Why a crawl is not complete.
    pub(crate) const fn words(self) -> Option<&'static str> {
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
    pub(crate) const fn is_of_pages(self) -> bool {
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
pub(crate) struct Summary {
    pub(crate) time: String,
    pub(crate) complete: bool,
    /// Why it is not complete, in words.
    pub(crate) stopped: Option<String>,
    pub(crate) pages: PageCounts,
    pub(crate) skipped: BTreeMap<SkipReason, u64>,
    pub(crate) known_urls: u64,
    pub(crate) queued_urls: u64,
    /// Queued, but given up for that run.
    pub(crate) deferred_urls: u64,
    pub(crate) seconds: f64,
    /// Requests that were answered in the last run, whatever the status.
    pub(crate) responses: u64,
    pub(crate) data: String,
    /// Those of which most was fetched.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) hosts: Vec<HostLine>,
    /// Other workers share the crawl, and may have done it all.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) shared: bool,
    /// A recrawl that got no answer for any page, or failures alone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) unreached: bool,
    /// Of the seeds none was ever fetched, whatever sitemaps brought.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) seed_missed: bool,
    /// `crawl upgrade` would change something; a summary of a version before does not say so.
    #[serde(default = "is_of_before")]
    pub(crate) needs_upgrade: bool,
}

const fn is_of_before() -> bool {
    true
}

/// What came of one host.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct HostLine {
    pub(crate) host: String,
    pub(crate) queued: u64,
    pub(crate) fetched: u64,
    pub(crate) discarded: u64,
    /// URLs that were not fetched, or whose answer was no page.
    pub(crate) failed: u64,
    /// Too many of its requests failed in a row in that run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) down: bool,
}

/// So many hosts are named in summary.json.
const HOSTS: usize = 20;

impl Summary {
    /// Says of which hosts most was fetched, and what of them is left.
    pub(super) fn name_hosts(&mut self, stats: &Stats, frontier: &dyn Frontier) {
        let line = |(host, [fetched, discarded, failed]): (String, [u64; 3])| {
            let state = frontier.host(&host);
            let queued = state.as_ref().map_or(0, |state| state.queued);
            let down = state.is_some_and(|state| state.given_up);
            HostLine { host, queued, fetched, discarded, failed, down }
        };
        self.hosts = stats.largest_hosts(HOSTS).into_iter().map(line).collect();
    }

    pub(super) fn new(
        stats: &Stats,
        counts: Counts,
        stop: Stop,
        elapsed: Duration,
        data: &Path,
    ) -> Self {
        Self {
            time: hapax_warc::format_time(SystemTime::now()),
            complete: stop == Stop::Complete && counts.deferred == 0,
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
    pub(crate) fn and(mut self, other: Self, one_crawl: bool) -> Self {
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
    pub(crate) fn take_discarded(&mut self, log: &LogCounts) {
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
        let more = more.into_iter().take(HOSTS.saturating_sub(self.hosts.len()));
        let line = |(host, discarded): (&String, &u64)| HostLine {
            host: host.clone(),
            discarded: *discarded,
            ..HostLine::default()
        };
        let more: Vec<HostLine> = more.map(line).collect();
        self.hosts.extend(more);
    }

    /// URLs that wait, but for those that this run gave up.
    const fn waiting(&self) -> u64 {
        self.queued_urls.saturating_sub(self.deferred_urls)
    }

    /// The exit code of the run.
    pub(crate) fn code(&self) -> u8 {
        if self.stopped.is_some() {
            exit::STOPPED
        } else if self.unreached
            || self.seed_missed
            // Redirects to where nothing may be fetched and errors are answers, but no pages.
            || self.pages.fetched == 0 && self.pages.unchanged == 0 && !self.shared
        {
            exit::NO_SEED
        } else {
            exit::COMPLETE
        }
    }
}

/// Prints what came of each host.
pub(crate) fn print_hosts(summary: &Summary) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    if summary.hosts.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n  {:>9} {:>9} {:>9} {:>9}  host", "queued", "fetched", "discarded", "failed")?;
    for line in &summary.hosts {
        let [queued, fetched, discarded, failed] =
            [line.queued, line.fetched, line.discarded, line.failed].map(number);
        let down = if line.down { "  (down: tried at the next run)" } else { "" };
        let host = escape(&line.host);
        writeln!(out, "  {queued:>9} {fetched:>9} {discarded:>9} {failed:>9}  {host}{down}")?;
    }
    // What is left of the totals: further hosts, and pages that were read from files.
    let sum = |of: fn(&HostLine) -> u64| summary.hosts.iter().map(of).sum::<u64>();
    let rest = [
        summary.queued_urls.saturating_sub(sum(|line| line.queued)),
        summary.pages.fetched.saturating_sub(sum(|line| line.fetched)),
        summary.pages.discarded().saturating_sub(sum(|line| line.discarded)),
    ];
    if summary.hosts.len() >= HOSTS || rest.iter().any(|count| *count > 0) {
        let [queued, fetched, discarded] = rest.map(number);
        writeln!(out, "  {queued:>9} {fetched:>9} {discarded:>9} {:>9}  others", "")?;
    }
    Ok(())
}

/// Prints the summary for a person.
pub(crate) fn print(summary: &Summary, running: bool) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let pages = &summary.pages;
    let head = match (&summary.stopped, summary.code()) {
        (Some(why), _) => format!("Stopped: {why}."),
        (None, _) if summary.unreached && summary.responses > 0 => {
            "No page could be looked at again: every answer was a failure (5xx or 429).".to_owned()
        }
        (None, _) if summary.unreached => "No page could be looked at again.".to_owned(),
        (None, exit::NO_SEED) if pages.fetched > 0 => {
            "No seed could be fetched, only what sitemaps or earlier runs led to.".to_owned()
        }
        (None, exit::NO_SEED) => "No seed could be fetched.".to_owned(),
        (None, _) if summary.deferred_urls > 0 => {
            "Done, but for what could not be reached.".to_owned()
        }
        (None, _) => "Complete.".to_owned(),
    };
    let rate = pages.fetched as f64 / summary.seconds.max(0.001);
    writeln!(out, "\n{head}")?;
    writeln!(
        out,
        "  fetched      {:>9}   {} in {}, {rate:.0} pages/s",
        number(pages.fetched),
        bytes(pages.bytes),
        duration(Duration::from_secs_f64(summary.seconds.clamp(0.0, 1e9)))
    )?;
    writeln!(out, "  indexed      {:>9}", number(pages.indexed))?;
    writeln!(
        out,
        "  discarded    {:>9}   exact {}, near {}, canonical {}; {} of page bodies",
        number(pages.discarded()),
        number(pages.exact),
        number(pages.near),
        number(pages.canonical),
        bytes(pages.discarded_bytes),
    )?;
    if pages.alias > 0 {
        writeln!(out, "  redirects    {:>9}", number(pages.alias))?;
    }
    if pages.unchanged > 0 {
        writeln!(out, "  unchanged    {:>9}", number(pages.unchanged))?;
    }
    if pages.gone > 0 {
        writeln!(out, "  gone         {:>9}", number(pages.gone))?;
    }
    let skipped: u64 = summary.skipped.values().sum();
    if skipped > 0 {
        let mut reasons: Vec<(&SkipReason, &u64)> = summary.skipped.iter().collect();
        reasons.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        let reasons: Vec<String> =
            reasons.iter().map(|(reason, count)| format!("{reason} {}", number(**count))).collect();
        writeln!(out, "  skipped      {:>9}   {}", number(skipped), reasons.join(", "))?;
    }
    if summary.deferred_urls > 0 {
        writeln!(
            out,
            "  unreachable  {:>9}   tried again when the same command is run again",
            number(summary.deferred_urls)
        )?;
    }
    if summary.waiting() > 0 {
        writeln!(out, "  still queued {:>9}", number(summary.waiting()))?;
    }
    let root = Path::new(&summary.data);
    let data = shell_path(root);
    writeln!(out)?;
    // What a job by --no-warc, --no-index or --links-only has not made is not named.
    if root.join("pages").exists() {
        writeln!(out, "  pages as fetched   {}", shell_path(&root.join("pages/")))?;
    }
    if root.join("index").exists() {
        writeln!(out, "  search             crawl search WORDS --data {data}")?;
    }
    writeln!(out, "  what was discarded crawl duplicates list --data {data}")?;
    writeln!(out, "  what was skipped   {}", shell_path(&root.join("skipped.jsonl")))?;
    if summary.stopped.is_some() && !running {
        writeln!(out, "\n  {}", way_on(summary.stopped.as_deref()))?;
    }
    Ok(())
}
/// How a job that stopped for this reason goes on.
pub(crate) fn way_on(stopped: Option<&str>) -> String {
    if stopped == Some(QUEUE) {
        return "Run it with --recrawl, and with a larger limit, to request those pages again."
            .to_owned();
    }
    if stopped == Some(QUEUE_FULL) {
        return "Run the same command again, or with a larger limit, to go on.".to_owned();
    }
    let limit = stopped.and_then(|why| why.strip_suffix(" is reached"));
    match limit.filter(|limit| *limit != "--time-limit") {
        Some(limit) => format!("Run it again with a larger {limit}, or {limit} none, to go on."),
        None => "Run the same command again to go on.".to_owned(),
    }
}
