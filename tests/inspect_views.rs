//! The views of the local page beside the log: kept pages, causes and advice, near misses, changes, clusters.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use crate::inspect::{Inspect, hostile_site};
use crate::support::{Bench, Page, Server, code, html, missing, prose, text};

/// Opens a page of which the content is computed in the background.
fn computed(inspect: &Inspect, path: &str) -> String {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let page = inspect.get(path);
        assert!(page.starts_with("HTTP/1.1 200"), "{path}: {page}");
        if !page.contains("This is being computed") {
            return page;
        }
        assert!(page.contains("http-equiv=\"refresh\""), "{page}");
        assert!(Instant::now() < until, "{path} is never computed");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn article(title: &str, head: &str, body: &str) -> Page {
    html(format!(
        "<head><title>{title}</title><meta name=description content='About rivers'>{head}</head><main><h1>{title}</h1><p>{body}</p></main>"
    ))
}

/// A shop whose parameter `sort` makes duplicates, a print page, and two similar articles.
fn shop() -> HashMap<String, Page> {
    let canonical = |path: &str| format!("<link rel=canonical href='{path}'>");
    let mut pages = HashMap::new();
    let mut links = String::new();
    for at in 0..4u64 {
        let (title, body) = (format!("Lamp {at}"), prose(20 + at, 14));
        for (path, head) in [
            (format!("/shop/lamp-{at}"), String::new()),
            (format!("/shop/lamp-{at}?sort=price"), canonical(&format!("/shop/lamp-{at}"))),
            (format!("/shop/lamp-{at}?sort=name"), canonical("/nowhere")),
        ] {
            links += &format!("<a href='{path}'>x</a>");
            pages.insert(path, article(&title, &head, &body));
        }
    }
    // Most words are equal, but each page has a name of its own: similar, and not a duplicate.
    let shared = prose(50, 24);
    for (path, title, body) in [
        ("/first", "Millers guide", format!("{shared} {} The millers read it.", prose(51, 4))),
        ("/second", "Weavers book", format!("{shared} {} The weavers read it.", prose(52, 4))),
    ] {
        links += &format!("<a href='{path}'>x</a>");
        pages.insert(path.to_owned(), article(title, "", &body));
    }
    pages.insert("/".to_owned(), html(format!("<p>{}</p>{links}", prose(1, 14))));
    pages
}

fn crawled_shop() -> (Bench, Server) {
    let (bench, server) = (Bench::new(), Server::start(shop()));
    let output = bench.crawl(&[server.url("/")], &["--concurrency", "1"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    (bench, server)
}

#[test]
fn kept_pages_are_listed_by_filters_and_shown_with_their_duplicates() {
    let (bench, server) = crawled_shop();
    let inspect = Inspect::start(&bench);
    for (path, wanted) in [
        ("/kept", "7 kept pages"),
        ("/kept?text=weavers", "1 kept pages"),
        ("/kept?copies=1&sort=copies", "4 kept pages"),
        ("/kept?copies=3", "0 kept pages"),
        ("/kept?language=zh", "0 kept pages"),
        ("/kept?host=nowhere.example", "0 kept pages"),
        ("/kept?since=2001-01-01", "7 kept pages"),
        ("/kept?page=900", "7 kept pages"),
    ] {
        let page = inspect.get(path);
        let wanted = wanted.replace("1 kept pages", "1 kept page");
        assert!(page.starts_with("HTTP/1.1 200") && page.contains(&wanted), "{path}: {page}");
    }
    for path in ["/kept?copies=x", "/kept?since=x", "/kept/999999", "/kept/x", "/kept/1?dir=7"] {
        let page = inspect.get(path);
        assert!(page.starts_with("HTTP/1.1 400"), "{path}: {page}");
    }
    let list = inspect.get("/kept?text=title:lamp&sort=oldest");
    let link = list.split("href=\"/kept/").nth(1).unwrap().split('"').next().unwrap();
    let page = inspect.get(&format!("/kept/{link}"));
    for wanted in [
        "2 duplicates and 0 redirects",
        "sort=price",
        "parameter:sort",
        "class=\"state missing\"",
        "class=\"state agree\"",
        "About rivers",
        server.url("/").as_str(),
        "content words",
        "Closest kept page",
    ] {
        assert!(page.contains(wanted), "{wanted}: {page}");
    }
    // The text is there, once.
    let words = prose(20, 14);
    let known: String = words.split('.').next().unwrap().to_owned();
    assert!(page.contains(&known), "{known}: {page}");
}

#[test]
fn causes_and_advice_near_misses_and_changes_are_pages() {
    let (bench, server) = crawled_shop();
    let inspect = Inspect::start(&bench);
    let causes = computed(&inspect, "/causes");
    for wanted in [
        "What was found",
        "parameter `sort` made 8 of 8 pages",
        "it never made a new one",
        "href=\"/list?cause=parameter%3Asort\"",
        "What to do",
        "no unique page is lost",
        "For the owner of the site",
    ] {
        assert!(causes.contains(wanted), "{wanted}: {causes}");
    }
    assert!(inspect.get("/list?cause=parameter%3Asort").contains("8 discarded pages"));
    let near = computed(&inspect, "/near?similarity=0.1");
    for path in ["/first", "/second"] {
        assert!(near.contains(&server.url(path)), "{path}: {near}");
    }
    assert!(near.contains("similarity 0."), "{near}");
    let same = computed(&inspect, "/near?kind=description");
    assert!(same.contains("About rivers") && same.contains("on 6 pages"), "{same}");
    let first = near.split("href=\"/kept/").nth(1).unwrap().split('"').next().unwrap();
    let page = inspect.get(&format!("/kept/{first}"));
    assert!(page.contains("bits differ") || page.contains("bit differ"), "{page}");
    let changes = computed(&inspect, "/changes");
    assert!(changes.contains("7 changed pages") && changes.contains("since run 1"), "{changes}");
    assert!(computed(&inspect, "/changes?kind=gone").contains("0 changed pages"));
    for path in
        ["/near?kind=x", "/near?similarity=2", "/near?dir=4", "/changes?kind=x", "/changes?since=x"]
    {
        let page = inspect.get(path);
        assert!(page.starts_with("HTTP/1.1 400"), "{path}: {page}");
    }
}

/// Pages that share a paragraph, and one that is a part of another.
fn magazine() -> HashMap<String, Page> {
    let notice = prose(70, 8);
    let mut pages = HashMap::new();
    let mut links = String::new();
    for (at, name) in ["mills", "weirs", "locks"].into_iter().enumerate() {
        let body = format!("{}</p><p>{notice}", prose(71 + at as u64, 16));
        links += &format!("<a href='/{name}'>x</a>");
        pages.insert(format!("/{name}"), article(&format!("About {name}"), "", &body));
    }
    pages.insert("/".to_owned(), html(format!("<p>{}</p>{links}", prose(1, 14))));
    pages
}

#[test]
fn passages_are_searched_only_after_the_button_and_listed_by_kind() {
    let (bench, server) = (Bench::new(), Server::start(magazine()));
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--concurrency", "1"])), 0);
    let inspect = Inspect::start(&bench);
    for path in ["/passages", "/passages?kind=near", "/passages?words=20"] {
        let page = inspect.get(path);
        assert!(page.contains("Start the search") && !page.contains("http-equiv"), "{page}");
    }
    let started = computed(&inspect, "/passages?start=1&words=20&kind=boilerplate");
    assert!(started.contains("were searched") && started.contains("3 of 127.0.0.1"), "{started}");
    for path in ["/mills", "/weirs", "/locks"] {
        assert!(started.contains(&server.url(path)), "{path}: {started}");
    }
    // The result stays for the other kinds, and is that of these words only.
    let copied = inspect.get("/passages?words=20");
    assert!(copied.contains("were searched") && copied.contains("Search again"), "{copied}");
    assert!(inspect.get("/passages").contains("Start the search"));
    for path in ["?kind=x", "?words=7", "?words=x", "?dir=1", "?start=1&words=99999"] {
        let page = inspect.get(&format!("/passages{path}"));
        assert!(page.starts_with("HTTP/1.1 400"), "{path}: {page}");
    }
}

#[test]
fn canonical_states_are_the_same_in_clusters_table_and_statistics() {
    let (bench, server) = crawled_shop();
    let same = |when: &str| -> HashMap<String, u64> {
        let clusters = bench.run(&["duplicates", "clusters", "--json"]);
        let mut pages = HashMap::new();
        for cluster in crate::support::json_lines(clusters.as_bytes()) {
            for page in cluster["pages"].as_array().unwrap() {
                let text = |name: &str| page[name].as_str().unwrap().to_owned();
                pages.insert(text("url"), text("canonical"));
            }
        }
        let table = bench.run(&["duplicates", "list", "--csv"]);
        let mut listed = 0;
        for row in table.lines().skip(1) {
            let url = row.split(',').nth(3).unwrap();
            let Some(state) = pages.get(url) else { continue };
            assert!(row.ends_with(&format!(",{state}")), "{when}: {state}: {row}");
            listed += 1;
        }
        assert_eq!(listed, pages.len(), "{when}: {table}");
        let mut counts = HashMap::new();
        pages.into_values().for_each(|state| *counts.entry(state).or_default() += 1);
        let stats: serde_json::Value =
            serde_json::from_str(&bench.run(&["duplicates", "stats", "--json"])).unwrap();
        assert_eq!(stats["canonical"], serde_json::json!(counts), "{when}");
        counts
    };
    let counts = same("after the crawl");
    assert_eq!((counts["agree"], counts["missing"]), (4, 4));
    bench.run(&["duplicates", "keep", &server.url("/shop/lamp-1?sort=price")]);
    let counts = same("with another kept page");
    assert!(counts["agree"] == 3 && counts.len() > 2, "{counts:?}");
    bench.run(&["duplicates", "restore", &server.url("/shop/lamp-2?sort=name")]);
    assert_eq!(same("with a restored page")["missing"], 3);
    let text = bench.run(&["duplicates", "stats"]);
    assert!(text.contains("Canonical address") && text.contains("  agree "), "{text}");
}

#[test]
fn a_changed_page_is_shown_with_its_difference() {
    let version = Arc::new(AtomicUsize::new(1));
    let now = Arc::clone(&version);
    let answer = move |path: &str, _: &str| match (path, now.load(SeqCst)) {
        ("/", 1) => article("Mill", "", &format!("{} The wheel is oak.", prose(9, 14))),
        ("/", _) => article("Mill", "", &format!("{} The wheel is iron.", prose(9, 14))),
        _ => missing(),
    };
    let (server, bench) = (Server::answering(Arc::new(answer), Duration::ZERO), Bench::new());
    assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
    let inspect = Inspect::start(&bench);
    assert!(computed(&inspect, "/changes?kind=new").contains("1 changed page<"));
    version.store(2, SeqCst);
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--recrawl"])), 0);
    let one = format!("/changes?url={}", server.url("/").replace(':', "%3A").replace('/', "%2F"));
    let page = computed(&inspect, &one);
    assert!(page.contains("since run 2"), "{page}");
    assert!(page.contains("<del>oak</del>") && page.contains("<ins>iron</ins>"), "{page}");
    let all = computed(&inspect, "/changes?kind=changed&since=2");
    assert!(all.contains(">difference</a>") && !all.contains("<del>"), "{all}");
}

#[test]
fn clusters_are_drawn_by_canonical_state() {
    let (bench, _server) = crawled_shop();
    let inspect = Inspect::start(&bench);
    let page = inspect.get("/clusters");
    assert!(page.contains("4 clusters") && page.contains("Legend: canonical addresses"), "{page}");
    assert_eq!(page.matches("class=\"cluster\"").count(), 4, "{page}");
    assert!(page.contains("class=\"state missing\"><rect"), "{page}");
    assert!(page.contains("<title>missing, duplicate: "), "readable without colours: {page}");
}

#[test]
fn the_report_begins_with_the_site_and_has_causes_and_canonical_states() {
    let (bench, _server) = crawled_shop();
    let file = bench.path("report.html");
    bench.run(&["duplicates", "report", file.to_str().unwrap()]);
    let report = std::fs::read_to_string(file).unwrap();
    let at = |words: &str| report.find(words).unwrap_or_else(|| panic!("{words}: {report}"));
    let order = [
        "<h1>Duplicates of 127.0.0.1",
        "The last duplicate was found at",
        "What was found",
        "What to do",
        "Legend: values of the cause",
        "Legend: canonical addresses",
        "What was saved",
        "8 of 8 pairs",
        "discarded = kept",
    ];
    assert!(order.map(at).is_sorted(), "{:?}", order.map(at));
    let pairs = report.split("8 of 8 pairs").nth(1).unwrap();
    assert_eq!(pairs.matches("<span>parameter:sort</span>").count(), 8, "{pairs}");
    // A state is once in the columns of a pair, and once in its facts.
    for state in ["agree", "missing"] {
        assert_eq!(pairs.matches(&format!("</svg> {state}</span>")).count(), 8, "{state}: {pairs}");
    }
    assert!(!report.contains("href=\"/"), "the report has no links to the local page");
}

#[test]
fn hostile_pages_are_escaped_on_every_view() {
    let (bench, server) = (Bench::new(), hostile_site());
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--concurrency", "1"])), 0);
    let inspect = Inspect::start(&bench);
    let list = inspect.get("/kept");
    let ids = list.split("href=\"/kept/").skip(1).map(|rest| rest.split('"').next().unwrap());
    let mut paths: Vec<String> = ids.map(|id| format!("/kept/{id}")).collect();
    assert!(paths.len() >= 2, "{list}");
    paths.extend(
        [
            "/kept",
            "/clusters",
            "/causes",
            "/near?similarity=0",
            "/near?kind=title",
            "/passages",
            "/passages?start=1&words=8",
            "/passages?kind=near&words=8",
            "/changes",
            "/kept?text=%3Cscript%3Edocument.title",
            "/changes?since=%3Cscript%3Edocument",
        ]
        .map(str::to_owned),
    );
    for path in paths {
        let mut page = inspect.get(&path);
        if page.contains("This is being computed") {
            page = computed(&inspect, &path);
        }
        assert!(!page.contains("<script>document") && !page.contains("<img"), "{path}: {page}");
        assert!(!page.contains('\u{202e}') && !page.contains('\u{1b}'), "{path}: {page}");
        assert!(!page.contains("href=\"javascript:"), "{path}: {page}");
    }
}
