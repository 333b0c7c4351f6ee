//! What single tags declare: links, base, canonical address, robots, refresh.

use crate::limits::Limits;

/// Reservations that are recorded of a page.
const MAX_RESERVATIONS: usize = 16;

/// Returns whether a robots directive reserves the page from the training of models.
pub fn is_reservation(directive: &str) -> bool {
    matches!(directive, "noai" | "noimageai")
}

/// Returns the words of a list of robots directives. Semicolons and white space separate them too. The value in
/// `max-image-preview: none` is not a directive.
pub fn robots_words(directives: &str) -> impl Iterator<Item = &str> {
    directives.split([',', ';']).flat_map(|part| {
        let mut is_value = false;
        part.split_whitespace().filter(move |word| {
            let is_word = !is_value;
            is_value = word.ends_with(':');
            is_word
        })
    })
}

/// The media type of Really Simple Licensing (RSL 1.0).
fn is_rsl(media_type: &str) -> bool {
    media_type.trim().eq_ignore_ascii_case("application/rsl+xml")
}

/// Returns whether an address is not empty. An empty one of a frame or a `<link>` leads nowhere (WHATWG HTML, 4.2.4
/// and 4.8.5).
fn is_named(address: &&str) -> bool {
    !address.trim().is_empty()
}

/// A link as written in the page.
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
    pub(crate) reservations: Vec<String>,
    /// Addresses of licences (RSL), as written.
    pub(crate) licences: Vec<String>,
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
            "iframe" | "frame" => self.link(attribute("src").filter(is_named), None, limits),
            "link" => self.link_element(attribute, limits),
            "meta" => self.meta(attribute, in_noscript, limits),
            "script" if attribute("type").is_some_and(is_rsl) => self.reserve("rsl: in the page"),
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
        let Some(name) = attribute("name").map(str::to_ascii_lowercase) else { return };
        if name == "robots" || name == limits.agent {
            let directives = content.to_ascii_lowercase();
            for word in robots_words(&directives).filter(|word| is_reservation(word)) {
                self.reserve(word);
            }
            self.robots.push(directives);
        } else if name == "tdm-reservation" && content.trim() == "1" {
            self.reserve("tdm-reservation: 1");
        }
    }

    /// Adds a reservation, once.
    fn reserve(&mut self, what: &str) {
        if self.reservations.len() < MAX_RESERVATIONS
            && !self.reservations.iter().any(|r| r == what)
        {
            self.reservations.push(what.to_owned());
        }
    }

    fn link_element<'a>(&mut self, attribute: impl Fn(&str) -> Option<&'a str>, limits: &Limits) {
        let rel = attribute("rel").unwrap_or_default().to_ascii_lowercase();
        let mut words = rel.split_ascii_whitespace();
        if words.clone().any(|word| word == "license") && attribute("type").is_some_and(is_rsl) {
            let href = attribute("href").unwrap_or_default().trim();
            let fits = !href.is_empty() && href.len() <= limits.max_url_bytes;
            if fits && self.licences.len() < MAX_RESERVATIONS {
                self.licences.push(href.to_owned());
            }
        }
        if words.clone().any(|word| word == "canonical") {
            if self.canonical.is_none() {
                self.canonical = attribute("href").map(str::to_owned);
            }
        } else if words.any(|word| matches!(word, "next" | "prev" | "alternate")) {
            let page = attribute("type").is_none_or(|t| t.to_ascii_lowercase().contains("html"));
            if page {
                self.link(attribute("href").filter(is_named), None, limits);
            }
        }
    }

    /// Adds a link, such as that of an `<a>` of HTML or SVG (SVG 1.1, section 17.1).
    pub(crate) fn link(&mut self, href: Option<&str>, rel: Option<&str>, limits: &Limits) {
        let Some(href) = href.map(str::trim) else { return };
        // An empty address or a fragment leads to the page itself, unless there is another base.
        if (href.is_empty() || href.starts_with('#')) && self.base.is_none() {
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
