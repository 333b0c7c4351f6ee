use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hapax_url::{UrlKey, host_key, url_key};
use url::Url;

use crate::address::{Address, network};
use crate::bounds::{Pushed, QueueBytes, UNCOUNTED_BYTES, bytes_of, find_place};
use crate::disk::{ALL_INLINKS, Batch, Counters, Disk, UrlState};
use crate::entry::{Counts, Entry, EntryKind, HostState, Options, RECENT};
use crate::error::{Error, Result};
use crate::found_inlinks::FoundInlinks;
use crate::frontier::Frontier;
use crate::host::{Host, class_of, host_hash, sequence};
use crate::inlinks::RecentInlinks;
use crate::lease::{End, HostAnswer, Lease, LeaseCounts, Next};
use crate::seen::Seen;

mod heads;
mod leases;
mod queue;
mod state;

use heads::{HEADS_BYTES, head};
use state::State;

const FILE: &str = "frontier.redb";

/// The seen-set, the queues and the clock of every host. Safe to share between threads.
///
/// # Complexity
/// Memory: 56 MiB (16 for the cache of seen URLs, 7 for inlinks, 32 for redb), about 300 bytes a host, the heads of the queues, and
/// uncommitted changes. A head has up to 256 URLs of a host, fewer above 256 hosts and 8 from 8,192 hosts on; all
/// heads take at most 16 MiB. Seen-set and queues are on disk. A push reads from disk unless the URL is cached. A
/// lease and a completion are O(log hosts).
#[derive(Debug)]
pub struct DiskFrontier {
    options: Options,
    disk: Disk,
    state: Mutex<State>,
    /// Allows one commit at a time. Locked before `state`.
    commits: Mutex<()>,
    leases: Arc<LeaseCounts>,
}

impl DiskFrontier {
    /// Returns whether `folder` has a frontier.
    pub fn is_there(folder: &Path) -> bool {
        folder.join(FILE).is_file()
    }

    /// Opens or creates the frontier in `folder`.
    ///
    /// # Errors
    /// [`Error::Locked`], [`Error::Damaged`] or [`Error::Io`].
    pub fn open(folder: &Path, options: Options) -> Result<Self> {
        std::fs::create_dir_all(folder)
            .map_err(|source| Error::Io { path: folder.to_owned(), source })?;
        Self::with_disk(Disk::open(&folder.join(FILE))?, options)
    }

    /// Opens the existing frontier in `folder` for reading only: changes stay in memory. Folder and file need not be
    /// writable.
    ///
    /// # Errors
    /// [`Error::Locked`], [`Error::Damaged`] or [`Error::Io`].
    pub fn open_read_only(folder: &Path, options: Options) -> Result<Self> {
        Self::with_disk(Disk::open_read_only(&folder.join(FILE))?, options)
    }

    fn with_disk(disk: Disk, options: Options) -> Result<Self> {
        let (per_host, next) = disk.queued()?;
        let stored = |name| -> Result<u64> {
            let bytes = disk.meta(name)?.and_then(|v| v.try_into().ok());
            Ok(bytes.map_or(0, u64::from_le_bytes))
        };
        let queued: u64 = per_host.values().flatten().sum();
        let queue_bytes = match disk.meta("queue_bytes")? {
            Some(_) if queued > 0 => {
                QueueBytes { all: stored("queue_bytes")?, recent: stored("recent_bytes")? }
            }
            // Nothing is queued, or an earlier version did not count the bytes.
            _ => QueueBytes { all: queued * UNCOUNTED_BYTES, recent: 0 },
        };
        let state = State {
            seen: Seen::new(disk.url_count()?, stored("refused")?),
            hosts: Vec::new(),
            names: Vec::new(),
            by_name: HashMap::new(),
            addresses: Vec::new(),
            by_address: HashMap::new(),
            ready: BTreeSet::new(),
            batch: Batch::default(),
            inlinks: RecentInlinks::default(),
            committing: None,
            commits_done: 0,
            failed: false,
            queued,
            queue_bytes,
            held_bytes: 0,
            deferred: 0,
            next_sequence: next,
        };
        let (state, commits, leases) = (Mutex::new(state), Mutex::new(()), Arc::default());
        let frontier = Self { options, disk, state, commits, leases };
        for name in frontier.disk.hosts()? {
            let mut state = frontier.lock();
            let index = frontier.host_index(&mut state, &name);
            if let Some(host) = state.hosts.get_mut(index) {
                for (class, &count) in (0..).zip(per_host.get(&host.key).into_iter().flatten()) {
                    host.queued += count;
                    host.links += if class == RECENT { 0 } else { count };
                    if count > 0 {
                        host.lane(class).on_disk_from = Some(sequence(class, 0));
                    }
                }
            }
            frontier.wake(&mut state, index);
        }
        frontier.lock().batch.hosts.clear();
        Ok(frontier)
    }

