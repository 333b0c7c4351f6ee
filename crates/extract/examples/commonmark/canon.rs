//! A form of HTML in which two pages that show the same are equal: absolute addresses, no marks without text, and no
//! mark inside the same mark.

use ego_tree::NodeRef;
use ego_tree::iter::Edge;
use scraper::node::Element;
use scraper::{Html, Node};

/// Returns the elements that are shown, with their text, one a line. Marks that Markdown does not have are left out.
pub(crate) fn canon(html: &str) -> String {
    let page = Html::parse_document(html);
    let mut out = Canon::default();
    let body = page
        .tree
        .nodes()
        .find(|node| node.value().as_element().is_some_and(|element| element.name() == "body"));
    let mut unseen = 0usize;
    for edge in body.into_iter().flat_map(|body| body.traverse()) {
        let (Edge::Open(node) | Edge::Close(node)) = edge;
        let opens = matches!(edge, Edge::Open(_));
        match node.value() {
            Node::Element(element) if is_unseen(element.name()) => {
                unseen = if opens { unseen + 1 } else { unseen.saturating_sub(1) };
            }
            _ if unseen > 0 => {}
            Node::Text(text) if opens => out.text(text),
            Node::Element(element) if opens => out.open(node, element),
            Node::Element(element) => out.close(element.name()),
            _ => {}
        }
    }
    out.finish()
}

/// Returns whether a browser shows no text of an element, or text that a visitor may change.
fn is_unseen(name: &str) -> bool {
    matches!(name, "script" | "style" | "textarea")
}

/// Returns the language of a code block, as CommonMark renders it.
fn language(pre: NodeRef<'_, Node>) -> String {
    let code = pre.first_child().and_then(|child| child.value().as_element());
    let class = code.and_then(|code| code.attr("class")).unwrap_or_default();
    class.strip_prefix("language-").map(|name| format!(" {name}")).unwrap_or_default()
}

/// Returns an address that Markdown links.
fn absolute(address: &str) -> Option<String> {
    let base = url::Url::parse("http://a.example/").ok()?;
    let url = base.join(Some(address.trim()).filter(|address| !address.is_empty())?).ok()?;
    matches!(url.scheme(), "http" | "https" | "mailto" | "ftp" | "tel")
        .then(|| url.to_string().replace(['`', '|'], "%"))
}

/// Returns the end tag of a mark.
fn closing(name: &str) -> Option<&'static str> {
    Some(match name {
        "strong" | "b" => "</b>",
        "em" | "i" => "</i>",
        "del" | "s" => "</s>",
        "code" => "</code>",
        "sup" => "</sup>",
        "sub" => "</sub>",
        _ => return None,
    })
}

fn is_block(name: &str) -> bool {
    matches!(
        name,
        "h1" | "h2"
            | "h3"
            | "h4"
            | "h5"
            | "h6"
            | "ul"
            | "li"
            | "pre"
            | "blockquote"
            | "table"
            | "tr"
            | "td"
            | "th"
            | "hr"
    )
}

#[derive(Default)]
struct Canon {
    lines: Vec<String>,
    line: String,
    pre: usize,
    /// Tags of the open marks. A block in a mark is shown as the mark in the block: Markdown has only the latter.
    marks: Vec<(String, &'static str)>,
}

impl Canon {
    fn open(&mut self, node: NodeRef<'_, Node>, element: &Element) {
        let attribute = |name: &str| element.attr(name).unwrap_or_default().to_owned();
        match element.name() {
            "a" => {
                let address = absolute(&attribute("href"));
                self.mark(address.map_or_else(String::new, |a| format!("<a {a}>")), "</a>");
            }
            "img" => {
                let address = absolute(&attribute("src")).unwrap_or_default();
                self.line.push_str(&format!("<img {address} {}>", attribute("alt")));
            }
            "br" => self.line.push_str(if self.pre > 0 { "\n" } else { "<br>" }),
            "ol" => {
                let start = attribute("start");
                let start = if start.is_empty() { "1".to_owned() } else { start };
                self.block(&format!("<ol {start}>"));
            }
            "pre" => {
                self.block("");
                self.pre += 1;
                self.block(&format!("<pre{}>", language(node)));
            }
            name if is_block(name) => self.block(&format!("<{name}>")),
            "p" | "div" => self.block(""),
            name => {
                if let Some(close) = closing(name) {
                    self.mark(close.replace('/', ""), close);
                }
            }
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            name if is_block(name) || name == "ol" => {
                self.block(&format!("</{name}>"));
                self.pre -= usize::from(name == "pre");
            }
            "p" | "div" => self.block(""),
            "a" => self.end_mark(),
            name if closing(name).is_some() => self.end_mark(),
            _ => {}
        }
    }

