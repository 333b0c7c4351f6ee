//! Collects text blocks, links and declarations from the tree, in one iterative walk.

use ego_tree::NodeRef;
use ego_tree::iter::Edge;
use html5ever::{local_name, ns};
use scraper::node::Element;
use scraper::{Html, Node};

use crate::buttons::is_in_sentence;
use crate::class_words::Marks;
use crate::classes::{ClassInfo, Classes, fnv};
use crate::comment_names::{CommentName, is_comment};
use crate::declared::Declared;
use crate::elements::{
    Attributes, Role, Shown, attribute, has_only_text, heading_level, is_custom, is_table,
    is_text_after_all, role, shown, tag,
};
pub(crate) use crate::elements::{ElementInfo, Tag};
use crate::folded::{Folds, is_question_button, unfolds};
use crate::kinds::Kinds;
use crate::limits::Limits;
use crate::line_numbers::LineNumbers;
use crate::metadata::{Gathered, Place};
use crate::styles::Styles;
use crate::supply::JSON_LD;
use crate::templates::Templates;
use crate::trace::Trace;
use crate::wrap::is_wide;

/// A run of text between two block-level tags.
#[derive(Clone, Debug, Default)]
pub(crate) struct RawBlock {
    pub(crate) text: String,
    /// Number of its characters inside links.
    pub(crate) link_chars: usize,
    /// Index into [`Page::elements`].
    pub(crate) element: usize,
    /// Level of the heading around it, 1 to 6; 0 if none.
    pub(crate) heading: u8,
    /// Not shown: `hidden`, `display:none`, `<noscript>`.
    pub(crate) hidden: bool,
    /// Not shown by a style sheet. The weights were fitted without this.
    pub(crate) styled: bool,
    /// Inside `<nav>`, `<footer>`, `<aside>` or an element with such a role.
    pub(crate) structure: bool,
    /// Number of links that begin in it.
    pub(crate) links: u32,
    /// Whether one of them leads to another page.
    pub(crate) outward: bool,
    /// Whether it begins within a link to another page.
    pub(crate) leads: bool,
    /// Its number in document order, and that of its last row if it was joined.
    pub(crate) numbers: (u32, u32),
}

impl RawBlock {
    /// Whether at least .6 of its characters are in links.
    pub(crate) fn is_menu(&self) -> bool {
        let all = self.text.chars().filter(|c| !c.is_whitespace()).count();
        self.link_chars > 0 && self.link_chars * 5 >= all * 3
    }
}

/// How far above an answer the element may be that is named as an FAQ, in elements.
const FOLD_DEPTH: usize = 5;
/// How far above a block its cell may be, in elements.
const CELL_DEPTH: usize = 4;

/// Result of one walk over the tree.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) blocks: Vec<RawBlock>,
    pub(crate) elements: Vec<ElementInfo>,
    pub(crate) declared: Declared,
    /// Source and alternative text of images outside of hidden elements and page structure.
    pub(crate) images: Vec<(String, String)>,
    pub(crate) title: String,
    pub(crate) lang: Option<String>,
    pub(crate) kinds: Kinds,
    pub(crate) gathered: Gathered,
}

/// Words in the class or id of elements that stay hidden until opened.
const WAITING: [&str; 6] = ["modal", "popup", "login", "dialog", "cookie", "consent"];

/// Maximum number of bytes read from a title, white space included: far above any real title.
const MAX_TITLE: usize = 16_384;

/// If a page shows fewer bytes and hides more than twice as many, scripts show its text later: hidden text counts.
const FEW_SHOWN: usize = 400;

impl Page {
    /// Whether a block is an entry of a list, a cell, code or a heading.
    pub(crate) fn is_entry(&self, block: &RawBlock) -> bool {
        let tag = self.elements.get(block.element).map_or(Tag::Other, |element| element.tag);
        block.heading > 0 || matches!(tag, Tag::Item | Tag::Definition | Tag::Cell | Tag::Pre)
    }

    /// Returns whether an element or one of its nearest ancestors is a table cell.
    pub(crate) fn is_in_cell(&self, element: usize) -> bool {
        let mut at = element;
        for _ in 0..CELL_DEPTH {
            let Some(info) = self.elements.get(at) else { return false };
            if info.tag == Tag::Cell {
                return true;
            }
            if at == 0 {
                return false;
            }
            at = info.parent;
        }
        false
    }

