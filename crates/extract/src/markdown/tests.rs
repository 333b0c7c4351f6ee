use std::collections::BTreeSet;

use proptest::prelude::*;
use pulldown_cmark::{Options, Parser, html};

use super::*;
use crate::limits::Limits;
use crate::read::{extract_plain, extract_structured};

#[path = "../../examples/commonmark/canon.rs"]
mod canon;

use canon::canon;

/// Pages with known structure: `=== name`, HTML, `---`, Markdown.
const PAGES: &str = include_str!("pages.txt");

fn structured(html: &str) -> Structured {
    let base = Url::parse("http://a.example/dir/page?q=1").unwrap();
    extract_structured(&base, None, html.as_bytes(), &Limits::default())
}

/// All blocks of a page.
fn whole(html: &str) -> String {
    within(html, &MarkdownLimits::default()).text
}

fn within(html: &str, limits: &MarkdownLimits) -> MarkdownText {
    let page = format!("<html lang=en><body>{html}</body></html>");
    structured(&page).markdown(|_, _| true, limits)
}

fn rendered(markdown: &str) -> String {
    let mut out = String::new();
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_FOOTNOTES;
    html::push_html(&mut out, Parser::new_ext(markdown, options));
    out
}

#[test]
fn pages_with_known_structure_are_written_as_expected() {
    let mut pages = 0;
    for page in PAGES.split("=== ").skip(1) {
        let (name, page) = page.split_once('\n').unwrap();
        let (html, markdown) = page.split_once("\n---\n").unwrap();
        assert_eq!(whole(html).trim_end(), markdown.trim_end(), "{name}\n{}", whole(html));
        pages += 1;
    }
    assert!(pages >= 40, "{pages} pages");
}

#[test]
fn only_kept_blocks_are_written_with_the_images_between_them() {
    let page = "<body><ul><li>menu <a href=/m>one</a><li>menu two</ul><img src=/a.png><p>first kept</p><img src=/b.png alt=b><p>second \
                <img src=/c.png> kept</p><img src=/d.png><hr><p>dropped <img src=/e.png> text</p><ol><li>menu three<li>third kept</ol>";
    let text = structured(page)
        .markdown(|_, block| block.text.contains("kept"), &MarkdownLimits::default());
    assert_eq!(
        text.text,
        "first kept\n\n![b](http://a.example/b.png)\n\nsecond ![](http://a.example/c.png) kept\n\n2. third kept\n"
    );
    assert!(!text.cut);
}

#[test]
fn the_heading_of_the_page_is_added_if_no_block_has_it() {
    let sentence = "The lamp that was lit in the evening is the one that is seen from the harbour when it is dark.";
    let page = format!(
        "<title>Lamps</title><header><h1>All the lamps</h1></header><p>{}</p>",
        [sentence; 6].join(" ")
    );
    let page = structured(&page);
    let kept = page.comparison_markdown(false, &MarkdownLimits::default()).text;
    assert!(kept.starts_with("# All the lamps\n\nThe lamp"), "{kept}");
    assert_eq!(kept.matches("All the lamps").count(), 1);
}

#[test]
fn lines_of_plain_text_stay_lines() {
    let document = extract_plain(None, b"# one\n- two\n\nthree", &Limits::default());
    let text = Structured::plain(document).markdown(|_, _| true, &MarkdownLimits::default()).text;
    assert_eq!(text, "\\# one\\\n\\- two\n\nthree\n");
}

#[test]
fn the_same_page_has_the_same_markdown_each_time() {
    for page in PAGES.split("=== ").skip(1) {
        assert_eq!(whole(page), whole(page));
    }
}

