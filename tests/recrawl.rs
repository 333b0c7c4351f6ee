//! Recrawls of known pages: requests, changes, vanished pages.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use crate::helpers::{article, web};
use crate::support::{Bench, Page, Server, code, crawl, html, json_lines, missing, prose, text};

#[test]
fn a_recrawl_asks_only_for_what_has_changed() {
    let version = Arc::new(AtomicUsize::new(1));
    let now = Arc::clone(&version);
    let server = Server::answering(
        Arc::new(move |path, head| {
            let now = now.load(SeqCst) as u64;
            let tagged = |page: Page, tag: &str| {
                if head.contains(&format!("if-none-match: {tag}")) {
                    return Page {
                        status: "304 Not Modified",
                        headers: String::new(),
                        body: Vec::new(),
                    };
                }
                Page { headers: format!("{}ETag: {tag}\r\n", page.headers), ..page }
            };
            match path {
                "/" => html(format!(
                    "<p>{}</p><a href=/same>a</a><a href=/changing>b</a><a href=/plain>c</a><a href=/twin>d</a>",
                    prose(1, 10)
                )),
                "/same" => tagged(article(2), "\"two\""),
                "/changing" => tagged(article(10 + now), &format!("\"v{now}\"")),
                "/plain" => article(4),
                "/twin" => {
                    html(format!("<title>Twin</title><h1>Page 11</h1><p>{}</p>", prose(11, 10)))
                }
                _ => missing(),
            }
        }),
        Duration::ZERO,
    );
    let bench = Bench::new();
    let flags = ["--concurrency", "1"];
    assert_eq!(code(&bench.crawl(&[server.url("/")], &flags)), 0);
    let pages = bench.summary()["pages"].clone();
    assert_eq!((pages["indexed"].as_u64(), pages["exact"].as_u64()), (Some(4), Some(1)), "{pages}");
    // Another run sends no request.
    let before = server.asked().len();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &flags)), 0);
    assert_eq!(server.asked().len(), before);

    let seen = || -> HashMap<String, [String; 3]> {
        let rows = json_lines(bench.run(&["export"]).as_bytes());
        let times = |row: &serde_json::Value| {
            ["fetched", "first_seen", "last_seen"]
                .map(|name| row[name].as_str().unwrap().to_owned())
        };
        let path =
            |row: &serde_json::Value| row["url"].as_str().unwrap().replace(&server.url(""), "");
        rows.iter().map(|row| (path(row), times(row))).collect()
    };
    let first = seen();
    version.store(2, SeqCst);
    // Times have seconds.
    std::thread::sleep(Duration::from_millis(2_100));
    let output = bench.crawl(&[server.url("/")], &["--concurrency", "1", "--recrawl"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let mut again = server.asked()[before..].to_vec();
    again.sort();
    assert_eq!(again, ["/", "/changing", "/plain", "/same", "/twin"]);
    assert_eq!(bench.summary()["pages"]["unchanged"], 4, "{}", bench.summary());
    // Sightings: an unchanged page now, and the address of a changed one since its first fetch.
    let again = seen();
    for (path, [fetched, first_seen, last_seen]) in &again {
        let before = first.get(path);
        if path == "/changing" {
            assert!(first_seen < fetched && fetched == last_seen, "{first_seen} {fetched}");
        } else if let Some([fetched_before, first_before, last_before]) = before {
            assert_eq!((fetched, first_seen), (fetched_before, first_before), "{path}");
            assert!(last_seen > last_before, "{path}: {last_seen} {last_before}");
        }
    }
    // The new text is found once; the old one only under its copy.
    let found = |query: &str| {
        let hits = bench.run(&["search", query, "--json", "--limit", "20"]);
        let urls =
            hits.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        urls.map(|hit| hit["url"].as_str().unwrap().replace(&server.url(""), ""))
            .collect::<Vec<_>>()
    };
    let all = found("when");
    assert_eq!(all.len(), 5, "{all:?}");
    bench.checked();
}

#[test]
fn a_page_gone_at_a_recrawl_leaves_the_index_to_its_copy() {
    let version = Arc::new(AtomicUsize::new(1));
    let now = Arc::clone(&version);
    let server = Server::answering(
        Arc::new(move |path, _| {
            let version = now.load(SeqCst);
            let later = version > 1;
            let to = |status: &'static str| Page {
                status,
                headers: "Location: /new\r\n".to_owned(),
                body: Vec::new(),
            };
            match path {
                "/" => html(format!(
                    "<p>{}</p>{}",
                    prose(1, 10),
                    ["lost", "lost-copy", "moved", "away", "out", "private", "down", "old"]
                        .map(|path| format!("<a href=/{path}>{path}</a>"))
                        .concat()
                )),
                "/lost" if version == 2 => missing(),
                "/lost" | "/lost-copy" => article(2),
                "/moved" if later => to("301 Moved Permanently"),
                "/moved" => article(3),
                "/away" if later => to("302 Found"),
                "/out" if later => Page {
                    headers: "Location: http://elsewhere.example/\r\n".to_owned(),
                    ..to("301 Moved Permanently")
                },
                "/out" => article(8),
                "/away" => article(4),
                "/private" if later => {
                    html(format!("<meta name=robots content=noindex><p>{}</p>", prose(5, 10)))
                }
                "/private" => article(5),
                "/down" if later => Page { status: "403 Forbidden", ..missing() },
                "/down" => article(6),
                "/old" => to("301 Moved Permanently"),
                "/new" => article(7),
                _ => missing(),
            }
        }),
        Duration::ZERO,
    );
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--concurrency", "1"])), 0);
    let pages = |name: &str| bench.summary()["pages"][name].as_u64().unwrap();
    assert_eq!((pages("indexed"), pages("exact"), pages("alias")), (8, 1, 1));
    version.store(2, SeqCst);
    // The second recrawl has nothing left to do.
    for gone in [3, 3] {
        let output = bench.crawl(&[server.url("/")], &["--concurrency", "1", "--recrawl"]);
        assert_eq!(code(&output), 0, "{}", text(&output.stderr));
        let mut found = bench.found("when");
        found.iter_mut().for_each(|url| *url = url.replace(&server.url(""), ""));
        found.sort();
        assert_eq!(found, ["/", "/away", "/down", "/lost-copy", "/new", "/out"]);
        assert_eq!((pages("indexed"), pages("exact"), pages("alias")), (6, 0, 2));
        assert_eq!(pages("gone"), gone);
        bench.checked();
    }
    // A returned page is found again, and its copy is a copy again.
    version.store(3, SeqCst);
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--concurrency", "1", "--recrawl"])), 0);
    assert_eq!((pages("indexed"), pages("exact")), (6, 1));
    bench.checked();
    version.store(2, SeqCst);
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--concurrency", "1", "--recrawl"])), 0);
    for path in ["/lost", "/private"] {
        let said = bench.run(&["explain", &server.url(path)]);
        assert!(said.contains("see skipped.jsonl for the reason"), "{said}");
    }
}

