//! No refusal is permanent: URLs that a seed, a recrawl, a flag or `--retry` requests again.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use crate::helpers::{article, plain, typed};
use crate::serve::{SIGNED, tls_server};
use crate::support::{Bench, Page, Server, code, html, missing, prose, send, text};

/// A server whose pages are normal once `well` is set.
pub(crate) fn server(
    answer: impl Fn(&str, &str, bool) -> Page + Send + Sync + 'static,
) -> (Server, Arc<AtomicBool>) {
    let well = Arc::new(AtomicBool::new(false));
    let now = Arc::clone(&well);
    let answer = move |path: &str, head: &str| answer(path, head, now.load(SeqCst));
    (Server::answering(Arc::new(answer), Duration::ZERO), well)
}

pub(crate) fn status(status: &'static str) -> Page {
    Page { status, ..missing() }
}

/// A page that is refused because of its path.
fn refused(path: &str) -> Option<Page> {
    Some(match path {
        "/403" => status("403 Forbidden"),
        "/404" => missing(),
        "/410" => status("410 Gone"),
        "/451" => status("451 Unavailable For Legal Reasons"),
        "/type" => typed("image/png", "no text"),
        "/charset" => typed("text/html", [&b"<p>"[..], &[1, 2, 3, 4, 5].repeat(400)].concat()),
        "/encoding" => Page {
            headers: "Content-Type: text/html\r\nContent-Encoding: gzip\r\n".into(),
            body: vec![7, 0, 1, 200],
            ..article(9)
        },
        "/large" => html(format!("<p>{}</p>", prose(6, 3000))),
        "/round" => {
            Page { status: "302 Found", headers: "Location: /round\r\n".into(), body: Vec::new() }
        }
        _ => return None,
    })
}

const REFUSED: [&str; 9] =
    ["/403", "/404", "/410", "/451", "/type", "/charset", "/encoding", "/large", "/round"];

/// A front page that links to all of them; each is an article once `well` is set.
fn refusing() -> (Server, Arc<AtomicBool>) {
    server(|path, _, well| match path {
        "/robots.txt" | "/sitemap.xml" => missing(),
        "/" => {
            let links = REFUSED.map(|path| format!("<a href={path}>{path}</a> "));
            html(format!("<title>All</title><p>{}</p>{}", prose(1, 9), links.concat()))
        }
        path => match refused(path).filter(|_| !well) {
            Some(page) => page,
            None => article(path.bytes().map(u64::from).sum()),
        },
    })
}

const SMALL: [&str; 2] = ["--max-body", "50KiB"];

pub(crate) fn line_of(bench: &Bench, url: &str) -> Value {
    let lines = bench.log("skipped.jsonl");
    lines.into_iter().rfind(|line| line["url"] == url).unwrap_or_default()
}

#[test]
fn a_recrawl_requests_whatever_may_have_passed() {
    let (server, well) = refusing();
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &SMALL)), 0);
    for path in REFUSED {
        let line = line_of(&bench, &server.url(path));
        assert_eq!(line["again"], "recrawl", "{path}: {line}");
    }
    let asked = server.asked_all().len();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
    assert_eq!(server.asked_all().len(), asked, "the same command has nothing to request");
    well.store(true, SeqCst);
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--recrawl"])), 0);
    let kept = bench.kept();
    for path in REFUSED {
        assert!(kept.contains(&server.url(path)), "{path}: {kept:?}");
    }
    bench.checked();
}

#[test]
fn refused_pages_are_requested_once_by_each_recrawl() {
    let (server, _) = refusing();
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &SMALL)), 0);
    for looks in 1..=3 {
        let asked = server.asked_all();
        for path in ["/403", "/404", "/type"] {
            assert_eq!(asked.iter().filter(|one| *one == path).count(), looks, "{path}");
        }
        assert_eq!(code(&bench.crawl(&[server.url("/")], &["--recrawl"])), 0);
    }
}

#[test]
fn a_retry_requests_the_named_reasons_and_no_other() {
    let (server, well) = refusing();
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &SMALL)), 0);
    well.store(true, SeqCst);
    let asked = server.asked_all().len();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--retry", "http-4xx,content-type"])), 0);
    let mut again = server.asked_all().split_off(asked);
    again.sort();
    assert_eq!(again, ["/403", "/404", "/410", "/451", "/type"]);
    let output = bench.crawl(&[server.url("/")], &["--retry", "http-4x"]);
    assert_eq!(code(&output), 1);
    let said = text(&output.stderr);
    assert!(said.contains("unknown reason. Reasons: ") && said.contains("http-4xx"), "{said}");
}

