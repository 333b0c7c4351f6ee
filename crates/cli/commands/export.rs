//! `crawl export`: the kept pages as JSONL, CSV, or a folder of Markdown or Parquet.

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use hapax_index::{Searcher, StoredPage};

use super::duplicates::cell;
use super::sink::{Sink, Table};
use crate::args::{ExportArgs, ExportFormat};
use crate::exit::{COMPLETE, USAGE, coded};
use crate::output::{self, counted};
use hapax_data::files::{NewFile, for_owner_only};
use hapax_data::{
    CSV_COLUMNS, Export, Heads, Rows, is_of_host, markdown, tables, unwritable, write_wacz,
};

pub(super) fn run(args: &ExportArgs) -> Result<u8> {
    let data = &args.data.data;
    let settings = crate::data::saved(data)?.unwrap_or_default().settings;
    if settings.is_personal() {
        for_owner_only();
    }
    let searcher = crate::open_index::open(data)?;
    if args.format == ExportFormat::Wacz {
        return wacz(args, &searcher);
    }
    let clean = !args.no_site_boilerplate && settings.output.no_site_boilerplate != Some(true);
    let (rows, store) = (Rows::open(data)?, tables(data));
    let heads = Heads::new(&rows, store.as_ref());
    let export = Export::new(&searcher, &heads, clean)?;
    let wanted = |page: &StoredPage| {
        let host = || url::Url::parse(&page.url).map(|url| hapax_url::host_key(&url));
        args.language.as_ref().is_none_or(|language| *language == page.language)
            && args
                .host
                .as_ref()
                .is_none_or(|wanted| host().is_ok_and(|host| is_of_host(&host, wanted)))
    };
    if args.discards && args.format != ExportFormat::Parquet {
        return Err(coded(
            USAGE,
            "--discards needs --format parquet. `crawl duplicates export` writes CSV",
        ));
    }
    let any = match args.format {
        ExportFormat::Parquet => parquet(args, &export, &heads, wanted)?,
        ExportFormat::Jsonl => {
            let mut out = Sink::create(args.output.as_deref())?;
            let any = export.pages(wanted, |page| -> Result<()> {
                Ok(writeln!(out, "{}", output::json(&serde_json::to_value(&page)?))?)
            })?;
            out.finish()?;
            any
        }
        ExportFormat::Csv => {
            let mut table = Table::new(Sink::create(args.output.as_deref())?);
            table.row(CSV_COLUMNS)?;
            let any = export.pages(wanted, |page| -> Result<()> {
                let cells = page.csv_row().map(cell);
                table.row(cells.iter().map(String::as_str))
            })?;
            table.finish()?;
            any
        }
        // Packed above.
        ExportFormat::Wacz => true,
        ExportFormat::Markdown => {
            let folder = folder(args)?;
            std::fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
            export.pages(wanted, |page| -> Result<()> {
                let path = folder.join(page.file_name());
                let written = NewFile::replacing(&path).and_then(|mut file| {
                    file.write_all(markdown(&page).as_bytes())?;
                    file.finish()
                });
                Ok(written.map_err(|error| unwritable(&path, &error))?)
            })?
        }
    };
    if !any && (args.host.is_some() || args.language.is_some()) {
        writeln!(std::io::stderr(), "crawl: no kept page has this host or language")?;
    }
    Ok(COMPLETE)
}

/// Packs the whole archive into one file.
fn wacz(args: &ExportArgs, searcher: &Searcher) -> Result<u8> {
    if args.host.is_some() || args.language.is_some() {
        let what = "--format wacz packs the whole archive: omit --host and --language";
        return Err(coded(USAGE, what));
    }
    let Some(path) = args.output.as_deref().filter(|path| *path != Path::new("-")) else {
        return Err(coded(USAGE, "--format wacz writes one file: name it with --to"));
    };
    let file = NewFile::create(path).map_err(|error| unwritable(path, &error))?;
    let (file, counts) = write_wacz(&args.data.data, searcher, file)?;
    file.finish().map_err(|error| unwritable(path, &error))?;
    let (records, pages) = (counted(counts.records, "record"), counted(counts.pages, "kept page"));
    writeln!(std::io::stderr(), "crawl: {}: {records}, {pages}", path.display())?;
    Ok(COMPLETE)
}

fn folder(args: &ExportArgs) -> Result<&Path> {
    let named = args.output.as_deref().filter(|path| *path != Path::new("-"));
    named.ok_or_else(|| coded(USAGE, "this format writes several files: name a folder with --to"))
}

/// Returns whether there was a page.
#[cfg(feature = "parquet")]
fn parquet(
    args: &ExportArgs,
    export: &Export<'_>,
    heads: &Heads<'_>,
    wanted: impl Fn(&StoredPage) -> bool,
) -> Result<bool> {
    use hapax_output::{Limits, write_discards, write_pages};
    let folder = folder(args)?;
    let discarded = |line: &hapax_data::Discarded| {
        args.language.as_ref().is_none_or(|language| *language == line.language)
            && args.host.as_ref().is_none_or(|host| is_of_host(&line.host, host))
    };
    let written = match args.discards {
        true => write_discards(heads, discarded, folder, Limits::default())?,
        false => write_pages(export, wanted, folder, Limits::default())?,
    };
    Ok(written.rows > 0)
}

#[cfg(not(feature = "parquet"))]
fn parquet(
    _: &ExportArgs,
    _: &Export<'_>,
    _: &Heads<'_>,
    _: impl Fn(&StoredPage) -> bool,
) -> Result<bool> {
    let without = "--format parquet: this program was built without Parquet. Rebuild it: cargo install --path . --locked \
                   --features parquet";
    Err(coded(USAGE, without))
}
