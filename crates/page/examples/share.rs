//! Measures the cost of the duplicate decision per page: extraction, features, fingerprint and sketch, the store's
//! offer, comparisons. One thread, with a new store on disk in each round. Comparisons decode stored texts, but do
//! not decompress them.
//!
//! ```text
//! cargo run --release -p hapax-page --example share -- FOLDER
//! ```

use std::collections::HashMap;
use std::error::Error;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hapax_dedup::{Confirm, Document, Numbers, Options, Proposal, Sketch, Store, Verdict};
use hapax_extract::{Limits, Recipe, extract};
use hapax_page::comparison::{Compared, PageText, compare_pages};
use hapax_page::{Evidence, HASH, fingerprint};
use url::Url;

const ROUNDS: usize = 3;
/// Number of pages per commit, as in a crawl.
const GROUP: usize = 1000;
const NAMES: [&str; 6] = [
    "extraction",
    "features",
    "fingerprint and sketch",
    "offer, comparisons apart",
    "comparisons",
    "commit, with its syncs",
];
/// First index in `NAMES` that belongs to the decision.
const DEDUP: usize = 2;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("no folder of pages given")?;
    let mut pages = Vec::new();
    find(Path::new(&folder), &mut pages)?;
    pages.sort();
    let mut out = std::io::stdout().lock();
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        rounds.push(round(&pages)?);
    }
    // Take the fastest round: the others include other load of the machine.
    let sum = |seconds: &[f64]| seconds.iter().sum::<f64>();
    rounds.sort_by(|(a, _), (b, _)| sum(a).total_cmp(&sum(b)));
    let (seconds, compared) = rounds.first().ok_or("no round")?;
    writeln!(out, "{} pages, the quickest of {ROUNDS} rounds", pages.len())?;
    for (name, part) in NAMES.iter().zip(seconds) {
        let micros = part * 1e6 / pages.len() as f64;
        let share = 100.0 * part / sum(seconds);
        writeln!(out, "{name:<24} {micros:>8.1} us a page, {share:>5.2} %")?;
    }
    let dedup = seconds.get(DEDUP..).map_or(0.0, sum) / sum(seconds);
    writeln!(out, "the decision, features apart: {:.2} % (goal 6)", 100.0 * dedup)?;
    let mut pairs: Vec<f64> = compared.iter().map(|seconds| seconds * 1e6).collect();
    pairs.sort_by(f64::total_cmp);
    let at = |share: f64| pairs.get((pairs.len() as f64 * share) as usize).copied().unwrap_or(0.0);
    writeln!(
        out,
        "{} comparisons, of {:.0} us at the median, {:.0} at 99 %, {:.0} at most",
        pairs.len(),
        at(0.5),
        at(0.99),
        pairs.last().copied().unwrap_or(0.0)
    )?;
    Ok(())
}

struct Texts<'t> {
    stored: &'t HashMap<Vec<u8>, Vec<u8>>,
    page: &'t Compared,
    seconds: Vec<f64>,
}

impl Confirm for Texts<'_> {
    fn confirm(&mut self, document: &Document<'_>, proposal: &Proposal<'_>) -> Option<bool> {
        let begun = Instant::now();
        let kept = PageText::decode(self.stored.get(&proposal.record.key)?)?;
        let one_site = document.site == proposal.record.site;
        let outcome = compare_pages(self.page, &Compared::new(kept), one_site);
        self.seconds.push(begun.elapsed().as_secs_f64());
        Some(outcome.same())
    }
}

/// Seconds of each part, and of each comparison.
type Round = ([f64; NAMES.len()], Vec<f64>);

fn round(pages: &[PathBuf]) -> Result<Round, Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("hapax-share-{}", std::process::id()));
    let store = Store::open(&folder, Options::default())?;
    let mut seconds = [0.0; NAMES.len()];
    let (mut stored, mut compared) = (HashMap::new(), Vec::new());
    let hash = |bytes: &[u8]| HASH.hash(bytes);
    let recipe = Recipe::default();
    for (number, path) in pages.iter().enumerate() {
        let body = read(path)?;
        let url = Url::parse(&format!("http://a.example/{number}"))?;
        let begun = Instant::now();
        let document = extract(&url, None, &body, &Limits::default());
        let extracted = Instant::now();
        let comparison_text = document.comparison_text(hash);
        let described = Instant::now();
        let evidence = Evidence {
            fingerprint: fingerprint(&document, &comparison_text, recipe),
            sketch: Sketch::from_hashes(comparison_text.features.shingles.iter().copied()),
            names: Evidence::names_of(&document),
            numbers: Numbers::from_hashes(comparison_text.features.numbers.iter().copied()),
            comparison_text,
        };
        let page = Compared::new(PageText::of(&document, &evidence.comparison_text));
        let known = Instant::now();
        let mut texts = Texts { stored: &stored, page: &page, seconds: Vec::new() };
        let key = url.as_str().as_bytes();
        let offer = evidence.document(key, Some(&url), 0);
        let verdict = store.offer_confirmed(&offer, &mut texts)?;
        let reading = Duration::from_secs_f64(texts.seconds.iter().sum());
        compared.extend(texts.seconds);
        let offered = Instant::now();
        if matches!(verdict, Verdict::New(_)) {
            stored.insert(key.to_vec(), page.page().encode());
        }
        let kept = Instant::now();
        if number % GROUP == GROUP - 1 || number + 1 == pages.len() {
            store.commit(b"")?;
        }
        let parts = [
            extracted.duration_since(begun),
            described.duration_since(extracted),
            known.duration_since(described),
            offered.duration_since(known).saturating_sub(reading),
            reading,
            kept.elapsed(),
        ];
        for (part, time) in seconds.iter_mut().zip(parts) {
            *part += time.as_secs_f64();
        }
    }
    drop(store);
    std::fs::remove_dir_all(&folder)?;
    Ok((seconds, compared))
}

fn find(folder: &Path, pages: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        // Do not follow links to folders: they may form a cycle.
        if path.is_dir() && !path.is_symlink() {
            find(&path, pages)?;
        } else if [".html", ".html.gz"].iter().any(|end| path.to_string_lossy().ends_with(end)) {
            pages.push(path);
        }
    }
    Ok(())
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut body = std::fs::read(path)?;
    if path.extension().is_some_and(|end| end == "gz") {
        let packed = std::mem::take(&mut body);
        flate2::read::MultiGzDecoder::new(&packed[..]).read_to_end(&mut body)?;
    }
    Ok(body)
}
