//! Finds footnotes: references and the texts that they lead to.

use std::collections::{HashMap, HashSet};

use ego_tree::iter::Edge;
use ego_tree::{NodeId, NodeRef};
use foldhash::fast::FixedState;
use scraper::node::Element;
use scraper::{Html, Node};
use url::{Position, Url};

use super::ahead::Ahead;
use super::input::{Elements, State};
use crate::elements::attribute;
use crate::trace::Trace;

/// Longest mark of a reference, such as `[note 12]`, in bytes.
pub(super) const MAX_MARK: usize = 12;
/// Number of nodes of a reference that are read.
pub(super) const MAX_NODES: usize = 12;
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
    /// Linear in the tree, and in the elements with kept text if none of them is a reference, as on most pages.
    pub(super) fn of(elements: &Elements, states: &[State], ahead: &Ahead) -> Self {
        let Elements { html, trace, base, .. } = elements;
        let mut notes = Self::default();
        let kept = ahead.above.iter().filter_map(|id| html.tree.get(*id));
        if !kept.into_iter().any(|node| referred(node, base).is_some()) {
            return notes;
        }
        let references = references(html, base);
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
                let ids = node.value().as_element().map(anchors).into_iter().flatten();
                notes.back.extend(ids.map(str::to_owned));
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
    pub(super) fn leads_back(&self, element: &Element, base: &Url) -> bool {
        let class = attribute(element, "class").unwrap_or_default();
        let href = attribute(element, "href").unwrap_or_default();
        let Some(target) = fragment(href, base) else { return false };
        ["backref", "backlink", "reversefootnote"].iter().any(|name| class.contains(name))
            || attribute(element, "role") == Some("doc-backlink")
            || self.back.contains(target)
    }
}

/// The notes with kept text, and their provisional numbers.
#[derive(Default)]
struct Found {
    by_element: HashMap<NodeId, u32, FixedState>,
    numbers: HashSet<u32, FixedState>,
}

/// Returns the links that look like references, in document order.
fn references<'a>(html: &'a Html, base: &Url) -> Vec<Reference<'a>> {
    let mut found = Vec::new();
    for (at, node) in html.tree.root().descendants().enumerate() {
        if found.len() >= MAX_REFERENCES {
            break;
        }
        if let Some(target) = referred(node, base) {
            found.push(Reference { outermost: outermost(node), target, at });
        }
    }
    found
}

/// Returns the place that a link leads to if it looks like a reference.
fn referred<'a>(node: NodeRef<'a, Node>, base: &Url) -> Option<&'a str> {
    let element = node.value().as_element().filter(|element| element.name() == "a")?;
    let href = attribute(element, "href").filter(|href| href.contains('#'))?;
    let mark = text_of(node, MAX_NODES, MAX_MARK + 1);
    if mark.trim().is_empty() || mark.len() > MAX_MARK {
        return None;
    }
    let is_raised =
        |node: NodeRef<'_, Node>| node.value().as_element().is_some_and(|e| e.name() == "sup");
    let class = attribute(element, "class").unwrap_or_default();
    let is_marked = is_in_brackets(&mark)
        || node.parent().is_some_and(is_raised)
        || node.children().any(is_raised)
        || class.contains("footnote-ref")
        || class.contains("noteref")
        || attribute(element, "role") == Some("doc-noteref");
    if !is_marked {
        return None;
    }
    fragment(href, base).filter(|target| !target.is_empty())
}

/// Returns the place on the same page to which a link leads.
fn fragment<'a>(href: &'a str, base: &Url) -> Option<&'a str> {
    let (page, target) = href.trim().split_once('#')?;
    let is_same = |url: Url| url[..Position::AfterQuery] == base[..Position::AfterQuery];
    (page.is_empty() || base.join(page).is_ok_and(is_same)).then_some(target)
}

/// Returns the names by which links can lead to an element.
fn anchors(element: &Element) -> impl Iterator<Item = &str> {
    let name = attribute(element, "name").filter(|_| element.name() == "a");
    attribute(element, "id").into_iter().chain(name)
}

/// Returns whether a text is the mark of a reference: `[12]`.
fn is_in_brackets(text: &str) -> bool {
    let inner = text.trim().strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    inner.is_some_and(|inner| {
        (1..=3).contains(&inner.len()) && inner.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Returns whether a raised text is the mark of a note: a number, a letter or signs, also in brackets.
pub(super) fn is_mark(text: &str) -> bool {
    let mark = text.trim().trim_matches(['[', ']', '(', ')', '.', ' ']);
    let length = mark.chars().count();
    let is_sign = |c: char| matches!(c, '*' | '†' | '‡' | '§' | '¶' | '#');
    length == 1 && mark.chars().all(char::is_alphanumeric)
        || (1..=3).contains(&length)
            && (mark.bytes().all(|byte| byte.is_ascii_digit()) || mark.chars().all(is_sign))
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
                let mut ids = node.value().as_element().map(anchors).into_iter().flatten();
                if let Some((after, number)) = ids.find_map(|id| targets.get(id))
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
