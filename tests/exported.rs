//! Fields of an export: metadata as the pages declare it, and counts that agree with the log after every change.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use serde_json::Value;

use crate::helpers::{crawled, stored, titled};
use crate::support::{Bench, Page, Server, code, crawl, json_lines, prose, text};

fn exported(bench: &Bench) -> Vec<Value> {
    json_lines(bench.run(&["export"]).as_bytes())
}

#[test]
fn an_export_has_the_declared_metadata_with_its_sources_and_null_for_the_rest() {
    let bench = Bench::new();
    let article = |head: &str, seed| {
        format!(
            "<html lang=en><head><title>Boats {seed}</title>{head}</head><body><h1>Boats {seed}</h1><p>{}</p></body>",
            prose(seed, 12)
        )
    };
    let declared = r#"<script type="application/ld+json">{"@type": "NewsArticle", "datePublished": "2025-03-01T09:30:00+01:00",
        "author": [{"name": "Ada Moss"}, {"name": "Ben Reed"}]}</script>
        <meta name=description content="All about boats"><meta property="article:modified_time" content="2025-03-02">
        <meta property="og:image" content="/boat.jpg"><link rel=license href="/licence">
        <link rel=canonical href="/one"><link rel=alternate hreflang=de href="/de/one">"#;
    let late = r#"<meta name=pubdate content="2099-01-01">"#;
    stored(
        &bench,
        &[
            ("http://a.example/one", article(declared, 1)),
            ("http://a.example/two", article(late, 2)),
        ],
        &[],
    );
    let pages = exported(&bench);
    let page =
        |end: &str| pages.iter().find(|p| p["url"].as_str().unwrap().ends_with(end)).unwrap();
    let one = page("/one");
    for (name, value) in [
        ("author", "Ada Moss; Ben Reed"),
        ("published", "2025-03-01T09:30:00+01:00"),
        ("modified", "2025-03-02"),
        ("description", "All about boats"),
        ("picture", "http://a.example/boat.jpg"),
        ("licence", "http://a.example/licence"),
        ("type", "NewsArticle"),
        ("site", "a.example"),
    ] {
        assert_eq!(one[name], value, "{name}: {one}");
    }
    assert_eq!(
        (&one["metadata_from"]["published"], &one["metadata_from"]["modified"]),
        (&"json-ld".into(), &"open-graph".into())
    );
    let from = &one["metadata_from"];
    for (name, source) in [("canonical", "link"), ("alternates", "link"), ("language", "text")] {
        assert_eq!(from[name], source, "{name}: {from}");
    }
    assert!(one["language_score"].as_f64().unwrap() > 0.5, "{one}");
    // A date after the fetch is not believed.
    let two = page("/two");
    for name in ["author", "published", "modified", "description", "site_name", "licence"] {
        assert_eq!(two.get(name), Some(&Value::Null), "{name}: {two}");
    }
    let table = bench.run(&["export", "--format", "csv"]);
    assert!(
        table.contains("Ada Moss; Ben Reed,2025-03-01T09:30:00+01:00,2025-03-02,All about boats"),
        "{table}"
    );
    // `extract` prints the same fields.
    let file = bench.path("one.html");
    std::fs::write(&file, article(declared, 1)).unwrap();
    let extracted = json_lines(extract_of(&["extract", file.to_str().unwrap()]).as_bytes());
    assert_eq!(extracted[0]["author"], "Ada Moss; Ben Reed");
    assert_eq!(extracted[0]["metadata_from"]["author"], "json-ld");
    assert_eq!(extracted[0].get("site_name"), Some(&Value::Null));
}

fn extract_of(args: &[&str]) -> String {
    let output = crawl().args(args).output().unwrap();
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    text(&output.stdout)
}