    /// Returns for each element whether it or an ancestor is `marked`.
    ///
    /// # Complexity
    /// Linear in the elements: parents come before their children.
    pub(crate) fn below(&self, marked: impl Fn(usize) -> bool) -> Vec<bool> {
        let mut below: Vec<bool> = Vec::with_capacity(self.elements.len());
        for (at, element) in self.elements.iter().enumerate() {
            let inherited = at > 0 && below.get(element.parent).copied().unwrap_or(false);
            below.push(inherited || marked(at));
        }
        below
    }

    /// Adds the value of each element to its parent's, from the leaves up.
    ///
    /// # Complexity
    /// Linear in the elements.
    pub(crate) fn carry_up<T>(&self, values: &mut [T], add: impl Fn(&mut T, &T)) {
        for (at, element) in self.elements.iter().enumerate().skip(1).rev() {
            let Some((above, below)) = values.split_at_mut_checked(at) else { continue };
            if let (Some(parent), Some(child)) = (above.get_mut(element.parent), below.first()) {
                add(parent, child);
            }
        }
    }

    pub(crate) fn signature(&self, element: usize) -> u32 {
        self.elements.get(element).map_or(0, |element| element.signature)
    }

    /// Treats hidden text as shown if almost nothing else is there.
    pub(crate) fn unhide(&mut self) {
        let bytes = |hidden| -> usize {
            let blocks = self.blocks.iter().filter(|b| b.hidden == hidden && !b.structure);
            blocks.map(|block| block.text.len()).sum()
        };
        let shown = bytes(false);
        if shown < FEW_SHOWN && bytes(true) > 2 * shown {
            // Except dialogs, logins and the like.
            let waits = self.below(|at| self.elements.get(at).is_some_and(|element| element.waits));
            let waits = |block: &RawBlock| waits.get(block.element).copied().unwrap_or(false);
            self.blocks.retain(|block| !block.hidden || !waits(block));
            self.blocks.iter_mut().for_each(|block| block.hidden = false);
        }
    }
}

pub(crate) fn collect(html: &Html, styles: &Styles, limits: &Limits) -> Page {
    collect_with(html, styles, limits, None).0
}

/// Does the same. A trace receives the block of each text.
pub(crate) fn collect_with(
    html: &Html,
    styles: &Styles,
    limits: &Limits,
    trace: Option<Trace>,
) -> (Page, Option<Trace>) {
    let mut page = Page::default();
    page.elements.push(ElementInfo::default());
    let mut walk = Walk {
        page,
        stack: vec![0],
        dropped: 0,
        hidden: 0,
        styled: 0,
        open: Vec::new(),
        structure: 0,
        templates: Templates::default(),
        classes: Classes::default(),
        links: 0,
        outward: false,
        heading: 0,
        in_title: false,
        in_json: false,
        pre: 0,
        broken: false,
        current: RawBlock::default(),
        numbers: LineNumbers::default(),
        folds: Folds::default(),
        flushed: 0,
        trace,
        styles,
        limits,
    };
    for edge in html.tree.root().traverse() {
        match edge {
            Edge::Open(node) => match node.value() {
                Node::Element(element) => {
                    walk.open(element, node);
                    walk.follow(node);
                }
                Node::Text(text) if walk.numbers.skips(text, node) => {}
                Node::Text(text) => {
                    walk.follow(node);
                    walk.text(text);
                }
                _ => {}
            },
            Edge::Close(node) => {
                if let Node::Element(element) = node.value() {
                    walk.close(element);
                }
            }
        }
    }
    walk.flush();
    (walk.page, walk.trace)
}

struct Walk<'a> {
    page: Page,
    stack: Vec<usize>,
    /// Number of open elements whose text is dropped.
    dropped: usize,
    /// Number of open elements that hide their text.
    hidden: usize,
    /// Number of open elements that a style sheet hides.
    styled: usize,
    /// One entry per open element.
    open: Vec<(Role, Shown)>,
    /// Number of open elements of the page structure.
    structure: usize,
    templates: Templates,
    classes: Classes<'a>,
    links: usize,
    /// Whether the open link leads to another page.
    outward: bool,
    heading: u8,
    in_title: bool,
    in_json: bool,
    pre: usize,
    /// The last space was a line break.
    broken: bool,
    current: RawBlock,
    numbers: LineNumbers,
    folds: Folds,
    /// Number of blocks so far.
    flushed: u32,
    trace: Option<Trace>,
    styles: &'a Styles,
    limits: &'a Limits,
}

