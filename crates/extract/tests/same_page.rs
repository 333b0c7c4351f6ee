//! One article is one page, whatever its charset, line breaks and advertisements.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on ends")]

use encoding_rs::{BIG5, Encoding, GB18030, KOI8_R, SHIFT_JIS, UTF_8, WINDOWS_1251, WINDOWS_1252};
use hapax_extract::{ComparisonText, Document, Limits, Reason, extract};
use proptest::prelude::*;
use url::Url;

/// Words of a language, and the charsets in which pages use it.
struct Language {
    function: &'static [&'static str],
    content: &'static [&'static str],
    spaced: bool,
    end: &'static str,
    charsets: &'static [&'static Encoding],
}

static LANGUAGES: [Language; 5] = [
    Language {
        function: &["the", "of", "and", "to", "in", "that", "was", "with", "they", "from"],
        content: &[
            "river", "village", "hill", "water", "spring", "animals", "bridge", "café", "naïve",
            "winter",
        ],
        spaced: true,
        end: ". ",
        charsets: &[UTF_8, WINDOWS_1252],
    },
    Language {
        function: &["и", "в", "не", "на", "что", "он", "как", "это", "они", "из"],
        content: &[
            "река",
            "деревня",
            "холм",
            "вода",
            "весна",
            "мост",
            "зима",
            "дорога",
            "письмо",
            "город",
        ],
        spaced: true,
        end: ". ",
        charsets: &[UTF_8, WINDOWS_1251, KOI8_R],
    },
    Language {
        function: &["的", "了", "在", "是", "我们", "和", "就", "不", "都", "也"],
        content: &["河边", "老师", "村里", "火车", "冬天", "大桥", "市场", "学校", "电影", "秋天"],
        spaced: false,
        end: "。",
        charsets: &[UTF_8, GB18030],
    },
    Language {
        function: &["的", "了", "在", "是", "我們", "和", "就", "不", "都", "也"],
        content: &["河邊", "老師", "村裡", "火車", "冬天", "大橋", "市場", "學校", "電影", "秋天"],
        spaced: false,
        end: "。",
        charsets: &[UTF_8, BIG5],
    },
    Language {
        function: &["は", "が", "を", "に", "の", "で", "と", "も", "から", "です"],
        content: &[
            "東京",
            "コーヒー",
            "電車",
            "学校",
            "映画",
            "テレビ",
            "天気",
            "会社",
            "手紙",
            "夏休み",
        ],
        spaced: false,
        end: "。",
        charsets: &[UTF_8, SHIFT_JIS],
    },
];

fn next(seed: &mut u64) -> usize {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    (*seed >> 8) as usize
}

fn sentences(language: &Language, seed: &mut u64, count: usize) -> String {
    let mut text = String::new();
    let space = if language.spaced { " " } else { "" };
    for _ in 0..count {
        for word in 0..8 {
            if word > 0 {
                text += space;
            }
            text += language.function[next(seed) % language.function.len()];
            text += space;
            text += language.content[next(seed) % language.content.len()];
        }
        text += language.end;
    }
    text.trim().to_owned()
}

/// Breaks lines at spaces, or between any two ideographs.
fn wrapped(text: &str, spaced: bool, seed: &mut u64) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if c == ' ' && next(seed).is_multiple_of(5) {
            out.push_str("\r\n   ");
        } else {
            if !spaced && !out.is_empty() && next(seed).is_multiple_of(9) {
                out.push_str("\n  ");
            }
            out.push(c);
        }
    }
    out
}

const OFFERS: [&str; 4] = [
    "<a href=/buy>Buy now</a> <a href=/shoes>Shoes</a>",
    "<a href=/sale>Sale</a> <img src=ad.gif alt=offer> <a href=/x>More offers</a>",
    "",
    "<a href=/win>Win a trip</a> <a href=/join>Join today</a> <a href=/y>Cheap flights</a>",
];

