use super::*;
use crate::document::MIN_CONTENT_WORDS;
use crate::title::MAX_HEADING;
use proptest::prelude::*;

const ARTICLE: &str = "<p>When the river rose in the spring, the people of the village moved their animals to the \
    hill and waited there until the water had gone down again.</p><p>It was not the first time that this had \
    happened, and nobody who lived there thought that it would be the last; but it was the highest that any of \
    them had ever seen.</p>";

fn read(html: &str) -> Document {
    let base = Url::parse("http://a.example/dir/page.html").unwrap();
    extract(&base, None, html.as_bytes(), &Limits::default())
}

fn reason_of(document: &Document, text: &str) -> Reason {
    document.blocks.iter().find(|b| b.text.contains(text)).map(|b| b.reason).unwrap()
}

#[test]
fn the_article_is_kept_and_what_surrounds_it_dropped() {
    let page = format!(
        "<html><title> The  river </title><body>\
         <nav><a href=/>Home</a> <a href=/news>News</a></nav>\
         <div class=sidebar><p>Best offers today: buy shoes, buy hats, buy more</p></div>\
         <div id=content><h1>The river rose</h1>{ARTICLE}\
         <ul><li><a href=/1>Read also: floods of the last century</a></li></ul></div>\
         <div class='share-buttons'>Share on all networks</div>\
         <footer>Copyright, all rights reserved by the owner of the site</footer></body>"
    );
    let document = read(&page);
    assert_eq!(document.title, "The river");
    assert_eq!(document.language, "en");
    assert!(document.text.starts_with("The river rose\nWhen the river"), "{}", document.text);
    assert!(document.text.ends_with("had ever seen."), "{}", document.text);
    assert_eq!(reason_of(&document, "Best offers"), Reason::Name);
    assert_eq!(document.links.len(), 3, "links of the navigation count");
}

#[test]
fn other_advertisements_and_templates_change_no_text() {
    let one =
        read(&format!("<body><div class=ad>Buy now</div><div><h1>R</h1>{ARTICLE}</div></body>"));
    let two = read(&format!(
        "<body><table><tr><td><a href=x>Menu</a></td><td>{}</td><td>Cheap flights! Win!</td></tr></table></body>",
        ARTICLE.replace("<p>", "<p class=x>\n  ")
    ));
    let body = |d: &Document| d.text.split_once('\n').map(|(_, rest)| rest.to_owned());
    assert!(two.text.ends_with(&body(&one).unwrap()), "{}\n--\n{}", one.text, two.text);
}

#[test]
fn chinese_articles_are_found_by_function_characters() {
    let page = "<body><div><a href=1>首页</a><a href=2>新闻</a><a href=3>体育</a></div><div><p>昨天晚上我和朋友一起去看了一场\
        电影，电影的名字我已经不记得了，但是里面的故事让我们都很感动。</p><p>看完以后我们在外面走了很久，谈到了各自的生活和将来\
        的打算，觉得时间过得真快。</p></div><div>版权所有 京ICP备</div></body>";
    let document = read(page);
    assert_eq!(document.language, "zh");
    assert!(
        document.text.starts_with("昨天晚上") && document.text.ends_with("真快。"),
        "{}",
        document.text
    );
}

#[test]
fn declarations_are_read() {
    let document = read(
        "<html lang=de><base href='/other/'><link rel=canonical href=page>\
         <meta name=ROBOTS content='NoIndex, follow'><meta http-equiv=Refresh content='0;URL=\"next.html\"'>\
         <a href=x rel='nofollow ugc'>x</a><a href='mailto:a@b'>m</a><a href='#f'>f</a>",
    );
    assert_eq!(document.canonical.unwrap().as_str(), "http://a.example/other/page");
    assert_eq!(document.robots, RobotsMeta { noindex: true, nofollow: false });
    assert_eq!(document.refresh.unwrap().as_str(), "http://a.example/other/next.html");
    let hrefs: Vec<(&str, bool)> =
        document.links.iter().map(|l| (l.url.as_str(), l.nofollow)).collect();
    let expected = [
        ("http://a.example/other/x", true),
        ("mailto:a@b", false),
        // A fragment leads to another page if there is a base.
        ("http://a.example/other/#f", false),
    ];
    assert_eq!(hrefs, expected);
    let links = |head: &str| read(&format!("{head}<a href='#f'>f</a><a href=x>x</a>")).links;
    for base in ["", "<base href='data:text/html,x'>", "<base href='javascript:x'>"] {
        let last = links(base).pop().unwrap();
        assert_eq!(last.url.as_str(), "http://a.example/dir/x", "{base}");
    }
    assert_eq!(links("").len(), 1);
}