#[test]
fn a_seed_that_failed_is_requested_by_every_run_and_named_at_its_end() {
    for (path, reason, ends) in [
        ("/403", "http-4xx", 4),
        ("/404", "http-4xx", 4),
        // It was fetched, but is not a page.
        ("/type", "content-type", 0),
        ("/round", "redirects", 4),
    ] {
        let (server, well) = refusing();
        let bench = Bench::new();
        let seed = server.url(path);
        let output = bench.crawl(std::slice::from_ref(&seed), &[]);
        assert_eq!(code(&output), ends, "{path}");
        let said = text(&output.stdout);
        assert!(said.contains(&format!("seed failed  {seed}: {reason}")), "{said}");
        assert!(said.contains("requested again by every run"), "{said}");
        let summary = bench.summary();
        assert_eq!(summary["failed_seeds"][0]["url"], seed, "{summary}");
        assert_eq!(summary["failed_seeds"][0]["reason"], reason, "{summary}");
        assert_eq!(line_of(&bench, &seed)["again"], "seed");
        let told = bench.run(&["explain", &seed]);
        assert!(told.contains("requested again by every run"), "{told}");
        well.store(true, SeqCst);
        let output = bench.crawl(std::slice::from_ref(&seed), &[]);
        assert_eq!(code(&output), 0, "{path}: {}", text(&output.stdout));
        assert!(bench.summary()["failed_seeds"].is_null());
        assert_eq!(bench.kept(), [seed.as_str()]);
        // Fetched pages are not requested again.
        let asked = server.asked_all().len();
        assert_eq!(code(&bench.crawl(std::slice::from_ref(&seed), &[])), 0);
        assert_eq!(server.asked_all().len(), asked);
    }
}

#[test]
fn robots_txt_that_forbade_a_seed_is_read_again() {
    let (server, well) = server(|path, _, well| match path {
        "/robots.txt" if !well => plain("User-agent: *\nDisallow: /\n"),
        "/robots.txt" | "/sitemap.xml" => missing(),
        _ => article(1),
    });
    let bench = Bench::new();
    let seed = [server.url("/")];
    let output = bench.crawl(&seed, &[]);
    assert_eq!(code(&output), 4);
    assert!(
        text(&output.stdout).contains(": robots, robots.txt, line 2;"),
        "{}",
        text(&output.stdout)
    );
    assert_eq!(code(&bench.crawl(&seed, &[])), 4);
    let robots =
        |server: &Server| server.asked_all().iter().filter(|p| *p == "/robots.txt").count();
    assert_eq!(robots(&server), 2);
    well.store(true, SeqCst);
    assert_eq!(code(&bench.crawl(&seed, &[])), 0);
    assert_eq!(bench.kept(), [seed[0].as_str()]);
}

#[test]
fn a_recrawl_and_a_retry_read_robots_txt_again() {
    for flags in [&["--recrawl"][..], &["--retry", "robots"]] {
        let (server, well) = server(|path, _, well| match path {
            "/robots.txt" if !well => plain("User-agent: *\nDisallow: /closed\n"),
            "/robots.txt" | "/sitemap.xml" => missing(),
            "/" => html(format!("<p>{}</p><a href=/closed>c</a>", prose(1, 9))),
            _ => article(2),
        });
        let bench = Bench::new();
        let seed = [server.url("/")];
        assert_eq!(code(&bench.crawl(&seed, &[])), 0);
        let line = line_of(&bench, &server.url("/closed"));
        assert_eq!((&line["again"], &line["flag"]), (&"recrawl".into(), &"--ignore-robots".into()));
        well.store(true, SeqCst);
        assert_eq!(code(&bench.crawl(&seed, flags)), 0);
        assert!(bench.kept().contains(&server.url("/closed")), "{flags:?}");
    }
}

#[test]
fn a_flag_that_lifts_a_reason_makes_the_same_command_request_again() {
    let (server, _) = server(|path, head, _| match path {
        "/robots.txt" | "/sitemap.xml" => missing(),
        "/" => html(format!("<p>{}</p><a href=/closed>c</a>", prose(1, 9))),
        _ if head.contains("x-key: 7") || head.contains("OtherBot") => article(2),
        _ => status("403 Forbidden"),
    });
    for flags in [["--header", "X-Key: 7"], ["--user-agent", "OtherBot/1.0"]] {
        let bench = Bench::new();
        let seed = [server.url("/")];
        assert_eq!(code(&bench.crawl(&seed, &[])), 0);
        assert_eq!(bench.kept().len(), 1);
        assert_eq!(code(&bench.crawl(&seed, &flags)), 0);
        assert_eq!(bench.kept().len(), 2, "{flags:?}");
    }
}

