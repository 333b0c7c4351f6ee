//! `crawl duplicates list`, and the log as JSONL or a table.

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use hapax_dedup::Store;
use serde_json::Value;

use super::sink::Sink;
use crate::args::{Data, DataDirs, ListArgs};
use crate::exit::COMPLETE;
use crate::output::{self, line, number};
use hapax_data::{Heads, Row, Rows, Shown, canonical_of_row, must_hold_pages, tables};
use hapax_report::shell_path;
use hapax_report::{gone_told, in_store, wanted};

/// Rows shown without `--limit` and `--json`.
const DEFAULT_ROWS: usize = 1000;

/// A row as `list --json` prints it: the line of the log and its page's current state.
pub(crate) fn json_row(rows: &Rows, line: &Row, shown: Shown) -> Result<Value> {
    let id = shown.entry.id;
    let mut row = serde_json::to_value(shown.entry)?;
    if let Some(object) = row.as_object_mut() {
        object.insert("restored".into(), rows.decisions.restored(id).into());
        if let Some(state) = rows.state(line) {
            object.insert("state".into(), state.into());
        }
        if rows.decisions.took_over(id) {
            object.insert("kept_now".into(), true.into());
        }
        if let Some(url) = shown.compared_with {
            object.insert("compared_with".into(), url.into());
        }
        if let Some(url) = shown.leads_to {
            object.insert("leads_to".into(), url.into());
        }
        if shown.gone {
            object.insert("of_gone".into(), true.into());
        }
    }
    Ok(row)
}

/// Writes the whole log to a file or stdout.
pub(super) fn export(output: Option<&Path>, csv: bool, data: Data) -> Result<u8> {
    must_hold_pages(&data.data)?;
    let rows = Rows::open(&data.data)?;
    let store = tables(&data.data);
    let heads = Heads::new(&rows, store.as_ref());
    let mut out = Sink::create(output)?;
    if csv {
        return table(rows.all().iter().map(|row| (&heads, row)), out);
    }
    for row in rows.all() {
        let row = json_row(&rows, row, heads.shown(row)?)?;
        writeln!(out, "{}", output::json(&row))?;
    }
    out.finish()?;
    Ok(COMPLETE)
}

/// One of the logs that are read together.
pub(super) struct Opened<'a> {
    data: &'a Path,
    pub(super) rows: Rows,
    store: Option<Store>,
}

impl Opened<'_> {
    pub(super) fn heads(&self) -> Heads<'_> {
        Heads::new(&self.rows, self.store.as_ref())
    }
}

pub(super) fn open_all(dirs: &DataDirs) -> Result<Vec<Opened<'_>>> {
    let mut logs = Vec::new();
    for data in &dirs.dirs {
        must_hold_pages(data)?;
        // Open the tables last, so that they are not older than the log.
        let rows = Rows::open(data)?;
        logs.push(Opened { data, rows, store: tables(data) });
    }
    Ok(logs)
}

/// The rows of all logs that pass the filter, in order.
fn wanted_of_all<'a>(
    logs: &'a [(&'a Opened<'a>, Heads<'a>)],
    args: &ListArgs,
) -> Result<Vec<(&'a Opened<'a>, &'a Heads<'a>, Row)>> {
    let mut found = Vec::new();
    for (log, heads) in logs {
        let rows = wanted(&log.rows, args.select())?;
        found.extend(rows.into_iter().map(|row| (*log, heads, row)));
    }
    if logs.len() > 1 {
        let order = args.sort.unwrap_or_default();
        found.sort_by(|a, b| {
            let ordering = order.compare_across((&a.0.rows, &a.2), (&b.0.rows, &b.2));
            if args.reverse { ordering.reverse() } else { ordering }
        });
    }
    Ok(found)
}

