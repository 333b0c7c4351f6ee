//! The page of changes: what the last run, or all runs since a time, changed.

use std::path::PathBuf;

use hapax_data::{ChangeKind, Changes, Error, PageChange, Result, Since};
use maud::{Markup, html};
use serde::Deserialize;

use super::computed::{Computed, Got, PATIENCE};
use super::page::link;
use super::pager::{PAGE, address, pager};
use crate::text::{counted, escape, number};

const KINDS: [ChangeKind; 4] =
    [ChangeKind::New, ChangeKind::Changed, ChangeKind::Moved, ChangeKind::Gone];

/// The fields of the form.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChangeQuery {
    since: String,
    /// One page, with the difference of its texts.
    url: String,
    kind: String,
    page: usize,
}

impl ChangeQuery {
    fn at(&self, url: &str, page: usize) -> String {
        let page = if page > 0 { page.to_string() } else { String::new() };
        let values = [("since", &*self.since), ("url", url), ("kind", &self.kind), ("page", &page)];
        address("/changes", &values)
    }
}

/// Starts reading the events of all directories, or returns the changes.
pub(super) fn found(
    computed: &Computed<Vec<Changes>>,
    dirs: &[PathBuf],
    query: &ChangeQuery,
) -> Result<Got<Vec<Changes>>> {
    let since = match query.since.trim() {
        "" => Since::LastRun,
        since => Since::parse(since)?,
    };
    let url = Some(query.url.clone()).filter(|url| !url.is_empty());
    let (own, wanted) = (dirs.to_vec(), format!("{}\n{}", query.since.trim(), query.url));
    Ok(computed.get(&wanted, dirs, PATIENCE, move || {
        let read = |data: &PathBuf| Changes::read(data, &since, url.as_deref(), url.is_some());
        own.iter().map(|data| read(data).map_err(|error| error.to_string())).collect()
    }))
}

/// The page.
pub(super) fn changes(
    found: Got<Vec<Changes>>,
    dirs: &[PathBuf],
    query: &ChangeQuery,
) -> Result<Markup> {
    let kind = match query.kind.as_str() {
        "" => None,
        name => Some(KINDS.into_iter().find(|kind| kind.as_str() == name).ok_or_else(|| {
            let known = KINDS.map(ChangeKind::as_str).join(", ");
            Error::Invalid(format!("kind {name}: use {known}"))
        })?),
    };
    found.page(("Changes", "/changes"), dirs, |all| {
        let of_kind = |kind: ChangeKind| {
            all.iter().flat_map(|dir| &dir.pages).filter(|page| page.change == kind).count()
        };
        let pages: Vec<&PageChange> = all
            .iter()
            .flat_map(|dir| &dir.pages)
            .filter(|page| kind.is_none_or(|kind| page.change == kind))
            .collect();
        let runs = all.iter().filter_map(|dir| dir.run.as_ref());
        let shown = pages.iter().skip(query.page.saturating_mul(PAGE)).take(PAGE);
        Ok(html! {
            h1 { (counted(pages.len() as u64, "changed page")) }
            @for run in runs { p.dim { "since run " (run.run) ", which began at " (escape(&run.begun)) } }
            form.filter method="get" action="/changes" role="search" {
                label { "since" input name="since" value=(query.since) placeholder="run, day or time" size="14"; }
                label { "kind" select name="kind" {
                    option value="" { "all" }
                    @for kind in KINDS {
                        option value=(kind.as_str()) selected[query.kind == kind.as_str()] { (kind.as_str()) " (" (number(of_kind(kind) as u64)) ")" }
                    }
                } }
                label { "URL" input type="search" name="url" value=(query.url) placeholder="one page, with its difference"; }
                button.main { "Show" }
            }
            ol.rows { @for page in shown { (item(page, query)) } }
            (pager(query.page, pages.len(), |page| query.at(&query.url, page)))
        })
    })
}

fn item(page: &PageChange, query: &ChangeQuery) -> Markup {
    let has_texts = page.change == ChangeKind::Changed && query.url.is_empty();
    html! {
        li {
            div { span.tag { (page.change.as_str()) } " " (link(&page.url)) }
            @if let Some(of) = &page.of { div.dim { "→ " (escape(&of.url)) } }
            div.meta {
                @if let Some(similarity) = page.similarity { span { "similarity " (format!("{similarity:.2}")) } }
                @if let Some(why) = &page.why { span { (escape(why)) } }
                span { (escape(&page.time)) }
                @if has_texts { a href=(query.at(&page.url, 0)) { "difference" } }
            }
            @if let Some(pieces) = &page.diff {
                ul { @for piece in pieces {
                    li {
                        @if !piece.removed.is_empty() { del { (escape(&piece.removed)) } " " }
                        @if !piece.added.is_empty() { ins { (escape(&piece.added)) } }
                    }
                } }
            } @else if !query.url.is_empty() && page.change == ChangeKind::Changed {
                p.dim { "A text is missing: the archive has only one of the two (--no-warc)." }
            }
        }
    }
}
