//! Gathers what elements declare, during the one walk over the tree.

use std::collections::BTreeMap;

use scraper::node::Element;

use super::candidates::{Candidates, Field, MetadataSource};
use super::json_ld;
use super::limits::{
    MAX_ALTERNATES, MAX_CAPTURED, MAX_CAPTURES, MAX_ITEMS, MAX_JSON, MAX_LANGUAGE_TAG,
};
use super::meta_names::{field_of, is_type};
use crate::elements::{Attributes, attribute};

/// Where an element is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Number of open elements, this one included.
    pub(crate) depth: usize,
    /// It begins a separate block of text.
    pub(crate) block: bool,
    /// What its class and its id name, see [`field_of_class`].
    pub(crate) fields: [Option<Field>; 2],
}

/// What the elements of a page declare.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub(crate) candidates: Candidates,
    /// Language tag and address of versions in other languages, as written.
    pub(crate) alternates: BTreeMap<String, String>,
    json_bytes: usize,
    items: Vec<Item>,
    captures: Vec<Capture>,
}

/// An open microdata item.
#[derive(Debug)]
struct Item {
    depth: usize,
    kind: ItemKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ItemKind {
    /// It describes the page.
    Page,
    /// It is the author or the publisher of such an item: its name is wanted.
    Named(Field),
    Other,
}

/// An element whose text is a value.
#[derive(Debug)]
struct Capture {
    depth: usize,
    field: Field,
    source: MetadataSource,
    rank: u8,
    text: String,
}

impl Gathered {
    /// Reads a start tag. `own` returns whether the element is shown and belongs to the page's own text.
    pub(crate) fn open(
        &mut self,
        element: &Element,
        attributes: &Attributes<'_>,
        place: Place,
        own: impl Fn() -> bool,
    ) {
        if place.block || element.name() == "br" {
            self.text(PART);
        }
        match element.name() {
            "meta" => self.meta(element),
            "link" => self.link(element),
            "time" if attributes.itemprop.is_none() && own() => {
                self.time(element, attributes, place.depth);
            }
            "a" => self.anchor(element, place.depth, &own),
            _ => {}
        }
        if attributes.itemprop.is_some() || attributes.itemtype.is_some() {
            self.microdata(element, attributes, place.depth);
        }
        for field in place.fields.into_iter().flatten().filter(|_| own()) {
            self.by_class(field, element, place.depth);
        }
    }

    /// Reads a text, for the open elements whose text is a value.
    pub(crate) fn text(&mut self, text: &str) {
        for capture in &mut self.captures {
            // One byte more than the limit marks a text that is too long.
            let free = (MAX_CAPTURED + 1).saturating_sub(capture.text.len());
            let end = text.ceil_char_boundary(free.min(text.len()));
            capture.text.push_str(text.get(..end).unwrap_or_default());
        }
    }

    /// Reads the end of the element at this depth.
    pub(crate) fn close(&mut self, depth: usize) {
        while self.items.last().is_some_and(|item| item.depth >= depth) {
            self.items.pop();
        }
        while self.captures.last().is_some_and(|capture| capture.depth >= depth) {
            let Some(Capture { field, source, rank, text, .. }) = self.captures.pop() else {
                return;
            };
            // Longer text is a paragraph, not a value.
            if text.len() > MAX_CAPTURED {
                continue;
            }
            self.candidates.add(field, source, rank, &text);
            // A byline often has the date too.
            if (field, source) == (Field::Author, MetadataSource::Text) {
                self.candidates.add(Field::Published, source, rank + 1, &text);
            }
        }
    }

    /// Reads a script of JSON-LD.
    pub(crate) fn json(&mut self, json: &str) {
        self.json_bytes = self.json_bytes.saturating_add(json.len());
        if self.json_bytes <= MAX_JSON {
            json_ld::read(json, &mut self.candidates);
        }
    }

    fn capture(&mut self, depth: usize, field: Field, source: MetadataSource, rank: u8) {
        let open = |c: &Capture| c.depth == depth && c.field == field;
        if self.captures.len() < MAX_CAPTURES && !self.captures.iter().any(open) {
            self.captures.push(Capture { depth, field, source, rank, text: String::new() });
        }
    }

