//! Lines that a site repeats, in the words of a comparison.

use std::path::Path;

use serde_json::Value;

use crate::helpers::pipe;
use crate::support::*;

const TEXT: &str = "<p>The lamp is made of glass from a small works by the sea, and it is put together by the people of \
    the town who have done so for many years. It is tried once before it is sent, so that it does give light. The \
    parcel leaves us on the day after the order, and it can be sent back for a month if it does not please.</p>";
const BLOCK: &str = "<p>The shop is open on every day but Monday.</p>";
const OWN: &str = "<p>Bert wrote that it stands in his kitchen now.</p>";

fn page(name: &str, more: &str) -> String {
    format!(
        "<html><head><title>{name} | The works</title></head><body><main><h1>{name}</h1>{TEXT}{more}</main></body>"
    )
}

fn url(path: &str) -> String {
    format!("http://works.example/{path}")
}

/// Passes pages through `crawl pages` in this order.
fn offered(data: &Path, pages: &[(String, String)], flags: &[&str]) {
    let lines: String = pages
        .iter()
        .map(|(url, html)| format!("{}\n", serde_json::json!({"url": url, "html": html})))
        .collect();
    let arguments = [&["pages", "-", "-q"], flags].concat();
    let (exit, _, err) = pipe(&arguments, Some(data), &lines);
    assert_eq!(exit, 0, "{err}");
}

/// Four pages with the block, and one without it.
fn shop() -> Vec<(String, String)> {
    let with = ["Amber", "Blue", "Clear", "Dark"]
        .map(|colour| (url(&colour.to_lowercase()), page(&format!("Lamp - {colour}"), BLOCK)));
    with.into_iter().chain([(url("empty"), page("Lamp - Empty", ""))]).collect()
}

/// A copy of the page without the block, with these blocks.
fn copy(path: &str, more: &str) -> Vec<(String, String)> {
    vec![(url(path), page("Lamp - Empty", more))]
}

fn last_line(data: &Path) -> Value {
    let log = std::fs::read_to_string(data.join("discarded.jsonl")).unwrap();
    json_lines(log.as_bytes()).pop().unwrap()
}

/// The phrase and the item about the only difference of the last line.
fn difference(data: &Path) -> (String, Value) {
    let line = last_line(data);
    let [item] = &line["difference"].as_array().unwrap()[..] else { panic!("{line}") };
    (line["compared"]["differs"][0].as_str().unwrap().to_owned(), item.clone())
}

