//! Parses sitemaps: XML, indexes, RSS, Atom and plain text, also gzipped and in other charsets.

mod date;
mod field;
mod input;
mod name;

use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io::BufRead;

use encoding_rs::Encoding;
use quick_xml::Reader;
use quick_xml::escape::resolve_html5_entity;
use quick_xml::events::Event;
use url::Url;

use self::date::sortable;
use self::field::Field;
use self::input::{Input, Start};
use self::name::{MAX_ATTRIBUTES, Name, is_permanent, xml_base};
use crate::decode::decoded;
use crate::limits::Limits;
use crate::response::Response;

/// URLs per entry; further ones are counted.
const MAX_LOCATIONS: usize = 16;
/// Bytes at the start of a body within which its outermost element must begin.
const MAX_START: usize = 64 << 10;
/// Bytes of text before the outermost element of a seed that may be a page.
const MAX_BEFORE_LIST: usize = 1024;

/// Limits of one sitemap file.
#[derive(Clone, Debug)]
pub struct SitemapLimits {
    /// Decompressed bytes; the rest is ignored. Default 50 MiB, a little more than the protocol allows.
    pub max_bytes: usize,
    /// URLs; further ones are counted. Default 50,000, the protocol's limit.
    pub max_urls: usize,
    /// Bytes of one field. Default 2,048.
    pub max_text: usize,
    /// Bytes of all URLs, because short relative ones become long under a long base; further ones are counted.
    /// Default 16 MiB.
    pub max_held: usize,
    /// Alternate languages of one page; further ones are counted. Default 100.
    pub max_alternates: usize,
    /// Layers of Content-Encoding. Default 2.
    pub max_encodings: usize,
}

impl Default for SitemapLimits {
    fn default() -> Self {
        Self {
            max_bytes: 50 << 20,
            max_urls: 50_000,
            max_text: 2048,
            max_held: 16 << 20,
            max_alternates: 100,
            max_encodings: Limits::default().max_encodings,
        }
    }
}

/// A parsed sitemap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sitemap {
    /// Pages of any host, newest change first, then those without a date in their order, then alternate languages
    /// that have no entry.
    pub pages: Vec<SitemapPage>,
    /// Sitemaps that an index lists.
    pub maps: Vec<Url>,
    /// Entries beyond the limits of number and size.
    pub beyond: u64,
    /// Entries whose URL is too long or not http(s).
    pub unusable: u64,
    /// Whether only a part was read: the file is too large or damaged.
    pub cut: bool,
    /// Whether it is a sitemap, an index, a feed or a list of URLs, and not a page or noise.
    pub is_list: bool,
}

impl Sitemap {
    /// Returns whether it names no URL at all, usable or not.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty() && self.maps.is_empty() && self.beyond + self.unusable == 0
    }
}

/// One page of a sitemap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SitemapPage {
    /// URL of the page.
    pub url: Url,
    /// Last change: a W3C date, of which times are in UTC, so that dates sort as text.
    pub changed: Option<String>,
}

impl Sitemap {
    /// Parses the sitemap at URL `base`; skips parts that cannot be read.
    ///
    /// # References
    /// sitemaps.org protocol 0.9; RSS 2.0; RFC 4287 (Atom).
    ///
    /// # Complexity
    /// Linear in the bytes. Memory: one element and the returned URLs; charsets other than UTF-8 are decoded in
    /// memory. No DTD is read: only the entities of XML and HTML are expanded.
    pub fn parse(base: &Url, body: &[u8], limits: &SitemapLimits) -> Self {
        Self::from_input(base, Input::new(Box::new(body), limits.max_bytes), None, limits)
    }

    /// Parses the sitemap of a response. Decodes a body that is encoded or was compressed as a stream, so that it is
    /// never in memory as a whole.
    pub fn of_response(base: &Url, response: &Response, limits: &SitemapLimits) -> Self {
        let charset = response.content_type().and_then(|kind| {
            let (_, label) = kind.split_once(";charset=")?;
            Encoding::for_label(label.as_bytes())
        });
        if !response.body.is_empty() {
            let input = Input::new(Box::new(&response.body[..]), limits.max_bytes);
            return Self::from_input(base, input, charset, limits);
        }
        // One byte beyond the limit shows that the sitemap is longer.
        let most = limits.max_bytes.saturating_add(1);
        let encoding = response.encoding().unwrap_or_default();
        let body = match &response.packed {
            Some(packed) => decoded(&packed.gzip, "gzip", 1, most),
            None => decoded(&response.raw, &encoding, limits.max_encodings, most),
        };
        Self::from_input(base, Input::new(body, limits.max_bytes), charset, limits)
    }

