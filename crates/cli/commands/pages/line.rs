//! State while stored pages are read.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hapax_crawl::Offline;
use hapax_crawl::import::Revisits;
use hapax_data::files::Root;

use hapax_crawl::import::Source;

pub(super) struct Line {
    pub(super) offline: Offline,
    pub(super) fetched: hapax_fetch::Limits,
    /// JSON lines may name files below this folder; `None` means the folder of the JSONL file.
    pub(super) root: Option<Root>,
    pub(super) interrupted: Arc<AtomicBool>,
    /// Archives that can be read again.
    pub(super) archives: Vec<Source>,
    /// Bytes of archives from pipes.
    pub(super) piped: usize,
    pub(super) revisits: Revisits,
    pub(super) bad: u64,
    /// Reported messages.
    pub(super) told: u64,
    /// Files in folders that are not pages.
    pub(super) left_out: u64,
    /// Links, pipes and devices in folders.
    pub(super) links: u64,
}
