//! A stream of documents, each searched and then inserted: by hapax-dedup in memory and durable, gaoya, the design of
//! go-simstore's small store, and sled with 20 trees (one for each permuted table of the paper).

use std::process::{Command, Stdio};
use std::time::Instant;

use gaoya::simhash::SimHashIndex;
use hapax_dedup::{Document, Fingerprint, Layout, MemoryIndex, Offered, Options, Store};

use crate::{data, measure, near::resident};

const COMMIT_EACH: usize = 1000;

/// Whether commits are durable, and which thread waits for the disk.
#[derive(Clone, Copy, PartialEq)]
enum Commits {
    None,
    Here,
    /// A separate thread commits while this one continues.
    Beside,
}

/// Each runs in a separate process: memory that one has freed would hide the memory of the next one. The first is the
/// reference for the others. It compares all fingerprints that can be within the distance: its duplicates are those of an
/// exhaustive scan.
const CONTENDERS: [&str; 5] = ["vectors", "index", "memory", "commits", "beside"];

/// First word of the line with a contender's speed and count.
const RESULT: &str = "result";

/// `only` is a contender, which runs in this process, or the number of rounds in which all run in turn.
pub fn run(count: usize, peers: usize, batch: usize, only: Option<&str>) {
    assert!(count > 0 && batch > 0, "nothing to offer");
    let stream = || data::stored(count);
    if let Some(rounds) = only.map_or(Some(ROUNDS), |only| only.parse().ok()) {
        in_turn([count, peers, batch], rounds);
        return;
    }
    match only {
        Some("vectors") => growing_vectors(&stream()),
        Some("index") => memory_index(&stream(), batch),
        Some("memory") => store(&stream(), batch, Commits::None),
        Some("commits") => store(&stream(), batch, Commits::Here),
        Some("beside") => store(&stream(), batch, Commits::Beside),
        Some("peers") => others(&stream(), peers),
        other => eprintln!("unknown contender {other:?}: use peers or one of {CONTENDERS:?}"),
    }
}

/// Default number of rounds.
const ROUNDS: usize = 3;

/// Runs all contenders in turn (A B C A B C), and compares their speeds within each round.
fn in_turn(numbers: [usize; 3], rounds: usize) {
    let arguments = numbers.map(|number| number.to_string());
    let mut speeds: [Vec<f64>; CONTENDERS.len()] = Default::default();
    let mut expected = None;
    let child = |contender: &str| {
        let program = std::env::current_exe().expect("this program");
        let output = Command::new(program).arg("offer").args(&arguments).arg(contender).stderr(Stdio::inherit()).output();
        let output = output.expect("a process");
        assert!(output.status.success(), "{contender}");
        String::from_utf8(output.stdout).expect("text")
    };
    for round in 1..=rounds.max(1) {
        for (contender, speeds) in CONTENDERS.iter().zip(&mut speeds) {
            let text = child(contender);
            let result = text.lines().find_map(|line| line.strip_prefix(RESULT)).expect("a result");
            let mut words = result.split_whitespace();
            let mut word = || words.next().expect("a speed and a count");
            let (speed, duplicates): (f64, usize) = (word().parse().expect("a speed"), word().parse().expect("a count"));
            // A smaller number means missed neighbours, a larger one false neighbours.
            assert_eq!(*expected.get_or_insert(duplicates), duplicates, "{contender} finds other duplicates");
            speeds.push(speed);
            text.lines().filter(|line| !line.starts_with(RESULT)).for_each(|line| println!("round {round}: {line}"));
        }
    }
    println!("M/s, median (least to greatest) of {} interleaved rounds, and the ratio to the peer's speed in the same round:", rounds.max(1));
    let peer = speeds[0].clone();
    for (contender, speeds) in CONTENDERS.iter().zip(&mut speeds) {
        let mut times: Vec<f64> = speeds.iter().zip(&peer).map(|(speed, peer)| speed / peer).collect();
        println!("{contender:>8}: {}; ratio {}", measure::show(speeds), measure::show(&mut times));
    }
    print!("{}", child("peers"));
}

/// Prints millions of documents a second and the number of duplicates, for the calling process.
fn result(speed: f64, duplicates: usize) {
    println!("{RESULT} {speed} {duplicates}");
}

