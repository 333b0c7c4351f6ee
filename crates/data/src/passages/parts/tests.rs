use hapax_page::comparison::PageText;
use proptest::prelude::*;

use super::super::tests::{directory, directory_of, own};
use super::*;
use crate::decisions::{Action, Decision};
use crate::kind::DecidedBy;

fn found(folder: &tempfile::TempDir, decisions: &Decisions) -> Vec<FoundPart> {
    find_parts(folder.path(), decisions, &Arc::default()).unwrap().unwrap()
}

/// Each part and the page that contains it.
fn pairs(found: &[FoundPart]) -> Vec<(String, String)> {
    let name = |key: &Vec<u8>| String::from_utf8(key.clone()).unwrap();
    found.iter().map(|part| (name(&part.key), name(&part.of))).collect()
}

fn restored(url: &str, of: &str) -> Decisions {
    let mut decisions = Decisions::default();
    let (action, by) = (Action::Restore, DecidedBy::Person);
    let decision = Decision::new(String::new(), action, url.into(), by);
    decisions.add(&Decision { id: Some(1), of: Some(of.into()), ..decision });
    decisions
}

#[test]
fn a_part_is_found_with_its_evidence_unless_a_person_restored_it() {
    let (chapter, rest) = (own("chapter", 200), own("rest", 300));
    let pages = [
        ("http://a.example/chapter", format!("{chapter} {}", own("own", 10))),
        ("http://a.example/book", format!("{rest}\n{chapter}")),
        // A sixth of it is in no other page.
        ("http://a.example/essay", format!("{}\n{}", own("essay", 200), own("more", 40))),
        ("http://b.example/essays", format!("{}\n{}", own("other", 300), own("essay", 200))),
    ];
    let folder = directory(&pages);
    let parts = found(&folder, &Decisions::default());
    let expected = FoundPart {
        key: b"http://a.example/chapter".to_vec(),
        of: b"http://a.example/book".to_vec(),
        containment: [0.952, 0.4],
        evidence: PartEvidence {
            words: 210,
            of_words: 500,
            shared: 200,
            passage_words: 200,
            passage: words::beginning(&chapter),
        },
    };
    assert_eq!(parts, [expected]);
    assert_eq!(found(&folder, &restored(pages[0].0, pages[1].0)), []);
    // The search leaves no file.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn a_page_that_contains_a_part_is_no_part_itself() {
    let (a, b, c) = (own("a", 100), own("b", 60), own("c", 200));
    let pages = [
        ("http://a.example/1", a.clone()),
        ("http://a.example/2", format!("{a} {b}")),
        ("http://b.example/3", format!("{c} {a} {b}")),
    ];
    let kept = |pages: &[(&str, String)]| pairs(&found(&directory(pages), &Decisions::default()));
    let of = |url: &str| (url.to_owned(), "http://b.example/3".to_owned());
    assert_eq!(kept(&pages), [of("http://a.example/1"), of("http://a.example/2")]);
    // The second is a part of the third, but the first is a part of the second only, so it stays.
    let cut = format!("{c} {} {b}", a.split(' ').skip(14).collect::<Vec<_>>().join(" "));
    let pages = [pages[0].clone(), pages[1].clone(), ("http://b.example/3", cut)];
    assert_eq!(kept(&pages), [of("http://a.example/2")]);
}