    /// Compares every byte of the frontier in `folder` with its checksums. Writes nothing.
    ///
    /// # Errors
    /// [`Error::Locked`], [`Error::Damaged`] or [`Error::Io`].
    ///
    /// # Complexity
    /// Reads the whole file.
    pub fn verify(folder: &Path) -> Result<()> {
        Disk::open_read_only(&folder.join(FILE))?.verify()
    }

    /// Returns whether a URL in normal form is queued or in flight.
    ///
    /// # Errors
    /// From the file.
    pub fn is_queued(&self, url: &str) -> Result<bool> {
        let state = self.usable()?;
        self.has_queued(&state, url_key(url))
    }

    /// Returns a queued URL as of the last commit, and how many of its host's URLs are before it.
    ///
    /// # Errors
    /// From the file.
    ///
    /// # Complexity
    /// O(queue of the host).
    pub fn queued(&self, url: &Url) -> Result<Option<(u64, Entry)>> {
        drop(self.usable()?);
        self.disk.position(host_hash(&host_key(url)), url.as_str())
    }

    /// Returns whether inlinks were kept from the first run on. If not, [`add_inlinks`](Self::add_inlinks) can add
    /// those of an archive.
    ///
    /// # Errors
    /// From the file.
    pub fn has_all_inlinks(&self) -> Result<bool> {
        drop(self.usable()?);
        Ok(self.disk.meta(ALL_INLINKS)?.is_some())
    }

    /// Stores inlinks that were found in an archive, at once. `all`: they are complete.
    ///
    /// # Errors
    /// From the file.
    pub fn add_inlinks(&self, found: &FoundInlinks, all: bool) -> Result<()> {
        drop(self.usable()?);
        self.disk.add_inlinks(found, all)
    }

    /// Returns [added](Self::add_inlinks) inlinks of a URL in normal form, the first one first.
    ///
    /// # Errors
    /// From the file.
    pub fn found_inlinks(&self, url: &str) -> Result<Vec<String>> {
        drop(self.usable()?);
        self.disk.found_inlinks(url_key(url))
    }

    fn enqueue(&self, state: &mut State, key: UrlKey, entry: Entry) {
        let name = host_key(&entry.url);
        let index = self.host_index(state, &name);
        let probe = entry.kind == EntryKind::Probe;
        if probe && state.hosts.get(index).is_some_and(|host| host.given_up) {
            return;
        }
        let class = entry.class();
        let sequence = sequence(class, state.next_sequence);
        state.next_sequence += 1;
        state.queued += 1;
        state.queue_bytes.add(class, bytes_of(&entry));
        // A probe is not stored: after a kill it may be pushed again.
        if !probe {
            state.batch.states.insert(key, UrlState::Queued);
        }
        let (head, fits) = (head(state.hosts.len()), state.held_bytes < HEADS_BYTES);
        let Some(host) = state.hosts.get_mut(index) else { return };
        host.queued += 1;
        host.waits_again(class);
        let host_key = host.key;
        if host.given_up {
            host.deferred += 1;
            state.deferred += 1;
        } else if probe {
            // A probe goes first: its result concerns the other URLs, and only in this run.
            host.take_back(sequence, entry.clone(), 0);
        } else {
            let room = fits && host.held() < head;
            let lane = host.lane(class);
            if lane.on_disk_from.is_none() && room {
                lane.push((sequence, entry.clone(), 0));
            } else {
                lane.on_disk_from.get_or_insert(sequence);
            }
        }
        if !probe {
            state.batch.queued.push((host_key, sequence, entry));
        }
        self.wake(state, index);
    }

