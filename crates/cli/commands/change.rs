//! `crawl duplicates restore` and `keep`.

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use hapax_data::{Answer, DuplicateKind, Heads, Request, Row, Rows, must_exist, tables};

use super::duplicates::{json_row, table};
use super::sink::Sink;
use crate::args::{ListArgs, RestoreArgs};
use crate::change::change;
use crate::exit::{BAD_INPUT, COMPLETE, USAGE, coded};
use crate::output::{self, counted, escape, line, number};
use hapax_report::shell_path;
use hapax_report::wanted;

/// Fails if there is no crawl, so that a mistyped path creates no data directory.
pub(super) fn holds_pages(data: &Path) -> Result<()> {
    must_exist(data)?;
    if data.join("crawl.toml").exists() || data.join("dedup").exists() {
        return Ok(());
    }
    Err(coded(
        USAGE,
        format!(
            "{}: contains no crawl, so there is nothing to change. Check --data",
            data.display()
        ),
    ))
}

pub(super) fn told(answer: &Answer, done: &str, quiet: bool) -> Result<u8> {
    // If nothing was done, the reasons suffice.
    if !quiet && (answer.done > 0 || answer.not.is_empty()) {
        writeln!(std::io::stdout(), "{done}.")?;
    }
    for why in &answer.not {
        writeln!(std::io::stderr(), "crawl: not changed: {}", escape(why))?;
    }
    Ok(code_for(answer))
}

/// The result as one JSON object.
fn told_json(answer: &Answer) -> Result<u8> {
    writeln!(std::io::stdout(), "{}", output::json(&serde_json::to_value(answer)?))?;
    Ok(code_for(answer))
}

const fn code_for(answer: &Answer) -> u8 {
    match (answer.not.is_empty(), answer.done) {
        (true, _) => COMPLETE,
        (false, 0) => USAGE,
        (false, _) => BAD_INPUT,
    }
}

pub(super) fn restore(args: &RestoreArgs, quiet: bool) -> Result<u8> {
    let data = args.list.data.one()?;
    holds_pages(data)?;
    let rows = Rows::open(data)?;
    let mut ids = Vec::new();
    if !args.pages.is_empty() && (filtered(&args.list) || args.all) {
        return Err(coded(
            USAGE,
            "give either ids and URLs, or a filter such as --host or --all, not both",
        ));
    }
    for page in &args.pages {
        ids.push(rows.find(page)?.1.id);
    }
    if args.pages.is_empty() {
        if !filtered(&args.list) && !args.all {
            return Err(coded(
                USAGE,
                "no pages selected. Give ids or URLs, a filter such as --host, or --all",
            ));
        }
        for row in wanted(&rows, args.list.select())? {
            let restored = rows.decisions.restored(row.id).is_some();
            let alias = rows.entry(&row)?.kind == DuplicateKind::Alias;
            let gone = rows.decisions.ended(row.id) || rows.decisions.took_over(row.id);
            if restored == args.undo && !alias && !gone {
                ids.push(row.id);
            }
        }
        ids = ids
            .into_iter()
            .skip(args.list.offset)
            .take(args.list.limit.unwrap_or(usize::MAX))
            .collect();
    }
    if args.dry_run {
        return dry_run(data, &rows, &ids, args);
    }
    if args.list.csv {
        return Err(coded(
            USAGE,
            "--csv works only with --dry-run. Use --json for the results of a restore",
        ));
    }
    if ids.is_empty() {
        let answer = Answer::default();
        return match args.list.json {
            true => told_json(&answer),
            false => {
                let what = "No discarded page matches. Nothing was changed.";
                writeln!(std::io::stdout(), "{what}")?;
                Ok(COMPLETE)
            }
        };
    }
    let (request, done) = if args.undo {
        (Request::Discard { ids }, "discarded again")
    } else {
        let done = if data.join("index/meta.json").exists() {
            "restored: in the index, and never merged with the other page again"
        } else {
            "restored in the tables, and never merged with the other page again. This directory has no index \
             (--no-index)"
        };
        (Request::Restore { ids }, done)
    };
    let answer = change(data, &request)?;
    match args.list.json {
        true => told_json(&answer),
        false => told(&answer, &format!("{} {done}", number(answer.done)), quiet),
    }
}

/// Shows the rows that would change.
fn dry_run(data: &Path, rows: &Rows, ids: &[u64], args: &RestoreArgs) -> Result<u8> {
    let found: Vec<Row> = ids.iter().filter_map(|&id| rows.by_id(id)).collect();
    let store = tables(data);
    let heads = Heads::new(rows, store.as_ref());
    let mut out = Sink::create(None)?;
    if args.list.csv {
        return table(found.iter().map(|row| (&heads, row)), out);
    }
    if args.list.json {
        for row in &found {
            writeln!(out, "{}", output::json(&json_row(rows, row, heads.shown(row)?)?))?;
        }
        out.flush()?;
        return Ok(COMPLETE);
    }
    // Shows all rows, so that users know what they confirm.
    for row in &found {
        let entry = rows.entry(row)?;
        writeln!(
            out,
            "{:>7}  {}\n{:>8} = {}",
            row.id,
            line(&entry.url, 110),
            "",
            line(&entry.of.url, 110)
        )?;
    }
    let what = if args.undo { "discarded again" } else { "restored" };
    let pages = counted(ids.len() as u64, "page");
    writeln!(out, "{pages} would be {what}; nothing was changed.")?;
    out.flush()?;
    Ok(COMPLETE)
}

fn filtered(args: &ListArgs) -> bool {
    let filter = &args.filter;
    let words = [
        &filter.host,
        &filter.kind,
        &filter.distance,
        &filter.similarity,
        &filter.since,
        &filter.until,
        &filter.language,
        &filter.text,
    ];
    filter.restored || words.iter().any(|word| word.is_some())
}

pub(super) fn keep(page: &str, data: &Path, quiet: bool) -> Result<u8> {
    holds_pages(data)?;
    let rows = Rows::open(data)?;
    let (_, entry) = rows.find(page)?;
    let answer = change(data, &Request::Keep { ids: vec![entry.id] })?;
    let other = line(&entry.of.url, 150);
    let back = shell_path(Path::new(&other));
    if !entry.can_replace_other() {
        let (id, data) = (entry.id, shell_path(data));
        let done = format!(
            "{} is now kept; the other page stays too. To undo: crawl duplicates restore {id} --undo --data {data}",
            number(answer.done)
        );
        return told(&answer, &done, quiet);
    }
    let done = format!(
        "{} is now kept in place of {other}. To undo: crawl duplicates keep {back} --data {}",
        number(answer.done),
        shell_path(data)
    );
    told(&answer, &done, quiet)
}
