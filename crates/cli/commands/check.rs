//! `crawl check`: verifies every stored byte, and the stores against each other.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use anyhow::Result;
use hapax_dedup::{Error, Store};
use hapax_extract::{Recipe, jieba};
use hapax_frontier::{DiskFrontier, Frontier};
use hapax_index::Error::Damaged;
use hapax_index::{Searcher, damaged_files};
use hapax_warc as warc;
use serde_json::{Value, json};

use super::print;
use crate::data::{saved, without_settings};
use crate::exit::advice_on_index;
use crate::exit::{COMPLETE, DAMAGED, USAGE, WRITE, code_of, coded};
use crate::open_index::advised;
use crate::output::{self, bytes, counted, escape, number};
use hapax_crawl::left_without_store;
use hapax_data::Decision;
use hapax_data::locked;
use hapax_data::{Discarded, Skipped};
use hapax_data::{is_held, must_exist};

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
    // Up to where the archive is committed.
    let mut written = None;
    let dedup = data.join("dedup");
    let saved = saved(data)?;
    if saved.is_none() && !dedup.exists() {
        return Err(coded(USAGE, format!("{} holds no crawl", data.display())));
    }
    match locked(&dedup, Recipe::default().name()) {
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
            let wanted = saved.as_ref().is_some_and(|saved| saved.settings.index());
            if index.join("meta.json").exists() {
                parts.push(Part { name: "index", result: check_index(data, &store) });
            } else if wanted && !store.is_empty() {
                parts.push(Part {
                    name: "index",
                    result: Err(coded(DAMAGED, "it is missing, or its meta.json")),
                });
            }
            match serde_json::from_slice(&store.payload()) {
                Ok(position) => {
                    skipped = Some(committed_of(&position, "skipped"));
                    let file = number_in(&position, "warc_file");
                    // Numbered from 1.
                    written = Some((file.max(1), number_in(&position, "warc_length")));
                    parts.extend(check_logs(data, &position, &store));
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
        Err(Error::Locked { .. }) => return Err(is_held(data).into()),
        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
            let result = match left_without_store(data) {
                Some(left) => Err(coded(DAMAGED, format!("it is missing, and {left} is there"))),
                None => Ok("nothing yet: the first run did not come so far".to_owned()),
            };
            parts.push(Part { name: "dedup", result });
        }
        Err(error) => parts.push(Part { name: "dedup", result: Err(error.into()) }),
    }
    if saved.is_none()
        && let Some(error) = without_settings(data)
    {
        parts.push(Part { name: "settings", result: Err(error) });
    }
    let pages = data.join("pages");
    if pages.exists() {
        parts.push(Part { name: "pages", result: check_warc(&pages, written) });
    }
    let frontier = data.join("frontier");
    if DiskFrontier::is_there(&frontier) {
        let options = hapax_frontier::Options::default;
        let open = |()| DiskFrontier::open_read_only(&frontier, options());
        let opened = DiskFrontier::verify(&frontier).and_then(open);
        let result = match opened {
            Err(hapax_frontier::Error::Locked(_)) => return Err(is_held(data).into()),
            Err(error) => Err(error.into()),
            Ok(frontier) => check_frontier(&frontier).map(|(says, length)| {
                skipped = skipped.map(|other: Lines| other.max(length));
                says
            }),
        };
        parts.push(Part { name: "frontier", result });
    } else if let Ok(payload) = std::fs::read(frontier.join("payload")) {
        // A worker's in a cluster, which keeps its positions alone.
        let position = serde_json::from_slice(&payload).unwrap_or_default();
        skipped = skipped.map(|other: Lines| other.max(committed_of(&position, "skipped")));
    } else if saved.is_some_and(|saved| !saved.seeds.is_empty()) && written.is_some() {
        let what = "it is missing: the next run begins again at the seeds, and fetches what it knows once more";
        parts.push(Part { name: "frontier", result: Err(coded(DAMAGED, what)) });
    }
    if let Ok(summary) = std::fs::read(data.join("summary.json")) {
        let read = serde_json::from_slice::<Value>(&summary);
        let result = read.map(|_| "it can be read".to_owned());
        let result = result.map_err(|error| {
            coded(DAMAGED, format!("summary.json: {error}; the next run writes it anew"))
        });
        parts.push(Part { name: "summary", result });
    }
    if let Some(committed) = skipped {
        let is_right = |line: &[u8]| Ok(serde_json::from_slice::<Skipped>(line).is_ok());
        let result = check_log(&data.join("skipped.jsonl"), committed, is_right);
        parts.push(Part { name: "skipped", result });
    }
    report(&parts, json)
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
        let mark = |part: &Part| match part.result.as_ref().map_err(code_of) {
            Ok(_) => "ok     ",
            // It may be well: this person, or this place, may not open it.
            Err(WRITE) => "UNKNOWN",
            Err(_) => "DAMAGED",
        };
        let lines = parts
            .iter()
            .map(|part| format!("{} {:<9} {}\n", mark(part), part.name, escape(&say(part))));
        lines.collect()
    };
    output::unless_closed(print(text.as_bytes()).map(drop))?;
    // The first thing that is wrong decides: a disk that cannot be read is no damage.
    let code = parts.iter().find_map(|part| part.result.as_ref().err()).map(code_of);
    Ok(code.map_or(COMPLETE, |code| if code == COMPLETE { DAMAGED } else { code }))
}

