//! A first response, or flags of a first run, must not be permanent. Redirects, stubs and broken pages must not
//! remove good pages.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use hapax_frontier::{DiskFrontier, Frontier, Options};

use crate::helpers::article;
use crate::support::{Bench, Page, Server, code, html, missing, prose, redirect, text};

fn site(
    answer: impl Fn(&str, usize) -> Page + Send + Sync + 'static,
) -> (Server, Arc<AtomicUsize>) {
    let step = Arc::new(AtomicUsize::new(0));
    let now = Arc::clone(&step);
    let answer = move |path: &str, _: &str| answer(path, now.load(SeqCst));
    (Server::answering(Arc::new(answer), Duration::ZERO), step)
}

fn linking(seed: u64, links: &[&str]) -> Page {
    let links: String = links.iter().map(|link| format!("<a href={link}>on</a> ")).collect();
    html(format!("<title>Page {seed}</title><h1>Page {seed}</h1><p>{}</p>{links}", prose(seed, 10)))
}

fn leads(status: &'static str, to: &str) -> Page {
    Page { status, headers: format!("Location: {to}\r\n"), body: Vec::new() }
}

fn reasons(bench: &Bench, reason: &str) -> usize {
    bench.log("skipped.jsonl").iter().filter(|line| line["reason"] == reason).count()
}

#[test]
fn an_error_of_the_moment_is_tried_again_at_the_next_run() {
    let (server, step) = site(|path, step| match (path, step) {
        (_, 0) => Page { status: "503 Busy", headers: String::new(), body: b"busy".to_vec() },
        ("/", _) => article(1),
        _ => missing(),
    });
    let bench = Bench::new();
    bench.crawl(&[server.url("/")], &["--ignore-robots", "127.0.0.1"]);
    assert_eq!((server.asked().len(), reasons(&bench, "http-5xx")), (3, 1));
    step.store(1, SeqCst);
    assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
    assert_eq!(bench.summary()["pages"]["indexed"], 1);
}

#[test]
fn pages_excluded_by_flags_are_fetched_when_the_flags_allow_them() {
    let (server, _) = site(|path, _| match path {
        "/robots.txt" => Page { body: b"User-agent: *\nDisallow: /closed\n".to_vec(), ..html("") },
        "/" => linking(1, &["/a", "/b", "/c", "/closed", "/large"]),
        "/a" => article(2),
        "/b" => article(3),
        "/c" => article(4),
        "/closed" => article(5),
        "/large" => html(format!("<p>{}</p>", prose(6, 3000))),
        _ => missing(),
    });
    let bench = Bench::new();
    let seeds = [server.url("/")];
    let indexed = |flags: &[&str]| {
        assert_eq!(code(&bench.crawl(&seeds, flags)), 0);
        bench.summary()["pages"]["indexed"].as_u64().unwrap()
    };
    assert_eq!(indexed(&["--max-pages-per-host", "2", "--max-body", "50KiB"]), 2);
    assert_eq!(indexed(&["--max-pages-per-host", "none"]), 4, "robots and size as before");
    assert_eq!(indexed(&["--max-body", "10MiB"]), 5);
    assert_eq!(indexed(&["--ignore-robots", "127.0.0.1"]), 6);
    let asked = server.asked().len();
    assert_eq!((indexed(&[]), server.asked().len()), (6, asked));
    bench.run(&["check"]);
}

#[test]
fn narrower_rules_hold_for_what_is_queued() {
    let (server, _) = site(|path, _| match path {
        "/" => linking(1, &["/cal/1", "/cal/2", "/text"]),
        "/text" => linking(2, &["/deep"]),
        _ => article(3),
    });
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--max-pages", "1"])), 3);
    let flags = ["--max-pages", "none", "--exclude", "/cal/", "--max-depth", "1"];
    assert_eq!(code(&bench.crawl(&[server.url("/")], &flags)), 0);
    assert_eq!(server.asked(), ["/", "/text"]);
    assert_eq!((reasons(&bench, "exclude"), reasons(&bench, "depth")), (2, 1));
}

