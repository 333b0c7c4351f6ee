//! The cache from keys to numbers behind its guards.

use std::fs;
use std::io::Write;
use std::path::Path;

use hapax_dedup::{Document, Error, Fingerprint, Options, Store, mix64};

fn open(folder: &Path) -> Store {
    let mut options = Options { memtable_documents: 2_000, ..Options::default() };
    // Without resident keys, so that a look-up uses the cache first.
    options.resident_bytes = 0;
    Store::open(folder, options).unwrap()
}

fn key(number: u64) -> String {
    format!("http://site-{}.example/page/{number}", number % 7)
}

fn fill(folder: &Path, count: u64) {
    let store = open(folder);
    for number in 0..count {
        let fingerprint = Fingerprint::from_bits(mix64(number));
        store.insert(&Document::new(key(number).as_bytes(), fingerprint), None).unwrap();
        if number % 1000 == 999 {
            store.commit(b"").unwrap();
        }
    }
    store.commit(b"").unwrap();
    store.close().unwrap();
}

fn knows_all(store: &Store, count: u64) -> bool {
    (0..count).all(|number| store.id_of(key(number).as_bytes()).unwrap() == Some(number))
}

#[test]
fn a_half_written_snapshot_is_removed_and_the_map_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), 500);
    let planted = folder.path().join("ids/snap.7FFFFFFFFFFFFFFF.generating");
    fs::write(&planted, b"half").unwrap();
    let store = open(folder.path());
    assert!(!store.cache_was_set_aside());
    assert!(!planted.exists() && knows_all(&store, 500));
    assert!(!folder.path().join("ids.damaged").exists());
}

#[test]
fn damage_anywhere_in_the_id_map_is_reported_and_repaired() {
    let folder = tempfile::tempdir().unwrap();
    let count = 6_000;
    fill(folder.path(), count);
    let (ids, aside) = (folder.path().join("ids"), folder.path().join("ids.damaged"));
    let file = ids.join("db");
    let good: Vec<(std::path::PathBuf, Vec<u8>)> = fs::read_dir(&ids)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .map(|path| (path.clone(), fs::read(&path).unwrap()))
        .collect();
    let bytes = good.iter().find(|(path, _)| *path == file).unwrap().1.clone();
    let mut seen = 0;
    for at in (0..bytes.len()).step_by(bytes.len() / 40) {
        let _ = fs::remove_dir_all(&ids);
        let _ = fs::remove_dir_all(&aside);
        fs::create_dir_all(ids.join("blobs")).unwrap();
        good.iter().for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
        let mut bad = bytes.clone();
        bad.iter_mut().skip(at).take(64).for_each(|byte| *byte ^= 0x5a);
        fs::write(&file, &bad).unwrap();
        let store = open(folder.path());
        // Waits until the cache is open, so that look-ups use it.
        store.cache_was_set_aside();
        assert!(knows_all(&store, count), "byte {at}");
        let says = store.cache_was_set_aside();
        drop(store);
        seen += u32::from(says);
        assert_eq!(aside.exists(), says, "byte {at}: what is said and what is done");
        // Never twice: the next open has an intact map, or builds one.
        let store = open(folder.path());
        assert!(!store.cache_was_set_aside() && knows_all(&store, count), "byte {at}");
        assert!(!store.cache_was_set_aside(), "byte {at}");
    }
    println!("of 40 damages {seen} were seen");
    assert!(seen > 0, "none was seen");
}

#[test]
fn id_map_damage_found_after_the_open_is_reported_and_sets_the_map_aside() {
    let folder = tempfile::tempdir().unwrap();
    let count = 20_000;
    fill(folder.path(), count);
    let store = open(folder.path());
    assert!(!store.cache_was_set_aside());
    // The store has read only a few pages of the map so far.
    let file = folder.path().join("ids/db");
    let length = fs::metadata(&file).unwrap().len() as usize;
    let mut out = fs::File::options().write(true).open(&file).unwrap();
    out.write_all(&vec![0x5a; length]).unwrap();
    drop(out);
    assert!(knows_all(&store, count), "what it does not know is looked up");
    assert!(store.cache_was_set_aside());
    let document = Document::new(b"later", Fingerprint::from_bits(mix64(count)));
    assert_eq!(store.insert(&document, None).unwrap(), count);
    store.commit(b"").unwrap();
    store.close().unwrap();
    assert!(folder.path().join("ids.damaged").exists());
    let store = open(folder.path());
    assert!(!store.cache_was_set_aside() && knows_all(&store, count));
    assert_eq!(store.id_of(b"later").unwrap(), Some(count));
}

