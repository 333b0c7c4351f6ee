//! Whose time a crawl takes: what is not asked costs none.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::fetching::{article, plain};
use crate::support::{Bench, Server, code, html, prose, text};

#[test]
fn what_robots_txt_forbids_is_logged_at_once_and_costs_no_delay() {
    let links: String = (0..1000).map(|n| format!("<a href=/no/{n}>n</a>")).collect();
    let first = format!("<p>{}</p>{links}<a href=/yes>y</a>", prose(1, 9));
    let server = Server::start(HashMap::from([
        ("/robots.txt".to_owned(), plain("User-agent: *\nDisallow: /no/\n")),
        ("/".to_owned(), html(first)),
        ("/yes".to_owned(), article(9)),
    ]));
    let bench = Bench::new();
    let began = Instant::now();
    let output = bench.crawl(&[server.url("/")], &["--delay", "1s", "--no-sitemaps"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    let asked = server.asked_at();
    let paths: Vec<&str> = asked.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["/", "/yes"]);
    assert!(asked[1].1 - asked[0].1 >= Duration::from_millis(950), "{asked:?}");
    let skipped = bench.log("skipped.jsonl");
    let forbidden = skipped.iter().filter(|line| line["reason"] == "robots");
    assert_eq!(forbidden.count(), 1000);
}
