//! Endless sites whose pages name what was asked for: months without events, pages behind the end of a list, pages that
//! say "not found" with status 200, combinations of tags. Each crawl needs at most three requests a page and a hundred more, as in `traps`.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};

use crate::helpers::plain;
use crate::support::{Bench, Page, Server, code, html, missing, prose, text};
use crate::traps::{ANSWER, ended, number, page};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Crawls thirty pages with a link to `start` on each. `endless` returns the page of any other path.
fn crawled(
    name: &str,
    start: &str,
    endless: impl Fn(&str) -> Option<Page> + Send + Sync + 'static,
) {
    let start = start.to_owned();
    let server = Server::answering(
        Arc::new(move |path, _| {
            let link = |to: u64| format!("/p{to}");
            match path {
                "/robots.txt" => plain(""),
                "/" => page(0, link),
                _ => match path.strip_prefix('/').and_then(number) {
                    Some(number) => {
                        let mut page = page(number, link);
                        page.body.extend(format!("<a href=\"{start}\">more</a>").bytes());
                        page
                    }
                    None => endless(path).unwrap_or_else(missing),
                },
            }
        }),
        ANSWER,
    );
    let bench = Bench::new();
    let output = bench.crawl(&[server.url("/")], &["--max-pages", "1000"]);
    ended(name, &bench, &server, &output);
}

/// The page of a month, as number of months since year 0. `link` is the address of a month.
fn month_page(month: i64, grid: bool, link: impl Fn(i64) -> String) -> Page {
    let name = MONTHS[month.rem_euclid(12) as usize];
    let year = month.div_euclid(12);
    let days = if grid {
        let days = 28 + (month * 7).rem_euclid(4);
        let first = month.rem_euclid(7);
        let cell = |at: i64| match at - first {
            day @ 1.. if day <= days => format!("<td>{day}</td>"),
            _ => "<td></td>".to_owned(),
        };
        let week = |week: i64| {
            format!("<tr>{}</tr>", (1..=7).map(|day| cell(7 * week + day)).collect::<String>())
        };
        format!("<table>{}</table>", (0..6).map(week).collect::<String>())
    } else {
        String::new()
    };
    html(format!(
        "<title>{name} {year} | Town events</title><h1>{name} {year}</h1>{days}\
         <p>There are no events scheduled for {name} {year}. Please look at another month, or \
         subscribe to the calendar of the town to hear of new events.</p>\
         <a href=\"{}\">previous month</a> <a href=\"{}\">next month</a>",
        link(month - 1),
        link(month + 1)
    ))
}

const NOW: i64 = 2026 * 12 + 10;

#[test]
fn months_named_in_the_heading_end() {
    for grid in [false, true] {
        let link = |month: i64| {
            format!("/events?month={}-{:02}", month.div_euclid(12), month.rem_euclid(12) + 1)
        };
        crawled(&format!("query, grid {grid}"), &link(NOW), move |path| {
            let (year, month) = path.strip_prefix("/events?month=")?.rsplit_once('-')?;
            let month = year.parse::<i64>().ok()? * 12 + month.parse::<i64>().ok()? - 1;
            Some(month_page(month, grid, link))
        });
        let link = |month: i64| {
            format!("/events?y={}&m={}", month.div_euclid(12), month.rem_euclid(12) + 1)
        };
        crawled(&format!("two parameters, grid {grid}"), &link(NOW), move |path| {
            let (year, month) = path.strip_prefix("/events?y=")?.split_once("&m=")?;
            let month = year.parse::<i64>().ok()? * 12 + month.parse::<i64>().ok()? - 1;
            Some(month_page(month, grid, link))
        });
        let link = |month: i64| {
            format!("/events/{}/{:02}/", month.div_euclid(12), month.rem_euclid(12) + 1)
        };
        crawled(&format!("path, grid {grid}"), &link(NOW), move |path| {
            let mut parts = path.strip_prefix("/events/")?.split('/');
            let month =
                parts.next()?.parse::<i64>().ok()? * 12 + parts.next()?.parse::<i64>().ok()? - 1;
            Some(month_page(month, grid, link))
        });
    }
}

#[test]
fn days_named_in_the_heading_end() {
    const WEEK: [&str; 7] =
        ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
    let link = |day: i64| format!("/day/{}/{}/{}", day / 360, day / 30 % 12 + 1, day % 30 + 1);
    crawled("days", &link(2026 * 360), move |path| {
        let mut parts = path.strip_prefix("/day/")?.split('/').map(|part| part.parse::<i64>().ok());
        let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
        let at = year * 360 + (month - 1) * 30 + day - 1;
        let name =
            format!("{}, {} {day}, {year}", WEEK[at as usize % 7], MONTHS[month as usize - 1]);
        Some(html(format!(
            "<title>{name}</title><h1>Events for {name}</h1><p>No events were found for {name}. \
             Try another day, or look at the list of all events of the town.</p>\
             <a href=\"{}\">yesterday</a> <a href=\"{}\">tomorrow</a> <a href=\"{}\">next month</a>",
            link(at - 1),
            link(at + 1),
            link(at + 30)
        )))
    });
}

#[test]
fn pages_that_repeat_a_path_that_does_not_exist_end() {
    crawled("relative links", "/old/x", |path| {
        Some(html(format!(
            "<title>Page not found</title><h1>Sorry</h1><p>We could not find the page {path} on \
             this server. It may have moved, or the address is wrong.</p>\
             <a href=\"help/contact\">contact</a> <a href=\"{path}/shop\">shop</a>"
        )))
    });
}

