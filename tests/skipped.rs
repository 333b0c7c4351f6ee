//! A crawl gives every reason that docs/logs.md lists, and docs/logs.md lists every reason that it gives.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use socket2::{Domain, SockAddr, Socket, Type};

use crate::behaviours::{BEHAVIOURS, BOMB_IN_GZIP, ROBOTS, hostile};
use crate::helpers::{article, plain};
use crate::support::{Bench, Page, Server, code, html, missing, prose, redirect, text};

/// Reasons that one crawl of loopback servers cannot produce, with their tests.
const ELSEWHERE: [(&str, &str, &str); 7] = [
    ("reserved", "tests/robots.rs", "reservations_are_recorded_and_obeyed_on_request"),
    (
        "queue",
        "tests/queue_limits.rs",
        "links_beyond_the_limit_are_found_again_in_the_archive_without_a_request",
    ),
    // Only archives have it.
    (
        "revisit",
        "tests/stored_pages.rs",
        "a_revisit_payload_is_found_in_any_input_file_and_a_missing_one_is_reported",
    ),
    ("feed", "tests/feed.rs", "the_second_crawl_spares_what_the_first_one_found_and_loses_nothing"),
    (
        "feed-distrusted",
        "tests/feed.rs",
        "a_false_feed_is_detected_and_its_skipped_pages_are_fetched",
    ),
    ("lease-lost", "tests/cluster.rs", "a_returning_worker_drops_the_pages_that_others_took_over"),
    // Only a defect causes it: the test makes a future panic.
    ("extraction", "crates/crawl/src/fetch.rs", "a_panic_is_caught_and_a_result_is_not_touched"),
];

/// Hosts of the hostile set, chosen for their skip reasons.
const HOSTILE: [&str; 12] = [
    "accepts and hangs",
    "no HTTP at all",
    "endless body",
    "a gzip bomb",
    "gzip that is none",
    "204 with a body",
    "a redirect loop",
    "deep nesting",
    "a hundred thousand links",
    "noise as HTML",
    "a wait of thirty years",
    "robots.txt as a bomb",
];

fn documented() -> BTreeSet<String> {
    let logs =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/logs.md")).unwrap();
    let (_, table) = logs.split_once("## skipped.jsonl").unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    let names = rows.flat_map(|row| row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2));
    names.map(str::to_owned).collect()
}

/// A host with one text under many addresses, more pages than its budget, and no status for missing pages.
fn repeating() -> Server {
    let links = |range: std::ops::Range<u64>, to: &str| -> String {
        range.map(|n| format!("<a href={to}{n}>x</a>")).collect()
    };
    Server::answering(
        Arc::new(move |path, _| match path {
            "/robots.txt" | "/sitemap.xml" => missing(),
            "/" => {
                html(format!("<p>{}</p>{}<a href=/hub>h</a>", prose(1, 9), links(0..80, "/d?id=")))
            }
            "/hub" => html(format!(
                "<p>{}</p><a href=/sorry>s</a>{}{}",
                prose(3, 9),
                links(2000..2100, "/d?id="),
                links(0..100, "/o/")
            )),
            path if path.starts_with("/d?id=") => {
                html(format!("<h1>One</h1><p>{}</p>", prose(2, 20)))
            }
            path => match path.strip_prefix("/o/").and_then(|n| n.parse::<u64>().ok()) {
                Some(n) => article(100 + n),
                None => {
                    html(format!("<p>Sorry, there is nothing at {path}. {}</p>", prose(99, 30)))
                }
            },
        }),
        Duration::ZERO,
    )
}

/// A host with a page for each reason that one request shows.
fn plenty() -> Server {
    Server::answering(
        Arc::new(|path, _| match path {
            "/robots.txt" => plain("User-agent: *\nDisallow: /no\nClean-param: v /clean\n"),
            "/" => {
                let links = [
                    "/no",
                    "/clean?v=1",
                    "/hidden",
                    "/403",
                    "/500",
                    "/picture",
                    "/x!x",
                    "/exclude",
                    "/a/a/a/a/a",
                    "/deep1",
                    "/blank1",
                    "/blank2",
                    "http://elsewhere.example/",
                ];
                let links = links.map(|link| format!("<a href={link}>x</a>")).concat();
                html(format!("<p>{}</p>{links}<a rel=nofollow href=/not>n</a>", prose(5, 9)))
            }
            "/hidden" => html(format!("<meta name=robots content=noindex><p>{}</p>", prose(6, 9))),
            "/blank1" | "/blank2" => html("<title>App</title><div id=root></div>"),
            "/403" => Page { status: "403 Forbidden", ..missing() },
            "/500" => Page { status: "500 Broken", ..missing() },
            "/picture" => Page { headers: "Content-Type: image/png\r\n".to_owned(), ..article(7) },
            "/hop" => redirect("http://10.0.0.1/"),
            "/mail" => redirect("http://127.0.0.1:25/"),
            path => match path.strip_prefix("/deep").and_then(|n| n.parse::<u64>().ok()) {
                Some(n) => html(format!("<p>{}</p><a href=/deep{}>d</a>", prose(10 + n, 9), n + 1)),
                None => missing(),
            },
        }),
        Duration::ZERO,
    )
}

