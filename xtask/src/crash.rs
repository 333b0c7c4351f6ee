//! The kill loop of the dedup store. A child offers documents and prints each commit that returned. The parent kills
//! it, opens the store, and looks for every acknowledged document.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use hapax_dedup::{Document, Fingerprint, Options, Sketch, Store};

use crate::rng::Rng;

/// Cycles from which R1 (docs/reliability.md) requires shares of kills in rare moments.
const SHARES_FROM: u64 = 1000;
/// Required kills of 1,000: while the store opens, and while a segment is written.
const WHILE_OPENING: u64 = 300;
const WHILE_WRITING: u64 = 100;
/// Every 31st document and the last 150 are compared with their expected values.
const SAMPLE: u64 = 31;
const LAST: u64 = 150;

const SIGKILL: i32 = 9;
/// Documents from which a new store is started, to keep cycles short. The cache has been rebuilt before that.
const MOST: u64 = 150_000;

/// Every document is a function of its number, so the parent needs no copy.
fn fingerprint(number: u64) -> Fingerprint {
    let mut rng = Rng(number / 4);
    let base = rng.next();
    // Three of four are near-duplicates of the first of their group.
    let flips = number % 4;
    Fingerprint::from_bits((0..flips).fold(base, |bits, flip| bits ^ 1 << (flip * 7)))
}

fn key(number: u64) -> String {
    format!("document {number}")
}

/// Each run of the writer has other options. They may change when files are written, but not the answers.
fn options(rng: &mut Rng) -> Options {
    Options {
        memtable_documents: 100 + rng.below(2000) as usize,
        merge_bytes: 1 << (8 + rng.below(20)),
        bytes_per_fingerprint: 20.0 + rng.below(80) as f64,
        // Nothing resident, as in a crawl; a limit that is exceeded; everything resident.
        resident_bytes: [0, 1 << 20, 512 << 20][rng.below(3) as usize],
        ..Options::default()
    }
}

/// All four documents of a group have the same sketch.
fn sketch(number: u64) -> Option<Sketch> {
    let base = number / 4;
    Sketch::from_hashes((0..40).map(|i| Rng(base * 100 + i).next()))
}

const TOKENS: u32 = 100;

/// Whether a later commit deletes the document.
const fn goes(number: u64) -> bool {
    number % 11 == 10
}

fn offer(store: &Store, number: u64) -> Result<()> {
    store.offer(&Document {
        sketch: sketch(number),
        tokens: TOKENS,
        ..Document::new(key(number).as_bytes(), fingerprint(number))
    })?;
    Ok(())
}

/// Offers documents from the store's end on until it is killed. The next commit deletes every eleventh.
pub(crate) fn child(folder: &str, seed: u64) -> Result<()> {
    let mut rng = Rng(seed);
    let mut out = std::io::stdout();
    writeln!(out, "begin")?;
    let store = Store::open(folder, options(&mut rng))?;
    writeln!(out, "open {}", store.next_id())?;
    let deadline = Instant::now() + Duration::from_secs(60);
    while Instant::now() < deadline {
        let first = store.next_id();
        for number in first.saturating_sub(60)..first {
            if goes(number) {
                store.delete(number)?;
            }
        }
        for number in first..=first + rng.below(60) {
            offer(&store, number)?;
        }
        store.commit(&store.next_id().to_le_bytes())?;
        writeln!(out, "{}", store.next_id())?;
        out.flush()?;
    }
    Ok(())
}

/// Kills that hit an open, and the writing of a segment.
#[derive(Debug, Default)]
struct Hits {
    open: u64,
    merge: u64,
}

