//! Tracks SVG and MathML (foreign content) without a tree: `<style>` and `<title>` are ordinary elements there.

use html5ever::tokenizer::{Tag, TagKind};
use html5ever::{LocalName, local_name};

/// Maximum depth that is tracked. End tags of deeper elements are ignored.
const MAX_OPEN: usize = 512;

/// The open elements from the outermost `<svg>` or `<math>` on.
#[derive(Default)]
pub(crate) struct Foreign {
    open: Vec<Open>,
}

struct Open {
    name: LocalName,
    /// Its content is HTML again, as in `<foreignObject>`.
    html: bool,
}

impl Foreign {
    /// Returns whether the next token is foreign content.
    pub(crate) fn is_inside(&self) -> bool {
        self.open.last().is_some_and(|open| !open.html)
    }

    /// Returns whether no `<svg>` or `<math>` is open.
    pub(crate) fn is_outside(&self) -> bool {
        self.open.is_empty()
    }

    /// Processes a tag and returns whether it belongs to SVG or MathML.
    ///
    /// # Complexity
    /// Linear in the open elements, at most [`MAX_OPEN`].
    pub(crate) fn tag(&mut self, tag: &Tag) -> bool {
        match tag.kind {
            TagKind::StartTag => self.start(tag),
            TagKind::EndTag => self.end(&tag.name),
        }
    }

    fn start(&mut self, tag: &Tag) -> bool {
        let inside = self.is_inside();
        if inside && breaks_out(tag) {
            self.leave();
            return false;
        }
        if !inside && !root(&tag.name) {
            return false;
        }
        if !tag.self_closing && self.open.len() < MAX_OPEN {
            self.open.push(Open { name: tag.name.clone(), html: inside && holds_html(tag) });
        }
        true
    }

    fn end(&mut self, name: &LocalName) -> bool {
        let Some((last, before)) = self.open.split_last() else { return false };
        let from = match root(name) {
            // HTML in foreign content ends with the element around it, or with the `<svg>` or `<math>`.
            false if last.html => before.len(),
            _ => before.iter().rposition(|open| open.html).map_or(0, |at| at + 1),
        };
        let found = self.open.iter().skip(from).rposition(|open| open.name == *name);
        if let Some(at) = found {
            self.open.truncate(from + at);
            return true;
        }
        // An HTML element around the foreign content ends, and closes it.
        if self.is_inside() && is_html(name) {
            self.leave();
        }
        false
    }

    fn leave(&mut self) {
        let end = self.open.iter().rposition(|open| open.html).map_or(0, |at| at + 1);
        self.open.truncate(end);
    }
}

fn root(name: &LocalName) -> bool {
    matches!(*name, local_name!("svg") | local_name!("math"))
}

/// Integration points of the HTML standard.
fn holds_html(tag: &Tag) -> bool {
    match &*tag.name {
        "foreignobject" | "desc" | "title" | "mi" | "mo" | "mn" | "ms" | "mtext" => true,
        "annotation-xml" => tag.attrs.iter().any(|attribute| {
            &*attribute.name.local == "encoding"
                && ["text/html", "application/xhtml+xml"]
                    .iter()
                    .any(|html| attribute.value.eq_ignore_ascii_case(html))
        }),
        _ => false,
    }
}

/// Start tags that end foreign content, by the HTML standard.
fn breaks_out(tag: &Tag) -> bool {
    match &*tag.name {
        "font" => tag.attrs.iter().any(|a| matches!(&*a.name.local, "color" | "face" | "size")),
        "b" | "big" | "blockquote" | "body" | "br" | "center" | "code" | "dd" | "div" | "dl"
        | "dt" | "em" | "embed" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "head" | "hr" | "i"
        | "img" | "li" | "listing" | "menu" | "meta" | "nobr" | "ol" | "p" | "pre" | "ruby"
        | "s" | "small" | "span" | "strong" | "strike" | "sub" | "sup" | "table" | "tt" | "u"
        | "ul" | "var" => true,
        _ => false,
    }
}

/// HTML elements that may contain SVG or MathML and whose end tag closes it.
fn is_html(name: &LocalName) -> bool {
    matches!(
        &**name,
        "a" | "address"
            | "article"
            | "aside"
            | "b"
            | "blockquote"
            | "body"
            | "button"
            | "center"
            | "dd"
            | "details"
            | "div"
            | "dl"
            | "dt"
            | "em"
            | "fieldset"
            | "figcaption"
            | "figure"
            | "footer"
            | "form"
            | "h1"
            | "h2"
            | "h3"
            | "h4"
            | "h5"
            | "h6"
            | "header"
            | "html"
            | "i"
            | "label"
            | "li"
            | "main"
            | "nav"
            | "ol"
            | "p"
            | "section"
            | "span"
            | "strong"
            | "summary"
            | "table"
            | "tbody"
            | "td"
            | "template"
            | "tfoot"
            | "th"
            | "thead"
            | "tr"
            | "u"
            | "ul"
    )
}