#[test]
fn the_map_holds_the_last_documents_and_all_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let count = 300_000;
    let store =
        Store::open(folder.path(), Options { resident_bytes: 0, ..Options::default() }).unwrap();
    for number in 0..count {
        let fingerprint = Fingerprint::from_bits(mix64(number));
        store.insert(&Document::new(key(number).as_bytes(), fingerprint), None).unwrap();
        if number % 1000 == 999 {
            store.commit(b"").unwrap();
        }
    }
    assert!(!store.cache_was_set_aside());
    store.close().unwrap();
    // At most 2^17 entries: their keys, numbers and sled's overhead.
    let size = |path: &Path| -> u64 {
        let files = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|path| path.is_file()).map(|path| fs::metadata(path).unwrap().len()).sum()
    };
    let whole = size(&folder.path().join("ids"));
    assert!(whole < 8 * (1 << 17) * 55 + (16 << 20), "{whole} bytes");
    let some = |store: &Store| {
        let id = |number: u64| store.id_of(key(number).as_bytes()).unwrap();
        (0..count).step_by(97).all(|number| id(number) == Some(number)) && id(count).is_none()
    };
    // First the existing map, then a rebuilt one.
    let marker = folder.path().join("ids/marker");
    fs::write(&marker, b"").unwrap();
    let store = open(folder.path());
    assert!(!store.cache_was_set_aside() && marker.exists(), "it is no larger than it may be");
    assert!(some(&store) && !store.cache_was_set_aside() && some(&store));
    drop(store);
    fs::remove_dir_all(folder.path().join("ids")).unwrap();
    let store = open(folder.path());
    assert!(some(&store) && !store.cache_was_set_aside() && some(&store));
}

#[test]
fn uncommitted_documents_are_not_in_the_id_map_after_a_close() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), 500);
    let store = open(folder.path());
    let document = Document::new(b"lost", Fingerprint::from_bits(7));
    store.insert(&document, None).unwrap();
    drop(store);
    // A map with more commits than the store would be rebuilt.
    let marker = folder.path().join("ids/marker");
    fs::write(&marker, b"").unwrap();
    let store = open(folder.path());
    assert!(!store.cache_was_set_aside() && knows_all(&store, 500));
    assert!(marker.exists());
    assert_eq!(store.id_of(b"lost").unwrap(), None);
    assert_eq!(store.next_id(), 500);
}

#[test]
fn an_id_map_much_larger_than_its_entries_is_rebuilt() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), 500);
    let ids = folder.path().join("ids");
    // sled removes files that it considers torn off: numbers above the end of its log.
    let (grown, marker) = (ids.join("blobs/1"), ids.join("marker"));
    fs::write(&marker, b"").unwrap();
    // Below the tolerated size, then above it.
    for (bytes, stays) in [(8 << 20, true), (64 << 20, false)] {
        fs::File::create(&grown).unwrap().set_len(bytes).unwrap();
        let store = open(folder.path());
        assert!(!store.cache_was_set_aside() && knows_all(&store, 500));
        drop(store);
        assert_eq!(marker.exists(), stays, "{bytes} bytes");
    }
    assert!(ids.exists());
}

#[test]
fn closing_says_that_the_map_is_not_durable_and_dropping_does_not() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), 500);
    let file = folder.path().join("ids/db");
    let store = open(folder.path());
    assert!(!store.cache_was_set_aside(), "it is open");
    fs::remove_file(&file).unwrap();
    let error = store.close().unwrap_err();
    assert!(matches!(&error, Error::Io { path, .. } if *path == file), "{error}");
    assert!(knows_all(&open(folder.path()), 500), "nothing but time is lost");
}
