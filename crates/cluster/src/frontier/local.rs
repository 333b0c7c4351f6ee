//! What a worker knows between two words with the cluster.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use hapax_frontier::{Counts, Lease, UrlKey};

use super::calls::{Ahead, End, Push};
use crate::error::Error;

/// URLs met lately, two generations of this size: most links are met again and again.
const CACHED: usize = 1 << 19;

#[derive(Debug)]
pub(super) struct Local {
    /// Leased ahead.
    pub(super) ready: VecDeque<Ahead>,
    /// All leases that are not finished, by number.
    pub(super) held: HashMap<u64, ()>,
    /// Of a try to lease no answer came.
    pub(super) orphans: bool,
    /// On the way to the cluster.
    pub(super) pushes: Vec<Push>,
    pub(super) ends: Vec<End>,
    /// Finished here; told when their pages are durable.
    pub(super) finished: Vec<End>,
    pub(super) notes: Vec<(String, &'static str, Vec<u8>)>,
    pub(super) address_taken: HashSet<u64>,
    /// As the cluster said last.
    pub(super) told: Counts,
    /// So many times in a row there was nothing to do: parts are not counted at one moment.
    pub(super) idle: u32,
    pub(super) failed: Option<Error>,
    seen: [HashSet<UrlKey>; 2],
    /// When each host's next lease may be handed out: those that wait here may not come closer
    /// together than they were taken.
    free: HashMap<String, Instant>,
}

/// A lease that waited here longer goes back: a master that has just taken over, 2 s at least after
/// the last word of the one before, may know nothing of it and give the host to another worker.
const STALE: Duration = Duration::from_secs(1);
/// So many hosts' times are remembered; those that are past are forgotten then.
const TIMES: usize = 4096;

impl Local {
    pub(super) fn new() -> Self {
        Self {
            ready: VecDeque::new(),
            held: HashMap::new(),
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

    /// All leases that are this worker's: under way, waiting for their commit, on their way back.
    pub(super) fn leases(&self) -> Vec<u64> {
        let others = self.ends.iter().chain(&self.finished).map(End::sequence);
        self.held.keys().copied().chain(others).collect()
    }

    /// The next lease that is still held and whose host may be asked.
    pub(super) fn hand_out(&mut self, now: Instant) -> Option<Lease> {
        for _ in 0..self.ready.len() {
            let ahead = self.ready.pop_front()?;
            if !self.held.contains_key(&ahead.lease.sequence) {
                continue;
            }
            if now.saturating_duration_since(ahead.taken) > STALE {
                self.held.remove(&ahead.lease.sequence);
                self.ends.push(End::back_unseen(ahead.lease.sequence));
                continue;
            }
            if self.free.get(&ahead.lease.host).is_some_and(|free| *free > now) {
                self.ready.push_back(ahead);
                continue;
            }
            if !ahead.pause.is_zero() {
                if self.free.len() >= TIMES {
                    self.free.retain(|_, free| *free > now);
                }
                self.free.insert(ahead.lease.host.clone(), now + ahead.pause);
            }
            return Some(ahead.lease);
        }
        None
    }

    /// Remembers a URL; `true` if it was not remembered. May forget, and never invents.
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

    /// What the cluster said, and what it does not know yet.
    pub(super) fn counts(&self) -> Counts {
        let more = self.pushes.len() as u64;
        Counts { queued: self.told.queued + more, ..self.told }
    }
}