impl<'a> Walk<'a> {
    fn open(&mut self, element: &'a Element, node: NodeRef<'a, Node>) {
        let name = element.name();
        let mut attributes = Attributes::of(element);
        attributes.hidden |= attributes.unreadable && has_only_text(node);
        let opens = self.structure == 0 && self.folds.opens(element, attributes.opens, node);
        let html = element.name.ns == ns!(html);
        let in_document = !self.templates.is_inside();
        match element.name.local {
            local_name!("html") => self.page.lang = attribute(element, "lang").map(str::to_owned),
            // SVG has title elements too.
            local_name!("title") if html => {
                self.in_title = in_document && self.page.title.is_empty()
            }
            local_name!("template") if html => {
                self.templates.open(attribute(element, "shadowrootmode"))
            }
            local_name!("meta")
                if in_document && attribute(element, "property") == Some("og:type") =>
            {
                let content = attribute(element, "content").unwrap_or_default();
                self.page.kinds.read(content.trim());
            }
            local_name!("a") if !opens => {
                self.links += 1;
                self.current.links += 1;
                let href = attribute(element, "href").unwrap_or_default().trim_start();
                self.outward = !href.is_empty() && !href.starts_with('#');
                self.current.outward |= self.outward;
            }
            local_name!("img") if self.dropped + self.hidden + self.structure == 0 => {
                self.image(element)
            }
            local_name!("br") => self.current.text.push('\n'),
            local_name!("pre") => self.pre += 1,
            local_name!("script") => {
                self.in_json = in_document && attribute(element, "type") == Some(JSON_LD)
            }
            _ => {}
        }
        let noscript = self.hidden > 0;
        let attribute = |name: &str| attribute(element, name);
        if html && in_document {
            self.page.declared.tag(name, attribute, noscript, self.limits);
        } else if name == "a" && in_document {
            let is_href = |name: &str| matches!(name, "href" | "xlink:href");
            let href = element.attrs().find(|(name, _)| is_href(name)).map(|(_, value)| value);
            self.page.declared.link(href, attribute("rel"), self.limits);
        }
        if let Some(types) = attributes.itemtype {
            self.page.kinds.read(types.rsplit('/').next().unwrap_or_default());
        }
        let role = self.role(element, node);
        let block = !matches!(role, Role::Inline | Role::Never);
        if block {
            self.flush();
        } else {
            self.part(name, attributes.breaks);
        }
        let unstyled = shown(&attributes, role);
        let styled = !attributes.hidden && self.styles.hide(element, node);
        attributes.hidden |= styled;
        let class = self.classes.info(attributes.class, attributes.id);
        let info = block.then(|| self.describe(name, &attributes, &class));
        let shown = match (shown(&attributes, role), &info) {
            (Shown::Hidden, Some(info)) if self.is_answer(&attributes, info, node) => Shown::Yes,
            (Shown::Hidden, _) if styled && unstyled == Shown::Yes => Shown::Styled,
            (Shown::Hidden, _) if styled => unstyled,
            (shown, _) => shown,
        };
        self.open.push((role, shown));
        match shown {
            Shown::Never => self.dropped += 1,
            Shown::Hidden => self.hidden += 1,
            Shown::Styled => self.styled += 1,
            Shown::Around => self.structure += 1,
            Shown::Yes => {}
        }
        if html && in_document {
            let place = Place { depth: self.open.len(), block, fields: class.fields };
            let Page { elements, gathered, .. } = &mut self.page;
            let is_shown = self.dropped + self.hidden + self.structure == 0;
            let above = self.stack.iter().filter_map(|at| elements.get(*at));
            gathered.open(element, &attributes, place, || {
                is_shown && is_own(class.names.marks(), above.clone())
            });
        }
        if let Some(info) = info {
            self.page.elements.push(info);
            self.stack.push(self.page.elements.len() - 1);
            if let Some(level) = heading_level(name) {
                self.heading = level;
            }
        }
    }

