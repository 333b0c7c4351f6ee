//! The log of discarded pages: listing, explaining, restoring.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::Value;

use crate::helpers::{crawled, id_of, paragraph, site, stored, titled};
use crate::support::{Bench, Page, Server, code, crawl, html, json_lines, prose, text};

#[test]
fn the_better_address_of_a_text_is_kept_whichever_came_first() {
    let (bench, server) = crawled();
    assert_eq!(bench.found("when"), [server.url("/"), server.url("/one"), server.url("/two")]);
    let rows = bench.rows(&[]);
    // The worse address came first; its line was written when the better page replaced it.
    assert_eq!(rows.len(), 3);
    let clumsy = rows.iter().find(|row| row["url"] == server.url("/show?page=two&x=1")).unwrap();
    assert_eq!(
        (clumsy["of"]["url"].as_str(), clumsy["kind"].as_str()),
        (Some(&*server.url("/two")), Some("exact"))
    );
    let clusters = json_lines(bench.run(&["duplicates", "clusters", "--json"]).as_bytes());
    let sizes: Vec<_> = clusters
        .iter()
        .map(|c| (c["of"]["url"].as_str().unwrap(), c["copies"].as_u64().unwrap()))
        .collect();
    assert_eq!(sizes, [(&*server.url("/one"), 2), (&*server.url("/two"), 1)]);
    let hit = json_lines(bench.run(&["search", "when", "--json"]).as_bytes());
    let copies = hit.iter().map(|hit| hit["copies"].as_u64().unwrap()).sum::<u64>();
    assert_eq!(copies, 3);
    assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
    assert_eq!(bench.rows(&[]).len(), rows.len());
    bench.checked();
}

#[test]
fn a_restored_page_is_found_and_stays_distinct_until_that_is_undone() {
    let (bench, server) = crawled();
    let id = id_of(&bench.rows(&[]), "/print/one");
    let shown = bench.run(&["duplicates", "show", &id]);
    assert!(shown.contains("rivulet") && shown.contains("duplicates restore"), "{shown}");
    let dry = bench.run(&["duplicates", "restore", &id, "--dry-run"]);
    assert!(dry.contains("nothing was changed"), "{dry}");
    assert_eq!(bench.found("rivulet"), [""; 0]);

    bench.run(&["duplicates", "restore", &id]);
    assert_eq!(bench.found("rivulet"), [server.url("/print/one")]);
    let row = bench.rows(&["--restored"]);
    assert_eq!((row.len(), row[0]["restored"].is_string()), (1, true));
    assert_eq!(bench.summary()["pages"]["indexed"], 4);
    bench.checked();
    // Neither a second run nor a recrawl merges it again.
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--recrawl"])), 0);
    assert_eq!(bench.found("rivulet"), [server.url("/print/one")]);
    let again =
        crawl().args(["duplicates", "restore", &id, "--data"]).arg(bench.data()).output().unwrap();
    assert_eq!(code(&again), 1, "{}", text(&again.stderr));
    assert!(text(&again.stderr).contains("restored before"), "{}", text(&again.stderr));

    bench.run(&["duplicates", "restore", &id, "--undo"]);
    assert_eq!(bench.found("rivulet"), [""; 0]);
    assert!(bench.rows(&["--restored"]).is_empty());
    bench.checked();
}

#[test]
fn all_rows_of_a_filter_are_restored_and_an_equal_text_too() {
    let (bench, server) = crawled();
    let refused =
        crawl().args(["duplicates", "restore", "--data"]).arg(bench.data()).output().unwrap();
    assert_eq!(code(&refused), 1);
    let output = bench.run(&["duplicates", "restore", "--kind", "exact"]);
    assert!(output.starts_with("2 restored"), "{output}");
    let two = bench.found("when");
    assert!(
        two.contains(&server.url("/copy/one")) && two.contains(&server.url("/show?page=two&x=1")),
        "{two:?}"
    );
    bench.checked();
}

