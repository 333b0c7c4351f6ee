use proptest::prelude::*;

use super::*;

fn names(one: &str, other: &str, language: &str) -> String {
    let url = |text: &str| Url::parse(text).unwrap();
    let hints = CauseHints { language, mirror: false };
    let found = causes(&url(one), &url(other), hints);
    assert_eq!(found, causes(&url(other), &url(one), hints), "{one} {other}");
    found.iter().map(Cause::to_string).collect::<Vec<_>>().join(" ")
}

fn hold(pairs: &[(&str, &str, &str)]) {
    for (one, other, expected) in pairs {
        let whole = |text: &str| match text.strip_prefix('/') {
            Some(_) => format!("http://a.example{text}"),
            None => text.to_owned(),
        };
        assert_eq!(names(&whole(one), &whole(other), ""), *expected, "{one} {other}");
    }
}

#[test]
fn schemes_hosts_slashes_files_and_letters_are_causes() {
    hold(&[
        ("http://a.example/x", "https://a.example/x", "scheme"),
        ("http://www.a.example/x", "http://a.example/x", "www"),
        ("http://www.a.example/x", "https://a.example/x", "scheme www"),
        ("/x/", "/x", "trailing-slash"),
        ("/x/?a=1", "/x?a=1", "trailing-slash"),
        ("/x/index.html", "/x/", "index-file"),
        ("/x/index.php", "/x", "index-file"),
        ("/index.asp", "/", "index-file"),
        ("/Default.aspx", "/", "index-file"),
        ("/index.html", "/index.htm", "index-file"),
        ("/index.php?id=7", "/?id=7", "index-file"),
        ("/index.php/news/7", "/news/7", "index-file"),
        ("/X/y", "/x/y", "case"),
        ("/x/INDEX.html", "/x/index.html", "case"),
        ("/%7euser/x", "/~user/x", "case"),
        ("/stra%c3%9fe", "/stra%C3%9Fe", "case"),
        ("/WWW/X/", "/www/x", "trailing-slash case"),
    ]);
}

#[test]
fn parameters_are_named_if_they_are_added_moved_or_have_another_value() {
    hold(&[
        ("/x?ref=home", "/x", "parameter:ref"),
        ("/x?sort=up", "/x?sort=down", "parameter:sort"),
        ("/x?a=1&b=2", "/x?b=2&a=1", "parameter:a parameter:b"),
        ("/x?a=1&b=2&c=3", "/x?a=1&c=3&b=2", "parameter:b parameter:c"),
        ("/x?utm_source=feed&id=7", "/x?id=7", "parameter:utm_source"),
        ("/x?a=1&a=2", "/x?a=1", "parameter:a"),
        ("/x;v=1", "/x;v=2", "parameter:;v"),
        ("/x?%61=1", "/x?a=2", "parameter:a"),
        ("/x?", "/x", "other"),
        ("/x?sort=up", "/y", "parameter:sort other"),
    ]);
}

#[test]
fn session_ids_are_found_in_paths_and_queries() {
    hold(&[
        ("/x;jsessionid=1A2B3C", "/x", "parameter:;jsessionid session-id"),
        ("/x;sid=4711/y", "/x;sid=4712/y", "parameter:;sid session-id"),
        ("/x?PHPSESSID=1a2b3c", "/x", "parameter:PHPSESSID session-id"),
        ("/x?sid=7", "/x?sid=8", "parameter:sid session-id"),
        ("/x?ASPSESSIONIDABC=7", "/x", "parameter:ASPSESSIONIDABC session-id"),
        ("/(S(lit3py55t21z5v55vlm25s55))/x.aspx", "/x.aspx", "session-id"),
        ("/x?osCsid=0123456789", "/x", "parameter:osCsid session-id"),
    ]);
}

#[test]
fn versions_for_printers_phones_and_amp_are_told_by_path_host_and_query() {
    hold(&[
        ("/print/7", "/7", "print"),
        ("/7/print", "/7", "print"),
        ("/7/print/", "/7", "print"),
        ("/print/7", "/article/river-7", "print"),
        ("/print.php?id=7", "/view.php?id=7", "print"),
        ("/7_print.html", "/7.html", "print"),
        ("/print-7.html", "/7.html", "print"),
        ("/7?print=1", "/7", "parameter:print print"),
        ("/w/index.php?title=X&printable=yes", "/w/index.php?title=X", "parameter:printable print"),
        ("/7?view=print", "/7", "parameter:view print"),
        ("http://print.a.example/7", "http://a.example/7", "print"),
        ("/7/amp", "/7", "amp"),
        ("/amp/7", "/7", "amp"),
        ("/7.amp.html", "/7.html", "amp"),
        ("/7.amp", "/7", "amp"),
        ("/7?amp=1", "/7", "parameter:amp amp"),
        ("/7?amp", "/7", "parameter:amp amp"),
        ("/7?outputType=amp", "/7", "parameter:outputType amp"),
        ("https://amp.a.example/7", "https://www.a.example/7", "amp"),
        ("http://m.a.example/7", "http://www.a.example/7", "mobile"),
        ("https://m.a.example/7", "http://a.example/7", "scheme mobile"),
        ("http://mobile.a.example/7", "http://a.example/7", "mobile"),
        ("/m/7", "/7", "mobile"),
        ("/7?mobile=1", "/7", "parameter:mobile mobile"),
        ("/7?view=mobile", "/7", "parameter:view mobile"),
    ]);
}