#[test]
fn an_empty_link_leads_to_the_base_of_its_page() {
    let base = Url::parse("http://a.example/dir/page.html").unwrap();
    for (html, expected) in [
        ("<base href='/d/'><a href=''>x</a><a>y</a>", &["http://a.example/d/"][..]),
        ("<base href='/d/'><map><area href=' '></map>", &["http://a.example/d/"]),
        ("<base href='/d/'><iframe src=' '></iframe><link rel=next href=''>", &[]),
        ("<a href=''>x</a>", &[]),
    ] {
        for document in [
            crate::extract(&base, None, html.as_bytes(), &Limits::default()),
            crate::links(&base, None, html.as_bytes(), &Limits::default()),
        ] {
            let links: Vec<&str> = document.links.iter().map(|link| link.url.as_str()).collect();
            assert_eq!(links, expected, "{html}");
        }
    }
}

#[test]
fn a_query_is_encoded_in_the_charset_of_its_page_and_a_path_is_not() {
    let base = Url::parse("http://a.example/").unwrap();
    let html = "<link rel=canonical href='/?q=中'><meta http-equiv=refresh content='0;url=/中?q=中'>\
        <a href='/标签?q=中文&x=é#中'>x</a>";
    for (charset, query, canonical) in [
        ("utf-8", "q=%E4%B8%AD%E6%96%87&x=%C3%A9", "q=%E4%B8%AD"),
        // A character missing in the charset becomes a character reference.
        ("gbk", "q=%D6%D0%CE%C4&x=%A8%A6", "q=%D6%D0"),
        ("big5", "q=%A4%A4%A4%E5&x=%26%23233%3B", "q=%A4%A4"),
    ] {
        let encoding = encoding_rs::Encoding::for_label(charset.as_bytes()).unwrap();
        let body = encoding.encode(html).0.into_owned();
        let kind = format!("text/html; charset={charset}");
        for document in [
            crate::extract(&base, Some(&kind), &body, &Limits::default()),
            crate::links(&base, Some(&kind), &body, &Limits::default()),
        ] {
            let [link] = &document.links[..] else { panic!("{:?}", document.links) };
            let url = &link.url;
            assert_eq!(url.path(), "/%E6%A0%87%E7%AD%BE", "{charset}");
            assert_eq!(url.query(), Some(query), "{charset}");
            assert_eq!(document.canonical.unwrap().query(), Some(canonical), "{charset}");
            let refresh = document.refresh.unwrap();
            assert_eq!((refresh.path(), refresh.query()), ("/%E4%B8%AD", Some(canonical)));
        }
    }
}

#[test]
fn a_page_with_little_text_says_so_and_is_compared_as_a_whole() {
    let document = read(
        "<title>Item 7</title><nav>Home News Sport</nav><p>Price: 7 coins</p><div><a href=x>Buy</a></div>",
    );
    let hash = |bytes: &[u8]| {
        bytes.iter().fold(7u64, |h, b| h.wrapping_mul(31).wrapping_add(u64::from(*b)))
    };
    let comparison_text = document.comparison_text(hash);
    assert!(
        comparison_text.thin
            && comparison_text.text.contains("Item 7")
            && !comparison_text.features.shingles.is_empty()
    );
    assert!(
        comparison_text.features.tokens < MIN_CONTENT_WORDS
            && comparison_text.features.digest.is_some()
    );
    let nameless = read("<nav>Home News Sport</nav><p>Price: 7 coins</p>").comparison_text(hash);
    assert!(nameless.thin && nameless.features.shingles.is_empty());
}

#[test]
fn an_empty_page_has_no_text() {
    let document = read("");
    assert!(document.text.is_empty() && document.blocks.is_empty());
}

