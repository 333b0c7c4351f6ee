//! What single tags declare: links, base, canonical address, robots, refresh.

use crate::limits::Limits;

/// A link as it stands in the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RawLink {
    pub(crate) href: String,
    pub(crate) nofollow: bool,
}

/// What the tags of a page declare.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Declared {
    pub(crate) links: Vec<RawLink>,
    /// Links beyond the limit.
    pub(crate) beyond: usize,
    pub(crate) base: Option<String>,
    pub(crate) canonical: Option<String>,
    pub(crate) robots: Vec<String>,
    pub(crate) refresh: Option<String>,
}

impl Declared {
    /// Reads one start tag.
    pub(crate) fn tag<'a>(
        &mut self,
        name: &str,
        attribute: impl Fn(&str) -> Option<&'a str>,
        in_noscript: bool,
        limits: &Limits,
    ) {
        match name {
            "a" | "area" => self.link(attribute("href"), attribute("rel"), limits),
            "iframe" | "frame" => self.link(attribute("src"), None, limits),
            "link" => self.link_element(attribute, limits),
            "meta" => self.meta(attribute, in_noscript, limits),
            "base" if self.base.is_none() => self.base = attribute("href").map(str::to_owned),
            _ => {}
        }
    }

    fn meta<'a>(
        &mut self,
        attribute: impl Fn(&str) -> Option<&'a str>,
        in_noscript: bool,
        limits: &Limits,
    ) {
        let content = attribute("content").unwrap_or_default();
        // In `<noscript>` it sends away who cannot run scripts, not who only reads.
        if !in_noscript
            && attribute("http-equiv").is_some_and(|v| v.eq_ignore_ascii_case("refresh"))
        {
            self.refresh.get_or_insert_with(|| content.to_owned());
        }
        if let Some(name) = attribute("name").map(str::to_ascii_lowercase)
            && (name == "robots" || name == limits.agent)
        {
            self.robots.push(content.to_ascii_lowercase());
        }
    }

    fn link_element<'a>(&mut self, attribute: impl Fn(&str) -> Option<&'a str>, limits: &Limits) {
        let rel = attribute("rel").unwrap_or_default().to_ascii_lowercase();
        let mut words = rel.split_ascii_whitespace();
        if words.clone().any(|word| word == "canonical") {
            if self.canonical.is_none() {
                self.canonical = attribute("href").map(str::to_owned);
            }
        } else if words.any(|word| matches!(word, "next" | "prev" | "alternate")) {
            let page = attribute("type").is_none_or(|t| t.to_ascii_lowercase().contains("html"));
            if page {
                self.link(attribute("href"), None, limits);
            }
        }
    }

    /// Adds a link, such as that of an `<a>` of HTML or SVG (SVG 1.1, section 17.1).
    pub(crate) fn link(&mut self, href: Option<&str>, rel: Option<&str>, limits: &Limits) {
        let Some(href) = href.map(str::trim) else { return };
        // A fragment leads to the page itself, unless there is another base.
        if href.is_empty() || href.starts_with('#') && self.base.is_none() {
            return;
        }
        if self.links.len() >= limits.max_links {
            self.beyond += 1;
            return;
        }
        let nofollow = rel.is_some_and(|rel| {
            rel.split_ascii_whitespace().any(|word| word.eq_ignore_ascii_case("nofollow"))
        });
        self.links.push(RawLink { href: href.to_owned(), nofollow });
    }
}
