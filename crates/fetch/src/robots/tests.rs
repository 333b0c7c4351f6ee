use super::*;
use proptest::prelude::*;

fn allows(robots: &str, path: &str) -> bool {
    let url = Url::parse(&format!("http://a.example{path}")).unwrap();
    Robots::parse(robots.as_bytes(), "hapax").allows(&url).0
}

#[test]
fn the_longest_match_decides_and_allow_wins_a_tie() {
    let robots = "User-agent: *\nDisallow: /p\nAllow: /page\nDisallow: /page.htm\nAllow: /same\nDisallow: /same";
    for (path, expected) in [
        ("/page", true),
        ("/page.htm", false),
        ("/private", false),
        ("/same", true),
        ("/other", true),
    ] {
        assert_eq!(allows(robots, path), expected, "{path}");
    }
}

#[test]
fn sibling_prefixes_do_not_hide_each_other() {
    assert!(!allows("User-agent: *\nDisallow: /a\nDisallow: /ab", "/ac"));
    assert!(!allows(
        "User-agent: *\nDisallow: /private\nDisallow: /private/reports/",
        "/private/secret.html"
    ));
}

#[test]
fn groups_of_one_agent_are_merged_and_hide_the_star() {
    let robots = "User-agent: other\nDisallow: /\n\nUser-agent: HAPAX/2.0\nUser-agent: more\nDisallow: /one\n\
        \nUser-agent: *\nDisallow: /\n\nuser-agent: hapax\nDisallow: /two # comment\nCrawl-delay: 2.5\n\
        Sitemap: http://a.example/map.xml";
    for (path, expected) in
        [("/one", false), ("/two", false), ("/three", true), ("/robots.txt", true)]
    {
        assert_eq!(allows(robots, path), expected, "{path}");
    }
    let read = Robots::parse(robots.as_bytes(), "hapax");
    assert_eq!(read.crawl_delay, Some(Duration::from_millis(2500)));
    assert_eq!(read.sitemaps, ["http://a.example/map.xml"]);
    assert_eq!(Robots::parse(robots.as_bytes(), "nobody").crawl_delay, None);
}

#[test]
fn lines_that_are_no_rules_end_no_group() {
    for line in ["Crawl-delay: 5", "Sitemap: /map.xml", "Request-rate: 1/5", "Clean-param: sid", ""]
    {
        let robots = format!("User-agent: hapax\n{line}\nUser-agent: other\nDisallow: /no");
        assert!(!allows(&robots, "/no"), "{line}");
        assert!(allows(&robots, "/yes"), "{line}");
    }
    // An agent named after it has no delay.
    let robots = "User-agent: other\nCrawl-delay: 5\nUser-agent: hapax\nDisallow: /no";
    let read = Robots::parse(robots.as_bytes(), "hapax");
    assert_eq!(read.crawl_delay, None);
    assert!(!allows(robots, "/no"));
}

#[test]
fn wildcards_and_the_end_mark_work() {
    let robots =
        "User-agent: *\nDisallow: /*.php$\nDisallow: /x*/y\nDisallow: *?sid=\nDisallow: /end$";
    for (path, expected) in [
        ("/a.php", false),
        ("/a.php5", true),
        ("/a.php?x=1", true),
        ("/x1/2/y/z", false),
        ("/x/z", true),
        ("/q?sid=1", false),
        ("/end", false),
        ("/end/", true),
    ] {
        assert_eq!(allows(robots, path), expected, "{path}");
    }
}

#[test]
fn percent_encoding_does_not_matter() {
    let robots = "User-agent: *\nDisallow: /caf%c3%a9\nDisallow: /%7Euser\nDisallow: /中";
    for path in ["/caf%C3%A9", "/café", "/~user/x", "/%E4%B8%AD"] {
        assert!(!allows(robots, path), "{path}");
    }
}

#[test]
fn malformed_robots_txt_forbids_nothing() {
    for robots in
        ["", "Disallow: /", "User-agent: *\nDisallow:", "nonsense", "User-agent * x\nDisallow / y"]
    {
        assert!(allows(robots, "/x"), "{robots:?}");
    }
    assert!(!allows("\u{FEFF}User-agent: *\r\nDisallow: /x\r\n", "/x"));
    assert!(!allows("User-agent: *\rDisallow: /x", "/x"));
}

