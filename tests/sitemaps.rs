//! How sitemaps are found and read; every ignored entry is reported.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::helpers::{article, reasons, typed};
use crate::support::{Bench, Page, Server, code, html, missing, redirect, text};

fn xml(body: impl Into<String>) -> Page {
    let headers = "Content-Type: application/xml\r\n".to_owned();
    Page { headers, ..html(body) }
}

fn listed(urls: impl IntoIterator<Item = String>) -> String {
    let entries = urls.into_iter().map(|url| format!("<url><loc>{url}</loc></url>"));
    format!("<urlset>{}</urlset>", entries.collect::<String>())
}

/// URL and detail of the log lines with a reason.
fn details(bench: &Bench, reason: &str) -> Vec<(String, String)> {
    let lines = bench.log("skipped.jsonl");
    let lines = lines.iter().filter(|line| line["reason"] == reason);
    let text = |line: &serde_json::Value, key: &str| line[key].as_str().unwrap().to_owned();
    lines.map(|line| (text(line, "url"), text(line, "detail"))).collect()
}

#[test]
fn a_sitemap_adds_pages_of_crawled_hosts_and_reports_all_other_hosts() {
    let other = Server::start(HashMap::from([
        ("/".to_owned(), article(1)),
        ("/far".to_owned(), article(2)),
    ]));
    let far = other.url("/far");
    let strange = |n: u64| format!("http://strange.example/{n}");
    let map = listed((0..3000).map(strange).chain([far]));
    let server = Server::start(HashMap::from([
        ("/".to_owned(), article(3)),
        ("/sitemap.xml".to_owned(), xml(map)),
    ]));
    let bench = Bench::new();
    let output = bench.crawl(&[server.url("/"), other.url("/")], &[]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert!(other.asked().contains(&"/far".to_owned()), "{:?}", other.asked());
    let scope = details(&bench, "scope");
    assert_eq!(scope.len(), 1001, "a line for each, and then one for all others");
    let (url, detail) = scope.last().unwrap();
    assert_eq!(*url, server.url("/sitemap.xml"));
    assert!(detail.ends_with("entries that are refused: 2000"), "{detail}");
    // The same rules read nothing again; wider rules do.
    let asked = |server: &Server| {
        server.heads().iter().filter(|head| head.starts_with("GET /sitemap.xml")).count()
    };
    bench.crawl(&[server.url("/"), other.url("/")], &[]);
    assert_eq!(asked(&server), 1);
    let wide = ["--scope", "any", "--proxy", &other.url(""), "--max-pages", "1"];
    bench.crawl(&[server.url("/"), other.url("/")], &wide);
    let known = bench.summary()["known_urls"].as_u64().unwrap();
    assert!(known >= 1000, "{known}");
}

#[test]
fn sitemap_content_beyond_the_limits_is_reported() {
    let long = format!("/{}", "x".repeat(2100));
    let maps: String = (0..1500)
        .map(|n| format!("<sitemap><loc>/{n}/{}</loc></sitemap>", "y".repeat(2030)))
        .collect();
    let odd = [long, "ftp://x.example/".to_owned()];
    let map = listed(odd.into_iter().chain((0..30).map(|n| format!("/p{n}"))));
    let server = Server::start(HashMap::from([
        ("/".to_owned(), article(1)),
        (
            "/robots.txt".to_owned(),
            crate::helpers::plain("Sitemap: /map\nSitemap: /maps\nSitemap: /cut\n"),
        ),
        ("/map".to_owned(), xml(map)),
        ("/maps".to_owned(), xml(format!("<sitemapindex>{maps}</sitemapindex>"))),
        ("/cut".to_owned(), xml(format!("<urlset>{}", " ".repeat(4 << 20)))),
    ]));
    let bench = Bench::new();
    let flags = ["--max-sitemap-urls", "20", "--max-sitemap", "4MiB"];
    let output = bench.crawl(&[server.url("/")], &flags);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let links = details(&bench, "links");
    let of = |path: &str| {
        links.iter().find(|(url, _)| *url == server.url(path)).map(|(_, detail)| detail.clone())
    };
    let told = of("/map").unwrap_or_default();
    assert!(
        told.starts_with("10 entries of this sitemap") && told.contains("; 2: too long"),
        "{told}"
    );
    assert!(of("/maps").unwrap_or_default().starts_with("1480 entries"), "{links:?}");
    assert_eq!(details(&bench, "trap").len(), 20, "maps whose address is too long");
    assert_eq!(details(&bench, "cut-short").len(), 1);
    assert_eq!(server.asked().iter().filter(|path| path.starts_with("/p")).count(), 20);
}

#[test]
fn a_damaged_sitemap_is_read_up_to_the_damage_and_reported() {
    let whole = listed(["/a".to_owned(), "/b".to_owned()]);
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    std::io::Write::write_all(&mut gz, whole.as_bytes()).unwrap();
    let packed = gz.finish().unwrap();
    let half = packed[..packed.len() - 40].to_vec();
    let damaged =
        listed(["/c".to_owned()]).replace("</urlset>", "<!-- <url><loc>/d</loc></url></urlset>");
    let map = |body: Vec<u8>| Page { body, ..xml("") };
    let robots = "Sitemap: /whole\nSitemap: /half.gz\nSitemap: /damaged\nSitemap: /page\n";
    let server = Server::start(HashMap::from([
        ("/".to_owned(), article(1)),
        ("/robots.txt".to_owned(), crate::helpers::plain(robots)),
        ("/whole".to_owned(), map(packed)),
        ("/half.gz".to_owned(), map(half)),
        ("/damaged".to_owned(), xml(damaged)),
        ("/page".to_owned(), html("<html><p>no sitemap<br>")),
    ]));
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
    let mut cut = details(&bench, "cut-short");
    cut.sort();
    let detail = "a sitemap: larger than --max-sitemap, or damaged";
    let line = |path: &str| (server.url(path), detail.to_owned());
    assert_eq!(cut, [line("/damaged"), line("/half.gz")]);
    let mut asked = server.asked();
    asked.sort();
    assert_eq!(asked, ["/", "/a", "/b", "/c", "/damaged", "/half.gz", "/page", "/whole"]);
}

#[test]
fn redirects_and_clean_parameters_make_a_sitemap_no_deeper_and_end() {
    let index =
        |to: &str| xml(format!("<sitemapindex><sitemap><loc>{to}</loc></sitemap></sitemapindex>"));
    let to = |target: String| redirect(&target);
    let server = Server::answering(
        Arc::new(move |path, _| match path {
            "/robots.txt" => crate::helpers::plain(
                "User-agent: *\nClean-param: v /\nSitemap: /r0\nSitemap: /round/0\nSitemap: /self\n",
            ),
            "/" => article(1),
            "/r0" => to("/r1".to_owned()),
            "/r1" => to("/r2".to_owned()),
            "/r2" => index("/below?v=1"),
            "/below" => index("/moved"),
            "/moved" => to("/last".to_owned()),
            "/last" => xml("<urlset><url><loc>/found</loc></url></urlset>"),
            "/found" => article(2),
            "/self" => to("/self".to_owned()),
            path => match path.strip_prefix("/round/").and_then(|n| n.parse::<u64>().ok()) {
                Some(n) => to(format!("/round/{}", n + 1)),
                None => missing(),
            },
        }),
        Duration::ZERO,
    );
    let bench = Bench::new();
    let output = bench.crawl(&[server.url("/")], &[]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let asked = server.asked();
    assert!(asked.contains(&"/found".to_owned()), "{asked:?}");
    assert_eq!(asked.iter().filter(|path| path.starts_with("/round/")).count(), 11, "{asked:?}");
    let reasons = reasons(&bench, &server);
    for path in ["/round/10", "/self"] {
        assert_eq!(reasons.get(path).map(String::as_str), Some("redirects"), "{path}: {reasons:?}");
    }
}

#[test]
fn other_languages_of_a_page_are_pages_wherever_they_are_named() {
    let map = "<urlset xmlns:xhtml='x'><url><loc>/en</loc><xhtml:link rel='alternate' hreflang='de' href='/de'/>\
               <xhtml:link rel='alternate' hreflang='fr' href='http://elsewhere.example/fr'/></url></urlset>";
    let head = "<head><link rel=alternate hreflang=es href=/es><link rel=alternate type=application/rss+xml href=/rss>\
                <link rel=alternate hreflang=x-default media=print href=/default></head>";
    let start = article(1);
    let body = [head.as_bytes(), &start.body].concat();
    let link = "Link: </it>; rel=\"alternate\"; hreflang=\"it\", </feed>; rel=alternate; type=\"application/atom+xml\", \
                </style>; rel=stylesheet\r\n";
    let headers = format!("{}{link}", start.headers);
    let server = Server::start(HashMap::from([
        ("/".to_owned(), Page { headers, body, ..start }),
        ("/sitemap.xml".to_owned(), xml(map)),
        ("/en".to_owned(), article(2)),
        ("/de".to_owned(), article(3)),
        ("/es".to_owned(), article(4)),
        ("/it".to_owned(), article(5)),
        ("/default".to_owned(), article(6)),
    ]));
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
    let mut asked = server.asked();
    asked.sort();
    assert_eq!(asked, ["/", "/de", "/default", "/en", "/es", "/it"]);
    assert_eq!(
        details(&bench, "scope"),
        [("http://elsewhere.example/fr".to_owned(), "at depth 1".to_owned())]
    );
}

#[test]
fn a_sitemap_on_another_host_that_robots_txt_names_brings_pages_of_the_crawl() {
    // Each needs the other's address, known only once they listen.
    let home: Arc<std::sync::OnceLock<String>> = Arc::default();
    let known = Arc::clone(&home);
    let maps = Server::answering(
        Arc::new(move |path, _| match path {
            "/maps/all.xml" => {
                let home = known.get().unwrap();
                xml(format!(
                    "<urlset><url><loc>{home}/found</loc></url><url><loc>/strange</loc></url></urlset>"
                ))
            }
            _ => missing(),
        }),
        Duration::ZERO,
    );
    let named = format!(
        "User-agent: *\nSitemap:\nSitemap: {}\nSitemap: own.xml\n",
        maps.url("/maps/all.xml")
    );
    let server = Server::start(HashMap::from([
        ("/robots.txt".to_owned(), crate::helpers::plain(named)),
        ("/deep/".to_owned(), article(1)),
        ("/found".to_owned(), article(2)),
        ("/own.xml".to_owned(), xml("<urlset><url><loc>/own</loc></url></urlset>")),
        ("/own".to_owned(), article(3)),
    ]));
    home.set(server.url("")).unwrap();
    let bench = Bench::new();
    let flags = ["--allow-private", "127.0.0.0/8"];
    let output = bench.crawl(&[server.url("/deep/")], &flags);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let mut kept = bench.kept();
    kept.sort();
    assert_eq!(kept, ["/deep/", "/found", "/own"].map(|path| server.url(path)));
    assert_eq!(maps.asked(), ["/maps/all.xml"]);
}

/// A seed that lists pages: a sitemap, an index, a feed, a text of URLs, and robots.txt.
#[test]
fn a_seed_that_lists_pages_is_read_as_a_list() {
    let server = Server::answering(
        Arc::new(|path, head| {
            let host =
                head.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
            let map = |path: &str| {
                format!(
                    "<?xml version='1.0'?><urlset><url><loc>http://{host}{path}</loc></url></urlset>"
                )
            };
            match path {
                "/map" => typed("application/xml", map("/1")),
                "/index.xml" => typed(
                    "text/xml",
                    format!(
                        "<sitemapindex><sitemap><loc>http://{host}/map2</loc></sitemap></sitemapindex>"
                    ),
                ),
                "/map2" => typed("text/html", map("/2")),
                "/feed" => typed(
                    "application/rss+xml",
                    format!(
                        "<rss><channel><item><link>http://{host}/3</link></item></channel></rss>"
                    ),
                ),
                "/list.txt" => typed("text/plain", format!("http://{host}/4\n")),
                "/robots.txt" => typed("text/plain", "User-agent: *\nAllow: /\nSitemap: /map5\n"),
                "/map5" => typed("application/xml", map("/5")),
                "/1" => article(1),
                "/2" => article(2),
                "/3" => article(3),
                "/4" => article(4),
                "/5" => article(5),
                _ => missing(),
            }
        }),
        Duration::ZERO,
    );
    let bench = Bench::new();
    let seeds =
        ["/map", "/index.xml", "/feed", "/list.txt", "/robots.txt"].map(|path| server.url(path));
    assert_eq!(code(&bench.crawl(&seeds, &[])), 0);
    let kept: Vec<String> = ["/1", "/2", "/3", "/4", "/5"].map(|path| server.url(path)).to_vec();
    assert_eq!(bench.exported(), kept);
    assert_eq!(bench.summary()["failed_seeds"].as_array().map_or(0, Vec::len), 0);
}

/// A page or noise instead of a sitemap has a line, unless the sitemap was only tried. As a seed it has failed.
#[test]
fn a_sitemap_without_a_url_is_reported() {
    let server = Server::answering(
        Arc::new(|path, _| match path {
            "/robots.txt" => typed("text/plain", "User-agent: *\nAllow: /\nSitemap: /map\n"),
            "/map" => typed("application/json", "{\"urls\": []}"),
            "/sitemap.xml" => typed("text/html", "<title>No sitemap</title>"),
            "/empty.xml" => typed("application/xml", "<urlset></urlset>"),
            "/" => article(1),
            _ => missing(),
        }),
        Duration::ZERO,
    );
    let other = Server::answering(
        Arc::new(|path, _| match path {
            "/sitemap.xml" => typed("text/html", "<title>No sitemap</title>"),
            "/" => article(2),
            _ => missing(),
        }),
        Duration::ZERO,
    );
    let bench = Bench::new();
    let seeds = [server.url("/"), server.url("/empty.xml"), other.url("/")];
    assert_eq!(code(&bench.crawl(&seeds, &[])), 0);
    let lines = details(&bench, "content-type");
    let expected = [
        (server.url("/map"), "a sitemap: neither a sitemap, a feed nor a list of URLs"),
        (server.url("/empty.xml"), "a sitemap or feed without a URL"),
    ];
    for (url, detail) in &expected {
        assert!(lines.contains(&(url.clone(), (*detail).to_owned())), "{url}: {lines:?}");
    }
    assert_eq!(lines.len(), expected.len(), "{lines:?}");
    let failed = &bench.summary()["failed_seeds"];
    assert_eq!(failed[0]["url"], expected[1].0, "{failed}");
    assert_eq!(failed.as_array().map_or(0, Vec::len), 1, "{failed}");
}
