//! A worker of a shared crawl: its name, its heartbeat, and the other workers.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use redis::Value;
use redis::cluster::ClusterPipeline;

use crate::error::{Error, MAX_NAME, Result};
use crate::keys::{Keys, bytes, list, number};
use crate::link::Link;

/// The version of the data in the cluster.
const VERSION: u32 = 1;

/// How a worker joins a crawl.
#[derive(Clone, Debug)]
pub struct Options {
    /// The crawl's name: workers with the same name share one crawl. Up to 200 bytes without braces and control
    /// characters. Default `crawl`.
    pub name: String,
    /// The worker's name, always the same for one data directory. The rules for the crawl's name apply, but it may be
    /// empty for a read-only client.
    pub worker: String,
    /// Time until the leases of a silent worker expire. Default 60 s.
    pub lease: Duration,
    /// Longest wait for an answer, a failover included. Default 30 s.
    pub patience: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            name: "crawl".into(),
            worker: String::new(),
            lease: Duration::from_secs(60),
            patience: Duration::from_secs(30),
        }
    }
}

/// One worker of a crawl, as the others see it.
#[derive(Clone, Debug)]
pub struct WorkerState {
    /// Its name.
    pub name: String,
    /// Whether its last heartbeat is younger than a lease.
    pub alive: bool,
    /// Time since its last heartbeat.
    pub silent: Duration,
    /// Pages it has fetched in this run.
    pub pages: u64,
    /// Duration of this run.
    pub running: Duration,
}

/// A worker's connection to a crawl.
#[derive(Debug)]
pub struct Cluster {
    pub(crate) link: Link,
    pub(crate) keys: Keys,
    pub(crate) worker: String,
    pub(crate) lease: Duration,
    name: String,
    /// Workers that are alive, this one included.
    alive: Mutex<Vec<String>>,
    pages: AtomicU64,
    started: std::time::Instant,
}

/// ARGV: worker (empty for a read-only client), pages, ms since its start.
const HEARTBEAT: &str = "local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if ARGV[1] ~= '' then
  redis.call('ZADD', KEYS[1], now, ARGV[1])
  redis.call('HSET', KEYS[2], ARGV[1], ARGV[2] .. ' ' .. ARGV[3])
end
local all = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
for i = 2, #all, 2 do all[i] = now - tonumber(all[i]) end
return { all, redis.call('HGETALL', KEYS[2]) }";

impl Cluster {
    /// Joins a crawl in the cluster at `redis://HOST:PORT[,HOST:PORT...]`.
    ///
    /// # Errors
    /// [`Error::Name`], [`Error::Address`], [`Error::Unavailable`] or [`Error::Refused`].
    pub fn join(address: &str, options: &Options) -> Result<Arc<Self>> {
        check_name("name of the crawl", &options.name)?;
        if !options.worker.is_empty() {
            check_name("name of the worker", &options.worker)?;
        }
        let cluster = Self {
            link: Link::open(address, options.patience)?,
            keys: Keys::new(&options.name),
            worker: options.worker.clone(),
            lease: options.lease.max(Duration::from_millis(100)),
            name: options.name.clone(),
            alive: Mutex::default(),
            pages: AtomicU64::new(0),
            started: std::time::Instant::now(),
        };
        Ok(Arc::new(cluster))
    }

    /// Returns all workers that have joined, by name.
    ///
    /// # Errors
    /// As [`join`](Self::join).
    pub fn workers(&self) -> Result<Vec<WorkerState>> {
        self.beat("")
    }

    /// Returns the approximate number of stored documents, duplicates included. After the loss of a master a repeated
    /// change may count twice or not at all.
    ///
    /// # Errors
    /// As [`join`](Self::join).
    pub fn documents(&self) -> Result<u64> {
        self.add("documents", 0)
    }

    /// Sets the number of pages that this worker has fetched. The next heartbeat sends it to the other workers.
    pub fn fetched(&self, pages: u64) {
        self.pages.store(pages, Relaxed);
    }

    pub(crate) fn heartbeat(&self) -> Result<()> {
        let workers = self.beat(&self.worker)?;
        let alive = workers.into_iter().filter(|worker| worker.alive).map(|worker| worker.name);
        *self.alive.lock().unwrap_or_else(PoisonError::into_inner) = alive.collect();
        Ok(())
    }

