//! The frontier that several workers share. Hosts are in a sorted set by the time of their next request, measured by
//! the cluster's clocks. Each host's URLs are in a list. Leases expire.

mod calls;
mod local;
mod look;
mod pump;

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hapax_frontier::{
    Counts, End, Entry, EntryKind, Fault, Frontier, HostAnswer, HostState, Lease, LeaseCounts,
    Next, Options, Result, network,
};
use hapax_url::{host_key, url_key};
use redis::cluster::ClusterPipeline;
use url::Url;

use self::calls::{Ended, Mode, Notice, Push};
use self::local::Local;
use crate::Cluster;
use crate::keys::{bytes, part_of};
use crate::link::LEAVE;

/// Time after which `next` should be called again if there is no lease.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// The queue is empty after this number of counts in a row without work.
const IDLE_TIMES: u32 = 2;

/// A [`Frontier`] in a cluster, see [`Cluster::frontier`].
///
/// A thread sends pushed URLs and ended leases in batches; [`Frontier::commit`] returns when all of them have
/// arrived. The same thread leases a few URLs in advance. A lease that is not renewed expires and goes to another
/// worker.
///
/// # Complexity
/// Memory: a cache of 2^20 URL keys and the leases. Everything else is in the cluster: about 8 bytes for each seen
/// URL, and its length while it is queued.
#[derive(Debug)]
pub struct ClusterFrontier {
    shared: Arc<Shared>,
    pump: Option<std::thread::JoinHandle<()>>,
    leases: Arc<LeaseCounts>,
}

#[derive(Debug)]
struct Shared {
    cluster: Arc<Cluster>,
    options: Options,
    /// The file of the payload, which belongs to this worker only.
    payload: PathBuf,
    local: Mutex<Local>,
    work: Condvar,
    /// Locked while a batch is in transit, so that a flush can wait for it.
    sending: Mutex<()>,
    /// Serializes commits: each removes what it has sent.
    committing: Mutex<()>,
    stop: AtomicBool,
}

impl Shared {
    fn local(&self) -> MutexGuard<'_, Local> {
        self.local.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cluster {
    /// Opens the frontier that all workers share. `folder` stores the data that belongs to this worker only.
    ///
    /// # Errors
    /// As [`join`](Self::join), or from the folder.
    pub fn frontier(
        self: &Arc<Self>,
        folder: &Path,
        options: Options,
    ) -> hapax_frontier::Result<ClusterFrontier> {
        let others = self.workers()?;
        let alone = !others.iter().any(|other| other.alive && other.name != self.worker);
        self.heartbeat()?;
        ClusterFrontier::open(Arc::clone(self), folder, options, alone)
    }

    /// Returns the numbers of known, queued and deferred URLs.
    ///
    /// # Errors
    /// As [`join`](Self::join).
    pub fn counts(&self) -> crate::error::Result<Counts> {
        look::counts(self)
    }
}

impl ClusterFrontier {
    pub(crate) fn open(
        cluster: Arc<Cluster>,
        folder: &std::path::Path,
        options: Options,
        alone: bool,
    ) -> Result<Self> {
        std::fs::create_dir_all(folder)
            .map_err(|source| hapax_frontier::Error::Io { path: folder.to_owned(), source })?;
        calls::begin(&cluster, alone)?;
        let shared = Arc::new(Shared {
            options,
            payload: folder.join("payload"),
            local: Mutex::new(Local::new()),
            work: Condvar::new(),
            sending: Mutex::new(()),
            committing: Mutex::new(()),
            stop: AtomicBool::new(false),
            cluster,
        });
        pump::counts(&shared)?;
        let thread = {
            let shared = Arc::clone(&shared);
            std::thread::Builder::new().name("cluster".into()).spawn(move || pump::run(&shared))
        };
        let path = folder.to_owned();
        let pump = thread.map_err(|source| hapax_frontier::Error::Io { path, source })?;
        Ok(Self { shared, pump: Some(pump), leases: Arc::default() })
    }

    fn local(&self) -> MutexGuard<'_, Local> {
        self.shared.local()
    }

    /// Marks a URL and waits for the answer: `true` if it was not known.
    fn mark_now(&self, mode: Mode, host: String, key: &str) -> Result<bool> {
        let key = url_key(key);
        if self.local().has_seen(key) {
            return Ok(false);
        }
        let push = Push { mode, host, key: key as u64, entry: Vec::new() };
        let new = calls::push_now(&self.shared.cluster, &self.shared.options, &push)?;
        self.local().saw(key);
        Ok(new)
    }

    fn send(&self, notice: Notice) {
        self.local().ends.push(notice);
        self.shared.work.notify_one();
    }

    /// Ends a lease and waits for the answer: whether this gave the host up.
    fn send_now(&self, end: Notice) -> bool {
        let done =
            calls::end(&self.shared.cluster, &self.shared.options, std::slice::from_ref(&end));
        match done {
            Ok(answers) => {
                self.local().arrived(std::slice::from_ref(&end));
                answers.first() == Some(&Ended::HostDown)
            }
            Err(error) => {
                self.local().failed.get_or_insert(error);
                false
            }
        }
    }