/// Compares the counts of each exported page with those of the list of discarded pages.
fn counts_agree(bench: &Bench, when: &str) -> u64 {
    let rows: Vec<Value> = bench
        .rows(&[])
        .into_iter()
        .filter(|row| {
            row["kind"] != "alias" && row["restored"].is_null() && row.get("state").is_none()
        })
        .collect();
    let pages = exported(bench);
    assert!(!pages.is_empty(), "{when}");
    let mut all = 0;
    for page in pages {
        let own: Vec<&Value> = rows.iter().filter(|row| row["of"]["url"] == page["url"]).collect();
        let word = |value: &Value| value.as_str().unwrap().to_owned();
        let hosts: BTreeSet<String> =
            own.iter().map(|row| word(&row["host"])).chain([word(&page["host"])]).collect();
        let times = || own.iter().map(|row| word(&row["time"])).chain([word(&page["fetched"])]);
        assert_eq!(page["copies"], own.len(), "{when}: {page}");
        assert_eq!(page["hosts"], hosts.len(), "{when}: {page}");
        assert_eq!(page["sites"], hosts.len(), "{when}: no host has www: {page}");
        // A copy that was the kept page once was fetched before its line.
        assert!(word(&page["first_seen"]) <= times().min().unwrap(), "{when}: {page}");
        // A recrawl that found it again is a later sighting.
        let visited = when.contains("recrawl").then(|| word(&bench.summary()["time"]));
        let last = times().chain(visited).max().unwrap();
        assert!(word(&page["last_seen"]) <= last, "{when}: {page}");
        assert!(page["last_seen"].as_str() >= page["fetched"].as_str(), "{when}: {page}");
        all += own.len() as u64;
    }
    let gone = rows.iter().filter(|row| row["of_gone"] == true).count() as u64;
    assert_eq!(all + gone, rows.len() as u64, "{when}: each discarded page is counted once");
    all
}

#[test]
fn counts_agree_with_the_log_after_restores_takeovers_rechecks_and_recrawls() {
    let (bench, server) = crawled();
    assert_eq!(counts_agree(&bench, "after the crawl"), 3);
    let rows = bench.rows(&[]);
    let ids: Vec<String> = rows.iter().map(|row| row["id"].to_string()).collect();
    bench.run(&["duplicates", "restore", &ids[0]]);
    assert_eq!(counts_agree(&bench, "after a restoration"), 2);
    bench.run(&["duplicates", "keep", &ids[1]]);
    assert_eq!(counts_agree(&bench, "after a page was kept instead"), 2);
    bench.run(&["duplicates", "restore", &ids[2]]);
    counts_agree(&bench, "after another restoration");
    bench.run(&[
        "duplicates",
        "recheck",
        "--similarity",
        "0.99",
        "--similarity-same-host",
        "0.99",
        "--apply",
    ]);
    counts_agree(&bench, "after a recheck");
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--recrawl"])), 0);
    counts_agree(&bench, "after a recrawl");
    bench.checked();
}

/// Twelve stories, each at five addresses.
fn copied_stories() -> HashMap<String, Page> {
    let address = |number: u64| if number == 0 { "/".to_owned() } else { format!("/p{number}") };
    let story = |number: u64| {
        let next = [2 * number + 1, 2 * number + 2].into_iter().filter(|next| *next < 60);
        let links: String = next.map(|next| format!("<a href=/p{next}>n</a> ")).collect();
        titled(&format!("Story {}", number % 12), &prose(number % 12 + 1, 10), &links)
    };
    (0..60).map(|number| (address(number), story(number))).collect()
}

#[test]
fn counts_agree_with_the_log_after_each_of_many_kills() {
    let server = Server::slow(copied_stories(), Duration::from_millis(4));
    let bench = Bench::new();
    let seeds = [server.url("/")];
    for cycle in 0..6 {
        let before = server.asked().len();
        let mut child = bench.spawn(&seeds, &["--per-host", "4"]);
        // A cycle may end the crawl: responses of the one before need no request.
        while server.asked().len() < before + 5 + cycle * 3 && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(2));
        }
        if child.try_wait().unwrap().is_some() {
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        if bench.data().join("index/meta.json").exists() && !bench.tried_export().is_empty() {
            counts_agree(&bench, &format!("after kill {cycle}"));
        }
    }
    assert_eq!(code(&bench.crawl(&seeds, &["--per-host", "4"])), 0);
    let pages = &bench.summary()["pages"];
    let discarded = ["exact", "near", "canonical"].map(|kind| pages[kind].as_u64().unwrap());
    let counted = counts_agree(&bench, "at the end");
    assert_eq!(counted, discarded.into_iter().sum::<u64>());
    assert!(counted >= 40, "{counted}");
}

impl Bench {
    /// The exported pages; none before the first commit.
    fn tried_export(&self) -> Vec<Value> {
        let output = crawl().args(["export", "--data"]).arg(self.data()).output().unwrap();
        json_lines(&output.stdout)
    }
}

