use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use url::Url;

use crate::disk::{Batch, Disk, UrlState};
use crate::error::{Error, Result};
use crate::host_key;

/// A URL's identity: 128 bits of its normal form's XXH3.
pub type UrlKey = u128;

/// The identity of a URL in normal form.
pub fn url_key(url: &str) -> UrlKey {
    xxhash_rust::xxh3::xxh3_128(url.as_bytes())
}

/// So many of a host's queued URLs are held in memory; the rest waits on disk.
const HEAD: usize = 256;

/// A URL that waits to be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The URL, in normal form.
    pub url: Url,
    /// Links from the seed to it.
    pub depth: u16,
    /// Redirects on the way to it.
    pub hops: u8,
}

impl Entry {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = self.depth.to_le_bytes().to_vec();
        bytes.push(self.hops);
        bytes.extend(self.url.as_str().as_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (depth, rest) = bytes.split_first_chunk::<2>()?;
        let (hops, url) = rest.split_first()?;
        let url = Url::parse(std::str::from_utf8(url).ok()?).ok()?;
        Some(Self { url, depth: u16::from_le_bytes(*depth), hops: *hops })
    }
}

/// Politeness.
#[derive(Clone, Debug)]
pub struct Options {
    /// Shortest time between two requests to a host. Default 1 s.
    pub delay: Duration,
    /// Longest time a slow host stretches the delay to. Default 30 s.
    pub max_delay: Duration,
    /// Requests at a time to one host. Default 1.
    pub per_host: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { delay: Duration::from_secs(1), max_delay: Duration::from_secs(30), per_host: 1 }
    }
}

/// A URL handed out. It stays queued on disk until [`Frontier::done`] and a commit.
#[derive(Clone, Debug)]
pub struct Lease {
    /// What to fetch.
    pub entry: Entry,
    /// Its host, as [`host_key`] writes it.
    pub host: String,
    /// How often it was tried before.
    pub attempts: u8,
    sequence: u64,
}

/// What to do now.
#[derive(Debug)]
pub enum Next {
    /// Fetch this.
    Lease(Box<Lease>),
    /// Nothing is allowed before this moment.
    At(Instant),
    /// Nothing is queued but for what is in flight.
    Idle,
}

/// What one host looks like from outside.
#[derive(Clone, Debug)]
pub struct HostState {
    /// Its name, see [`host_key`].
    pub host: String,
    /// URLs of it that were leased or are in memory.
    pub in_memory: usize,
    /// Requests in flight.
    pub in_flight: usize,
}

/// How many URLs are where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Every URL ever seen.
    pub known: u64,
    /// Waiting, those in flight and deferred among them.
    pub queued: u64,
    /// Given up for this run.
    pub deferred: u64,
}

#[derive(Debug)]
struct Host {
    key: u64,
    queue: VecDeque<(u64, Entry, u8)>,
    /// Where the part of the queue begins that is on disk only; `None`: all is in memory.
    on_disk_from: Option<u64>,
    next_allowed: Instant,
    delay: Duration,
    in_flight: usize,
    in_heap: bool,
}

#[derive(Debug, Default)]
struct State {
    seen: HashSet<UrlKey>,
    hosts: Vec<Host>,
    names: Vec<String>,
    by_name: HashMap<String, usize>,
    ready: BinaryHeap<Reverse<(Instant, usize)>>,
    batch: Batch,
    queued: u64,
    deferred: u64,
    next_sequence: u64,
}

/// The seen-set, the queues and the clock of every host. Safe to share between threads.
///
/// # Complexity
/// Memory: 20 to 40 bytes a known URL, and 256 queued URLs a host; the rest of the queues is on
/// disk. A push, a lease and a completion are O(log hosts).
#[derive(Debug)]
pub struct Frontier {
    options: Options,
    disk: Disk,
    state: Mutex<State>,
}

impl Frontier {
    /// Opens or creates the frontier in `folder`.
    ///
    /// # Errors
    /// [`Error::Locked`], [`Error::Damaged`] or [`Error::Io`].
    pub fn open(folder: &Path, options: Options) -> Result<Self> {
        std::fs::create_dir_all(folder)
            .map_err(|source| Error::Io { path: folder.to_owned(), source })?;
        let disk = Disk::open(&folder.join("frontier.redb"))?;
        let mut state = State::default();
        disk.each_url(|key, _| {
            state.seen.insert(key);
        })?;
        let (queued, last) = disk.queued()?;
        state.queued = queued;
        let stored = disk.meta("next")?.and_then(|v| v.try_into().ok()).map(u64::from_le_bytes);
        state.next_sequence = stored.unwrap_or(0).max(last + 1);
        let frontier = Self { options, disk, state: Mutex::new(state) };
        for name in frontier.disk.hosts()? {
            let mut state = frontier.lock();
            let index = frontier.host_index(&mut state, &name);
            if let Some(host) = state.hosts.get_mut(index) {
                host.on_disk_from = Some(0);
            }
            frontier.wake(&mut state, index);
        }
        Ok(frontier)
    }

