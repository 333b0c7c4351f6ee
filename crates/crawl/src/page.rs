//! Turns a response into a page for the commit thread.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use hapax_data::{Findings, InReference, PackedText, PageMeta, SkipReason};
use hapax_extract::{
    Date, Document, Features, Limits, Link, MetadataSource, Recipe, Refresh, extract,
    extract_plain, is_reservation, links, robots_words,
};
use hapax_fetch::{
    Response, alternate_links, canonical_link, header_text, robots_directives, rsl_links,
};
use hapax_page::comparison::{Compared, PageText};
use hapax_page::difference::LineSet;
use hapax_page::{Dateless, Evidence, Kind};
use hapax_url::{host_key, registrable_site};
use hapax_warc::{Packed, Packer};
use tokio::sync::OwnedSemaphorePermit;
use url::Url;

/// A page, extracted and fingerprinted, ready for the commit thread.
#[derive(Debug)]
pub(crate) struct PageWork {
    /// Links from a seed to the page; `None` if it was not leased.
    pub(crate) depth: Option<u16>,
    pub(crate) url: Url,
    pub(crate) response: Response,
    pub(crate) document: Document,
    /// Its text is in `text`.
    pub(crate) evidence: Evidence,
    pub(crate) recipe: Recipe,
    /// The comparison text.
    pub(crate) text: Arc<str>,
    /// JSON of its [`PageMeta`].
    pub(crate) meta: String,
    /// Host and registrable domain.
    pub(crate) host: String,
    pub(crate) site: String,
    pub(crate) time: SystemTime,
    /// Its text for comparisons, and the compressed text if a worker compressed it.
    pub(crate) compared: Arc<Compared>,
    pub(crate) packed_text: Option<PackedText>,
    /// Results of comparisons on the worker.
    pub(crate) findings: Findings,
    /// The documents of references that it duplicates; `None` before it was looked up.
    pub(crate) against: Option<Vec<InReference>>,
    /// How the text of a known page has changed, if a worker compared it.
    pub(crate) delta: Option<TextDelta>,
    /// The response, compressed for the archive.
    pub(crate) packed: Option<Packed>,
    /// The caller's id, if it has one.
    pub(crate) key: Option<String>,
    /// Its visible text outside the main text, for the index.
    pub(crate) other_text: String,
    /// Lines of its text that are mostly links.
    pub(crate) link_lines: LineSet,
    /// Whether it shows neither text nor images.
    pub(crate) blank: bool,
    /// What it has in common with other pages of a calendar.
    pub(crate) dateless: Option<Dateless>,
    /// Permit of a large page while it is parsed, until it is committed.
    pub(super) _tree: Option<OwnedSemaphorePermit>,
    /// Permit in the commit queue.
    pub(super) _room: Option<OwnedSemaphorePermit>,
}

impl PageWork {
    /// Reads a response; without `with_text` only its links.
    ///
    /// # Errors
    /// If it has no text that Hapax can read.
    pub(crate) fn read(
        depth: Option<u16>,
        url: Url,
        response: Response,
        time: SystemTime,
        recipe: Recipe,
        limits: &Limits,
        with_text: bool,
    ) -> Result<Self, Unread> {
        let document = read_response(&url, &response, limits, with_text)?;
        Ok(Self::from_document(depth, url, response, document, time, recipe))
    }

    /// Fingerprints a document, then frees its blocks and features.
    pub(crate) fn from_document(
        depth: Option<u16>,
        url: Url,
        response: Response,
        mut document: Document,
        time: SystemTime,
        recipe: Recipe,
    ) -> Self {
        let mut evidence = Evidence::of(&document, recipe);
        let page_text = PageText::of(&document, &evidence.comparison_text).without_address(&url);
        let other_text = document.other_text(evidence.comparison_text.thin);
        let blank = document.images.is_empty() && document.shows_nothing();
        let dateless = Dateless::of(&url, &document);
        let links = document.blocks.iter().filter(|block| block.menu);
        let link_lines = LineSet::of(links.map(|block| block.text.as_str()));
        (document.text, document.blocks, document.images) = Default::default();
        let Features { words, shingles, numbers: hashes, .. } =
            &mut evidence.comparison_text.features;
        (*words, *shingles, *hashes) = Default::default();
        let text = std::mem::take(&mut evidence.comparison_text.text).into();
        Self {
            meta: PageMeta::of(&document, Date::of(time)).to_json(),
            host: host_key(&url),
            site: registrable_site(&url),
            depth,
            url,
            response,
            document,
            evidence,
            recipe,
            text,
            time,
            compared: Arc::new(Compared::new(page_text)),
            packed_text: None,
            findings: Findings::new(),
            against: None,
            delta: None,
            packed: None,
            key: None,
            other_text,
            link_lines,
            blank,
            dateless,
            _tree: None,
            _room: None,
        }
    }