    fn from_input(
        base: &Url,
        mut input: Input<'_>,
        charset: Option<&'static Encoding>,
        limits: &SitemapLimits,
    ) -> Self {
        let mut reading = Reading::new(base, limits);
        let complete = match input.start(MAX_START, charset) {
            Start::Xml => reading.xml(&mut input),
            Start::Text => reading.text(&mut input),
        };
        let mut found = reading.end();
        found.cut = !complete || input.is_cut();
        found
    }

    /// Returns whether the outermost element is that of a sitemap, an index or a feed.
    pub fn is_list(body: &[u8], limits: &SitemapLimits) -> bool {
        let mut input = Input::new(Box::new(body), limits.max_bytes.min(MAX_START));
        // A text may quote a sitemap.
        if input.start(MAX_BEFORE_LIST, None) != Start::Xml {
            return false;
        }
        let (mut reader, mut buffer) = (Reader::from_reader(&mut input), Vec::new());
        loop {
            match reader.read_event_into(&mut buffer) {
                Ok(Event::Start(tag)) => return is_list(tag.local_name().as_ref()),
                Ok(Event::Eof) | Err(_) => return false,
                Ok(_) => buffer.clear(),
            }
        }
    }
}

struct Reading<'a> {
    base: &'a Url,
    /// The `xml:base` of an Atom feed.
    feed_base: Option<Url>,
    limits: &'a SitemapLimits,
    found: Sitemap,
    /// Bytes of the URLs found.
    held: usize,
    /// Alternate languages and the bytes of their URLs; entries have priority.
    alternates: Vec<Url>,
    alternates_held: usize,
    /// Hashes of the URLs found; the random key prevents chosen collisions.
    seen: HashSet<u64>,
    hasher: RandomState,
}

impl<'a> Reading<'a> {
    fn new(base: &'a Url, limits: &'a SitemapLimits) -> Self {
        Self {
            base,
            feed_base: None,
            limits,
            found: Sitemap::default(),
            held: 0,
            alternates: Vec::new(),
            alternates_held: 0,
            seen: HashSet::new(),
            hasher: RandomState::new(),
        }
    }

    /// Reads one URL a line. Returns whether it reached the end.
    fn text(&mut self, input: &mut impl BufRead) -> bool {
        let mut lines = Vec::new();
        // Lines that end with a CR only are split below.
        while matches!(input.read_until(b'\n', &mut lines), Ok(read) if read > 0) {
            lines.split(|byte| *byte == b'\r').for_each(|line| self.text_line(line.trim_ascii()));
            lines.clear();
        }
        true
    }

    fn text_line(&mut self, line: &[u8]) {
        // Only absolute URLs: a page of prose has none.
        if !line.get(..4).is_some_and(|start| start.eq_ignore_ascii_case(b"http")) {
            return;
        }
        self.found.is_list = true;
        let text = std::str::from_utf8(line).ok().filter(|_| line.len() <= self.limits.max_text);
        match text.map(Url::parse) {
            Some(Ok(url)) if is_web(&url) => self.page(url, None),
            _ => self.found.unusable += 1,
        }
    }

