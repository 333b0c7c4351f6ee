//! A seed whose redirects end in a failure was not fetched: every run requests it again and follows them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use serde_json::Value;

use crate::helpers::{article, plain, typed};
use crate::refusals::{line_of, server, status};
use crate::support::{Bench, Page, Server, code, html, missing, prose, text};

/// A site of which `/` and other paths answer with the first page, and with the second once it is well.
fn changing(pages: Vec<(&'static str, Page, Page)>) -> (Server, Arc<AtomicBool>) {
    server(move |path, _, well| {
        let page = pages.iter().find(|(at, ..)| *at == path);
        page.map_or_else(missing, |(_, ill, cured)| match well {
            true => cured.clone(),
            false => ill.clone(),
        })
    })
}

fn leads(to: &str) -> Page {
    Page { status: "302 Found", headers: format!("Location: {to}\r\n"), body: Vec::new() }
}

/// Crawls the seed `/` again. Returns the exit code and the requested pages.
fn again(bench: &Bench, server: &Server, flags: &[&str]) -> (i32, Vec<String>) {
    let before = server.asked().len();
    let output = bench.crawl(&[server.url("/")], flags);
    (code(&output), server.asked().split_off(before))
}

fn paths(paths: &[&str]) -> Vec<String> {
    paths.iter().map(|path| (*path).to_owned()).collect()
}

#[test]
fn a_seed_that_leads_to_a_failure_is_requested_by_every_run() {
    let refresh = "<meta http-equiv=refresh content='0; url=/t'><p>It has moved.</p>";
    let noindex = || html(format!("<meta name=robots content=noindex><p>{}</p>", prose(3, 9)));
    let moved = Page { status: "301 Moved", ..leads("/t") };
    for (lead, target, reason, ends) in [
        (leads("/t"), missing(), "http-4xx", 4),
        (moved, status("403 Forbidden"), "http-4xx", 4),
        (html(refresh), missing(), "http-4xx", 4),
        // These were fetched, but are not used.
        (leads("/t"), noindex(), "noindex", 0),
        (leads("/t"), typed("image/png", "no text"), "content-type", 0),
    ] {
        let pages = vec![("/", lead.clone(), lead), ("/t", target, article(1))];
        let (server, well) = changing(pages);
        let bench = Bench::new();
        let both = paths(&["/", "/t"]);
        for _ in 0..3 {
            assert_eq!(again(&bench, &server, &[]), (ends, both.clone()), "{reason}");
            let line = line_of(&bench, &server.url("/t"));
            assert_eq!((&line["reason"], &line["again"]), (&reason.into(), &"seed".into()));
            assert_eq!(bench.summary()["failed_seeds"][0]["url"], server.url("/t"));
            assert_eq!(bench.summary()["pages"]["alias"], 1, "{}", bench.summary());
        }
        let said = bench.run(&["explain", &server.url("/")]);
        assert!(said.contains("would be requested again"), "{said}");
        well.store(true, SeqCst);
        assert_eq!(again(&bench, &server, &[]), (0, both), "{reason}");
        assert_eq!(bench.kept(), [server.url("/t")]);
        assert!(bench.summary()["failed_seeds"].is_null());
        assert_eq!(again(&bench, &server, &[]), (0, Vec::new()), "{reason}");
        let said = bench.run(&["explain", &server.url("/")]);
        assert!(said.contains("skipped: known, fetched before"), "{said}");
        bench.checked();
    }
}

#[test]
fn a_seed_that_led_to_a_failure_may_become_a_page_or_lead_elsewhere() {
    for (cured, asked) in [(article(1), paths(&["/"])), (leads("/u"), paths(&["/", "/u"]))] {
        let pages = vec![("/", leads("/t"), cured), ("/u", missing(), article(2))];
        let (server, well) = changing(pages);
        let bench = Bench::new();
        assert_eq!(again(&bench, &server, &[]), (4, paths(&["/", "/t"])));
        well.store(true, SeqCst);
        assert_eq!(again(&bench, &server, &[]), (0, asked.clone()));
        assert_eq!(bench.kept(), [server.url(&asked[asked.len() - 1])]);
        let summary = bench.summary();
        assert!(summary["failed_seeds"].is_null(), "{summary}");
        assert_eq!(summary["pages"]["alias"], asked.len() - 1, "{summary}");
        assert_eq!(again(&bench, &server, &[]), (0, Vec::new()));
        bench.checked();
    }
}

#[test]
fn a_seed_that_led_to_a_failure_may_fail_by_itself() {
    let pages = vec![("/", leads("/t"), missing()), ("/t", missing(), article(1))];
    let (server, well) = changing(pages);
    let bench = Bench::new();
    assert_eq!(again(&bench, &server, &[]), (4, paths(&["/", "/t"])));
    well.store(true, SeqCst);
    for _ in 0..2 {
        assert_eq!(again(&bench, &server, &[]), (4, paths(&["/"])));
        let failed = bench.summary()["failed_seeds"].clone();
        assert_eq!((&failed[0]["url"], &failed[1]), (&server.url("/").into(), &Value::Null));
    }
    bench.checked();
}

#[test]
fn a_seed_is_requested_again_while_its_target_is_deferred() {
    let broken = || status("500 Broken");
    let pages = vec![("/", leads("/t"), article(1)), ("/t", broken(), broken())];
    let (server, well) = changing(pages);
    let bench = Bench::new();
    bench.crawl(&[server.url("/")], &[]);
    assert_eq!(line_of(&bench, &server.url("/t"))["again"], "next-run");
    well.store(true, SeqCst);
    let (ends, asked) = again(&bench, &server, &[]);
    assert!(ends == 0 && asked.contains(&"/".to_owned()), "{ends} {asked:?}");
    assert_eq!(bench.kept(), [server.url("/")]);
}

#[test]
fn a_seed_that_leads_to_a_page_or_a_copy_is_not_requested_again() {
    let (server, _) = server(|path, _, _| match path {
        "/" => leads("/t"),
        "/other" => leads("/copy"),
        "/t" | "/copy" => article(1),
        _ => missing(),
    });
    let bench = Bench::new();
    let seeds = [server.url("/"), server.url("/other")];
    for _ in 0..2 {
        assert_eq!(code(&bench.crawl(&seeds, &["--concurrency", "1"])), 0);
        let mut asked = server.asked();
        asked.sort();
        assert_eq!(asked, ["/", "/copy", "/other", "/t"]);
    }
    assert_eq!(bench.kept().len(), 1);
}

#[test]
fn chains_and_loops_of_a_seed_are_followed_again() {
    let (a, t, home) = (|| leads("/a"), || leads("/t"), || leads("/"));
    // The pages of `/`, `/a` and `/t` before and after, and the requests for each.
    for (before, after, first, second) in [
        (
            [a(), t(), missing()],
            [a(), t(), article(1)],
            vec!["/", "/a", "/t"],
            vec!["/", "/a", "/t"],
        ),
        // Another order of the same pages is no loop.
        (
            [a(), t(), missing()],
            [t(), article(1), a()],
            vec!["/", "/a", "/t"],
            vec!["/", "/t", "/a"],
        ),
        // A loop with the seed, and one without it.
        ([a(), home(), missing()], [a(), article(1), missing()], vec!["/", "/a"], vec!["/", "/a"]),
        ([a(), t(), a()], [a(), t(), article(1)], vec!["/", "/a", "/t"], vec!["/", "/a", "/t"]),
    ] {
        let pages = ["/", "/a", "/t"].into_iter().zip(before.into_iter().zip(after));
        let (server, well) = changing(pages.map(|(at, (ill, cured))| (at, ill, cured)).collect());
        let bench = Bench::new();
        for _ in 0..2 {
            assert_eq!(again(&bench, &server, &[]), (4, paths(&first)));
        }
        well.store(true, SeqCst);
        assert_eq!(again(&bench, &server, &[]), (0, paths(&second)));
        assert_eq!(bench.kept(), [server.url(second[second.len() - 1])]);
        assert!(bench.summary()["failed_seeds"].is_null(), "{}", bench.summary());
        assert_eq!(again(&bench, &server, &[]), (0, Vec::new()));
        bench.checked();
    }
}

#[test]
fn a_seed_with_too_many_redirects_is_requested_by_every_run() {
    let pages = vec![
        ("/", leads("/a"), leads("/a")),
        ("/a", leads("/t"), article(1)),
        ("/t", missing(), missing()),
    ];
    let (server, well) = changing(pages);
    let bench = Bench::new();
    let flags = ["--max-redirects", "1"];
    for _ in 0..2 {
        assert_eq!(again(&bench, &server, &flags), (4, paths(&["/", "/a"])));
        let line = line_of(&bench, &server.url("/t"));
        assert_eq!((&line["reason"], &line["again"]), (&"redirects".into(), &"seed".into()));
    }
    well.store(true, SeqCst);
    assert_eq!(again(&bench, &server, &flags), (0, paths(&["/", "/a"])));
    assert_eq!(bench.kept(), [server.url("/a")]);
    assert_eq!(again(&bench, &server, &flags), (0, Vec::new()));
}

#[test]
fn robots_txt_that_forbade_the_target_of_a_seed_is_read_again() {
    let (server, well) = changing(vec![
        ("/robots.txt", plain("User-agent: *\nDisallow: /t\n"), missing()),
        ("/", leads("/t"), leads("/t")),
        ("/t", article(1), article(1)),
    ]);
    let bench = Bench::new();
    assert_eq!(again(&bench, &server, &[]), (4, paths(&["/"])));
    well.store(true, SeqCst);
    assert_eq!(again(&bench, &server, &[]), (0, paths(&["/", "/t"])));
    assert_eq!(bench.kept(), [server.url("/t")]);
}

#[test]
fn a_seed_that_leads_to_a_failure_of_another_site_is_requested_again() {
    let (proxy, well) = server(|path, _, well| match path {
        "http://old.example/" => leads("http://new.test/"),
        "http://new.test/" if well => article(1),
        _ => missing(),
    });
    let bench = Bench::new();
    let seeds = ["http://old.example/".to_owned()];
    let pages = |proxy: &Server| proxy.asked().into_iter().filter(|at| at.ends_with('/')).count();
    for run in 1..=3 {
        well.store(run == 3, SeqCst);
        let output = bench.crawl(&seeds, &["--proxy", &proxy.url("")]);
        assert_eq!(code(&output), if run == 3 { 0 } else { 4 }, "{}", text(&output.stdout));
        assert_eq!(pages(&proxy), 2 * run);
    }
    assert_eq!(bench.kept(), ["http://new.test/"]);
    assert!(bench.summary()["failed_seeds"].is_null());
    assert_eq!(code(&bench.crawl(&seeds, &["--proxy", &proxy.url("")])), 0);
    assert_eq!(pages(&proxy), 6);
}

#[test]
fn a_recrawl_requests_the_page_of_another_site_that_a_seed_leads_to() {
    let (proxy, changed) = server(|path, _, changed| match path {
        "http://old.example/" | "http://older.example/" => leads("http://parked.test/lander"),
        "http://parked.test/lander" => article(if changed { 2 } else { 1 }),
        _ => missing(),
    });
    let bench = Bench::new();
    let seeds = ["http://old.example/", "http://older.example/"].map(str::to_owned);
    let landers = || proxy.asked().iter().filter(|url| url.ends_with("/lander")).count();
    let flags = ["--proxy", &proxy.url("")];
    assert_eq!(code(&bench.crawl(&seeds, &flags)), 0);
    assert_eq!((landers(), bench.exported()), (1, vec!["http://parked.test/lander".to_owned()]));
    assert_eq!(code(&bench.crawl(&seeds, &flags)), 0);
    assert_eq!(landers(), 1);
    changed.store(true, SeqCst);
    assert_eq!(code(&bench.crawl(&seeds, &[&flags[..], &["--recrawl"]].concat())), 0);
    assert_eq!((landers(), bench.exported()), (2, vec!["http://parked.test/lander".to_owned()]));
    let line = bench
        .log("events.jsonl")
        .into_iter()
        .filter(|e| e["url"] == "http://parked.test/lander")
        .count();
    assert_eq!(line, 2, "kept, and changed");
}
