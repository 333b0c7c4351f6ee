//! The canonical addresses that pages declare, beside the pages that the crawl keeps.

use std::collections::HashMap;

use serde_json::Value;

use crate::support::{Bench, Page, Server, html, json_lines, prose};

/// A page with a text, and elements for its head.
fn page(seed: u64, head: &str) -> Page {
    html(format!("<head>{head}</head><body><p>{}</p></body>", prose(seed, 12)))
}

fn canonical(path: &str) -> String {
    format!("<link rel=canonical href={path}>")
}

const PATHS: [&str; 13] = [
    "/a",
    "/a?ref=1",
    "/b",
    "/b-copy-1",
    "/c",
    "/c-copy-1",
    "/d",
    "/d-copy-1",
    "/d-copy-2",
    "/en/x",
    "/de/x",
    "/list",
    "/list?page=2",
];

fn site() -> HashMap<String, Page> {
    let links: String = PATHS.iter().map(|path| format!("<a href={path}>x</a>")).collect();
    let german = "<link rel=alternate hreflang=de href=/de/x>";
    HashMap::from([
        ("/".to_owned(), html(format!("<p>{}</p>{links}", prose(1, 12)))),
        ("/a".to_owned(), page(2, "")),
        ("/a?ref=1".to_owned(), page(2, &canonical("/a"))),
        ("/b".to_owned(), page(3, &canonical("/b"))),
        ("/b-copy-1".to_owned(), page(3, &canonical("/b-copy-1"))),
        ("/c".to_owned(), page(4, "")),
        ("/c-copy-1".to_owned(), page(4, &canonical("/nowhere"))),
        ("/d".to_owned(), page(5, "")),
        ("/d-copy-1".to_owned(), page(5, "")),
        ("/d-copy-2".to_owned(), page(5, &canonical("/d-copy-1"))),
        ("/en/x".to_owned(), page(6, german)),
        ("/de/x".to_owned(), page(6, "")),
        ("/list".to_owned(), page(7, "")),
        ("/list?page=2".to_owned(), page(7, "")),
    ])
}

#[test]
fn clusters_name_the_declared_canonical_state_and_translations() {
    let (server, bench) = (Server::start(site()), Bench::new());
    let output = bench.crawl(&[server.url("/")], &["--concurrency", "1"]);
    assert!(output.status.success());
    let clusters = json_lines(bench.run(&["duplicates", "clusters", "--json"]).as_bytes());
    let of = |path: &str| {
        let url = server.url(path);
        clusters
            .iter()
            .find(|cluster| cluster["of"]["url"] == url)
            .unwrap_or_else(|| panic!("{path}"))
    };
    for (path, state, copy, relation) in [
        ("/a", "agree", "/a?ref=1", "duplicate"),
        ("/b", "conflict", "/b-copy-1", "duplicate"),
        ("/c", "missing", "/c-copy-1", "duplicate"),
        ("/d", "discarded", "/d-copy-2", "duplicate"),
        ("/en/x", "none", "/de/x", "translation"),
        ("/list", "none", "/list?page=2", "pagination"),
    ] {
        let cluster = of(path);
        assert_eq!(cluster["canonical"], state, "{path}: {cluster}");
        let url = server.url(copy);
        let pages = cluster["pages"].as_array().unwrap();
        let member = pages.iter().find(|page| page["url"] == url).unwrap();
        assert_eq!(
            (&member["canonical"], &member["relation"]),
            (&state.into(), &relation.into()),
            "{copy}"
        );
    }
    assert_eq!(of("/b")["of"]["canonical"], "agree", "the kept page names itself");
    let text = bench.run(&["duplicates", "clusters"]);
    assert!(
        text.contains("canonical: conflict, the declared canonical address is another"),
        "{text}"
    );
    let csv = bench.run(&["duplicates", "clusters", "--csv"]);
    assert!(csv.lines().next().unwrap().ends_with(",bytes,canonical,relation"), "{csv}");
    assert!(csv.lines().any(|row| row.ends_with(",none,translation")), "{csv}");
    let shown = bench.run(&["duplicates", "show", &server.url("/c-copy-1")]);
    assert!(shown.contains("canonical  the declared canonical address was not fetched"), "{shown}");
    let line = bench.log("discarded.jsonl");
    let line = line.iter().find(|line| line["url"] == server.url("/c-copy-1")).unwrap();
    assert_eq!(line["canonical_url"], server.url("/nowhere"));
    assert_eq!(line["canonical"], Value::Null);
}
