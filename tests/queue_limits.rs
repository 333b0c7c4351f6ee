//! One host cannot fill the disk: links beyond the queue's limit are found again later.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

use crate::support::{Bench, Page, Server, code, html, prose, text};

/// A start page that links to all other pages.
fn site(pages: u64, wait: Duration) -> Server {
    let mut site = HashMap::new();
    let links: String = (0..pages).map(|at| format!("<a href=/{at}>x</a>")).collect();
    site.insert("/".to_owned(), html(format!("<p>{}</p>{links}", prose(1_000_000, 8))));
    for at in 0..pages {
        site.insert(format!("/{at}"), html(format!("<p>{}</p>", prose(at * 7 + 1, 8))));
    }
    Server::slow(site, wait)
}

fn each_once(server: &Server, pages: usize) {
    let mut asked = server.asked();
    let all = asked.len();
    asked.sort();
    asked.dedup();
    assert_eq!((all, asked.len()), (pages, pages), "each page is requested once");
}

fn queue_lines(bench: &Bench) -> usize {
    bench.log("skipped.jsonl").iter().filter(|line| line["reason"] == "queue").count()
}

#[test]
fn links_beyond_the_limit_are_found_again_in_the_archive_without_a_request() {
    let server = site(300, Duration::ZERO);
    let bench = Bench::new();
    let output = bench.crawl(&[server.url("/")], &["--max-queued-per-host", "20"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    each_once(&server, 301);
    let summary = bench.summary();
    assert_eq!(summary["complete"], true, "{summary}");
    assert_eq!(summary["pages"]["indexed"], 301);
    assert_eq!(queue_lines(&bench), 1, "one line a host and run");
    let line =
        bench.log("skipped.jsonl").into_iter().find(|line| line["reason"] == "queue").unwrap();
    assert!(
        line["detail"].as_str().unwrap().contains(&format!("127.0.0.1:{}", server.port)),
        "{line}"
    );
}

#[test]
fn links_beyond_the_byte_limit_of_all_queues_are_found_again() {
    let servers = [site(60, Duration::ZERO), site(60, Duration::ZERO)];
    let bench = Bench::new();
    let seeds = [servers[0].url("/"), servers[1].url("/")];
    let output = bench.crawl(&seeds, &["--max-queue", "2KiB"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    servers.iter().for_each(|server| each_once(server, 61));
    assert_eq!(bench.summary()["complete"], true);
}

#[test]
fn a_killed_crawl_still_finds_the_links_that_it_had_dropped() {
    let server = site(200, Duration::from_millis(30));
    let bench = Bench::new();
    let flags = ["--max-queued-per-host", "10"];
    for kill_after in [3, 60, 110] {
        let mut child = bench.spawn(&[server.url("/")], &flags);
        server.wait_for(kill_after);
        // The group of commits with the start page.
        bench.wait_until_committed(1);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_ne!(bench.summary()["complete"], true);
    }
    assert_eq!(code(&bench.crawl(&[server.url("/")], &flags)), 0);
    let mut asked = server.asked();
    // Requests in flight at a kill, one each, may be repeated.
    assert!(asked.len() <= 201 + 3, "{}", asked.len());
    asked.sort();
    asked.dedup();
    assert_eq!(asked.len(), 201);
    assert_eq!(
        (&bench.summary()["complete"], &bench.summary()["pages"]["indexed"]),
        (&true.into(), &201.into())
    );
}

#[test]
fn without_an_archive_the_crawl_is_not_complete_and_a_recrawl_finds_them() {
    let server = site(30, Duration::ZERO);
    let bench = Bench::new();
    let flags = ["--no-warc", "--max-queued-per-host", "20"];
    for _ in 0..2 {
        let output = bench.crawl(&[server.url("/")], &flags);
        assert_eq!(code(&output), 3, "{}", text(&output.stderr));
        let summary = bench.summary();
        assert_eq!(summary["complete"], false, "{summary}");
        assert!(text(&output.stdout).contains("--recrawl"), "{}", text(&output.stdout));
    }
    assert!(server.asked().len() < 31);
    let output = bench
        .crawl(&[server.url("/")], &["--no-warc", "--recrawl", "--max-queued-per-host", "1000"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert_eq!(bench.summary()["pages"]["indexed"], 31);
    assert_eq!(bench.summary()["complete"], true);
}

/// Pages that only a sitemap lists.
fn listed(pages: u64) -> Server {
    let port = Arc::new(std::sync::OnceLock::new());
    let mut site: HashMap<String, Page> = (0..pages)
        .map(|at| (format!("/{at}"), html(format!("<p>{}</p>", prose(at * 9 + 11, 8)))))
        .collect();
    site.insert("/".to_owned(), html(format!("<p>{}</p>", prose(5, 8))));
    let server = {
        let port = Arc::clone(&port);
        Server::answering(
            Arc::new(move |path, _| match path {
                "/sitemap.xml" => sitemap(port.get().copied().unwrap_or_default(), 0..pages),
                path => site.get(path).cloned().unwrap_or_else(crate::support::missing),
            }),
            Duration::ZERO,
        )
    };
    port.set(server.port).unwrap();
    server
}

fn sitemap(port: u16, pages: std::ops::Range<u64>) -> Page {
    let urls: String =
        pages.map(|at| format!("<url><loc>http://127.0.0.1:{port}/{at}</loc></url>")).collect();
    xml(&format!("<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">{urls}</urlset>"))
}

fn xml(text: &str) -> Page {
    Page {
        status: "200 OK",
        headers: "Content-Type: application/xml\r\n".into(),
        body: text.as_bytes().to_vec(),
    }
}

#[test]
fn sitemap_entries_beyond_the_queue_limit_are_read_from_the_sitemap_again() {
    // Even if only one URL may be queued.
    for (limit, requests) in [("10", 4), ("3", 14), ("2", 20), ("1", 40)] {
        let server = listed(40);
        let bench = Bench::new();
        let output = bench.crawl(&[server.url("/")], &["--max-queued-per-host", limit]);
        assert_eq!(code(&output), 0, "{limit}: {}", text(&output.stderr));
        each_once(&server, 41);
        let maps = server.asked_all().iter().filter(|path| *path == "/sitemap.xml").count();
        assert!(maps <= requests + 1, "{limit}: {maps} requests");
    }
}

/// The listed host is down, so its queue stays full of URLs for the next run.
#[test]
fn a_sitemap_whose_entries_never_find_a_place_is_not_requested_without_end() {
    let down = Server::start(HashMap::new());
    down.die();
    let port = down.port;
    let server = Server::answering(
        Arc::new(move |path, _| match path {
            "/sitemap.xml" => sitemap(port, 0..30),
            "/" => html(format!("<p>{}</p>", prose(5, 8))),
            _ => crate::support::missing(),
        }),
        Duration::ZERO,
    );
    let bench = Bench::new();
    let flags = ["--max-queued-per-host", "2", "--scope", "any", "--allow-private", "127.0.0.0/8"];
    for run in 0..2 {
        let before = server.asked_all().len();
        let output = bench.crawl(&[server.url("/")], &flags);
        assert!(matches!(code(&output), 0 | 3), "{}", text(&output.stderr));
        assert_eq!(bench.summary()["complete"], false, "{}", bench.summary());
        let requests = server.asked_all().len() - before;
        assert!(requests < 10, "run {run}: {requests} requests");
    }
}

/// An index of sitemaps is a list of links too.
#[test]
fn an_index_of_very_many_sitemaps_does_not_fill_the_frontier() {
    let port = Arc::new(std::sync::OnceLock::new());
    let server = {
        let port = Arc::clone(&port);
        Server::answering(
            Arc::new(move |path, _| match path {
                "/" => html(format!("<p>{}</p>", prose(5, 8))),
                path if path.contains("sitemap") => {
                    let port: u16 = port.get().copied().unwrap_or_default();
                    let seed = path.len() as u64 * 31 + path.bytes().map(u64::from).sum::<u64>();
                    let maps: String = (0..4_000)
                        .map(|at| {
                            let long = "y".repeat(300);
                            format!("<sitemap><loc>http://127.0.0.1:{port}/{seed}-{at}-{long}-sitemap.xml</loc></sitemap>")
                        })
                        .collect();
                    xml(&format!("<sitemapindex>{maps}</sitemapindex>"))
                }
                _ => crate::support::missing(),
            }),
            Duration::ZERO,
        )
    };
    port.set(server.port).unwrap();
    let bench = Bench::new();
    let output =
        bench.crawl(&[server.url("/")], &["--max-queued-per-host", "500", "--time-limit", "4s"]);
    assert_eq!(code(&output), 3, "{}", text(&output.stderr));
    let frontier = std::fs::metadata(bench.data().join("frontier/frontier.redb")).unwrap().len();
    assert!(frontier < 12 << 20, "{frontier} bytes");
    assert!(bench.summary()["queued_urls"].as_u64().unwrap() <= 600);
}

/// An audit's case: gzipped pages with thousands of long links that lead only to more such pages.
#[test]
fn a_host_of_endless_links_does_not_fill_the_frontier() {
    let server = Server::answering(
        Arc::new(|path, _| {
            let seed = path.len() as u64 * 31 + path.bytes().map(u64::from).sum::<u64>();
            let links: String = (0..9_990)
                .map(|at| format!("<a href='/{seed}-{at}-{}'>x</a>", "y".repeat(380)))
                .collect();
            let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
            gz.write_all(format!("<p>{}</p>{links}", prose(seed, 8)).as_bytes()).unwrap();
            Page {
                status: "200 OK",
                headers: "Content-Type: text/html\r\nContent-Encoding: gzip\r\n".into(),
                body: gz.finish().unwrap(),
            }
        }),
        Duration::ZERO,
    );
    let bench = Bench::new();
    let output = bench.crawl(
        &[server.url("/")],
        &["--max-pages", "8", "--max-queued-per-host", "2000", "--max-ratio", "1000"],
    );
    assert_eq!(code(&output), 3, "{}", text(&output.stderr));
    let frontier = std::fs::metadata(bench.data().join("frontier/frontier.redb")).unwrap().len();
    assert!(frontier < 12 << 20, "{frontier} bytes");
    assert_eq!(bench.summary()["complete"], false);
    assert!(bench.summary()["queued_urls"].as_u64().unwrap() <= 2_000);
}

#[test]
fn links_of_a_page_whose_record_is_damaged_keep_the_crawl_incomplete() {
    let server = site(60, Duration::ZERO);
    let bench = Bench::new();
    let seeds = [server.url("/")];
    let flags = ["--max-queued-per-host", "10", "--concurrency", "1"];
    let first = [&flags[..], &["--max-pages", "5"]].concat();
    assert_eq!(code(&bench.crawl(&seeds, &first)), 3);
    // In the record of the start page, the first one.
    let archive = bench.data().join("pages/pages-00001.warc.gz");
    let mut bytes = std::fs::read(&archive).unwrap();
    bytes[600..900].iter_mut().for_each(|byte| *byte ^= 0x55);
    std::fs::write(&archive, bytes).unwrap();
    let then = [&flags[..], &["--max-pages", "none"]].concat();
    let output = bench.crawl(&seeds, &then);
    assert_eq!(code(&output), 3, "{}", text(&output.stderr));
    assert_eq!(bench.summary()["complete"], false);
    assert!(text(&output.stderr).contains("pages-00001.warc.gz"), "{}", text(&output.stderr));
    assert!(bench.summary()["stopped"].as_str().unwrap().contains("damaged"));
    // A recrawl has queue space for links while it requests pages again, and archives the damaged page again.
    for round in 0..2 {
        let again = [&flags[..], &["--recrawl"]].concat();
        let output = bench.crawl(&seeds, &again);
        assert_eq!(code(&output), 0, "{round}: {}", text(&output.stderr));
        assert_eq!(bench.summary()["complete"], true, "{round}");
        assert_eq!(bench.summary()["pages"]["indexed"], 61, "{round}");
    }
}

#[test]
fn a_pipe_among_the_files_of_the_archive_holds_up_nothing() {
    let server = site(60, Duration::ZERO);
    let bench = Bench::new();
    let seeds = [server.url("/")];
    let flags = ["--max-queued-per-host", "10"];
    let first = [&flags[..], &["--max-pages", "5"]].concat();
    assert_eq!(code(&bench.crawl(&seeds, &first)), 3);
    let pipe = bench.data().join("pages/pages-00000.warc.gz");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let then = [&flags[..], &["--max-pages", "none"]].concat();
    let output = bench.crawl(&seeds, &then);
    assert!(text(&output.stderr).contains("not a regular file"), "{}", text(&output.stderr));
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    each_once(&server, 61);
}

/// The record of dropped links is bounded too, however many hosts they lead to.
#[test]
fn links_to_very_many_hosts_cost_neither_time_nor_disk() {
    let links = |page: u64| -> String {
        (0..4_000).map(|at| format!("<a href=http://h{page}-{at}.invalid/>x</a>")).collect()
    };
    let site: HashMap<String, Page> = (0..5)
        .map(|page| {
            let next = format!("<a href=/{}>next</a>", page + 1);
            let path = if page == 0 { "/".to_owned() } else { format!("/{page}") };
            (path, html(format!("{next}<p>{}</p>{}", prose(page + 77, 8), links(page))))
        })
        .collect();
    let server = Server::start(site);
    let bench = Bench::new();
    let started = std::time::Instant::now();
    let flags = [
        "--scope",
        "any",
        "--max-queue",
        "2KiB",
        "--contact",
        "x@example.org",
        "--dns-timeout",
        "1s",
    ];
    let output = bench.crawl(&[server.url("/")], &flags);
    let said = text(&output.stderr);
    assert_eq!(code(&output), 3, "{said}");
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    assert!(said.lines().filter(|line| line.contains("queue is full")).count() <= 10, "{said}");
    let frontier = std::fs::metadata(bench.data().join("frontier/frontier.redb")).unwrap().len();
    assert!(frontier < 4 << 20, "{frontier} bytes");
    let stopped = bench.summary()["stopped"].as_str().unwrap().to_owned();
    assert!(stopped.contains("for the next run"), "{stopped}");
    assert!(queue_lines(&bench) <= 1_001, "{}", queue_lines(&bench));
}

/// The page with the link to another host is on this host.
#[test]
fn links_to_another_host_are_found_again_on_the_pages_that_had_them() {
    let other = site(40, Duration::ZERO);
    let links: String =
        (0..40).map(|at| format!("<a href='{}'>x</a>", other.url(&format!("/{at}")))).collect();
    let first = Server::start(HashMap::from([(
        "/".to_owned(),
        html(format!("<p>{}</p>{links}", prose(4_242, 8))),
    )]));
    let bench = Bench::new();
    let flags = ["--scope", "any", "--max-queued-per-host", "7", "--allow-private", "127.0.0.0/8"];
    let output = bench.crawl(&[first.url("/")], &flags);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    each_once(&other, 40);
}

#[test]
fn pages_that_are_not_archived_are_requested_again_by_a_recrawl() {
    for (flag, head) in [("--links-only", ""), ("--quiet", "<meta name=robots content=noindex>")] {
        let links: String = (0..30).map(|at| format!("<a href=/{at}>x</a>")).collect();
        let mut site: HashMap<String, Page> = (0..30)
            .map(|at| (format!("/{at}"), html(format!("<p>{}</p>", prose(at * 3 + 1, 8)))))
            .collect();
        site.insert("/".into(), html(format!("{head}<p>{}</p>{links}", prose(9_009, 8))));
        let server = Server::start(site);
        let bench = Bench::new();
        let output = bench.crawl(&[server.url("/")], &[flag, "--max-queued-per-host", "10"]);
        assert_eq!(code(&output), 3, "{flag}: {}", text(&output.stderr));
        assert_eq!(bench.summary()["complete"], false, "{flag}");
        let again = [flag, "--recrawl", "--max-queued-per-host", "100"];
        let output = bench.crawl(&[server.url("/")], &again);
        let missing: Vec<u64> =
            (0..30).filter(|at| !server.asked().contains(&format!("/{at}"))).collect();
        assert!(missing.is_empty(), "{flag}: {missing:?} {}", text(&output.stderr));
    }
}
