//! `crawl dedup`: documents in, verdicts out, for pipes and other languages.

use std::io::{self, BufReader, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use anyhow::Result;
use hapax_dedup::{MAX_KEY, Neighbour};
use serde_json::{Value, json};

use crate::exit::{BAD_INPUT, COMPLETE};
use crate::output::{self, shortened};
use crate::settings::Settings;
use hapax_crawl::{Offline, OfflineParts, StoredDocument, Verdict};
use hapax_data::files::Root;
use hapax_data::inputs::{Item, MAX_LINE, read_line, root_of};
use hapax_data::{Addresses, DataDir};

/// Documents committed in one step, and the longest delay before it.
const BATCH: usize = 512;
const BATCH_AGE: Duration = Duration::from_millis(50);
/// How long a batch waits for a line in the pipe.
const PAUSE: Duration = Duration::from_millis(1);
/// Bytes of lines read ahead, in addition to one line.
const AHEAD: usize = 64 << 20;
pub(super) fn run(
    root: Option<&Path>,
    data: &Path,
    all_matches: bool,
    settings: &Settings,
) -> Result<u8> {
    let root = root.map(root_of).transpose()?;
    let parts = OfflineParts { archive: false, index: false, keep_duplicates: all_matches };
    let data = DataDir::open(data)?;
    let has_seeds = crate::data::saved(data.root())?.is_some_and(|saved| !saved.seeds.is_empty());
    let mut line = Offline::open(data, &settings.config()?, parts, has_seeds)?;
    let mut addresses = Addresses::open(line.root(), line.next_id())?;
    let ahead = Arc::new(AtomicUsize::new(0));
    let lines = read_lines(Arc::clone(&ahead));
    let mut out = BufWriter::new(io::stdout().lock());
    let mut number = 0u64;
    let mut bad = false;
    while let Ok(first) = lines.recv() {
        let mut answers: Vec<Value> = Vec::new();
        for text in batch(first, &lines) {
            number += 1;
            let text = text?;
            ahead.fetch_sub(text.len(), Relaxed);
            if text.trim_ascii().is_empty() {
                continue;
            }
            let answer = answer(&text, root.as_ref(), &mut line, &mut addresses, all_matches)?;
            bad |= matches!(answer, Answer::Wrong { .. });
            answers.push(match answer {
                Answer::Row(row) => row,
                Answer::Wrong { id: Some(id), what } => {
                    json!({"id": id, "line": number, "error": what})
                }
                Answer::Wrong { id: None, what } => json!({"line": number, "error": what}),
            });
        }
        // First, so that addresses after the last document count as uncommitted.
        addresses.write()?;
        line.commit()?;
        for answer in answers {
            writeln!(out, "{}", output::json(&answer))?;
        }
        out.flush()?;
    }
    line.discard_parts()?;
    line.close()?;
    Ok(if bad { BAD_INPUT } else { COMPLETE })
}

enum Answer {
    Row(Value),
    /// The error in a line, and the id of its document if it can be read.
    Wrong {
        id: Option<String>,
        what: String,
    },
}

fn answer(
    line: &[u8],
    root: Option<&Root>,
    offline: &mut Offline,
    addresses: &mut Addresses,
    all_matches: bool,
) -> Result<Answer> {
    let item = match Item::parse(line) {
        Ok(item) => item,
        Err(what) => {
            let id = serde_json::from_slice::<Value>(line).ok();
            let id = id.and_then(|value| value.get("id")?.as_str().map(str::to_owned));
            return Ok(Answer::Wrong { id, what });
        }
    };
    if item.id.len() > MAX_KEY {
        let what = format!("\"id\" has {} bytes, at most {MAX_KEY} are allowed", item.id.len());
        return Ok(Answer::Wrong { id: None, what });
    }
    if let Some(id) = offline.id_of(&item.id)? {
        let record = offline.record(id)?;
        let fingerprint = record.map(|record| record.fingerprint.to_string());
        let row = json!({"id": item.id, "verdict": "known", "fingerprint": fingerprint});
        return Ok(Answer::Row(row));
    }
    let mut page = match StoredDocument::of_item(&item, offline.recipe(), root) {
        Ok(page) => page,
        Err(what) => {
            let what = shortened(&what).into_owned();
            return Ok(Answer::Wrong { id: Some(item.id), what });
        }
    };
    let matches: Vec<Neighbour> = if all_matches { offline.matches(&page)? } else { Vec::new() };
    let fingerprint = page.fingerprint().to_string();
    let mut row = match offline.offer(&mut page)? {
        Verdict::Duplicate(of) => {
            let mut other = json!({"id": key_of(offline, of.id)?});
            if let (Some(url), Some(object)) = (addresses.of(of.id)?, other.as_object_mut()) {
                object.insert("url".into(), url.into());
            }
            json!({
                "id": item.id, "verdict": "duplicate", "of": other,
                "distance": of.distance, "similarity": of.similarity, "fingerprint": fingerprint,
            })
        }
        Verdict::Against(found) => json!({
            "id": item.id, "verdict": "duplicate", "of": {"id": found.url}, "against": found.store,
            "distance": found.near.distance, "similarity": found.near.similarity, "fingerprint": fingerprint,
        }),
        _ => {
            let against = page.against();
            let mut row = json!({"id": item.id, "verdict": "new", "fingerprint": fingerprint});
            if let Some(object) = row.as_object_mut().filter(|_| !against.is_empty()) {
                object.insert("against".into(), against.into());
            }
            row
        }
    };
    // With all matches, later documents may duplicate a duplicate.
    if let Some(url) = item.url.as_ref().filter(|_| row["verdict"] == "new" || all_matches)
        && let Some(id) = offline.id_of(&item.id)?
    {
        addresses.add(id, url);
    }
    if let Some(object) = row.as_object_mut() {
        object.insert("tokens".into(), page.tokens().into());
        if all_matches {
            let mut list = Vec::new();
            for of in matches {
                let id = key_of(offline, of.id)?;
                list.push(json!({"id": id, "distance": of.distance, "similarity": of.similarity}));
            }
            object.insert("matches".into(), list.into());
        }
    }
    Ok(Answer::Row(row))
}

fn key_of(offline: &Offline, id: u64) -> Result<String> {
    let record = offline.record(id)?;
    Ok(record.map(|r| String::from_utf8_lossy(&r.key).into_owned()).unwrap_or_default())
}

/// Lines of stdin, read ahead by a separate thread.
fn read_lines(ahead: Arc<AtomicUsize>) -> Receiver<io::Result<Vec<u8>>> {
    let (send, receive) = sync_channel(2 * BATCH);
    std::thread::spawn(move || {
        let mut input = BufReader::with_capacity(1 << 18, io::stdin());
        loop {
            // Limit the bytes of waiting lines.
            while ahead.load(Relaxed) > AHEAD {
                std::thread::sleep(PAUSE);
            }
            let line = match read_line(&mut input, MAX_LINE) {
                Ok(None) => return,
                Ok(Some(line)) => Ok(line),
                Err(error) => Err(error),
            };
            ahead.fetch_add(line.as_ref().map_or(0, Vec::len), Relaxed);
            if send.send(line).is_err() {
                return;
            }
        }
    });
    receive
}

fn batch(
    first: io::Result<Vec<u8>>,
    lines: &Receiver<io::Result<Vec<u8>>>,
) -> Vec<io::Result<Vec<u8>>> {
    let started = Instant::now();
    let mut batch = vec![first];
    while batch.len() < BATCH && started.elapsed() < BATCH_AGE {
        match lines.recv_timeout(PAUSE) {
            Ok(line) => batch.push(line),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    batch
}
