use hapax_dedup::{Document, Fingerprint, Options};

use super::*;
use crate::kind::DuplicateKind;
use crate::lines::{Discarded, DiscardedOf};

/// A data directory with these kept pages and lines of the log: the discarded page, the kept one, and the bytes.
fn directory(kept: &[&str], lines: &[(&str, &str, u64)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("dedup"), Options::default()).unwrap();
    for (at, url) in (0u64..).zip(kept) {
        let bits = Fingerprint::from_bits(at.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let page = Document { tokens: 9, ..Document::new(url.as_bytes(), bits) };
        store.insert(&page, None).unwrap();
    }
    let mut log = String::new();
    for (id, (url, of, bytes)) in (1000..).zip(lines) {
        let kind = if *bytes == 0 { DuplicateKind::Alias } else { DuplicateKind::Near };
        let id_of = kept.iter().position(|kept| kept == of).map(|at| at as u64);
        let of = DiscardedOf { id: id_of, url: (*of).to_owned(), warc: None };
        let line = Discarded::new("2026-11-20T19:16:34Z".into(), id, *url, kind, of);
        let line = Discarded { bytes: *bytes, ..line };
        // Without the field, as the lines of versions before.
        log.push_str(&serde_json::to_string(&line).unwrap());
        log.push('\n');
    }
    // The store's position names the committed length of the log.
    let position = format!("{{\"discarded\":{},\"decisions\":0,\"skipped\":4096}}", log.len());
    store.commit(position.as_bytes()).unwrap();
    std::fs::write(folder.path().join("discarded.jsonl"), log).unwrap();
    folder
}

fn report(folder: &tempfile::TempDir) -> CauseReport {
    let rows = Rows::open(folder.path()).unwrap();
    let store = crate::standing::tables(folder.path());
    CauseReport::of(folder.path(), &rows, store.as_ref()).unwrap()
}

fn of<'a>(report: &'a CauseReport, cause: &str) -> &'a CauseCount {
    report.causes.iter().find(|own| own.cause == cause).unwrap()
}

#[test]
fn duplicates_are_counted_by_cause_and_place_of_all_pages_with_it() {
    let kept = [
        "http://a.example/shop/1",
        "http://a.example/shop/2?sort=up",
        "http://a.example/shop/3?color=red",
        "http://a.example/shop/3?color=blue",
        "http://a.example/shop/4?size=1",
        "http://a.example/shop/4",
    ];
    let folder = directory(
        &kept,
        &[
            ("http://a.example/shop/1?sort=up", kept[0], 10),
            ("http://a.example/shop/1?sort=down", kept[0], 10),
            ("http://a.example/list/2?sort=down", kept[1], 10),
            ("http://a.example/shop/3?color=red&size=2", kept[2], 10),
            ("http://a.example/shop/3?color=pink", kept[2], 10),
            ("http://a.example/print/1", kept[0], 7),
            ("https://a.example/shop/1", kept[0], 0),
        ],
    );
    let report = report(&folder);
    assert_eq!((report.duplicates, report.redirects, report.bytes), (6, 1, 57));
    let sort = of(&report, "parameter:sort");
    assert_eq!((sort.duplicates, sort.pages, sort.kept, sort.new_pages), (3, 4, 1, Some(0)));
    assert_eq!((sort.bytes, sort.requests, sort.examples.len()), (30, 3, 3));
    let place = CausePlace { place: "a.example/shop/".into(), duplicates: 2, pages: 3, kept: 1 };
    assert_eq!(sort.places[0], place);
    // Two kept pages differ in their colour alone; with and without a size are two pages as well.
    assert_eq!(of(&report, "parameter:color").new_pages, Some(2));
    assert_eq!(of(&report, "parameter:size").new_pages, Some(1));
    let print = of(&report, "print");
    assert_eq!((print.duplicates, print.pages, print.kept, print.new_pages), (1, 1, 0, None));
    let scheme = of(&report, "scheme");
    assert_eq!((scheme.duplicates, scheme.redirects, scheme.requests), (0, 1, 1));
}

#[test]
fn all_pages_of_a_place_are_counted_for_a_mirror() {
    let kept = ["http://a.example/x/1", "http://a.example/x/2", "http://b.example/x/3"];
    let folder = directory(&kept, &[("http://b.example/x/1", kept[0], 5)]);
    let report = report(&folder);
    let mirror = of(&report, "mirror");
    assert_eq!((mirror.duplicates, mirror.pages, mirror.kept), (1, 2, 1));
}

#[test]
fn excluded_addresses_are_counted_by_their_rule() {
    let folder =
        directory(&["http://a.example/"], &[("http://a.example/?x=1", "http://a.example/", 5)]);
    let line = |reason: SkipReason, detail: &str, rule: Option<&str>, count| {
        let line = Skipped::new("t", "http://a.example/y", reason, detail);
        let line = Skipped { rule: rule.map(str::to_owned), count, ..line };
        serde_json::to_string(&line).unwrap() + "\n"
    };
    let lines = [
        line(SkipReason::DustRule, "as before", None, Some(5)),
        line(SkipReason::DustRule, "", Some("drop-parameter utm_source"), Some(30)),
        line(SkipReason::DustRule, "", Some("drop-parameter utm_source"), Some(12)),
        line(SkipReason::Exclude, "", Some("skip a.example/y"), None),
        line(SkipReason::Robots, "dust-rule", None, None),
    ];
    std::fs::write(folder.path().join("skipped.jsonl"), lines.concat()).unwrap();
    let found: Vec<_> =
        report(&folder).dropped.into_iter().map(|dropped| (dropped.rule, dropped.urls)).collect();
    let expected = [("drop-parameter utm_source", 42), ("as before", 5), ("skip a.example/y", 1)];
    assert_eq!(found, expected.map(|(rule, urls)| (rule.to_owned(), urls)));
}

#[test]
fn places_and_parameters_beyond_the_limits_are_counted_together() {
    let mut places = Places::default();
    places.at("a/", true).0.duplicates += 1;
    let (counts, is_new) = places.at("b/", false);
    counts.duplicates += 1;
    assert!(!is_new);
    assert_eq!(places.shown(9).len(), 1);
    let mut builder = Builder::default();
    (0..2 * MAX_CAUSES).for_each(|name| {
        builder.group(Cause::parameter(&name.to_string())).counts.duplicates += 1;
    });
    assert_eq!(builder.groups.len(), MAX_CAUSES + 1);
    let others = &builder.groups[&Cause::parameter(OTHERS)];
    assert_eq!(others.counts.duplicates, MAX_CAUSES as u64);
}

#[test]
fn versions_of_documentation_are_patterns_of_other_addresses() {
    let kept = ["http://a.example/docs/2.0/x", "http://a.example/docs/2.0/y", "http://a.example/z"];
    let lines = [
        ("http://a.example/docs/1.0/x", kept[0], 10),
        ("http://a.example/docs/1.0/y", kept[1], 10),
        ("http://a.example/docs/stable/x", kept[0], 10),
        ("http://a.example/about-us/zz", kept[2], 10),
    ];
    let report = report(&directory(&kept, &lines));
    let other = of(&report, "other");
    let patterns: Vec<(&str, u64)> =
        other.patterns.iter().map(|of| (&*of.pattern, of.duplicates)).collect();
    assert_eq!(other.duplicates, 4);
    assert_eq!(patterns, [("/1.0/ beside /2.0/", 2), ("/stable/ beside /2.0/", 1)]);
    assert_eq!(other.patterns[0].example.url, "http://a.example/docs/1.0/x");
}
