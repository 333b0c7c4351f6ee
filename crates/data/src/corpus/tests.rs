use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use hapax_extract::jieba;
use hapax_index::{Index, Page};
use proptest::prelude::*;

use super::*;
use crate::export_filter::PageFilter;
use crate::kind::DuplicateKind;
use crate::lines::{Discarded, DiscardedOf};
use crate::{Export, ExportedPage};

const FETCHED: &str = "2026-03-01T00:00:30Z";

fn url(page: u64) -> String {
    format!("http://host{}.example/{page}", page % 4)
}

/// The pages that a directory keeps, and those that it discarded: number, number of the other page, and second.
type Dir = (BTreeSet<u64>, BTreeMap<u64, (u64, u64)>);

/// Writes a directory without tables.
fn written(dir: &Dir) -> (tempfile::TempDir, CorpusDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut index = Index::open(&folder.path().join("index"), jieba).unwrap();
    for (id, page) in (0..).zip(&dir.0) {
        let (own, text) = (url(*page), format!("Page {page}"));
        let page = Page { id, url: &own, text: &text, fetched: FETCHED, ..Page::default() };
        index.add(&page).unwrap();
        // Several segments, with pages that were deleted since.
        let gone = (url(100 + id), 100 + id);
        index.add(&Page { id: gone.1, url: &gone.0, ..page }).unwrap();
        if id % 2 == 1 {
            index.commit().unwrap();
        }
    }
    (0..dir.0.len() as u64).for_each(|id| index.delete(100 + id));
    index.commit().unwrap();
    let mut log = String::new();
    for (page, (of, second)) in &dir.1 {
        let of = DiscardedOf { id: Some(500), url: url(*of), warc: None };
        let time = format!("2026-03-01T00:00:{second:02}Z");
        let mut line = Discarded::new(time, 1000 + page, url(*page), DuplicateKind::Near, of);
        line.host = format!("host{}.example", page % 4);
        writeln!(log, "{}", serde_json::to_string(&line).unwrap()).unwrap();
    }
    std::fs::write(folder.path().join("discarded.jsonl"), log).unwrap();
    let searcher = Searcher::open(&folder.path().join("index"), jieba).unwrap();
    let dir = CorpusDir::open(folder.path(), searcher).unwrap();
    (folder, dir)
}

fn exported(dirs: &[Dir], filter: PageFilter) -> Vec<ExportedPage> {
    let (_folders, dirs): (Vec<_>, Vec<_>) = dirs.iter().map(written).unzip();
    let corpus = Corpus::new(&dirs).unwrap();
    let export = Export::new(&corpus, filter, false).unwrap();
    let mut pages = Vec::new();
    let take = |page| {
        pages.push(page);
        Ok::<_, crate::Error>(())
    };
    export.pages(|_| (), take).unwrap();
    pages
}