fn store(stream: &[u64], batch: usize, commits: Commits) {
    let count = stream.len();
    let durable = commits != Commits::None;
    let folder = std::env::temp_dir().join("hapax-bench-offer");
    let _ = std::fs::remove_dir_all(&folder);
    let mut options = Options::default();
    options.policy.hamming_only = true;
    options.resident_bytes = 1 << 30;
    let before = anonymous();
    let store = if durable { Store::open(&folder, options) } else { Store::in_memory(options) }.expect("a store");
    let mut latencies: Vec<u32> = Vec::with_capacity(count);
    let wall = Instant::now();
    let thread = cpu_time::ThreadTime::now();
    let (cpu, duplicates) = measure::seconds(|| {
        std::thread::scope(|scope| {
            let (turn, turns) = std::sync::mpsc::sync_channel::<u64>(0);
            let store = &store;
            let committer = scope.spawn(move || {
                turns.into_iter().for_each(|payload| store.commit(&payload.to_le_bytes()).expect("a commit"));
            });
            let mut duplicates = 0;
            let mut offered = 0;
            let keys: Vec<[u8; 8]> = (0..COMMIT_EACH as u64).map(u64::to_le_bytes).collect();
            let mut keys = keys;
            for piece in stream.chunks(COMMIT_EACH) {
                for (key, i) in keys.iter_mut().zip(offered as u64..) {
                    *key = i.to_le_bytes();
                }
                let documents: Vec<Document<'_>> =
                    piece.iter().zip(&keys).map(|(bits, key)| Document::new(key, Fingerprint::from_bits(*bits))).collect();
                for documents in documents.chunks(batch) {
                    let started = Instant::now();
                    let verdicts = store.offer_many(documents).expect("a verdict");
                    latencies.push((started.elapsed().as_nanos() as u64 / documents.len() as u64) as u32);
                    duplicates += verdicts.iter().filter(|v| matches!(v, hapax_dedup::Verdict::Duplicate { .. })).count();
                }
                offered += piece.len();
                match commits {
                    Commits::Beside => turn.send(offered as u64).expect("the committer"),
                    _ => store.commit(&(offered as u64).to_le_bytes()).expect("a commit"),
                }
            }
            drop(turn);
            committer.join().expect("the committer");
            duplicates
        })
    });
    let wall = wall.elapsed().as_secs_f64();
    let thread = thread.elapsed().as_secs_f64();
    latencies.sort_unstable();
    let quantile = |q: f64| f64::from(latencies[(latencies.len() as f64 * q) as usize]) / 1e3;
    println!(
        "hapax-dedup, {}, {batch} at once: {:.2} M/s of wall, {:.2} M/s of the offering thread's CPU, {:.2} M/s of all CPU, {duplicates} duplicates, \
         an offer p50 {:.1} us, p99 {:.1} us, p99.9 {:.1} us; {:.0} bytes a fingerprint in memory; segments {:?}",
        match commits {
            Commits::None => "in memory",
            Commits::Here => "a commit each 1,000",
            Commits::Beside => "a commit each 1,000 by another thread",
        },
        count as f64 / wall / 1e6,
        count as f64 / thread / 1e6,
        count as f64 / cpu / 1e6,
        quantile(0.5),
        quantile(0.99),
        quantile(0.999),
        (anonymous() - before - 4 * latencies.len() as i64) as f64 / count as f64,
        store.segments().iter().map(|(layout, rows)| format!("{layout}: {rows}")).collect::<Vec<_>>(),
    );
    result(count as f64 / thread / 1e6, duplicates);
    drop(store);
    let _ = std::fs::remove_dir_all(&folder);
}

