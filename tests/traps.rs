//! Endless sites: thirty pages, with links to them that are always new. Each crawl needs at most three requests a
//! page and a hundred more, ends, and loses no page.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use crate::helpers::plain;
use crate::support::{Bench, Page, Server, code, html, missing, prose, text};

const PAGES: u64 = 30;
const MOST: usize = 3 * PAGES as usize + 100;

/// Time of an answer. A crawl without a delay, on a busy machine, would otherwise request far more pages than it has
/// decided about, and learn too late.
pub(crate) const ANSWER: Duration = Duration::from_millis(30);

/// A unique number in 8 hexadecimal digits.
pub(crate) fn fresh() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let number = NEXT.fetch_add(1, SeqCst).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    format!("{:08x}", number >> 32)
}

pub(crate) fn page(number: u64, link: impl Fn(u64) -> String) -> Page {
    let links: String =
        (0..PAGES).map(|to| format!("<li><a href=\"{}\">Page {to}</a>", link(to))).collect();
    html(format!(
        "<title>Page {number}</title><h1>Page {number}</h1><p>{}</p><ul>{links}</ul>",
        prose(number + 1, 12)
    ))
}

/// The number of a page from a name such as `p7`.
pub(crate) fn number(name: &str) -> Option<u64> {
    name.strip_prefix('p')?.parse().ok().filter(|number| *number < PAGES)
}

/// Crawls a site: `page_at` returns the page of a path, and `link` the address of a page.
pub(crate) fn crawled(
    name: &str,
    page_at: impl Fn(&str) -> Option<u64> + Send + Sync + 'static,
    link: impl Fn(u64) -> String + Send + Sync + 'static,
) {
    let server = Server::answering(
        Arc::new(move |path, _| match path {
            "/robots.txt" => plain(""),
            "/" => page(0, &link),
            _ => page_at(path).map_or_else(missing, |number| page(number, &link)),
        }),
        ANSWER,
    );
    let bench = Bench::new();
    let output = bench.crawl(&[server.url("/")], &["--max-pages", "1000"]);
    ended(name, &bench, &server, &output);
}

pub(crate) fn ended(name: &str, bench: &Bench, server: &Server, output: &std::process::Output) {
    assert_eq!(code(output), 0, "{name}: {}{}", text(&output.stdout), text(&output.stderr));
    let asked = server.asked_all().len();
    assert!(asked <= MOST, "{name}: {asked} requests for {PAGES} pages");
    let exported = bench.exported_titles();
    for number in 0..PAGES {
        let title = format!("Page {number}");
        let times = exported.iter().filter(|one| **one == title).count();
        assert_eq!(times, 1, "{name}: {title} in {exported:?}");
    }
    let lines = bench.log("skipped.jsonl");
    let rules = lines.iter().filter(|line| line["reason"] == "dust-rule").count();
    assert!(rules <= 12, "{name}: {rules} lines");
}

impl Bench {
    fn exported_titles(&self) -> Vec<String> {
        let lines = self.run(&["export"]);
        let titles =
            lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        titles.map(|page| page["title"].as_str().unwrap().to_owned()).collect()
    }
}

fn path_of(path: &str) -> &str {
    path.split('?').next().unwrap()
}

#[test]
fn random_parameters_of_any_name_end() {
    for name in ["visit", "_", "zx", "utm_foo"] {
        crawled(
            name,
            |path| number(path_of(path).strip_prefix('/')?),
            move |to| format!("/p{to}?{name}={}", fresh()),
        );
    }
}

#[test]
fn two_random_parameters_end() {
    crawled(
        "two",
        |path| number(path_of(path).strip_prefix('/')?),
        |to| format!("/p{to}?a={}&b={}", fresh(), fresh()),
    );
}

#[test]
fn a_random_parameter_beside_one_that_matters_ends() {
    crawled(
        "beside",
        |path| {
            let query = path.strip_prefix("/item?")?;
            let id = query.split('&').find_map(|pair| pair.strip_prefix("id="))?;
            number(&format!("p{id}"))
        },
        |to| format!("/item?id={to}&token={}", fresh()),
    );
}

