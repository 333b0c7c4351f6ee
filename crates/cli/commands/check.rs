//! `crawl check`: every stored byte, and the stores against each other.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::Result;
use hapax_dedup::{Error, Options, Store};
use hapax_extract::{Recipe, jieba};
use hapax_fetch::warc;
use hapax_index::Searcher;
use serde_json::json;

use super::print;
use crate::data::must_exist;
use crate::exit::{COMPLETE, DAMAGED, code_of};
use crate::output::{bytes, escape};

/// Blocks of records are read and thrown away up to any length.
const MAX_BLOCK: u64 = 64 << 20;

/// What one part of the directory holds, or what is wrong with it.
struct Part {
    name: &'static str,
    result: Result<String>,
}

pub(super) fn run(json: bool, data: &Path) -> Result<u8> {
    must_exist(data)?;
    let mut parts = Vec::new();
    let dedup = data.join("dedup");
    let store = match Store::open_existing(&dedup, options(Recipe::default().name())) {
        // Whatever it was made by is checked.
        Err(Error::Recipe { stored, .. }) => Store::open_existing(&dedup, options(&stored)),
        store => store,
    };
    match store {
        Ok(store) => {
            let result = store.check().map_err(Into::into).map(|report| {
                format!(
                    "{} documents in {} segments ({}), {} in the journal",
                    report.documents,
                    report.segments,
                    bytes(report.bytes),
                    report.in_journal
                )
            });
            parts.push(Part { name: "dedup", result });
            let index = data.join("index");
            if index.exists() {
                parts.push(Part { name: "index", result: check_index(&index, &store) });
            }
        }
        // Another process at work is no damage.
        Err(error @ hapax_dedup::Error::Locked { .. }) => return Err(error.into()),
        Err(error) => parts.push(Part { name: "dedup", result: Err(error.into()) }),
    }
    let pages = data.join("pages");
    if pages.exists() {
        parts.push(Part { name: "pages", result: check_warc(&pages) });
    }
    report(&parts, json)
}

fn options(recipe: &str) -> Options {
    Options { recipe: recipe.to_owned(), ..Options::default() }
}

fn report(parts: &[Part], json: bool) -> Result<u8> {
    let well = parts.iter().all(|part| part.result.is_ok());
    let say = |part: &Part| match &part.result {
        Ok(text) => text.clone(),
        Err(error) => format!("{error:#}"),
    };
    let text = if json {
        let rows: Vec<_> = parts
            .iter()
            .map(|part| json!({"part": part.name, "ok": part.result.is_ok(), "says": say(part)}))
            .collect();
        format!("{}\n", json!({"ok": well, "parts": rows}))
    } else {
        let mark = |part: &Part| if part.result.is_ok() { "ok     " } else { "DAMAGED" };
        let lines = parts
            .iter()
            .map(|part| format!("{} {:<6} {}\n", mark(part), part.name, escape(&say(part))));
        lines.collect()
    };
    print(text.as_bytes())?;
    // The first thing that is wrong decides: a disk that cannot be read is no damage.
    let code = parts.iter().find_map(|part| part.result.as_ref().err()).map(code_of);
    Ok(code.map_or(COMPLETE, |code| if code == COMPLETE { DAMAGED } else { code }))
}

/// The index's own checksums, and each of its pages against the store.
fn check_index(folder: &Path, store: &Store) -> Result<String> {
    let searcher = Searcher::open(folder, jieba)?;
    let damaged = searcher.damaged_files()?;
    anyhow::ensure!(damaged.is_empty(), "damaged files: {}", damaged.join(", "));
    let mut found = 0;
    for record in store.snapshot().records() {
        let record = record?;
        if record.of.is_some() {
            continue;
        }
        if let Some(page) = searcher.page(record.id)? {
            found += 1;
            let url = String::from_utf8_lossy(&record.key);
            anyhow::ensure!(
                page.url == url || !url.starts_with("http"),
                "page {} is {url} in the store and {} in the index",
                record.id,
                page.url
            );
        }
    }
    let strangers = searcher.len() - found;
    anyhow::ensure!(strangers == 0, "{strangers} pages of the index are not in the store");
    Ok(format!("{found} pages, each known to the store"))
}

/// Every record of every file: they decompress, and have the length that they say.
fn check_warc(folder: &Path) -> Result<String> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)?
        .map(|entry| entry.map(|e| e.path()))
        .collect::<Result<_, _>>()?;
    files.retain(|path| path.to_string_lossy().ends_with(".warc.gz"));
    files.sort();
    let (mut records, mut size) = (0u64, 0u64);
    for path in &files {
        let wrong = |here: u64, error: &std::io::Error| {
            crate::exit::coded(
                DAMAGED,
                format!("{}, after {here} records: {error}", path.display()),
            )
        };
        let file = File::open(path)?;
        size += file.metadata()?.len();
        let mut reader = warc::Reader::new(file, MAX_BLOCK).map_err(|error| wrong(0, &error))?;
        let mut here = 0u64;
        loop {
            match reader.next_record() {
                Ok(Some(_)) => here += 1,
                Ok(None) => break,
                Err(error) => return Err(wrong(here, &error)),
            }
        }
        records += here;
    }
    Ok(format!("{records} records in {} files ({})", files.len(), bytes(size)))
}
