//! What one crawl found, used by the next: downloads spared, nothing lost, liars found out.

use std::collections::HashMap;
use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use crate::support::{Bench, Page, Server, code, crawl, html, prose, text};

/// Thirty articles, each under three addresses.
fn site() -> Server {
    let mut pages: HashMap<String, Page> = HashMap::new();
    let mut links = String::new();
    for at in 0..30u64 {
        for (path, more) in [
            (format!("/a/{at}"), ""),
            (format!("/print/a/{at}"), "<p>Printed for you on a day that was like others.</p>"),
            (format!("/mirror/of/a/{at}"), ""),
        ] {
            links.push_str(&format!("<a href='{path}'>x</a> "));
            pages.insert(
                path,
                html(format!(
                    "<title>Page {at}</title><main><h1>Page {at}</h1><p>{}</p>{more}</main>",
                    prose(at + 10, 14)
                )),
            );
        }
    }
    pages.insert("/".to_owned(), html(format!("<h1>All</h1><p>{}</p>{links}", prose(5, 14))));
    Server::start(pages)
}

fn indexed(bench: &Bench) -> Vec<String> {
    let pages = crate::support::json_lines(bench.run(&["export"]).as_bytes());
    let mut urls: Vec<String> =
        pages.iter().map(|page| page["url"].as_str().unwrap().to_owned()).collect();
    urls.sort();
    urls
}

fn import(bench: &Bench, feed: &std::path::Path) {
    let output = crawl()
        .args(["duplicates", "import"])
        .arg(feed)
        .arg("--data")
        .arg(bench.data())
        .output()
        .unwrap();
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
}

#[test]
fn the_second_crawl_spares_what_the_first_one_found_and_loses_nothing() {
    let server = site();
    let (first, second) = (Bench::new(), Bench::new());
    assert_eq!(code(&first.crawl(&[server.url("/")], &["--concurrency", "1"])), 0);
    let feed = first.path("found.feed.gz");
    first.run(&["duplicates", "export", "--feed", feed.to_str().unwrap()]);
    assert!(first.path("found.feed.gz.filter").exists());
    import(&second, &feed);
    let before = server.asked().len();
    assert_eq!(before, 91);
    assert_eq!(code(&second.crawl(&[server.url("/")], &["--concurrency", "1"])), 0);
    let asked = server.asked().len() - before;
    assert!(asked < 45, "{asked} instead of {before}");
    assert_eq!(indexed(&first), indexed(&second));
    let bytes = |bench: &Bench| bench.summary()["pages"]["bytes"].as_u64().unwrap();
    assert!(bytes(&second) * 2 < bytes(&first), "{} {}", bytes(&second), bytes(&first));
    let spared = second.log("skipped.jsonl").iter().filter(|line| line["reason"] == "feed").count();
    assert_eq!(spared + asked, 91);
    assert!(
        second.log("skipped.jsonl")[0]["detail"]
            .as_str()
            .unwrap()
            .contains("found.feed.gz: the same as http")
    );
}

/// A feed with these claims, as somebody else might write it.
fn written(path: &std::path::Path, claims: &[(String, String)]) {
    let mut text = "{\"format\":\"hapax-feed\",\"version\":1,\"recipe\":\"content-words-tf-4\",\"created\":\"2026-11-21T00:00:00Z\"}\n".to_owned();
    for (url, of) in claims {
        text.push_str(&format!("{{\"url\":\"{url}\",\"of\":\"{of}\",\"kind\":\"near\",\"fingerprint\":null,\"date\":\"2026-11-21T00:00:00Z\"}}\n"));
    }
    let digest = digest(text.as_bytes());
    text.push_str(&format!("{{\"sha256\":\"{digest}\",\"entries\":{}}}\n", claims.len()));
    let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
    gz.write_all(text.as_bytes()).unwrap();
    std::fs::write(path, gz.finish().unwrap()).unwrap();
}