#[test]
fn languages_pages_of_series_and_archives_are_told_apart() {
    hold(&[
        ("/en/x", "/de/x", "language"),
        ("/de/x", "/x", "language"),
        ("/it/x", "/is/x", "language"),
        ("/it/x", "/x", "other"),
        ("/pt-br/x", "/x", "language"),
        ("http://de.a.example/x", "http://en.a.example/x", "language"),
        ("http://de.a.example/x", "http://www.a.example/x", "language"),
        ("/x?lang=de", "/x?lang=en", "parameter:lang language"),
        ("/x?hl=de", "/x", "parameter:hl language"),
        ("/x.de.html", "/x.en.html", "language"),
        ("/x/page/2", "/x", "pagination"),
        ("/x/page/2/", "/x/", "pagination"),
        ("/x/page-3", "/x/page-2", "pagination"),
        ("/x/seite/2", "/x", "pagination"),
        ("/x?page=2", "/x", "parameter:page pagination"),
        ("/x?paged=2", "/x?paged=3", "parameter:paged pagination"),
        ("/x/2", "/x", "pagination"),
        ("/?p=7", "/river", "parameter:p other"),
        ("/x?p=2", "/x", "parameter:p pagination"),
        ("/tag/rivers", "/2024/05/long-river", "archive"),
        ("/tag/rivers/page/2", "/long-river", "pagination archive"),
        ("/category/news/local", "/long-river", "archive"),
        ("/2024/05/", "/long-river", "archive"),
        ("/2024/05/12/", "/2024/05/long-river", "archive"),
        ("/author/ann", "/author/ben", "archive"),
        ("/blog?tag=river", "/blog/long-river", "parameter:tag archive"),
        ("/blog?cat=7", "/blog/long-river", "parameter:cat archive"),
        ("/shoe?cat=7", "/shoe", "parameter:cat"),
        ("/category/shoes/red-shoe", "/red-shoe", "other"),
        ("/docs/1.0/install", "/docs/2.0/install", "other"),
        ("/docs/1.0/install/", "/docs/2.0/install", "trailing-slash other"),
        ("/a", "/b", "other"),
    ]);
    assert_eq!(names("http://a.example/it/x", "http://a.example/x", "it"), "language");
}

#[test]
fn other_hosts_are_mirrors_or_syndication() {
    hold(&[
        ("http://b.example/x", "http://a.example/x", "mirror"),
        ("http://b.example/", "http://a.example/", "mirror"),
        ("https://b.example/X?ref=1", "http://a.example/x", "case parameter:ref mirror"),
        ("http://b.example/pub/a/doc/x", "http://a.example/doc/x", "mirror"),
        ("http://localhost:81/x", "http://127.0.0.1:81/x", "mirror"),
        ("http://127.0.0.1:81/x", "http://127.0.0.1:82/x", "mirror"),
        ("http://cdn.a.example/x", "http://a.example/x", "mirror"),
        ("http://b.example/2024/river", "http://a.example/news/7", "syndication"),
        ("http://blog.a.example/7", "http://a.example/river", "other"),
    ]);
    let url = |text: &str| Url::parse(text).unwrap();
    let hints = CauseHints { mirror: true, ..CauseHints::default() };
    let found = causes(&url("http://b.example/7"), &url("http://a.example/x"), hints);
    assert_eq!(found, [Cause::Mirror]);
}

#[test]
fn one_address_states_causes_too() {
    let of = |text: &str| {
        let found = address_causes(&Url::parse(text).unwrap());
        found.iter().map(Cause::to_string).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(of("https://a.example/x"), "");
    assert_eq!(of("http://www.a.example/print/x?sort=up"), "scheme www parameter:sort print");
    assert_eq!(of("https://m.a.example/de/tag/x/page/2"), "mobile language pagination archive");
}

#[test]
fn addresses_beyond_the_limits_have_no_cause_but_other() {
    let long = format!("http://a.example/{}", "x".repeat(MAX_URL));
    assert_eq!(names(&long, "http://a.example/", ""), "other");
    let many = format!("http://a.example/?{}", "a=1&".repeat(MAX_PARTS + 1));
    assert_eq!(names(&many, "http://a.example/", ""), "other");
    let deep = format!("http://a.example{}", "/x".repeat(MAX_PARTS + 1));
    assert_eq!(names(&deep, "http://a.example/", ""), "other");
    assert_eq!(address_causes(&Url::parse(&deep).unwrap()), []);
}

proptest! {
    #[test]
    fn any_two_addresses_have_a_cause_in_both_orders(
        one in "https?://(www\\.|m\\.|de\\.)?[ab]\\.example(/(print|page|2|tag|de|it|x|%41|index\\.php|y\\.amp\\.html)(;s=[12])?){0,4}/?(\\?([ab]=[12]&?){0,3})?",
        other in "https?://(www\\.|m\\.)?[ab]\\.example(/(amp|page|2|2024|en|x|%61|index\\.html)){0,4}/?(\\?([ab]=[12]&?){0,3})?",
        language in "(it|de)?",
    ) {
        prop_assert!(!names(&one, &other, &language).is_empty());
    }

    #[test]
    fn no_address_makes_a_panic(path in ".{0,60}", query in ".{0,60}") {
        if let Ok(url) = Url::parse(&format!("http://a.example/{path}?{query}")) {
            address_causes(&url);
            let other = Url::parse("http://a.example/x").unwrap();
            prop_assert!(!causes(&url, &other, CauseHints::default()).is_empty());
        }
    }
}
