//! The frontier of a crawl that many workers share: hosts in a sorted set by the time when they may
//! be asked next, by the cluster's clocks; each host's URLs in a list; leases that expire.

mod calls;
mod local;
mod pump;

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hapax_frontier::{
    Counts, Entry, EntryKind, Frontier, HostState, Lease, Next, Options, Result, host_key, url_key,
};
use redis::cluster::ClusterPipeline;
use url::Url;

use self::calls::{End, Ended, Mode, Push};
use self::local::Local;
use crate::Cluster;
use crate::keys::{HOST_PARTS, bytes, list, number, part_of};
pub(crate) use calls::counts;

/// The longest a worker looks at its watch without asking the cluster.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// Nothing is left when it was counted so often in a row.
const IDLE_TIMES: u32 = 2;

/// A [`Frontier`] in a cluster, see [`Cluster::frontier`].
///
/// What is pushed and finished is sent in batches by a thread of its own; [`Frontier::commit`]
/// returns when all of it has arrived. URLs are leased a few ahead. A lease that is not renewed
/// expires and goes to another worker.
///
/// # Complexity
/// Memory: a cache of 2^20 URL keys and what is leased; everything else is in the cluster, about
/// 8 bytes of a URL that was seen and its length while it is queued.
#[derive(Debug)]
pub struct ClusterFrontier {
    shared: Arc<Shared>,
    pump: Option<std::thread::JoinHandle<()>>,
}

/// What callers and pump share.
#[derive(Debug)]
struct Shared {
    cluster: Arc<Cluster>,
    options: Options,
    /// Where the payload lies: of this worker alone.
    payload: PathBuf,
    local: Mutex<Local>,
    /// There is something to send.
    work: Condvar,
    /// Held while a batch is on its way, so that who waits for all of it can.
    sending: Mutex<()>,
    stop: AtomicBool,
}

