//! `crawl explain URL`: the state of an address, and what a crawl would do with it.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use crate::helpers::article;
use crate::refusals::{server, status};
use crate::support::{Bench, Server, code, crawl, html, missing, prose, text, write};

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
        ("/w1", "queued behind 0 URLs of its host", "1"),
        ("/w19", "queued behind 18 URLs of its host", "1"),
        ("/b", "queued behind 19 URLs of its host", "2"),
    ] {
        let said = explained(path, &[]);
        assert!(said.contains(known), "{path}: {said}");
        let line = said.lines().find(|line| line.starts_with("depth")).unwrap();
        assert_eq!(line.split_whitespace().last(), Some(depth), "{path}: {said}");
        assert!(said.contains("would be fetched"), "{path}: {said}");
    }
    // Narrower rules apply to a waiting URL.
    let said = explained("/b", &["--max-depth", "1"]);
    assert!(said.contains("skipped: depth, at depth 2"), "{said}");
    let said = explained("/w1", &["--max-pages-per-host", "3"]);
    assert!(said.contains("skipped: budget, 3 pages of this host were fetched"), "{said}");
}

#[test]
fn explain_shows_the_log_line_of_an_earlier_refusal() {
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

#[test]
fn a_file_is_held_against_the_tables_also_while_another_works_on_them() {
    let bench = Bench::new();
    let folder = bench.path("tree");
    std::fs::create_dir(&folder).unwrap();
    let page = |name: &str, text: &str| {
        let path = folder.join(name);
        write(&path, format!("<h1>Report</h1><p>{text}</p><a href=more.html>more</a>"));
        path.display().to_string()
    };
    let a = page("a.html", &prose(1, 12));
    // Without a data directory there is nothing to query.
    let said = bench.run(&["explain", &a]);
    assert!(said.contains("verdict      not asked: ") && said.contains("links        1"), "{said}");
    assert!(!bench.data().exists());
    bench.run(&["pages", &a]);
    let (near, other) = (
        page("near.html", &format!("{} And one more word.", prose(1, 12))),
        page("other.html", &prose(2, 12)),
    );
    let mut dedup = crawl()
        .args(["dedup", "--data"])
        .arg(bench.data())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = dedup.stdin.take().unwrap();
    writeln!(input, "{}", serde_json::json!({"id": "x", "text": prose(9, 9)})).unwrap();
    let mut answer = String::new();
    let mut answers = BufReader::new(dedup.stdout.take().unwrap());
    answers.read_line(&mut answer).unwrap();
    assert!(answer.contains("\"new\""), "{answer}");
    let files = || -> Vec<(String, u64)> {
        let entries = std::fs::read_dir(bench.data().join("dedup")).unwrap().flatten();
        let mut files: Vec<_> = entries
            .map(|e| (e.file_name().into_string().unwrap(), e.metadata().unwrap().len()))
            .collect();
        files.sort();
        files
    };
    let before = files();
    let verdict = |file: &str| {
        let row: serde_json::Value =
            serde_json::from_str(&bench.run(&["explain", file, "--json"])).unwrap();
        let said = bench.run(&["explain", file]);
        let line = said.lines().find(|line| line.starts_with("verdict")).unwrap().to_owned();
        (row["verdict"].clone(), line)
    };
    let (row, said) = verdict(&near);
    assert_eq!((&row["verdict"], &row["of"]["id"]), (&"duplicate".into(), &0.into()), "{row}");
    assert_eq!(row["threshold"], 3);
    assert!(row["similarity"].as_f64().unwrap() > 0.5 && row["distance"].is_u64(), "{row}");
    assert!(said.contains("duplicate of file://") && said.contains("a.html (page 0)"), "{said}");
    assert!(said.contains("is required"), "{said}");
    let (row, said) = verdict(&other);
    assert_eq!((&row["verdict"], &row["documents"]), (&"new".into(), &2.into()), "{said}");
    let (row, said) = verdict(&a);
    assert_eq!((&row["verdict"], &row["id"]), (&"known".into(), &0.into()), "{said}");
    assert!(said.contains("page 0, kept"), "{said}");
    assert_eq!(files(), before, "asking leaves no trace");
    drop(input);
    assert!(dedup.wait().unwrap().success());
    // A damaged store cannot be queried, but the page's stages are still shown.
    write(&bench.data().join("dedup/MANIFEST"), "no manifest");
    let output = crawl().args(["explain", &near, "--data"]).arg(bench.data()).output().unwrap();
    let said = text(&output.stdout);
    assert_eq!(code(&output), 2, "{said}");
    assert!(said.contains("verdict      not asked: ") && said.contains("fingerprint"), "{said}");
}

#[test]
fn a_stored_page_is_shown_with_its_stages_and_what_was_decided() {
    let page = |more: &str| html(format!("<h1>Page</h1><p>{}{more}</p>", prose(5, 12)));
    let server = Server::start(HashMap::from([
        ("/".to_owned(), html("<a href=/a>a</a> <a href=/b/b>b</a> <a href=/c/c/c>c</a>")),
        ("/a".to_owned(), page("")),
        ("/b/b".to_owned(), page(" And one more word.")),
        ("/c/c/c".to_owned(), page("")),
    ]));
    let bench = Bench::new();
    let output = bench.crawl(&[server.url("/")], &["--concurrency", "1"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let explained = |path: &str| bench.run(&["explain", &server.url(path)]);
    let recorded = |said: &str| {
        said.lines().find(|line| line.starts_with("recorded")).unwrap_or_default().to_owned()
    };
    let said = explained("/a");
    assert!(said.contains("verdict      skipped: known, fetched before"), "{said}");
    for wanted in ["blocks ", "language     en", "tokens ", "fingerprint ", "  keep "] {
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
    assert!(recorded(&said).contains("kept as page "), "{said}");
    let said = explained("/b/b");
    let near = format!("near duplicate of {} (page ", server.url("/a"));
    assert!(recorded(&said).contains(&near) && said.contains("  keep "), "{said}");
    let said = explained("/c/c/c");
    assert!(recorded(&said).contains("exact duplicate of "), "{said}");
    assert!(said.contains("page         not shown: of an equal text"), "{said}");
    let row: serde_json::Value =
        serde_json::from_str(&bench.run(&["explain", &server.url("/b/b"), "--json"])).unwrap();
    assert_eq!(row["stored"]["page"]["language"], "en", "{row}");
    assert!(row["stored"]["decision"].as_str().unwrap().starts_with("near duplicate"), "{row}");
    let row: serde_json::Value =
        serde_json::from_str(&bench.run(&["explain", &server.url("/none"), "--json"])).unwrap();
    assert!(row["stored"].is_null(), "{row}");
}

#[test]
fn the_flag_url_is_for_files() {
    let url = "http://127.0.0.1/";
    for args in [&[url, "--url=http://127.0.0.1/x"][..], &[url, url, "--url=http://127.0.0.1/x"]] {
        let output = crawl().arg("explain").args(args).output().unwrap();
        assert_eq!(code(&output), 1, "{args:?}");
        assert!(text(&output.stderr).contains("--url"), "{}", text(&output.stderr));
    }
}

#[test]
fn two_stored_pages_are_compared_by_their_archived_texts() {
    let page = |name: &str, more: &str| {
        html(format!("<title>{name}</title><h1>{name}</h1><p>{}{more}</p>", prose(5, 12)))
    };
    let server = Server::start(HashMap::from([
        ("/".to_owned(), html("<a href=/a>a</a> <a href=/b/b>b</a> <a href=/other>c</a>")),
        ("/a".to_owned(), page("Tee - Navy", " It is navy. Navy it is.")),
        ("/b/b".to_owned(), page("Tee - Rust", " It is rust. Rust it is.")),
        ("/other".to_owned(), page("Tee - Navy", " It is navy. Navy it is. And a word.")),
    ]));
    let bench = Bench::new();
    let output = bench.crawl(&[server.url("/")], &["--concurrency", "1"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let [a, b, other] = ["/a", "/b/b", "/other"].map(|path| server.url(path));
    let said = bench.run(&["explain", &a, &b]);
    assert!(said.contains("verdict      different pages: the texts were compared"), "{said}");
    assert!(said.contains("recorded     the first: kept as page "), "{said}");
    assert!(said.contains("recorded     the second: kept as page "), "{said}");
    let row: serde_json::Value =
        serde_json::from_str(&bench.run(&["explain", &a, &other, "--json"])).unwrap();
    assert_eq!(row["duplicates"], true, "{row}");
    let recorded = row["recorded"][1].as_str().unwrap();
    assert!(recorded.starts_with("near duplicate of "), "{row}");

    // A file beside a stored page.
    let file = bench.path("saved.html");
    write(&file, format!("<h1>Tee - Navy</h1><p>{} It is navy. Navy it is.</p>", prose(5, 12)));
    let file = file.to_str().unwrap();
    for args in [["explain", file, &a], ["explain", &a, file]] {
        let said = bench.run(&args);
        assert!(said.contains("verdict      duplicates"), "{said}");
    }
    // A page that is not stored.
    let none = server.url("/none");
    let output = crawl().args(["explain", &a, &none, "--data"]).arg(bench.data()).output().unwrap();
    assert_eq!(code(&output), 1);
    let said = text(&output.stderr);
    assert!(said.contains("no page with this URL is stored") && said.contains(&none), "{said}");
}

#[test]
fn a_dry_run_keeps_to_fresh_and_recrawl() {
    let server = site();
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--max-depth", "0"])), 0);
    for (flags, wanted, exit) in [
        (&["--dry-run"][..], "skipped: known", 4),
        (&["--dry-run", "--fresh"], "would be fetched", 0),
        (&["--dry-run", "--recrawl"], "would be requested again", 0),
    ] {
        let output = bench.crawl(&[server.url("/")], flags);
        let said = text(&output.stdout);
        assert!(said.contains(wanted) && code(&output) == exit, "{flags:?}: {said}");
    }
    assert!(bench.data().join("crawl.toml").exists(), "nothing was removed");
}

#[test]
fn a_line_that_a_later_fetch_has_cured_says_so() {
    let (server, well) = server(|path, _, well| match path {
        "/a" if !well => status("403 Forbidden"),
        "/a" => article(2),
        "/" => html(format!("<p>{}</p><a href=/a>a</a>", prose(1, 9))),
        _ => missing(),
    });
    let bench = Bench::new();
    let seeds = [server.url("/")];
    assert_eq!(code(&bench.crawl(&seeds, &[])), 0);
    let rows = || {
        let said = bench.run(&["explain", &server.url("/a")]);
        let line = |name: &str| said.lines().find(|line| line.starts_with(name)).map(str::to_owned);
        let next = line("next request").unwrap();
        (line("logged").unwrap(), next, line("last request").is_some())
    };
    let (logged, next, fetched) = rows();
    assert!(
        logged.ends_with("status 403") && next.contains("--retry") && !fetched,
        "{logged} {next}"
    );
    well.store(true, SeqCst);
    // Both times are whole seconds.
    std::thread::sleep(Duration::from_millis(1100));
    assert_eq!(code(&bench.crawl(&seeds, &["--retry", "http-4xx"])), 0);
    let (logged, next, fetched) = rows();
    assert!(logged.ends_with("status 403; fetched since then") && fetched, "{logged}");
    assert!(next.ends_with("by --recrawl"), "{next}");
}
