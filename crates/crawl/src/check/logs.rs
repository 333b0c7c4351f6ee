//! Compares logs with what is committed of them.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

use hapax_data::{Decision, Discarded, PageEvent};
use hapax_dedup::Store;
use serde_json::Value;

use super::part::{CheckedPart, Contents, Part, archive_name};
use crate::error::{Error, Result};

/// The committed part of a log: bytes, and their CRC-32 if it is known.
pub(super) type Lines = (u64, Option<u64>);

pub(super) fn committed_of(position: &Value, log: &str) -> Lines {
    (number_in(position, log), position[format!("{log}_sum")].as_u64())
}

pub(super) fn number_in(position: &Value, name: &str) -> u64 {
    position[name].as_u64().unwrap_or(0)
}

/// Verifies the logs and the archive's length, up to the store's last commit.
pub(super) fn check_logs(data: &Path, position: &Value, store: &Store) -> Vec<CheckedPart> {
    let said = |name: &str| number_in(position, name);
    let log = |name: &str| data.join(format!("{name}.jsonl"));
    let discarded = |line: &[u8]| -> Result<bool> {
        let Ok(entry) = serde_json::from_slice::<Discarded>(line) else { return Ok(false) };
        // Pages that were restored, replaced or forgotten have no record under this number any more.
        let own = store.record(entry.id)?.is_none_or(|record| record.key == entry.own_key());
        Ok(own)
    };
    let decided = |line: &[u8]| Ok(serde_json::from_slice::<Decision>(line).is_ok());
    let mut parts = vec![
        CheckedPart::new(
            Part::Discarded,
            check_numbers(&log("discarded"), said("discarded"), store).and_then(|()| {
                check_log(&log("discarded"), committed_of(position, "discarded"), discarded)
            }),
        ),
        CheckedPart::new(
            Part::Decisions,
            check_log(&log("decisions"), committed_of(position, "decisions"), decided),
        ),
    ];
    // A directory of a version without events has none.
    if number_in(position, "events_stream") != 0 {
        let event = |line: &[u8]| Ok(serde_json::from_slice::<PageEvent>(line).is_ok());
        let events = check_log(&log("events"), committed_of(position, "events"), event);
        parts.push(CheckedPart::new(Part::Events, events));
    }
    if said("warc_length") > 0 {
        let path = data.join("pages").join(archive_name(said("warc_file")));
        let length = std::fs::metadata(&path).map_or(0, |meta| meta.len());
        if length < said("warc_length") {
            let result = Err(Error::damaged(format!(
                "{}: has {length} of {} bytes",
                path.display(),
                said("warc_length")
            )));
            parts.push(CheckedPart::new(Part::Pages, result));
        }
    }
    parts
}

const MAX_LINE: u64 = 16 << 20;

fn number_of(line: &[u8]) -> Option<u64> {
    serde_json::from_slice::<Discarded>(line).ok().map(|entry| entry.id)
}

/// Verifies that a number has at most one line. After the committed part, a crash may leave only lines of pages that
/// the store does not know.
fn check_numbers(path: &Path, length: u64, store: &Store) -> Result<()> {
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        file => file?,
    };
    let wrong = |lines: u64, id: u64, what: &str| {
        Err(Error::damaged(format!("{}: line {lines}, of page {id}, {what}", path.display())))
    };
    // The seen numbers as bits, 64 in an entry: in a long log they are dense.
    let mut seen: HashMap<u64, u64> = HashMap::new();
    let mut input = BufReader::new(file);
    let (mut line, mut lines, mut place) = (Vec::new(), 0u64, 0u64);
    loop {
        line.clear();
        // After the committed part there may be anything.
        let count = (&mut input).take(MAX_LINE).read_until(b'\n', &mut line)? as u64;
        if count == 0 {
            break;
        }
        lines += 1;
        place += count;
        let Some(id) = number_of(&line).filter(|id| *id < store.next_id()) else { continue };
        let bits = seen.entry(id / 64).or_default();
        if *bits & 1 << (id % 64) != 0 {
            return wrong(lines, id, "occurs twice");
        }
        if place > length {
            return wrong(lines, id, "was not written by this program");
        }
        *bits |= 1 << (id % 64);
    }
    Ok(())
}

/// Verifies that every committed line is complete, readable and unchanged.
pub(super) fn check_log(
    path: &Path,
    committed: Lines,
    is_right: impl Fn(&[u8]) -> Result<bool>,
) -> Result<Contents> {
    let (length, sum) = committed;
    let wrong = |what: String| Error::damaged(format!("{}: {what}", path.display()));
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound && length == 0 => {
            return Ok(Contents::Lines(0));
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(wrong("it is missing".to_owned()));
        }
        file => file?,
    };
    let there = file.metadata()?.len();
    if there < length {
        return Err(wrong(format!("has {there} of {length} bytes")));
    }
    let mut input = BufReader::new(file.take(length));
    let (mut line, mut lines) = (Vec::new(), 0u64);
    let mut found = crc32fast::Hasher::new();
    loop {
        line.clear();
        if (&mut input).take(MAX_LINE).read_until(b'\n', &mut line)? == 0 {
            if sum.is_some_and(|sum| sum != u64::from(found.finalize())) {
                return Err(wrong("the checksum does not match: the file was changed".to_owned()));
            }
            return Ok(Contents::Lines(lines));
        }
        found.update(&line);
        lines += 1;
        if !line.ends_with(b"\n") || !is_right(&line)? {
            return Err(wrong(format!("line {lines} cannot be read")));
        }
    }
}