#[test]
fn the_line_of_a_rule_is_counted_in_every_kind_of_file() {
    for end in ["\n", "\r\n", "\r"] {
        let robots = ["User-agent: *", "# note", "Disallow: /x"].join(end);
        let url = Url::parse("http://a.example/x").unwrap();
        assert_eq!(Robots::parse(robots.as_bytes(), "hapax").allows(&url), (false, Some(3)));
    }
}

#[test]
fn clean_param_takes_parameters_out_where_it_applies() {
    let robots = "User-agent: nobody\nDisallow: /\nClean-param: sid&ref /shop/\nClean-param: s";
    let robots = Robots::parse(robots.as_bytes(), "hapax");
    for (url, expected) in [
        ("http://a.example/shop/x?id=1&sid=2&ref=3", Some("http://a.example/shop/x?id=1")),
        ("http://a.example/other?sid=2", None),
        ("http://a.example/other?s=2", Some("http://a.example/other")),
        ("http://a.example/shop/x?id=1", None),
        ("http://a.example/shop/x", None),
    ] {
        let clean = robots.clean(&Url::parse(url).unwrap());
        assert_eq!(clean.as_ref().map(Url::as_str), expected, "{url}");
    }
}

#[test]
fn rules_beyond_the_limits_are_ignored() {
    let many = format!("User-agent: *\n{}", "Disallow: /x\n".repeat(MAX_RULES + 5));
    assert_eq!(Robots::parse(many.as_bytes(), "hapax").rules.len(), MAX_RULES);
    let many = "Sitemap: http://a.example/\nClean-param: a\n".repeat(1000);
    let read = Robots::parse(many.as_bytes(), "hapax");
    assert_eq!((read.sitemaps.len(), read.clean.len()), (MAX_SITEMAPS, MAX_CLEAN));
}

#[test]
fn clean_param_names_are_limited_across_all_lines() {
    let names: Vec<String> = (0..MAX_CLEAN + 50).map(|n| format!("p{n}")).collect();
    let line = format!("Clean-param: {} /\nClean-param: more", names.join("&"));
    let read = Robots::parse(line.as_bytes(), "hapax");
    assert_eq!(read.clean.iter().map(|(names, _)| names.len()).sum::<usize>(), MAX_CLEAN);
    let empty = Robots::parse("Clean-param: &&\n".repeat(1000).as_bytes(), "hapax");
    assert_eq!(empty.clean.len(), 0);
}

#[test]
fn an_agent_with_digits_finds_its_own_group() {
    let url = Url::parse("http://a.example/x").unwrap();
    for (group, agent, own) in [
        ("my2bot", "my2bot", true),
        ("My2Bot/3.1", "my2bot", true),
        ("my2bot", "My2Bot/3.1", true),
        ("hapax2", "hapax", false),
        ("hapax2", "hapax2/1.0", true),
        ("hapax", "hapax2/1.0", false),
        ("360spider", "360Spider/1", true),
        ("80legs", "360spider", false),
        ("", "", false),
        ("", "360spider", false),
        ("hapaxes", "hapax", false),
    ] {
        let robots = format!("User-agent: {group}\nDisallow: /x\n\nUser-agent: *\nDisallow: /y");
        let read = Robots::parse(robots.as_bytes(), agent);
        assert_eq!(!read.allows(&url).0, own, "{group:?} {agent:?}");
    }
}

