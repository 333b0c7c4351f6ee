//! Endless sites whose pages have other words at each request: a time and the number of a visitor. No copy is a
//! duplicate of another one, so URLs are evidence only by versions of pages.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use crate::helpers::plain;
use crate::support::{Bench, Server, code, html, missing, prose, text};
use crate::traps::{ANSWER, fresh, number};

const PAGES: u64 = 30;
const MOST: usize = 3 * PAGES as usize + 100;

/// Two sentences that differ at each request, one at the beginning and one at the end.
fn noise() -> [String; 2] {
    static VISITS: AtomicU64 = AtomicU64::new(52_311);
    let visit = VISITS.fetch_add(7, SeqCst);
    [
        format!("This page was made for you at {}:{:02} today.", visit % 24, visit % 60),
        format!("You are visitor number {visit} of the {} who came here this year.", visit * 3),
    ]
}

fn crawled(
    name: &str,
    page_at: impl Fn(&str) -> Option<u64> + Send + Sync + 'static,
    link: impl Fn(u64) -> String + Send + Sync + 'static,
) {
    let server = Server::answering(
        Arc::new(move |path, _| {
            let number = match path {
                "/robots.txt" => return plain(""),
                "/" => Some(0),
                path => page_at(path),
            };
            number.map_or_else(missing, |number| {
                let links: String = (0..PAGES)
                    .map(|to| format!("<li><a href=\"{}\">Page {to}</a>", link(to)))
                    .collect();
                let [first, last] = noise();
                html(format!(
                    "<title>Page {number}</title><h1>Page {number}</h1><p>{first}</p><p>{}</p><p>{last}</p><ul>{links}</ul>",
                    prose(number + 1, 12)
                ))
            })
        }),
        ANSWER,
    );
    let bench = Bench::new();
    let output = bench.crawl(&[server.url("/")], &["--max-pages", "1000"]);
    assert_eq!(code(&output), 0, "{name}: {}{}", text(&output.stdout), text(&output.stderr));
    let asked = server.asked_all().len();
    assert!(asked <= MOST, "{name}: {asked} requests for {PAGES} pages");
    let exported = bench.run(&["export"]);
    for number in 0..PAGES {
        let title = format!("\"title\":\"Page {number}\"");
        assert!(exported.contains(&title), "{name}: {title}");
    }
}

#[test]
fn random_parameters_of_noisy_pages_end() {
    let page_at = |path: &str| number(path.split('?').next()?.strip_prefix('/')?);
    crawled("one", page_at, |to| format!("/p{to}?visit={}", fresh()));
    crawled("two", page_at, |to| format!("/p{to}?a={}&b={}", fresh(), fresh()));
    crawled("random names", page_at, |to| format!("/p{to}?r{}=1", fresh()));
}

#[test]
fn a_random_segment_of_noisy_pages_ends() {
    crawled(
        "first segment",
        |path| number(path.rsplit('/').next()?),
        |to| format!("/{}/p{to}", fresh()),
    );
}

#[test]
fn variants_that_link_to_each_other_are_all_requested() {
    // Eight products with ten variants each: the same text, but the colour, and a unique number in the URL.
    let colours =
        ["red", "navy", "rust", "olive", "black", "white", "plum", "teal", "sand", "grey"];
    let server = Server::answering(
        Arc::new(move |path, _| {
            let links = |product: u64| -> String {
                (0..10)
                    .map(|at| {
                        format!(
                            "<a href=\"/shirt{product}?sku={}\">{at}</a> ",
                            4000 + product * 10 + at
                        )
                    })
                    .collect()
            };
            let sku = path.split_once("?sku=").and_then(|(_, sku)| sku.parse::<u64>().ok());
            match (path, sku) {
                ("/robots.txt", _) => plain(""),
                ("/", _) => html(format!(
                    "<p>{}</p>{}",
                    prose(77, 9),
                    (0..8).map(links).collect::<String>()
                )),
                (_, Some(sku)) => {
                    let (product, colour) = ((sku - 4000) / 10, colours[(sku % 10) as usize]);
                    html(format!(
                        "<title>Shirt {product}</title><h1>Shirt {product}</h1><p>This shirt is {colour}, and so are its \
                         buttons in {colour}.</p><p>{}</p><p>Number {sku} of the {colour} ones.</p>{}",
                        prose(product + 500, 9),
                        links(product)
                    ))
                }
                _ => missing(),
            }
        }),
        ANSWER,
    );
    let bench = Bench::new();
    let output = bench.crawl(&[server.url("/")], &["--max-pages", "1000"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stdout));
    let asked = server.asked_all();
    let variants = asked.iter().filter(|path| path.contains("?sku=")).count();
    assert_eq!(variants, 80, "{:?}", bench.log("skipped.jsonl"));
}

