//! Reads the links of a page from its tokens, without a tree.

use std::cell::RefCell;
use std::time::Instant;

use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use html5ever::{LocalName, local_name};

use crate::declared::Declared;
use crate::foreign::Foreign;
use crate::limits::Limits;
use crate::parse::{Truncation, is_closed};
use crate::skip::skip;
use crate::supply::{Raw, Supply};
use crate::templates::Templates;

/// Bytes of input between two checks of the limits.
const PIECE: usize = 65_536;

/// Reads a page's declarations and title. In XHTML (`xml`), `<script src="x"/>` is a complete element.
///
/// # Complexity
/// Linear in the text, whatever the nesting, because no tree is built.
pub(crate) fn scan(
    text: &str,
    limits: &Limits,
    xml: bool,
) -> (Declared, String, Option<Truncation>) {
    read(text, limits, xml, true)
}

/// With `skips`, skips from one relevant tag to the next.
fn read(
    text: &str,
    limits: &Limits,
    xml: bool,
    skips: bool,
) -> (Declared, String, Option<Truncation>) {
    let supply = Supply::new(text);
    let sink = Sink { supply: &supply, seen: RefCell::default(), limits, xml, skips };
    let tokenizer = Tokenizer::new(sink, TokenizerOpts::default());
    let started = Instant::now();
    let mut truncated = None;
    while let Some(input) = supply.piece(PIECE) {
        // The tokenizer stops at scripts and declared encodings. Neither matters here: continue.
        while !input.is_empty() {
            let _ = tokenizer.feed(input);
        }
        if started.elapsed() > limits.parse.max_time {
            truncated = Some(Truncation::Time);
            break;
        }
    }
    tokenizer.end();
    let Seen { declared, title, .. } = tokenizer.sink.seen.into_inner();
    (declared, title, truncated)
}

#[derive(Default)]
struct Seen {
    declared: Declared,
    title: String,
    in_title: bool,
    noscript: usize,
    templates: Templates,
    foreign: Foreign,
}

struct Sink<'a> {
    supply: &'a Supply<'a>,
    seen: RefCell<Seen>,
    limits: &'a Limits,
    xml: bool,
    skips: bool,
}

impl TokenSink for Sink<'_> {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        match token {
            Token::TagToken(tag) => {
                let next = self.tag(&tag);
                let seen = self.seen.borrow();
                if self.skips
                    && matches!(next, TokenSinkResult::Continue)
                    && seen.foreign.is_outside()
                    && !seen.in_title
                {
                    self.supply.skip_by(skip);
                }
                next
            }
            Token::CharacterTokens(text) => {
                let mut seen = self.seen.borrow_mut();
                if seen.in_title && seen.title.len() < self.limits.max_title_bytes {
                    seen.title.push_str(&text);
                }
                TokenSinkResult::Continue
            }
            _ => TokenSinkResult::Continue,
        }
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.seen.borrow().foreign.is_inside()
    }
}

impl Sink<'_> {
    fn tag(&self, tag: &Tag) -> TokenSinkResult<()> {
        let mut seen = self.seen.borrow_mut();
        let start = tag.kind == TagKind::StartTag;
        let foreign = seen.foreign.tag(tag);
        let closed = self.xml && is_closed(tag);
        let open = start && !closed && !(foreign && tag.self_closing);
        let attribute = |name: &str| {
            let found = tag.attrs.iter().find(|attribute| &*attribute.name.local == name);
            found.map(|attribute| &*attribute.value)
        };
        let in_template = seen.templates.is_inside();
        match tag.name {
            local_name!("title") => {
                seen.in_title = open && seen.title.is_empty() && !in_template;
            }
            local_name!("template") if foreign || start && !open => {}
            local_name!("template") if start => seen.templates.open(attribute("shadowrootmode")),
            local_name!("template") => seen.templates.close(),
            // The end of a template closes it too.
            local_name!("noscript") if in_template => {}
            local_name!("noscript") if open => seen.noscript += 1,
            local_name!("noscript") if start => {}
            local_name!("noscript") => seen.noscript = seen.noscript.saturating_sub(1),
            _ => {}
        }
        if !start {
            return TokenSinkResult::Continue;
        }
        let in_noscript = seen.noscript > 0;
        if !foreign && !in_template {
            seen.declared.tag(&tag.name, attribute, in_noscript, self.limits);
        } else if tag.name == local_name!("a") && !in_template {
            let href = attribute("href").or_else(|| attribute("xlink:href"));
            seen.declared.link(href, attribute("rel"), self.limits);
        }
        let raw = raw(&tag.name).filter(|_| !foreign && !closed);
        if let (Some(skipped), Some(_)) = (Raw::of(tag), raw) {
            self.supply.skip(skipped);
        }
        raw.map_or(TokenSinkResult::Continue, TokenSinkResult::RawData)
    }
}

