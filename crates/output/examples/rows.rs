//! Writes synthetic pages as Parquet, and prints time and memory: `cargo run --release -p hapax-output --example rows --
//! FOLDER|s3://BUCKET/PREFIX [PAGES] [WORDS]`.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use hapax_data::{ExportedPage, PageMeta, Sighted, StoredFeatures};
use hapax_output::{Limits, PAGE_COLUMNS, Parts, Target, page_row};

/// Words of a page, by a skewed distribution like that of a language.
fn text(words: u64, state: &mut u64) -> String {
    let mut text = String::new();
    for number in 0..words {
        *state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let random = (*state >> 40) as f64 / f64::from(1 << 24);
        let rank = 60_000_f64.powf(random) as u64;
        // A word's letters are a function of its rank.
        let mut letters = rank.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for _ in 0..2 + rank.ilog2() / 2 {
            text.push(char::from(b'a' + (letters % 26) as u8));
            letters /= 26;
        }
        text.push(if number % 17 == 16 { '\n' } else { ' ' });
    }
    text
}

fn page(id: u64, words: u64, state: &mut u64) -> ExportedPage {
    let time = "2026-03-01T09:30:00Z".to_owned();
    let host = format!("host{}.example", id % 4_000);
    let digits = format!("{state:016x}");
    ExportedPage {
        id,
        url: format!("https://{host}/section/{}/page-{id}", id % 97),
        title: text(6, state),
        language: "en".into(),
        text: text(words, state),
        fetched: time.clone(),
        sighted: Sighted {
            copies: id % 3,
            hosts: 1,
            sites: 1,
            first_seen: time.clone(),
            last_seen: time,
        },
        site_lines: 0,
        stored: StoredFeatures {
            site: host.clone(),
            host,
            sketch: Some(digits.repeat(8)),
            fingerprint: Some(digits),
            token_count: Some(words as u32 / 2),
            warc: Some(format!("pages-00001.warc.gz:{}", id * 5_000)),
            data: None,
            key: None,
        },
        meta: PageMeta {
            page_type: Some("article".into()),
            confidence: Some(0.9),
            ..PageMeta::default()
        },
    }
}

/// Returns the peak of the memory of this process in KiB.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let folder: PathBuf = args.next().ok_or("give a folder")?.into();
    let mut number = |default| args.next().map_or(Ok(default), |number| number.parse::<u64>());
    let (pages, words) = (number(1_000_000)?, number(500)?);
    let target = Target::of_path(&folder, Arc::default())?;
    let mut parts = Parts::create(target, PAGE_COLUMNS, Limits::default())?;
    let (mut state, mut made) = (1, 0.0);
    let began = Instant::now();
    for id in 0..pages {
        let making = Instant::now();
        let page = page(id, words, &mut state);
        made += making.elapsed().as_secs_f64();
        parts.push(page_row(page)?)?;
    }
    let written = parts.finish()?;
    let seconds = began.elapsed().as_secs_f64() - made;
    let memory = peak().unwrap_or(0) / 1024;
    println!(
        "{written:?}: {seconds:.1} s without {made:.1} s for making the pages; peak {memory} MiB"
    );
    Ok(())
}
