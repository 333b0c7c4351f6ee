//! `crawl duplicates closest`: near misses among kept pages.

use std::io::Write;

use anyhow::Result;
use hapax_data::{KeptPage, NearMiss, NearMissOptions, NearMisses, SameValue, must_hold_pages};

use super::duplicates::cell;
use super::sink::Sink;
use crate::args::ClosestArgs;
use crate::exit::COMPLETE;
use crate::output::{self, counted, line, number};

/// Lines shown without `--limit`, `--json` and `--csv`.
const DEFAULT_LINES: usize = 50;
/// Pages of a title or description, likewise.
const FEW_PAGES: usize = 5;

pub(super) fn run(args: &ClosestArgs) -> Result<u8> {
    must_hold_pages(&args.data.data)?;
    let whole = args.json || args.csv;
    let options = NearMissOptions {
        kinds: &args.kind,
        similarity: args.min_similarity,
        lines: args.limit.unwrap_or(if whole { usize::MAX } else { DEFAULT_LINES }),
    };
    let found = NearMisses::find(&args.data.data)?;
    let mut out = Sink::create(None)?;
    if args.csv {
        out.record([
            "kind",
            "id",
            "url",
            "closest_id",
            "closest_url",
            "similarity",
            "distance",
            "words",
            "pages",
            "text",
        ])?;
        found.lines(&options, |miss| rows(miss, &mut out))?;
        out.finish()?;
        return Ok(COMPLETE);
    }
    let mut shown = 0u64;
    let totals = found.lines(&options, |miss| -> Result<()> {
        shown += 1;
        if args.json {
            return Ok(writeln!(out, "{}", output::json(&serde_json::to_value(&miss)?))?);
        }
        text(&miss, &mut out)
    })?;
    if !args.json {
        writeln!(
            out,
            "\n{} shown. Of {}, {} have a closest page and {} are thin. {} and {} occur on several pages of a site.",
            number(shown),
            counted(totals.pages, "kept page"),
            number(totals.closest),
            number(totals.thin),
            counted(totals.title, "title"),
            counted(totals.description, "description")
        )?;
        if totals.large_bands > 0 {
            writeln!(out, "Many pages share a template. A closer page may be missing.")?;
        }
        writeln!(out, "To see why two pages are kept: crawl explain A B")?;
    }
    out.finish()?;
    Ok(COMPLETE)
}

fn text(miss: &NearMiss, out: &mut impl Write) -> Result<()> {
    let page = |page: &KeptPage| format!("{:>7}  {}", page.id, line(&page.url, 100));
    let same = |out: &mut dyn Write, kind: &str, same: &SameValue| -> Result<()> {
        writeln!(out, "{kind} on {}: \"{}\"", number(same.pages as u64), line(&same.text, 90))?;
        for listed in same.listed.iter().take(FEW_PAGES) {
            writeln!(out, "  {}", page(listed))?;
        }
        let more = same.pages.saturating_sub(FEW_PAGES.min(same.listed.len()));
        if more > 0 {
            writeln!(out, "           ... and {more} more")?
        }
        Ok(())
    };
    match miss {
        NearMiss::Closest { page: one, closest: Some(closest) } => {
            writeln!(out, "closest  {:.2}, distance {}", closest.similarity, closest.distance)?;
            writeln!(out, "  {}\n  {}", page(one), page(&closest.page))?;
        }
        NearMiss::Closest { page: one, closest: None } => {
            writeln!(out, "closest  none\n  {}", page(one))?;
        }
        NearMiss::Thin { page: one, words } => {
            writeln!(out, "thin     {}\n  {}", counted((*words).into(), "word"), page(one))?;
        }
        NearMiss::Title(pages) => same(out, "title", pages)?,
        NearMiss::Description(pages) => same(out, "description", pages)?,
    }
    Ok(())
}

/// Writes a row for each page.
fn rows(miss: NearMiss, out: &mut Sink) -> Result<()> {
    let mut row = |kind: &str, page: KeptPage, more: [String; 7]| {
        let mut cells = vec![kind.to_owned(), page.id.to_string(), cell(page.url)];
        cells.extend(more);
        out.record(cells.iter().map(String::as_str))
    };
    let mut same = |kind: &str, same: SameValue| -> Result<()> {
        let (pages, text) = (same.pages.to_string(), cell(same.text));
        for page in same.listed {
            let mut more: [String; 7] = Default::default();
            [more[5], more[6]] = [pages.clone(), text.clone()];
            row(kind, page, more)?;
        }
        Ok(())
    };
    match miss {
        NearMiss::Title(value) => same("title", value)?,
        NearMiss::Description(value) => same("description", value)?,
        NearMiss::Thin { page, words } => {
            let mut more: [String; 7] = Default::default();
            more[4] = words.to_string();
            row("thin", page, more)?;
        }
        NearMiss::Closest { page, closest } => {
            let mut more: [String; 7] = Default::default();
            if let Some(closest) = closest {
                more[0] = closest.page.id.to_string();
                more[1] = cell(closest.page.url);
                more[2] = closest.similarity.to_string();
                more[3] = closest.distance.to_string();
            }
            row("closest", page, more)?;
        }
    }
    Ok(())
}