#[test]
fn another_page_can_be_kept_and_no_crawl_reverts_that_choice() {
    let (bench, server) = crawled();
    bench.run(&["duplicates", "keep", &server.url("/print/one")]);
    assert_eq!(bench.found("rivulet"), [server.url("/print/one")]);
    assert_eq!(bench.found("when").len(), 3);
    let rows = bench.rows(&[]);
    let copy = rows.iter().find(|row| row["url"] == server.url("/copy/one")).unwrap();
    assert_eq!(copy["of"]["url"], server.url("/print/one"), "the copies follow");
    let one = rows.iter().rev().find(|row| row["url"] == server.url("/one")).unwrap();
    assert_eq!(
        (one["kind"].as_str(), one["of"]["url"].as_str()),
        (Some("near"), Some(&*server.url("/print/one")))
    );
    // /one has the better address.
    assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
    assert_eq!(bench.found("rivulet"), [server.url("/print/one")]);
    bench.run(&["duplicates", "keep", &server.url("/one")]);
    assert_eq!(bench.found("rivulet"), [""; 0]);
    bench.checked();
}

#[test]
fn a_forgotten_page_is_removed_and_its_copy_takes_its_place() {
    let (bench, server) = crawled();
    bench.run(&["forget", &server.url("/two")]);
    let now = bench.found("when");
    assert!(!now.contains(&server.url("/two")), "{now:?}");
    assert!(now.contains(&server.url("/show?page=two&x=1")), "{now:?}");
    let before = server.asked().len();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--recrawl"])), 0);
    assert!(!server.asked()[before..].contains(&"/two".to_owned()), "{:?}", server.asked());
    bench.checked();
    bench.run(&["forget", &format!("127.0.0.1:{}", server.port)]);
    assert_eq!(bench.found("when"), [""; 0]);
    let said = bench.run(&["explain", &server.url("/never-seen")]);
    assert!(said.contains("skipped: forgotten"), "{said}");
    bench.checked();
}

#[test]
fn other_thresholds_are_tried_and_applied_without_a_request() {
    let (bench, server) = crawled();
    let before = server.asked().len();
    let strict = [
        "duplicates",
        "recheck",
        "--distance",
        "0",
        "--similarity",
        "1",
        "--similarity-same-host",
        "1",
        "--json",
    ];
    let changes = json_lines(bench.run(&strict).as_bytes());
    let kept: Vec<_> = changes
        .iter()
        .map(|c| (c["url"].as_str().unwrap(), c["verdict"].as_str().unwrap()))
        .collect();
    assert_eq!(kept, [(&*server.url("/print/one"), "kept")]);
    assert_eq!(bench.found("rivulet"), [""; 0], "nothing is done without --apply");
    let apply: Vec<&str> = strict.iter().chain(&["--apply"]).copied().collect();
    bench.run(&apply);
    assert_eq!(bench.found("rivulet"), [server.url("/print/one")]);
    bench.checked();
    // The reverse: a kept page is discarded, with a new line.
    let back = [
        "duplicates",
        "recheck",
        "--distance",
        "3",
        "--similarity",
        "0.5",
        "--similarity-same-host",
        "0.55",
        "--apply",
    ];
    let said = bench.run(&back);
    assert!(said.contains("1 more discarded"), "{said}");
    assert_eq!(bench.found("rivulet"), [""; 0]);
    assert_eq!(server.asked().len(), before);
    bench.checked();
}

