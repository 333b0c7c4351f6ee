//! Counters, shared between threads and stored with each commit.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hapax_data::LogCounts;
use hapax_data::PageCounts;
use hapax_data::SkipReason;

/// Maximum bytes of names and counts of hosts in a commit of the dedup store, which holds 128 KiB. Servers choose the
/// names: a group may have a thousand long ones.
const NEW_HOSTS_BYTES: usize = 64 << 10;
/// Bytes of a host except its name: two quotes, two brackets, two commas and a number.
const HOST_BYTES: usize = 26;

impl HostPages {
    const fn all(&self) -> u64 {
        self.before + self.fetched
    }
}

#[derive(Debug, Default)]
struct HostPages {
    /// Pages fetched in this cycle (the first crawl, or one recrawl). Each cycle has a full budget.
    fetched: u64,
    /// Pages fetched in earlier cycles.
    before: u64,
    /// Pages fetched in all cycles, as of the last commit.
    committed: u64,
    discarded: u64,
    failed: u64,
    /// Requested pages that are not counted yet.
    pending: u64,
    changed: bool,
}

/// Whether one more page of a host may be requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Budget {
    Left,
    /// Only if a pending page fails.
    Perhaps,
    Spent,
}

#[derive(Debug, Default)]
pub(crate) struct Stats {
    pages: Mutex<PageCounts>,
    /// Skipped URLs by reason, committed with the frontier.
    skipped: Mutex<BTreeMap<SkipReason, u64>>,
    hosts: Mutex<HashMap<String, HostPages>>,
    /// Number of hosts with dropped links that only a recrawl finds.
    pub(crate) dropped_hosts: AtomicU64,
    /// Number of hosts with dropped links that the next run can find.
    pub(crate) full_hosts: AtomicU64,
    pub(crate) needs_upgrade: AtomicBool,
    /// The counts of pages when the recrawl began, if there is one.
    baseline: Mutex<Option<PageCounts>>,
    /// The next visit that is due, in seconds since 1970; 0 if unknown.
    pub(crate) next_due: AtomicU64,
    pub(crate) in_flight: AtomicU64,
    pub(crate) responses: AtomicU64,
    /// Responses of this run to requests for pages.
    pub(crate) answers: AtomicU64,
    /// Pages of this run with an answer other than a failure.
    pub(crate) reached: AtomicU64,
    pub(crate) received: AtomicU64,
}

