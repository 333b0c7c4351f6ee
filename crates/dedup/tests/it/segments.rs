//! Segments: growth, merges, other distances, deletion, snapshots.

use hapax_dedup::{Document, Fingerprint, Options, Record, Store, Verdict, mix64};

use crate::common::document;

fn small() -> Options {
    Options { memtable_documents: 100, ..Options::default() }
}

fn classic(distance: u32) -> Options {
    let mut options = small();
    options.policy.distance = distance;
    options.policy.hamming_only = true;
    options
}

fn fingerprint(number: u64) -> Fingerprint {
    // Families of five, up to four bits apart.
    let flips = (0..number % 5).fold(0, |bits, i| bits | 1u64 << (i * 13));
    Fingerprint::from_bits(mix64(number / 5) ^ flips)
}

fn fill(store: &Store, range: std::ops::Range<u64>) {
    for number in range {
        let key = number.to_le_bytes();
        let document = Document { time: number, ..Document::new(&key, fingerprint(number)) };
        store.insert(&document, None).unwrap();
        if number % 50 == 49 {
            store.commit(&number.to_le_bytes()).unwrap();
        }
    }
    store.commit(b"filled").unwrap();
}

fn expected(
    numbers: impl Iterator<Item = u64>,
    query: Fingerprint,
    distance: u32,
) -> Vec<(u64, u32)> {
    let mut near: Vec<(u64, u32)> = numbers
        .map(|number| (number, query.distance(fingerprint(number))))
        .filter(|(_, found)| *found <= distance)
        .collect();
    near.sort_unstable_by_key(|&(number, distance)| (distance, number));
    near
}

#[test]
fn a_store_grows_through_segments_and_finds_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), classic(3)).unwrap();
    fill(&store, 0..5000);
    store.wait().unwrap();
    let segments = store.segments();
    assert!((1..=6).contains(&segments.len()), "{segments:?}");
    assert_eq!(store.len(), 5000);
    let queries: Vec<Fingerprint> = (0..5000).step_by(7).map(fingerprint).collect();
    let mut many = vec![Vec::new(); queries.len()];
    store.near_many(&queries, |query, id, distance| many[query].push((id, distance))).unwrap();
    for (query, mut many) in queries.iter().zip(many) {
        let near = expected(0..5000, *query, 3);
        assert_eq!(store.near(*query).unwrap(), near);
        many.sort_unstable_by_key(|&(id, distance)| (distance, id));
        assert_eq!(many, near);
    }
    let report = store.check().unwrap();
    assert_eq!(report.documents + report.in_journal, 5000);
    drop(store);
    let store = Store::open(folder.path(), classic(3)).unwrap();
    assert_eq!(store.payload(), b"filled");
    let report = store.check().unwrap();
    assert_eq!(report.documents + report.in_journal, 5000);
    assert!(report.in_journal < 4097, "a store closed in order reads little of a journal");
    for number in (0u64..5000).step_by(3) {
        assert_eq!(store.id_of(&number.to_le_bytes()).unwrap(), Some(number));
    }
    assert_eq!(store.id_of(b"nobody").unwrap(), None);
}

#[test]
fn a_store_goes_through_layouts_as_it_grows() {
    // The layout depends on the allowed bytes per fingerprint and their number (the tests of plan.rs go up to 10^8):
    // first few long leads with more probes, then more and shorter ones.
    let options = Options { bytes_per_fingerprint: 26.0, ..classic(3) };
    let store = Store::in_memory(options).unwrap();
    let mut layouts = Vec::new();
    let mut from = 0;
    for until in [100, 1000, 9000] {
        fill(&store, from..until);
        from = until;
        store.compact().unwrap();
        let segments = store.segments();
        assert_eq!(segments.len(), 1);
        layouts.push(segments[0].0.to_string());
        for query in (0..until).step_by(97).map(fingerprint) {
            assert_eq!(store.near(query).unwrap(), expected(0..until, query, 3), "{until}");
        }
        store.check().unwrap();
    }
    assert_eq!(layouts[0], "2 tables x 32 bits, 66 probes");
    assert_eq!(layouts[1..], ["3 tables x 21-22 bits, 24 probes"; 2]);
}

