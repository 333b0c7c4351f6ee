//! The first pages that lead to a URL, in every log and list.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::support::{Bench, Page, Server, html, json_lines, prose, redirect};

fn site() -> HashMap<String, Page> {
    let page = |seed, links: &str| html(format!("<p>{}</p>{links}", prose(seed, 12)));
    let many: String = (0..5).map(|n| format!("<a href=/hub-{n}>x</a>")).collect();
    let hub = "<a href=/gone>x</a><a href=/kept>x</a>";
    let mut pages = HashMap::from([
        ("/".to_owned(), page(1, &many)),
        ("/kept".to_owned(), page(2, "<a href=/copy>x</a><a href=http://other.example/x>y</a>")),
        ("/copy".to_owned(), page(2, "<a href=/moved>x</a>")),
        ("/moved".to_owned(), redirect("/target")),
        ("/target".to_owned(), page(3, "<a href=/target>self</a>")),
    ]);
    pages.extend((0..5).map(|n| (format!("/hub-{n}"), page(10 + n, hub))));
    pages
}

fn row<'a>(rows: &'a [Value], url: &str) -> &'a Value {
    rows.iter().find(|row| row["url"] == url).unwrap_or_else(|| panic!("{url}"))
}

#[test]
fn the_first_inlinks_are_in_the_logs_explain_export_and_show() {
    let (server, bench) = (Server::start(site()), Bench::new());
    let of = |paths: &[&str]| json!(paths.iter().map(|path| server.url(path)).collect::<Vec<_>>());
    let output = bench.crawl(&[server.url("/")], &["--concurrency", "1"]);
    assert!(output.status.success());

    let skipped = bench.log("skipped.jsonl");
    let hubs = ["/hub-0", "/hub-1", "/hub-2"];
    assert_eq!(row(&skipped, &server.url("/gone"))["from"], of(&hubs), "a 404");
    assert_eq!(row(&skipped, "http://other.example/x")["from"], of(&["/kept"]), "out of scope");

    let discarded = bench.log("discarded.jsonl");
    assert_eq!(row(&discarded, &server.url("/copy"))["from"], of(&["/kept"]));
    assert_eq!(row(&discarded, &server.url("/moved"))["from"], of(&["/copy"]));
    let shown = bench.run(&["duplicates", "show", &server.url("/copy")]);
    assert!(shown.contains(&format!("from       {}", server.url("/kept"))), "{shown}");

    let exported = json_lines(bench.run(&["export"]).as_bytes());
    assert_eq!(row(&exported, &server.url("/kept"))["from"], of(&hubs));
    assert_eq!(row(&exported, &server.url("/target"))["from"], of(&["/moved"]), "a redirect");
    assert_eq!(row(&exported, &server.url("/"))["from"], Value::Null, "a seed has none");

    for (path, from) in [("/gone", &hubs[..]), ("/kept", &hubs), ("/copy", &["/kept"])] {
        let url = server.url(path);
        let explained: Value =
            serde_json::from_str(&bench.run(&["explain", "--json", &url])).unwrap();
        assert_eq!(explained["from"], of(from), "{path}");
    }
    let text = bench.run(&["explain", &server.url("/gone")]);
    assert!(text.contains(&format!("linked from  {}", server.url("/hub-0"))), "{text}");
}

#[test]
fn a_resumed_crawl_remembers_inlinks_of_queued_urls() {
    let (server, bench) = (Server::start(site()), Bench::new());
    let seeds = [server.url("/")];
    bench.crawl(&seeds, &["--concurrency", "1", "--max-pages", "3"]);
    bench.crawl(&seeds, &["--concurrency", "1", "--max-pages=none"]);
    let skipped = bench.log("skipped.jsonl");
    let from = &row(&skipped, &server.url("/gone"))["from"];
    assert_eq!(from[0], server.url("/hub-0"), "{from}");
}

#[test]
fn a_recrawl_keeps_the_inlinks_of_changed_and_missing_pages() {
    let pages = std::sync::Arc::new(std::sync::Mutex::new(site()));
    let answers = std::sync::Arc::clone(&pages);
    let answer = move |path: &str, _: &str| {
        answers.lock().unwrap().get(path).cloned().unwrap_or_else(crate::support::missing)
    };
    let server = Server::answering(std::sync::Arc::new(answer), std::time::Duration::ZERO);
    let (bench, seeds) = (Bench::new(), [server.url("/")]);
    bench.crawl(&seeds, &["--concurrency", "1"]);
    pages.lock().unwrap().insert("/kept".into(), html(format!("<p>{}</p>", prose(77, 12))));
    pages.lock().unwrap().remove("/target");
    bench.crawl(&seeds, &["--concurrency", "1", "--recrawl"]);
    let of = |paths: &[&str]| json!(paths.iter().map(|path| server.url(path)).collect::<Vec<_>>());
    let exported = json_lines(bench.run(&["export"]).as_bytes());
    let hubs = ["/hub-0", "/hub-1", "/hub-2"];
    assert_eq!(row(&exported, &server.url("/kept"))["from"], of(&hubs));
    assert_eq!(row(&bench.log("skipped.jsonl"), &server.url("/target"))["from"], of(&["/moved"]));
}