#[test]
fn lists_that_filters_change_end() {
    // Ten filters with four values, three of them in each link, in any order. Each list has the products that match, and a
    // heading with the filters.
    let matches = |product: u64, filter: u64, value: u64| (product * 7 + filter * 3) % 4 == value;
    for with_names in [false, true] {
        let server = Server::answering(
            Arc::new(move |path, _| {
                let teaser = |product: u64| {
                    format!(
                        "<h3><a href=/p{product}>Page {product}</a></h3><p>Product {product}: {}</p>",
                        prose(product + 700, 1)
                    )
                };
                let list = |query: &str| {
                    let filters: Vec<(u64, u64)> = query
                        .split('&')
                        .filter_map(|pair| pair.strip_prefix('f')?.split_once('='))
                        .filter_map(|(filter, value)| {
                            Some((filter.parse().ok()?, value.parse().ok()?))
                        })
                        .collect();
                    let shown: String = (0..PAGES)
                        .filter(|product| filters.iter().all(|(f, v)| matches(*product, *f, *v)))
                        .map(teaser)
                        .collect();
                    let links: String = (0..30)
                        .map(|_| {
                            let random = u64::from_str_radix(&fresh(), 16).unwrap();
                            let first = random % 10;
                            let chosen = [
                                first,
                                (first + 1 + random / 10 % 4) % 10,
                                (first + 5 + random / 50 % 4) % 10,
                            ];
                            let pairs = chosen.map(|f| format!("f{f}={}", random / (f + 70) % 4));
                            format!("<li><a href=\"/list?{}\">filter</a>", pairs.join("&"))
                        })
                        .collect();
                    let name = if with_names {
                        format!("Products: {query}")
                    } else {
                        "All products".to_owned()
                    };
                    let shown = if shown.is_empty() {
                        "<p>No product matches all of these filters.</p>".to_owned()
                    } else {
                        shown
                    };
                    html(format!("<title>{name}</title><h1>{name}</h1>{shown}<ul>{links}</ul>"))
                };
                match path {
                    "/robots.txt" => plain(""),
                    "/" => {
                        let links: String =
                            (0..PAGES).map(|p| format!("<a href=/p{p}>Page {p}</a> ")).collect();
                        html(format!("<p>{}</p>{links}<a href=/list>all</a>", prose(77, 9)))
                    }
                    "/list" => list(""),
                    path => {
                        match (path.strip_prefix("/list?"), path.strip_prefix('/').and_then(number))
                        {
                            (Some(query), _) => list(query),
                            (_, Some(number)) => html(format!(
                                "<title>Page {number}</title><h1>Page {number}</h1><p>{}</p><a href=/list>all</a>",
                                prose(number + 1, 12)
                            )),
                            _ => missing(),
                        }
                    }
                }
            }),
            ANSWER,
        );
        let bench = Bench::new();
        let output = bench.crawl(&[server.url("/")], &["--max-pages", "1000"]);
        assert_eq!(code(&output), 0, "{}{}", text(&output.stdout), text(&output.stderr));
        let asked = server.asked_all();
        assert!(asked.len() <= MOST, "{with_names}: {} requests", asked.len());
        for product in 0..PAGES {
            assert!(asked.contains(&format!("/p{product}")), "{with_names}: {product}");
        }
        let lines = bench.log("skipped.jsonl");
        let is_of_list = |line: &&serde_json::Value| {
            line["rule"].as_str().is_some_and(|rule| rule.contains(": combined parameters of "))
        };
        assert_eq!(lines.iter().filter(is_of_list).count(), 1, "{lines:?}");
    }
}

/// A shop whose pages have several parameters too: none of them is lost.
#[test]
fn pages_with_several_parameters_and_unique_text_are_all_requested() {
    let server = Server::answering(
        Arc::new(|path, _| {
            let page = |at: u64| format!("/shop?f{}={}&item={at}&g{}=1", at % 6, at % 3, at % 7);
            let links: String =
                (0..120).map(|at| format!("<a href=\"{}\">{at}</a> ", page(at))).collect();
            match path
                .split("&item=")
                .nth(1)
                .and_then(|rest| rest.split('&').next()?.parse::<u64>().ok())
            {
                Some(at) => html(format!(
                    "<title>Item {at}</title><h1>Item {at}</h1><p>{}</p><p>Delivery takes two days.</p>{links}",
                    prose(at + 1, 9)
                )),
                None if path == "/" => html(format!("<p>{}</p>{links}", prose(7_000, 9))),
                None => missing(),
            }
        }),
        ANSWER,
    );
    let bench = Bench::new();
    let output = bench.crawl(&[server.url("/")], &[]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let items = server.asked_all().iter().filter(|path| path.starts_with("/shop?")).count();
    assert_eq!(items, 120, "{:?}", bench.log("skipped.jsonl"));
}
