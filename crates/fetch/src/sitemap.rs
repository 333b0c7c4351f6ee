//! Sitemaps: XML and its index, RSS, Atom, plain text, each also gzipped.

use std::io::Read;

use flate2::read::MultiGzDecoder;
use quick_xml::Reader;
use quick_xml::events::Event;
use url::Url;

/// Limits of one sitemap file.
#[derive(Clone, Debug)]
pub struct SitemapLimits {
    /// Bytes, unpacked; what lies beyond is ignored. Default 10 MiB.
    pub max_bytes: usize,
    /// URLs; further ones are ignored. Default 50,000, as the protocol says.
    pub max_urls: usize,
    /// Bytes of one field's text. Default 2,048.
    pub max_text: usize,
}

impl Default for SitemapLimits {
    fn default() -> Self {
        Self { max_bytes: 10 << 20, max_urls: 50_000, max_text: 2048 }
    }
}

/// What a sitemap holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sitemap {
    /// Pages, newest change first; those without a date last, in their order.
    pub pages: Vec<SitemapPage>,
    /// Further sitemaps, of an index.
    pub maps: Vec<Url>,
}

/// One page of a sitemap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SitemapPage {
    /// Where it lies.
    pub url: Url,
    /// When it last changed, as written there: W3C dates sort as text.
    pub changed: Option<String>,
}

