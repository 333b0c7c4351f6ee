//! Figures that several commands report, and whether they agree.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use crate::helpers::copy;
use crate::support::{Bench, Page, Server, code, html, missing, prose, redirect};

fn article(seed: u64, more: &str) -> Page {
    html(format!("<title>Page {seed}</title><h1>Page {seed}</h1><p>{}</p>{more}", prose(seed, 10)))
}

/// Two hosts with the same ten texts, one with worse and one with better addresses. From the second cycle on some
/// texts differ.
fn mirrors(looks: &Arc<AtomicUsize>) -> (Server, Server) {
    let now = Arc::clone(looks);
    let good = Server::answering(
        Arc::new(move |path, _| match path.strip_prefix("/").and_then(|path| path.parse().ok()) {
            Some(page @ 0..=3) if now.load(SeqCst) > 0 => article(page + 50, ""),
            Some(page @ 0..=9) => article(page, ""),
            _ if path == "/moved" => redirect("/3"),
            _ => missing(),
        }),
        Duration::ZERO,
    );
    let links = |to: &str, more: &str| -> String {
        (0..10).map(|page| format!("<a href='{to}{page}{more}'>p</a>")).collect()
    };
    let (own, other) = (links("/very/long/path?page=", "&print=1"), links(&good.url("/"), ""));
    let moved = good.url("/moved");
    let clumsy = Server::answering(
        Arc::new(move |path, _| {
            let page =
                path.strip_prefix("/very/long/path?page=").and_then(|rest| rest.split('&').next());
            match page.and_then(|page| page.parse().ok()) {
                // One more sentence: near, not equal.
                Some(page @ 7..=9) => {
                    article(page, "<p>This was printed on a day when it had been raining.</p>")
                }
                Some(page) => article(page, ""),
                None if path == "/" => article(99, &format!("{own}<a href=/next>n</a>")),
                None if path == "/next" => article(98, &format!("{other}<a href='{moved}'>m</a>")),
                None => missing(),
            }
        }),
        Duration::ZERO,
    );
    (clumsy, good)
}

#[test]
fn hosts_totals_and_log_agree_whatever_was_changed() {
    let looks = Arc::default();
    let (clumsy, good) = mirrors(&looks);
    let bench = Bench::new();
    let seeds = [clumsy.url("/"), good.url("/0")];
    let flags = ["--concurrency", "1"];
    assert_eq!(code(&bench.crawl(&seeds, &flags)), 0);
    bench.agree_with_summary("after a crawl");
    let lost =
        bench.summary()["hosts"].as_array().unwrap().iter().any(|host| {
            host["host"] == format!("127.0.0.1:{}", clumsy.port) && host["discarded"] == 7
        });
    assert!(lost, "the first host's copies of equal text gave way: {}", bench.summary()["hosts"]);
    let (worse, better) = (bench.rows(&["--match", "page=5"])[0]["url"].clone(), good.url("/5"));
    for page in [worse.as_str().unwrap(), &better, worse.as_str().unwrap()] {
        bench.run(&["duplicates", "keep", page]);
        bench.agree_with_summary("after keeping the other one");
    }
    bench.run(&["duplicates", "restore", "--all"]);
    bench.agree_with_summary("after restore --all");
    bench.run(&["duplicates", "restore", "--all", "--undo"]);
    bench.agree_with_summary("after taking that back");
    bench.run(&["duplicates", "recheck", "--similarity", "0.999", "--apply"]);
    bench.agree_with_summary("after recheck");
    bench.run(&["forget", &good.url("/6")]);
    bench.agree_with_summary("after forgetting a page");
    let aliases = bench.summary()["pages"]["alias"].clone();
    bench.run(&["forget", &good.url("/moved")]);
    bench.agree_with_summary("after forgetting a redirect");
    assert_eq!((aliases, &bench.summary()["pages"]["alias"]), (1.into(), &0.into()));
    looks.store(1, SeqCst);
    let fetched = |bench: &Bench| bench.summary()["pages"]["fetched"].as_u64().unwrap();
    let before = fetched(&bench);
    assert_eq!(code(&bench.crawl(&seeds, &["--concurrency", "1", "--recrawl"])), 0);
    bench.agree_with_summary("after a recrawl");
    assert!(fetched(&bench) > before);
    bench.run(&["forget", &format!("127.0.0.1:{}", clumsy.port)]);
    bench.agree_with_summary("after forgetting a host");
}

