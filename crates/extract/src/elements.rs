//! Classifies elements by name and attributes.

use ego_tree::NodeRef;
use html5ever::{local_name, ns};
use scraper::Node;
use scraper::node::Element;

use crate::box_names::BoxName;
use crate::class_words::{Marks, Names};
use crate::comment_names::CommentName;
use crate::styles::{is_animated, is_out_of_sight, is_unreadable};

const STRUCTURE_ROLES: &[&str] = &[
    "navigation",
    "banner",
    "contentinfo",
    "complementary",
    "search",
    "menu",
    "menubar",
    "dialog",
];

/// Category of an element by its name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Inline,
    /// Its text is a separate block.
    Block,
    /// A block of page structure. A page may still put text there.
    Around,
    /// A block that scripts replace.
    Noscript,
    Never,
}

/// Names are atoms, so each comparison is one of integers.
pub(crate) fn role(element: &Element) -> Role {
    match element.name.local {
        local_name!("a")
        | local_name!("span")
        | local_name!("b")
        | local_name!("i")
        | local_name!("img") => Role::Inline,
        local_name!("div")
        | local_name!("p")
        | local_name!("li")
        | local_name!("ul")
        | local_name!("td")
        | local_name!("tr")
        | local_name!("h1")
        | local_name!("h2")
        | local_name!("h3")
        | local_name!("h4")
        | local_name!("h5")
        | local_name!("h6")
        | local_name!("section")
        | local_name!("article")
        | local_name!("header")
        | local_name!("main")
        | local_name!("table")
        | local_name!("tbody")
        | local_name!("thead")
        | local_name!("tfoot")
        | local_name!("th")
        | local_name!("ol")
        | local_name!("dl")
        | local_name!("dt")
        | local_name!("dd")
        | local_name!("pre")
        | local_name!("blockquote")
        | local_name!("figure")
        | local_name!("figcaption")
        | local_name!("form")
        | local_name!("fieldset")
        | local_name!("legend")
        | local_name!("caption")
        | local_name!("details")
        | local_name!("summary")
        | local_name!("address")
        | local_name!("center")
        | local_name!("hr")
        | local_name!("body") => Role::Block,
        local_name!("nav") | local_name!("footer") | local_name!("aside") => Role::Around,
        local_name!("noscript") => Role::Noscript,
        local_name!("script")
        | local_name!("style")
        | local_name!("template")
        | local_name!("svg")
        | local_name!("button")
        | local_name!("select")
        | local_name!("input")
        | local_name!("textarea")
        | local_name!("iframe")
        | local_name!("object")
        | local_name!("canvas")
        | local_name!("head")
        | local_name!("audio")
        | local_name!("video")
        | local_name!("annotation")
        | local_name!("annotation-xml")
        | local_name!("noframes")
        | local_name!("rt")
        | local_name!("rp")
        | local_name!("dialog")
        | local_name!("menu")
        | local_name!("map") => Role::Never,
        _ => Role::Inline,
    }
}

/// Number of ancestors of a footer that may be the quotation, and of children of a menu that are read.
const MAX_NEAR: usize = 4;

/// Returns whether an element is text although its name is one of the page structure: the source of a quotation, and a
/// list in an old notation.
pub(crate) fn is_text_after_all(element: &Element, node: NodeRef<'_, Node>) -> bool {
    let is = |node: NodeRef<'_, Node>, name: &str| {
        node.value().as_element().is_some_and(|element| element.name() == name)
    };
    match element.name.local {
        local_name!("footer") => node.ancestors().take(MAX_NEAR).any(|node| is(node, "blockquote")),
        local_name!("menu") => node.children().take(MAX_NEAR).any(|node| is(node, "li")),
        _ => false,
    }
}

/// Roles of the cells of a table, and of a table (WAI-ARIA 1.2, section 5.3.3).
const CELL_ROLES: [&str; 4] = ["cell", "gridcell", "rowheader", "columnheader"];
const TABLE_ROLES: [&str; 2] = ["table", "grid"];

/// Returns whether an element is a table.
pub(crate) fn is_table(name: &str, role: Option<&str>) -> bool {
    name == "table" || role.is_some_and(|role| TABLE_ROLES.contains(&role))
}

/// The block-level tags that the decision distinguishes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tag {
    #[default]
    Other = 0,
    Paragraph = 1,
    Item = 2,
    Cell = 3,
    Heading = 4,
    Pre = 5,
    Quote = 6,
    Caption = 7,
    Definition = 8,
}

/// An element that contains blocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct ElementInfo {
    pub(crate) parent: usize,
    /// `article`, `main` and similar elements.
    pub(crate) content: bool,
    pub(crate) article: bool,
    pub(crate) header: bool,
    pub(crate) table: bool,
    /// Hidden until a user or a script opens it: a dialog.
    pub(crate) waits: bool,
    /// Its class or id indicates boilerplate.
    pub(crate) suspicious: bool,
    pub(crate) depth: u16,
    pub(crate) tag: Tag,
    /// Categories of its class and id.
    pub(crate) marks: Marks,
    /// The words of its class and id.
    pub(crate) names: Names,
    /// The box that its class names.
    pub(crate) box_name: Option<BoxName>,
    /// Whether it says that it contains comments, in words that the weights do not know.
    pub(crate) comments: Option<CommentName>,
    /// Equal for elements with the same tag and class and equal ancestors.
    pub(crate) signature: u32,
}

