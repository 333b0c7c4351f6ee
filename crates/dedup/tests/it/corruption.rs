//! Changes every byte of every file: the store reports damage or answers correctly.

use std::sync::Arc;

use hapax_dedup::{Document, Error, Fingerprint, Options, Store, mix64};

use crate::common::document;
use crate::recording::Recording;

fn options() -> Options {
    Options { memtable_documents: 12, ..Options::default() }
}

fn filled() -> Recording {
    let disk = Recording::default();
    let store = Store::open_in(Arc::new(disk.clone()), options()).unwrap();
    for i in 0..45u64 {
        let key = format!("k{i}");
        store.offer(&document(key.as_bytes(), i / 2, i % 2)).unwrap();
        if i % 3 == 2 {
            store.commit(&i.to_le_bytes()).unwrap();
            store.wait().unwrap();
        }
    }
    store.delete(3).unwrap();
    store.delete(40).unwrap();
    store.commit(b"the end").unwrap();
    store.close().unwrap();
    disk.healed()
}

/// Returns the answers to all queries as text, and the result of `check` afterwards.
fn ask(disk: &Recording) -> Result<(String, Result<(), Error>), Error> {
    let store = Store::open_in(Arc::new(disk.clone()), options())?;
    let mut text = format!("{} {} {:?}", store.len(), store.duplicates(), store.payload());
    for i in 0..48u64 {
        let key = format!("k{i}");
        let id = store.id_of(key.as_bytes())?;
        text += &format!("{id:?} {:?}", store.record(i)?);
        text += &format!("{:?}", store.matches(&document(key.as_bytes(), i / 2, 3))?);
        text += &format!("{:?}", store.near(Fingerprint::from_bits(mix64(i)))?);
    }
    Ok((text, store.check().map(drop)))
}

fn answers(disk: &Recording) -> String {
    let (text, checked) = ask(disk).unwrap();
    checked.unwrap();
    text
}

fn verdict(disk: &Recording, expected: &str, what: &str) -> bool {
    let asked = ask(disk).and_then(|(text, checked)| {
        // A caller that never checks gets the right answer too.
        assert_eq!(text, expected, "{what}: another answer, and no error");
        checked
    });
    match asked {
        Ok(()) => false,
        Err(Error::Corrupt { .. } | Error::Version { .. } | Error::Recipe { .. }) => true,
        Err(error) => panic!("{what}: {error}"),
    }
}

#[test]
fn every_changed_byte_is_noticed_or_harmless() {
    changed_bytes(8, |at| vec![1 << (mix64(at as u64) % 8)]);
}

#[test]
#[ignore = "minutes: each bit of each byte, the byte turned round, and a random value"]
fn every_changed_bit_is_noticed_or_harmless() {
    changed_bytes(1, |at| {
        (0..8).map(|bit| 1 << bit).chain([0xff, mix64(at as u64) as u8 | 1]).collect()
    });
}

/// Tries all values of every `every`th byte at both ends of a file, and the values of `inside` for the other bytes.
fn changed_bytes(every: usize, inside: impl Fn(usize) -> Vec<u8>) {
    let disk = filled();
    let expected = answers(&disk);
    let (mut noticed, mut all) = (0, 0);
    for (name, bytes) in disk.files() {
        for at in 0..bytes.len() {
            let ends = at < 64 || at + 64 > bytes.len();
            let changes: Vec<u8> =
                if ends && at % every == 0 { (1..=255).collect() } else { inside(at) };
            for change in changes {
                let mut bad = bytes.clone();
                bad[at] ^= change;
                let what = format!("{name}, byte {at} changed by {change:#04x}");
                noticed += u64::from(verdict(&disk.with_file(&name, bad), &expected, &what));
                all += 1;
            }
        }
    }
    println!("{noticed} of {all} changed bytes were noticed, the others were harmless");
    assert!(noticed * 100 > all * 95, "{noticed} of {all}");
}

/// Offers a segment of documents, after which the store loads all fingerprints and keys into memory, and queries
/// everything.
fn ask_after_more(disk: &Recording) -> Result<String, Error> {
    let store = Store::open_in(Arc::new(disk.clone()), options())?;
    for i in 100..112u64 {
        let key = format!("k{i}");
        store.offer(&document(key.as_bytes(), i, 0))?;
    }
    store.commit(b"more")?;
    store.wait()?;
    let mut text = String::new();
    for i in (0..48u64).chain(100..112) {
        let key = format!("k{i}");
        let near = Fingerprint::from_bits(mix64(i));
        text += &format!("{:?} {:?}", store.id_of(key.as_bytes())?, store.near(near)?);
    }
    Ok(text)
}