#[test]
fn depth_and_tables_and_links_and_length_have_limits() {
    let limits = MarkdownLimits {
        max_bytes: 4_000,
        max_url_bytes: 40,
        max_links_bytes: 45,
        max_depth: 3,
        max_columns: 4,
        max_cells: 12,
    };
    let deep = format!("{}<p>deep text</p>", "<blockquote>".repeat(200));
    assert_eq!(within(&deep, &limits).text, "> > > deep text\n");
    let lists = within(&format!("{}item", "<ul><li>".repeat(200)), &limits).text;
    assert!(lists.contains("item") && lists.len() < 400, "{lists}");

    let row = |cells: usize| format!("<tr>{}", "<td>x".repeat(cells));
    let wide = within(&format!("<table>{}{}</table>", row(9), row(9)), &limits).text;
    assert!(wide.lines().all(|line| line.matches(" |").count() <= 4), "{wide}");
    assert_eq!(wide.matches('x').count(), 18, "{wide}");
    let long = within(&format!("<table>{}</table>", row(4).repeat(4)), &limits).text;
    assert!(!long.contains('|') && long.matches('x').count() == 16, "{long}");
    let spans = within(
        "<table><tr><td colspan=4000000000 rowspan=4000000000>a<td>b<tr><td>c<td>d</table>",
        &limits,
    )
    .text;
    assert!(
        ["a", "b", "c", "d"].iter().all(|cell| spans.contains(cell)) && spans.len() < 200,
        "{spans}"
    );

    let links = within(
        &format!(
            "<p><a href=/{}>long</a> <a href=/1>one</a> <a href=/2>two</a> <a href=/3>three</a>",
            "x".repeat(40)
        ),
        &limits,
    );
    assert_eq!(links.text, "long [one](http://a.example/1) [two](http://a.example/2) three\n");

    for page in [
        "<p>some words</p>".repeat(1000),
        format!("<pre>{}</pre>", "code\n".repeat(2000)),
        format!("<ul>{}</ul>", "<li>x".repeat(3000)),
    ] {
        let text = within(&page, &limits);
        assert!(
            text.cut && text.text.len() <= limits.max_bytes + 8 && text.text.len() > 3_000,
            "{}",
            text.text.len()
        );
        assert_eq!(text.text.matches("```").count() % 2, 0, "code is closed");
    }
    // One link around very many blocks.
    let many = format!("<a href=/{}>{}", "y".repeat(2000), "<p>x</p>".repeat(20_000));
    let text = within(&many, &MarkdownLimits::default());
    assert!(text.cut && text.text.len() <= 16 << 20, "{}", text.text.len());
}

