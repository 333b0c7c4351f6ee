//! The frontier's scripts, as functions. Each runs atomically on the master of a part.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use hapax_frontier::{Entry, Fault, Lease, Options};
use redis::Value;
use redis::cluster::ClusterPipeline;

use crate::Cluster;
use crate::error::Result;
use crate::keys::{HOST_PARTS, bytes, list, number, part_of};

const PUSH: &str = include_str!("push.lua");
const TAKE: &str = include_str!("take.lua");
const END: &str = include_str!("end.lua");
const BEGIN: &str = include_str!("begin.lua");
const DELAY: &str = "local d = redis.call('HGET', KEYS[1], 'd')
if tonumber(d or 0) < tonumber(ARGV[1]) then redis.call('HSET', KEYS[1], 'd', ARGV[1]) end
local time = redis.call('TIME')
local free = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
if tonumber(redis.call('HGET', KEYS[1], 't') or 0) < free then redis.call('HSET', KEYS[1], 't', free) end
return 1";

/// Buckets of a part's seen-set. Up to 10^8 URLs each has at most 512 numbers, which Redis stores in 8 bytes each.
const SEEN_BUCKETS: u64 = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    New,
    Again,
    Probe,
    /// Marks a URL as seen without queueing it.
    Mark,
    /// Remembers a refusal, under a separate key that is not a known URL.
    Refuse,
}

impl Mode {
    const fn name(self) -> &'static str {
        match self {
            Self::New => "n",
            Self::Again => "a",
            Self::Probe => "p",
            Self::Mark => "m",
            Self::Refuse => "r",
        }
    }
}

/// A URL leased in advance, and the delay of its host.
#[derive(Debug)]
pub(super) struct Ahead {
    pub(super) lease: Lease,
    pub(super) pause: Duration,
    pub(super) taken: Instant,
}

#[derive(Debug, Default)]
pub(super) struct Taken {
    /// Time until the part should be polled again.
    pub(super) wait: Option<Duration>,
    pub(super) leases: Vec<Ahead>,
    /// Entries that are not valid URLs. They are deferred: given back, they would return forever.
    pub(super) unreadable: Vec<Notice>,
}

#[derive(Clone, Debug)]
pub(super) struct Push {
    pub(super) mode: Mode,
    pub(super) host: String,
    pub(super) key: u64,
    pub(super) entry: Vec<u8>,
}

/// A change of a lease, to be sent to the cluster.
#[derive(Clone, Debug)]
pub(super) struct Notice {
    what: &'static str,
    sequence: u64,
    wait: Duration,
    failure: bool,
    again: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Done,
    HostDown,
}

impl Notice {
    const fn new(what: &'static str, sequence: u64, wait: Duration, failure: bool) -> Self {
        Self { what, sequence, wait, failure, again: String::new() }
    }

    pub(super) const fn free(lease: &Lease, wait: Duration) -> Self {
        Self::new("f", lease.sequence, wait, false)
    }

    pub(super) const fn free_unasked(lease: &Lease) -> Self {
        Self::new("u", lease.sequence, Duration::ZERO, false)
    }

    pub(super) const fn free_failed(lease: &Lease, wait: Duration) -> Self {
        Self::new("e", lease.sequence, wait, true)
    }

    pub(super) fn finish(lease: &Lease) -> Self {
        let key = hapax_url::url_key(lease.entry.url.as_str()) as u64;
        let again = format!("{}:{}", key % SEEN_BUCKETS, member(key));
        Self { again, ..Self::new("x", lease.sequence, Duration::ZERO, false) }
    }

    pub(super) fn back(lease: &Lease, wait: Duration, failure: bool, tried: bool) -> Self {
        let again = if tried { "+" } else { "" };
        Self { again: again.to_owned(), ..Self::new("b", lease.sequence, wait, failure) }
    }

    pub(super) const fn sequence(&self) -> u64 {
        self.sequence
    }

    pub(super) const fn part(&self) -> u64 {
        self.sequence % HOST_PARTS
    }

    /// Returns whether the lease ends with it. Otherwise its page is still being processed.
    pub(super) fn is_last(&self) -> bool {
        !matches!(self.what, "f" | "u" | "e")
    }

    pub(super) const fn back_unseen(sequence: u64) -> Self {
        Self::new("b", sequence, Duration::ZERO, false)
    }

    /// Defers an entry until a worker starts alone; that worker may be able to read it.
    const fn unreadable(sequence: u64) -> Self {
        Self::new("d", sequence, Duration::ZERO, false)
    }

    pub(super) fn defer(lease: &Lease, fault: Fault) -> Self {
        let again = match fault {
            Fault::Closed => "!",
            Fault::Unasked => "?",
            Fault::None | Fault::Failure => "",
        };
        let failure = matches!(fault, Fault::Failure | Fault::Closed);
        Self { again: again.to_owned(), ..Self::new("d", lease.sequence, Duration::ZERO, failure) }
    }
}

/// Formats a key as a signed number, which Redis stores compactly.
fn member(key: u64) -> String {
    key.cast_signed().to_string()
}

