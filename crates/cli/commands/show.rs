//! `crawl duplicates show`: a discarded page and its kept page, side by side.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use anyhow::Result;
use serde_json::json;

use super::duplicates::json_row;
use crate::exit::{COMPLETE, USAGE, coded};
use crate::output::{self, colour, line};
use hapax_data::{Discarded, DuplicateKind, Heads, Row, Rows, Texts, must_hold_pages, tables};
use hapax_page::difference::{Words, compare, phrases};
use hapax_report::Columns;
use hapax_report::shell_path;
use hapax_report::{gone_told, in_store, texts_missing};

/// The default width of both columns in characters, and the minimum.
const WIDTH: usize = 140;
const NARROWEST: usize = 60;

/// Finds the row in the only directory that has it.
fn find<'a>(page: &str, dirs: &'a [PathBuf]) -> Result<(&'a PathBuf, Rows, (Row, Discarded))> {
    let mut found = Vec::new();
    let mut refused = None;
    for data in dirs {
        let rows = Rows::open(data)?;
        match rows.find(page) {
            Ok(row) => found.push((data, rows, row)),
            Err(error) => refused = Some(error),
        }
    }
    match (found.len(), refused) {
        (0, Some(error)) => Err(error.into()),
        (0 | 1, _) => {
            found.pop().ok_or_else(|| coded(USAGE, "no data directory given: add --data DIR"))
        }
        _ => Err(coded(
            USAGE,
            format!("{page} exists in several data directories: give --data once"),
        )),
    }
}

pub(super) fn run(page: &str, json: bool, dirs: &[PathBuf]) -> Result<u8> {
    dirs.iter().try_for_each(|data| must_hold_pages(data))?;
    let (data, rows, (found, _)) = find(page, dirs)?;
    let store = tables(data);
    let shown = Heads::new(&rows, store.as_ref()).shown(&found)?;
    let entry = &shown.entry;
    let texts = hapax_report::texts(data)?;
    let others = dirs.iter().filter(|other| *other != data).map(|other| hapax_report::texts(other));
    let others: Vec<Texts> = others.collect::<hapax_data::Result<_>>()?;
    let elsewhere = || {
        let page = others.iter().find_map(|other| other.page_of(&entry.of.url));
        page.map(|page| page.text)
    };
    let own = texts.discarded(entry, &rows.line(&found)?);
    let other = texts.kept(entry).or_else(elsewhere);
    let mut out = std::io::stdout().lock();
    if json {
        let why = entry.reason();
        let mut row = json_row(&rows, &found, shown)?;
        if let Some(object) = row.as_object_mut() {
            object.insert("reason".into(), why.into());
            object.insert("text".into(), json!(own));
            object.insert("of_text".into(), json!(other));
            let both = own.as_deref().zip(other.as_deref());
            let differs = both.map(|(own, other)| differs(other, own));
            object.insert("differs".into(), json!(differs));
        }
        writeln!(out, "{}", output::json(&row))?;
        return Ok(COMPLETE);
    }
    writeln!(
        out,
        "discarded  {}  (id {}, {})",
        line(&entry.url, 150),
        entry.id,
        line(&entry.time, 30)
    )?;
    let note = in_store(entry);
    writeln!(out, "kept       {}{}{note}", line(&entry.of.url, 150), gone_told(shown.gone))?;
    if let Some(url) = &shown.leads_to {
        writeln!(out, "leads to   {}", line(url, 150))?;
    }
    if let Some(url) = &shown.compared_with {
        writeln!(out, "compared   {}  (a better page replaced it later)", line(url, 120))?;
    }
    writeln!(out, "why        {}", line(&entry.reason(), 400))?;
    if let (Some(own), Some(other)) = (&own, &other) {
        // If the texts were compared, the reason names the differences already.
        for phrase in differs(other, own).iter().filter(|_| entry.compared.is_none()) {
            writeln!(out, "differs    {}", line(phrase, 200))?;
        }
    }
    let heads = Heads::new(&rows, store.as_ref());
    let declared = hapax_data::canonical_of(&rows.line(&found)?, &entry.of.url, &heads)?;
    if declared != hapax_data::CanonicalState::None {
        writeln!(out, "canonical  {}", declared.describe())?;
    }
    write_fields(&mut out, entry)?;
    let restored = rows.decisions.restored(entry.id);
    write_state(&mut out, restored, rows.state(&found))?;
    write_texts(&mut out, entry, own.as_deref(), other.as_deref())?;
    let gone = rows.decisions.took_over(entry.id) || rows.decisions.ended(entry.id);
    if restored.is_none() && entry.kind != DuplicateKind::Alias && !gone {
        let (id, data) = (entry.id, shell_path(data));
        writeln!(out, "\nTo keep both pages:    crawl duplicates restore {id} --data {data}")?;
        if entry.can_replace_other() {
            writeln!(out, "To keep the other one: crawl duplicates keep {id} --data {data}")?;
        }
    }
    Ok(COMPLETE)
}

fn write_fields(out: &mut impl Write, entry: &Discarded) -> std::io::Result<()> {
    for from in &entry.links.from {
        writeln!(out, "from       {}", line(from, 150))?;
    }
    if !entry.title.is_empty() {
        writeln!(out, "title      {}", line(&entry.title, 150))?;
    }
    for (name, list) in [("shared", &entry.shared), ("different", &entry.different)] {
        if !list.is_empty() {
            let list: Vec<String> = list.iter().map(|s| format!("\"{}\"", line(s, 60))).collect();
            writeln!(out, "{name:<10} {}", list.join(", "))?;
        }
    }
    Ok(())
}

/// Differing phrases of the kept and the discarded page.
fn differs(kept: &str, own: &str) -> Vec<String> {
    let (kept, own) = (Words::of(kept), Words::of(own));
    phrases(&compare(&kept, &own), [&kept, &own], ["the kept page", "the discarded page"])
}

fn write_state(out: &mut dyn Write, restored: Option<&str>, state: Option<&str>) -> Result<()> {
    match restored {
        Some(time) => writeln!(out, "restored   {time}")?,
        None => match state {
            Some("kept") => writeln!(out, "now        this page is kept")?,
            Some("renewed") => {
                writeln!(out, "now        a newer log line describes this page: give its URL")?;
            }
            Some(_) => writeln!(out, "now        forgotten, or fetched again since")?,
            None => {}
        },
    }
    Ok(())
}

fn write_texts(
    out: &mut dyn Write,
    entry: &Discarded,
    own: Option<&str>,
    other: Option<&str>,
) -> Result<()> {
    match (own, other) {
        _ if entry.kind == DuplicateKind::Alias => {}
        (Some(own), Some(other)) if own == other => {
            writeln!(out, "\nThe two texts are equal.")?;
        }
        (Some(own), Some(other)) => {
            let ansi = colour(std::io::stdout().is_terminal());
            let width = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
            let width = width.unwrap_or(WIDTH).max(NARROWEST);
            writeln!(out)?;
            Columns::new(width, ansi).write(out, other, own)?;
        }
        _ => writeln!(out, "\n{}", texts_missing(entry))?,
    }
    Ok(())
}
