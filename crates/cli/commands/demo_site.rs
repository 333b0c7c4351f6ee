//! The pages of `crawl demo`: the usual kinds of duplicates, made from a few texts.

/// The hosts, by number.
pub(super) const HOSTS: [&str; 3] =
    ["a magazine", "a mirror in another template", "a Chinese site (partly GB18030 declared)"];

/// Title and paragraphs of the English articles.
const ARTICLES: [(&str, &str, [&str; 3]); 6] = [
    (
        "lighthouse",
        "The lighthouse that was moved",
        [
            "When the cliff below the lighthouse began to fall into the sea, the people of the island were told that the tower could not be saved. They did not believe it. In the winter that followed they measured the ground behind it, and found that there was room for the tower two hundred paces further inland, where the rock was hard and the wind was not so strong.",
            "The move took most of a summer. The tower was lifted on beams of oak, and rails were laid under it; every day it was drawn a few paces by a winch that had been lent by the harbour. Children were allowed to ride on the lowest step. At night the lamp was lit as it always had been, so that for three months ships saw a light that stood each evening in another place.",
            "It has now stood in its new place for longer than it stood in the old one. The cliff has come closer again, and there are those who say that their grandchildren will have to find the beams and the rails once more.",
        ],
    ),
    (
        "bread",
        "What the baker does while you sleep",
        [
            "A baker who works for a village of six hundred people gets up at half past one. The dough that was made the evening before has risen by then, and it is the smell of it that tells him whether the night was warm or cold. He does not use a thermometer, though he has one; it was given to him by his daughter, and it hangs beside the door.",
            "Between two and four the loaves are shaped, and this is the only part of the work that cannot be done while thinking of something else. Every loaf is turned three times under the palm of the hand. If it is turned twice it will open at the side, and if it is turned four times it will be as hard as the table.",
            "At five the first customers come to the back door. They are on their way to the quarry or to the early train, and none of them has ever asked for anything other than what they took the day before.",
        ],
    ),
    (
        "river",
        "A river with two names",
        [
            "On the northern bank the river is called by a word that means slow, and on the southern bank by one that means angry. Both are right. Where the road comes down to it from the north the water is wide and brown and hardly seems to move; but the fields in the south lie lower, and it is there that it goes when there is too much of it.",
            "For two hundred years the parishes on both sides argued about a bridge. It was planned, and paid for, and once even begun, but each time it was asked what name should be cut into the stone above the middle arch, and each time the meeting broke up before an answer was found.",
            "In the end the ferryman settled it. He bought the stones that were lying on the bank, built the bridge with his sons, and left the place above the middle arch empty.",
        ],
    ),
    (
        "clocks",
        "The town that kept its own time",
        [
            "Until the railway came the clocks of the town were set by the sun, and nobody minded that they were eleven minutes behind those of the capital. The stationmaster minded. He put up a clock of his own that showed the time of the railway, and for almost thirty years there were two times in the town, one above the church and one above the platform.",
            "People learned to say which of the two they meant. A wedding was at ten by the church, but the guests who came from outside left at six by the train. Only the school had trouble with it, for the bell was rung by a man who lived between the two and could see both.",
            "When the law made an end of it the church clock was stopped for eleven minutes, and those who had gathered in the square to watch said afterwards that it had been the quietest part of the year.",
        ],
    ),
    (
        "bees",
        "Moving the bees at night",
        [
            "Bees have to be moved in the dark, when all of them are at home, and they must be taken either less than three paces or more than three miles. In between lies the distance at which they find the old place again but not the new one, and in the morning they would hang in the air where their house had been.",
            "The beekeeper who told us this has moved his hives four times a year since he was a boy: to the rape in the spring, to the lime trees in June, to the heather when the summer ends, and home. He knows the roads by their bumps, for he drives them with his window open and listens to the hum behind him.",
            "If it grows higher he stops and waits. It is not that they could get out, he says, but that they should not have to be afraid of anything on account of him.",
        ],
    ),
    (
        "library",
        "The library in the weighing house",
        [
            "No one who comes into the old weighing house for the first time expects to find books there. The great scales are still hanging from the beam, and the shelves were built around them, so that a reader who takes down an atlas has to walk under a pan on which wool was weighed for four centuries.",
            "The librarian found out by accident that they still work. She had put a parcel of returned books on one of the pans while she looked for her keys, and the other one rose without a sound. Since then everything that is given to the library is weighed, and the weight is written into the register beside the title.",
            "It has no use at all, she says, but it is surprising how many people want to know whether a book that meant a great deal to them is heavy.",
        ],
    ),
];

