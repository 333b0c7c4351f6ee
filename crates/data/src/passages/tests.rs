use std::sync::Arc;

use hapax_dedup::{Document, Fingerprint, Options as StoreOptions, Store};
use hapax_page::comparison::{Compared, PageText};

use super::*;
use hapax_page::texts::{PackedText, TextStore};

/// A data directory with these pages: key and text.
pub(super) fn directory(pages: &[(&str, String)]) -> tempfile::TempDir {
    let page = |text: &String| PageText { text: text.clone(), ..PageText::default() };
    let pages: Vec<_> = pages.iter().map(|(key, text)| (*key, page(text))).collect();
    directory_of(&pages)
}

pub(super) fn directory_of(pages: &[(&str, PageText)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let options = StoreOptions { recipe: "test".into(), ..StoreOptions::default() };
    let store = Store::open(folder.path().join("dedup"), options).unwrap();
    let texts = TextStore::open(&folder.path().join("texts"));
    for (number, (key, page)) in (1u64..).zip(pages) {
        let bits = Fingerprint::from_bits(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let document = Document { tokens: 99, ..Document::new(key.as_bytes(), bits) };
        let id = store.insert(&document, None).unwrap();
        let compared = Arc::new(Compared::new(page.clone()));
        texts.insert(id, key.as_bytes(), PackedText::of(compared.page()), &compared);
    }
    texts.commit().unwrap();
    store.commit(b"").unwrap();
    folder
}

/// A sentence of words that no other seed has.
pub(super) fn own(seed: &str, words: usize) -> String {
    let words: Vec<String> = (0..words).map(|number| format!("{seed}{number}")).collect();
    words.join(" ")
}

fn lines(folder: &tempfile::TempDir, options: PassageOptions) -> (Vec<PassageLine>, PassageTotals) {
    let passages = Passages::find(folder.path(), options).unwrap();
    let mut lines = Vec::new();
    let totals = passages
        .lines(
            |_| true,
            |line| {
                lines.push(line);
                Ok::<_, Error>(())
            },
        )
        .unwrap();
    (lines, totals)
}

#[test]
fn copied_paragraphs_boilerplate_near_pairs_and_parts_are_told_apart() {
    let (notice, essay) = (own("notice", 45), own("essay", 60));
    let page =
        |own_words: &str, middle: &str| format!("{}\n{middle}\n{notice}", own(own_words, 50));
    let changed = essay.replace("essay20 ", "other ").replace("essay40 ", "");
    let mut pages = vec![
        ("http://a.example/1", page("one", &essay)),
        ("http://a.example/2", page("two", "")),
        ("http://a.example/3", page("three", "")),
        ("http://b.example/copy", format!("{}\n{}", own("four", 50), essay.to_uppercase())),
        ("http://c.example/near", format!("{}\n{changed}", own("five", 50))),
        ("http://d.example/part", own("four", 50)),
    ];
    let folder = directory(&pages);
    let (found, totals) = lines(&folder, PassageOptions::default());
    let of = |kind| found.iter().filter(|line| line.kind == kind).collect::<Vec<_>>();

    let copied = of(PassageKind::Copied);
    let essays = copied.iter().find(|line| line.words == 60).unwrap();
    assert_eq!((essays.pages, essays.sites, essays.places), (2, 2, 2));
    let places: Vec<_> = essays.listed.iter().map(|at| (&*at.url, at.word, at.line)).collect();
    assert_eq!(places, [("http://a.example/1", 50, 2), ("http://b.example/copy", 50, 2)]);
    assert!(essays.text.starts_with("essay0 essay1 "));

    let boilerplate = of(PassageKind::Boilerplate);
    assert_eq!(boilerplate.len(), 1);
    assert_eq!((boilerplate[0].words, boilerplate[0].pages), (45, 3));
    assert_eq!(boilerplate[0].site, Some(("a.example".into(), 3)));

    let near = of(PassageKind::Near);
    assert_eq!(near.len(), 2, "{near:?}");
    assert!(near.iter().all(|line| line.listed[1].url == "http://c.example/near"));
    assert!(near.iter().all(|line| line.similarity > 0.96 && line.similarity < 1.0));

    let part = of(PassageKind::Part);
    assert_eq!(part.len(), 1);
    let urls: Vec<_> = part[0].listed.iter().map(|place| &*place.url).collect();
    assert_eq!(urls, ["http://d.example/part", "http://b.example/copy"]);
    assert_eq!(part[0].similarity, 1.0);

    assert_eq!((totals.pages, totals.sources.texts, totals.sources.none), (6, 6, 0));
    assert_eq!((totals.near, totals.part, totals.boilerplate), (2, 1, 1));
    let names = std::fs::read_dir(folder.path()).unwrap();
    assert_eq!(names.count(), 2, "no temporary file remains");

    // On a fourth page of the site without the essay nothing changes for the essay.
    pages.push(("http://a.example/4", page("six", "")));
    let (more, _) = lines(&directory(&pages), PassageOptions::default());
    assert_eq!(
        more.iter().filter(|line| line.words == 60 && line.kind == PassageKind::Copied).count(),
        1
    );
}

#[test]
fn characters_count_in_scripts_without_spaces() {
    let text: String = (0..45).filter_map(|at| char::from_u32(0x4e00 + at)).collect();
    let pages = [
        ("http://a.example/", format!("{text}。{}", own("a", 30))),
        ("http://b.example/", format!("{} {text}", own("b", 30))),
    ];
    let (found, _) = lines(&directory(&pages), PassageOptions::default());
    assert_eq!((found[0].words, found[0].kind), (45, PassageKind::Copied));
    let (none, _) =
        lines(&directory(&pages), PassageOptions { min_words: 46, ..PassageOptions::default() });
    assert_eq!(none, []);
}

#[test]
fn hostile_texts_end_within_limits_and_the_order_is_the_same_each_time() {
    let pages = [
        ("http://a.example/word", "word ".repeat(50_000)),
        ("http://b.example/word", format!("start {}", "word ".repeat(40_000))),
        ("http://a.example/lines", "x\n".repeat(100_000)),
        ("http://b.example/lines", "x\ny\n".repeat(60_000)),
        ("http://c.example/empty", String::new()),
        ("no address", "\u{0}\u{202e}\n\n - \u{feff}".repeat(1000)),
    ];
    let folder = directory(&pages);
    let options = PassageOptions { places: 3, ..PassageOptions::default() };
    let (found, totals) = lines(&folder, options);
    assert!(totals.repeated_anchors > 0);
    assert!(!found.is_empty() && found.iter().all(|line| line.listed.len() <= 3));
    assert_eq!(lines(&folder, options).0, found);
}

#[test]
fn lines_beyond_the_limit_are_counted() {
    let pages: Vec<(String, String)> = (0..6)
        .map(|at| (format!("http://{at}.example/"), own(&format!("p{}x", at / 2), 50)))
        .collect();
    let pages: Vec<_> = pages.iter().map(|(url, text)| (url.as_str(), text.clone())).collect();
    let (found, totals) =
        lines(&directory(&pages), PassageOptions { lines: 2, ..PassageOptions::default() });
    assert_eq!((found.len(), totals.copied, totals.part), (2, 3, 3));
}

#[test]
fn a_folder_without_a_store_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let error = Passages::find(folder.path(), PassageOptions::default()).unwrap_err();
    assert!(error.to_string().contains("no kept pages"), "{error}");
}
