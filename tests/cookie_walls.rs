//! Pages behind a wall of cookies.

use std::sync::Arc;
use std::time::Duration;

use crate::helpers::article;
use crate::support::{Bench, Page, Server, code, html, missing, text};

/// Returns whether a request has a cookie.
fn has_cookie(head: &str, cookie: &str) -> bool {
    head.lines().any(|line| line.starts_with("cookie:") && line.contains(cookie))
}

/// Pages that need cookies: reached through one and two other addresses, a redirect to themselves, and a page that
/// reloads itself.
#[test]
fn pages_behind_a_wall_of_cookies_are_fetched_with_cookies_and_without_them_the_log_names_the_flag()
{
    let to = |target: &str, cookie: &str| {
        let cookie = match cookie {
            "" => String::new(),
            cookie => format!("Set-Cookie: {cookie}; Path=/\r\n"),
        };
        let headers = format!("Location: {target}\r\n{cookie}");
        Page { status: "302 Found", headers, body: Vec::new() }
    };
    let server = || {
        Server::answering(
            Arc::new(move |path, head| {
                let has = |cookie: &str| has_cookie(head, cookie);
                match path {
                    "/" => html(
                        "<a href=/one>1</a> <a href=/two>2</a> <a href=/self>3</a> <a href=/reload>4</a>",
                    ),
                    "/one" if !has("one=1") => to("/wall?one", ""),
                    "/wall?one" => to("/one", "one=1"),
                    "/two" if !has("two=1") => to("/gate?two", ""),
                    "/gate?two" => to("/wall?two", ""),
                    "/wall?two" => to("/two", "two=1"),
                    "/self" if !has("self=1") => to("/self", "self=1"),
                    "/reload" if !has("reload=1") => {
                        let page = html("<meta http-equiv=refresh content='0;url=/reload'>");
                        Page { headers: page.headers + "Set-Cookie: reload=1\r\n", ..page }
                    }
                    "/one" => article(1),
                    "/two" => article(2),
                    "/self" => article(3),
                    "/reload" => article(4),
                    _ => missing(),
                }
            }),
            Duration::ZERO,
        )
    };
    let (bench, site) = (Bench::new(), server());
    assert_eq!(code(&bench.crawl(&[site.url("/")], &["--cookies"])), 0);
    let kept = bench.exported();
    for path in ["/one", "/two", "/self", "/reload"] {
        assert!(kept.iter().any(|url| *url == site.url(path)), "{path}: {kept:?}");
        assert_eq!(site.asked().iter().filter(|asked| *asked == path).count(), 2, "{path}");
    }
    assert!(bench.log("skipped.jsonl").iter().all(|line| line["reason"] != "redirects"));

    let (bench, site) = (Bench::new(), server());
    assert_eq!(code(&bench.crawl(&[site.url("/")], &[])), 0);
    let lines = bench.log("skipped.jsonl");
    for path in ["/one", "/two", "/reload"] {
        let of = |line: &&serde_json::Value| line["url"] == site.url(path).as_str();
        let line = lines.iter().find(of).unwrap_or_else(|| panic!("{path}: {lines:?}"));
        assert_eq!(line["reason"], "redirects");
        assert!(line["detail"].as_str().unwrap().contains("--cookies"), "{line}");
    }
    assert!(!bench.exported().contains(&site.url("/reload")));
    // The flag brings them in.
    assert_eq!(code(&bench.crawl(&[site.url("/")], &["--cookies"])), 0);
    let kept = bench.exported();
    for path in ["/one", "/two", "/self", "/reload"] {
        assert!(kept.contains(&site.url(path)), "{path}: {kept:?}");
    }
}

/// Pages that show something else before they have set a cookie: a page that reloads without naming a URL, a detour by
/// meta refreshes, a refusal.
#[test]
fn pages_that_wait_for_a_cookie_are_requested_once_more_with_cookies() {
    let waiting = |content: &str, cookie: &str| {
        let page = html(format!("<meta http-equiv=refresh content=\"{content}\"><p>Please wait"));
        let cookie = match cookie {
            "" => String::new(),
            cookie => format!("Set-Cookie: {cookie}; Path=/\r\n"),
        };
        Page { headers: page.headers + &cookie, ..page }
    };
    let server = || {
        Server::answering(
            Arc::new(move |path, head| {
                let has = |cookie: &str| has_cookie(head, cookie);
                match path {
                    "/" => html("<a href=/wait>1</a> <a href=/lead>2</a> <a href=/closed>3</a>"),
                    "/wait" if !has("wait=1") => waiting("1", "wait=1"),
                    "/lead" if !has("lead=1") => waiting("0;url=/wall", ""),
                    "/wall" => waiting("0;url=/lead", "lead=1"),
                    "/closed" if !has("closed=1") => {
                        let page = waiting("60", "closed=1");
                        Page { status: "403 Forbidden", ..page }
                    }
                    "/wait" => article(1),
                    "/lead" => article(2),
                    "/closed" => article(3),
                    _ => missing(),
                }
            }),
            Duration::ZERO,
        )
    };
    let paths = ["/wait", "/lead", "/closed"];
    let (bench, site) = (Bench::new(), server());
    assert_eq!(code(&bench.crawl(&[site.url("/")], &["--cookies"])), 0);
    let kept = bench.exported();
    for path in paths {
        assert!(kept.contains(&site.url(path)), "{path}: {kept:?}");
        assert_eq!(site.asked().iter().filter(|asked| *asked == path).count(), 2, "{path}");
    }

    let (bench, site) = (Bench::new(), server());
    assert_eq!(code(&bench.crawl(&[site.url("/")], &[])), 0);
    let lines = bench.log("skipped.jsonl");
    for path in paths {
        let of = |line: &&serde_json::Value| line["url"] == site.url(path).as_str();
        let line = lines.iter().find(of).unwrap_or_else(|| panic!("{path}: {lines:?}"));
        assert!(line["detail"].as_str().unwrap().contains("--cookies"), "{line}");
        assert_eq!(site.asked().iter().filter(|asked| *asked == path).count(), 1, "{path}");
    }
    assert_eq!(code(&bench.crawl(&[site.url("/")], &["--cookies"])), 0);
    let kept = bench.exported();
    for path in paths {
        assert!(kept.contains(&site.url(path)), "{path}: {kept:?}");
    }
}

#[test]
fn a_seed_that_waits_for_a_cookie_is_a_failed_seed_whether_its_refresh_names_it_or_not() {
    for content in ["1", "0;url=/"] {
        let site = Server::answering(
            Arc::new(move |path, head| match path {
                "/" if !head.contains("ok=1") => {
                    let refresh = format!("<meta http-equiv=refresh content='{content}'>Wait");
                    let page = html(&refresh);
                    Page { headers: page.headers + "Set-Cookie: ok=1; Path=/\r\n", ..page }
                }
                "/" => article(1),
                _ => missing(),
            }),
            Duration::ZERO,
        );
        let bench = Bench::new();
        let run = bench.crawl(&[site.url("/")], &[]);
        assert_eq!(code(&run), 4, "{content}");
        let shown = text(&run.stderr) + &text(&run.stdout);
        assert!(shown.contains("--cookies"), "{shown}");
        assert_eq!(code(&bench.crawl(&[site.url("/")], &["--cookies"])), 0, "{content}");
        assert_eq!(bench.exported(), [site.url("/")]);
    }
}