    /// What the last commit carried.
    ///
    /// # Errors
    /// From the file.
    pub fn payload(&self) -> Result<Vec<u8>> {
        Ok(self.disk.meta("payload")?.unwrap_or_default())
    }

    /// Queues a URL unless it was ever seen; `true` if it is new.
    pub fn push(&self, entry: Entry) -> bool {
        let mut state = self.lock();
        let key = url_key(entry.url.as_str());
        if !state.seen.insert(key) {
            return false;
        }
        let name = host_key(&entry.url);
        let index = self.host_index(&mut state, &name);
        let sequence = state.next_sequence;
        state.next_sequence += 1;
        state.queued += 1;
        state.batch.states.push((key, UrlState::Queued));
        let Some(host) = state.hosts.get_mut(index) else { return false };
        let host_key = host.key;
        if host.on_disk_from.is_none() && host.queue.len() < HEAD {
            host.queue.push_back((sequence, entry.clone(), 0));
        } else {
            host.on_disk_from.get_or_insert(sequence);
        }
        state.batch.queued.push((host_key, sequence, entry));
        self.wake(&mut state, index);
        true
    }

    /// Marks a URL as seen and done without queueing it, such as one that is out of scope or a
    /// canonical alias; `true` if it was not known.
    pub fn mark(&self, url: &Url) -> bool {
        let mut state = self.lock();
        let key = url_key(url.as_str());
        let new = state.seen.insert(key);
        if new {
            state.batch.states.push((key, UrlState::Done));
        }
        new
    }

    /// Whether a URL in normal form was ever seen.
    pub fn knows(&self, url: &str) -> bool {
        self.lock().seen.contains(&url_key(url))
    }

    /// The next URL that politeness allows.
    ///
    /// # Errors
    /// From the file, when a queue's next part is read.
    pub fn next(&self, now: Instant) -> Result<Next> {
        let mut guard = self.lock();
        let state = &mut *guard;
        while let Some(&Reverse((at, index))) = state.ready.peek() {
            if at > now {
                return Ok(Next::At(at));
            }
            state.ready.pop();
            let Some(host) = state.hosts.get_mut(index) else { continue };
            host.in_heap = false;
            if host.in_flight >= self.options.per_host.max(1) {
                continue;
            }
            if host.next_allowed > now {
                self.wake(state, index);
                continue;
            }
            if host.queue.is_empty()
                && let Some(from) = host.on_disk_from
            {
                self.refill(state, index, from)?;
            }
            let Some(host) = state.hosts.get_mut(index) else { continue };
            let Some((sequence, entry, attempts)) = host.queue.pop_front() else { continue };
            host.in_flight += 1;
            host.next_allowed = now + host.delay;
            let name = state.names.get(index).cloned().unwrap_or_default();
            self.wake(state, index);
            return Ok(Next::Lease(Box::new(Lease { entry, host: name, attempts, sequence })));
        }
        Ok(Next::Idle)
    }

    /// A lease has come to its end; `took` is how long the host needed. `now` must not lie before
    /// the lease's.
    pub fn done(&self, lease: &Lease, took: Duration, now: Instant) {
        let mut state = self.lock();
        state.queued = state.queued.saturating_sub(1);
        state.batch.states.push((url_key(lease.entry.url.as_str()), UrlState::Done));
        if let Some(index) = self.release(&mut state, lease, took, now) {
            let key = state.hosts.get(index).map_or(0, |host| host.key);
            state.batch.dequeued.push((key, lease.sequence));
        }
    }

    /// The host may be asked again, though the lease's page is still being worked on: called when
    /// the response is in, before [`finish`](Self::finish).
    pub fn free(&self, lease: &Lease, took: Duration, now: Instant) {
        let mut state = self.lock();
        self.release(&mut state, lease, took, now);
    }

    /// The second half of [`done`](Self::done), after [`free`](Self::free).
    pub fn finish(&self, lease: &Lease) {
        let mut state = self.lock();
        state.queued = state.queued.saturating_sub(1);
        state.batch.states.push((url_key(lease.entry.url.as_str()), UrlState::Done));
        let key = host_hash(&lease.host);
        state.batch.dequeued.push((key, lease.sequence));
    }

    /// Puts a lease back, to be tried again after `wait`. Nothing of the host is handed out before.
    pub fn retry(&self, lease: Lease, wait: Duration, now: Instant) {
        let mut state = self.lock();
        if let Some(&index) = state.by_name.get(&lease.host)
            && let Some(host) = state.hosts.get_mut(index)
        {
            host.in_flight = host.in_flight.saturating_sub(1);
            host.next_allowed = host.next_allowed.max(now + wait);
            host.queue.push_front((lease.sequence, lease.entry, lease.attempts.saturating_add(1)));
            self.wake(&mut state, index);
        }
    }

