//! How long commands and views take over a large log, with its tables and an index.

use std::time::{Duration, Instant};

use hapax_data::{PagePosition, read_position};
use hapax_dedup::{Document, Fingerprint, Options, Sketch, Store};
use hapax_extract::{Recipe, jieba};
use hapax_index::{Index, Page};
use serde_json::{Value, json};

use crate::helpers::crawled;
use crate::inspect::Inspect;
use crate::support::{Bench, say};

/// Discarded pages for each kept page.
const COPIES: u64 = 10;
/// Kept pages in the index.
const INDEXED: u64 = 100_000;

/// Spreads numbers over all bits.
const fn mixed(number: u64) -> u64 {
    let number = (number ^ number >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    number ^ number >> 29
}

/// Adds `rows` discarded pages to log and tables, and the kept pages to tables and index. A third of the discarded pages
/// declares the kept page as canonical, a third itself. Returns the number of the first kept page.
fn add(bench: &Bench, rows: u64) -> u64 {
    let options = Options {
        recipe: Recipe::default().name().to_owned(),
        strong_digests: true,
        ..Options::default()
    };
    let store = Store::open(bench.data().join("dedup"), options).unwrap();
    let first = store.next_id();
    let kept = rows.div_ceil(COPIES).max(1);
    let kept_url = |at: u64| format!("http://k{}.example/page/{at}", at % 500);
    let mut index = Index::open(&bench.data().join("index"), jieba).unwrap();
    for at in 0..kept {
        let url = kept_url(at);
        // Ten pages each share most of their words.
        let words =
            (0..60).map(|word| mixed(at / 10 * 1000 + word + if word > 50 { at } else { 0 }));
        let document = Document {
            tokens: 60,
            sketch: Sketch::from_hashes(words),
            ..Document::new(url.as_bytes(), Fingerprint::from_bits(mixed(at)))
        };
        let id = store.insert(&document, None).unwrap();
        if at < INDEXED {
            let host = format!("k{}.example", at % 500);
            let (title, text) = (format!("Kept number {at}"), format!("The river of number {at}."));
            let page = Page {
                id,
                url: &url,
                title: &title,
                text: &text,
                other: "",
                site_lines: &[],
                host: &host,
                site: &host,
                time: 1_700_000_000 + at,
                language: "en",
                fetched: "2026-11-20T19:16:34Z",
                stored_at: "",
                bytes: 900,
                canonical: false,
                meta: "{}",
            };
            index.add(&page).unwrap();
        }
    }
    index.commit().unwrap();
    index.close().unwrap();
    let path = bench.data().join("discarded.jsonl");
    let mut log = std::fs::read_to_string(&path).unwrap();
    let line: Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    for at in 0..rows {
        let mut row = line.clone();
        let (url, of) = (format!("http://h{}.example/page/{at}", at % 500), at / COPIES);
        let bits = Fingerprint::from_bits(mixed(of) ^ 1);
        let document = Document { tokens: 60, ..Document::new(url.as_bytes(), bits) };
        row["id"] = store.insert(&document, Some(first + of)).unwrap().into();
        match at % 3 {
            0 => row["canonical"] = true.into(),
            1 => row["canonical_url"] = kept_url(of).into(),
            _ => {}
        }
        row["url"] = url.into();
        row["of"] = json!({"id": first + of, "url": kept_url(of)});
        row["cause"] = json!(["mirror"]);
        row["host"] = format!("h{}.example", at % 500).into();
        row["title"] = format!("Page number {at}").into();
        log.push_str(&format!("{row}\n"));
        if at % 100_000 == 0 {
            store.commit_keeping_payload().unwrap();
        }
    }
    std::fs::write(&path, &log).unwrap();
    let mut position: PagePosition = read_position(&store.payload()).unwrap();
    (position.discarded, position.discarded_sum) = (log.len() as u64, None);
    store.commit(&serde_json::to_vec(&position).unwrap()).unwrap();
    store.close().unwrap();
    first
}

/// 100,000 rows; `cargo xtask discards` uses more and prints the times.
#[test]
fn commands_and_pages_over_a_large_log_stay_quick() {
    let rows: u64 = std::env::var("DISCARDS").map_or(100_000, |rows| rows.parse().unwrap());
    let (bench, _server) = crawled();
    let kept = add(&bench, rows);
    // A generous bound, because machines are slow under load, and debug builds always.
    let slow = if cfg!(debug_assertions) { 4 } else { 1 };
    let limit = slow * Duration::from_secs(5).max(Duration::from_micros(60 * rows));
    let timed_within = |limit: Duration, name: &str, run: &dyn Fn()| {
        let started = Instant::now();
        run();
        say(&format!("{name:<60} {:>8.0} ms", started.elapsed().as_secs_f64() * 1000.0));
        assert!(started.elapsed() < limit, "{name}: {:?}", started.elapsed());
    };
    let timed = |name: &str, run: &dyn Fn()| timed_within(limit, name, run);
    let one = ["--match".to_owned(), format!("number {}", rows - 1)];
    timed("the first list, which reads the whole log", &|| {
        assert_eq!(bench.rows(&["--host", "h7.example"]).len() as u64, rows / 500);
    });
    timed("list --host", &|| {
        assert_eq!(bench.rows(&["--host", "h7.example"]).len() as u64, rows / 500);
    });
    timed("list --sort similarity --limit 50", &|| {
        assert_eq!(bench.rows(&["--sort", "similarity", "--limit", "50"]).len(), 50);
    });
    timed("list --match TEXT", &|| assert_eq!(bench.rows(&[&one[0], &one[1]]).len(), 1));
    let last = bench.rows(&["--limit", "1", "--reverse"])[0]["id"].as_u64().unwrap();
    timed("show ID", &|| drop(bench.run(&["duplicates", "show", &last.to_string()])));
    timed("stats", &|| {
        let stats: Value =
            serde_json::from_str(&bench.run(&["duplicates", "stats", "--json"])).unwrap();
        for state in ["agree", "conflict"] {
            assert!(stats["canonical"][state].as_u64().unwrap() >= rows / 3, "{stats}");
        }
    });
    timed("clusters", &|| drop(bench.run(&["duplicates", "clusters"])));
    let inspect = Inspect::start(&bench);
    let (all, shown) = (rows + 3, format!("{} discarded pages", with_commas(rows + 3)));
    let clusters = with_commas(rows.div_ceil(COPIES) + 2);
    let views = [
        ("/".to_owned(), with_commas(all)),
        ("/list".to_owned(), shown.clone()),
        ("/list?page=100".to_owned(), "page 101 of".to_owned()),
        ("/list?host=h7.example&sort=similarity".to_owned(), "discarded pages of".to_owned()),
        ("/list?cause=mirror&sort=bytes".to_owned(), "discarded pages".to_owned()),
        ("/list?sort=host".to_owned(), shown),
        (format!("/list?text=number+{}", rows - 1), "1 discarded pages".to_owned()),
        (format!("/page/{last}"), format!("Page number {}", rows - 1)),
        ("/clusters".to_owned(), format!("{clusters} clusters")),
        ("/clusters?page=100".to_owned(), "page 101 of".to_owned()),
        ("/kept".to_owned(), "kept pages".to_owned()),
        ("/kept?copies=1&sort=copies".to_owned(), "copies</span>".to_owned()),
        (format!("/kept/{kept}"), "10 duplicates and 0 redirects".to_owned()),
        (format!("/kept/{}", kept + 7), ", similarity 0.".to_owned()),
        ("/search?q=river".to_owned(), "represents".to_owned()),
        ("/skipped".to_owned(), "URLs were not fetched".to_owned()),
        ("/causes".to_owned(), "Causes and advice".to_owned()),
        ("/near".to_owned(), "Near misses".to_owned()),
        ("/passages".to_owned(), "Start the search".to_owned()),
        ("/changes".to_owned(), "Changes".to_owned()),
    ];
    let is_computed = |page: &str| !page.contains("The page loads itself again");
    for (path, wanted) in &views {
        timed(&format!("inspect {path}, first answer"), &|| {
            let page = inspect.get(path);
            let is_right =
                page.starts_with("HTTP/1.1 200") && (page.contains(wanted) || !is_computed(&page));
            assert!(is_right, "{path}: {}", &page[..page.len().min(4000)]);
        });
    }
    for path in ["/", "/clusters", "/causes", "/near", "/passages?start=1", "/changes"] {
        // Nobody waits for it without an answer: all views are computed at once, beside other tests.
        timed_within(20 * limit, &format!("inspect {path}, until it is computed"), &|| {
            while !is_computed(&inspect.get(path)) {
                std::thread::sleep(Duration::from_millis(50));
            }
        });
    }
    // Beside no computation.
    for (path, wanted) in &views {
        let wanted = if path == "/passages" { "were searched" } else { wanted.as_str() };
        timed(&format!("inspect {path}, computed"), &|| {
            let page = inspect.get(path);
            assert!(page.contains(wanted), "{path}: {}", &page[..page.len().min(4000)]);
        });
    }
}

fn with_commas(number: u64) -> String {
    let digits = number.to_string();
    let parts: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|part| std::str::from_utf8(part).unwrap()).collect();
    parts.join(",")
}