#[test]
fn a_recheck_keeps_the_better_address_of_a_site_as_a_crawl_does() {
    let text = |more: &str| html(format!("<h1>Story</h1><p>{} {more}</p>", prose(7, 40)));
    let server = Server::start(HashMap::from([
        (
            "/".to_owned(),
            html("<a href=/print/one>p</a> <a href=/one>a</a> <a href=/one?x=1>b</a>"),
        ),
        ("/print/one".to_owned(), text("Printed on paper by a machine in a cellar.")),
        ("/one".to_owned(), text("")),
        ("/one?x=1".to_owned(), text("One more sentence was added by an editor.")),
    ]));
    let strict = ["--distance", "0", "--similarity", "1", "--similarity-same-host", "1"];
    let default = ["--distance", "3", "--similarity", "0.5", "--similarity-same-host", "0.55"];
    let seeds = [server.url("/")];
    let flags = |policy: &[&'static str]| [&["--concurrency", "1"], policy].concat();
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&seeds, &flags(&strict))), 0);
    assert_eq!(bench.kept().len(), 4, "{:?}", bench.kept());
    let said = bench.run(&[&["duplicates", "recheck", "--apply"], &default[..]].concat());
    assert!(said.contains("2 more discarded"), "{said}");
    bench.checked();
    let crawled = Bench::new();
    assert_eq!(code(&crawled.crawl(&seeds, &flags(&default))), 0);
    assert_eq!(bench.kept(), crawled.kept());
    assert!(bench.kept().contains(&server.url("/one")), "{:?}", bench.kept());
    // Nothing is left to do.
    let said = bench.run(&[&["duplicates", "recheck"], &default[..]].concat());
    assert!(said.contains("0 pages more would be kept, 0 more discarded."), "{said}");
}

#[test]
fn a_copy_of_what_a_recheck_takes_back_is_a_copy_of_that() {
    let text = |more: &str| html(format!("<h1>Story</h1><p>{} {more}</p>", prose(7, 14)));
    let more = "One more sentence was added at the end by an editor of the paper.";
    let server = Server::start(HashMap::from([
        ("/".to_owned(), text(&format!("{more} <a href=/a>a</a> <a href=/c>c</a>"))),
        ("/a".to_owned(), text("")),
        ("/c".to_owned(), text("")),
    ]));
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--concurrency", "1"])), 0);
    assert_eq!(bench.log("discarded.jsonl").len(), 2, "both are near the first one");
    let strict =
        ["duplicates", "recheck", "--similarity-same-host", "0.995", "--similarity", "0.995"];
    let apply: Vec<&str> = strict.iter().chain(&["--apply"]).copied().collect();
    let said = bench.run(&apply);
    assert!(
        said.contains("1 page more would be kept") && said.contains("1 discarded for another page"),
        "{said}"
    );
    bench.checked();
    let rows = json_lines(bench.run(&["duplicates", "list", "--json"]).as_bytes());
    let last = rows.iter().max_by_key(|row| row["id"].as_u64()).unwrap();
    assert_eq!(
        (last["kind"].as_str(), last["of"]["url"].as_str()),
        (Some("exact"), Some(&*server.url("/a")))
    );
    // The decision is final. Removing the other page brings the copy into the index.
    assert!(bench.run(&strict).contains("0 pages more would be kept, 0 more discarded."));
    bench.run(&["forget", &server.url("/a")]);
    bench.checked();
}

#[test]
fn of_two_discarded_pages_a_recheck_keeps_the_one_that_a_crawl_keeps() {
    let text = |more: &str| html(format!("<h1>Story</h1><p>{} {more}</p>", prose(7, 14)));
    let more = "One more sentence was added at the end by an editor of the paper.";
    let (worse, better) = ("/story?page=2&x=1", "/b");
    let links = format!("{more} <a href='{worse}'>a</a> <a href={better}>b</a>");
    let server = Server::start(HashMap::from([
        ("/".to_owned(), text(&links)),
        (worse.to_owned(), text("")),
        (better.to_owned(), text("")),
    ]));
    let seeds = [server.url("/")];
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&seeds, &["--concurrency", "1"])), 0);
    assert_eq!(bench.kept(), [server.url("/")]);
    let strict = ["--similarity-same-host", "0.995", "--similarity", "0.995"];
    let said = bench.run(&[&["duplicates", "recheck", "--apply"], &strict[..]].concat());
    assert!(
        said.contains("1 page more would be kept") && said.contains("1 discarded for another page"),
        "{said}"
    );
    bench.checked();
    let crawled = Bench::new();
    assert_eq!(code(&crawled.crawl(&seeds, &[&["--concurrency", "1"], &strict[..]].concat())), 0);
    let sorted = |bench: &Bench| {
        let mut kept = bench.kept();
        kept.sort();
        kept
    };
    assert_eq!(sorted(&bench), sorted(&crawled));
    assert!(bench.kept().contains(&server.url(better)), "{:?}", bench.kept());
    let rows = json_lines(bench.run(&["duplicates", "list", "--json"]).as_bytes());
    let last = rows.iter().max_by_key(|row| row["id"].as_u64()).unwrap();
    assert_eq!(last["of"]["url"].as_str(), Some(&*server.url(better)));
    let said = bench.run(&[&["duplicates", "recheck"], &strict[..]].concat());
    assert!(said.contains("0 pages more would be kept, 0 more discarded."), "{said}");
}