proptest! {
    #[test]
    fn text_is_always_from_the_page(words in prop::collection::vec("[a-z]{1,8}", 1..60), tags in prop::collection::vec("p|div|ul|li|a href=x|b|table|td|h2|/div|/p", 1..60)) {
        let mut page = String::new();
        for (word, tag) in words.iter().zip(tags.iter().cycle()) {
            page += &format!("<{tag}>{word} ");
        }
        let document = read(&page);
        for word in document.text.split_whitespace() {
            prop_assert!(words.iter().any(|w| w == word), "{word} is not in the page");
        }
    }

    #[test]
    fn no_bytes_make_it_panic(body in prop::collection::vec(any::<u8>(), 0..3000)) {
        let base = Url::parse("http://a.example/").unwrap();
        let _ = extract(&base, None, &body, &Limits::default());
    }
}

/// Returns the processor time of this thread, on systems that report it.
fn used() -> Option<std::time::Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(std::time::Duration::from_nanos(text.split(' ').next()?.parse().ok()?))
}

/// Worst-case pages of 10 MiB, each on a stack of 2 MiB. The limit is 2 s on an idle machine; the test allows 3 s of
/// processor time, and more wall-clock time.
#[test]
fn large_pages_of_any_shape_are_read_in_time() {
    const SIZE: usize = 10 << 20;
    let fill = |piece: &str| piece.repeat(SIZE / piece.len());
    let mut shapes = vec![
        ("deep, then many", "<div class='nav article'>".repeat(480) + &fill("<p>a b")),
        ("one paragraph", format!("<p>{}", fill("the word of it "))),
        ("one word", format!("<p>{}", fill("x"))),
        ("chinese", format!("<p>{}", fill("我们在公园里散步，"))),
        ("links", fill("<a href=/x>y</a> ")),
        ("articles", fill("<article><p>the text that it was in the end of it all</p></article>")),
        ("classes", fill("<div class='comment-share navBar related_post'>x</div>")),
        ("equal headings", fill("<h1>the same</h1>")),
        ("types", format!("<script type=application/ld+json>{}", fill("\"@type\":\"x\","))),
        ("unclosed", fill("<table><tr><td>")),
        ("attributes", fill("<p a=1 b=2 style='display : none' hidden>x")),
    ];
    let headings = fill("<h2>one of them</h2>");
    shapes.push(("headings", format!("<title>another</title><h1>first</h1>{headings}")));
    shapes.push(("scripts", fill("<script><!--x--></script>")));
    shapes.push(("styles", fill("<style></style>")));
    shapes.push(("tags in a script", format!("<script>{}", fill("</scripts><! "))));
    shapes.push(("numbers", format!("<p>{}", fill("1,2.3 4:5 "))));
    let title: String = (0..800_000).map(|i| format!("{i} ")).collect();
    shapes
        .push(("title", format!("<title>{title}</title>{}", fill("<p>a b c d e f g h i j k l m"))));
    shapes.push(("heading", format!("<h1>{}", fill("one of the words "))));
    shapes.push(("katakana", format!("<p>{}", fill("ア"))));
    shapes.push(("mixed kana", format!("<p>{}", fill("アのイ"))));
    shapes.push(("wrapped", format!("<p>{}", fill("天\n 地\n"))));
    shapes.push(("traditional", format!("<p>{}", fill("電影學校"))));
    shapes.push(("one attribute", format!("<p class='{}'>x", fill("a b "))));
    shapes.push(("one value", format!("<p title='{}'>x", fill("x"))));
    shapes.push(("base", format!("<base href='/{}'>{}", "a/".repeat(1 << 20), fill("<a href=x>"))));
    let worker = std::thread::Builder::new().stack_size(2 << 20).spawn(move || {
        for (name, page) in shapes {
            let (started, before) = (std::time::Instant::now(), used());
            let document = read(&page);
            let extracted = started.elapsed();
            let comparison_text = document.comparison_text(|bytes| bytes.len() as u64);
            let whole = started.elapsed();
            println!(
                "{name}: {extracted:.1?}, with features {whole:.1?}, {} blocks, {} tokens",
                document.blocks.len(),
                comparison_text.features.tokens
            );
            let cpu = before.zip(used()).map(|(before, after)| after - before);
            println!("    of a processor {cpu:.1?}");
            let limit = std::time::Duration::from_secs(if cfg!(debug_assertions) { 60 } else { 3 });
            // Other tests run beside it: the time on the clock counts only where that of the processor is not known.
            assert!(cpu.unwrap_or(whole) < limit, "{name}: {cpu:?}, {whole:?}");
        }
    });
    worker.unwrap().join().unwrap();
}

