//! `crawl check`: every stored byte, and the stores against each other.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use anyhow::Result;
use hapax_dedup::{Error, Options, Store};
use hapax_extract::{Recipe, jieba};
use hapax_fetch::warc;
use hapax_frontier::{DiskFrontier, Frontier};
use hapax_index::Searcher;
use serde_json::{Value, json};

use super::print;
use crate::data::{is_held, must_exist, saved};
use crate::exit::{COMPLETE, DAMAGED, USAGE, code_of, coded};
use crate::output::{self, bytes, counted, escape, number};

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
    // How long skipped.jsonl is, the store knows or, in a crawl, the frontier.
    let mut skipped = None;
    let dedup = data.join("dedup");
    let saved = saved(data)?;
    if saved.is_none() && !dedup.exists() {
        return Err(coded(USAGE, format!("{} holds no crawl", data.display())));
    }
    let store = match Store::open_existing(&dedup, options(Recipe::default().name())) {
        // Whatever it was made by is checked.
        Err(Error::Recipe { stored, .. }) => Store::open_existing(&dedup, options(&stored)),
        store => store,
    };
    match store {
        Ok(store) => {
            let result = store.check().map_err(Into::into).map(|report| {
                format!(
                    "{} in {} ({}), {} in the journal",
                    counted(report.documents, "document"),
                    counted(report.segments as u64, "segment"),
                    bytes(report.bytes),
                    report.in_journal
                )
            });
            parts.push(Part { name: "dedup", result });
            let index = data.join("index");
            let wanted = saved.is_some_and(|saved| saved.settings.index());
            if index.exists() {
                parts.push(Part { name: "index", result: check_index(&index, &store) });
            } else if wanted && !store.is_empty() {
                parts.push(Part { name: "index", result: Err(coded(DAMAGED, "it is missing")) });
            }
            match serde_json::from_slice(&store.payload()) {
                Ok(position) => {
                    skipped = Some(skipped_length(&position));
                    parts.extend(check_logs(data, &position));
                }
                // A store that no crawl has written.
                Err(_) if store.payload().is_empty() => {}
                Err(error) => {
                    let result = Err(coded(DAMAGED, format!("its positions: {error}")));
                    parts.push(Part { name: "dedup", result });
                }
            }
        }
        // Another process at work is no damage.
        Err(hapax_dedup::Error::Locked { .. }) => return Err(is_held(data)),
        Err(error) => parts.push(Part { name: "dedup", result: Err(error.into()) }),
    }
    let pages = data.join("pages");
    if pages.exists() {
        parts.push(Part { name: "pages", result: check_warc(&pages) });
    }
    let frontier = data.join("frontier");
    if DiskFrontier::is_there(&frontier) {
        let opened = DiskFrontier::open(&frontier, hapax_frontier::Options::default());
        let result = match opened {
            Err(hapax_frontier::Error::Locked(_)) => return Err(is_held(data)),
            Err(error) => Err(error.into()),
            Ok(frontier) => check_frontier(&frontier).map(|(says, length)| {
                skipped = skipped.map(|other: u64| other.max(length));
                says
            }),
        };
        parts.push(Part { name: "frontier", result });
    } else if let Ok(payload) = std::fs::read(frontier.join("payload")) {
        // A worker's in a cluster, which keeps its positions alone.
        let position = serde_json::from_slice(&payload).unwrap_or_default();
        skipped = skipped.map(|other: u64| other.max(skipped_length(&position)));
    }
    if let Some(length) = skipped {
        let result = check_log(&data.join("skipped.jsonl"), length);
        parts.push(Part { name: "skipped", result });
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
        format!("{}\n", output::json(&json!({"ok": well, "parts": rows})))
    } else {
        let mark = |part: &Part| if part.result.is_ok() { "ok     " } else { "DAMAGED" };
        let lines = parts
            .iter()
            .map(|part| format!("{} {:<9} {}\n", mark(part), part.name, escape(&say(part))));
        lines.collect()
    };
    print(text.as_bytes())?;
    // The first thing that is wrong decides: a disk that cannot be read is no damage.
    let code = parts.iter().find_map(|part| part.result.as_ref().err()).map(code_of);
    Ok(code.map_or(COMPLETE, |code| if code == COMPLETE { DAMAGED } else { code }))
}