    fn meta(&mut self, element: &Element) {
        let Some(content) = attribute(element, "content") else { return };
        for name in ["property", "name"].iter().filter_map(|name| attribute(element, name)) {
            if is_type(name) {
                self.candidates.add(Field::Type, MetadataSource::OpenGraph, 0, content);
                return;
            }
            if let Some((field, source, rank)) = field_of(name) {
                self.candidates.add(field, source, rank, content);
                return;
            }
        }
    }

    fn link(&mut self, element: &Element) {
        let (Some(rel), Some(href)) = (attribute(element, "rel"), attribute(element, "href"))
        else {
            return;
        };
        let has = |wanted| rel.split_ascii_whitespace().any(|r| r.eq_ignore_ascii_case(wanted));
        if has("license") {
            self.candidates.add(Field::Licence, MetadataSource::Link, 0, href);
        }
        if has("image_src") {
            self.candidates.add(Field::Picture, MetadataSource::Link, 0, href);
        }
        if has("alternate")
            && let Some(tag) = attribute(element, "hreflang")
        {
            let tag = tag.trim().to_ascii_lowercase();
            let valid = !tag.is_empty()
                && tag.len() <= MAX_LANGUAGE_TAG
                && tag.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
            if valid && self.alternates.len() < MAX_ALTERNATES {
                self.alternates.entry(tag).or_insert_with(|| href.trim().to_owned());
            }
        }
    }

    fn anchor(&mut self, element: &Element, depth: usize, own: impl Fn() -> bool) {
        let Some(rel) = attribute(element, "rel") else { return };
        let has = |wanted| rel.split_ascii_whitespace().any(|r| r.eq_ignore_ascii_case(wanted));
        if has("author") && own() {
            self.capture(depth, Field::Author, MetadataSource::Link, 0);
        }
        if has("license")
            && let Some(href) = attribute(element, "href")
        {
            self.candidates.add(Field::Licence, MetadataSource::Link, 1, href);
        }
    }

    fn time(&mut self, element: &Element, attributes: &Attributes<'_>, depth: usize) {
        let class = attributes.class;
        let names = |words: &[&str]| words.iter().any(|word| class.contains(word));
        let (field, rank) = if names(&["updated", "modified"]) && !names(&["publish", "entry-date"])
        {
            (Field::Modified, 0)
        } else if attribute(element, "pubdate").is_some() || names(&["publish", "entry-date"]) {
            (Field::Published, 0)
        } else {
            (Field::Published, 1)
        };
        match attribute(element, "datetime") {
            Some(value) => self.candidates.add(field, MetadataSource::Time, rank, value),
            None => self.capture(depth, field, MetadataSource::Time, rank),
        }
    }

    /// schema.org in attributes: properties of the item that describes the page, or of no item.
    fn microdata(&mut self, element: &Element, attributes: &Attributes<'_>, depth: usize) {
        let context = self.items.last().map_or(ItemKind::Page, |item| item.kind);
        let property = attributes.itemprop.unwrap_or_default();
        let mut named = None;
        for word in property.split_ascii_whitespace().take(MAX_PROPERTIES) {
            let Some(field) = field_of_property(word, context) else { continue };
            let opens = attributes.itemtype.is_some() || attribute(element, "itemscope").is_some();
            if opens && matches!(field, Field::Author | Field::SiteName) {
                named = Some(field);
                continue;
            }
            let value = ["content", "datetime"].iter().find_map(|name| attribute(element, name));
            let address = || attribute(element, "src").or_else(|| attribute(element, "href"));
            let value = match field {
                Field::Picture | Field::Licence => value.or_else(address),
                _ => value,
            };
            match value {
                Some(value) => {
                    let rank = if word == "dateCreated" { 2 } else { 0 };
                    self.candidates.add(field, MetadataSource::Microdata, rank, value);
                }
                None if field != Field::Picture => {
                    self.capture(depth, field, MetadataSource::Microdata, 1);
                }
                None => {}
            }
        }
        let Some(types) = attributes.itemtype else { return };
        if is_void(element.name()) || self.items.len() >= MAX_ITEMS {
            return;
        }
        let name = types.rsplit('/').next().unwrap_or_default();
        let kind = match named {
            Some(field) => ItemKind::Named(field),
            None if context == ItemKind::Page && describes_the_page(name) => ItemKind::Page,
            None => ItemKind::Other,
        };
        if kind == ItemKind::Page && !name.ends_with("WebPage") {
            self.candidates.add(Field::Type, MetadataSource::Microdata, 0, name);
        }
        self.items.push(Item { depth, kind });
    }

