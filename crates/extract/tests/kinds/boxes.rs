//! Boxes beside an article: about its author, about personal data, and recommended pages.

use super::{PROSE, keeps, page, read};

const BIO: &str = "Ada Moss studied history in two cities and has written about harbours, bridges and the people who \
     build them for more than twenty years. She lives in an old lighthouse with three cats and no telephone.";
const NOTICE: &str = "The controller of your personal data is Harbour Notes Ltd. Your data are processed until you \
     withdraw your consent, and you have the right to access, correct and erase them at any time.";
const TITLES: [&str; 6] = [
    "Ten lighthouses that nobody visits",
    "Why the market moved to the square",
    "A map of all the wells in the valley",
    "How to read the sign on an old boat",
    "The bridge that was built twice",
    "Seven walks along the frozen canal",
];

fn article() -> String {
    let paragraphs: String = PROSE[..4].iter().map(|text| format!("<p>{text}</p>")).collect();
    format!("<h1>Notes from the harbour</h1>{paragraphs}")
}

/// A list of `count` titles with sources and buttons to share them.
fn titles(count: usize) -> String {
    let entry = |title: &&str| {
        format!(
            "<div class=entry><h3><a href='/{title}'>{title}</a></h3><div class=keys><span>News</span><span>Harbour</span></div>\
             <div>5 hours ago</div><div>58261 replies</div><ul><li>by mail</li><li>by text</li></ul></div>"
        )
    };
    TITLES.iter().cycle().take(count).map(entry).collect()
}

#[test]
fn a_box_about_the_author_is_no_text() {
    for names in [
        "class=author-bio",
        "class='box shaded author-box'",
        "class=AuthorBio",
        "class=about-author",
        "class=aboutTheAuthor",
        "class=post__author-info",
        "class=authorbox",
        "class=author_description",
        "class='author-card card'",
        "class=author-profile",
    ] {
        let bio = format!("<div {names}><b>Ada Moss</b><p>{BIO}</p></div>");
        for body in [
            format!("<article>{}{bio}</article>", article()),
            format!("<main><article>{}</article>{bio}</main>", article()),
            format!("<div class=content>{}<h3>About the author</h3>{bio}</div>", article()),
        ] {
            keeps(&page("Notes from the harbour", &body), &PROSE[..4], &["studied history in two"]);
        }
    }
}

#[test]
fn a_notice_about_personal_data_beside_an_article_is_no_text() {
    for names in [
        "class=newsletter_rodo_text",
        "class=gdpr-info",
        "class='box dsgvo'",
        "class=consentBanner",
    ] {
        let body =
            format!("<div class=content>{}<div {names}><p>{NOTICE}</p></div></div>", article());
        keeps(&page("Notes from the harbour", &body), &PROSE[..4], &["The controller of your"]);
    }
}

#[test]
fn recommended_pages_beside_an_article_are_no_text() {
    for names in [
        "class=post_recommend_news",
        "class=recommended",
        "class='grid relatedPosts'",
        "class=trending",
    ] {
        let body =
            format!("<div class=content>{}<div {names}>{}</div></div>", article(), titles(40));
        keeps(&page("Notes from the harbour", &body), &PROSE[..4], &TITLES);
    }
}

#[test]
fn boxes_that_are_the_page_are_text() {
    let heading = "<h1>Ada Moss</h1>";
    let bio = format!("<p>{BIO}</p><p>{}</p><p>{}</p>", PROSE[0], PROSE[1]);
    let own = [BIO, PROSE[0], PROSE[1]];
    for body in [
        // The page about an author.
        format!("<div class=author-bio>{heading}{bio}</div><p>{}</p>", PROSE[2]),
        format!("{heading}<div class=author-bio>{bio}</div>"),
        format!(
            "{heading}<div class=author-bio>{bio}</div><h2>Her articles</h2><div>{}</div>",
            titles(6)
        ),
        // Names of persons, and words that only look like the names of such boxes.
        format!("<article class='post author-ada box'>{heading}{bio}</article>"),
        format!("{heading}<div class='author ada'><div class=box>{bio}</div></div>"),
        format!("{heading}<div class=profile-bio>{bio}</div>"),
        // The privacy policy.
        format!("<div class=gdpr-policy><h1>Privacy</h1>{bio}</div>"),
    ] {
        keeps(&page("Ada Moss", &body), &own, &[]);
    }
    // The authors of a magazine, and of a book.
    for (names, count) in [("author-card", 8), ("author-box", 3)] {
        let authors: String = PROSE[..count]
            .iter()
            .map(|text| format!("<div class={names}><h3>Somebody</h3><p>{text}</p></div>"))
            .collect();
        let body = format!("<h1>Who writes here</h1><p>{BIO}</p><p>{NOTICE}</p>{authors}");
        keeps(&page("Who writes here", &body), &PROSE[..count], &[]);
    }
    // The author's own page, with the beginnings of articles.
    let entries: String = PROSE[2..]
        .iter()
        .map(|text| format!("<div class=excerpt><h2>An article</h2><p>{text}</p></div>"))
        .collect();
    let body = format!("{heading}<div class=author-info><p>{BIO}</p></div>{entries}");
    keeps(&page("Ada Moss", &body), &[BIO], &[]);
}

