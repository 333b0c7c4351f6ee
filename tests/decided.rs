//! Changed decisions about discarded pages: log, counts and index agree after each change.

use serde_json::Value;

use crate::helpers::{crawled, paragraph, stored};
use crate::support::{Bench, code, crawl, json_lines, prose, text};

const P: &str = "http://a.example/p";
const COPY: &str = "http://a.example/long/copy";
const PRINT: &str = "http://a.example/print/p";
const MIRROR: &str = "http://b.example/x/mirror";

/// One kept page, an equal copy, and two near-duplicates.
fn cluster() -> Bench {
    let bench = Bench::new();
    let one = prose(1, 30);
    let near = |more: usize| paragraph(&one.replacen("river", "rivulet", more));
    stored(
        &bench,
        &[(P, paragraph(&one)), (COPY, paragraph(&one)), (PRINT, near(1)), (MIRROR, near(2))],
        &[],
    );
    bench
}

#[test]
fn a_page_that_is_kept_again_has_one_line_that_counts() {
    let bench = cluster();
    bench.agrees("at first");
    for page in [PRINT, P, COPY, PRINT, COPY, P] {
        bench.run(&["duplicates", "keep", page]);
        bench.agrees(page);
        assert_eq!(bench.kept(), [page]);
    }
    let listed = bench.run(&["duplicates", "list"]);
    assert!(listed.contains("a newer line describes this page"), "{listed}");
    let old = bench.rows(&["--match", "print/p"]).remove(0);
    let shown = bench.run(&["duplicates", "show", &old["id"].to_string()]);
    assert!(shown.contains("a newer log line describes this page"), "{shown}");
    assert_eq!(old["state"], "renewed");
    let refused = ["duplicates", "restore", &old["id"].to_string()];
    assert_eq!(bench.tried(&refused), 1);
    // The feed claims each page once and never as its own copy.
    let feed = bench.path("a.feed.gz");
    let said = bench.run(&["duplicates", "export", "--feed", feed.to_str().unwrap()]);
    assert!(said.contains("hold 3 duplicates"), "{said}");
    let said = bench.run(&["duplicates", "restore", "--all"]);
    assert!(said.starts_with("3 restored"), "{said}");
    bench.agrees("restored");
    bench.run(&["duplicates", "restore", "--all", "--undo"]);
    bench.agrees("discarded again");
}

#[test]
fn a_page_rechecked_in_and_out_again_is_not_listed_as_restored() {
    let bench = cluster();
    let apply = |distance: &str, similarity: &str| {
        let flags = ["--similarity", similarity, "--similarity-same-host", similarity, "--apply"];
        bench.run(&[&["duplicates", "recheck", "--distance", distance], &flags[..]].concat());
        bench.agrees(distance);
    };
    apply("0", "1");
    let restored = bench.rows(&["--restored"]).len();
    assert!(restored > 0 && bench.run(&["duplicates", "list"]).contains("(restored)"));
    apply("3", "0.5");
    assert!(bench.rows(&["--restored"]).is_empty());
    assert!(!bench.run(&["duplicates", "list"]).contains("(restored)"));
    let shown = bench.run(&["duplicates", "show", PRINT]);
    assert!(!shown.contains("restored   "), "{shown}");
    apply("0", "1");
    assert_eq!(bench.rows(&["--restored"]).len(), restored);
}

#[test]
fn a_page_that_was_taken_back_and_given_up_leaves_nothing_in_log_and_counts() {
    let bench = cluster();
    // A page that was restored and discarded again has another number than its log line.
    let id = bench.id_of("/print/p");
    bench.run(&["duplicates", "restore", &id]);
    let said = bench.run(&["explain", PRINT]);
    assert!(said.contains("restored at"), "{said}");
    bench.run(&["duplicates", "restore", &id, "--undo"]);
    bench.run(&["forget", PRINT]);
    bench.agrees("forgotten after it was taken back");
    // The same for a page that is kept by its line.
    bench.run(&["duplicates", "restore", COPY]);
    bench.run(&["forget", COPY]);
    bench.agrees("forgotten while it was restored");
    bench.run(&["duplicates", "keep", MIRROR]);
    bench.run(&["forget", MIRROR]);
    bench.agrees("forgotten while it was kept");
    assert_eq!(bench.kept(), [P]);
    bench.run(&["forget", P]);
    bench.agrees("all forgotten");
    assert!(bench.rows(&[]).iter().all(|row| row["state"] == "ended" || row["state"] == "renewed"));
}

#[test]
fn explain_names_the_current_representative_of_a_copy() {
    let (bench, server) = crawled();
    let print = server.url("/print/one");
    bench.run(&["duplicates", "keep", &print]);
    let said = bench.run(&["explain", &server.url("/copy/one")]);
    assert!(said.contains(&format!("fetched, discarded, a duplicate of {print}")), "{said}");
}

