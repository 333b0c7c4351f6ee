//! Lists: discarded pages, skipped URLs, search results.

use std::collections::{BTreeMap, HashMap, HashSet};

use hapax_data::{
    DuplicateKind, Heads, Result, Row, Shown, SkipReason, Skipped, WantedCause, skipped_lines,
};
use hapax_extract::jieba;
use hapax_frontier::DiskFrontier;
use hapax_index::{Hit, Searcher};
use maud::{Markup, html};
use serde::Deserialize;

use super::page::link;
use super::pager::{PAGE, address, pager};
use super::views::{View, frame};
use crate::filter::{Filter, Order};
use crate::select::{gone_told, in_store, wanted};
use crate::stored::advised;
use crate::text::{bytes, escape, number};

const HITS: usize = 30;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ListQuery {
    host: String,
    kind: String,
    distance: String,
    similarity: String,
    language: String,
    since: String,
    text: String,
    cause: String,
    restored: String,
    sort: String,
    page: usize,
}

impl ListQuery {
    /// The rows of this query, in order, each with the number of its directory.
    fn wanted(&self, view: View<'_>) -> Result<Vec<(usize, Row)>> {
        let some = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let filter = Filter {
            host: some(&self.host),
            kind: some(&self.kind),
            distance: some(&self.distance),
            similarity: some(&self.similarity),
            since: some(&self.since),
            until: None,
            language: some(&self.language),
            text: some(&self.text),
            cause: some(&self.cause),
            restored: !self.restored.is_empty(),
        };
        let sort = Order::parse(&self.sort);
        let mut all = Vec::new();
        for (dir, rows) in view.rows.iter().enumerate() {
            // Newest first by default.
            let found = wanted(rows, (&filter, sort, sort.is_none()))?;
            all.extend(found.into_iter().map(|row| (dir, row)));
        }
        // The rows of one log are in order.
        if view.rows.len() > 1 {
            let order = sort.unwrap_or_default();
            let log = |dir: usize| view.rows.get(dir);
            all.sort_by(|(a_dir, a), (b_dir, b)| match (log(*a_dir), log(*b_dir)) {
                (Some(a_log), Some(b_log)) if sort.is_none() => {
                    order.compare_across((b_log, b), (a_log, a))
                }
                (Some(a_log), Some(b_log)) => order.compare_across((a_log, a), (b_log, b)),
                _ => std::cmp::Ordering::Equal,
            });
        }
        Ok(all)
    }

    /// The link to the same list at another page.
    fn at(&self, page: usize) -> String {
        let page = page.to_string();
        address(
            "/list",
            &[
                ("host", &self.host),
                ("kind", &self.kind),
                ("distance", &self.distance),
                ("similarity", &self.similarity),
                ("language", &self.language),
                ("since", &self.since),
                ("text", &self.text),
                ("cause", &self.cause),
                ("restored", &self.restored),
                ("sort", &self.sort),
                ("page", &page),
            ],
        )
    }
}

fn form(query: &ListQuery) -> Markup {
    let input = |name: &str, label: &str, value: &str, example: &str| {
        html! { label { (label) input name=(name) value=(value) placeholder=(example) size="9"; } }
    };
    let causes = WantedCause::names().filter(|cause| *cause != "parameter:NAME");
    let is_named = query.cause.starts_with("parameter:");
    let orders = ["distance", "similarity", "host", "bytes"];
    html! {
        form.filter method="get" action="/list" role="search" {
            label { "URL or title" input type="search" name="text" value=(query.text) placeholder="any words"; }
            label { "kind" select name="kind" {
                option value="" { "all" }
                @for kind in DuplicateKind::ALL { option value=(kind) selected[query.kind == kind.as_str()] { (kind) } }
            } }
            label { "cause" select name="cause" {
                option value="" { "all" }
                @for cause in causes { option value=(cause) selected[query.cause == cause] { (cause) } }
                @if is_named { option value=(query.cause) selected { (escape(&query.cause)) } }
            } }
            (input("host", "host", &query.host, "a.example"))
            (input("distance", "distance", &query.distance, "0..3"))
            (input("similarity", "similarity", &query.similarity, "0.5..0.7"))
            (input("language", "language", &query.language, "zh"))
            (input("since", "since", &query.since, "2026-11-20"))
            label { "order" select name="sort" {
                option value="" { "newest first" }
                @for order in orders { option value=(order) selected[query.sort == order] { (order) } }
            } }
            label { "state" select name="restored" {
                option value="" { "all" }
                option value="1" selected[!query.restored.is_empty()] { "restored" }
            } }
            button.main { "Show" }
        }
    }
}