#[test]
fn noscript_and_hidden_text_count_only_if_nothing_else_is_shown() {
    let filled = read(&format!(
        "<title>T</title><div id=app></div><noscript><div>{ARTICLE}</div></noscript>"
    ));
    assert!(filled.text.contains("When the river rose"), "{:?}", filled.blocks);
    let hidden = format!("<div style='Display : NONE'>{ARTICLE}</div>");
    let both =
        read(&format!("<title>T</title><main>{}</main>{hidden}", ARTICLE.replace("river", "lake")));
    assert!(both.text.contains("lake") && !both.text.contains("river"), "{}", both.text);
    assert_eq!(reason_of(&both, "When the river"), Reason::Hidden);
    let refresh = "<noscript><meta http-equiv=refresh content='0;url=/plain'></noscript>";
    assert_eq!(read(&format!("<head>{refresh}</head>{ARTICLE}")).refresh, None);
}

#[test]
fn the_main_heading_is_the_pages_own() {
    let page = |title: &str, first: &str| {
        read(&format!(
            "<title>{title}</title>{first}<div id=content><h1>The river</h1>{ARTICLE}</div>"
        ))
        .heading
    };
    assert_eq!(
        page("The river - The Book", "<div class=menu-bar><h1>The Book</h1></div>"),
        "The river"
    );
    assert_eq!(page("The river - The Book", "<h1>The Book</h1>"), "The river");
    assert_eq!(page("The river", "<nav><h1>Contents</h1></nav>"), "The river");
    // Comments may have headings of a higher level.
    assert_eq!(page("The river", "<h1>Before</h1>"), "The river");
    assert_eq!(page("Before", "<h1>Before</h1>"), "Before");
    assert_eq!(page("Something else", "<h1>Before</h1>"), "Before");
    let lower = read(&format!(
        "<title>The river - The Book</title><h1>The Book</h1><h2>Other</h2><h3>The River</h3>{ARTICLE}"
    ));
    assert_eq!(lower.heading, "The River");
    // The host's name is the site's name.
    let at = |host: &str| {
        let url = Url::parse(&format!("http://{host}/river")).unwrap();
        let page = format!("<h1>The Quiet Paper</h1><h2>A river</h2>{ARTICLE}");
        extract(&url, Some("text/html"), page.as_bytes(), &Limits::default()).heading
    };
    for (host, heading) in [
        ("www.the-quiet-paper.example", "A river"),
        ("thequietpaper.example", "A river"),
        ("quietpaper.example", "The Quiet Paper"),
        ("x.thequietpaper", "The Quiet Paper"),
        ("127.0.0.1", "The Quiet Paper"),
    ] {
        assert_eq!(at(host), heading, "{host}");
    }
}

#[test]
fn a_heading_that_says_nothing_of_the_title_is_not_compared() {
    let comparison_text = |title: &str, heading: &str| {
        let page = format!("<title>{title}</title><h1>{heading}</h1><div>{ARTICLE}</div>");
        let document = read(&page);
        assert!(!document.text.contains(heading), "it is to stand outside of the text");
        document.comparison_text(|bytes| bytes.len() as u64).text
    };
    let begins = |title: &str, heading: &str, first: &str| {
        let text = comparison_text(title, heading);
        assert!(text.starts_with(&format!("{first}\n")), "{text}");
    };
    let foreign = "Discussion";
    begins("How the river rose again - Paper", foreign, "How the river rose again");
    begins("Discussion of how the river rose", foreign, foreign);
    begins("Paper", foreign, foreign);
    // A site may have a long name in front of the page's.
    begins("The Quiet Valley Weekly - Discussion", foreign, foreign);
}

