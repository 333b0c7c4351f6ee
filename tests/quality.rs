//! A small quality gate: generated pages in generated templates, with every kind of change that leaves a page the
//! same, and those that do not. The measured figures are in docs/quality.md.

use std::collections::{BTreeMap, BTreeSet};

use encoding_rs::{BIG5, GB18030, SHIFT_JIS};
use serde_json::{Value, json};

use crate::support::{Bench, code, crawl, json_lines, printed, prose, text, write};

const FUNCTION: [&str; 24] = [
    "the", "of", "and", "to", "in", "a", "that", "was", "it", "he", "for", "with", "they", "had",
    "on", "which", "not", "from", "when", "there", "would", "been", "who", "were",
];
const SYLLABLES: [&str; 20] = [
    "bar", "den", "fol", "gar", "hin", "ket", "lam", "mor", "nel", "pas", "ral", "ster", "tam",
    "ver", "wen", "cor", "dis", "ful", "ing", "lor",
];
const CHINESE: [&str; 40] = [
    "河边", "老师", "村里", "火车", "信件", "桌子", "冬天", "北方", "比赛", "明天", "大桥", "山上",
    "市场", "医生", "身体", "机器", "孩子", "花园", "木船", "朋友", "电影", "城市", "学校", "窗户",
    "工人", "音乐", "报纸", "飞机", "早晨", "晚饭", "历史", "问题", "故事", "声音", "公园", "秋天",
    "颜色", "森林", "海洋", "天空",
];
const CHINESE_FUNCTION: [&str; 16] = [
    "的", "了", "在", "是", "我们", "和", "就", "不", "都", "也", "很", "到", "要", "这个", "因为",
    "他们",
];

struct Random(u64);

impl Random {
    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        list[(self.0 % list.len() as u64) as usize]
    }
}

/// Sentences so random that two texts share no three consecutive words except by chance.
fn sentences(seed: u64, count: u64, zh: bool) -> String {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut text = String::new();
    for _ in 0..count {
        for word in 0..12 {
            if zh {
                text += random.pick(&CHINESE_FUNCTION);
                text += random.pick(&CHINESE);
            } else {
                text += if word == 0 { "" } else { " " };
                text += random.pick(&FUNCTION);
                text += " ";
                (0..2).for_each(|_| text += random.pick(&SYLLABLES));
            }
        }
        text += if zh { "。" } else { ". " };
    }
    text.trim().to_owned()
}

#[derive(Clone)]
struct Article {
    title: String,
    paragraphs: Vec<String>,
}

fn article(seed: u64, zh: bool) -> Article {
    let make = |part: u64| sentences(seed * 31 + part, 3, zh);
    let title = if zh {
        format!("第{seed}个故事")
    } else {
        format!("The story of house number {seed}")
    };
    Article { title, paragraphs: (0..6).map(make).collect() }
}

fn body(article: &Article) -> String {
    article.paragraphs.iter().map(|p| format!("<p>{p}</p>\n")).collect()
}

/// One site's template around an article.
fn page(article: &Article, site: &str, ads: u64) -> String {
    let links: String = (0..12)
        .map(|i| format!("<li><a href='/{site}/{i}?session={ads}'>Section {i} of {site}</a></li>"))
        .collect();
    format!(
        "<!doctype html><html lang=en><head><title>{} - {site}</title></head><body><header class=top><ul class=menu>{links}</ul></header>\
         <div class=ad-box><a href='/buy/{ads}'>Buy number {ads} now, best price, fast delivery</a></div>\
         <div id=content><h1>{}</h1>{}</div>\
         <div class=related><h3>More</h3><ul>{links}</ul></div><footer>Copyright {site}, all rights reserved</footer></body></html>",
        article.title,
        article.title,
        body(article)
    )
}

/// The same article on another site, with table markup and other page names.
fn reskin(article: &Article) -> String {
    format!(
        "<html lang=en><head><title>{}</title></head><body><table><tr><td class=left><a href=/a>Home</a><br><a href=/b>Archive</a><br>\
         <a href=/c>Imprint</a></td><td><h2>{}</h2><div class=story>{}</div></td></tr></table>\
         <div>Printed from our archive | <a href=/t>Terms</a> | <a href=/p>Privacy</a></div></body></html>",
        article.title,
        article.title,
        body(article)
    )
}

struct Set {
    bench: Bench,
    lines: Vec<String>,
    cluster: BTreeMap<String, String>,
}

