//! Endless links beside pages whose URLs have the same parameter, segment or host name, and further forms of filters and
//! calendars: the crawl ends, and requests all pages.

use std::sync::Arc;

use crate::helpers::plain;
use crate::support::{Bench, Page, Server, code, html, missing, prose, text};
use crate::traps::{ANSWER, ended, fresh, number, page};

/// Crawls thirty pages at `/p…` with endless `link`s, one of which has a list of other pages. `others` are their paths.
fn crawled_beside(
    name: &str,
    page_at: fn(&str) -> Option<u64>,
    link: fn(u64) -> String,
    others: &[String],
) {
    let (own, all) = (others.to_vec(), others.to_vec());
    let server = Server::answering(
        Arc::new(move |path, _| {
            let answer = |number: u64| {
                let mut page = page(number, link);
                if number == 20 {
                    page.body.extend(b"<a href=/about>About</a>");
                }
                page
            };
            match path {
                "/robots.txt" => plain(""),
                "/" => answer(0),
                "/about" => {
                    let links: String =
                        own.iter().map(|path| format!("<a href=\"{path}\">x</a> ")).collect();
                    html(format!("<h1>About</h1><p>{}</p>{links}", prose(9_999, 9)))
                }
                _ => match own.iter().position(|other| other == path) {
                    Some(at) => html(format!(
                        "<title>Other {at}</title><h1>Other {at}</h1><p>{}</p>",
                        prose(5_000 + at as u64, 12)
                    )),
                    None => page_at(path).map_or_else(missing, answer),
                },
            }
        }),
        ANSWER,
    );
    let bench = Bench::new();
    let output = bench.crawl(&[server.url("/")], &["--max-pages", "1000"]);
    assert_eq!(code(&output), 0, "{name}: {}", text(&output.stderr));
    let asked = server.asked_all();
    for other in &all {
        assert!(asked.iter().any(|path| path == other), "{name}: {other} was not requested");
    }
    let most = 3 * (30 + all.len()) + 100;
    assert!(asked.len() <= most, "{name}: {} requests", asked.len());
}

#[test]
fn a_random_parameter_loses_no_page_that_the_same_parameter_names_elsewhere() {
    let products: Vec<String> = (0..60).map(|number| format!("/product?id={number}")).collect();
    crawled_beside(
        "parameter",
        |path| number(path.strip_prefix('/')?.split_once("?id=")?.0),
        |to| format!("/p{to}?id={}", fresh()),
        &products,
    );
}

#[test]
fn a_random_folder_loses_no_page_of_other_folders() {
    let folders = ["guide", "tutorial", "reference"];
    let chapters: Vec<String> = folders
        .iter()
        .flat_map(|folder| (0..20).map(move |number| format!("/{folder}/p{number}")))
        .collect();
    crawled_beside(
        "folder",
        |path| {
            let (folder, name) = path.strip_prefix('/')?.split_once('/')?;
            (folder.len() == 8).then(|| number(name))?
        },
        |to| format!("/{}/p{to}", fresh()),
        &chapters,
    );
}

#[test]
fn random_hosts_lose_no_page_of_other_hosts() {
    let shops: Vec<String> = (0..8)
        .flat_map(|shop| (0..4).map(move |at| format!("http://shop{shop}.trap.example/p{at}")))
        .collect();
    let own = shops.clone();
    let proxy = Server::answering(
        Arc::new(move |path, _| {
            let link = |to: u64| format!("http://h{}.trap.example/p{to}", fresh());
            let url = url::Url::parse(path).unwrap();
            let answer = |number: u64| {
                let mut page = page(number, link);
                if number == 20 {
                    page.body.extend(b"<a href=http://trap.example/about>About</a>");
                }
                page
            };
            match url.path() {
                "/robots.txt" | "/sitemap.xml" => missing(),
                "/" => answer(0),
                "/about" => {
                    let links: String =
                        own.iter().map(|path| format!("<a href=\"{path}\">x</a> ")).collect();
                    html(format!("<h1>About</h1><p>{}</p>{links}", prose(9_999, 9)))
                }
                name => match own.iter().position(|shop| shop == path) {
                    Some(at) => {
                        html(format!("<h1>Shop {at}</h1><p>{}</p>", prose(5_000 + at as u64, 12)))
                    }
                    None => name.strip_prefix('/').and_then(number).map_or_else(missing, answer),
                },
            }
        }),
        ANSWER,
    );
    let bench = Bench::new();
    let flags = ["--proxy", &proxy.url(""), "--scope", "domain", "--concurrency", "4"];
    let output = bench.crawl(&["http://trap.example/".to_owned()], &flags);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let asked = proxy.asked_all();
    for shop in &shops {
        assert!(asked.contains(shop), "{shop} was not requested");
    }
}