    fn close(&mut self, element: &Element) {
        let name = element.name();
        match element.name.local {
            local_name!("title") => self.in_title = false,
            local_name!("script") => self.in_json = false,
            local_name!("template") if element.name.ns == ns!(html) => self.templates.close(),
            local_name!("a") => self.links = self.links.saturating_sub(1),
            local_name!("pre") => self.pre = self.pre.saturating_sub(1),
            _ => {}
        }
        let (role, shown) = self.open.pop().unwrap_or((Role::Inline, Shown::Yes));
        let block = !matches!(role, Role::Inline | Role::Never);
        if block {
            self.flush();
        } else {
            let breaks = attribute(element, "style").is_some() && Attributes::of(element).breaks;
            self.part(name, breaks);
        }
        if block {
            self.stack.pop();
            if heading_level(name).is_some() {
                self.heading = 0;
            }
        }
        self.page.gathered.close(self.open.len() + 1);
        match shown {
            Shown::Never => self.dropped = self.dropped.saturating_sub(1),
            Shown::Hidden => self.hidden = self.hidden.saturating_sub(1),
            Shown::Styled => self.styled = self.styled.saturating_sub(1),
            Shown::Around => self.structure = self.structure.saturating_sub(1),
            Shown::Yes => {}
        }
    }

    /// A button in a heading folds its section, one within a sentence names a button: their texts belong to the text.
    /// A button with a question opens the answer.
    fn role(&mut self, element: &Element, node: NodeRef<'_, Node>) -> Role {
        let role = role(element);
        if is_text_after_all(element, node) {
            return Role::Block;
        }
        if role != Role::Never || &element.name.local != "button" {
            return role;
        }
        let question = self.structure == 0 && is_question_button(element, node);
        if question || self.heading > 0 {
            self.folds.controls(element, node);
        }
        if self.heading > 0 || is_in_sentence(node, !self.current.text.is_empty()) {
            Role::Inline
        } else if question {
            Role::Block
        } else {
            role
        }
    }

    /// Returns whether a hidden element is the answer to a question of an FAQ: it is shown when somebody asks for it.
    fn is_answer(
        &self,
        attributes: &Attributes<'_>,
        info: &ElementInfo,
        node: NodeRef<'_, Node>,
    ) -> bool {
        let near = self.stack.iter().rev().filter_map(|at| self.page.elements.get(*at));
        let mut marks =
            std::iter::once(info).chain(near).map(|element| element.marks).take(FOLD_DEPTH);
        let panel = attributes.role == Some("tabpanel");
        attributes.hidden
            && !info.waits
            && (panel || !info.marks.has(Marks::NAVIGATION))
            && (panel
                || self.folds.has(attributes.id)
                || unfolds(attributes)
                || self.folds.follows(node)
                || marks.any(|marks| marks.has(Marks::FOLD)))
    }

    /// Separates the text of a custom element from the text beside it by a space, and that of an element which `breaks` by
    /// a line break.
    fn part(&mut self, name: &str, breaks: bool) {
        if self.dropped > 0 || self.current.text.is_empty() || self.current.text.ends_with('\n') {
            return;
        }
        if breaks {
            self.current.text.push('\n');
        } else if is_custom(name) && !self.current.text.ends_with(' ') {
            self.current.text.push(' ');
        }
    }

    fn describe(&self, name: &str, attributes: &Attributes<'_>, read: &ClassInfo) -> ElementInfo {
        let parent = self.stack.last().copied().unwrap_or(0);
        let (class, id) = (attributes.class, attributes.id);
        let content = matches!(name, "article" | "main")
            || attributes.itemprop == Some("articleBody")
            || attributes.role == Some("main");
        let names = |word| class.contains(word) || id.contains(word);
        let waits = attributes.hidden && WAITING.into_iter().any(names);
        let own = name.bytes().fold(read.hash, fnv);
        let is_comment = is_comment(attributes.itemprop, attributes.itemtype);
        let above = self.page.elements.get(parent).map_or(0, |parent| parent.signature);
        let mut info = ElementInfo {
            parent,
            content,
            article: name == "article",
            header: name == "header",
            table: is_table(name, attributes.role),
            waits,
            suspicious: false,
            depth: self.stack.len().min(usize::from(u16::MAX)) as u16,
            tag: tag(name, attributes.role),
            marks: Marks::default(),
            names: read.names,
            box_name: read.box_name,
            comments: if is_comment { Some(CommentName::Certain) } else { read.comments },
            signature: above.to_le_bytes().into_iter().fold(own, fnv),
        };
        info.set_marks(read.names.marks());
        info
    }

