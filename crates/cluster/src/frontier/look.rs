//! Read-only queries: hosts, notes, queues. Results may be of any size and are read in pages. If a master is lost
//! meanwhile, items may be missing: its replica scans a set in another order.

use std::collections::HashSet;

use hapax_frontier::{Counts, Entry, HostState};
use redis::Value;
use redis::cluster::ClusterPipeline;
use url::Url;

use crate::Cluster;
use crate::error::Result;
use crate::keys::{HOST_PARTS, bytes, list, number};

const NAMES: usize = 1000;
const QUEUED: usize = 1000;
/// Notes in a page; a robots.txt may have 500 KiB.
const NOTES: usize = 64;

/// Returns the known, queued and deferred URLs of all parts.
pub(crate) fn counts(cluster: &Cluster) -> Result<Counts> {
    let mut pipe = ClusterPipeline::new();
    for part in 0..HOST_PARTS {
        let key = format!("{}counts", cluster.keys.hosts(part));
        pipe.cmd("HMGET").arg(key).arg("known").arg("queued").arg("deferred");
    }
    let mut counts = Counts::default();
    for answer in cluster.link.pipe(&pipe)? {
        let answer = list(&answer);
        counts.known += count(answer.first());
        counts.queued += count(answer.get(1));
        counts.deferred += count(answer.get(2));
    }
    Ok(counts)
}

/// Returns one host, if any of its URLs was seen.
pub(super) fn host(cluster: &Cluster, name: &str) -> Result<Option<HostState>> {
    let prefix = cluster.keys.of_host(name);
    let mut pipe = ClusterPipeline::new();
    pipe.cmd("SISMEMBER").arg(format!("{prefix}hosts")).arg(name);
    ask_host(&mut pipe, &prefix, name);
    let answers = cluster.link.pipe(&pipe)?;
    let known = answers.first().and_then(number) == Some(1);
    Ok(known.then(|| state(name, answers.get(1..).unwrap_or_default())))
}

pub(super) fn hosts(cluster: &Cluster) -> Result<Vec<HostState>> {
    let mut all = Vec::new();
    for part in 0..HOST_PARTS {
        let prefix = cluster.keys.hosts(part);
        in_pieces(cluster, "SSCAN", &format!("{prefix}hosts"), NAMES, &mut |names| {
            let names: Vec<_> =
                names.iter().filter_map(bytes).map(String::from_utf8_lossy).collect();
            let mut pipe = ClusterPipeline::new();
            names.iter().for_each(|name| ask_host(&mut pipe, &prefix, name));
            if !names.is_empty() {
                let answers = cluster.link.pipe(&pipe)?;
                all.extend(
                    names.iter().zip(answers.chunks(2)).map(|(name, told)| state(name, told)),
                );
            }
            Ok(())
        })?;
    }
    all.sort_by(|a, b| a.host.cmp(&b.host));
    // A scan of a growing set may return a name twice.
    all.dedup_by(|a, b| a.host == b.host);
    Ok(all)
}

pub(super) fn notes(
    cluster: &Cluster,
    kind: &str,
    visit: &mut dyn FnMut(&str, &[u8]),
) -> Result<()> {
    for part in 0..HOST_PARTS {
        let mut visited = HashSet::new();
        in_pieces(cluster, "HSCAN", &note_key(cluster, part, kind), NOTES, &mut |pairs| {
            for pair in pairs.chunks_exact(2) {
                let mut pair = pair.iter().filter_map(bytes);
                if let (Some(subject), Some(value)) = (pair.next(), pair.next())
                    && visited.insert(subject.to_vec())
                {
                    visit(&String::from_utf8_lossy(subject), value);
                }
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Returns the key of a part's notes of one kind.
pub(super) fn note_key(cluster: &Cluster, part: u64, kind: &str) -> String {
    format!("{}note:{kind}", cluster.keys.hosts(part))
}

/// Returns how many URLs of its host are before a URL. It is approximate while workers lease from the queue.
pub(super) fn position(cluster: &Cluster, host: &str, url: &Url) -> Result<Option<u64>> {
    let key = format!("{}q:{host}", cluster.keys.of_host(host));
    let mut before = 0;
    loop {
        let mut pipe = ClusterPipeline::new();
        pipe.cmd("LRANGE").arg(&key).arg(before).arg(before + QUEUED - 1);
        let answers = cluster.link.pipe(&pipe)?;
        let entries = answers.first().map(list).unwrap_or_default();
        let found = entries.iter().position(|entry| {
            let entry = bytes(entry).and_then(|bytes| Entry::decode(bytes.get(1..)?));
            entry.is_some_and(|entry| entry.url == *url)
        });
        if found.is_some() || entries.len() < QUEUED {
            return Ok(found.map(|at| (before + at) as u64));
        }
        before += QUEUED;
    }
}

/// Scans a set or hash in pages; may visit an item twice.
fn in_pieces(
    cluster: &Cluster,
    scan: &str,
    key: &str,
    size: usize,
    visit: &mut dyn FnMut(&[Value]) -> Result<()>,
) -> Result<()> {
    let mut cursor = b"0".to_vec();
    loop {
        let mut pipe = ClusterPipeline::new();
        pipe.cmd(scan).arg(key).arg(&cursor).arg("COUNT").arg(size);
        let answers = cluster.link.pipe(&pipe)?;
        let [next, found] = answers.first().map(list).unwrap_or_default() else { return Ok(()) };
        visit(list(found))?;
        cursor = bytes(next).unwrap_or(b"0").to_vec();
        if cursor == b"0" {
            return Ok(());
        }
    }
}

fn ask_host(pipe: &mut ClusterPipeline, prefix: &str, name: &str) {
    pipe.cmd("HMGET").arg(format!("{prefix}h:{name}")).arg("n").arg("f").arg("g");
    pipe.cmd("LLEN").arg(format!("{prefix}q:{name}"));
}

fn state(name: &str, told: &[Value]) -> HostState {
    let fields = told.first().map(list).unwrap_or_default();
    let in_flight = count(fields.first());
    HostState {
        host: name.to_owned(),
        queued: count(told.get(1)) + in_flight,
        in_flight: in_flight as usize,
        failures: u32::try_from(count(fields.get(1))).unwrap_or(u32::MAX),
        given_up: count(fields.get(2)) > 0,
    }
}

fn count(value: Option<&Value>) -> u64 {
    value.and_then(number).and_then(|n| u64::try_from(n).ok()).unwrap_or(0)
}