fn copied(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copied(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn a_block_of_other_pages_of_the_site_is_named_in_log_show_and_explain() {
    let bench = Bench::new();
    let data = bench.data();
    offered(&data, &shop(), &[]);
    offered(&data, &copy("empty?all", &[BLOCK, OWN].concat()), &[]);
    let (phrase, item) = difference(&data);
    let said = "only in this page, 18 words (9 of them also on 4 other pages of this site): ";
    assert!(phrase.starts_with(said), "{phrase}");
    assert_eq!((&item["site_words"], &item["site_pages"]), (&9.into(), &4.into()));
    offered(&data, &copy("empty?block", BLOCK), &[]);
    let said = "only in this page, 9 words (also on 4 other pages of this site): \"the shop";
    let (phrase, _) = difference(&data);
    assert!(phrase.starts_with(said), "{phrase}");
    let shown = bench.run(&["duplicates", "show", &last_line(&data)["id"].to_string()]);
    assert!(shown.contains("also on 4 other pages of this site"), "{shown}");
    let explained = bench.run(&["explain", &url("empty"), &url("empty?block")]);
    assert!(explained.contains("only in the second, 9 words (also on 4 other"), "{explained}");
    // A kept page is not another page.
    let explained = bench.run(&["explain", &url("amber"), &url("empty")]);
    assert!(explained.contains("(also on 3 other pages"), "{explained}");
    // A block that no other page has, and a reader of the log that knows no sites.
    offered(&data, &copy("empty?own", OWN), &[]);
    let (phrase, item) = difference(&data);
    assert!(phrase.starts_with("only in this page, 9 words: \"bert"), "{phrase}");
    assert!(item.get("site_words").is_none() && item.get("site_pages").is_none(), "{item}");
    let checked = bench.run(&["check"]);
    assert!(checked.contains("ok      sites"), "{checked}");
}

#[test]
fn a_page_that_a_better_one_replaces_is_counted_once() {
    let bench = Bench::new();
    let data = bench.data();
    let shop = shop();
    let long: Vec<(String, String)> = shop
        .iter()
        .map(|(url, html)| (url.replace("example/", "example/a/long/way/to/"), html.clone()))
        .collect();
    offered(&data, &long, &[]);
    offered(&data, &shop, &[]);
    let replaced = std::fs::read_to_string(data.join("discarded.jsonl")).unwrap();
    assert!(replaced.lines().count() >= 5, "{replaced}");
    offered(&data, &copy("empty?block", BLOCK), &[]);
    assert_eq!(difference(&data).1["site_pages"], 4);
    bench.run(&["forget", &url("amber"), "--yes"]);
    offered(&data, &copy("empty?block2", BLOCK), &[]);
    // A copy of the forgotten page takes its place.
    assert_eq!(difference(&data).1["site_pages"], 4);
}

#[test]
fn deleted_counts_cost_the_words_only_and_an_upgrade_counts_again() {
    let bench = Bench::new();
    let data = bench.data();
    offered(&data, &shop(), &[]);
    std::fs::remove_dir_all(data.join("sites")).unwrap();
    offered(&data, &copy("empty?1", BLOCK), &[]);
    assert!(difference(&data).1.get("site_pages").is_none());
    assert_eq!(last_line(&data)["compared"]["reason"], "little-differs");
    let said = bench.run(&["upgrade"]);
    assert!(said.contains("the lines of 5 kept pages were counted for their sites"), "{said}");
    assert!(bench.run(&["upgrade"]).contains("is up to date"));
    offered(&data, &copy("empty?2", BLOCK), &[]);
    assert_eq!(difference(&data).1["site_pages"], 4);
}

#[test]
fn nothing_is_counted_with_no_site_boilerplate() {
    let bench = Bench::new();
    let data = bench.data();
    offered(&data, &shop(), &["--no-site-boilerplate"]);
    offered(&data, &copy("empty?1", BLOCK), &[]);
    assert!(difference(&data).1.get("site_pages").is_none());
    assert!(!data.join("sites").exists());
}

#[test]
fn damaged_counts_are_named_by_check_and_the_crawl_goes_on() {
    let bench = Bench::new();
    let data = bench.data();
    offered(&data, &shop(), &[]);
    let path = data.join("sites/lines");
    let mut bytes = std::fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let checked = crawl().arg("check").arg("--data").arg(&data).output().unwrap();
    assert_eq!(checked.status.code(), Some(2));
    let checked = String::from_utf8(checked.stdout).unwrap();
    assert!(checked.contains("DAMAGED sites"), "{checked}");
    offered(&data, &copy("empty?1", BLOCK), &[]);
    assert_eq!(last_line(&data)["compared"]["reason"], "little-differs");
    std::fs::remove_dir_all(data.join("sites")).unwrap();
    bench.run(&["upgrade"]);
    bench.run(&["check"]);
}

#[test]
fn a_crash_before_the_store_commits_counts_no_page_twice() {
    let bench = Bench::new();
    let data = bench.data();
    let shop = shop();
    offered(&data, &shop[..2], &[]);
    let folder = tempfile::tempdir().unwrap();
    let crashed = folder.path().join("data");
    copied(&data, &crashed);
    offered(&data, &shop[2..], &[]);
    // As after a crash: the counts were written, the commit of the store was not.
    std::fs::copy(data.join("sites/lines"), crashed.join("sites/lines")).unwrap();
    offered(&crashed, &shop[2..], &[]);
    for data in [&data, &crashed] {
        offered(data, &copy("empty?block", BLOCK), &[]);
        assert_eq!(difference(data).1["site_pages"], 4);
    }
}
