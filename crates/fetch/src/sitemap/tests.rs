use super::*;
use std::io::Write;

fn parse(body: &str) -> (Vec<String>, Vec<String>) {
    let base = Url::parse("http://a.example/sitemap.xml").unwrap();
    let found = Sitemap::parse(&base, body.as_bytes(), &SitemapLimits::default());
    let pages = found.pages.iter().map(|page| page.url.to_string()).collect();
    (pages, found.maps.iter().map(Url::to_string).collect())
}

#[test]
fn pictures_are_not_the_page_and_its_other_languages_are_pages_too() {
    let (pages, _) = parse(
        "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' xmlns:image='i' xmlns:xhtml='x'>\
         <url><image:image><image:loc>http://a.example/1.png</image:loc></image:image>\
         <xhtml:link rel='alternate' hreflang='de' href='http://a.example/de'/>\
         <xhtml:link rel='alternate' hreflang='fr' href='http://a.example/2'/>\
         <xhtml:link rel='alternate' type='application/rss+xml' href='http://a.example/rss'/>\
         <xhtml:link rel='stylesheet' href='http://a.example/css'/>\
         <loc>http://a.example/1</loc></url>\
         <url><loc>http://a.example/2</loc></url></urlset>",
    );
    assert_eq!(pages, ["http://a.example/1", "http://a.example/2", "http://a.example/de"]);
    let (pages, maps) = parse(
        "<s:sitemapindex xmlns:s='s' xmlns:i='i'><s:sitemap><i:loc>http://a.example/i</i:loc>\
         <s:loc>http://a.example/map</s:loc></s:sitemap></s:sitemapindex>",
    );
    assert_eq!((pages.len(), maps), (0, vec!["http://a.example/map".to_owned()]));
}

