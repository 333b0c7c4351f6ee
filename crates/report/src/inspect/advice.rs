//! The first part of the report: what was found, and what to do.

use hapax_crawl::Advice;
use hapax_data::{CauseCount, CauseExample, CauseReport, LogStats};
use maud::{Markup, html};

use super::pager::address;
use crate::causes::{cause_sentence, dropped_sentence};
use crate::text::{bytes, counted, escape, number};

/// Causes that are described.
const CAUSES: usize = 30;
/// Rules about addresses that were not requested.
const DROPPED: usize = 10;

/// The legend of causes: value, and its meaning.
const LEGEND: [(&str, &str); 16] = [
    ("scheme", "http and https"),
    ("www", "with and without www."),
    ("trailing-slash", "with and without a slash at the end"),
    ("index-file", "the index file of a folder"),
    ("case", "capital letters or percent-encoding"),
    ("parameter:NAME", "a parameter that is added, moved or has another value"),
    ("session-id", "a number of the visit"),
    ("print", "a version for printers"),
    ("amp", "a version in AMP"),
    ("mobile", "a version for phones"),
    ("language", "the address of another language"),
    ("pagination", "a page of a series"),
    ("archive", "a list by tag, category, author or date"),
    ("mirror", "another host with the same path"),
    ("syndication", "another site"),
    ("other", "none of these, for example another version of a documentation"),
];

/// Describes the causes: sentence, examples, and what could be saved.
/// `links` adds links to the lists.
pub(super) fn causes(report: &CauseReport, links: bool) -> Markup {
    html! {
        h2 { "What was found" }
        p { (counted(report.duplicates, "page")) " and " (counted(report.redirects, "redirect"))
            " have another address with the same text (" (bytes(report.bytes)) ")." }
        @if !report.causes.is_empty() {
            p.dim { "Requests and bytes: what a crawl without these addresses saves." }
            table.plain.stacked {
                thead { tr { th { "cause" } th { "what it did" } th { "requests" } th { "bytes" } th { "examples" } } }
                tbody { @for cause in report.causes.iter().take(CAUSES) {
                    tr {
                        td data-label="cause" { (named(&cause.cause, links)) }
                        td data-label="what it did" { (cause_sentence(cause)) }
                        td.number data-label="requests" { (number(cause.requests)) }
                        td.number data-label="bytes" { (bytes(cause.bytes)) }
                        td data-label="examples" { (examples(cause)) }
                    }
                } }
            }
        }
        @if !report.dropped.is_empty() {
            p { "Addresses that the crawl did not request, by rule:" }
            ul { @for dropped in report.dropped.iter().take(DROPPED) { li { (dropped_sentence(dropped)) } } }
        }
    }
}

fn named(cause: &str, links: bool) -> Markup {
    html! {
        @if links && !cause.contains('*') {
            a.tag href=(address("/list", &[("cause", cause)])) { (escape(cause)) }
        } @else {
            span.tag { (escape(cause)) }
        }
    }
}

/// Shows the first example, and further ones in a folded list.
fn examples(cause: &CauseCount) -> Markup {
    let one = |example: &CauseExample| {
        html! { div.example { div { (escape(&example.url)) } div.dim { "= " (escape(&example.of)) } } }
    };
    let (first, others) = match cause.examples.split_first() {
        Some((first, others)) => (Some(first), others),
        None => (None, [].as_slice()),
    };
    html! {
        @if let Some(first) = first { (one(first)) }
        @if !others.is_empty() || !cause.patterns.is_empty() {
            details {
                summary { "more" }
                @for other in others { (one(other)) }
                @for pattern in &cause.patterns { div { (escape(&pattern.pattern)) ": " (number(pattern.duplicates)) } }
            }
        }
    }
}

/// Describes what to do: lines for the owner of the site, and rules for the next crawl.
pub(super) fn advice(advice: &Advice) -> Markup {
    html! {
        h2 { "What to do" }
        @if let Some(why) = &advice.unverified {
            p { "No rule could be verified: " (escape(why)) "." }
        } @else {
            p { "The rules below were applied to this crawl: " (number(advice.requests.1)) " of "
                (number(advice.requests.0)) " requests remain, and no unique page is lost." }
        }
        details open { summary { "For the owner of the site" } pre { (escaped_lines(&advice.for_sites())) } }
        details { summary { "For the next crawl: a file for " code { "crawl --rules FILE" } }
            pre { (escaped_lines(&advice.rules_file())) } }
    }
}

/// Explains the values of the cause column.
pub(super) fn legend() -> Markup {
    html! {
        details { summary { "Legend: values of the cause" }
            dl.facts { @for (cause, meaning) in LEGEND { dt { (cause) } dd { (meaning) } } }
        }
    }
}

/// The page's title: the hosts with the most duplicates.
pub(super) fn title(stats: &LogStats) -> String {
    let hosts: Vec<String> = stats.hosts.iter().take(3).map(|host| escape(&host.host)).collect();
    let more = stats.hosts.len().saturating_sub(hosts.len());
    match (hosts.is_empty(), more) {
        (true, _) => "Duplicates".to_owned(),
        (_, 0) => format!("Duplicates of {}", hosts.join(", ")),
        (_, more) => format!(
            "Duplicates of {} and {}",
            hosts.join(", "),
            counted(more as u64, "further host")
        ),
    }
}

fn escaped_lines(text: &str) -> String {
    text.lines().map(|line| escape(line) + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hapax_data::WantedCause;

    #[test]
    fn the_legend_explains_every_cause() {
        let mut names: Vec<&str> =
            WantedCause::names().filter(|name| *name != "parameter").collect();
        let mut explained: Vec<&str> = LEGEND.iter().map(|(cause, _)| *cause).collect();
        names.sort_unstable();
        explained.sort_unstable();
        assert_eq!(explained, names);
    }
}
