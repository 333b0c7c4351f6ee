//! Sites whose pages repeat under ever new URLs of a form that no rule knows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use crate::helpers::plain;
use crate::support::{Bench, Page, Server, code, html, missing, prose, text};
use crate::traps::{ANSWER, crawled, ended, fresh, number, page};

/// A unique word of letters.
fn word() -> String {
    fresh().bytes().map(|digit| char::from(b'a' + digit % 23)).collect()
}

/// A page whose links end with new words.
fn of_words(path: &str) -> Page {
    let number = match path {
        "/" => Some(0),
        path => number(path.trim_start_matches('/').split('x').next().unwrap()),
    };
    number.map_or_else(missing, |number| page(number, |to| format!("/p{to}x{}", word())))
}

#[test]
fn new_urls_of_any_form_end() {
    type Form = (&'static str, fn(&str) -> Option<u64>, fn(u64) -> String);
    let forms: [Form; 6] = [
        (
            "a parameter whose name is a new word",
            |path| number(path.strip_prefix('/')?.split('?').next()?),
            |to| format!("/p{to}?{}={}", word(), fresh()),
        ),
        (
            "a token within a value",
            |path| number(path.strip_prefix("/item?id=")?.split('-').next()?),
            |to| format!("/item?id=p{to}-{}", fresh()),
        ),
        (
            "a word without a separator",
            |path| number(path.strip_prefix('/')?.split('x').next()?),
            |to| format!("/p{to}x{}", word()),
        ),
        (
            "a title of many words",
            |path| number(path.rsplit('-').next()?),
            |to| format!("/{}-of-{}-and-{}-p{to}", word(), word(), word()),
        ),
        (
            "folders that grow",
            |path| number(path.trim_end_matches('/').rsplit('/').next()?),
            |to| format!("p{to}/"),
        ),
        (
            "three random words of a value",
            |path| number(path.split("/q/").nth(1)?.split(':').nth(2)?),
            |to| format!("/q/{}:{}:p{to}:{}", word(), word(), word()),
        ),
    ];
    for (name, page_at, link) in forms {
        crawled(name, page_at, link);
    }
}

#[test]
fn the_log_says_how_often_a_site_repeated_itself() {
    let server = Server::answering(
        Arc::new(|path, _| match path {
            "/robots.txt" => plain(""),
            path => of_words(path),
        }),
        ANSWER,
    );
    let bench = Bench::new();
    let output = bench.crawl(&[server.url("/")], &["--max-pages", "1000"]);
    ended("words", &bench, &server, &output);
    let lines = bench.log("skipped.jsonl");
    let line = lines.iter().find(|line| line["reason"] == "dust-rule").unwrap();
    let rule = line["rule"].as_str().unwrap();
    assert!(rule.contains(": further URLs of 127.0.0.1:"), "{rule}");
    let detail = line["detail"].as_str().unwrap();
    assert!(
        detail.ends_with("duplicates of pages of the site, with links to new URLs"),
        "{detail}"
    );
    // The rule is still in force, except for the seed and for samples.
    let asked = server.asked_all().len();
    let seed = server.url(&format!("/p3x{}", word()));
    let output = bench.crawl(std::slice::from_ref(&seed), &["--max-pages", "1000"]);
    assert_eq!(code(&output), 0, "{}{}", text(&output.stdout), text(&output.stderr));
    let again = server.asked_all().split_off(asked);
    assert!(again.iter().any(|path| seed.ends_with(path)) && again.len() <= 25, "{again:?}");
}

#[test]
fn new_pages_behind_many_duplicates_are_found() {
    // Two hundred copies of thirty pages, each with a link to a new page.
    let copies = 200;
    let server = Server::answering(
        Arc::new(move |path, _| match path {
            "/robots.txt" => plain(""),
            "/" => {
                let links = (0..copies).map(|n| format!("<a href=/copy/{}{n}>a copy</a> ", word()));
                html(format!("<p>{}</p>{}", prose(7, 9), links.collect::<String>()))
            }
            _ => {
                let digits: String = path.chars().filter(char::is_ascii_digit).collect();
                let Ok(n) = digits.parse::<u64>() else { return missing() };
                match path.starts_with("/copy/") {
                    true => html(format!(
                        "<h1>Page {}</h1><p>{}</p><a href=/n{n}>new</a>",
                        n % 30,
                        prose(100 + n % 30, 9)
                    )),
                    false => html(format!("<h1>New {n}</h1><p>{}</p>", prose(1000 + n, 9))),
                }
            }
        }),
        ANSWER,
    );
    let bench = Bench::new();
    let output = bench.crawl(&[server.url("/")], &["--concurrency", "1"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stdout));
    assert_eq!(bench.kept().len() as u64, 1 + 30 + copies);
}

#[test]
fn variants_of_a_page_and_what_is_behind_them_are_requested() {
    // Services, a page with one text for each of 180 towns, and posts behind the last link of the home page.
    let towns: Vec<String> = (0..180).map(|_| format!("a-plumber-for-all-of-{}", word())).collect();
    let server = Server::answering(
        Arc::new(move |path, _| {
            let services = (0..25).map(|n| format!("<a href=/service-{n}>S</a> "));
            let menu: String = services
                .chain(towns.iter().map(|town| format!("<a href=/{town}>T</a> ")))
                .collect();
            let page = |heading: &str, seed: u64| {
                html(format!(
                    "<h1>{heading}</h1><p>{}</p><nav>{menu}<a href=/posts>P</a></nav>",
                    prose(seed, 9)
                ))
            };
            let name = path.trim_start_matches('/');
            let (kind, number) = name.split_once('-').unwrap_or((name, ""));
            match (kind, number.parse::<u64>()) {
                ("robots.txt", _) => plain(""),
                ("", _) => page("Home", 70),
                ("posts", _) => {
                    let posts = (0..40).map(|n| format!("<a href=/post-{n}>a post</a> "));
                    html(format!(
                        "<h1>Posts</h1><p>{}</p>{}",
                        prose(770, 9),
                        posts.collect::<String>()
                    ))
                }
                ("service", Ok(n)) => page(&format!("Service {n}"), 3000 + n),
                ("post", Ok(n)) => page(&format!("Post {n}"), 5000 + n),
                _ if towns.iter().any(|town| town == name) => page("Plumber", 7777),
                _ => missing(),
            }
        }),
        ANSWER,
    );
    let bench = Bench::new();
    let output = bench.crawl(&[server.url("/")], &["--concurrency", "2"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stdout));
    assert_eq!(bench.kept().len(), 1 + 1 + 25 + 1 + 40);
}

#[test]
fn several_views_of_a_calendar_end() {
    let date = |at: i64| {
        let (year, month, day) =
            (2026 + at.div_euclid(336), at.rem_euclid(336) / 28, at.rem_euclid(28));
        format!("{year}-{:02}-{:02}", month + 1, day + 1)
    };
    let days = |text: &str| -> Option<i64> {
        let mut parts = text.split('-').map(|part| part.parse::<i64>().ok());
        let [year, month, day] = [parts.next()??, parts.next()??, parts.next()??];
        Some((year - 2026) * 336 + (month - 1) * 28 + day - 1)
    };
    let views = [("month", 28), ("week", 7), ("day", 1), ("agenda", 14)];
    let server = Server::answering(
        Arc::new(move |path, _| {
            if path == "/robots.txt" {
                return plain("");
            }
            let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
            match parts[..] {
                ["cal", view, at] => {
                    let step = views.iter().find(|(name, _)| *name == view);
                    let (Some((_, step)), Some(at)) = (step, days(at)) else { return missing() };
                    let others = views
                        .map(|(name, _)| format!("<a href=/cal/{name}/{}>{name}</a> ", date(at)));
                    html(format!(
                        "<title>Events of {0}</title><h1>Events, {view} of {0}</h1><p>There are no events here. Please \
                         choose another date or ask in the office.</p><a href=/cal/{view}/{1}>before</a> \
                         <a href=/cal/{view}/{2}>after</a> {3}",
                        date(at),
                        date(at - step),
                        date(at + step),
                        others.concat()
                    ))
                }
                _ => {
                    let mut page = page(number(parts[0]).unwrap_or(0), |to| format!("/p{to}"));
                    page.body
                        .extend(format!("<a href=/cal/month/{}>calendar</a>", date(90)).bytes());
                    page
                }
            }
        }),
        ANSWER,
    );
    let bench = Bench::new();
    let output = bench.crawl(&[server.url("/")], &["--max-pages", "1000"]);
    ended("views", &bench, &server, &output);
}

#[test]
fn a_recrawl_finds_the_new_pages_of_a_host_that_repeated() {
    let has_posts = Arc::new(AtomicBool::new(false));
    let posts = Arc::clone(&has_posts);
    let server = Server::answering(
        Arc::new(move |path, _| match path {
            "/robots.txt" => plain(""),
            "/" => {
                let mut page = of_words(path);
                if posts.load(SeqCst) {
                    let links =
                        (0..20).map(|n| format!("<a href=/a-post-of-the-year-{n}>post</a> "));
                    page.body.extend(links.collect::<String>().bytes());
                }
                page
            }
            _ => {
                match path.strip_prefix("/a-post-of-the-year-").and_then(|n| n.parse::<u64>().ok())
                {
                    Some(n) if n < 20 => {
                        html(format!("<h1>Post {n}</h1><p>{}</p>", prose(9000 + n, 9)))
                    }
                    _ => of_words(path),
                }
            }
        }),
        ANSWER,
    );
    let bench = Bench::new();
    let output = bench.crawl(&[server.url("/")], &["--max-pages", "1000"]);
    ended("words", &bench, &server, &output);
    has_posts.store(true, SeqCst);
    let flags = ["--recrawl", "--max-pages", "400"];
    let output = bench.crawl(&[server.url("/")], &flags);
    let posts = bench.kept().iter().filter(|url| url.contains("/a-post-of-")).count();
    assert_eq!(posts, 20, "{}{}", text(&output.stdout), text(&output.stderr));
}
