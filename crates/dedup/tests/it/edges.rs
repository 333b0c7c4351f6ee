//! Unusual behaviour of callers and disks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hapax_dedup::{
    Directory, Document, Error, Fingerprint, Layout, Lead, MemDirectory, Options, Sketch, Store,
    Verdict, mix64,
};

use crate::hooked::{Hooked, Op};
use crate::recording::{Failure, Image, Recording};

fn options() -> Options {
    let mut options = Options { memtable_documents: 50, ..Options::default() };
    options.policy.hamming_only = true;
    options
}

fn fingerprint(number: u64) -> Fingerprint {
    Fingerprint::from_bits(mix64(number))
}

fn insert(store: &Store, range: std::ops::Range<u64>) {
    for number in range {
        let key = number.to_le_bytes();
        store.insert(&Document::new(&key, fingerprint(number)), None).unwrap();
    }
}

#[test]
fn a_panic_in_a_merge_loses_nothing() {
    let armed = Arc::new(AtomicBool::new(false));
    let panicking = Hooked::new({
        let armed = Arc::clone(&armed);
        move |op| {
            let segment = matches!(op, Op::Create(name) if name.starts_with("seg-"));
            assert!(!segment || !armed.load(Ordering::Relaxed), "the folder panics");
        }
    });
    let memory = panicking.memory.clone();
    let store = Store::open_in(Arc::new(panicking), options()).unwrap();
    insert(&store, 0..40);
    store.commit(b"before").unwrap();
    armed.store(true, Ordering::Relaxed);
    insert(&store, 40..60);
    store.commit(b"frozen").unwrap();
    let waited = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| store.wait()));
    assert!(waited.is_err(), "the panic of the thread is passed on");
    // From here on, nothing that the next open would accept may be written.
    armed.store(false, Ordering::Relaxed);
    let key = 99u64.to_le_bytes();
    let refused = store.insert(&Document::new(&key, fingerprint(99)), None);
    assert!(matches!(refused, Err(Error::Poisoned)));
    assert!(matches!(store.commit(b"after"), Err(Error::Poisoned)));
    drop(store);
    let store = Store::open_in(Arc::new(memory), options()).unwrap();
    assert_eq!((store.len(), store.payload()), (60, b"frozen".to_vec()));
    store.check().unwrap();
}

#[test]
fn a_panic_while_a_new_journal_is_begun_is_remembered() {
    let panicking = Hooked::new(|op| {
        let journal = matches!(op, Op::Create(name) if name == "journal-2");
        assert!(!journal, "the folder panics");
    });
    let memory = panicking.memory.clone();
    let store = Store::open_in(Arc::new(panicking), options()).unwrap();
    insert(&store, 0..60);
    let committed =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| store.commit(b"full")));
    assert!(committed.is_err(), "the panic is passed on");
    let key = 99u64.to_le_bytes();
    let refused = store.insert(&Document::new(&key, fingerprint(99)), None);
    assert!(matches!(refused, Err(Error::Poisoned)));
    assert!(matches!(store.commit(b"after"), Err(Error::Poisoned)));
    drop(store);
    let store = Store::open_in(Arc::new(memory), options()).unwrap();
    assert_eq!((store.len(), store.payload()), (60, b"full".to_vec()));
}

#[test]
fn kills_before_a_segment_is_written_do_not_add_up() {
    let memory = MemDirectory::new();
    for (round, numbers) in [0..60, 60..120, 120..180].into_iter().enumerate() {
        let killed = Hooked::on(memory.clone(), |op| {
            let segment = matches!(op, Op::Create(name) if name.starts_with("seg-"));
            assert!(!segment, "killed");
        });
        let store = Store::open_in(Arc::new(killed), options()).unwrap();
        assert_eq!((store.len(), store.segments().len()), (60 * round as u64, 0));
        insert(&store, numbers);
        store.commit(b"frozen").unwrap();
    }
    // More than three memtables become one segment.
    let store = Store::open_in(Arc::new(memory), options()).unwrap();
    store.wait().unwrap();
    assert_eq!(store.segments().iter().map(|(_, rows)| rows).sum::<u64>(), 180);
    assert_eq!((store.len(), store.payload()), (180, b"frozen".to_vec()));
    assert_eq!(store.check().unwrap().in_journal, 0);
}