pub(super) fn list(args: &ListArgs) -> Result<u8> {
    let opened = open_all(&args.data)?;
    let logs: Vec<_> = opened.iter().map(|log| (log, log.heads())).collect();
    let found = wanted_of_all(&logs, args)?;
    let whole = args.json || args.csv;
    let limit = args.limit.unwrap_or(if whole { usize::MAX } else { DEFAULT_ROWS });
    let page = found.iter().skip(args.offset).take(limit);
    let mut out = Sink::create(None)?;
    if args.csv {
        return table(page.map(|(_, heads, row)| (*heads, row)), out);
    }
    let mut shown = 0usize;
    for (log, heads, row) in page {
        let shown_row = heads.shown(row)?;
        if args.json {
            let mut row = json_row(&log.rows, row, shown_row)?;
            if let Some(object) = row.as_object_mut().filter(|_| logs.len() > 1) {
                object.insert("data".into(), log.data.display().to_string().into());
            }
            writeln!(out, "{}", output::json(&row))?;
        } else {
            if shown == 0 {
                writeln!(
                    out,
                    "{:>7}  {:<9} {:>4} {:>5}  discarded page, and kept page",
                    "id", "kind", "dist", "sim"
                )?;
            }
            text_row(log.rows.state(row), &shown_row, &mut out)?;
        }
        shown += 1;
    }
    if !args.json {
        let total = found.len();
        let all: usize = opened.iter().map(|log| log.rows.all().len()).sum();
        match (total, all) {
            (0, 0) => writeln!(out, "Nothing was discarded.")?,
            (0, _) => writeln!(out, "No row of {} matches.", number(all as u64))?,
            _ => {
                let next = args.offset + shown;
                let more = if next < total {
                    format!(" The next ones: --offset {next}.")
                } else {
                    String::new()
                };
                let page = if logs.len() > 1 { "URL" } else { "ID" };
                let dirs: Vec<String> =
                    opened.iter().map(|log| format!(" --data {}", shell_path(log.data))).collect();
                writeln!(
                    out,
                    "\n{} of {}.{more} To compare one with its kept page: crawl duplicates show {page}{}",
                    number(shown as u64),
                    number(total as u64),
                    dirs.concat()
                )?;
            }
        }
    }
    out.flush()?;
    Ok(COMPLETE)
}

fn text_row(state: Option<&str>, shown: &Shown, out: &mut impl Write) -> Result<()> {
    let entry = &shown.entry;
    let distance = entry.distance.map_or("-".into(), |d| d.to_string());
    let similarity = entry.similarity.map_or("-".into(), |s| format!("{s:.2}"));
    let state = match state {
        Some("renewed") => "  (replaced: a newer line describes this page)",
        Some("ended") => "  (no longer: forgotten, fetched again, or a redirect loop)",
        Some("restored") => "  (restored)",
        Some(_) => "  (kept now)",
        None => "",
    };
    writeln!(
        out,
        "{:>7}  {:<9} {distance:>4} {similarity:>5}  {}{state}",
        entry.id,
        entry.kind,
        line(&entry.url, 110)
    )?;
    let cause = match entry.cause.is_empty() {
        true => String::new(),
        false => format!("  [{}]", line(&entry.cause.join(", "), 60)),
    };
    let note = format!("{cause}{}{}", gone_told(shown.gone), in_store(entry));
    writeln!(out, "{:>30}= {}{note}", "", line(&entry.of.url, 110))?;
    Ok(())
}

const HEAD: [&str; 18] = [
    "id",
    "time",
    "kind",
    "url",
    "of_id",
    "of_url",
    "level",
    "distance",
    "similarity",
    "title",
    "language",
    "host",
    "bytes",
    "restored",
    "state",
    "against",
    "cause",
    "canonical",
];

pub(super) fn table<'a>(
    page: impl Iterator<Item = (&'a Heads<'a>, &'a Row)>,
    mut out: Sink,
) -> Result<u8> {
    out.record(HEAD)?;
    let number = |value: Option<String>| value.unwrap_or_default();
    for (heads, row) in page {
        let entry = heads.shown(row)?.entry;
        let cells = [
            entry.id.to_string(),
            entry.time,
            entry.kind.to_string(),
            cell(entry.url),
            number(entry.of.id.map(|id| id.to_string())),
            cell(entry.of.url),
            entry.level.unwrap_or_default(),
            number(entry.distance.map(|d| d.to_string())),
            number(entry.similarity.map(|s| s.to_string())),
            cell(entry.title),
            entry.language,
            cell(entry.host),
            entry.bytes.to_string(),
            heads.rows.decisions.restored(row.id).unwrap_or_default().to_owned(),
            heads.rows.state(row).unwrap_or_default().to_owned(),
            cell(entry.against.clone().unwrap_or_default()),
            cell(entry.cause.join(" ")),
            canonical_of_row(row, heads)?.as_str().to_owned(),
        ];
        out.record(cells.iter().map(String::as_str))?;
    }
    out.finish()?;
    Ok(COMPLETE)
}

/// Escapes a cell that a spreadsheet would evaluate as a formula, because its text comes from the web.
pub(crate) fn cell(text: String) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::cell;

    #[test]
    fn page_text_never_becomes_a_formula_in_a_csv_cell() {
        for formula in ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"] {
            assert_eq!(cell(formula.to_owned()), format!("'{formula}"));
        }
        for text in ["", "a=b", " =1", "1-1", "北京"] {
            assert_eq!(cell(text.to_owned()), text);
        }
    }
}