pub(super) fn list(view: View<'_>, query: &ListQuery) -> Result<Markup> {
    let found = query.wanted(view)?;
    let total: usize = view.rows.iter().map(|rows| rows.all().len()).sum();
    let heads = view.heads();
    let mut shown = Vec::new();
    for (dir, row) in found.iter().skip(query.page.saturating_mul(PAGE)).take(PAGE) {
        if let Some(heads) = heads.get(*dir) {
            shown.push(item(heads, row, &view.link(*dir, row.id))?);
        }
    }
    let body = html! {
        h1 { (number(found.len() as u64)) " discarded pages" @if found.len() != total { " of " (number(total as u64)) } }
        (form(query))
        p.keys.dim { kbd { "j" } " " kbd { "k" } " move, " kbd { "Enter" } " opens, " kbd { "n" } " " kbd { "p" } " turn the page, " kbd { "/" } " searches" }
        ol.rows { @for item in shown { (item) } }
        (pager(query.page, found.len(), |page| query.at(page)))
    };
    Ok(frame("Discarded", "/list", view.dirs, body))
}

fn item(heads: &Heads<'_>, row: &Row, link: &str) -> Result<Markup> {
    let (rows, Shown { entry, gone, .. }) = (heads.rows, heads.shown(row)?);
    let title = if entry.title.trim().is_empty() { &entry.url } else { &entry.title };
    Ok(html! {
        li {
            a href=(link) { (escape(title)) }
            div { (escape(&entry.url)) }
            div.dim { "= " (escape(&entry.of.url)) (gone_told(gone)) (in_store(&entry)) }
            div.meta {
                span.tag { (entry.kind) }
                @for cause in &entry.cause { span { (escape(cause)) } }
                @if let Some(distance) = entry.distance { span { "distance " (distance) } }
                @if let Some(similarity) = entry.similarity { span { "similarity " (format!("{similarity:.2}")) } }
                span { (bytes(entry.bytes)) }
                span { (escape(&entry.time)) }
                @if rows.decisions.restored(entry.id).is_some() { span.tag.on { "restored" } }
                @if rows.decisions.took_over(entry.id) { span.tag.on { "kept now" } }
                @if rows.decisions.ended(entry.id) { span.tag { "no more" } }
            }
        }
    })
}

/// The fields of the form for skipped URLs.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SkipQuery {
    reason: String,
    text: String,
}

/// The number of newest lines shown.
const LINES: usize = 200;

pub(super) fn skipped(view: View<'_>, query: &SkipQuery) -> Markup {
    let mut counts: BTreeMap<SkipReason, u64> = BTreeMap::new();
    let mut newest = std::collections::VecDeque::new();
    for data in view.dirs {
        let frontier = data.join("frontier");
        let is_there = DiskFrontier::is_there(&frontier);
        let frontier =
            is_there.then(|| DiskFrontier::open(&frontier, Default::default()).ok()).flatten();
        let mut own = std::collections::VecDeque::new();
        skipped_lines(data, frontier.as_ref(), |line| {
            let Ok(line) = Skipped::parse(line) else { return };
            let wanted = (query.reason.is_empty() || query.reason == line.reason.as_str())
                && (query.text.is_empty() || line.url.contains(&query.text));
            *counts.entry(line.reason).or_default() += 1;
            if wanted {
                own.push_front(line);
                own.truncate(LINES);
            }
        });
        newest.append(&mut own);
    }
    if view.dirs.len() > 1 {
        newest.make_contiguous().sort_by(|a, b| b.time.cmp(&a.time));
        newest.truncate(LINES);
    }
    let total: u64 = counts.values().sum();
    let body = html! {
        h1 { (number(total)) " URLs were not fetched or not used" }
        form.filter method="get" action="/skipped" role="search" {
            label { "reason" select name="reason" {
                option value="" { "all" }
                @for (reason, count) in &counts {
                    option value=(reason) selected[reason.as_str() == query.reason] { (reason) " (" (number(*count)) ")" }
                }
            } }
            label { "URL" input type="search" name="text" value=(query.text); }
            button.main { "Show" }
        }
        p.dim { "The newest " (newest.len()) "." }
        table.plain.stacked {
            thead { tr { th { "reason" } th { "URL" } th { "detail" } th { "linked from" } th { "when" } } }
            tbody { @for line in &newest {
                tr {
                    td data-label="reason" { (line.reason) }
                    td data-label="URL" { (link(&line.url)) }
                    td data-label="detail" { (escape(&line.detail)) }
                    td data-label="linked from" { @for from in &line.from { div { (link(from)) } } }
                    td.dim data-label="when" { (escape(&line.time)) }
                }
            } }
        }
    };
    frame("Skipped", "/skipped", view.dirs, body)
}