#[test]
fn a_folder_that_does_not_give_back_what_was_written_is_noticed() {
    // First for a spool of a segment, then for the segment itself.
    for sorted in [true, false] {
        let memory = MemDirectory::new();
        let cut = memory.clone();
        let forgetting = Hooked::on(memory, move |op| {
            if let Op::Contents(name) = op
                && name.ends_with(".tmp")
                && name.contains(".tmp.") == sorted
            {
                drop(cut.append(name, 0).unwrap());
            }
        });
        let options = Options { merge_bytes: 0, ..options() };
        let store = Store::open_in(Arc::new(forgetting), options).unwrap();
        insert(&store, 0..40);
        let error = store.compact().unwrap_err();
        assert!(error.to_string().contains("bytes were written, 0 can be read"), "{error}");
    }
}

#[test]
fn of_a_batch_with_a_key_that_is_too_long_nothing_is_inserted() {
    let store = Store::in_memory(options()).unwrap();
    let long = vec![b'k'; hapax_dedup::MAX_KEY + 1];
    let keys: Vec<[u8; 8]> = (0..100u64).map(u64::to_le_bytes).collect();
    let mut documents: Vec<Document<'_>> =
        keys.iter().map(|key| Document::new(key, fingerprint(1))).collect();
    documents.push(Document::new(&long, fingerprint(2)));
    let refused = store.offer_many(&documents).unwrap_err();
    assert!(matches!(refused, Error::KeyTooLong(length) if length == long.len()), "{refused}");
    assert!(store.is_empty());
}

#[test]
fn a_store_may_be_dropped_while_a_merge_panics() {
    let panicking = Hooked::new(|op| {
        let segment = matches!(op, Op::Create(name) if name.starts_with("seg-"));
        assert!(!segment, "the folder panics");
    });
    let memory = panicking.memory.clone();
    let store = Store::open_in(Arc::new(panicking), options()).unwrap();
    insert(&store, 0..60);
    store.commit(b"frozen").unwrap();
    let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(store)));
    assert!(dropped.is_ok(), "a drop does not panic");
    let store = Store::open_in(Arc::new(memory), options()).unwrap();
    assert_eq!((store.len(), store.payload()), (60, b"frozen".to_vec()));
}

#[test]
fn files_of_impossible_numbers_are_no_stores_and_the_last_possible_one_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let max = u64::MAX;
    let strays = [format!("deleted-{max}"), format!("seg-{max}-0-5"), format!("journal-{max}")];
    let fill = |numbers| {
        let store = Store::open(folder.path(), options()).unwrap();
        insert(&store, numbers);
        store.delete(5).unwrap();
        store.commit(b"").unwrap();
        store.compact().unwrap();
        store.close().unwrap();
    };
    strays.iter().for_each(|name| std::fs::write(folder.path().join(name), name).unwrap());
    fill(0..300);
    fill(300..600);
    for name in &strays {
        assert_eq!(&std::fs::read_to_string(folder.path().join(name)).unwrap(), name);
    }
    let last = folder.path().join(format!("deleted-{}", 1u64 << 48));
    std::fs::write(&last, b"").unwrap();
    let error = Store::open(folder.path(), options()).map(|_| ()).unwrap_err();
    assert!(matches!(&error, Error::Corrupt { path, .. } if *path == last), "{error}");
    std::fs::remove_file(&last).unwrap();
    fill(600..700);
    // A file with the largest possible number is not referenced and is removed; new numbers follow those of kept
    // files.
    let last = folder.path().join(format!("deleted-{}", (1u64 << 48) - 1));
    std::fs::write(&last, b"").unwrap();
    fill(700..800);
    fill(800..900);
    assert!(!last.exists());
}

