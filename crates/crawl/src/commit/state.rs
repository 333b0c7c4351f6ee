//! What the commit thread holds beside the dedup store, by what it belongs to.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use hapax_data::{Committed, Decisions, Log, Rows};
use hapax_extract::jieba;
use hapax_index::{Index, Searcher, StoredPage};
use hapax_warc::{Location, Writer};

/// Largest number of pages whose location is held in memory. Older ones are looked up in the index.
pub(crate) const MAX_PLACES: usize = 1 << 16;
/// A group is committed at this number of pages.
pub(crate) const GROUP_PAGES: u64 = 1000;
/// Or at this number of lines about refused URLs: one page may have as many.
const GROUP_LINES: u64 = 10_000;
/// Or at this age.
const GROUP_AGE: Duration = Duration::from_secs(1);

/// The full-text index, written and read.
#[derive(Debug)]
pub(crate) struct Search {
    pub(crate) index: Option<Index>,
    /// Pages are added to the index; without it, they only leave it.
    pub(crate) adds: bool,
    /// Pages that leave the index with the next commit.
    pub(crate) leaving: Vec<u64>,
    /// Pages that were added to the index since the last commit.
    pub(crate) added: HashSet<u64>,
    /// Pages kept since the last commit, without their texts.
    pub(crate) recent: BTreeMap<u64, StoredPage>,
    /// The index as it was opened, for places of earlier pages.
    pub(crate) earlier: Option<Searcher>,
    /// Its folder.
    pub(crate) folder: PathBuf,
}

impl Search {
    /// Opens the index for look-ups again: pages have other numbers since it was opened.
    pub(crate) fn look_up_again(&mut self) {
        if self.index.is_some() {
            self.earlier = Searcher::open(&self.folder, jieba).ok();
        }
    }
}

/// The archive.
#[derive(Debug)]
pub(crate) struct Warc {
    pub(crate) writer: Option<Writer>,
    /// The archive's end, also while this job writes none: a length of 0 would empty it.
    pub(crate) end: (u32, u64),
    /// A random number that is part of its files' names.
    pub(crate) name: u64,
    pub(crate) folder: PathBuf,
    /// Where the pages kept in this run lie, and when they were fetched.
    pub(crate) places: BTreeMap<u64, (Location, SystemTime)>,
}

/// The logs, and what was decided about discarded pages.
#[derive(Debug)]
pub(crate) struct Logs {
    pub(crate) discarded: Log,
    pub(crate) skipped: Log,
    pub(crate) decided: Log,
    pub(crate) decisions: Decisions,
    /// skipped.jsonl is this job's to write, though it has no frontier.
    pub(crate) skips: bool,
    /// What the last job without a frontier committed of skipped.jsonl.
    pub(crate) elsewhere: Committed,
}

/// What the frontier remembers of the runs on this data directory.
#[derive(Debug)]
pub(crate) struct Run {
    /// Where seeds moved to, earlier runs included.
    pub(crate) moved_seeds: Vec<String>,
    /// A page was fetched where the crawl begins, if that is known.
    pub(crate) seed_fetched: Option<bool>,
    /// The rules by which URLs were refused.
    pub(crate) rules: String,
    /// Nothing is left to do, as far as the last commit knew.
    pub(crate) finished: bool,
    /// How long earlier runs took.
    pub(crate) before: Duration,
    pub(crate) started: Instant,
}

/// A second look at known pages: `--recrawl`.
#[derive(Debug)]
pub(crate) struct SecondLook {
    /// Known pages are looked at again.
    pub(crate) on: bool,
    /// Pages that are taken for changed: the archive has no whole record of them.
    pub(crate) renewed: HashSet<u128>,
    /// It has begun and is not at its end.
    pub(crate) under_way: bool,
    /// Pages fetched before it began.
    pub(crate) fetched_before: u64,
    /// What was discarded before; opened when a known page has changed.
    pub(crate) rows: Option<Rows>,
}

/// What came to an end since the last commit.
#[derive(Debug)]
pub(crate) struct Group {
    /// Pages, and what else ends a lease.
    pub(crate) pages: u64,
    /// Lines about refused URLs.
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

    /// Whether the last commit is so long ago that there should be another.
    pub(crate) fn is_old(&self) -> bool {
        self.since.elapsed() >= GROUP_AGE
    }
}

const CACHE_DAMAGED: &str =
    "dedup/ids, a cache, was damaged: set aside as ids.damaged, it is rebuilt";

/// Whether the store's cache was asked for damage, and had some.
#[derive(Debug, Default)]
pub(crate) struct CacheNotice {
    asked: bool,
    warned: bool,
}

impl CacheNotice {
    /// Warns once of a damaged cache. Asked at the first commit, not at the start: nobody waits for a cache.
    pub(crate) fn at_commit(&mut self, set_aside: impl FnOnce() -> bool) {
        if !std::mem::replace(&mut self.asked, true) {
            self.at_close(set_aside);
        }
    }

    /// Warns of what has shown itself since.
    pub(crate) fn at_close(&mut self, set_aside: impl FnOnce() -> bool) {
        if !self.warned && set_aside() {
            self.warned = true;
            tracing::warn!("{CACHE_DAMAGED}");
        }
    }
}