#[test]
fn statuses_of_the_moment_are_tried_again_in_the_same_run() {
    let statuses = [
        "408 Request Timeout",
        "425 Too Early",
        "429 Too Many Requests",
        "500 Broken",
        "502 Bad Gateway",
        "503 Busy",
        "504 Gateway Timeout",
    ];
    for moment in statuses {
        let tries = AtomicUsize::new(0);
        let server = Server::answering(
            Arc::new(move |path, _| match path {
                "/robots.txt" | "/sitemap.xml" => missing(),
                _ if tries.fetch_add(1, SeqCst) == 0 => status(moment),
                _ => article(1),
            }),
            Duration::ZERO,
        );
        let bench = Bench::new();
        assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0, "{moment}");
        assert_eq!(bench.kept().len(), 1, "{moment}");
    }
    // An unfixed URL is left to the next run.
    let (server, well) = server(|path, _, well| match path {
        "/robots.txt" | "/sitemap.xml" => missing(),
        "/" => html(format!("<p>{}</p><a href=/slow>c</a>", prose(1, 9))),
        _ if well => article(2),
        _ => status("408 Request Timeout"),
    });
    let bench = Bench::new();
    bench.crawl(&[server.url("/")], &[]);
    assert_eq!(line_of(&bench, &server.url("/slow"))["again"], "next-run");
    well.store(true, SeqCst);
    assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
    assert_eq!(bench.kept().len(), 2);
}

