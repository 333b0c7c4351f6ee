use std::collections::HashMap;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use url::Url;

use super::*;
use crate::{DiskFrontier, Entry, Frontier, Lease, Next, Options, Pushed};

fn url(path: impl std::fmt::Display) -> Url {
    Url::parse(&format!("http://a.example/{path}")).unwrap()
}

fn open(folder: &std::path::Path) -> DiskFrontier {
    let (delay, address_delay) = (Duration::ZERO, Duration::ZERO);
    let options = Options { delay, address_delay, max_queued_per_host: 1000, ..Options::default() };
    DiskFrontier::open(folder, options).unwrap()
}

fn link(frontier: &DiskFrontier, from: &Url, to: &Url) -> Pushed {
    frontier.push_link(Entry::page(to.clone(), 1), Some(from)).unwrap()
}

fn lease(frontier: &DiskFrontier) -> Option<Box<Lease>> {
    match frontier.next(Instant::now() + Duration::from_secs(9)).unwrap() {
        Next::Lease(lease) => Some(lease),
        _ => None,
    }
}

/// Leases the only queued URL.
fn inlinks(frontier: &DiskFrontier) -> Vec<String> {
    let lease = lease(frontier).unwrap();
    let inlinks = frontier.inlinks(&lease.entry);
    frontier.done(*lease, Duration::ZERO, Instant::now());
    inlinks
}

fn urls(paths: &[&str]) -> Vec<String> {
    paths.iter().map(|path| url(path).to_string()).collect()
}

#[test]
fn the_first_inlinks_of_a_url_are_kept_and_the_first_one_over_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    for (restart, expected) in [(false, &["1", "2", "3"][..]), (true, &["1"])] {
        let mut frontier = open(folder.path());
        let to = url(format!("to-{restart}"));
        assert_eq!(link(&frontier, &url(1), &to), Pushed::New);
        for from in [1, 2, 2, 3, 4] {
            assert_eq!(link(&frontier, &url(from), &to), Pushed::Known);
        }
        frontier.commit(b"").unwrap();
        if restart {
            drop(frontier);
            frontier = open(folder.path());
        }
        assert_eq!(inlinks(&frontier), urls(expected));
        frontier.commit(b"").unwrap();
        assert!(frontier.has_all_inlinks().unwrap());
    }
}

#[test]
fn links_to_itself_are_no_inlinks_and_seeds_have_none() {
    let folder = tempfile::tempdir().unwrap();
    let frontier = open(folder.path());
    link(&frontier, &url(1), &url(1));
    assert!(inlinks(&frontier).is_empty());
    frontier.push(Entry::page(url(2), 0)).unwrap();
    link(&frontier, &url(1), &url(2));
    assert!(inlinks(&frontier).is_empty(), "a person named it");
    frontier.push(Entry::page(url(3), 0).from_page(&url("moved"))).unwrap();
    assert_eq!(inlinks(&frontier), urls(&["moved"]));
}

#[test]
fn an_entry_with_an_inlink_is_decoded_as_it_was_and_one_of_before_has_none() {
    let entry = Entry::page(url("to"), 3).from_page(&url("from?a=b"));
    assert_eq!(Entry::decode(&entry.encode()), Some(entry));
    let before = [&[3, 0, 0][..], b"http://a.example/to"].concat();
    assert_eq!(Entry::decode(&before), Some(Entry::page(url("to"), 3)));
}

#[test]
fn long_further_inlinks_are_not_kept() {
    let (mut recent, to) = (RecentInlinks::default(), url("to"));
    let key = url_key(to.as_str());
    let mut entry = Entry::page(to, 1);
    let long = url("x".repeat(MAX_BYTES));
    recent.begin(key, &mut entry, Some(&long));
    recent.add(key, &url("y".repeat(MAX_BYTES)));
    recent.add(key, &url("short"));
    assert_eq!(recent.of(&entry), [long.as_str(), url("short").as_str()]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn inlinks_are_the_first_distinct_referrers(
        steps in proptest::collection::vec((0u8..12, 0u8..12, any::<bool>()), 1..200),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let frontier = open(folder.path());
        let mut expected: HashMap<String, Vec<String>> = HashMap::new();
        for (from, to, commit) in steps {
            let (from, to) = (url(from), url(to));
            let is_new = link(&frontier, &from, &to) == Pushed::New;
            let list = expected.entry(to.to_string()).or_default();
            let from = (from != to).then(|| from.to_string());
            let is_first = list.is_empty() && !is_new;
            if let Some(from) = from.filter(|from| !is_first && !list.contains(from) && list.len() < MAX_INLINKS) {
                list.push(from);
            }
            if commit {
                frontier.commit(b"").unwrap();
            }
        }
        for _ in 0..expected.len() {
            let lease = lease(&frontier).unwrap();
            let list = expected.remove(lease.entry.url.as_str()).unwrap();
            prop_assert_eq!(frontier.inlinks(&lease.entry), list);
            frontier.done(*lease, Duration::ZERO, Instant::now());
        }
    }
}