pub(crate) fn run(cycles: u64, seed: u64) -> Result<()> {
    let folder = std::env::temp_dir().join(format!("hapax-crash-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let mut rng = Rng(seed);
    let (mut opens, mut hits) = (Opens::default(), Hits::default());
    let mut kept = 0;
    let mut checked = 0;
    for cycle in 0..cycles {
        let acknowledged = one_life(&folder, &mut rng, &mut opens, &mut hits)?;
        // A killed merge leaves an unfinished segment.
        hits.merge += u64::from(is_writing(&folder));
        let store = Store::open(&folder, options(&mut rng))
            .with_context(|| format!("cycle {cycle}: the store does not open"))?;
        check(&store, acknowledged.max(kept)).with_context(|| format!("cycle {cycle}"))?;
        checked += store.next_id();
        kept = store.next_id();
        drop(store);
        if kept > MOST {
            std::fs::remove_dir_all(&folder)?;
            kept = 0;
        }
    }
    std::fs::remove_dir_all(&folder)?;
    let mut out = std::io::stdout();
    writeln!(
        out,
        "{cycles} kills, {} of them while the store was being opened, {} while a segment was being \
         written; {checked} documents looked up: nothing acknowledged was lost",
        hits.open, hits.merge
    )?;
    shares(cycles, &hits)
}

fn check(store: &Store, acknowledged: u64) -> Result<()> {
    // The checks below also read the cache.
    ensure!(!store.cache_was_set_aside(), "a kill has damaged the cache of keys");
    let end = store.next_id();
    ensure!(end >= acknowledged, "{end} documents, {acknowledged} were acknowledged");
    let payload = store.payload();
    ensure!(
        payload.is_empty() && end == 0 || payload == end.to_le_bytes(),
        "half a commit is visible"
    );
    let mut gone = 0;
    for number in 0..end {
        let id = store.id_of(key(number).as_bytes())?;
        // The last documents may await the commit that deletes them.
        let may_go = goes(number);
        ensure!(id == Some(number) || may_go && id.is_none(), "document {number} has id {id:?}");
        ensure!(!may_go || id.is_none() || number + 60 >= end, "document {number} was deleted");
        gone += u64::from(id.is_none());
        if id.is_some() && (number % SAMPLE == 0 || number + LAST >= end) {
            holds(store, number).with_context(|| format!("document {number} of {end}"))?;
        }
    }
    ensure!(store.len() == end - gone, "{} documents of {end}, {gone} deleted", store.len());
    store.check()?;
    Ok(())
}

/// Compares a document's record, verdict and neighbours with the expected ones.
fn holds(store: &Store, number: u64) -> Result<()> {
    let record = store.record(number)?.context("no record")?;
    let same = record.fingerprint == fingerprint(number)
        && record.sketch == sketch(number)
        && (record.tokens, record.key.as_slice()) == (TOKENS, key(number).as_bytes());
    ensure!(same, "it is another: {record:?}");
    let first = number / 4 * 4;
    let near = store.near(fingerprint(number))?;
    if goes(first) {
        // The group's first document is deleted, so the verdict depends on when: new, or a copy of an earlier one.
        let of = record.of.unwrap_or(first);
        ensure!((first..=number).contains(&of), "it is a copy of {of}");
        let own = |&(id, _): &(u64, u32)| id / 4 == number / 4;
        ensure!(near.iter().all(own), "near it are {near:?}");
        ensure!(record.of.is_some() || near.contains(&(number, 0)), "it does not find itself");
        return Ok(());
    }
    let of = (number > first).then_some(first);
    ensure!(record.of == of, "it is a copy of {:?}, not of {of:?}", record.of);
    let expected = [(first, fingerprint(first).distance(fingerprint(number)))];
    ensure!(near == expected, "near it are {near:?}, not {expected:?}");
    Ok(())
}

/// Fails if too few kills hit the rare moments.
fn shares(cycles: u64, hits: &Hits) -> Result<()> {
    let least = |share: u64| if cycles < SHARES_FROM { 0 } else { cycles * share / 1000 };
    let (open, merge) = (least(WHILE_OPENING), least(WHILE_WRITING));
    ensure!(hits.open >= open, "{} kills while opening, at least {open} are asked for", hits.open);
    ensure!(hits.merge >= merge, "{} kills of a segment, at least {merge} are", hits.merge);
    Ok(())
}

/// The moment to kill in. Random moments alone rarely hit short phases.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Aim {
    Opening,
    Writing,
    Anything,
}

/// Weights: of ten lives five end while they open, two while a segment is written.
const AIMS: [(u64, Aim); 3] = [(5, Aim::Opening), (2, Aim::Writing), (3, Aim::Anything)];

fn aim(rng: &mut Rng) -> Aim {
    let mut drawn = rng.below(AIMS.iter().map(|(weight, _)| weight).sum());
    for (weight, aim) in AIMS {
        if drawn < weight {
            return aim;
        }
        drawn -= weight;
    }
    Aim::Anything
}

/// The longest life when any moment may be hit.
const LIFE: Duration = Duration::from_millis(150);
/// How long to wait for a segment, and the longest delay of the kill after one was seen.
const NO_SEGMENT: Duration = Duration::from_millis(400);
const SEGMENT: Duration = Duration::from_millis(2);
const LOOK: Duration = Duration::from_micros(100);
/// The assumed time of an open before one was measured, and the number of measured ones that count.
const FIRST_OPEN: Duration = Duration::from_millis(4);
const OPENS: usize = 16;

/// Durations of the last opens that were not killed.
#[derive(Debug, Default)]
struct Opens(VecDeque<Duration>);

impl Opens {
    fn add(&mut self, took: Duration) {
        self.0.push_back(took);
        if self.0.len() > OPENS {
            self.0.pop_front();
        }
    }

    /// A random moment within an open of median duration.
    fn moment(&self, rng: &mut Rng) -> Duration {
        let mut sorted: Vec<_> = self.0.iter().copied().collect();
        sorted.sort_unstable();
        random(rng, sorted.get(sorted.len() / 2).copied().unwrap_or(FIRST_OPEN))
    }
}

fn random(rng: &mut Rng, below: Duration) -> Duration {
    Duration::from_nanos(rng.below(u64::try_from(below.as_nanos()).unwrap_or(u64::MAX)))
}

/// Whether an unfinished segment, or a file sorted for one, is in the folder.
fn is_writing(folder: &Path) -> bool {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files.map(|file| file.file_name()).any(|name| {
        let name = name.to_string_lossy();
        name.starts_with("seg-") && name.ends_with(".tmp")
    })
}

/// Starts a writer, kills it, and returns the number of documents it had acknowledged.
fn one_life(folder: &Path, rng: &mut Rng, opens: &mut Opens, hits: &mut Hits) -> Result<u64> {
    let mut child = Command::new(std::env::current_exe()?)
        .arg("crash-child")
        .arg(folder)
        .args(["--seed", &rng.next().to_string()])
        .stdout(Stdio::piped())
        .spawn()?;
    let stdout = child.stdout.take().context("no pipe")?;
    let (send, said) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            let _ = send.send((Instant::now(), line));
        }
    });
    let mut lines = Vec::new();
    match aim(rng) {
        Aim::Anything => std::thread::sleep(random(rng, LIFE)),
        Aim::Opening => {
            // A child that cannot start ends by itself; the check below reports it.
            lines.extend(said.recv());
            std::thread::sleep(opens.moment(rng));
        }
        Aim::Writing => {
            let deadline = Instant::now() + NO_SEGMENT;
            while Instant::now() < deadline && !is_writing(folder) {
                std::thread::sleep(LOOK);
            }
            std::thread::sleep(random(rng, SEGMENT));
        }
    }
    child.kill()?;
    let status = child.wait()?;
    if status.signal() != Some(SIGKILL) {
        bail!("the writer ended by itself: {status}");
    }
    lines.extend(said);
    let at = |word: &str| lines.iter().find(|(_, line)| line.starts_with(word)).map(|(at, _)| *at);
    match (at("begin"), at("open")) {
        (Some(begun), Some(opened)) => opens.add(opened - begun),
        // Kills before the open began do not count.
        (begun, _) => hits.open += u64::from(begun.is_some()),
    }
    Ok(lines.iter().filter_map(|(_, line)| line.parse().ok()).next_back().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kill_shares_are_required_only_of_1000_or_more_kills() {
        let hits = |open, merge| Hits { open, merge };
        assert!(shares(50, &hits(0, 0)).is_ok() && shares(999, &hits(0, 0)).is_ok());
        assert!(shares(1000, &hits(300, 100)).is_ok());
        assert!(shares(1000, &hits(299, 900)).is_err() && shares(1000, &hits(900, 99)).is_err());
        assert!(shares(2000, &hits(599, 900)).is_err() && shares(2000, &hits(600, 200)).is_ok());
    }

    #[test]
    fn moments_lie_within_the_middle_one_of_the_last_opens() {
        let (mut opens, mut rng) = (Opens::default(), Rng(1));
        assert!(opens.moment(&mut rng) < FIRST_OPEN);
        for ms in 1..=40 {
            opens.add(Duration::from_millis(ms));
        }
        assert_eq!(opens.0.len(), OPENS);
        let drawn: Vec<_> = (0..200).map(|_| opens.moment(&mut rng)).collect();
        assert!(drawn.iter().all(|moment| *moment < Duration::from_millis(33)));
        assert!(drawn.iter().any(|moment| *moment > Duration::from_millis(24)));
    }

    #[test]
    fn each_aim_is_drawn_as_often_as_it_weighs() {
        let mut rng = Rng(1);
        let drawn: Vec<_> = (0..1000).map(|_| aim(&mut rng)).collect();
        let share = |wanted| drawn.iter().filter(|aim| **aim == wanted).count();
        assert!((450..550).contains(&share(Aim::Opening)));
        assert!((150..250).contains(&share(Aim::Writing)));
    }

    #[test]
    fn an_unfinished_segment_is_seen_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["MANIFEST.tmp", "seg-1-0-4", "journal-1"] {
            std::fs::write(folder.path().join(name), "").unwrap();
            assert!(!is_writing(folder.path()), "{name}");
        }
        std::fs::write(folder.path().join("seg-2-0-9.tmp"), "").unwrap();
        assert!(is_writing(folder.path()));
    }
}