#[test]
fn a_redirect_to_another_spelling_of_the_same_address_is_followed() {
    let (server, _) = site(|path, _| match path {
        "/" => leads("302 Found", "/?utm_source=home"),
        "/?utm_source=home" => linking(1, &["/loop"]),
        "/loop" => leads("302 Found", "/loop"),
        _ => missing(),
    });
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
    assert_eq!(
        (bench.summary()["pages"]["indexed"].as_u64(), reasons(&bench, "redirects")),
        (Some(1), 1)
    );
}

#[test]
fn the_canonical_url_of_a_seed_does_not_extend_the_scope() {
    let (other, _) = site(|_, _| article(9));
    let elsewhere = other.url("/");
    let (server, _) = site(move |path, _| match path {
        "/" => html(format!("<link rel=canonical href=/c><p>{}</p>", prose(1, 10))),
        "/c" => leads("302 Found", &elsewhere),
        _ => missing(),
    });
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--allow-private", "127.0.0.0/8"])), 0);
    assert_eq!(other.asked().len(), 0);
}

#[test]
fn a_start_page_served_at_every_url_is_kept() {
    let (server, _) = site(|path, _| match path {
        "/robots.txt" | "/sitemap.xml" => missing(),
        _ if path.starts_with("/p") => {
            article(path.len() as u64 * 7 + u64::from(path.as_bytes()[2]))
        }
        _ => {
            let links: Vec<String> =
                (0..20).map(|at| format!("/p{}{at}", (b'a' + at) as char)).collect();
            linking(1, &links.iter().map(String::as_str).collect::<Vec<_>>())
        }
    });
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
    for _ in 0..2 {
        assert_eq!(code(&bench.crawl(&[server.url("/")], &["--recrawl"])), 0);
    }
    assert_eq!(reasons(&bench, "soft-404"), 0);
    assert!(
        bench.run(&["search", "Page 1", "--json"]).contains(&format!("\"{}\"", server.url("/")))
    );
}

#[test]
fn a_page_of_text_that_shows_another_after_a_while_is_a_page() {
    let refresh =
        |seconds: u32, to: &str| format!("<meta http-equiv=refresh content='{seconds}; url={to}'>");
    let (server, _) = site(move |path, _| match path {
        "/" => html(format!("{}<p>{}</p><a href=/stub>s</a>", refresh(9, "/next"), prose(1, 40))),
        "/stub" => html(format!("{}<p>This page has moved.</p>", refresh(0, "/next"))),
        "/next" => article(2),
        _ => missing(),
    });
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
    let pages = bench.summary()["pages"].clone();
    assert_eq!((pages["indexed"].as_u64(), pages["alias"].as_u64()), (Some(2), Some(1)), "{pages}");
}

#[test]
fn a_few_broken_pages_do_not_end_their_host() {
    let (server, _) = site(|path, _| match path {
        "/" => linking(1, &["/e1", "/e2", "/e3", "/e4", "/a", "/b"]),
        "/a" => article(2),
        "/b" => article(3),
        "/robots.txt" | "/sitemap.xml" => missing(),
        _ => Page { status: "500 Broken", headers: String::new(), body: Vec::new() },
    });
    let bench = Bench::new();
    bench.crawl(&[server.url("/")], &[]);
    assert_eq!(
        (bench.summary()["pages"]["indexed"].as_u64(), reasons(&bench, "host-down")),
        (Some(3), 0)
    );
    assert_eq!(
        (reasons(&bench, "http-5xx"), bench.summary()["deferred_urls"].as_u64()),
        (4, Some(4))
    );
}

#[test]
fn exit_codes_say_what_came_of_the_seeds() {
    let (server, _) = site(|path, _| match path {
        "/robots.txt" => Page { body: b"User-agent: *\nDisallow: /\n".to_vec(), ..html("") },
        _ => article(1),
    });
    let bench = Bench::new();
    for _ in 0..2 {
        assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 4, "forbidden by robots.txt");
    }
    let (server, _) = site(|path, _| match path {
        "/" => linking(1, &["/a"]),
        "/a" => article(2),
        _ => missing(),
    });
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--max-pages", "2"])), 0, "that was all");
    let output = bench.command(&[], &[]).args(["--fresh", "--yes"]).output().unwrap();
    let without = crate::support::crawl()
        .args(["--fresh", "--yes", "--data"])
        .arg(bench.data())
        .output()
        .unwrap();
    assert_eq!(
        (code(&output), code(&without)),
        (1, 1),
        "nothing is removed where nothing would come"
    );
    assert!(bench.run(&["search", "page"]).contains("/a"));
}

