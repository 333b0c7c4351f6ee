//! The store on a real disk.

use std::fs;
use std::path::Path;

use hapax_dedup::{Document, Error, Fingerprint, Numbers, Options, Sketch, Store, Verdict, mix64};

use crate::common::document;

fn open(folder: &Path) -> Store {
    Store::open(folder, Options::default()).unwrap()
}

fn journal(folder: &Path) -> std::path::PathBuf {
    folder.join("journal-1")
}

/// Removes the mark of an orderly close, as after a kill.
fn as_if_killed(folder: &Path) {
    let path = folder.join("MANIFEST");
    let text = fs::read_to_string(&path).unwrap();
    let body: Vec<&str> =
        text.lines().filter(|l| !l.starts_with("closed") && !l.starts_with("crc32")).collect();
    let body = body.join("\n");
    fs::write(path, format!("{body}\ncrc32 {:08x}\n", crc32fast::hash(body.as_bytes()))).unwrap();
}

fn filled(folder: &Path) -> u64 {
    let store = open(folder);
    for i in 0..50u64 {
        let key = format!("http://a.example/{i}");
        store.offer(&document(key.as_bytes(), i / 2, i % 2)).unwrap();
        if i % 10 == 9 {
            store.commit(&i.to_le_bytes()).unwrap();
        }
    }
    drop(store);
    as_if_killed(folder);
    fs::metadata(journal(folder)).unwrap().len()
}

#[test]
fn committed_documents_survive_reopening() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let store = open(folder.path());
    assert_eq!((store.len(), store.duplicates()), (50, 25));
    assert_eq!(store.payload(), 49u64.to_le_bytes());
    let again = document(b"http://a.example/7", 3, 1);
    assert_eq!(store.offer(&again).unwrap(), Verdict::Known(7));
    let copy = document(b"http://b.example/x", 9, 2);
    match store.offer(&copy).unwrap() {
        Verdict::Duplicate { id: 50, of } => assert_eq!(of.id, 18),
        other => panic!("{other:?}"),
    }
    assert_eq!(store.record(50).unwrap().unwrap().key, b"http://b.example/x");
    assert_eq!(store.record(12).unwrap().unwrap().key, b"http://a.example/12");
}

#[test]
fn uncommitted_documents_leave_no_trace_after_reopening() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let store = open(folder.path());
    store.offer(&document(b"http://c.example/", 99, 0)).unwrap();
    drop(store);
    assert_eq!(open(folder.path()).id_of(b"http://c.example/").unwrap(), None);
}

#[test]
fn a_cut_journal_opens_at_the_last_commit_before_the_cut() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = filled(folder.path());
    let journal = fs::read(folder.path().join("journal-1")).unwrap();
    for length in [0, 15, 16].into_iter().chain((17..bytes).step_by(97)).chain([bytes]) {
        fs::write(folder.path().join("journal-1"), &journal[..length as usize]).unwrap();
        if length < 16 {
            // Its header was durable before the manifest existed.
            let error = Store::open(folder.path(), Options::default()).map(drop).unwrap_err();
            assert!(matches!(error, Error::Corrupt { .. }), "cut to {length}: {error}");
            continue;
        }
        let store = open(folder.path());
        assert_eq!(store.len() % 10, 0, "cut to {length}");
        let expected =
            if store.is_empty() { vec![] } else { (store.len() - 1).to_le_bytes().to_vec() };
        assert_eq!(store.payload(), expected);
        drop(store);
        as_if_killed(folder.path());
    }
}

#[test]
fn every_flipped_byte_before_the_last_commit_frame_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let path = journal(folder.path());
    let good = fs::read(&path).unwrap();
    // The last commit frame: 8 bytes of head, 1 of kind, 8 of payload.
    for at in (0..good.len() - 17).step_by(13) {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        fs::write(&path, &bad).unwrap();
        let error = Store::open(folder.path(), Options::default()).map(|_| ()).unwrap_err();
        assert!(
            matches!(error, Error::Corrupt { .. } | Error::Version { .. }),
            "byte {at}: {error}"
        );
    }
}