/// The best hits of all directories, each URL once, and their total.
fn hits(view: View<'_>, words: &str) -> Result<(Vec<(usize, Hit)>, usize)> {
    let (mut all, mut total) = (Vec::new(), 0);
    for (dir, data) in view.dirs.iter().enumerate() {
        let searcher =
            Searcher::open(&data.join("index"), jieba).map_err(|error| advised(data, error))?;
        let (hits, found) = searcher.search(words, HITS)?;
        all.extend(hits.into_iter().map(|hit| (dir, hit)));
        total += found;
    }
    if view.dirs.len() > 1 {
        all.sort_by(|(_, a), (_, b)| b.score.total_cmp(&a.score).then_with(|| a.url.cmp(&b.url)));
        let (mut seen, before) = (HashSet::new(), all.len());
        all.retain(|(_, hit)| seen.insert(hit.url.clone()));
        total -= before - all.len();
        all.truncate(HITS);
    }
    Ok((all, total))
}

/// Returns the number of copies of each kept page by its URL.
fn copies_of(view: View<'_>, hits: &[(usize, Hit)]) -> Result<HashMap<String, u64>> {
    let mut copies = HashMap::new();
    if let [rows] = view.rows {
        let by_number = hapax_data::copies(rows);
        let own = |(_, hit): &(usize, Hit)| Some((hit.url.clone(), *by_number.get(&hit.id)?));
        copies.extend(hits.iter().filter_map(own));
        return Ok(copies);
    }
    // Any of them may have a page's copies.
    for rows in view.rows {
        for row in rows.discarded().filter(|row| !row.is_alias()) {
            *copies.entry(rows.entry(row)?.of.url).or_default() += 1;
        }
    }
    Ok(copies)
}

pub(super) fn search(view: View<'_>, words: &str) -> Result<Markup> {
    let found = if words.trim().is_empty() { None } else { Some(hits(view, words)?) };
    let copies =
        found.as_ref().map(|(hits, _)| copies_of(view, hits)).transpose()?.unwrap_or_default();
    let body = html! {
        h1 { "Search the kept pages" }
        form.filter method="get" action="/search" role="search" {
            label { "words" input type="search" name="q" value=(words) placeholder="river spring, 北京大学" autofocus; }
            button.main { "Search" }
        }
        @if let Some((hits, total)) = &found {
            p.dim { (number(*total as u64)) " found" }
            ol.rows { @for (dir, hit) in hits {
                li {
                    a href=(view.kept_link(*dir, hit.id)) { @if hit.title.is_empty() { "(no title)" } @else { (escape(&hit.title)) } }
                    div { (link(&hit.url)) }
                    div { (escape(&hit.snippet)) }
                    div.meta {
                        span { (escape(&hit.language)) } span { (escape(&hit.fetched)) }
                        @if let Some(count) = copies.get(&hit.url) { span.tag { "represents " (count) " more" } }
                    }
                }
            } }
        }
    };
    Ok(frame("Search", "/search", view.dirs, body))
}
