//! HTML parsing within limits, into scraper's tree.

use std::borrow::Cow;
use std::cell::{Cell, Ref};
use std::time::{Duration, Instant};

use ego_tree::{NodeId, Tree};
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use html5ever::tree_builder::{
    ElementFlags, NodeOrText, QuirksMode, TreeBuilder, TreeBuilderOpts, TreeSink,
};
use html5ever::{Attribute, QualName, TokenizerResult};
use scraper::{Html, HtmlTreeSink, Node};

use crate::plain_markup;
use crate::supply::{Raw, Supply};

/// Limits of one page's parse. html5ever is quadratic in depth: nested `<div>` alone could take half a minute.
#[derive(Clone, Debug)]
pub struct ParseLimits {
    /// Maximum depth of nested elements, the same as in browsers. Default 512.
    pub max_depth: usize,
    /// Maximum number of tree nodes. Default 500,000.
    pub max_nodes: usize,
    /// Maximum number of attributes kept per element. Default 256.
    pub max_attributes: usize,
    /// Maximum parse time. Default 2 s.
    pub max_time: Duration,
}

impl Default for ParseLimits {
    fn default() -> Self {
        Self {
            max_depth: 512,
            max_nodes: 500_000,
            max_attributes: 256,
            max_time: Duration::from_secs(2),
        }
    }
}

/// The limit that cut a page short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truncation {
    /// [`ParseLimits::max_depth`].
    Depth,
    /// [`ParseLimits::max_nodes`].
    Nodes,
    /// [`ParseLimits::max_time`].
    Time,
}

impl Truncation {
    /// Returns the cause in words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Depth => "cut short: elements nested too deeply",
            Self::Nodes => "cut short: too many nodes",
            Self::Time => "cut short: it took too long",
        }
    }
}

/// Bytes of input, or new nodes, between two checks of the limits: each paragraph reopens all formatting elements.
const PIECE: usize = 16_384;
/// Tokens between two checks of the clock: one token may traverse all open elements.
const CLOCK_TOKENS: u32 = 8;
/// Maximum number of attributes of all elements. Copies in reopened formatting elements could take gigabytes.
const MAX_ALL_ATTRIBUTES: usize = 2_000_000;

/// Elements that XHTML can close in the start tag (`<script/>`), while HTML waits for an end tag.
const CLOSED: [&str; 18] = [
    "script", "style", "title", "textarea", "template", "iframe", "noframes", "a", "div", "p",
    "span", "i", "b", "em", "strong", "td", "th", "li",
];

/// [`parse_as`], as XHTML if the text begins with an XML declaration.
pub(crate) fn parse(text: &str, limits: &ParseLimits) -> (Html, Option<Truncation>) {
    parse_as(text, limits, is_xml(text))
}

pub(crate) fn is_xml(text: &str) -> bool {
    text.trim_start().starts_with("<?xml")
}

/// Returns whether this tag closes its element in XHTML, but not in HTML.
pub(crate) fn is_closed(tag: &Tag) -> bool {
    tag.self_closing && tag.kind == TagKind::StartTag && CLOSED.contains(&&*tag.name)
}

/// Parses until the end or the first limit. In XHTML (`xml`), `<script src="x"/>` is a complete element.
pub(crate) fn parse_as(text: &str, limits: &ParseLimits, xml: bool) -> (Html, Option<Truncation>) {
    let sink = CappedSink {
        inner: HtmlTreeSink::new(document_for(text, limits)),
        nodes: Cell::new(0),
        last: Cell::new(None),
        attributes: Cell::new(0),
        max_attributes: limits.max_attributes,
    };
    // No scripts run here, so the content of `<noscript>` is part of the page.
    let options = TreeBuilderOpts { scripting_enabled: false, ..Default::default() };
    let started = Instant::now();
    let supply = Supply::new(text);
    let gate = Gate {
        supply: &supply,
        xml,
        builder: TreeBuilder::new(sink, options),
        limits,
        started,
        tokens: Cell::new(0),
        looked: Cell::new(0),
        closed: Cell::new(None),
    };
    let tokenizer = Tokenizer::new(gate, TokenizerOpts::default());
    let mut truncated = None;
    while let Some(input) = supply.piece(PIECE) {
        // The tokenizer stops at scripts and declared encodings. Neither matters here: continue.
        while !matches!(tokenizer.feed(input), TokenizerResult::Done) {}
        let gate = &tokenizer.sink;
        gate.looked.set(gate.builder.sink.nodes.get());
        truncated = gate.closed.get().or_else(|| gate.builder.sink.exceeded(limits, started));
        if truncated.is_some() {
            break;
        }
    }
    tokenizer.end();
    (tokenizer.sink.builder.sink.finish(), truncated)
}