#[test]
fn a_copy_nearer_to_the_seed_than_the_page_that_is_gone_takes_its_place_in_the_same_recrawl() {
    let version = Arc::new(AtomicUsize::new(1));
    let now = Arc::clone(&version);
    let server = Server::answering(
        Arc::new(move |path, _| {
            let to = |body: u64, links: &[&str]| {
                let links = links.iter().map(|link| format!("<a href={link}>x</a>"));
                html(format!("<p>{}</p>{}", prose(body, 10), links.collect::<String>()))
            };
            match path {
                "/" => to(1, &["/a", "/copy?of=it&print=1"]),
                "/a" => to(2, &["/b"]),
                "/b" => to(3, &["/deep"]),
                "/deep" if now.load(SeqCst) == 2 => missing(),
                "/deep" | "/copy?of=it&print=1" => article(4),
                _ => missing(),
            }
        }),
        Duration::ZERO,
    );
    let bench = Bench::new();
    let found = || -> Vec<String> {
        let mut found = bench.found("when");
        found.iter_mut().for_each(|url| *url = url.replace(&server.url(""), ""));
        found.sort();
        found
    };
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--max-depth", "9"])), 0);
    assert_eq!(found(), ["/", "/a", "/b", "/deep"], "the better address is kept");
    version.store(2, SeqCst);
    let flags = ["--max-depth", "9", "--recrawl"];
    assert_eq!(code(&bench.crawl(&[server.url("/")], &flags)), 0);
    assert_eq!(found(), ["/", "/a", "/b", "/copy?of=it&print=1"]);
    bench.checked();
}