#[test]
fn a_random_segment_of_the_path_ends() {
    crawled(
        "first segment",
        |path| number(path.rsplit('/').next()?),
        |to| format!("/{}/p{to}", fresh()),
    );
    crawled(
        "last segment",
        |path| number(path.split('/').nth(1)?),
        |to| format!("/p{to}/{}", fresh()),
    );
    crawled(
        "a parameter of a segment",
        |path| number(path.strip_prefix('/')?.split(';').next()?),
        |to| format!("/p{to};v={}", fresh()),
    );
}

#[test]
fn parameters_in_any_order_end() {
    let shuffled = |to: u64| {
        let mut pairs = ["a=1", "b=2", "c=3", "d=4", "e=5"];
        let mut number = u64::from_str_radix(&fresh(), 16).unwrap();
        for at in (1..pairs.len()).rev() {
            pairs.swap(at, (number % (at as u64 + 1)) as usize);
            number /= at as u64 + 1;
        }
        format!("/p{to}?{}", pairs.join("&"))
    };
    crawled("order", |path| number(path_of(path).strip_prefix('/')?), shuffled);
}

#[test]
fn paths_that_grow_end() {
    crawled("growing", |path| number(path.rsplit('/').next()?), |to| format!("{}/p{to}", fresh()));
}

/// Crawls a domain with endless hosts: `page_at` returns the page of a path with its query, and `link` its address.
fn domain_crawled(
    name: &str,
    page_at: impl Fn(&str) -> Option<u64> + Send + Sync + 'static,
    link: impl Fn(u64) -> String + Send + Sync + 'static,
) {
    let proxy = Server::answering(
        Arc::new(move |path, _| {
            let url = url::Url::parse(path).unwrap();
            match url.path() {
                "/robots.txt" | "/sitemap.xml" => missing(),
                "/" => page(0, &link),
                _ => page_at(&url[url::Position::BeforePath..])
                    .map_or_else(missing, |number| page(number, &link)),
            }
        }),
        ANSWER,
    );
    let bench = Bench::new();
    // Each name is a host with a separate robots.txt, so at most four requests run at a time.
    let flags = ["--proxy", &proxy.url(""), "--scope", "domain", "--concurrency", "4"];
    let output = bench.crawl(&["http://trap.example/".to_owned()], &flags);
    ended(name, &bench, &proxy, &output);
    let maps = proxy.asked_all().iter().filter(|path| path.ends_with("/sitemap.xml")).count();
    assert!(maps <= 5, "{name}: {maps} sitemaps tried");
}

#[test]
fn names_under_one_domain_end() {
    let host = || format!("http://h{}.trap.example", fresh());
    domain_crawled(
        "host",
        |path| number(path.strip_prefix('/')?),
        move |to| format!("{}/p{to}", host()),
    );
    domain_crawled(
        "host and parameter",
        |path| number(path_of(path).strip_prefix('/')?),
        move |to| format!("{}/p{to}?s={}", host(), fresh()),
    );
    domain_crawled(
        "host and folder",
        |path| number(path.rsplit('/').next()?),
        move |to| format!("{}/{}/p{to}", host(), fresh()),
    );
    domain_crawled(
        "host and last segment",
        |path| number(path.split('/').nth(1)?),
        move |to| format!("{}/p{to}/{}", host(), fresh()),
    );
}

#[test]
fn a_calendar_ends() {
    let server = Server::answering(
        Arc::new(|path, _| {
            let link = |to: u64| format!("/p{to}");
            let month = |at: i64| format!("/cal?month={at}");
            match path {
                "/robots.txt" => plain(""),
                "/" => page(0, link),
                _ => match path.strip_prefix("/cal?month=").and_then(|at| at.parse::<i64>().ok()) {
                    Some(at) => html(format!(
                        "<title>Events</title><h1>Events</h1><p>{}</p><p>No events in month {at}.</p>\
                         <a href=\"{}\">before</a> <a href=\"{}\">after</a>",
                        prose(77, 8),
                        month(at - 1),
                        month(at + 1)
                    )),
                    None => {
                        path.strip_prefix('/').and_then(number).map_or_else(missing, |number| {
                            let mut page = page(number, link);
                            page.body
                                .extend(format!("<a href=\"{}\">calendar</a>", month(0)).bytes());
                            page
                        })
                    }
                },
            }
        }),
        ANSWER,
    );
    let bench = Bench::new();
    let output = bench.crawl(&[server.url("/")], &["--max-pages", "1000"]);
    ended("calendar", &bench, &server, &output);
}

