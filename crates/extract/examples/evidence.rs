//! Prints the feature values of each block, one page per line: the input of `scripts/train-blocks`. Reads one JSON
//! object per line: the path of a page, and lists of first-stage scores for its blocks.
//! With `scores` (of the second stage) and the page's `url`, it prints for each block whether it is kept.
//!
//! ```text
//! echo '{"path": "page.html.gz", "looks": []}' | cargo run --release -p hapax-extract --example evidence
//! ```

use std::io::{BufRead, Read, Write};

use hapax_extract::{Limits, evidence, kept_by};
use url::Url;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let page: serde_json::Value = serde_json::from_str(&line?)?;
        let path = page["path"].as_str().ok_or("a page without a path")?;
        let looks: Vec<Vec<i32>> = serde_json::from_value(page["looks"].clone())?;
        let mut body = std::fs::read(path)?;
        if path.ends_with(".gz") {
            let packed = std::mem::take(&mut body);
            flate2::read::MultiGzDecoder::new(&packed[..]).read_to_end(&mut body)?;
        }
        if let Some(scores) = page.get("scores") {
            let scores: Vec<i32> = serde_json::from_value(scores.clone())?;
            let url = page["url"].as_str().and_then(|url| Url::parse(url).ok());
            let url = url.map_or_else(|| Url::parse("http://localhost/"), Ok)?;
            let kept = kept_by(&url, None, &body, &Limits::default(), &scores);
            writeln!(out, "{}", serde_json::json!({ "path": path, "blocks": kept }))?;
            continue;
        }
        let blocks: Vec<_> = evidence(None, &body, &Limits::default(), &looks)
            .into_iter()
            .map(|block| {
                if looks.is_empty() {
                    serde_json::json!({ "text": block.text, "values": block.values })
                } else {
                    serde_json::json!(block.contexts)
                }
            })
            .collect();
        writeln!(out, "{}", serde_json::json!({ "path": path, "blocks": blocks }))?;
    }
    Ok(())
}
