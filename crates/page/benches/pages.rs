//! Measures per page, on one thread: scraper's parse alone, extraction, features of the text, and all of these with
//! fingerprint and sketch.
//!
//! ```text
//! cargo bench -p hapax-page --bench pages -- FOLDER/*.html.gz
//! ```

#![expect(clippy::expect_used, reason = "a measurement that cannot be made ends")]

use std::hint::black_box;
use std::io::Read;
use std::time::Instant;

use hapax_extract::{Limits, Recipe, extract};
use hapax_page::{Evidence, HASH};
use url::Url;

const ROUNDS: usize = 5;

fn main() {
    let paths: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    if paths.is_empty() {
        println!("no pages given: cargo bench -p hapax-page --bench pages -- FOLDER/*.html.gz");
        return;
    }
    let pages: Vec<String> = paths.iter().map(|path| read(path)).collect();
    let bytes: usize = pages.iter().map(String::len).sum();
    let base = Url::parse("http://a.example/").expect("a URL");
    let hash = |bytes: &[u8]| HASH.hash(bytes);
    // Load dictionaries and stop lists before the measurement.
    black_box(
        extract(&base, None, "<p>一起去公园</p>".as_bytes(), &Limits::default())
            .comparison_text(hash),
    );
    let mut ratios: Vec<[f64; 3]> = Vec::new();
    let mut totals = [f64::MAX; 4];
    let mut worst = (0.0, 0);
    let mut text = 0;
    for _ in 0..ROUNDS {
        let mut seconds = [0.0; 4];
        text = 0;
        for (number, page) in pages.iter().enumerate() {
            let started = Instant::now();
            black_box(scraper::Html::parse_document(page));
            seconds[0] += started.elapsed().as_secs_f64();
            let started = Instant::now();
            let document = extract(&base, None, page.as_bytes(), &Limits::default());
            let taken = started.elapsed().as_secs_f64();
            seconds[1] += taken;
            if taken > worst.0 {
                worst = (taken, number);
            }
            let started = Instant::now();
            black_box(document.comparison_text(hash));
            text += document.text.len();
            seconds[2] += started.elapsed().as_secs_f64();
            let started = Instant::now();
            black_box(Evidence::of(&document, Recipe::default()));
            seconds[3] += started.elapsed().as_secs_f64();
        }
        ratios.push([1, 2, 3].map(|at| seconds[at] / seconds[if at == 1 { 0 } else { 1 }]));
        for (best, seconds) in totals.iter_mut().zip(seconds) {
            *best = best.min(seconds);
        }
    }
    let count = pages.len() as f64;
    for (name, seconds) in ["parse alone", "extract", "features", "evidence"].iter().zip(totals) {
        println!(
            "{name:<12} {:>7.0} pages/s {:>6.1} MB/s",
            count / seconds,
            bytes as f64 / seconds / 1e6
        );
    }
    let names = ["extract / parse alone", "features / extract", "evidence / extract"];
    for (at, name) in names.iter().enumerate() {
        let mut all: Vec<f64> = ratios.iter().map(|ratio| ratio[at]).collect();
        all.sort_by(f64::total_cmp);
        println!("{name}: {:.2} ({:.2} to {:.2})", all[ROUNDS / 2], all[0], all[ROUNDS - 1]);
    }
    println!("features of the text alone: {:.1} MB/s", text as f64 / totals[2] / 1e6);
    println!("slowest page: {:.1} ms, {}", worst.0 * 1e3, paths[worst.1]);
}

fn read(path: &str) -> String {
    let mut body = std::fs::read(path).expect("a readable file");
    if path.ends_with(".gz") {
        let packed = std::mem::take(&mut body);
        flate2::read::MultiGzDecoder::new(&packed[..]).read_to_end(&mut body).expect("gzip");
    }
    String::from_utf8_lossy(&body).into_owned()
}
