//! `crawl export`: the kept pages as JSONL, CSV, or a folder of Markdown or Parquet.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use anyhow::Result;
use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressStyle};

use super::duplicates::cell;
use super::sink::Sink;
use crate::args::{Common, ExportArgs, ExportFormat, FilterArgs};
use crate::exit::{COMPLETE, STOPPED, USAGE, coded};
use crate::output::{self, counted};
use crate::signals::interrupted;
use hapax_data::files::{NewFile, for_owner_only};
use hapax_data::{
    CSV_COLUMNS, Corpus, CorpusDir, Export, PageFilter, parse_moment, unwritable, write_markdown,
    write_wacz,
};

pub(super) fn run(args: &ExportArgs, common: &Common) -> Result<u8> {
    if !is_store(args) {
        return export(args, common, &Arc::default());
    }
    // A killed process could not remove its upload from the store.
    let stop = interrupted()?;
    match export(args, common, &stop) {
        Err(error) if stop.load(Relaxed) => Err(coded(STOPPED, error.to_string())),
        done => done,
    }
}

fn is_store(args: &ExportArgs) -> bool {
    args.output.as_ref().is_some_and(|path| path.starts_with("s3:"))
}

fn export(args: &ExportArgs, common: &Common, stop: &Arc<AtomicBool>) -> Result<u8> {
    let (mut dirs, mut clean) = (Vec::new(), !args.no_site_boilerplate);
    let filter = filter(&args.filter)?;
    refuse(args, &filter)?;
    for data in &args.data.dirs {
        let settings = crate::data::saved(data)?.unwrap_or_default().settings;
        if settings.is_personal() {
            for_owner_only();
        }
        clean &= settings.output.no_site_boilerplate != Some(true);
        dirs.push(CorpusDir::open(data, crate::open_index::open(data)?)?);
    }
    let corpus = Corpus::new(&dirs)?;
    let is_filtered = !filter.is_empty();
    // A WACZ file has whole pages, but the same ones as any export.
    let is_text = args.format != ExportFormat::Wacz || filter.min_words > 0;
    let export = Export::new(&corpus, filter, clean && is_text && !args.discards)?;
    let bar = bar(common, args, &corpus);
    let progress = |count| bar.iter().for_each(|bar| bar.set_position(count));
    let any = match args.format {
        ExportFormat::Parquet => parquet(args, &export, stop, progress)?,
        ExportFormat::Wacz => wacz(args, &export, bar.as_ref())?,
        ExportFormat::Markdown => write_files(args, &export, progress)?,
        _ => rows(args, &export, stop, progress)?,
    };
    bar.iter().for_each(ProgressBar::finish_and_clear);
    if !any && is_filtered {
        writeln!(std::io::stderr(), "crawl: no page passes the filters")?;
    }
    Ok(COMPLETE)
}

/// Writes a row a page to one output. Returns whether there was a page.
fn rows(
    args: &ExportArgs,
    export: &Export<'_>,
    stop: &Arc<AtomicBool>,
    progress: impl FnMut(u64),
) -> Result<bool> {
    let format = args.format.to_possible_value().map(|format| format.get_name().to_owned());
    let state = export.state_of_rows(&format.unwrap_or_default())?;
    let mut out = Sink::continued(args.output.as_deref(), Some(&state), stop)?;
    let before = out.read_before();
    if before > 0 {
        let after = counted(before, "page");
        writeln!(std::io::stderr(), "crawl: the interrupted export continues after {after}")?;
    } else if args.format == ExportFormat::Csv {
        out.record(CSV_COLUMNS)?;
    }
    let any = export.pages_from(before, progress, |read, page| -> Result<()> {
        out.begin_row(read)?;
        match args.format {
            ExportFormat::Csv => {
                let cells = page.csv_row().map(cell);
                out.record(cells.iter().map(String::as_str))
            }
            ExportFormat::OpensearchBulk => {
                let [action, page] = page.bulk_lines()?;
                Ok(writeln!(out, "{action}\n{}", output::json(&page))?)
            }
            _ => Ok(writeln!(out, "{}", output::json(&serde_json::to_value(&page)?))?),
        }
    })?;
    out.finish()?;
    Ok(any || before > 0)
}

fn filter(args: &FilterArgs) -> Result<PageFilter> {
    let moment = |flag: &str, text: &Option<String>| {
        let time = text.as_deref().map(parse_moment).transpose();
        time.map_err(|error| coded(USAGE, format!("{flag}: {error}")))
    };
    if args.min_confidence.is_some_and(|least| !(0.0..=1.0).contains(&least)) {
        return Err(coded(USAGE, "--min-confidence: give a number from 0 to 1"));
    }
    Ok(PageFilter {
        host: args.host.clone(),
        site: args.site.as_ref().map(|site| site.to_lowercase()),
        language: args.language.clone(),
        after: moment("--after", &args.after)?,
        before: moment("--before", &args.before)?,
        min_words: args.min_words.unwrap_or(0),
        min_copies: args.min_copies.unwrap_or(0),
        min_confidence: args.min_confidence,
    })
}

