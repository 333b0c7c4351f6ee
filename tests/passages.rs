//! `duplicates passages` on stored pages and on crawls.

use crate::helpers::{paragraph, stored};
use crate::support::{Bench, code, crawl, json_lines, text};

fn listed(bench: &Bench, arguments: &[&str]) -> Vec<serde_json::Value> {
    json_lines(bench.run(arguments).as_bytes())
}

/// English of `words` words without repeated phrases: a stopword, then an invented word.
fn prose(seed: u64, words: u64) -> String {
    const STOPWORDS: [&str; 16] = [
        "the", "of", "and", "in", "that", "was", "for", "with", "as", "his", "on", "at", "by",
        "had", "not", "are",
    ];
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut pick = |limit: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % limit
    };
    let sentence = |text: String, at: u64| match at % 24 {
        23 => format!("{text}. "),
        _ => format!("{text} "),
    };
    (0..words)
        .map(|at| match at % 2 {
            0 => sentence(STOPWORDS[pick(16) as usize].to_owned(), at),
            _ => sentence(
                format!(
                    "{}{}",
                    ["ka", "mo", "ri", "tel"][pick(4) as usize],
                    ["ban", "dor", "lin", "sam", "vek"][pick(5) as usize]
                ) + ["", "er", "ing", "ly"][pick(4) as usize],
                at,
            ),
        })
        .collect()
}

/// Two sites that share a paragraph; a notice on one of them; a page that is a part of another.
fn pages() -> Vec<(&'static str, String)> {
    let notice = paragraph(&prose(99, 60));
    let essay = prose(50, 100);
    let mut changed: Vec<&str> = essay.split(' ').collect();
    [changed[40], changed[70]] = ["vast", "vast"];
    let changed = changed.join(" ");
    let page = |seed: u64, more: &str| format!("{}{more}", paragraph(&prose(seed, 300)));
    vec![
        ("http://a.example/1", page(1, &format!("{}{notice}", paragraph(&essay)))),
        ("http://a.example/2", page(2, &notice)),
        ("http://a.example/3", page(3, &notice)),
        ("http://b.example/copy", page(4, &paragraph(&essay))),
        ("http://c.example/near", page(5, &paragraph(&changed))),
        ("http://d.example/long", page(6, &paragraph(&prose(7, 900)))),
        ("http://e.example/short", paragraph(&prose(6, 300))),
    ]
}