#[test]
fn after_kills_and_a_crash_between_commits_each_page_is_counted_once_for_its_host() {
    let links: String = (0..120).map(|page| format!("<a href=/{page}>p</a>")).collect();
    let mut pages = HashMap::from([("/".to_owned(), article(1000, &links))]);
    for page in 0..120 {
        // Each text three times; one page in ten is noindex.
        let noindex = if page % 10 == 0 { "<meta name=robots content=noindex>" } else { "" };
        pages.insert(format!("/{page}"), article(page / 3, noindex));
    }
    let server = Server::slow(pages, Duration::from_millis(10));
    let bench = Bench::new();
    let seeds = [server.url("/")];
    for asked in [20, 50, 80] {
        let mut child = bench.spawn(&seeds, &["--concurrency", "2"]);
        server.wait_for(asked);
        std::thread::sleep(Duration::from_millis(300));
        child.kill().unwrap();
        child.wait().unwrap();
        if bench.data().join("summary.json").exists() {
            bench.agree("after a kill");
        }
    }
    // Simulate a missing last commit of the frontier.
    bench.crawl(&seeds, &["--max-pages", "90"]);
    let frontier = bench.data().join("frontier");
    copy(&frontier, &bench.path("frontier"));
    let fetched = || bench.summary()["pages"]["fetched"].as_u64().unwrap();
    // Requests in flight at the limit count too.
    let more = fetched() + 1;
    bench.crawl(&seeds, &["--max-pages", &more.to_string()]);
    assert!(fetched() >= more, "{} of {more}", fetched());
    copy(&bench.path("frontier"), &frontier);
    assert_eq!(code(&bench.crawl(&seeds, &["--max-pages", "none"])), 0);
    bench.agree_with_summary("after all");
    assert!(bench.summary()["pages"]["exact"].as_u64().unwrap() > 60, "{}", bench.summary());
}

#[test]
fn log_lines_after_the_last_commit_are_never_shown() {
    let links: String = (0..60).map(|page| format!("<a href=/{page}>p</a>")).collect();
    let mut pages = HashMap::from([("/".to_owned(), article(1000, &links))]);
    pages.extend((0..60).map(|page| (format!("/{page}"), article(page / 3, ""))));
    let server = Server::start(pages);
    let bench = Bench::new();
    let seeds = [server.url("/")];
    let listed = || bench.run(&["duplicates", "list", "--json"]);
    assert_eq!(code(&bench.crawl(&seeds, &["--max-pages", "30"])), 3);
    let (first, dedup) = (listed(), bench.data().join("dedup"));
    copy(&dedup, &bench.path("dedup"));
    assert_eq!(code(&bench.crawl(&seeds, &["--max-pages", "none"])), 0);
    let all = listed();
    copy(&dedup, &bench.path("whole"));
    // Simulate missing later commits of the store.
    copy(&bench.path("dedup"), &dedup);
    let (some, every) = (first.lines().count(), all.lines().count());
    assert!((10..30).contains(&some) && every == 40, "{some} {every}");
    assert_eq!(bench.log("discarded.jsonl").len(), every);
    assert_eq!(listed(), first);
    // With the later commits the lines are shown again; an unreadable store hides no line.
    copy(&bench.path("whole"), &dedup);
    assert_eq!(listed(), all);
    std::fs::write(dedup.join("MANIFEST"), "nothing").unwrap();
    assert_eq!(listed(), all);
}