    /// Reads XML. Returns whether it reached the end.
    fn xml(&mut self, input: &mut impl BufRead) -> bool {
        let limits = self.limits;
        let mut reader = Reader::from_reader(input);
        let mut buffer = Vec::new();
        reader.config_mut().check_end_names = false;
        reader.config_mut().allow_unmatched_ends = true;
        reader.config_mut().allow_dangling_amp = true;
        let mut entries = Entries::default();
        // The outermost element, until it ends. Content after the list is ignored.
        let mut outermost: Option<Vec<u8>> = None;
        let mut whole = false;
        loop {
            buffer.clear();
            let event = match reader.read_event_into(&mut buffer) {
                Ok(Event::Eof) => {
                    let closed = entries.inside.is_none();
                    // Keep the last entry, which may not be closed.
                    entries.close(|entry| self.add(entry));
                    return closed && !outermost.is_some_and(|name| is_list(&name));
                }
                // Servers often answer with an HTML page instead; it lacks nothing.
                Err(_) => {
                    let no_list = outermost.is_some_and(|name| !is_list(&name));
                    let closed = entries.inside.is_none();
                    entries.close(|entry| self.add(entry));
                    return closed && (whole || no_list);
                }
                Ok(event) => event,
            };
            match &event {
                Event::Start(tag) if outermost.is_none() => {
                    outermost = Some(tag.local_name().as_ref().to_vec());
                    self.found.is_list |= is_list(tag.local_name().as_ref());
                    entries.set_list(tag);
                    self.feed_base = match Name::of(tag.local_name().as_ref()).text() {
                        b"feed" => joined(self.base, xml_base(tag, limits.max_text).as_deref()),
                        _ => None,
                    };
                }
                Event::End(tag)
                    if outermost.as_ref().is_some_and(|name| {
                        name.eq_ignore_ascii_case(tag.local_name().as_ref())
                    }) =>
                {
                    whole |= outermost.take().is_some_and(|name| is_list(&name));
                }
                _ => {}
            }
            if let (Event::Empty(tag), None) = (&event, &outermost) {
                self.found.is_list |= is_list(tag.local_name().as_ref());
            }
            if let Event::Start(tag) | Event::Empty(tag) = &event
                && entries.inside.as_ref().is_some_and(|prefix| *prefix != prefix_of(tag.name()))
            {
                let name = Name::of(tag.local_name().as_ref());
                if name.text() == b"link" {
                    entries.entry.alternate(tag, limits);
                }
                entries.field = match &event {
                    Event::Start(_) => Field::of_other(name.text()),
                    _ => Field::None,
                };
                entries.text.clear();
                continue;
            }
            entries.take(event, limits, |entry| self.add(entry));
        }
    }

    fn add(&mut self, mut entry: Entry) {
        self.found.beyond += entry.alternates_beyond;
        for text in &entry.alternates {
            self.alternate(text);
        }
        self.found.beyond += entry.locations_beyond;
        if entry.locations.is_empty() {
            let is_page = |text: &String| Url::parse(text).is_ok_and(|url| is_web(&url));
            entry.locations.extend(entry.guid.take().filter(is_page));
        }
        let feed_base = self.feed_base.clone();
        let own_base = joined(feed_base.as_ref().unwrap_or(self.base), entry.base.as_deref());
        let base = own_base.as_ref().or(feed_base.as_ref()).unwrap_or(self.base);
        if entry.locations.is_empty() {
            self.found.unusable += u64::from(entry.too_long);
        }
        for text in &entry.locations {
            if !self.has_room() {
                self.found.beyond += 1;
                continue;
            }
            match base.join(text) {
                Ok(url) if !is_web(&url) => self.found.unusable += 1,
                Err(_) => self.found.unusable += 1,
                Ok(url) if entry.map => {
                    self.held += url.as_str().len();
                    self.found.maps.push(url);
                }
                Ok(url) => self.page(url, entry.changed.clone()),
            }
        }
    }

    /// Returns whether one more URL fits; the last one may exceed the byte limit.
    fn has_room(&self) -> bool {
        self.found.pages.len() + self.found.maps.len() < self.limits.max_urls
            && self.held < self.limits.max_held
    }

    fn page(&mut self, url: Url, changed: Option<String>) {
        if !self.has_room() {
            self.found.beyond += 1;
            return;
        }
        self.held += url.as_str().len();
        self.seen.insert(self.hasher.hash_one(url.as_str()));
        self.found.pages.push(SitemapPage { url, changed });
    }