    fn beat(&self, worker: &str) -> Result<Vec<WorkerState>> {
        let mut pipe = ClusterPipeline::new();
        pipe.cmd("EVAL").arg(HEARTBEAT).arg(2);
        pipe.arg(self.keys.crawl("alive")).arg(self.keys.crawl("workers")).arg(worker);
        pipe.arg(self.pages.load(Relaxed)).arg(self.started.elapsed().as_millis() as u64);
        let answers = self.link.pipe(&pipe)?;
        let answer = answers.first().map(list).unwrap_or_default();
        let told = answer.get(1).map(list).unwrap_or_default();
        let said = |name: &[u8]| {
            let pair =
                told.chunks_exact(2).find(|pair| pair.first().and_then(bytes) == Some(name))?;
            let text = String::from_utf8_lossy(pair.get(1).and_then(bytes)?).into_owned();
            let (pages, running) = text.split_once(' ')?;
            Some((pages.parse().ok()?, running.parse().ok()?))
        };
        let seen = answer.first().map(list).unwrap_or_default().chunks_exact(2);
        let workers = seen.filter_map(|pair| match pair {
            [name, silent] => {
                let silent = number(silent).and_then(|ms| u64::try_from(ms).ok()).unwrap_or(0);
                let silent = Duration::from_millis(silent);
                let (pages, running) = said(bytes(name)?).unwrap_or_default();
                Some(WorkerState {
                    name: String::from_utf8_lossy(bytes(name)?).into_owned(),
                    alive: silent < self.lease,
                    silent,
                    pages,
                    running: Duration::from_millis(running),
                })
            }
            _ => None,
        });
        let mut workers: Vec<WorkerState> = workers.collect();
        workers.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(workers)
    }

    /// Returns whether this worker looks after a part first: its hash is the highest (rendezvous hashing, Thaler and
    /// Ravishankar 1998). Few parts move when a worker joins or leaves.
    pub(crate) fn prefers(&self, part: u64) -> bool {
        let weight = |name: &str| xxhash_rust::xxh3::xxh3_64_with_seed(name.as_bytes(), part);
        let own = weight(&self.worker);
        let alive = self.alive.lock().unwrap_or_else(PoisonError::into_inner);
        alive.iter().all(|name| weight(name) <= own)
    }

    /// Sets a property of the crawl, or compares it with the stored one.
    pub(crate) fn agree(&self, what: &'static str, asked: &str) -> Result<()> {
        let stored = self.settle_on(what, asked)?;
        if stored == asked {
            return Ok(());
        }
        Err(Error::Differs {
            name: self.name.clone(),
            address: self.link.address.clone(),
            what,
            stored,
            asked: asked.to_owned(),
        })
    }

    pub(crate) fn agree_version(&self) -> Result<()> {
        self.agree("format", &VERSION.to_string())
    }

    /// Returns a stored property, which is set to `asked` if missing.
    pub(crate) fn settle_on(&self, what: &'static str, asked: &str) -> Result<String> {
        let key = self.keys.crawl(what);
        let mut pipe = ClusterPipeline::new();
        pipe.cmd("SET").arg(&key).arg(asked).arg("NX");
        pipe.cmd("GET").arg(&key);
        let answers = self.link.pipe(&pipe)?;
        let stored = answers.get(1).and_then(bytes).unwrap_or_default();
        Ok(String::from_utf8_lossy(stored).into_owned())
    }

    /// Adds to a number of the crawl, and returns the sum.
    pub(crate) fn add(&self, what: &str, by: i64) -> Result<u64> {
        let mut pipe = ClusterPipeline::new();
        pipe.cmd("INCRBY").arg(self.keys.crawl(what)).arg(by);
        let answers: Vec<Value> = self.link.pipe(&pipe)?;
        Ok(answers.first().and_then(number).and_then(|n| u64::try_from(n).ok()).unwrap_or(0))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if self.worker.is_empty() {
            return;
        }
        // The next worker need not wait for the expiry of this one.
        let mut pipe = ClusterPipeline::new();
        pipe.cmd("ZREM").arg(self.keys.crawl("alive")).arg(&self.worker);
        let _ = self.link.pipe_leaving(&pipe);
    }
}

/// Rejects braces, which delimit the part of a key that selects its master, and control characters: a line end would
/// corrupt the value of a lease.
fn check_name(what: &'static str, name: &str) -> Result<()> {
    let wrong = |c: char| c.is_control() || "{}".contains(c);
    match name.is_empty() || name.len() > MAX_NAME || name.contains(wrong) {
        true => Err(Error::Name { what, name: name.to_owned() }),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_would_break_keys_or_values_are_refused() {
        let long = "x".repeat(MAX_NAME + 1);
        for bad in ["a}b", "{a", "a\nb", "\0", &long] {
            let crawl = Options { name: bad.into(), ..Options::default() };
            let worker = Options { worker: bad.into(), ..Options::default() };
            for options in [crawl, worker] {
                // Rejected before any connection.
                let error = Cluster::join("redis://127.0.0.1:1", &options).unwrap_err();
                assert!(matches!(error, Error::Name { .. }), "{bad:?}: {error}");
            }
        }
        let nobody = Options { name: String::new(), ..Options::default() };
        assert!(matches!(Cluster::join("redis://127.0.0.1:1", &nobody), Err(Error::Name { .. })));
        for good in ["crawl", "node7-0badcafe", "a.b_c:d", "two words", &long[1..]] {
            assert!(check_name("name", good).is_ok(), "{good}");
        }
    }
}