#[test]
fn a_recrawl_goes_no_deeper_and_sees_new_titles_and_sitemaps() {
    let (server, step) = site(|path, step| match path {
        "/" => linking(1, &["/a"]),
        "/a" => {
            let title = ["Old harbour", "New harbour"][step.min(1)];
            html(format!("<title>{title}</title><p>{}</p><a href=/deep>d</a>", prose(2, 10)))
        }
        "/sitemap.xml" if step > 0 => {
            Page { body: b"<urlset><url><loc>/listed</loc></url></urlset>".to_vec(), ..html("") }
        }
        "/listed" => article(3),
        "/deep" => article(4),
        _ => missing(),
    });
    let bench = Bench::new();
    let flags = ["--max-depth", "1"];
    assert_eq!(code(&bench.crawl(&[server.url("/")], &flags)), 0);
    step.store(1, SeqCst);
    for _ in 0..2 {
        assert_eq!(code(&bench.crawl(&[server.url("/")], &["--recrawl"])), 0);
    }
    let asked = server.asked();
    assert!(
        !asked.contains(&"/deep".to_owned()) && asked.contains(&"/listed".to_owned()),
        "{asked:?}"
    );
    assert!(bench.run(&["search", "New harbour"]).contains("New harbour"));
}

#[test]
fn a_lost_index_is_reported_and_can_be_rebuilt_from_the_archive() {
    let (server, _) = site(|path, _| match path {
        "/" => linking(1, &["/a"]),
        "/a" => article(2),
        _ => missing(),
    });
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
    std::fs::remove_dir_all(bench.data().join("index")).unwrap();
    let output = bench.crawl(&[server.url("/")], &[]);
    let said = crate::support::text(&output.stderr);
    assert!(
        code(&output) == 2 && said.contains("2 pages") && said.contains("crawl pages"),
        "{said}"
    );
    let archive = bench.data().join("pages/pages-00001.warc.gz").display().to_string();
    let again = bench.path("again").display().to_string();
    let read = crate::support::printed(&["pages", &archive, "--data", &again]);
    assert!(read.contains("indexed in all           2"), "{read}");
}

#[test]
fn a_host_that_asks_for_long_pauses_is_left_alone() {
    // A crawl delay above the limit is either cut to it, or the host is skipped.
    for (pause, flags, reached) in [
        (31, &["--max-crawl-delay-skip"][..], 0),
        (31, &["--max-crawl-delay", "1s"], 2),
        (1, &[], 2),
    ] {
        let (server, _) = site(move |path, _| match path {
            "/robots.txt" => {
                let body = format!("User-agent: *\nCrawl-delay: {pause}\n");
                Page { body: body.into_bytes(), ..html("") }
            }
            "/" => article(1),
            _ => article(2),
        });
        let bench = Bench::new();
        let flags = [&["--per-host", "8"], flags].concat();
        let output = bench.crawl(&[server.url("/"), server.url("/b")], &flags);
        let said = text(&output.stderr);
        let warned =
            said.matches("robots.txt requires 31 s between requests; the crawl waits 1 s").count();
        assert_eq!(warned, usize::from(pause == 31 && reached == 2), "{said}");
        let asked = server.asked_at();
        assert_eq!((asked.len(), reasons(&bench, "crawl-delay")), (reached, 2 - reached));
        // Both were queued before the delay was known.
        if let [first, second] = &*asked {
            assert!(second.1.duration_since(first.1) >= Duration::from_millis(900));
        }
    }
}