#[test]
fn the_distance_may_change_without_a_rebuild() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), classic(3)).unwrap();
    fill(&store, 0..1000);
    store.close().unwrap();
    for distance in [1, 3, 5, 7, 0] {
        let store = Store::open(folder.path(), classic(distance)).unwrap();
        for query in (0..1000).step_by(11).map(fingerprint) {
            assert_eq!(
                store.near(query).unwrap(),
                expected(0..1000, query, distance),
                "{distance}"
            );
        }
    }
}

/// With tables that the store chooses, and packed entries: no byte of a segment is rewritten.
#[test]
fn segments_stay_as_they_are_when_the_distance_changes() {
    let folder = tempfile::tempdir().unwrap();
    let of = |distance| {
        let mut options = Options { memtable_documents: 1 << 20, ..Options::default() };
        options.policy.distance = distance;
        options.policy.hamming_only = true;
        options
    };
    let store = Store::open(folder.path(), of(3)).unwrap();
    fill(&store, 0..20_000);
    store.compact().unwrap();
    store.close().unwrap();
    let segments = || -> Vec<(std::ffi::OsString, Vec<u8>)> {
        let files = std::fs::read_dir(folder.path()).unwrap().flatten();
        let files = files.filter(|file| file.file_name().to_string_lossy().starts_with("seg-"));
        files.map(|file| (file.file_name(), std::fs::read(file.path()).unwrap())).collect()
    };
    let before = segments();
    assert_eq!(before.len(), 1);
    let mut end = 20_000;
    for distance in [1, 5, 7, 0, 4, 2, 6, 3] {
        let store = Store::open(folder.path(), of(distance)).unwrap();
        fill(&store, end..end + 50);
        end += 50;
        for query in (0..end).step_by(397).map(fingerprint) {
            assert_eq!(store.near(query).unwrap(), expected(0..end, query, distance), "{distance}");
        }
        store.close().unwrap();
        assert!(segments() == before, "a segment was written for distance {distance}");
    }
    let store = Store::open(folder.path(), of(6)).unwrap();
    store.compact().unwrap();
    for query in (0..end).step_by(397).map(fingerprint) {
        assert_eq!(store.near(query).unwrap(), expected(0..end, query, 6), "after a merge");
    }
}

#[test]
fn deleted_documents_are_gone_for_good() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), classic(3)).unwrap();
    fill(&store, 0..1000);
    store.compact().unwrap();
    let before = store.check().unwrap().bytes;
    assert_eq!(store.expire(300).unwrap(), 299, "number 0 has no time");
    let rest = || [0].into_iter().chain(300..1000);
    let holds = |store: &Store, what: &str| {
        assert_eq!(store.len(), 701, "{what}");
        for number in (0u64..1000).step_by(13) {
            let query = fingerprint(number);
            assert_eq!(store.near(query).unwrap(), expected(rest(), query, 3), "{what}");
            let there = number == 0 || number >= 300;
            let id = store.id_of(&number.to_le_bytes()).unwrap();
            assert_eq!(id, there.then_some(number), "{what}");
            assert_eq!(store.record(number).unwrap().is_some(), there, "{what}");
        }
        assert_eq!(store.next_id(), 1000);
    };
    holds(&store, "at once");
    store.commit(b"").unwrap();
    drop(store);
    let store = Store::open(folder.path(), classic(3)).unwrap();
    holds(&store, "after reopening");
    store.compact().unwrap();
    holds(&store, "after a merge");
    let report = store.check().unwrap();
    assert_eq!(report.documents, 701);
    assert!(report.bytes < before * 9 / 10, "{report:?}, {before} before");
    drop(store);
    let store = Store::open(folder.path(), classic(3)).unwrap();
    holds(&store, "after a merge and reopening");
    assert!(!store.delete(5).unwrap());
    // The key is free again, and the number is not reused.
    assert_eq!(
        store.insert(&Document::new(&5u64.to_le_bytes(), fingerprint(5)), None).unwrap(),
        1000
    );
}