/// Returns a page of one template with different advertisements for each seed.
fn page(charset: &str, title: &str, paragraphs: &[String], seed: &mut u64) -> String {
    let text: String = paragraphs.iter().map(|text| format!("<p>{text}</p>\n")).collect();
    let mut offer = || OFFERS[next(seed) % OFFERS.len()];
    let (top, side, end) = (offer(), offer(), offer());
    format!(
        "<!doctype html><html><head><meta charset={charset}><title>{title}</title></head><body>\
         <nav><a href=/>Home</a> <a href=/news>News</a> <a href=/mail>Contact</a></nav>\
         <div class=banner>{top}</div><div class=sidebar>{side}</div>\
         <article><h1>{title}</h1>\n{text}</article>\
         <div class='advertisement footer-ads'>{end}</div><footer><a href=/terms>Terms</a></footer></body></html>"
    )
}

fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |h: u64, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3))
}

fn read(bytes: &[u8]) -> (Document, ComparisonText) {
    let base = Url::parse("http://a.example/page").unwrap();
    let document = extract(&base, Some("text/html"), bytes, &Limits::default());
    let comparison_text = document.comparison_text(hash);
    (document, comparison_text)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn charset_wrapping_and_advertisements_change_no_fingerprint(
        seed in 1u64..u64::MAX,
        language in 0..LANGUAGES.len(),
        count in 2usize..9,
    ) {
        let language = &LANGUAGES[language];
        let mut seed = seed;
        let title = sentences(language, &mut seed, 1);
        let paragraphs: Vec<String> =
            (0..count).map(|_| { let length = 2 + next(&mut seed) % 4; sentences(language, &mut seed, length) }).collect();
        let plain = page("utf-8", &title, &paragraphs, &mut seed);
        let (document, comparison_text) = read(plain.as_bytes());
        prop_assert!(!comparison_text.thin && comparison_text.features.tokens > 20);
        for paragraph in &paragraphs {
            prop_assert!(document.text.contains(paragraph.as_str()), "{paragraph} in {}", document.text);
        }
        for charset in language.charsets {
            let wrapped: Vec<String> =
                paragraphs.iter().map(|text| wrapped(text, language.spaced, &mut seed)).collect();
            for paragraphs in [&paragraphs, &wrapped] {
                let other = page(charset.name(), &title, paragraphs, &mut seed);
                let (bytes, _, lossy) = charset.encode(&other);
                prop_assert!(!lossy);
                let (read, others) = read(&bytes);
                prop_assert_eq!(&others.features, &comparison_text.features, "{} {:?}\n{}", charset.name(), read.text, other);
            }
        }
    }

    #[test]
    fn nothing_is_kept_that_no_reader_sees(
        pieces in prop::collection::vec(("[a-zа-я天地ก-ฮé]{1,9}( [a-zé天]{1,5}){0,6}", 0usize..14), 1..60),
    ) {
        let tags = [
            "<p>", "<div>", "<ul><li>", "</div>", "<a href=x>", "</a>", "<b>", "<table><td>", "<h2>", "</p>",
            // Invisible content: a comment, an attribute, a script, a style.
            "<!-- unseen -->", "<i title='unseen unseen'>", "<script>unseen</script>", "<style>unseen{}</style>",
        ];
        let mut html = "<title>unseen</title>".to_owned();
        let mut shown = String::new();
        for (text, tag) in &pieces {
            html += &format!("{}{text} ", tags[*tag]);
            shown += &format!("{text} ");
        }
        let (document, _) = read(html.as_bytes());
        let kept = document.blocks.iter().filter(|block| block.reason == Reason::Text);
        let joined: Vec<&str> = kept.map(|block| block.text.as_str()).collect();
        prop_assert_eq!(joined.join("\n"), document.text.clone());
        let words: std::collections::HashSet<&str> = shown.split_whitespace().collect();
        for word in document.text.split_whitespace() {
            prop_assert!(words.contains(word), "{word} of {html}");
        }
        prop_assert!(!document.text.contains("unseen"));
    }
}

