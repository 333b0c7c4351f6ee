//! Pages that are a part of another page: `--parts discard`.

use std::collections::HashMap;
use std::process::Stdio;
use std::time::Instant;

use serde_json::{Value, json};

use crate::helpers::{paragraph, pipe, stored};
use crate::support::{Bench, Page, Server, code, crawl, html, prose, text};

/// A book of five chapters on one page, a chapter on its own page, and a page that shares less.
fn pages() -> Vec<(&'static str, String)> {
    let chapter = |seed| paragraph(&prose(seed, 30));
    vec![
        ("http://a.example/chapter", chapter(1)),
        ("http://a.example/book", [1, 2, 3, 4, 5].map(chapter).concat()),
        ("http://a.example/review", format!("{}{}", chapter(2), paragraph(&prose(9, 12)))),
        ("http://b.example/other", chapter(8)),
    ]
}

fn parts(bench: &Bench) -> Vec<Value> {
    let rows = bench.rows(&["--kind", "part"]);
    rows.into_iter().filter(|row| row["state"].is_null() && row["restored"].is_null()).collect()
}

#[test]
fn a_part_is_discarded_at_the_end_and_its_line_has_the_evidence() {
    let bench = Bench::new();
    stored(&bench, &pages(), &["--parts", "discard"]);
    let found = parts(&bench);
    assert_eq!(found.len(), 1, "{found:?}");
    let line = &found[0];
    assert_eq!(line["url"], "http://a.example/chapter");
    assert_eq!(line["of"]["url"], "http://a.example/book");
    assert_eq!((&line["kind"], &line["evidence"]), (&json!("part"), &json!("text")));
    assert_eq!(line["containment"][0], 1.0);
    let evidence = &line["part"];
    assert_eq!(evidence["words"], evidence["shared"]);
    assert!(evidence["passage_words"].as_u64() >= Some(40), "{line}");
    assert!(!evidence["passage"].as_str().unwrap().is_empty());
    assert!(line["cause"].is_null() && line["level"].is_null(), "{line}");

    assert_eq!(bench.summary()["pages"]["part"], 1);
    assert_eq!(bench.object(&["duplicates", "stats", "--json"])["kinds"]["part"], 1);
    assert!(bench.run(&["status"]).contains("part 1"), "{}", bench.run(&["status"]));
    let shown = bench.run(&["duplicates", "show", "http://a.example/chapter"]);
    assert!(shown.contains("it is a part of the other page: "), "{shown}");
    assert!(shown.contains("duplicates restore") && !shown.contains("duplicates keep"), "{shown}");
    let explained = bench.run(&["explain", "http://a.example/chapter"]);
    assert!(explained.contains("part of http://a.example/book"), "{explained}");
    bench.agrees("parts");

    // Without the flag no page of this kind leaves.
    let other = Bench::new();
    stored(&other, &pages(), &[]);
    assert_eq!((parts(&other).len(), other.kept().len()), (0, 4));
}

#[test]
fn a_second_run_changes_nothing_and_a_restored_part_stays() {
    let bench = Bench::new();
    stored(&bench, &pages(), &["--parts", "discard"]);
    let log = bench.log("discarded.jsonl");
    stored(&bench, &pages(), &[]);
    assert_eq!(bench.log("discarded.jsonl"), log, "the flag is saved, and nothing is left to find");
    bench.run(&["duplicates", "restore", "http://a.example/chapter"]);
    assert_eq!((parts(&bench).len(), bench.kept().len()), (0, 4));
    stored(&bench, &pages(), &[]);
    assert_eq!((parts(&bench).len(), bench.kept().len()), (0, 4));
    bench.agrees("restored");
    // The restore can be undone, and a recheck leaves parts alone.
    bench.run(&["duplicates", "restore", "http://a.example/chapter", "--undo"]);
    assert_eq!((parts(&bench).len(), bench.kept().len()), (1, 3));
    bench.run(&["duplicates", "recheck", "--similarity", "0.9", "--apply"]);
    assert_eq!((parts(&bench).len(), bench.kept().len()), (1, 3));
    bench.agrees("rechecked");
    // `keep` brings it back, and the book stays.
    bench.run(&["duplicates", "keep", "http://a.example/chapter"]);
    assert_eq!(bench.kept().len(), 4);
    bench.agrees("kept");
}

#[test]
fn parts_return_when_the_page_that_contains_them_is_forgotten() {
    let bench = Bench::new();
    stored(&bench, &pages(), &["--parts", "discard"]);
    bench.run(&["forget", "http://a.example/book", "--yes"]);
    let mut kept = bench.kept();
    kept.sort();
    let expected =
        ["http://a.example/chapter", "http://a.example/review", "http://b.example/other"];
    assert_eq!(kept, expected);
    bench.agrees("forgotten");
}

#[test]
fn the_order_of_pages_decides_nothing() {
    let kept = |mut pages: Vec<(&'static str, String)>, backwards: bool| {
        if backwards {
            pages.reverse();
        }
        let bench = Bench::new();
        stored(&bench, &pages, &["--parts", "discard"]);
        let mut kept = bench.kept();
        kept.sort();
        kept
    };
    assert_eq!(kept(pages(), false), kept(pages(), true));
}

