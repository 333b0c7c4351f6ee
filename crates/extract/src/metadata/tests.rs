use url::Url;

use super::*;
use crate::metadata::limits::{MAX_ALTERNATES, MAX_CAPTURED, MAX_JSON};

const ADDRESS: &str = "https://a.example/2026/02/28/boats";

fn read(html: &str) -> Metadata {
    let url = Url::parse(ADDRESS).unwrap();
    crate::extract(&url, None, html.as_bytes(), &crate::Limits::default()).metadata
}

fn published(html: &str) -> String {
    let found = read(html).published(None);
    found.map(|(moment, source)| format!("{moment} {}", source.as_str())).unwrap_or_default()
}

fn author(html: &str) -> String {
    let found = read(html);
    let source = found.sources.get("author").map_or("", |source| source.as_str());
    format!("{} {source}", found.author.unwrap_or_default())
}

const PROSE: &str = "<p>The harbour is open to everybody who has a boat or wants to have one soon, and it is closed when \
                     the fog is thick and nobody finds the door of it.</p>";

#[test]
fn a_page_that_declares_everything_is_read_completely() {
    let html = r#"<html lang="en"><head><title>Boats</title>
        <meta name="description" content="All about boats">
        <meta property="og:site_name" content="The Harbour">
        <meta property="og:image" content="/boat.jpg">
        <meta property="og:type" content="article">
        <meta property="article:published_time" content="2026-03-01T09:30:00+01:00">
        <meta property="article:modified_time" content="2026-03-02">
        <meta property="article:author" content="https://social.example/ada">
        <meta name="author" content="Ada Moss">
        <link rel="license" href="https://l.example/by/4.0">
        <link rel="alternate" hreflang="de-AT" href="/de/boats"><link rel="alternate" hreflang="x-default" href="/">
        </head><body><h1>Boats</h1></body></html>"#;
    let found = read(html);
    assert_eq!(found.author.as_deref(), Some("Ada Moss"));
    assert_eq!(found.description.as_deref(), Some("All about boats"));
    assert_eq!(found.site_name.as_deref(), Some("The Harbour"));
    assert_eq!(found.picture.as_deref(), Some("https://a.example/boat.jpg"));
    assert_eq!(found.licence.as_deref(), Some("https://l.example/by/4.0"));
    assert_eq!(found.declared_type.as_deref(), Some("article"));
    let alternates: Vec<_> =
        found.alternates.iter().map(|(tag, url)| format!("{tag} {url}")).collect();
    assert_eq!(alternates, ["de-at https://a.example/de/boats", "x-default https://a.example/"]);
    let (moment, source) = found.published(None).unwrap();
    assert_eq!(
        (moment.to_string().as_str(), source),
        ("2026-03-01T09:30:00+01:00", MetadataSource::OpenGraph)
    );
    assert_eq!(found.modified(None).unwrap().0.to_string(), "2026-03-02");
    let sources: Vec<_> =
        found.sources.iter().map(|(name, source)| format!("{name} {}", source.as_str())).collect();
    let expected = [
        "alternates link",
        "author meta",
        "description meta",
        "language text",
        "licence link",
        "picture open-graph",
        "site_name open-graph",
        "type open-graph",
    ];
    assert_eq!(sources, expected);
}

#[test]
fn a_declared_date_is_preferred_to_the_url_and_the_url_to_a_visible_line() {
    let line = "<h1>Boats</h1><p>March 5, 2026</p>";
    let time =
        r#"<article><time class="published" datetime="2026-03-04">yesterday</time></article>"#;
    let meta = r#"<meta name="pubdate" content="2026-03-03">"#;
    let json = r#"<script type="application/ld+json">{"@type": "Article", "datePublished": "2026-03-02"}</script>"#;
    assert_eq!(published(&format!("{json}{meta}{time}{line}")), "2026-03-02 json-ld");
    assert_eq!(published(&format!("{meta}{time}{line}")), "2026-03-03 meta");
    assert_eq!(published(&format!("{time}{line}")), "2026-03-04 time");
    assert_eq!(published(line), "2026-02-28 url");
    let url = Url::parse("https://a.example/boats").unwrap();
    let document = crate::extract(&url, None, line.as_bytes(), &crate::Limits::default());
    let (moment, source) = document.metadata.published(None).unwrap();
    assert_eq!((moment.to_string().as_str(), source), ("2026-03-05", MetadataSource::Text));
}