#[test]
fn a_change_beside_a_running_crawl_goes_through_its_spool() {
    let (bench, server) = crawled();
    let slow = Server::slow(
        (0..200)
            .map(|at| {
                (
                    format!("/{at}"),
                    html(format!("<p>{}</p><a href=/{}>n</a>", prose(at + 50, 9), at + 1)),
                )
            })
            .collect(),
        Duration::from_millis(50),
    );
    let mut running = bench.spawn(&[slow.url("/0")], &[]);
    let until = std::time::Instant::now() + Duration::from_secs(20);
    while slow.asked().is_empty() && std::time::Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    let id = id_of(&bench.rows(&[]), "/print/one");
    bench.run(&["duplicates", "restore", &id]);
    assert!(running.try_wait().unwrap().is_none(), "the crawl is still at work");
    assert_eq!(bench.found("rivulet"), [server.url("/print/one")]);
    for args in [
        &["status"][..],
        &["duplicates", "stats"],
        &["duplicates", "show", &id],
        &["search", "when"],
    ] {
        bench.run(args);
    }
    let recheck = crawl()
        .args(["duplicates", "recheck", "--distance", "2", "--data"])
        .arg(bench.data())
        .output()
        .unwrap();
    assert_eq!(code(&recheck), 5);
    running.kill().unwrap();
    running.wait().unwrap();
    assert_eq!(bench.rows(&["--restored"]).len(), 1, "it is durable");
    bench.checked();
}

#[test]
fn rows_are_filtered_sorted_paged_counted_and_exported() {
    let (bench, server) = crawled();
    let host = format!("127.0.0.1:{}", server.port);
    assert_eq!(bench.rows(&["--host", &host]).len(), 3);
    assert!(bench.rows(&["--host", "b.example"]).is_empty());
    assert_eq!(bench.rows(&["--kind", "near"]).len(), 1);
    assert_eq!(bench.rows(&["--similarity", "0.5..0.99"]).len(), 1);
    assert_eq!(bench.rows(&["--language", "en"]).len(), 3);
    assert_eq!(bench.rows(&["--match", "PRINT"]).len(), 1);
    assert_eq!(bench.rows(&["--until", "2000-01-01"]).len(), 0);
    let sorted = bench.rows(&["--sort", "distance", "--reverse"]);
    assert!(sorted[0]["distance"].as_u64() >= sorted[1]["distance"].as_u64());
    assert_eq!(bench.rows(&["--offset", "1", "--limit", "2"]).len(), 2);
    let table = bench.run(&["duplicates", "list", "--csv"]);
    assert_eq!(table.lines().count(), 4, "{table}");
    let exported = bench.run(&["duplicates", "export", "--format", "csv"]);
    assert_eq!(exported.lines().count(), 4, "{exported}");
    let old = crawl().args(["duplicates", "export", "--csv", "--data"]).arg(bench.data()).output();
    let old = old.unwrap();
    assert_eq!((text(&old.stdout), code(&old)), (exported, 0), "the old name of the flag");
    assert!(text(&old.stderr).contains("--csv is now --format csv"), "{}", text(&old.stderr));
    let stats: Value =
        serde_json::from_str(&bench.run(&["duplicates", "stats", "--json"])).unwrap();
    assert_eq!(
        (stats["discarded"].as_u64(), stats["kinds"]["near"].as_u64()),
        (Some(3), Some(1)),
        "{stats}"
    );
    assert!(bench.run(&["duplicates", "stats"]).contains("Hamming distance"));
    for wrong in
        [["--distance", "x"], ["--since", "soon"], ["--kind", "odd"], ["--similarity", "1..0"]]
    {
        let output = crawl()
            .args(["duplicates", "list"])
            .args(wrong)
            .arg("--data")
            .arg(bench.data())
            .output()
            .unwrap();
        assert_eq!(code(&output), 1, "{wrong:?}");
    }

    let pages = json_lines(bench.run(&["export"]).as_bytes());
    assert_eq!(pages.len(), 3);
    let one = pages.iter().find(|page| page["url"] == server.url("/one")).unwrap();
    assert_eq!((one["copies"].as_u64(), one["language"].as_str()), (Some(2), Some("en")));
    assert!(one["text"].as_str().unwrap().contains("When the"));
    assert!(bench.run(&["export", "--format", "csv"]).starts_with("url,title,language"));
    // `duplicates export` takes this form too.
    assert_eq!(bench.run(&["export", "--csv"]), bench.run(&["export", "--format", "csv"]));
    let notes = bench.path("notes");
    bench.run(&["export", "--format", "markdown", "-o", notes.to_str().unwrap()]);
    let host = format!("127.0.0.1_{}", server.port);
    let one = std::fs::read_to_string(notes.join(&host).join("one.md")).unwrap();
    assert!(one.contains("\ncopies: 2\n"), "{one}");
    assert_eq!(std::fs::read_dir(notes.join(&host)).unwrap().count(), 3);
}