fn dir() -> impl Strategy<Value = Dir> {
    let discarded = proptest::collection::btree_map(0u64..16, (0u64..16, 0u64..60), 0..8);
    (proptest::collection::btree_set(0u64..16, 0..6), discarded)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn several_directories_are_one_corpus_by_url(dirs in proptest::collection::vec(dir(), 2..4)) {
        let pages = exported(&dirs, PageFilter::default());
        let all: BTreeSet<u64> = dirs.iter().flat_map(|dir| dir.0.iter().copied()).collect();
        let urls: Vec<String> = pages.iter().map(|page| page.url.clone()).collect();
        let distinct: BTreeSet<String> = urls.iter().cloned().collect();
        prop_assert_eq!(urls.len(), distinct.len(), "no page twice");
        prop_assert_eq!(distinct, all.iter().map(|page| url(*page)).collect());
        for page in &all {
            let found = pages.iter().find(|found| found.url == url(*page)).unwrap();
            let lines: Vec<(u64, u64)> = dirs
                .iter()
                .flat_map(|dir| &dir.1)
                .filter(|(copy, (of, _))| of == page && !all.contains(copy))
                .map(|(copy, (_, second))| (*copy, *second))
                .collect();
            let copies: BTreeSet<u64> = lines.iter().map(|(copy, _)| *copy).collect();
            let hosts: BTreeSet<u64> = copies.iter().chain([page]).map(|page| page % 4).collect();
            let seconds = || lines.iter().map(|(_, second)| *second).chain([30]);
            let at = |second: Option<u64>| format!("2026-03-01T00:00:{:02}Z", second.unwrap());
            prop_assert_eq!(found.sighted.copies, copies.len() as u64);
            prop_assert_eq!(found.sighted.hosts, hosts.len() as u64);
            prop_assert_eq!(&found.sighted.first_seen, &at(seconds().min()));
            prop_assert_eq!(&found.sighted.last_seen, &at(seconds().max()));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn an_export_continues_after_any_page(dirs in proptest::collection::vec(dir(), 1..4)) {
        let (_folders, dirs): (Vec<_>, Vec<_>) = dirs.iter().map(written).unzip();
        let corpus = Corpus::new(&dirs).unwrap();
        let export = Export::new(&corpus, PageFilter::default(), false).unwrap();
        let from = |skip| {
            let (mut pages, mut read) = (Vec::new(), skip);
            let take = |before, page: ExportedPage| {
                pages.push((before, page.url));
                Ok::<_, crate::Error>(())
            };
            export.pages_from(skip, |now| read = now, take).unwrap();
            (pages, read)
        };
        let (all, read) = from(0);
        for skip in 0..=corpus.len() + 1 {
            let rest: Vec<_> = all.iter().filter(|(before, _)| *before >= skip).cloned().collect();
            prop_assert_eq!(from(skip), (rest, read.max(skip)), "{}", skip);
        }
    }
}

#[test]
fn a_page_that_its_own_worker_discarded_later_passes_its_copies_on() {
    let keeps = |pages: &[u64]| pages.iter().copied().collect::<BTreeSet<u64>>();
    let first: Dir = (keeps(&[1]), BTreeMap::new());
    // The second worker kept 2, of which the third one discarded 3; then it discarded 2 for 1.
    let second: Dir = (keeps(&[]), [(2, (1, 10))].into());
    let third: Dir = (keeps(&[]), [(3, (2, 20))].into());
    let (_folders, mut dirs): (Vec<_>, Vec<_>) =
        [&first, &second, &third].map(written).into_iter().unzip();
    // The second directory has tables, by which a URL is found.
    let store = hapax_dedup::Store::in_memory(hapax_dedup::Options::default()).unwrap();
    let document = |key: &'static [u8]| hapax_dedup::Document {
        tokens: 9,
        ..hapax_dedup::Document::new(key, hapax_dedup::Fingerprint::from_bits(7))
    };
    let one = store.insert(&document(b"elsewhere http://host1.example/1"), None).unwrap();
    store.insert(&document(b"http://host2.example/2"), Some(one)).unwrap();
    dirs[1].store = Some(store);
    let corpus = Corpus::new(&dirs).unwrap();
    assert_eq!(corpus.kept_url(&url(2)).unwrap(), Some(url(1)));
    assert_eq!(corpus.kept_url(&url(9)).unwrap(), None);
    let export = Export::new(&corpus, PageFilter::default(), false).unwrap();
    let mut copies = Vec::new();
    let take = |page: ExportedPage| {
        copies.push((page.url, page.sighted.copies, page.stored.data));
        Ok::<_, crate::Error>(())
    };
    assert!(export.pages(|_| (), take).unwrap());
    assert_eq!(copies, [(url(1), 2, Some(dirs[0].data.display().to_string()))]);
}

#[test]
fn a_filter_by_copies_counts_those_of_all_directories() {
    let first: Dir = ([1, 2].into(), [(5, (1, 1))].into());
    let second: Dir = ([3].into(), [(6, (1, 1)), (7, (3, 1))].into());
    let least = |min_copies| {
        let filter = PageFilter { min_copies, ..PageFilter::default() };
        let pages = exported(&[first.clone(), second.clone()], filter);
        pages.iter().map(|page| page.url.clone()).collect::<Vec<_>>()
    };
    assert_eq!(least(0), [url(1), url(2), url(3)]);
    assert_eq!(least(1), [url(1), url(3)]);
    assert_eq!(least(2), [url(1)]);
    assert_eq!(least(3), [""; 0]);
}