    /// Visible lines that templates mark by their class or id. An `<abbr>` has the whole date in its title.
    fn by_class(&mut self, field: Field, element: &Element, depth: usize) {
        let is_date = field != Field::Author;
        match attribute(element, "title").filter(|_| is_date && element.name() == "abbr") {
            Some(title) => self.candidates.add(field, MetadataSource::Text, 0, title),
            None => self.capture(depth, field, MetadataSource::Text, 0),
        }
    }
}

/// Returns what a class or an id names: the author, or one of the dates.
pub(crate) fn field_of_class(class: &str) -> Option<Field> {
    if class.is_empty() || class.len() > MAX_CLASS {
        return None;
    }
    let has = |words: &[&str]| {
        let mut tokens = class.split_ascii_whitespace();
        tokens.any(|token| words.iter().any(|word| is_same(token, word)))
    };
    let names = |part: &str| contains(class, part);
    if has(&AUTHOR_CLASSES) {
        Some(Field::Author)
    } else if ["ublish", "date", "Date"].into_iter().any(names) || has(&DATE_CLASSES) {
        let updated = (names("updated") || names("modified")) && !names("ublish");
        Some(if updated { Field::Modified } else { Field::Published })
    } else {
        None
    }
}

/// Does the same as `str::contains`, which prepares a search that costs more than these short names.
fn contains(name: &str, part: &str) -> bool {
    name.as_bytes().windows(part.len()).any(|window| window == part.as_bytes())
}

/// Compares without case, and a low line as a hyphen.
fn is_same(token: &str, word: &str) -> bool {
    let plain = |byte: u8| if byte == b'_' { b'-' } else { byte.to_ascii_lowercase() };
    token.len() == word.len() && token.bytes().map(plain).eq(word.bytes())
}

/// Separates captured parts of text.
const PART: &str = " | ";
/// Maximum number of properties of one element.
const MAX_PROPERTIES: usize = 8;
/// Maximum length of a class in which words are searched, in bytes.
const MAX_CLASS: usize = 128;

const AUTHOR_CLASSES: [&str; 11] = [
    "author",
    "byline",
    "author-name",
    "authorname",
    "entry-author",
    "post-author",
    "article-author",
    "byline-name",
    "article--author",
    "byline--name",
    "p-author",
];
const DATE_CLASSES: [&str; 19] = [
    "time",
    "timestamp",
    "pubtime",
    "post-time",
    "dateline",
    "dtreviewed",
    "posted",
    "postinfo",
    "post-info",
    "post-meta",
    "postmeta",
    "postmetadata",
    "entry-meta",
    "article-meta",
    "meta",
    "info",
    "article-info",
    "post-byline",
    "byline-text",
];

fn field_of_property(name: &str, context: ItemKind) -> Option<Field> {
    match (context, name) {
        (ItemKind::Named(field), "name") => Some(field),
        (ItemKind::Page, "datePublished" | "dateCreated") => Some(Field::Published),
        (ItemKind::Page, "dateModified") => Some(Field::Modified),
        (ItemKind::Page, "author" | "creator") => Some(Field::Author),
        (ItemKind::Page, "publisher") => Some(Field::SiteName),
        (ItemKind::Page, "description") => Some(Field::Description),
        (ItemKind::Page, "image" | "thumbnailUrl") => Some(Field::Picture),
        (ItemKind::Page, "license") => Some(Field::Licence),
        _ => None,
    }
}

/// Returns whether an item of this type is about the page, not about a part of it.
fn describes_the_page(name: &str) -> bool {
    [
        "Article",
        "Posting",
        "Page",
        "Blog",
        "CreativeWork",
        "Recipe",
        "Report",
        "Product",
        "Question",
    ]
    .iter()
    .any(|part| name.contains(part))
}

/// Returns whether the element has no content, so that no end tag closes its item.
fn is_void(name: &str) -> bool {
    matches!(name, "meta" | "link" | "img" | "br" | "hr" | "input")
}