#[test]
fn without_an_archive_a_near_duplicate_cannot_come_back_and_says_so() {
    let (bench, server) = (Bench::new(), site());
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--concurrency", "1", "--no-warc"])), 0);
    let id = id_of(&bench.rows(&[]), "/print/one");
    let output =
        crawl().args(["duplicates", "restore", &id, "--data"]).arg(bench.data()).output().unwrap();
    assert_eq!(code(&output), 1);
    assert!(text(&output.stderr).contains("--no-warc"), "{}", text(&output.stderr));
    bench.checked();
}

#[test]
fn an_exact_copy_is_restored_with_its_own_text_after_its_representative_changed() {
    let bench = Bench::new();
    let one = prose(1, 30);
    let changed = one.replacen("river", "rivulet", 1);
    let (x, a, p) =
        ("http://a.example/long/path/x", "http://b.example/long/path/copy", "http://a.example/p");
    stored(&bench, &[(x, paragraph(&one)), (a, paragraph(&one)), (p, paragraph(&changed))], &[]);
    assert_eq!(bench.found("when"), [p]);
    let id = bench.id_of("/copy");
    let row = bench.rows(&["--match", "copy"]).remove(0);
    assert_eq!((row["of"]["url"].as_str(), row["compared_with"].as_str()), (Some(p), Some(x)));
    let shown: Value =
        serde_json::from_str(&bench.run(&["duplicates", "show", &id, "--json"])).unwrap();
    assert!(shown["of_text"].as_str().unwrap().contains("rivulet"), "{shown}");
    assert!(!shown["text"].as_str().unwrap().contains("rivulet"), "{shown}");
    bench.run(&["duplicates", "restore", &id]);
    assert_eq!(bench.found("rivulet"), [p], "the copy never had that word");
    assert_eq!(bench.found("when"), [p, a]);
    bench.checked();
}