impl ElementInfo {
    /// Replaces the categories of its class and id. A `<header>` indicates boilerplate by its tag, a heading never.
    pub(crate) fn set_marks(&mut self, marks: Marks) {
        self.marks = marks;
        self.suspicious = self.header || (self.tag != Tag::Heading && marks.has(Marks::SUSPICIOUS));
    }
}

/// Returns the tag of an element; the role of a cell makes one.
pub(crate) fn tag(name: &str, role: Option<&str>) -> Tag {
    match name {
        _ if role.is_some_and(|role| CELL_ROLES.contains(&role)) => Tag::Cell,
        "p" => Tag::Paragraph,
        "li" => Tag::Item,
        "td" | "th" => Tag::Cell,
        "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => Tag::Heading,
        "pre" => Tag::Pre,
        "blockquote" => Tag::Quote,
        "figcaption" | "figure" | "caption" => Tag::Caption,
        "dd" | "dt" => Tag::Definition,
        _ => Tag::Other,
    }
}

/// Returns an attribute's value. `Element::attr` hashes the name each time, for the table of all names; this only compares
/// it with the few that the element has.
pub(crate) fn attribute<'a>(element: &'a Element, name: &str) -> Option<&'a str> {
    let found = element.attrs.iter().find(|(key, _)| &*key.local == name && key.ns == ns!());
    found.map(|(_, value)| &**value)
}

/// Attributes that the walk needs, read in one pass.
#[derive(Default)]
pub(crate) struct Attributes<'a> {
    pub(crate) class: &'a str,
    pub(crate) id: &'a str,
    pub(crate) role: Option<&'a str>,
    pub(crate) itemprop: Option<&'a str>,
    pub(crate) itemtype: Option<&'a str>,
    pub(crate) hidden: bool,
    /// Whether nobody can read its own text.
    pub(crate) unreadable: bool,
    /// Whether its style begins a new line before and behind it.
    pub(crate) breaks: bool,
    /// Whether it says that it opens another element.
    pub(crate) opens: bool,
}

impl<'a> Attributes<'a> {
    pub(crate) fn of(element: &'a Element) -> Self {
        let mut all = Self::default();
        let mut invisible = false;
        for (name, value) in &element.attrs {
            let value: &str = value;
            match name.local {
                local_name!("class") => all.class = value,
                local_name!("href") | local_name!("src") => {}
                local_name!("id") => all.id = value,
                local_name!("role") => all.role = Some(value),
                local_name!("itemprop") => all.itemprop = Some(value),
                local_name!("itemtype") => all.itemtype = Some(value),
                local_name!("hidden") => all.hidden = true,
                local_name!("aria-expanded") | local_name!("aria-controls") => all.opens = true,
                local_name!("aria-hidden") => all.hidden |= value == "true",
                local_name!("style") => {
                    all.hidden |= declares(value, [b"display:none"]) || is_out_of_sight(value);
                    invisible = declares(value, [b"visibility:hidden"])
                        || declares(value, [b"visibility:collapse"]);
                    all.unreadable = is_unreadable(value);
                    all.breaks = declares(value, [b"display:block"]);
                }
                _ if matches!(&*name.local, "data-toggle" | "data-bs-toggle") => {
                    all.opens |= value == "collapse";
                }
                _ => {}
            }
        }
        all.hidden |= invisible && !is_animated(all.class);
        all
    }
}

/// Returns whether an element contains only text and line breaks.
pub(crate) fn has_only_text(node: NodeRef<'_, Node>) -> bool {
    node.children()
        .all(|child| child.value().as_element().is_none_or(|element| element.name() == "br"))
}

/// Returns whether a style contains one of these declarations, without regard to white space and case.
fn declares<const N: usize>(style: &str, wanted: [&[u8]; N]) -> bool {
    let mut rest = style.bytes().filter(|b| !b.is_ascii_whitespace()).take(MAX_STYLE);
    // All patterns, matched at any position.
    let mut found = wanted.map(|wanted| (wanted, 0));
    rest.any(|byte| {
        let byte = byte.to_ascii_lowercase();
        found.iter_mut().any(|(wanted, at)| {
            let first = usize::from(wanted.first() == Some(&byte));
            *at = if wanted.get(*at) == Some(&byte) { *at + 1 } else { first };
            *at == wanted.len()
        })
    })
}

/// Number of bytes read of a style attribute.
const MAX_STYLE: usize = 4096;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    Yes,
    Never,
    Hidden,
    /// Hidden by a style sheet.
    Styled,
    Around,
}

pub(crate) fn shown(attributes: &Attributes<'_>, role: Role) -> Shown {
    if role == Role::Never {
        Shown::Never
    } else if role == Role::Noscript || attributes.hidden {
        if role == Role::Inline { Shown::Never } else { Shown::Hidden }
    } else if role == Role::Around
        || attributes.role.is_some_and(|role| STRUCTURE_ROLES.contains(&role))
    {
        if role == Role::Inline { Shown::Never } else { Shown::Around }
    } else {
        Shown::Yes
    }
}

/// Returns whether this is a custom element: its name contains a hyphen.
pub(crate) fn is_custom(name: &str) -> bool {
    name.len() > 4 && name.as_bytes().contains(&b'-')
}

/// Returns the level of a heading element.
pub(crate) fn heading_level(name: &str) -> Option<u8> {
    match name.as_bytes() {
        [b'h', level @ b'1'..=b'6'] => Some(level - b'0'),
        _ => None,
    }
}