/// Returns an empty document with space for the nodes of `text`: a tree that grows is copied several times.
fn document_for(text: &str, limits: &ParseLimits) -> Html {
    // An element has two tags, and mostly a text.
    let tags = memchr::memchr_iter(b'<', text.as_bytes()).count();
    let nodes = (tags + tags / 8 + 16).min(limits.max_nodes);
    let mut html = Html::new_document();
    html.tree = Tree::with_capacity(Node::Document, nodes);
    html
}

/// Passes tokens to the tree builder until a limit is reached within a piece.
struct Gate<'a> {
    supply: &'a Supply<'a>,
    xml: bool,
    builder: TreeBuilder<NodeId, CappedSink>,
    limits: &'a ParseLimits,
    started: Instant,
    tokens: Cell<u32>,
    /// Number of nodes at the last check of the limits.
    looked: Cell<usize>,
    closed: Cell<Option<Truncation>>,
}

impl TokenSink for Gate<'_> {
    type Handle = NodeId;

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<NodeId> {
        let tag = matches!(token, Token::TagToken(_));
        let mut result = self.pass(token, line);
        if tag && matches!(result, TokenSinkResult::Continue) {
            // The tokenizer is between two tokens, so plain markup can bypass it.
            self.supply.skip_within_piece(|piece| {
                let mut at = 0;
                let mut attributes = Vec::new();
                while self.closed.get().is_none()
                    && matches!(result, TokenSinkResult::Continue)
                    && let Some((token, length)) = plain_markup::token(piece, at, &mut attributes)
                {
                    at += length;
                    result = self.pass(token, line);
                }
                at
            });
        }
        result
    }

    fn end(&self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.builder.adjusted_current_node_present_but_not_in_html_namespace()
    }
}

impl Gate<'_> {
    fn pass(&self, mut token: Token, line: u64) -> TokenSinkResult<NodeId> {
        if self.closed.get().is_some() && !matches!(token, Token::EOFToken) {
            return TokenSinkResult::Continue;
        }
        let mut raw = None;
        let mut end = None;
        if let Token::TagToken(tag) = &mut token {
            // Not only in the sink: the builder compares formatting elements by their attributes.
            tag.attrs.truncate(self.limits.max_attributes);
            if self.xml && is_closed(tag) {
                let attrs = Vec::new();
                end =
                    Some(Tag { kind: TagKind::EndTag, self_closing: false, attrs, ..tag.clone() });
            } else {
                raw = Raw::of(tag);
            }
        }
        let mut result = self.builder.process_token(token, line);
        if let Some(end) = end {
            let _ = self.builder.process_token(Token::TagToken(end), line);
            result = TokenSinkResult::Continue;
        }
        // Inside SVG, the content of a style element is not raw text.
        if let (Some(raw), TokenSinkResult::RawData(_)) = (raw, &result) {
            self.supply.skip(raw);
        }
        let tokens = self.tokens.get().wrapping_add(1);
        self.tokens.set(tokens);
        let sink = &self.builder.sink;
        // A tag creates at most one node per open formatting element.
        if sink.nodes.get() - self.looked.get() > PIECE {
            self.looked.set(sink.nodes.get());
            self.closed.set(sink.exceeded(self.limits, self.started));
        } else if tokens.is_multiple_of(CLOCK_TOKENS)
            && self.started.elapsed() > self.limits.max_time
        {
            self.closed.set(Some(Truncation::Time));
        }
        result
    }
}

struct CappedSink {
    inner: HtmlTreeSink,
    nodes: Cell<usize>,
    /// The last new element that was appended.
    last: Cell<Option<NodeId>>,
    /// Total of all elements.
    attributes: Cell<usize>,
    max_attributes: usize,
}

