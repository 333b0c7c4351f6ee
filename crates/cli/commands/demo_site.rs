//! The pages of `crawl demo`: common kinds of duplicates, generated from a set of articles.

pub(super) const HOSTS: [&str; 3] =
    ["a magazine", "a mirror in another template", "a Chinese site (partly GB18030 declared)"];

/// The articles: a line `# NAME TITLE`, and a line for each paragraph.
const ENGLISH: &str = include_str!("../demo/english.txt");
const CHINESE: &str = include_str!("../demo/chinese.txt");

struct Article {
    name: &'static str,
    title: &'static str,
    text: String,
}

fn articles(texts: &'static str) -> impl Iterator<Item = Article> {
    texts.split("\n\n").filter_map(|article| {
        let (head, text) = article.trim().split_once('\n')?;
        let (name, title) = head.strip_prefix("# ")?.split_once(' ')?;
        let text = text.lines().map(|line| format!("<p>{line}</p>\n")).collect();
        Some(Article { name, title, text })
    })
}

fn article(texts: &'static str, name: &str) -> Option<Article> {
    articles(texts).find(|article| article.name == name)
}

const ADS: [&str; 4] = [
    "Special offer! Shoes, hats, coats. Buy today!",
    "Cheap flights. Best prices. Book now!",
    "Win a new phone! Click here!",
    "Summer sale: garden chairs, tables, lamps",
];

/// Status line, content type, further headers and body for a path on one of the hosts.
pub(super) fn answer(
    host: usize,
    path: &str,
    ports: &[u16],
) -> (&'static str, &'static str, String, Vec<u8>) {
    let html = "text/html; charset=utf-8";
    let (route, query) = path.split_once('?').unwrap_or((path, ""));
    let body = match (host, route) {
        (_, "/robots.txt") => {
            return (
                "200 OK",
                "text/plain",
                String::new(),
                b"User-agent: *\nDisallow: /private/\n".to_vec(),
            );
        }
        (0, "/") => magazine_front(query),
        (0, "/moved") => {
            return (
                "301 Moved Permanently",
                html,
                "Location: /article/lighthouse\r\n".into(),
                Vec::new(),
            );
        }
        (0, "/old-page") => {
            "<html><head><meta http-equiv=refresh content='0; url=/article/bread'></head></html>"
                .into()
        }
        (0, "/calendar") => calendar(query),
        (1, "/") => mirror_front(ports.first().copied().unwrap_or(0)),
        (2, "/") => chinese_front(),
        _ => match (host, route.rsplit_once('/')) {
            (0, Some(("/article", name))) => magazine_article(name, query),
            (0, Some(("/print", name))) => print_version(name),
            (1, Some(("/reprint", name))) => mirror_article(name),
            (2, Some(("/wen", name))) => chinese_article(name, false),
            (2, Some(("/yin", name))) => chinese_article(name, true),
            _ => String::new(),
        },
    };
    if body.is_empty() {
        return ("404 Not Found", html, String::new(), b"<h1>Not found</h1>".to_vec());
    }
    // The Chinese site declares a legacy charset but sends UTF-8, a common mistake.
    let content_type = if host == 2 { "text/html; charset=gb2312" } else { html };
    ("200 OK", content_type, String::new(), body.into_bytes())
}

fn magazine(title: &str, ad: usize, content: &str) -> String {
    let ad = ADS.get(ad % ADS.len()).copied().unwrap_or_default();
    format!(
        "<!doctype html><html lang=en><head><title>{title} - The Quiet Magazine</title></head><body>\
         <nav><a href=/>Home</a> <a href='/?sid=77'>Issue</a> <a href=/calendar?month=1>Calendar</a> <a href=/private/desk>Desk</a></nav>\
         <div class=advert>{ad}</div><main><h1>{title}</h1>\n{content}</main>\
         <div class=related><a href=/article/river>A river with two names</a> <a href=/article/bees>Moving the bees</a></div>\
         <footer>The Quiet Magazine. All rights reserved.</footer></body></html>"
    )
}

fn magazine_front(query: &str) -> String {
    let link = |(at, Article { name, title, .. }): (usize, Article)| {
        format!(
            "<li><a href='/article/{name}'>{title}</a> <a href='/article/{name}?sid=a{at}b'>again</a> <a href='/print/{name}'>print</a></li>"
        )
    };
    let links: String = articles(ENGLISH).enumerate().map(link).collect();
    let content = format!("<ul>{links}</ul><a href=/moved>moved</a> <a href=/old-page>old</a>");
    magazine("This month", query.len(), &content)
}

fn magazine_article(name: &str, query: &str) -> String {
    let found = articles(ENGLISH).enumerate().find(|(_, article)| article.name == name);
    found.map_or(String::new(), |(at, Article { title, text, .. })| {
        magazine(title, at + query.len(), &text)
    })
}

fn print_version(name: &str) -> String {
    article(ENGLISH, name).map_or(String::new(), |Article { title, text, .. }| {
        format!("<html><head><title>{title} (print)</title></head><body><h2>{title}</h2>{text}<p>Printed from The Quiet Magazine on the day of your visit.</p></body></html>")
    })
}

fn mirror_front(port: u16) -> String {
    let link =
        |Article { name, title, .. }| format!("<p><a href='/reprint/{name}'>{title}</a></p>");
    let links: String = articles(ENGLISH).skip(1).map(link).collect();
    format!(
        "<html><head><title>Collected reading</title></head><body><h1>Collected reading</h1>{links}<p><a href='http://127.0.0.1:{port}/'>source</a></p></body></html>"
    )
}

fn mirror_article(name: &str) -> String {
    article(ENGLISH, name).map_or(String::new(), |Article { title, text, .. }| {
        let cells = text.replace("<p>", "<div class=para>").replace("</p>\n", "</div>");
        format!("<html><head><title>{title}</title></head><body><table><tr><td><a href=/>All texts</a><br><a href=/about>About</a></td><td><h3>{title}</h3>{cells}<div>This text was reprinted here with the kind permission of those who wrote it.</div></td><td>Sponsored: tools, paint, nails</td></tr></table></body></html>")
    })
}

fn chinese_front() -> String {
    let link = |Article { name, title, .. }| {
        format!("<li><a href='/wen/{name}'>{title}</a> <a href='/yin/{name}'>打印</a></li>")
    };
    let links: String = articles(CHINESE).map(link).collect();
    format!(
        "<html lang=zh><head><title>小城故事</title></head><body><div class=nav><a href='/'>首页</a></div><ul>{links}</ul></body></html>"
    )
}

fn chinese_article(name: &str, print: bool) -> String {
    article(CHINESE, name).map_or(String::new(), |Article { title, text, .. }| {
        if print {
            format!("<html lang=zh><head><title>{title}</title></head><body><h1>{title}</h1>{text}</body></html>")
        } else {
            format!("<html lang=zh><head><title>{title} - 小城故事</title></head><body><div class=nav><a href='/'>首页</a> <a href='/wen/teahouse'>茶馆</a></div><div class=ad>限时优惠 手机 电脑 立即购买</div><div><h1>{title}</h1>{text}</div><div class=footer>版权所有</div></body></html>")
        }
    })
}

/// An endless calendar: each month links to the next.
fn calendar(query: &str) -> String {
    let month: u64 = query.strip_prefix("month=").and_then(|m| m.parse().ok()).unwrap_or(1);
    if month > 10_000 {
        return String::new();
    }
    let next = month + 1;
    magazine(
        &format!("Month {month}"),
        0,
        &format!("<p>Nothing is planned. <a href='/calendar?month={next}'>Next month</a></p>"),
    )
}