#[test]
fn a_journal_that_is_lost_among_others_is_noticed_and_nothing_is_removed() {
    let memory = || {
        let memory = MemDirectory::new();
        for numbers in [0..60, 60..120] {
            let killed = Hooked::on(memory.clone(), |op| {
                let segment = matches!(op, Op::Create(name) if name.starts_with("seg-"));
                assert!(!segment, "killed");
            });
            let store = Store::open_in(Arc::new(killed), options()).unwrap();
            insert(&store, numbers);
            store.commit(b"frozen").unwrap();
        }
        memory
    };
    // The last one is longer than a journal without a commit can be.
    for (name, zeros) in [
        ("journal-2", None),
        ("journal-2", Some(0)),
        ("journal-2", Some(4096)),
        ("journal-3", Some(1 << 18)),
    ] {
        let memory = memory();
        let mut names = memory.list().unwrap();
        assert_eq!(names.iter().filter(|name| name.starts_with("journal-")).count(), 3);
        match zeros {
            Some(zeros) => memory.create(name).unwrap().write(&vec![0; zeros]).unwrap(),
            None => memory.remove(name).unwrap(),
        }
        names.retain(|other| zeros.is_some() || other != name);
        let error = Store::open_in(Arc::new(memory.clone()), options()).map(drop).unwrap_err();
        assert!(matches!(error, Error::Corrupt { .. }), "{name} of {zeros:?}: {error}");
        assert_eq!(memory.list().unwrap(), names, "{name} of {zeros:?}");
    }
    let store = Store::open_in(Arc::new(memory()), options()).unwrap();
    assert_eq!(store.len(), 120);
}

#[test]
fn a_store_that_cannot_write_its_journals_into_a_segment_answers_and_says_why_it_takes_nothing() {
    let disk = Recording::default();
    let store = Store::open_in(Arc::new(disk.clone()), Options::default()).unwrap();
    insert(&store, 0..200);
    store.commit(b"").unwrap();
    let killed = disk.after_crash(disk.operations(), Image::All);
    drop(store);
    // With these options, more than three memtables; the disk is full from one operation on.
    let mut said = 0;
    for operation in 0..40 {
        let disk = killed.healed();
        disk.fail_at(operation, Failure::Full);
        let Ok(store) = Store::open_in(Arc::new(disk.clone()), options()) else { continue };
        assert!(store.near(fingerprint(7)).unwrap().contains(&(7, 0)));
        let key = 500u64.to_le_bytes();
        if let Err(error) = store.insert(&Document::new(&key, fingerprint(500)), None) {
            said += u32::from(matches!(error, Error::Io { .. }));
        }
    }
    assert!(said > 0, "the disk is named");
}

#[test]
fn a_manifest_with_invalid_file_names_is_refused() {
    for line in [
        "journal 18446744073709551615",
        "journal 1\nclosed 18446744073709551615 16",
        "journal 1\ndeleted ../deleted-1",
        "journal 1\nsegment ../seg-1-0-5 100 0 5",
        "journal 1\nsegment seg-18446744073709551615-0-5 100 0 5",
    ] {
        let folder = tempfile::tempdir().unwrap();
        drop(Store::open(folder.path(), options()).unwrap());
        let body = format!("hapax-dedup 4\nrecipe {}\n{line}", options().recipe);
        let text = format!("{body}\ncrc32 {:08x}\n", crc32fast::hash(body.as_bytes()));
        std::fs::write(folder.path().join("MANIFEST"), text).unwrap();
        let error = Store::open(folder.path(), options()).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("a line makes no sense"), "{line}: {error}");
    }
}

#[test]
fn many_equal_documents_are_checked_in_linear_time() {
    let store = Store::in_memory(Options::default()).unwrap();
    for number in 0..50_000u64 {
        let key = number.to_le_bytes();
        let document = Document { digest: Some([7; 16]), ..Document::new(&key, fingerprint(1)) };
        store.insert(&document, None).unwrap();
    }
    store.compact().unwrap();
    let started = std::time::Instant::now();
    assert_eq!(store.check().unwrap().documents, 50_000);
    // Comparing all pairs would take several seconds.
    assert!(started.elapsed().as_millis() < 1000, "{:?}", started.elapsed());
}

#[test]
fn many_pages_of_equal_text_under_different_names_are_offered_in_linear_time() {
    for resident_bytes in [0, 64 << 20] {
        let options = Options { memtable_documents: 20_000, resident_bytes, ..Options::default() };
        let store = Store::in_memory(options).unwrap();
        let started = std::time::Instant::now();
        for number in 0..50_000u64 {
            let key = number.to_le_bytes();
            let document = Document {
                digest: Some([7; 16]),
                tokens: 30,
                names: [number + 1; 2],
                ..Document::new(&key, fingerprint(1))
            };
            assert_eq!(store.offer(&document).unwrap(), Verdict::New(number));
            if number % 1000 == 0 {
                store.commit(b"").unwrap();
            }
        }
        // Two seconds on an idle machine; comparing all pairs would take minutes.
        assert!(started.elapsed().as_secs() < 100, "{:?}", started.elapsed());
    }
}