#[test]
fn a_long_base_is_not_in_every_link() {
    let long = "a/".repeat(1 << 20);
    let many = "<a href=x>y</a> <img src=i alt=z>".repeat(10_000);
    let document = read(&format!("<base href='/{long}'>{many}<a href='/{long}'>z</a><p>{ARTICLE}"));
    assert_eq!(document.links.first().unwrap().url.as_str(), "http://a.example/dir/x");
    assert_eq!(document.images.first().unwrap().url.as_str(), "http://a.example/dir/i");
    let limit = Limits::default().max_url_bytes;
    assert!(document.links.iter().all(|link| link.url.as_str().len() <= limit));
    // 10,000 links are kept; one more is counted.
    assert_eq!((document.links.len(), document.links_left_out), (10_000, 1));
    // Each link is short, but not all of them together.
    let half = "a".repeat(limit / 2 + 50);
    let page = format!("<base href='/{half}/'><a href=x></a><a href='{half}'></a><img src={half}>");
    for document in [read(&page), {
        let base = Url::parse("http://a.example/").unwrap();
        links(&base, None, page.as_bytes(), &Limits::default())
    }] {
        let links: Vec<&str> = document.links.iter().map(|link| link.url.as_str()).collect();
        assert_eq!(links, [format!("http://a.example/{half}/x")]);
        assert_eq!(document.links_left_out, 1);
        assert!(document.images.is_empty());
    }
}

#[test]
fn long_headings_and_titles_are_cut() {
    let long = "äö ".repeat(1 << 20);
    let document = read(&format!("<title>{long}</title><h1>{long}</h1>{ARTICLE}"));
    assert!(document.heading.len() <= MAX_HEADING && document.title.len() <= 1024);
    let whole: usize = document.blocks.iter().map(|block| block.text.len()).sum();
    let comparison_text = document.comparison_text(|bytes| bytes.len() as u64);
    assert!(comparison_text.text.len() < whole + MAX_HEADING + 9, "{}", comparison_text.text.len());
    let real = "A long heading of a real page ".repeat(60);
    assert_eq!(read(&format!("<h1>{real}</h1>{ARTICLE}")).heading, real.trim());
}

#[test]
fn paragraphs_of_plain_text_end_at_blank_lines_of_either_kind() {
    let texts = |body: &str| -> Vec<String> {
        let document = extract_plain(None, body.as_bytes(), &Limits::default());
        document.blocks.into_iter().map(|block| block.text).collect()
    };
    assert_eq!(texts("one\ntwo\n\n\nthree\n"), ["one\ntwo", "three"]);
    assert_eq!(texts("one\r\ntwo\r\n\r\n\r\nthree\r\n"), ["one\r\ntwo", "three"]);
}

#[test]
fn the_language_is_that_of_the_article_and_not_of_its_comments() {
    let text = "The river rose in the spring, and the people of the village moved up the hill. \
                They stayed there until the water had gone, and then they built their houses anew.";
    let article = format!("<article><h1>The river</h1><p>{text}</p><p>{text}</p></article>");
    let comment =
        "Das ist eine sehr schöne Geschichte, die mir meine Großmutter auch erzählt hat. ";
    let comments =
        format!("<aside class=comments><div class=comment>{}</div></aside>", comment.repeat(9));
    let page = read(&format!("<title>The river</title>{article}{comments}"));
    assert!(!page.text.contains("Geschichte"), "{}", page.text);
    assert_eq!(page.language, "en");
}

fn text_of(html: &str) -> String {
    let base = Url::parse("http://a.example/").unwrap();
    extract(&base, Some("text/html; charset=utf-8"), html.as_bytes(), &Limits::default()).text
}

const PROSE: &str = "There is a long road that leads from the harbour to the old town, and on it the carts \
                     of the fishermen went up and down every day for more than a hundred years.";

#[test]
fn xhtml_closes_what_it_says_is_closed() {
    let base = Url::parse("http://a.example/").unwrap();
    let page = format!(
        "<html><head><title/><script src='a.js'/></head><body><a id='x'/><p>{PROSE}</p></body></html>"
    );
    let of = |kind, page: &str| extract(&base, Some(kind), page.as_bytes(), &Limits::default());
    let document = of("application/xhtml+xml", &page);
    assert_eq!((document.text.as_str(), document.title.as_str()), (PROSE, ""));
    assert_eq!(of("text/html", &format!("<?xml version='1.0'?>{page}")).text, PROSE);
    assert_eq!(of("text/html", &page).text, "", "as browsers do");
}