#[test]
fn a_byline_and_the_canonical_address_may_have_the_only_date() {
    let url = Url::parse("https://a.example/boats").unwrap();
    let of = |html: &str| {
        let document = crate::extract(&url, None, html.as_bytes(), &crate::Limits::default());
        document
            .metadata
            .published(None)
            .map(|(moment, source)| format!("{moment} {}", source.as_str()))
    };
    let byline = r#"<div class="byline">by Ada Moss on March 5, 2026</div>"#;
    assert_eq!(of(byline).as_deref(), Some("2026-03-05 text"));
    let canonical = r#"<link rel=canonical href="/2026/03/04/boats">"#;
    assert_eq!(of(&format!("{canonical}{byline}")).as_deref(), Some("2026-03-04 url"));
    for marked in [
        r#"<abbr class="published" title="Thursday, March 5th, 2026, 9:38 am">5</abbr>"#,
        r#"<span id="p_publishtime">13:36, March 5, 2026</span>"#,
        r#"<div class="article_meta">Mar 5, 2026 2:04 AM (3 days ago)</div>"#,
    ] {
        assert_eq!(of(marked).as_deref(), Some("2026-03-05 text"), "{marked}");
    }
    assert_eq!(of("<h1>Boats</h1>"), None);
}

#[test]
fn a_date_of_creation_counts_only_without_a_date_of_publication() {
    let created = r#"<div itemscope itemtype="https://schema.org/Article"><meta itemprop="dateCreated" content="2026-03-01">"#;
    assert_eq!(published(created), "2026-03-01 microdata");
    let both = format!(r#"{created}<meta itemprop="datePublished" content="2026-03-02"></div>"#);
    assert_eq!(published(&both), "2026-03-02 microdata");
    let video = r#"<script type="application/ld+json">{"@type": "VideoObject", "uploadDate": "2026-03-01"}</script>"#;
    assert_eq!(published(video), "2026-02-28 url");
}

#[test]
fn dates_of_comments_and_navigation_are_not_the_page_s() {
    for html in [
        r#"<div class="wrap"><div class="comments"><time datetime="2026-03-04">x</time></div></div>"#,
        r#"<footer><time datetime="2026-03-04">x</time></footer>"#,
        r#"<nav><span class="date">March 4, 2026</span></nav>"#,
        r#"<div itemscope itemtype="https://schema.org/Comment"><meta itemprop="datePublished" content="2026-03-04"></div>"#,
    ] {
        assert_eq!(published(html), "2026-02-28 url", "{html}");
    }
}

#[test]
fn a_date_after_the_latest_is_passed_over_and_a_change_before_the_publication_is_none() {
    let html = r#"<meta property="article:published_time" content="2031-01-01"><meta name="date" content="2026-03-01">
        <meta property="article:modified_time" content="2026-02-01">"#;
    let found = read(html);
    let latest = Date::new(2026, 3, 2);
    assert_eq!(found.published(latest).unwrap().0.to_string(), "2026-03-01");
    assert_eq!(found.published(None).unwrap().0.to_string(), "2031-01-01");
    assert_eq!(found.modified(latest), None);
    assert_eq!(published(r#"<meta name="date" content="1989-12-31">"#), "2026-02-28 url");
}

#[test]
fn microdata_of_the_page_is_read_with_its_nested_persons() {
    let html = r#"<article itemscope itemtype="https://schema.org/NewsArticle">
        <span itemprop="author" itemscope itemtype="https://schema.org/Person">By <b itemprop="name">Ada <i>Moss</i></b></span>
        <span itemprop="author">Ben Reed</span>
        <span itemprop="publisher" itemscope itemtype="https://schema.org/Organization"><meta itemprop="name" content="The Harbour"></span>
        <time itemprop="datePublished" datetime="2026-03-01">x</time><img itemprop="image" src="boat.jpg">
        <div itemprop="comment" itemscope itemtype="https://schema.org/Comment"><b itemprop="author">Somebody</b></div></article>"#;
    assert_eq!(author(html), "Ada Moss; Ben Reed microdata");
    let found = read(html);
    assert_eq!(found.site_name.as_deref(), Some("The Harbour"));
    assert_eq!(found.picture.as_deref(), Some("https://a.example/2026/02/28/boat.jpg"));
    assert_eq!(found.declared_type.as_deref(), Some("NewsArticle"));
    assert_eq!(published(html), "2026-03-01 microdata");
}

#[test]
fn an_author_that_is_only_visible_is_found_last() {
    let linked = r#"<h1>Boats</h1><p>by <a rel="author" href="/ada">Ada Moss</a></p>"#;
    assert_eq!(author(linked), "Ada Moss link");
    let marked = r#"<h1>Boats</h1><div class="byline"><p>Ada Moss</p><p>March 1</p></div>"#;
    assert_eq!(author(marked), "Ada Moss text");
    assert_eq!(author(&format!("<h1>Boats</h1><p>By Ada Moss</p>{PROSE}")), "Ada Moss text");
    assert_eq!(author(&format!("<h1>Boats</h1>{PROSE}")), " ");
}

#[test]
fn hostile_pages_stop_at_the_limits() {
    let links: String = (0..2 * MAX_ALTERNATES)
        .map(|number| format!(r#"<link rel="alternate" hreflang="x{number}" href="/{number}">"#))
        .collect();
    let found = read(&format!(
        r#"{links}<link rel="alternate" hreflang="{}" href="/"><meta property="og:image" content="javascript:x">"#,
        "x".repeat(99)
    ));
    assert_eq!((found.alternates.len(), found.picture), (MAX_ALTERNATES, None));
    let json = |filler: usize| {
        format!(
            r#"<script type="application/ld+json">{{"@type": "Article", "x": "{}", "datePublished": "2026-03-01"}}</script>"#,
            "x".repeat(filler)
        )
    };
    assert_eq!(published(&json(1000)), "2026-03-01 json-ld");
    assert_eq!(published(&json(MAX_JSON)), "2026-02-28 url");
    let long =
        |length: usize| format!(r#"<b rel=x class="author">{}</b>"#, "Ada ".repeat(length / 4));
    assert_eq!(author(&long(20)), "Ada Ada Ada Ada Ada text");
    assert_eq!(author(&long(2 * MAX_CAPTURED)), " ");
    // Nested elements that each capture all text, and items that never end.
    let nested =
        r#"<div class="author" itemprop="author" itemscope itemtype="https://schema.org/Article">"#
            .repeat(5_000);
    read(&format!("{nested}{}", "word ".repeat(50_000)));
}

proptest::proptest! {
    #[test]
    fn chosen_dates_are_never_after_the_latest(
        dates in proptest::collection::vec((1980i32..2110, 0u8..14, 0u8..33), 0..6),
        latest in (1990i32..2100, 1u8..13, 1u8..29),
    ) {
        let metas: String = dates
            .iter()
            .map(|(y, m, d)| format!(r#"<meta name="pubdate" content="{y}-{m:02}-{d:02}"><meta name="lastmod" content="{d}.{m}.{y}">"#))
            .collect();
        let latest = Date::new(latest.0, latest.1, latest.2).unwrap();
        let url = Url::parse("https://a.example/").unwrap();
        let found = crate::extract(&url, None, metas.as_bytes(), &crate::Limits::default()).metadata;
        // The slow definition: the first of the dates that the calendar has, within the limits.
        let expected = dates.iter().filter_map(|(y, m, d)| Date::new(*y, *m, *d)).find(|date| *date <= latest);
        proptest::prop_assert_eq!(found.published(Some(latest)).map(|(moment, _)| moment.date()), expected);
        let modified = found.modified(Some(latest)).map(|(moment, _)| moment.date());
        proptest::prop_assert!(modified.is_none_or(|date| date <= latest && Some(date) >= expected));
    }
}
