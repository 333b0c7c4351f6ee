//! Finds footnotes: references and the texts that they lead to.

use std::collections::{HashMap, HashSet};

use ego_tree::iter::Edge;
use ego_tree::{NodeId, NodeRef};
use foldhash::fast::FixedState;
use scraper::node::Element;
use scraper::{Html, Node};

use super::input::State;
use crate::elements::attribute;
use crate::trace::Trace;

/// Longest mark of a reference, such as `[note 12]`, in bytes.
const MAX_MARK: usize = 12;
/// Number of nodes of a reference that are read.
const MAX_NODES: usize = 12;
/// Longest text of a note in bytes. Longer ones are parts of the page.
const MAX_NOTE: usize = 8_192;
/// Maximum number of references of a page.
const MAX_REFERENCES: usize = 10_000;
/// How far above a reference the element with its brackets may be.
const DEPTH: usize = 3;

/// The footnotes of a page.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// The outermost element of each reference, with the number of its note; `None` if the note is not kept.
    pub(super) references: HashMap<NodeId, Option<u32>, FixedState>,
    /// The elements of the notes.
    pub(super) texts: HashMap<NodeId, u32, FixedState>,
    /// The ids of references, to which notes lead back.
    back: HashSet<String, FixedState>,
}

struct Reference<'a> {
    outermost: NodeId,
    target: &'a str,
    /// Number of elements before it.
    at: usize,
}

/// A note that may be one.
struct Candidate {
    element: NodeId,
    number: u32,
    bytes: usize,
}

impl Notes {
    /// Finds the footnotes whose text is kept.
    ///
    /// # Complexity
    /// Linear in the tree; pages without references are walked once.
    pub(super) fn of(html: &Html, trace: &Trace, states: &[State]) -> Self {
        let references = references(html);
        let mut notes = Self::default();
        if references.is_empty() {
            return notes;
        }
        let mut targets: HashMap<&str, (usize, u32), FixedState> = HashMap::default();
        for reference in &references {
            let number = targets.len() as u32 + 1;
            targets.entry(reference.target).or_insert((reference.at, number));
        }
        let found = texts(html, trace, states, &targets);
        // Numbers in the order of the references, without gaps.
        let mut numbers: HashMap<u32, u32, FixedState> = HashMap::default();
        for reference in &references {
            let known = targets.get(reference.target).map(|(_, number)| *number);
            let known = known.filter(|number| found.numbers.contains(number));
            let next = numbers.len() as u32 + 1;
            let number = known.map(|known| *numbers.entry(known).or_insert(next));
            notes.references.insert(reference.outermost, number);
            let node = html.tree.get(reference.outermost);
            for node in node.into_iter().flat_map(|node| node.descendants().take(MAX_NODES)) {
                notes.back.extend(
                    node.value().as_element().and_then(|e| attribute(e, "id")).map(str::to_owned),
                );
            }
        }
        for (element, number) in found.by_element {
            if let Some(number) = numbers.get(&number) {
                notes.texts.insert(element, *number);
            }
        }
        notes
    }

    /// Returns the number of the note that an element contains.
    pub(super) fn text(&self, node: NodeId) -> Option<u32> {
        // Most pages have no notes.
        if self.texts.is_empty() { None } else { self.texts.get(&node).copied() }
    }

    /// Returns the number of the note that an element refers to, and `Some(None)` if that note is not kept.
    pub(super) fn reference(&self, node: NodeId) -> Option<Option<u32>> {
        if self.references.is_empty() { None } else { self.references.get(&node).copied() }
    }

    /// Returns whether a link in a note leads back to its reference.
    pub(super) fn leads_back(&self, element: &Element) -> bool {
        let class = attribute(element, "class").unwrap_or_default();
        let target = attribute(element, "href").and_then(|href| href.strip_prefix('#'));
        ["backref", "backlink", "reversefootnote"].iter().any(|name| class.contains(name))
            || attribute(element, "role") == Some("doc-backlink")
            || target.is_some_and(|target| self.back.contains(target))
    }
}

/// The notes with kept text, and their provisional numbers.
#[derive(Default)]
struct Found {
    by_element: HashMap<NodeId, u32, FixedState>,
    numbers: HashSet<u32, FixedState>,
}

