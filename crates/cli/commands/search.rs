//! `crawl search`.

use std::io::{IsTerminal, Write};
use std::path::Path;

use anyhow::Result;
use hapax_extract::jieba;
use hapax_index::Searcher;
use serde_json::json;

use crate::data::must_exist;
use crate::duplicates::Rows;
use crate::exit::COMPLETE;
use crate::output::{colour, line};

pub(super) fn run(query: &str, limit: Option<usize>, json: bool, data: &Path) -> Result<u8> {
    must_exist(data)?;
    let searcher = Searcher::open(&data.join("index"), jieba)?;
    let limit = limit.unwrap_or(if json { usize::MAX } else { 10 });
    let (hits, total) = searcher.search(query, limit)?;
    let copies = super::export::copies(&Rows::open(data)?);
    let copies = |id: u64| copies.get(&id).copied().unwrap_or(0);
    let mut out = std::io::stdout().lock();
    if json {
        for hit in &hits {
            let row = json!({"id": hit.id, "url": hit.url, "title": hit.title, "snippet": hit.snippet,
                "score": hit.score, "language": hit.language, "fetched": hit.fetched, "copies": copies(hit.id)});
            writeln!(out, "{row}")?;
        }
        return Ok(COMPLETE);
    }
    let (bold, dim, reset) = if colour(std::io::stdout().is_terminal()) {
        ("\x1b[1m", "\x1b[2m", "\x1b[0m")
    } else {
        ("", "", "")
    };
    for (number, hit) in hits.iter().enumerate() {
        let title = if hit.title.is_empty() { "(no title)" } else { &hit.title };
        writeln!(out, "{:>3}  {bold}{}{reset}", number + 1, line(title, 90))?;
        let behind = match copies(hit.id) {
            0 => String::new(),
            1 => "  + 1 copy discarded".to_owned(),
            n => format!("  + {n} copies discarded"),
        };
        writeln!(out, "     {}{dim}  score {:.1}{behind}{reset}", line(&hit.url, 100), hit.score)?;
        writeln!(out, "     {dim}{}{reset}\n", line(&hit.snippet, 150))?;
    }
    let shown = hits.len();
    match total {
        0 => writeln!(out, "Nothing found among {} pages.", searcher.len())?,
        _ => writeln!(out, "{shown} of {total} found among {} pages.", searcher.len())?,
    }
    Ok(COMPLETE)
}
