//! `crawl explain URL`: what is known of an address, and what would become of it.

use std::collections::HashMap;

use crate::fetching::article;
use crate::support::{Bench, Server, code, html, prose, text};

fn site() -> Server {
    let page = |number: u64, links: &str| {
        html(format!("<h1>Page {number}</h1><p>{}</p>{links}", prose(number, 10)))
    };
    let wide: String = (0..20).map(|n| format!("<a href=/w{n}>w</a>")).collect();
    let mut pages = HashMap::from([
        ("/".to_owned(), page(1, &format!("<a href=/a>a</a>{wide}"))),
        ("/a".to_owned(), page(2, "<a href=/b>b</a>")),
        ("/b".to_owned(), page(3, "<a href=/c>c</a>")),
    ]);
    pages.extend((0..20).map(|n| (format!("/w{n}"), article(100 + n))));
    Server::start(pages)
}

#[test]
fn the_place_in_the_queue_and_the_depth_are_those_of_the_crawl() {
    let server = site();
    let bench = Bench::new();
    let flags = ["--max-pages", "3", "--concurrency", "1", "--max-depth", "2"];
    let output = bench.crawl(&[server.url("/")], &flags);
    assert_eq!(code(&output), 3, "{}", text(&output.stderr));
    assert_eq!(server.asked(), ["/", "/a", "/w0"]);
    let explained = |path: &str, more: &[&str]| {
        let url = server.url(path);
        bench.run(&[&["explain", &url][..], more].concat())
    };
    for (path, known, depth) in [
        ("/w1", "queued, 0 of its host before it", "1"),
        ("/w19", "queued, 18 of its host before it", "1"),
        ("/b", "queued, 19 of its host before it", "2"),
    ] {
        let said = explained(path, &[]);
        assert!(said.contains(known), "{path}: {said}");
        let line = said.lines().find(|line| line.starts_with("depth")).unwrap();
        assert_eq!(line.split_whitespace().last(), Some(depth), "{path}: {said}");
        assert!(said.contains("would be fetched"), "{path}: {said}");
    }
    // Narrower rules speak of where it waits.
    let said = explained("/b", &["--max-depth", "1"]);
    assert!(said.contains("skipped: depth, at depth 2"), "{said}");
    let said = explained("/w1", &["--max-pages-per-host", "3"]);
    assert!(said.contains("skipped: budget, 3 pages of this host were fetched"), "{said}");
}

#[test]
fn what_was_refused_before_is_told_by_its_line_in_the_log() {
    let server = site();
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--max-depth", "1"])), 0);
    let said = bench.run(&["explain", &server.url("/b")]);
    assert!(said.contains("skipped: depth, at depth 2"), "{said}");
    assert!(
        said.lines().any(|line| line.starts_with("logged") && line.contains(" depth, ")),
        "{said}"
    );
    let url = server.url("/b");
    let said = bench.run(&["explain", &url, "--max-depth", "2"]);
    assert!(said.contains("would be fetched"), "wider rules take it in: {said}");
}
