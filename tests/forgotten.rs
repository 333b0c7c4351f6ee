//! Forgotten pages, and the fate of the copies that were discarded for them.

use crate::helpers::{crawled, paragraph, stored};
use crate::support::{Bench, code, crawl, json_lines, prose, text};

#[test]
fn a_copy_of_equal_text_is_the_heir_though_another_has_a_better_address() {
    let bench = Bench::new();
    let one = prose(1, 30);
    let near = paragraph(&one.replacen("river", "rivulet", 1));
    let (kept, equal, other) =
        ("http://a.example/p", "http://b.example/long/path/p?x=1&y=2", "http://c.example/other");
    stored(&bench, &[(kept, paragraph(&one)), (equal, paragraph(&one)), (other, near)], &[]);
    assert_eq!(bench.exported(), [kept]);
    bench.run(&["forget", kept]);
    assert_eq!(bench.exported(), [equal]);
    assert!(bench.run(&["duplicates", "show", other]).contains(equal));
}

#[test]
fn a_copy_that_is_not_like_the_heir_is_kept_beside_it() {
    let bench = Bench::new();
    // Each half is similar to the whole, but not to the other half.
    let sentences: Vec<String> = prose(1, 40).split_inclusive(". ").map(str::to_owned).collect();
    let (whole, first, last) = (
        sentences.concat(),
        sentences[..sentences.len() * 3 / 4].concat(),
        sentences[sentences.len() / 4..].concat(),
    );
    // With the default thresholds all three would be one page.
    let flags = ["--similarity", "0.7"];
    let urls = ["http://a.example/p", "http://b.example/first", "http://c.example/last"];
    let pages =
        [(urls[0], paragraph(&whole)), (urls[1], paragraph(&first)), (urls[2], paragraph(&last))];
    stored(&bench, &pages, &flags);
    assert_eq!(bench.exported(), [urls[0]], "{}", bench.run(&["duplicates", "list"]));
    bench.run(&["forget", urls[0]]);
    assert_eq!(bench.exported(), urls[1..], "no text is lost");
    bench.run(&["check"]);
}

#[test]
fn a_host_is_named_with_its_port_where_its_pages_lie_at_another_one() {
    let bench = Bench::new();
    stored(&bench, &[("http://a.example:8080/p", paragraph(&prose(1, 30)))], &[]);
    let output =
        crawl().args(["forget", "a.example", "--data"]).arg(bench.data()).output().unwrap();
    assert_eq!(code(&output), 1);
    let said = text(&output.stderr);
    assert!(said.contains("a.example:8080 (1 page)"), "{said}");
    assert_eq!(bench.exported().len(), 1, "nothing was forgotten");
    assert_eq!(json_lines(bench.run(&["export", "--host", "a.example"]).as_bytes()).len(), 1);
    bench.run(&["forget", "a.example:8080"]);
    assert!(bench.exported().is_empty());
}

#[test]
fn a_forgotten_host_is_named_again_although_another_port_of_it_has_pages() {
    let bench = Bench::new();
    let urls = ["http://a.example/p", "http://a.example:8080/p"];
    let page = |number: u64| paragraph(&prose(number, 30));
    stored(&bench, &[(urls[0], page(1)), (urls[1], page(2))], &[]);
    bench.run(&["forget", "a.example:8080"]);
    assert_eq!(bench.exported(), urls[..1]);
    bench.run(&["forget", "--undo", "a.example:8080"]);
    assert_eq!(bench.exported(), urls);
    bench.run(&["forget", "a.example:8080"]);
    let purge = ["forget", "--yes", "--purge", "a.example:8080"];
    assert!(bench.run(&purge).contains("in 1 file of the archive overwritten"));
    assert!(bench.run(&purge).contains("no record in the archive"));
    assert_eq!(bench.exported(), urls[..1]);
    bench.run(&["check"]);
}

#[test]
fn a_dry_run_lists_the_pages_and_changes_nothing() {
    let (bench, server) = crawled();
    let host = format!("127.0.0.1:{}", server.port);
    let before = bench.kept();
    let decisions = || std::fs::read(bench.data().join("decisions.jsonl")).unwrap();
    let decided = decisions();
    let said = bench.run(&["forget", "--dry-run", &host]);
    for url in &before {
        assert!(said.contains(&format!("kept       {url}")), "{url}: {said}");
    }
    assert!(said.contains("would be removed") && said.contains("nothing was changed"), "{said}");
    assert_eq!(bench.kept(), before);
    assert_eq!(decisions(), decided);
}