#[test]
fn combinations_of_tags_in_one_segment_end() {
    const TAGS: [&str; 10] =
        ["red", "blue", "wood", "iron", "large", "small", "old", "new", "soft", "loud"];
    crawled("tags", "/tag/red", |path| {
        let tags: Vec<&str> = path.strip_prefix("/tag/")?.split('+').collect();
        let more: String = TAGS
            .iter()
            .filter(|tag| !tags.contains(tag))
            .map(|tag| format!("<li><a href=\"/tag/{}+{tag}\">{tag}</a>", tags.join("+")))
            .collect();
        Some(html(format!(
            "<title>All products</title><h1>All products</h1><p>{}</p><ul>{more}</ul>",
            prose(99, 12)
        )))
    });
}

/// Crawls a list of three pages, which goes on without an end. `name` is the heading of a page.
fn crawled_list(kind: &str, first: &str, name: impl Fn(u64) -> String + Send + Sync + 'static) {
    let prefix = first.trim_end_matches('1').to_owned();
    crawled(kind, first, move |path| {
        let at: u64 = path.strip_prefix(&prefix)?.parse().ok()?;
        let items: String = (10 * at - 10..10 * at)
            .filter(|_| at <= 3)
            .map(|to| format!("<li><a href=\"/p{to}\">Page {to}</a>"))
            .collect();
        let near: String = (at.max(3) - 2..at + 4)
            .map(|near| format!("<a href=\"{prefix}{near}\">{near}</a> "))
            .collect();
        let name = name(at);
        let none = if at > 3 { "There are no more reports in this list." } else { "" };
        Some(html(format!(
            "<title>{name}</title><h1>{name}</h1><ul>{items}</ul><p>{none}</p><p>{near}</p>"
        )))
    });
}

#[test]
fn lists_that_go_on_behind_their_end_end() {
    crawled_list("list", "/list?page=1", |_| "Reports".to_owned());
    crawled_list("named list", "/list?page=1", |at| format!("Reports - page {at}"));
    crawled_list("list of folders", "/news/page/1", |at| format!("News, page {at} of the list"));
}

#[test]
fn months_with_events_are_found_between_empty_ones() {
    // Every third month of ten years has an event.
    let link =
        |month: i64| format!("/events/{}/{:02}/", month.div_euclid(12), month.rem_euclid(12) + 1);
    let has_event = |month: i64| (month - NOW).abs() <= 60 && month % 3 == 0;
    let server = Server::answering(
        Arc::new(move |path, _| {
            let month = || {
                let mut parts = path.strip_prefix("/events/")?.split('/');
                let year = parts.next()?.parse::<i64>().ok()?;
                Some(year * 12 + parts.next()?.parse::<i64>().ok()? - 1)
            };
            match (path, month()) {
                ("/robots.txt", _) => plain(""),
                (_, Some(month)) => {
                    let mut page = month_page(month, true, link);
                    if has_event(month) {
                        page.body.extend(format!("<p>{}</p>", prose(month as u64, 5)).bytes());
                    }
                    page
                }
                ("/", _) => html(format!("<p>{}</p><a href={}>events</a>", prose(1, 9), link(NOW))),
                _ => missing(),
            }
        }),
        ANSWER,
    );
    let bench = Bench::new();
    let output = bench.crawl(&[server.url("/")], &["--max-pages", "1000"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stdout));
    let asked = server.asked_all();
    let events: Vec<i64> = (NOW - 60..=NOW + 60).filter(|month| has_event(*month)).collect();
    for month in &events {
        assert!(asked.contains(&link(*month)), "{month} of {asked:?}");
    }
    assert!(asked.len() <= 3 * events.len() + 200, "{} requests", asked.len());
    let lines = bench.log("skipped.jsonl");
    let line = lines.iter().find(|line| line["reason"] == "dust-rule").unwrap();
    assert!(
        line["detail"].as_str().unwrap().contains("differ from others in dates and numbers only"),
        "{line}"
    );
    assert!(line["count"].as_u64().unwrap() >= 2, "{line}");
}

#[test]
fn a_recrawl_counts_no_month_twice() {
    let months = Arc::new(AtomicI64::new(12));
    let known = Arc::clone(&months);
    let link =
        |month: i64| format!("/events/{}/{:02}/", month.div_euclid(12), month.rem_euclid(12) + 1);
    let server = Server::answering(
        Arc::new(move |path, _| {
            let month = || {
                let mut parts = path.strip_prefix("/events/")?.split('/');
                let year = parts.next()?.parse::<i64>().ok()?;
                let month = year * 12 + parts.next()?.parse::<i64>().ok()? - 1;
                (NOW..NOW + known.load(SeqCst)).contains(&month).then_some(month)
            };
            match (path, month()) {
                ("/robots.txt", _) => plain(""),
                (_, Some(month)) => month_page(month, false, link),
                ("/", _) => html(format!("<p>{}</p><a href={}>events</a>", prose(1, 9), link(NOW))),
                _ => missing(),
            }
        }),
        ANSWER,
    );
    let bench = Bench::new();
    let seeds = [server.url("/")];
    assert_eq!(code(&bench.crawl(&seeds, &[])), 0);
    for _ in 0..5 {
        assert_eq!(code(&bench.crawl(&seeds, &["--recrawl"])), 0);
    }
    months.store(20, SeqCst);
    let before = server.asked_all().len();
    assert_eq!(code(&bench.crawl(&seeds, &["--recrawl"])), 0);
    let asked = server.asked_all().split_off(before);
    for month in NOW..NOW + 20 {
        assert!(asked.contains(&link(month)), "{month} of {asked:?}");
    }
}
