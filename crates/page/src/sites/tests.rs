use std::fs;

use hapax_dedup::mix64;
use proptest::prelude::*;

use super::*;

fn lines(from: u64, to: u64) -> Vec<u64> {
    (from..to).map(mix64).collect()
}

fn counted(store: &SiteStore, site: u64) -> Vec<u64> {
    (0..40).map(|line| store.pages_with(site, mix64(line))).collect()
}

#[test]
fn counts_are_found_before_and_after_a_commit_and_an_open() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("sites");
    let mut store = SiteStore::open(&folder, 0, true);
    assert_eq!(store.commit().unwrap(), 0, "nothing to write");
    assert!(!folder.exists());
    store.add(1, &lines(0, 10));
    store.add(1, &lines(5, 15));
    store.add(2, &lines(0, 3));
    assert_eq!((store.pages_with(1, mix64(7)), store.pages_with(2, mix64(7))), (2, 0));
    assert_eq!(store.commit().unwrap(), 1);
    store.remove(1, &lines(0, 10));
    assert_eq!(store.commit().unwrap(), 2);
    for other in [SiteStore::open(&folder, 2, false), SiteStore::read_only(&folder, 2)] {
        for site in [1, 2, 3] {
            assert_eq!(counted(&other, site), counted(&store, site));
        }
    }
    assert_eq!(counted(&store, 1).iter().sum::<u64>(), 10);
    assert_eq!(SiteStore::verify(&folder, 2).unwrap(), Some((2, 13)));
}

#[test]
fn changes_of_a_commit_that_never_happened_are_dropped_and_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = SiteStore::open(folder.path(), 0, true);
    store.add(1, &lines(0, 10));
    assert_eq!(store.commit().unwrap(), 1);
    // The dedup store did not commit after this one.
    store.add(1, &lines(0, 20));
    assert_eq!(store.commit().unwrap(), 2);
    drop(store);
    assert!(counted(&SiteStore::read_only(folder.path(), 1), 1).iter().all(|pages| *pages <= 1));
    let mut store = SiteStore::open(folder.path(), 1, false);
    assert!(store.is_whole());
    store.add(1, &lines(0, 20));
    assert_eq!(store.commit().unwrap(), 2);
    let again = SiteStore::open(folder.path(), 2, false);
    assert_eq!(counted(&again, 1).iter().sum::<u64>(), 30);
    assert!(again.is_whole() && SiteStore::verify(folder.path(), 2).is_ok());
}

#[test]
fn a_cut_at_any_byte_leaves_the_commits_before_it_and_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = SiteStore::open(folder.path(), 0, true);
    let path = folder.path().join("lines");
    let mut ends = Vec::new();
    for _ in 0..3 {
        store.add(1, &lines(0, 5));
        store.commit().unwrap();
        ends.push(fs::metadata(&path).unwrap().len());
    }
    let bytes = fs::read(&path).unwrap();
    for cut in 0..bytes.len() {
        fs::write(&path, &bytes[..cut]).unwrap();
        let commits = ends.iter().filter(|end| **end <= cut as u64).count() as u64;
        let other = SiteStore::open(folder.path(), 3, false);
        assert_eq!(other.pages_with(1, mix64(0)), commits, "{cut}");
        assert!(!other.is_whole());
        let error = SiteStore::verify(folder.path(), 3).unwrap_err().to_string();
        assert!(error.contains("crawl upgrade"), "{error}");
    }
    for at in 0..bytes.len() {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x55;
        fs::write(&path, &bytes).unwrap();
        assert!(SiteStore::verify(folder.path(), 3).is_err(), "{at}");
    }
    // The next commit continues after the valid part.
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    let mut other = SiteStore::open(folder.path(), 3, false);
    other.add(1, &lines(0, 5));
    assert_eq!(other.commit().unwrap(), 4);
    assert_eq!(SiteStore::read_only(folder.path(), 4).pages_with(1, mix64(0)), 3);
}