#[test]
fn filters_in_any_combination_end() {
    let server = Server::answering(
        Arc::new(|path, _| {
            let products = |to: u64| format!("/p{to}");
            match path_of(path) {
                "/robots.txt" => plain(""),
                "/" => page(0, products),
                "/list" => {
                    let combination = || {
                        let mut number = u64::from_str_radix(&fresh(), 16).unwrap();
                        let mut next = |below: u64| {
                            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                            (number >> 33) % below
                        };
                        let mut filters: Vec<u64> = (0..10).collect();
                        let chosen: Vec<String> = (0..3)
                            .map(|_| {
                                let filter =
                                    filters.swap_remove(next(filters.len() as u64) as usize);
                                format!("filter{filter}={}", next(4))
                            })
                            .collect();
                        format!("<li><a href=\"/list?{}\">filter</a>", chosen.join("&"))
                    };
                    let links: String = (0..30).map(|_| combination()).collect();
                    html(format!(
                        "<title>All products</title><h1>All products</h1><p>{}</p>{links}",
                        prose(99, 12)
                    ))
                }
                path => path.strip_prefix('/').and_then(number).map_or_else(missing, |number| {
                    let mut page = page(number, products);
                    page.body.extend(b"<a href=/list>all</a>");
                    page
                }),
            }
        }),
        ANSWER,
    );
    let bench = Bench::new();
    let output = bench.crawl(&[server.url("/")], &["--max-pages", "1000"]);
    ended("filters", &bench, &server, &output);
}

#[test]
fn a_wrong_url_rule_is_withdrawn_and_no_page_is_lost() {
    // The first forty items are equal, all others have different texts.
    let items = 120;
    let server = Server::answering(
        Arc::new(move |path, _| match path {
            "/robots.txt" => plain(""),
            "/" => {
                let links: String =
                    (0..items).map(|n| format!("<a href=/item?id={n}>{n}</a> ")).collect();
                html(format!("<p>{}</p>{links}", prose(1, 9)))
            }
            _ => match path.strip_prefix("/item?id=").and_then(|id| id.parse::<u64>().ok()) {
                Some(id) if id < 40 => html(format!("<h1>Sold</h1><p>{}</p>", prose(5, 9))),
                Some(id) => html(format!("<h1>Item {id}</h1><p>{}</p>", prose(1000 + id, 9))),
                None => missing(),
            },
        }),
        ANSWER,
    );
    let bench = Bench::new();
    let output = bench.crawl(&[server.url("/")], &["--concurrency", "1"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stdout));
    let kept = bench.kept();
    assert_eq!(kept.len() as u64, 2 + items - 40, "{kept:?}");
}

#[test]
fn redirects_that_put_a_session_into_the_url_lose_no_page() {
    let server = Server::answering(
        Arc::new(|path, _| match path {
            "/robots.txt" => plain(""),
            _ if path.contains("sid=") || path == "/" => {
                let number = number(path_of(path).trim_start_matches('/')).unwrap_or(0);
                page(number, |to| format!("/p{to}"))
            }
            // A visitor without a session gets one.
            _ => crate::support::redirect(&format!("{path}?sid={}", fresh())),
        }),
        ANSWER,
    );
    let bench = Bench::new();
    let output = bench.crawl(&[server.url("/")], &["--max-pages", "1000"]);
    ended("redirects", &bench, &server, &output);
}

#[test]
fn sessions_that_redirect_to_other_sessions_end() {
    let server = Server::answering(
        Arc::new(|path, _| {
            let name = path_of(path).trim_start_matches('/');
            match path {
                "/robots.txt" => plain(""),
                // Each link has a session of its page, and each request to it gets the visitor's own.
                _ if path.contains("sid=a") => {
                    crate::support::redirect(&format!("/{name}?sid=b{}", fresh()))
                }
                _ => page(number(name).unwrap_or(0), |to| format!("/p{to}?sid=a{}", fresh())),
            }
        }),
        ANSWER,
    );
    let bench = Bench::new();
    let flags = ["--max-pages", "1000", "--concurrency", "4"];
    let output = bench.crawl(&[server.url("/")], &flags);
    ended("sessions by redirects", &bench, &server, &output);
}

