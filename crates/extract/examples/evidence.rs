//! Prints what the decision about each block of some pages looks at, one page a line: the input of
//! `scripts/train-blocks`.
//!
//! ```text
//! cargo run --release -p hapax-extract --example evidence -- PAGES/*.html.gz > evidence.jsonl
//! ```

use std::io::{Read, Write};

use hapax_extract::{Limits, evidence};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for path in std::env::args().skip(1) {
        let mut body = std::fs::read(&path)?;
        if path.ends_with(".gz") {
            let packed = std::mem::take(&mut body);
            flate2::read::MultiGzDecoder::new(&packed[..]).read_to_end(&mut body)?;
        }
        let blocks: Vec<_> = evidence(None, &body, &Limits::default())
            .into_iter()
            .map(|(text, values)| serde_json::json!({ "text": text, "values": values }))
            .collect();
        writeln!(out, "{}", serde_json::json!({ "path": path, "blocks": blocks }))?;
    }
    Ok(())
}