#[test]
fn questions_formulas_and_readings_are_what_a_reader_sees() {
    let base = Url::parse("http://a.example/").unwrap();
    let page = format!("<h2><button>How far is it?</button></h2><p>{PROSE}</p>");
    let blocks = extract(&base, None, page.as_bytes(), &Limits::default()).blocks;
    assert_eq!(blocks.first().unwrap().text, "How far is it?");
    let page =
        format!("<p>{PROSE} It holds that <math><mi>x</mi><mo>+</mo><mn>17</mn></math> is so.</p>");
    assert!(text_of(&page).contains("x+17 is so."));
    let page = "<p>彼は東京に<ruby>住<rp>(</rp><rt>す</rt><rp>)</rp></ruby>んでいると言いました。それは本当です。</p>";
    assert!(text_of(page).contains("住んでいる"));
    let page = format!("<x-item>Home</x-item><x-item>Docs</x-item><p>{PROSE}</p>");
    assert!(!text_of(&page).contains("HomeDocs"));
    let page = format!("<svg><title>An icon</title></svg><p>{PROSE}</p>");
    assert_eq!(extract(&base, None, page.as_bytes(), &Limits::default()).title, "");
}

#[test]
fn a_short_page_is_not_the_dialog_that_waits_on_it() {
    let login =
        "Please enter your mail address and your password to sign in to your account. ".repeat(6);
    let notice = "The library is closed on Monday, and on Tuesday it opens at ten.";
    let page =
        format!("<p>{notice}</p><div class='modal fade' style='display:none'><p>{login}</p></div>");
    assert_eq!(text_of(&page), notice);
    let page = format!("<p>{notice}</p><div style='display:none'><p>{PROSE} {PROSE}</p></div>");
    assert!(text_of(&page).contains("the carts"), "scripts show it");
}

const STORY: [&str; 8] = [
    "When the river rose in the spring, the people of the village moved their animals to the hill.",
    "They waited there until the water had gone down again, as they did each year after the snow.",
    "Nobody was surprised, for the miller had warned everybody as soon as the ice began to break.",
    "The council has now decided to build a wall along the lower meadow before the next winter.",
    "It will cost more than the village earns in a year, and the county has promised to help.",
    "Farmers say that the meadow needs the flood, because the mud makes the grass grow thick.",
    "The school stayed closed for a week, and the children rowed to the bakery to fetch bread.",
    "At the end of the month the road was dry, and the first market was held before the church.",
];

fn story(from: usize, to: usize) -> String {
    STORY.iter().take(to).skip(from).map(|sentence| format!("<p>{sentence}</p>")).collect()
}

#[test]
fn hidden_text_is_no_text_while_more_is_shown() {
    let secret =
        "Words that are there for machines and that nobody who reads the page has ever seen.";
    for hidden in [
        format!("<div style='display:none'><p>{secret}</p></div>"),
        format!("<p style='color: red; visibility: hidden'>{secret}</p>"),
        format!("<div hidden><p>{secret}</p></div>"),
        format!("<div aria-hidden=true><p>{secret}</p></div>"),
        format!("<noscript><p>{secret}</p></noscript>"),
        format!("<p style='font-size:0'>{secret}</p>"),
        format!(
            "<p>The river <span style='color:#FFF; background:white'>{secret}</span> rose.</p>"
        ),
    ] {
        let html =
            format!("<article><h1>The river</h1>{}{hidden}{}</article>", story(0, 4), story(4, 8));
        let text = read(&html).text;
        assert!(!text.contains("machines") && text.contains("the road was dry"), "{hidden}");
    }
    // Its children may have another size.
    let html = format!("<article style='font-size:0'><h1>The river</h1>{}</article>", story(0, 8));
    assert!(read(&html).text.contains("the road was dry"));
    // A page that a script shows when it is ready.
    let html = format!(
        "<nav><a href=/>Home</a></nav><div style='display:none'>{}</div><p>Menu</p>",
        story(0, 8)
    );
    assert!(read(&html).text.contains("the road was dry"));
}