#[test]
fn a_host_with_a_long_retry_after_gets_no_other_request() {
    let paths: Vec<String> = (0..9).map(|i| format!("/p{i}")).collect();
    let (server, step) = site(move |path, step| match path {
        "/" => linking(1, &paths.iter().map(String::as_str).collect::<Vec<_>>()),
        // All pages at first, then one of them permanently.
        path if path.starts_with("/p") && (step == 0 || path == "/p0") => {
            Page { status: "503 Closed", headers: "Retry-After: 3600\r\n".into(), body: Vec::new() }
        }
        path if path.starts_with("/p") => article(10 + u64::from(path.as_bytes()[2])),
        _ => missing(),
    });
    let bench = Bench::new();
    let crawl = || bench.crawl(&[server.url("/")], &["--per-host", "1"]);
    let pages = || server.asked().iter().filter(|path| path.starts_with("/p")).count();
    let output = crawl();
    assert_eq!((code(&output), pages()), (0, 3), "{}", text(&output.stderr));
    assert_eq!((reasons(&bench, "retry-after"), reasons(&bench, "host-down")), (3, 1));
    step.store(1, SeqCst);
    for run in 0..2 {
        assert_eq!((code(&crawl()), pages()), (0, 3 + 9 + run));
        assert_eq!(bench.summary()["pages"]["indexed"], 9, "all but one");
    }
}

#[test]
fn a_host_that_says_slow_to_everything_is_given_up() {
    let paths: Vec<String> = (0..40).map(|i| format!("/p{i}")).collect();
    let (server, _) = site(move |path, _| match path {
        "/" => linking(1, &paths.iter().map(String::as_str).collect::<Vec<_>>()),
        path if path.starts_with("/p") => {
            Page { status: "429 Slow", headers: "Retry-After: 0\r\n".into(), body: Vec::new() }
        }
        _ => missing(),
    });
    let bench = Bench::new();
    let output = bench.crawl(&[server.url("/")], &["--per-host", "1"]);
    let asked = server.asked().iter().filter(|path| path.starts_with("/p")).count();
    assert_eq!((code(&output), reasons(&bench, "host-down")), (0, 1), "{}", text(&output.stderr));
    assert!((8..=24).contains(&asked), "three tries of eight pages at most: {asked}");
}

#[test]
fn a_spelling_that_robots_forbid_is_not_followed() {
    let (server, _) = site(|path, _| match path {
        "/robots.txt" => {
            Page { body: b"User-agent: *\nDisallow: /*?utm_source\n".to_vec(), ..html("") }
        }
        "/" => leads("302 Found", "/?utm_source=home"),
        _ => article(1),
    });
    let bench = Bench::new();
    bench.crawl(&[server.url("/")], &[]);
    assert_eq!((server.asked(), reasons(&bench, "redirects")), (vec!["/".to_owned()], 1));
}