#[test]
fn hostile_trees_end_in_time() {
    let started = std::time::Instant::now();
    let nested = format!("{}x", "<table><tr><td>x<td>".repeat(400));
    let notes: String =
        (0..3000).map(|i| format!("<p>x<sup><a href=#n{i}>{i}</a></sup><p id=n{i}>note")).collect();
    let marks = format!("<p>{}text", "<b><i><s><sup>".repeat(100));
    let stars = format!("<p>{}", "<b>*</b><i>_</i>".repeat(20_000));
    let wide: String =
        (0..2000).map(|i| format!("<tr>{}", "<td rowspan=9>x".repeat(i % 7))).collect();
    for page in [nested, notes, marks, stars, format!("<table>{wide}</table>")] {
        let text = whole(&page);
        assert!(!text.is_empty());
    }
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

#[test]
fn markup_in_text_is_shown_and_not_read() {
    for text in [
        "# no heading",
        "- no item",
        "1. no item",
        "> no quote",
        "*no* _marks_ **here**",
        "`no` code",
        "[no](link)",
        "![no](image)",
        "<b>no tag</b>",
        "&amp; no entity &#60;",
        "| no | table |",
        "---",
        "===",
        "~~~",
        "~~no~~",
        "```",
        "    no code",
        "[^1]: no note",
        "[no]: reference",
        "a\\*b",
        "http://a.example/x_y_z",
        "snake_case and __init__",
        "2 * 3 * 4 and 5*6*7",
        "C# and F#",
        "+1",
        "#",
        "“*”",
        "\\",
        "a  b",
        "<!-- no -->",
        "!",
        "{{ x }}",
        "a | b",
        ":-- | --:",
        "1986. A year",
        "_",
        "* * *",
        "~",
        "x^2^ and H~2~O",
    ] {
        let escaped = text.replace('&', "&amp;").replace('<', "&lt;");
        for page in [
            format!("<p>{escaped}</p>"),
            format!("<p>before<br>{escaped}<br>after</p>"),
            format!("<ul><li>{escaped}</li><li>x</li></ul>"),
            format!("<h2>{escaped}</h2>"),
            format!("<table><tr><th>{escaped}<th>b<tr><td>c<td>{escaped}</table>"),
            format!("<p><b>{escaped}</b> x</p>"),
            format!("<p>x <a href='http://a.example/'>{escaped}</a>{escaped}</p>"),
            format!("<blockquote><p>{escaped}</p></blockquote>"),
        ] {
            let markdown = whole(&page);
            let (one, other) = (plain(&page), plain(&rendered(&markdown)));
            assert_eq!(one, other, "{page}\n{markdown}");
        }
    }
}

/// The words of a page and its blocks, without marks.
fn plain(html: &str) -> String {
    let mut text = canon(html);
    for tag in ["<b>", "</b>", "<i>", "</i>"] {
        text = text.replace(tag, "");
    }
    text
}

/// Inline HTML of words and signs.
fn inline_html() -> impl Strategy<Value = String> {
    let word = "[a-zé北京.,:!*_`#&\\[\\]|“”()0-9-]{1,6}";
    let leaf = prop_oneof![
        6 => word.prop_map(|word| word.replace('&', "&amp;")),
        3 => Just(" ".to_owned()),
        1 => Just("<br>".to_owned()),
        1 => "[a-z`|* ]{1,5}".prop_map(|code| format!("<code>{code}</code>")),
        1 => Just("<img src='/i.png' alt='a]b'>".to_owned()),
    ];
    leaf.prop_recursive(4, 16, 5, |inner| marked(inner, ""))
}

/// Parts in a mark, with a text between them.
fn marked(inner: BoxedStrategy<String>, between: &'static str) -> impl Strategy<Value = String> {
    let tags = vec!["b", "i", "a href='/x_(y)'", "sup", "em", "strong", "del", "s", "sub"];
    (prop::sample::select(tags), prop::collection::vec(inner, 1..5)).prop_map(
        move |(tag, parts)| {
            format!("<{tag}>{}</{}>", parts.join(between), tag.split(' ').next().unwrap())
        },
    )
}

/// Inline HTML of words between spaces, in nested marks: Markdown can express all of it.
fn words_html() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        6 => "[a-zé北京]{1,5}( [a-z]{1,5}){0,2}",
        1 => "[a-z]{1,5}".prop_map(|code| format!("<code>{code}</code>")),
        1 => "[a-z]{1,5}".prop_map(|word| format!("{word}<br>{word}")),
    ];
    let part = leaf.prop_recursive(4, 16, 4, |inner| marked(inner, " "));
    part.prop_map(|part| format!(" {part}"))
}

/// Blocks of HTML, with runs of text by `text`.
fn block_html<S: Strategy<Value = String> + 'static>(
    text: fn() -> S,
) -> impl Strategy<Value = String> {
    let run = move || {
        prop::collection::vec(text(), 1..6).prop_map(|parts| format!("w{}", parts.concat()))
    };
    let leaf = prop_oneof![
        4 => run().prop_map(|run| format!("<p>{run}</p>")),
        1 => (1..7, run()).prop_map(|(level, run)| format!("<h{level}>{}</h{level}>", run.replace("<br>", " "))),
        // Code without a character is not written.
        1 => "[a-z#` \n>*-]{0,15}[a-z#`>*-][a-z#` \n>*-]{0,15}".prop_map(|code| format!("<pre><code>{code}</code></pre>")),
        1 => (run(), run(), run(), run()).prop_map(|(a, b, c, d)| {
            format!("<table><tr><th>n{a}</th><th>m{b}</th></tr><tr><td>k{c}</td><td>l{d}</td></tr></table>")
        }),
        1 => Just("<p>x</p><hr><p>y</p>".to_owned()),
    ];
    leaf.prop_recursive(4, 16, 3, |inner| {
        let many = prop::collection::vec(inner, 1..4);
        prop_oneof![
            many.clone().prop_map(|blocks| format!("<blockquote>{}</blockquote>", blocks.concat())),
            (0..3u32, many.clone()).prop_map(|(start, items)| {
                let items: String = items.iter().map(|item| format!("<li>{item}</li>")).collect();
                format!("<ol start={start}>{items}</ol>")
            }),
            many.prop_map(|items| {
                let items: String = items.iter().map(|item| format!("<li>{item}</li>")).collect();
                format!("<ul>{items}</ul>")
            }),
        ]
    })
}

