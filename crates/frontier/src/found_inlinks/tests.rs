use url::Url;

use super::*;
use crate::{DiskFrontier, Entry, Frontier, Options};

fn url(path: impl std::fmt::Display) -> Url {
    Url::parse(&format!("http://a.example/{path}")).unwrap()
}

#[test]
fn a_frontier_of_an_earlier_version_gets_its_inlinks_from_the_archive() {
    let folder = tempfile::tempdir().unwrap();
    let open = || DiskFrontier::open(folder.path(), Options::default()).unwrap();
    let frontier = open();
    frontier.push(Entry::page(url("to"), 1)).unwrap();
    frontier.commit(b"payload").unwrap();
    drop(frontier);
    crate::disk::Disk::open(&folder.path().join("frontier.redb")).unwrap().forget_all_inlinks();
    let frontier = open();
    assert!(!frontier.has_all_inlinks().unwrap());
    assert!(frontier.found_inlinks(url("to").as_str()).unwrap().is_empty());
    let mut found = FoundInlinks::default();
    for from in ["to", "1", "2", "1", "3", "4"] {
        found.add(&url("to"), &url(from));
    }
    frontier.add_inlinks(&found, false).unwrap();
    assert!(!frontier.has_all_inlinks().unwrap());
    frontier.add_inlinks(&found, true).unwrap();
    drop(frontier);
    let frontier = open();
    assert!(frontier.has_all_inlinks().unwrap());
    let expected = [1, 2, 3].map(|path| url(path).to_string());
    assert_eq!(frontier.found_inlinks(url("to").as_str()).unwrap(), expected);
    assert_eq!(frontier.payload().unwrap(), b"payload");
}
