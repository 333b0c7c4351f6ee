//! The layout of every page, and the overview.

use std::path::Path;

use hapax_dedup::Policy;
use maud::{DOCTYPE, Markup, html};

use super::charts::{bars, columns};
use crate::text::{bytes, escape, number};
use hapax_crawl::Summary;
use hapax_data::{LogStats, Result, Rows, SIMILARITY_CLASSES, is_locked};

const HOSTS: usize = 12;
/// Days in the chart.
const DAYS: usize = 60;

const MENU: [(&str, &str); 5] = [
    ("/", "Overview"),
    ("/list", "Discarded"),
    ("/clusters", "Clusters"),
    ("/skipped", "Skipped"),
    ("/search", "Search"),
];

pub(super) fn frame(title: &str, here: &str, data: &Path, body: Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (escape(title)) " - Hapax" }
                link rel="stylesheet" href="/style.css";
                script src="/script.js" defer {}
            }
            body {
                header {
                    strong { "Hapax" }
                    nav aria-label="Pages" {
                        @for (path, name) in MENU {
                            @if path == here {
                                a href=(path) aria-current="page" { (name) }
                            } @else {
                                a href=(path) { (name) }
                            }
                        }
                    }
                    span.where { (escape(&data.display().to_string())) }
                }
                main { (body) }
            }
        }
    }
}

pub(super) fn error_page(message: &str) -> Markup {
    let body = html! { h1 { "This did not work" } p.notice.bad { (escape(message)) } p { a href="/" { "Overview" } } };
    frame("Error", "", Path::new(""), body)
}

fn tile(value: &str, name: &str) -> Markup {
    html! { div.tile { b { (value) } span { (name) } } }
}

/// The overview, with counts and charts.
pub(super) fn overview(rows: &Rows, data: &Path, policy: &Policy) -> Result<Markup> {
    Ok(frame("Overview", "/", data, summary(rows, data, policy, true)))
}

/// A row of a chart: name, link, value, and the value in words.
type Bar = (String, Option<String>, u64, String);

/// The charts with named rows.
struct Charts {
    causes: Vec<Bar>,
    hosts: Vec<Bar>,
    kinds: Vec<Bar>,
    languages: Vec<Bar>,
}

impl Charts {
    fn of(stats: &LogStats, links: bool) -> Self {
        let hosts: Vec<Bar> = stats
            .hosts
            .iter()
            .take(HOSTS)
            .map(|host| {
                let query = url::form_urlencoded::Serializer::new(String::new())
                    .append_pair("host", &host.host)
                    .finish();
                let link = links.then(|| format!("/list?{query}"));
                (
                    escape(&host.host),
                    link,
                    host.discarded,
                    format!("{} · {}", number(host.discarded), bytes(host.bytes)),
                )
            })
            .collect();
        let kinds: Vec<Bar> = stats
            .kinds
            .iter()
            .map(|(kind, count)| {
                (
                    (*kind).to_owned(),
                    links.then(|| format!("/list?kind={kind}")),
                    *count,
                    number(*count),
                )
            })
            .collect();
        let languages: Vec<Bar> = stats
            .languages
            .iter()
            .map(|(language, count)| {
                let link =
                    (links && language.len() == 2).then(|| format!("/list?language={language}"));
                (escape(language), link, *count, number(*count))
            })
            .collect();
        let mut causes: Vec<Bar> = stats
            .causes
            .iter()
            .map(|(cause, count)| {
                let link = links.then(|| format!("/list?cause={cause}"));
                ((*cause).to_owned(), link, *count, number(*count))
            })
            .collect();
        causes.sort_by_key(|cause| std::cmp::Reverse(cause.2));
        Self { causes, hosts, kinds, languages }
    }
}

/// The overview's content without the frame; `links` adds links to the lists.
pub(super) fn summary(rows: &Rows, data: &Path, policy: &Policy, links: bool) -> Markup {
    let stats = LogStats::of(rows);
    let crawl = std::fs::read(data.join("summary.json")).ok();
    let crawl: Option<Summary> = crawl.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let fetched = crawl.as_ref().map_or(0, |summary| summary.pages.fetched);
    let share = match fetched {
        0 => "-".to_owned(),
        fetched => format!("{:.1} %", 100.0 * stats.discarded as f64 / fetched as f64),
    };
    let distances: Vec<String> = (0..stats.distances.len())
        .map(|at| if at + 1 == stats.distances.len() { format!("{at}+") } else { at.to_string() })
        .collect();
    let classes: Vec<String> = (0..SIMILARITY_CLASSES)
        .map(|at| format!("{:.2}", at as f64 / SIMILARITY_CLASSES as f64))
        .collect();
    let days: Vec<(&String, &u64)> = stats.days.iter().rev().take(DAYS).collect();
    let (names, counts): (Vec<String>, Vec<u64>) = days
        .into_iter()
        .rev()
        .map(|(day, count)| (day.get(5..).unwrap_or(day).to_owned(), *count))
        .unzip();
    let Charts { causes, hosts, kinds, languages } = Charts::of(&stats, links);
    html! {
        h1 { "What was saved" }
        div.tiles {
            (tile(&number(fetched), "pages fetched"))
            (tile(&number(crawl.as_ref().map_or(0, |summary| summary.pages.indexed)), "kept and indexed"))
            (tile(&number(stats.discarded), "discarded as duplicates"))
            (tile(&share, "of all fetched"))
            (tile(&bytes(stats.bytes), "not indexed twice"))
            (tile(&number(stats.restored), "restored by a person"))
            (tile(&number(stats.aliases), "redirects"))
        }
        @if let Some(crawl) = &crawl {
            p.dim {
                @match &crawl.stopped {
                    // A running crawl writes a reason in case it is killed.
                    _ if is_locked(data).unwrap_or(false) => { "A crawl is running; these are its figures at its last commit." },
                    Some(why) => { "The crawl is not complete: " (escape(why)) "." },
                    None => "The crawl is complete.",
                }
            }
        }
        div.charts {
            (bars("Causes: why a text has a second address", &causes))
            (columns("Hamming distance of the pairs (dashed: the largest that a table proposes)", &distances, &stats.distances,
                Some((f64::from(policy.distance) + 1.0, format!("k = {}", policy.distance)))))
            (columns("Similarity of the pairs (dashed: what is asked for on one host)", &classes, &stats.similarities,
                Some((policy.similarity_same_site * SIMILARITY_CLASSES as f64, format!("{}", policy.similarity_same_site)))))
            (columns("Discarded a day", &names, &counts, None))
            (bars("Kinds", &kinds))
            (bars("Hosts with most copies", &hosts))
            (bars("Languages", &languages))
        }
    }
}
