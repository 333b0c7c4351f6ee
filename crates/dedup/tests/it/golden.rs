//! Files of this version, which every later version must load.
//!
//! `HAPAX_GOLDEN=FOLDER cargo test -p hapax-dedup --test it golden` writes them. Rewriting them means a new version
//! of the format.

use std::fs;
use std::path::Path;

use hapax_dedup::{Document, Error, Numbers, Options, Store, mix64};

use crate::common::document;

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/5");
/// All readable versions. The cost model of format 3 once chose two tables for this number of documents.
const ALL: [&str; 5] = [
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/2"),
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/3"),
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/3-four-tables"),
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/4"),
    GOLDEN,
];

/// Fixed thresholds: they are not part of the format.
fn options() -> Options {
    let mut options =
        Options { recipe: "golden-1".into(), memtable_documents: 20, ..Options::default() };
    options.policy.similarity_same_site = 0.6;
    options
}

/// Digests are marked as strong since version 4.
fn options_of(golden: &str) -> Options {
    Options { strong_digests: golden.ends_with(['4', '5']), ..options() }
}

fn fill(folder: &Path) {
    let store = Store::open(folder, options_of(GOLDEN)).unwrap();
    for i in 0..70u64 {
        let key = format!("golden {i}");
        let mut document = document(key.as_bytes(), i / 2, i % 2);
        document.time = 1_700_000_000 + i;
        document.names = [mix64(i / 2), 0];
        document.numbers = Numbers::from_hashes((0..i % 10).map(mix64));
        if i % 7 == 0 {
            document = Document { time: i, ..Document::new(key.as_bytes(), document.fingerprint) };
        }
        store.offer(&document).unwrap();
        if i % 10 == 9 {
            store.delete(i - 3).unwrap();
            if i == 49 {
                // In a segment already, so its number is written to a separate file.
                store.delete(1).unwrap();
            }
            store.commit(&i.to_le_bytes()).unwrap();
            store.wait().unwrap();
        }
    }
    store.close().unwrap();
}

fn answers(folder: &Path, options: Options) -> String {
    let store = Store::open(folder, options).unwrap();
    let mut text = format!("{} {} {:?}\n", store.len(), store.duplicates(), store.payload());
    for id in 0..70u64 {
        let key = format!("golden {id}");
        let record = store.record(id).unwrap();
        let near = record.as_ref().map(|record| store.near(record.fingerprint).unwrap());
        let matches = store.matches(&document(b"new", id / 2, 3)).unwrap();
        let number = store.id_of(key.as_bytes()).unwrap();
        text += &format!("{id} {number:?} {record:?} {near:?} {matches:?}\n");
    }
    store.check().unwrap();
    text
}

/// Removes the reported tables, which are not part of the files, and the mark of strong digests, which older versions
/// lack.
fn without_tables(answers: &str) -> String {
    let answers = &answers.replace(", strong_digest: false", "");
    let mut pieces = answers.split(", table: ");
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        text += piece.trim_start_matches(|c: char| c != ' ' && c != '}');
    }
    text
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
        }
    }
}

#[test]
fn golden_files_load() {
    if let Some(folder) = std::env::var_os("HAPAX_GOLDEN") {
        let folder = Path::new(&folder);
        fill(folder);
        let _ = fs::remove_dir_all(folder.join("ids"));
        fs::write(folder.join("ANSWERS"), answers(folder, options_of(GOLDEN))).unwrap();
        let _ = fs::remove_dir_all(folder.join("ids"));
    }
    for golden in ALL {
        let folder = tempfile::tempdir().unwrap();
        copy(Path::new(golden), folder.path());
        let expected = fs::read_to_string(folder.path().join("ANSWERS")).unwrap();
        let answers = || answers(folder.path(), options_of(golden));
        assert_eq!(without_tables(&answers()), without_tables(&expected), "{golden}");
        // From now on the folder is in the present version, with the same content.
        let manifest = fs::read_to_string(folder.path().join("MANIFEST")).unwrap();
        assert!(manifest.starts_with("hapax-dedup 5\n"), "{manifest}");
        let store = Store::open(folder.path(), options_of(golden)).unwrap();
        store.compact().unwrap();
        drop(store);
        let records = |text: &str| -> Vec<String> {
            let record = |line: &str| line.split(" Some([").next().unwrap_or_default().to_owned();
            without_tables(text).lines().map(record).collect()
        };
        assert_eq!(records(&answers()), records(&expected), "{golden}");
    }
}

#[test]
fn written_files_equal_the_golden_files() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let names = |folder: &Path| -> std::collections::BTreeSet<String> {
        let files = fs::read_dir(folder).unwrap().flatten().filter(|entry| entry.path().is_file());
        let names = files.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name != "ANSWERS" && name != "LOCK").collect()
    };
    assert_eq!(names(folder.path()), names(Path::new(GOLDEN)));
    for entry in fs::read_dir(GOLDEN).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap();
        if name == "ANSWERS" || name == "LOCK" {
            continue;
        }
        let today = fs::read(folder.path().join(name));
        let today = today.unwrap_or_else(|error| panic!("{}: {error}", name.display()));
        assert!(today == fs::read(&path).unwrap(), "{} has other bytes", name.display());
    }
}

/// Tests the manifest, which is read first, and a segment; `store.rs` tests a journal.
#[test]
fn a_manifest_and_a_segment_of_another_version_are_refused_with_what_to_do() {
    let refused = |change: &dyn Fn(&Path)| {
        let folder = tempfile::tempdir().unwrap();
        copy(Path::new(GOLDEN), folder.path());
        change(folder.path());
        let error = Store::open(folder.path(), options()).map(|_| ()).unwrap_err();
        assert!(matches!(error, Error::Version { got: 9, .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("format 9") && text.contains("or a new folder"), "{text}");
        text
    };
    let manifest = refused(&|folder| {
        let path = folder.join("MANIFEST");
        let text = fs::read_to_string(&path).unwrap().replace("hapax-dedup 5", "hapax-dedup 9");
        let (body, _) = text.rsplit_once("crc32").unwrap();
        let sum = crc32fast::hash(body.trim_end_matches('\n').as_bytes());
        fs::write(&path, format!("{body}crc32 {sum:08x}\n")).unwrap();
    });
    assert!(manifest.contains("MANIFEST"), "{manifest}");
    let segment = refused(&|folder| {
        let path = folder.join("seg-4-40-60");
        let mut bytes = fs::read(&path).unwrap();
        let tail = bytes.len() - 24;
        let footer = u64::from_le_bytes(bytes[tail..tail + 8].try_into().unwrap()) as usize;
        bytes[tail + 8] = 9;
        let sum = crc32fast::hash(&bytes[tail - footer..tail + 12]);
        bytes[tail + 12..tail + 16].copy_from_slice(&sum.to_le_bytes());
        fs::write(&path, bytes).unwrap();
    });
    assert!(segment.contains("seg-4-40-60"), "{segment}");
}
