//! The input buffer of the tokenizer, without the content of scripts and styles. html5ever reads such raw text
//! character by character; it is the largest part of most pages and not needed here.

use std::cell::Cell;

use html5ever::Attribute;
use html5ever::local_name;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, Tag, TagKind};

pub(crate) struct Supply<'a> {
    text: &'a str,
    /// Number of bytes moved to the queue so far.
    handed: Cell<usize>,
    queue: BufferQueue,
}

impl<'a> Supply<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, handed: Cell::new(0), queue: BufferQueue::default() }
    }

    /// Moves the next piece to the queue; `None` after the last one.
    pub(crate) fn piece(&self, size: usize) -> Option<&BufferQueue> {
        let rest = self.text.get(self.handed.get()..).filter(|rest| !rest.is_empty())?;
        let end = rest.floor_char_boundary(size.min(rest.len()));
        self.queue.push_back(StrTendril::from_slice(rest.get(..end)?));
        self.handed.set(self.handed.get() + end);
        Some(&self.queue)
    }

    /// Skips the content of the raw text element that has just begun, up to its end tag.
    ///
    /// # Complexity
    /// Linear in the skipped bytes; the rest of the queue is not copied.
    pub(crate) fn skip(&self, raw: Raw) {
        self.skip_by(|rest| raw.length(rest));
    }

    /// Skips as many bytes as `length` returns. Call it only for a tag token: then the tokenizer is at the tag's end.
    pub(crate) fn skip_by(&self, length: impl FnOnce(&str) -> usize) {
        self.advance(|at, _| length(self.text.get(at..).unwrap_or_default()));
    }

    /// [`skip_by`](Self::skip_by) within the current piece.
    pub(crate) fn skip_within_piece(&self, length: impl FnOnce(&StrTendril) -> usize) {
        self.advance(|_, first| length(first));
    }

    /// `length` receives the position of the tokenizer and the first chunk of its queue.
    fn advance(&self, length: impl FnOnce(usize, &StrTendril) -> usize) {
        let Some(first) = self.queue.pop_front() else {
            let at = self.handed.get();
            return self.handed.set(at + length(at, &StrTendril::new()));
        };
        let mut waiting = Vec::new();
        while let Some(chunk) = self.queue.pop_front() {
            waiting.push(chunk);
        }
        let queued = first.len() + waiting.iter().map(|chunk| chunk.len()).sum::<usize>();
        let at = self.handed.get().saturating_sub(queued);
        let mut skipped = length(at, &first);
        if skipped > queued {
            self.handed.set(at + skipped);
            return;
        }
        for mut chunk in std::iter::once(first).chain(waiting) {
            let here = skipped.min(chunk.len());
            skipped -= here;
            if here < chunk.len() {
                chunk.pop_front(here as u32);
                self.queue.push_back(chunk);
            }
        }
    }
}

/// An element whose raw text is skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Raw {
    Script,
    Style,
}

impl Raw {
    /// Returns the element that a start tag begins, if its content becomes raw text.
    pub(crate) fn of(tag: &Tag) -> Option<Self> {
        let named = |attribute: &Attribute| attribute.name.local == local_name!("type");
        match tag.name {
            _ if tag.kind != TagKind::StartTag => None,
            // JSON-LD declares the page's type.
            local_name!("script") if tag.attrs.iter().any(|a| named(a) && &*a.value == JSON_LD) => {
                None
            }
            local_name!("script") => Some(Self::Script),
            local_name!("style") => Some(Self::Style),
            _ => None,
        }
    }

    const fn name(self) -> &'static [u8] {
        match self {
            Self::Script => b"script",
            Self::Style => b"style",
        }
    }

    /// Returns the number of bytes before the end tag or `<!--`, behind which scripts may nest (HTML, 13.2.5.4).
    fn length(self, text: &str) -> usize {
        let bytes = text.as_bytes();
        let name = self.name();
        let stops = |at: &usize| {
            let rest = bytes.get(at + 1..).unwrap_or_default();
            if self == Self::Script && rest.starts_with(b"!--") {
                return true;
            }
            let Some((named, after)) =
                rest.strip_prefix(b"/").and_then(|r| r.split_at_checked(name.len()))
            else {
                return false;
            };
            named.eq_ignore_ascii_case(name)
                && after.first().is_none_or(|byte| {
                    matches!(byte, b'\t' | b'\n' | b'\x0c' | b'\r' | b' ' | b'/' | b'>')
                })
        };
        memchr::memchr_iter(b'<', bytes).find(stops).unwrap_or(bytes.len())
    }
}