#[test]
fn a_lost_or_damaged_id_map_is_rebuilt() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let ids = folder.path().join("ids");
    let _ = fs::remove_dir_all(&ids);
    // Waits until the cache is open, so that look-ups use it.
    let finds = |store: Store| {
        store.cache_was_set_aside();
        store.id_of(b"http://a.example/7").unwrap() == Some(7)
    };
    assert!(finds(open(folder.path())));
    if ids.exists() {
        for entry in fs::read_dir(&ids).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                fs::write(path, b"noise").unwrap();
            }
        }
        fs::write(ids.join("snap.0000000000000001.generating"), b"half").unwrap();
        assert!(finds(open(folder.path())));
        // A folder that sled does not consider empty is set aside, and reported.
        fs::write(ids.join("conf"), b"segment_size: noise").unwrap();
        let store = open(folder.path());
        assert!(store.cache_was_set_aside());
        assert_eq!(store.id_of(b"http://a.example/7").unwrap(), Some(7));
        drop(store);
        assert!(!open(folder.path()).cache_was_set_aside());
    }
}

#[test]
fn a_second_process_another_recipe_and_another_version_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let second = Store::open(folder.path(), Options::default());
    assert!(matches!(second, Err(Error::Locked { .. })));
    drop(store);
    let other = Options { recipe: "other-1".into(), ..Options::default() };
    assert!(matches!(Store::open(folder.path(), other), Err(Error::Recipe { .. })));
    let journal = journal(folder.path());
    let mut bytes = fs::read(&journal).unwrap();
    bytes[8] = 9;
    let crc = crc32fast::hash(&bytes[..12]);
    bytes[12..16].copy_from_slice(&crc.to_le_bytes());
    fs::write(&journal, bytes).unwrap();
    let error = Store::open(folder.path(), Options::default()).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("format 9"), "{error}");
}

#[test]
fn documents_without_text_and_short_templates_are_kept_apart() {
    let store = Store::in_memory(Options::default()).unwrap();
    let empty = |key| Document { tokens: 0, digest: None, sketch: None, ..document(key, 1, 0) };
    assert!(matches!(store.offer(&empty(b"a")).unwrap(), Verdict::New(_)));
    assert!(matches!(store.offer(&empty(b"b")).unwrap(), Verdict::New(_)));
    // Two short texts with one fingerprint and half of their shingles in common.
    let short = |key, from: u64| Document {
        key,
        fingerprint: Fingerprint::from_bits(7),
        digest: None,
        sketch: Sketch::from_hashes((from..from + 30).map(mix64)),
        tokens: 30,
        site: 1,
        names: [0; 2],
        numbers: Numbers::NONE,
        time: 0,
    };
    assert!(matches!(store.offer(&short(b"c", 0)).unwrap(), Verdict::New(_)));
    assert!(matches!(store.offer(&short(b"d", 10)).unwrap(), Verdict::New(_)));
    let mut classic = Options::default();
    classic.policy.hamming_only = true;
    let store = Store::in_memory(classic).unwrap();
    store.offer(&short(b"c", 0)).unwrap();
    assert!(matches!(store.offer(&short(b"d", 10)).unwrap(), Verdict::Duplicate { .. }));
}

#[test]
fn on_one_site_another_name_is_another_page() {
    let with = |key, names, site| Document { names, site, ..document(key, 1, 2) };
    let verdict = |first: [u64; 2], second: [u64; 2], site| {
        let store = Store::in_memory(Options::default()).unwrap();
        store.offer(&with(b"a", first, 1)).unwrap();
        matches!(store.offer(&with(b"b", second, site)).unwrap(), Verdict::Duplicate { .. })
    };
    assert!(verdict([5, 7], [5, 8], 1), "the same heading");
    assert!(verdict([5, 7], [7, 0], 1), "the heading of one is the title of the other");
    assert!(!verdict([5, 7], [6, 8], 1), "no name in common on the same site");
    assert!(!verdict([5, 0], [6, 0], 1), "nothing is no name in common");
    assert!(verdict([5, 7], [6, 8], 2), "another site may name it as it likes");
    assert!(verdict([5, 7], [0, 0], 1), "a page without a name says nothing");
}