#[test]
fn parts_of_a_text_with_such_names_are_text() {
    let list = "<ul><li>Cut the rope at both ends, because what is worn out will not hold in a storm<li>Tie it \
                around the post three times and keep the end in your hand<li>Pull it tight before you go, and look \
                again when the tide has turned</ul>";
    let table = "<table><tr><th>Boat<th>Length<tr><td>Ferry<td>80 m<tr><td>Barge<td>40 m</table>";
    let entry = "Tie it around the post";
    for (part, own) in [
        // Programs make ids from headings.
        (format!("<section id=related-steps><h2>Related steps</h2>{list}</section>"), entry),
        ("<h2 id=consent>What consent means in a harbour</h2>".into(), "What consent means"),
        (
            format!("<section id=gdpr-rules><h2>Rules</h2><p>{NOTICE}</p></section>"),
            "The controller of",
        ),
        (format!("<div class=popular-boats>{table}</div>"), "Barge"),
        (format!("<div class=article-teaser>{list}</div>"), entry),
        (format!("<div class='hentry author-info'><p>{BIO}</p></div>"), "studied history in two"),
        (format!("<div class=has-author-box><p>{BIO}</p></div>"), "studied history in two"),
        (format!("<div class=embed-consent><p>{BIO}</p></div>"), "studied history in two"),
        (format!("<dl><dt class=consent>Consent<dd class=gdpr>{NOTICE}</dl>"), "The controller of"),
    ] {
        let body = format!("<div class=content>{}{part}<p>{}</p></div>", article(), PROSE[4]);
        let html = page("Notes from the harbour", &body);
        let document = keeps(&html, &PROSE[..5], &[]);
        assert!(document.text.contains(own), "{part}");
    }
    // The page about personal data.
    let body = format!(
        "<h1>Privacy policy</h1><p>{BIO}</p>{}<div class=rodo><p>{NOTICE}</p></div>",
        article()
    );
    let document = keeps(&page("Privacy policy", &body), &PROSE[..4], &[]);
    assert!(document.text.contains("The controller of"), "{}", document.text);
}

#[test]
fn a_list_within_a_text_is_text_and_labels_are_not() {
    let between = |part: &str| {
        format!(
            "<div class=content><h1>Rope work</h1><p>{}</p><p>{}</p>{part}<p>{}</p><p>{}</p></div>",
            PROSE[0], PROSE[1], PROSE[2], PROSE[3]
        )
    };
    let list = "<h2>What you need</h2><ul><li>500 g of flour<li>370 g of water<li>100 g of starter<li>10 g of salt</ul>";
    for hidden in ["", "<p style='display:none'>Print this list</p>", "<ul hidden><li>In cups</ul>"]
    {
        let html = page("Rope work", &between(&format!("{list}{hidden}")));
        keeps(
            &html,
            &["500 g of flour", "370 g of water", "100 g of starter", "10 g of salt"],
            &["Print this", "In cups"],
        );
    }
    let label = "<div class=x7f><div>Advertisement</div><div>Continue reading below</div></div>";
    let html = page("Rope work", &between(&format!("{label}<p>{}</p>{label}", PROSE[4])));
    keeps(&html, &PROSE[..5], &["Continue reading below"]);
}

#[test]
fn labels_of_advertisements_are_no_text_and_names_are() {
    for label in
        ["Advertisement", "ANZEIGE", "- Publicité -", "Реклама", "広告", "Story continues below"]
    {
        let body = format!(
            "<h1>Rope work</h1><p>{}</p><p>{label}</p><p>{}</p><div>{label}</div><p>{}</p>",
            PROSE[0], PROSE[1], PROSE[2]
        );
        let document = keeps(&page("Rope work", &body), &PROSE[..3], &[label]);
        let dropped = document.blocks.iter().filter(|block| block.text == label);
        assert_eq!(
            dropped.map(|block| block.reason.as_str()).collect::<Vec<_>>(),
            ["label of an advertisement"; 2]
        );
    }
    // A heading, an entry of a list, and a sentence.
    let body = format!(
        "<h1>Words of the press</h1><p>{}</p><h2>Advertisement</h2><p>{}</p><p>An advertisement is a notice that somebody pays for.</p>\
         <p>{}</p><ul><li>Advertisement</li><li>Editorial</li><li>Letter</li></ul><p>{}</p>",
        PROSE[0], PROSE[1], PROSE[2], PROSE[3]
    );
    let html = page("Words of the press", &body);
    let document = keeps(&html, &PROSE[..4], &[]);
    let is_label = |reason: &str| reason == "label of an advertisement";
    assert!(document.blocks.iter().all(|block| !is_label(block.reason.as_str())));
    assert!(document.text.contains("\nAdvertisement\n"), "{}", document.text);
    // An answer, and lines of a dictionary and a budget.
    for part in [
        "<p>What costs most?</p><p>Advertisement.</p>",
        "<p>English</p><p>Advertisement</p><p>German</p><p>Werbung</p>",
        "<p>Salaries</p><p>40</p><p>Advertisement</p><p>12</p>",
    ] {
        let body = format!("<h1>Rope work</h1><p>{}</p>{part}<p>{}</p>", PROSE[0], PROSE[1]);
        let document = read(&page("Rope work", &body));
        assert!(document.blocks.iter().all(|block| !is_label(block.reason.as_str())), "{part}");
    }
}