/// Text without white space and marks: no mark may add or remove a character.
fn letters(html: &str) -> String {
    let page = scraper::Html::parse_document(html);
    page.root_element().text().flat_map(str::chars).filter(|c| !c.is_whitespace()).collect()
}

#[test]
fn signs_before_a_link_or_a_line_break_stay_signs() {
    for page in [
        "<ul><li><h1>w<em>!</em><a href='/x_(y)'>0</a></h1></li></ul>",
        "<p>w:<b>北 *</b><b><br><code>`</code></b></p>",
    ] {
        let markdown = whole(page);
        assert_eq!(letters(page), letters(&rendered(&markdown)), "{markdown}");
    }
}

/// Each character that is no space, with the marks around it.
fn marked_letters(html: &str) -> Vec<(char, BTreeSet<String>)> {
    let page = scraper::Html::parse_document(html);
    let mut letters = Vec::new();
    for node in page.tree.nodes() {
        let Some(text) = node.value().as_text() else { continue };
        let around = node.ancestors().filter_map(|node| node.value().as_element());
        let marks: BTreeSet<String> = around
            .filter_map(|element| match element.name() {
                "strong" | "b" => Some("b".to_owned()),
                "em" | "i" => Some("i".to_owned()),
                "del" | "s" => Some("s".to_owned()),
                name @ ("sup" | "sub" | "code") => Some(name.to_owned()),
                "a" => Some(element.attr("href").unwrap().replace("http://a.example", "")),
                _ => None,
            })
            .collect();
        letters.extend(text.chars().filter(|c| !c.is_whitespace()).map(|c| (c, marks.clone())));
    }
    letters
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 200 } else { 2_000 }))]

    #[test]
    fn the_blocks_and_texts_of_any_page_are_read_back(blocks in prop::collection::vec(block_html(inline_html), 1..5)) {
        let page = blocks.concat();
        let markdown = whole(&page);
        let again = rendered(&markdown);
        prop_assert_eq!(letters(&page), letters(&again), "{}\n{}", page, markdown);
        // A mark between signs may be dropped. None is added.
        for ((letter, marks), (_, read)) in marked_letters(&page).iter().zip(marked_letters(&again)) {
            prop_assert!(read.is_subset(marks), "{letter}: {read:?} of {marks:?}\n{page}\n{markdown}");
        }
        let structure = |html: &str| -> Vec<String> {
            let lines = canon(html);
            let is_block = |line: &&str| {
                ["<h", "</h", "<ul", "</ul", "<ol", "</ol", "<li", "</li", "<blockquote", "</blockquote", "<pre", "<table", "<tr"]
                    .iter()
                    .any(|tag| line.starts_with(tag))
            };
            // The numbers of lists are tested with own pages: an item without text is dropped, and the next one keeps its
            // number.
            let numbered = |line: &str| if line.starts_with("<ol") { "<ol".to_owned() } else { line.to_owned() };
            lines.lines().filter(is_block).map(numbered).collect()
        };
        prop_assert_eq!(structure(&page), structure(&again), "{}\n{}", page, markdown);
    }

    #[test]
    fn nested_marks_lists_and_quotes_of_words_are_read_back(blocks in prop::collection::vec(block_html(words_html), 1..5)) {
        let page = blocks.concat();
        let markdown = whole(&page);
        prop_assert_eq!(canon(&page), canon(&rendered(&markdown)), "{}\n{}", page, markdown);
    }

    #[test]
    fn no_bytes_break_the_limits(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let base = Url::parse("http://a.example/").unwrap();
        let limits = MarkdownLimits { max_bytes: 300, ..MarkdownLimits::default() };
        let text = extract_structured(&base, None, &bytes, &Limits::default()).markdown(|_, _| true, &limits);
        prop_assert!(text.text.len() <= 400);
    }
}