#[test]
fn comments_are_no_text_of_an_article_and_all_of_a_page_without_one() {
    let comments: String = (0..9)
        .map(|at| format!("<li class=comment><p>I was there in the year {at} and I saw how the boats went down the river.</p></li>"))
        .collect();
    let page = |head: &str, article: &str| {
        let html = format!(
            "<head>{head}</head><main><article><h1>The river</h1>{article}</article></main>\
             <div id=comments class=comments-area><ol>{comments}</ol></div>"
        );
        read(&html).text
    };
    let article = page("<title>The river</title>", &story(0, 8));
    assert!(!article.contains("the boats went") && article.contains("the road was dry"));
    // Without an article, the comments are the text.
    assert!(page("<title>The river</title>", "").contains("the boats went"));
}

/// WHATWG HTML, "the base element" is of the HTML namespace; SVG 1.1, section 17.1, and SVG 2, section 16.1.
#[test]
fn links_of_svg_are_followed_and_a_base_in_it_does_not_count() {
    let url = Url::parse("http://a.example/x/").unwrap();
    let page = "<svg><base href='/elsewhere/'/><a xlink:href='one'><text>1</text></a>\
                <a href='two'><text>2</text></a><a id=x></a></svg><A HREF='three'>3</A><a href='///b.example/4'>4</a>";
    let document = extract(&url, Some("text/html"), page.as_bytes(), &Limits::default());
    let found: Vec<&str> = document.links.iter().map(|link| link.url.as_str()).collect();
    assert_eq!(
        found,
        [
            "http://a.example/x/one",
            "http://a.example/x/two",
            "http://a.example/x/three",
            "http://b.example/4"
        ]
    );
    let only = links(&url, Some("text/html"), page.as_bytes(), &Limits::default());
    assert_eq!(only.links, document.links);
}

/// TDM Reservation Protocol, section 4.3; RSL 1.0, section 4.
#[test]
fn reservations_of_a_page_are_recorded_once() {
    let page = "<meta name=robots content='NOAI, noindex'><meta name=ROBOTS content='noai;noimageai'>\
        <meta name=tdm-reservation content=1><link rel='x license' type='application/rsl+xml' href='/l.xml'>\
        <link rel=license href='https://a.example/cc'><script type='application/rsl+xml'></script><p>text";
    let found = read(page).reservations;
    assert_eq!(
        found,
        [
            "noai",
            "noimageai",
            "tdm-reservation: 1",
            "rsl: in the page",
            "rsl: http://a.example/l.xml"
        ]
    );
    assert!(read("<meta name=tdm-reservation content=0><p>text").reservations.is_empty());
}

/// WHATWG Encoding, section 10.2.2.
#[test]
fn the_euro_sign_in_a_query_is_one_byte_on_a_page_in_gbk() {
    let base = Url::parse("http://a.example/").unwrap();
    for (label, query) in [("gbk", "q=%80"), ("gb2312", "q=%80"), ("gb18030", "q=%A2%E3")] {
        let page = format!("<meta charset={label}><p>\u{4eca}\u{5929}<a href='/?q=\u{20ac}'>x</a>");
        let encoding = encoding_rs::Encoding::for_label(label.as_bytes()).unwrap();
        let document = links(&base, None, &encoding.encode(&page).0, &Limits::default());
        let first = document.links.first().unwrap();
        assert_eq!(first.url.query(), Some(query), "{label}");
        assert_eq!(document.charset, "gb18030");
    }
}

#[test]
fn the_target_of_a_late_refresh_is_a_link() {
    let html = "<meta http-equiv=refresh content='15;url=/next'><a href=/a>x</a>";
    let base = Url::parse("http://a.example/").unwrap();
    let limits = Limits::default();
    for document in [read(html), links(&base, None, html.as_bytes(), &limits)] {
        assert_eq!(document.refresh, None);
        let links: Vec<&str> = document.links.iter().map(|link| link.url.path()).collect();
        assert_eq!(links, ["/a", "/next"]);
    }
    let html = "<base href='http://b.example/'><meta http-equiv=refresh content='1'>";
    // It names no URL, so it reloads the page and not its base.
    assert_eq!(read(html).refresh.unwrap().as_str(), "http://a.example/dir/page.html");
}