fn digest(bytes: &[u8]) -> String {
    use sha2::Digest;
    sha2::Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_feed_that_lies_is_found_out_and_what_it_spared_is_fetched() {
    let server = site();
    let honest = Bench::new();
    assert_eq!(code(&honest.crawl(&[server.url("/")], &["--concurrency", "1"])), 0);
    let bench = Bench::new();
    // All articles are said to be the first one.
    let claims: Vec<_> =
        (1..30).map(|at| (server.url(&format!("/a/{at}")), server.url("/a/0"))).collect();
    let feed = bench.path("liar.feed.gz");
    written(&feed, &claims);
    import(&bench, &feed);
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--concurrency", "1"])), 0);
    assert_eq!(indexed(&honest), indexed(&bench));
    let reasons: Vec<_> = bench
        .log("skipped.jsonl")
        .iter()
        .map(|line| line["reason"].as_str().unwrap().to_owned())
        .collect();
    assert!(reasons.contains(&"feed-distrusted".to_owned()), "{reasons:?}");
}

#[test]
fn a_page_whose_survivor_is_gone_or_out_of_reach_is_fetched() {
    let server = site();
    let bench = Bench::new();
    let claims: Vec<_> = (0..30)
        .map(|at| {
            let gone = if at % 2 == 0 {
                server.url(&format!("/gone/{at}"))
            } else {
                format!("http://elsewhere.example/{at}")
            };
            (server.url(&format!("/a/{at}")), gone)
        })
        .chain((0..30).flat_map(|at| {
            // The copies are spared, and rightly so.
            [format!("/print/a/{at}"), format!("/mirror/of/a/{at}")]
                .map(|path| (server.url(&path), server.url(&format!("/a/{at}"))))
        }))
        .collect();
    let feed = bench.path("old.feed.gz");
    written(&feed, &claims);
    import(&bench, &feed);
    let said = bench.run(&["explain", &server.url("/print/a/1")]);
    let expected = format!("says that it is a duplicate of {}", server.url("/a/1"));
    assert!(said.contains(&expected) && said.contains("skipped: feed"), "{said}");
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--concurrency", "1"])), 0);
    assert_eq!(indexed(&bench).len(), 31, "{:?}", indexed(&bench));
    assert_eq!(bench.summary()["complete"], true);
}

#[test]
fn a_feed_that_was_changed_cut_or_is_none_is_refused_whole() {
    let server = site();
    let bench = Bench::new();
    let feed = bench.path("a.feed.gz");
    written(&feed, &[(server.url("/a/1"), server.url("/a/0"))]);
    let bytes = std::fs::read(&feed).unwrap();
    let mut whole = String::new();
    GzDecoder::new(&bytes[..]).read_to_string(&mut whole).unwrap();
    let pack = |text: &str| {
        let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
        gz.write_all(text.as_bytes()).unwrap();
        gz.finish().unwrap()
    };
    for (wrong, word) in [
        (pack(&whole.replace("/a/0", "/a/2")), "digest"),
        (bytes[..bytes.len() / 2].to_vec(), "line"),
        (pack(&whole[..whole.rfind("{\"sha").unwrap()]), "cut"),
        (pack(&whole.replace("\"version\":1", "\"version\":2")), "hapax-feed 2"),
        (b"noise".to_vec(), "unpacked"),
        (pack("[]\n"), "no feed"),
        (Vec::new(), "unpacked"),
    ] {
        std::fs::write(&feed, wrong).unwrap();
        let output = crawl()
            .args(["duplicates", "import"])
            .arg(&feed)
            .arg("--data")
            .arg(bench.data())
            .output()
            .unwrap();
        assert_eq!(code(&output), 1, "{word}");
        assert!(text(&output.stderr).contains(word), "{word}: {}", text(&output.stderr));
        assert!(!bench.data().join("frontier").exists());
    }
}
