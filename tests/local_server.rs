//! The local servers, under requests from other sites' pages and under floods.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::helpers::crawled;
use crate::inspect::Inspect;
use crate::support::{Bench, Server, code, crawl, html, missing, prose, text};

fn encoded(query: &str) -> String {
    query.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

/// Queries on which a parser would recurse or take quadratic time.
fn hostile_queries() -> Vec<String> {
    let mut queries = Vec::new();
    for piece in [
        "(", "(a ", "NOT ", "NOT(", "NOT (a ", "a OR (", "-(", "+(", "a:(", "[", "\"", "\\(", "-",
        "a AND ", "(NOT a) ", "IN [a ", "桥", "^", "title:", "{a TO ",
    ] {
        for times in [1_000, 4_000, 20_000] {
            queries.push(piece.repeat(times));
            queries.push(format!("{}{}", piece.repeat(times), ")".repeat(times)));
        }
    }
    queries
}

#[test]
fn hostile_queries_are_refused_in_time_by_the_page_and_by_the_command() {
    let (bench, _server) = crawled();
    let inspect = Inspect::start(&bench);
    for query in hostile_queries() {
        let started = Instant::now();
        if query.len() < 20_000 {
            let answer = inspect.get(&format!("/search?q={}", encoded(&query)));
            let status = answer.split(' ').nth(1).unwrap_or_default().to_owned();
            assert!(
                ["400", "414", "431"].contains(&&*status),
                "{} bytes of {:?}: {status}",
                query.len(),
                query.get(..9)
            );
        }
        if query.len() < 100_000 {
            let output = crawl()
                .args(["search", "--data"])
                .arg(bench.data())
                .arg("--")
                .arg(&query)
                .output()
                .unwrap();
            assert_eq!(code(&output), 1, "{:?}: {}", query.get(..9), text(&output.stderr));
        }
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", query.get(..9));
    }
    // The worst queries within the limits.
    for query in [
        format!("{}a{}", "(a OR ".repeat(32), ")".repeat(32)),
        "NOT ".repeat(128),
        "a ".repeat(256),
        format!("\"{}\"~9", "a ".repeat(255)),
        "桥".repeat(256),
    ] {
        let started = Instant::now();
        inspect.get(&format!("/search?q={}", encoded(&query)));
        assert!(started.elapsed() < Duration::from_secs(2), "{query}");
    }
    assert!(inspect.get("/search?q=river").starts_with("HTTP/1.1 200"), "it is still there");
}

#[test]
fn requests_of_other_sites_are_refused_and_answers_are_for_our_own_pages_alone() {
    let (bench, _server) = crawled();
    let inspect = Inspect::start(&bench);
    let get = |path: &str, headers: &str| inspect.ask("GET", path, headers, "");
    for site in ["cross-site", "same-site"] {
        let image = format!(
            "Sec-Fetch-Site: {site}\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: image\r\n"
        );
        let link = format!(
            "Sec-Fetch-Site: {site}\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n"
        );
        for path in ["/", "/search?q=river", "/list", "/style.css", "/nothing"] {
            assert!(get(path, &image).starts_with("HTTP/1.1 403"), "{path}");
            let wanted = if path == "/" { "HTTP/1.1 200" } else { "HTTP/1.1 403" };
            assert!(get(path, &link).starts_with(wanted), "{path}");
        }
    }
    for headers in ["", "Sec-Fetch-Site: none\r\n", "Sec-Fetch-Site: same-origin\r\n"] {
        let answer = get("/list", headers).to_lowercase();
        assert!(answer.starts_with("http/1.1 200"), "{headers}");
        for policy in
            ["cross-origin-resource-policy: same-origin", "cross-origin-opener-policy: same-origin"]
        {
            assert!(answer.contains(policy), "{answer}");
        }
    }
}

#[test]
fn numbers_in_addresses_never_overflow() {
    let (bench, _server) = crawled();
    let inspect = Inspect::start(&bench);
    for number in [
        "18446744073709551615",
        "18446744073709551616",
        "9223372036854775808",
        "-1",
        "368934881474191033",
    ] {
        for path in [
            "/list?page=",
            "/clusters?page=",
            "/skipped?page=",
            "/page/",
            "/list?distance=",
            "/list?distance=0..",
            "/list?similarity=",
            "/list?since=",
        ] {
            let answer = inspect.get(&format!("{path}{number}"));
            let status = answer.split(' ').nth(1).unwrap_or_default().to_owned();
            assert!(["200", "400", "404"].contains(&&*status), "{path}{number}: {status}");
        }
    }
}

/// Opens connections that send half a request, as many as this process may.
fn half_sent(address: &str, count: usize) -> Vec<TcpStream> {
    (0..count)
        .map_while(|_| {
            let mut stream =
                TcpStream::connect_timeout(&address.parse().unwrap(), Duration::from_secs(2))
                    .ok()?;
            stream.write_all(b"GET / HTTP/1.1\r\nHost: ").ok()?;
            Some(stream)
        })
        .collect()
}

fn signal(child: &Child, name: &str) {
    let kill = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
}

fn ends_within(child: &mut Child, limit: Duration) -> Option<i32> {
    let started = Instant::now();
    while started.elapsed() < limit {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    None
}

#[test]
fn half_sent_requests_end_in_time_and_keep_neither_others_nor_the_end_waiting() {
    for name in ["-INT", "-TERM"] {
        let (bench, _server) = crawled();
        let mut inspect = Inspect::start(&bench);
        let mut open = half_sent(&inspect.address, 400);
        assert!(open.len() >= 300, "{}", open.len());
        // Connections beyond 256 wait until the first ones time out.
        let started = Instant::now();
        assert!(inspect.get("/").starts_with("HTTP/1.1 200"));
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
        let first = open.first_mut().unwrap();
        first.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut rest = Vec::new();
        // Closed, with or without an error response.
        let _ = first.read_to_end(&mut rest);
        assert!(rest.is_empty() || rest.starts_with(b"HTTP/1.1 408"), "{}", text(&rest));
        let _again = half_sent(&inspect.address, 5);
        signal(&inspect.child, name);
        assert_eq!(ends_within(&mut inspect.child, Duration::from_secs(2)), Some(0), "{name}");
    }
}

#[test]
fn a_flood_of_the_metrics_address_does_not_end_the_crawl() {
    let pages = 60u64;
    let server = Server::answering(
        Arc::new(move |path, _| {
            let at: u64 = path.trim_start_matches('/').parse().unwrap_or(0);
            if at > pages {
                return missing();
            }
            html(format!("<p>{}</p><a href=/{}>next</a>", prose(at, 8), at + 1))
        }),
        Duration::from_millis(60),
    );
    let bench = Bench::new();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = format!("127.0.0.1:{port}");
    let mut command = bench.command(&[server.url("/0")], &["--metrics", &address]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    server.wait_for(2);
    let mut floods = Vec::new();
    for _ in 0..4 {
        floods.push(half_sent(&address, 280));
        std::thread::sleep(Duration::from_millis(200));
    }
    let open: usize = floods.iter().map(Vec::len).sum();
    assert!(open > 300, "{open}");
    let descriptors =
        std::fs::read_dir(format!("/proc/{}/fd", child.id())).map_or(0, Iterator::count);
    assert!(descriptors < 450, "{descriptors} descriptors");
    assert_eq!(ends_within(&mut child, Duration::from_secs(60)), Some(0));
    assert_eq!(bench.summary()["pages"]["fetched"].as_u64(), Some(pages + 1));
}