impl Stats {
    pub(crate) fn pages(&self) -> PageCounts {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn update(&self, change: impl FnOnce(&mut PageCounts)) {
        change(&mut self.pages.lock().unwrap_or_else(PoisonError::into_inner));
    }

    pub(crate) fn baseline(&self) -> Option<PageCounts> {
        self.baseline.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_baseline(&self, pages: Option<PageCounts>) {
        *self.baseline.lock().unwrap_or_else(PoisonError::into_inner) = pages;
    }

    /// Takes note of a visit that is due at this time, in seconds since 1970.
    pub(crate) fn due_at(&self, time: u64) {
        let earlier = |next: u64| (next == 0 || time < next).then_some(time.max(1));
        let _ = self.next_due.fetch_update(Relaxed, Relaxed, earlier);
    }

    pub(crate) fn skipped(&self) -> BTreeMap<SkipReason, u64> {
        self.skipped.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn skip(&self, reason: SkipReason) {
        let mut skipped = self.skipped.lock().unwrap_or_else(PoisonError::into_inner);
        *skipped.entry(reason).or_default() += 1;
    }

    pub(crate) fn restore(&self, pages: PageCounts, skipped: BTreeMap<SkipReason, u64>) {
        *self.pages.lock().unwrap_or_else(PoisonError::into_inner) = pages;
        *self.skipped.lock().unwrap_or_else(PoisonError::into_inner) = skipped;
    }

    fn hosts(&self) -> MutexGuard<'_, HashMap<String, HostPages>> {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of fetched pages that count towards a host's budget.
    pub(crate) fn host_pages(&self, host: &str) -> u64 {
        self.hosts().get(host).map_or(0, |pages| pages.fetched)
    }

    /// Reserves one page of a host's budget, until [`release`](Self::release).
    pub(crate) fn reserve(&self, host: &str, max: u64) -> Budget {
        let mut hosts = self.hosts();
        let pages = hosts.entry(host.to_owned()).or_default();
        if pages.fetched >= max {
            Budget::Spent
        } else if pages.fetched + pages.pending >= max {
            Budget::Perhaps
        } else {
            pages.pending += 1;
            Budget::Left
        }
    }

    /// Ends a reservation. The page must be counted before.
    pub(crate) fn release(&self, host: &str) {
        if let Some(pages) = self.hosts().get_mut(host) {
            pages.pending = pages.pending.saturating_sub(1);
        }
    }

    pub(crate) fn host_page(&self, host: &str) {
        let mut hosts = self.hosts();
        let pages = hosts.entry(host.to_owned()).or_default();
        pages.fetched += 1;
        pages.changed = true;
    }

    /// Resets the budgets of all hosts.
    pub(crate) fn begin_look(&self) {
        for pages in self.hosts().values_mut() {
            (pages.before, pages.fetched, pages.changed) = (pages.all(), 0, true);
        }
    }

    /// Replaces the duplicate counters, also those of hosts, by the counts of the log. Returns whether any changed.
    pub(crate) fn take_discarded(&self, log: &LogCounts) -> bool {
        let before = self.pages();
        self.update(|counts| counts.take(log));
        let mut any = self.pages() != before;
        for (host, pages) in self.hosts().iter_mut() {
            let discarded = log.hosts.get(host).copied().unwrap_or(0);
            if pages.discarded != discarded {
                (pages.discarded, pages.changed, any) = (discarded, true, true);
            }
        }
        any
    }

    /// Returns the hosts with pages since the last commit, and their number of pages ever fetched. The list is
    /// limited to what fits into a commit of the store. A kill between two commits loses the counts of the others for
    /// that group.
    pub(crate) fn new_host_pages(&self) -> Vec<(String, u64)> {
        let (hosts, mut room) = (self.hosts(), NEW_HOSTS_BYTES);
        let new = hosts.iter().filter(|(_, pages)| pages.all() > pages.committed);
        let fit = new.take_while(|(host, _)| {
            let bytes = host.len() + HOST_BYTES;
            let fits = bytes <= room;
            room = room.saturating_sub(bytes);
            fits
        });
        fit.map(|(host, pages)| (host.clone(), pages.all())).collect()
    }

    /// Raises the number of fetched pages of a host to that in the store's commit, which may be newer than the
    /// frontier's.
    pub(crate) fn at_least(&self, host: &str, fetched: u64) {
        let mut hosts = self.hosts();
        let pages = hosts.entry(host.to_owned()).or_default();
        pages.fetched += fetched.saturating_sub(pages.all());
        (pages.committed, pages.changed) = (pages.all(), true);
    }

    /// Returns the number of pages with an answer, unchanged ones included.
    pub(crate) fn looked_at(&self) -> u64 {
        let pages = self.pages();
        pages.fetched + pages.unchanged
    }

    pub(crate) fn host_discarded(&self, host: &str) {
        let mut hosts = self.hosts();
        let pages = hosts.entry(host.to_owned()).or_default();
        pages.discarded += 1;
        pages.changed = true;
    }

    /// Counts a URL of a host that was not fetched or whose response was not used.
    pub(crate) fn host_failed(&self, host: &str) {
        let mut hosts = self.hosts();
        let pages = hosts.entry(host.to_owned()).or_default();
        pages.failed += 1;
        pages.changed = true;
    }

    /// Restores the counts of a host from a note of [`changed_hosts`](Self::changed_hosts).
    pub(crate) fn restore_host(&self, host: &str, note: &[u8]) {
        let mut counts = note.as_chunks::<8>().0.iter().map(|count| u64::from_le_bytes(*count));
        let mut next = || counts.next().unwrap_or(0);
        let (fetched, discarded, failed, before) = (next(), next(), next(), next());
        let mut pages = HostPages { fetched, discarded, failed, before, ..HostPages::default() };
        pages.committed = pages.all();
        self.hosts().insert(host.to_owned(), pages);
    }

    /// Returns the hosts with the most fetched pages: host, fetched, discarded, failed.
    pub(crate) fn largest_hosts(&self, most: usize) -> Vec<(String, [u64; 3])> {
        let hosts = self.hosts();
        let mut all: Vec<(&String, &HostPages)> = hosts.iter().collect();
        let order = |a: &(&String, &HostPages), b: &(&String, &HostPages)| {
            (b.1.all(), b.1.failed, a.0).cmp(&(a.1.all(), a.1.failed, b.0))
        };
        if all.len() > most && most > 0 {
            all.select_nth_unstable_by(most, order);
            all.truncate(most);
        }
        all.sort_unstable_by(order);
        let row = |(host, pages): (&String, &HostPages)| {
            (host.clone(), [pages.all(), pages.discarded, pages.failed])
        };
        all.into_iter().map(row).collect()
    }

    /// Calls `visit` with each host whose counts have changed since the last call.
    pub(crate) fn changed_hosts(&self, mut visit: impl FnMut(&str, Vec<u8>)) {
        for (host, pages) in self.hosts().iter_mut().filter(|(_, pages)| pages.changed) {
            let counts = [pages.fetched, pages.discarded, pages.failed, pages.before];
            visit(host, counts.map(u64::to_le_bytes).concat());
            (pages.committed, pages.changed) = (pages.all(), false);
        }
    }

    pub(crate) fn read(&self, bytes: usize) {
        self.received.fetch_add(bytes as u64, Relaxed);
    }

    pub(crate) fn response(&self, bytes: usize, of_page: bool) {
        self.responses.fetch_add(1, Relaxed);
        self.answers.fetch_add(u64::from(of_page), Relaxed);
        self.received.fetch_add(bytes as u64, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_of_a_thousand_hosts_with_long_names_fits_into_a_commit() {
        let stats = Stats::default();
        for number in 0..2000 {
            stats.host_page(&format!("{}{number}.example:65535", "a".repeat(240)));
        }
        let told = stats.new_host_pages();
        let bytes = serde_json::to_vec(&told).unwrap().len();
        // The rest is needed for lengths, counts and pages that leave the index.
        assert!((48 << 10..=64 << 10).contains(&bytes), "{bytes} of {}", hapax_dedup::MAX_PAYLOAD);
        // Hosts that the frontier has committed are not returned again.
        stats.changed_hosts(|_, _| {});
        assert!(stats.new_host_pages().is_empty());
        stats.host_page("short.example");
        assert_eq!(stats.new_host_pages(), [("short.example".to_owned(), 1)]);
    }
}
