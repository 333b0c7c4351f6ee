//! Measures a store on disk as it grows: offers with a commit per 1,000, memory, space, look-ups, reopening.
//!
//!   cargo bench -p hapax-dedup --bench store [-- FINGERPRINTS [FOLDER]] [merge=MIB] [resident=MIB] [sketches=1]
//!   ... [killed=ROUNDS]: instead, the time to the first answer of a store that was killed with a full journal
//!
//! Default: a million fingerprints, in the folder for temporary files, with default options. With sketches, each
//! document has one of random bytes, and its bands are looked up too.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a benchmark"
)]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use hapax_dedup::{Document, Fingerprint, Options, SKETCH_SIZE, Sketch, Store, Verdict, mix64};

const EACH: u64 = 1000;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let (named, args): (Vec<String>, Vec<String>) =
        args.into_iter().partition(|arg| arg.contains('='));
    let bytes = |name: &str, default: usize| {
        let value = named.iter().find_map(|arg| arg.strip_prefix(name)?.strip_prefix('='));
        value.map_or(default, |mib| mib.parse::<usize>().unwrap() << 20)
    };
    let count: u64 = args.first().and_then(|arg| arg.parse().ok()).unwrap_or(1_000_000);
    let folder = args
        .get(1)
        .map_or_else(std::env::temp_dir, PathBuf::from)
        .join(format!("hapax-bench-store-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let mut options = Options::default();
    let sketched = named.iter().any(|arg| arg == "sketches=1");
    options.policy.hamming_only = !sketched;
    options.merge_bytes = bytes("merge", options.merge_bytes);
    options.resident_bytes = bytes("resident", options.resident_bytes);
    let number = |name: &str| {
        named.iter().find_map(|arg| arg.strip_prefix(name)?.strip_prefix('=')?.parse::<u64>().ok())
    };
    if let Some(folder) = named.iter().find_map(|arg| arg.strip_prefix("to-be-killed=")) {
        fill_and_wait(Path::new(folder), options, sketched);
    }
    if let Some(rounds) = number("killed") {
        (0..rounds.max(1)).for_each(|_| killed(&folder, &options, sketched));
        return;
    }
    let store = Store::open(&folder, options.clone()).unwrap();
    let (mut latencies, mut most) = (Latencies::default(), 0);
    let (mut next_report, mut duplicates) = (count.min(1_000_000), 0u64);
    let started = Instant::now();
    let mut since = started;
    for first in (0..count).step_by(EACH as usize) {
        for number in first..(first + EACH).min(count) {
            let key = number.to_le_bytes();
            let mut document = Document::new(&key, fingerprint(number));
            document.sketch = sketched.then(|| sketch(number));
            let offered = Instant::now();
            let verdict = store.offer(&document).unwrap();
            latencies.add(offered.elapsed().as_nanos() as u64);
            duplicates += u64::from(matches!(verdict, Verdict::Duplicate { .. }));
        }
        store.commit(&first.to_le_bytes()).unwrap();
        most = most.max(anonymous());
        if first + EACH >= next_report {
            println!(
                "{:>10} offered: {:.2} M/s lately, an offer p50 {:.1} us, p99 {:.1} us, p99.99 {:.0} us, longest {:.1} ms; \
                 {} MB of memory at most; {:?}",
                first + EACH,
                latencies.count as f64 / since.elapsed().as_secs_f64() / 1e6,
                latencies.quantile(0.5) / 1e3,
                latencies.quantile(0.99) / 1e3,
                latencies.quantile(0.9999) / 1e3,
                latencies.longest as f64 / 1e6,
                most / 1_000_000,
                store
                    .segments()
                    .iter()
                    .map(|(layout, rows)| format!("{rows} in {layout}"))
                    .collect::<Vec<_>>(),
            );
            latencies = Latencies::default();
            since = Instant::now();
            next_report = (next_report * 2).min(count);
        }
    }
    println!(
        "{:.2} M/s over all, {duplicates} duplicates",
        count as f64 / started.elapsed().as_secs_f64() / 1e6
    );
    let started = Instant::now();
    store.close().unwrap();
    println!(
        "closed in {:.0} ms; {:.0} bytes a fingerprint on disk",
        started.elapsed().as_secs_f64() * 1e3,
        size(&folder) as f64 / count as f64
    );

    let started = Instant::now();
    let store = Store::open(&folder, options).unwrap();
    let opened = started.elapsed();
    assert!(!store.near(fingerprint(count / 2)).unwrap().is_empty());
    println!(
        "reopened in {:.1} ms, first answer after {:.1} ms",
        opened.as_secs_f64() * 1e3,
        started.elapsed().as_secs_f64() * 1e3
    );
    let queries: Vec<Fingerprint> =
        (0..200_000).map(|i| fingerprint(mix64(i) % (2 * count))).collect();
    for _ in 0..2 {
        let started = Instant::now();
        let found: usize = queries.iter().map(|&query| store.near(query).unwrap().len()).sum();
        let single = started.elapsed().as_secs_f64();
        let started = Instant::now();
        let mut many = 0;
        store.near_many(&queries, |_, _, _| many += 1).unwrap();
        assert_eq!(found, many);
        println!(
            "near: {:.2} M/s, batched {:.2} M/s, {found} found; {} MB of memory",
            queries.len() as f64 / single / 1e6,
            queries.len() as f64 / started.elapsed().as_secs_f64() / 1e6,
            anonymous() / 1_000_000
        );
    }
    drop(store);
    let _ = std::fs::remove_dir_all(&folder);
}

/// The longest acceptable time to the first answer.
const GOAL: Duration = Duration::from_secs(1);

/// Lets a child process fill its memory, kills it, and reports the time of the next open until its first answer.
fn killed(folder: &Path, options: &Options, sketched: bool) {
    let _ = std::fs::remove_dir_all(folder);
    let mut child = Command::new(std::env::current_exe().unwrap())
        .arg(format!("to-be-killed={}", folder.display()))
        .arg(format!("merge={}", options.merge_bytes >> 20))
        .arg(format!("resident={}", options.resident_bytes >> 20))
        .arg(format!("sketches={}", u8::from(sketched)))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let documents: u64 = line.trim().parse().unwrap();
    let started = Instant::now();
    let store = Store::open(folder, options.clone()).unwrap();
    let opened = started.elapsed();
    assert!(!store.near(fingerprint(documents / 2)).unwrap().is_empty());
    let answered = started.elapsed();
    assert_eq!((store.len(), store.segments().len()), (documents, 0), "all in the journal");
    println!(
        "killed with {documents} documents and {:.0} MB in its journal: opened in {:.0} ms, first answer after {:.0} ms \
         (goal: {} ms, {})",
        size(folder) as f64 / 1e6,
        opened.as_secs_f64() * 1e3,
        answered.as_secs_f64() * 1e3,
        GOAL.as_millis(),
        if answered <= GOAL { "reached" } else { "MISSED" },
    );
    drop(store);
    let _ = std::fs::remove_dir_all(folder);
}

fn fill_and_wait(folder: &Path, options: Options, sketched: bool) -> ! {
    let most = options.memtable_documents as u64 - 1;
    let half = options.memtable_bytes as u64 / 2;
    let store = Store::open(folder, options).unwrap();
    let mut number = 0;
    // Half of the bytes, because the resident set counts too, and a sketch takes 128 of them.
    while number < most && (!sketched || number * 300 < half) {
        for _ in 0..EACH.min(most - number) {
            let key = number.to_le_bytes();
            let mut document = Document::new(&key, fingerprint(number));
            document.sketch = sketched.then(|| sketch(number));
            store.insert(&document, None).unwrap();
            number += 1;
        }
        store.commit(&number.to_le_bytes()).unwrap();
    }
    println!("{number}");
    loop {
        std::thread::sleep(GOAL);
    }
}

/// Times in nanoseconds, counted by their six leading bits, so that the benchmark itself uses little memory.
struct Latencies {
    counts: [u64; 64 * 32],
    count: u64,
    longest: u64,
}

impl Default for Latencies {
    fn default() -> Self {
        Self { counts: [0; 64 * 32], count: 0, longest: 0 }
    }
}

impl Latencies {
    fn add(&mut self, nanos: u64) {
        let shift = nanos.max(32).ilog2() - 5;
        self.counts[(shift as usize) * 32 + (nanos >> shift) as usize] += 1;
        self.count += 1;
        self.longest = self.longest.max(nanos);
    }

    fn quantile(&self, q: f64) -> f64 {
        let mut before = 0;
        let at = |count: &u64| {
            before += count;
            before as f64 > self.count as f64 * q
        };
        let place = self.counts.iter().position(at).unwrap_or(0);
        // The places of shift s begin at 32 s, and represent 32 to 63 times 2^s nanoseconds from s = 1 on.
        let shift = (place / 32).saturating_sub(1);
        ((place - shift * 32) as f64) * (1u64 << shift) as f64
    }
}

/// Returns a random fingerprint nineteen times of twenty, else one within six bits of an earlier one.
fn fingerprint(number: u64) -> Fingerprint {
    let random = mix64(number + 1);
    if !random.is_multiple_of(20) || number == 0 {
        return Fingerprint::from_bits(random);
    }
    let earlier = mix64(mix64(random) % number + 1);
    let flips = 1 + (random >> 5) % 6;
    Fingerprint::from_bits((0..flips).fold(earlier, |bits, i| bits ^ 1 << (mix64(random ^ i) % 64)))
}

fn sketch(number: u64) -> Sketch {
    let mut bytes = [0; SKETCH_SIZE];
    for (eight, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(0u64..) {
        *eight = mix64(number << 3 | word).to_le_bytes();
    }
    Sketch::from_bytes(bytes)
}

/// Returns the bytes of anonymous memory, without mapped files.
fn anonymous() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|rest| rest.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()).unwrap_or(0)
        * 1024
}

fn size(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
}
