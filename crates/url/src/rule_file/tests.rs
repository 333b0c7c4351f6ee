use proptest::prelude::*;

use super::*;

fn applied(rules: &str, url: &str) -> String {
    let rules = GivenRules::parse(rules).unwrap();
    match rules.apply(&Url::parse(url).unwrap()) {
        Applied::Unchanged => "same".to_owned(),
        Applied::Rewritten { to, .. } => to.into(),
        Applied::Skipped { rule } => rule,
    }
}

#[test]
fn parameters_are_dropped_where_a_rule_says_so() {
    let rules = "drop-parameter sort a.example/shop/\ndrop-parameter sid\ndrop-parameter ;v\n";
    for (url, expected) in [
        ("http://a.example/shop/1?sort=up", "http://a.example/shop/1"),
        ("http://a.example/shop/1?a=1&sort=up&sort=down&b", "http://a.example/shop/1?a=1&b"),
        ("https://a.example/shop/1?sid=7&sort=x", "https://a.example/shop/1"),
        ("http://a.example/1?sort=up", "same"),
        ("http://b.example/shop/1?sort=up", "same"),
        ("http://b.example/?s%69d=7", "http://b.example/"),
        ("http://b.example/x;v=1;w=2/y?sid=7&c=1", "http://b.example/x;w=2/y?c=1"),
        ("http://a.example/shop/1?SORT=up", "same"),
        ("http://a.example:81/shop/1?sort=up", "same"),
    ] {
        assert_eq!(applied(rules, url), expected, "{url}");
    }
}

#[test]
fn hosts_are_replaced_with_their_schemes_and_ports() {
    let rules = "host-alias m.a.example www.a.example\nhost-alias http://www.a.example https://www.a.example\n\
                 host-alias b.example:81 c.example:82\nhost-alias https://d.example:443/ http://e.example\n";
    for (url, expected) in [
        ("http://m.a.example/x?y#z", "https://www.a.example/x?y#z"),
        ("https://m.a.example/x", "https://www.a.example/x"),
        ("http://www.a.example/x", "https://www.a.example/x"),
        ("https://www.a.example/x", "same"),
        ("http://b.example:81/x", "http://c.example:82/x"),
        ("http://b.example/x", "same"),
        ("https://d.example/x", "http://e.example/x"),
        ("http://d.example/x", "same"),
    ] {
        assert_eq!(applied(rules, url), expected, "{url}");
    }
}

#[test]
fn addresses_are_skipped_by_patterns_as_in_robots_txt() {
    let rules = "skip a.example/print/\nskip */*/amp$\nskip b.example/*?*print=1\nskip c.example/x$\nskip c.example/a*b*c";
    for (url, expected) in [
        ("https://a.example/print/7", "skip a.example/print/"),
        ("http://a.example/x/print/7", "same"),
        ("http://z.example/7/amp", "skip */*/amp$"),
        ("http://z.example/7/amp/x", "same"),
        ("http://b.example/7?a=1&print=1", "skip b.example/*?*print=1"),
        ("http://c.example/x", "skip c.example/x$"),
        ("http://c.example/xy", "same"),
        ("http://c.example/a/b/c", "skip c.example/a*b*c"),
        ("http://c.example/a/c/b", "same"),
    ] {
        assert_eq!(applied(rules, url), expected, "{url}");
    }
    assert_eq!(
        applied(
            "host-alias m.a.example a.example\nskip a.example/print/",
            "http://m.a.example/print/7"
        ),
        "host-alias m.a.example a.example; skip a.example/print/"
    );
}

#[test]
fn a_line_that_is_no_rule_is_an_error_with_its_number() {
    let long = format!("skip a.example/{}", "x".repeat(MAX_LINE));
    let many = "drop-parameter a\n".repeat(MAX_GIVEN_RULES + 1);
    let stars = format!("skip a.example/{}", "*x".repeat(MAX_STARS + 1));
    let circle = "host-alias a.example b.example\nhost-alias b.example a.example";
    for (text, line, message) in [
        ("# x\n\nskp a.example/x", 3, "not a rule: \"skp a.example/x\". Write `drop-parameter"),
        ("skip", 1, "not a rule"),
        ("skip a.example/x y", 1, "not a rule"),
        ("skip http://a.example/x", 1, "without a scheme"),
        ("skip print", 1, "write a host and a path"),
        ("skip /print", 1, "write a host before the path"),
        ("skip a b/x", 1, "not a rule"),
        ("skip a@b/x", 1, "\"a@b\" is not a host"),
        ("drop-parameter", 1, "not a rule"),
        ("drop-parameter sort a.example", 1, "write a host and a path"),
        ("host-alias a.example", 1, "not a rule"),
        ("host-alias ftp://a.example b.example", 1, "http or https"),
        ("host-alias a.example/x b.example", 1, "is not a host"),
        (&*long, 1, "longer than 4096 bytes"),
        (&*many, MAX_GIVEN_RULES + 1, "more than 10000 rules"),
        (&*stars, 1, "more than 16 stars"),
        (circle, 2, "in a circle"),
        ("host-alias a.example a.example", 1, "in a circle"),
        (
            "host-alias a.example b.example\nhost-alias http://a.example c.example",
            2,
            "has an alias already",
        ),
    ] {
        let error = GivenRules::parse(text).unwrap_err();
        assert_eq!(error.line, line, "{error}");
        assert!(error.message.contains(message), "{error}");
    }
}

/// The reference of a pattern: tries every length of each star.
fn slowly(pattern: &[u8], text: &[u8]) -> bool {
    match pattern {
        [] => true,
        b"$" => text.is_empty(),
        [b'*', rest @ ..] => (0..=text.len()).any(|at| slowly(rest, &text[at..])),
        [byte, rest @ ..] => text.first() == Some(byte) && slowly(rest, &text[1..]),
    }
}

proptest! {
    #[test]
    fn patterns_match_as_all_lengths_of_each_star_do(pattern in "/[ab*]{0,8}\\$?", path in "/[ab]{0,8}") {
        let fast = Pattern::parse(&format!("a.example{pattern}")).unwrap().matches("a.example", &path);
        prop_assert_eq!(fast, slowly(pattern.as_bytes(), path.as_bytes()), "{} {}", pattern, path);
    }

    #[test]
    fn rules_change_an_address_once(
        rules in prop::collection::vec(prop::sample::select(&[
            "drop-parameter a", "drop-parameter b a.example/x", "drop-parameter ;s",
            "host-alias b.example a.example", "host-alias http://a.example https://a.example",
            "host-alias c.example http://b.example:81",
        ][..]), 0..5),
        url in "https?://[abc]\\.example(/x(;s=1)?){0,2}(\\?([abc]=1&?){0,3})?",
    ) {
        let mut given = GivenRules::default();
        for rule in rules {
            // Two rules about one host are refused.
            let mut with = given.clone();
            if with.add(rule).is_ok() {
                given = with;
            }
        }
        if let Applied::Rewritten { to, .. } = given.apply(&Url::parse(&url).unwrap()) {
            prop_assert_eq!(given.apply(&to), Applied::Unchanged, "{}", to);
        }
    }

    #[test]
    fn no_text_makes_a_panic(text in "(skip|host-alias|drop-parameter)?[ -~é\n]{0,60}") {
        if let Ok(rules) = GivenRules::parse(&text) {
            rules.apply(&Url::parse("http://a.example/x?y=1").unwrap());
        }
    }
}
