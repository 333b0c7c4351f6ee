//! `crawl duplicates report`: overview, list and pairs as one HTML file.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use hapax_crawl::Advice;
use hapax_warc::format_time;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::advice::{advice, causes, legend, title};
use super::drawing::{drawing_legend, state_tag};
use super::overview::summary;
use super::page::{pair, texts};
use crate::select::in_store;
use crate::stored::texts as texts_of;
use crate::text::{bytes, escape, number};
use hapax_data::files::NewFile;
use hapax_data::{
    CauseReport, CurrentTables, Heads, LogStats, Result, Row, Rows, Texts, canonical_of,
    must_hold_pages, unwritable,
};
use hapax_dedup::Policy;

const STYLE: &str = include_str!("style.css");

/// Writes the report with at most `pairs` pairs and returns their number: causes and advice first, or the reason why
/// there is no advice. The file loads no other resources.
///
/// # Errors
/// `data` is not a data directory with pages, its log or index is damaged, or the file cannot be written.
pub fn report(
    file: &Path,
    pairs: usize,
    data: &Path,
    policy: &Policy,
    advised: &std::result::Result<Advice, String>,
) -> Result<usize> {
    must_hold_pages(data)?;
    let rows = Rows::open(data)?;
    let stored = texts_of(data)?;
    // The least similar pairs first, because they are the ones to review.
    let mut wanted: Vec<_> = rows.discarded().filter(|row| !row.is_alias()).collect();
    wanted.sort_by_key(|row| (row.similarity, row.offset));
    let total = wanted.len();
    let mut tables = CurrentTables::default();
    tables.refresh(data);
    let heads = Heads::new(&rows, tables.store());
    let first = wanted.iter().take(pairs).copied();
    let shown = first.map(|row| listed(row, &heads, &stored)).collect::<Result<Vec<_>>>()?;
    let dirs = [data.to_owned()];
    let stats = LogStats::of(&heads)?;
    let found = CauseReport::of(data, &rows, tables.store())?;
    let last = rows.all().iter().map(|row| row.time).max().unwrap_or(0);
    let last = format_time(UNIX_EPOCH + Duration::from_secs(last));
    let name = title(&stats);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                title { (name) " - Hapax" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header { strong { "Hapax" } span { "Discarded duplicates" } }
                main {
                    h1 { (name) }
                    p.dim { "The last duplicate was found at " (last) "." }
                    (causes(&found, false))
                    @match advised {
                        Ok(advised) => (advice(advised)),
                        Err(error) => p { "No advice: " (escape(error)) },
                    }
                    (legend())
                    (drawing_legend())
                    (summary(&stats, &dirs, policy, false))
                    h2 { (number(shown.len() as u64)) " of " (number(total as u64)) " pairs, the least alike first" }
                    div.columns.head { span { "kind" } span { "cause" } span { "canonical" } span { "similarity" } span { "bytes" } span.urls { "discarded = kept" } }
                    @for pair in shown { div.card.pair { (pair) } }
                }
            }
        }
    };
    NewFile::create(file)
        .and_then(|mut out| {
            out.write_all(page.into_string().as_bytes())?;
            out.finish()
        })
        .map_err(|error| unwritable(file, &error))?;
    Ok(wanted.len().min(pairs))
}

/// A pair: its columns, and below them its facts and texts.
fn listed(row: &Row, heads: &Heads<'_>, stored: &Texts) -> Result<Markup> {
    let pair_shown = heads.shown(row)?;
    let entry = &pair_shown.entry;
    let line = heads.rows.line(row)?;
    let canonical = canonical_of(&line, &entry.of.url, heads)?;
    Ok(html! {
        details {
            summary {
                span.columns {
                    span { (entry.kind) }
                    span { @if entry.cause.is_empty() { "-" } @else { (escape(&entry.cause.join(", "))) } }
                    span { (state_tag(canonical)) }
                    span { @if let Some(similarity) = entry.similarity { (format!("{similarity:.2}")) } @else { "-" } }
                    span { (bytes(entry.bytes)) }
                    span.urls { (escape(&entry.url)) " = " (escape(&entry.of.url)) (in_store(entry)) }
                }
            }
            (pair(&pair_shown, canonical, None, false))
            (texts(entry, &line, stored, || None))
        }
    })
}