#[test]
fn undo_brings_a_forgotten_host_back_with_its_duplicates() {
    let (bench, server) = crawled();
    let host = format!("127.0.0.1:{}", server.port);
    let state = || {
        let mut rows: Vec<(String, String, String)> = bench
            .rows(&[])
            .iter()
            .filter(|row| row["kind"] != "alias" && row["state"].is_null())
            .map(|row| {
                (row["url"].to_string(), row["of"]["url"].to_string(), row["kind"].to_string())
            })
            .collect();
        rows.sort();
        (bench.kept(), rows)
    };
    let before = state();
    let texts = bench.exported();
    assert!(!before.1.is_empty());
    let output = crawl().args(["forget", &host, "--data"]).arg(bench.data()).output().unwrap();
    assert_eq!(code(&output), 0);
    let said = text(&output.stdout);
    assert!(said.contains("still contains the responses"), "{said}");
    assert!(said.contains(&format!("crawl forget --undo {host}")), "{said}");
    let warned = text(&output.stderr);
    assert!(warned.contains("the next version requires --yes"), "{warned}");
    assert!(bench.kept().is_empty());
    let asked = server.asked().len();
    let output = bench.crawl(&[server.url("/")], &[]);
    assert_eq!(bench.summary()["forgotten_seeds"], 1, "{}", bench.summary());
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(said.contains("Complete, except for forgotten seeds."), "{said}");
    assert_eq!(bench.summary()["forgotten_pages"], 6, "{}", bench.summary());
    assert!(said.contains("6   pages that `crawl forget` removed; not requested"), "{said}");
    assert_eq!(server.asked().len(), asked);

    let said = bench.run(&["forget", "--undo"]);
    assert!(said.contains("brought back"), "{said}");
    bench.checked();
    bench.agrees("after undo");
    assert_eq!(state(), before);
    assert_eq!(bench.exported(), texts);
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--recrawl"])), 0);
    assert!(server.asked().len() > asked, "they are fetched again");
    assert!(bench.summary()["forgotten_seeds"].is_null());
    assert!(bench.summary()["forgotten_pages"].is_null());
    // Once is enough.
    assert_eq!(bench.tried(&["forget", "--undo"]), 1);
}

#[test]
fn undo_of_a_page_whose_copy_is_kept_now_makes_it_a_duplicate_of_the_copy() {
    let bench = Bench::new();
    let one = prose(1, 30);
    let (kept, copy) = ("http://a.example/p", "http://a.example/longer/p");
    stored(&bench, &[(kept, paragraph(&one)), (copy, paragraph(&one))], &[]);
    bench.run(&["forget", "--yes", kept]);
    assert_eq!(bench.kept(), [copy]);
    bench.run(&["forget", "--yes", "b.example"]);
    let said = bench.run(&["forget", "--undo", kept]);
    assert!(said.contains("brought back 1 page"), "{said}");
    assert_eq!(bench.kept(), [copy]);
    assert!(bench.run(&["duplicates", "show", kept]).contains(copy));
    bench.checked();
    bench.agrees("after undo");
}

/// A compaction is killed at many moments: after its first file appears, and a little later each time.
#[test]
fn a_process_killed_while_it_compacts_texts_loses_none() {
    let bench = Bench::new();
    let pages: Vec<(String, String)> = (0..100)
        .map(|n| {
            let host = if n % 2 == 0 { "gone" } else { "kept" };
            (format!("http://{host}.example/{n}"), paragraph(&prose(n + 1, 120)))
        })
        .collect();
    let pages: Vec<(&str, String)> =
        pages.iter().map(|(url, html)| (url.as_str(), html.clone())).collect();
    stored(&bench, &pages, &[]);
    bench.run(&["forget", "--yes", "gone.example"]);
    let texts = bench.data().join("texts");
    let path = |name: &str| texts.join(name);
    let erased = ["data", "places"].map(|name| (name, std::fs::read(path(name)).unwrap()));
    let restore = || {
        for name in ["data.new", "places.new"] {
            let _ = std::fs::remove_file(path(name));
        }
        erased.iter().for_each(|(name, bytes)| std::fs::write(path(name), bytes).unwrap());
    };
    let all_are_there = || {
        let (policy, recipe) = (hapax_dedup::Policy::default(), hapax_extract::RECIPE);
        let (store, _) = hapax_data::read_only(&bench.data(), policy, recipe).unwrap().unwrap();
        let texts = hapax_data::TextStore::read_only(&texts);
        let records = store.snapshot().records().map(Result::unwrap).collect::<Vec<_>>();
        let kept = records.iter().filter(|record| record.key.starts_with(b"http://kept."));
        assert_eq!(kept.filter(|kept| texts.get(kept.id, &kept.key).is_some()).count(), 50);
        assert!(!texts.is_damaged());
    };
    all_are_there();
    let mut killed = 0;
    for attempt in 0..40 {
        if killed == 4 {
            break;
        }
        restore();
        let mut child = crawl()
            .args(["pages", "-", "-q", "--data"])
            .arg(bench.data())
            .stdin(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        while !path("data.new").exists() && child.try_wait().unwrap().is_none() {
            let now = std::fs::metadata(path("data")).unwrap().len();
            if now < erased[0].1.len() as u64 {
                break;
            }
            std::thread::yield_now();
        }
        std::thread::sleep(std::time::Duration::from_micros(attempt * 100));
        // Its input is still open, so it has not ended by itself.
        child.kill().unwrap();
        child.wait().unwrap();
        killed += usize::from(path("data.new").exists() || path("places.new").exists());
        all_are_there();
    }
    assert!(killed > 0, "no attempt killed a compaction");
    restore();
    stored(&bench, &[("http://new.example/", paragraph(&prose(999, 30)))], &[]);
    assert!(!path("data.new").exists() && !path("places.new").exists());
    assert!(std::fs::metadata(path("data")).unwrap().len() < erased[0].1.len() as u64 * 2 / 3);
    all_are_there();
    bench.checked();
}
