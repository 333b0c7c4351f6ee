//! Builds the blocks of Markdown from the elements of a page, in one iterative walk.

use std::collections::HashMap;

use ego_tree::NodeRef;
use ego_tree::iter::Edge;
use foldhash::fast::FixedState;
use scraper::Node;
use scraper::node::Element;
use url::Url;

use super::ahead::Ahead;
use super::code::language;
use super::frame::{Frame, Kind, without_outer_rules};
use super::images::image;
use super::input::{Elements, MarkdownLimits, State};
use super::notes::{MAX_MARK, MAX_NODES, Notes, is_mark, text_of};
use super::run::Growing;
use super::table::{CellShape, Grid, is_data};
use super::tree::{Block, List, Mark, Marks, What};
use crate::addresses::join_in;
use crate::elements::{Role, attribute, heading_level, is_custom, role};

/// Builds the blocks.
///
/// # Complexity
/// Linear in the tree.
pub(super) fn build(
    elements: &Elements,
    shown: fn(&Url) -> String,
    states: &[State],
    limits: &MarkdownLimits,
    marks: &mut Marks,
) -> Vec<Block> {
    let ahead = Ahead::of(&elements.html, &elements.trace, states);
    let mut walk = Walk {
        elements,
        shown,
        states,
        limits,
        marks,
        notes: Notes::of(elements, states, &ahead),
        ahead,
        known: HashMap::default(),
        frames: vec![Frame::new(Kind::Root)],
        open: Vec::new(),
        now: Now::default(),
        run: Growing::default(),
        row: None,
        links_bytes: 0,
        depth: 0,
        next: 0,
    };
    let mut edge = Some(Edge::Open(elements.html.tree.root()));
    while let Some(now) = edge {
        edge = match now {
            Edge::Open(node) => {
                walk.open(node);
                let child = if walk.has_no_effect() { None } else { node.first_child() };
                Some(child.map_or(Edge::Close(node), Edge::Open))
            }
            Edge::Close(node) => {
                if node.value().is_element() {
                    walk.close();
                }
                let sibling = node.next_sibling().map(Edge::Open);
                sibling.or_else(|| node.parent().map(Edge::Close))
            }
        }
    }
    walk.end_rows();
    walk.end_run();
    let Walk { mut frames, .. } = walk;
    while frames.len() > 1
        && let Some(closed) = frames.pop()
        && let Some(parent) = frames.last_mut()
    {
        parent.add_closed(closed, limits);
    }
    without_outer_rules(frames.pop().map(|root| root.blocks).unwrap_or_default())
}

/// What applies to the next text.
#[derive(Clone, Copy, Debug, Default)]
struct Now {
    mark: u32,
    code: bool,
    /// Inside `<pre>` in a heading or cell.
    lines: bool,
    /// The nearest block is a `<p>`.
    explicit: bool,
    /// The text is left out: a permalink, or a link from a note back to its reference.
    skipped: bool,
    /// Links and raised text have no mark: a reference to a note that is not kept.
    unmarked: bool,
    in_note: bool,
    in_heading: bool,
    /// Nothing in the element is kept.
    empty: bool,
}

/// What an element changed.
struct Opened {
    before: Now,
    block: bool,
    frame: bool,
    deeper: bool,
    custom: bool,
}

/// Code in rows that were joined to one block.
struct Row {
    code: u32,
    block: u32,
    language: String,
    text: String,
}

struct Walk<'a> {
    elements: &'a Elements,
    shown: fn(&Url) -> String,
    states: &'a [State],
    limits: &'a MarkdownLimits,
    marks: &'a mut Marks,
    notes: Notes,
    ahead: Ahead,
    /// Absolute addresses of links, by their text in the page.
    known: HashMap<&'a str, Option<u32>, FixedState>,
    frames: Vec<Frame>,
    open: Vec<Opened>,
    now: Now,
    run: Growing,
    row: Option<Row>,
    links_bytes: usize,
    /// Number of open lists and quotes.
    depth: usize,
    /// Next kept span.
    next: usize,
}

impl<'a> Walk<'a> {
    /// Returns whether what is inside the element that was just opened changes nothing: it is an empty block, such as a menu.
    /// Inside inline elements there may be line breaks.
    fn has_no_effect(&self) -> bool {
        let in_code = matches!(self.frames.last(), Some(Frame { kind: Kind::Pre { .. }, .. }));
        self.now.empty
            && self.run.is_empty()
            && !in_code
            && self.open.last().is_some_and(|o| o.block)
    }

