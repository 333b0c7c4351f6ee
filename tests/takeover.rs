//! Across sites the first page is kept: a page with different text cannot replace another site's page.

use serde_json::{Value, json};

use crate::helpers::pipe;
use crate::support::{Bench, prose};

/// An article of ten paragraphs; the last `own` of them differ.
fn article(seed: u64, own: u64) -> String {
    let paragraph = |at: u64| {
        let seed = if at >= 10 - own { seed * 1000 + 500 + at } else { seed * 1000 + at };
        format!("<p>{}</p>", prose(seed, 4))
    };
    (0..10).map(paragraph).collect()
}

fn page(url: &str, canonical: Option<&str>, title: &str, body: &str) -> Value {
    let link = canonical.map(|url| format!("<link rel=canonical href='{url}'>"));
    let link = link.unwrap_or_default();
    let html = format!(
        "<html lang=en><head><title>{title}</title>{link}</head><body><main><h1>{title}</h1>{body}</main></body></html>"
    );
    json!({"id": url, "html": html})
}

/// The kept addresses of two pages offered in this order.
fn kept(first: &Value, second: &Value) -> Vec<String> {
    let bench = Bench::new();
    let (exit, out, err) =
        pipe(&["pages", "-"], Some(&bench.data()), &format!("{first}\n{second}\n"));
    assert_eq!(exit, 0, "{out}{err}");
    let rows = bench.run(&["export"]);
    let mut urls: Vec<String> = rows
        .lines()
        .map(|row| serde_json::from_str::<Value>(row).unwrap()["url"].as_str().unwrap().to_owned())
        .collect();
    urls.sort();
    urls
}

#[test]
fn a_mirror_with_additional_text_never_replaces_a_page_of_another_site() {
    let (title, original) = ("The bridge at night", article(3, 0));
    // Each second address has a feature of a better one: canonical to itself, https, short, early.
    for (victim, mirror) in [
        ("http://victim.example/a/long/path?x=1", "https://mirror.example/"),
        ("http://victim.example/articles/7", "http://victim.example.evil.example/7"),
        ("https://victim.example/articles/7", "https://victim.example:8443/7"),
        ("https://www.victim.example/print/7", "https://m.victim.example/7"),
    ] {
        for own in [1, 2] {
            let copy = article(3, own);
            for (names, self_names) in
                [(None, Some(mirror)), (Some(victim), Some(mirror)), (None, None)]
            {
                let first = page(victim, names, title, &original);
                let second = page(mirror, self_names, title, &copy);
                let kept = kept(&first, &second);
                assert!(kept.iter().any(|url| url == victim), "{victim} is gone: {kept:?}");
            }
        }
    }
}

#[test]
fn a_page_of_equal_text_on_another_site_is_no_better_for_naming_itself() {
    let (title, text) = ("The bridge at night", article(4, 0));
    let first = page("http://victim.example/7", None, title, &text);
    let second = page(
        "http://mirror.example/a/longer/path",
        Some("http://mirror.example/a/longer/path"),
        title,
        &text,
    );
    assert_eq!(kept(&first, &second), ["http://victim.example/7"]);
}

#[test]
fn a_kept_page_that_names_a_page_of_another_site_gives_way_to_it() {
    let (title, original) = ("The bridge at night", article(5, 0));
    let (old, new) = ("http://old.example/a/7", "https://new.example/7");
    let first = page(old, Some(new), title, &original);
    let second = page(new, None, title, &article(5, 1));
    assert_eq!(kept(&first, &second), [new]);
}

#[test]
fn on_one_site_the_better_address_takes_the_place_of_a_near_duplicate() {
    let (title, original) = ("The bridge at night", article(6, 0));
    for (worse, better) in [
        ("http://www.a.example/print/a/long/7?x=1", "https://a.example/7"),
        ("http://a.example/7?session=9", "http://a.example/7"),
    ] {
        let first = page(worse, None, title, &original);
        let second = page(better, Some(better), title, &article(6, 1));
        assert_eq!(kept(&first, &second), [better]);
    }
}

/// `forget` lets a copy replace the forgotten page.
#[test]
fn a_copy_that_names_itself_is_no_better_heir_of_a_page_of_another_site() {
    let bench = Bench::new();
    let (title, text) = ("The bridge at night", article(8, 0));
    let lines = [
        page("http://victim.example/7", None, title, &text),
        page(
            "http://mirror.example/7/8/9/10",
            Some("http://mirror.example/7/8/9/10"),
            title,
            &text,
        ),
        page("http://victim.example/print/7", None, title, &text),
        page("http://other.example/7", None, title, &text),
    ]
    .map(|line| line.to_string());
    let (exit, out, err) = pipe(&["pages", "-"], Some(&bench.data()), &lines.join("\n"));
    assert_eq!(exit, 0, "{out}{err}");
    bench.run(&["forget", "http://victim.example/7"]);
    let kept = bench.run(&["export"]);
    assert_eq!(kept.lines().count(), 1, "{kept}");
    let kept: Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(kept["url"], "http://other.example/7", "the shortest path of plain versions");
}