impl CappedSink {
    fn exceeded(&self, limits: &ParseLimits, started: Instant) -> Option<Truncation> {
        if self.nodes.get() > limits.max_nodes {
            return Some(Truncation::Nodes);
        }
        if started.elapsed() > limits.max_time {
            return Some(Truncation::Time);
        }
        let html = self.inner.0.borrow();
        let last = self.last.get().and_then(|id| html.tree.get(id))?;
        (last.ancestors().take(limits.max_depth + 1).count() > limits.max_depth)
            .then_some(Truncation::Depth)
    }

    fn count(&self, child: &NodeOrText<NodeId>) {
        self.nodes.set(self.nodes.get() + 1);
        // Only a new element shows the depth: comments may be appended at the top, and moved elements bring children.
        if let NodeOrText::AppendNode(id) = child
            && (self.inner.0.borrow().tree.get(*id))
                .is_some_and(|node| node.value().is_element() && !node.has_children())
        {
            self.last.set(Some(*id));
        }
    }

    /// Returns how many more attributes an element with `has` attributes may get.
    fn room(&self, has: usize) -> usize {
        let all = MAX_ALL_ATTRIBUTES.saturating_sub(self.attributes.get());
        self.max_attributes.saturating_sub(has).min(all)
    }
}

impl TreeSink for CappedSink {
    type Output = Html;
    type Handle = NodeId;
    type ElemName<'a> = Ref<'a, QualName>;

