//! The page of near misses: kept pages that are nearly duplicates of another one, thin pages, repeated titles and
//! descriptions.

use std::path::PathBuf;

use hapax_data::{
    Error, KeptPage, NEAR_MISSES, NearMiss, NearMissOptions, NearMissTotals, NearMisses, Result,
    SameValue,
};
use maud::{Markup, html};
use serde::Deserialize;

use super::computed::{Computed, Got, PATIENCE};
use super::pager::{PAGE, address, pager};
use super::views::kept_link;
use crate::text::{counted, escape, number};

/// Smallest similarity of a closest page without another request.
const SIMILARITY: f64 = 0.3;
/// Pages of a repeated value that are listed.
const MAX_LISTED: usize = 10;
/// The last page of the list: each one reads the lines before it.
const MAX_PAGE: usize = 200;

/// The fields of the form.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct NearQuery {
    kind: String,
    similarity: String,
    dir: usize,
    page: usize,
}

/// Starts the search in all directories, or returns its result.
pub(super) fn found(
    computed: &Computed<Vec<NearMisses>>,
    dirs: &[PathBuf],
) -> Got<Vec<NearMisses>> {
    let own = dirs.to_vec();
    computed.get("near", dirs, PATIENCE, move || {
        own.iter().map(|data| NearMisses::find(data).map_err(|error| error.to_string())).collect()
    })
}

impl NearQuery {
    fn kind(&self) -> Result<&'static str> {
        match self.kind.as_str() {
            "" => Ok("closest"),
            kind => NEAR_MISSES.into_iter().find(|known| *known == kind).ok_or_else(|| {
                Error::Invalid(format!("kind {kind}: use {}", NEAR_MISSES.join(", ")))
            }),
        }
    }

    fn similarity(&self) -> Result<f64> {
        match self.similarity.trim() {
            "" => Ok(SIMILARITY),
            text => {
                text.parse().ok().filter(|value| (0.0..=1.0).contains(value)).ok_or_else(|| {
                    Error::Invalid(format!("similarity {text}: give a number from 0 to 1"))
                })
            }
        }
    }

    fn at(&self, page: usize) -> String {
        let (dir, page) = (self.dir.to_string(), page.to_string());
        let dir = if self.dir > 0 { dir.as_str() } else { "" };
        let values = [
            ("kind", &*self.kind),
            ("similarity", &self.similarity),
            ("dir", dir),
            ("page", &page),
        ];
        address("/near", &values)
    }
}

/// The page.
pub(super) fn near(
    found: Got<Vec<NearMisses>>,
    dirs: &[PathBuf],
    query: &NearQuery,
) -> Result<Markup> {
    let (kind, similarity) = (query.kind()?, query.similarity()?);
    let at = query.page.min(MAX_PAGE);
    found.page(("Near misses", "/near"), dirs, |all| {
        let misses = all.get(query.dir);
        let misses = misses
            .ok_or_else(|| Error::Invalid(format!("there is no data directory {}", query.dir)))?;
        let kinds = [kind.to_owned()];
        let lines = (at + 1) * PAGE;
        let options = NearMissOptions { kinds: &kinds, similarity, lines };
        let mut shown = Vec::new();
        let mut read = 0;
        let totals = misses.lines(&options, |miss| -> Result<()> {
            if read >= at * PAGE {
                shown.push(item(&miss, (dirs.len(), query.dir)));
            }
            read += 1;
            Ok(())
        })?;
        // The number of closest pages from a similarity on is not counted: a full page has a next one.
        let total = match kind {
            "closest" if read == lines => lines + 1,
            "closest" => read,
            kind => usize::try_from(count(&totals, kind)).unwrap_or(usize::MAX),
        };
        Ok(html! {
            h1 { "Near misses" }
            (summary(&totals))
            (form(query, kind, dirs))
            @if shown.is_empty() { p { "None." } }
            ol.rows { @for item in shown { (item) } }
            (pager(at, total.min((MAX_PAGE + 1) * PAGE), |page| query.at(page)))
        })
    })
}

const fn count(totals: &NearMissTotals, kind: &str) -> u64 {
    match kind.as_bytes() {
        b"thin" => totals.thin,
        b"title" => totals.title,
        b"description" => totals.description,
        _ => totals.closest,
    }
}

fn summary(totals: &NearMissTotals) -> Markup {
    html! {
        p {
            "Of " (counted(totals.pages, "kept page")) ", " (number(totals.closest)) " have a similar other one and "
            (number(totals.thin)) " are thin. On one site, " (counted(totals.title, "title")) " and "
            (counted(totals.description, "description")) " occur on several pages."
        }
        @if totals.large_bands > 0 { p.dim { "Many pages share a template. A closer page may be missing." } }
    }
}

fn form(query: &NearQuery, kind: &str, dirs: &[PathBuf]) -> Markup {
    let names = ["closest pages", "thin pages", "same title", "same description"];
    html! {
        form.filter method="get" action="/near" role="search" {
            label { "kind" select name="kind" {
                @for (value, name) in NEAR_MISSES.into_iter().zip(names) { option value=(value) selected[value == kind] { (name) } }
            } }
            @if kind == "closest" {
                label { "similarity from" input name="similarity" value=(query.similarity) placeholder=(SIMILARITY) size="6"; }
            }
            @if dirs.len() > 1 {
                label { "directory" select name="dir" {
                    @for (at, dir) in dirs.iter().enumerate() {
                        option value=(at) selected[at == query.dir] { (escape(&dir.display().to_string())) }
                    }
                } }
            }
            button.main { "Show" }
        }
    }
}

fn item(miss: &NearMiss, dirs: (usize, usize)) -> Markup {
    let kept =
        |page: &KeptPage| html! { a href=(kept_link(dirs, page.id)) { (escape(&page.url)) } };
    let same = |name: &str, same: &SameValue| {
        html! {
            div { b { (escape(&same.text)) } }
            div.meta { span { "the same " (name) " on " (counted(same.pages as u64, "page")) } }
            ul { @for page in same.listed.iter().take(MAX_LISTED) { li { (kept(page)) } } }
            @if same.pages > MAX_LISTED { p.dim { "and " (number((same.pages - MAX_LISTED) as u64)) " more" } }
        }
    };
    html! {
        li {
            @match miss {
                NearMiss::Closest { page, closest } => {
                    div { (kept(page)) }
                    @match closest {
                        Some(other) => {
                            div { "≈ " (kept(&other.page)) }
                            div.meta { span.tag { "similarity " (format!("{:.2}", other.similarity)) } span { "distance " (other.distance) } }
                        },
                        None => div.dim { "no similar page" },
                    }
                },
                NearMiss::Thin { page, words } => {
                    div { (kept(page)) }
                    div.meta { span.tag { (counted(u64::from(*words), "content word")) } }
                },
                NearMiss::Title(value) => (same("title", value)),
                NearMiss::Description(value) => (same("description", value)),
            }
        }
    }
}
