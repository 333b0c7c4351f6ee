//! Decisions by comparing texts.

use std::path::Path;

use serde_json::Value;

use crate::helpers::{crawled, pipe, stored};
use crate::support::*;

const TEXT: &str = "<p>The tee is made of cotton from a small farm in the hills, and it is sewn by the people of the \
    village who have done so for many years. It is washed once before it is sent, so that it does not shrink. The \
    parcel leaves us on the day after the order, and it can be sent back for a month if it does not fit.</p>";

/// Passes pages with distinct titles through `crawl pages`.
fn offered(bench: &Bench, pages: &[(&str, String)]) {
    let mut lines = String::new();
    for (url, html) in pages {
        lines.push_str(&format!("{}\n", serde_json::json!({"id": url, "url": url, "html": html})));
    }
    let (exit, _, err) = pipe(&["pages", "-", "-q"], Some(&bench.data()), &lines);
    assert_eq!(exit, 0, "{err}");
}

fn whole(name: &str, more: &str) -> String {
    format!(
        "<html><head><title>{name} | The shop</title></head><body><main><h1>{name}</h1>{TEXT}{more}</main></body>"
    )
}

fn lines_of(bench: &Bench) -> Vec<Value> {
    let log = std::fs::read_to_string(bench.data().join("discarded.jsonl")).unwrap_or_default();
    json_lines(log.as_bytes())
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[test]
fn variants_are_kept_and_a_page_with_comments_is_discarded_with_the_difference_in_words() {
    let bench = Bench::new();
    offered(
        &bench,
        &[
            ("http://shop.example/tee-navy", whole("Tee - Navy", "")),
            ("http://shop.example/tee-rust", whole("Tee - Rust", "")),
            (
                "http://shop.example/tee-navy?all",
                whole("Tee - Navy", "<p>Anna wrote that it fits her brother too.</p>"),
            ),
        ],
    );
    let kept = bench.kept();
    assert_eq!(kept, ["http://shop.example/tee-navy", "http://shop.example/tee-rust"]);
    let lines = lines_of(&bench);
    let [line] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!(line["of"]["url"], "http://shop.example/tee-navy");
    assert_eq!(line["evidence"], "text");
    assert_eq!(line["compared"]["reason"], "little-differs");
    let differs = line["compared"]["differs"][0].as_str().unwrap();
    assert!(differs.starts_with("only in this page, 8 words: \"anna wrote"), "{differs}");
    let [item] = &line["difference"].as_array().unwrap()[..] else { panic!("{line}") };
    assert_eq!((&item["kind"], &item["words"]), (&"only-in-discarded".into(), &8.into()));
    assert!(item["example"].as_str().unwrap().starts_with("\"anna wrote"), "{item}");
    let measure = |value: &Value| value.as_f64().is_some_and(|value| (0.5..1.0).contains(&value));
    assert!(measure(&line["jaccard"]) && measure(&line["containment"][0]), "{line}");
    assert_eq!(line["containment"][1], 1.0);
    assert!(line["page_type"].is_string() && line["confidence"].is_number(), "{line}");
    let shown = bench.run(&["duplicates", "show", &line["id"].to_string()]);
    assert!(shown.contains("only in this page, 8 words"), "{shown}");
    // The same rules change no stored decision.
    let again = bench.run(&["duplicates", "recheck"]);
    assert!(again.contains("0 pages more would be kept, 0 more discarded."), "{again}");
}

#[test]
fn a_dozen_variants_of_one_long_text_are_all_kept() {
    let bench = Bench::new();
    let colours = [
        "Navy", "Rust", "Black", "White", "Green", "Brown", "Ochre", "Pink", "Grey", "Sand",
        "Plum", "Lime", "Teal",
    ];
    let pages = colours.map(|colour| {
        let url = format!("http://shop.example/{}", colour.to_lowercase());
        (url, whole(&format!("Tee - {colour}"), &format!("<p>{}</p>", prose(4, 12))))
    });
    let pages: Vec<(&str, String)> =
        pages.iter().map(|(url, html)| (url.as_str(), html.clone())).collect();
    offered(&bench, &pages);
    assert_eq!(bench.kept().len(), colours.len(), "{:?}", lines_of(&bench));
}

#[test]
fn without_texts_the_sketch_decides_and_an_upgrade_adds_them() {
    let bench = Bench::new();
    let (one, other) = ("http://shop.example/a", "http://shop.example/long/way/b");
    offered(&bench, &[(one, whole("Tee", ""))]);
    let texts = bench.data().join("texts");
    std::fs::remove_dir_all(&texts).unwrap();
    let more = "<p>Anna wrote that it fits her brother too.</p>";
    offered(&bench, &[(other, whole("Tee", more))]);
    let lines = lines_of(&bench);
    assert_eq!((&lines[0]["evidence"], &lines[0]["compared"]), (&"sketch".into(), &Value::Null));
    let said = bench.run(&["upgrade"]);
    assert!(said.contains("the texts of 1 kept page were added"), "{said}");
    assert!(bench.run(&["upgrade"]).contains("is up to date"));
    offered(&bench, &[("http://shop.example/long/way/c", whole("Tee", more))]);
    assert_eq!(lines_of(&bench)[1]["evidence"], "text");
    let checked = bench.run(&["check"]);
    assert!(checked.contains("texts"), "{checked}");
}

#[test]
fn damaged_texts_are_reported_once_and_listed_by_check() {
    let bench = Bench::new();
    let pages: Vec<(String, String)> = (0..20)
        .map(|at| (format!("http://shop.example/{at}"), whole("Tee", &prose(at + 1, 6))))
        .collect();
    let pages: Vec<(&str, String)> =
        pages.iter().map(|(url, html)| (url.as_str(), html.clone())).collect();
    offered(&bench, &pages);
    let data = bench.data().join("texts/data");
    let saved = bench.path("saved");
    copy(&bench.data().join("texts"), &saved);
    let mut bytes = std::fs::read(&data).unwrap();
    bytes.iter_mut().step_by(16).for_each(|byte| *byte ^= 0x55);
    std::fs::write(&data, bytes).unwrap();
    let output = crawl().arg("check").arg("--data").arg(bench.data()).output().unwrap();
    let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
    assert!(!output.status.success() && said.contains("crawl upgrade"), "{said}");
    let line = serde_json::json!({
        "id": "x", "url": "http://shop.example/x", "html": whole("Tee", &prose(1, 6)),
    });
    let (exit, _, err) = pipe(&["pages", "-"], Some(&bench.data()), &format!("{line}\n"));
    assert_eq!((exit, err.matches("is damaged").count()), (0, 1), "{err}");
    bench.run(&["upgrade"]);
    assert!(crawl().arg("check").arg("--data").arg(bench.data()).status().unwrap().success());
}

#[test]
fn more_similarity_can_be_asked_for_than_the_texts_need() {
    let bench = Bench::new();
    let (one, other) = ("http://shop.example/a", "http://shop.example/b");
    let more = "<p>Anna wrote that it fits her brother too.</p>";
    offered(&bench, &[(one, whole("Tee", "")), (other, whole("Tee", more))]);
    assert_eq!(lines_of(&bench).len(), 1);
    let said = bench.run(&["duplicates", "recheck", "--similarity-same-host", "0.99"]);
    assert!(said.contains("1 page more would be kept, 0 more discarded."), "{said}");
}

#[test]
fn two_pages_are_explained_as_they_are_decided() {
    let bench = Bench::new();
    let (navy, rust) = (bench.path("navy.html"), bench.path("rust.html"));
    write(&navy, whole("Tee - Navy", ""));
    write(&rust, whole("Tee - Rust", ""));
    let explained = |second: &Path| {
        let output = crawl().arg("explain").arg(&navy).arg(second).arg("--json").output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let variants = explained(&rust);
    assert_eq!(
        (&variants["duplicates"], &variants["reason"]),
        (&false.into(), &"name-pattern".into())
    );
    let same = explained(&navy);
    assert_eq!((&same["duplicates"], &same["reason"]), (&true.into(), &"equal-text".into()));
}

#[test]
fn equal_text_with_other_opening_hours_is_two_pages() {
    let bench = Bench::new();
    let hours = |from: u32| {
        let rows: String = ["Monday", "Tuesday", "Friday"]
            .map(|day| format!("<tr><td>{day}</td><td>{from}:00 - 1{from}:30</td></tr>"))
            .concat();
        format!("<title>T</title><main><h1>T</h1>{TEXT}<table>{rows}</table></main>")
    };
    let pages = [("http://a.example/leeds", hours(7)), ("http://a.example/york", hours(8))];
    stored(&bench, &pages, &[]);
    assert_eq!(bench.kept().len(), 2, "{:?}", lines_of(&bench));
}

#[test]
fn texts_that_a_crash_left_without_a_document_are_dropped() {
    let (bench, server) = crawled();
    let places = bench.data().join("texts/places");
    let whole = std::fs::read(&places).unwrap();
    // Places of documents whose commit the crash prevented.
    std::fs::write(&places, [whole.as_slice(), &[1; 16 * 40]].concat()).unwrap();
    let output = bench.crawl(&[server.url("/")], &[]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let (policy, recipe) = (hapax_dedup::Policy::default(), hapax_extract::RECIPE);
    let (store, _) = hapax_data::read_only(&bench.data(), policy, recipe).unwrap().unwrap();
    let now = std::fs::read(&places).unwrap();
    assert!(now.len() as u64 <= 16 * store.snapshot().next_id(), "{} bytes", now.len());
    assert!(now.starts_with(&whole));
    bench.checked();
}
