use proptest::prelude::*;
use url::Url;

use super::*;
use crate::{DiskFrontier, Entry, Frontier, Options, Pushed};

fn url(path: impl std::fmt::Display) -> Url {
    Url::parse(&format!("http://a.example/{path}")).unwrap()
}

fn open(folder: &std::path::Path) -> DiskFrontier {
    DiskFrontier::open(folder, Options::default()).unwrap()
}

fn link(frontier: &DiskFrontier, from: &Url, to: &Url) -> Pushed {
    frontier.push_link(Entry::page(to.clone(), 1), Some(from)).unwrap()
}

#[test]
fn the_first_inlinks_of_a_url_are_kept_before_and_after_commits() {
    let folder = tempfile::tempdir().unwrap();
    let frontier = open(folder.path());
    let to = url("to");
    assert_eq!(link(&frontier, &url(0), &to), Pushed::New);
    for from in [0, 1] {
        assert_eq!(link(&frontier, &url(from), &to), Pushed::Known);
    }
    let expected = |count: usize| (0..count).map(|n| url(n).to_string()).collect::<Vec<_>>();
    assert_eq!(frontier.inlinks(to.as_str()).unwrap(), expected(2));
    frontier.commit(b"").unwrap();
    assert_eq!(frontier.inlinks(to.as_str()).unwrap(), expected(2));
    for from in [1, 2, 3] {
        link(&frontier, &url(from), &to);
    }
    assert_eq!(frontier.inlinks(to.as_str()).unwrap(), expected(MAX_INLINKS));
    frontier.commit(b"").unwrap();
    link(&frontier, &url(9), &to);
    assert!(!frontier.is_dirty(), "a URL with enough inlinks costs no write");
    drop(frontier);
    let frontier = open(folder.path());
    assert!(frontier.has_all_inlinks().unwrap());
    assert_eq!(frontier.inlinks(to.as_str()).unwrap(), expected(MAX_INLINKS));
    assert!(frontier.inlinks("http://a.example/other").unwrap().is_empty());
}

#[test]
fn links_to_itself_and_dropped_links_are_no_inlinks() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { max_queued_per_host: 1, ..Options::default() };
    let frontier = DiskFrontier::open(folder.path(), options).unwrap();
    link(&frontier, &url(1), &url(1));
    assert!(frontier.inlinks(url(1).as_str()).unwrap().is_empty());
    assert_eq!(link(&frontier, &url(1), &url(2)), Pushed::Full);
    assert!(frontier.inlinks(url(2).as_str()).unwrap().is_empty());
    frontier.linked(&url(1), &url("moved"));
    assert_eq!(frontier.inlinks(url(1).as_str()).unwrap(), [url("moved").as_str()]);
}

#[test]
fn inlinks_between_two_commits_are_limited() {
    let (mut filter, mut new) = (InlinkFilter::default(), NewInlinks::default());
    for key in 0..MAX_CHANGED as u128 + 10 {
        filter.add(&mut new, key, &url("from"));
    }
    assert_eq!(new.rows.len(), MAX_CHANGED);
    // URLs that have a row still get further inlinks.
    filter.add(&mut new, 5, &url("other"));
    assert_eq!(new.rows[&5].length, 2);
}

#[test]
fn a_frontier_of_an_earlier_version_gets_its_inlinks_from_the_archive() {
    let folder = tempfile::tempdir().unwrap();
    let frontier = open(folder.path());
    frontier.push(Entry::page(url("to"), 1)).unwrap();
    frontier.commit(b"payload").unwrap();
    drop(frontier);
    crate::disk::Disk::open(&folder.path().join("frontier.redb")).unwrap().forget_all_inlinks();
    let frontier = open(folder.path());
    assert!(!frontier.has_all_inlinks().unwrap());
    assert!(frontier.inlinks(url("to").as_str()).unwrap().is_empty());
    frontier.linked(&url("to"), &url("from"));
    frontier.complete_inlinks(false).unwrap();
    assert!(!frontier.has_all_inlinks().unwrap(), "a killed upgrade begins again");
    frontier.complete_inlinks(true).unwrap();
    drop(frontier);
    let frontier = open(folder.path());
    assert!(frontier.has_all_inlinks().unwrap());
    assert_eq!(frontier.inlinks(url("to").as_str()).unwrap(), [url("from").as_str()]);
    assert_eq!(frontier.payload().unwrap(), b"payload");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn inlinks_are_the_first_distinct_referrers(
        steps in proptest::collection::vec((0u8..12, 0u8..12, 0u8..8), 1..200),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut frontier = open(folder.path());
        let mut expected: BTreeMap<u8, Vec<String>> = BTreeMap::new();
        for (from, to, then) in steps {
            link(&frontier, &url(from), &url(to));
            let list = expected.entry(to).or_default();
            let from = (from != to).then(|| url(from).to_string());
            if let Some(from) = from.filter(|from| list.len() < MAX_INLINKS && !list.contains(from)) {
                list.push(from);
            }
            match then {
                0 => frontier.commit(b"").unwrap(),
                1 => {
                    frontier.commit(b"").unwrap();
                    drop(frontier);
                    frontier = open(folder.path());
                }
                _ => {}
            }
        }
        for (to, list) in expected {
            prop_assert_eq!(frontier.inlinks(url(to).as_str()).unwrap(), list);
        }
    }
}