    /// Compresses the response for the archive, unless the page is not archived.
    pub(crate) fn pack(&mut self, packer: Option<&Packer>) {
        if let Some(packer) = packer.filter(|_| !self.document.robots.noindex) {
            // If this fails, the archive compresses it and reports the error.
            self.packed = packer.pack(&self.response, self.time, &self.archived_metadata()).ok();
        }
    }

    /// Returns the fields of its `metadata` record in the archive.
    pub(crate) fn archived_metadata(&self) -> Vec<(&'static str, String)> {
        let mut fields = vec![
            ("fingerprint", self.evidence.fingerprint.to_string()),
            ("recipe", self.recipe.name().to_owned()),
            ("charset", self.document.charset.to_owned()),
            ("language", self.document.language.to_owned()),
        ];
        if let Some(depth) = self.depth {
            fields.push(("depth", depth.to_string()));
            fields.push(("fetchTimeMs", self.response.took.as_millis().to_string()));
        }
        fields
    }

    /// Adds rights that its host reserves.
    pub(crate) fn reserve(&mut self, rights: Vec<String>) {
        if !rights.is_empty() {
            for right in rights {
                reserve(&mut self.document, right);
            }
            self.meta = PageMeta::of(&self.document, Date::of(self.time)).to_json();
        }
    }

    /// Returns its metadata with the references that have it, and its first inlinks.
    pub(crate) fn meta_with(&self, against: &[String], from: &[String]) -> String {
        PageMeta::extend_json(&self.meta, against, from)
    }

    pub(crate) fn pack_text(&mut self) {
        self.packed_text = Some(PackedText::of(self.compared.page()));
    }

    /// Returns the document for the dedup store.
    pub(crate) fn stored<'a>(&self, key: &'a [u8]) -> hapax_dedup::Document<'a> {
        let since = self.time.duration_since(UNIX_EPOCH);
        let time = since.map_or(0, |since| since.as_secs());
        self.evidence.document(key, Some(&self.url), time)
    }
}

/// How the text of a known page has changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TextDelta {
    /// Share of the words that both texts have.
    pub(crate) similarity: f64,
    /// Whether only dates, counters, section numbers and moved lines differ.
    pub(crate) is_volatile: bool,
}

/// Why a response is not a page.
#[derive(Debug)]
pub(crate) struct Unread {
    pub(crate) reason: SkipReason,
    pub(crate) detail: String,
}

/// Maximum shares of replacement and of control characters in a text, whatever its content type.
const MAX_UNKNOWN: f64 = 0.3;
const MAX_CONTROLS: f64 = 0.05;

/// Maximum number of licences in a header.
const MAX_LICENCES: usize = 4;

/// Adds a reservation of a header if it is new; the list is short.
fn reserve(document: &mut Document, what: String) {
    if !document.reservations.contains(&what) {
        document.reservations.push(what);
    }
}

/// Reads the body and the headers that describe it; without `with_text` only the links.
///
/// # Errors
/// If it has no text that Hapax can read.
pub(crate) fn read_response(
    url: &Url,
    response: &Response,
    limits: &Limits,
    with_text: bool,
) -> Result<Document, Unread> {
    let content_type = response.content_type();
    let content_type = content_type.as_deref();
    let mut document = match Kind::of(content_type, &response.body) {
        Some(Kind::Html) if with_text => extract(url, content_type, &response.body, limits),
        Some(Kind::Html) => links(url, content_type, &response.body, limits),
        Some(Kind::Plain) => extract_plain(content_type, &response.body, limits),
        None => {
            let detail = content_type.unwrap_or("none").to_owned();
            return Err(Unread { reason: SkipReason::ContentType, detail });
        }
    };
    if let Some(share) = no_text(&document) {
        let detail = format!("{:.0} % is no text as {}", 100.0 * share, document.charset);
        return Err(Unread { reason: SkipReason::Charset, detail });
    }
    for (name, value) in &response.headers {
        let value = header_text(value);
        match name.as_str() {
            "x-robots-tag" => {
                for directive in robots_directives(&value, &limits.agent) {
                    document.robots.read(directive);
                    let directive = directive.to_ascii_lowercase();
                    for word in robots_words(&directive).filter(|word| is_reservation(word)) {
                        reserve(&mut document, word.to_owned());
                    }
                }
            }
            // TDM Reservation Protocol, section 4.2.
            "tdm-reservation" if value.trim() == "1" => {
                reserve(&mut document, "tdm-reservation: 1".to_owned());
            }
            // Not in the HTTP standard, but browsers obey it.
            "refresh" if document.refresh.is_none() => {
                document.refresh = Refresh::of_header(url, &value)
                    .and_then(|refresh| refresh.or_link(&mut document.links));
            }
            // RFC 8288; a link in the page has priority.
            "link" if document.canonical.is_none() => {
                document.canonical =
                    canonical_link(&value, url).and_then(|href| url.join(href).ok());
                if document.canonical.is_some() {
                    document.metadata.sources.insert("canonical", MetadataSource::Header);
                }
            }
            _ => {}
        }
    }
    let mut bytes: usize = document.links.iter().map(|link| link.url.as_str().len()).sum();
    for (_, value) in response.headers.iter().filter(|(name, _)| name == "link") {
        let value = header_text(value);
        let licences = rsl_links(&value, url).filter_map(|href| url.join(href).ok());
        for licence in licences.take(MAX_LICENCES) {
            reserve(&mut document, format!("rsl: {licence}"));
        }
        for url in alternate_links(&value, url).filter_map(|href| url.join(href).ok()) {
            let length = url.as_str().len();
            let fits = document.links.len() < limits.max_links
                && length <= limits.max_url_bytes
                && bytes + length <= limits.max_links_bytes;
            if fits {
                bytes += length;
                document.links.push(Link { url, nofollow: false });
            } else {
                document.links_left_out += 1;
            }
        }
    }
    Ok(document)
}

