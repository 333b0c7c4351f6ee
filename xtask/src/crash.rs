//! The kill loop of the dedup store. A child offers documents and prints each commit that returned;
//! the parent kills it, opens the store, and asks for every acknowledged document.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use hapax_dedup::{Document, Fingerprint, Options, Sketch, Store};

use crate::rng::Rng;

/// Every document is a function of its number, so the parent needs no copy of them.
fn fingerprint(number: u64) -> Fingerprint {
    let mut rng = Rng(number / 4);
    let base = rng.next();
    // Three of four are near-duplicates of the first of their group.
    let flips = number % 4;
    Fingerprint::from_bits((0..flips).fold(base, |bits, flip| bits ^ 1 << (flip * 7)))
}

fn offer(store: &Store, number: u64) -> Result<()> {
    let key = format!("document {number}");
    let base = number / 4;
    let sketch = Sketch::from_hashes((0..40).map(|i| Rng(base * 100 + i).next()));
    store.offer(&Document {
        sketch,
        tokens: 100,
        ..Document::new(key.as_bytes(), fingerprint(number))
    })?;
    Ok(())
}

/// Offers documents from where the store ends until it is killed.
pub(crate) fn child(folder: &str, seed: u64) -> Result<()> {
    let mut rng = Rng(seed);
    let store = Store::open(folder, Options::default())?;
    let mut out = std::io::stdout();
    writeln!(out, "open {}", store.len())?;
    let deadline = Instant::now() + Duration::from_secs(30);
    while Instant::now() < deadline {
        for _ in 0..=rng.below(60) {
            let number = store.len();
            offer(&store, number)?;
        }
        store.commit(&store.len().to_le_bytes())?;
        writeln!(out, "{}", store.len())?;
        out.flush()?;
    }
    Ok(())
}

/// Kills a writer `cycles` times and checks the store after each.
pub(crate) fn run(cycles: u64, seed: u64) -> Result<()> {
    let folder = std::env::temp_dir().join(format!("hapax-crash-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let mut rng = Rng(seed);
    let mut in_open = 0;
    let mut kept = 0;
    for cycle in 0..cycles {
        let acknowledged = one_life(&folder, &mut rng, &mut in_open)?;
        let store = Store::open(&folder, Options::default())
            .with_context(|| format!("cycle {cycle}: the store does not open"))?;
        ensure!(
            store.len() >= acknowledged.max(kept),
            "cycle {cycle}: {} documents, {} were acknowledged",
            store.len(),
            acknowledged.max(kept)
        );
        ensure!(
            store.payload().is_empty() && store.is_empty()
                || store.payload() == store.len().to_le_bytes(),
            "cycle {cycle}: half a commit is visible"
        );
        for number in 0..store.len() {
            let id = store.id_of(format!("document {number}").as_bytes())?;
            ensure!(id == Some(number), "cycle {cycle}: document {number} has id {id:?}");
        }
        ensure!(
            store.duplicates() == store.len() - store.len().div_ceil(4),
            "cycle {cycle}: other verdicts"
        );
        kept = store.len();
        drop(store);
        if kept > 200_000 {
            std::fs::remove_dir_all(&folder)?;
            kept = 0;
        }
    }
    std::fs::remove_dir_all(&folder)?;
    let mut out = std::io::stdout();
    writeln!(
        out,
        "{cycles} kills, {in_open} of them while the store was being opened: nothing acknowledged was lost"
    )?;
    Ok(())
}

/// Starts a writer, kills it at a random moment, and says what it had acknowledged.
fn one_life(folder: &Path, rng: &mut Rng, in_open: &mut u64) -> Result<u64> {
    let mut child = Command::new(std::env::current_exe()?)
        .arg("crash-child")
        .arg(folder)
        .args(["--seed", &rng.next().to_string()])
        .stdout(Stdio::piped())
        .spawn()?;
    let stdout = child.stdout.take().context("no pipe")?;
    // Every third life ends while the store is being opened.
    let limit = if rng.below(3) == 0 { 3_000 } else { 120_000 };
    std::thread::sleep(Duration::from_micros(rng.below(limit)));
    child.kill()?;
    let status = child.wait()?;
    if status.success() {
        bail!("the writer ended by itself");
    }
    let mut last = 0;
    let mut opened = false;
    for line in BufReader::new(stdout).lines() {
        let line = line?;
        opened = true;
        if let Ok(number) = line.parse() {
            last = number;
        }
    }
    *in_open += u64::from(!opened);
    Ok(last)
}