    fn is_known(&self, state: &mut State, key: UrlKey) -> Result<bool> {
        if state.seen.has(key) {
            return Ok(true);
        }
        let known = self.disk.state(key)?.is_some();
        if known {
            state.seen.cache(key);
        }
        Ok(known)
    }

    /// Returns whether the latest state of a URL is queued. Uncommitted changes take precedence over the disk.
    fn has_queued(&self, state: &State, key: UrlKey) -> Result<bool> {
        let found = match state.uncommitted().find_map(|batch| batch.states.get(&key)) {
            Some(&fresh) => Some(fresh),
            None => self.disk.state(key)?,
        };
        Ok(found == Some(UrlState::Queued))
    }

    fn give_up(state: &mut State, index: usize) {
        let Some(host) = state.hosts.get_mut(index) else { return };
        host.lanes.clear();
        let elsewhere = host.in_flight as u64 + host.unfinished + host.deferred;
        let waiting = host.queued.saturating_sub(elsewhere);
        host.deferred += waiting;
        state.deferred += waiting;
    }

    /// Makes a host with queued URLs ready, or moves it forward if it is due earlier.
    fn wake(&self, state: &mut State, index: usize) {
        state.count_held(index);
        let due = state.due(index);
        let Some(host) = state.hosts.get_mut(index) else { return };
        let has_work = !host.given_up && !host.lanes.is_empty();
        let sooner = host.ready_at.is_none_or(|at| due < at);
        if has_work && sooner && host.in_flight < self.options.per_host.max(1) {
            if let Some(at) = host.ready_at.replace(due) {
                state.ready.remove(&(at, index));
            }
            state.ready.insert((due, index));
        }
    }

    fn host_index(&self, state: &mut State, name: &str) -> usize {
        if let Some(&index) = state.by_name.get(name) {
            return index;
        }
        let index = state.hosts.len();
        state.hosts.push(Host::new(host_hash(name), self.options.delay));
        state.names.push(name.to_owned());
        state.by_name.insert(name.to_owned(), index);
        state.batch.hosts.push(name.to_owned());
        index
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the state, unless a commit failed: then memory and disk disagree.
    fn usable(&self) -> Result<MutexGuard<'_, State>> {
        let state = self.lock();
        if state.failed { Err(self.disk.poisoned()) } else { Ok(state) }
    }
}

impl Frontier for DiskFrontier {
    fn payload(&self) -> Result<Vec<u8>> {
        drop(self.usable()?);
        Ok(self.disk.meta("payload")?.unwrap_or_default())
    }

    fn push(&self, mut entry: Entry) -> Result<bool> {
        let mut state = self.usable()?;
        let key = url_key(entry.url.as_str());
        if self.is_known(&mut state, key)? {
            return Ok(false);
        }
        state.seen.insert(key);
        state.inlinks.begin(key, &mut entry, None);
        self.enqueue(&mut state, key, entry);
        Ok(true)
    }

    fn push_link(&self, mut entry: Entry, from: Option<&Url>) -> Result<Pushed> {
        let mut state = self.usable()?;
        let key = url_key(entry.url.as_str());
        if self.is_known(&mut state, key)? {
            if let Some(from) = from {
                state.inlinks.add(key, from);
            }
            return Ok(Pushed::Known);
        }
        let host = state.by_name.get(&host_key(&entry.url)).and_then(|&at| state.hosts.get(at));
        let (links, of_host) = host.map_or((0, 0), |host| (host.links, host.queued));
        if !find_place(&self.options, &mut entry, links, of_host, state.queue_bytes) {
            return Ok(Pushed::Full);
        }
        state.seen.insert(key);
        state.inlinks.begin(key, &mut entry, from);
        self.enqueue(&mut state, key, entry);
        Ok(Pushed::New)
    }

