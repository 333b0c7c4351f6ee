//! `crawl duplicates passages`: runs of text that several kept pages contain.

use std::io::Write;

use anyhow::Result;
use hapax_data::{
    PassageKind, PassageLine, PassageOptions, PassageTotals, Passages, must_hold_pages,
};

use super::duplicates::cell;
use super::sink::Sink;
use crate::args::PassagesArgs;
use crate::exit::COMPLETE;
use crate::output::{self, counted, line, number};

/// Lines shown without `--limit`, `--json` and `--csv`.
const DEFAULT_LINES: usize = 50;
/// Places of a line, likewise.
const DEFAULT_PLACES: usize = 5;

pub(super) fn run(args: &PassagesArgs) -> Result<u8> {
    let data = &args.data.data;
    must_hold_pages(data)?;
    let (whole, limits) = (args.json || args.csv, PassageOptions::default());
    let options = PassageOptions {
        min_words: args.min_words as usize,
        places: args.places.unwrap_or(if whole { limits.places } else { DEFAULT_PLACES }),
        lines: args.limit.unwrap_or(if whole { limits.lines } else { DEFAULT_LINES }),
        ..limits
    };
    let passages = Passages::find(data, options)?;
    let kinds = &args.kind;
    let wanted = |kind: PassageKind| kinds.is_empty() || kinds.iter().any(|one| one == kind.name());
    let mut out = Sink::create(None)?;
    if args.csv {
        out.record([
            "passage",
            "kind",
            "words",
            "pages",
            "sites",
            "similarity",
            "id",
            "url",
            "line",
            "word",
            "text",
        ])?;
        let mut passage = 0u64;
        passages.lines(wanted, |line| -> Result<()> {
            passage += 1;
            rows(passage, line, &mut out)
        })?;
        out.finish()?;
        return Ok(COMPLETE);
    }
    let mut shown = 0u64;
    let totals = passages.lines(wanted, |line| -> Result<()> {
        shown += 1;
        if args.json {
            return Ok(writeln!(out, "{}", output::json(&serde_json::to_value(&line)?))?);
        }
        text(&line, &mut out)
    })?;
    if !args.json {
        summary(shown, &totals, &mut out)?;
    }
    out.finish()?;
    Ok(COMPLETE)
}

/// Writes a row for each place.
fn rows(passage: u64, line: PassageLine, out: &mut Sink) -> Result<()> {
    let text = cell(line.text);
    for place in line.listed {
        let cells = [
            passage.to_string(),
            line.kind.name().to_owned(),
            line.words.to_string(),
            line.pages.to_string(),
            line.sites.to_string(),
            line.similarity.to_string(),
            place.id.to_string(),
            cell(place.url),
            place.line.to_string(),
            place.word.to_string(),
            text.clone(),
        ];
        out.record(cells.iter().map(String::as_str))?;
    }
    Ok(())
}

fn text(passage: &PassageLine, out: &mut impl Write) -> Result<()> {
    let words = counted(passage.words.into(), "word");
    let pages = counted(passage.pages.into(), "page");
    let sites = counted(passage.sites.into(), "site");
    let percent = passage.similarity * 100.0;
    match (passage.kind, &passage.site) {
        (PassageKind::Part, _) => {
            writeln!(
                out,
                "part         {words}: {percent:.0} % of the first page are in the second"
            )?;
        }
        (PassageKind::Near, _) => writeln!(out, "near         {words}, {percent:.0} % equal")?,
        (PassageKind::Boilerplate, Some((site, count))) => {
            let site = line(site, 60);
            writeln!(
                out,
                "boilerplate  {words} on {pages}, {} of {site}",
                number((*count).into())
            )?;
        }
        _ => writeln!(out, "copied       {words} on {pages} of {sites}")?,
    }
    writeln!(out, "  \"{}\"", line(&passage.text, 110))?;
    for place in &passage.listed {
        writeln!(out, "  {:>7}  line {:<5} {}", place.id, place.line, line(&place.url, 100))?;
    }
    let more = (passage.places as usize).saturating_sub(passage.listed.len());
    if more > 0 {
        writeln!(out, "           ... and {more} more places")?;
    }
    Ok(writeln!(out)?)
}

fn summary(shown: u64, totals: &PassageTotals, out: &mut impl Write) -> Result<()> {
    let all = totals.copied + totals.boilerplate + totals.near + totals.part;
    writeln!(
        out,
        "{} of {}: {} copied, {} boilerplate, {} near, {} part. Searched {} with {}.",
        number(shown),
        number(all),
        number(totals.copied),
        number(totals.boilerplate),
        number(totals.near),
        number(totals.part),
        counted(totals.pages, "page"),
        counted(totals.words, "word")
    )?;
    let sources = &totals.sources;
    if sources.index > 0 {
        writeln!(out, "The texts of {} came from the index.", counted(sources.index, "page"))?;
    }
    if sources.none > 0 {
        let pages = counted(sources.none, "page");
        writeln!(
            out,
            "{pages} without a stored text were not searched. `crawl upgrade` adds texts."
        )?;
    }
    if totals.repeated_anchors > 0 {
        writeln!(out, "Some pages repeat themselves: not each of their repetitions is listed.")?;
    }
    if totals.beyond_limit > 0 {
        writeln!(out, "Too many passages. Use a larger --min-words.")?;
    }
    Ok(())
}