#[test]
fn a_page_of_a_script_without_spaces_has_a_text() {
    // Thai: only the ends of clauses have spaces.
    let clauses = [
        "เมื่อแม่น้ำเพิ่มสูงขึ้นในฤดูใบไม้ผลิชาวบ้านได้ย้ายสัตว์เลี้ยงของตนขึ้นไปบนเนินเขา",
        "พวกเขารออยู่ที่นั่นจนกระทั่งน้ำลดลงอีกครั้งเหมือนที่เคยทำทุกปี",
        "ไม่ใช่ครั้งแรกที่เรื่องนี้เกิดขึ้นและไม่มีใครคิดว่าจะเป็นครั้งสุดท้าย",
    ];
    let paragraph = format!("<p>{}</p>", clauses.join(" "));
    let html = format!(
        "<title>แม่น้ำ</title><nav><a href=/>หน้าแรก</a> <a href=/n>ข่าว</a></nav>\
         <div class=content>{}</div><footer><a href=/t>ข้อกำหนด</a></footer>",
        paragraph.repeat(4)
    );
    let (document, comparison_text) = read(html.as_bytes());
    assert_eq!(document.language, "th");
    assert!(clauses.iter().all(|clause| document.text.contains(clause)), "{}", document.text);
    assert!(!document.text.contains("ข้อกำหนด") && !document.text.contains("หน้าแรก"));
    assert!(!comparison_text.thin && comparison_text.features.tokens > 100);
}

#[test]
fn soft_hyphens_make_no_other_page() {
    let sentence = "That was when they of the village moved with the animals to the hill, and it was there that they had been.";
    let hyphenated: String = sentence
        .split(' ')
        .map(|word| match word.split_at_checked(2) {
            Some((start, rest)) if !rest.is_empty() => format!("{start}\u{AD}{rest} "),
            _ => format!("{word} "),
        })
        .collect();
    let of = |sentence: &str| {
        let text = format!("<p>{sentence}</p>").repeat(3);
        read(format!("<title>The hill</title><nav><a href=/>Home</a></nav>{text}<p><a href=/>More</a></p>").as_bytes())
    };
    let ((document, plain), (_, other)) = (of(sentence), of(hyphenated.trim()));
    assert!(document.text.contains(sentence));
    assert_eq!(plain.features, other.features);
}

#[test]
fn a_page_that_takes_too_long_to_parse_is_truncated_and_reported() {
    let base = Url::parse("http://a.example/").unwrap();
    let mut limits = Limits::default();
    limits.parse.max_time = std::time::Duration::ZERO;
    let page = "<p>one of the many paragraphs of this page</p>".repeat(20_000);
    let document = extract(&base, None, page.as_bytes(), &limits);
    assert_eq!(document.truncated.map(|cut| cut.as_str()), Some("cut short: it took too long"));
    assert!(document.blocks.len() < 20_000);
}

#[test]
fn all_links_of_a_page_together_are_limited() {
    let base = Url::parse("http://a.example/").unwrap();
    let limits = Limits { max_links_bytes: 10_000, ..Limits::default() };
    let path = "a".repeat(900);
    let many: String = (0..50).map(|n| format!("<a href={n}>x</a><img src={n}>")).collect();
    let page = format!("<base href='/{path}/'>{many}<link rel=canonical href='/{0}{0}{0}'>", path);
    for document in [
        extract(&base, None, page.as_bytes(), &limits),
        hapax_extract::links(&base, None, page.as_bytes(), &limits),
    ] {
        assert_eq!((document.links.len(), document.links_left_out), (10, 40));
        assert!(document.images.len() <= 10);
        assert_eq!(document.canonical, None, "over 2,048 bytes");
    }
    let refresh = format!("<meta http-equiv=refresh content='0; url=/{0}{0}{0}'>", path);
    assert_eq!(extract(&base, None, refresh.as_bytes(), &limits).refresh, None);
}