#[test]
fn redirects_that_lead_round_are_no_aliases_of_each_other() {
    let pages = |round: bool| {
        let mut pages = HashMap::from([
            ("/", html(format!("<p>{}</p><a href=/a>a</a><a href=/x>x</a>", prose(1, 9)))),
            ("/a", redirect("/b")),
            ("/b", redirect("/c")),
            ("/c", redirect("/a")),
            // A chain of redirects to a page of any length is followed.
            ("/x", redirect("/y")),
            ("/y", redirect("/z")),
            ("/z", article(9)),
        ]);
        if !round {
            pages.insert("/c", article(8));
        }
        pages
    };
    let (server, now) =
        site(move |path, step| pages(step == 0).get(path).cloned().unwrap_or_else(missing));
    let bench = Bench::new();
    let output = bench.crawl(&[server.url("/")], &["--concurrency", "1"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let paths = |lines: Vec<serde_json::Value>| -> Vec<String> {
        let url =
            |line: &serde_json::Value| line["url"].as_str().unwrap().replace(&server.url(""), "");
        let mut paths: Vec<String> = lines.iter().map(url).collect();
        paths.sort();
        paths
    };
    let mut round = bench.log("skipped.jsonl");
    round.retain(|line| line["reason"] == "redirects");
    assert_eq!(paths(round), ["/a", "/b", "/c"]);
    // URLs in the cycle are no longer aliases.
    let listed = bench.run(&["duplicates", "list"]);
    let still = |path: &str| {
        let url = server.url(path);
        let mut lines = listed.lines().filter(|line| !line.trim_start().starts_with('='));
        let line = lines.find(|line| line.split_whitespace().any(|word| word == url));
        line.map(|line| !line.contains("no longer"))
    };
    assert_eq!(["/a", "/b", "/c"].map(still), [Some(false), Some(false), None], "{listed}");
    assert_eq!(["/x", "/y"].map(still), [Some(true); 2], "{listed}");
    assert_eq!(bench.summary()["pages"]["alias"], 2, "{}", bench.summary());
    bench.checked();
    // It may lead to a page later.
    now.store(1, SeqCst);
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--concurrency", "1", "--recrawl"])), 0);
    assert!(bench.found("when").contains(&server.url("/c")), "{:?}", bench.found("when"));
    assert_eq!(bench.summary()["pages"]["alias"], 4, "{}", bench.summary());
    bench.checked();
}

#[test]
fn the_longest_waits_that_are_kept_are_settings() {
    let (server, _) = site(|path, _| match path {
        "/robots.txt" => Page { body: b"User-agent: *\nCrawl-delay: 1\n".to_vec(), ..html("") },
        "/busy" => {
            Page { status: "503 Busy", headers: "Retry-After: 5\r\n".into(), body: Vec::new() }
        }
        _ => article(1),
    });
    let (short, long) = (Bench::new(), Bench::new());
    let output =
        short.crawl(&[server.url("/")], &["--max-crawl-delay", "900ms", "--max-crawl-delay-skip"]);
    assert_eq!((code(&output), reasons(&short, "crawl-delay")), (4, 1), "{}", text(&output.stderr));
    assert!(server.asked().is_empty());
    let why = short.run(&["explain", &server.url("/")]);
    assert!(why.contains("skipped: crawl-delay"), "{why}");
    let flags = ["--max-crawl-delay", "1s", "--max-retry-after", "4s"];
    long.crawl(&[server.url("/busy")], &flags);
    assert_eq!((server.asked().len(), reasons(&long, "retry-after")), (1, 1), "once, and no wait");
}

/// A version of before encoded each query in UTF-8: what it knows is not requested again in the charset of the page.
#[test]
fn a_page_with_a_query_that_a_version_of_before_knew_is_not_requested_again() {
    let site = || {
        site(|path, _| match path {
            "/" => linking(1, &["/page?q=caf\u{e9}"]),
            "/latin" => {
                let body = format!("<h1>Old</h1><p>{}</p><a href='/page?q=caf", prose(2, 10));
                let body = [body.as_bytes(), b"\xe9'>on</a>"].concat();
                let headers = "Content-Type: text/html; charset=windows-1252\r\n".to_owned();
                Page { headers, body, ..html("") }
            }
            _ if path.starts_with("/page") => article(3),
            _ => missing(),
        })
        .0
    };
    let asked = |server: &Server| server.asked().contains(&"/page?q=caf%E9".to_owned());
    let (bench, server) = (Bench::new(), site());
    assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
    // Its position did not say how queries were encoded.
    let frontier = DiskFrontier::open(&bench.data().join("frontier"), Options::default()).unwrap();
    let mut position: serde_json::Value =
        serde_json::from_slice(&frontier.payload().unwrap()).unwrap();
    assert_eq!(position.as_object_mut().unwrap().remove("utf8_queries"), Some(false.into()));
    frontier.commit(position.to_string().as_bytes()).unwrap();
    drop(frontier);
    for _ in 0..2 {
        assert_eq!(code(&bench.crawl(&[server.url("/latin")], &[])), 0);
        assert!(server.asked().contains(&"/page?q=caf%C3%A9".to_owned()) && !asked(&server));
    }
    // A directory of this version knows that the two are different URLs.
    let (bench, server) = (Bench::new(), site());
    assert_eq!(code(&bench.crawl(&[server.url("/"), server.url("/latin")], &[])), 0);
    assert!(asked(&server), "{:?}", server.asked());
}