    /// Stops all communication, as if the process had died; for tests.
    #[doc(hidden)]
    #[must_use]
    pub fn dies(mut self) -> Self {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(pump) = self.pump.take() {
            let _ = pump.join();
        }
        self
    }
}

impl Frontier for ClusterFrontier {
    fn payload(&self) -> Result<Vec<u8>> {
        match std::fs::read(&self.shared.payload) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            other => other.map_err(|source| self.io(source)),
        }
    }

    fn push(&self, entry: Entry) -> Result<bool> {
        let mode = if entry.kind == EntryKind::Probe { Mode::Probe } else { Mode::New };
        let key = url_key(entry.url.as_str());
        let mut local = self.local();
        let fresh = local.saw(key);
        if fresh {
            let (host, entry) = (host_key(&entry.url), entry.encode());
            local.pushes.push(Push { mode, host, key: key as u64, entry });
            if local.pushes.len() >= pump::BATCH {
                self.shared.work.notify_one();
            }
        }
        Ok(fresh)
    }

    fn push_again(&self, entry: Entry) -> Result<bool> {
        let key = url_key(entry.url.as_str());
        // Only the cluster knows whether it is queued, unless it is not sent yet.
        if self.local().pushes.iter().any(|push| push.key == key as u64) {
            return Ok(false);
        }
        let (host, entry) = (host_key(&entry.url), entry.encode());
        let push = Push { mode: Mode::Again, host, key: key as u64, entry };
        let queued = calls::push_now(&self.shared.cluster, &self.shared.options, &push)?;
        let mut local = self.local();
        local.saw(key);
        if queued {
            local.told.queued += 1;
            local.idle = 0;
        }
        Ok(queued)
    }

    fn mark(&self, url: &Url) -> Result<bool> {
        self.mark_now(Mode::Mark, host_key(url), url.as_str())
    }

    fn refuse(&self, url: &Url) -> Result<bool> {
        // The prefix keeps the keys of refusals distinct from those of URLs.
        self.mark_now(Mode::Refuse, host_key(url), &format!("refused {url}"))
    }

    fn knows(&self, url: &str) -> Result<bool> {
        let Ok(parsed) = Url::parse(url) else { return Ok(false) };
        let key = url_key(url);
        if self.local().has_seen(key) {
            return Ok(true);
        }
        // Unsent URLs are in the local cache, sent ones in the cluster.
        let known = calls::seen(&self.shared.cluster, &host_key(&parsed), key as u64)?;
        if known {
            self.local().saw(key);
        }
        Ok(known)
    }

    fn next(&self, now: Instant) -> Result<Next> {
        let mut local = self.local();
        if let Some(error) = local.failed.take() {
            return Err(error.into());
        }
        if let Some(lease) = local.hand_out(now) {
            self.shared.work.notify_one();
            return Ok(Next::Lease(Box::new(lease.hand_out(&self.leases))));
        }
        let counts = local.counts();
        if local.idle >= IDLE_TIMES && counts.queued <= counts.deferred {
            Ok(Next::Idle)
        } else {
            Ok(Next::At(now + LOOK_AGAIN))
        }
    }

    fn set_address(&self, lease: &Lease, address: IpAddr, _now: Instant) -> bool {
        let delay = self.shared.options.address_delay;
        if delay.is_zero() {
            return true;
        }
        let key = self.shared.cluster.keys.address(network(address));
        let granted = calls::take_address(&self.shared.cluster, &key, delay);
        if matches!(granted, Ok(true)) {
            return true;
        }
        // Without a clock there is no request. The next call of `next` returns the error.
        let mut local = self.local();
        if let Err(error) = granted {
            local.failed.get_or_insert(error);
        }
        local.address_taken.insert(lease.sequence);
        false
    }

    fn free(&self, lease: &mut Lease, answer: HostAnswer, _now: Instant) -> bool {
        if !lease.free_host() {
            return false;
        }
        match answer {
            HostAnswer::Answered { took } => {
                let options = &self.shared.options;
                let wait = if options.delay.is_zero() {
                    Duration::ZERO
                } else {
                    options.delay.max((took * 2).min(options.max_delay))
                };
                self.send(Notice::free(lease, wait));
                false
            }
            HostAnswer::Failed => {
                self.send_now(Notice::free_failed(lease, self.shared.options.delay))
            }
            HostAnswer::Unasked => {
                self.local().unasked(lease);
                self.send(Notice::free_unasked(lease));
                false
            }
        }
    }

    fn end(&self, mut lease: Lease, end: End, now: Instant) -> bool {
        let given_up = match end {
            End::Done => {
                let answer = HostAnswer::Answered { took: Duration::ZERO };
                let given_up = self.free(&mut lease, answer, now);
                self.local().finished.push(Notice::finish(&lease));
                given_up
            }
            End::PutBack { wait } => {
                let taken = self.local().address_taken.remove(&lease.sequence);
                let wait = if taken { wait.max(self.shared.options.address_delay) } else { wait };
                self.send(Notice::back(&lease, wait, false, false));
                false
            }
            End::Retry { wait, failure } => {
                self.send_now(Notice::back(&lease, wait, failure, true))
            }
            End::Defer { fault } => {
                if fault == Fault::Unasked {
                    self.local().unasked(&lease);
                }
                self.send_now(Notice::defer(&lease, fault))
            }
        };
        lease.close();
        given_up
    }

    fn leases(&self) -> Option<&LeaseCounts> {
        Some(&self.leases)
    }

    fn set_delay(&self, host: &str, delay: Duration) {
        if let Err(error) = calls::set_delay(&self.shared.cluster, host, delay) {
            self.local().failed.get_or_insert(error);
        }
    }

    fn note(&self, subject: &str, kind: &'static str, value: Vec<u8>) {
        self.local().notes.push((subject.to_owned(), kind, value));
    }

    fn note_of(&self, subject: &str, kind: &str) -> Result<Option<Vec<u8>>> {
        if let Some(value) = self.local().note_of(subject, kind) {
            return Ok(Some(value));
        }
        let mut pipe = ClusterPipeline::new();
        pipe.cmd("HGET").arg(self.note_key(subject, kind)).arg(subject);
        let answers = self.shared.cluster.link.pipe(&pipe)?;
        Ok(answers.first().and_then(bytes).map(<[u8]>::to_vec))
    }

    fn notes(&self, kind: &str, visit: &mut dyn FnMut(&str, &[u8])) -> Result<()> {
        Ok(look::notes(&self.shared.cluster, kind, visit)?)
    }

    fn commit(&self, payload: &[u8]) -> Result<()> {
        let _committing = self.shared.committing.lock().unwrap_or_else(PoisonError::into_inner);
        // Removed only after the cluster's answer: a lease that is not renewed or reclaimed is fetched again.
        let (finished, notes) = {
            let local = self.local();
            (local.finished.clone(), local.notes.clone())
        };
        // Links before the pages that contain them: a finished page is not requested again.
        pump::flush(&self.shared).and_then(|()| self.send_notes(&notes))?;
        self.local().notes.drain(..notes.len());
        self.save(payload).map_err(|source| self.io(source))?;
        calls::end(&self.shared.cluster, &self.shared.options, &finished)?;
        self.local().committed(&finished);
        pump::counts(&self.shared)?;
        Ok(())
    }

    fn is_dirty(&self) -> bool {
        self.local().is_dirty()
    }

    fn has_work(&self) -> bool {
        self.local().has_work()
    }

    fn counts(&self) -> Counts {
        self.local().counts()
    }

    fn hosts(&self) -> Vec<HostState> {
        look::hosts(&self.shared.cluster).unwrap_or_default()
    }

    fn host(&self, name: &str) -> Option<HostState> {
        look::host(&self.shared.cluster, name).ok().flatten()
    }

    fn position(&self, url: &Url) -> Result<Option<u64>> {
        Ok(look::position(&self.shared.cluster, &host_key(url), url)?)
    }
}

