//! Measures a shared store: offers per second by several writers, and bytes per document in the masters. Starts a
//! cluster of three masters and three replicas on loopback.
//!
//! `cargo bench -p hapax-cluster --bench shared -- [DOCUMENTS] [SHAPE]`
#![expect(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "a bench")]

#[path = "../tests/it/redis.rs"]
mod redis;

use std::time::Instant;

use hapax_cluster::{Cluster, ClusterStore, Options};
use hapax_dedup::{Document, DocumentStore, Fingerprint, Policy, Sketch, Verdict, mix64};

const BATCH: u64 = 64;
/// One document of ten is a near-duplicate.
const PLANTED: u64 = 10;

fn document<'a>(key: &'a [u8], n: u64, sketch: bool) -> Document<'a> {
    let of = if n % PLANTED == PLANTED - 1 { n - n % PLANTED } else { n };
    let flipped = if of == n { 0 } else { 1 << (n % 64) | 1 << (mix64(n) % 64) };
    Document {
        digest: sketch.then(|| (u128::from(mix64(n)) * 0x1_0000_0001_0001).to_le_bytes()),
        sketch: sketch.then(|| Sketch::from_hashes((0..64).map(|i| mix64(of << 8 | i)))).flatten(),
        tokens: 400,
        ..Document::new(key, Fingerprint::from_bits(mix64(of) ^ flipped))
    }
}

fn offer(stores: &[ClusterStore], count: u64, sketch: bool) -> (f64, u64) {
    let began = Instant::now();
    let writers = stores.len() as u64;
    let duplicates: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..writers)
            .map(|writer| {
                let store = &stores[writer as usize];
                scope.spawn(move || {
                    let mut duplicates = 0;
                    let share = count / writers / BATCH * BATCH;
                    for from in (0..share).step_by(BATCH as usize) {
                        let numbers = (from..from + BATCH).map(|n| writer * share + n);
                        let keys: Vec<(u64, String)> = numbers
                            .map(|n| (n, format!("https://www.example.com/articles/{n}")))
                            .collect();
                        let documents: Vec<Document<'_>> = keys
                            .iter()
                            .map(|(n, key)| document(key.as_bytes(), *n, sketch))
                            .collect();
                        let verdicts = store.offer_many(&documents).unwrap();
                        let is = |v: &&Verdict| matches!(v, Verdict::Duplicate { .. });
                        duplicates += verdicts.iter().filter(is).count() as u64;
                        store.settle().unwrap();
                    }
                    duplicates
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    (began.elapsed().as_secs_f64(), duplicates)
}

fn memory(cluster: &redis::RedisCluster) -> u64 {
    cluster
        .masters()
        .into_iter()
        .map(|node| {
            let info = cluster.cli(node, &["info", "memory"]);
            let line = info.lines().find_map(|line| line.strip_prefix("used_memory:")).unwrap();
            line.trim().parse::<u64>().unwrap()
        })
        .sum()
}

fn main() {
    let count: u64 = std::env::args().find_map(|arg| arg.parse().ok()).unwrap_or(200_000);
    let Some(cluster) = redis::RedisCluster::start() else { return };
    println!(
        "{count} documents, {BATCH} at a time, each batch settled; one of {PLANTED} a near-duplicate"
    );
    println!("shape    evidence               writers  offers/s  bytes a document  duplicates");
    let shape_wanted = std::env::args().find(|arg| arg.contains('x') && arg.len() < 6);
    let mut number = 0;
    for (shape, pages) in [("4x16", 1 << 20), ("10x25", 1 << 30)] {
        if shape_wanted.as_ref().is_some_and(|wanted| wanted != shape) {
            continue;
        }
        for (name, sketch) in [("fingerprint", false), ("fingerprint and sketch", true)] {
            for writers in [1, 4] {
                number += 1;
                let before = memory(&cluster);
                let stores: Vec<ClusterStore> = (0..writers)
                    .map(|worker| {
                        let options = Options {
                            name: format!("bench{number}"),
                            worker: format!("w{worker}"),
                            ..Options::default()
                        };
                        let joined = Cluster::join(&cluster.address(), &options).unwrap();
                        joined.store("bench-1", Policy::default(), pages).unwrap()
                    })
                    .collect();
                let (seconds, duplicates) = offer(&stores, count, sketch);
                let bytes = memory(&cluster).saturating_sub(before) as f64 / count as f64;
                println!(
                    "{shape:<8} {name:<22} {writers:>7} {:>9.0} {bytes:>17.0} {duplicates:>11}",
                    count as f64 / seconds
                );
            }
        }
    }
}