#[test]
fn a_wrong_rule_is_found_out_by_links_that_are_met_after_it_was_learnt() {
    // Forty equal items, then page after page of different ones.
    let server = Server::answering(
        Arc::new(|path, _| {
            let items = |range: std::ops::Range<u64>| -> String {
                range.map(|n| format!("<a href=/item?id={n}>{n}</a> ")).collect()
            };
            let list = |number: u64| {
                let links = items(100 * number..100 * number + 20);
                let next = format!("<a href=/list/{}>next</a>", number + 1);
                html(format!("<h1>List {number}</h1><p>{}</p>{links}{next}", prose(number, 9)))
            };
            match path {
                "/robots.txt" | "/sitemap.xml" => missing(),
                "/" => {
                    html(format!("<p>{}</p>{}<a href=/list/1>more</a>", prose(77, 9), items(0..40)))
                }
                _ => match (path.strip_prefix("/list/"), path.strip_prefix("/item?id=")) {
                    (Some(number), _) => match number.parse() {
                        Ok(number @ 1..=4) => list(number),
                        _ => missing(),
                    },
                    (_, Some(id)) => match id.parse::<u64>().unwrap() {
                        ..40 => html(format!("<h1>Sold</h1><p>{}</p>", prose(5, 9))),
                        id => html(format!("<h1>Item {id}</h1><p>{}</p>", prose(9000 + id, 9))),
                    },
                    _ => missing(),
                },
            }
        }),
        ANSWER,
    );
    let bench = Bench::new();
    let output = bench.crawl(&[server.url("/")], &["--concurrency", "1"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stdout));
    let kept = bench.kept();
    // The front page, four lists, one of the sold items, and eighty of the others.
    assert_eq!(kept.len(), 1 + 4 + 1 + 80, "{kept:?}");
}

#[test]
fn a_redirect_to_another_session_contradicts_no_rule() {
    let server = Server::answering(
        Arc::new(|path, _| {
            let at = path_of(path);
            let number = match at {
                "/robots.txt" => return plain(""),
                "/" => 0,
                _ => match at.strip_prefix('/').and_then(number) {
                    Some(number) => number,
                    None => return missing(),
                },
            };
            // Every second session has expired and redirects to a new one.
            let is_old = path.ends_with(|c: char| c.is_ascii_digit() && c < '8');
            if at != "/" && is_old {
                return crate::support::redirect(&format!("{at}?sid={}f", fresh()));
            }
            // Pages are found one after another, most of them after the rule was learnt.
            let known = (number + 3).min(PAGES);
            let links: String = (0..known)
                .flat_map(|to| ["0", "f"].map(|end| (to, end)))
                .map(|(to, end)| format!("<li><a href=/p{to}?sid={}{end}>Page {to}</a>", fresh()))
                .collect();
            html(format!(
                "<title>Page {number}</title><h1>Page {number}</h1><p>{}</p>{links}",
                prose(number + 1, 12)
            ))
        }),
        ANSWER,
    );
    let bench = Bench::new();
    let output = bench.crawl(&[server.url("/")], &["--max-pages", "1000", "--concurrency", "1"]);
    ended("other sessions", &bench, &server, &output);
}

#[test]
fn two_random_parameters_beside_one_that_matters_end() {
    crawled(
        "two beside",
        |path| {
            let query = path.strip_prefix("/item?")?;
            let id = query.split('&').find_map(|pair| pair.strip_prefix("id="))?;
            number(&format!("p{id}"))
        },
        |to| format!("/item?id={to}&sort={}&token={}", fresh(), fresh()),
    );
}

#[test]
fn random_queries_and_names_of_parameters_end() {
    crawled(
        "without a name",
        |path| number(path_of(path).strip_prefix('/')?),
        |to| format!("/p{to}?{}", fresh()),
    );
    crawled(
        "random names",
        |path| number(path_of(path).strip_prefix('/')?),
        |to| format!("/p{to}?r{}=1", fresh()),
    );
}

