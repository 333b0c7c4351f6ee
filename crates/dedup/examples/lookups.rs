//! Measures how long it takes to look a document up in a store that is only read, as `crawl --against` does for each
//! page and reference: equal text, Hamming tables and bands of the sketch. Comparing texts is not included.
//!
//! `cargo run --release -p hapax-dedup --example lookups [DOCUMENTS]` prints one line for the store as a crawl leaves
//! it, in several segments, and one after all segments were merged.
#![expect(clippy::print_stdout, reason = "an example talks")]

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use hapax_dedup::{
    Confirm, Document, Fingerprint, Options, Proposal, Sketch, Snapshot, Store, mix64,
};

const DOCUMENTS: u64 = 1_000_000;
/// Every eighth document has a family of this many documents that share most of their shingles.
const FAMILY: u64 = 4;
const SHINGLES: u64 = 200;
const QUERIES: u64 = 20_000;
/// Query numbers begin here, so that no stored document has one.
const UNSEEN: u64 = 1 << 40;

/// Counts the proposed documents, and finds none of them to be a duplicate.
struct Counted(u64);

impl Confirm for Counted {
    fn confirm(&mut self, _: &Document<'_>, _: &Proposal<'_>) -> Option<bool> {
        self.0 += 1;
        Some(false)
    }
}

/// Returns the features of a text: random, and those of a family alike.
fn document(number: u64, key: &[u8]) -> Document<'_> {
    let family = if (number / FAMILY).is_multiple_of(8) { number / FAMILY } else { number };
    let is_own = |shingle: u64| family == number || shingle < SHINGLES / 20;
    let shingles = (0..SHINGLES).map(|shingle| {
        let of = if is_own(shingle) { number } else { family | 1 << 50 };
        mix64(of << 8 | shingle)
    });
    let bits = mix64(family ^ 0x5eed) ^ if family == number { 0 } else { 1 << (number % 64) };
    let mut digest = [0; 16];
    digest[..8].copy_from_slice(&mix64(number).to_le_bytes());
    Document {
        sketch: Sketch::from_hashes(shingles),
        tokens: 150,
        digest: Some(digest),
        names: [mix64(number) | 1, 0],
        ..Document::new(key, Fingerprint::from_bits(bits))
    }
}

/// Looks documents up, and returns the time for each and the number of proposals for each.
fn measure(
    store: &Snapshot,
    numbers: impl Iterator<Item = u64>,
) -> Result<(Duration, f64), Box<dyn Error>> {
    let numbers: Vec<[u8; 8]> = numbers.map(u64::to_le_bytes).collect();
    let documents: Vec<Document<'_>> =
        numbers.iter().map(|key| document(u64::from_le_bytes(*key), key)).collect();
    let mut counted = Counted(0);
    let started = Instant::now();
    for document in &documents {
        black_box(store.first_confirmed(document, &mut counted)?);
    }
    let took = started.elapsed() / u32::try_from(documents.len().max(1))?;
    Ok((took, counted.0 as f64 / documents.len().max(1) as f64))
}

fn report(name: &str, store: &Store, count: u64) -> Result<(), Box<dyn Error>> {
    let snapshot = store.snapshot();
    let unseen = || (0..QUERIES).map(|query| UNSEEN + 64 * query);
    // The last document of each family, which is not stored.
    let families = count / (8 * FAMILY);
    let near = || (0..QUERIES).map(|query| (query % families.max(1)) * 8 * FAMILY + FAMILY - 1);
    // The first cycle warms the page cache.
    for _ in 0..2 {
        measure(&snapshot, unseen())?;
        measure(&snapshot, near())?;
    }
    let mut worst = (Duration::ZERO, Duration::ZERO);
    let mut best = (Duration::MAX, Duration::MAX);
    let mut proposals = (0.0, 0.0);
    for _ in 0..5 {
        let (new, of_new) = measure(&snapshot, unseen())?;
        let (known, of_known) = measure(&snapshot, near())?;
        best = (best.0.min(new), best.1.min(known));
        worst = (worst.0.max(new), worst.1.max(known));
        proposals = (of_new, of_known);
    }
    println!(
        "{name}: {} documents, {} segments; a new document {:.1} to {:.1} us ({:.2} proposals), a near-duplicate \
         {:.1} to {:.1} us ({:.2} proposals)",
        store.len(),
        store.segments().len(),
        micros(best.0),
        micros(worst.0),
        proposals.0,
        micros(best.1),
        micros(worst.1),
        proposals.1,
    );
    Ok(())
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn main() -> Result<(), Box<dyn Error>> {
    let count = std::env::args().nth(1).map_or(Ok(DOCUMENTS), |count| count.parse())?;
    let folder = std::env::temp_dir().join(format!("hapax-lookups-{}", std::process::id()));
    let options = Options { resident_bytes: 0, memtable_bytes: 32 << 20, ..Options::default() };
    let store = Store::open(&folder, options.clone())?;
    let is_last_of_family =
        |number: u64| (number / FAMILY).is_multiple_of(8) && number % FAMILY == FAMILY - 1;
    let is_stored = |number: &u64| !is_last_of_family(*number);
    for number in (0..).filter(is_stored).take(usize::try_from(count)?) {
        let key = number.to_le_bytes();
        store.insert(&document(number, &key), None)?;
        if number % 1000 == 999 {
            store.commit(b"")?;
        }
    }
    store.commit(b"")?;
    store.close()?;
    let store = Store::open_existing(&folder, options)?;
    report("as it was written", &store, count)?;
    store.compact()?;
    report("merged", &store, count)?;
    store.close()?;
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}