fn tried(bench: &Bench, args: &[&str]) -> std::process::Output {
    crawl().args(args).arg("--data").arg(bench.data()).output().unwrap()
}

/// Four pages on two hosts of a site and on another site, one of them with a copy, one short, one in German.
fn for_filters() -> Bench {
    let bench = Bench::new();
    let german = "Der Fluss ist lang und die Stadt liegt an seinem Ufer, wo man am Abend gern spazieren geht. ";
    let body = |seed| format!("<p>{}</p>", prose(seed, 12));
    stored(
        &bench,
        &[
            ("http://www.a.example/long", body(1)),
            ("http://a.example/copied", body(2)),
            ("http://b.example/a/longer/address/of/the/copy?of=it", body(2)),
            ("http://b.example/short", "<p>Only a few words about boats.</p>".into()),
            ("http://b.example/german", format!("<p>{}</p>", german.repeat(3))),
        ],
        &[],
    );
    bench
}

#[test]
fn filters_select_the_same_pages_in_every_format() {
    let bench = for_filters();
    let year = |by: u64| {
        let fetched = exported(&bench)[0]["fetched"].as_str().unwrap().to_owned();
        format!("{}-01-01", fetched[..4].parse::<u64>().unwrap() + by)
    };
    let (this, next) = (year(0), year(1));
    for (filter, expected) in [
        (vec!["--site", "a.example"], vec!["/copied", "/long"]),
        (vec!["--host", "b.example"], vec!["/german", "/short"]),
        (vec!["--language", "de"], vec!["/german"]),
        (vec!["--after", &this, "--before", &next], vec!["/copied", "/german", "/long", "/short"]),
        (vec!["--after", &next], vec![]),
        (vec!["--before", &this], vec![]),
        (vec!["--min-words", "20"], vec!["/copied", "/german", "/long"]),
        (vec!["--min-copies", "1"], vec!["/copied"]),
        (vec!["--min-copies", "1", "--site", "b.example"], vec![]),
        (vec!["--min-confidence", "1"], vec![]),
    ] {
        let path = |url: &str| url[url.rfind('/').unwrap()..].to_owned();
        let run = |format: &str| bench.run(&[&["export", "--format", format], &*filter].concat());
        let mut pages: Vec<String> = json_lines(run("jsonl").as_bytes())
            .iter()
            .map(|page| path(page["url"].as_str().unwrap()))
            .collect();
        pages.sort();
        assert_eq!(pages, expected, "{filter:?}");
        let table = run("csv");
        let urls = table.lines().skip(1).filter_map(|line| line.split_once(",T,"));
        let mut urls: Vec<String> = urls.map(|(url, _)| path(url)).collect();
        urls.sort();
        assert_eq!(urls, expected, "csv, {filter:?}");
    }
    let none = tried(&bench, &["export", "--min-copies", "9"]);
    assert_eq!((code(&none), text(&none.stdout)), (0, String::new()));
    assert!(text(&none.stderr).contains("no page passes the filters"), "{}", text(&none.stderr));
    for (flags, what) in [
        (&["--format", "markdown", "--to", "s3://corpus/x"][..], "--to s3://"),
        (&["--format", "wacz", "--to", "s3://corpus/x"], "--to s3://"),
        (&["--after", "yesterday"], "--after"),
        (&["--min-confidence", "2"], "from 0 to 1"),
        (&["--format", "parquet", "--discards", "--min-copies", "1"], "Omit it with --discards"),
    ] {
        let refused = tried(&bench, &[&["export"], flags].concat());
        assert_eq!(code(&refused), 1, "{flags:?}");
        assert!(text(&refused.stderr).contains(what), "{flags:?}: {}", text(&refused.stderr));
    }
}