#[test]
fn short_pages_of_a_template_with_other_numbers_are_other_pages() {
    let with = |key, numbers: &[u64], site, tokens| Document {
        numbers: Numbers::from_hashes(numbers.iter().copied().map(mix64)),
        site,
        tokens,
        ..document(key, 1, 2)
    };
    let verdict = |second: &[u64], site, tokens| {
        let store = Store::in_memory(Options::default()).unwrap();
        store.offer(&with(b"a", &[1, 20, 300], 1, tokens)).unwrap();
        let verdict = store.offer(&with(b"b", second, site, tokens)).unwrap();
        matches!(verdict, Verdict::Duplicate { .. })
    };
    assert!(!verdict(&[1, 21, 301], 1, 100), "two of three numbers are others");
    assert!(verdict(&[1, 20, 301], 1, 100), "one number changed: a counter");
    assert!(verdict(&[1, 20, 300, 4, 5], 1, 100), "more numbers");
    assert!(verdict(&[1, 21, 301], 2, 100), "another site copies with other numbers around it");
    assert!(verdict(&[1, 21, 301], 1, 300), "enough text to tell by");
}

#[test]
fn a_similar_sketch_with_other_words_is_no_duplicate() {
    let store = Store::in_memory(Options::default()).unwrap();
    let sketch = |from: u64| Sketch::from_hashes((from..from + 2000).map(mix64));
    let one = Document { sketch: sketch(0), ..document(b"a", 1, 2) };
    store.offer(&one).unwrap();
    // The code is equal, the language around it differs.
    let bits = |count: u32| Fingerprint::from_bits(one.fingerprint.bits() ^ ((1 << count) - 1));
    let found = |from, count| {
        let other =
            Document { sketch: sketch(from), fingerprint: bits(count), ..document(b"b", 1, 3) };
        store.matches(&other).unwrap().len()
    };
    assert_eq!([20, 21].map(|count| found(350, count)), [1, 0], "two thirds of it");
    assert_eq!([20, 21, 40].map(|count| found(100, count)), [1; 3], "nearly all of it");
}

#[test]
fn too_long_keys_and_payloads_are_refused() {
    let store = Store::in_memory(Options::default()).unwrap();
    let long = vec![b'x'; hapax_dedup::MAX_KEY + 1];
    let refused = store.offer(&Document::new(&long, Fingerprint::from_bits(1)));
    assert!(matches!(refused, Err(Error::KeyTooLong(65_536))));
    let refused = store.insert(&Document::new(&long, Fingerprint::from_bits(1)), None);
    assert!(matches!(refused, Err(Error::KeyTooLong(65_536))));
    assert!(matches!(store.commit(&vec![0; 131_072]), Err(Error::PayloadTooLong(131_072))));
    assert!(store.is_empty());
    // The longest valid ones survive a segment and a journal.
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let longest = long.get(1..).unwrap();
    store.offer(&Document::new(longest, Fingerprint::from_bits(1))).unwrap();
    store.commit(&vec![7; 131_071]).unwrap();
    drop(store);
    let store = open(folder.path());
    assert_eq!(store.payload(), vec![7; 131_071]);
    store.compact().unwrap();
    assert_eq!(store.id_of(longest).unwrap(), Some(0));
    let other = Options { recipe: "two\nlines".into(), ..Options::default() };
    assert!(matches!(Store::in_memory(other), Err(Error::RecipeName)));
}

/// Returns the documents that a sketch finds among 1,300 that share it, oldest first.
fn found_by_sketch(options: Options) -> (Vec<u64>, u64) {
    let store = Store::in_memory(options).unwrap();
    let sketch = Sketch::from_hashes((0..100).map(mix64));
    for number in 0..1300u64 {
        let key = number.to_le_bytes();
        let fingerprint = Fingerprint::from_bits(mix64(number));
        let document = Document { sketch, tokens: 500, ..Document::new(&key, fingerprint) };
        store.insert(&document, None).unwrap();
        if number % 100 == 99 {
            store.commit(b"").unwrap();
            store.wait().unwrap();
        }
    }
    let fingerprint = Fingerprint::from_bits(mix64(5000));
    let document = Document { sketch, tokens: 500, ..Document::new(b"new", fingerprint) };
    let mut found: Vec<u64> = store.matches(&document).unwrap().iter().map(|n| n.id).collect();
    found.sort_unstable();
    (found, store.capped_bands())
}