#[test]
fn the_page_limit_of_a_recrawl_counts_from_its_beginning() {
    let mut pages = HashMap::new();
    for number in 0..6u64 {
        let links = format!("<a href=/{}>next</a>", number + 1);
        let name = if number == 0 { "/".to_owned() } else { format!("/{number}") };
        let body = format!("<h1>Page {number}</h1><p>{}</p>{links}", prose(number + 1, 10));
        pages.insert(name, html(body));
    }
    let server = Server::start(pages);
    let bench = Bench::new();
    let seeds = [server.url("/")];
    let limit = ["--max-pages", "3", "--concurrency", "1"];
    assert_eq!(code(&bench.crawl(&seeds, &limit)), 3);
    assert_eq!(server.asked(), ["/", "/1", "/2"]);
    let again = ["--max-pages", "3", "--concurrency", "1", "--recrawl"];
    let _ = bench.crawl(&seeds, &again);
    assert!(server.asked().len() > 3, "{:?}", server.asked());
    assert!(server.asked()[3..].contains(&"/".to_owned()), "{:?}", server.asked());
}

#[test]
fn a_killed_recrawl_resumes_with_the_same_command_and_the_next_starts_over() {
    let server = Server::slow(web(30, 2), Duration::from_millis(8));
    let bench = Bench::new();
    let seeds = [server.url("/")];
    assert_eq!(code(&bench.crawl(&seeds, &[])), 0);
    let mut before = server.asked().len();
    let mut child = bench.spawn(&seeds, &["--recrawl"]);
    server.wait_for(before + 30);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(code(&bench.crawl(&seeds, &["--recrawl"])), 0);
    let asked = server.asked().len() - before;
    // A broken link is requested again too.
    assert!((61..=62).contains(&asked), "{asked} for 61 addresses: one was in flight");
    before = server.asked().len();
    assert_eq!(bench.summary()["pages"]["unchanged"].as_u64(), Some(60), "{}", bench.summary());
    assert_eq!(code(&bench.crawl(&seeds, &["--recrawl"])), 0);
    assert_eq!(server.asked().len() - before, 61, "it looks at all of them once more");
}

/// Thirty texts in two copies; on the named host they link to `/far`.
fn two_hosts(far: &Server) -> HashMap<String, Page> {
    let mut pages = web(30, 2);
    let link = format!("<a href={}>far</a>", far.url("/far"));
    if let Some(start) = pages.get_mut("/") {
        start.body.extend(link.into_bytes());
    }
    pages
}

#[test]
fn a_recrawl_that_only_waits_for_a_dead_host_has_come_to_its_end() {
    let far = Server::start(HashMap::from([("/far".to_owned(), article(99))]));
    let server = Server::slow(two_hosts(&far), Duration::from_millis(4));
    let bench = Bench::new();
    let seeds = [server.url("/"), far.url("/far")];
    let flags = ["--scope", "any"];
    assert_eq!(code(&bench.crawl(&seeds, &flags)), 0);
    far.die();
    let output = bench.crawl(&seeds, &["--scope", "any", "--recrawl"]);
    assert_eq!(code(&output), 0, "one host answered: {}", text(&output.stderr));
    // A run without --recrawl that stops at once.
    bench.crawl(&seeds, &["--scope", "any", "--time-limit", "1ms"]);
    let before = server.asked().len();
    bench.crawl(&seeds, &["--scope", "any", "--recrawl", "--time-limit", "none"]);
    assert!(server.asked().len() - before >= 60, "{}", server.asked().len() - before);
}