impl Set {
    fn add(&mut self, cluster: &str, url: &str, bytes: impl AsRef<[u8]>) {
        let id = format!("{}", self.lines.len());
        let path = self.bench.path(&format!("{id}.html"));
        write(&path, bytes);
        self.lines.push(json!({"id": id, "url": url, "path": path}).to_string());
        self.cluster.insert(id, cluster.to_owned());
    }
}

fn articles(set: &mut Set) {
    for seed in 1..=12 {
        let zh = seed % 3 == 0;
        let own = article(seed, zh);
        let name = format!("article {seed}");
        let at = |path: &str| format!("http://paper.example/{path}/{seed}");
        set.add(&name, &at("a"), page(&own, "paper", 1));
        set.add(&name, &at("ads"), page(&own, "paper", 99));
        set.add(&name, &format!("http://copy{seed}.example/x"), reskin(&own));
        let mut cut = own.clone();
        cut.paragraphs.pop();
        set.add(&name, &format!("http://syndicate{seed}.example/x"), reskin(&cut));
        let mut edited = own.clone();
        edited.paragraphs[2].insert_str(0, if zh { "更正：" } else { "Corrected: " });
        set.add(&name, &at("edited"), page(&edited, "paper", 7));
        let wrapped =
            page(&own, "paper", 5).replace(". ", ".\n\n   ").replace("that", "th\u{AD}at");
        set.add(&name, &at("wrapped"), wrapped);
        if zh {
            let page = page(&own, "paper", 3).replace("<head>", "<head><meta charset=gbk>");
            set.add(&name, &at("gb"), GB18030.encode(&page).0);
        }
        // Half of the paragraphs come from another article.
        let mut half = article(seed + 500, zh);
        half.paragraphs.truncate(3);
        half.paragraphs.extend(own.paragraphs.iter().take(3).cloned());
        set.add(&format!("half {seed}"), &at("half"), page(&half, "paper", 1));
    }
}

/// Pages of one template that differ in their numbers, and one page whose date and counter change.
fn stubs(set: &mut Set) {
    for number in [17u64, 230, 4100, 52_000] {
        let stub = Article {
            title: "Spare part".into(),
            paragraphs: vec![format!(
                "This part with the number {number} is made of steel and it is {} mm long. It costs {} coins, and it will be with \
                 you in {} days if you order it before noon. You can send it back to us when it does not fit what you have.",
                number % 97,
                number * 3 % 1009,
                number % 7 + 3
            )],
        };
        set.add(
            &format!("part {number}"),
            &format!("http://shop.example/{number}"),
            page(&stub, "shop", 1),
        );
    }
    // The title is the shop's name; apart from the number there is only text that each of its pages has.
    for number in [3u64, 41, 907] {
        let mut lot = article(88, false);
        lot.title = format!("Lot {number}");
        lot.paragraphs.insert(0, format!("You look at lot {number} of this sale."));
        let page = page(&lot, "sale", 1)
            .replace(&format!("<title>Lot {number}"), "<title>Our sale of old books and maps");
        set.add(&format!("lot {number}"), &format!("http://sale.example/{number}"), page);
    }
    for day in 10..14 {
        let mut page_of_day = article(77, false);
        page_of_day.paragraphs.truncate(2);
        page_of_day.paragraphs.push(format!(
            "This page was last changed on 2026-11-{day} at 14:{}, and it has been read {} times.",
            day * 3,
            day * 1001
        ));
        set.add("log", &format!("http://log.example/?at={day}"), page(&page_of_day, "log", day));
    }
}

#[test]
fn the_same_pages_are_found_and_no_others() {
    let mut set = Set { bench: Bench::new(), lines: Vec::new(), cluster: BTreeMap::new() };
    articles(&mut set);
    stubs(&mut set);
    let input = set.bench.path("input.jsonl");
    write(&input, set.lines.join("\n"));
    let output = crawl()
        .args(["dedup", "--all-matches", "--root"])
        .arg(set.bench.path(""))
        .arg("--data")
        .arg(set.bench.data())
        .stdin(std::fs::File::open(input).unwrap())
        .output()
        .unwrap();
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let pair = |a: &str, b: &str| {
        if a < b { (a.to_owned(), b.to_owned()) } else { (b.to_owned(), a.to_owned()) }
    };
    let mut found = BTreeSet::new();
    for row in json_lines(&output.stdout) {
        for other in row["matches"].as_array().unwrap() {
            found.insert(pair(row["id"].as_str().unwrap(), other["id"].as_str().unwrap()));
        }
    }
    let mut expected = BTreeSet::new();
    for (a, cluster) in &set.cluster {
        for (b, _) in set.cluster.iter().filter(|(b, other)| *other == cluster && *b > a) {
            expected.insert(pair(a, b));
        }
    }
    let named = |pairs: Vec<&(String, String)>| -> Vec<String> {
        pairs
            .iter()
            .map(|(a, b)| format!("{a} ({}) and {b} ({})", set.cluster[a], set.cluster[b]))
            .collect()
    };
    let wrong = named(found.difference(&expected).collect());
    assert!(wrong.is_empty(), "different pages taken for the same: {wrong:#?}");
    let missed = named(expected.difference(&found).collect());
    assert!(
        missed.len() * 50 <= expected.len(),
        "{} of {} missed: {missed:#?}",
        missed.len(),
        expected.len()
    );
}