#[test]
fn pages_come_newest_first_with_entities_undone_and_strangers_among_them() {
    let (pages, maps) = parse(
        "<?xml version='1.0'?><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>\
         <url><loc>http://a.example/old?a=1&amp;b=&#50;</loc><lastmod>2020-01-01</lastmod></url>\
         <url><loc> http://www.a.example/none </loc></url>\
         <url><loc>http://other.example/</loc></url>\
         <url><loc><![CDATA[http://a.example/new]]></loc><lastmod>2026-01-01T10:00Z</lastmod></url></urlset>",
    );
    assert_eq!(
        pages,
        [
            "http://a.example/new",
            "http://a.example/old?a=1&b=2",
            "http://www.a.example/none",
            "http://other.example/"
        ]
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

/// RSS 2.0, guid.
#[test]
fn an_item_without_a_link_is_the_page_of_its_permanent_guid() {
    let (guid, link) = ("<guid>http://a.example/g</guid>", "<link>http://a.example/l</link>");
    let both = [guid, link].concat();
    for (item, page) in [
        (guid, Some("http://a.example/g")),
        ("<guid isPermaLink='true'>http://a.example/g</guid>", Some("http://a.example/g")),
        ("<link/><guid>http://a.example/g</guid>", Some("http://a.example/g")),
        ("<guid isPermaLink='false'>http://a.example/g</guid>", None),
        ("<guid>17</guid>", None),
        ("<guid>tag:a.example,2026:1</guid>", None),
        (both.as_str(), Some("http://a.example/l")),
    ] {
        let (pages, _) = parse(&format!("<rss><channel><item>{item}</item></channel></rss>"));
        assert_eq!(pages, page.into_iter().collect::<Vec<_>>(), "{item}");
    }
}

/// RFC 4287, section 2.
#[test]
fn links_of_a_feed_are_relative_to_its_xml_base() {
    let entries = "<entry><link href='1'/></entry><entry xml:base='y/'><link href='2?a&amp;b'/></entry>\
        <entry xml:base='http://c.example/'><link href='/3'/></entry><entry><link href='4'/></entry>";
    for (base, first) in [
        ("", "http://a.example/"),
        (" xml:base='x/'", "http://a.example/x/"),
        (" xml:base='http://b.example/x/'", "http://b.example/x/"),
        (" xml:base='data:x'", "http://a.example/"),
    ] {
        let (pages, _) = parse(&format!("<feed{base}>{entries}</feed>"));
        let third = "http://c.example/3".to_owned();
        let expected = [format!("{first}1"), format!("{first}y/2?a&b"), third, format!("{first}4")];
        assert_eq!(pages, expected, "{base}");
    }
}

#[test]
fn elements_in_capitals_are_read() {
    for (body, path) in [
        ("<URLSET><URL><LOC>/1</LOC><LASTMOD>2026-01-01</LASTMOD></URL></URLSET>", "/1"),
        ("<UrlSet><url><Loc>/1</lOC></URL></urlset>", "/1"),
        ("<RSS><CHANNEL><ITEM><LINK>/1</LINK></ITEM></CHANNEL></RSS>", "/1"),
        ("<FEED><ENTRY><LINK href='/1'/></ENTRY></FEED>", "/1"),
    ] {
        assert_eq!(read(body.as_bytes()), (vec![path.to_owned()], false), "{body}");
        assert!(Sitemap::is_list(body.as_bytes(), &SitemapLimits::default()), "{body}");
    }
    let (_, maps) = parse("<SITEMAPINDEX><SITEMAP><LOC>/m.xml</LOC></SITEMAP></SITEMAPINDEX>");
    assert_eq!(maps, ["http://a.example/m.xml"]);
}

#[test]
fn entries_of_feeds_have_the_newest_of_their_dates() {
    let base = Url::parse("http://a.example/").unwrap();
    let of = |body: &str| {
        let found = Sitemap::parse(&base, body.as_bytes(), &SitemapLimits::default());
        found.pages.first().and_then(|page| page.changed.clone())
    };
    let rss = |dates: &str| {
        format!(
            "<rss xmlns:dc='d'><channel><pubDate>1 Jan 2030 00:00:00 GMT</pubDate><item><link>/1</link>{dates}</item></channel></rss>"
        )
    };
    let atom = |dates: &str| {
        format!(
            "<feed><updated>2030-01-01T00:00:00Z</updated><entry><link href='/1'/>{dates}</entry></feed>"
        )
    };
    for (body, expected) in [
        (rss("<pubDate>Sun, 01 Feb 2026 10:00:05 GMT</pubDate>"), Some("2026-02-01T10:00:05Z")),
        (rss("<pubDate>soon</pubDate>"), None),
        (rss("<dc:date>2026-02-01</dc:date>"), Some("2026-02-01")),
        (rss("<dc:date/><title>2026-02-01</title>"), None),
        (
            rss(
                "<pubDate>Sun, 01 Feb 2026 10:00:05 GMT</pubDate><a:updated>2026-02-03T00:00:00+01:00</a:updated>",
            ),
            Some("2026-02-02T23:00:00Z"),
        ),
        (
            atom(
                "<updated>2026-02-03T00:00:00Z</updated><published>2026-01-01T00:00:00Z</published>",
            ),
            Some("2026-02-03T00:00:00Z"),
        ),
        (atom("<published>2026-01-01T00:00:00Z</published>"), Some("2026-01-01T00:00:00Z")),
        (atom(""), None),
        (rss(""), None),
    ] {
        assert_eq!(of(&body).as_deref(), expected, "{body}");
    }
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
    let found = Sitemap::parse(&base, &bomb, &limits);
    assert_eq!(found.pages.len(), limits.max_urls);
    assert!(found.beyond > 0 && found.cut, "{} more, of a file that is cut", found.beyond);
    let half = Sitemap::parse(&base, &bomb[..bomb.len() / 2], &limits);
    assert_eq!((half.pages.len(), half.cut), (limits.max_urls, true));
    let entity = "<!DOCTYPE x [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;\">]>\
                  <urlset><url><loc>http://a.example/&b;</loc></url></urlset>";
    let found = Sitemap::parse(&base, entity.as_bytes(), &limits);
    assert_eq!(found.pages[0].url.as_str(), "http://a.example/");
    let long = format!("<urlset><url><loc>http://a.example/{}", "x".repeat(1 << 20));
    let cut = Sitemap { cut: true, is_list: true, ..Sitemap::default() };
    assert_eq!(Sitemap::parse(&base, long.as_bytes(), &limits), cut);
}

#[test]
fn sitemap_entries_after_damage_are_lost_and_reported() {
    let base = Url::parse("http://a.example/").unwrap();
    let entry = |n: u32| format!("<url><loc>/{n}</loc></url>");
    let whole = format!("<?xml version='1.0'?><urlset>{}{}</urlset>\n", entry(1), entry(2));
    let read = |body: &str| {
        let found = Sitemap::parse(&base, body.as_bytes(), &SitemapLimits::default());
        (found.pages.len(), found.cut)
    };
    assert_eq!(read(&whole), (2, false));
    // At every cut, except before the last line break and before the first element.
    for length in whole.find("urlset").unwrap()..whole.len() - 1 {
        let (pages, cut) = read(&whole[..length]);
        assert!(cut && pages <= 2, "{:?}", &whole[..length]);
    }
    for damage in ["<url", "<!-- ", "<![CDATA[", "<url><loc x='>"] {
        assert_eq!(read(&format!("<urlset>{}{damage}</urlset>", entry(1))), (1, true), "{damage}");
        assert_eq!(read(&format!("{}{damage}", entry(1))), (1, true), "{damage}");
    }
    for list in ["rss", "feed", "s:urlset", "sitemapindex", "rdf:RDF"] {
        assert_eq!(read(&format!("<{list}><a></{list}>")), (0, false));
        assert_eq!(read(&format!("<{list}><a></a>")), (0, true));
    }
    // Not a sitemap: what servers without one return.
    for page in ["<!doctype html><html><p>no<br>", "<html><script>if (a <!-- b</script></html>"] {
        assert_eq!(read(page), (0, false), "{page}");
    }
}

#[test]
fn skipped_sitemap_entries_are_counted() {
    let base = Url::parse("http://a.example/").unwrap();
    let limits = SitemapLimits { max_urls: 3, max_alternates: 2, ..SitemapLimits::default() };
    let long = "x".repeat(limits.max_text);
    let body = format!(
        "<urlset><url><loc>http://a.example/{long}</loc></url><url><loc>mailto:x</loc></url>\
         <url><loc>/1</loc><x:link rel='alternate' href='/{long}'/></url></urlset>"
    );
    let found = Sitemap::parse(&base, body.as_bytes(), &limits);
    assert_eq!((found.pages.len(), found.beyond, found.unusable, found.cut), (1, 1, 2, false));
    let body = format!("http://a.example/{long}\nprose\nHTTP://\nhttp://a.example/1\n");
    let found = Sitemap::parse(&base, body.as_bytes(), &limits);
    assert_eq!((found.pages.len(), found.beyond, found.unusable), (1, 0, 2));
    let entry = |n: u32| format!("<sitemap><loc>/{n}</loc></sitemap>");
    let body: String = (0..10).map(entry).collect();
    let found = Sitemap::parse(&base, body.as_bytes(), &limits);
    assert_eq!((found.maps.len(), found.beyond), (3, 7));
    // Alternates never displace entries.
    let other = |n: u32| format!("<x:link rel='alternate' hreflang='l{n}' href='/l{n}'/>");
    let others: String = (0..4).map(other).collect();
    let body = format!("<url>{others}<loc>/1</loc></url><url><loc>/2</loc></url>");
    let found = Sitemap::parse(&base, body.as_bytes(), &limits);
    let paths: Vec<&str> = found.pages.iter().map(|page| page.url.path()).collect();
    assert_eq!((paths, found.beyond), (vec!["/1", "/2", "/l0"], 3));
}

#[test]
fn short_addresses_below_a_long_one_take_no_more_than_their_share() {
    let base = Url::parse(&format!("http://a.example/{}/x", "y".repeat(2000))).unwrap();
    let entry = |n: u32| format!("<url><loc>{n}</loc><x:link rel='alternate' href='o{n}'/></url>");
    let body: String = (0..50_000).map(entry).collect();
    let limits = SitemapLimits::default();
    let found = Sitemap::parse(&base, body.as_bytes(), &limits);
    let held: usize = found.pages.iter().map(|page| page.url.as_str().len()).sum();
    assert!(held <= limits.max_held + 2100, "{held}");
    assert_eq!(found.pages.len() as u64 + found.beyond, 100_000);
}

fn read(body: &[u8]) -> (Vec<String>, bool) {
    let base = Url::parse("http://a.example/sitemap.xml").unwrap();
    let found = Sitemap::parse(&base, body, &SitemapLimits::default());
    (found.pages.iter().map(|page| page.url.path().to_owned()).collect(), found.cut)
}

#[test]
fn sitemaps_in_other_charsets_are_read() {
    let file = |encoding: &str| {
        format!(
            "<?xml version='1.0' encoding='{encoding}'?><urlset><url><loc>http://a.example/\u{e4}</loc></url></urlset>"
        )
    };
    let utf16 = |bytes: fn(u16) -> [u8; 2], bom: &str| -> Vec<u8> {
        (bom.to_owned() + &file("UTF-16")).encode_utf16().flat_map(bytes).collect()
    };
    let latin: Vec<u8> = file("iso-8859-1").chars().map(|c| c as u8).collect();
    for body in [
        file("utf-8").into_bytes(),
        ("\u{feff}".to_owned() + &file("utf-8")).into_bytes(),
        // The bytes contradict the declaration.
        file("utf-16").into_bytes(),
        utf16(u16::to_le_bytes, "\u{feff}"),
        utf16(u16::to_be_bytes, "\u{feff}"),
        utf16(u16::to_le_bytes, ""),
        utf16(u16::to_be_bytes, ""),
        latin,
    ] {
        assert_eq!(read(&body), (vec!["/%C3%A4".to_owned()], false), "{body:?}");
    }
}

#[test]
fn text_before_the_prolog_entities_of_html_and_entries_without_an_end_are_tolerated() {
    let url = |path: &str| format!("<loc>http://a.example/{path}</loc>");
    let body = format!(
        "\n<br />\n<b>Warning</b>: mysql_query() in /var/www\n<?xml version='1.0'?><urlset>\
         <url>{}{}<lastmod>2026-01-02</lastmod></url><url>{}<url>{}</url></urlset>",
        url("1"),
        url("2"),
        url("caf&eacute;&#47;x"),
        url("4")
    );
    let all = ["/1", "/2", "/caf%C3%A9/x", "/4"].map(str::to_owned).to_vec();
    assert_eq!(read(body.as_bytes()), (all.clone(), false));
    // The last entry of a truncated file.
    let cut = body.replace("</url></urlset>", "");
    assert_eq!(read(cut.as_bytes()), (all, true));
    let most = format!("<urlset><url>{}</url></urlset>", url("x").repeat(40));
    let base = Url::parse("http://a.example/").unwrap();
    let found = Sitemap::parse(&base, most.as_bytes(), &SitemapLimits::default());
    assert_eq!((found.pages.len(), found.beyond), (16, 24));
}

#[test]
fn a_list_is_known_by_its_outermost_element() {
    let limits = SitemapLimits::default();
    for (body, is_list) in [
        ("<?xml version='1.0'?><!-- by a plugin --><urlset xmlns='x'>", true),
        ("\u{feff}<rss version='2.0'>", true),
        ("<feed xmlns='http://www.w3.org/2005/Atom'/>", false),
        ("<s:sitemapindex xmlns:s='s'>", true),
        ("<!doctype html><html><p>about &lt;urlset></html>", false),
        ("<html xmlns='http://www.w3.org/1999/xhtml'>", false),
        ("http://a.example/", false),
        ("", false),
    ] {
        assert_eq!(Sitemap::is_list(body.as_bytes(), &limits), is_list, "{body}");
    }
}

#[test]
fn a_file_that_goes_on_behind_the_limit_is_cut_and_one_that_ends_there_is_not() {
    let base = Url::parse("http://a.example/").unwrap();
    let list = "http://a.example/1\nhttp://a.example/2\n";
    let xml = "<urlset><url><loc>http://a.example/1</loc></url></urlset>";
    for whole in [list, xml] {
        let limits = SitemapLimits { max_bytes: whole.len(), ..SitemapLimits::default() };
        for (more, cut) in [("", false), ("\n", true)] {
            let plain = [whole, more].concat().into_bytes();
            let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            gz.write_all(&plain).unwrap();
            for body in [plain, gz.finish().unwrap()] {
                assert_eq!(Sitemap::parse(&base, &body, &limits).cut, cut, "{whole}{more:?}");
            }
        }
    }
}

#[test]
fn a_file_without_entries_is_a_list_or_another_format() {
    let base = Url::parse("http://a.example/").unwrap();
    let parse = |body: &[u8]| Sitemap::parse(&base, body, &SitemapLimits::default());
    for list in
        ["<urlset/>", "<?xml version='1.0'?><sitemapindex></sitemapindex>", "<rss><channel/></rss>"]
    {
        let found = parse(list.as_bytes());
        assert!(found.is_list && found.is_empty(), "{list}");
    }
    for other in ["<!doctype html><title>Not found</title>", "{\"urls\": []}", "", "Not found"] {
        let found = parse(other.as_bytes());
        assert!(!found.is_list && found.is_empty(), "{other}");
    }
    let unusable = parse(b"<urlset><url><loc>mailto:a@a.example</loc></url></urlset>");
    assert!(unusable.is_list && !unusable.is_empty());
    assert!(parse(b"http://a.example/1").is_list);
}

#[test]
fn a_file_is_read_that_was_compressed_twice_and_no_more() {
    let base = Url::parse("http://a.example/").unwrap();
    let gzip = |body: &[u8]| {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        gz.write_all(body).unwrap();
        gz.finish().unwrap()
    };
    let mut body = b"<urlset><url><loc>http://a.example/x</loc></url></urlset>".to_vec();
    for layers in 0..=3 {
        let found = Sitemap::parse(&base, &body, &SitemapLimits::default());
        assert_eq!(found.pages.len(), usize::from(layers <= 2), "{layers} layers");
        body = gzip(&body);
    }
    // Members without content, compressed once more: the limit applies to each layer.
    let empty = gzip(b"").repeat(1 << 16);
    let limits = SitemapLimits { max_bytes: 1 << 20, ..SitemapLimits::default() };
    assert!(empty.len() > limits.max_bytes);
    assert!(Sitemap::parse(&base, &gzip(&empty), &limits).cut);
}

#[test]
fn the_charset_of_the_header_counts_if_the_file_declares_none() {
    let of = |declaration: &str, label: &str, encoding: &'static Encoding| {
        let map = format!(
            "{declaration}<urlset><url><loc>http://a.example/caf\u{e9}</loc></url></urlset>"
        );
        let kind = format!("application/xml; charset={label}").into_bytes();
        let headers = vec![("content-type".to_owned(), kind)];
        let base = Url::parse("http://a.example/map.xml").unwrap();
        let body = encoding.encode(&map).0.into_owned();
        let response = Response::stored(base.clone(), 200, headers, body.into());
        let found = Sitemap::of_response(&base, &response, &SitemapLimits::default());
        found.pages[0].url.path().to_owned()
    };
    let latin1 = encoding_rs::WINDOWS_1252;
    let utf8 = encoding_rs::UTF_8;
    assert_eq!(of("", "iso-8859-1", latin1), "/caf%C3%A9");
    assert_eq!(of("<?xml version='1.0'?>", "ISO-8859-1", latin1), "/caf%C3%A9");
    assert_eq!(of("<?xml version='1.0' encoding='iso-8859-1'?>", "utf-8", latin1), "/caf%C3%A9");
    // A server declares one charset for all its files.
    assert_eq!(of("", "iso-8859-1", utf8), "/caf%C3%A9");
    assert_eq!(of("<?xml version='1.0' encoding='UTF-8'?>", "iso-8859-1", utf8), "/caf%C3%A9");
}

#[test]
fn many_warnings_before_the_file_are_skipped() {
    let warning = "Warning: Undefined array key \"encoding\" in /map.php on line 3\n";
    let map = "<?xml version='1.0'?><urlset><url><loc>http://a.example/1</loc></url></urlset>";
    let base = Url::parse("http://a.example/map.xml").unwrap();
    for (lines, pages) in [(1, 1), (40, 1), (800, 1), (2000, 0)] {
        let text = warning.repeat(lines) + map;
        let found = Sitemap::parse(&base, text.as_bytes(), &SitemapLimits::default());
        assert_eq!(found.pages.len(), pages, "{lines} lines");
    }
    // A text that quotes a sitemap is not a sitemap.
    let text = warning.repeat(40) + map;
    assert!(!Sitemap::is_list(text.as_bytes(), &SitemapLimits::default()));
}

#[test]
fn locations_without_an_entry_are_read() {
    let base = Url::parse("http://a.example/map.xml").unwrap();
    let of = |map: &str| {
        let found = Sitemap::parse(&base, map.as_bytes(), &SitemapLimits::default());
        let paths = |urls: Vec<&Url>| urls.iter().map(|url| url.path().to_owned()).collect();
        let pages: Vec<String> = paths(found.pages.iter().map(|page| &page.url).collect());
        let maps: Vec<String> = paths(found.maps.iter().collect());
        (pages, maps)
    };
    let some = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        of("<urlset><loc>/a</loc><url><loc>/b</loc></url><loc>/c</loc></urlset>").0,
        some(&["/a", "/b", "/c"])
    );
    assert_eq!(of("<sitemapindex><loc>/m.xml</loc></sitemapindex>"), (vec![], some(&["/m.xml"])));
    assert_eq!(
        of("<s:urlset><s:loc>/a</s:loc><image:loc>/i.png</image:loc></s:urlset>").0,
        some(&["/a"])
    );
    assert_eq!(of("<html><loc>/a</loc></html>").0, some(&[]));
}
