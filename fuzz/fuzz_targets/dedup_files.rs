//! Arbitrary bytes as a store's files: opening and querying never panics.
#![no_main]
use std::sync::{Arc, OnceLock};

use hapax_dedup::{Directory, Fingerprint, MemDirectory, Options, Store};
use libfuzzer_sys::fuzz_target;

/// The supported formats, each with a segment of a real store. The input changes it and the checksums are corrected,
/// so that the code behind them runs too.
const FORMATS: [(u8, &[u8]); 2] = [
    (2, include_bytes!("../../crates/dedup/tests/golden/2/seg-3-0-40")),
    (3, include_bytes!("../../crates/dedup/tests/golden/3/seg-3-0-40")),
];

fn put(dir: &MemDirectory, name: &str, bytes: &[u8]) {
    let mut out = dir.create(name).expect("memory");
    out.write(bytes).expect("memory");
}

fn manifest(body: &str) -> String {
    format!("{body}\ncrc32 {:08x}\n", crc32fast::hash(body.as_bytes()))
}

fn journal_header(format: u8) -> Vec<u8> {
    let mut header = b"HAPAXJNL".to_vec();
    header.extend(u32::from(format).to_le_bytes());
    header.extend(crc32fast::hash(&header).to_le_bytes());
    header
}

/// Frames with correct lengths and checksums; an input byte gives the length of each body.
fn frames(mut rest: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let Some((&length, tail)) = rest.split_first() {
        let (body, tail) = tail.split_at(usize::from(length).min(tail.len()));
        out.extend((body.len() as u32).to_le_bytes());
        out.extend(crc32fast::hash(body).to_le_bytes());
        out.extend(body);
        rest = tail;
    }
    out
}

/// Corrects the checksum of a segment's first 64 KiB, the last field of its footer.
fn mend_block(bytes: &mut [u8], footer: usize) {
    let Some(covered) = footer.checked_sub(12).and_then(|at| bytes.get(at..at + 8)) else { return };
    let covered = u64::from_le_bytes(covered.try_into().expect("eight")) as usize;
    if covered < footer - 12 && covered <= 65_536 {
        let crc = crc32fast::hash(&bytes[..covered]);
        bytes[footer - 4..footer].copy_from_slice(&crc.to_le_bytes());
    }
}

/// The journal of an empty store, with its first commit.
fn empty_journal() -> Vec<u8> {
    let empty = MemDirectory::new();
    drop(Store::open_in(Arc::new(empty.clone()), Options::default()).expect("a store"));
    empty.contents("journal-1").expect("a journal").to_vec()
}

static EMPTY: OnceLock<Vec<u8>> = OnceLock::new();

fuzz_target!(|input: &[u8]| {
    let Some((&kind, rest)) = input.split_first() else { return };
    let dir = MemDirectory::new();
    let (format, segment) = FORMATS[usize::from(kind / 4 % 2)];
    let head = format!("hapax-dedup {format}\nrecipe custom\n");
    match kind % 4 {
        0 => {
            let text = String::from_utf8_lossy(rest);
            put(&dir, "MANIFEST", manifest(&format!("{head}{text}")).as_bytes());
            put(&dir, "journal-1", rest);
        }
        1 => {
            put(&dir, "MANIFEST", manifest(&format!("{head}journal 1")).as_bytes());
            let mut journal = journal_header(format);
            match kind / 8 % 3 {
                0 => journal = rest.to_vec(),
                1 => journal.extend(rest),
                _ => journal.extend(frames(rest)),
            }
            put(&dir, "journal-1", &journal);
        }
        2 => {
            // Changes behind the checksums: backwards from the footer's last field, and for every other kind in the
            // sections too, with corrected checksums.
            let mut bytes = segment.to_vec();
            let footer = bytes.len() - 24;
            for change in rest.chunks_exact(3) {
                let at = usize::from(u16::from_le_bytes([change[0], change[1]]));
                let length = bytes.len();
                bytes[length - 24 - 1 - at % (length - 25)] ^= change[2];
            }
            if kind / 8 % 2 == 1 {
                mend_block(&mut bytes, footer);
            }
            let length =
                u64::from_le_bytes(bytes[footer..footer + 8].try_into().expect("eight")) as usize;
            let start = footer.saturating_sub(length);
            let end = bytes.len() - 12;
            let crc = crc32fast::hash(&bytes[start..end]);
            bytes[end..end + 4].copy_from_slice(&crc.to_le_bytes());
            let line = format!("{head}journal 1\nsegment seg-3-0-40 {} 0 40", bytes.len());
            put(&dir, "MANIFEST", manifest(&line).as_bytes());
            put(&dir, "seg-3-0-40", &bytes);
        }
        _ => {
            let line = format!(
                "{head}journal 1\ndeleted deleted-1\nsegment seg-3-0-40 {} 0 40",
                segment.len()
            );
            put(&dir, "MANIFEST", manifest(&line).as_bytes());
            put(&dir, "seg-3-0-40", segment);
            let mut bytes = b"HAPAXDEL".to_vec();
            bytes.extend(rest);
            let crc = crc32fast::hash(&bytes);
            bytes.extend(crc.to_le_bytes());
            put(&dir, "deleted-1", &bytes);
        }
    }
    if kind % 4 > 1 {
        put(&dir, "journal-1", EMPTY.get_or_init(empty_journal));
    }
    let Ok(store) = Store::open_in(Arc::new(dir), Options::default()) else { return };
    let _ = store.check();
    for i in 0..45u64 {
        let _ = store.id_of(format!("golden {i}").as_bytes());
        if let Ok(Some(record)) = store.record(i) {
            let _ = store.near(record.fingerprint);
            let _ = store.matches(&record.document());
        }
    }
    let _ = store.near(Fingerprint::from_bits(u64::from(kind)));
    let _ = store.compact();
});