#[test]
fn a_visitor_callback_may_read_and_write_the_store() {
    let store = Store::in_memory(options()).unwrap();
    insert(&store, 0..30);
    let queries: Vec<Fingerprint> = (0..30).map(fingerprint).collect();
    let mut seen = 0;
    store
        .near_many(&queries, |_, id, _| {
            seen += 1;
            assert_eq!(store.record(id).unwrap().unwrap().id, id);
            insert(&store, 1000 + id..1001 + id);
        })
        .unwrap();
    assert_eq!((seen, store.len()), (30, 60));
}

#[test]
fn a_later_journal_that_is_lost_is_noticed() {
    let disk = Recording::default();
    let store = Store::open_in(Arc::new(disk.clone()), options()).unwrap();
    insert(&store, 0..10);
    store.commit(b"").unwrap();
    // The second and the third time have nothing to merge.
    (0..3).for_each(|_| store.compact().unwrap());
    insert(&store, 10..20);
    store.commit(b"payload").unwrap();
    store.close().unwrap();
    let journals: Vec<(String, Vec<u8>)> =
        disk.files().into_iter().filter(|(name, _)| name.starts_with("journal")).collect();
    assert_eq!(journals.len(), 1, "each merge removes the journals before it");
    for (name, bytes) in journals {
        for length in [0, 10, 16, 17, bytes.len() / 2, bytes.len() - 1] {
            let cut = disk.with_file(&name, bytes[..length].to_vec());
            let error = Store::open_in(Arc::new(cut), options()).map(drop).unwrap_err();
            assert!(matches!(error, Error::Corrupt { .. }), "{name} cut to {length}: {error}");
        }
    }
    let again = Store::open_in(Arc::new(disk.healed()), options()).unwrap();
    assert_eq!((again.len(), again.payload()), (20, b"payload".to_vec()));
}

#[test]
fn a_merge_keeps_the_newest_payload_and_takes_what_was_offered_along() {
    let store = Store::in_memory(options()).unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for number in 0..2000u64 {
                insert(&store, number..number + 1);
                store.commit(&number.to_le_bytes()).unwrap();
                assert_eq!(store.payload(), number.to_le_bytes());
            }
        });
        while !writer.is_finished() {
            store.compact().unwrap();
        }
    });
    store.compact().unwrap();
    assert_eq!((store.payload(), store.segments().len()), (1999u64.to_le_bytes().to_vec(), 1));
    insert(&store, 3000..3005);
    store.compact().unwrap();
    assert_eq!(store.check().unwrap().documents, 2005);
}

#[test]
fn deleted_copies_do_not_use_up_the_lists_of_a_band() {
    let mut options =
        Options { keep_duplicates: true, memtable_documents: 600, ..Options::default() };
    // Only the sketch may propose and confirm.
    options.policy.max_distance = 64;
    let store = Store::in_memory(options).unwrap();
    let sketch = Sketch::from_hashes((0..100).map(mix64));
    let offer = |range: std::ops::Range<u64>| {
        for number in range {
            let key = number.to_le_bytes();
            let document =
                Document { sketch, tokens: 500, ..Document::new(&key, fingerprint(number)) };
            store.insert(&document, None).unwrap();
        }
        store.commit(b"").unwrap();
        store.wait().unwrap();
    };
    // A segment in which the 512 documents of the lists are deleted; then another one, far away.
    offer(0..3000);
    (0..512).for_each(|id| assert!(store.delete(id).unwrap()));
    store.commit(b"").unwrap();
    offer(5000..5700);
    let new = Document { sketch, tokens: 500, ..Document::new(b"new", fingerprint(9999)) };
    assert!(matches!(store.offer(&new).unwrap(), Verdict::Duplicate { .. }));
}