    fn mark(&mut self, open: String, close: &'static str) {
        let inside = self.marks.iter().any(|(_, other)| *other == close);
        let open = if inside { String::new() } else { open };
        if self.pre == 0 {
            self.line.push_str(&open);
        }
        self.marks.push((open, close));
    }

    fn end_mark(&mut self) {
        if let Some((open, close)) = self.marks.pop()
            && !open.is_empty()
            && self.pre == 0
        {
            self.line.push_str(close);
        }
    }

    fn text(&mut self, text: &str) {
        if self.pre > 0 {
            self.line.push_str(text);
            return;
        }
        for c in text.chars() {
            if !c.is_whitespace() {
                self.line.push(c);
            } else if !self.line.ends_with(' ') {
                self.line.push(' ');
            }
        }
    }

    fn block(&mut self, tag: &str) {
        let mut line = std::mem::take(&mut self.line);
        if self.pre > 0 {
            line = line.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
            line = line.trim_matches('\n').to_owned();
        } else {
            let open = self.marks.iter().rev().filter(|(open, _)| !open.is_empty());
            line.extend(open.map(|(_, close)| *close));
            line = tidy(&line);
        }
        if !line.is_empty() {
            self.lines.push(line);
        }
        if !tag.is_empty() {
            self.lines.push(tag.to_owned());
        }
        let in_pre = self.pre > usize::from(tag == "</pre>");
        if !in_pre {
            self.line.extend(self.marks.iter().map(|(open, _)| open.as_str()));
        }
    }

    fn finish(mut self) -> String {
        self.block("");
        // An element without content shows nothing.
        while let Some(at) = self.lines.windows(2).position(|pair| {
            matches!(pair, [one, other] if one.starts_with('<') && other.strip_prefix("</")
                .and_then(|rest| rest.strip_suffix('>'))
                .is_some_and(|name| one.strip_prefix('<').and_then(|one| one.split(['>', ' ']).next()) == Some(name)
                    && name != "td" && name != "th"))
        }) {
            self.lines.drain(at..at + 2);
        }
        self.lines.join("\n")
    }
}

/// Moves spaces out of marks, and removes empty marks.
fn tidy(line: &str) -> String {
    let mut line = line.trim().to_owned();
    loop {
        let before = line.clone();
        // A link without text.
        let empty = line.match_indices("></a>").find_map(|(end, _)| {
            let start = line.get(..end)?.rfind("<a ")?;
            let is_empty = !line.get(start..end)?.contains('>');
            is_empty.then_some(start..end + 5)
        });
        if let Some(range) = empty {
            line.replace_range(range, "");
        }
        if let Some(at) = line.find("<a ")
            && let Some(end) = line.get(at..).and_then(|rest| rest.find("> "))
            && line.get(at..at + end).is_some_and(|tag| !tag.contains('>'))
        {
            line.remove(at + end + 1);
            line.insert(at, ' ');
        }
        for mark in ["b", "i", "s", "code", "sup", "sub"] {
            let (open, close) = (format!("<{mark}>"), format!("</{mark}>"));
            line = line.replace(&format!("{open}{close}"), "");
            line = line.replace(&format!("{open} "), &format!(" {open}"));
            line = line.replace(&format!(" {close}"), &format!("{close} "));
            line = line.replace(&format!("{close}{open}"), "");
            line = line.replace(&format!("{close} {open}"), " ");
        }
        line = line
            .replace(" </a>", "</a> ")
            .replace("  ", " ")
            .replace(" <br>", "<br>")
            .replace("<br> ", "<br>");
        line = line.trim().trim_end_matches("<br>").trim_start_matches("<br>").to_owned();
        if line == before {
            return line;
        }
    }
}