/// What a frontier holds, and how much it says is committed of skipped.jsonl.
fn check_frontier(frontier: &DiskFrontier) -> Result<(String, Lines)> {
    let payload = frontier.payload()?;
    let position = match payload.is_empty() {
        true => Value::Null,
        false => serde_json::from_slice(&payload)
            .map_err(|error| coded(DAMAGED, format!("its positions: {error}")))?,
    };
    let counts = frontier.counts();
    let says =
        format!("{}, {} of them queued", counted(counts.known, "URL"), number(counts.queued));
    Ok((says, committed_of(&position, "skipped")))
}

/// What is committed of a log: how many bytes, and their CRC-32 if it is known.
type Lines = (u64, Option<u64>);

fn committed_of(position: &Value, log: &str) -> Lines {
    (number_in(position, log), position[format!("{log}_sum")].as_u64())
}

fn number_in(position: &Value, name: &str) -> u64 {
    position[name].as_u64().unwrap_or(0)
}

/// The logs and the archive as far as the store's last commit knows them.
fn check_logs(data: &Path, position: &Value, store: &Store) -> Vec<Part> {
    let said = |name: &str| number_in(position, name);
    let log = |name: &str| data.join(format!("{name}.jsonl"));
    let discarded = |line: &[u8]| -> Result<bool> {
        let Ok(entry) = serde_json::from_slice::<Discarded>(line) else { return Ok(false) };
        // What was restored, replaced or forgotten has no record under this number any more.
        let own = store.record(entry.id)?.is_none_or(|record| record.key == entry.own_key());
        Ok(own)
    };
    let decided = |line: &[u8]| Ok(serde_json::from_slice::<Decision>(line).is_ok());
    let mut parts = vec![
        Part {
            name: "discarded",
            result: check_numbers(&log("discarded"), said("discarded"), store).and_then(|()| {
                check_log(&log("discarded"), committed_of(position, "discarded"), discarded)
            }),
        },
        Part {
            name: "decisions",
            result: check_log(&log("decisions"), committed_of(position, "decisions"), decided),
        },
    ];
    if said("warc_length") > 0 {
        let path = data.join("pages").join(archive_name(said("warc_file")));
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

fn archive_name(number: u64) -> String {
    format!("pages-{number:05}.warc.gz")
}

/// No line of a log is longer.
const MAX_LINE: u64 = 16 << 20;

/// The number of a line of discarded.jsonl, if it is one.
fn number_of(line: &[u8]) -> Option<u64> {
    serde_json::from_slice::<Discarded>(line).ok().map(|entry| entry.id)
}

/// A page has one line under each number that it had; behind what is committed a crash leaves lines of
/// pages alone that the store does not know.
fn check_numbers(path: &Path, length: u64, store: &Store) -> Result<()> {
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        file => file?,
    };
    let wrong = |lines: u64, id: u64, what: &str| {
        Err(coded(DAMAGED, format!("{}: line {lines}, of page {id}, {what}", path.display())))
    };
    // Which numbers were seen: a bit each, 64 together. Of many lines they lie close.
    let mut seen: HashMap<u64, u64> = HashMap::new();
    let mut input = BufReader::new(file);
    let (mut line, mut lines, mut place) = (Vec::new(), 0u64, 0u64);
    loop {
        line.clear();
        // Behind what is committed anything may lie.
        let count = (&mut input).take(MAX_LINE).read_until(b'\n', &mut line)? as u64;
        if count == 0 {
            break;
        }
        lines += 1;
        place += count;
        let Some(id) = number_of(&line).filter(|id| *id < store.next_id()) else { continue };
        let bits = seen.entry(id / 64).or_default();
        if *bits & 1 << (id % 64) != 0 {
            return wrong(lines, id, "stands there twice");
        }
        if place > length {
            return wrong(lines, id, "was added by somebody else");
        }
        *bits |= 1 << (id % 64);
    }
    Ok(())
}

/// Whether every committed line is whole, what its readers can read, and as it was written.
fn check_log(
    path: &Path,
    committed: Lines,
    is_right: impl Fn(&[u8]) -> Result<bool>,
) -> Result<String> {
    let (length, sum) = committed;
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
    let mut found = crc32fast::Hasher::new();
    loop {
        line.clear();
        if (&mut input).take(MAX_LINE).read_until(b'\n', &mut line)? == 0 {
            if sum.is_some_and(|sum| sum != u64::from(found.finalize())) {
                return Err(wrong(
                    "something in it was changed: its checksum is another one".to_owned(),
                ));
            }
            return Ok(counted(lines, "line"));
        }
        found.update(&line);
        lines += 1;
        if !line.ends_with(b"\n") || !is_right(&line)? {
            return Err(wrong(format!("line {lines} cannot be read")));
        }
    }
}

/// The index's own checksums, and each of its pages against the store.
fn check_index(data: &Path, store: &Store) -> Result<String> {
    let folder = data.join("index");
    // Before a reader trusts what a file says of itself.
    let damaged = damaged_files(&folder).map_err(|error| advised(data, error))?;
    if !damaged.is_empty() {
        let unreadable = |error: &hapax_index::Error| !matches!(error, Damaged { .. });
        let code = if damaged.iter().all(unreadable) { WRITE } else { DAMAGED };
        let each: Vec<String> = damaged.iter().map(ToString::to_string).collect();
        return Err(coded(code, format!("{}; {}", each.join("; "), advice_on_index(data))));
    }
    let searcher = Searcher::open(&folder, jieba).map_err(|error| advised(data, error))?;
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

/// Every record of every file, up to where the last one is committed: they decompress, and have the
/// length that they say.
fn check_warc(folder: &Path, written: Option<(u64, u64)>) -> Result<String> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)?
        .map(|entry| entry.map(|e| e.path()))
        .collect::<Result<_, _>>()?;
    files.retain(|path| path.to_string_lossy().ends_with(".warc.gz"));
    files.sort();
    let (mut records, mut size, mut left) = (0u64, 0u64, 0u64);
    let last = written.map(|(number, length)| (folder.join(archive_name(number)), length));
    for path in &files {
        let wrong = |here: u64, error: &std::io::Error| {
            coded(DAMAGED, format!("{}, after {here} records: {error}", path.display()))
        };
        let file = File::open(path)?;
        let there = file.metadata()?.len();
        let committed = match &last {
            Some((last, _)) if path < last => there,
            Some((last, length)) if path == last => there.min(*length),
            Some(_) => 0,
            None => there,
        };
        size += committed;
        left += there - committed;
        if committed == 0 {
            continue;
        }
        let mut reader =
            warc::Reader::new(file.take(committed), MAX_BLOCK).map_err(|error| wrong(0, &error))?;
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
    let mut text = format!("{} in {files} ({})", counted(records, "record"), bytes(size));
    if left > 0 {
        text += &format!(", and {left} bytes that a crash left there until the next start");
    }
    Ok(text)
}
