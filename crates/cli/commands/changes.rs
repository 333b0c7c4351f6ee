//! `crawl changes`: what the last run changed.

use std::io::{self, BufWriter, Write};

use anyhow::Result;
use hapax_data::{Changes, PageChange, Since, must_hold_pages};

use crate::args::ChangesArgs;
use crate::exit::COMPLETE;
use crate::output::{escape, json, number};

/// Differing parts of a page in the list. JSON has all that are recorded.
const SHOWN: usize = 3;
/// Characters of a part in the list.
const CHARACTERS: usize = 100;

pub(super) fn run(args: &ChangesArgs) -> Result<u8> {
    let data = &args.data.data;
    must_hold_pages(data)?;
    let since = args.since.as_deref().map_or(Ok(Since::LastRun), Since::parse)?;
    let changes = Changes::read(data, &since, args.url.as_deref(), !args.no_diff)?;
    let mut out = BufWriter::new(io::stdout().lock());
    if args.json {
        for page in &changes.pages {
            writeln!(out, "{}", json(&serde_json::to_value(page)?))?;
        }
        out.flush()?;
        return Ok(COMPLETE);
    }
    if let Some(run) = &changes.run {
        writeln!(out, "since run {}, which began at {}\n", run.run, run.begun)?;
    }
    for page in &changes.pages {
        print(&mut out, page)?;
    }
    let count = number(changes.pages.len() as u64);
    writeln!(out, "{}changed pages: {count}", if changes.pages.is_empty() { "" } else { "\n" })?;
    out.flush()?;
    Ok(COMPLETE)
}

fn print(out: &mut impl Write, page: &PageChange) -> io::Result<()> {
    let PageChange { change, url, of, similarity, .. } = page;
    write!(out, "{:<8} {}", change.as_str(), escape(url))?;
    if let Some(similarity) = similarity {
        write!(out, "  similarity {similarity:.2}")?;
    }
    if let Some(of) = of {
        write!(out, "  -> {}", escape(&of.url))?;
    }
    writeln!(out)?;
    let pieces = page.diff.as_deref().unwrap_or_default();
    for piece in pieces.iter().take(SHOWN) {
        for (sign, text) in [('-', &piece.removed), ('+', &piece.added)] {
            let shown: String = text.chars().take(CHARACTERS).collect();
            let more = if text.chars().count() > CHARACTERS { "..." } else { "" };
            if !shown.is_empty() {
                writeln!(out, "         {sign} {}{more}", escape(&shown))?;
            }
        }
    }
    if pieces.len() > SHOWN {
        writeln!(out, "         ... {} more places", pieces.len() - SHOWN)?;
    }
    Ok(())
}
