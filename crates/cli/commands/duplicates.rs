//! `crawl duplicates list`, and reading the log.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::path::Path;

use anyhow::{Context, Result};

use crate::crawl::Discarded;
use crate::data::must_exist;
use crate::exit::{COMPLETE, DAMAGED, USAGE, coded};
use crate::output::line;

/// Which lines are wanted.
#[derive(Debug, Default)]
pub(super) struct Filter {
    pub(super) host: Option<String>,
    pub(super) kind: Option<String>,
    pub(super) limit: Option<usize>,
}

const KINDS: [&str; 4] = ["exact", "near", "canonical", "alias"];

/// The log's lines in order. A last line without its end is being written, and left out.
pub(super) fn read_log(data: &Path) -> Result<impl Iterator<Item = Result<Discarded>>> {
    let path = data.join("discarded.jsonl");
    let reader = match File::open(&path) {
        Ok(file) => Some(BufReader::new(file)),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error).with_context(|| path.display().to_string()),
    };
    let mut number = 0u64;
    let mut reader = reader;
    Ok(std::iter::from_fn(move || {
        let reader = reader.as_mut()?;
        let mut bytes = Vec::new();
        number += 1;
        match reader.read_until(b'\n', &mut bytes) {
            Ok(0) => None,
            Ok(_) if !bytes.ends_with(b"\n") => None,
            Ok(_) => Some(serde_json::from_slice(&bytes).map_err(|error| {
                coded(DAMAGED, format!("{}, line {number}: {error}", path.display()))
            })),
            Err(error) => Some(Err(error.into())),
        }
    }))
}

pub(super) fn list(filter: &Filter, json: bool, data: &Path) -> Result<u8> {
    must_exist(data)?;
    if let Some(kind) = &filter.kind
        && !KINDS.contains(&kind.as_str())
    {
        return Err(coded(USAGE, format!("--kind {kind}: there are {}", KINDS.join(", "))));
    }
    let mut out = std::io::stdout().lock();
    let (mut shown, mut matching) = (0usize, 0usize);
    for entry in read_log(data)? {
        let entry = entry?;
        if filter.host.as_ref().is_some_and(|host| *host != entry.host)
            || filter.kind.as_ref().is_some_and(|kind| *kind != entry.kind)
        {
            continue;
        }
        matching += 1;
        if filter.limit.is_some_and(|limit| shown >= limit) {
            continue;
        }
        if json {
            let mut row = serde_json::to_value(&entry)?;
            if let Some(object) = row.as_object_mut() {
                object.insert("restored".into(), serde_json::Value::Null);
            }
            writeln!(out, "{row}")?;
        } else {
            if shown == 0 {
                writeln!(
                    out,
                    "{:>7}  {:<9} {:>4} {:>5}  discarded, and the page kept for it",
                    "id", "kind", "dist", "sim"
                )?;
            }
            let distance = entry.distance.map_or("-".into(), |d| d.to_string());
            let similarity = entry.similarity.map_or("-".into(), |s| format!("{s:.2}"));
            writeln!(
                out,
                "{:>7}  {:<9} {distance:>4} {similarity:>5}  {}",
                entry.id,
                line(&entry.kind, 9),
                line(&entry.url, 110)
            )?;
            writeln!(out, "{:>30}= {}", "", line(&entry.of.url, 110))?;
        }
        shown += 1;
    }
    if !json {
        match matching {
            0 => writeln!(out, "Nothing was discarded.")?,
            _ => writeln!(
                out,
                "\n{shown} of {matching}. One of them beside its original: crawl duplicates show ID --data {}",
                data.display()
            )?,
        }
    }
    Ok(COMPLETE)
}