/// Answers unknown paths with the same page. The first page like it is kept.
fn lost() -> Server {
    Server::answering(
        Arc::new(|path, _| match path {
            "/robots.txt" => missing(),
            "/" => {
                let links = (1..=40).map(|page| format!("<a href=/page{page}>p</a>"));
                html(format!("<p>{}</p>{}", prose(40, 9), links.collect::<String>()))
            }
            "/last" => {
                html(format!("<p>{}</p><a href=/gone1>1</a><a href=/gone2>2</a>", prose(41, 9)))
            }
            path => match path.strip_prefix("/page").and_then(|page| page.parse::<u64>().ok()) {
                Some(page) => html(format!("<p>{}</p><a href=/last>n</a>", prose(100 + page, 9))),
                None => article(9),
            },
        }),
        Duration::ZERO,
    )
}

#[test]
fn every_documented_reason_is_given_and_no_other() {
    let documented = documented();
    assert!(documented.len() >= 35, "{documented:?}");
    let slow = Server::answering(
        Arc::new(|_, _| plain("User-agent: *\nCrawl-delay: 60\n")),
        Duration::ZERO,
    );
    let left = Server::answering(
        Arc::new(|path, _| if path == "/robots.txt" { missing() } else { article(8) }),
        Duration::ZERO,
    );
    // Bound but not listening: connections are refused, and no other process gets the port.
    let dead = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    dead.bind(&SockAddr::from(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))).unwrap();
    let dead_port = dead.local_addr().unwrap().as_socket_ipv4().unwrap().port();
    let dead_host = format!("127.0.0.1:{dead_port}");
    let tls = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let tls_port = tls.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in tls.incoming().flatten() {
            let _ = std::io::Read::read(&mut stream, &mut [0; 1024]);
            // A fatal alert: handshake failure.
            let _ = std::io::Write::write_all(&mut stream, &[0x15, 3, 3, 0, 2, 2, 40]);
        }
    });
    // The servers have a second for it, which is not enough on a busy machine.
    LazyLock::force(&BOMB_IN_GZIP);
    let (plenty, repeating, lost) = (plenty(), repeating(), lost());
    let bench = Bench::new();
    // Forgotten pages stay out.
    assert_eq!(code(&bench.crawl(&[left.url("/")], &[])), 0);
    bench.run(&["forget", &format!("127.0.0.1:{}", left.port)]);

    let mut seeds = vec![
        left.url("/new"),
        plenty.url("/"),
        plenty.url("/hop"),
        repeating.url("/"),
        slow.url("/"),
        format!("http://{dead_host}/"),
        format!("https://127.0.0.1:{tls_port}/"),
        "http://no-such-host.invalid/".to_owned(),
        plenty.url("/mail"),
        lost.url("/"),
    ];
    let all = BEHAVIOURS.iter().map(|act| (act, false)).chain(ROBOTS.iter().map(|act| (act, true)));
    let chosen: Vec<_> = all.filter(|((name, ..), _)| HOSTILE.contains(name)).collect();
    assert_eq!(chosen.len(), HOSTILE.len());
    for ((name, act, _), robots_too) in chosen {
        let port = hostile(*act, robots_too);
        let pages = if *name == "a wait of thirty years" { &["a", "b", "c"][..] } else { &["a"] };
        seeds.extend(pages.iter().map(|page| format!("http://127.0.0.1:{port}/{page}")));
    }
    // Skip robots.txt on hosts that answer no request for it: its failure would hide their own.
    let tls_host = format!("127.0.0.1:{tls_port}");
    let flags = [
        "--include",
        "^[^!]*$",
        "--exclude",
        "exclude",
        "--max-depth",
        "3",
        "--max-pages-per-host",
        "80",
        "--max-crawl-delay-skip",
        "--max-body",
        "1MiB",
        "--read-timeout",
        "1s",
        "--request-timeout",
        "3s",
        "--connect-timeout",
        "2s",
        "--ignore-robots",
        &dead_host,
        "--ignore-robots",
        &tls_host,
        "--ignore-robots",
        "no-such-host.invalid",
    ];
    let output = bench.crawl(&seeds, &flags);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));

    let mut found: BTreeMap<String, String> = BTreeMap::new();
    for line in bench.log("skipped.jsonl") {
        let text = |name: &str| line[name].as_str().unwrap().to_owned();
        found.entry(text("reason")).or_insert_with(|| text("url"));
    }
    let mut given: BTreeSet<String> = found.keys().cloned().collect();
    for (reason, file, test) in ELSEWHERE {
        assert!(!given.contains(reason), "{reason} can be had here: {found:?}");
        let path = format!("{}/{file}", env!("CARGO_MANIFEST_DIR"));
        let source = std::fs::read_to_string(path).unwrap();
        assert!(source.contains(test), "{file} has no {test}");
        given.insert(reason.to_owned());
    }
    let missing: Vec<_> = documented.difference(&given).collect();
    let unknown: Vec<_> = given.difference(&documented).collect();
    assert!(
        missing.is_empty() && unknown.is_empty(),
        "not given {missing:?}, not in docs/logs.md {unknown:?}"
    );
    for (reason, url) in
        [("include", "/x!x"), ("exclude", "/exclude"), ("trap", "/a/a/a/a/a"), ("depth", "/deep4")]
    {
        assert_eq!(found[reason], plenty.url(url), "{reason}");
    }
    for (reason, url) in
        [("forgotten", left.url("/new")), ("dns", "http://no-such-host.invalid/".to_owned())]
    {
        assert_eq!(found[reason], url, "{reason}");
    }
    assert!(found["dust-rule"].starts_with(&repeating.url("/d?id=")), "{found:?}");
}
