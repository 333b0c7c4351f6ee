//! The page of passages: runs of text that several kept pages contain. A button starts the search, because it reads all
//! texts and needs temporary files.

use std::path::PathBuf;

use hapax_data::{
    Error, PassageKind, PassageLine, PassageList, PassageOptions, PassagePlace, PassageTotals,
    Result,
};
use maud::{Markup, html};
use serde::Deserialize;

use super::computed::{Computed, PATIENCE};
use super::pager::{PAGE, address, pager};
use super::views::{frame, kept_link};
use crate::text::{counted, escape, number};

const TITLE: (&str, &str) = ("Passages", "/passages");
/// Words of a passage, as in `crawl duplicates passages`.
const WORDS: std::ops::RangeInclusive<usize> = 8..=10_000;

/// The fields of the form.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PassageQuery {
    kind: String,
    words: String,
    dir: usize,
    page: usize,
    /// Not empty to start the search.
    start: String,
}

impl PassageQuery {
    fn kind(&self) -> Result<PassageKind> {
        let mut kinds = PassageKind::ALL.into_iter();
        match self.kind.as_str() {
            "" => Ok(PassageKind::Copied),
            kind => kinds.find(|known| known.name() == kind).ok_or_else(|| {
                let names = PassageKind::ALL.map(PassageKind::name);
                Error::Invalid(format!("kind {kind}: use {}", names.join(", ")))
            }),
        }
    }

    fn words(&self) -> Result<usize> {
        match self.words.trim() {
            "" => Ok(PassageOptions::default().min_words),
            text => text.parse().ok().filter(|words| WORDS.contains(words)).ok_or_else(|| {
                let (low, high) = (WORDS.start(), WORDS.end());
                Error::Invalid(format!("words {text}: give a number from {low} to {high}"))
            }),
        }
    }

    fn at(&self, page: usize) -> String {
        let (dir, page) = (self.dir.to_string(), page.to_string());
        let dir = if self.dir > 0 { dir.as_str() } else { "" };
        let values = [("kind", &*self.kind), ("words", &self.words), ("dir", dir), ("page", &page)];
        address(TITLE.1, &values)
    }
}

/// The page: the result of the last search, or the form that starts one.
pub(super) fn passages(
    computed: &Computed<Vec<PassageList>>,
    dirs: &[PathBuf],
    query: &PassageQuery,
) -> Result<Markup> {
    let (kind, words) = (query.kind()?, query.words()?);
    if query.dir >= dirs.len() {
        return Err(Error::Invalid(format!("there is no data directory {}", query.dir)));
    }
    let wanted = words.to_string();
    let found = if query.start.is_empty() {
        computed.known(&wanted, dirs)
    } else {
        let own = dirs.to_vec();
        Some(computed.get(&wanted, dirs, PATIENCE, move || {
            let find = |data: &PathBuf| PassageList::find(data, words);
            own.iter().map(|data| find(data).map_err(|error| error.to_string())).collect()
        }))
    };
    let Some(found) = found else {
        let body = html! {
            h1 { "Passages" }
            p { "A passage is a run of words that several kept pages contain." }
            p.dim {
                "The search reads the text of each kept page once. It writes temporary files of about 14 bytes a word into the data directory. "
                "With 1,000,000 pages it can take 20 minutes; this page can be closed meanwhile."
            }
            (form(query, kind, dirs, true))
        };
        return Ok(frame(TITLE.0, TITLE.1, dirs, body));
    };
    found.page(TITLE, dirs, |all| {
        let list = all.get(query.dir);
        let lines = list.map_or(&[][..], |list| list.of(kind));
        let shown = lines.iter().skip(query.page.saturating_mul(PAGE)).take(PAGE);
        let totals = list.map(|list| list.totals).unwrap_or_default();
        let total = count(&totals, kind);
        Ok(html! {
            h1 { "Passages" }
            (summary(&totals))
            (form(query, kind, dirs, false))
            @if total > lines.len() as u64 {
                p.dim { "The first " (number(lines.len() as u64)) " of " (number(total)) ". The others: " code { "crawl duplicates passages --kind " (kind.name()) " --json" } }
            }
            @if lines.is_empty() { p { "None." } }
            ol.rows { @for line in shown { (item(line, (dirs.len(), query.dir))) } }
            (pager(query.page, lines.len(), |page| query.at(page)))
        })
    })
}