/// What a frontier holds, and how long it says that skipped.jsonl is.
fn check_frontier(frontier: &DiskFrontier) -> Result<(String, u64)> {
    let payload = frontier.payload()?;
    let position = match payload.is_empty() {
        true => Value::Null,
        false => serde_json::from_slice(&payload)
            .map_err(|error| coded(DAMAGED, format!("its positions: {error}")))?,
    };
    let counts = frontier.counts();
    let says =
        format!("{}, {} of them queued", counted(counts.known, "URL"), number(counts.queued));
    Ok((says, skipped_length(&position)))
}

fn skipped_length(position: &Value) -> u64 {
    position["skipped"].as_u64().unwrap_or(0)
}

/// The logs and the archive as far as the store's last commit knows them.
fn check_logs(data: &Path, position: &Value) -> Vec<Part> {
    let said = |name: &str| position[name].as_u64().unwrap_or(0);
    let mut parts: Vec<Part> = ["discarded", "decisions"]
        .into_iter()
        .map(|name| {
            let path = data.join(format!("{name}.jsonl"));
            Part { name, result: check_log(&path, said(name)) }
        })
        .collect();
    if said("warc_length") > 0 {
        let path = data.join(format!("pages/pages-{:05}.warc.gz", said("warc_file")));
        let length = std::fs::metadata(&path).map_or(0, |meta| meta.len());
        if length < said("warc_length") {
            let result = Err(coded(
                DAMAGED,
                format!("{}: {length} of {} bytes", path.display(), said("warc_length")),
            ));
            parts.push(Part { name: "pages", result });
        }
    }
    parts
}

/// Whether every line up to `length` is whole.
fn check_log(path: &Path, length: u64) -> Result<String> {
    let wrong = |what: String| coded(DAMAGED, format!("{}: {what}", path.display()));
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound && length == 0 => {
            return Ok("no lines".to_owned());
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(wrong("it is missing".to_owned()));
        }
        file => file?,
    };
    let there = file.metadata()?.len();
    if there < length {
        return Err(wrong(format!("{there} of {length} bytes")));
    }
    let mut input = BufReader::new(file.take(length));
    let (mut line, mut lines) = (Vec::new(), 0u64);
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(counted(lines, "line"));
        }
        lines += 1;
        if !line.ends_with(b"\n") || serde_json::from_slice::<Value>(&line).is_err() {
            return Err(wrong(format!("line {lines} cannot be read")));
        }
    }
}

/// The index's own checksums, and each of its pages against the store.
fn check_index(folder: &Path, store: &Store) -> Result<String> {
    let searcher = Searcher::open(folder, jieba)?;
    let damaged = searcher.damaged_files()?;
    if !damaged.is_empty() {
        return Err(coded(DAMAGED, format!("damaged files: {}", damaged.join(", "))));
    }
    let mut found = 0;
    for record in store.snapshot().records() {
        let record = record?;
        if record.of.is_some() {
            continue;
        }
        if let Some(page) = searcher.page(record.id)? {
            found += 1;
            let url = String::from_utf8_lossy(&record.key);
            if page.url != url && url.starts_with("http") {
                let (id, there) = (record.id, page.url);
                let what = format!("page {id} is {url} in the store and {there} in the index");
                return Err(coded(DAMAGED, what));
            }
        }
    }
    // A crash between two commits leaves the index ahead; the next start takes that out.
    let mut left = searcher.count_from(store.next_id())?;
    let position: Value = serde_json::from_slice(&store.payload()).unwrap_or_default();
    let indexed = position["counts"]["indexed"].as_u64().unwrap_or(0);
    if found == 0 && indexed > 0 {
        let what = format!("none of {} is in it", counted(indexed, "page"));
        return Err(coded(DAMAGED, what));
    }
    for id in position["leaves_index"].as_array().into_iter().flatten().filter_map(Value::as_u64) {
        let kept = store.record(id)?.is_some_and(|record| record.of.is_none());
        left += u64::from(!kept && searcher.page(id)?.is_some());
    }
    let strangers = searcher.len().saturating_sub(found + left);
    if strangers > 0 {
        return Err(coded(
            DAMAGED,
            format!("{} of the index are not in the store", counted(strangers, "page")),
        ));
    }
    let mut text = format!("{}, each known to the store", counted(found, "page"));
    if left > 0 {
        text += &format!(", and {left} that a crash left there until the next start");
    }
    Ok(text)
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
            coded(DAMAGED, format!("{}, after {here} records: {error}", path.display()))
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
    let files = counted(files.len() as u64, "file");
    Ok(format!("{} in {files} ({})", counted(records, "record"), bytes(size)))
}