impl ClusterFrontier {
    fn note_key(&self, subject: &str, kind: &str) -> String {
        look::note_key(&self.shared.cluster, part_of(subject), kind)
    }

    fn send_notes(&self, notes: &[(String, &'static str, Vec<u8>)]) -> crate::Result<()> {
        for notes in notes.chunks(pump::BATCH) {
            let mut pipe = ClusterPipeline::new();
            for (subject, kind, value) in notes {
                let key = self.note_key(subject, kind);
                pipe.cmd("HSET").arg(key).arg(subject).arg(value.as_slice());
            }
            self.shared.cluster.link.pipe(&pipe)?;
        }
        Ok(())
    }

    /// Writes the payload atomically and durably.
    fn save(&self, payload: &[u8]) -> std::io::Result<()> {
        let path = &self.shared.payload;
        let tmp = path.with_extension("tmp");
        // A link of this name is removed, never written through.
        match std::fs::remove_file(&tmp) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = std::fs::File::create_new(&tmp)?;
        std::io::Write::write_all(&mut file, payload)?;
        file.sync_all()?;
        std::fs::rename(&tmp, path)?;
        match path.parent() {
            Some(folder) if cfg!(unix) => std::fs::File::open(folder)?.sync_all(),
            _ => Ok(()),
        }
    }

    fn io(&self, source: std::io::Error) -> hapax_frontier::Error {
        hapax_frontier::Error::Io { path: self.shared.payload.clone(), source }
    }
}

impl Drop for ClusterFrontier {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.shared.work.notify_one();
        if let Some(pump) = self.pump.take() {
            let began = Instant::now();
            while !pump.is_finished() {
                if began.elapsed() >= LEAVE {
                    // The pump waits for an unavailable cluster and ends later; the leases expire.
                    return;
                }
                std::thread::sleep(pump::PACE);
            }
            let _ = pump.join();
        }
        // Leases in advance or in flight are given back now instead of when they expire.
        let ends = self.local().leave();
        let _ = calls::end_leaving(&self.shared.cluster, &self.shared.options, &ends);
    }
}