#[test]
fn a_session_within_a_segment_ends() {
    crawled(
        "behind a name",
        |path| number(path.strip_prefix('/')?.split('-').next()?),
        |to| format!("/p{to}-{}.html", fresh()),
    );
    crawled(
        "before a name",
        |path| number(path.split('_').nth(1)?),
        |to| format!("/sid{}_p{to}", fresh()),
    );
}

#[test]
fn paths_that_grow_behind_a_script_end() {
    crawled(
        "path info",
        |path| number(path.strip_prefix('/')?.split('/').next()?.strip_suffix(".php")?),
        |to| match to % 3 {
            0 => format!("/p{to}.php"),
            1 => format!("p{to}.php"),
            _ => format!("p{to}.php/p{}.php", to - 1),
        },
    );
}

#[test]
fn random_capitals_of_a_path_end() {
    crawled(
        "capitals",
        |path| number(path.to_lowercase().strip_prefix("/shop/catalogue/")?),
        |to| {
            let random = u32::from_str_radix(&fresh(), 16).unwrap();
            let path = format!("/shop/catalogue/p{to}");
            path.char_indices()
                .map(|(at, c)| if random >> at & 1 == 1 { c.to_ascii_uppercase() } else { c })
                .collect()
        },
    );
}

#[test]
fn random_capitals_of_a_parameter_end() {
    crawled(
        "capitalparameter",
        |path| number(path.split_once('?').map_or(path, |(path, _)| path).strip_prefix('/')?),
        |to| {
            let random = u32::from_str_radix(&fresh(), 16).unwrap();
            let name: String = "sessionvisit"
                .char_indices()
                .map(|(at, c)| if random >> at & 1 == 1 { c.to_ascii_uppercase() } else { c })
                .collect();
            format!("/p{to}?{name}={}", fresh())
        },
    );
}

#[test]
fn many_random_parameters_end() {
    crawled(
        "eight",
        |path| {
            let query = path.strip_prefix("/item?")?;
            let id = query.split('&').find_map(|pair| pair.strip_prefix("id="))?;
            number(&format!("p{id}"))
        },
        |to| {
            let random: Vec<String> = ["a", "b", "c", "d", "e", "f", "g", "h"]
                .iter()
                .map(|name| format!("{name}={}", fresh()))
                .collect();
            format!("/item?id={to}&{}", random.join("&"))
        },
    );
}

#[test]
fn random_segments_behind_a_page_end() {
    crawled(
        "one to three",
        |path| number(path.split('/').nth(1)?),
        |to| {
            let random: Vec<String> = (0..=to % 3).map(|_| fresh()).collect();
            format!("/p{to}/{}", random.join("/"))
        },
    );
}

#[test]
fn a_random_folder_and_a_random_word_end() {
    crawled(
        "both",
        |path| number(path.rsplit('/').next()?.split('-').next()?),
        |to| format!("/{}/p{to}-{}", fresh(), fresh()),
    );
}

#[test]
fn a_random_parameter_among_others_in_any_order_ends() {
    crawled(
        "order and token",
        |path| number(path_of(path).strip_prefix('/')?),
        |to| {
            let mut pairs = ["a=1".to_owned(), "b=2".to_owned(), format!("token={}", fresh())];
            let number = u64::from_str_radix(&fresh(), 16).unwrap();
            pairs.swap(0, (number % 3) as usize);
            pairs.swap(1, (number / 3 % 3) as usize);
            format!("/p{to}?{}", pairs.join("&"))
        },
    );
}

#[test]
fn slashes_repeated_at_random_end() {
    let slashes = || {
        let number = u64::from_str_radix(&fresh(), 16).unwrap();
        ["/", "//", "///", "////"][(number >> 8) as usize % 4]
    };
    crawled(
        "slashes",
        |path| number(path.split('/').rfind(|name| !name.is_empty())?),
        move |to| format!("{}x{}p{to}{}", slashes(), slashes(), &slashes()[1..]),
    );
}
