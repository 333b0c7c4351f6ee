//! Counters, shared between threads and stored with each commit.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hapax_data::LogCounts;
use hapax_data::PageCounts;
use hapax_data::SkipReason;

/// What the names and figures of hosts may take in a commit of the dedup store, which carries 128 KiB: names are the
/// web's, and a group may be of a thousand long ones.
const NEW_HOSTS_BYTES: usize = 64 << 10;
/// What a host takes beside its name: two quotes, two brackets, two commas and a number.
const HOST_BYTES: usize = 26;

impl HostPages {
    const fn all(&self) -> u64 {
        self.before + self.fetched
    }
}

/// Pages of one host.
#[derive(Debug, Default)]
struct HostPages {
    /// In this look at all pages, or the first one: budgets begin anew with each.
    fetched: u64,
    /// In those before.
    before: u64,
    /// Fetched in all looks, as of the last commit.
    committed: u64,
    discarded: u64,
    failed: u64,
    /// Asked for, and not counted yet.
    pending: u64,
    /// Since the last commit.
    changed: bool,
}

/// Whether one more page of a host may be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Budget {
    Left,
    /// If what is pending fails.
    Perhaps,
    Spent,
}

/// Everything that is counted.
#[derive(Debug, Default)]
pub(crate) struct Stats {
    pages: Mutex<PageCounts>,
    /// Skipped URLs by reason, moved forward with the frontier's commits.
    skipped: Mutex<BTreeMap<SkipReason, u64>>,
    hosts: Mutex<HashMap<String, HostPages>>,
    /// Hosts of which links were dropped that only a recrawl finds.
    pub(crate) dropped_hosts: AtomicU64,
    /// Those of which the next run can find them.
    pub(crate) full_hosts: AtomicU64,
    /// `crawl upgrade` would change something in the data directory.
    pub(crate) needs_upgrade: AtomicBool,
    /// Requests in flight.
    pub(crate) in_flight: AtomicU64,
    /// Responses of this run, of any status.
    pub(crate) responses: AtomicU64,
    /// Of these, to requests for pages.
    pub(crate) answers: AtomicU64,
    /// Pages of this run that were answered with anything but failures.
    pub(crate) reached: AtomicU64,
    /// Bytes received in this run.
    pub(crate) received: AtomicU64,
}

impl Stats {
    pub(crate) fn pages(&self) -> PageCounts {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn update(&self, change: impl FnOnce(&mut PageCounts)) {
        change(&mut self.pages.lock().unwrap_or_else(PoisonError::into_inner));
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

    /// Pages fetched of a host, as they count for its budget.
    pub(crate) fn host_pages(&self, host: &str) -> u64 {
        self.hosts().get(host).map_or(0, |pages| pages.fetched)
    }

    /// Takes one page out of a host's budget, until [`release`](Self::release).
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

    /// What was reserved came to an end; a page is counted by then.
    pub(crate) fn release(&self, host: &str) {
        if let Some(pages) = self.hosts().get_mut(host) {
            pages.pending = pages.pending.saturating_sub(1);
        }
    }

    /// One more page of a host.
    pub(crate) fn host_page(&self, host: &str) {
        let mut hosts = self.hosts();
        let pages = hosts.entry(host.to_owned()).or_default();
        pages.fetched += 1;
        pages.changed = true;
    }

    /// Hosts have their whole budget again.
    pub(crate) fn begin_look(&self) {
        for pages in self.hosts().values_mut() {
            (pages.before, pages.fetched, pages.changed) = (pages.all(), 0, true);
        }
    }

    /// What is discarded, of each host too, is what the log says; whether that is something else.
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

    /// The hosts of which pages were fetched since the last commit, and how many ever: as many as fit into what
    /// a commit of the store carries. Of others a kill between two commits loses the figure of that group.
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

    /// So many pages of a host were fetched, as a commit of the store told and that of the frontier may not have.
    pub(crate) fn at_least(&self, host: &str, fetched: u64) {
        let mut hosts = self.hosts();
        let pages = hosts.entry(host.to_owned()).or_default();
        pages.fetched += fetched.saturating_sub(pages.all());
        (pages.committed, pages.changed) = (pages.all(), true);
    }

    /// Pages that were answered for, whether they had changed or not.
    pub(crate) fn looked_at(&self) -> u64 {
        let pages = self.pages();
        pages.fetched + pages.unchanged
    }

    /// One of its pages was discarded.
    pub(crate) fn host_discarded(&self, host: &str) {
        let mut hosts = self.hosts();
        let pages = hosts.entry(host.to_owned()).or_default();
        pages.discarded += 1;
        pages.changed = true;
    }

    /// One of its URLs was not fetched, or its answer not used.
    pub(crate) fn host_failed(&self, host: &str) {
        let mut hosts = self.hosts();
        let pages = hosts.entry(host.to_owned()).or_default();
        pages.failed += 1;
        pages.changed = true;
    }

    /// What earlier runs counted for a host, as [`changed_hosts`](Self::changed_hosts) gave it.
    pub(crate) fn restore_host(&self, host: &str, note: &[u8]) {
        let mut counts = note.as_chunks::<8>().0.iter().map(|count| u64::from_le_bytes(*count));
        let mut next = || counts.next().unwrap_or(0);
        let (fetched, discarded, failed, before) = (next(), next(), next(), next());
        let mut pages = HostPages { fetched, discarded, failed, before, ..HostPages::default() };
        pages.committed = pages.all();
        self.hosts().insert(host.to_owned(), pages);
    }

    /// The hosts of which most was fetched: host, fetched, discarded, failed.
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

    /// Calls `visit` with the hosts whose count has changed since this was called last.
    pub(crate) fn changed_hosts(&self, mut visit: impl FnMut(&str, Vec<u8>)) {
        for (host, pages) in self.hosts().iter_mut().filter(|(_, pages)| pages.changed) {
            let counts = [pages.fetched, pages.discarded, pages.failed, pages.before];
            visit(host, counts.map(u64::to_le_bytes).concat());
            (pages.committed, pages.changed) = (pages.all(), false);
        }
    }

    /// A body that was read from a file.
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
        // Beside lengths, counts and pages that leave the index.
        assert!((48 << 10..=64 << 10).contains(&bytes), "{bytes} of {}", hapax_dedup::MAX_PAYLOAD);
        // What the frontier has committed is told no more, of further hosts also.
        stats.changed_hosts(|_, _| {});
        assert!(stats.new_host_pages().is_empty());
        stats.host_page("short.example");
        assert_eq!(stats.new_host_pages(), [("short.example".to_owned(), 1)]);
    }
}
