//! Measures `crawl duplicates passages` on a synthetic store: pages of 500 words, with planted copies.
//!
//! `passages_bench DIR PAGES` writes a data directory, unless DIR exists, and searches it. Prints times, the peak of
//! anonymous memory, and how many of the planted copies were found. Then it searches for the pages that `--parts
//! discard` would discard.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use hapax_data::{
    Decisions, PackedText, PassageKind, PassageOptions, Passages, TextStore, find_parts,
};
use hapax_dedup::{Document, Fingerprint, Options, Store};
use hapax_page::comparison::{Compared, PageText};

type Outcome = Result<(), Box<dyn std::error::Error>>;

const PARAGRAPHS: u64 = 7;
const PARAGRAPH: u64 = 65;
const NOTICE: u64 = 45;
const PAGES_OF_A_SITE: u64 = 1000;
const VOCABULARY: u64 = 60_000;

/// What a page has besides its words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Planted {
    Nothing,
    /// A paragraph of an earlier page.
    Copied,
    /// The same copies with one word in 25 changed.
    Near,
    /// The first paragraphs of an earlier page, and nothing else.
    Part,
}

fn main() -> Outcome {
    let mut arguments = std::env::args().skip(1);
    let (Some(folder), Some(pages)) = (arguments.next(), arguments.next()) else {
        return Err("usage: passages_bench DIR PAGES".into());
    };
    let (folder, pages) = (Path::new(&folder), pages.parse::<f64>()? as u64);
    if !folder.exists() {
        let start = Instant::now();
        write(folder, pages)?;
        println!("written: {pages} pages in {:.0} s", start.elapsed().as_secs_f64());
    }
    search(folder, pages)
}

/// A deterministic number of a seed and a position (splitmix64).
fn random(seed: u64, at: u64) -> u64 {
    let number = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ at.wrapping_mul(0xd1b5_4a32_d192_ed03);
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

/// Appends words; small numbers are frequent, as in a language.
fn words(seed: u64, count: u64, changed: bool, into: &mut String) {
    for at in 0..count {
        let is_changed = changed && at % 25 == 12;
        let uniform = (random(seed, at + u64::from(is_changed)) >> 11) as f64 / (1u64 << 53) as f64;
        let word = (VOCABULARY as f64).powf(uniform) as u64;
        into.push_str(&format!("w{:x}", word * 7919 % 1_000_003));
        into.push(if at + 1 == count { '\n' } else { ' ' });
    }
}

fn planted(page: u64) -> (Planted, u64) {
    let from = random(page, 1 << 41) % page.max(1);
    match random(page, 1 << 40) % 100 {
        _ if page == 0 => (Planted::Nothing, 0),
        0..10 => (Planted::Copied, from),
        10..15 => (Planted::Near, from),
        15..17 => (Planted::Part, from),
        _ => (Planted::Nothing, 0),
    }
}

fn text(page: u64) -> String {
    let (kind, from) = planted(page);
    let paragraph = |page: u64, number: u64| page * PARAGRAPHS + number;
    let mut text = String::with_capacity(4096);
    if kind == Planted::Part && planted(from).0 != Planted::Part {
        (0..3).for_each(|number| words(paragraph(from, number), PARAGRAPH, false, &mut text));
        return text;
    }
    for number in 0..PARAGRAPHS {
        match kind {
            // The third paragraph of a page is never a copy.
            Planted::Copied if number == 4 => {
                words(paragraph(from, 2), PARAGRAPH, false, &mut text)
            }
            Planted::Near if number == 4 => words(paragraph(from, 2), PARAGRAPH, true, &mut text),
            _ => words(paragraph(page, number), PARAGRAPH, false, &mut text),
        }
    }
    words(u64::MAX - page / PAGES_OF_A_SITE, NOTICE, false, &mut text);
    text
}

fn write(folder: &Path, pages: u64) -> Outcome {
    let options = Options { recipe: "bench".into(), ..Options::default() };
    let store = Store::open(folder.join("dedup"), options)?;
    let texts = TextStore::open(&folder.join("texts"));
    for page in 0..pages {
        let key = format!("http://site{}.example/{page}", page / PAGES_OF_A_SITE);
        let bits = Fingerprint::from_bits(random(page, 1 << 42));
        let document = Document { tokens: 500, ..Document::new(key.as_bytes(), bits) };
        let id = store.insert(&document, None)?;
        let compared =
            Arc::new(Compared::new(PageText { text: text(page), ..PageText::default() }));
        texts.insert(id, key.as_bytes(), PackedText::of(compared.page()), &compared);
        if page % 10_000 == 9_999 {
            texts.commit()?;
            store.commit(b"")?;
        }
    }
    texts.commit()?;
    store.commit(b"")?;
    Ok(())
}

fn search(folder: &Path, pages: u64) -> Outcome {
    let (peak, done) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let (highest, ended) = (Arc::clone(&peak), Arc::clone(&done));
    let sampler = std::thread::spawn(move || {
        while !ended.load(Relaxed) {
            highest.fetch_max(anonymous(), Relaxed);
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let start = Instant::now();
    let passages = Passages::find(folder, PassageOptions::default())?;
    println!("found: {:.1} s", start.elapsed().as_secs_f64());
    let mut found = [0u64; 3];
    let totals = passages.lines(
        |_| true,
        |line| -> hapax_data::Result<()> {
            let later = line.listed.iter().map(|place| place.id).max().unwrap_or(0);
            let kind = planted(later).0;
            match line.kind {
                PassageKind::Copied if line.pages == 2 && kind == Planted::Copied => found[0] += 1,
                PassageKind::Near if kind == Planted::Near => found[1] += 1,
                PassageKind::Part => found[2] += 1,
                _ => {}
            }
            Ok(())
        },
    )?;
    let seconds = start.elapsed().as_secs_f64();
    let listed = peak.swap(0, Relaxed);
    drop(passages);
    let start = Instant::now();
    let parts = find_parts(folder, &Decisions::default(), &Arc::default())?.unwrap_or_default();
    let parts_took = start.elapsed().as_secs_f64();
    done.store(true, Relaxed);
    let _ = sampler.join();
    let counts = |kind| (1..pages).filter(|page| planted(*page).0 == kind).count();
    println!("all lines: {seconds:.1} s, peak RssAnon {} MiB", listed >> 10);
    println!("{totals:?}");
    println!(
        "planted and found: copied {} {}, near {} {}, part {} {}",
        counts(Planted::Copied),
        found[0],
        counts(Planted::Near),
        found[1],
        counts(Planted::Part),
        found[2]
    );
    let right = parts.iter().filter(|part| is_of(&part.key, &part.of)).count();
    println!(
        "parts to discard: {} in {parts_took:.1} s, {right} of them as planted, peak RssAnon {} MiB",
        parts.len(),
        peak.load(Relaxed) >> 10
    );
    Ok(())
}

/// Returns whether a page was planted as a part of the other one.
fn is_of(part: &[u8], whole: &[u8]) -> bool {
    let [part, whole] = [part, whole].map(|key| {
        let number = String::from_utf8_lossy(key).rsplit('/').next().map(str::to_owned);
        number.and_then(|number| number.parse::<u64>().ok()).unwrap_or(u64::MAX)
    });
    planted(part) == (Planted::Part, whole)
}

/// Returns the anonymous memory of this process in KiB.
fn anonymous() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
