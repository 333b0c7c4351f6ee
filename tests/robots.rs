//! The meaning of a host's robots.txt, by the response to its request (RFC 9309, 2.3 and 2.4).

use std::collections::HashMap;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant, SystemTime};

use hapax_frontier::{DiskFrontier, Frontier, Options};
use hapax_url::host_key;
use url::Url;

use crate::helpers::{article, plain, reasons};
use crate::support::{Bench, Page, Server, code, html, json_lines, missing, prose, redirect, text};

const FORBIDS: &str = "User-agent: *\nDisallow: /no\n";

/// A site whose first page links to `/no`; `others` answers for all other paths.
fn site(others: impl Fn(&str) -> Page + Send + Sync + 'static) -> Server {
    Server::answering(
        Arc::new(move |path, _| match path {
            "/" => html(format!("<p>{}</p><a href=/no>n</a>", prose(1, 9))),
            "/no" => article(9),
            path => others(path),
        }),
        Duration::ZERO,
    )
}

/// Crawls each site from `/` into one data directory.
fn crawl_of<'a>(sites: impl IntoIterator<Item = &'a Server>) -> Bench {
    let bench = Bench::new();
    let seeds: Vec<String> = sites.into_iter().map(|site| site.url("/")).collect();
    let output = bench.crawl(&seeds, &[]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    bench
}

fn of_no(bench: &Bench, site: &Server) -> Option<String> {
    reasons(bench, site).remove("/no")
}

/// The number of requests of a path, including robots.txt.
fn times(site: &Server, path: &str) -> usize {
    let line = format!("GET {path} ");
    site.heads().iter().filter(|head| head.starts_with(&line)).count()
}

#[test]
fn robots_txt_is_asked_for_once_a_day_and_an_old_copy_holds_while_it_cannot_be_reached() {
    let down = Arc::new(AtomicUsize::new(0));
    let is_down = Arc::clone(&down);
    let server = Server::answering(
        Arc::new(move |path, _| match path {
            "/robots.txt" if is_down.load(SeqCst) > 0 => Page { status: "503 Busy", ..missing() },
            "/robots.txt" => plain("User-agent: *\r\nDisallow: /no\r\n"),
            "/no" => article(9),
            path => html(format!("<p>{} {path}</p><a href=/no>n</a>", prose(path.len() as u64, 9))),
        }),
        Duration::ZERO,
    );
    let bench = Bench::new();
    bench.crawl(&[server.url("/")], &[]);
    bench.crawl(&[server.url("/second")], &[]);
    down.store(1, SeqCst);
    let output = bench.crawl(&[server.url("/third-one")], &[]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let robots = |server: &Server| {
        server.heads().iter().filter(|head| head.starts_with("GET /robots.txt")).count()
    };
    assert_eq!(robots(&server), 1, "the second and third run remember it");
    assert_eq!(server.asked(), ["/", "/second", "/third-one"]);
    assert_eq!(reasons(&bench, &server).get("/no").map(String::as_str), Some("robots"));
    let why = bench.run(&["explain", &server.url("/no")]);
    assert!(
        why.contains("forbids it, line 2: Disallow: /no") && why.contains("skipped: robots"),
        "{why}"
    );
    // A new crawl has no copy, so it may request nothing of the host.
    let bench = Bench::new();
    let before = server.asked().len();
    let output = bench.crawl(&[server.url("/")], &[]);
    assert_eq!((code(&output), server.asked().len()), (4, before), "{}", text(&output.stdout));
    assert_eq!(reasons(&bench, &server).get("/").map(String::as_str), Some("robots-unreachable"));
}

#[test]
fn a_copy_is_used_for_a_day_from_its_own_time_on_and_not_from_the_start_of_the_run() {
    let server = Server::answering(
        Arc::new(|path, _| match path.strip_prefix("/p").and_then(|n| n.parse::<u64>().ok()) {
            _ if path == "/robots.txt" => plain("User-agent: *\nDisallow: /no\n"),
            Some(n) if n < 9 => html(format!("<p>{}</p><a href=/p{}>n</a>", prose(n, 9), n + 1)),
            _ if path == "/" => article(99),
            _ => missing(),
        }),
        Duration::ZERO,
    );
    let bench = crawl_of([&server]);
    assert_eq!(times(&server, "/robots.txt"), 1);
    // The copy becomes a day old during the next run.
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let copy = [&(now - 24 * 60 * 60 + 4).to_le_bytes()[..], b"User-agent: *\n"].concat();
    let frontier = DiskFrontier::open(&bench.data().join("frontier"), Options::default()).unwrap();
    let host = host_key(&Url::parse(&server.url("/")).unwrap());
    frontier.note(&host, "robots", copy);
    frontier.commit(&frontier.payload().unwrap()).unwrap();
    drop(frontier);
    let output = bench.crawl(&[server.url("/p0")], &["--delay", "1s"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert!(server.asked().contains(&"/p8".to_owned()), "{:?}", server.asked());
    assert_eq!(times(&server, "/robots.txt"), 2, "asked for again when it was a day old");
}

#[test]
fn a_chain_of_redirects_to_the_rules_is_as_slow_as_everything_else() {
    let at = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = Arc::clone(&at);
    let server = site(move |path| {
        seen.lock().unwrap().push(Instant::now());
        match path {
            "/robots.txt" => redirect("/one"),
            "/one" => redirect("/two"),
            "/two" => plain(FORBIDS),
            _ => missing(),
        }
    });
    let bench = Bench::new();
    let flags = ["--delay", "700ms", "--no-sitemaps"];
    let output = bench.crawl(&[server.url("/")], &flags);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert_eq!(of_no(&bench, &server).as_deref(), Some("robots"));
    let at = at.lock().unwrap();
    let waits: Vec<_> = at.windows(2).map(|pair| pair[1].duration_since(pair[0])).collect();
    assert!(waits.len() >= 2 && waits[..2].iter().all(|wait| wait.as_millis() >= 700), "{waits:?}");
}

#[test]
fn five_redirects_lead_to_the_rules_and_six_to_none() {
    let hops = |count: usize| {
        site(move |path| match path.strip_prefix("/hop").and_then(|n| n.parse::<usize>().ok()) {
            _ if path == "/robots.txt" => redirect("/hop1"),
            Some(n) if n < count => redirect(&format!("/hop{}", n + 1)),
            Some(_) => plain(FORBIDS),
            None => missing(),
        })
    };
    let (five, six) = (hops(5), hops(6));
    let bench = crawl_of([&five, &six]);
    assert_eq!(of_no(&bench, &five).as_deref(), Some("robots"));
    assert_eq!(five.asked().iter().filter(|path| *path == "/no").count(), 0);
    assert_eq!(of_no(&bench, &six), None);
    assert!(six.asked().contains(&"/no".to_owned()), "{:?}", six.asked());
    assert_eq!((times(&six, "/hop5"), times(&six, "/hop6")), (1, 0));
}

#[test]
fn without_a_file_all_is_allowed_whatever_the_status_is_called() {
    let statuses = ["400 Bad", "401 Who", "402 Pay", "403 No", "404 None", "410 Gone", "451 Law"];
    let answers = |status: &'static str| Page { status, ..plain(FORBIDS) };
    let sites = statuses.map(|status| {
        site(move |path| if path == "/robots.txt" { answers(status) } else { missing() })
    });
    let bench = crawl_of(&sites);
    for (site, status) in sites.iter().zip(statuses) {
        assert_eq!(of_no(&bench, site), None, "{status}");
        assert!(site.asked().contains(&"/no".to_owned()), "{status}");
    }
}

#[test]
fn a_file_that_is_busy_at_first_is_asked_for_again_when_it_says() {
    let busy = |status: &'static str, retry_after: &'static str| {
        let before = AtomicUsize::new(0);
        site(move |path| match path {
            "/robots.txt" if before.fetch_add(1, SeqCst) == 0 => {
                let headers = format!("Retry-After: {retry_after}\r\n");
                Page { status, headers, body: Vec::new() }
            }
            "/robots.txt" => plain(FORBIDS),
            _ => missing(),
        })
    };
    let sites = [busy("429 Slow down", "3"), busy("503 Busy", "3"), busy("500 Broken", "")];
    let begin = Instant::now();
    let bench = crawl_of(&sites);
    assert!(begin.elapsed() >= Duration::from_secs(3));
    for site in &sites {
        assert_eq!(of_no(&bench, site).as_deref(), Some("robots"));
        assert_eq!(times(site, "/robots.txt"), 2);
    }
}

#[test]
fn a_host_without_reachable_robots_txt_gets_no_page_request() {
    // Its port is free when the listener is dropped, so connections are refused.
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let silent = site(|_| Page { status: "502 Bad", ..missing() });
    let bench = Bench::new();
    let seeds = [format!("http://{nobody}/"), silent.url("/")];
    assert_eq!(code(&bench.crawl(&seeds, &[])), 4);
    let skipped = bench.log("skipped.jsonl");
    let reasons: HashMap<&str, &str> = skipped
        .iter()
        .map(|line| (line["url"].as_str().unwrap(), line["reason"].as_str().unwrap()))
        .collect();
    assert_eq!(reasons, HashMap::from(seeds.each_ref().map(|url| (&**url, "robots-unreachable"))));
    assert_eq!(silent.asked(), [""; 0]);
}

#[test]
fn rules_past_the_limit_of_its_size_do_not_hold() {
    let file = |room: usize| {
        let rule = "Disallow: /no\n";
        let filler = format!("# {}\n", "x".repeat(997));
        let mut text = "User-agent: *\n".to_owned();
        while text.len() + filler.len() + rule.len() < room {
            text += &filler;
        }
        text += &"#".repeat(room - text.len() - rule.len() - 1);
        text + "\n" + rule
    };
    // The minimum size of RFC 9309, 2.5, in bytes.
    let most = 500 * 1024;
    let with = |text: String| {
        site(move |path| if path == "/robots.txt" { plain(text.clone()) } else { missing() })
    };
    let (inside, cut) = (file(most), file(most + 2));
    assert_eq!((inside.len(), cut.len()), (most, most + 2));
    let (inside, cut) = (with(inside + "Allow: /no\n"), with(cut));
    let bench = crawl_of([&inside, &cut]);
    assert_eq!(of_no(&bench, &inside).as_deref(), Some("robots"), "the Allow lies past the limit");
    assert_eq!(of_no(&bench, &cut), None, "a rule that is cut is none");
}

#[test]
fn neither_rules_nor_sitemaps_lead_to_a_private_address() {
    let canary = Server::answering(Arc::new(|_, _| plain(FORBIDS)), Duration::ZERO);
    let [rules, map, named] = ["/rules", "/map", "/named"].map(|path| canary.url(path));
    let by_rules = {
        let rules = rules.clone();
        site(move |path| if path == "/robots.txt" { redirect(&rules) } else { missing() })
    };
    let by_map = {
        let map = map.clone();
        site(move |path| match path {
            "/robots.txt" => plain("Sitemap: /moved.xml\n"),
            "/moved.xml" => redirect(&map),
            _ => missing(),
        })
    };
    let by_name = {
        let named = named.clone();
        site(move |path| match path {
            "/robots.txt" => plain(format!("Sitemap: {named}\n")),
            _ => missing(),
        })
    };
    let bench = crawl_of([&by_rules, &by_map, &by_name]);
    assert_eq!(canary.heads(), [""; 0]);
    assert_eq!(reasons(&bench, &by_rules).get("/").map(String::as_str), Some("private-address"));
    let skipped = bench.log("skipped.jsonl");
    let reason = |url: &str| -> Vec<&str> {
        let of = skipped.iter().filter(|line| line["url"] == url);
        of.map(|line| line["reason"].as_str().unwrap()).collect()
    };
    // A sitemap named in robots.txt may be on any host, but not out of scope after a redirect or at a private address.
    for (map, expected) in [(&map, "scope"), (&named, "private-address")] {
        assert_eq!(reason(map), [expected], "{map}");
    }
    for site in [&by_map, &by_name] {
        assert!(site.asked().contains(&"/no".to_owned()));
    }
}

/// Content-Signal and License of robots.txt, noai of page and header, TDM-Reservation.
#[test]
fn reservations_are_recorded_and_obeyed_on_request() {
    let with = |page: Page, header: &str| Page { headers: page.headers + header, ..page };
    let server = Server::answering(
        Arc::new(move |path, _| match path {
            "/robots.txt" => plain("User-agent: *\nAllow: /\n"),
            "/" => html(
                "<a href=/free>1</a> <a href=/meta>2</a> <a href=/header>3</a> <a href=/tdm>4</a>",
            ),
            "/free" => article(1),
            "/meta" => html(format!("<meta name=robots content=noai><p>{}", prose(2, 12))),
            "/header" => with(article(3), "X-Robots-Tag: hapax: noimageai\r\n"),
            "/tdm" => with(article(4), "TDM-Reservation: 1\r\n"),
            _ => missing(),
        }),
        Duration::ZERO,
    );
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
    let rows = json_lines(bench.run(&["export"]).as_bytes());
    let of = |path: &str| {
        let row = rows.iter().find(|row| row["url"] == server.url(path).as_str()).unwrap();
        row["reservations"].clone()
    };
    assert_eq!(of("/free"), serde_json::json!([]));
    assert_eq!(of("/meta"), serde_json::json!(["noai"]));
    assert_eq!(of("/header"), serde_json::json!(["noimageai"]));
    assert_eq!(of("/tdm"), serde_json::json!(["tdm-reservation: 1"]));
    let explained = bench.run(&["explain", &server.url("/tdm")]);
    assert!(explained.contains("tdm-reservation: 1"), "{explained}");

    let obeys = Bench::new();
    assert_eq!(code(&obeys.crawl(&[server.url("/")], &["--obey-reservations"])), 0);
    assert!(!obeys.exported().contains(&server.url("/meta")));
    let skipped = obeys.log("skipped.jsonl");
    for (path, detail) in
        [("/meta", "noai"), ("/header", "noimageai"), ("/tdm", "tdm-reservation: 1")]
    {
        let line = skipped.iter().find(|line| line["url"] == server.url(path).as_str()).unwrap();
        assert_eq!((&line["reason"], &line["detail"]), (&"reserved".into(), &detail.into()));
        assert_eq!(line["flag"], "--obey-reservations");
    }
    // Without the flag the same command requests them.
    assert_eq!(code(&obeys.crawl(&[server.url("/")], &["--obey-reservations=false"])), 0);
    assert!(obeys.exported().contains(&server.url("/meta")));

    // A host that reserves all is not requested.
    let whole = Server::start(HashMap::from([
        ("/robots.txt".to_owned(), plain("User-agent: *\nContent-Signal: ai-train=no\nAllow: /\n")),
        ("/".to_owned(), article(5)),
    ]));
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[whole.url("/")], &["--obey-reservations"])), 4);
    assert!(whole.asked().is_empty());
    assert_eq!(code(&bench.crawl(&[whole.url("/")], &["--obey-reservations=false"])), 0);
    let rows = json_lines(bench.run(&["export"]).as_bytes());
    assert_eq!(rows[0]["reservations"], serde_json::json!(["content-signal: ai-train=no"]));
}
