//! Compares the time to write pages as Markdown with the time to extract them.
//!
//! `cargo run --release -p hapax-crawl --example markdown_cost -- FOLDER [LIMIT]`: a folder of HTML files, also gzipped,
//! with its subfolders; of more than LIMIT files (500), every N-th. Prints the time that is added to an
//! extraction, by the fastest of six runs of each page. (CPU time of a thread is only counted in steps of 4 ms.)

use std::error::Error;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hapax_extract::{Limits, MarkdownLimits, extract, extract_structured};

/// The allocator of the program.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Runs over all pages; the fastest one of each page counts, because other programs only slow it down.
const RUNS: usize = 6;
/// Pages that are read by default.
const MOST_PAGES: usize = 500;

/// Returns the HTML files of a folder and its subfolders.
fn files_below(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let path = entry.path();
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().contains(".htm") {
                files.push(path);
            }
        }
    }
    Ok(files)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("usage: markdown_cost FOLDER [LIMIT]")?;
    let limit: usize = arguments.next().map_or(Ok(MOST_PAGES), |limit| limit.parse())?;
    let base = url::Url::parse("http://a.example/")?;
    let mut files = files_below(Path::new(&folder))?;
    files.sort();
    let step = files.len().div_ceil(limit.max(1)).max(1);
    let mut pages = Vec::new();
    for file in files.iter().step_by(step) {
        let bytes = std::fs::read(file)?;
        let mut page = Vec::new();
        if bytes.starts_with(&[0x1f, 0x8b]) {
            flate2::read::GzDecoder::new(&*bytes).read_to_end(&mut page)?;
        } else {
            page = bytes;
        }
        pages.push(page);
    }
    let limits = Limits::default();
    let mut fastest = vec![[Duration::MAX; 3]; pages.len()];
    for run in 0..RUNS {
        for (page, fastest) in pages.iter().zip(&mut fastest) {
            let mut length = 0;
            let plain = |length: &mut usize| {
                let started = Instant::now();
                let document = extract(&base, None, page, &limits);
                *length = document.text.len();
                drop(document);
                started.elapsed()
            };
            let mut times = [Duration::ZERO; 3];
            // The second one finds the page in the caches.
            if run % 2 == 0 {
                times[0] = plain(&mut length);
            }
            let started = Instant::now();
            let structured = extract_structured(&base, None, page, &limits);
            let built = started.elapsed();
            let text = structured.comparison_markdown(false, &MarkdownLimits::default());
            drop(structured);
            (times[1], times[2]) = (built, started.elapsed() - built);
            if run % 2 == 1 {
                times[0] = plain(&mut length);
            }
            assert!(text.text.len() >= length / 4, "the Markdown has the text");
            for (fastest, time) in fastest.iter_mut().zip(times) {
                *fastest = time.min(*fastest);
            }
        }
    }
    let sum = |part: usize| -> f64 {
        let times = fastest.iter().filter_map(|times| times.get(part));
        times.sum::<Duration>().as_secs_f64() * 1e6
    };
    let per_page = |time: f64| time / pages.len().max(1) as f64;
    let (plain, tree, written) = (sum(0).max(1.0), sum(1), sum(2));
    println!(
        "{} pages: {:.0} us to extract one; Markdown adds {:.0} us, {:.1} %: {:.1} % to keep the tree, {:.1} % to write",
        pages.len(),
        per_page(plain),
        per_page(tree + written - plain),
        (tree + written) / plain * 100.0 - 100.0,
        tree / plain * 100.0 - 100.0,
        written / plain * 100.0
    );
    Ok(())
}
