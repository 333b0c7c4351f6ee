//! A short article above long comments, or above a stream of other stories.

use super::{PROSE, keeps, page};

const SHORT: [&str; 2] = [
    "The town will close the swimming pool at the end of September, the mayor said on Monday. A leak in the old basin \
     costs more every year than the tickets bring in.",
    "A new pool is planned beside the school. It should open in two years if the council agrees in spring.",
];

const COMMENTS: [&str; 8] = [
    "This is what happens when nobody looks after a building for thirty years. My children learnt to swim there and I \
     am really angry about it.",
    "I agree with you, but where should the money come from? They could not even pay for the lights in our street.",
    "Two years means five years, we all know how long it took them to build the bridge over the river.",
    "Has anybody asked the swimmers? There are more than two hundred of us in the club and we have nowhere to go now.",
    "You can drive to the pool in the next town. It takes twenty minutes and it is much warmer than ours ever was.",
    "Not everybody has a car, and the bus does not run in the evening when we train. Think before you write such things.",
    "I worked there as a student. The basin was leaking even then and everybody knew about it, from the manager down.",
    "Close it, sell the land and build flats. That is what they wanted all along, if you ask me about my opinion.",
];

fn wanted() -> Vec<&'static str> {
    SHORT.to_vec()
}

fn comments(wrap: impl Fn(usize, &str) -> String) -> String {
    COMMENTS.iter().cycle().take(24).enumerate().map(|(at, text)| wrap(at, text)).collect()
}

/// Declares the page as an article.
const DECLARED: &str = "<script type='application/ld+json'>{\"@type\": \"NewsArticle\"}</script>";

fn article() -> String {
    format!(
        "<h1>Town closes its swimming pool</h1><p class=date>3 September 2024</p><p>{}</p><p>{}</p>",
        SHORT[0], SHORT[1]
    )
}

const SOME: [&str; 4] = ["I agree with you", "Two years means", "Close it, sell", "You can drive"];

#[test]
fn comments_longer_than_a_short_article_are_no_text() {
    let named = comments(|at, text| {
        format!(
            "<li class=comment><b class=author>reader{at}</b><time>4 September 2024</time><p>{text}</p></li>"
        )
    });
    let boxes = comments(|at, text| {
        format!(
            "<div class=comment-body><span class=user>reader{at}</span><div class=comment-text>{text}</div></div>"
        )
    });
    for body in [
        format!(
            "<article>{}</article><section id=comments><h2>24 comments</h2><ol>{named}</ol></section>",
            article()
        ),
        format!(
            "<div class=post><div class=entry>{}</div><div id=disqus_thread>{boxes}</div></div>",
            article()
        ),
        format!("<div class=content>{}<div class=comments>{boxes}</div></div>", article()),
        format!("<div class=content>{}<div class=kommentare>{boxes}</div></div>", article()),
        format!("<div class=content>{}<div class=comentarios>{boxes}</div></div>", article()),
        format!("<div class=content>{}<div class=talkbacks>{boxes}</div></div>", article()),
        format!(
            "<div class=story>{}</div><h3>Reactions</h3><ul class=commentlist>{named}</ul>",
            article()
        ),
    ] {
        let body = format!("{DECLARED}{body}");
        keeps(&page("Town closes its swimming pool", &body), &wanted(), &SOME);
    }
}

#[test]
fn replies_to_a_short_post_are_text_unless_the_page_declares_an_article() {
    let boxes = comments(|at, text| {
        format!("<div class=comment-body><span class=user>reader{at}</span><p>{text}</p></div>")
    });
    let post = |heading: &str| format!("<h1>{heading}</h1><p>{}</p><p>{}</p>", SHORT[0], SHORT[1]);
    for body in [
        format!("<div class=content>{}<div class=comments>{boxes}</div></div>", post("Our pool")),
        format!(
            "{DECLARED}<article>{}<div class=comments>{boxes}</div></article>",
            post("Who can save our pool?")
        ),
    ] {
        let all: Vec<&str> = SHORT.iter().chain(&COMMENTS).copied().collect();
        keeps(&page("Our pool", &body), &all, &[]);
    }
}

#[test]
fn other_stories_below_a_short_article_are_no_text() {
    let story =
        |at: usize, text: &str| (format!("Story number {at} of this week"), text.to_owned());
    let stream = |wrap: &dyn Fn(&str, &str) -> String| -> String {
        PROSE
            .iter()
            .cycle()
            .take(12)
            .enumerate()
            .map(|(at, text)| {
                let (title, text) = story(at, text);
                wrap(&title, &text)
            })
            .collect()
    };
    let teasers = stream(&|title, text| {
        format!(
            "<article class=post><h2><a href='/{title}'>{title}</a></h2><p>{text}</p><a href='/{title}'>Read more</a></article>"
        )
    });
    let boxes = stream(&|title, text| {
        format!("<div class=story-card><h3><a href='/{title}'>{title}</a></h3><p>{text}</p></div>")
    });
    let whole = stream(&|title, text| {
        format!("<article><h2>{title}</h2><p>{text}</p><p>{text}</p></article>")
    });
    // The link is around the heading. Each story has a main heading.
    let linked = stream(&|title, text| {
        format!("<div class=card><a href='/{title}'><h4>{title}</h4></a><p>{text}</p></div>")
    });
    let first = stream(&|title, text| {
        format!("<article class=post><h1>{title}</h1><p>{text}</p></article>")
    });
    let others = ["The ferry to the northern", "Our bakery was built", "A pond of this size"];
    for body in [
        format!("<main><article class=post>{}</article>{teasers}</main>", article()),
        format!(
            "<div class=content><article class=story>{}</article><h2>Other stories</h2><div class=stream>{boxes}</div></div>",
            article()
        ),
        format!("<main><article>{}</article>{whole}</main>", article()),
        format!("<main><article class=post>{}</article>{first}</main>", article()),
        format!("<main><article>{}</article><div class=grid>{linked}</div></main>", article()),
        format!("{DECLARED}<main>{}<div class=more-stories>{boxes}</div></main>", article()),
    ] {
        keeps(&page("Town closes its swimming pool", &body), &wanted(), &others);
    }
}

#[test]
fn a_page_of_articles_without_a_main_one_keeps_them_all() {
    let all: String = PROSE
        .iter()
        .map(|text| format!("<article><h2>A note of the week</h2><p>{text}</p></article>"))
        .collect();
    keeps(&page("Notes of the week", &format!("<main>{all}</main>")), &PROSE, &["Privacy policy"]);
}