/// Returns the share of replacement and control characters if it is too large.
fn no_text(document: &Document) -> Option<f64> {
    let (mut all, mut unknown, mut controls) = (0u32, 0u32, 0u32);
    let blocks = document.blocks.iter().map(|block| block.text.as_str());
    for c in blocks.flat_map(str::chars).take(100_000) {
        all += 1;
        unknown += u32::from(c == '\u{FFFD}');
        controls += u32::from(c.is_control() && !c.is_whitespace());
    }
    let share = |count: u32| f64::from(count) / f64::from(all.max(1));
    let bad = share(unknown) > MAX_UNKNOWN || share(controls) > MAX_CONTROLS;
    bad.then(|| share(unknown + controls))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads an empty page with these headers.
    fn read(headers: &[(&str, &[u8])]) -> Document {
        let url = Url::parse("http://a.example/").unwrap();
        let html = ("content-type", &b"text/html"[..]);
        let all = std::iter::once(&html).chain(headers);
        let all = all.map(|(name, value)| ((*name).to_owned(), value.to_vec())).collect();
        let response = Response::stored(url.clone(), 200, all, Vec::<u8>::new().into());
        read_response(&url, &response, &Limits::default(), false).unwrap()
    }

    /// WHATWG HTML, "Refresh": isomorphic decode.
    #[test]
    fn a_refresh_header_that_is_not_utf_8_is_latin_1() {
        for value in [&b"0;url=/caf\xe9"[..], "0;url=/caf\u{e9}".as_bytes()] {
            let refresh = read(&[("refresh", value)]).refresh.unwrap();
            assert_eq!(refresh.as_str(), "http://a.example/caf%C3%A9");
        }
    }

    #[test]
    fn a_late_refresh_header_is_a_link() {
        let page = read(&[("refresh", b"60; url=/next")]);
        assert_eq!(page.refresh, None);
        assert_eq!(page.links[0].url.as_str(), "http://a.example/next");
    }

    #[test]
    fn headers_about_another_resource_are_not_about_the_page() {
        let links = b"</b>; rel=canonical; anchor=\"/z\", </c>; rel=alternate; anchor=\"/z\"";
        let page = read(&[("link", &links[..])]);
        assert_eq!((page.canonical, page.links.len()), (None, 0));
        let links = b"</b>; rel=canonical, </c>; rel=alternate";
        let page = read(&[("link", &links[..])]);
        assert_eq!((page.canonical.is_some(), page.links.len()), (true, 1));
    }

    /// RSL 1.0.
    #[test]
    fn a_licence_in_a_header_is_a_reservation() {
        let links =
            b"</l.xml>; rel=\"x license\"; type=\"Application/RSL+xml\", </c>; rel=license, \
            </l.xml>; rel=license; type=application/rsl+xml; anchor=\"/z\"";
        let page = read(&[("link", &links[..]), ("link", &links[..])]);
        assert_eq!(page.reservations, ["rsl: http://a.example/l.xml"]);
    }

    #[test]
    fn directives_of_a_header_may_be_separated_by_white_space() {
        for value in ["noindex noai", "noindex; noai", "*: noindex, noai", "robots: noai noindex"] {
            let page = read(&[("x-robots-tag", value.as_bytes())]);
            assert!(page.robots.noindex, "{value}");
            assert_eq!(page.reservations, ["noai"], "{value}");
        }
    }
}
