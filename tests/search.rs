//! `crawl search`: all visible text, filters, several directories, and indexes of earlier versions.

use std::collections::HashMap;

use serde_json::Value;

use crate::support::{Bench, Server, code, crawl, html, json_lines, printed, prose, text, write};

fn manual() -> Server {
    let page = |number: u64, box_text: &str| {
        html(format!(
            "<html lang=en><title>Chapter {number}</title><body><nav><a href=/one>Menuword one</a> <a href=/two>Menuword two</a></nav>\
             <main><h1>Chapter {number}</h1><p>{}</p></main><aside class=warning><p>{box_text}</p></aside></body></html>",
            prose(number, 14)
        ))
    };
    Server::start(HashMap::from([
        ("/".to_owned(), html("<p>Both chapters: <a href=/one>one</a> <a href=/two>two</a></p>")),
        ("/one".to_owned(), page(1, "Beware: the graphics card driver must be removed first.")),
        ("/two".to_owned(), page(2, "Note: all other cards need the firmware.")),
    ]))
}

fn urls(found: &str) -> Vec<String> {
    let rows = json_lines(found.as_bytes());
    rows.iter().map(|row| row["url"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn text_in_boxes_and_menus_is_found_with_its_snippet() {
    let server = manual();
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
    let found = bench.run(&["search", "\"graphics card driver\"", "--json"]);
    assert_eq!(urls(&found), [server.url("/one")]);
    let row: Value = json_lines(found.as_bytes()).remove(0);
    assert!(row["snippet"].as_str().unwrap().contains("graphics card driver"), "{row}");
    // `card` and `cards` are two words: nothing is stemmed.
    assert_eq!(urls(&bench.run(&["search", "cards", "--json"])), [server.url("/two")]);
    assert_eq!(urls(&bench.run(&["search", "text:firmware", "--json"])), [""; 0]);
    assert_eq!(urls(&bench.run(&["search", "other:firmware", "--json"])), [server.url("/two")]);
    assert_eq!(urls(&bench.run(&["search", "title:two", "--json"])), [""; 0]);
    // Words of menus are found too, behind those of texts, and a query can leave them out.
    assert_eq!(urls(&bench.run(&["search", "menuword", "--json"])).len(), 2);
    let one = bench.run(&["search", "one", "--json"]);
    assert_eq!(urls(&one).first(), Some(&server.url("/")), "{one}");
    assert!(bench.run(&["search", "text:menuword"]).contains("Nothing found"));
    // Boxes are no part of the page's text.
    let exported = bench.run(&["export"]);
    assert!(!exported.contains("graphics card"), "{exported}");
}

#[test]
fn a_search_is_restricted_to_hosts_sites_languages_and_times_and_continued() {
    let (server, bench) = (manual(), Bench::new());
    assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
    let host = format!("127.0.0.1:{}", server.port);
    let search =
        |flags: &[&str]| urls(&bench.run(&[&["search", "chapter", "--json"], flags].concat()));
    let both = search(&[]);
    assert_eq!(both.len(), 2, "{both:?}");
    assert_eq!(search(&["--host", &host]), both);
    assert_eq!(search(&["--host", "127.0.0.1"]), both, "all ports, as in an export");
    assert_eq!(search(&["--host", "127.0.0.1:80"]), [""; 0]);
    assert_eq!(search(&["--site", &host]), both, "an address with its port is a site");
    assert_eq!(search(&["--language", "en"]), both);
    assert_eq!(search(&["--language", "zh"]), [""; 0]);
    assert_eq!(search(&["--after", "2026-01-01"]), both);
    assert_eq!(search(&["--after", "2999-01-01"]), [""; 0]);
    assert_eq!(search(&["--limit", "1"]), both[..1]);
    assert_eq!(search(&["--limit", "1", "--offset", "1"]), both[1..]);
    assert!(bench.run(&["search", "chapter", "--offset", "1"]).contains("  2  Chapter"));
    let mut command = crawl();
    command.args(["search", "headline:chapter", "--data"]).arg(bench.data());
    let unknown = text(&command.output().unwrap().stderr);
    assert!(unknown.contains("no field headline") && unknown.contains("title, text"), "{unknown}");
    let mut command = crawl();
    command.args(["search", "x", "--after", "soon", "--data"]).arg(bench.data());
    let wrong = command.output().unwrap();
    assert_eq!(code(&wrong), 1);
    assert!(text(&wrong.stderr).contains("--after: \"soon\" is not a time"), "{wrong:?}");
}

#[test]
fn several_directories_are_one_list_also_with_an_offset() {
    let (server, other) = (manual(), manual());
    let benches = [(&server, Bench::new()), (&other, Bench::new())];
    for (server, bench) in &benches {
        assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
    }
    let second = benches[1].1.data();
    let second = second.to_str().unwrap();
    let search = |flags: &[&str]| {
        urls(
            &benches[0]
                .1
                .run(&[&["search", "chapter", "--json", "--data", second], flags].concat()),
        )
    };
    let all = search(&[]);
    assert_eq!(all.len(), 4, "{all:?}");
    assert_eq!(search(&["--offset", "1", "--limit", "2"]), all[1..3]);
}

/// Lines that three pages of a site have belong to the site: they are found, but after main text.
#[test]
fn lines_that_a_site_repeats_are_found_as_other_text_and_stay_in_the_stored_text() {
    let bench = Bench::new();
    let notice =
        "Sign up for the bulletin of our harbour and you will not miss a single boat again.";
    let page = |number: u64| {
        let body = match number {
            9 => format!("<p>{}</p><p>The bulletin of 1911 tells of it.</p>", prose(900, 12)),
            _ => format!("<p>{}</p><p>{notice}</p>", prose(number * 40, 12)),
        };
        let url = format!("http://www.news.example/{number}");
        serde_json::json!({"url": url, "html": format!("<h1>Story {number}</h1>{body}")})
            .to_string()
    };
    let pages = bench.path("pages.jsonl");
    write(&pages, [1, 2, 3, 4, 5, 9].map(page).join("\n"));
    bench.run(&["pages", pages.to_str().unwrap()]);
    let found = |query: &str| {
        let mut urls = urls(&bench.run(&["search", query, "--json"]));
        urls.iter_mut().for_each(|url| *url = url.split_off("http://www.news.example/".len()));
        urls
    };
    let sorted = |query: &str| {
        let mut found = found(query);
        found.sort();
        found
    };
    assert_eq!(sorted("bulletin"), ["1", "2", "3", "4", "5", "9"]);
    // The first two were indexed before it was known.
    assert_eq!(sorted("text:bulletin"), ["1", "2", "9"]);
    assert_eq!(sorted("other:bulletin"), ["3", "4", "5"]);
    assert!(found("bulletin")[..3].contains(&"9".to_owned()), "{:?}", found("bulletin"));
    let exported = json_lines(bench.run(&["export", "--no-site-boilerplate"]).as_bytes());
    let whole = exported.iter().filter(|row| row["text"].as_str().unwrap().contains(notice));
    assert_eq!(whole.count(), 5);
    assert!(!exported.iter().any(|row| row["text"].as_str().unwrap().contains('\u{1}')));
    // Off by a flag.
    let off = Bench::new();
    off.run(&["pages", pages.to_str().unwrap(), "--no-site-boilerplate"]);
    assert_eq!(urls(&off.run(&["search", "text:bulletin", "--json"])).len(), 6);
}

#[test]
fn queries_with_punctuation_are_searched_and_exports_are_read_again() {
    let bench = Bench::new();
    let page = format!("<title>What's new</title><h1>What's new</h1><p>{}</p>", prose(1, 10));
    write(&bench.path("a.html"), page);
    let page = bench.path("a.html").display().to_string();
    bench.run(&["pages", &page]);
    for query in ["what's new", "new: (what's)", "what's 'new", "\"what's new"] {
        assert!(bench.run(&["search", query]).contains("What's new"), "{query}");
    }
    let output = crawl().args(["search", "a AND (", "--data"]).arg(bench.data()).output().unwrap();
    assert_eq!(code(&output), 1, "a formula that is none");
    let lines = bench.run(&["export"]);
    write(&bench.path("kept.jsonl"), &lines);
    let again = bench.path("again").display().to_string();
    let kept = bench.path("kept.jsonl").display().to_string();
    let read = printed(&["pages", &kept, "--data", &again]);
    assert!(read.contains("indexed in all           1"), "{read}");
    assert_eq!(printed(&["export", "--data", &again]).lines().count(), 1);
    let command = ["export", "--host", "b.example", "--data", &again];
    let output = crawl().args(command).output().unwrap();
    let said = text(&output.stderr);
    assert!(output.stdout.is_empty() && said.contains("no page passes the filters"), "{said}");
    let status = bench.run(&["status", "--json"]);
    assert!(status.contains("\"indexed\":1"), "{status}");
}