const CHINESE: [(&str, &str, [&str; 2]); 3] = [
    (
        "teahouse",
        "北京胡同里的茶馆",
        [
            "北京的胡同里有一家很小的茶馆，老板姓王，已经在那里卖了四十年的茶。每天早上六点他就把门打开，先给自己泡一壶，然后坐在门口等第一位客人。来的人大多住在附近，他们不说要喝什么，因为老王都记得。",
            "去年有人劝他把茶馆搬到大街上去，说那里的客人多，生意一定会更好。老王想了几天，最后还是没有搬。他说茶要慢慢地喝，话要慢慢地说，大街上的人走得太快了，他们不会坐下来的。",
        ],
    ),
    (
        "bridge",
        "村口的石桥",
        [
            "村口有一座石桥，没有人知道它是什么时候修的。老人们说，他们的爷爷小的时候桥就已经在那里了。桥上的石头被走得很光滑，下雨的时候要扶着栏杆才不会摔倒，可是从来没有人在上面受过伤。",
            "后来镇上修了一条新的公路，汽车都从那边过，桥上就只剩下走路的人和放学的孩子。孩子们喜欢在桥上等着看水里的鱼，一直等到家里人来叫他们回去吃饭。",
        ],
    ),
    (
        "letter",
        "寄给自己的信",
        [
            "邮局里有一个特别的信箱，投进去的信要等十年以后才会寄出。很多年轻人来这里给将来的自己写信，有的写了好几页，有的只写了一句话，还有的写完以后又把信拿了回去。",
            "负责这个信箱的是一位快要退休的邮递员。他说最让他难忘的是一位老奶奶，她也写了一封，别人问她十年以后还能不能收到，她笑着说，收不到也没关系，写的时候已经很高兴了。",
        ],
    ),
];

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
    // The Chinese site declares a legacy charset and sends UTF-8, as many do.
    let content_type = if host == 2 { "text/html; charset=gb2312" } else { html };
    ("200 OK", content_type, String::new(), body.into_bytes())
}

fn paragraphs(list: &[&str]) -> String {
    list.iter().map(|text| format!("<p>{text}</p>\n")).collect()
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
    let links: String = ARTICLES
        .iter()
        .enumerate()
        .map(|(i, (name, title, _))| {
            format!("<li><a href='/article/{name}'>{title}</a> <a href='/article/{name}?sid=a{i}b'>again</a> <a href='/print/{name}'>print</a></li>")
        })
        .collect();
    magazine(
        "This month",
        query.len(),
        &format!("<ul>{links}</ul><a href=/moved>moved</a> <a href=/old-page>old</a>"),
    )
}

fn magazine_article(name: &str, query: &str) -> String {
    ARTICLES
        .iter()
        .enumerate()
        .find(|(_, article)| article.0 == name)
        .map_or(String::new(), |(i, (_, title, text))| {
            magazine(title, i + query.len(), &paragraphs(text))
        })
}

fn print_version(name: &str) -> String {
    ARTICLES.iter().find(|article| article.0 == name).map_or(String::new(), |(_, title, text)| {
        format!("<html><head><title>{title} (print)</title></head><body><h2>{title}</h2>{}<p>Printed from The Quiet Magazine on the day of your visit.</p></body></html>", paragraphs(text))
    })
}

fn mirror_front(port: u16) -> String {
    let links: String = ARTICLES
        .iter()
        .skip(1)
        .map(|(name, title, _)| format!("<p><a href='/reprint/{name}'>{title}</a></p>"))
        .collect();
    format!(
        "<html><head><title>Collected reading</title></head><body><h1>Collected reading</h1>{links}<p><a href='http://127.0.0.1:{port}/'>source</a></p></body></html>"
    )
}

fn mirror_article(name: &str) -> String {
    ARTICLES.iter().find(|article| article.0 == name).map_or(String::new(), |(_, title, text)| {
        let cells: String = text.iter().map(|t| format!("<div class=para>{t}</div>")).collect();
        format!("<html><head><title>{title}</title></head><body><table><tr><td><a href=/>All texts</a><br><a href=/about>About</a></td><td><h3>{title}</h3>{cells}<div>This text was reprinted here with the kind permission of those who wrote it.</div></td><td>Sponsored: tools, paint, nails</td></tr></table></body></html>")
    })
}

fn chinese_front() -> String {
    let links: String = CHINESE
        .iter()
        .map(|(name, title, _)| {
            format!("<li><a href='/wen/{name}'>{title}</a> <a href='/yin/{name}'>打印</a></li>")
        })
        .collect();
    format!(
        "<html lang=zh><head><title>小城故事</title></head><body><div class=nav><a href='/'>首页</a></div><ul>{links}</ul></body></html>"
    )
}

fn chinese_article(name: &str, print: bool) -> String {
    CHINESE.iter().find(|article| article.0 == name).map_or(String::new(), |(_, title, text)| {
        let body = paragraphs(text);
        if print {
            format!("<html lang=zh><head><title>{title}</title></head><body><h1>{title}</h1>{body}</body></html>")
        } else {
            format!("<html lang=zh><head><title>{title} - 小城故事</title></head><body><div class=nav><a href='/'>首页</a> <a href='/wen/teahouse'>茶馆</a></div><div class=ad>限时优惠 手机 电脑 立即购买</div><div><h1>{title}</h1>{body}</div><div class=footer>版权所有</div></body></html>")
        }
    })
}

/// A calendar without end: each month leads to the next.
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