    fn finish(self) -> Html {
        self.inner.finish()
    }
    fn parse_error(&self, _: Cow<'static, str>) {}
    fn set_quirks_mode(&self, mode: QuirksMode) {
        self.inner.set_quirks_mode(mode);
    }
    fn get_document(&self) -> NodeId {
        self.inner.get_document()
    }
    fn same_node(&self, x: &NodeId, y: &NodeId) -> bool {
        self.inner.same_node(x, y)
    }
    fn elem_name<'a>(&'a self, target: &'a NodeId) -> Ref<'a, QualName> {
        self.inner.elem_name(target)
    }
    fn create_element(
        &self,
        name: QualName,
        mut attrs: Vec<Attribute>,
        flags: ElementFlags,
    ) -> NodeId {
        attrs.truncate(self.room(0));
        self.attributes.set(self.attributes.get() + attrs.len());
        self.inner.create_element(name, attrs, flags)
    }
    fn create_comment(&self, text: StrTendril) -> NodeId {
        self.inner.create_comment(text)
    }
    fn create_pi(&self, target: StrTendril, data: StrTendril) -> NodeId {
        self.inner.create_pi(target, data)
    }
    fn append(&self, parent: &NodeId, child: NodeOrText<NodeId>) {
        self.count(&child);
        self.inner.append(parent, child);
    }
    fn append_based_on_parent_node(
        &self,
        element: &NodeId,
        prev: &NodeId,
        child: NodeOrText<NodeId>,
    ) {
        self.count(&child);
        self.inner.append_based_on_parent_node(element, prev, child);
    }
    fn append_before_sibling(&self, sibling: &NodeId, child: NodeOrText<NodeId>) {
        self.count(&child);
        self.inner.append_before_sibling(sibling, child);
    }
    fn append_doctype_to_document(&self, name: StrTendril, public: StrTendril, system: StrTendril) {
        self.inner.append_doctype_to_document(name, public, system);
    }
    fn remove_from_parent(&self, target: &NodeId) {
        self.inner.remove_from_parent(target);
    }
    fn reparent_children(&self, node: &NodeId, new_parent: &NodeId) {
        self.inner.reparent_children(node, new_parent);
    }
    fn add_attrs_if_missing(&self, target: &NodeId, mut attrs: Vec<Attribute>) {
        // Each further `<html>` or `<body>` adds its attributes to the first.
        let has = {
            let html = self.inner.0.borrow();
            let element = html.tree.get(*target).and_then(|node| node.value().as_element());
            element.map_or(0, |element| element.attrs.len())
        };
        attrs.truncate(self.room(has));
        self.attributes.set(self.attributes.get() + attrs.len());
        self.inner.add_attrs_if_missing(target, attrs);
    }
    fn get_template_contents(&self, target: &NodeId) -> NodeId {
        self.inner.get_template_contents(target)
    }
    fn mark_script_already_started(&self, node: &NodeId) {
        self.inner.mark_script_already_started(node);
    }
    fn is_mathml_annotation_xml_integration_point(&self, handle: &NodeId) -> bool {
        self.inner.is_mathml_annotation_xml_integration_point(handle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Distinct formatting elements, which each later paragraph reopens.
    fn formatting(from: usize, count: usize) -> String {
        (from..from + count).map(|i| format!("<b a{i}>")).collect()
    }

    #[test]
    fn hostile_pages_are_cut_in_time() {
        let started = Instant::now();
        // Each piece ends where the tree is flat, so its depth is not over the limit.
        let grown: String = (0..20)
            .map(|i| {
                let part = format!("<p>{}", formatting(i * 1500, 1500));
                let end = "</p><hr>";
                format!("{part}{}{end}", " ".repeat(PIECE.saturating_sub(part.len() + end.len())))
            })
            .collect();
        let few = format!("<p>{}", formatting(0, 400));
        // Each piece ends with a comment at the top, and the next one continues at depth.
        let (part, end) = ("<div>".repeat(3000), "</body><!---->");
        let hidden = format!("{part}{}{end}", " ".repeat(PIECE - part.len() - end.len())).repeat(3);
        // The same with an element that is moved to the top with its children.
        let end = "</b>";
        let piece = |start: &str| {
            let room = PIECE - start.len() - part.len() - end.len();
            format!("{start}{part}{}{end}", " ".repeat(room))
        };
        let moved = piece("<b>") + &piece("").repeat(2);
        for (page, expected) in [
            ("<div>".repeat(64_000), Some(Truncation::Depth)),
            (moved, Some(Truncation::Depth)),
            ("<ul><li>".repeat(64_000), Some(Truncation::Depth)),
            ("<br>".repeat(600_000), Some(Truncation::Nodes)),
            ("<p>text</p>".repeat(1000), None),
            (format!("<p>{}{}", formatting(0, 1000), "<p>x".repeat(2000)), Some(Truncation::Depth)),
            (hidden, Some(Truncation::Depth)),
            (format!("{few}{}", "<p>x".repeat(3000)), Some(Truncation::Nodes)),
            (format!("{grown}{}", "<p>x".repeat(9000)), Some(Truncation::Depth)),
        ] {
            let (html, truncated) = parse(&page, &ParseLimits::default());
            // A slow machine may run out of time first.
            let slow = expected.is_some() && truncated == Some(Truncation::Time);
            assert!(truncated == expected || slow, "{truncated:?}: {}", &page[..20]);
            let nodes = html.tree.values().count();
            assert!(nodes < ParseLimits::default().max_nodes + 2 * PIECE, "{nodes} nodes");
        }
        // Generous, because machines are slow under load. Without the limits this takes minutes.
        assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
    }

    #[test]
    fn attributes_are_cut_wherever_they_come_from() {
        // A slow machine must not run out of time first.
        let limits = ParseLimits { max_time: Duration::from_secs(600), ..ParseLimits::default() };
        let counts = |page: &str| -> Vec<usize> {
            let (html, _) = parse(page, &limits);
            html.tree.values().filter_map(|n| n.as_element()).map(|e| e.attrs().count()).collect()
        };
        let many = |from: usize, count: usize| -> String {
            (from..from + count).map(|i| format!(" a{i}=1")).collect()
        };
        let of_one = counts(&format!("<p{}>x", many(0, 20_000)));
        assert_eq!(of_one.into_iter().max(), Some(256));
        let merged: String = (0..9).map(|i| format!("<body{}>", many(i * 200, 200))).collect();
        assert_eq!(counts(&merged).into_iter().max(), Some(256));
        let again: String = (0..99).map(|i| format!("<b{}>", many(i, 256))).collect();
        let of_all: usize = counts(&format!("<p>{again}{}", "<p>x".repeat(400))).iter().sum();
        assert_eq!(of_all, MAX_ALL_ATTRIBUTES);
    }

    #[test]
    fn a_page_in_many_pieces_is_parsed_whole() {
        let page = format!("<p>{}</p><p id=last>end</p>", "词语 word ".repeat(5000));
        let (html, truncated) = parse(&page, &ParseLimits::default());
        assert_eq!(truncated, None);
        let text: usize = html.root_element().text().map(str::len).sum();
        assert_eq!(text, "词语 word ".len() * 5000 + 3);
    }
}