#[test]
fn a_seed_that_leads_to_another_site_brings_that_page_alone() {
    let proxy = Server::answering(
        Arc::new(|path, _| {
            let article = |number: u64, link: &str| {
                html(format!(
                    "<h1>Page {number}</h1><p>{}</p><a href={link}>on</a>",
                    prose(number, 9)
                ))
            };
            let leads = |to: &str| Page {
                status: "301 Moved",
                headers: format!("Location: {to}\r\n"),
                body: Vec::new(),
            };
            match path {
                "http://old.example/" => leads("http://parked.test/lander"),
                "http://parked.test/lander" => article(1, "/more"),
                "http://parked.test/more" => article(2, "/"),
                "http://one.site.example/" => leads("http://www.site.example/"),
                "http://www.site.example/" => article(3, "/more"),
                "http://www.site.example/more" => article(4, "/"),
                _ => missing(),
            }
        }),
        Duration::ZERO,
    );
    let bench = Bench::new();
    let seeds = ["http://old.example/".to_owned(), "http://one.site.example/".to_owned()];
    let output = bench.crawl(&seeds, &["--proxy", &proxy.url("")]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let said = text(&output.stderr);
    assert!(said.contains("the seed http://old.example/ redirects to another site"), "{said}");
    let screen = text(&output.stdout);
    let line = "seed moved   http://old.example/ redirects to another site; only http://parked.test/lander";
    assert!(screen.contains(line), "{screen}");
    let elsewhere =
        serde_json::json!([{"url": "http://old.example/", "to": "http://parked.test/lander"}]);
    assert_eq!(bench.summary()["seeds_elsewhere"], elsewhere);
    // A later run knows it too.
    assert_eq!(code(&bench.crawl(&seeds, &["--proxy", &proxy.url("")])), 0);
    assert_eq!(bench.summary()["seeds_elsewhere"], elsewhere);
    let mut kept = bench.kept();
    kept.sort();
    let expected =
        ["http://parked.test/lander", "http://www.site.example/", "http://www.site.example/more"];
    assert_eq!(kept, expected);
}

#[test]
fn a_password_in_a_seed_is_refused_and_not_shown() {
    let bench = Bench::new();
    let output = bench.crawl(&["http://anna:secret@a.example/".to_owned()], &[]);
    let said = text(&output.stderr);
    assert_eq!(code(&output), 1);
    assert!(said.contains("--header") && !said.contains("secret"), "{said}");
}

/// A site with a certificate of a private authority. Returns its port.
pub(crate) fn tls_site() -> u16 {
    tls_server(SIGNED, &[], |mut stream| {
        let mut head = [0; 4096];
        // A client that refuses the certificate ends the handshake.
        let Ok(length) = stream.read(&mut head) else { return };
        let is_page = head[..length].starts_with(b"GET / ");
        let page = if is_page { article(7) } else { missing() };
        send(&mut stream, &page);
    })
}

#[test]
fn a_refused_certificate_is_named_with_the_flags_that_accept_it_and_they_lift_it() {
    let port = tls_site();
    let (seed, host) = ([format!("https://127.0.0.1:{port}/")], format!("127.0.0.1:{port}"));
    let root = format!("{}/crates/fetch/tests/data/root.pem", env!("CARGO_MANIFEST_DIR"));
    for flags in [["--insecure", &host], ["--ca", &root]] {
        let bench = Bench::new();
        let output = bench.crawl(&seed, &[]);
        assert_eq!(code(&output), 4, "{}", text(&output.stderr));
        // robots.txt met the certificate first.
        let line = &bench.log("skipped.jsonl")[0];
        assert_eq!((&line["reason"], &line["flag"]), (&"tls".into(), &"--insecure".into()));
        assert!(line["detail"].as_str().unwrap().starts_with("robots.txt: "), "{line}");
        let failed = &bench.summary()["failed_seeds"][0];
        assert_eq!((&failed["reason"], &failed["again"]), (&"tls".into(), &"seed".into()));
        let screen = text(&output.stdout);
        assert!(
            screen.contains("; --ca FILE or --insecure HOST accepts its certificate"),
            "{screen}"
        );
        let explained = bench.run(&["explain", &seed[0]]);
        assert!(explained.contains("--insecure or --ca accept its certificate"), "{explained}");
        let output = bench.crawl(&seed, &flags);
        assert_eq!(code(&output), 0, "{flags:?}: {}", text(&output.stdout));
        assert_eq!(bench.kept(), seed);
        assert!(bench.summary()["failed_seeds"].is_null());
    }
}

#[test]
fn a_wider_limit_of_urls_requests_the_urls_beyond_the_narrower_one() {
    let deep: String = (0..40).map(|part| format!("/{part}")).collect();
    let query: Vec<String> = (0..20).map(|part| format!("p{part}=1")).collect();
    let traps = [
        (format!("/{}", "x".repeat(2100)), "--max-url-length", "4000"),
        (deep, "--max-url-segments", "64"),
        (format!("/q?{}", query.join("&")), "--max-url-parameters", "32"),
        ("/a/a/a/a/a".to_owned(), "--max-repeated-segment", "9"),
        ("/calendar/2147/7/".to_owned(), "--url-years", "1990..2999"),
    ];
    let links: String =
        traps.iter().map(|(path, ..)| format!("<a href=\"{path}\">x</a> ")).collect();
    let (server, _) = server(move |path, _, _| match path {
        "/robots.txt" | "/sitemap.xml" => missing(),
        "/" => html(format!("<p>{}</p>{links}", prose(1, 9))),
        path => article(path.bytes().map(u64::from).sum()),
    });
    let bench = Bench::new();
    let seed = [server.url("/")];
    assert_eq!(code(&bench.crawl(&seed, &[])), 0);
    assert_eq!(server.asked(), ["/"]);
    for (path, flag, value) in &traps {
        let url = server.url(path);
        let line = line_of(&bench, &url);
        assert_eq!(
            (&line["reason"], &line["flag"], &line["again"]),
            (&"trap".into(), &(*flag).into(), &"never".into()),
            "{line}"
        );
        let said = bench.run(&["explain", &url]);
        let allowed = format!("; allow it with {flag}");
        assert!(said.contains(&format!("not requested again{allowed}")), "{said}");
        assert!(said.trim_end().ends_with(&allowed), "{said}");
        assert_eq!(code(&bench.crawl(&seed, &["--retry", "trap"])), 0);
        assert!(!server.asked().contains(path), "the limit is that of before: {flag}");
        assert_eq!(code(&bench.crawl(&seed, &[*flag, *value])), 0);
        assert!(server.asked().contains(path), "{flag}");
    }
    bench.checked();
}

#[test]
fn more_links_and_entries_of_a_sitemap_are_found_when_their_limits_are_raised() {
    let (server, _) = server(|path, _, _| match path {
        "/robots.txt" => missing(),
        "/sitemap.xml" => {
            let entries = ["/s0", "/s1", "/s2"].map(|at| format!("<url><loc>{at}</loc></url>"));
            typed("application/xml", format!("<urlset>{}</urlset>", entries.concat()))
        }
        "/" => {
            let links = ["/l0", "/l1", "/l2", "/l3"].map(|at| format!("<a href={at}>x</a> "));
            html(format!("<p>{}</p>{}", prose(1, 9), links.concat()))
        }
        path => article(path.bytes().map(u64::from).sum()),
    });
    let bench = Bench::new();
    let seed = [server.url("/")];
    let narrow = ["--max-links", "2", "--max-sitemap-urls", "1"];
    assert_eq!(code(&bench.crawl(&seed, &narrow)), 0);
    for (path, flag) in [("/", "--max-links"), ("/sitemap.xml", "--max-sitemap-urls")] {
        let line = line_of(&bench, &server.url(path));
        assert_eq!(
            (&line["reason"], &line["flag"], &line["again"]),
            (&"links".into(), &flag.into(), &"never".into()),
            "{line}"
        );
    }
    let asked = |path: &str| server.asked_all().iter().filter(|one| *one == path).count();
    assert_eq!(["/l1", "/l2", "/s0", "/s1"].map(asked), [1, 0, 1, 0]);
    assert_eq!(code(&bench.crawl(&seed, &["--max-links", "9"])), 0);
    assert_eq!(["/l2", "/l3", "/s1"].map(asked), [1, 1, 0]);
    assert_eq!(asked("/"), 1, "its links are found in the archive");
    assert_eq!(code(&bench.crawl(&seed, &["--max-sitemap-urls", "9"])), 0);
    assert_eq!(["/s1", "/s2"].map(asked), [1, 1]);
    bench.checked();
}

#[test]
fn wider_limits_of_encodings_and_of_robots_txt_lift_their_refusals() {
    let packed = (0..3).fold(article(7).body, |body, _| {
        let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
        gz.write_all(&body).unwrap();
        gz.finish().unwrap()
    });
    let (server, _) = server(move |path, _, _| match path {
        "/robots.txt" => {
            let cut = format!("# {}\n", "x".repeat(1500));
            plain(format!("User-agent: *\nDisallow: /closed\n{cut}Allow: /closed/open\n"))
        }
        "/sitemap.xml" => missing(),
        "/" => {
            html(format!("<p>{}</p><a href=/packed>p</a> <a href=/closed/open>o</a>", prose(1, 9)))
        }
        "/packed" => Page {
            headers: "Content-Type: text/html\r\nContent-Encoding: gzip, gzip, gzip\r\n".into(),
            body: packed.clone(),
            ..article(7)
        },
        _ => article(8),
    });
    for (path, flag, narrow, wide, named) in [
        ("/packed", "--max-encodings", "2", "3", "--max-encodings"),
        ("/closed/open", "--max-robots", "1KiB", "8KiB", "--ignore-robots"),
    ] {
        let bench = Bench::new();
        let seed = [server.url("/")];
        assert_eq!(code(&bench.crawl(&seed, &[flag, narrow])), 0);
        let line = line_of(&bench, &server.url(path));
        assert_eq!(line["flag"], named, "{line}");
        assert!(!bench.kept().contains(&server.url(path)), "{flag}");
        assert_eq!(code(&bench.crawl(&seed, &[flag, wide])), 0);
        assert!(bench.kept().contains(&server.url(path)), "{flag}");
    }
}

#[test]
fn a_page_that_was_cut_short_comes_whole_in_a_recrawl() {
    let (server, _) = server(|path, head, _| match path {
        "/robots.txt" | "/sitemap.xml" => missing(),
        "/" => html(format!("<p>{}</p><a href=/deep>d</a>", prose(1, 9))),
        _ if head.to_ascii_lowercase().contains("if-none-match") => status("304 Not Modified"),
        _ => {
            let mut page = article(2);
            page.headers.push_str("ETag: \"1\"\r\n");
            // Longer than the piece after which the limit is checked.
            let within = format!("{}<p>{}</p>", "<div>".repeat(60), prose(3, 3000));
            page.body.extend(within.into_bytes());
            page
        }
    });
    let bench = Bench::new();
    let seed = [server.url("/")];
    let deep = server.url("/deep");
    assert_eq!(code(&bench.crawl(&seed, &["--max-nesting", "30"])), 0);
    let line = line_of(&bench, &deep);
    assert_eq!((&line["reason"], &line["flag"]), (&"cut-short".into(), &"--max-nesting".into()));
    let said = bench.run(&["explain", &deep]);
    let again = "requested again by --recrawl; allow it with --max-nesting";
    assert!(said.contains(again), "{said}");
    let asked = || server.asked_all().iter().filter(|one| *one == "/deep").count();
    assert_eq!(code(&bench.crawl(&seed, &["--max-nesting", "512"])), 0);
    assert_eq!(asked(), 1, "the page was used");
    assert_eq!(code(&bench.crawl(&seed, &["--recrawl"])), 0);
    assert_eq!((asked(), bench.summary()["recrawl"]["changed"].as_u64()), (2, Some(1)));
    bench.checked();
}
