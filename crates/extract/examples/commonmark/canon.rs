//! A form of HTML in which two pages that show the same are equal: absolute addresses, no marks without text, and no
//! mark inside the same mark.

use ego_tree::iter::Edge;
use scraper::{Html, Node};

/// Returns the elements that are shown, with their text, one a line. Marks that Markdown does not have are left out.
pub(crate) fn canon(html: &str) -> String {
    let page = Html::parse_document(html);
    let mut out = Canon::default();
    let body = page
        .tree
        .nodes()
        .find(|node| node.value().as_element().is_some_and(|element| element.name() == "body"));
    for edge in body.into_iter().flat_map(|body| body.traverse()) {
        match edge {
            Edge::Open(node) => match node.value() {
                Node::Text(text) => out.text(text),
                Node::Element(element) => {
                    let attribute = |name: &str| element.attr(name).unwrap_or_default().to_owned();
                    match element.name() {
                        "a" => {
                            let address = absolute(&attribute("href"));
                            out.inline(
                                &address.as_ref().map_or_else(String::new, |a| format!("<a {a}>")),
                            );
                            out.links.push(address.is_some());
                        }
                        "img" => {
                            let address = absolute(&attribute("src")).unwrap_or_default();
                            out.inline(&format!("<img {address} {}>", attribute("alt")));
                        }
                        "br" => out.inline("<br>"),
                        name @ ("strong" | "b" | "em" | "i" | "del" | "s" | "code" | "sup"
                        | "sub") => {
                            let inside = out.marks.contains(&short(name));
                            out.marks.push(short(name));
                            if out.pre == 0 && !inside {
                                out.inline(&format!("<{}>", short(name)));
                            }
                        }
                        "ol" => {
                            let start = attribute("start");
                            let start = if start.is_empty() { "1".to_owned() } else { start };
                            out.block(&format!("<ol {start}>"));
                        }
                        name if is_block(name) => {
                            out.pre += usize::from(name == "pre");
                            out.block(&format!("<{name}>"));
                        }
                        "p" => out.block(""),
                        _ => {}
                    }
                }
                _ => {}
            },
            Edge::Close(node) => {
                let Some(element) = node.value().as_element() else { continue };
                match element.name() {
                    "a" => {
                        let tag = if out.links.pop() == Some(true) { "</a>" } else { "" };
                        out.inline(tag);
                    }
                    name @ ("strong" | "b" | "em" | "i" | "del" | "s" | "code" | "sup" | "sub") => {
                        out.marks.pop();
                        if out.pre == 0 && !out.marks.contains(&short(name)) {
                            out.inline(&format!("</{}>", short(name)));
                        }
                    }
                    name if is_block(name) || name == "ol" => {
                        out.block(&format!("</{name}>"));
                        out.pre -= usize::from(name == "pre");
                    }
                    "p" => out.block(""),
                    _ => {}
                }
            }
        }
    }
    out.finish()
}

/// Returns an address that Markdown links.
fn absolute(address: &str) -> Option<String> {
    let base = url::Url::parse("http://a.example/").ok()?;
    let url = base.join(Some(address.trim()).filter(|address| !address.is_empty())?).ok()?;
    matches!(url.scheme(), "http" | "https" | "mailto" | "ftp" | "tel")
        .then(|| url.to_string().replace(['`', '|'], "%"))
}

fn short(name: &str) -> &'static str {
    match name {
        "strong" | "b" => "b",
        "em" | "i" => "i",
        "del" | "s" => "s",
        "code" => "code",
        "sup" => "sup",
        _ => "sub",
    }
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
    marks: Vec<&'static str>,
    links: Vec<bool>,
}

impl Canon {
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

    fn inline(&mut self, tag: &str) {
        self.line.push_str(tag);
    }

    fn block(&mut self, tag: &str) {
        let line = std::mem::take(&mut self.line);
        let mut line = if self.pre > 0 { line.trim_matches('\n').to_owned() } else { tidy(&line) };
        if self.pre > 0 {
            line = line.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
        }
        if !line.is_empty() {
            self.lines.push(line);
        }
        if !tag.is_empty() {
            self.lines.push(tag.to_owned());
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
        if let Some(end) = line.find("></a>")
            && let Some(start) = line.get(..end).and_then(|line| line.rfind("<a "))
            && line.get(start..end).is_some_and(|tag| !tag.contains('>'))
        {
            line.replace_range(start..end + 5, "");
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