fn eval(pipe: &mut ClusterPipeline, script: &str, key: String) {
    pipe.cmd("EVAL").arg(script).arg(1).arg(key);
}

/// Queues a URL or marks it. Returns whether it was new to the cluster or, with [`Mode::Again`], not queued.
pub(super) fn push_now(cluster: &Cluster, options: &Options, push: &Push) -> Result<bool> {
    let mut pipe = ClusterPipeline::new();
    push_part(&mut pipe, cluster, options, part_of(&push.host), std::slice::from_ref(&push));
    let answers = cluster.link.pipe(&pipe)?;
    Ok(answers.first().map(list).and_then(<[Value]>::first).and_then(number) == Some(1))
}

pub(super) fn push(cluster: &Cluster, options: &Options, pushes: &[Push]) -> Result<()> {
    let mut parts: BTreeMap<u64, Vec<&Push>> = BTreeMap::new();
    for push in pushes {
        parts.entry(part_of(&push.host)).or_default().push(push);
    }
    let mut pipe = ClusterPipeline::new();
    for (part, pushes) in parts {
        push_part(&mut pipe, cluster, options, part, &pushes);
    }
    cluster.link.pipe(&pipe).map(|_| ())
}

fn push_part(
    pipe: &mut ClusterPipeline,
    cluster: &Cluster,
    options: &Options,
    part: u64,
    pushes: &[&Push],
) {
    let prefix = cluster.keys.hosts(part);
    eval(pipe, PUSH, format!("{prefix}counts"));
    pipe.arg(prefix).arg(options.per_host.max(1));
    for push in pushes {
        pipe.arg(push.mode.name()).arg(&push.host).arg(push.key % SEEN_BUCKETS);
        pipe.arg(member(push.key)).arg(push.entry.as_slice());
    }
}

pub(super) fn seen(cluster: &Cluster, host: &str, key: u64) -> Result<bool> {
    let mut pipe = ClusterPipeline::new();
    let prefix = cluster.keys.of_host(host);
    pipe.cmd("SISMEMBER").arg(format!("{prefix}seen:{}", key % SEEN_BUCKETS)).arg(member(key));
    Ok(cluster.link.pipe(&pipe)?.first().and_then(number) == Some(1))
}

/// Leases URLs from several parts. Returns `None` if no answer came: then there may be leases to [`reclaim`].
pub(super) fn take(
    cluster: &Cluster,
    options: &Options,
    parts: &[(u64, Duration)],
    want: usize,
) -> Result<Option<Vec<Taken>>> {
    let mut pipe = ClusterPipeline::new();
    let share = want.div_ceil(parts.len().max(1)).max(1);
    for (part, age) in parts {
        let prefix = cluster.keys.hosts(*part);
        eval(&mut pipe, TAKE, format!("{prefix}counts"));
        pipe.arg(prefix).arg(&cluster.worker).arg(options.per_host.max(1));
        pipe.arg(options.delay.as_millis() as u64).arg(cluster.lease.as_millis() as u64);
        pipe.arg(share).arg(age.as_millis() as u64);
    }
    let taken = Instant::now();
    // Not repeated: leases of the first attempt would be lost until they expire.
    let Some(answers) = cluster.link.pipe_once(&pipe)? else { return Ok(None) };
    let read =
        parts.iter().zip(&answers).map(|((part, _), answer)| read_part(*part, answer, taken));
    Ok(Some(read.collect()))
}

fn read_part(part: u64, answer: &Value, taken: Instant) -> Taken {
    let answer = list(answer);
    let wait = answer.first().and_then(number).and_then(|ms| u64::try_from(ms).ok());
    let mut found = Taken { wait: wait.map(Duration::from_millis), ..Taken::default() };
    for lease in answer.get(1..).unwrap_or_default().as_chunks::<4>().0 {
        let [id, host, entry, pause] = lease;
        let Some(id) = number(id).and_then(|id| u64::try_from(id).ok()) else { continue };
        let sequence = id * HOST_PARTS + part;
        let entry = bytes(entry).and_then(<[u8]>::split_first);
        let entry = entry.and_then(|(attempts, entry)| Some((*attempts, Entry::decode(entry)?)));
        let host = bytes(host).map(String::from_utf8_lossy);
        let (Some((attempts, entry)), Some(host)) = (entry, host) else {
            found.unreadable.push(Notice::unreadable(sequence));
            continue;
        };
        let mut lease = Lease::new(entry, host.into_owned(), sequence);
        lease.attempts = attempts;
        let pause = number(pause).and_then(|ms| u64::try_from(ms).ok()).unwrap_or(0);
        found.leases.push(Ahead { lease, pause: Duration::from_millis(pause), taken });
    }
    found
}

