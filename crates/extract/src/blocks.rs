//! From the tree to a flat list of text blocks, links and declarations, in one iterative walk.

use ego_tree::iter::Edge;
use scraper::node::Element;
use scraper::{Html, Node};

/// A run of text between two block-level tags.
#[derive(Clone, Debug, Default)]
pub(crate) struct RawBlock {
    pub(crate) text: String,
    /// Characters of it inside links.
    pub(crate) link_chars: usize,
    /// The element it lies in: an index into [`Page::elements`].
    pub(crate) element: usize,
    /// 1 to 6 inside a heading.
    pub(crate) heading: u8,
}

/// An element that holds blocks.
#[derive(Clone, Debug)]
pub(crate) struct ElementInfo {
    pub(crate) parent: usize,
    /// `article`, `main` and their like.
    pub(crate) content: bool,
    pub(crate) article: bool,
    /// Its class or id speaks of boilerplate.
    pub(crate) suspicious: bool,
    pub(crate) depth: u16,
}

/// A link as it stands in the page.
#[derive(Clone, Debug)]
pub(crate) struct RawLink {
    pub(crate) href: String,
    pub(crate) nofollow: bool,
}

/// What one walk over the tree collects.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) blocks: Vec<RawBlock>,
    pub(crate) elements: Vec<ElementInfo>,
    pub(crate) links: Vec<RawLink>,
    pub(crate) title: String,
    pub(crate) base: Option<String>,
    pub(crate) canonical: Option<String>,
    pub(crate) robots: Vec<String>,
    pub(crate) refresh: Option<String>,
    pub(crate) lang: Option<String>,
    /// Links beyond the limit were left out.
    pub(crate) links_cut: bool,
}

/// Never text of the page.
const DROPPED: &[&str] = &[
    "script", "style", "noscript", "template", "svg", "nav", "footer", "aside", "button", "select",
    "input", "textarea", "iframe", "object", "canvas", "head", "audio", "video", "math", "dialog",
    "menu", "map",
];

const BLOCK: &[&str] = &[
    "address",
    "article",
    "blockquote",
    "body",
    "center",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "li",
    "main",
    "ol",
    "p",
    "pre",
    "section",
    "summary",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "ul",
    "caption",
    "legend",
];

const DROPPED_ROLES: &[&str] = &[
    "navigation",
    "banner",
    "contentinfo",
    "complementary",
    "search",
    "menu",
    "menubar",
    "dialog",
];

/// Words in a class or id that speak of boilerplate. A word matches from its beginning.
const SUSPICIOUS: &[&str] = &[
    "ad",
    "ads",
    "advert",
    "banner",
    "breadcrumb",
    "byline",
    "comment",
    "cookie",
    "consent",
    "disqus",
    "footer",
    "gdpr",
    "header",
    "hidden",
    "menu",
    "modal",
    "nav",
    "newsletter",
    "pager",
    "paginat",
    "popup",
    "popular",
    "promo",
    "recommend",
    "related",
    "share",
    "sharing",
    "sidebar",
    "signup",
    "skip",
    "social",
    "sponsor",
    "subscribe",
    "tag",
    "tags",
    "teaser",
    "toolbar",
    "trending",
    "widget",
];

/// These are whole words only: as beginnings they would match `adapter`, `tagline`, `navigate`.
const WHOLE: &[&str] = &["ad", "ads", "tag", "tags", "nav", "skip", "hidden", "header"];

