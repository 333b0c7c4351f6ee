//! Which requests a crawl sends, and to whom.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::helpers::{article, plain, reasons, typed};
use crate::support::{Bench, Page, Server, code, html, missing, prose, text};

#[test]
fn sitemaps_of_every_kind_bring_pages_that_nothing_links_to() {
    let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
    gz.write_all(b"<urlset><url><loc>/from-gz</loc></url><url><loc>/hidden/x</loc></url></urlset>")
        .unwrap();
    let server = Server::start(HashMap::from([
        ("/".to_owned(), article(1)),
        (
            "/robots.txt".to_owned(),
            plain(
                "User-agent: *\nDisallow: /hidden\nSitemap: /index.xml\nSitemap: /list.txt\nSitemap: /feed",
            ),
        ),
        (
            "/index.xml".to_owned(),
            typed(
                "application/xml",
                "<sitemapindex><sitemap><loc>/a.xml.gz</loc></sitemap><sitemap><loc>/index2.xml</loc></sitemap></sitemapindex>",
            ),
        ),
        (
            "/index2.xml".to_owned(),
            typed(
                "application/xml",
                "<sitemapindex><sitemap><loc>/index3.xml</loc></sitemap></sitemapindex>",
            ),
        ),
        (
            "/index3.xml".to_owned(),
            typed(
                "application/xml",
                "<sitemapindex><sitemap><loc>/index4.xml</loc></sitemap></sitemapindex>",
            ),
        ),
        ("/a.xml.gz".to_owned(), typed("application/gzip", gz.finish().unwrap())),
        (
            "/feed".to_owned(),
            typed("application/rss+xml", "<rss><item><link>/from-feed</link></item></rss>"),
        ),
        ("/from-gz".to_owned(), article(2)),
        ("/from-feed".to_owned(), article(3)),
        ("/from-text".to_owned(), article(4)),
    ]));
    // A text sitemap contains absolute addresses, so it needs the port.
    let port = server.port;
    let list = Server::answering(
        Arc::new(move |path, _| match path {
            "/" => article(5),
            "/robots.txt" => plain("Sitemap: /list.txt"),
            "/list.txt" => plain(format!("http://127.0.0.1:{port}/from-text\n")),
            _ => missing(),
        }),
        Duration::ZERO,
    );
    let bench = Bench::new();
    let output = bench.crawl(&[server.url("/"), list.url("/")], &[]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let asked = server.asked();
    for path in ["/from-gz", "/from-feed", "/from-text"] {
        assert!(asked.iter().any(|asked| asked == path), "{path}: {asked:?}");
    }
    assert!(!asked.iter().any(|path| path == "/hidden/x" || path == "/index4.xml"), "{asked:?}");
    let reasons = reasons(&bench, &server);
    assert_eq!(reasons.get("/hidden/x").map(String::as_str), Some("robots"));
    assert_eq!(reasons.get("/index4.xml").map(String::as_str), Some("depth"));
    // Without sitemaps, none of these pages.
    let bench = Bench::new();
    let before = server.asked().len();
    bench.crawl(&[server.url("/")], &["--no-sitemaps"]);
    assert_eq!(server.asked()[before..], ["/"]);
}

#[test]
fn a_sitemap_that_moved_is_read_and_one_that_leads_away_brings_no_host_along() {
    let other = Server::start(HashMap::from([
        ("/deep".to_owned(), article(9)),
        (
            "/map".to_owned(),
            typed("application/xml", "<urlset><url><loc>/deep</loc></url></urlset>"),
        ),
    ]));
    let away = other.url("/map");
    let seed = Server::start(HashMap::from([
        ("/".to_owned(), article(1)),
        ("/sitemap.xml".to_owned(), crate::support::redirect("/real.xml")),
        (
            "/real.xml".to_owned(),
            typed("application/xml", "<urlset><url><loc>/found</loc></url></urlset>"),
        ),
        ("/found".to_owned(), article(2)),
    ]));
    let leading = Server::start(HashMap::from([
        ("/".to_owned(), article(3)),
        ("/sitemap.xml".to_owned(), crate::support::redirect(&away)),
    ]));
    let bench = Bench::new();
    let flags = ["--allow-private", "127.0.0.0/8"];
    let output = bench.crawl(&[seed.url("/"), leading.url("/")], &flags);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert!(seed.asked().contains(&"/found".to_owned()), "{:?}", seed.asked());
    assert!(other.heads().is_empty(), "{:?}", other.heads());
    // A wider scope includes the sitemap of another host.
    let wide = [&flags[..], &["--scope", "any"]].concat();
    assert_eq!(code(&bench.crawl(&[seed.url("/"), leading.url("/")], &wide)), 0);
    assert!(other.asked().contains(&"/deep".to_owned()), "{:?}", other.asked());
    assert!(!bench.log("skipped.jsonl").iter().any(|line| line["reason"] == "content-type"));
}

#[test]
fn a_retry_after_header_is_obeyed() {
    let times = Arc::new(std::sync::Mutex::new(Vec::new()));
    let (seen, started) = (Arc::clone(&times), std::time::Instant::now());
    let server = Server::answering(
        Arc::new(move |path, _| {
            if path != "/" {
                return missing();
            }
            let mut seen = seen.lock().unwrap();
            seen.push(started.elapsed());
            match seen.len() {
                1 => Page {
                    status: "429 Slow",
                    headers: "Retry-After: 2\r\n".into(),
                    body: Vec::new(),
                },
                _ => article(1),
            }
        }),
        Duration::ZERO,
    );
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
    let times = times.lock().unwrap();
    assert!(times.len() == 2 && times[1] - times[0] >= Duration::from_secs(2), "{times:?}");
}

#[test]
fn clean_param_link_canonical_budget_and_soft_404_are_honoured() {
    let server = Server::answering(
        Arc::new(|path, _| match path {
            "/robots.txt" => plain("Clean-param: visitor /list"),
            "/" => {
                let links: String = (0..30).map(|i| format!("<a href=/p{i}>x</a>")).collect();
                html(format!(
                    "<p>{}</p><a href='/list?visitor=7&page=1'>l</a><a href=/copy>c</a>{links}",
                    prose(1, 9)
                ))
            }
            "/list?page=1" => article(2),
            "/original" => article(3),
            "/copy" => {
                let page = article(3);
                let headers = format!("{}Link: </original>; rel=\"canonical\"\r\n", page.headers);
                Page { headers, ..page }
            }
            "/p29" => html(format!(
                "<p>{}</p><a href=/gone1>1</a><a href=/gone2>2</a><a href=/gone3>3</a>",
                prose(4, 9)
            )),
            path if path.starts_with("/p") => {
                article(100 + path[2..].parse::<u64>().unwrap_or_default())
            }
            "/sitemap.xml" => missing(),
            // Missing pages have status 200 and changing words.
            path => {
                if path.starts_with("/gone") {
                    // Until then the probe, which runs at the same time, is answered.
                    std::thread::sleep(Duration::from_millis(500));
                }
                html(format!(
                    "<title>Sorry</title><p>Sorry, there is nothing at {path}. {}</p>",
                    prose(99, 30)
                ))
            }
        }),
        // The probe must start after the tenth processed page, not after the thirtieth fetched one.
        Duration::from_millis(5),
    );
    let bench = Bench::new();
    let output = bench.crawl(&[server.url("/")], &["--concurrency", "3", "--per-host", "3"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let asked = server.asked();
    assert!(
        asked.contains(&"/list?page=1".to_owned()) && !asked.iter().any(|p| p.contains("visitor")),
        "{asked:?}"
    );
    let reasons = reasons(&bench, &server);
    assert_eq!(reasons.get("/list?visitor=7&page=1").map(String::as_str), Some("clean-param"));
    // The first one is kept; which one is first depends on the order of the answers.
    let gone = ["/gone1", "/gone2", "/gone3"].into_iter();
    let (skipped, kept): (Vec<_>, Vec<_>) =
        gone.partition(|gone| reasons.get(*gone).map(String::as_str) == Some("soft-404"));
    assert_eq!((skipped.len(), kept.len()), (2, 1), "{reasons:?}");
    assert!(
        bench
            .log("discarded.jsonl")
            .iter()
            .any(|line| line["kind"] == "canonical" || line["kind"] == "exact")
    );
    assert!(asked.contains(&"/original".to_owned()), "the header's canonical page came in");
    let found = bench.run(&["search", "sorry", "--json"]);
    assert_eq!(found.lines().count(), 1, "{found}");
    assert!(found.contains(kept[0]), "{found}");
    // The kept page is the same in later runs.
    for _ in 0..2 {
        let output = bench.crawl(&[server.url("/")], &["--recrawl", "--concurrency", "1"]);
        assert_eq!(code(&output), 0, "{}", text(&output.stderr));
        assert_eq!(bench.run(&["search", "sorry", "--json"]).lines().count(), 1);
        assert!(bench.run(&["search", "sorry", "--json"]).contains(kept[0]));
    }

    let bench = Bench::new();
    bench.crawl(&[server.url("/")], &["--max-pages-per-host", "5"]);
    assert_eq!(bench.summary()["pages"]["fetched"], 5);
    assert!(bench.summary()["skipped"]["budget"].as_u64().unwrap() > 20);
}

#[test]
fn headers_go_only_to_seed_hosts_and_cookies_are_sent_only_on_request() {
    let other = Server::start(HashMap::from([("/".to_owned(), article(2))]));
    let link = other.url("/");
    let seed = Server::answering(
        Arc::new(move |path, _| match path {
            "/" => {
                let page = html(format!(
                    "<p>{}</p><a href='{link}'>other</a><a href=/next>n</a>",
                    prose(1, 9)
                ));
                Page { headers: format!("{}Set-Cookie: id=7\r\n", page.headers), ..page }
            }
            "/next" => article(3),
            _ => missing(),
        }),
        Duration::ZERO,
    );
    let bench = Bench::new();
    let flags = [
        "--scope",
        "any",
        "--allow-private",
        "127.0.0.0/8",
        "--header",
        "X-Key: secret",
        "--concurrency",
        "1",
    ];
    assert_eq!(code(&bench.crawl(&[seed.url("/")], &flags)), 0);
    assert!(seed.heads().iter().all(|head| head.contains("x-key: secret")), "{:?}", seed.heads());
    assert!(!other.heads().is_empty() && other.heads().iter().all(|head| !head.contains("x-key")));
    let all = || seed.heads().into_iter().chain(other.heads());
    assert!(all().all(|head| !head.contains("cookie:") && !head.contains("referer:")));
    let bench = Bench::new();
    bench.crawl(
        &[seed.url("/")],
        &[
            "--scope",
            "any",
            "--allow-private",
            "127.0.0.0/8",
            "--cookies",
            "--header",
            "X-Key: secret",
            "--concurrency",
            "1",
        ],
    );
    assert!(
        seed.heads()
            .iter()
            .any(|head| head.starts_with("GET /next") && head.contains("cookie: id=7"))
    );
    // The archive contains the request, but not a header that the user added: it may be a secret.
    let mut archive = String::new();
    let file = std::fs::File::open(bench.data().join("pages/pages-00001.warc.gz")).unwrap();
    flate2::read::MultiGzDecoder::new(file).read_to_string(&mut archive).unwrap();
    assert!(archive.contains("GET /next HTTP/1.1\r\nhost: 127.0.0.1"), "{archive}");
    assert!(!archive.contains("\r\ncookie:") && !archive.contains("x-key"));
    let output = bench.crawl(&[seed.url("/")], &["--header", "no colon"]);
    assert_eq!(code(&output), 1);
    assert!(text(&output.stderr).contains("Write it like"), "{}", text(&output.stderr));
}

#[test]
fn a_proxy_gets_every_request() {
    let proxy = Server::answering(
        Arc::new(|path, _| if path == "http://site.invalid/" { article(1) } else { missing() }),
        Duration::ZERO,
    );
    let bench = Bench::new();
    let output = bench.crawl(&["http://site.invalid/".to_owned()], &["--proxy", &proxy.url("")]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert_eq!(bench.summary()["pages"]["indexed"], 1);
    // An invalid proxy is reported before any request.
    let bench = Bench::new();
    let output = bench.crawl(&["http://site.invalid/".to_owned()], &["--proxy", "ftp://x"]);
    assert_eq!(code(&output), 1);
}

#[test]
fn links_only_follows_and_keeps_nothing_and_a_dry_run_asks_for_robots_txt_alone() {
    let server = Server::start(HashMap::from([
        ("/".to_owned(), html("<p>x</p><a href=/1>1</a><a href=/2>2</a>")),
        ("/1".to_owned(), article(1)),
        ("/2".to_owned(), article(1)),
        ("/robots.txt".to_owned(), plain("User-agent: *\nDisallow: /2")),
    ]));
    let bench = Bench::new();
    let output = bench
        .command(
            &[server.url("/"), server.url("/2"), "http://10.0.0.1:25/".to_owned()],
            &["--dry-run"],
        )
        .output()
        .unwrap();
    let said = text(&output.stdout);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert!(said.contains("/  would be fetched") && said.contains("/2  skipped: robots"), "{said}");
    assert!(server.asked().is_empty() && !bench.data().exists());
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--links-only"])), 0);
    assert_eq!(server.asked().len(), 2);
    assert_eq!(bench.summary()["pages"]["fetched"], 2);
    assert_eq!(bench.summary()["pages"]["indexed"], 0);
    assert!(!bench.data().join("index").exists() && !bench.data().join("pages").exists());
}

#[test]
fn a_full_disk_is_seen_before_it_is_full() {
    let server = Server::start(HashMap::from([("/".to_owned(), article(1))]));
    let bench = Bench::new();
    let output = bench.crawl(&[server.url("/")], &["--min-free-disk", "900TB"]);
    assert_eq!(code(&output), 3, "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("--min-free-disk"), "{}", text(&output.stdout));
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--min-free-disk", "1MB"])), 0);
}

#[test]
fn explain_predicts_the_outcome_of_a_url_without_a_request() {
    let server = Server::start(HashMap::from([
        ("/".to_owned(), html(format!("<p>{}</p><a href=/copy>c</a>", prose(1, 9)))),
        ("/copy".to_owned(), html(format!("<p>{}</p>", prose(1, 9)))),
    ]));
    let bench = Bench::new();
    bench.crawl(&[server.url("/")], &["--exclude", "private"]);
    let before = server.heads().len();
    for (path, expected) in [
        ("/", "fetched, kept"),
        ("/copy", "discarded, a duplicate of"),
        ("/new", "would be fetched"),
        ("/private", "skipped: exclude"),
        ("/a/a/a/a/a", "skipped: trap, repeated-segment"),
    ] {
        let said = bench.run(&["explain", &server.url(path)]);
        assert!(said.contains(expected), "{path}: {said}");
    }
    let said = bench.run(&["explain", "http://other.example/", "--json"]);
    let row: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(
        (row["fetched"].as_bool(), row["reason"].as_str()),
        (Some(false), Some("scope")),
        "{said}"
    );
    let said = bench.run(&["explain", "http://127.0.0.9/"]);
    assert!(said.contains("not a public address"), "{said}");
    assert_eq!(server.heads().len(), before, "robots.txt was remembered");
}

#[test]
fn bodies_that_are_no_text_are_left_and_count_as_responses() {
    let picture = || typed("image/png", vec![b'x'; 4 << 20]);
    let server = Server::start(HashMap::from([
        (
            "/".to_owned(),
            html(format!(
                "<p>{}</p>{}",
                prose(1, 9),
                "<a href=/a.png>a</a><a href=/b.png>b</a><a href=/empty>c</a><a href=/gone>d</a>"
            )),
        ),
        ("/a.png".to_owned(), picture()),
        ("/b.png".to_owned(), picture()),
        ("/empty".to_owned(), typed("image/png", "")),
        (
            "/gone".to_owned(),
            Page { status: "404 Not Found", ..typed("text/html", vec![b'x'; 4 << 20]) },
        ),
    ]));
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--concurrency", "1"])), 0);
    let summary = bench.summary();
    assert_eq!(summary["pages"]["fetched"], 3, "{summary}");
    assert!(summary["pages"]["bytes"].as_u64().unwrap() < 1 << 20, "{summary}");
    assert_eq!(summary["skipped"]["content-type"], 3, "{summary}");
    let few = Bench::new();
    let output = few.crawl(&[server.url("/")], &["--concurrency", "1", "--max-pages", "2"]);
    assert_eq!((code(&output), few.summary()["pages"]["fetched"].as_u64()), (3, Some(2)));
}

#[test]
fn wider_rules_take_in_what_narrower_ones_refused() {
    let other = Server::start(HashMap::from([("/".to_owned(), article(9))]));
    let link = other.url("/");
    let page = move |number: u64, links: &str| {
        html(format!("<h1>Page {number}</h1><p>{}</p>{links}", prose(number, 10)))
    };
    let server = Server::start(HashMap::from([
        ("/".to_owned(), page(1, &format!("<a href=/a>a</a><a href={link}>other</a>"))),
        ("/a".to_owned(), page(2, "<a href=/b>b</a>")),
        ("/b".to_owned(), page(3, "<a href=/c>c</a>")),
        ("/c".to_owned(), page(4, "")),
    ]));
    let bench = Bench::new();
    let seeds = [server.url("/")];
    assert_eq!(code(&bench.crawl(&seeds, &["--max-depth", "1"])), 0);
    assert_eq!(server.asked(), ["/", "/a"]);
    assert_eq!(reasons(&bench, &server)["/b"], "depth");
    // The same rules cause no request.
    assert_eq!(code(&bench.crawl(&seeds, &["--max-depth", "1"])), 0);
    assert_eq!(server.asked().len(), 2);
    assert_eq!(code(&bench.crawl(&seeds, &["--max-depth", "2"])), 0);
    assert_eq!(server.asked(), ["/", "/a", "/b"]);
    assert_eq!(other.asked(), [""; 0]);
    let wide = ["--max-depth", "2", "--scope", "any", "--allow-private", "127.0.0.0/8"];
    assert_eq!(code(&bench.crawl(&seeds, &wide)), 0);
    assert_eq!((server.asked().len(), other.asked()), (3, vec!["/".to_owned()]));
    assert_eq!(bench.summary()["pages"]["indexed"], 4);
}

#[cfg(target_os = "linux")]
#[test]
fn a_person_is_asked_once_whom_webmasters_may_ask() {
    let bench = Bench::new();
    let seeds = bench.seeds(&["http://no-such-host.invalid/".to_owned()]);
    let line = format!(
        "{} --seeds {} --data {} --delay 0s",
        env!("CARGO_BIN_EXE_crawl"),
        seeds.display(),
        bench.data().display()
    );
    // `script` runs it in a terminal.
    let on_terminal = || {
        let mut child = std::process::Command::new("script")
            .args(["-qec", &line, "/dev/null"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(b"me@a.example\n").unwrap();
        text(&child.wait_with_output().unwrap().stdout)
    };
    assert!(on_terminal().contains("Whom may webmasters ask"));
    let saved = std::fs::read_to_string(bench.data().join("crawl.toml")).unwrap();
    assert!(saved.contains("contact = \"me@a.example\""), "{saved}");
    assert!(!on_terminal().contains("Whom may webmasters ask"));
}

#[test]
fn a_host_that_refuses_tls_is_given_up_and_not_asked_for_every_page() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let count = Arc::clone(&asked);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let _ = std::io::Read::read(&mut stream, &mut [0; 1024]);
            // A fatal alert: handshake failure.
            let _ = std::io::Write::write_all(&mut stream, &[0x15, 3, 3, 0, 2, 2, 40]);
        }
    });
    let seeds: Vec<String> =
        (0..40).map(|page| format!("https://127.0.0.1:{port}/{page}")).collect();
    let bench = Bench::new();
    // Skip robots.txt, whose failure would end the host sooner.
    let host = format!("127.0.0.1:{port}");
    bench.crawl(&seeds, &["--ignore-robots", &host]);
    let of = |reason: &str| {
        bench.log("skipped.jsonl").iter().filter(|line| line["reason"] == reason).count()
    };
    assert_eq!((of("tls"), bench.summary()["deferred_urls"].as_u64()), (8, Some(32)));
    assert!(asked.load(std::sync::atomic::Ordering::Relaxed) <= 16);

    // robots.txt fails first: the reason is the same and names the flag that accepts the certificate.
    asked.store(0, std::sync::atomic::Ordering::Relaxed);
    let bench = Bench::new();
    bench.crawl(&seeds[..3], &[]);
    let lines = bench.log("skipped.jsonl");
    assert_eq!(lines.len(), 3);
    for line in lines {
        assert_eq!(
            (&line["reason"], &line["flag"]),
            (&"tls".into(), &"--insecure".into()),
            "{line}"
        );
    }
    assert!(asked.load(std::sync::atomic::Ordering::Relaxed) <= 4, "robots.txt alone");
}

#[test]
fn a_sitemap_that_robots_txt_names_may_be_as_long_as_any_url_of_the_crawl() {
    let map = format!("/{}.xml", "x".repeat(3000));
    for (flags, is_asked) in [(&[][..], false), (&["--max-url-length", "5000"][..], true)] {
        let server = Server::start(HashMap::from([
            ("/".to_owned(), html("<p>nothing leads on from here</p>")),
            ("/robots.txt".to_owned(), plain(format!("Sitemap: {map}\n"))),
        ]));
        assert_eq!(code(&Bench::new().crawl(&[server.url("/")], flags)), 0);
        assert_eq!(server.asked().contains(&map), is_asked, "{flags:?}");
    }
}

#[test]
fn recently_changed_sitemap_pages_are_fetched_first() {
    // The dates of all pages in each of four sitemaps; 2999 is not credible.
    let day = |ago: u64| {
        let ago = Duration::from_secs(ago * 24 * 60 * 60);
        hapax_warc::format_time(std::time::SystemTime::now() - ago)
    };
    let dates = [day(400), "2999-01-01".to_owned(), day(40), day(3)];
    let listed = |n: usize| -> String {
        (0..60)
            .map(|page| {
                format!("<url><loc>/p{n}-{page}</loc><lastmod>{}</lastmod></url>", dates[n])
            })
            .collect()
    };
    let maps: Vec<String> = (0..4).map(|n| format!("<urlset>{}</urlset>", listed(n))).collect();
    let server = Server::answering(
        Arc::new(move |path, _| match path {
            "/robots.txt" => plain("Sitemap: /m0\nSitemap: /m1\nSitemap: /m2\nSitemap: /m3\n"),
            "/" => article(1),
            path => match path.strip_prefix("/m").and_then(|n| n.parse::<usize>().ok()) {
                Some(n) => typed("application/xml", maps[n].clone()),
                None => article(path.bytes().fold(7, |sum, byte| sum * 31 + u64::from(byte))),
            },
        }),
        Duration::from_millis(10),
    );
    let output = Bench::new().crawl(&[server.url("/")], &[]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let asked = server.asked();
    assert_eq!(asked[..5], ["/", "/m0", "/m1", "/m2", "/m3"], "{asked:?}");
    assert_eq!(asked.len(), 5 + 240, "{asked:?}");
    // The crawl continues while the last sitemap is read, so some other pages may precede.
    let last = asked.iter().rposition(|path| path.starts_with("/p3-")).unwrap();
    assert!(last < 5 + 60 + 50, "{asked:?}");
}