#[test]
fn a_recrawl_without_any_response_says_so() {
    let server = Server::start(web(5, 1));
    let bench = Bench::new();
    let seeds = [server.url("/")];
    assert_eq!(code(&bench.crawl(&seeds, &[])), 0);
    server.die();
    let output = bench.crawl(&seeds, &["--recrawl"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(
        (code(&output), said.contains("No page could be looked at again.")),
        (4, true),
        "{said}"
    );
    assert_eq!(bench.summary()["pages"]["indexed"].as_u64(), Some(5), "what was there is kept");
    assert_eq!(bench.summary()["unreached"].as_bool(), Some(true), "{}", bench.summary());
    // No new recrawl starts, so the dead host changes nothing.
    assert_eq!(code(&bench.crawl(&seeds, &[])), 0);
    assert_eq!(code(&bench.crawl(&seeds, &["--recrawl"])), 4);
}

#[test]
fn a_recrawl_that_gets_failures_alone_says_so() {
    let down = Arc::new(AtomicUsize::new(0));
    let now = Arc::clone(&down);
    let server = Server::answering(
        Arc::new(move |path, _| match (now.load(SeqCst), path) {
            (1, path) if path != "/robots.txt" => Page { status: "503 Busy", ..missing() },
            (2, path) if path.ends_with('2') => Page { status: "502 Broken", ..missing() },
            (_, "/") => html(format!("<p>{}</p><a href=/1>1</a><a href=/2>2</a>", prose(1, 10))),
            (_, "/1") => article(2),
            (_, "/2") => article(3),
            _ => missing(),
        }),
        Duration::ZERO,
    );
    let bench = Bench::new();
    let seeds = [server.url("/")];
    assert_eq!(code(&bench.crawl(&seeds, &[])), 0);
    down.store(1, SeqCst);
    let output = bench.crawl(&seeds, &["--recrawl"]);
    let said = text(&output.stdout);
    assert_eq!(code(&output), 4, "{said}");
    assert!(said.contains("every answer was a failure"), "{said}");
    assert_eq!(bench.summary()["pages"]["indexed"].as_u64(), Some(3), "what was there is kept");
    // One host that answers is enough.
    down.store(2, SeqCst);
    assert_eq!(code(&bench.crawl(&seeds, &["--recrawl"])), 0);
}

#[test]
fn a_page_unchanged_by_last_modified_is_archived_as_a_revisit() {
    const CHANGED: &str = "Wed, 21 Oct 2015 07:28:00 GMT";
    let server = Server::answering(
        Arc::new(move |path, head| match path {
            "/" if head.contains(&format!("if-modified-since: {CHANGED}")) => {
                Page { status: "304 Not Modified", headers: String::new(), body: Vec::new() }
            }
            "/" => {
                let page = article(1);
                Page { headers: format!("{}Last-Modified: {CHANGED}\r\n", page.headers), ..page }
            }
            _ => missing(),
        }),
        Duration::ZERO,
    );
    let bench = Bench::new();
    let seeds = [server.url("/")];
    assert_eq!(code(&bench.crawl(&seeds, &[])), 0);
    assert_eq!(code(&bench.crawl(&seeds, &["--recrawl"])), 0);
    assert_eq!(bench.summary()["pages"]["unchanged"], 1, "{}", bench.summary());
    let head = server.heads().into_iter().rfind(|head| head.starts_with("GET / ")).unwrap();
    assert!(head.contains("if-modified-since") && !head.contains("if-none-match"), "{head}");

    let file = std::fs::File::open(bench.data().join("pages/pages-00001.warc.gz")).unwrap();
    let mut reader = hapax_warc::Reader::new(file, 1 << 20).unwrap();
    let (mut first, mut revisit) = (None, None);
    while let Some(record) = reader.next_record().unwrap() {
        match record.header("warc-type") {
            Some("response") => first = Some(record),
            Some("revisit") => revisit = Some(record),
            _ => {}
        }
    }
    let (first, revisit) = (first.unwrap(), revisit.unwrap());
    let profile = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";
    for (name, expected) in [
        ("warc-profile", Some(profile)),
        ("warc-target-uri", Some(seeds[0].as_str())),
        ("warc-refers-to", first.header("warc-record-id")),
        ("warc-refers-to-target-uri", Some(seeds[0].as_str())),
        ("warc-refers-to-date", first.header("warc-date")),
    ] {
        assert!(expected.is_some(), "{name}");
        assert_eq!(revisit.header(name), expected, "{name}");
    }
    assert!(revisit.block.starts_with(b"HTTP/1.1 304 \r\n"), "{}", text(&revisit.block));
    bench.checked();
}

#[test]
fn budgets_are_whole_in_a_recrawl_that_goes_on_and_pages_are_counted_from_each_beginning() {
    let server = Server::slow(web(30, 2), Duration::from_millis(4));
    let bench = Bench::new();
    let seeds = [server.url("/")];
    assert_eq!(code(&bench.crawl(&seeds, &["--max-pages-per-host", "60"])), 0);
    assert_eq!(bench.summary()["skipped"]["budget"].as_u64(), None, "{}", bench.summary());
    for limit in ["20", "20", "none"] {
        let before = server.asked().len();
        let output = bench.crawl(&seeds, &["--recrawl", "--max-pages", limit]);
        let asked = server.asked().len() - before;
        assert_eq!((code(&output), asked), if limit == "none" { (0, 21) } else { (3, 20) });
    }
    assert_eq!(bench.summary()["skipped"]["budget"].as_u64(), None, "{}", bench.summary());
}

#[test]
fn a_recrawl_that_is_killed_while_it_queues_leaves_nothing_out() {
    // More pages than are queued between two commits, from a server that answers for one of them.
    const KNOWN: u64 = 25_000;
    let server = Server::start(HashMap::from([("/".to_owned(), article(1))]));
    let bench = Bench::new();
    let mut lines = String::new();
    for number in 0..KNOWN {
        let (url, text) = (server.url(&format!("/p{number}")), format!("text number {number}"));
        lines += &serde_json::json!({"id": url, "url": url, "text": text}).to_string();
        lines.push('\n');
    }
    let stored = bench.path("pages.jsonl");
    std::fs::write(&stored, lines).unwrap();
    let mut pages = crawl();
    pages.args(["pages", "-", "-q", "--no-warc", "--data"]).arg(bench.data());
    let done = pages.stdin(std::fs::File::open(&stored).unwrap()).status().unwrap();
    assert!(done.success());
    let seeds = [server.url("/")];
    for wait in [100, 150, 200, 300, 400] {
        let mut child = bench.spawn(&seeds, &["--recrawl", "--no-warc"]);
        std::thread::sleep(Duration::from_millis(wait));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    bench.crawl(&seeds, &["--recrawl", "--no-warc", "--max-pages", "1"]);
    let queued = bench.summary()["queued_urls"].as_u64().unwrap();
    let looked_at = server.asked().len() as u64;
    assert!(queued + looked_at >= KNOWN, "{queued} wait, {looked_at} were asked for");
}

#[test]
fn changed_rules_restart_a_recrawl() {
    let server = Server::slow(web(30, 2), Duration::from_millis(4));
    let bench = Bench::new();
    let seeds = [server.url("/")];
    assert_eq!(code(&bench.crawl(&seeds, &[])), 0);
    let narrow = ["--recrawl", "--max-pages", "5", "--exclude", "[13579]$"];
    assert_eq!(code(&bench.crawl(&seeds, &narrow)), 3);
    let before = server.asked().len();
    let wide = ["--recrawl", "--max-pages", "none", "--exclude", ""];
    assert_eq!(code(&bench.crawl(&seeds, &wide)), 0);
    assert!(server.asked().len() - before >= 60, "{}", server.asked().len() - before);
}

#[test]
fn a_recrawl_takes_no_answer_that_came_before_it() {
    let server = Server::slow(web(30, 2), Duration::from_millis(8));
    let bench = Bench::new();
    let seeds = [server.url("/")];
    let mut child = bench.spawn(&seeds, &[]);
    server.wait_for(20);
    child.kill().unwrap();
    child.wait().unwrap();
    let before = server.asked();
    assert_eq!(code(&bench.crawl(&seeds, &["--recrawl"])), 0);
    let since = &server.asked()[before.len()..];
    for path in before {
        assert!(since.contains(&path), "{path} was not asked for again");
    }
}

#[test]
fn a_site_that_moved_since_is_followed_from_its_seed() {
    let web = || {
        HashMap::from([
            ("/".to_owned(), html(format!("<p>{}</p><a href=/a>a</a>", prose(1, 10)))),
            ("/a".to_owned(), article(2)),
        ])
    };
    let target = Server::start(web());
    // First to another host, and from there on to the target.
    let to = target.url("");
    let middle = Server::answering(
        Arc::new(move |path, _| Page {
            status: "301 Moved Permanently",
            headers: format!("Location: {to}{path}\r\n"),
            body: Vec::new(),
        }),
        Duration::ZERO,
    );
    let moved = Arc::new(AtomicUsize::new(0));
    let (later, pages, to) = (Arc::clone(&moved), web(), middle.url(""));
    let server = Server::answering(
        Arc::new(move |path, _| match pages.get(path) {
            Some(_) if later.load(SeqCst) > 0 => Page {
                status: "301 Moved Permanently",
                headers: format!("Location: {to}{path}\r\n"),
                body: Vec::new(),
            },
            Some(page) => page.clone(),
            None => missing(),
        }),
        Duration::ZERO,
    );
    let bench = Bench::new();
    let flags = ["--concurrency", "1", "--allow-private", "127.0.0.0/8"];
    assert_eq!(code(&bench.crawl(&[server.url("/")], &flags)), 0);
    moved.store(1, SeqCst);
    let again = [&flags[..], &["--recrawl"]].concat();
    let output = bench.crawl(&[server.url("/")], &again);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let mut found = bench.found("when");
    found.sort();
    assert_eq!(found, [target.url("/"), target.url("/a")]);
    bench.checked();
}

#[test]
fn a_page_that_moved_to_where_nothing_is_fetched_stays_under_its_old_address() {
    let moved = Arc::new(AtomicUsize::new(0));
    let now = Arc::clone(&moved);
    let server = Server::answering(
        Arc::new(move |path, _| match (path, now.load(SeqCst)) {
            ("/", _) => html("<a href=/old>a</a>"),
            ("/old", 0) => article(3),
            ("/old", _) => crate::support::redirect("/new"),
            ("/new", _) => article(3),
            _ => missing(),
        }),
        Duration::ZERO,
    );
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
    moved.store(1, SeqCst);
    let flags = ["--recrawl", "--max-redirects", "0"];
    assert_eq!(code(&bench.crawl(&[server.url("/")], &flags)), 0);
    assert!(!server.asked().contains(&"/new".to_owned()));
    assert!(bench.run(&["export"]).contains(&server.url("/old")), "its text is kept");
    let flags = ["--recrawl", "--max-redirects", "5"];
    assert_eq!(code(&bench.crawl(&[server.url("/")], &flags)), 0);
    // The old address is named as an inlink.
    let urls = |line: &str| -> String {
        serde_json::from_str::<serde_json::Value>(line).unwrap()["url"].to_string()
    };
    let kept: String = bench.run(&["export"]).lines().map(urls).collect();
    assert!(kept.contains(&server.url("/new")) && !kept.contains(&server.url("/old")), "{kept}");
}