impl Sitemap {
    /// Reads a sitemap that came from `base`; what cannot be read of it is left out.
    ///
    /// # References
    /// sitemaps.org protocol 0.9; RSS 2.0; RFC 4287 (Atom).
    ///
    /// # Complexity
    /// Linear in the bytes. No DTD is read and no entity expanded but the five of XML.
    pub fn parse(base: &Url, body: &[u8], limits: &SitemapLimits) -> Self {
        let mut unpacked = Vec::new();
        let body = if body.starts_with(&[0x1f, 0x8b]) {
            let mut input = MultiGzDecoder::new(body).take(limits.max_bytes as u64);
            // A cut or damaged file still has its beginning.
            let _ = input.read_to_end(&mut unpacked);
            &unpacked
        } else {
            body.get(..limits.max_bytes).unwrap_or(body)
        };
        let start = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body).trim_ascii_start();
        let mut found = Self::default();
        if start.starts_with(b"<") {
            found.read_xml(base, start, limits);
        } else {
            found.read_text(base, start, limits);
        }
        found.pages.sort_by(|a, b| b.changed.cmp(&a.changed));
        found
    }

    fn read_text(&mut self, base: &Url, body: &[u8], limits: &SitemapLimits) {
        let lines = body.split(|byte| matches!(byte, b'\n' | b'\r'));
        for line in lines.filter(|line| line.len() <= limits.max_text) {
            let Ok(line) = std::str::from_utf8(line) else { continue };
            if self.pages.len() >= limits.max_urls {
                return;
            }
            // Absolute addresses only: a page of prose has none.
            if let Ok(url) = Url::parse(line.trim())
                && url.has_host()
                && same_site(base, &url)
            {
                self.pages.push(SitemapPage { url, changed: None });
            }
        }
    }

    fn read_xml(&mut self, base: &Url, body: &[u8], limits: &SitemapLimits) {
        let mut reader = Reader::from_reader(body);
        reader.config_mut().check_end_names = false;
        reader.config_mut().allow_unmatched_ends = true;
        reader.config_mut().allow_dangling_amp = true;
        let mut entry = Entry::default();
        // Within an entry only what has its prefix speaks of it: `image:loc` is a picture's.
        let mut inside: Option<Option<Vec<u8>>> = None;
        let mut field = Field::None;
        let mut text = String::new();
        loop {
            let event = match reader.read_event() {
                Ok(Event::Eof) | Err(_) => return,
                Ok(event) => event,
            };
            if let Event::Start(tag) | Event::Empty(tag) = &event
                && inside.as_ref().is_some_and(|prefix| *prefix != prefix_of(tag.name()))
            {
                field = Field::None;
                continue;
            }
            match event {
                Event::Start(tag) => {
                    let name = tag.local_name();
                    if matches!(name.as_ref(), b"url" | b"sitemap" | b"item" | b"entry") {
                        entry = Entry { map: name.as_ref() == b"sitemap", ..Entry::default() };
                        inside = Some(prefix_of(tag.name()));
                    }
                    field = Field::of(name.as_ref());
                    text.clear();
                    if name.as_ref() == b"link" {
                        entry.link(&tag, limits);
                    }
                }
                Event::Empty(tag) if tag.local_name().as_ref() == b"link" => {
                    entry.link(&tag, limits);
                }
                Event::Text(part) if field != Field::None && text.len() < limits.max_text => {
                    text.push_str(&String::from_utf8_lossy(&part));
                }
                Event::CData(part) if field != Field::None && text.len() < limits.max_text => {
                    text.push_str(&String::from_utf8_lossy(&part));
                }
                Event::GeneralRef(part) if field != Field::None => {
                    text.extend(part.resolve_char_ref().ok().flatten().or_else(|| named(&part)));
                }
                Event::End(tag) => {
                    if field != Field::None && text.len() <= limits.max_text {
                        entry.take(field, text.trim());
                    }
                    field = Field::None;
                    text.clear();
                    let name = tag.local_name();
                    let same = inside.as_ref().is_none_or(|own| *own == prefix_of(tag.name()));
                    if same && matches!(name.as_ref(), b"url" | b"sitemap" | b"item" | b"entry") {
                        inside = None;
                        self.add(base, &std::mem::take(&mut entry));
                        if self.pages.len() + self.maps.len() >= limits.max_urls {
                            return;
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn add(&mut self, base: &Url, entry: &Entry) {
        let Some(url) = entry.location.as_deref().and_then(|text| base.join(text).ok()) else {
            return;
        };
        if !matches!(url.scheme(), "http" | "https") {
            return;
        }
        if entry.map {
            self.maps.push(url);
        } else if same_site(base, &url) {
            self.pages.push(SitemapPage { url, changed: entry.changed.clone() });
        }
    }
}

fn prefix_of(name: quick_xml::name::QName<'_>) -> Option<Vec<u8>> {
    name.prefix().map(|prefix| prefix.as_ref().to_vec())
}

/// A sitemap may speak for its own host, with or without `www.`.
fn same_site(base: &Url, url: &Url) -> bool {
    let bare =
        |url: &Url| url.host_str().map(|host| host.strip_prefix("www.").unwrap_or(host).to_owned());
    bare(base) == bare(url)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    None,
    Location,
    Changed,
}

impl Field {
    fn of(name: &[u8]) -> Self {
        match name {
            b"loc" | b"link" => Self::Location,
            b"lastmod" | b"updated" => Self::Changed,
            _ => Self::None,
        }
    }
}

#[derive(Default)]
struct Entry {
    map: bool,
    location: Option<String>,
    changed: Option<String>,
}

impl Entry {
    fn take(&mut self, field: Field, text: &str) {
        match field {
            Field::Location if !text.is_empty() && self.location.is_none() => {
                self.location = Some(text.to_owned());
            }
            Field::Changed if text.starts_with(|c: char| c.is_ascii_digit()) => {
                self.changed = Some(text.to_owned());
            }
            _ => {}
        }
    }

    /// Atom's `<link href=...>`, but for `rel="self"` and the like.
    fn link(&mut self, tag: &quick_xml::events::BytesStart<'_>, limits: &SitemapLimits) {
        let mut href = None;
        for attribute in tag.attributes().flatten().take(16) {
            let value = String::from_utf8_lossy(&attribute.value);
            match attribute.key.local_name().as_ref() {
                b"rel" if value != "alternate" => return,
                b"href" if value.len() <= limits.max_text => {
                    href = Some(value.replace("&amp;", "&"))
                }
                _ => {}
            }
        }
        if self.location.is_none() {
            self.location = href;
        }
    }
}

fn named(name: &[u8]) -> Option<char> {
    match name {
        b"amp" => Some('&'),
        b"lt" => Some('<'),
        b"gt" => Some('>'),
        b"quot" => Some('"'),
        b"apos" => Some('\''),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn parse(body: &str) -> (Vec<String>, Vec<String>) {
        let base = Url::parse("http://a.example/sitemap.xml").unwrap();
        let found = Sitemap::parse(&base, body.as_bytes(), &SitemapLimits::default());
        let pages = found.pages.iter().map(|page| page.url.to_string()).collect();
        (pages, found.maps.iter().map(Url::to_string).collect())
    }

    #[test]
    fn pictures_and_other_languages_are_not_the_page() {
        let (pages, _) = parse(
            "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' xmlns:image='i' xmlns:xhtml='x'>\
             <url><image:image><image:loc>http://a.example/1.png</image:loc></image:image>\
             <xhtml:link rel='alternate' hreflang='de' href='http://a.example/de'/>\
             <loc>http://a.example/1</loc></url></urlset>",
        );
        assert_eq!(pages, ["http://a.example/1"]);
        let (pages, maps) = parse(
            "<s:sitemapindex xmlns:s='s' xmlns:i='i'><s:sitemap><i:loc>http://a.example/i</i:loc>\
             <s:loc>http://a.example/map</s:loc></s:sitemap></s:sitemapindex>",
        );
        assert_eq!((pages.len(), maps), (0, vec!["http://a.example/map".to_owned()]));
    }

    #[test]
    fn pages_come_newest_first_with_entities_undone_and_strangers_left_out() {
        let (pages, maps) = parse(
            "<?xml version='1.0'?><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>\
             <url><loc>http://a.example/old?a=1&amp;b=&#50;</loc><lastmod>2020-01-01</lastmod></url>\
             <url><loc> http://www.a.example/none </loc></url>\
             <url><loc>http://other.example/</loc></url>\
             <url><loc><![CDATA[http://a.example/new]]></loc><lastmod>2026-01-01T10:00Z</lastmod></url></urlset>",
        );
        assert_eq!(
            pages,
            ["http://a.example/new", "http://a.example/old?a=1&b=2", "http://www.a.example/none"]
        );
        assert!(maps.is_empty());
    }

    #[test]
    fn index_feeds_and_text_are_read() {
        let (_, maps) = parse(
            "<sitemapindex><sitemap><loc>http://a.example/1.xml.gz</loc></sitemap>\
             <sitemap><loc>/2.xml</loc></sitemap></sitemapindex>",
        );
        assert_eq!(maps, ["http://a.example/1.xml.gz", "http://a.example/2.xml"]);
        let (pages, _) = parse(
            "<rss><channel><link>http://a.example/</link><item><title>x</title>\
             <link>http://a.example/item</link></item></channel></rss>",
        );
        assert_eq!(pages, ["http://a.example/item"]);
        let (pages, _) = parse(
            "<feed xmlns='http://www.w3.org/2005/Atom'><link rel='self' href='http://a.example/feed'/>\
             <entry><link rel='edit' href='/edit'/><link href='/entry'/><updated>2026-02-01</updated></entry></feed>",
        );
        assert_eq!(pages, ["http://a.example/entry"]);
        let (pages, _) = parse("\u{FEFF}http://a.example/1\r\nnot a url\nhttp://a.example/2\n");
        assert_eq!(pages, ["http://a.example/1", "http://a.example/2"]);
    }

    #[test]
    fn gzip_bombs_cut_files_and_endless_lists_end() {
        let base = Url::parse("http://a.example/").unwrap();
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        gz.write_all(b"<urlset>").unwrap();
        for _ in 0..400_000 {
            gz.write_all(b"<url><loc>http://a.example/x</loc></url>").unwrap();
        }
        let bomb = gz.finish().unwrap();
        let limits = SitemapLimits::default();
        assert_eq!(Sitemap::parse(&base, &bomb, &limits).pages.len(), limits.max_urls);
        let cut = Sitemap::parse(&base, &bomb[..bomb.len() / 2], &limits).pages.len();
        assert_eq!(cut, limits.max_urls.min(cut));
        let entity = "<!DOCTYPE x [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;\">]>\
                      <urlset><url><loc>http://a.example/&b;</loc></url></urlset>";
        let found = Sitemap::parse(&base, entity.as_bytes(), &limits);
        assert_eq!(found.pages[0].url.as_str(), "http://a.example/");
        let long = format!("<urlset><url><loc>http://a.example/{}", "x".repeat(1 << 20));
        assert_eq!(Sitemap::parse(&base, long.as_bytes(), &limits), Sitemap::default());
    }
}
