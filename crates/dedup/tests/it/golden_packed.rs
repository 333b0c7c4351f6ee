//! A golden segment with packed entries and several documents per fingerprint, as larger stores have. Every later
//! version must load it.
//!
//! `HAPAX_GOLDEN_PACKED=FOLDER cargo test -p hapax-dedup --test it golden_packed` writes it.

use std::fs;
use std::path::Path;

use hapax_dedup::{Document, Fingerprint, Options, Store, mix64};

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/5-packed");
/// Enough rows for packed entries, which begin at 4,096.
const ROWS: u64 = 4_200;
const ALL: u64 = ROWS + 60;
const FILES: [&str; 3] = ["MANIFEST", "journal-2", "seg-1-0-4200"];

fn options() -> Options {
    let mut options = Options {
        recipe: "golden-2".into(),
        memtable_documents: ROWS as usize,
        ..Options::default()
    };
    options.policy.hamming_only = true;
    options
}

/// Three of forty share one fingerprint, and another is two bits away.
fn fingerprint(number: u64) -> Fingerprint {
    let flips = if number % 40 == 3 { 0b11 << 40 } else { 0 };
    let of = if number % 40 < 4 { number / 40 * 40 } else { number };
    Fingerprint::from_bits(mix64(of) ^ flips)
}

fn fill(folder: &Path) {
    let store = Store::open(folder, options()).unwrap();
    for number in 0..ALL {
        let key = (number as u32).to_le_bytes();
        store.insert(&Document::new(&key, fingerprint(number)), None).unwrap();
        if number + 1 == ROWS || number + 1 == ALL {
            store.commit(&number.to_le_bytes()).unwrap();
            store.wait().unwrap();
        }
    }
    store.close().unwrap();
}

/// Compares look-ups with an exhaustive scan.
fn hold(folder: &Path) {
    let store = Store::open(folder, options()).unwrap();
    assert_eq!((store.len(), store.payload()), (ALL, (ALL - 1).to_le_bytes().to_vec()));
    for number in (0..ALL).filter(|number| number % 40 < 5 || number % 7 == 0) {
        let query = fingerprint(number);
        let mut expected: Vec<(u64, u32)> = (0..ALL)
            .map(|other| (other, query.distance(fingerprint(other))))
            .filter(|(_, distance)| *distance <= 3)
            .collect();
        expected.sort_unstable_by_key(|&(other, distance)| (distance, other));
        assert_eq!(store.near(query).unwrap(), expected, "{number}");
        assert_eq!(store.id_of(&(number as u32).to_le_bytes()).unwrap(), Some(number));
        assert_eq!(store.record(number).unwrap().unwrap().fingerprint, query);
    }
    store.check().unwrap();
}

#[test]
fn a_packed_segment_loads() {
    if let Some(folder) = std::env::var_os("HAPAX_GOLDEN_PACKED") {
        fill(Path::new(&folder));
    }
    for version in ["3-packed", "4-packed", "5-packed"] {
        let golden = Path::new(GOLDEN).with_file_name(version);
        let folder = tempfile::tempdir().unwrap();
        for name in FILES {
            fs::copy(golden.join(name), folder.path().join(name)).unwrap();
        }
        hold(folder.path());
        let store = Store::open(folder.path(), options()).unwrap();
        store.compact().unwrap();
        drop(store);
        hold(folder.path());
    }
}

#[test]
fn written_packed_files_equal_the_golden_files() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    for name in FILES {
        let today = fs::read(folder.path().join(name));
        let today = today.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(today == fs::read(Path::new(GOLDEN).join(name)).unwrap(), "{name} has other bytes");
    }
    // In the footer: the width of the first table's entries, after its mask, radius and bits.
    let bytes = fs::read(Path::new(GOLDEN).join(FILES[2])).unwrap();
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let footer = bytes.len() - 24 - number(bytes.len() - 24);
    let field = |index: usize| number(footer + 8 * index);
    assert_eq!((field(32), field(36)), (4, 7), "tables, and bytes of an entry");
}
