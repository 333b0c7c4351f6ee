//! Digests of two methods in one store, and their replacement.

use std::collections::HashMap;

use hapax_dedup::{Document, Fingerprint, Level, Options, Store, mix64};

fn options(strong_digests: bool) -> Options {
    Options { strong_digests, memtable_documents: 20, ..Options::default() }
}

fn document(key: &[u8], number: u64) -> Document<'_> {
    let fingerprint = Fingerprint::from_bits(mix64(number));
    Document { digest: Some(digest(number)), tokens: 500, ..Document::new(key, fingerprint) }
}

fn digest(number: u64) -> [u8; 16] {
    let mut digest = [0; 16];
    digest[..8].copy_from_slice(&mix64(number ^ 7).to_le_bytes());
    digest
}

/// Far from all others by fingerprint, so that only the digest finds it.
fn far(key: &[u8], number: u64) -> Document<'_> {
    Document {
        fingerprint: Fingerprint::from_bits(mix64(number ^ 0xABCD)),
        ..document(key, number)
    }
}

#[test]
fn digests_of_two_methods_are_never_equal_and_each_is_found_by_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), options(false)).unwrap();
    for number in 0..50u64 {
        store.insert(&document(&number.to_le_bytes(), number), None).unwrap();
    }
    store.commit(b"").unwrap();
    store.close().unwrap();
    let store = Store::open(folder.path(), options(true)).unwrap();
    for number in 50..90u64 {
        store.insert(&document(&number.to_le_bytes(), number), None).unwrap();
    }
    let found = |number: u64| {
        let new = far(b"new", number);
        let strong = store.matches(&new).unwrap();
        let former = store.equal_by_former_digest(&new, digest(number)).unwrap();
        [strong, former].map(|found| {
            assert!(found.iter().all(|near| near.level == Level::Text));
            found.iter().map(|near| near.id).collect::<Vec<_>>()
        })
    };
    for number in 0..90 {
        let own = vec![number];
        let expected = if number < 50 { [vec![], own] } else { [own, vec![]] };
        assert_eq!(found(number), expected, "{number}");
    }
    // A record that is stored again keeps its mark.
    let old = store.record(3).unwrap().unwrap();
    store.delete(3).unwrap();
    let again = store.insert_record(&old, None).unwrap();
    assert!(!store.record(again).unwrap().unwrap().strong_digest);
    assert_eq!(found(3), [vec![], vec![again]]);
    let [one, other] = [10, 60].map(|id| store.record(id).unwrap().unwrap());
    assert!(one.has_digest_of(&one) && other.has_digest_of(&other));
    assert!(!one.has_digest_of(&hapax_dedup::Record { strong_digest: true, ..one.clone() }));
}

#[test]
fn replaced_digests_are_found_and_everything_else_stays() {
    for kept in [0u64, 7] {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), options(false)).unwrap();
        for number in 0..110u64 {
            let of = (number % 11 == 10).then(|| number - 1);
            store.insert(&document(&number.to_le_bytes(), number), of).unwrap();
            if number % 30 == 29 {
                store.commit(b"payload").unwrap();
                store.wait().unwrap();
            }
        }
        store.delete(5).unwrap();
        store.delete(100).unwrap();
        store.commit(b"payload").unwrap();
        let before: Vec<_> = store.snapshot().records().map(|r| r.unwrap()).collect();
        let new: HashMap<u64, [u8; 16]> = (0..110)
            .filter(|id| kept == 0 || id % kept != 0)
            .map(|id| (id, digest(id + 1000)))
            .collect();
        let digests = new.clone();
        let options = options(true);
        store.close().unwrap();
        let store = Store::open(folder.path(), options.clone()).unwrap();
        store.replace_digests(move |id| digests.get(&id).copied()).unwrap();
        let check = |store: &Store| {
            store.check().unwrap();
            assert_eq!(store.payload(), b"payload");
            let after: Vec<_> = store.snapshot().records().map(|r| r.unwrap()).collect();
            assert_eq!(after.len(), before.len());
            for (after, before) in after.iter().zip(&before) {
                let mut expected = before.clone();
                if let Some(digest) = new.get(&before.id) {
                    expected.digest = Some(*digest);
                    expected.strong_digest = true;
                }
                assert_eq!(*after, expected);
                let probe = Document { digest: after.digest, ..far(b"probe", after.id + 5000) };
                let ids = |found: Vec<hapax_dedup::Neighbour>| {
                    found.iter().map(|n| n.id).collect::<Vec<_>>()
                };
                let own = if after.of.is_none() { vec![after.id] } else { vec![] };
                let (strong, former) = (
                    ids(store.matches(&probe).unwrap()),
                    ids(store.equal_by_former_digest(&probe, after.digest.unwrap()).unwrap()),
                );
                let expected = if after.strong_digest { (own, vec![]) } else { (vec![], own) };
                assert_eq!((strong, former), expected, "{}", after.id);
            }
        };
        check(&store);
        store.close().unwrap();
        let store = Store::open(folder.path(), options).unwrap();
        check(&store);
        store.compact().unwrap();
        check(&store);
    }
}
