//! Feeds from crawl to crawl: downloads are saved, no page is lost, false claims are detected.

use std::collections::HashMap;
use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use crate::support::{Bench, Page, Server, code, crawl, html, prose, text};

/// Thirty articles, each with three addresses.
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

/// Writes a feed with these claims, as another program might.
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
fn a_false_feed_is_detected_and_its_skipped_pages_are_fetched() {
    let server = site();
    let honest = Bench::new();
    assert_eq!(code(&honest.crawl(&[server.url("/")], &["--concurrency", "1"])), 0);
    let bench = Bench::new();
    // A false claim that all articles equal the first.
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
fn a_page_whose_kept_page_is_gone_or_out_of_reach_is_fetched() {
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
            // True claims about copies.
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
fn a_changed_truncated_or_invalid_feed_is_refused_completely() {
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
        (pack(&whole[..whole.rfind("{\"sha").unwrap()]), "truncated"),
        (pack(&whole.replace("\"version\":1", "\"version\":2")), "hapax-feed 2"),
        (b"noise".to_vec(), "decompress"),
        (pack("[]\n"), "not a feed"),
        (Vec::new(), "decompress"),
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

/// A site of `pages` articles, linked from its start page. Each of `copies` paths shows the article after its last
/// slash again.
fn articles(seed: u64, pages: u64, copies: u64) -> Server {
    let mut site = HashMap::new();
    let link = |path: String| format!("<a href='{path}'>x</a>");
    let mut links = String::new();
    for at in 0..pages {
        let text = format!("<h1>Number {at}</h1><p>{}</p>", prose(seed + at, 12));
        site.insert(format!("/a/{at}"), html(text.clone()));
        links += &link(format!("/a/{at}"));
        for copy in 0..copies {
            site.insert(format!("/copy/{copy}/{at}"), html(text.clone()));
            links += &link(format!("/copy/{copy}/{at}"));
        }
    }
    site.insert("/".into(), html(format!("<p>{}</p>{links}", prose(seed + 999, 12))));
    Server::start(site)
}

fn kept_of(bench: &Bench, server: &Server) -> usize {
    let own = server.url("/");
    let rows = crate::support::json_lines(bench.run(&["export"]).as_bytes());
    rows.iter().filter(|row| row["url"].as_str().unwrap().starts_with(&own)).count()
}

/// A security audit's feed: 300 true claims about the attacker's pages, 25 false ones about another host's.
#[test]
fn false_claims_about_one_host_are_detected_despite_true_claims_about_another() {
    let (attacker, victim) = (articles(10_000, 60, 5), articles(50_000, 25, 1));
    let mut claims = Vec::new();
    for at in 0..60 {
        for copy in 0..5 {
            claims.push((
                attacker.url(&format!("/copy/{copy}/{at}")),
                attacker.url(&format!("/a/{at}")),
            ));
        }
    }
    for at in 0..25 {
        claims.push((victim.url(&format!("/a/{at}")), attacker.url("/a/0")));
        // True claims about the victim must not add trust to the false ones.
        claims.push((victim.url(&format!("/copy/0/{at}")), victim.url(&format!("/a/{at}"))));
    }
    let bench = Bench::new();
    let feed = bench.path("mostly-true.feed.gz");
    written(&feed, &claims);
    import(&bench, &feed);
    let seeds = [attacker.url("/"), victim.url("/")];
    assert_eq!(code(&bench.crawl(&seeds, &[])), 0);
    assert_eq!(kept_of(&bench, &victim), 26, "all of the victim's pages");
    assert!(attacker.asked().len() < 200, "what was true spared most: {}", attacker.asked().len());
    let distrusted: Vec<_> = bench
        .log("skipped.jsonl")
        .into_iter()
        .filter(|line| line["reason"] == "feed-distrusted")
        .collect();
    assert!(
        distrusted.len() == 1
            && distrusted[0]["detail"].as_str().unwrap().contains(&victim.port.to_string()),
        "{distrusted:?}"
    );
    // The distrust persists when the feed is imported again.
    import(&bench, &feed);
    let said = bench.run(&["explain", &victim.url("/a/new")]);
    assert!(!said.contains("skipped: feed"), "{said}");
    let asked = victim.asked().len();
    assert_eq!(code(&bench.crawl(&seeds, &["--recrawl"])), 0);
    assert!(victim.asked().len() > asked);
    assert_eq!(kept_of(&bench, &victim), 26);
}

#[test]
fn a_recrawl_requests_what_a_feed_spared() {
    let server = articles(90_000, 20, 3);
    let claims: Vec<_> = (0..20)
        .flat_map(|at| (0..3).map(move |copy| (format!("/copy/{copy}/{at}"), format!("/a/{at}"))))
        .map(|(url, of)| (server.url(&url), server.url(&of)))
        .collect();
    let bench = Bench::new();
    let feed = bench.path("true.feed.gz");
    written(&feed, &claims);
    import(&bench, &feed);
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--concurrency", "1"])), 0);
    let first = server.asked();
    let spared: Vec<String> = (0..20)
        .flat_map(|at| (0..3).map(move |copy| format!("/copy/{copy}/{at}")))
        .filter(|path| !first.contains(path))
        .collect();
    assert!(spared.len() > 30, "{}", spared.len());
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--recrawl"])), 0);
    let asked = server.asked();
    let missed: Vec<_> = spared.iter().filter(|path| !asked.contains(path)).collect();
    assert!(missed.is_empty(), "{missed:?}");
    assert_eq!(indexed(&bench).len(), 21);
}

#[test]
fn a_feed_of_too_many_or_too_long_hosts_is_refused() {
    let bench = Bench::new();
    let feed = bench.path("hosts.feed.gz");
    let head = "{\"format\":\"hapax-feed\",\"version\":1,\"recipe\":\"content-words-tf-4\",\"created\":\"2026-11-21T00:00:00Z\"}\n";
    for (line, times, word) in [
        ("{\"host\":\"h\"}\n".to_owned(), 1_000_001, "hosts"),
        (format!("{{\"host\":\"{}\"}}\n", "h".repeat(301)), 1, "longer than 300 bytes"),
    ] {
        let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
        gz.write_all(head.as_bytes()).unwrap();
        gz.write_all(line.repeat(times).as_bytes()).unwrap();
        std::fs::write(&feed, gz.finish().unwrap()).unwrap();
        let output = crawl()
            .args(["duplicates", "import"])
            .arg(&feed)
            .arg("--data")
            .arg(bench.data())
            .output()
            .unwrap();
        let said = text(&output.stderr);
        assert_eq!(code(&output), 1, "{said}");
        assert!(said.contains(word) && said.contains("hosts.feed.gz, line "), "{said}");
    }
}

/// A pipe returns another feed at the second reading.
#[cfg(unix)]
#[test]
fn claims_of_a_feed_that_changes_between_its_two_readings_do_not_count() {
    let server = articles(70_000, 10, 1);
    let bench = Bench::new();
    let (good, bad, pipe) = (bench.path("good"), bench.path("bad"), bench.path("pipe"));
    written(&good, &[(server.url("/copy/0/0"), server.url("/a/0"))]);
    let lies: Vec<_> =
        (1..10).map(|at| (server.url(&format!("/a/{at}")), server.url("/a/0"))).collect();
    written(&bad, &lies);
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let feeding = {
        let (good, bad, pipe) = (good, bad, pipe.clone());
        std::thread::spawn(move || {
            for file in [good, bad] {
                let bytes = std::fs::read(file).unwrap();
                std::fs::write(&pipe, bytes).unwrap();
                std::thread::sleep(std::time::Duration::from_millis(300));
            }
        })
    };
    let output = crawl()
        .args(["duplicates", "import"])
        .arg(&pipe)
        .arg("--data")
        .arg(bench.data())
        .output()
        .unwrap();
    feeding.join().unwrap();
    let said = text(&output.stderr);
    assert!(code(&output) == 1 && said.contains("Import it again"), "{said}");
    assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
    assert_eq!(kept_of(&bench, &server), 11);
    assert!(!bench.log("skipped.jsonl").iter().any(|line| line["reason"] == "feed"));
}
