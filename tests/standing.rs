//! Every reader of the log reports the same current representative of a redirect or a copy.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use crate::helpers::article;
use crate::inspect::Inspect;
use crate::support::{Bench, Page, Server, code, html, json_lines, missing, prose, redirect};

/// Redirects to a page that is discarded, over other redirects, and to a missing page; `later` changes them.
fn site(later: Arc<AtomicBool>) -> Server {
    let paths =
        ["one", "copy/one", "old", "older", "oldest", "dead", "two", "lost", "lost/copy", "lead"];
    let links = paths.map(|path| format!("<a href=/{path}>{path}</a>")).concat();
    Server::answering(
        Arc::new(move |path, _| match (path, later.load(SeqCst)) {
            ("/", _) => html(format!("<p>{}</p>{links}", prose(1, 10))),
            ("/one" | "/copy/one", _) => article(2),
            ("/two", _) => article(3),
            ("/old", _) => redirect("/copy/one"),
            ("/older", _) => redirect("/old#part"),
            ("/oldest", false) => redirect("/one"),
            ("/oldest", true) => redirect("/two"),
            ("/dead", _) => redirect("/nothing"),
            ("/lead", _) => redirect("/lost"),
            ("/lost" | "/lost/copy", false) => article(4),
            ("/lost/copy", true) => Page { status: "503 Busy", ..missing() },
            _ => missing(),
        }),
        Duration::ZERO,
    )
}

#[test]
fn redirects_are_listed_with_their_kept_page_and_reported_if_it_is_gone() {
    let later = Arc::new(AtomicBool::new(false));
    let server = site(Arc::clone(&later));
    let bench = Bench::new();
    let (seeds, flags) = ([server.url("/")], ["--concurrency", "1"]);
    assert_eq!(code(&bench.crawl(&seeds, &flags)), 0);
    let cluster = |url: &str, copies, redirects, gone| (url.to_owned(), copies, redirects, gone);
    assert_eq!(
        bench.clusters(&server),
        [
            cluster("/lost", 1, 1, false),
            cluster("/nothing", 0, 1, true),
            cluster("/one", 1, 3, false)
        ]
    );
    let (older, one) = (server.url("/older"), server.url("/one"));
    let shown = bench.run(&["duplicates", "show", &older]);
    assert!(shown.contains(&format!("kept       {one}\n")), "{shown}");
    assert!(shown.contains(&format!("leads to   {}\n", server.url("/old"))), "{shown}");
    let row = bench.rows(&["--match", "/older"]).remove(0);
    assert_eq!(
        (&row["of"]["url"], &row["leads_to"]),
        (&one.as_str().into(), &server.url("/old").into())
    );
    let explained = bench.run(&["explain", &older]);
    assert_eq!(explained.matches(&format!("represented by {one}")).count(), 2, "{explained}");
    let hits = json_lines(bench.run(&["search", "when", "--json"]).as_bytes());
    let copies = |url: &str| hits.iter().find(|hit| hit["url"] == url).unwrap()["copies"].clone();
    assert_eq!((copies(&one), copies(&server.url("/two"))), (1.into(), 0.into()));
    let inspect = Inspect::start(&bench);
    let page = inspect.get("/clusters");
    for told in ["3 clusters", "1 more and 3 redirects", "(no page is stored for it now)"] {
        assert!(page.contains(told), "{told}: {page}");
    }
    let page = inspect.get(&format!("/page/{}", bench.id_of("/older")));
    assert!(page.contains("<dt>leads to</dt>") && page.contains(&format!(">{one}</a>")), "{page}");

    // The page of a redirect and a copy is gone, the copy is unreachable, and another redirect has another target.
    later.store(true, SeqCst);
    assert_eq!(code(&bench.crawl(&seeds, &["--concurrency", "1", "--recrawl"])), 0);
    assert_eq!(
        bench.clusters(&server),
        [
            cluster("/lost", 1, 1, true),
            cluster("/nothing", 0, 1, true),
            cluster("/one", 1, 2, false),
            cluster("/two", 0, 1, false)
        ]
    );
    for path in ["/lead", "/lost/copy"] {
        let shown = bench.run(&["duplicates", "show", &server.url(path)]);
        assert!(shown.contains("/lost  (no page is stored for it now)"), "{shown}");
        let rows = bench.rows(&["--match", path]);
        assert_eq!(rows[0]["of_gone"], true, "{rows:?}");
    }
    let explained = bench.run(&["explain", &server.url("/lead")]);
    assert!(explained.contains("which has no stored page now"), "{explained}");
    let explained = bench.run(&["explain", &server.url("/lost/copy")]);
    assert!(explained.contains("which is no longer stored"), "{explained}");
    bench.checked();
}