/// A page of a list with the products that have these filters, and links to lists with one filter more.
fn list(filters: &[usize], href: impl Fn(&[usize]) -> String) -> Page {
    let has = |product: usize, filter: usize| ((product * 7 + filter * 13) % 19).is_multiple_of(2);
    let shown = (0..30).filter(|product| filters.iter().all(|filter| has(*product, *filter)));
    let products: String = shown
        .map(|product| {
            let start: String = prose(product as u64 + 1, 12).chars().take(80).collect();
            format!("<li><a href=/p{product}>Page {product}</a> {start}")
        })
        .collect();
    let further = (0..10).filter(|filter| filters.len() < 3 && !filters.contains(filter));
    let links: String = further
        .map(|filter| {
            let mut chosen = filters.to_vec();
            chosen.insert(filter % (chosen.len() + 1), filter);
            format!("<li><a href=\"{}\">filter</a>", href(&chosen))
        })
        .collect();
    html(format!("<title>Shop</title><h1>Shop</h1><ul>{products}</ul><ul>{links}</ul>"))
}

#[test]
fn filters_in_arrays_lists_and_paths_end() {
    const NAMES: [&str; 10] =
        ["red", "blue", "large", "small", "wool", "linen", "sale", "plain", "long", "short"];
    let forms: [(&str, &str, &str); 5] = [
        ("list", "/s?f=", ","),
        ("path", "/s/", "/"),
        ("words", "/s/", "-"),
        ("array", "/s?f%5B%5D=", "&f%5B%5D="),
        ("names and values", "/s/", "/yes/"),
    ];
    for (name, start, separator) in forms {
        let href = move |filters: &[usize]| {
            let names: Vec<&str> = filters.iter().map(|filter| NAMES[*filter]).collect();
            format!("{start}{}", names.join(separator))
        };
        let server = Server::answering(
            Arc::new(move |path, _| match path {
                "/robots.txt" => plain(""),
                "/" => list(&[], href),
                _ => match path.strip_prefix(start) {
                    Some(rest) => {
                        let names = rest.split(separator);
                        let filters: Option<Vec<usize>> =
                            names.map(|name| NAMES.iter().position(|one| *one == name)).collect();
                        filters.map_or_else(missing, |filters| list(&filters, href))
                    }
                    None => {
                        path.strip_prefix('/').and_then(number).map_or_else(missing, |number| {
                            html(format!(
                                "<title>Page {number}</title><h1>Page {number}</h1><p>{}</p>",
                                prose(number + 1, 12)
                            ))
                        })
                    }
                },
            }),
            ANSWER,
        );
        let bench = Bench::new();
        let output = bench.crawl(&[server.url("/")], &["--max-pages", "1000"]);
        ended(name, &bench, &server, &output);
    }
}

