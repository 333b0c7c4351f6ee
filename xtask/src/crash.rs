//! The kill loop of the dedup store. A child offers documents and prints each commit that returned;
//! the parent kills it, opens the store, and asks for every acknowledged document.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use hapax_dedup::{Document, Fingerprint, Options, Sketch, Store};

use crate::rng::Rng;

/// Of so many cycles on, R1 (docs/reliability.md) says how many kills must hit what is hard to hit.
const SHARES_FROM: u64 = 1000;
/// Of 1,000 kills so many while the store is being opened, and while a segment is being written.
const WHILE_OPENING: u64 = 300;
const WHILE_WRITING: u64 = 100;
/// One document in so many is held against what it must be, and so many of the last ones.
const SAMPLE: u64 = 31;
const LAST: u64 = 150;

/// A store is begun anew from so many documents on, so that a cycle stays short.
const MOST: u64 = 100_000;

/// Every document is a function of its number, so the parent needs no copy of them.
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

/// Other options in each life: they may change what is written when, never what is found.
fn options(rng: &mut Rng) -> Options {
    Options {
        memtable_documents: 100 + rng.below(2000) as usize,
        merge_bytes: 1 << (8 + rng.below(20)),
        bytes_per_fingerprint: 20.0 + rng.below(80) as f64,
        // Nothing resident, as in a crawl; what is let go as it grows; all of it.
        resident_bytes: [0, 1 << 20, 512 << 20][rng.below(3) as usize],
        ..Options::default()
    }
}

/// One for all four of a group.
fn sketch(number: u64) -> Option<Sketch> {
    let base = number / 4;
    Sketch::from_hashes((0..40).map(|i| Rng(base * 100 + i).next()))
}

const TOKENS: u32 = 100;

/// Whether a commit deletes a document again.
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

/// Offers documents from where the store ends until it is killed. Every eleventh is deleted again
/// in the next commit.
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

/// What the kills hit.
#[derive(Debug, Default)]
struct Hits {
    open: u64,
    merge: u64,
}

/// Kills a writer `cycles` times and checks the store after each.
pub(crate) fn run(cycles: u64, seed: u64) -> Result<()> {
    let folder = std::env::temp_dir().join(format!("hapax-crash-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let mut rng = Rng(seed);
    let mut hits = Hits::default();
    let mut kept = 0;
    let mut checked = 0;
    for cycle in 0..cycles {
        let acknowledged = one_life(&folder, &mut rng, &mut hits)?;
        // An unfinished segment is what a merge leaves when it is killed.
        let unfinished = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        hits.merge += u64::from(
            unfinished.into_iter().any(|e| e.file_name().to_string_lossy().ends_with(".tmp")),
        );
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
        // The last ones may wait for the commit that deletes them.
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

/// Holds a document's record, its verdict and its neighbours against what they must be.
fn holds(store: &Store, number: u64) -> Result<()> {
    let record = store.record(number)?.context("no record")?;
    let same = record.fingerprint == fingerprint(number)
        && record.sketch == sketch(number)
        && (record.tokens, record.key.as_slice()) == (TOKENS, key(number).as_bytes());
    ensure!(same, "it is another: {record:?}");
    let first = number / 4 * 4;
    let near = store.near(fingerprint(number))?;
    if goes(first) {
        // Then it depends on when it went: each is new, or a copy of one before it of its group.
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

/// Whether enough kills hit what is hard to hit.
fn shares(cycles: u64, hits: &Hits) -> Result<()> {
    let least = |share: u64| if cycles < SHARES_FROM { 0 } else { cycles * share / 1000 };
    let (open, merge) = (least(WHILE_OPENING), least(WHILE_WRITING));
    ensure!(hits.open >= open, "{} kills while opening, at least {open} are asked for", hits.open);
    ensure!(hits.merge >= merge, "{} kills of a segment, at least {merge} are", hits.merge);
    Ok(())
}

/// Starts a writer, kills it at a random moment, and says what it had acknowledged.
fn one_life(folder: &Path, rng: &mut Rng, hits: &mut Hits) -> Result<u64> {
    let mut child = Command::new(std::env::current_exe()?)
        .arg("crash-child")
        .arg(folder)
        .args(["--seed", &rng.next().to_string()])
        .stdout(Stdio::piped())
        .spawn()?;
    let stdout = child.stdout.take().context("no pipe")?;
    // Two of five lives end while the store is being opened.
    let limit = if rng.below(5) < 2 { 4_000 } else { 150_000 };
    std::thread::sleep(Duration::from_micros(rng.below(limit)));
    child.kill()?;
    let status = child.wait()?;
    if status.success() {
        bail!("the writer ended by itself");
    }
    let mut last = 0;
    let (mut begun, mut opened) = (false, false);
    for line in BufReader::new(stdout).lines() {
        let line = line?;
        begun |= line == "begin";
        opened |= line.starts_with("open");
        if let Ok(number) = line.parse() {
            last = number;
        }
    }
    // Not of those that were killed before they had begun.
    hits.open += u64::from(begun && !opened);
    Ok(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_asked_for_of_many_kills_alone() {
        let hits = |open, merge| Hits { open, merge };
        assert!(shares(50, &hits(0, 0)).is_ok() && shares(999, &hits(0, 0)).is_ok());
        assert!(shares(1000, &hits(300, 100)).is_ok());
        assert!(shares(1000, &hits(299, 900)).is_err() && shares(1000, &hits(900, 99)).is_err());
        assert!(shares(2000, &hits(599, 900)).is_err() && shares(2000, &hits(600, 200)).is_ok());
    }
}
