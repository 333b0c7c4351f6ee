//! Hosts that do not answer do not delay other hosts.

use std::collections::HashMap;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::helpers::{article, plain};
use crate::support::{Bench, Page, Server, code, html, missing, prose, text};

#[test]
fn urls_forbidden_by_robots_txt_are_logged_at_once_without_delay() {
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

/// Accepts connections on four loopback addresses and answers none.
fn hanging() -> Vec<String> {
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut held = Vec::new();
        for stream in listener.incoming().flatten() {
            held.push(stream);
        }
    });
    (1..=4).map(|n| format!("http://127.7.0.{n}:{port}/")).collect()
}

#[test]
fn hosts_that_hang_do_not_keep_the_others_waiting() {
    let links: String = (0..20).map(|n| format!("<a href=/{n}>n</a>")).collect();
    let mut pages: HashMap<String, _> =
        (0..20).map(|number| (format!("/{number}"), article(number))).collect();
    pages.insert("/".to_owned(), html(format!("<p>{}</p>{links}", prose(1, 9))));
    let server = Server::start(pages);
    let bench = Bench::new();
    // These hosts are first in the queue.
    let mut seeds = hanging();
    seeds.push(server.url("/"));
    let began = Instant::now();
    let mut crawl = bench.spawn(&seeds, &["--concurrency", "2", "--no-sitemaps"]);
    while server.asked().len() < 21 && began.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let took = began.elapsed();
    let _ = crawl.kill();
    let _ = crawl.wait();
    assert_eq!(server.asked().len(), 21);
    // A missing response to robots.txt times out after 20 s.
    assert!(took < Duration::from_secs(15), "{took:?}");
}

#[test]
fn the_time_is_up_although_every_host_asks_to_wait() {
    let server = Server::answering(
        Arc::new(|path, _| match path {
            "/robots.txt" => missing(),
            _ => Page {
                status: "503 Service Unavailable",
                headers: "Retry-After: 60\r\n".into(),
                body: Vec::new(),
            },
        }),
        Duration::ZERO,
    );
    let bench = Bench::new();
    let began = Instant::now();
    let output = bench.crawl(&[server.url("/")], &["--time-limit", "2s"]);
    assert_eq!(code(&output), 3, "{}", text(&output.stderr));
    let took = began.elapsed();
    assert!(took < Duration::from_secs(20), "{took:?}");
}