const fn count(totals: &PassageTotals, kind: PassageKind) -> u64 {
    match kind {
        PassageKind::Copied => totals.copied,
        PassageKind::Boilerplate => totals.boilerplate,
        PassageKind::Near => totals.near,
        PassageKind::Part => totals.part,
    }
}

fn summary(totals: &PassageTotals) -> Markup {
    let sources = &totals.sources;
    html! {
        p {
            (counted(totals.copied, "passage")) " on several pages, " (number(totals.boilerplate)) " that a site repeats, "
            (counted(totals.near, "pair")) " of nearly equal passages, " (counted(totals.part, "page"))
            " contained in another page. " (counted(totals.pages, "page")) " with " (counted(totals.words, "word")) " were searched."
        }
        @if sources.none > 0 {
            p.dim { (counted(sources.none, "page")) " without a stored text: not searched. " code { "crawl upgrade" } " adds texts." }
        }
        @if totals.repeated_anchors > 0 { p.dim { "Some pages repeat themselves: not each of their repetitions is listed." } }
        @if totals.beyond_limit > 0 { p.dim { "Too many passages. Search with more words." } }
    }
}

fn form(query: &PassageQuery, kind: PassageKind, dirs: &[PathBuf], is_first: bool) -> Markup {
    let names = ["copied", "boilerplate of a site", "nearly equal", "part of another page"];
    html! {
        form.filter method="get" action=(TITLE.1) role="search" {
            label { "kind" select name="kind" {
                @for (value, name) in PassageKind::ALL.into_iter().zip(names) {
                    option value=(value.name()) selected[value == kind] { (name) }
                }
            } }
            label { "words from" input name="words" value=(query.words) placeholder=(PassageOptions::default().min_words) inputmode="numeric" size="6"; }
            @if dirs.len() > 1 {
                label { "directory" select name="dir" {
                    @for (at, dir) in dirs.iter().enumerate() {
                        option value=(at) selected[at == query.dir] { (escape(&dir.display().to_string())) }
                    }
                } }
            }
            @if !is_first { button.main { "Show" } }
            button.main[is_first] name="start" value="1" { @if is_first { "Start the search" } @else { "Search again" } }
        }
    }
}

fn item(line: &PassageLine, dirs: (usize, usize)) -> Markup {
    let percent = format!("{:.0} %", line.similarity * 100.0);
    let more = (line.places as usize).saturating_sub(line.listed.len());
    html! {
        li {
            div { "“" (escape(&line.text)) "”" }
            div.meta {
                span.tag { (line.kind.name()) }
                span { (counted(u64::from(line.words), "word")) }
                @match line.kind {
                    PassageKind::Near => span { (percent) " equal" },
                    PassageKind::Part => span { (percent) " of the first page are in the second" },
                    PassageKind::Copied | PassageKind::Boilerplate => {
                        span { "on " (counted(u64::from(line.pages), "page")) " of " (counted(u64::from(line.sites), "site")) }
                    },
                }
                @if let (PassageKind::Boilerplate, Some((site, pages))) = (line.kind, &line.site) {
                    span { (number(u64::from(*pages))) " of " (escape(site)) }
                }
            }
            ul { @for place in &line.listed { li { (shown(place, dirs)) } } }
            @if more > 0 { p.dim { "and " (counted(more as u64, "more place")) } }
        }
    }
}

fn shown(place: &PassagePlace, dirs: (usize, usize)) -> Markup {
    html! {
        a href=(kept_link(dirs, place.id)) { (escape(&place.url)) }
        span.dim { " line " (number(place.line as u64)) }
    }
}