    fn inlinks(&self, entry: &Entry) -> Vec<String> {
        self.lock().inlinks.of(entry)
    }

    fn push_again(&self, entry: Entry) -> Result<bool> {
        let mut state = self.usable()?;
        let key = url_key(entry.url.as_str());
        if !self.is_known(&mut state, key)? {
            state.seen.insert(key);
        } else if self.has_queued(&state, key)? {
            return Ok(false);
        }
        self.enqueue(&mut state, key, entry);
        Ok(true)
    }

    fn mark(&self, url: &Url) -> Result<bool> {
        let mut state = self.usable()?;
        let key = url_key(url.as_str());
        let known = self.is_known(&mut state, key)?;
        if !known {
            state.seen.insert(key);
            state.batch.states.insert(key, UrlState::Done);
        }
        Ok(!known)
    }

    fn refuse(&self, url: &Url) -> Result<bool> {
        let mut state = self.usable()?;
        // The prefix keeps the keys of refusals distinct from those of URLs.
        let key = url_key(&format!("refused {url}"));
        let known = self.is_known(&mut state, key)?;
        if !known {
            state.seen.insert_refusal(key);
            state.batch.states.insert(key, UrlState::Done);
        }
        Ok(!known)
    }

    fn is_waiting(&self, url: &str) -> Result<bool> {
        self.is_queued(url)
    }

    fn knows(&self, url: &str) -> Result<bool> {
        let mut state = self.usable()?;
        self.is_known(&mut state, url_key(url))
    }

    fn next(&self, now: Instant) -> Result<Next> {
        let mut guard = self.usable()?;
        let state = &mut *guard;
        while let Some(&(at, index)) = state.ready.first() {
            if at > now {
                return Ok(Next::At(at));
            }
            state.ready.pop_first();
            let Some(host) = state.hosts.get_mut(index) else { continue };
            host.ready_at = None;
            if host.in_flight >= self.options.per_host.max(1) {
                continue;
            }
            // Another request to the host or its address has advanced the clock since.
            if state.due(index) > now {
                self.wake(state, index);
                continue;
            }
            let popped = self.pop(state, index)?;
            state.count_held(index);
            let Some((sequence, entry, attempts)) = popped else { continue };
            let Some(host) = state.hosts.get_mut(index) else { continue };
            host.in_flight += 1;
            host.is_lent(class_of(sequence));
            host.clock.lend(sequence, now + host.delay);
            let has_address = host.address.is_some();
            if let Some(address) = host.address.and_then(|at| state.addresses.get_mut(at)) {
                address.clock.lend(sequence, now + self.options.address_delay);
            }
            let name = state.names.get(index).cloned().unwrap_or_default();
            self.wake(state, index);
            let mut lease = Lease::new(entry, name, sequence);
            (lease.attempts, lease.has_address) = (attempts, has_address);
            return Ok(Next::Lease(Box::new(lease.hand_out(&self.leases))));
        }
        Ok(Next::Idle)
    }

    fn set_address(&self, lease: &Lease, address: IpAddr, now: Instant) -> bool {
        let mut guard = self.lock();
        let state = &mut *guard;
        let index = *state.by_address.entry(network(address)).or_insert_with(|| {
            state.addresses.push(Address::new(now));
            state.addresses.len() - 1
        });
        let host = state.by_name.get(&lease.host).and_then(|&host| state.hosts.get_mut(host));
        let (Some(host), Some(address)) = (host, state.addresses.get_mut(index)) else {
            return true;
        };
        host.address = Some(index);
        if address.clock.at() > now {
            return false;
        }
        address.clock.lend(lease.sequence, now + self.options.address_delay);
        true
    }

    fn free(&self, lease: &mut Lease, answer: HostAnswer, now: Instant) -> bool {
        self.free_host(lease, answer, now)
    }

    fn end(&self, lease: Lease, end: End, now: Instant) -> bool {
        self.end_lease(lease, end, now)
    }

    fn leases(&self) -> Option<&LeaseCounts> {
        Some(&self.leases)
    }

