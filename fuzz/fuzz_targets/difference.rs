//! Compares any two texts and pages: in bounded time, without a panic, with a mirrored result in the other order.
#![no_main]

use hapax_page::comparison::{Compared, PageText, compare_pages};
use hapax_page::difference::{LineSet, Words, compare, phrases};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((at, rest)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(rest);
    let at = text.floor_char_boundary(text.len() * usize::from(*at) / 255);
    let (first, second) = text.split_at(at);
    pages(first, second);
    let (first, second) = (Words::of(first), Words::of(second));
    let (one, other) = (compare(&first, &second), compare(&second, &first));
    assert_eq!(one.shared, other.shared);
    assert_eq!(one.own, [other.own[1], other.own[0]]);
    assert!(one.own[0] <= first.len() && one.own[1] <= second.len());
    assert!(one.shared <= first.len().min(second.len()));
    for part in &one.parts {
        assert!(part.first.end <= first.len() && part.second.end <= second.len());
    }
    phrases(&one, [&first, &second], ["one", "other"]);
});

/// Two texts as pages: the first lines are heading and title; lines that begin with a bar are cells.
fn pages(first: &str, second: &str) {
    let page = |text: &str| {
        let mut lines = text.lines();
        let (heading, title) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
        let (cells, text): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.starts_with('|'));
        PageText {
            heading: heading.to_owned(),
            title: title.to_owned(),
            text: text.join("\n"),
            cells: cells.join("\n"),
            outside: LineSet::of(text.iter().rev().take(2).copied()),
        }
    };
    let (one, other) = (page(first), page(second));
    assert_eq!(PageText::decode(&one.encode()).as_ref(), Some(&one));
    let (one, other) = (Compared::new(one), Compared::new(other));
    assert!(compare_pages(&one, &one, false).same());
    let there = compare_pages(&one, &other, true);
    assert_eq!(there.reason, compare_pages(&other, &one, true).reason);
    there.phrases(&one, &other, ["one", "other"]);
    PageText::decode(first.as_bytes());
}