#[test]
fn a_deleted_file_costs_the_counts_and_a_rebuild_makes_them_whole() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = SiteStore::open(folder.path(), 7, false);
    assert!(!store.is_whole());
    store.add(1, &lines(0, 5));
    assert_eq!(store.commit().unwrap(), 8);
    assert!(!SiteStore::open(folder.path(), 8, false).is_whole());
    let mut store = SiteStore::open(folder.path(), 8, false);
    store.rebuild();
    (0..3).for_each(|_| store.add(1, &lines(0, 5)));
    assert_eq!(store.commit().unwrap(), 9);
    let again = SiteStore::open(folder.path(), 9, false);
    assert!(again.is_whole());
    assert_eq!(again.pages_with(1, mix64(4)), 3);
}

#[test]
fn a_store_that_is_off_counts_nothing_and_keeps_the_number() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = SiteStore::off(12);
    store.add(1, &lines(0, 5));
    assert_eq!(store.pages_with(1, mix64(0)), 0);
    assert_eq!(store.commit().unwrap(), 12);
    store.compact().unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_folder_that_cannot_be_read_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("lines")).unwrap();
    let mut store = SiteStore::open(folder.path(), 3, false);
    store.add(1, &lines(0, 5));
    assert_eq!(store.commit().unwrap(), 3);
    assert!(folder.path().join("lines").is_dir());
}

#[test]
fn a_long_file_is_rewritten_with_the_same_counts() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = SiteStore::open(folder.path(), 0, true);
    let path = folder.path().join("lines");
    let (mut commit, mut rewrites, mut before) = (0, 0, 0);
    for group in 0..40u64 {
        for page in 0..100 {
            let own = 1_000_000 * (1 + group) + 1_000 * page;
            store.add(page % 7, &[lines(0, 20), lines(own, own + 500)].concat());
        }
        commit = store.commit().unwrap();
        store.compact().unwrap();
        let length = fs::metadata(&path).unwrap().len();
        rewrites += u64::from(length < before);
        before = length;
    }
    assert!(rewrites > 0 && before < 16 << 20, "{rewrites} {before}");
    let other = SiteStore::open(folder.path(), commit, false);
    assert!(other.is_whole());
    for site in 0..8 {
        assert_eq!(counted(&other, site), counted(&store, site));
    }
    assert_eq!(store.pages_with(0, mix64(3)), 40 * 15);
    assert!(!folder.path().join("lines.tmp").exists());
    // Both go on in the same way, so a restart changes no count.
    assert_eq!(other.counting.counted().counts, store.counting.counted().counts);
}

proptest! {
    /// At whatever step a crash happens, the counts are those of the committed groups.
    #[test]
    fn a_crash_between_two_commits_counts_no_page_twice(
        groups in prop::collection::vec((prop::collection::vec((0u64..3, 0u64..20), 1..5), any::<bool>()), 1..12),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let (mut recorded, mut slow) = (0, vec![[0u64; 40]; 3]);
        let mut store = SiteStore::open(folder.path(), 0, true);
        for (pages, crashes) in groups {
            for (site, from) in &pages {
                store.add(*site, &lines(*from, *from + 10));
            }
            let next = store.commit().unwrap();
            if crashes {
                store = SiteStore::open(folder.path(), recorded, recorded == 0);
                continue;
            }
            recorded = next;
            store.compact().unwrap();
            for (site, from) in pages {
                for line in from..from + 10 {
                    slow[site as usize][line as usize] += 1;
                }
            }
        }
        let store = SiteStore::open(folder.path(), recorded, false);
        for (site, slow) in slow.iter().enumerate() {
            prop_assert_eq!(&counted(&store, site as u64)[..], &slow[..]);
        }
    }
}

#[test]
fn a_site_is_a_registrable_domain_or_all_files() {
    let site = |url: &str| site_of_url(&Url::parse(url).unwrap());
    assert_eq!(site("https://m.a.example.com:8443/x"), site("http://www.example.com/y"));
    assert_ne!(site("http://one.github.io/"), site("http://two.github.io/"));
    assert_eq!(site("file:///a/b"), site("file:///c"));
    assert_eq!(site("urn:hapax:document:7"), None);
}