#[test]
fn passages_of_kept_pages_are_listed_by_kind() {
    let bench = Bench::new();
    stored(&bench, &pages(), &[]);
    let rows = listed(&bench, &["duplicates", "passages", "--json"]);
    let of = |kind: &str| {
        let rows = rows.iter().filter(|row| row["kind"] == kind);
        rows.map(|row| {
            let places = row["where"].as_array().unwrap();
            let urls = places.iter().map(|place| place["url"].as_str().unwrap().to_owned());
            (row, urls.collect::<Vec<_>>())
        })
        .collect::<Vec<_>>()
    };
    let copied = of("copied");
    assert!(
        copied.iter().any(|(row, urls)| {
            *urls == ["http://a.example/1", "http://b.example/copy"] && row["sites"] == 2
        }),
        "{copied:?}"
    );
    let near = of("near");
    let is_near = |row: &serde_json::Value| row["words"] == 100 && row["similarity"] == 0.98;
    let found =
        near.iter().filter(|(row, urls)| is_near(row) && urls[1] == "http://c.example/near");
    assert_eq!(found.count(), 2, "{near:?}");
    let boilerplate = of("boilerplate");
    assert_eq!(boilerplate.len(), 1, "{boilerplate:?}");
    assert_eq!(boilerplate[0].0["pages"], 3);
    assert_eq!(boilerplate[0].0["site"], serde_json::json!(["a.example", 3]));
    let parts = of("part");
    assert_eq!(parts.len(), 1, "{parts:?}");
    assert_eq!(parts[0].1, ["http://e.example/short", "http://d.example/long"]);

    // A person sees the same passages, and how many there are.
    let shown = bench.run(&["duplicates", "passages", "--limit", "1"]);
    let count = format!("1 of {}: {} copied, 1 boilerplate", rows.len(), copied.len());
    assert!(shown.contains(&count), "{shown}");
    assert!(shown.contains("Searched 7 pages with"), "{shown}");
    let only = listed(&bench, &["duplicates", "passages", "--kind", "part", "--json"]);
    assert_eq!(only, [parts[0].0.clone()]);
    let table = bench.run(&["duplicates", "passages", "--kind", "boilerplate", "--csv"]);
    assert_eq!(table.lines().count(), 1 + 3, "{table}");
    assert!(table.starts_with("passage,kind,words,pages,sites,similarity,id,url,line,word,text"));

    // Without texts/ the index has the texts. No file is left behind.
    let names = |bench: &Bench| {
        let entries = std::fs::read_dir(bench.data()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    std::fs::remove_dir_all(bench.data().join("texts")).unwrap();
    let before = names(&bench);
    let shown = bench.run(&["duplicates", "passages"]);
    assert!(shown.contains("The texts of 7 pages came from the index."), "{shown}");
    assert!(shown.contains("copied"), "{shown}");
    assert_eq!(names(&bench), before);
}

#[test]
fn passages_of_a_folder_without_a_crawl_are_refused() {
    let bench = Bench::new();
    let run = |arguments: &[&str]| {
        let mut command = crawl();
        command.args(["duplicates", "passages"]).args(arguments);
        command.arg("--data").arg(bench.data()).output().unwrap()
    };
    assert_eq!(code(&run(&[])), 1);
    let output = run(&["--min-words", "7"]);
    assert_eq!(code(&output), 1);
    assert!(text(&output.stderr).contains("8..=10000"), "{}", text(&output.stderr));
    stored(&bench, &[], &[]);
    let output = run(&["--json"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert!(json_lines(&output.stdout).is_empty());
}

#[test]
fn near_misses_among_kept_pages_are_listed() {
    let bench = Bench::new();
    let mut pages = pages();
    // Two pages that share two thirds of their text, and a page of three words.
    pages.push(("http://f.example/1", paragraph(&format!("{}{}", prose(30, 400), prose(31, 200)))));
    pages.push(("http://g.example/2", paragraph(&format!("{}{}", prose(30, 400), prose(32, 200)))));
    pages.push(("http://h.example/thin", paragraph("Closed for repairs.")));
    stored(&bench, &pages, &["--similarity", "0.95"]);
    let kept = bench.kept();
    let rows = listed(&bench, &["duplicates", "closest", "--json"]);
    let of = |kind: &str| rows.iter().filter(|row| row["kind"] == kind).collect::<Vec<_>>();
    // Each kept page has a line; the most similar pair comes first.
    let closest = of("closest");
    assert_eq!(closest.len(), kept.len());
    assert_eq!(closest[0]["url"], "http://f.example/1", "{closest:?}");
    assert_eq!(closest[0]["closest"]["url"], "http://g.example/2");
    let similarity = closest[0]["closest"]["similarity"].as_f64().unwrap();
    assert!((0.3..0.95).contains(&similarity), "{similarity}");
    assert_eq!(closest[1]["closest"]["similarity"], similarity);
    let thin = of("thin");
    assert_eq!(thin.len(), 1, "{thin:?}");
    assert_eq!(thin[0]["url"], "http://h.example/thin");
    // The three pages of a.example have the title T; other sites have one page.
    let titles = of("title");
    assert_eq!(titles.len(), 1, "{titles:?}");
    assert_eq!((titles[0]["text"].as_str(), titles[0]["pages"].as_u64()), (Some("T"), Some(3)));

    let near = ["duplicates", "closest", "--kind", "closest", "--min-similarity", "0.3"];
    let shown = bench.run(&near);
    assert!(shown.starts_with("closest  0."), "{shown}");
    assert!(shown.contains("http://g.example/2"), "{shown}");
    let table = bench.run(&["duplicates", "closest", "--csv"]);
    assert_eq!(table.lines().count(), 1 + kept.len() + 1 + 3, "{table}");
}
