//! The overview: counts and charts.

use std::path::PathBuf;

use hapax_crawl::Summary;
use hapax_data::{LogStats, PageCounts, Result, SIMILARITY_CLASSES, is_locked};
use hapax_dedup::Policy;
use maud::{Markup, html};

use super::charts::{bars, columns};
use super::computed::Got;
use crate::text::{bytes, escape, number};

const HOSTS: usize = 12;
/// Days in the chart.
const DAYS: usize = 60;

fn tile(value: &str, name: &str) -> Markup {
    html! { div.tile { b { (value) } span { (name) } } }
}

/// The overview, with counts and charts.
pub(super) fn overview(found: Got<LogStats>, dirs: &[PathBuf], policy: &Policy) -> Result<Markup> {
    found.page(("Overview", "/"), dirs, |stats| Ok(summary(stats, dirs, policy, true)))
}

/// A row of a chart: name, link, value, and the value in words.
type Bar = (String, Option<String>, u64, String);

/// The charts with named rows.
struct Charts {
    causes: Vec<Bar>,
    canonical: Vec<Bar>,
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
        let canonical = stats.canonical.iter();
        let canonical = canonical
            .map(|(state, count)| ((*state).to_owned(), None, *count, number(*count)))
            .collect();
        Self { causes, canonical, hosts, kinds, languages }
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
pub(super) fn summary(stats: &LogStats, dirs: &[PathBuf], policy: &Policy, links: bool) -> Markup {
    let crawls = Crawls::of(dirs);
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
    let Charts { causes, canonical, hosts, kinds, languages } = Charts::of(stats, links);
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
            (bars("Canonical address that the pages declare", &canonical))
        }
    }
}