    fn text(&mut self, text: &str) {
        if self.in_title {
            let room = MAX_TITLE.saturating_sub(self.page.title.len());
            let end = text.floor_char_boundary(room);
            self.page.title.push_str(text.get(..end).unwrap_or_default());
        }
        if self.in_json {
            self.page.kinds.read_json(text);
            self.page.gathered.json(text);
        }
        self.page.gathered.text(text);
        if self.dropped > 0 {
            return;
        }
        let mut before = self.current.text.len();
        let out = &mut self.current.text;
        // Indentation is not kept.
        out.reserve(text.trim_start().len());
        let lines = self.pre > 0;
        let mut rest = text;
        // White space collapses to one space; `<pre>` keeps its line breaks.
        while !rest.is_empty() {
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            let (word, later) = rest.split_at(end);
            if self.broken && !word.is_empty() {
                // A line break between two wide characters is not a space.
                let joins = word.starts_with(is_wide)
                    && out.strip_suffix(' ').is_some_and(|text| text.ends_with(is_wide));
                if joins {
                    out.pop();
                    before = before.min(out.len());
                }
                self.broken = false;
            }
            out.push_str(word);
            let next = later.find(|c: char| !c.is_whitespace()).unwrap_or(later.len());
            let (space, later) = later.split_at(next);
            rest = later;
            if lines && space.contains('\n') {
                out.extend(space.chars().filter(|c| *c == '\n'));
            } else if !space.is_empty() && !out.is_empty() && !out.ends_with('\n') {
                self.broken |= space.contains('\n');
                if !out.ends_with(' ') {
                    out.push(' ');
                }
            }
        }
        if self.links > 0 {
            let (earlier, added) = self.current.text.split_at_checked(before).unwrap_or_default();
            let added = added.chars().filter(|c| !c.is_whitespace()).count();
            self.current.leads |= self.outward && added > 0 && earlier.trim_start().is_empty();
            self.current.link_chars += added;
        }
    }

    fn flush(&mut self) {
        let mut block = std::mem::take(&mut self.current);
        // A link may be around the blocks of a teaser.
        self.current.outward = self.outward && self.links > 0;
        self.broken = false;
        let trimmed = block.text.trim();
        if trimmed.is_empty() {
            if let Some(trace) = &mut self.trace {
                trace.end_without_block();
            }
            return;
        }
        if let Some(trace) = &mut self.trace {
            trace.end_block();
        }
        block.numbers = (self.flushed, self.flushed);
        self.flushed += 1;
        if trimmed.len() != block.text.len() {
            block.text = trimmed.to_owned();
        }
        block.element = self.stack.last().copied().unwrap_or(0);
        block.heading = self.heading;
        block.hidden = self.hidden > 0;
        block.styled = self.styled > 0;
        block.structure = self.structure > 0;
        self.page.blocks.push(block);
    }

    /// Records which block a text, an image or a rule belongs to.
    fn follow(&mut self, node: NodeRef<'_, Node>) {
        let Some(trace) = &mut self.trace else { return };
        let shown = self.dropped + self.hidden + self.structure == 0;
        match node.value() {
            Node::Text(_) if self.dropped == 0 => trace.add(node.id()),
            Node::Element(element) if shown && matches!(element.name(), "img" | "hr") => {
                trace.add(node.id());
            }
            _ => {}
        }
    }

    fn image(&mut self, element: &Element) {
        // The limit on links applies to images too.
        if let Some(source) =
            attribute(element, "src").filter(|s| !s.is_empty() && !s.starts_with("data:"))
            && self.page.images.len() < self.limits.max_links
        {
            let text = attribute(element, "alt").unwrap_or_default().trim();
            self.page.images.push((source.trim().to_owned(), text.to_owned()));
        }
    }
}

/// Returns whether an element with these marks is outside of comments and related pages.
fn is_own<'e>(marks: Marks, above: impl Iterator<Item = &'e ElementInfo>) -> bool {
    let of_others = |marks: Marks| {
        marks.has(Marks::COMMENT) && !marks.has(Marks(Marks::CONTENT.0 | Marks::POST.0))
            || marks.has(Marks::RELATED) && !marks.has(Marks::CONTENT)
    };
    // The first two are the root and the body, whose class lists what the page contains.
    !of_others(marks) && !above.skip(2).any(|element| of_others(element.marks))
}
