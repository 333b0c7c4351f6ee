//! Forgotten pages, and the fate of the copies that were discarded for them.

use crate::helpers::{paragraph, stored};
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