#[test]
fn resident_tables_from_damaged_segments_never_answer_wrongly() {
    let disk = filled();
    let expected = ask_after_more(&disk.clone().healed()).unwrap();
    let (mut noticed, mut all) = (0, 0);
    for (name, bytes) in disk.files() {
        for at in (0..bytes.len()).step_by(7).filter(|_| name.starts_with("seg-")) {
            let mut bad = bytes.clone();
            bad[at] ^= 1 << (mix64(at as u64) % 8);
            all += 1;
            match ask_after_more(&disk.with_file(&name, bad)) {
                Ok(text) => assert_eq!(text, expected, "{name}, byte {at}: another answer"),
                Err(Error::Corrupt { .. } | Error::Version { .. } | Error::Poisoned) => {
                    noticed += 1;
                }
                Err(error) => panic!("{name}, byte {at}: {error}"),
            }
        }
    }
    assert!(all > 500 && noticed * 10 > all, "{noticed} of {all}");
}

#[test]
fn every_cut_file_is_noticed_or_harmless() {
    let disk = filled();
    let expected = answers(&disk);
    for (name, bytes) in disk.files() {
        for length in (0..bytes.len()).rev().step_by(if bytes.len() > 4096 { 17 } else { 1 }) {
            let what = format!("{name} cut to {length}");
            verdict(&disk.with_file(&name, bytes[..length].to_vec()), &expected, &what);
        }
    }
}

#[test]
fn swapped_segments_zeroed_sectors_and_doubled_blocks_are_noticed() {
    let disk = filled();
    let expected = answers(&disk);
    let files: Vec<_> =
        disk.files().into_iter().filter(|(name, _)| name.starts_with("seg-")).collect();
    assert!(files.len() > 1, "{}", files.len());
    for (name, _) in &files {
        for (other, bytes) in files.iter().filter(|(other, _)| other != name) {
            let swapped = disk.with_file(name, bytes.clone());
            assert!(verdict(&swapped, &expected, "swapped"), "{other} in place of {name}");
        }
    }
    for (name, bytes) in disk.files() {
        for at in (0..bytes.len()).step_by(512) {
            let mut bad = bytes.clone();
            let end = (at + 512).min(bad.len());
            bad[at..end].fill(0);
            if bad != bytes {
                verdict(&disk.with_file(&name, bad), &expected, &format!("{name}, sector {at}"));
            }
            let mut doubled = bytes.clone();
            let copy = bytes[at..end].to_vec();
            doubled.splice(end..end, copy);
            verdict(&disk.with_file(&name, doubled), &expected, &format!("{name}, doubled {at}"));
        }
    }
}

#[test]
fn a_missing_file_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), options()).unwrap();
    for i in 0..40u64 {
        store
            .insert(&Document::new(&i.to_le_bytes(), Fingerprint::from_bits(mix64(i))), None)
            .unwrap();
        if i % 10 == 9 {
            store.commit(b"").unwrap();
            store.wait().unwrap();
        }
    }
    store.delete(1).unwrap();
    store.compact().unwrap();
    store.delete(2).unwrap();
    store.commit(b"").unwrap();
    drop(store);
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if !path.is_file() || name == "LOCK" {
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let error = Store::open(folder.path(), options()).map(drop).unwrap_err();
        assert!(matches!(error, Error::Corrupt { .. }), "{name}: {error}");
        assert!(error.to_string().contains(&name), "{name}: {error}");
        std::fs::write(&path, bytes).unwrap();
    }
    assert_eq!(Store::open(folder.path(), options()).unwrap().len(), 38);
}