#[test]
fn of_a_template_the_oldest_documents_are_proposed_whatever_of_them_is_merged() {
    let oldest: Vec<u64> = (0..hapax_dedup::MAX_BAND_BUCKET as u64).collect();
    for memtable_documents in [100, 150, 400, 700, 5000] {
        for resident_bytes in [0, 512 << 20] {
            let mut options = Options { memtable_documents, resident_bytes, ..Options::default() };
            // Duplicates are kept, and only the sketch may propose and confirm.
            options.keep_duplicates = true;
            options.policy.max_distance = 64;
            let (found, capped) = found_by_sketch(options);
            assert_eq!(found, oldest, "{memtable_documents} {resident_bytes}");
            assert!(capped > 0, "{memtable_documents}");
        }
    }
}

/// Returns sketches of sets that share a fourth of their shingles.
fn sketches(count: u64) -> Vec<Sketch> {
    let set = |number: u64| (0..40).chain(1_000 * (number + 1)..1_000 * (number + 1) + 60);
    (0..count).map(|number| Sketch::from_hashes(set(number).map(mix64)).unwrap()).collect()
}

/// Returns the documents that nothing but a name proposes, confirmed whatever their similarity, for one of these names.
/// `count` documents are stored, and then as many of other names.
fn proposed_by_name(options: &Options, count: usize, offered: [u64; 2]) -> Vec<u64> {
    let store = Store::in_memory(options.clone()).unwrap();
    let sketches = sketches(101);
    let keys: Vec<String> = (0..sketches.len()).map(|number| number.to_string()).collect();
    let document = |number: usize, names| Document {
        sketch: Some(sketches[number]),
        tokens: 500,
        names,
        ..Document::new(keys[number].as_bytes(), Fingerprint::from_bits(mix64(number as u64)))
    };
    for number in 0..2 * count {
        let names = if number < count { [7, 9] } else { [70, 90] };
        store.insert(&document(number, names), None).unwrap();
        if number % 3 == 2 {
            store.commit(b"").unwrap();
            store.wait().unwrap();
        }
    }
    let matches = store.matches(&document(100, offered)).unwrap();
    let by_name = matches.iter().filter(|near| near.table >= Some(hapax_dedup::BANDS));
    let mut found: Vec<u64> = by_name.map(|near| near.id).collect();
    found.sort_unstable();
    let shares_band = |id: &u64| {
        let other = sketches[usize::try_from(*id).unwrap()];
        sketches[100].bands().iter().zip(other.bands()).any(|(a, b)| *a == b)
    };
    assert!(!found.iter().any(shares_band), "a band is the stronger proposal");
    found.extend((0..count as u64).filter(shares_band));
    found.sort_unstable();
    found
}

#[test]
fn a_name_of_few_documents_proposes_them_whatever_of_them_is_merged() {
    let named: Vec<u64> = (0..hapax_dedup::MAX_NAMED as u64).collect();
    let (few, many) = (named.len(), named.len() + 1);
    for memtable_documents in [2, 5, 9, 5000] {
        for resident_bytes in [0, 512 << 20] {
            let mut options = Options { memtable_documents, resident_bytes, ..Options::default() };
            options.keep_duplicates = true;
            (options.policy.similarity, options.policy.similarity_same_site) = (0.0, 0.0);
            (options.policy.max_distance, options.policy.name_tokens) = (64, 0);
            options.policy.similarity_name_long = 0.0;
            let case = format!("{memtable_documents} {resident_bytes}");
            for names in [[7, 0], [0, 9], [7, 9]] {
                assert_eq!(proposed_by_name(&options, few, names), named, "{case}");
                let banded = proposed_by_name(&options, many, names);
                assert!(banded.len() < 5, "it is the name of a site: {banded:?} {case}");
            }
            let banded = proposed_by_name(&options, few, [9, 7]);
            assert!(banded.len() < 5, "a heading is not a title: {banded:?}");
            assert_eq!(proposed_by_name(&options, few, [1, 2]), banded, "{case}");
        }
    }
}