#[test]
fn boilerplate_of_a_site_and_variants_of_a_product_make_no_parts() {
    let notice = own("notice", 120);
    let mut pages = vec![
        ("http://a.example/1", format!("{} {notice}", own("one", 12))),
        ("http://a.example/2", format!("{} {notice}", own("two", 200))),
        ("http://a.example/3", format!("{} {notice}", own("three", 200))),
    ];
    assert_eq!(found(&directory(&pages), &Decisions::default()), []);
    // Without the third page the notice is a text that two pages share.
    pages.pop();
    assert_eq!(found(&directory(&pages), &Decisions::default()).len(), 1);

    let about = own("about", 200);
    let page = |name: &str, text: String| {
        let title = name.to_owned();
        PageText { title: title.clone(), heading: title, text, ..PageText::default() }
    };
    let variants = |name: &str| {
        let more = format!("{about} {}", own("size", 90));
        let pages = [
            ("http://a.example/navy", page("Tee shirt - Navy", about.clone())),
            ("http://a.example/rust", page(name, more)),
        ];
        found(&directory_of(&pages), &Decisions::default()).len()
    };
    assert_eq!((variants("Tee shirt - Rust"), variants("All our shirts and coats")), (0, 1));
    let with_cells = |part: &str, whole: &str| {
        let page = |cells: &str, text: String| PageText {
            text,
            cells: cells.to_owned(),
            ..PageText::default()
        };
        let pages = [
            ("http://a.example/navy", page(part, about.clone())),
            ("http://a.example/all", page(whole, format!("{about} {}", own("all", 90)))),
        ];
        found(&directory_of(&pages), &Decisions::default()).len()
    };
    assert_eq!((with_cells("12 kg", "14 kg"), with_cells("12 kg", "14 kg\n12 kg")), (0, 1));
}

#[test]
fn a_part_of_very_many_pages_is_a_part_of_the_longest_ones() {
    let part = own("part", 50);
    let pages: Vec<(String, String)> = (0..3 * MAX_WHOLES)
        .map(|at| {
            let url = format!("http://site{at}.example/");
            (url, format!("{part} {}", own(&format!("u{at}x"), 100 + at)))
        })
        .chain([("http://part.example/".to_owned(), part.clone())])
        .collect();
    let pages: Vec<_> = pages.iter().map(|(url, text)| (url.as_str(), text.clone())).collect();
    let parts = pairs(&found(&directory(&pages), &Decisions::default()));
    // All have the whole part; of the longest ones, the shortest is named.
    let longest = format!("http://site{}.example/", 2 * MAX_WHOLES);
    assert_eq!(parts, [("http://part.example/".to_owned(), longest)]);
}

#[test]
fn a_page_whose_end_is_not_stored_is_no_part() {
    let text = own("long", 100);
    let search = |bytes: usize| {
        let pages = [
            ("http://a.example/part", format!("{text}{}", " ".repeat(bytes - text.len()))),
            ("http://a.example/whole", format!("{text} {}", own("more", 100))),
        ];
        found(&directory(&pages), &Decisions::default()).len()
    };
    assert_eq!([search(MAX_TEXT_BYTES - 9), search(MAX_TEXT_BYTES)], [1, 0]);
}

#[test]
fn a_stopped_search_finds_nothing() {
    let folder = directory(&[("http://a.example/1", own("a", 100))]);
    let stop = Arc::new(AtomicBool::new(true));
    assert_eq!(find_parts(folder.path(), &Decisions::default(), &stop).unwrap(), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Each part is in a page that stays; in another order of pages the same parts are found; once they left, no
    /// further page is a part.
    #[test]
    fn parts_depend_on_no_order_and_are_complete(
        pages in prop::collection::vec(prop::collection::vec(0u64..7, 1..6), 2..9),
    ) {
        // One site for each page: removing a page must not change what is boilerplate.
        let pages: Vec<(String, String)> = (0..).zip(&pages).map(|(at, paragraphs)| {
            let text: Vec<String> = paragraphs.iter().map(|p| own(&format!("p{p}x"), 45)).collect();
            (format!("http://site{at}.example/"), format!("{}\n{}", text.join("\n"), own(&format!("u{at}x"), 3)))
        }).collect();
        let search = |pages: &[(String, String)]| {
            let pages: Vec<_> = pages.iter().map(|(url, text)| (url.as_str(), text.clone())).collect();
            let mut pairs = pairs(&found(&directory(&pages), &Decisions::default()));
            pairs.sort();
            pairs
        };
        let parts = search(&pages);
        prop_assert!(parts.iter().all(|(_, of)| parts.iter().all(|(part, _)| part != of)));
        let mut backwards = pages.clone();
        backwards.reverse();
        prop_assert_eq!(&parts, &search(&backwards));
        let rest: Vec<_> =
            pages.iter().filter(|(url, _)| parts.iter().all(|(part, _)| part != url)).cloned().collect();
        prop_assert_eq!(search(&rest), Vec::new());
    }
}
