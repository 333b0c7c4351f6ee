//! Compares the speed of extraction with the crate dom_smoothie, page by page in turn, over a folder of `.html.gz`.

use std::io::Read;

use hapax_extract::{Limits, extract};

use crate::measure;

pub fn run(folder: &str, rounds: usize) {
    let mut paths: Vec<_> = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    paths.sort();
    let pages: Vec<String> = paths.iter().filter_map(|path| read(path)).collect();
    let bytes: usize = pages.iter().map(String::len).sum();
    println!("{} pages, {:.1} MB", pages.len(), bytes as f64 / 1e6);
    let base = url::Url::parse("http://a.example/").expect("a URL");
    let limits = Limits::default();
    let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    // The first round loads stop lists and weights, and does not count.
    for round in 0..=rounds {
        let (mut a, mut b) = (0.0, 0.0);
        for page in &pages {
            a += measure::seconds(|| extract(&base, None, page.as_bytes(), &limits).text.len()).0;
            b += measure::seconds(|| {
                let mut reader = dom_smoothie::Readability::new(page.as_str(), Some("http://a.example/"), None).ok()?;
                Some(reader.parse().ok()?.text_content.len())
            })
            .0;
        }
        if round > 0 {
            ours.push(pages.len() as f64 / a);
            theirs.push(pages.len() as f64 / b);
            ratios.push(b / a);
        }
    }
    println!("pages/s: hapax-extract {}, dom_smoothie {}, ratio {}", measure::show(&mut ours), measure::show(&mut theirs), measure::show(&mut ratios));
}

fn read(path: &std::path::Path) -> Option<String> {
    let mut body = Vec::new();
    flate2::read::MultiGzDecoder::new(std::fs::File::open(path).ok()?).read_to_end(&mut body).ok()?;
    Some(String::from_utf8_lossy(&body).into_owned())
}
