//! The state of the commit thread, except the dedup store.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use hapax_data::{Committed, Decisions, EventLog, Log, Rows, SkipPosition, TextChange};
use hapax_extract::jieba;
use hapax_frontier::revisit::Pace;
use hapax_index::{Index, Searcher, StoredPage};
use hapax_warc::{Location, Writer};

use crate::archive_index::ArchiveIndex;
use crate::config::Revisits;
use crate::visits::Seen;

/// Maximum number of pages whose location is kept in memory. Older ones are looked up in the index.
pub(crate) const MAX_PLACES: usize = 1 << 16;
pub(crate) const GROUP_PAGES: u64 = 1000;
/// Maximum number of log lines about refused URLs in a group: one page may cause this number of lines.
const GROUP_LINES: u64 = 10_000;
const GROUP_AGE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Search {
    pub(crate) index: Option<Index>,
    /// Add pages to the index. If not, pages are only removed from it.
    pub(crate) adds: bool,
    /// Pages to remove from the index with the next commit.
    pub(crate) leaving: Vec<u64>,
    /// Pages added to the index since the last commit.
    pub(crate) added: HashSet<u64>,
    /// Pages kept since the last commit, without their texts.
    pub(crate) recent: BTreeMap<u64, StoredPage>,
    /// The index as of its last opening, for locations of earlier pages.
    pub(crate) earlier: Option<Searcher>,
    pub(crate) folder: PathBuf,
}

impl Search {
    /// Reopens the index for look-ups: pages were added or renumbered since it was opened.
    pub(crate) fn look_up_again(&mut self) {
        if self.index.is_some() {
            self.earlier = Searcher::open(&self.folder, jieba).ok();
        }
    }
}

#[derive(Debug)]
pub(crate) struct Warc {
    pub(crate) writer: Option<Writer>,
    /// End of the archive: file and length. Stored also if this job writes none: a length of 0 would empty the
    /// archive.
    pub(crate) end: (u32, u64),
    /// A random number in the names of the archive's files.
    pub(crate) name: u64,
    pub(crate) folder: PathBuf,
    /// The CDXJ files beside finished files, if this job writes the archive.
    pub(crate) index: Option<ArchiveIndex>,
    /// Location and fetch time of pages kept in this run.
    pub(crate) places: BTreeMap<u64, (Location, SystemTime)>,
}

#[derive(Debug)]
pub(crate) struct Logs {
    pub(crate) discarded: Log,
    pub(crate) skipped: Log,
    pub(crate) decided: Log,
    pub(crate) events: EventLog,
    pub(crate) decisions: Decisions,
    /// This job writes skipped.jsonl although it has no frontier.
    pub(crate) skips: bool,
    /// The position of skipped.jsonl that the last job without a frontier committed.
    pub(crate) elsewhere: Committed,
}

/// State of earlier runs, stored with the frontier's commits.
#[derive(Debug)]
pub(crate) struct Run {
    /// Where seeds moved to, earlier runs included.
    pub(crate) moved_seeds: Vec<String>,
    /// Whether the page of a seed was fetched, if known.
    pub(crate) seed_fetched: Option<bool>,
    /// Whether an earlier version may have found URLs with the query in UTF-8.
    pub(crate) utf8_queries: bool,
    /// The rules by which URLs were refused.
    pub(crate) rules: String,
    /// Whether nothing was left to do at the last commit.
    pub(crate) finished: bool,
    /// Duration of earlier runs.
    pub(crate) before: Duration,
    pub(crate) started: Instant,
}

/// State of a recrawl (`--recrawl`), which requests known pages again.
#[derive(Debug)]
pub(crate) struct SecondLook {
    pub(crate) on: bool,
    /// Pages that are treated as changed: the archive has no complete record of them.
    pub(crate) renewed: HashSet<u128>,
    /// Whether the recrawl has begun and not ended.
    pub(crate) under_way: bool,
    pub(crate) fetched_before: u64,
    /// Whether it requests only due pages, and removes a page when it is gone at two visits.
    pub(crate) due: bool,
    /// Whether the page that is decided about is a known page with other content, and how it has changed.
    pub(crate) changed: bool,
    pub(crate) change: Option<TextChange>,
    /// What the visit of the current URL showed, and the time of its fetch before, if it is a known page.
    pub(crate) seen: Option<Seen>,
    pub(crate) since: Option<u64>,
    pub(crate) pace: Pace,
    pub(crate) budgets: Revisits,
    /// The rows of the log; opened when a known page has changed.
    pub(crate) rows: Option<Rows>,
}

impl SecondLook {
    /// Continues the recrawl of an earlier run, if there was one.
    pub(crate) fn of(before: &SkipPosition) -> Self {
        let revisits = Revisits::default();
        Self {
            on: before.recrawl,
            renewed: HashSet::new(),
            under_way: before.looking,
            fetched_before: before.looked_at_before,
            due: before.due,
            changed: false,
            change: None,
            seen: None,
            since: None,
            pace: revisits.pace(),
            budgets: revisits,
            rows: None,
        }
    }

    /// Sets what the flags of the run say. An interrupted recrawl of due pages goes on as one.
    pub(crate) fn prepare(&mut self, due: bool, revisits: &Revisits) {
        self.due |= due;
        self.pace = revisits.pace();
        self.budgets = revisits.clone();
    }
}

/// Counts since the last commit.
#[derive(Debug)]
pub(crate) struct Group {
    /// Pages and other ended leases.
    pub(crate) pages: u64,
    /// Log lines about refused URLs.
    pub(crate) lines: u64,
    pub(crate) since: Instant,
}

impl Group {
    pub(crate) fn new() -> Self {
        Self { pages: 0, lines: 0, since: Instant::now() }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.pages == 0 && self.lines == 0
    }

    pub(crate) const fn is_full(&self) -> bool {
        self.pages >= GROUP_PAGES || self.lines >= GROUP_LINES
    }

    pub(crate) fn is_old(&self) -> bool {
        self.since.elapsed() >= GROUP_AGE
    }
}

const CACHE_DAMAGED: &str =
    "dedup/ids (a cache) was damaged. It was renamed to ids.damaged and is rebuilt";

/// Whether the store's cache was checked for damage, and whether a warning was logged.
#[derive(Debug, Default)]
pub(crate) struct CacheNotice {
    asked: bool,
    warned: bool,
}

impl CacheNotice {
    /// Warns once about a damaged cache. The first commit checks it, so that the start does not wait for the cache.
    pub(crate) fn at_commit(&mut self, set_aside: impl FnOnce() -> bool) {
        if !std::mem::replace(&mut self.asked, true) {
            self.at_close(set_aside);
        }
    }

    /// Warns about damage that was found since the first commit.
    pub(crate) fn at_close(&mut self, set_aside: impl FnOnce() -> bool) {
        if !self.warned && set_aside() {
            self.warned = true;
            tracing::warn!("{CACHE_DAMAGED}");
        }
    }
}