/// Elements whose content is not markup, by the tree construction stage of the HTML standard.
fn raw(name: &LocalName) -> Option<RawKind> {
    match *name {
        local_name!("script") => Some(RawKind::ScriptData),
        local_name!("style")
        | local_name!("xmp")
        | local_name!("iframe")
        | local_name!("noembed")
        | local_name!("noframes") => Some(RawKind::Rawtext),
        local_name!("title") | local_name!("textarea") => Some(RawKind::Rcdata),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::collect;
    use crate::parse::{parse, parse_as};
    use proptest::prelude::*;

    #[test]
    fn tokens_declare_what_the_tree_declares() {
        let page = r##"<!doctype html><html><head><title>A &amp; B</title><base href="/d/">
            <link rel=canonical href=/c><link rel="next nofollow" href=n><link rel=alternate
            type="application/rss+xml" href=feed><meta name=Robots content="NoFollow">
            <meta name=hapax content=noindex><meta http-equiv=Refresh content="3; url=r">
            <script>"<a href=no>"</script><style><a href=no></style></head><body>
            <noscript><meta http-equiv=refresh content="0; url=js"><a href=in-noscript>x</a></noscript>
            <a href="one?a=1&amp;b=2" rel="x NOFOLLOW">1</a><a href="#top">t</a><a href=" two ">2</a>
            <!-- <a href=no> --><textarea><a href=no></textarea><iframe src=frame><a href=no></iframe>
            <map><area href=area></map><p><div><table><a href=astray>3</a><tr><td><a href=cell>4</a>
            <svg><a href=svg>5</a></svg><template><a href=later>6</a></template></table></div>
            <svg><title/><a href=after-title>7</a><style/><a href=after-style>8</a><g><style>
            <a href=in-style></style></g><![CDATA[<a href=no>]]></svg><script>"<a href=no>"</script>
            <math><mi><style><a href=no></style></mi><style/><a href=math>9</a></math>
            <svg><foreignObject><style><a href=no></style><svg><title/></svg><a href=html></a>
            </foreignObject><title/><a href=again></svg><style><a href=no></style>
            <svg><g><p><style><a href=no></style>
            <div><svg><path d=m/></path><title/><a href=open></div><style><a href=no></style>
            <svg><title>never closed</svg><style><a href=no></style>
            <svg/><style><a href=no></style><svg><font color=red><style><a href=no></style>"##;
        let limits = Limits { agent: "hapax".into(), ..Limits::default() };
        let tree =
            collect(&parse(page, &limits.parse).0, &crate::styles::Styles::default(), &limits);
        let (declared, title, truncated) = scan(page, &limits, false);
        assert_eq!(title, tree.title);
        assert_eq!(truncated, None);
        let sorted = |mut declared: Declared| {
            // The tree moves misplaced elements out of tables.
            declared.links.sort_by(|a, b| a.href.cmp(&b.href));
            declared
        };
        assert_eq!(sorted(declared), sorted(tree.declared));

        let page = r#"<html><head><title/><script src="x"/><style/><link rel="canonical" href="/c"/>
            <title>T</title></head><body><a name="top"/><iframe src="frame"/><a href="one">1</a>
            <textarea/><noframes/><p/><a href="two">2</a><script>"<a href=no>"</script>
            <svg><title/><a href="drawn"/><style/></svg><script/><a href="three">3</a></body></html>"#;
        for xml in [false, true] {
            let tree = collect(
                &parse_as(page, &limits.parse, xml).0,
                &crate::styles::Styles::default(),
                &limits,
            );
            let (declared, title, _) = scan(page, &limits, xml);
            assert_eq!((title, declared.links.len() > 3), (tree.title, xml));
            assert_eq!(sorted(declared), sorted(tree.declared), "XHTML: {xml}");
        }
    }

    /// WHATWG HTML, 4.12.3.
    #[test]
    fn a_template_declares_nothing() {
        let page = r#"<html><head><template><title>no</title><base href=/no/><link rel=canonical href=/no>
            <meta name=robots content="noindex, noai"><meta http-equiv=refresh content="0; url=no"><noscript></template>
            <base href="/d/"><link rel=canonical href=/c><title>T</title></head><body><a href=one>1</a>
            <template><a href=no></a><template><a href=no></a></template><svg><a href=no></a><path></template>
            <a href=two>2</a></template><svg><template><a href=three></a></template></svg>
            <template shadowrootmode=open><a href=four></a><template><a href=no></a></template></template>
            <template shadowrootmode=CLOSED><a href=five></a></template>
            <div><template><iframe src=no></iframe><table><tr><td></div></table></template>
            <a href=six></a></div><meta http-equiv=refresh content="0; url=yes"><template><a href=no>"#;
        let limits = Limits::default();
        let tree =
            collect(&parse(page, &limits.parse).0, &crate::styles::Styles::default(), &limits);
        let (declared, title, _) = scan(page, &limits, false);
        assert_eq!((&declared, &title), (&tree.declared, &tree.title));
        let links: Vec<&str> = declared.links.iter().map(|link| link.href.as_str()).collect();
        assert_eq!(links, ["one", "two", "three", "four", "five", "six"]);
        assert_eq!(title, "T");
        assert_eq!(declared.base.as_deref(), Some("/d/"));
        assert_eq!(declared.canonical.as_deref(), Some("/c"));
        assert_eq!(declared.refresh.as_deref(), Some("0; url=yes"));
        assert_eq!((declared.robots.len(), declared.reservations.len()), (0, 0));
        // XHTML closes it in its start tag.
        let page = r#"<html><head><template/></head><body><a href="one">1</a></body></html>"#;
        for xml in [false, true] {
            let tree = collect(
                &parse_as(page, &limits.parse, xml).0,
                &crate::styles::Styles::default(),
                &limits,
            );
            let (declared, ..) = scan(page, &limits, xml);
            assert_eq!(declared.links.len(), usize::from(xml));
            assert_eq!(declared, tree.declared, "XHTML: {xml}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]
        #[test]
        fn markup_skipped_by_the_scanner_declares_nothing(
            parts in prop::collection::vec(prop::sample::select(vec![
                "<a href=", "x", "one.html", ">", "<p>", "<p ", "</p>", "</a>", "class='", "'", "\"", "=", " ", "/", "\r\n", "\0",
                "<", "</", "<!--", "-->", "<!", "<?", "é", "text", "&amp;", "<title>", "</title>", "<TITLE>", "<noscript>",
                "</noscript>", "<svg>", "</svg>", "<math>", "<mi>", "<style>", "</style>", "<script>", "</script>",
                "<meta name=robots content=nofollow>", "<base href=/b/>", "<iframe src=f>", "</iframe>", "<div a=\"b\" c='d'e=f>",
                "<link rel=canonical href=/c>", "<textarea>", "</textarea>", "<plaintext>", "<![CDATA[", "]]>", "<foreignObject>",
                "<a href='q' rel=nofollow>", "<b>", "<table>", "<xmp>", "</xmp>", "<area href=z>", "<frame src=y>",
                "<script/>", "<title/>", "<style/>", "<iframe src=f />", "<template>", "</template>", "<Template shadowrootmode=open>",
            ]), 0..40),
            long in 0usize..2,
            xml in any::<bool>(),
        ) {
            // A piece may end anywhere in the parts.
            let mut text = "<b> x</b>".repeat(long * 7281);
            text.extend(parts);
            let limits = Limits::default();
            prop_assert_eq!(read(&text, &limits, xml, true), read(&text, &limits, xml, false), "{:?}", text);
        }
    }

    #[test]
    fn limits_hold_and_nothing_nested_is_slow() {
        let limits = Limits { max_links: 10, ..Limits::default() };
        let deep = "<div><a href=x>".repeat(200_000);
        let started = Instant::now();
        let (declared, ..) = scan(&deep, &limits, false);
        assert_eq!(declared.links.len(), 10);
        assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
        let (declared, title, _) = scan("<title>never closed <a href=x>", &limits, false);
        assert_eq!((declared.links.len(), title.as_str()), (0, "never closed <a href=x>"));
        for odd in ["<", "<a href", "<a href='", "<!--", "<script>", "<plaintext><a href=x>", ""] {
            let _ = scan(odd, &limits, false);
        }
    }
}