#[test]
fn a_job_without_the_index_leaves_the_counts_right() {
    let bench = Bench::new();
    let (one, two) = (prose(1, 30), prose(2, 30));
    stored(&bench, &[("http://a.example/long/path/x", paragraph(&one))], &[]);
    stored(&bench, &[("http://b.example/z", paragraph(&prose(3, 30)))], &[]);
    // An indexed page is replaced by one that is not indexed; and a cluster without an indexed page.
    let near = paragraph(&two.replacen("river", "rivulet", 1));
    let (y, print) = ("http://c.example/y", "http://c.example/print/y");
    stored(
        &bench,
        &[
            (P, paragraph(&one)),
            ("http://c.example/long/path/y", paragraph(&two)),
            (y, paragraph(&two)),
            (print, near),
        ],
        &["--no-index"],
    );
    assert_eq!(bench.kept(), ["http://b.example/z"]);
    bench.agrees("without the index");
    bench.run(&["duplicates", "keep", print]);
    bench.agrees("kept");
    // The copy's log line gives the archive position of the page that was kept without an index.
    bench.run(&["duplicates", "keep", y]);
    bench.agrees("kept again");
    bench.run(&["duplicates", "restore", "--all"]);
    bench.agrees("restored");
    bench.run(&["forget", "a.example"]);
    bench.agrees("forgotten");
    assert_eq!(bench.kept().len(), 4);
}