#[test]
fn radii_and_budgets_of_any_size_are_taken() {
    let whole = Lead { mask: u64::MAX, radius: u32::MAX };
    let layout = Layout::from_leads(vec![whole], 3).unwrap();
    assert_eq!(layout.leads()[0].radius, 3);
    assert_eq!(layout.probes(), 43_745);
    assert!(Lead { mask: u64::MAX, radius: 40 }.probes() > 1 << 63);
    for merge_bytes in [0, 1, 1 << 35, 1 << 36, usize::MAX] {
        let store = Store::in_memory(Options { merge_bytes, ..options() }).unwrap();
        insert(&store, 0..200);
        store.compact().unwrap();
        store.check().unwrap();
        assert_eq!(store.near(fingerprint(77)).unwrap(), [(77, 0)]);
    }
}

#[test]
fn a_journal_of_payloads_alone_does_not_grow_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), Options::default()).unwrap();
    let payload = [7; 131_000];
    for _ in 0..1_100 {
        store.commit(&payload).unwrap();
    }
    store.close().unwrap();
    let journals = std::fs::read_dir(folder.path()).unwrap().flatten();
    let journals =
        journals.filter(|file| file.file_name().to_string_lossy().starts_with("journal"));
    let bytes: u64 = journals.map(|file| file.metadata().unwrap().len()).sum();
    assert!(bytes < 80 << 20, "{} MiB", bytes >> 20);
    let store = Store::open(folder.path(), Options::default()).unwrap();
    assert_eq!(store.payload(), payload);
}

#[test]
fn a_folder_in_memory_has_one_holder_at_a_time() {
    let dir = Arc::new(MemDirectory::new());
    let open = || Store::open_in(dir.clone(), Options::default());
    let store = open().unwrap();
    store.commit(b"kept").unwrap();
    assert!(matches!(open(), Err(Error::Locked { .. })));
    drop(store);
    assert_eq!(open().unwrap().payload(), b"kept");
}

#[test]
fn files_of_others_in_the_folder_stay() {
    let folder = tempfile::tempdir().unwrap();
    let others =
        ["notes.tmp", "deleted-mail.txt", "seg", "seg-a.tmp", "journal-2025.txt", "deleted-"];
    let left =
        ["seg-9-0-5", "seg-9-0-5.tmp", "seg-9-0-5.tmp.rows.tmp", "deleted-3", "MANIFEST.tmp"];
    let write = |name: &&str| std::fs::write(folder.path().join(name), name).unwrap();
    others.iter().for_each(write);
    drop(Store::open(folder.path(), options()).unwrap());
    left.iter().for_each(write);
    for _ in 0..2 {
        let store = Store::open(folder.path(), options()).unwrap();
        insert(&store, 0..300);
        store.delete(5).unwrap();
        store.commit(b"").unwrap();
        store.compact().unwrap();
    }
    for name in others {
        assert_eq!(std::fs::read_to_string(folder.path().join(name)).unwrap(), name);
    }
    let content = |name: &&str| std::fs::read(folder.path().join(name)).unwrap_or_default();
    assert!(left.iter().all(|name| content(name) != name.as_bytes()), "what a crash leaves goes");
}

#[test]
fn a_duplicate_of_a_nonexistent_document_is_refused() {
    let store = Store::in_memory(options()).unwrap();
    insert(&store, 0..3);
    let new = Document::new(b"new", fingerprint(9));
    for of in [3, 1 << 40, u64::MAX] {
        let refused = store.insert(&new, Some(of)).unwrap_err();
        assert!(matches!(refused, Error::NoDocument(id) if id == of), "{refused}");
    }
    assert_eq!((store.len(), store.duplicates()), (3, 0));
    store.delete(1).unwrap();
    assert_eq!(store.insert(&new, Some(1)).unwrap(), 3, "there was one");
    assert_eq!((store.len(), store.duplicates()), (3, 1));
}

#[test]
fn the_debug_output_of_a_store_omits_its_documents() {
    let store = Store::in_memory(Options::default()).unwrap();
    for number in 0..1000u64 {
        let key = number.to_le_bytes();
        store.offer(&Document::new(&key, Fingerprint::from_bits(mix64(number)))).unwrap();
    }
    let shown = format!("{store:?} {:?}", store.snapshot());
    assert!(shown.contains("Store") && shown.contains("recipe") && shown.len() < 1000, "{shown}");
}
