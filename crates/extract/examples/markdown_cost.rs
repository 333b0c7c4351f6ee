//! Compares the time to write pages as Markdown with the time to extract them.
//!
//! `cargo run --release --example markdown_cost -- FOLDER`: a folder of HTML files, also gzipped. Prints the share that is
//! added to an extraction, as the median of five runs over all pages.

use std::error::Error;
use std::io::Read;
use std::time::{Duration, Instant};

use hapax_extract::{Limits, MarkdownLimits, extract, extract_structured};

/// Runs over all pages.
const RUNS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: markdown_cost FOLDER")?;
    let base = url::Url::parse("http://a.example/")?;
    let mut pages = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let bytes = std::fs::read(entry?.path())?;
        let mut page = Vec::new();
        if bytes.starts_with(&[0x1f, 0x8b]) {
            flate2::read::GzDecoder::new(&*bytes).read_to_end(&mut page)?;
        } else {
            page = bytes;
        }
        pages.push(page);
    }
    let limits = Limits::default();
    let mut shares = Vec::new();
    for _ in 0..RUNS {
        let (mut plain, mut more) = (Duration::ZERO, Duration::ZERO);
        for page in &pages {
            let started = Instant::now();
            let document = extract(&base, None, page, &limits);
            plain += started.elapsed();
            let started = Instant::now();
            let text = extract_structured(&base, None, page, &limits)
                .comparison_markdown(false, &MarkdownLimits::default());
            more += started.elapsed();
            assert!(text.text.len() >= document.text.len() / 4, "the Markdown has the text");
        }
        shares.push(more.as_secs_f64() / plain.as_secs_f64() - 1.0);
    }
    shares.sort_by(f64::total_cmp);
    let median = shares.get(RUNS / 2).copied().unwrap_or_default();
    println!("{} pages: Markdown adds {:.1} % ({:.1?})", pages.len(), median * 100.0, shares);
    Ok(())
}