/// RFC 9309, 2.2.3; its two examples come first.
#[test]
fn an_encoded_star_or_dollar_matches_literally() {
    for (pattern, path, allowed) in [
        ("/path/file-with-a-%2A.html", "/path/file-with-a-*.html", false),
        ("/path/foo-%24", "/path/foo-$", false),
        ("/a%2ab", "/a%2Ab", false),
        ("/a%2Ab", "/aXb", true),
        ("/a%2Ab*c", "/a*bXc", false),
        ("/a*b", "/a*b", false),
        ("/a*b", "/aXb", false),
        ("/x%24", "/x", true),
        ("/x%24", "/x$y", false),
        ("/x%24$", "/x$y", true),
        ("/x%24$", "/x$", false),
        ("/x$", "/x$", true),
        ("/x$", "/x", false),
        ("/m$n", "/m$n", false),
        ("/m$n", "/m", true),
        ("/q?*=$", "/q?a=", false),
    ] {
        let robots = format!("User-agent: *\nDisallow: {pattern}");
        assert_eq!(allows(&robots, path), allowed, "{pattern} {path}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(body in prop::collection::vec(any::<u8>(), 0..500), path in "/[ -~]{0,60}") {
        if let Ok(url) = Url::parse(&format!("http://a.example{path}")) {
            let _ = Robots::parse(&body, "hapax").allows(&url);
        }
    }
}

#[test]
fn a_truncated_robots_rule_is_ignored() {
    let file = b"User-agent: *\nDisallow: /private/reports\n";
    assert_eq!(whole_lines(file, 100), file);
    assert_eq!(whole_lines(file, 25), b"User-agent: *");
    assert_eq!(whole_lines(b"Disallow: /x", 5), b"");
}

#[test]
fn an_unencoded_rule_matches_its_percent_encoded_url() {
    for (pattern, url) in [
        ("/a{b}", "http://a.example/a{b}c"),
        ("/a<b>\"", "http://a.example/a<b>\"c"),
        ("/a`b", "http://a.example/a`b"),
        ("/*?q={", "http://a.example/x?q={y"),
        ("/a%7Bb", "http://a.example/a{b"),
        ("/a|b^c", "http://a.example/a|b^c"),
    ] {
        let robots = Robots::parse(format!("User-agent: *\nDisallow: {pattern}").as_bytes(), "x");
        assert!(!robots.allows(&Url::parse(url).unwrap()).0, "{pattern} {url}");
    }
}

#[test]
fn misspelt_lines_are_forgiven() {
    for line in ["Disallow /x", "Dissallow: /x", "disalow:/x", "DISALLOW : /x"] {
        for agent in ["User-agent: *", "Useragent: *", "user agent : *", "User-agent *"] {
            let robots = Robots::parse(format!("{agent}\n{line}").as_bytes(), "x");
            assert!(!robots.allows(&Url::parse("http://a.example/x").unwrap()).0, "{agent} {line}");
        }
    }
    let robots = Robots::parse(b"Sitemap:\nSitemap: /s.xml\nsite-map: /t.xml", "x");
    assert_eq!(robots.sitemaps, ["/s.xml", "/t.xml"]);
}

/// Google's parser: a star before white space names all robots, whatever follows.
#[test]
fn a_star_before_white_space_names_all_robots() {
    for (agent, all) in [
        ("* (all)", true),
        ("* hapax", true),
        ("*\tand others", true),
        ("*", true),
        ("*bot", false),
        ("**", false),
        ("other *", false),
    ] {
        let robots = format!("User-agent: {agent}\nDisallow: /x");
        assert_eq!(!allows(&robots, "/x"), all, "{agent:?}");
        // An own group hides it.
        let robots = format!("{robots}\n\nUser-agent: hapax\nDisallow: /y");
        assert!(allows(&robots, "/x") && !allows(&robots, "/y"), "{agent:?}");
    }
}

#[test]
fn the_number_of_a_crawl_delay_is_read_however_it_is_written() {
    for (value, delay) in [
        ("2", Some(2000)),
        ("2 s", Some(2000)),
        ("2;", Some(2000)),
        ("2sec", Some(2000)),
        ("\"3\"", Some(3000)),
        ("' 3 '", Some(3000)),
        ("1,5", Some(1500)),
        ("1.5.2", Some(1500)),
        (".5", Some(500)),
        ("5.", Some(5000)),
        ("+4", Some(4000)),
        ("1000000", Some(86_400_000)),
        ("-1", None),
        (".", None),
        ("", None),
        ("soon", None),
        ("inf", None),
        ("nan", None),
    ] {
        let robots = format!("User-agent: *\nCrawl-delay: {value}");
        let found = Robots::parse(robots.as_bytes(), "hapax").crawl_delay;
        assert_eq!(found, delay.map(Duration::from_millis), "{value}");
    }
}

proptest::proptest! {
    #[test]
    fn any_user_agent_has_a_token_that_robots_txt_can_name(agent: String) {
        let token = robots_token(&agent);
        proptest::prop_assert!(token.bytes().all(|b| !b.is_ascii_uppercase() && !b.is_ascii_whitespace()));
        let robots = Robots::parse(format!("User-agent: {token}\nDisallow: /").as_bytes(), &token);
        let is_named = !robots.allows(&Url::parse("http://a.example/x").unwrap()).0;
        proptest::prop_assert_eq!(is_named, !token.is_empty(), "{}", token);
    }
}

/// contentsignals.org; RSL 1.0.
#[test]
fn reservations_are_those_of_the_group_and_licences_those_of_the_host() {
    let body = "License: https://a.example/license.xml\n\
        User-agent: *\nContent-Signal: search=yes, ai-train=no\nAllow: /\n\n\
        User-agent: other\nContent-signal: /path ai-input=no\nDisallow: /\n";
    let of = |agent: &str| Robots::parse(body.as_bytes(), agent).reservations;
    let license = "rsl: https://a.example/license.xml";
    assert_eq!(of("hapax"), ["content-signal: ai-train=no", license]);
    assert_eq!(of("other"), ["content-signal: ai-input=no", license]);
    let page = Url::parse("http://b.example:8080/dir/page").unwrap();
    let relative =
        Robots::parse(b"License: /l.xml\nLicense: https://a.example/license.xml", "hapax");
    assert_eq!(relative.reservations_at(&page), ["rsl: http://b.example:8080/l.xml", license]);
    let twice = Robots::parse(b"License: /l.xml\nLicense: http://b.example:8080/l.xml", "hapax");
    assert_eq!(twice.reservations_at(&page), ["rsl: http://b.example:8080/l.xml"]);
    let spaced = b"User-agent: *\nContent-Signal: search = yes, ai-train = no,ai-input= no";
    assert_eq!(
        Robots::parse(spaced, "hapax").reservations,
        ["content-signal: ai-train=no", "content-signal: ai-input=no"]
    );
    let many = "User-agent: *\n".to_owned() + &"Content-Signal: x=no\n".repeat(100);
    assert_eq!(Robots::parse(many.as_bytes(), "hapax").reservations.len(), 16);
    assert_eq!(
        Robots::parse(b"User-agent: *\nContent-Signal: ai-train=yes", "x").reservations.len(),
        0
    );
}

/// Google's parser compares only the beginning of a key (robots.cc, `KeyIsDisallow`).
#[test]
fn a_key_is_recognised_by_its_beginning() {
    let robots = "User-agents: *\nDisallowed: /a\nDisallow-x: /b\nallowed: /a/ok\nDisallows: /c\nDissallows: /d\n\
        Useragents: other\nDisallow: /\nSitemaps: /map.xml\nSite-map: /two.xml";
    for (path, expected) in [
        ("/a/x", false),
        ("/a/ok", true),
        ("/b", false),
        ("/c", false),
        ("/d", false),
        ("/e", true),
    ] {
        assert_eq!(allows(robots, path), expected, "{path}");
    }
    assert_eq!(Robots::parse(robots.as_bytes(), "x").sitemaps, ["/map.xml", "/two.xml"]);
    for line in ["Disallo: /a", "No-disallow: /a", "Noindex: /a", "Crawl-delays: 5"] {
        let read = Robots::parse(format!("User-agent: *\n{line}").as_bytes(), "x");
        assert_eq!(read, Robots::default(), "{line}");
    }
}

#[test]
fn bytes_of_another_charset_match_the_same_bytes_of_a_url() {
    let url = |path: &str| Url::parse("http://a.example").unwrap().join(path).unwrap();
    let robots = Robots::parse(b"User-agent: *\nDisallow: /caf\xe9/\nSitemap: /m\xe9.xml", "hapax");
    assert!(!robots.allows(&url("/caf%E9/x")).0);
    assert!(!robots.allows(&url("/caf%e9/x")).0);
    assert!(robots.allows(&url("/caf%EA/x")).0);
    assert_eq!(robots.sitemaps, ["/m%E9.xml"]);
    let text = "\u{feff}User-agent: *\r\nDisallow: /caf\u{e9}\r\n";
    for swap in [false, true] {
        let unit = |unit: u16| if swap { unit.swap_bytes() } else { unit }.to_le_bytes();
        let bytes: Vec<u8> = text.encode_utf16().flat_map(unit).collect();
        let robots = Robots::parse(&bytes, "hapax");
        assert!(!robots.allows(&url("/caf%C3%A9")).0, "swapped: {swap}");
        assert!(robots.allows(&url("/x")).0);
    }
}