#[test]
fn clusters_are_sorted_and_written_as_a_table() {
    let bench = cluster();
    let two = prose(2, 14);
    let (q, other) = ("http://b.example/q", "http://b.example/long/q");
    stored(&bench, &[(q, paragraph(&two)), (other, paragraph(&two))], &[]);
    let of = |args: &[&str]| -> Vec<String> {
        let all = [&["duplicates", "clusters", "--json"], args].concat();
        let rows = json_lines(bench.run(&all).as_bytes());
        rows.iter().map(|row| row["of"]["url"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(of(&[]), [P, q]);
    assert_eq!(of(&["--reverse"]), [q, P]);
    assert_eq!(of(&["--sort", "bytes"]), [q, P]);
    assert_eq!(of(&["--sort", "bytes", "--reverse"]), [P, q]);
    assert_eq!(of(&["--sort", "of"]), [P, q]);
    assert_eq!(of(&["--sort", "of", "--reverse"]), [q, P]);
    let pages = |args: &[&str]| -> Vec<String> {
        let all = [&["duplicates", "clusters", "--json", "--limit", "1"], args].concat();
        let row = json_lines(bench.run(&all).as_bytes()).remove(0);
        let pages = row["pages"].as_array().unwrap();
        pages.iter().map(|page| page["url"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(pages(&["--sort", "time"]), [COPY, PRINT, MIRROR]);
    assert_eq!(pages(&["--sort", "host", "--match", "a.example/p"]).last().unwrap(), MIRROR);
    let table = bench.run(&["duplicates", "clusters", "--csv"]);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(
        lines[0],
        "of_id,of_url,copies,id,kind,url,distance,similarity,bytes,canonical,relation"
    );
    assert_eq!(lines.len(), 5, "{table}");
    assert!(lines[1].starts_with(&format!("0,{P},3,1,exact,{COPY},0,1,")), "{table}");
}

#[test]
fn a_dry_run_of_restore_prints_json_and_csv() {
    let bench = cluster();
    let dry = ["duplicates", "restore", "--all", "--dry-run"];
    let rows = json_lines(bench.run(&[&dry[..], &["--json"]].concat()).as_bytes());
    let listed = bench.rows(&[]);
    assert_eq!(rows, listed);
    let table = bench.run(&[&dry[..], &["--csv", "--limit", "2"]].concat());
    assert_eq!(table.lines().count(), 3, "{table}");
    assert!(table.starts_with("id,time,kind,url,"), "{table}");
    let refused = crawl()
        .args(["duplicates", "restore", "--all", "--csv", "--data"])
        .arg(bench.data())
        .output()
        .unwrap();
    assert_eq!(code(&refused), 1);
    assert!(
        text(&refused.stderr).contains("--csv works only with --dry-run"),
        "{}",
        text(&refused.stderr)
    );
    let done = bench.object(&["duplicates", "restore", "--json", PRINT]);
    assert_eq!((done["done"].as_u64(), done["not"].as_array().unwrap().len()), (Some(1), 0));
    let none = bench.object(&["duplicates", "restore", "--json", "--host", "c.example"]);
    assert_eq!(none["done"], 0);
}

#[test]
fn a_similarity_is_found_as_it_is_shown() {
    let bench = cluster();
    let listed = bench.run(&["duplicates", "list"]);
    for row in bench.rows(&[]) {
        let shown = format!("{:.2}", row["similarity"].as_f64().unwrap());
        assert!(listed.contains(&shown), "{listed}");
        let found = bench.rows(&["--similarity", &shown]);
        assert!(found.contains(&row), "{row} for {shown}: {found:?}");
        assert!(bench.rows(&["--similarity", &format!("{shown}..{shown}")]).contains(&row));
    }
}

#[test]
fn a_repeated_or_hand_added_log_line_is_damage() {
    let bench = cluster();
    let log = bench.data().join("discarded.jsonl");
    let whole = std::fs::read_to_string(&log).unwrap();
    let first = whole.lines().next().unwrap();
    let damaged = |content: String, why: &str| {
        std::fs::write(&log, content).unwrap();
        let check = crawl().arg("check").arg("--data").arg(bench.data()).output().unwrap();
        let said = text(&check.stdout);
        assert_eq!(code(&check), 2, "{said}");
        assert!(said.lines().any(|line| line.starts_with("DAMAGED discarded")), "{said}");
        assert!(said.contains(why), "{said}");
    };
    damaged(format!("{whole}{first}\n"), "line 4, of page 1, occurs twice");
    // The line of a kept page.
    let other = first.replacen("\"id\":1,", "\"id\":0,", 1);
    damaged(format!("{whole}{other}\n"), "line 4, of page 0, was not written");
    // Remains of a crash: lines of pages that the store does not contain, and half a line.
    let next = first.replacen("\"id\":1,", "\"id\":77,", 1);
    std::fs::write(&log, format!("{whole}{next}\n{{\"time\":")).unwrap();
    bench.checked();
    // A number twice among the committed lines.
    bench.run(&["duplicates", "keep", PRINT]);
    let whole = std::fs::read_to_string(&log).unwrap();
    assert!(whole.lines().last().unwrap().contains("\"id\":5,"), "{whole}");
    damaged(whole.replace("\"id\":5,", "\"id\":2,"), "line 4, of page 2, occurs twice");
}

#[test]
fn explain_names_the_decisions_file_for_a_forgotten_page() {
    let (bench, server) = crawled();
    let url = server.url("/print/one");
    bench.run(&["forget", &url]);
    let known = |url: &str| {
        let row = bench.object(&["explain", url, "--json"]);
        assert_eq!((row["reason"].as_str(), &row["stored"]), (Some("forgotten"), &Value::Null));
        row["known"].as_str().unwrap().to_owned()
    };
    let said = known(&url);
    assert!(said.contains("decisions.jsonl") && !said.contains("skipped.jsonl"), "{said}");
    // The same without a queue.
    std::fs::remove_dir_all(bench.data().join("frontier")).unwrap();
    let said = known(&url);
    assert!(said.contains("decisions.jsonl") && !said.contains("no queue yet"), "{said}");
}

#[test]
fn a_recheck_keeps_the_page_that_a_new_crawl_keeps() {
    // Without a threshold, all are one page each; the better address comes last.
    let one = prose(1, 30);
    let near = |more: usize| paragraph(&one.replacen("river", "rivulet", more));
    let (good, bad) = ("https://a.example/p", "http://a.example/p?x=1");
    let pages = [(bad, near(1)), (good, paragraph(&one))];
    let strict = ["--similarity", "1", "--similarity-same-host", "1", "--distance", "1"];
    let loose = ["--similarity", "0.5", "--similarity-same-host", "0.5", "--distance", "3"];
    let anew = Bench::new();
    stored(&anew, &pages, &loose);
    assert_eq!(anew.kept(), [good]);
    let bench = Bench::new();
    stored(&bench, &pages, &strict);
    assert_eq!(bench.kept().len(), 2);
    let said = bench.run(&[&["duplicates", "recheck", "--apply"], &loose[..]].concat());
    assert!(said.contains(&format!("- discarded  {bad}\n         for {good}")), "{said}");
    assert_eq!(bench.kept(), [good]);
    bench.agrees("after the recheck");
    bench.checked();
    // The decision is final.
    let said = bench.run(&[&["duplicates", "recheck"], &loose[..]].concat());
    assert!(said.contains("0 pages more would be kept, 0 more discarded."), "{said}");
}

#[test]
fn a_restore_without_an_index_does_not_claim_one() {
    let bench = Bench::new();
    let one = prose(1, 30);
    stored(&bench, &[(P, paragraph(&one)), (COPY, paragraph(&one))], &["--no-index"]);
    let said = bench.run(&["duplicates", "restore", COPY]);
    assert!(
        said.contains("This directory has no index") && !said.contains("in the index"),
        "{said}"
    );
    let output = crawl().args(["duplicates", "restore", COPY, "--data"]).arg(bench.data()).output();
    let said = text(&output.unwrap().stderr);
    assert!(said.contains(&format!("not changed: {COPY} (id ")), "{said}");
}
