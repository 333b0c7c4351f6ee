use std::collections::HashMap;

use crate::support::{Bench, Page, Server, code, html, prose, redirect, text};

fn article(title: &str, body: &str, ad: &str) -> String {
    format!(
        "<html><head><title>{title} - The Paper</title></head><body><nav><a href=/>Home</a> <a href=/x>X</a></nav>\
         <div class=ad>{ad}</div><main><h1>{title}</h1><p>{body}</p></main><footer>All rights reserved</footer></body></html>"
    )
}

fn encoded(body: &str, encoding: &'static encoding_rs::Encoding, declared: &str) -> Page {
    Page {
        status: "200 OK",
        headers: "Content-Type: text/html\r\n".into(),
        body: encoding.encode(&format!("<meta charset={declared}>{body}")).0.into_owned(),
    }
}

#[test]
fn each_text_is_kept_once_whatever_its_address_and_template() {
    let (one, two) = (prose(1, 12), prose(2, 12));
    let mut pages = HashMap::from([
        (
            "/".to_owned(),
            html(
                "<a href=/one>1</a><a href='/one?sid=5'>2</a><a href=/print/one>3</a><a href=/two>4</a><a href=/frame>5</a>",
            ),
        ),
        ("/one".to_owned(), html(article("One", &one, "Buy shoes"))),
        ("/one?sid=5".to_owned(), html(article("One", &one, "Fly away"))),
        ("/two".to_owned(), html(article("Two", &two, "Buy shoes"))),
    ]);
    pages.insert(
        "/print/one".into(),
        html(format!("<body><h2>One</h2><p>{one}</p><p>Printed on a sunny day.</p></body>")),
    );
    pages.insert(
        "/frame".into(),
        html(format!("<body><table><tr><td><a href=/>Menu</a></td><td><h3>One</h3><div>{one}</div></td><td>Win!</td></tr></table></body>")),
    );
    let server = Server::start(pages);
    let mirror = Server::start(HashMap::from([(
        "/".to_owned(),
        html(format!(
            "<html><title>M</title><body><h1>Two</h1><p>{two}</p><p>This page is a copy of what was written elsewhere, and it is shown here with the leave of those who own it.</p></body></html>"
        )),
    )]));
    let bench = Bench::new();
    let output = bench.crawl(&[server.url("/")], &["--concurrency", "1"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let pages = &bench.summary()["pages"];
    assert_eq!(
        (pages["fetched"].as_u64(), pages["indexed"].as_u64()),
        (Some(6), Some(3)),
        "{pages}"
    );

    // A second site in the same directory is compared with the first one's pages.
    let output = bench.crawl(&[mirror.url("/")], &[]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let last = bench.log("discarded.jsonl").pop().unwrap();
    // Its address is shorter, but it has additional text and is on another site.
    assert_eq!(last["url"].as_str().unwrap(), mirror.url("/"));
    assert_eq!(last["of"]["url"].as_str().unwrap(), server.url("/two"));
    assert_eq!(bench.summary()["pages"]["indexed"].as_u64(), Some(3));

    for line in bench.log("discarded.jsonl") {
        assert!(matches!(line["kind"].as_str(), Some("exact" | "near")), "{line}");
        assert_eq!(line["fingerprint"].as_str().unwrap().len(), 16);
        assert_eq!(line["threshold"], 3);
        assert!(!line["shared"].as_array().unwrap().is_empty(), "{line}");
    }
    let id = last["id"].to_string();
    let shown = bench.run(&["duplicates", "show", &id]);
    assert!(shown.contains("This page is a copy"), "{shown}");
    assert!(bench.run(&["duplicates", "list", "--kind", "exact"]).contains("sid=5"));
    let equal = bench.run(&["duplicates", "show", &server.url("/one?sid=5")]);
    assert!(equal.contains("The two texts are equal.") && !equal.contains("\n- "), "{equal}");
}

#[test]
fn chinese_pages_are_one_in_every_charset_and_can_be_found() {
    let simplified = "昨天晚上我和朋友一起去看了一场电影，电影的名字我已经不记得了，但是里面的故事让我们都很感动。看完以后我们在外面走了很久，\
        谈到了各自的生活和将来的打算，觉得时间过得真快。回家的路上下起了小雨，我们没有带伞，就在书店的门口等了一会儿，又说起了小时候的事情。";
    let traditional = "昨天晚上我和朋友一起去看了一場電影，電影的名字我已經不記得了，但是裡面的故事讓我們都很感動。看完以後我們在外面走了很久，\
        談到了各自的生活和將來的打算，覺得時間過得真快。回家的路上下起了小雨，我們沒有帶傘，就在書店的門口等了一會兒，又說起了小時候的事情。";
    let page = |text: &str| {
        format!("<title>电影</title><body><div><a href=/>首页</a></div><p>{text}</p></body>")
    };
    let tw = |text: &str| {
        format!("<title>電影</title><body><div><a href=/>首頁</a></div><p>{text}</p></body>")
    };
    let server = Server::start(HashMap::from([
        (
            "/".to_owned(),
            html("<a href=/gb>1</a><a href=/utf8>2</a><a href=/big5>3</a><a href=/tw>4</a>"),
        ),
        ("/gb".to_owned(), encoded(&page(simplified), encoding_rs::GB18030, "gb2312")),
        ("/utf8".to_owned(), html(page(simplified))),
        ("/big5".to_owned(), encoded(&tw(traditional), encoding_rs::BIG5, "big5")),
        ("/tw".to_owned(), html(tw(traditional))),
    ]));
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--concurrency", "1"])), 0);
    let pages = &bench.summary()["pages"];
    assert_eq!((pages["indexed"].as_u64(), pages["exact"].as_u64()), (Some(3), Some(2)), "{pages}");
    let found = bench.run(&["search", "电影", "--json"]);
    assert_eq!(found.lines().count(), 1, "{found}");
    assert!(found.contains("\"copies\":1") && found.contains("\"language\":\"zh\""), "{found}");
    assert!(bench.run(&["search", "書店"]).contains("1 of 1 found"));
}

#[test]
fn redirects_refreshes_canonicals_and_directives_are_honoured() {
    let body = prose(3, 10);
    let server = Server::start(HashMap::from([
        (
            "/".to_owned(),
            html(
                "<a href=/moved>1</a><a href=/stub>2</a><a href=/copy#part>3</a><a href=/secret>4</a><a href=/no rel=nofollow>5</a>\
                 <a href=/noindex>6</a><a href=/forbidden/x>7</a><a href='http://other.example/'>8</a><a href=/loop1>9</a><a href=/pic>10</a>",
            ),
        ),
        (
            "/robots.txt".to_owned(),
            Page {
                status: "200 OK",
                headers: "Content-Type: text/plain\r\n".into(),
                body: b"User-agent: *\nDisallow: /forbidden".to_vec(),
            },
        ),
        ("/moved".to_owned(), redirect("/page")),
        ("/stub".to_owned(), html("<meta http-equiv=refresh content='0;url=/page'>")),
        ("/page".to_owned(), html(article("P", &body, "x"))),
        (
            "/copy".to_owned(),
            html(format!("<link rel=canonical href=/page>{}", article("P", &body, "y"))),
        ),
        (
            "/secret".to_owned(),
            Page {
                status: "200 OK",
                headers: "Content-Type: text/html\r\nX-Robots-Tag: noindex\r\n".into(),
                body: b"<a href=/behind>x</a>".to_vec(),
            },
        ),
        ("/noindex".to_owned(), html("<meta name=robots content='none'><a href=/never>x</a>")),
        ("/behind".to_owned(), html(prose(4, 9))),
        ("/loop1".to_owned(), redirect("/loop2")),
        ("/loop2".to_owned(), redirect("/loop1")),
        (
            "/pic".to_owned(),
            Page {
                status: "200 OK",
                headers: "Content-Type: image/png\r\n".into(),
                body: vec![0x89, b'P'],
            },
        ),
    ]));
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--concurrency", "1"])), 0);
    let mut asked = server.asked();
    asked.sort();
    let expected = [
        "/", "/behind", "/copy", "/loop1", "/loop2", "/moved", "/noindex", "/page", "/pic",
        "/secret", "/stub", "/x",
    ];
    assert_eq!(asked, expected);
    let skipped: HashMap<String, String> = bench
        .log("skipped.jsonl")
        .iter()
        .map(|line| {
            (
                line["url"].as_str().unwrap().replace(&server.url(""), ""),
                line["reason"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    for (url, reason) in [
        ("/forbidden/x", "robots"),
        ("/secret", "noindex"),
        ("/noindex", "noindex"),
        ("/no", "nofollow"),
        ("/pic", "content-type"),
        ("/loop1", "redirects"),
        ("/loop2", "redirects"),
        ("http://other.example/", "scope"),
    ] {
        assert_eq!(skipped.get(url).map(String::as_str), Some(reason), "{url}: {skipped:?}");
    }
    let kinds: HashMap<String, String> = bench
        .log("discarded.jsonl")
        .iter()
        .map(|line| {
            (
                line["url"].as_str().unwrap().replace(&server.url(""), ""),
                line["kind"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    // The later of the two is discarded for the other.
    assert!(kinds.contains_key("/copy") || kinds.contains_key("/page"), "{kinds:?}");
    for alias in ["/moved", "/stub"] {
        assert_eq!(kinds.get(alias).map(String::as_str), Some("alias"), "{kinds:?}");
    }
}

#[test]
fn a_canonical_page_that_came_first_is_named_in_the_log() {
    let body = prose(5, 10);
    let server = Server::start(HashMap::from([
        ("/".to_owned(), html("<a href=/page>1</a><a href=/copy>2</a>")),
        ("/page".to_owned(), html(article("P", &body, "x"))),
        (
            "/copy".to_owned(),
            html(format!("<link rel=canonical href=/page>{}", article("P", &body, "y"))),
        ),
    ]));
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--concurrency", "1"])), 0);
    let log = bench.log("discarded.jsonl");
    assert_eq!((log.len(), log[0]["kind"].as_str()), (1, Some("canonical")), "{log:?}");
}

#[test]
fn a_page_gives_its_place_to_the_one_that_it_names_when_that_comes_later() {
    let body = prose(5, 10);
    let pages = |canonical: &str| {
        HashMap::from([
            ("/long/page".to_owned(), html(article("P", &body, "x"))),
            (
                "/c".to_owned(),
                html(format!("<link rel=canonical href={canonical}>{}", article("P", &body, "y"))),
            ),
        ])
    };
    // Only the canonical link favours the longer address.
    for (canonical, discarded, kind) in
        [("/long/page", "/c", "canonical"), ("/c", "/long/page", "exact")]
    {
        let server = Server::start(pages(canonical));
        let seeds = [server.url("/c"), server.url("/long/page")];
        let bench = Bench::new();
        assert_eq!(code(&bench.crawl(&seeds, &["--concurrency", "1"])), 0);
        let log = bench.log("discarded.jsonl");
        assert_eq!((log.len(), log[0]["kind"].as_str()), (1, Some(kind)), "{log:?}");
        assert_eq!(log[0]["url"], server.url(discarded), "{log:?}");
        assert_eq!(bench.summary()["pages"][kind], 1);
        bench.run(&["check"]);
        let kept = if discarded == "/c" { "/long/page" } else { "/c" };
        assert!(bench.run(&["export"]).contains(&server.url(kept)), "{kept}");
    }
}
