use proptest::prelude::*;

use super::*;

const NOTICE: &str = "Sign up for our daily bulletin and never miss a story again.";

fn learnt(pages: &[(&str, &str)]) -> SiteLines {
    let mut builder = SiteLinesBuilder::default();
    for (url, text) in pages {
        builder.add(url, "en", text).unwrap();
    }
    builder.build().unwrap()
}

/// A site of three stories with a notice and repeated headings, and another site.
fn site() -> SiteLines {
    let story = |own: &str| format!("Latest\n{own}\nExample\n{own} again\n{NOTICE}");
    let [a, b, c] = ["A fox", "A dog", "A cat"].map(story);
    learnt(&[
        ("http://www.a.example/1", &a),
        ("https://a.example/2", &b),
        ("https://m.a.example/3", &c),
        ("https://b.example/", &c),
    ])
}

#[test]
fn a_notice_goes_and_a_repeated_heading_in_the_text_stays() {
    let lines = site();
    let bear = "A bear that lives in the woods and eats berries";
    let text = format!(
        "Latest\n{bear}\n\nExample\n{bear}\n{NOTICE}\n{bear}\n  SIGN up for our  daily bulletin and never miss a \
         story again. "
    );
    let cleaned = lines.clean(("https://a.example/4", "en"), "", &text);
    assert_eq!(cleaned.text, format!("{bear}\n\nExample\n{bear}\n{bear}"));
    assert_eq!(cleaned.removed, 3);
    // The other site has it once.
    assert_eq!(lines.clean(("https://b.example/4", "en"), "", &text), Cleaned { text, removed: 0 });
}

#[test]
fn code_that_the_translations_of_a_page_share_stays() {
    let code = "$ aptitude search ~i --display-format %p --disable-columns | sort | uniq";
    let mut builder = SiteLinesBuilder::default();
    for language in ["de", "en", "fr", "pl"] {
        let text = format!(
            "The page in {language} has this:\n{code}\nWhat comes behind it in {language}."
        );
        builder.add(&format!("https://a.example/{language}/"), language, &text).unwrap();
    }
    let lines = builder.build().unwrap();
    let own = "Another page, which shows the command and says much more about what it does.";
    let text = format!("{own}\n{code}\n{own}");
    assert_eq!(lines.clean(("https://a.example/de/", "de"), "", &text).removed, 0);
}

#[test]
fn a_title_stays_and_so_does_a_text_of_which_little_else_remains() {
    let lines = site();
    let kept = lines.clean(("https://a.example/4", "en"), "LATEST", "Latest\nA bear\nLatest");
    assert_eq!((kept.text.as_str(), kept.removed), ("Latest\nA bear\nLatest", 0));
    let mostly = format!("A bear\n{NOTICE}");
    assert_eq!(lines.clean(("https://a.example/4", "en"), "", &mostly).text, mostly);
}

#[test]
fn a_line_on_only_two_pages_is_not_site_boilerplate() {
    let lines = learnt(&[
        // Twice on one page counts once.
        ("http://a.example/1", &format!("{NOTICE}\n{NOTICE}")),
        ("http://a.example/2", NOTICE),
    ]);
    let text = format!("A bear is a large animal that eats almost everything\n{NOTICE}");
    assert_eq!(lines.clean(("http://a.example/3", "en"), "", &text).removed, 0);
}

#[test]
fn a_site_remembers_its_most_frequent_lines() {
    let many: String = (0..2 * MAX_LINES_PER_SITE).map(|i| format!("line {i}\n")).collect();
    let with_notice = format!("{many}{NOTICE}");
    let lines = learnt(&[
        ("http://a.example/1", &with_notice),
        ("http://a.example/2", &with_notice),
        ("http://a.example/3", &with_notice),
        ("http://a.example/4", NOTICE),
    ]);
    assert_eq!(lines.lines.len(), MAX_LINES_PER_SITE);
    assert!(
        lines.lines.contains(&(site_hash("http://a.example/", "en"), line_hash(NOTICE).unwrap()))
    );
}

proptest! {
    /// The order of pages changes nothing. The remaining lines are lines of the text, in order.
    #[test]
    fn order_changes_nothing(
        mut pages in prop::collection::vec(prop::collection::vec("[ab ]{0,3}", 0..8), 0..8),
        text in prop::collection::vec("[ab ]{0,3}", 0..12),
    ) {
        let learn = |pages: &[Vec<String>]| {
            let texts: Vec<String> = pages.iter().map(|lines| lines.join("\n")).collect();
            let pages: Vec<_> = texts.iter().map(|text| ("http://a.example/", text.as_str())).collect();
            learnt(&pages)
        };
        let text = text.join("\n");
        let once = learn(&pages).clean(("http://a.example/", "en"), "a", &text);
        pages.reverse();
        let again = learn(&pages).clean(("http://a.example/", "en"), "a", &text);
        prop_assert_eq!(&once, &again);
        let mut whole = text.split('\n');
        prop_assert!(once.text.split('\n').all(|line| whole.any(|own| own == line)));
    }
}

#[test]
fn ascii_lines_are_normalised_as_others_are() {
    let all: String = (0..128u8).map(char::from).collect();
    let lines = [
        "",
        " ",
        "a",
        "  A  b\tC ",
        "x\u{b}y\u{1f}z",
        "THE END.",
        "A  b",
        "A b ",
        " A b",
        "a\tB",
        "A\r",
    ];
    for line in lines.into_iter().chain([all.as_str(), &all.repeat(3)]) {
        assert_eq!(normal_ascii(line.as_bytes()), normal(line).into_bytes(), "{line:?}");
    }
    assert_eq!(line_hash(" The  End "), line_hash("the end"));
    assert_eq!(line_hash("\u{a0}\t"), None);
}