    /// Adds an alternate language of a page. In most files it also has a separate entry.
    fn alternate(&mut self, text: &str) {
        if self.alternates.len() >= self.limits.max_urls
            || self.alternates_held >= self.limits.max_held
        {
            self.found.beyond += u64::from(!self.seen.contains(&self.hasher.hash_one(text)));
            return;
        }
        let Some(url) = self.base.join(text).ok().filter(is_web) else {
            self.found.unusable += 1;
            return;
        };
        if self.seen.insert(self.hasher.hash_one(url.as_str())) {
            self.alternates_held += url.as_str().len();
            self.alternates.push(url);
        }
    }

    fn end(mut self) -> Sitemap {
        self.found.pages.sort_by(|a, b| b.changed.cmp(&a.changed));
        let entries: HashSet<u64> =
            self.found.pages.iter().map(|page| self.hasher.hash_one(page.url.as_str())).collect();
        for url in std::mem::take(&mut self.alternates) {
            if !entries.contains(&self.hasher.hash_one(url.as_str())) {
                self.page(url, None);
            }
        }
        self.found
    }
}

fn is_web(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https") && url.has_host()
}

/// Returns the base URL that an `xml:base` declares below another one.
fn joined(base: &Url, declared: Option<&str>) -> Option<Url> {
    declared.and_then(|declared| base.join(declared).ok()).filter(is_web)
}

/// Returns whether an element is the outermost one of a sitemap, an index or a feed.
fn is_list(name: &[u8]) -> bool {
    matches!(Name::of(name).text(), b"urlset" | b"sitemapindex" | b"rss" | b"feed" | b"rdf")
}

fn is_entry(name: &[u8]) -> bool {
    matches!(name, b"url" | b"sitemap" | b"item" | b"entry")
}

fn prefix_of(name: quick_xml::name::QName<'_>) -> Option<Vec<u8>> {
    name.prefix().map(|prefix| prefix.as_ref().to_vec())
}

#[derive(Default)]
struct Entries {
    entry: Entry,
    /// The outermost element, whose `<loc>` may have no entry: whether it is an index, and its prefix.
    list: Option<(bool, Option<Vec<u8>>)>,
    /// Namespace prefix of the open entry. Elements with another prefix do not describe it, such as `image:loc`.
    inside: Option<Option<Vec<u8>>>,
    field: Field,
    text: String,
}

impl Entries {
    fn set_list(&mut self, tag: &quick_xml::events::BytesStart<'_>) {
        self.list = match Name::of(tag.local_name().as_ref()).text() {
            b"urlset" => Some((false, prefix_of(tag.name()))),
            b"sitemapindex" => Some((true, prefix_of(tag.name()))),
            _ => None,
        };
    }

    fn close(&mut self, add: impl FnOnce(Entry)) {
        if self.inside.take().is_some() {
            add(std::mem::take(&mut self.entry));
        }
    }

    /// Handles an event of an entry; passes each complete entry to `add`.
    fn take(&mut self, event: Event<'_>, limits: &SitemapLimits, mut add: impl FnMut(Entry)) {
        match event {
            Event::Start(tag) => {
                let name = Name::of(tag.local_name().as_ref());
                let name = name.text();
                if is_entry(name) {
                    // The previous entry was not closed.
                    self.close(add);
                    let base = match name {
                        b"entry" => xml_base(&tag, limits.max_text),
                        _ => None,
                    };
                    self.entry = Entry { map: name == b"sitemap", base, ..Entry::default() };
                    self.inside = Some(prefix_of(tag.name()));
                }
                self.field = match Field::of(name) {
                    Field::Guid if !is_permanent(&tag) => Field::None,
                    field => field,
                };
                self.text.clear();
                if name == b"link" {
                    self.entry.link(&tag, limits);
                }
            }
            Event::Empty(tag) if Name::of(tag.local_name().as_ref()).text() == b"link" => {
                self.entry.link(&tag, limits);
            }
            Event::Text(part) if self.field != Field::None && self.text.len() < limits.max_text => {
                self.text.push_str(&String::from_utf8_lossy(&part));
            }
            Event::CData(part)
                if self.field != Field::None && self.text.len() < limits.max_text =>
            {
                self.text.push_str(&String::from_utf8_lossy(&part));
            }
            Event::GeneralRef(part) if self.field != Field::None => {
                let named = std::str::from_utf8(&part).ok().and_then(resolve_html5_entity);
                match part.resolve_char_ref().ok().flatten() {
                    Some(c) => self.text.push(c),
                    None => self.text.push_str(named.unwrap_or_default()),
                }
            }
            Event::End(tag) => {
                let name = Name::of(tag.local_name().as_ref());
                let name = name.text();
                if self.text.len() <= limits.max_text {
                    self.entry.take(self.field, self.text.trim(), name);
                } else if self.field == Field::Location {
                    self.entry.too_long = true;
                }
                self.field = Field::None;
                self.text.clear();
                if self.inside.is_none()
                    && name == b"loc"
                    && let Some((map, prefix)) = &self.list
                    && *prefix == prefix_of(tag.name())
                {
                    // `<urlset><loc>`, as Google reads it.
                    self.entry.map = *map;
                    add(std::mem::take(&mut self.entry));
                    return;
                }
                let same = self.inside.as_ref().is_none_or(|own| *own == prefix_of(tag.name()));
                if same && is_entry(name) {
                    self.inside = None;
                    add(std::mem::take(&mut self.entry));
                }
            }
            _ => {}
        }
    }
}