/// Ends leases, all parts in one pipeline. The answers are in the order of `ends`.
pub(super) fn end(cluster: &Cluster, options: &Options, ends: &[Notice]) -> Result<Vec<Ended>> {
    if ends.is_empty() {
        return Ok(Vec::new());
    }
    let parts = parts_of(ends);
    let answers = cluster.link.pipe(&ending(cluster, options, ends, &parts))?;
    let mut ended = vec![Ended::Done; ends.len()];
    for (which, answer) in parts.values().zip(&answers) {
        for (&at, answer) in which.iter().zip(list(answer)) {
            if let Some(slot) = ended.get_mut(at).filter(|_| number(answer) == Some(1)) {
                *slot = Ended::HostDown;
            }
        }
    }
    Ok(ended)
}

/// Ends leases at exit, without waiting for an unavailable cluster: there they expire.
pub(super) fn end_leaving(cluster: &Cluster, options: &Options, ends: &[Notice]) -> Result<()> {
    if ends.is_empty() {
        return Ok(());
    }
    let pipe = ending(cluster, options, ends, &parts_of(ends));
    cluster.link.pipe_leaving(&pipe).map(|_| ())
}

fn parts_of(ends: &[Notice]) -> BTreeMap<u64, Vec<usize>> {
    let mut parts: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (at, end) in ends.iter().enumerate() {
        parts.entry(end.part()).or_default().push(at);
    }
    parts
}

fn ending(
    cluster: &Cluster,
    options: &Options,
    ends: &[Notice],
    parts: &BTreeMap<u64, Vec<usize>>,
) -> ClusterPipeline {
    let mut pipe = ClusterPipeline::new();
    for (&part, which) in parts {
        let prefix = cluster.keys.hosts(part);
        eval(&mut pipe, END, format!("{prefix}counts"));
        pipe.arg(prefix).arg(&cluster.worker).arg(options.per_host.max(1));
        pipe.arg(options.breaker_after);
        pipe.arg(options.breaker_wait.as_millis() as u64).arg(options.give_up_after);
        for end in which.iter().filter_map(|&at| ends.get(at)) {
            pipe.arg(end.what).arg(end.sequence / HOST_PARTS).arg(end.wait.as_millis() as u64);
            pipe.arg(u8::from(end.failure)).arg(&end.again);
        }
    }
    pipe
}

/// Gives back the leases of this worker's earlier runs. If it is the only worker, also queues deferred URLs again.
pub(super) fn begin(cluster: &Cluster, alone: bool) -> Result<()> {
    let mut pipe = ClusterPipeline::new();
    for part in 0..HOST_PARTS {
        let prefix = cluster.keys.hosts(part);
        eval(&mut pipe, BEGIN, format!("{prefix}counts"));
        pipe.arg(prefix).arg(&cluster.worker).arg(u8::from(alone));
    }
    cluster.link.pipe(&pipe).map(|_| ())
}

/// Gives back leases of this worker that are not in `held`.
pub(super) fn reclaim(cluster: &Cluster, held: &[u64]) -> Result<()> {
    let mut pipe = ClusterPipeline::new();
    for part in 0..HOST_PARTS {
        let prefix = cluster.keys.hosts(part);
        eval(&mut pipe, BEGIN, format!("{prefix}counts"));
        pipe.arg(prefix).arg(&cluster.worker).arg(0);
        for lease in held.iter().filter(|lease| *lease % HOST_PARTS == part) {
            pipe.arg(lease / HOST_PARTS);
        }
    }
    cluster.link.pipe(&pipe).map(|_| ())
}

pub(super) fn renew(cluster: &Cluster, held: &[u64]) -> Result<()> {
    const RENEW: &str = "local time = redis.call('TIME')
local till = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
for i = 2, #ARGV do redis.call('ZADD', KEYS[1], 'XX', till, ARGV[i]) end
return 1";
    let mut parts: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for lease in held {
        parts.entry(lease % HOST_PARTS).or_default().push(lease / HOST_PARTS);
    }
    let mut pipe = ClusterPipeline::new();
    for (part, leases) in &parts {
        eval(&mut pipe, RENEW, format!("{}leases", cluster.keys.hosts(*part)));
        pipe.arg(cluster.lease.as_millis() as u64).arg(leases);
    }
    if parts.is_empty() { Ok(()) } else { cluster.link.pipe(&pipe).map(|_| ()) }
}

/// Reserves an address for one request, unless it was requested within the delay.
pub(super) fn take_address(cluster: &Cluster, key: &str, delay: Duration) -> Result<bool> {
    let mut pipe = ClusterPipeline::new();
    let delay = delay.as_millis().max(1) as u64;
    pipe.cmd("SET").arg(key).arg(1).arg("NX").arg("PX").arg(delay);
    Ok(cluster.link.pipe(&pipe)?.first() == Some(&Value::Okay))
}

/// Sets the delay that a host requires; the longest one applies.
pub(super) fn set_delay(cluster: &Cluster, host: &str, delay: Duration) -> Result<()> {
    let mut pipe = ClusterPipeline::new();
    eval(&mut pipe, DELAY, format!("{}h:{host}", cluster.keys.of_host(host)));
    pipe.arg(delay.as_millis() as u64);
    cluster.link.pipe(&pipe).map(|_| ())
}