#[test]
fn in_a_segment_of_many_blocks_no_block_is_believed_unchecked() {
    let disk = Recording::default();
    let mut options = Options { memtable_documents: 1 << 20, ..Options::default() };
    options.policy.hamming_only = true;
    let open = |disk: &Recording| Store::open_in(Arc::new(disk.clone()), options.clone());
    let store = open(&disk).unwrap();
    for i in 0..20_000u64 {
        let fingerprint = Fingerprint::from_bits(mix64(i));
        store.insert(&Document::new(&i.to_le_bytes(), fingerprint), None).unwrap();
    }
    store.compact().unwrap();
    store.close().unwrap();
    let disk = disk.healed();
    let (name, bytes) =
        disk.files().into_iter().find(|(name, _)| name.starts_with("seg-")).unwrap();
    assert!(bytes.len() > 10 * 65_536, "{}", bytes.len());
    let mut noticed = 0;
    // Two places in every block; only look-ups read them.
    for at in (0..bytes.len()).step_by(32_768).map(|at| at + (mix64(at as u64) % 32_768) as usize) {
        let mut bad = bytes.clone();
        let Some(byte) = bad.get_mut(at) else { continue };
        // Flips enough bits that the fingerprint is no longer near, so that a look-up would miss it silently.
        *byte ^= 0xff;
        let Ok(store) = open(&disk.with_file(&name, bad)) else {
            noticed += 1;
            continue;
        };
        for i in 0..20_000u64 {
            // One bit away, so that the look-up uses other tables than the first.
            let query = Fingerprint::from_bits(mix64(i) ^ 1 << (i % 64));
            match store.near(query) {
                Ok(near) => assert!(near.contains(&(i, 1)), "byte {at}: document {i} is missed"),
                Err(Error::Corrupt { .. }) => {
                    noticed += 1;
                    break;
                }
                Err(error) => panic!("byte {at}: {error}"),
            }
        }
    }
    assert!(noticed > 10, "{noticed}");
}

fn one_segment(disk: &Recording, count: u64) -> Store {
    let mut options = Options { memtable_documents: 1 << 20, ..Options::default() };
    options.policy.hamming_only = true;
    let store = Store::open_in(Arc::new(disk.clone()), options).unwrap();
    for i in 0..count {
        let fingerprint = Fingerprint::from_bits(mix64(i));
        let time = 1000 + i;
        let key = i.to_le_bytes();
        store.insert(&Document { time, ..Document::new(&key, fingerprint) }, None).unwrap();
    }
    store.compact().unwrap();
    store
}

#[test]
fn damage_is_reported_only_to_operations_that_read_it() {
    let disk = Recording::default();
    let store = one_segment(&disk, 40_000);
    // A gap, so that the segment has a column of numbers.
    store.delete(0).unwrap();
    store.compact().unwrap();
    store.close().unwrap();
    let disk = disk.healed();
    let (name, bytes) =
        disk.files().into_iter().find(|(name, _)| name.starts_with("seg-")).unwrap();
    let open = |at: usize| {
        let mut bad = bytes.clone();
        bad[at] ^= 0xff;
        Store::open_in(Arc::new(disk.with_file(&name, bad)), Options::default()).unwrap()
    };
    let store = open(0);
    assert_eq!(store.expire(1000).unwrap(), 0, "no fingerprint is asked for");
    assert!(matches!(store.record(1), Err(Error::Corrupt { .. })));
    let numbers: Vec<u8> = (1..10u32).flat_map(u32::to_le_bytes).collect();
    let at = bytes.windows(numbers.len()).position(|window| window == numbers).unwrap();
    let store = open(at + 4 * 39_990);
    assert_eq!(store.duplicate_of(2).unwrap(), None, "the search ends far before");
    assert!(matches!(store.duplicate_of(39_999), Err(Error::Corrupt { .. })));
}

/// Needs maps: without them the bytes are in memory, where the disk cannot corrupt them.
#[cfg(all(unix, feature = "mmap"))]
#[test]
fn a_merge_never_writes_new_checksums_over_corrupt_data() {
    use std::os::unix::fs::FileExt;

    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), Options::default()).unwrap();
    let insert = |i: u64| {
        let fingerprint = Fingerprint::from_bits(mix64(i));
        store.insert(&Document::new(&i.to_le_bytes(), fingerprint), None).unwrap();
    };
    (0..100).for_each(insert);
    store.compact().unwrap();
    let mut names = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let segment = names.find(|path| path.to_string_lossy().contains("seg-")).unwrap();
    let file = std::fs::OpenOptions::new().read(true).write(true).open(segment).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, 0).unwrap();
    file.write_all_at(&[byte[0] ^ 1], 0).unwrap();
    insert(100);
    assert!(matches!(store.compact(), Err(Error::Corrupt { .. })));
}
