//! State shared by all fetch tasks.

use std::sync::Arc;
use std::time::Duration;

use hapax_data::Forgotten;
use hapax_extract::Recipe;
use hapax_fetch::{Fetcher, SitemapLimits};
use hapax_frontier::Frontier;
use hapax_url::UrlLimits;
use hapax_warc::Packer;
use tokio::sync::Semaphore;

use crate::ahead::Ahead;
use crate::config::Patience;
use crate::feeds::Feeds;
use crate::host_rules::HostRules;
use crate::reach::Fetch;
use crate::received::Received;
use crate::rules::Rules;
use crate::stats::Stats;
use crate::url_rules::UrlRules;

/// What all fetch tasks share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) fetch: Arc<dyn Fetch>,
    /// The same, where it is the built-in one: answers of before a kill are restored within its budgets.
    pub(super) http: Option<Arc<Fetcher>>,
    pub(super) frontier: Arc<dyn Frontier>,
    pub(super) stats: Arc<Stats>,
    pub(super) agent: String,
    pub(super) page_limits: hapax_extract::Limits,
    pub(super) sitemap_limits: SitemapLimits,
    /// Bytes of a page's body.
    pub(super) max_body: usize,
    pub(super) url_limits: UrlLimits,
    pub(super) recipe: Recipe,
    /// Compresses responses for the archive, if there is one.
    pub(super) packer: Option<Packer>,
    /// Compares pages ahead.
    pub(super) ahead: Option<Ahead>,
    pub(super) ignore_robots: Vec<String>,
    pub(super) delay: Duration,
    pub(super) patience: Patience,
    pub(super) retry_wait: Duration,
    pub(super) rules: HostRules,
    /// What was queued under other rules is held against these.
    pub(super) taken: Rules,
    pub(super) feeds: Arc<Feeds>,
    pub(super) forgotten: Arc<Forgotten>,
    /// Not where others may get the lease after a kill.
    pub(super) received: Option<Arc<Received>>,
    pub(super) sitemaps: bool,
    pub(super) cookies: bool,
    pub(super) links_only: bool,
    pub(super) recrawl: bool,
    pub(super) url_rules: Arc<UrlRules>,
    pub(super) max_pages_per_host: u64,
    pub(super) room: Room,
}

/// How much is read at a time, and waits for the commit thread.
#[derive(Debug)]
pub(super) struct Room {
    /// Extraction runs on this many threads at a time.
    pub(super) extractors: Arc<Semaphore>,
    /// KiB of pages that may wait for the commit thread.
    pub(super) waiting: Arc<Semaphore>,
    /// Large pages among those: one thread is left for the others, if there are two.
    pub(super) large: Arc<Semaphore>,
    /// So many KiB of large pages are read or wait for the commit thread: trees take ten times as much.
    pub(super) trees: Arc<Semaphore>,
    pub(super) trees_kib: u32,
    /// And so many KiB of others are read.
    pub(super) small_trees: Arc<Semaphore>,
    pub(super) small_trees_kib: u32,
}