#[test]
fn duplicates_of_a_restored_page_move_when_the_restore_is_undone() {
    let bench = Bench::new();
    let one = prose(1, 30);
    let near = one.replacen("river", "rivulet", 1);
    let [x, a, c] =
        ["http://a.example/x", "http://a.example/long/a", "http://a.example/longer/still/c"];
    stored(&bench, &[(x, paragraph(&one)), (a, paragraph(&near))], &[]);
    let id = bench.id_of("/a");
    bench.run(&["duplicates", "restore", &id]);
    stored(&bench, &[(c, paragraph(&near))], &[]);
    assert_eq!(bench.rows(&["--match", "still/c"])[0]["of"]["url"], a);
    bench.run(&["duplicates", "restore", &id, "--undo"]);
    assert_eq!(bench.rows(&["--match", "still/c"])[0]["of"]["url"], x);
    let again = crawl()
        .args(["duplicates", "restore", &id, "--undo", "--data"])
        .arg(bench.data())
        .output()
        .unwrap();
    assert_eq!(code(&again), 1, "once is enough");
    bench.run(&["duplicates", "restore", &bench.id_of("still/c")]);
    assert_eq!(bench.found("rivulet"), [c]);
    bench.checked();
}

#[test]
fn restored_pages_survive_rechecks_and_better_pages() {
    let bench = Bench::new();
    let one = prose(1, 30);
    let [x, a, b] =
        ["http://a.example/x", "http://a.example/longer/a", "http://a.example/longer/b"];
    stored(&bench, &[(x, paragraph(&one)), (a, paragraph(&one)), (b, paragraph(&one))], &[]);
    bench.run(&["duplicates", "restore", "--all"]);
    assert_eq!(bench.found("when").len(), 3);
    let said = bench.run(&["duplicates", "recheck", "--distance", "3", "--apply"]);
    assert!(said.contains("0 pages more would be kept, 0 more discarded"), "{said}");
    assert_eq!(bench.found("when").len(), 3);
    bench.checked();
}

#[test]
fn a_dry_run_lists_all_that_it_would_restore() {
    let bench = Bench::new();
    let body = paragraph(&prose(1, 30));
    let urls: Vec<String> = (0..26).map(|n| format!("http://a.example/copy/{n}")).collect();
    let pages: Vec<(&str, String)> = urls.iter().map(|url| (&**url, body.clone())).collect();
    stored(&bench, &pages, &[]);
    let said = bench.run(&["duplicates", "restore", "--all", "--dry-run"]);
    assert_eq!(said.matches(" = http://a.example/copy/").count(), 25, "{said}");
    assert!(said.contains("25 pages would be restored; nothing was changed."), "{said}");
}

#[test]
fn a_run_without_an_index_still_removes_discarded_pages_from_the_index() {
    let bench = Bench::new();
    let one = prose(1, 30);
    stored(&bench, &[("http://a.example/long/path/x", paragraph(&one))], &[]);
    stored(&bench, &[("http://a.example/p", paragraph(&one))], &["--no-index"]);
    bench.checked();
    assert_eq!(bench.rows(&[]).len(), 1);
}

#[test]
fn a_page_that_was_kept_and_replaced_is_asked_for_whole_and_comes_back_when_the_other_changes() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
    let changed = Arc::new(AtomicBool::new(false));
    let now = Arc::clone(&changed);
    let server = Server::answering(
        Arc::new(move |path, head| {
            let page = |seed| titled("T", &prose(seed, 14), "");
            match path {
                "/" => html(format!("<p>{}</p><a href=/x>x</a><a href=/copy>c</a>", prose(9, 14))),
                "/x" if head.contains("if-none-match") => {
                    Page { status: "304 Not Modified", headers: String::new(), body: Vec::new() }
                }
                "/x" => {
                    Page { headers: "Content-Type: text/html\r\nETag: \"x\"\r\n".into(), ..page(1) }
                }
                "/copy" if now.load(SeqCst) => page(2),
                "/copy" => page(1),
                _ => crate::support::missing(),
            }
        }),
        Duration::ZERO,
    );
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--concurrency", "1"])), 0);
    bench.run(&["duplicates", "keep", &server.url("/copy")]);
    changed.store(true, SeqCst);
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--concurrency", "1", "--recrawl"])), 0);
    assert_eq!(bench.found("when"), [server.url("/"), server.url("/copy"), server.url("/x")]);
    assert_eq!(bench.summary()["pages"]["indexed"], 3, "{}", bench.summary());
    assert!(json_lines(bench.run(&["duplicates", "clusters", "--json"]).as_bytes()).is_empty());
    bench.checked();
}

