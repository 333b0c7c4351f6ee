//! The limits of a run: pages, bytes, time and disk.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use super::stats::Stats;
use super::summary::Stop;
use crate::config::Config;

#[derive(Debug)]
pub(crate) struct RunLimits {
    max_pages: u64,
    is_recrawl: bool,
    max_bytes: u64,
    deadline: Option<Instant>,
    min_free_disk: u64,
    data: PathBuf,
    /// Time and result of the last query of the free disk space.
    disk: Cell<Option<(Instant, u64)>>,
    stats: Arc<Stats>,
}

impl RunLimits {
    /// Makes the limits. `before` is set for a recrawl: the number of pages requested before it, which do not count.
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

    /// Returns the limit that is reached, if `active` pages are in flight.
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

    pub(crate) fn disk_is_full(&self) -> bool {
        self.free_disk().is_some_and(|free| free < self.min_free_disk)
    }

    /// Returns the free bytes of the disk with the data, queried at most once a second.
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
