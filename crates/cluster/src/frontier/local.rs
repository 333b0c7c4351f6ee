//! The state of a worker between two requests to the cluster.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use hapax_frontier::{Counts, Lease};
use hapax_url::UrlKey;

use super::calls::{Ahead, Notice, Push};
use crate::error::Error;

/// Size of each of two generations of recent URLs: most links repeat.
const CACHED: usize = 1 << 19;

#[derive(Debug)]
pub(super) struct Local {
    /// Leased in advance.
    pub(super) ready: VecDeque<Ahead>,
    /// All leases of this worker: in advance, in flight, before their commit, and given back without confirmation.
    pub(super) held: HashSet<u64>,
    /// An attempt to lease got no answer.
    pub(super) orphans: bool,
    pub(super) pushes: Vec<Push>,
    pub(super) ends: Vec<Notice>,
    /// Finished here; sent when their pages are durable.
    pub(super) finished: Vec<Notice>,
    pub(super) notes: Vec<(String, &'static str, Vec<u8>)>,
    pub(super) address_taken: HashSet<u64>,
    pub(super) told: Counts,
    /// Counts in a row with nothing to do. One is not enough: parts are not counted at the same time.
    pub(super) idle: u32,
    pub(super) failed: Option<Error>,
    seen: [HashSet<UrlKey>; 2],
    /// When each host's next lease may be handed out, and its last lease. Leases from here must not be closer
    /// together than they were taken.
    free: HashMap<String, (Instant, u64)>,
}

/// Leases that waited here longer are given back. A new master takes over at least 2 s after the old one's last word;
/// it may not know the lease and give the host to another worker.
const STALE: Duration = Duration::from_secs(1);
/// Number of remembered hosts above which past times are removed.
const TIMES: usize = 4096;

impl Local {
    pub(super) fn new() -> Self {
        Self {
            ready: VecDeque::new(),
            held: HashSet::new(),
            orphans: false,
            pushes: Vec::new(),
            ends: Vec::new(),
            finished: Vec::new(),
            notes: Vec::new(),
            address_taken: HashSet::new(),
            told: Counts::default(),
            idle: 0,
            failed: None,
            seen: Default::default(),
            free: HashMap::new(),
        }
    }

    pub(super) fn leases(&self) -> Vec<u64> {
        self.held.iter().copied().collect()
    }

    /// Removes leases that ended, after the cluster's confirmation.
    pub(super) fn arrived(&mut self, ends: &[Notice]) {
        for end in ends.iter().filter(|end| end.is_last()) {
            self.held.remove(&end.sequence());
        }
    }

    /// Does the same for the first finished leases.
    pub(super) fn committed(&mut self, finished: &[Notice]) {
        self.arrived(finished);
        self.finished.drain(..finished.len().min(self.finished.len()));
    }

    /// Gives back leases that waited too long. The last one goes first, because each becomes the head of its queue.
    pub(super) fn give_back_stale(&mut self, now: Instant) {
        let stale = |ahead: &Ahead| now.saturating_duration_since(ahead.taken) > STALE;
        let old = self.ready.iter().rev().filter(|ahead| stale(ahead));
        self.ends.extend(old.map(|ahead| Notice::back_unseen(ahead.lease.sequence)));
        self.ready.retain(|ahead| !stale(ahead));
    }

    /// Takes the notices that end everything held here.
    pub(super) fn leave(&mut self) -> Vec<Notice> {
        let mut ends = std::mem::take(&mut self.ends);
        self.arrived(&ends);
        let mut held: Vec<u64> = self.held.drain().collect();
        held.sort_unstable_by(|a, b| b.cmp(a));
        ends.extend(held.into_iter().map(Notice::back_unseen));
        ends
    }

    /// Returns the next lease whose host may be requested.
    pub(super) fn hand_out(&mut self, now: Instant) -> Option<Lease> {
        self.give_back_stale(now);
        for _ in 0..self.ready.len() {
            let ahead = self.ready.pop_front()?;
            if self.free.get(&ahead.lease.host).is_some_and(|(free, _)| *free > now) {
                self.ready.push_back(ahead);
                continue;
            }
            if !ahead.pause.is_zero() {
                if self.free.len() >= TIMES {
                    self.free.retain(|_, (free, _)| *free > now);
                }
                let free = (now + ahead.pause, ahead.lease.sequence);
                self.free.insert(ahead.lease.host.clone(), free);
            }
            return Some(ahead.lease);
        }
        None
    }

    /// Records that a lease made no request: the host's next lease need not wait.
    pub(super) fn unasked(&mut self, lease: &Lease) {
        if self.free.get(&lease.host).is_some_and(|(_, last)| *last == lease.sequence) {
            self.free.remove(&lease.host);
        }
    }

    /// Remembers a URL; returns `true` if it was new. It may forget, and never invents.
    pub(super) fn saw(&mut self, key: UrlKey) -> bool {
        let [young, old] = &mut self.seen;
        if young.contains(&key) || old.contains(&key) {
            return false;
        }
        if young.len() >= CACHED {
            *old = std::mem::take(young);
        }
        young.insert(key);
        true
    }

    pub(super) fn has_seen(&self, key: UrlKey) -> bool {
        self.seen.iter().any(|keys| keys.contains(&key))
    }

    pub(super) fn note_of(&self, subject: &str, kind: &str) -> Option<Vec<u8>> {
        let mut fresh = self.notes.iter().rev();
        fresh.find(|(s, k, _)| s == subject && *k == kind).map(|(.., value)| value.clone())
    }

    pub(super) fn is_dirty(&self) -> bool {
        !(self.pushes.is_empty() && self.finished.is_empty() && self.notes.is_empty())
    }

    pub(super) fn has_work(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Returns the cluster's last counts plus unsent URLs.
    pub(super) fn counts(&self) -> Counts {
        let more = self.pushes.len() as u64;
        Counts { queued: self.told.queued + more, ..self.told }
    }
}

#[cfg(test)]
mod tests {
    use hapax_frontier::Entry;
    use url::Url;

    use super::*;

    fn ahead(sequence: u64, taken: Instant) -> Ahead {
        let url = Url::parse(&format!("http://a.example/{sequence}")).unwrap();
        let entry = Entry::page(url, 0);
        let lease = Lease::new(entry, "a.example".to_owned(), sequence);
        Ahead { lease, pause: Duration::ZERO, taken }
    }

    #[test]
    fn a_lease_is_held_until_the_cluster_has_answered() {
        let (mut local, now) = (Local::new(), Instant::now());
        for sequence in 1..=4 {
            local.held.insert(sequence);
            local.ready.push_back(ahead(sequence, now));
        }
        let finished = local.hand_out(now).unwrap();
        local.finished.push(Notice::finish(&finished));
        let freed = Notice::free(&local.hand_out(now).unwrap(), Duration::ZERO);
        local.arrived(std::slice::from_ref(&freed));
        local.give_back_stale(now + STALE * 2);
        assert!(local.ready.is_empty());
        let ends = std::mem::take(&mut local.ends);
        let back: Vec<u64> = ends.iter().map(Notice::sequence).collect();
        assert_eq!(back, [4, 3], "each goes to the head");
        assert_eq!(local.held.len(), 4, "on their way, and waiting for a commit");
        local.arrived(&ends);
        let finished = local.finished.clone();
        local.committed(&finished);
        assert_eq!((local.leases(), local.finished.len()), (vec![2], 0), "still worked on");
        let left: Vec<u64> = local.leave().iter().map(Notice::sequence).collect();
        assert_eq!((left, local.held.len()), (vec![2], 0));
    }
}
