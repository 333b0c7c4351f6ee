//! Labels of advertisements: lines that only say that an advertisement is beside them.

use crate::blocks::{Page, RawBlock};
use crate::measure::{Measure, is_sentence_mark};

/// Maximum length of a label in bytes.
const MAX_BYTES: usize = 96;

/// Whole lines in lower case, without punctuation at their ends.
const LABELS: [&str; 44] = [
    "ad",
    "advert",
    "advertisement",
    "advertisements",
    "sponsored",
    "article continues below",
    "article continues below advertisement",
    "article continues after advertisement",
    "continue reading below",
    "continues after advertisement",
    "scroll to continue with content",
    "skip advertisement",
    "story continues below",
    "story continues below advertisement",
    "this advertisement has not loaded yet, but your article continues below",
    "anzeige",
    "werbung",
    "der artikel wird unter der anzeige fortgesetzt",
    "weiterlesen nach der anzeige",
    "advertentie",
    "mainos",
    "publicité",
    "la suite après la publicité",
    "la suite après cette publicité",
    "publicidad",
    "publicidade",
    "continua depois da publicidade",
    "continua após a publicidade",
    "pubblicità",
    "continua a leggere dopo la pubblicità",
    "reklama",
    "reklam",
    "reklám",
    "hirdetés",
    "διαφήμιση",
    "реклама",
    "إعلان",
    "פרסומת",
    "विज्ञापन",
    "广告",
    "廣告",
    "広告",
    "スポンサーリンク",
    "광고",
];

/// Maximum number of words of an entry. A label beside one is an entry too: of a dictionary, a budget, a directory.
const MAX_ENTRY: f64 = 4.0;

/// Returns which blocks are only the label of an advertisement. The same words are text in the name of the page, as
/// headings, entries and cells, with a full stop, and beside lines of few words.
///
/// # Complexity
/// Linear in the blocks.
pub(crate) fn labels(page: &Page, measures: &[Measure]) -> Vec<bool> {
    let found: Vec<Option<&str>> = page.blocks.iter().map(|block| label(page, block)).collect();
    if found.iter().all(Option::is_none) {
        return vec![false; found.len()];
    }
    let names = page.blocks.iter().filter(|block| block.heading > 0).map(|block| &block.text);
    let names: String = names.chain([&page.title]).map(|name| spaced(name)).collect();
    let is_label = |at: usize| found.get(at).is_some_and(Option::is_some);
    let shown = |at: &usize| page.blocks.get(*at).is_some_and(|block| !block.hidden);
    let is_beside_entry = |at: usize| {
        let beside = [(0..at).rev().find(shown), (at + 1..found.len()).find(shown)];
        let entry = |at: usize| measures.get(at).is_some_and(|m| m.words < MAX_ENTRY && !m.heading);
        beside.into_iter().flatten().any(|at| entry(at) && !is_label(at))
    };
    let all = found.iter().enumerate();
    all.map(|(at, label)| {
        label.is_some_and(|label| !names.contains(&spaced(label))) && !is_beside_entry(at)
    })
    .collect()
}

/// Returns the words in lower case with a space around each. Without spaces in the script, a run of characters is one.
fn spaced(text: &str) -> String {
    let text = text.to_lowercase();
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    format!(" {} ", words.collect::<Vec<_>>().join(" "))
}

/// Returns the label of which the block consists.
fn label<'l>(page: &Page, block: &RawBlock) -> Option<&'l str> {
    let text = block.text.trim_matches(|c: char| !c.is_alphanumeric() && !is_sentence_mark(c));
    if text.len() > MAX_BYTES || page.is_entry(block) {
        return None;
    }
    let text = text.to_lowercase();
    LABELS.iter().find(|label| **label == text).copied()
}
