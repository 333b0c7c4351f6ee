//! Questions whose answers are folded: the button that opens an answer, and the hidden answer.

use std::collections::HashSet;
use std::hash::BuildHasher;

use ego_tree::{NodeId, NodeRef};
use foldhash::fast::{FixedState, RandomState};
use scraper::Node;
use scraper::node::Element;

use crate::class_words::{Marks, Names};
use crate::elements::{Attributes, attribute};

/// Maximum number of nodes that are read of a button, and of bytes of its text.
const MAX_NODES: usize = 32;
const MAX_BYTES: usize = 400;
/// A button with this number of words names a section. Shorter ones ("Open menu") are commands.
const LEAST_WORDS: usize = 3;
/// Maximum number of answers of a page; the FAQ with the most known entries has some hundred.
const MAX_ANSWERS: usize = 4096;

/// Maximum number of texts and comments between a question and its answer.
const MAX_BETWEEN: usize = 4;
/// How many ancestors of a question its answer may follow.
const ABOVE: usize = 2;

/// Returns whether a button opens an answer: it says that it opens something, and its text is a question or has at
/// least three words.
///
/// # Complexity
/// Constant: it reads at most 32 nodes.
pub(crate) fn is_question_button(element: &Element, node: NodeRef<'_, Node>) -> bool {
    (says_that_it_opens(element) || names_fold(element)) && is_question(node)
}

/// Returns whether a class names an accordion or an FAQ.
fn names_fold(element: &Element) -> bool {
    let class = attribute(element, "class").unwrap_or_default();
    Names::of(class, "").marks().has(Marks::FOLD)
}

fn is_button(element: &Element) -> bool {
    attribute(element, "role") == Some("button")
}

fn says_that_it_opens(element: &Element) -> bool {
    Attributes::of(element).opens
}

/// Returns whether a text is a question or has at least three words.
fn is_question(node: NodeRef<'_, Node>) -> bool {
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

/// Parts of names of elements with the rest of a text.
const REST: [&str; 4] = ["more-", "more_", "moretext", "spoiler"];

/// Returns whether an element has the rest of a text, which a reader opens.
pub(crate) fn unfolds(attributes: &Attributes<'_>) -> bool {
    [attributes.class, attributes.id]
        .into_iter()
        .any(|names| names == "more" || REST.iter().any(|part| names.contains(part)))
}

/// The answers that buttons and other questions open.
#[derive(Debug, Default)]
pub(crate) struct Folds {
    /// Hashes of the ids of the answers.
    ids: HashSet<u64, RandomState>,
    /// The last question that names no answer, and its nearest ancestors: the answer follows one of them.
    last: [Option<NodeId>; ABOVE + 1],
}

impl Folds {
    /// Returns whether an element other than a button opens an answer: a link, a term or a box with the role of a button,
    /// or a link to nowhere within one, which may say it only by its class. Adds the answer.
    pub(crate) fn opens(
        &mut self,
        element: &Element,
        says_so: bool,
        node: NodeRef<'_, Node>,
    ) -> bool {
        if !says_so && element.name() == "a" && attribute(element, "href").is_none() {
            let parent = node.parent();
            let parent = parent.as_ref().and_then(|parent| parent.value().as_element());
            let is_opened = |parent: &Element| {
                parent.name() != "button"
                    && (says_that_it_opens(parent) || names_fold(element) && is_button(parent))
            };
            if parent.is_some_and(is_opened) {
                return is_question(node);
            }
        }
        let opens = says_so && element.name() != "button" && is_question(node);
        if opens {
            self.controls(element, node);
        }
        opens
    }

    /// Adds the elements that a question controls.
    pub(crate) fn controls(&mut self, question: &Element, node: NodeRef<'_, Node>) {
        let ids = attribute(question, "aria-controls").into_iter();
        let targets = ["data-target", "data-bs-target", "href"].into_iter();
        let targets = targets.filter_map(|name| attribute(question, name)?.strip_prefix('#'));
        let mut named = false;
        for id in ids.chain(targets).filter(|id| !id.is_empty()) {
            named = true;
            if self.ids.len() < MAX_ANSWERS {
                self.ids.insert(FixedState::default().hash_one(id));
            }
        }
        if !named {
            let mut nodes = std::iter::once(node).chain(node.ancestors());
            self.last = std::array::from_fn(|_| nodes.next().map(|node| node.id()));
        }
    }

    /// Returns whether a question before opens the element with this id.
    pub(crate) fn has(&self, id: &str) -> bool {
        !self.ids.is_empty() && self.ids.contains(&FixedState::default().hash_one(id))
    }

    /// Returns whether an element follows the last question that names no answer.
    pub(crate) fn follows(&self, node: NodeRef<'_, Node>) -> bool {
        let mut before = node.prev_siblings().take(MAX_BETWEEN);
        let before = before.find(|node| node.value().is_element());
        before.is_some_and(|before| self.last.contains(&Some(before.id())))
    }
}
