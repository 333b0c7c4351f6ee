//! The end of a crawl: its exit code, and unfinished URLs in the summary.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use crate::helpers::article;
use crate::support::{Bench, Page, Server, code, html, missing, prose, redirect, text};

#[test]
fn a_crawl_with_unreached_pages_lists_them_and_is_not_complete() {
    let mended = Arc::new(AtomicBool::new(false));
    let now = Arc::clone(&mended);
    let server = Server::answering(
        Arc::new(move |path, _| match path {
            "/" => html(format!(
                "<p>{}</p>{}",
                prose(1, 10),
                ["busy", "a", "b", "c", "d"].map(|path| format!("<a href=/{path}>x</a>")).concat()
            )),
            "/busy" if !now.load(SeqCst) => Page { status: "503 Busy", ..missing() },
            "/a" | "/b" | "/c" | "/d" | "/busy" => article(u64::from(path.as_bytes()[1])),
            _ => missing(),
        }),
        Duration::ZERO,
    );
    let bench = Bench::new();
    let seeds = [server.url("/")];
    // A limit stopped it after one URL was given up: the summary names both.
    let stopped = bench.crawl(&seeds, &["--concurrency", "1", "--max-pages", "4"]);
    assert_eq!(code(&stopped), 3);
    let summary = bench.summary();
    assert_eq!((&summary["deferred_urls"], &summary["queued_urls"]), (&1.into(), &2.into()));
    for said in [text(&stopped.stdout), bench.run(&["status"])] {
        assert!(said.contains("  unreachable          1"), "{said}");
        assert!(said.contains("  still queued         1"), "{said}");
    }
    // Nothing reachable is left; the same command retries the unreachable URLs.
    let left = bench.crawl(&seeds, &["--max-pages", "none"]);
    assert_eq!((code(&left), &bench.summary()["complete"]), (0, &false.into()));
    let said = text(&left.stdout);
    assert!(said.contains("Done, but for what could not be reached"), "{said}");
    assert!(said.contains("  unreachable          1") && !said.contains("still queued"), "{said}");
    mended.store(true, SeqCst);
    let done = bench.crawl(&seeds, &[]);
    assert_eq!((code(&done), &bench.summary()["complete"]), (0, &true.into()));
    assert!(text(&done.stdout).contains("Complete."));
}

/// A site whose first page is `first`, and whose sitemap lists another page.
fn with_sitemap(first: Page, robots: &'static str) -> Server {
    let port = Arc::new(std::sync::OnceLock::new());
    let own = Arc::clone(&port);
    let server = Server::answering(
        Arc::new(move |path, _| match path {
            "/" => first.clone(),
            "/robots.txt" => Page { body: robots.into(), ..html("") },
            "/sitemap.xml" => Page {
                headers: "Content-Type: application/xml\r\n".into(),
                ..html(format!(
                    "<urlset><url><loc>http://127.0.0.1:{}/listed</loc></url></urlset>",
                    own.get().unwrap()
                ))
            },
            "/listed" | "/target" => article(u64::from(path.as_bytes()[1])),
            _ => missing(),
        }),
        Duration::ZERO,
    );
    port.set(server.port).unwrap();
    server
}

#[test]
fn no_seed_could_be_fetched_whatever_a_sitemap_led_to() {
    let noindex = "<meta name=robots content=noindex><p>nothing to see</p>";
    let image = Page { headers: "Content-Type: image/png\r\n".into(), ..html("png") };
    for (what, first, robots, exit) in [
        ("missing", missing(), "", 4),
        ("forbidden", article(1), "User-agent: *\nDisallow: /$\n", 4),
        ("leads to nothing", redirect("/nothing"), "", 4),
        ("a page", article(1), "", 0),
        ("a page that is not indexed", html(noindex), "", 0),
        ("leads to a page", redirect("/target"), "", 0),
        ("leads to the listed page", redirect("/listed"), "", 0),
        ("not read", image, "", 0),
    ] {
        let server = with_sitemap(first, robots);
        let bench = Bench::new();
        // Repeating a finished crawl has the same result.
        for _ in 0..2 {
            let output = bench.crawl(&[server.url("/")], &["--concurrency", "1"]);
            assert_eq!(code(&output), exit, "{what}: {}", text(&output.stdout));
            assert_eq!(
                text(&output.stdout).contains("No seed could be fetched"),
                exit == 4,
                "{what}"
            );
        }
        assert!(bench.found("when").contains(&server.url("/listed")), "{what}");
        if exit == 4 {
            // A second seed can be fetched.
            let seeds = [server.url("/"), server.url("/target")];
            assert_eq!(code(&bench.crawl(&seeds, &[])), 0, "{what}");
        }
    }
}