#[test]
fn a_page_has_its_media_type_and_a_joined_export_names_the_directory() {
    let (first, second) = (for_filters(), Bench::new());
    let body = format!("<p>{}</p>", prose(9, 12));
    stored(
        &second,
        &[
            ("http://b.example/short", body.clone()),
            ("http://c.example/a/longer/address?of=it", body),
        ],
        &[],
    );
    let dirs = [&first, &second].map(Bench::data);
    let dirs = dirs.iter().flat_map(|data| ["--data".as_ref(), data.as_os_str()]);
    let output = crawl().arg("export").args(dirs).output().unwrap();
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let pages = json_lines(&output.stdout);
    let of = |end: &str| -> Vec<&Value> {
        pages.iter().filter(|page| page["url"].as_str().unwrap().ends_with(end)).collect()
    };
    // The second directory found the same URL: the first one has the page.
    let name = |bench: &Bench| bench.data().display().to_string();
    assert_eq!((pages.len(), of("/short").len()), (4, 1), "{pages:?}");
    assert_eq!(
        (&of("/short")[0]["data"], &of("/short")[0]["copies"]),
        (&name(&first).into(), &1.into())
    );
    assert!(exported(&first).iter().all(|page| page["data"].is_null()));
    // A page that was read from a file of unknown type has none.
    assert!(of("/long")[0].get("content_type").is_some());
    let (bench, _server) = crawled();
    assert!(exported(&bench).iter().all(|page| page["content_type"] == "text/html"));
}

#[cfg(not(feature = "parquet"))]
#[test]
fn a_program_without_parquet_says_how_to_get_it() {
    let (bench, _server) = crawled();
    let out = bench.path("parts");
    let output = crawl()
        .args(["export", "--format", "parquet", "--to"])
        .arg(&out)
        .arg("--data")
        .arg(bench.data())
        .output()
        .unwrap();
    assert_eq!(code(&output), 1);
    assert!(text(&output.stderr).contains("--features parquet"), "{}", text(&output.stderr));
    assert!(!out.exists());
    // Nor is the address of a store taken for a path.
    let store = ["export", "--to", "s3://corpus/x", "--data"];
    let output = crawl().args(store).arg(bench.data()).output().unwrap();
    assert_eq!(code(&output), 1);
    assert!(text(&output.stderr).contains("--features parquet"), "{}", text(&output.stderr));
}

#[test]
fn lines_that_a_site_repeats_are_left_out_of_what_is_exported() {
    let bench = Bench::new();
    let notice =
        "Sign up for the bulletin of our harbour and you will not miss a single boat again.";
    let page = |number: u64| {
        let body = format!("<p>{}</p><p>{notice}</p>", prose(number, 12));
        let url = format!("http://www.news.example/{number}");
        serde_json::json!({"url": url, "html": format!("<h1>Story {number}</h1>{body}")})
            .to_string()
    };
    let pages = bench.path("pages.jsonl");
    std::fs::write(&pages, [1, 2, 3].map(page).join("\n")).unwrap();
    bench.run(&["pages", pages.to_str().unwrap()]);
    let exported = |args: &[&str]| json_lines(bench.run(args).as_bytes());
    let lines = exported(&["export"]);
    assert_eq!(lines.len(), 3);
    for line in &lines {
        let text = line["text"].as_str().unwrap();
        assert!(!text.contains("Sign up") && text.contains("Story"), "{line}");
        assert_eq!(line["site_lines"], 1);
        assert_eq!(line["page_type"], "article");
        assert!(line["confidence"].as_f64().is_some_and(|value| value > 0.5), "{line}");
    }
    for line in exported(&["export", "--no-site-boilerplate"]) {
        assert!(
            line["text"].as_str().unwrap().contains(notice) && line["site_lines"] == 0,
            "{line}"
        );
    }
    // As a setting of the data directory.
    bench.run(&["pages", pages.to_str().unwrap(), "--no-site-boilerplate"]);
    assert_eq!(exported(&["export"])[0]["site_lines"], 0);
}

#[test]
fn bulk_requests_of_an_export_have_the_names_and_pages_of_the_stream() {
    let (bench, _server) = crawled();
    let pairs = |args: &[&str]| -> std::collections::BTreeMap<String, Value> {
        let lines = json_lines(bench.run(args).as_bytes());
        let pairs = lines.chunks(2).filter_map(|pair| {
            let name = pair[0]["index"]["_id"].as_str()?.to_owned();
            Some((name, pair[1].clone()))
        });
        pairs.collect()
    };
    let exported = pairs(&["export", "--format", "opensearch-bulk", "--no-site-boilerplate"]);
    assert!(exported.len() > 2, "{exported:?}");
    assert_eq!(exported, pairs(&["stream", "--format", "opensearch-bulk"]));
}
