//! `crawl status`: only reads files, so it works during a crawl and after it.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;
use hapax_dedup::Policy;
use hapax_extract::Recipe;
use serde_json::{Value, json};

use crate::data::{saved, without_settings};
use crate::exit::{COMPLETE, DAMAGED, USAGE, coded};
use crate::open_index;
use crate::output::{self, counted, escape, number};
use crate::summary::{print_hosts, print_summary};
use hapax_crawl::Summary;
use hapax_data::{LogCounts, Rows, digests_of, is_locked, must_exist, read_only, unreadable};

pub(super) fn run(json: bool, dirs: &[PathBuf]) -> Result<u8> {
    if let [data] = dirs {
        return one(json, data);
    }
    let (mut sum, mut seeds, mut each) = (Summary::default(), 0, Vec::new());
    for data in dirs {
        must_exist(data)?;
        open_index::verify(data)?;
        each.push((data, is_locked(data)?));
        let saved = saved(data)?;
        seeds += saved.as_ref().map_or(0, |saved| saved.seeds.len());
        let shared = saved.is_some_and(|saved| saved.settings.cluster.cluster.is_some());
        sum = sum.and(read(data)?.unwrap_or_default(), shared);
        if !json {
            one(false, data)?;
        }
    }
    let mut out = std::io::stdout().lock();
    if json {
        // A string, as for one directory.
        let names: Vec<String> = dirs.iter().map(|data| data.display().to_string()).collect();
        sum.data = names.join(", ");
        writeln!(out, "{}", output::json(&crawl_json(&sum, seeds, &each)?))?;
        return Ok(COMPLETE);
    }
    writeln!(
        out,
        "\nTogether, of {} data directories: {} fetched, {} indexed, {} discarded.",
        dirs.len(),
        number(sum.pages.fetched),
        number(sum.pages.indexed),
        number(sum.pages.discarded())
    )?;
    Ok(COMPLETE)
}

/// The summary as JSON, for one or more directories.
fn crawl_json(summary: &Summary, seeds: usize, dirs: &[(&PathBuf, bool)]) -> Result<Value> {
    let mut row = serde_json::to_value(summary)?;
    let running = dirs.iter().any(|(_, running)| *running);
    if let Some(object) = row.as_object_mut() {
        object.insert("running".into(), running.into());
        if running {
            // A running crawl writes `stopped` only in case it is killed.
            object.insert("stopped".into(), Value::Null);
        }
        object.insert("seeds".into(), seeds.into());
        object.insert("dirs".into(), dirs_json(dirs));
    }
    Ok(row)
}

/// Each directory, and whether it is locked by a process.
fn dirs_json(dirs: &[(&PathBuf, bool)]) -> Value {
    let one = |(data, running): &(&PathBuf, bool)| json!({"data": data.display().to_string(), "running": running});
    dirs.iter().map(one).collect()
}

fn read(data: &Path) -> Result<Option<Summary>> {
    let path = data.join("summary.json");
    match std::fs::read(&path) {
        Ok(bytes) => {
            let mut summary: Summary = serde_json::from_slice(&bytes)
                .map_err(|error| coded(DAMAGED, format!("{}: {error}", path.display())))?;
            // The current path, not that at the time of writing.
            summary.data = data.display().to_string();
            // The log may be newer than the summary, which is written at a commit.
            if let Ok(rows) = Rows::open(data) {
                summary.take_discarded(&LogCounts::of(&rows));
            }
            Ok(Some(summary))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(&path, &error).into()),
    }
}

fn one(json: bool, data: &PathBuf) -> Result<u8> {
    must_exist(data)?;
    open_index::verify(data)?;
    let running = is_locked(data)?;
    let Some(saved) = saved(data)? else {
        return match without_settings(data) {
            Some(error) => Err(error),
            None => documents(json, data, running),
        };
    };
    let summary = read(data)?;
    let mut out = std::io::stdout().lock();
    if json {
        let mut summary = summary.unwrap_or_default();
        summary.needs_upgrade |= !open_index::is_current(data);
        let row = crawl_json(&summary, saved.seeds.len(), &[(data, running)])?;
        writeln!(out, "{}", output::json(&row))?;
        return Ok(COMPLETE);
    }
    writeln!(out, "{}: {}", data.display(), counted(saved.seeds.len() as u64, "seed"))?;
    drop(out);
    match summary {
        Some(mut summary) => {
            if running {
                summary.stopped =
                    Some("not yet. A crawl is running here; these are its last figures".into());
            }
            print_summary(&summary, running)?;
            print_hosts(&summary)?;
            if summary.needs_upgrade {
                say_upgrade(data)?;
            }
            if !open_index::is_current(data) {
                let name = hapax_report::shell_path(data);
                writeln!(
                    std::io::stdout(),
                    "An earlier version made the index: `crawl search` finds main texts only, without --host, --site \
                     and --after. To renew it, run: crawl upgrade --data {name}"
                )?;
            }
        }
        None => writeln!(std::io::stdout(), "Nothing was crawled yet.")?,
    }
    Ok(COMPLETE)
}

/// Reports that the directory needs an upgrade.
fn say_upgrade(data: &Path) -> Result<()> {
    let name = hapax_report::shell_path(data);
    writeln!(
        std::io::stdout(),
        "Written by an earlier version, with older digests. To convert it, run: crawl upgrade --data {name}"
    )?;
    Ok(())
}

/// The status of a directory of `crawl dedup`: documents without a crawl.
fn documents(json: bool, data: &PathBuf, running: bool) -> Result<u8> {
    let Some((store, _)) = read_only(data, Policy::default(), Recipe::default().name())? else {
        return Err(coded(USAGE, format!("{}: contains no crawl", data.display())));
    };
    let (documents, duplicates) = (store.len(), store.duplicates());
    let needs_upgrade = digests_of(&store.payload())?.needs_upgrade();
    let mut out = std::io::stdout().lock();
    if json {
        let row = json!({
            "data": data.display().to_string(), "running": running, "dirs": dirs_json(&[(data, running)]),
            "documents": documents, "duplicates": duplicates, "needs_upgrade": needs_upgrade,
        });
        writeln!(out, "{}", output::json(&row))?;
        return Ok(COMPLETE);
    }
    let at_work = if running { ", and a process is running here" } else { "" };
    writeln!(
        out,
        "{}: documents of `crawl dedup`{at_work}\n  documents  {:>9}\n  duplicates {:>9}",
        escape(&data.display().to_string()),
        number(documents),
        number(duplicates)
    )?;
    if needs_upgrade {
        say_upgrade(data)?;
    }
    Ok(COMPLETE)
}
