//! What the duplicate decision costs of a page: the time of extraction, of the features of its text, of fingerprint and
//! sketch, and of the store's offer, page after page on one thread, each round with a new store on disk.
//!
//! ```text
//! cargo run --release -p hapax-page --example share -- FOLDER
//! ```

use std::error::Error;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use hapax_dedup::{Numbers, Options, Sketch, Store};
use hapax_extract::{Limits, Recipe, extract};
use hapax_page::{Evidence, HASH, fingerprint};
use url::Url;

const ROUNDS: usize = 3;
/// Pages that become durable together, as in a crawl.
const GROUP: usize = 1000;
const NAMES: [&str; 5] =
    ["extraction", "features", "fingerprint and sketch", "offer", "commit, with its syncs"];
/// From here on in `NAMES`: what is the decision's alone.
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
    // The quickest round: others met what else the machine did.
    let sum = |seconds: &[f64]| seconds.iter().sum::<f64>();
    rounds.sort_by(|a, b| sum(a).total_cmp(&sum(b)));
    let seconds = rounds.first().ok_or("no round")?;
    writeln!(out, "{} pages, the quickest of {ROUNDS} rounds", pages.len())?;
    for (name, part) in NAMES.iter().zip(seconds) {
        let micros = part * 1e6 / pages.len() as f64;
        let share = 100.0 * part / sum(seconds);
        writeln!(out, "{name:<24} {micros:>8.1} us a page, {share:>5.2} %")?;
    }
    let dedup = seconds.get(DEDUP..).map_or(0.0, sum) / sum(seconds);
    writeln!(out, "the decision, features apart: {:.2} % (goal 3)", 100.0 * dedup)?;
    Ok(())
}

/// The seconds of each part.
fn round(pages: &[PathBuf]) -> Result<[f64; NAMES.len()], Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("hapax-share-{}", std::process::id()));
    let store = Store::open(&folder, Options::default())?;
    let mut seconds = [0.0; NAMES.len()];
    let hash = |bytes: &[u8]| HASH.hash(bytes);
    let recipe = Recipe::default();
    for (number, path) in pages.iter().enumerate() {
        let body = read(path)?;
        let url = Url::parse(&format!("http://a.example/{number}"))?;
        let begun = Instant::now();
        let document = extract(&url, None, &body, &Limits::default());
        let extracted = Instant::now();
        let basis = document.basis(hash);
        let described = Instant::now();
        let evidence = Evidence {
            fingerprint: fingerprint(&document, &basis, recipe),
            sketch: Sketch::from_hashes(basis.features.shingles.iter().copied()),
            names: Evidence::names_of(&document),
            numbers: Numbers::from_hashes(basis.features.numbers.iter().copied()),
            basis,
        };
        let known = Instant::now();
        store.offer(&evidence.document(url.as_str().as_bytes(), Some(&url), 0))?;
        let offered = Instant::now();
        if number % GROUP == GROUP - 1 || number + 1 == pages.len() {
            store.commit(b"")?;
        }
        let moments = [begun, extracted, described, known, offered, Instant::now()];
        for (part, pair) in seconds.iter_mut().zip(moments.windows(2)) {
            if let [from, to] = pair {
                *part += to.duration_since(*from).as_secs_f64();
            }
        }
    }
    drop(store);
    std::fs::remove_dir_all(&folder)?;
    Ok(seconds)
}

fn find(folder: &Path, pages: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        // A link to a folder may lead back.
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