#[derive(Default)]
struct Entry {
    map: bool,
    /// Its `xml:base`.
    base: Option<String>,
    /// Permanent link of an RSS item, for one without a link.
    guid: Option<String>,
    /// Usually one URL; some generators write several into one entry.
    locations: Vec<String>,
    locations_beyond: u64,
    changed: Option<String>,
    alternates: Vec<String>,
    alternates_beyond: u64,
    too_long: bool,
}

impl Entry {
    fn take(&mut self, field: Field, text: &str, element: &[u8]) {
        match field {
            // A feed's entry has one `<link>`, and may have an Atom link in addition.
            Field::Location
                if !text.is_empty() && (element == b"loc" || self.locations.is_empty()) =>
            {
                match self.locations.len() < MAX_LOCATIONS {
                    true => self.locations.push(text.to_owned()),
                    false => self.locations_beyond += 1,
                }
            }
            // The newest of several, such as the dates of publication and of the last change.
            Field::Changed => self.changed = self.changed.take().max(sortable(text)),
            Field::Guid => self.guid = Some(text.to_owned()),
            _ => {}
        }
    }

    /// Reads Google's `<xhtml:link rel="alternate" hreflang=... href=...>`.
    fn alternate(&mut self, tag: &quick_xml::events::BytesStart<'_>, limits: &SitemapLimits) {
        if self.map {
            return;
        }
        let (mut is_alternate, mut too_long, mut href) = (false, false, None);
        for attribute in tag.attributes().flatten().take(MAX_ATTRIBUTES) {
            let value = String::from_utf8_lossy(&attribute.value);
            match attribute.key.local_name().as_ref() {
                b"rel" => is_alternate = value.eq_ignore_ascii_case("alternate"),
                b"type" if !value.contains("html") => return,
                b"href" if value.len() <= limits.max_text => {
                    href = Some(value.trim().replace("&amp;", "&"));
                }
                b"href" => too_long = true,
                _ => {}
            }
        }
        self.alternates_beyond += u64::from(is_alternate && too_long);
        match href.filter(|_| is_alternate) {
            Some(_) if self.alternates.len() >= limits.max_alternates => {
                self.alternates_beyond += 1;
            }
            Some(href) => self.alternates.push(href),
            None => {}
        }
    }

    /// Reads Atom's `<link href=...>`, except `rel="self"` and others.
    fn link(&mut self, tag: &quick_xml::events::BytesStart<'_>, limits: &SitemapLimits) {
        let mut href = None;
        for attribute in tag.attributes().flatten().take(MAX_ATTRIBUTES) {
            let value = String::from_utf8_lossy(&attribute.value);
            match attribute.key.local_name().as_ref() {
                b"rel" if value != "alternate" => return,
                b"href" if value.len() <= limits.max_text => {
                    href = Some(value.replace("&amp;", "&"))
                }
                b"href" => self.too_long = true,
                _ => {}
            }
        }
        if self.locations.is_empty() {
            self.locations.extend(href);
        }
    }
}

#[cfg(test)]
mod tests;