    fn open(&mut self, node: NodeRef<'a, Node>) {
        let span = self.ahead.spans.get(self.next).filter(|span| span.node == node.id()).copied();
        self.next += usize::from(span.is_some());
        match node.value() {
            Node::Text(text) => {
                if let Some(span) = span.filter(|_| !self.now.skipped) {
                    self.text(text, span.block, node);
                }
            }
            Node::Element(element) => {
                self.element(element, node);
                let kept = |block: Option<u32>| {
                    let state = block.and_then(|block| self.states.get(block as usize));
                    state.is_some_and(|state| *state != State::Dropped)
                };
                let shown = span.is_some_and(|span| span.inside || kept(span.block.checked_sub(1)));
                if shown && !self.now.skipped {
                    self.object(element);
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str, block: u32, node: NodeRef<'_, Node>) {
        match self.states.get(block as usize).copied().unwrap_or_default() {
            State::Dropped => {}
            State::Row(code) => self.row_text(text, code, block, node),
            State::Kept => {
                self.end_rows();
                if let Some(Frame { kind: Kind::Pre { text: pre, .. }, .. }) =
                    self.frames.last_mut()
                {
                    pre.push_str(text);
                } else if self.now.lines {
                    for (at, line) in text.split('\n').enumerate() {
                        if at > 0 {
                            self.run.line_break();
                        }
                        self.run.text(line, self.now.mark, true);
                    }
                } else {
                    self.run.text(text, self.now.mark, self.now.code);
                }
            }
        }
    }

    /// Adds a part of a row of code.
    fn row_text(&mut self, text: &str, code: u32, block: u32, node: NodeRef<'_, Node>) {
        if text.trim().is_empty() && text.contains('\n') {
            return;
        }
        if self.row.as_ref().is_none_or(|row| row.code != code) {
            self.end_rows();
            self.end_run();
            self.row = Some(Row { code, block, language: language(node), text: String::new() });
        }
        let Some(row) = &mut self.row else { return };
        let starts = std::mem::replace(&mut row.block, block) != block || row.text.is_empty();
        if starts && !row.text.is_empty() && !row.text.ends_with('\n') {
            row.text.push('\n');
        }
        row.text.push_str(if starts { text.trim_start_matches('\n') } else { text });
    }

    /// Ends joined code.
    fn end_rows(&mut self) {
        if let Some(row) = self.row.take()
            && let Some(frame) = self.frames.last_mut()
        {
            frame.add_code(row.language, &row.text);
        }
    }

    /// Ends the run of text before a block.
    fn end_run(&mut self) {
        if self.run.is_empty() {
            return;
        }
        let explicit = self.now.explicit;
        for run in self.run.finish() {
            if let Some(frame) = self.frames.last_mut() {
                frame.add_run(run, explicit);
            }
        }
    }

    /// Adds an image or a rule.
    fn object(&mut self, element: &Element) {
        let in_code = matches!(self.frames.last(), Some(Frame { kind: Kind::Pre { .. }, .. }));
        if element.name() == "hr" {
            if let Some(frame) = self.frames.last_mut().filter(|frame| !frame.is_flat()) {
                frame.add(Block::Rule);
            }
        } else if let Some((alt, url)) = image(element, |address| self.address(address))
            && !in_code
        {
            self.end_rows();
            self.run.object(What::Image { alt, url }, self.now.mark);
        }
    }

    /// Returns an absolute address, within the limits.
    fn address(&mut self, address: &str) -> Option<String> {
        let url = join_in(&self.elements.base, address, self.elements.encoding)?;
        let known = matches!(url.scheme(), "http" | "https" | "mailto" | "ftp" | "tel");
        let url = (self.shown)(&url);
        let fits = url.len() <= self.limits.max_url_bytes
            && self.links_bytes + url.len() <= self.limits.max_links_bytes;
        if !known || !fits {
            return None;
        }
        self.links_bytes += url.len();
        Some(url)
    }

    fn element(&mut self, element: &'a Element, node: NodeRef<'a, Node>) {
        let role = role(element);
        let block = !matches!(role, Role::Inline | Role::Never);
        let name = element.name();
        let mut opened = Opened {
            before: self.now,
            block,
            frame: false,
            deeper: false,
            custom: is_custom(name),
        };
        if block {
            self.end_run();
            self.now.explicit = name == "p";
        } else if opened.custom {
            self.run.space();
        }
        if self.now.empty {
            if name == "br" {
                self.line_break();
            }
            self.open.push(opened);
            return;
        }
        self.now.empty = self.ahead.is_empty(node, self.next);
        let note = self.notes.text(node.id());
        if block && let Some(kind) = self.frame(name, element, node, note) {
            let in_list = matches!(self.frames.last(), Some(Frame { kind: Kind::List { .. }, .. }));
            opened.deeper = match kind {
                Kind::Quote | Kind::List { .. } => true,
                Kind::Item(_) => !in_list,
                _ => false,
            };
            self.depth += usize::from(opened.deeper);
            self.now.in_note |= matches!(kind, Kind::Note(_));
            self.now.in_heading |= matches!(kind, Kind::Heading(..));
            if !matches!(kind, Kind::Cell(..)) {
                self.end_rows();
            }
            self.frames.push(Frame::new(kind));
            opened.frame = true;
        }
        self.reference(node);
        self.inline(name, element, node);
        self.open.push(opened);
    }

    /// Returns the frame that an element opens.
    fn frame(
        &self,
        name: &str,
        element: &Element,
        node: NodeRef<'_, Node>,
        note: Option<u32>,
    ) -> Option<Kind> {
        let top = self.frames.last()?;
        if let (Kind::Table(_), "td" | "th") = (&top.kind, name) {
            return Some(Kind::Cell(super::tree::Run::default(), CellShape::of(element, node)));
        }
        if top.is_flat() {
            return None;
        }
        let deep = self.depth >= self.limits.max_depth;
        if let Some(number) = note {
            return Some(Kind::Note(number));
        }
        if let Some(level) = heading_level(name) {
            return Some(Kind::Heading(level, super::tree::Run::default()));
        }
        match name {
            "blockquote" if !deep => Some(Kind::Quote),
            "ul" | "ol" if !deep => {
                let start =
                    attribute(element, "start").and_then(|start| start.trim().parse::<u64>().ok());
                let start = (name == "ol").then(|| start.unwrap_or(1));
                let list = List { start, implied: false, items: Vec::new() };
                let next = start.unwrap_or(1);
                Some(Kind::List { list, next, before: Vec::new(), notes: Vec::new() })
            }
            "li" if !deep || matches!(top.kind, Kind::List { .. }) => Some(Kind::Item(0)),
            "pre" => Some(Kind::Pre { language: language(node), text: String::new() }),
            "table" => {
                let spans = self.ahead.spans.get(self.next..).unwrap_or_default();
                is_data(node, spans, self.states).then(|| Kind::Table(Grid::default()))
            }
            _ => None,
        }
    }

    /// Applies a footnote's reference.
    fn reference(&mut self, node: NodeRef<'_, Node>) {
        let Some(number) = self.notes.reference(node.id()) else { return };
        match number {
            Some(number) if !self.now.skipped => {
                // Its text must be kept too.
                let spans = self.ahead.spans.get(self.next..).unwrap_or_default();
                let end = node.descendants().take(16).map(|node| node.id()).collect::<Vec<_>>();
                let is_kept = |block: u32| {
                    self.states.get(block as usize).is_some_and(|state| *state == State::Kept)
                };
                let kept = spans
                    .first()
                    .is_some_and(|span| end.contains(&span.node) && is_kept(span.block));
                if kept {
                    self.run.object(What::Note(number), 0);
                }
                self.now.skipped = true;
            }
            _ => self.now.unmarked = true,
        }
    }

    /// Applies the marks of an element.
    fn inline(&mut self, name: &str, element: &'a Element, node: NodeRef<'a, Node>) {
        let flat = self.frames.last().is_some_and(Frame::is_flat);
        let mark = match name {
            "a" => {
                self.link(element, node);
                None
            }
            "b" | "strong" | "dt" => Some(Mark::Strong),
            "em" | "i" | "cite" | "var" | "dfn" => Some(Mark::Emphasis),
            "del" | "s" | "strike" => Some(Mark::Strike),
            "sup" if self.begins_note() && is_mark(&text_of(node, MAX_NODES, MAX_MARK + 1)) => {
                self.now.skipped = true;
                None
            }
            "sup" if !self.now.unmarked => Some(Mark::Above),
            "sub" => Some(Mark::Below),
            "code" | "tt" | "samp" | "kbd" => {
                self.now.code = true;
                None
            }
            "pre" if flat => {
                (self.now.lines, self.now.code) = (true, true);
                None
            }
            "br" => {
                self.line_break();
                None
            }
            "li" => {
                self.number(element);
                None
            }
            "tr" => {
                if let Some(Frame { kind: Kind::Table(grid), .. }) = self.frames.last_mut() {
                    grid.row();
                }
                None
            }
            "span" => {
                let class = attribute(element, "class").unwrap_or_default();
                let drops = self.now.in_note && class.contains("backlink")
                    || self.now.in_heading && class.contains("editsection");
                self.now.skipped |= drops;
                None
            }
            _ => None,
        };
        // Code has no marks inside, and a cell's names are shown by the table.
        if let Some(mark) = mark.filter(|_| !self.now.code) {
            self.now.mark = self.marks.push(self.now.mark, mark);
        }
    }

    /// Returns whether the text of a footnote begins here. The number of the note is written before it.
    fn begins_note(&self) -> bool {
        let begins = |frame: &Frame| matches!(frame.kind, Kind::Note(_)) && frame.blocks.is_empty();
        self.now.in_note && self.run.is_empty() && self.frames.last().is_some_and(begins)
    }

    fn line_break(&mut self) {
        match self.frames.last_mut() {
            Some(Frame { kind: Kind::Pre { text, .. }, .. }) => text.push('\n'),
            _ => self.run.line_break(),
        }
    }

    /// Gives an item its number.
    fn number(&mut self, element: &Element) {
        let value = attribute(element, "value").and_then(|value| value.trim().parse::<u64>().ok());
        let mut frames = self.frames.iter_mut().rev();
        let (Some(item), Some(parent)) = (frames.next(), frames.next()) else { return };
        if let (Kind::Item(number), Kind::List { list, next, .. }) =
            (&mut item.kind, &mut parent.kind)
        {
            *number = value.unwrap_or(*next);
            *next = number.saturating_add(1);
            if list.items.is_empty() && list.start.is_some() {
                list.start = Some(*number);
            }
        }
    }

    fn link(&mut self, element: &'a Element, node: NodeRef<'a, Node>) {
        let Some(href) = attribute(element, "href").map(str::trim).filter(|href| !href.is_empty())
        else {
            return;
        };
        let own = href.starts_with('#');
        if self.now.in_note && self.notes.leads_back(element, &self.elements.base)
            || is_permalink(element, own, node)
        {
            self.now.skipped = true;
            return;
        }
        if self.now.unmarked || own && self.now.in_heading || self.now.skipped || self.now.empty {
            return;
        }
        let known = self.known.get(href).map(|known| known.and_then(|number| self.copy(number)));
        let url = match known {
            Some(url) => {
                self.links_bytes += url.as_ref().map_or(0, String::len);
                url
            }
            None => self.address(href),
        };
        // Each link has a number, so that two links side by side stay two.
        let number = url.map(|url| {
            self.marks.links.push(url);
            (self.marks.links.len() - 1) as u32
        });
        self.known.entry(href).or_insert(number);
        if let Some(number) = number {
            self.now.mark = self.marks.push(self.now.mark, Mark::Link(number));
        }
    }

    /// Returns the address of an earlier link, within the limit.
    fn copy(&self, number: u32) -> Option<String> {
        let url = self.marks.links.get(number as usize)?;
        let fits = self.links_bytes + url.len() <= self.limits.max_links_bytes;
        fits.then(|| url.clone())
    }

    fn close(&mut self) {
        let Some(opened) = self.open.pop() else { return };
        if opened.block {
            self.end_run();
            // Rows of `<pre>`.
            if let Some(Frame { kind: Kind::Pre { text, .. }, .. }) = self.frames.last_mut()
                && !opened.frame
                && !text.is_empty()
                && !text.ends_with('\n')
            {
                text.push('\n');
            }
        } else if opened.custom {
            self.run.space();
        }
        if opened.frame {
            let is_cell = matches!(self.frames.last(), Some(Frame { kind: Kind::Cell(..), .. }));
            if !is_cell {
                self.end_rows();
            }
            if self.frames.len() > 1
                && let Some(closed) = self.frames.pop()
                && let Some(parent) = self.frames.last_mut()
            {
                parent.add_closed(closed, self.limits);
            }
        }
        self.depth -= usize::from(opened.deeper);
        self.now = opened.before;
    }
}

/// Longest text of a permalink, in bytes: `#`, `¶`.
const MAX_SIGN: usize = 8;

/// Returns whether a link is the sign beside a heading that leads to the heading itself.
fn is_permalink(element: &Element, own: bool, node: NodeRef<'_, Node>) -> bool {
    let named = ["anchor", "permalink", "headerlink", "hash-link"];
    let is_named = |class: &str| named.iter().any(|name| class.contains(name));
    if !own && !attribute(element, "class").is_some_and(is_named) {
        return false;
    }
    let text = text_of(node, MAX_SIGN, MAX_SIGN + 1);
    let text = text.trim();
    let is_sign = |c: char| !c.is_alphanumeric() && !c.is_whitespace();
    !text.is_empty() && text.len() <= MAX_SIGN && text.chars().all(is_sign)
}