/// Type of a script element with data.
pub(crate) const JSON_LD: &str = "application/ld+json";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::{ParseLimits, parse};
    use html5ever::tendril::TendrilSink;
    use html5ever::tree_builder::TreeBuilderOpts;
    use html5ever::{ParseOpts, parse_document};
    use proptest::prelude::*;
    use scraper::{Html, HtmlTreeSink, Node};

    /// Returns all nodes with their depth, except the content of scripts and styles.
    fn nodes(html: &Html) -> Vec<(usize, String)> {
        let read = |node: ego_tree::NodeRef<'_, Node>| {
            let element = node.parent().and_then(|parent| parent.value().as_element().cloned());
            let skipped = element.is_some_and(|element| {
                let json = element.attr("type") == Some(JSON_LD);
                element.name() == "style" || element.name() == "script" && !json
            });
            let text = node.value().as_text().is_some();
            (!(skipped && text)).then(|| (node.ancestors().count(), format!("{:?}", node.value())))
        };
        html.tree.root().descendants().filter_map(read).collect()
    }

    fn plain(text: &str) -> Html {
        let tree_builder = TreeBuilderOpts { scripting_enabled: false, ..Default::default() };
        let options = ParseOpts { tree_builder, ..Default::default() };
        parse_document(HtmlTreeSink::new(Html::new_document()), options).one(text)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]
        #[test]
        fn only_what_scripts_and_styles_hold_is_missing_of_the_tree(
            parts in prop::collection::vec(prop::sample::select(vec![
                "<script>", "<script src=x>", "</script>", "</SCRIPT >", "</script/x>", "</scriptx>", "</script",
                "<style>", "</style>", "</style\n", "<!--", "-->", "<script type=application/ld+json>", "{\"a\":1}",
                "<svg>", "</svg>", "<p>", "text", "<", "é", "\r\n", "\r", "&amp;", "<title>", "</title>", "<textarea>",
                "</textarea>", "<noscript>", "</noscript>", "<template>", "</template>", "<table>", "<select>", "<math>",
                "<body>", "</head>", "<head>", "<iframe>", "</iframe>", "<frameset>", "<plaintext>", "\0", "</", "/>",
                "<A HREF='x?a=1&amp;b' class=\"c d\">", "</a>", "<p a a=1>", "<p class=>", "<b x=\"y\"z>", "</b>", "<td\r\nid=a>",
                "&copy", "&nbsp;", "&lt;", "<br/>", "<p\0>", "<i b=c/d>", "<i b=c d=e>", "<g/>", "</i >", "<h1 =a>", "=", "'", "\"", ">", "<p ", "<li a='",
                "<a title=\"&lt;&amp;\">", "<ul>", "<pre>", "\n", "</p>", "<foreignObject A=b>", "<e-1>", "<![CDATA[", "]]>", "&#39;",
            ]), 0..30),
            long in 0usize..2,
        ) {
            // A piece may end anywhere in the parts.
            let mut text = " x".repeat(long * 8190);
            text.extend(parts);
            let (html, truncated) = parse(&text, &ParseLimits::default());
            prop_assert!(truncated.is_none());
            prop_assert_eq!(nodes(&html), nodes(&plain(&text)), "{:?}", text);
        }
    }

    #[test]
    fn script_and_style_content_is_skipped() {
        let script = "if (a < b) { document.write('<p>no</p>') } ".repeat(2000);
        let page = format!("<p>before<script>{script}</script><style>{script}</style><p>after");
        let (html, _) = parse(&page, &ParseLimits::default());
        let text: String = html.root_element().text().collect();
        assert_eq!(text, "beforeafter");
        // Without an end tag, the rest of the page is skipped.
        let (html, _) = parse(&format!("<p>before<script>{script}"), &ParseLimits::default());
        assert_eq!(html.root_element().text().collect::<String>(), "before");
        for (text, length) in [
            ("", 0),
            ("a < b </scripts> </ script> </Script>", 28),
            ("a <!-- </script>", 2),
            ("a </script", 2),
        ] {
            assert_eq!(Raw::Script.length(text), length, "{text}");
        }
        assert_eq!(Raw::Style.length("a <!-- </style x>"), 7);
    }
}