    /// Gives a lease up for this run: it stays queued on disk and is handed out after the next open.
    pub fn defer(&self, lease: &Lease, now: Instant) {
        let mut state = self.lock();
        state.deferred += 1;
        self.release(&mut state, lease, Duration::ZERO, now);
    }

    /// The host asks for this delay (robots' Crawl-delay); the longer one of the two holds.
    pub fn set_delay(&self, host: &str, delay: Duration) {
        let mut state = self.lock();
        let index = self.host_index(&mut state, host);
        if let Some(host) = state.hosts.get_mut(index) {
            host.delay = host.delay.max(delay);
            host.next_allowed = host.next_allowed.max(Instant::now() + host.delay);
        }
    }

    /// Makes everything durable that was pushed and done before, with the caller's `payload`.
    ///
    /// # Errors
    /// From the file; then the frontier should be opened anew.
    pub fn commit(&self, payload: &[u8]) -> Result<()> {
        let (batch, next) = {
            let mut state = self.lock();
            (std::mem::take(&mut state.batch), state.next_sequence)
        };
        self.disk.commit(&batch, next, payload)?;
        let mut state = self.lock();
        // What went to disk only may be read from there now.
        for index in 0..state.hosts.len() {
            if state.hosts.get(index).is_some_and(|host| host.on_disk_from.is_some()) {
                self.wake(&mut state, index);
            }
        }
        Ok(())
    }

    /// Whether anything waits for a commit.
    pub fn is_dirty(&self) -> bool {
        !self.lock().batch.is_empty()
    }

    /// How many URLs are where.
    pub fn counts(&self) -> Counts {
        let state = self.lock();
        Counts { known: state.seen.len() as u64, queued: state.queued, deferred: state.deferred }
    }

    /// Every host, in the order of its first URL.
    pub fn hosts(&self) -> Vec<HostState> {
        let state = self.lock();
        let both = state.names.iter().zip(&state.hosts);
        both.map(|(name, host)| HostState {
            host: name.clone(),
            in_memory: host.queue.len(),
            in_flight: host.in_flight,
        })
        .collect()
    }

    fn release(
        &self,
        state: &mut State,
        lease: &Lease,
        took: Duration,
        now: Instant,
    ) -> Option<usize> {
        let index = *state.by_name.get(&lease.host)?;
        let host = state.hosts.get_mut(index)?;
        host.in_flight = host.in_flight.saturating_sub(1);
        if !self.options.delay.is_zero() {
            // Slower when the host is slow: twice its answer's time, up to the ceiling.
            let slow = (took * 2).min(self.options.max_delay);
            host.next_allowed = host.next_allowed.max(now + host.delay.max(slow));
        } else if !host.delay.is_zero() {
            host.next_allowed = host.next_allowed.max(now + host.delay);
        }
        self.wake(state, index);
        Some(index)
    }

    /// Puts a host into the heap if it has something to hand out.
    fn wake(&self, state: &mut State, index: usize) {
        let Some(host) = state.hosts.get_mut(index) else { return };
        let has_work = !host.queue.is_empty() || host.on_disk_from.is_some();
        if has_work && !host.in_heap && host.in_flight < self.options.per_host.max(1) {
            host.in_heap = true;
            state.ready.push(Reverse((host.next_allowed, index)));
        }
    }

    fn refill(&self, state: &mut State, index: usize, from: u64) -> Result<()> {
        let Some(host) = state.hosts.get_mut(index) else { return Ok(()) };
        let entries = self.disk.queue(host.key, from, HEAD)?;
        let waiting = state
            .batch
            .queued
            .iter()
            .any(|(key, sequence, _)| *key == host.key && *sequence >= from);
        let last = entries.last().map(|(sequence, _)| sequence + 1);
        host.on_disk_from = match (entries.len() == HEAD || waiting, last) {
            (true, last) => Some(last.unwrap_or(from)),
            (false, _) => None,
        };
        let fresh = entries.into_iter().map(|(sequence, entry)| (sequence, entry, 0));
        host.queue.extend(fresh);
        Ok(())
    }

    fn host_index(&self, state: &mut State, name: &str) -> usize {
        if let Some(&index) = state.by_name.get(name) {
            return index;
        }
        let index = state.hosts.len();
        state.hosts.push(Host {
            key: host_hash(name),
            queue: VecDeque::new(),
            on_disk_from: None,
            next_allowed: Instant::now(),
            delay: self.options.delay,
            in_flight: 0,
            in_heap: false,
        });
        state.names.push(name.to_owned());
        state.by_name.insert(name.to_owned(), index);
        state.batch.hosts.push(name.to_owned());
        index
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn host_hash(name: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64(name.as_bytes())
}

#[cfg(test)]
#[path = "frontier_tests.rs"]
mod tests;
