//! The layout of every page, and the overview.

use std::path::{Path, PathBuf};

use hapax_dedup::Policy;
use maud::{DOCTYPE, Markup, html};

use super::charts::{bars, columns};
use crate::text::{bytes, escape, number};
use hapax_crawl::Summary;
use hapax_data::{Error, LogStats, PageCounts, Result, Rows, SIMILARITY_CLASSES, is_locked};

const HOSTS: usize = 12;
/// Days in the chart.
const DAYS: usize = 60;

const MENU: [(&str, &str); 9] = [
    ("/", "Overview"),
    ("/causes", "Causes"),
    ("/list", "Discarded"),
    ("/clusters", "Clusters"),
    ("/kept", "Kept"),
    ("/near", "Near misses"),
    ("/changes", "Changes"),
    ("/skipped", "Skipped"),
    ("/search", "Search"),
];

/// The data directories of the page, which it shows as one: a number names a directory in a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    pub(super) dirs: &'a [PathBuf],
    /// The log of each directory.
    pub(super) rows: &'a [Rows],
}

impl<'a> View<'a> {
    /// Returns each directory with its log.
    pub(super) fn all(self) -> impl Iterator<Item = (&'a Path, &'a Rows)> {
        self.dirs.iter().map(PathBuf::as_path).zip(self.rows)
    }

    /// Returns a directory by its number.
    pub(super) fn dir(self, number: usize) -> Result<(&'a Path, &'a Rows)> {
        let missing = || Error::Invalid(format!("there is no data directory {number}"));
        self.all().nth(number).ok_or_else(missing)
    }

    /// Returns the link to a discarded page.
    pub(super) fn link(self, dir: usize, id: u64) -> String {
        match self.dirs.len() {
            1 => format!("/page/{id}"),
            _ => format!("/page/{id}?dir={dir}"),
        }
    }

    /// Returns the link to a kept page.
    pub(super) fn kept_link(self, dir: usize, id: u64) -> String {
        kept_link((self.dirs.len(), dir), id)
    }
}

/// Returns the link to a kept page of one of `dirs` directories.
pub(super) fn kept_link((dirs, dir): (usize, usize), id: u64) -> String {
    match dirs {
        1 => format!("/kept/{id}"),
        _ => format!("/kept/{id}?dir={dir}"),
    }
}

/// Seconds until a page whose result is being computed loads itself again.
const REFRESH: u32 = 2;

pub(super) fn frame(title: &str, here: &str, dirs: &[PathBuf], body: Markup) -> Markup {
    framed((title, here), dirs, None, body)
}

/// A page that loads itself again, without a script.
pub(super) fn refreshing(title: &str, here: &str, dirs: &[PathBuf], body: Markup) -> Markup {
    framed((title, here), dirs, Some(REFRESH), body)
}

fn framed(
    (title, here): (&str, &str),
    dirs: &[PathBuf],
    refresh: Option<u32>,
    body: Markup,
) -> Markup {
    let names: Vec<String> = dirs.iter().map(|dir| dir.display().to_string()).collect();
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                @if let Some(seconds) = refresh { meta http-equiv="refresh" content=(seconds); }
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
                    span.where { (escape(&names.join(", "))) }
                }
                main { (body) }
            }
        }
    }
}

pub(super) fn error_page(message: &str) -> Markup {
    let body = html! { h1 { "This did not work" } p.notice.bad { (escape(message)) } p { a href="/" { "Overview" } } };
    frame("Error", "", &[], body)
}

fn tile(value: &str, name: &str) -> Markup {
    html! { div.tile { b { (value) } span { (name) } } }
}

/// The overview, with counts and charts.
pub(super) fn overview(view: View<'_>, policy: &Policy) -> Markup {
    frame("Overview", "/", view.dirs, summary(view, policy, true))
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

/// Counts of the crawls of all directories.
#[derive(Debug, Default)]
struct Crawls {
    /// Whether a directory has a summary.
    any: bool,
    pages: PageCounts,
    is_running: bool,
    /// Why the first crawl that is not complete stopped.
    stopped: Option<String>,
}

impl Crawls {
    fn of(dirs: &[PathBuf]) -> Self {
        let mut all = Self::default();
        for data in dirs {
            let summary = std::fs::read(data.join("summary.json")).ok();
            let summary = summary.and_then(|bytes| serde_json::from_slice::<Summary>(&bytes).ok());
            let Some(summary) = summary else { continue };
            all.any = true;
            all.pages.add(&summary.pages);
            // A running crawl writes a reason in case it is killed.
            all.is_running |= is_locked(data).unwrap_or(false);
            all.stopped = all.stopped.or(summary.stopped);
        }
        all
    }
}

/// The overview's content without the frame; `links` adds links to the lists.
pub(super) fn summary(view: View<'_>, policy: &Policy, links: bool) -> Markup {
    let stats = view.rows.iter().map(LogStats::of).reduce(LogStats::and).unwrap_or_default();
    let crawls = Crawls::of(view.dirs);
    let fetched = crawls.pages.fetched;
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
            (tile(&number(crawls.pages.indexed), "kept and indexed"))
            (tile(&number(stats.discarded), "discarded as duplicates"))
            (tile(&share, "of all fetched"))
            (tile(&bytes(stats.bytes), "not indexed twice"))
            (tile(&number(stats.restored), "restored by a person"))
            (tile(&number(stats.aliases), "redirects"))
        }
        @if crawls.any {
            p.dim {
                @match &crawls.stopped {
                    _ if crawls.is_running => { "A crawl is running; these are its figures at its last commit." },
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
