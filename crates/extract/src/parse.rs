//! A capped HTML parse through scraper's tree.

use std::borrow::Cow;
use std::cell::{Cell, Ref};
use std::time::{Duration, Instant};

use ego_tree::NodeId;
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::tree_builder::{ElementFlags, NodeOrText, QuirksMode, TreeBuilderOpts, TreeSink};
use html5ever::{Attribute, ParseOpts, QualName};
use scraper::{Html, HtmlTreeSink};

/// Limits of one page's parse. html5ever is quadratic in depth, so a page of nothing but `<div>`
/// would take half a minute without them.
#[derive(Clone, Debug)]
pub struct ParseLimits {
    /// Nested elements; browsers stop at the same number. Default 512.
    pub max_depth: usize,
    /// Nodes of the tree. Default 500,000.
    pub max_nodes: usize,
    /// Attributes kept of one element. Default 256.
    pub max_attributes: usize,
    /// Time. Default 2 s.
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

/// Which limit cut a page short.
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
    /// What happened, in words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Depth => "cut short: elements nested too deeply",
            Self::Nodes => "cut short: too many nodes",
            Self::Time => "cut short: it took too long",
        }
    }
}

/// Between two pieces of input the limits are looked at.
const PIECE: usize = 16_384;

/// Parses until the end or the first limit; what was parsed until then is the tree.
pub(crate) fn parse(text: &str, limits: &ParseLimits) -> (Html, Option<Truncation>) {
    let sink = CappedSink {
        inner: HtmlTreeSink::new(Html::new_document()),
        nodes: Cell::new(0),
        last: Cell::new(None),
        max_attributes: limits.max_attributes,
    };
    // Nothing runs scripts here: what a page says in `<noscript>` is part of it.
    let tree_builder = TreeBuilderOpts { scripting_enabled: false, ..Default::default() };
    let options = ParseOpts { tree_builder, ..Default::default() };
    let mut parser = html5ever::parse_document(sink, options);
    let started = Instant::now();
    let mut truncated = None;
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, later) = rest.split_at(rest.floor_char_boundary(PIECE.min(rest.len())));
        // A piece holds at least one character, for none is longer than PIECE.
        rest = later;
        parser.process(StrTendril::from_slice(piece));
        truncated = parser.tokenizer.sink.sink.exceeded(limits, started);
        if truncated.is_some() {
            break;
        }
    }
    (parser.finish(), truncated)
}

struct CappedSink {
    inner: HtmlTreeSink,
    nodes: Cell<usize>,
    last: Cell<Option<NodeId>>,
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
        if let NodeOrText::AppendNode(id) = child {
            self.last.set(Some(*id));
        }
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
        attrs.truncate(self.max_attributes);
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
    fn add_attrs_if_missing(&self, target: &NodeId, attrs: Vec<Attribute>) {
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

    #[test]
    fn hostile_pages_are_cut_in_time() {
        let started = Instant::now();
        for (page, expected) in [
            ("<div>".repeat(64_000), Some(Truncation::Depth)),
            ("<ul><li>".repeat(64_000), Some(Truncation::Depth)),
            ("<br>".repeat(600_000), Some(Truncation::Nodes)),
            ("<p>text</p>".repeat(1000), None),
        ] {
            let (html, truncated) = parse(&page, &ParseLimits::default());
            assert_eq!(truncated, expected, "{}", &page[..8]);
            drop(html);
        }
        let attributes: String = (0..20_000).map(|i| format!(" a{i}=1")).collect();
        let (html, _) = parse(&format!("<p{attributes}>x"), &ParseLimits::default());
        assert!(
            html.tree
                .values()
                .filter_map(|node| node.as_element())
                .all(|e| e.attrs().count() <= 256)
        );
        // Generous, for machines are slow under load; without the caps this takes minutes.
        assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
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