fn site() -> HashMap<String, Page> {
    let page = |title: &str, body: String| {
        html(format!("<title>{title}</title><main><h1>{title}</h1>{body}</main>"))
    };
    let links = "<p><a href=/chapter>The chapter</a> <a href=/book>The book</a></p>";
    let chapter = |seed| paragraph(&prose(seed, 30));
    HashMap::from([
        ("/".to_owned(), page("Contents of the shelf", format!("{links}{}", chapter(7)))),
        ("/chapter".to_owned(), page("About the first winter", chapter(1))),
        ("/book".to_owned(), page("A book of three winters", [1, 2, 3].map(chapter).concat())),
    ])
}

#[test]
fn a_crawl_and_a_recrawl_discard_parts() {
    let server = Server::start(site());
    let bench = Bench::new();
    let output = bench.crawl(&[server.url("/")], &["--parts", "discard"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains(", part 1;"), "{}", text(&output.stdout));
    assert_eq!(parts(&bench)[0]["url"], server.url("/chapter"));
    let before = bench.log("discarded.jsonl");
    let output = bench.crawl(&[server.url("/")], &["--recrawl"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert_eq!(bench.log("discarded.jsonl"), before);
    bench.agrees("recrawled");
    // A later run that keeps parts brings none back.
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--parts", "keep"])), 0);
    assert_eq!(parts(&bench).len(), 1);
}

#[test]
fn documents_of_a_pipe_are_discarded_when_it_ends() {
    let bench = Bench::new();
    let lines: String = pages()
        .iter()
        .map(|(url, text)| json!({"id": url, "text": text}).to_string() + "\n")
        .collect();
    let flags = ["dedup", "--parts", "discard"];
    let (exit, out, err) = pipe(&flags, Some(&bench.data()), &lines);
    assert_eq!((exit, out.matches("\"new\"").count()), (0, 4), "{err}");
    let line = &bench.log("discarded.jsonl")[0];
    assert_eq!((&line["kind"], &line["url"]), (&json!("part"), &json!("http://a.example/chapter")));
    // It is known, as all documents are.
    let (_, out, _) = pipe(&flags, Some(&bench.data()), &lines);
    assert_eq!(out.matches("\"known\"").count(), 4, "{out}");
    assert_eq!(bench.log("discarded.jsonl").len(), 1);
    bench.checked();
}

#[test]
fn parts_need_a_known_word_and_no_cluster() {
    let bench = Bench::new();
    let seeds = bench.seeds(&["http://127.0.0.1:9/".to_owned()]);
    let refused = |flags: &[&str]| {
        let mut command = crawl();
        command.arg("--seeds").arg(&seeds).arg("--data").arg(bench.data()).args(flags);
        let output = command.output().unwrap();
        (code(&output), text(&output.stderr))
    };
    let (exit, err) = refused(&["--parts", "remove"]);
    assert_eq!(exit, 1);
    assert!(err.contains("keep, discard"), "{err}");
    let (exit, err) = refused(&["--parts", "discard", "--cluster", "127.0.0.1:1"]);
    assert_eq!(exit, 1);
    assert!(err.contains("cluster"), "{err}");
}

/// Whatever is interrupted, the same pages are kept in the end.
#[test]
fn a_kill_at_any_time_changes_no_part() {
    let texts: Vec<(String, String)> = (0..30)
        .map(|page| {
            let chapter = |at: u64| paragraph(&prose(1000 + at, 8));
            let body = match page % 3 {
                0 => (0..8).map(|at| chapter(page * 10 + at)).collect::<Vec<_>>().concat(),
                1 => [chapter((page - 1) * 10), chapter((page - 1) * 10 + 1)].concat(),
                _ => paragraph(&prose(5000 + page, 20)),
            };
            (format!("http://site{page}.example/"), body)
        })
        .collect();
    let pages: Vec<(&str, String)> = texts.iter().map(|(u, t)| (u.as_str(), t.clone())).collect();
    let input: String = pages
        .iter()
        .map(|(url, body)| {
            let html = format!("<title>T</title><main><h1>T</h1>{body}</main>");
            json!({"id": url, "url": url, "html": html}).to_string() + "\n"
        })
        .collect();
    let whole = Bench::new();
    let begun = Instant::now();
    stored(&whole, &pages, &["--parts", "discard"]);
    let took = begun.elapsed();
    let mut expected = whole.kept();
    expected.sort();
    let all = parts(&whole).len();
    assert!(all >= 5, "{all}");

    let bench = Bench::new();
    let list = bench.path("pages.jsonl");
    crate::support::write(&list, &input);
    for kill in 1..=5 {
        let mut command = crawl();
        command.args(["pages", "-", "-q", "--parts", "discard", "--data"]).arg(bench.data());
        command.stdin(std::fs::File::open(&list).unwrap()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        std::thread::sleep(took * kill / 5);
        let _ = child.kill();
        child.wait().unwrap();
        // Parts leave together.
        assert!([0, all].contains(&bench_parts(&bench)), "{}", bench_parts(&bench));
    }
    stored(&bench, &pages, &[]);
    let mut kept = bench.kept();
    kept.sort();
    assert_eq!(kept, expected);
    bench.agrees("killed");
}

/// The number of parts, also of a directory without a log yet.
fn bench_parts(bench: &Bench) -> usize {
    let exists = bench.data().join("dedup/MANIFEST").exists();
    if exists { parts(bench).len() } else { 0 }
}
