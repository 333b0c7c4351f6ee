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

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) fetch: Arc<dyn Fetch>,
    /// `fetch` if it is the built-in one: restores responses from before a kill within its memory limits.
    pub(super) http: Option<Arc<Fetcher>>,
    pub(super) frontier: Arc<dyn Frontier>,
    pub(super) stats: Arc<Stats>,
    pub(super) agent: String,
    pub(super) page_limits: hapax_extract::Limits,
    pub(super) sitemap_limits: SitemapLimits,
    /// Maximum size of a page's body in bytes.
    pub(super) max_body: usize,
    pub(super) url_limits: UrlLimits,
    pub(super) recipe: Recipe,
    pub(super) packer: Option<Packer>,
    /// Compares pages before the commit thread does.
    pub(super) ahead: Option<Ahead>,
    pub(super) ignore_robots: Vec<String>,
    pub(super) delay: Duration,
    pub(super) patience: Patience,
    pub(super) retry_wait: Duration,
    pub(super) rules: HostRules,
    /// URLs that were queued under other rules are checked with these.
    pub(super) taken: Rules,
    pub(super) feeds: Arc<Feeds>,
    pub(super) forgotten: Arc<Forgotten>,
    /// `None` if another worker may get the lease after a kill.
    pub(super) received: Option<Arc<Received>>,
    pub(super) sitemaps: bool,
    pub(super) cookies: bool,
    pub(super) links_only: bool,
    pub(super) recrawl: bool,
    /// Whether the recrawl requests only due pages.
    pub(super) due: bool,
    /// Whether a recrawl reads the sitemaps again.
    pub(super) sitemaps_again: bool,
    pub(super) url_rules: Arc<UrlRules>,
    pub(super) max_pages_per_host: u64,
    pub(super) room: Room,
}

/// Memory and thread limits of extraction and of the commit queue.
#[derive(Debug)]
pub(super) struct Room {
    pub(super) extractors: Arc<Semaphore>,
    /// KiB of pages in the commit queue.
    pub(super) waiting: Arc<Semaphore>,
    /// Extraction threads for large pages: all except one, if there are at least two.
    pub(super) large: Arc<Semaphore>,
    /// KiB of large pages that are parsed or in the commit queue; their trees need ten times as much memory.
    pub(super) trees: Arc<Semaphore>,
    pub(super) trees_kib: u32,
    /// KiB of other pages that are parsed.
    pub(super) small_trees: Arc<Semaphore>,
    pub(super) small_trees_kib: u32,
}
