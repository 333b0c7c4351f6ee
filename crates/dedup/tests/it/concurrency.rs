//! Several threads on one store.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hapax_dedup::{Document, Fingerprint, Options, Store, Verdict, mix64};

fn options() -> Options {
    let mut options = Options { memtable_documents: 500, ..Options::default() };
    options.policy.hamming_only = true;
    options
}

#[test]
fn of_near_duplicates_offered_at_once_exactly_one_is_new() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), options()).unwrap();
    let new = AtomicU64::new(0);
    let threads = 8u64;
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (store, new) = (&store, &new);
            scope.spawn(move || {
                for number in 0..1000u64 {
                    // All threads offer something near the same fingerprint at the same time.
                    let bits = mix64(number) ^ (1 << thread);
                    let key = format!("{thread} {number}");
                    let document = Document::new(key.as_bytes(), Fingerprint::from_bits(bits));
                    match store.offer(&document).unwrap() {
                        Verdict::New(_) => {
                            new.fetch_add(1, Ordering::Relaxed);
                        }
                        Verdict::Duplicate { .. } => {}
                        Verdict::Known(_) => panic!("{key} is known"),
                    }
                    if number % 20 == 0 {
                        store.commit(&number.to_le_bytes()).unwrap();
                    }
                }
                store.commit(b"end").unwrap();
            });
        }
    });
    assert_eq!(new.load(Ordering::Relaxed), 1000);
    assert_eq!((store.len(), store.duplicates()), (threads * 1000, (threads - 1) * 1000));
    store.check().unwrap();
    drop(store);
    let store = Store::open(folder.path(), options()).unwrap();
    assert_eq!((store.len(), store.duplicates()), (threads * 1000, (threads - 1) * 1000));
    assert_eq!(store.payload(), b"end");
}

#[test]
fn snapshots_are_whole_while_the_writer_goes_on() {
    let store = Store::in_memory(options()).unwrap();
    let done = AtomicBool::new(false);
    let seen = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let snapshot = store.snapshot();
                    let end = snapshot.next_id();
                    for id in (0..end).step_by(97) {
                        let record = snapshot.record(id).unwrap().unwrap();
                        assert_eq!(record.key, id.to_le_bytes());
                        let near = snapshot.near(record.fingerprint).unwrap();
                        assert!(near.contains(&(id, 0)), "{id} of {end}");
                        assert!(near.iter().all(|(other, _)| *other < end));
                    }
                    assert_eq!(snapshot.id_of(&end.to_le_bytes()).unwrap(), None);
                    seen.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for number in 0..20_000u64 {
            let fingerprint = Fingerprint::from_bits(mix64(number));
            store.insert(&Document::new(&number.to_le_bytes(), fingerprint), None).unwrap();
            if number % 100 == 0 {
                store.commit(b"").unwrap();
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(seen.load(Ordering::Relaxed) > 0);
}