#[test]
fn a_restored_document_can_be_duplicated() {
    for flushed in [false, true] {
        let store = Store::in_memory(small()).unwrap();
        let first = document(b"a", 1, 0);
        let second = document(b"b", 1, 1);
        assert_eq!(store.offer(&first).unwrap(), Verdict::New(0));
        assert!(matches!(store.offer(&second).unwrap(), Verdict::Duplicate { id: 1, .. }));
        if flushed {
            store.compact().unwrap();
        }
        assert_eq!(store.duplicates(), 1);
        assert_eq!(store.restore(1).unwrap(), Some(2));
        assert_eq!((store.len(), store.duplicates()), (2, 0));
        assert_eq!(store.id_of(b"b").unwrap(), Some(2));
        assert_eq!(store.record(1).unwrap(), None);
        assert_eq!(store.duplicate_of(2).unwrap(), None);
        assert_eq!(store.restore(2).unwrap(), Some(2), "it is new already");
        assert_eq!(store.restore(77).unwrap(), None);
        assert!(store.delete(0).unwrap());
        match store.offer(&document(b"c", 1, 2)).unwrap() {
            Verdict::Duplicate { of, .. } => assert_eq!(of.id, 2),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_snapshot_does_not_change() {
    let store = Store::in_memory(classic(3)).unwrap();
    fill(&store, 0..450);
    let snapshot = store.snapshot();
    let before: Vec<Record> = snapshot.records().map(Result::unwrap).collect();
    assert_eq!(before.len(), 450);
    fill(&store, 450..2000);
    store.delete(7).unwrap();
    store.compact().unwrap();
    assert_eq!(store.record(7).unwrap(), None);
    let after: Vec<Record> = snapshot.records().map(Result::unwrap).collect();
    assert_eq!(before, after);
    for query in (0..2000).step_by(17).map(fingerprint) {
        assert_eq!(snapshot.near(query).unwrap(), expected(0..450, query, 3));
    }
    assert_eq!(snapshot.id_of(&900u64.to_le_bytes()).unwrap(), None);
    assert_eq!(store.id_of(&900u64.to_le_bytes()).unwrap(), Some(900));
}

#[test]
fn offers_in_a_batch_have_the_verdicts_of_single_ones() {
    let keys: Vec<String> = (0..700).map(|i| format!("http://a.example/{i}")).collect();
    let documents: Vec<_> = keys
        .iter()
        .zip(0u64..)
        .map(|(key, i)| document(key.as_bytes(), mix64(i) % 300, mix64(i * 7) % 3))
        .collect();
    let (one, many) = (Store::in_memory(small()).unwrap(), Store::in_memory(small()).unwrap());
    for batch in documents.chunks(64) {
        let single: Vec<Verdict> = batch.iter().map(|d| one.offer(d).unwrap()).collect();
        assert_eq!(many.offer_many(batch).unwrap(), single);
        one.commit(b"").unwrap();
        many.commit(b"").unwrap();
        // Merges end at different times, which must not matter.
        many.wait().unwrap();
    }
    assert!(one.duplicates() > 100 && !many.segments().is_empty());
    assert_eq!(one.duplicates(), many.duplicates());
}

#[test]
fn merges_within_little_memory_write_the_same_segments() {
    let bytes = |merge_bytes| {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { merge_bytes, ..small() };
        let store = Store::open(folder.path(), options).unwrap();
        for i in 0..900u64 {
            let key = i.to_le_bytes();
            store.offer(&document(&key, i / 2, i % 2)).unwrap();
            if i % 100 == 99 {
                store.commit(b"").unwrap();
                store.wait().unwrap();
            }
        }
        store.compact().unwrap();
        store.check().unwrap();
        drop(store);
        let mut files: Vec<(String, Vec<u8>)> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("seg-"))
            .map(|path| {
                (
                    path.file_name().unwrap().to_str().unwrap().to_owned(),
                    std::fs::read(path).unwrap(),
                )
            })
            .collect();
        files.sort();
        files
    };
    let (much, little) = (bytes(1 << 30), bytes(600));
    assert_eq!(much.len(), 1);
    assert!(much == little, "the bytes of a segment depend on the memory it was written in");
}

#[test]
fn in_memory_with_many_equal_fingerprints_all_are_found() {
    let mut options = classic(3);
    options.keep_duplicates = true;
    let store = Store::in_memory(options).unwrap();
    for number in 0u64..3000 {
        let key = number.to_le_bytes();
        store.insert(&Document::new(&key, Fingerprint::from_bits(number % 2)), None).unwrap();
        if number % 100 == 0 {
            store.commit(b"").unwrap();
        }
    }
    store.wait().unwrap();
    assert_eq!(store.near(Fingerprint::from_bits(0)).unwrap().len(), 3000);
    store.check().unwrap();
}