#[test]
fn a_page_is_forgotten_by_any_order_of_its_query_where_the_crawl_sorts_it() {
    let page = titled("T", &prose(1, 14), "");
    let server = Server::start([("/?a=1&b=2".to_owned(), page)].into());
    let bench = Bench::new();
    let seed = server.url("/?b=2&a=1");
    assert_eq!(code(&bench.crawl(std::slice::from_ref(&seed), &["--sort-query"])), 0);
    assert_eq!(bench.found("when"), [server.url("/?a=1&b=2")]);
    bench.run(&["forget", &seed]);
    assert_eq!(bench.found("when"), [""; 0]);
    bench.checked();

    // Without that setting, another order of parameters is another page.
    let page = titled("T", &prose(3, 14), "");
    let server = Server::start([("/?a=1&b=2".to_owned(), page)].into());
    let bench = Bench::new();
    let sorted = server.url("/?a=1&b=2");
    assert_eq!(code(&bench.crawl(std::slice::from_ref(&sorted), &[])), 0);
    bench.run(&["forget", &server.url("/?b=2&a=1")]);
    assert_eq!(bench.found("when"), [&*sorted]);

    // The same if the setting is newer than the crawl.
    let page = titled("T", &prose(2, 14), "");
    let server = Server::start([("/?b=2&a=1".to_owned(), page)].into());
    let bench = Bench::new();
    let seed = server.url("/?b=2&a=1");
    assert_eq!(code(&bench.crawl(std::slice::from_ref(&seed), &[])), 0);
    assert_eq!(code(&bench.crawl(&[server.url("/nothing")], &["--sort-query"])), 0);
    bench.run(&["forget", &seed]);
    assert_eq!(bench.found("when"), [""; 0]);
    bench.checked();
}

#[test]
fn a_forgotten_host_is_not_asked_again_and_its_pages_do_not_come_back() {
    let (bench, server) = crawled();
    let host = format!("127.0.0.1:{}", server.port);
    bench.run(&["forget", &host]);
    let before = server.asked().len();
    assert_eq!(code(&bench.crawl(&[server.url("/"), server.url("/one")], &["--recrawl"])), 0);
    assert_eq!(server.asked().len(), before);
    stored(&bench, &[(&server.url("/one"), paragraph(&prose(1, 14)))], &[]);
    assert_eq!(bench.found("when"), [""; 0]);
    let nothing = crawl()
        .args(["forget", "http://a.example/", "--data"])
        .arg(bench.path("tree"))
        .output()
        .unwrap();
    assert_eq!(code(&nothing), 1);
    assert!(!bench.path("tree").join("dedup").exists());
    bench.checked();
}

#[test]
fn a_host_is_found_by_its_name_alone_on_https_too() {
    let bench = Bench::new();
    let one = prose(1, 30);
    stored(
        &bench,
        &[("https://a.example/x", paragraph(&one)), ("https://a.example/longer", paragraph(&one))],
        &[],
    );
    assert_eq!(bench.rows(&["--host", "A.example"]).len(), 1);
    assert_eq!(bench.run(&["export", "--host", "a.example"]).lines().count(), 1);
    assert_eq!(
        json_lines(
            bench.run(&["search", "when", "--json", "--limit", "9223372036854775807"]).as_bytes()
        )
        .len(),
        1
    );
}

#[test]
fn lines_that_a_crawl_will_cut_off_are_not_listed_while_it_starts() {
    let (bench, _server) = crawled();
    let before = bench.rows(&[]);
    assert!(!before.is_empty());
    let log = bench.data().join("discarded.jsonl");
    let whole = std::fs::read_to_string(&log).unwrap();
    // A process that ended before the commit of this line; another one holds the directory, and has not cut it yet.
    let line = whole.lines().last().unwrap();
    std::fs::write(&log, format!("{whole}{line}\n")).unwrap();
    let lock = std::fs::File::open(bench.data().join("LOCK")).unwrap();
    lock.lock().unwrap();
    assert_eq!(bench.rows(&[]), before);
}
