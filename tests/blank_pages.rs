//! Pages that show nothing before a script has run.

use std::sync::Arc;
use std::time::Duration;

use crate::support::{Bench, Page, Server, code, html, missing, prose};

/// A page that shows nothing before its script has run.
fn shell(title: &str) -> Page {
    html(format!("<title>{title}</title><script src=/app.js></script><div id=root></div>"))
}

#[test]
fn of_blank_pages_the_first_of_a_title_is_kept_and_the_others_have_a_line() {
    let full = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let later = Arc::clone(&full);
    let server = Server::answering(
        Arc::new(move |path, _| match path {
            "/robots.txt" | "/sitemap.xml" => missing(),
            "/" => {
                let links = ["/a", "/b", "/c", "/about", "/picture"];
                let links = links.map(|link| format!("<a href={link}>{link}</a>"));
                html(format!("<p>{}</p>{}", prose(1, 9), links.concat()))
            }
            "/about" => shell("About"),
            "/picture" => html("<title>App</title><img src=/a.png alt='A boat'>"),
            "/b" if later.load(std::sync::atomic::Ordering::Relaxed) => {
                html(format!("<title>App</title><p>{}</p>", prose(7, 9)))
            }
            _ => shell("App"),
        }),
        Duration::ZERO,
    );
    let bench = Bench::new();
    let one = ["--concurrency", "1"];
    assert_eq!(code(&bench.crawl(&[server.url("/")], &one)), 0);
    let blank = |expected: &[&str]| {
        let lines = bench.log("skipped.jsonl");
        let lines = lines.iter().filter(|line| line["reason"] == "blank");
        let urls: Vec<String> =
            lines.map(|line| line["url"].as_str().unwrap().replace(&server.url(""), "")).collect();
        assert_eq!(urls, expected);
    };
    blank(&["/b", "/c"]);
    let kept = bench.run(&["export"]);
    for path in ["/a", "/about"] {
        assert!(kept.contains(&format!("\"{}\"", server.url(path))), "{path}: {kept}");
    }
    // A page with a picture is compared by its title.
    let discarded = bench.log("discarded.jsonl");
    let [line] = &discarded[..] else { panic!("{discarded:?}") };
    assert_eq!(line["url"], server.url("/picture"));
    // Kept pages stay, and a page that has text now is added.
    full.store(true, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--recrawl", "--concurrency", "1"])), 0);
    let kept = bench.run(&["export"]);
    for path in ["/a", "/about", "/b"] {
        assert!(kept.contains(&format!("\"{}\"", server.url(path))), "{path}: {kept}");
    }
}