pub(crate) fn collect(html: &Html, max_links: usize) -> Page {
    let mut page = Page::default();
    page.elements.push(ElementInfo {
        parent: 0,
        content: false,
        article: false,
        suspicious: false,
        depth: 0,
    });
    let mut walk = Walk {
        page,
        stack: vec![0],
        dropped: 0,
        links: 0,
        heading: 0,
        in_title: false,
        pre: 0,
        current: RawBlock::default(),
        max_links,
    };
    for edge in html.tree.root().traverse() {
        match edge {
            Edge::Open(node) => match node.value() {
                Node::Element(element) => walk.open(element),
                Node::Text(text) => walk.text(text),
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
    walk.page
}

struct Walk {
    page: Page,
    stack: Vec<usize>,
    /// How many open elements drop their text.
    dropped: usize,
    links: usize,
    heading: u8,
    in_title: bool,
    pre: usize,
    current: RawBlock,
    max_links: usize,
}

impl Walk {
    fn open(&mut self, element: &Element) {
        let name = element.name();
        match name {
            "html" => self.page.lang = element.attr("lang").map(str::to_owned),
            "title" => self.in_title = self.page.title.is_empty(),
            "base" if self.page.base.is_none() => {
                self.page.base = element.attr("href").map(str::to_owned);
            }
            "meta" => self.meta(element),
            "link" => self.link_element(element),
            "a" | "area" => {
                if name == "a" {
                    self.links += 1;
                }
                self.link(element.attr("href"), element.attr("rel"));
            }
            "iframe" | "frame" => self.link(element.attr("src"), None),
            "br" => self.current.text.push('\n'),
            "pre" => self.pre += 1,
            _ => {}
        }
        if is_dropped(element) {
            self.dropped += 1;
        }
        if BLOCK.contains(&name) {
            self.flush();
            let depth = self.stack.len().min(usize::from(u16::MAX)) as u16;
            self.page.elements.push(ElementInfo {
                parent: self.stack.last().copied().unwrap_or(0),
                content: matches!(name, "article" | "main")
                    || element.attr("itemprop") == Some("articleBody")
                    || element.attr("role") == Some("main"),
                article: name == "article",
                // A heading is no boilerplate, whatever its class (`code-header`).
                suspicious: name == "header"
                    || (heading_level(name).is_none() && is_suspicious(element)),
                depth,
            });
            self.stack.push(self.page.elements.len() - 1);
            if let Some(level) = heading_level(name) {
                self.heading = level;
            }
        }
    }

    fn close(&mut self, element: &Element) {
        let name = element.name();
        match name {
            "title" => self.in_title = false,
            "a" => self.links = self.links.saturating_sub(1),
            "pre" => self.pre = self.pre.saturating_sub(1),
            _ => {}
        }
        if BLOCK.contains(&name) {
            self.flush();
            self.stack.pop();
            if heading_level(name).is_some() {
                self.heading = 0;
            }
        }
        if is_dropped(element) {
            self.dropped = self.dropped.saturating_sub(1);
        }
    }

    fn text(&mut self, text: &str) {
        if self.in_title {
            self.page.title.push_str(text);
        }
        if self.dropped > 0 {
            return;
        }
        let before = self.current.text.len();
        for c in text.chars() {
            let c = if c.is_whitespace() && !(self.pre > 0 && c == '\n') { ' ' } else { c };
            if c == ' '
                && (self.current.text.is_empty() || self.current.text.ends_with([' ', '\n']))
            {
                continue;
            }
            self.current.text.push(c);
        }
        if self.links > 0 {
            let added = self.current.text.get(before..).unwrap_or_default();
            self.current.link_chars += added.chars().filter(|c| !c.is_whitespace()).count();
        }
    }

    fn flush(&mut self) {
        let mut block = std::mem::take(&mut self.current);
        let trimmed = block.text.trim();
        if trimmed.is_empty() {
            return;
        }
        if trimmed.len() != block.text.len() {
            block.text = trimmed.to_owned();
        }
        block.element = self.stack.last().copied().unwrap_or(0);
        block.heading = self.heading;
        self.page.blocks.push(block);
    }

    fn meta(&mut self, element: &Element) {
        let content = element.attr("content").unwrap_or_default();
        if element.attr("http-equiv").is_some_and(|v| v.eq_ignore_ascii_case("refresh")) {
            self.page.refresh.get_or_insert_with(|| content.to_owned());
        }
        if let Some(name) = element.attr("name").map(str::to_ascii_lowercase)
            && matches!(name.as_str(), "robots" | "hapax")
        {
            self.page.robots.push(content.to_ascii_lowercase());
        }
    }

    fn link_element(&mut self, element: &Element) {
        let rel = element.attr("rel").unwrap_or_default().to_ascii_lowercase();
        let mut words = rel.split_ascii_whitespace();
        if words.clone().any(|word| word == "canonical") {
            if self.page.canonical.is_none() {
                self.page.canonical = element.attr("href").map(str::to_owned);
            }
        } else if words.any(|word| matches!(word, "next" | "prev" | "alternate")) {
            let page = element.attr("type").is_none_or(|t| t.contains("html"));
            if page {
                self.link(element.attr("href"), None);
            }
        }
    }

    fn link(&mut self, href: Option<&str>, rel: Option<&str>) {
        let Some(href) = href.map(str::trim) else { return };
        if href.is_empty() || href.starts_with('#') {
            return;
        }
        if self.page.links.len() >= self.max_links {
            self.page.links_cut = true;
            return;
        }
        let nofollow = rel.is_some_and(|rel| {
            rel.split_ascii_whitespace().any(|word| word.eq_ignore_ascii_case("nofollow"))
        });
        self.page.links.push(RawLink { href: href.to_owned(), nofollow });
    }
}

fn heading_level(name: &str) -> Option<u8> {
    match name.as_bytes() {
        [b'h', level @ b'1'..=b'6'] => Some(level - b'0'),
        _ => None,
    }
}

fn is_dropped(element: &Element) -> bool {
    DROPPED.contains(&element.name())
        || element.attr("hidden").is_some()
        || element.attr("aria-hidden") == Some("true")
        || element.attr("role").is_some_and(|role| DROPPED_ROLES.contains(&role))
        || element.attr("style").is_some_and(|style| {
            let style: String = style.chars().filter(|c| !c.is_whitespace()).collect();
            style.to_ascii_lowercase().contains("display:none")
        })
}

fn is_suspicious(element: &Element) -> bool {
    [element.attr("class"), element.attr("id")].into_iter().flatten().any(|names| {
        names.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).any(
            |word| {
                let word = word.to_ascii_lowercase();
                SUSPICIOUS.iter().any(|mark| {
                    if WHOLE.contains(mark) { word == *mark } else { word.starts_with(mark) }
                })
            },
        )
    })
}