#[test]
fn quarters_and_weeks_end() {
    for (name, mark, last) in [("quarters", "Q", 4), ("weeks", "-W", 52)] {
        let server = Server::answering(
            Arc::new(move |path, _| {
                let at = |number: i64| {
                    let (year, number) = (number.div_euclid(last), number.rem_euclid(last) + 1);
                    format!("/c/{year}{mark}{number:02}")
                };
                let period = |rest: &str| {
                    let (year, number) = rest.split_once(mark)?;
                    Some((year.parse::<i64>().ok()?, number.parse::<i64>().ok()?))
                };
                let products = |to: u64| format!("/p{to}");
                match path.strip_prefix("/c/").and_then(period) {
                    Some((year, number)) => {
                        let own = year * last + number - 1;
                        html(format!(
                            "<title>{name}</title><h1>{name} {number}, {year}</h1><p>There are no events.</p>\
                             <a href={}>before</a> <a href={}>after</a>",
                            at(own - 1),
                            at(own + 1)
                        ))
                    }
                    None => match path {
                        "/robots.txt" => plain(""),
                        "/" => {
                            let mut page = page(0, products);
                            page.body.extend(format!("<a href={}>x</a>", at(2026 * last)).bytes());
                            page
                        }
                        path => path
                            .strip_prefix('/')
                            .and_then(number)
                            .map_or_else(missing, |number| page(number, products)),
                    },
                }
            }),
            ANSWER,
        );
        let bench = Bench::new();
        let output = bench.crawl(&[server.url("/")], &["--max-pages", "1000"]);
        ended(name, &bench, &server, &output);
    }
}

#[test]
fn filters_with_several_values_in_any_order_end() {
    // Ten filters with four values, chosen one after the other, and two orders of the list. What is left of the filters is
    // the longest text of a list with few products.
    const NAMES: [&str; 10] =
        ["red", "blue", "large", "small", "wool", "linen", "sale", "plain", "long", "short"];
    let server = Server::answering(
        Arc::new(|path, _| {
            let has = |product: usize, pair: &str| {
                let mixed = pair.bytes().fold(product + 1, |sum, byte| sum * 31 + byte as usize);
                pair.ends_with(char::from(b'0' + (mixed / 7 % 4) as u8)) || pair.contains("sort")
            };
            let (place, query) = path.split_once('?').unwrap_or((path, ""));
            match place {
                "/robots.txt" => return plain(""),
                "/" | "/list" => {}
                _ => {
                    let number = place.strip_prefix('/').and_then(number);
                    return number.map_or_else(missing, |number| {
                        html(format!(
                            "<title>Page {number}</title><h1>Page {number}</h1><p>{}</p>",
                            prose(number + 1, 12)
                        ))
                    });
                }
            }
            let chosen: Vec<&str> = query.split('&').filter(|pair| !pair.is_empty()).collect();
            let link = |name: &str, value: &str| {
                let mut pairs: Vec<String> = chosen.iter().map(|pair| (*pair).to_owned()).collect();
                pairs.push(format!("{name}={value}"));
                format!("<a href=\"/list?{}\">{name} {value}</a> ", pairs.join("&"))
            };
            let is_left = |name: &&str| !query.contains(&format!("{name}="));
            let mut links = String::new();
            if chosen.len() < 3 {
                for name in NAMES.iter().filter(|name| is_left(name)) {
                    links.extend(["0", "1", "2", "3"].map(|value| link(name, value)));
                }
            }
            if is_left(&"sort") {
                links.extend(["price", "name"].map(|value| link("sort", value)));
            }
            let shown: Vec<String> = (0..30)
                .filter(|product| chosen.iter().all(|pair| has(*product, pair)))
                .map(|product| {
                    let start: String = prose(product as u64 + 1, 12).chars().take(80).collect();
                    format!("<li><a href=/p{product}>Page {product}</a> {start}")
                })
                .collect();
            html(format!(
                "<title>List</title><h1>{} products</h1><ul>{}</ul>{links}",
                shown.len(),
                shown.concat()
            ))
        }),
        ANSWER,
    );
    let bench = Bench::new();
    let output = bench.crawl(&[server.url("/")], &["--max-pages", "1000", "--concurrency", "8"]);
    ended("values", &bench, &server, &output);
}
