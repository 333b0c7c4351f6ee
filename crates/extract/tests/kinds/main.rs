//! Kinds of pages whose text is easily lost: each kind has several pages, all written for these tests.

#![expect(clippy::expect_used, reason = "a test that cannot go on ends")]

mod boxes;
mod code;
mod faq;
mod headings;
mod lists;
mod lyrics;
mod shown;
mod streams;

use std::collections::HashMap;

use hapax_extract::{Document, Limits, extract};
use url::Url;

/// Paragraphs about unrelated things, as the text of pages.
const PROSE: [&str; 8] = [
    "The ferry to the northern islands leaves from the old pier at seven in the morning, and in winter it waits until \
     the ice breaker has come back. Passengers who bring a bicycle pay nothing more, but they have to tell the crew \
     before they go on board.",
    "Our bakery was built beside the mill because flour was heavy and roads were bad. When the railway came, nobody \
     needed the mill any longer, yet people from the valley still walk up the hill on Saturdays for a loaf that has \
     been in the oven since midnight.",
    "A pond of this size needs no pump if it has enough plants at its edge. Rushes take up what the leaves of autumn \
     leave behind, and after two summers the water is so clear that you can count the stones at the bottom.",
    "The choir meets every Thursday in the room above the library, which has no piano but a very good echo. Whoever \
     wants to join should come in the first week of a month, because that is when we learn new pieces.",
    "It took the council eleven years to decide where the bridge should stand. By then the ferryman had retired, his \
     house had become a museum, and most of those who had asked for a bridge lived on the other side of the river.",
    "Clay that was dug in spring is kept in a cellar until the next year, since frost would split it. Then it is cut, \
     beaten and turned by hand for an hour, so that no bubble of air is left in it when it comes on the wheel.",
    "The observatory opens its doors on the last Friday of the month. If there are clouds, one of the volunteers \
     explains how the mirror was ground, and the children may turn the dome with the crank that dates from the time \
     before motors.",
    "Nobody knows who planted the pear tree in the yard of the school. It is older than the building, it bears fruit \
     only every other year, and by an old custom the last pear belongs to whoever cleans the gutter.",
];

/// The parts of a page around its text.
const MENU: &str = "<header><a href=/>Harbour Notes</a><ul><li><a href=/news>News</a><li><a href=/shop>Shop</a>\
    <li><a href=/about>About us</a><li><a href=/contact>Contact</a></ul></header>";
const FOOTER: &str = "<footer><p>Copyright 2024 Harbour Notes. All rights reserved.</p><ul><li><a href=/terms>Terms</a>\
    <li><a href=/privacy>Privacy policy</a><li><a href=/jobs>Jobs</a></ul></footer>";

/// Returns a page with a menu and a footer around `body`.
fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html><html lang=en><head><title>{title} - Harbour Notes</title></head><body>{MENU}{body}{FOOTER}\
         </body></html>"
    )
}

/// Returns what is extracted from a page.
fn read(html: &str) -> Document {
    let url = Url::parse("http://www.notes.example/pages/one").expect("an address");
    extract(&url, None, html.as_bytes(), &Limits::default())
}

fn shingles(text: &str) -> HashMap<Vec<&str>, usize> {
    let words: Vec<&str> =
        text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).collect();
    let mut counts = HashMap::new();
    for window in words.windows(4.min(words.len().max(1))) {
        *counts.entry(window.to_vec()).or_default() += 1;
    }
    counts
}

/// Minimum share of the wanted text that is kept.
const LEAST_KEPT: f64 = 0.95;

/// Asserts that a page's text has at least .95 of the runs of four words of `wanted`, and no text of `others`.
#[track_caller]
fn keeps(html: &str, wanted: &[&str], others: &[&str]) -> Document {
    let document = read(html);
    let found = shingles(&document.text);
    let mut all: HashMap<Vec<&str>, usize> = HashMap::new();
    for (run, count) in wanted.iter().flat_map(|text| shingles(text)) {
        *all.entry(run).or_default() += count;
    }
    let shared: usize =
        all.iter().map(|(run, count)| (*count).min(found.get(run).copied().unwrap_or(0))).sum();
    let share = shared as f64 / all.values().sum::<usize>().max(1) as f64;
    let blocks: Vec<String> = document
        .blocks
        .iter()
        .map(|b| format!("{:.2} {:<28} {}", b.chance, b.reason.as_str(), b.text))
        .collect();
    let blocks = blocks.join("\n");
    assert!(share >= LEAST_KEPT, "{share:.3} of the text is kept:\n{blocks}");
    for other in others {
        assert!(!document.text.contains(other), "{other:?} is kept:\n{blocks}");
    }
    document
}
