//! When a run ends: its limits of pages, bytes, time and disk.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use super::stats::Stats;
use super::summary::Stop;
use crate::config::Config;

/// Limits of the whole run.
#[derive(Debug)]
pub(crate) struct RunLimits {
    max_pages: u64,
    is_recrawl: bool,
    max_bytes: u64,
    deadline: Option<Instant>,
    min_free_disk: u64,
    data: PathBuf,
    /// When the disk was looked at last, and what was free.
    disk: Cell<Option<(Instant, u64)>>,
    stats: Arc<Stats>,
}

impl RunLimits {
    /// A recrawl counts the pages that it looks at, beyond those of `before`.
    pub(crate) fn new(
        config: &Config,
        data: &Path,
        stats: &Arc<Stats>,
        before: Option<u64>,
    ) -> Self {
        Self {
            max_pages: config.max_pages.unwrap_or(u64::MAX).saturating_add(before.unwrap_or(0)),
            is_recrawl: before.is_some(),
            max_bytes: config.max_bytes.unwrap_or(u64::MAX),
            deadline: config.time_limit.and_then(|time| Instant::now().checked_add(time)),
            min_free_disk: config.min_free_disk,
            data: data.to_owned(),
            disk: Cell::default(),
            stats: Arc::clone(stats),
        }
    }

    /// The limit that is reached, with so many pages under way.
    pub(crate) fn reached(&self, active: u64) -> Option<Stop> {
        let pages =
            if self.is_recrawl { self.stats.looked_at() } else { self.stats.pages().fetched };
        if self.stats.received.load(Relaxed) >= self.max_bytes {
            Some(Stop::MaxBytes)
        } else if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            Some(Stop::TimeLimit)
        } else if self.disk_is_full() {
            Some(Stop::Disk)
        } else if pages.saturating_add(active) >= self.max_pages {
            // Last: it waits for pages in flight, and the others must not.
            Some(Stop::MaxPages)
        } else {
            None
        }
    }

    /// Whether less of the disk is free than `--min-free-disk`.
    pub(crate) fn disk_is_full(&self) -> bool {
        self.free_disk().is_some_and(|free| free < self.min_free_disk)
    }

    /// Bytes free where the data lies, asked at most once a second.
    fn free_disk(&self) -> Option<u64> {
        if let Some((at, free)) = self.disk.get()
            && at.elapsed() < Duration::from_secs(1)
        {
            return Some(free);
        }
        let free = fs4::available_space(&self.data).ok()?;
        self.disk.set(Some((Instant::now(), free)));
        Some(free)
    }
}