/// Refuses what a format cannot do.
fn refuse(args: &ExportArgs, filter: &PageFilter) -> Result<()> {
    let is_store = is_store(args);
    let named = args.output.as_deref().unwrap_or(Path::new("")).to_string_lossy();
    let why = match args.format {
        _ if is_store && cfg!(not(feature = "parquet")) => {
            "--to s3://: this program was built without it. Rebuild it: cargo install --path . --locked --features parquet"
        }
        _ if !is_store && named.contains("://") => "--to: name a path or s3://BUCKET/PREFIX",
        ExportFormat::Markdown | ExportFormat::Wacz if is_store => {
            "--to s3:// needs --format parquet, jsonl or csv. Write to a local path and copy it to the store"
        }
        ExportFormat::Parquet if args.discards && filter.min_words > 0 => {
            "--min-words: the log of discarded pages has no texts. Omit it with --discards"
        }
        ExportFormat::Parquet if args.discards && filter.min_copies > 0 => {
            "--min-copies: a discarded page has no copies. Omit it with --discards"
        }
        format if args.discards && format != ExportFormat::Parquet => {
            "--discards needs --format parquet. `crawl duplicates export` writes CSV"
        }
        _ => return Ok(()),
    };
    Err(coded(USAGE, why))
}

/// Shows progress on a terminal, unless the pages are printed there.
fn bar(common: &Common, args: &ExportArgs, corpus: &Corpus<'_>) -> Option<ProgressBar> {
    let prints = args.output.as_deref().is_none_or(|path| path == Path::new("-"));
    let hidden = common.quiet || common.no_progress || !std::io::stderr().is_terminal();
    let hidden = hidden || prints && std::io::stdout().is_terminal();
    let total = match args.discards {
        true => corpus.heads().iter().map(|heads| heads.rows.discarded().count() as u64).sum(),
        false => corpus.len(),
    };
    let style = match args.format {
        ExportFormat::Wacz => "{bar:30} {bytes} of {total_bytes}, {eta} left",
        _ => "{bar:30} {human_pos} of {human_len} pages, {eta} left",
    };
    let style = ProgressStyle::with_template(style).ok().filter(|_| !hidden)?;
    Some(ProgressBar::new(total).with_style(style))
}

/// Writes a folder of Markdown. Returns whether there was a page.
fn write_files(args: &ExportArgs, export: &Export<'_>, progress: impl FnMut(u64)) -> Result<bool> {
    let folder = folder(args)?;
    let counts = write_markdown(export, progress, folder)?;
    let mut line = format!("crawl: {}: {}", folder.display(), counted(counts.pages, "page"));
    if counts.removed > 0 {
        line.push_str(&format!(", {} of earlier exports removed", counted(counts.removed, "file")));
    }
    if counts.flat > 0 {
        line.push_str(&format!(
            "\ncrawl: {} without headings, lists and links: the archive has no copy that can be read (--no-warc, removed from pages/, or damaged: crawl check)",
            counted(counts.flat, "page")
        ));
    }
    writeln!(std::io::stderr(), "{line}")?;
    Ok(counts.pages > 0)
}

/// The most damaged records to name.
const DAMAGE_SHOWN: usize = 10;

/// Packs the archive into one file. Returns whether there was a page.
fn wacz(args: &ExportArgs, export: &Export<'_>, bar: Option<&ProgressBar>) -> Result<bool> {
    let Some(path) = args.output.as_deref().filter(|path| *path != Path::new("-")) else {
        return Err(coded(USAGE, "--format wacz writes one file: name it with --to"));
    };
    let file = NewFile::create(path).map_err(|error| unwritable(path, &error))?;
    let (file, counts) = write_wacz(export, (file, path), |done, all| {
        let _ = bar.map(|bar| (bar.set_length(all), bar.set_position(done)));
    })?;
    file.finish().map_err(|error| unwritable(path, &error))?;
    bar.iter().for_each(|bar| bar.finish_and_clear());
    for place in counts.damaged.iter().take(DAMAGE_SHOWN) {
        writeln!(std::io::stderr(), "crawl: {place}; not in the index")?;
    }
    if let Some(more @ 1..) = counts.damaged.len().checked_sub(DAMAGE_SHOWN) {
        writeln!(std::io::stderr(), "crawl: {more} other records are damaged: crawl check")?;
    }
    for data in &counts.without {
        writeln!(std::io::stderr(), "crawl: {}: no archive, left out", data.display())?;
    }
    let (records, pages) = (counted(counts.records, "record"), counted(counts.pages, "kept page"));
    writeln!(std::io::stderr(), "crawl: {}: {records}, {pages}", path.display())?;
    Ok(counts.pages > 0)
}

fn folder(args: &ExportArgs) -> Result<&Path> {
    let named = args.output.as_deref().filter(|path| *path != Path::new("-"));
    let why = "this format writes several files: name a folder with --to";
    let folder = named.ok_or_else(|| coded(USAGE, why))?;
    match folder.exists() && !folder.is_dir() {
        true => Err(coded(USAGE, format!("{} is not a folder: {why}", folder.display()))),
        false => Ok(folder),
    }
}

/// Returns whether there was a page.
#[cfg(feature = "parquet")]
fn parquet(
    args: &ExportArgs,
    export: &Export<'_>,
    stop: &Arc<AtomicBool>,
    progress: impl FnMut(u64) + Send,
) -> Result<bool> {
    use hapax_output::{Limits, Target, write_discards, write_pages};
    let target =
        Target::of_path(folder(args)?, Arc::clone(stop)).map_err(hapax_data::Error::from)?;
    let written = match args.discards {
        true => write_discards(export, target, Limits::default(), progress)?,
        false => write_pages(export, target, Limits::default(), progress)?,
    };
    Ok(written.rows > 0)
}

#[cfg(not(feature = "parquet"))]
fn parquet(
    _: &ExportArgs,
    _: &Export<'_>,
    _: &Arc<AtomicBool>,
    _: impl FnMut(u64),
) -> Result<bool> {
    let without = "--format parquet: this program was built without Parquet. Rebuild it: cargo install --path . --locked \
                   --features parquet";
    Err(coded(USAGE, without))
}
