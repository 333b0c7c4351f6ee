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