#[test]
fn a_page_has_one_fingerprint_however_it_is_served() {
    let bench = Bench::new();
    let zh = page(&article(3, true), "paper", 1);
    let ja = "<title>川</title><h1>川の話</h1><p>昨日は天気がよかったので、みんなで川のそばを歩きました。そこには大きな橋があって、\
              橋の上から山がよく見えました。</p><p>それから町の市場へ行って、魚と野菜を買って帰りました。とても楽しい一日でした。</p>";
    let tw = "<title>河</title><h1>河邊的故事</h1><p>昨天天氣很好，所以我們一起去河邊散步，在那裡看見了一座很大的橋，也看見了山上的雪。\
              </p><p>後來我們去了市場，買了魚和菜才回家，大家都說這是很快樂的一天。</p>";
    for (name, page, encoding) in
        [("zh", zh.as_str(), GB18030), ("ja", ja, SHIFT_JIS), ("tw", tw, BIG5)]
    {
        let fingerprint = |bytes: &[u8]| -> Value {
            let path = bench.path("page.html");
            write(&path, bytes);
            json_lines(printed(&["extract", path.to_str().unwrap()]).as_bytes()).remove(0)
        };
        let utf8 = fingerprint(page.as_bytes());
        assert!(utf8["tokens"].as_u64().unwrap() > 20, "{utf8}");
        for declared in [format!("<meta charset={}>", encoding.name()), String::new()] {
            let served = format!("{declared}{page}");
            let (bytes, _, lossy) = encoding.encode(&served);
            assert!(!lossy, "{name}");
            let other = fingerprint(&bytes);
            for key in ["text", "fingerprint", "language"] {
                assert_eq!(utf8[key], other[key], "{name}, {key}, declared: {declared}");
            }
        }
    }
}

#[test]
fn threads_and_lists_are_read_whole() {
    let bench = Bench::new();
    let posts: String = (0..8)
        .map(|i| format!("<div class=post id=p{i}><div class=author>Member {i}</div><div class=message><p>{}</p></div></div>", sentences(900 + i, 3, false)))
        .collect();
    let thread = format!(
        "<html><head><title>A question - Forum</title></head><body><div class=navbar><a href=/>Home</a> <a href=/new>New posts</a></div>\
         <h1>A question</h1><div class=thread>{posts}</div><div class=footer><a href=/terms>Terms</a></div></body></html>"
    );
    let path = bench.path("thread.html");
    write(&path, thread);
    let row = json_lines(printed(&["extract", path.to_str().unwrap()]).as_bytes()).remove(0);
    let kept = row["text"].as_str().unwrap();
    for i in 0..8 {
        assert!(kept.contains(&sentences(900 + i, 3, false)), "post {i} is missing: {kept}");
    }
    assert!(!kept.contains("New posts") && !kept.contains("Terms"), "{kept}");
}

#[test]
fn a_short_text_under_two_names_is_two_pages_for_every_command() {
    let bench = Bench::new();
    // The heading's words are in the text, so only the names differ.
    let text = format!("Our shops in Berlin and Munich. {}", prose(3, 4));
    let folder = bench.path("pages");
    std::fs::create_dir(&folder).unwrap();
    let [one, other] = ["Berlin", "Munich"].map(|town| {
        let path = folder.join(format!("{town}.html"));
        let page = format!("<title>{town}</title><h1>{town}</h1><p>{text}</p>");
        std::fs::write(&path, page).unwrap();
        path.display().to_string()
    });
    let addresses = ["--url", "http://a.example/1", "--url", "http://a.example/2"];
    let said = printed(&[&["explain", &*one, &*other], &addresses[..]].concat());
    assert!(said.contains("text         equal") && said.contains("different pages"), "{said}");
    bench.run(&["pages", &folder.display().to_string()]);
    assert_eq!(bench.run(&["export"]).lines().count(), 2);
}