/// Returns the links that look like references, in document order.
fn references(html: &Html) -> Vec<Reference<'_>> {
    let mut found = Vec::new();
    for (at, node) in html.tree.root().descendants().enumerate() {
        let Some(element) = node.value().as_element().filter(|element| element.name() == "a")
        else {
            continue;
        };
        let target = attribute(element, "href").and_then(|href| href.trim().strip_prefix('#'));
        let Some(target) = target.filter(|target| !target.is_empty()) else { continue };
        let parent = node.parent().and_then(|parent| parent.value().as_element());
        let class = attribute(element, "class").unwrap_or_default();
        let is_above = parent.is_some_and(|parent| parent.name() == "sup")
            || node
                .children()
                .any(|child| child.value().as_element().is_some_and(|child| child.name() == "sup"));
        let is_named = class.contains("footnote-ref")
            || class.contains("noteref")
            || attribute(element, "role") == Some("doc-noteref");
        if !is_above && !is_named || found.len() >= MAX_REFERENCES {
            continue;
        }
        let mark = text_of(node, MAX_NODES, MAX_MARK + 1);
        if !mark.trim().is_empty() && mark.len() <= MAX_MARK {
            found.push(Reference { outermost: outermost(node), target, at });
        }
    }
    found
}

/// Returns the element with the brackets around a reference.
fn outermost(node: NodeRef<'_, Node>) -> NodeId {
    let mut outermost = node.id();
    for above in node.ancestors().take(DEPTH) {
        let Some(element) = above.value().as_element() else { break };
        let is_part = matches!(element.name(), "sup" | "span" | "cite");
        let links = above.descendants().take(MAX_NODES + 1);
        let links = links.filter(|node| node.value().as_element().is_some_and(|e| e.name() == "a"));
        if !is_part
            || links.count() != 1
            || text_of(above, MAX_NODES + 1, MAX_MARK + 1).len() > MAX_MARK
        {
            break;
        }
        outermost = above.id();
    }
    outermost
}

/// Returns the text of a node, from its first `nodes` nodes and up to about `bytes` bytes.
pub(super) fn text_of(node: NodeRef<'_, Node>, nodes: usize, bytes: usize) -> String {
    let mut text = String::new();
    for node in node.descendants().take(nodes) {
        if let Some(part) = node.value().as_text() {
            let room = bytes.saturating_sub(text.len());
            text.push_str(part.get(..part.floor_char_boundary(room)).unwrap_or_default());
        }
    }
    text
}

/// Returns the elements with these ids that have kept text and come after their reference.
fn texts(
    html: &Html,
    trace: &Trace,
    states: &[State],
    targets: &HashMap<&str, (usize, u32), FixedState>,
) -> Found {
    let mut found = Found::default();
    let mut spans = trace.spans().iter().peekable();
    let mut open: Vec<Candidate> = Vec::new();
    let mut at = 0;
    for edge in html.tree.root().traverse() {
        match edge {
            Edge::Open(node) => {
                let span = spans.next_if(|span| span.node == node.id());
                if let (Some(span), Some(text)) = (span, node.value().as_text())
                    && states.get(span.block as usize).is_some_and(|s| *s != State::Dropped)
                {
                    open.iter_mut().for_each(|candidate| candidate.bytes += text.trim().len());
                }
                let id = node.value().as_element().and_then(|element| attribute(element, "id"));
                if let Some((after, number)) = id.and_then(|id| targets.get(id))
                    && at > *after
                    && !found.numbers.contains(number)
                    && let Some(element) = holder(node)
                    && !open.iter().any(|candidate| candidate.element == element)
                    && open.len() < DEPTH
                {
                    open.push(Candidate { element, number: *number, bytes: 0 });
                }
                at += 1;
            }
            Edge::Close(node) => {
                while let Some(last) = open.pop_if(|last| last.element == node.id()) {
                    if (1..=MAX_NOTE).contains(&last.bytes)
                        && !found.by_element.contains_key(&last.element)
                    {
                        found.numbers.insert(last.number);
                        found.by_element.insert(last.element, last.number);
                    }
                }
            }
        }
    }
    found
}

/// Returns the block of a note: the element with its id, or the one around it.
fn holder(node: NodeRef<'_, Node>) -> Option<NodeId> {
    for node in std::iter::once(node).chain(node.ancestors()).take(DEPTH + 1) {
        let element = node.value().as_element()?;
        match element.name() {
            "li" | "p" | "dd" | "div" | "aside" => return Some(node.id()),
            "a" | "span" | "sup" | "b" | "i" | "em" | "strong" | "small" | "cite" => {}
            _ => return None,
        }
    }
    None
}
