//! Questions whose answers are folded: the button that opens an answer, and the hidden answer.

use std::collections::HashSet;
use std::hash::BuildHasher;

use ego_tree::NodeRef;
use foldhash::fast::{FixedState, RandomState};
use scraper::Node;
use scraper::node::Element;

use crate::class_words::{Marks, Names};

/// Maximum number of nodes that are read of a button, and of bytes of its text.
const MAX_NODES: usize = 32;
const MAX_BYTES: usize = 400;
/// A button with this number of words names a section. Shorter ones ("Open menu") are commands.
const LEAST_WORDS: usize = 3;
/// Maximum number of answers of a page; the FAQ with the most known entries has some hundred.
const MAX_ANSWERS: usize = 4096;

/// Returns whether a button opens an answer: it says that it opens something, and its text is a question or has at
/// least three words.
///
/// # Complexity
/// Constant: it reads at most 32 nodes.
pub(crate) fn is_question_button(element: &Element, node: NodeRef<'_, Node>) -> bool {
    let opens = element.attrs().any(|(name, value)| match name {
        "aria-expanded" | "aria-controls" => true,
        "data-toggle" | "data-bs-toggle" => value == "collapse",
        _ => false,
    });
    let class = element.attr("class").unwrap_or_default();
    if !opens && !Names::of(class, "").marks().has(Marks::FOLD) {
        return false;
    }
    let mut text = String::new();
    for node in node.descendants().take(MAX_NODES) {
        if let Some(part) = node.value().as_text()
            && text.len() < MAX_BYTES
        {
            text.push_str(part);
            text.push(' ');
        }
    }
    let text = text.trim();
    let wide = text.chars().filter(|c| !c.is_ascii()).count() / 2;
    text.ends_with(['?', '？', '؟', ';'])
        || text.split_whitespace().count().max(wide) >= LEAST_WORDS
}

/// The ids of the answers that buttons open.
#[derive(Debug, Default)]
pub(crate) struct Folds(HashSet<u64, RandomState>);

impl Folds {
    /// Adds the elements that a button controls.
    pub(crate) fn controls(&mut self, button: &Element) {
        let ids = button.attr("aria-controls").into_iter();
        let targets = ["data-target", "data-bs-target"].into_iter();
        let targets = targets.filter_map(|name| button.attr(name)?.strip_prefix('#'));
        for id in ids.chain(targets).filter(|id| !id.is_empty()) {
            if self.0.len() < MAX_ANSWERS {
                self.0.insert(FixedState::default().hash_one(id));
            }
        }
    }

    /// Returns whether a button before opens the element with this id.
    pub(crate) fn has(&self, id: &str) -> bool {
        !self.0.is_empty() && self.0.contains(&FixedState::default().hash_one(id))
    }
}
