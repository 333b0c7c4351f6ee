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
    // A story that is cut has no sentence.
    let cut = stream(&|title, text| {
        let text = if text.starts_with("The ferry") { text.trim_end_matches('.') } else { text };
        format!("<article><h2>{title}</h2><p>{text}</p></article>")
    });
    let others = ["The ferry to the northern", "Our bakery was built", "A pond of this size"];
    for body in [
        format!("<main><article class=post>{}</article>{teasers}</main>", article()),
        format!(
            "<div class=content><article class=story>{}</article><h2>Other stories</h2><div class=stream>{boxes}</div></div>",
            article()
        ),
        format!("<main><article>{}</article>{whole}</main>", article()),
        format!("<main><article>{}</article>{cut}</main>", article()),
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

/// Returns an article of which enough remains without its comments.
fn long_article() -> String {
    let text: String = PROSE.iter().take(4).map(|text| format!("<p>{text}</p>")).collect();
    format!("<h1>Town closes its swimming pool</h1>{text}")
}

#[test]
fn comments_with_other_names_or_only_a_number_as_heading_are_no_text() {
    let items = |begin: &str| comments(|_, text| format!("<div {begin}><p>{text}</p></div>"));
    let responses = items("class=response");
    for below in [
        format!("<div>{}</div>", items("itemprop=comment itemscope")),
        format!("<div>{}</div>", items("itemscope itemtype='http://schema.org/UserComments'")),
        format!("<section id=responses><h2>Responses</h2>{responses}</section>"),
        format!("<div class=user-responses>{}</div>", items("class=x")),
        format!("<div class=replies>{}</div>", items("class=reply")),
        format!("<div id=leserkommentare>{}</div>", items("class=k")),
        format!("<div id=komentarze>{}</div>", items("class=komentarz")),
        format!("<div class=yorumlar>{}</div>", items("class=y")),
        format!("<div class=x><h3>24 Comments</h3>{}</div>", items("class=y")),
        format!("<div><div><h4>Kommentare (24)</h4></div><div>{}</div></div>", items("class=y")),
        format!("<h3>评论 (24)</h3><ul>{}</ul>", comments(|_, text| format!("<li>{text}</li>"))),
    ] {
        let body = format!("<article>{}</article>{below}", long_article());
        keeps(&page("Town closes its swimming pool", &body), &PROSE[..4], &SOME);
    }
}

#[test]
fn replies_of_a_thread_and_responses_of_a_server_are_text() {
    let replies = comments(|_, text| format!("<div class=reply><p>{text}</p></div>"));
    let posts: Vec<&str> = PROSE[..4].iter().chain(&COMMENTS).copied().collect();
    let body =
        format!("<div class=thread><div class=reply>{}</div>{replies}</div>", long_article());
    keeps(&page("Town closes its swimming pool", &body), &posts, &[]);
    let responses: String = PROSE[4..]
        .iter()
        .map(|text| {
            format!(
                "<div class=response><h3>Response</h3><p>{text}</p><pre>HTTP/1.1 200 OK</pre></div>"
            )
        })
        .collect();
    let body = format!("<main>{}<div class=responses>{responses}</div></main>", long_article());
    keeps(&page("Town closes its swimming pool", &body), &PROSE, &[]);
}

#[test]
fn stories_below_a_heading_for_more_are_no_text_and_a_further_section_is() {
    let story = |open: &str, close: &str| -> String {
        let all = PROSE[4..].iter().enumerate();
        all.map(|(at, text)| {
            format!("{open}<a href=/s{at}><b>A story of week {at}</b></a><br>{text}{close}")
        })
        .collect()
    };
    let others = ["Clay that was dug", "Nobody knows who planted"];
    for below in [
        format!("<div><h4>More from us</h4>{}</div>", story("<div>", "</div>")),
        format!("<h2>Weitere Artikel</h2><ul>{}</ul>", story("<li>", "</li>")),
        format!("<div><div><h3>相关文章</h3></div><div>{}</div></div>", story("<div>", "</div>")),
    ] {
        let body = format!("<div>{}{below}</div>", long_article());
        keeps(&page("Town closes its swimming pool", &body), &PROSE[..4], &others);
        let last = "<h2>What the mayor said about the money</h2><p>It will not cost the swimmers anything, and the \
                    school will pay for the lessons as it has done since the pool was built.</p>";
        let body = format!(
            "<div>{}<section>{below}</section><section>{last}</section></div>",
            long_article()
        );
        keeps(
            &page("Town closes its swimming pool", &body),
            &["as it has done since the pool was built"],
            &others,
        );
    }
    // Without links the section is the page's own.
    let own: String = PROSE[4..].iter().map(|text| format!("<div>{text}</div>")).collect();
    let body = format!("<div>{}<h2>More from us</h2>{own}</div>", long_article());
    keeps(&page("Town closes its swimming pool", &body), &PROSE, &[]);
}