impl Shared {
    fn local(&self) -> MutexGuard<'_, Local> {
        self.local.lock().unwrap_or_else(PoisonError::into_inner)
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
        Ok(Self { shared, pump: Some(pump) })
    }

    fn local(&self) -> MutexGuard<'_, Local> {
        self.shared.local()
    }

    fn push_as(&self, mode: Mode, host: String, key: &str, entry: Option<&Entry>) -> bool {
        let key = url_key(key);
        let mut local = self.local();
        let fresh = local.saw(key);
        if fresh || mode == Mode::Again {
            let entry = entry.map(Entry::encode).unwrap_or_default();
            local.pushes.push(Push { mode, host, key: key as u64, entry });
            if local.pushes.len() >= pump::BATCH {
                self.shared.work.notify_one();
            }
        }
        fresh
    }

    /// Asks at once and waits for the answer.
    fn seen_now(&self, host: &str, key: &str, insert: bool) -> Result<bool> {
        let key = url_key(key);
        if self.local().has_seen(key) {
            return Ok(true);
        }
        // What is on its way from here is known here; what is there, there.
        let known = calls::seen(&self.shared.cluster, host, key as u64, insert)?;
        if known || insert {
            self.local().saw(key);
        }
        Ok(known)
    }

    fn end(&self, end: End) {
        self.local().ends.push(end);
        self.shared.work.notify_one();
    }

    /// For what must know whether the host is given up by it.
    fn end_now(&self, end: End) -> bool {
        let done =
            calls::end(&self.shared.cluster, &self.shared.options, std::slice::from_ref(&end));
        match done {
            Ok(answers) => answers.first() == Some(&Ended::HostDown),
            Err(error) => {
                self.local().failed.get_or_insert(error);
                false
            }
        }
    }

    /// Stops saying anything, as if the process had died; for tests.
    #[doc(hidden)]
    #[must_use]
    pub fn dies(mut self) -> Self {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(pump) = self.pump.take() {
            let _ = pump.join();
        }
        self
    }

    fn drop_lease(&self, lease: &Lease) {
        self.local().held.remove(&lease.sequence);
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
        Ok(self.push_as(mode, host_key(&entry.url), entry.url.as_str(), Some(&entry)))
    }

    fn push_again(&self, entry: Entry) -> Result<bool> {
        self.push_as(Mode::Again, host_key(&entry.url), entry.url.as_str(), Some(&entry));
        Ok(true)
    }

    fn mark(&self, url: &Url) -> Result<bool> {
        self.seen_now(&host_key(url), url.as_str(), true).map(|known| !known)
    }

    fn refuse(&self, url: &Url) -> Result<bool> {
        // A name of its own, which no URL has.
        self.seen_now(&host_key(url), &format!("refused {url}"), true).map(|known| !known)
    }

    fn knows(&self, url: &str) -> Result<bool> {
        let Ok(parsed) = Url::parse(url) else { return Ok(false) };
        self.seen_now(&host_key(&parsed), url, false)
    }

    fn next(&self, now: Instant) -> Result<Next> {
        let mut local = self.local();
        if let Some(error) = local.failed.take() {
            return Err(error.into());
        }
        if let Some(lease) = local.hand_out(now) {
            self.shared.work.notify_one();
            return Ok(Next::Lease(Box::new(lease)));
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
        let granted = delay.is_zero() || {
            let key = self.shared.cluster.keys.address(address);
            calls::take_address(&self.shared.cluster, &key, delay).unwrap_or(true)
        };
        if !granted {
            self.local().address_taken.insert(lease.sequence);
        }
        granted
    }

    fn put_back(&self, lease: Lease, wait: Duration, _now: Instant) {
        let taken = self.local().address_taken.remove(&lease.sequence);
        self.drop_lease(&lease);
        let wait = if taken { wait.max(self.shared.options.address_delay) } else { wait };
        self.end(End::back(&lease, wait, false, false));
    }

    fn free(&self, lease: &Lease, took: Duration, _now: Instant) {
        let options = &self.shared.options;
        let wait = if options.delay.is_zero() {
            Duration::ZERO
        } else {
            options.delay.max((took * 2).min(options.max_delay))
        };
        self.end(End::free(lease, wait));
    }

    fn free_failed(&self, lease: &Lease, _now: Instant) -> bool {
        self.end_now(End::free_failed(lease, self.shared.options.delay))
    }

    fn finish(&self, lease: &Lease) {
        let mut local = self.local();
        local.held.remove(&lease.sequence);
        local.finished.push(End::finish(lease));
    }

    fn retry(&self, lease: Lease, wait: Duration, failure: bool, _now: Instant) -> bool {
        self.drop_lease(&lease);
        self.end_now(End::back(&lease, wait, failure, true))
    }

    fn defer(&self, lease: &Lease, failure: bool, _now: Instant) -> bool {
        self.drop_lease(lease);
        self.end_now(End::defer(lease, failure))
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
        pipe.cmd("HGET").arg(self.note_key(part_of(subject), kind)).arg(subject);
        let answers = self.shared.cluster.link.pipe(&pipe)?;
        Ok(answers.first().and_then(bytes).map(<[u8]>::to_vec))
    }

    fn notes(&self, kind: &str, visit: &mut dyn FnMut(&str, &[u8])) -> Result<()> {
        for part in 0..HOST_PARTS {
            let mut pipe = ClusterPipeline::new();
            pipe.cmd("HGETALL").arg(self.note_key(part, kind));
            let answers = self.shared.cluster.link.pipe(&pipe)?;
            for answer in &answers {
                let pairs: Vec<&[u8]> = match answer {
                    redis::Value::Map(pairs) => {
                        pairs.iter().flat_map(|(k, v)| [bytes(k), bytes(v)]).flatten().collect()
                    }
                    other => list(other).iter().filter_map(bytes).collect(),
                };
                for pair in pairs.chunks_exact(2) {
                    if let [subject, value] = pair {
                        visit(&String::from_utf8_lossy(subject), value);
                    }
                }
            }
        }
        Ok(())
    }

    fn commit(&self, payload: &[u8]) -> Result<()> {
        // Links before the pages that brought them; a finished page is not asked for again.
        let (finished, notes) = {
            let mut local = self.local();
            (std::mem::take(&mut local.finished), std::mem::take(&mut local.notes))
        };
        pump::flush(&self.shared).and_then(|()| self.send_notes(&notes))?;
        self.save(payload).map_err(|source| self.io(source))?;
        calls::end(&self.shared.cluster, &self.shared.options, &finished)?;
        pump::counts(&self.shared)?;
        Ok(())
    }

    fn is_dirty(&self) -> bool {
        self.local().is_dirty()
    }

    fn counts(&self) -> Counts {
        self.local().counts()
    }

    fn hosts(&self) -> Vec<HostState> {
        calls::hosts(&self.shared.cluster).unwrap_or_default()
    }

    fn host(&self, name: &str) -> Option<HostState> {
        calls::host(&self.shared.cluster, name).ok().flatten()
    }

    fn position(&self, url: &Url) -> Result<Option<u64>> {
        let mut pipe = ClusterPipeline::new();
        let host = host_key(url);
        let key = format!("{}q:{host}", self.shared.cluster.keys.of_host(&host));
        pipe.cmd("LRANGE").arg(key).arg(0).arg(-1);
        let answers = self.shared.cluster.link.pipe(&pipe)?;
        let entries = answers.first().map(list).unwrap_or_default();
        let found = entries.iter().position(|entry| {
            let entry = bytes(entry).and_then(|bytes| Entry::decode(bytes.get(1..)?));
            entry.is_some_and(|entry| entry.url == *url)
        });
        Ok(found.map(|at| at as u64))
    }
}

impl ClusterFrontier {
    fn note_key(&self, part: u64, kind: &str) -> String {
        format!("{}note:{kind}", self.shared.cluster.keys.hosts(part))
    }

    fn send_notes(&self, notes: &[(String, &'static str, Vec<u8>)]) -> crate::Result<()> {
        for notes in notes.chunks(pump::BATCH) {
            let mut pipe = ClusterPipeline::new();
            for (subject, kind, value) in notes {
                let key = self.note_key(part_of(subject), kind);
                pipe.cmd("HSET").arg(key).arg(subject).arg(value.as_slice());
            }
            self.shared.cluster.link.pipe(&pipe)?;
        }
        Ok(())
    }

    /// One step that survives a power cut.
    fn save(&self, payload: &[u8]) -> std::io::Result<()> {
        let path = &self.shared.payload;
        let tmp = path.with_extension("tmp");
        let mut file = std::fs::File::create(&tmp)?;
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
            let _ = pump.join();
        }
        // What was leased ahead, or is still under way, goes back at once instead of when it expires.
        let ends: Vec<End> = {
            let mut local = self.local();
            let held = std::mem::take(&mut local.held);
            held.into_keys().map(End::back_unseen).collect()
        };
        let _ = calls::end(&self.shared.cluster, &self.shared.options, &ends);
    }
}

/// An answer as a count.
fn count(value: Option<&redis::Value>) -> u64 {
    value.and_then(number).and_then(|n| u64::try_from(n).ok()).unwrap_or(0)
}