fn others(stream: &[u64], peers: usize) {
    let stream = &stream[..peers.min(stream.len())];
    for (blocks, distance) in [(6, 4), (5, 4)] {
        let before = resident();
        let mut index: SimHashIndex<u64, u64> = SimHashIndex::new(blocks, distance);
        let (cpu, duplicates) = measure::seconds(|| {
            let mut duplicates = 0;
            for (number, bits) in stream.iter().enumerate() {
                if index.query(bits).is_empty() {
                    index.insert(number as u64, *bits);
                } else {
                    duplicates += 1;
                }
            }
            duplicates
        });
        println!(
            "gaoya new({blocks}, {distance}), {} of them: {:.3} M/s, {duplicates} duplicates, {:.0} bytes a fingerprint, not durable",
            stream.len(),
            stream.len() as f64 / cpu / 1e6,
            (resident() - before) as f64 / stream.len() as f64,
        );
    }
    let folder = std::env::temp_dir().join("hapax-bench-sled");
    let _ = std::fs::remove_dir_all(&folder);
    let few = &stream[..stream.len().min(100_000)];
    let db = sled::Config::new().path(&folder).mode(sled::Mode::LowSpace).cache_capacity(256 << 20).open().expect("sled");
    let layout = Layout::new(6, 3).expect("a layout");
    let trees: Vec<sled::Tree> = (0..layout.leads().len()).map(|i| db.open_tree(format!("table {i}")).expect("a tree")).collect();
    let (cpu, duplicates) = measure::seconds(|| {
        let mut duplicates = 0;
        for (number, &bits) in few.iter().enumerate() {
            let found = trees.iter().zip(layout.leads()).any(|(tree, lead)| {
                let prefix = (bits & lead.mask).to_be_bytes();
                tree.scan_prefix(prefix).keys().any(|key| {
                    let key = key.expect("a key");
                    let other = u64::from_be_bytes(key[8..16].try_into().expect("eight bytes"));
                    (other ^ bits).count_ones() <= 3
                })
            });
            duplicates += usize::from(found);
            if !found {
                for (tree, lead) in trees.iter().zip(layout.leads()) {
                    let key = [(bits & lead.mask).to_be_bytes(), bits.to_be_bytes()].concat();
                    tree.insert(key, &[]).expect("an insert");
                }
            }
            if number % COMMIT_EACH == 0 {
                db.flush().expect("a flush");
            }
        }
        duplicates
    });
    println!(
        "sled, 20 trees, {} of them: {:.4} M/s, {duplicates} duplicates, {} bytes on disk a fingerprint",
        few.len(),
        few.len() as f64 / cpu / 1e6,
        db.size_on_disk().unwrap_or(0) / few.len() as u64
    );
    drop((trees, db));
    let _ = std::fs::remove_dir_all(&folder);
}

/// Returns the bytes of anonymous memory: without mapped files.
fn anonymous() -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|rest| rest.trim().strip_suffix(" kB")?.trim().parse::<i64>().ok()).unwrap_or(0) * 1024
}

/// Four tables of 65,536 growing vectors of (fingerprint, document), each scanned whole, as go-simstore's `New3Small` does.
/// Not durable.
fn growing_vectors(stream: &[u64]) {
    let before = anonymous();
    let mut tables: [Vec<Vec<(u64, u64)>>; 4] = std::array::from_fn(|_| vec![Vec::new(); 1 << 16]);
    let (cpu, duplicates) = measure::seconds(|| {
        let mut duplicates = 0;
        for (number, &bits) in stream.iter().enumerate() {
            let place = |table: usize| (bits >> (48 - 16 * table)) as usize & 0xffff;
            let mut found: Vec<u64> = Vec::new();
            for (number, table) in tables.iter().enumerate() {
                let near = table[place(number)].iter().filter(|entry| within_three(entry.0 ^ bits));
                found.extend(near.map(|entry| entry.1));
            }
            found.sort_unstable();
            found.dedup();
            duplicates += usize::from(!found.is_empty());
            if found.is_empty() {
                tables.iter_mut().enumerate().for_each(|(i, table)| table[place(i)].push((bits, number as u64)));
            }
        }
        duplicates
    });
    println!(
        "growing vectors, as go-simstore's small store: {:.2} M/s of CPU, {duplicates} duplicates, {:.0} bytes a fingerprint, \
         not durable, no keys",
        stream.len() as f64 / cpu / 1e6,
        (anonymous() - before) as f64 / stream.len() as f64,
    );
    result(stream.len() as f64 / cpu / 1e6, duplicates);
}

/// Numbered fingerprints in memory, as the peers store them.
fn memory_index(stream: &[u64], batch: usize) {
    let before = anonymous();
    let mut index = MemoryIndex::for_distance(3).expect("a distance");
    let (cpu, duplicates) = measure::seconds(|| {
        let mut duplicates = 0;
        for piece in stream.chunks(batch) {
            let piece: Vec<Fingerprint> = piece.iter().copied().map(Fingerprint::from_bits).collect();
            let answers = index.offer_many(&piece).expect("an answer");
            duplicates += answers.iter().filter(|answer| matches!(answer, Offered::Near(..))).count();
        }
        duplicates
    });
    println!(
        "hapax-dedup, numbered fingerprints in memory, {batch} at once: {:.2} M/s of CPU, {duplicates} duplicates, \
         {:.0} bytes a fingerprint, not durable, no keys",
        stream.len() as f64 / cpu / 1e6,
        (anonymous() - before) as f64 / stream.len() as f64,
    );
    result(stream.len() as f64 / cpu / 1e6, duplicates);
}

/// Does not use the instruction that counts bits: a portable build does not have it.
fn within_three(bits: u64) -> bool {
    (0..3).fold(bits, |bits, _| bits & bits.wrapping_sub(1)) == 0
}