    fn address_answered(&self, lease: &Lease) {
        let mut state = self.lock();
        let host = state.by_name.get(&lease.host).copied();
        if let Some(address) = host.and_then(|host| state.address_of(host)) {
            address.answered();
        }
    }

    fn address_silent(&self, lease: &Lease, asked: Instant, now: Instant) {
        let mut state = self.lock();
        let Some(&host) = state.by_name.get(&lease.host) else { return };
        if let Some(address) = state.address_of(host) {
            address.silent(host, asked, now, &self.options);
        }
    }

    fn set_delay(&self, host: &str, delay: Duration) {
        let mut state = self.lock();
        let index = self.host_index(&mut state, host);
        if let Some(host) = state.hosts.get_mut(index) {
            host.delay = host.delay.max(delay);
            host.clock.hold(Instant::now() + host.delay);
        }
    }

    fn note(&self, subject: &str, kind: &'static str, value: Vec<u8>) {
        self.lock().batch.notes.push((subject.to_owned(), kind, value));
    }

    fn note_of(&self, subject: &str, kind: &str) -> Result<Option<Vec<u8>>> {
        let state = self.usable()?;
        let mut fresh = state.uncommitted().flat_map(|batch| batch.notes.iter().rev());
        if let Some((.., value)) = fresh.find(|(s, k, _)| s == subject && *k == kind) {
            return Ok(Some(value.clone()));
        }
        drop(fresh);
        drop(state);
        self.disk.note(subject, kind)
    }

    fn notes(&self, kind: &str, visit: &mut dyn FnMut(&str, &[u8])) -> Result<()> {
        drop(self.usable()?);
        self.disk.notes(kind, visit)
    }

    fn commit(&self, payload: &[u8]) -> Result<()> {
        // If another commit panicked, the state on disk is unknown too.
        let _turn = self.commits.lock().map_err(|_| self.disk.poisoned())?;
        let (batch, counters) = {
            let mut state = self.usable()?;
            state.seen.begin_commit();
            let batch = Arc::new(std::mem::take(&mut state.batch));
            state.committing = Some(Arc::clone(&batch));
            (
                batch,
                Counters {
                    next: state.next_sequence,
                    refused: state.seen.refused(),
                    queue_bytes: state.queue_bytes,
                },
            )
        };
        let written = self.disk.commit(&batch, counters, payload);
        let mut state = self.lock();
        if let Err(error) = written {
            state.failed = true;
            return Err(error);
        }
        state.seen.end_commit();
        state.committing = None;
        state.commits_done += 1;
        // URLs that are on disk only can be read now.
        for index in 0..state.hosts.len() {
            if state.hosts.get(index).is_some_and(|host| host.is_on_disk()) {
                self.wake(&mut state, index);
            }
        }
        Ok(())
    }

    fn is_dirty(&self) -> bool {
        !self.lock().batch.is_empty()
    }

    fn has_work(&self) -> bool {
        !self.lock().ready.is_empty()
    }

    fn counts(&self) -> Counts {
        let state = self.lock();
        Counts { known: state.seen.count(), queued: state.queued, deferred: state.deferred }
    }

    fn hosts(&self) -> Vec<HostState> {
        let state = self.lock();
        let both = state.names.iter().zip(&state.hosts);
        both.map(|(name, host)| HostState {
            host: name.clone(),
            queued: host.queued,
            in_flight: host.in_flight,
            failures: host.failures,
            given_up: host.given_up,
        })
        .collect()
    }

    fn host(&self, name: &str) -> Option<HostState> {
        let state = self.lock();
        let host = state.hosts.get(*state.by_name.get(name)?)?;
        Some(HostState {
            host: name.to_owned(),
            queued: host.queued,
            in_flight: host.in_flight,
            failures: host.failures,
            given_up: host.given_up,
        })
    }

    fn position(&self, url: &Url) -> Result<Option<u64>> {
        Ok(self.queued(url)?.map(|(before, _)| before))
    }
}

#[cfg(test)]
mod damage_tests;
#[cfg(test)]
mod tests;
