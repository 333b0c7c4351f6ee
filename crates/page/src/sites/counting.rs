//! Counts pages on a separate thread, so that the thread that decides about pages does not wait for the tables.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use super::counts::SiteCounts;
use super::file::{MAX_PAYLOAD, put_page};

/// Number of values that are handed to the thread at once: 256 KiB.
const BATCH: usize = 32 << 10;
/// Marks a removed page in the number of its lines.
const REMOVED: u64 = 1 << 63;

/// The counts with their changes since the last commit.
#[derive(Debug, Default)]
pub(super) struct Counted {
    pub(super) counts: SiteCounts,
    /// Changes since the last commit, as the file has them.
    pub(super) pending: Vec<u8>,
    /// The next commit writes all counts.
    pub(super) writes_all: bool,
}

/// Pages that are not counted yet. A page is its site, the number of its lines, and its lines.
#[derive(Debug, Default)]
struct Queue {
    full: VecDeque<Vec<u64>>,
    last: Vec<u64>,
    ended: bool,
}

#[derive(Debug, Default)]
struct Shared {
    /// Locked before `queue` by whoever counts, so that pages are counted in their order.
    counted: Mutex<Counted>,
    queue: Mutex<Queue>,
    woken: Condvar,
}

/// Counts that a separate thread brings up to date. [`counted`](Self::counted) returns them with all pages added before,
/// so results do not depend on the thread.
#[derive(Debug, Default)]
pub(super) struct Counting {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Counting {
    pub(super) fn of(counts: SiteCounts) -> Self {
        let counting = Self::default();
        lock(&counting.shared.counted).counts = counts;
        counting
    }

    /// Adds a page, or a removed page.
    ///
    /// # Complexity
    /// A copy of the lines.
    pub(super) fn push(&mut self, site: u64, lines: &[u64], is_removed: bool) {
        let mut queue = lock(&self.shared.queue);
        let mark = if is_removed { REMOVED } else { 0 };
        queue.last.extend([site, lines.len() as u64 | mark]);
        queue.last.extend_from_slice(lines);
        if queue.last.len() < BATCH {
            return;
        }
        let batch = std::mem::replace(&mut queue.last, Vec::with_capacity(BATCH + BATCH / 4));
        queue.full.push_back(batch);
        drop(queue);
        self.shared.woken.notify_one();
        if self.thread.is_none() {
            let shared = Arc::clone(&self.shared);
            // Without the thread, `counted` counts all.
            let name = "hapax-sites".to_owned();
            self.thread = std::thread::Builder::new().name(name).spawn(move || shared.run()).ok();
        }
    }

    /// Returns the counts with all added pages.
    pub(super) fn counted(&self) -> MutexGuard<'_, Counted> {
        let mut counted = lock(&self.shared.counted);
        let (full, last) = {
            let mut queue = lock(&self.shared.queue);
            (std::mem::take(&mut queue.full), std::mem::take(&mut queue.last))
        };
        full.iter().for_each(|batch| counted.count(batch));
        counted.count(&last);
        counted
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        lock(&self.shared.queue).ended = true;
        self.shared.woken.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic was reported by its hook.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn run(&self) {
        loop {
            let mut queue = lock(&self.queue);
            while queue.full.is_empty() && !queue.ended {
                queue = self.woken.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
            if queue.ended {
                return;
            }
            drop(queue);
            let mut counted = lock(&self.counted);
            let batch = lock(&self.queue).full.pop_front();
            if let Some(batch) = batch {
                counted.count(&batch);
            }
        }
    }
}

impl Counted {
    fn count(&mut self, mut batch: &[u64]) {
        while let Some(([site, count], rest)) = batch.split_first_chunk() {
            let is_removed = count & REMOVED != 0;
            let Some((lines, rest)) = rest.split_at_checked((count & !REMOVED) as usize) else {
                return;
            };
            batch = rest;
            if is_removed {
                self.counts.remove(*site, lines.iter().copied());
            } else {
                self.counts.add(*site, lines.iter().copied());
            }
            self.note(*site, lines, is_removed);
        }
    }

    fn note(&mut self, site: u64, lines: &[u64], is_removed: bool) {
        if self.writes_all {
            return;
        }
        put_page(&mut self.pending, site, lines, is_removed);
        if self.pending.len() > MAX_PAYLOAD / 2 {
            self.pending.clear();
            self.writes_all = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use hapax_dedup::mix64;

    use super::*;

    #[test]
    fn counts_equal_those_of_one_thread_at_any_time() {
        let (mut counting, mut alone) = (Counting::default(), Counted::default());
        for page in 0..3_000u64 {
            let lines: Vec<u64> = (0..page % 90).map(|line| mix64(page % 17 * line)).collect();
            let is_removed = page % 7 == 6;
            counting.push(page % 3, &lines, is_removed);
            let count = lines.len() as u64 | if is_removed { REMOVED } else { 0 };
            alone.count(&[&[page % 3, count][..], &lines].concat());
            if page % 701 == 0 {
                assert_eq!(counting.counted().counts, alone.counts, "{page}");
            }
        }
        assert!(counting.thread.is_some());
        let counted = counting.counted();
        assert_eq!((&counted.counts, &counted.pending), (&alone.counts, &alone.pending));
    }
}
