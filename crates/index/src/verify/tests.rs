use std::path::{Path, PathBuf};

use super::*;
use crate::few_words::jieba;
use crate::{Error, Index, Page, StoredPage, damaged_files};

const PAGES: u64 = 40;
const SEGMENTS: u64 = 3;
const PLACES: u64 = 60;

fn add(index: &mut Index, id: u64) {
    let text = format!("The river rose in spring {id}, and 北京大学 was number {}.", id % 7);
    let page = Page {
        id,
        url: &format!("http://a.example/{id}"),
        title: "Rivers",
        text: &text,
        language: "en",
        fetched: "2026-01-01T00:00:00Z",
        stored_at: "1:0",
        bytes: 9,
        canonical: false,
        meta: "",
        ..Page::default()
    };
    index.add(&page).unwrap();
}

/// Creates an index of several segments, one of them with deleted pages.
fn index() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut index = Index::open(folder.path(), jieba).unwrap();
    for segment in 0..SEGMENTS {
        (segment * PAGES..(segment + 1) * PAGES).for_each(|id| add(&mut index, id));
        index.commit().unwrap();
    }
    index.delete(PAGES + 1);
    index.commit().unwrap();
    index.close().unwrap();
    folder
}

type Answers = (u64, Vec<u64>, Vec<StoredPage>);

fn answers(folder: &Path) -> crate::Result<Answers> {
    let searcher = crate::Searcher::open(folder, jieba)?;
    let (hits, _) = searcher.search("river", 1000)?;
    let mut found: Vec<u64> = hits.iter().map(|hit| hit.id).collect();
    found.sort_unstable();
    let mut pages = Vec::new();
    searcher.pages(|page| {
        pages.push(page);
        true
    })?;
    pages.sort_by_key(|page| page.id);
    assert_eq!(searcher.page(7)?.map(|page| page.id), Some(7));
    Ok((searcher.len(), found, pages))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.metadata().unwrap().len() > 0).collect();
    files.sort();
    files
}

/// Returns damaged copies of a file: with changed, zeroed or missing bytes.
fn damages(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64 ^ bytes.len() as u64;
    let mut random = |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % limit as u64).unwrap()
    };
    let mut all = Vec::new();
    for round in 0..PLACES {
        // tantivy stores lengths and offsets at the end of its files.
        let near_end = bytes.len() - 1 - random(bytes.len().min(300));
        let place = if round % 2 == 0 { random(bytes.len()) } else { near_end };
        let mut changed = bytes.to_vec();
        match round % 5 {
            0 | 1 => changed[place] ^= 1 << random(8),
            2 => changed[place] = 0xff,
            3 => {
                let end = (place + 16).min(changed.len());
                changed[place..end].fill(0);
            }
            _ => changed.truncate(place),
        }
        if changed != bytes {
            all.push(changed);
        }
    }
    all
}

/// Replaces each file in turn by damaged copies, and passes on the readers' answers.
fn with_each_damage(folder: &Path, mut found: impl FnMut(&Path, crate::Result<Answers>)) {
    for path in files(folder) {
        let whole = std::fs::read(&path).unwrap();
        for changed in damages(&whole) {
            std::fs::write(&path, &changed).unwrap();
            found(&path, answers(folder));
        }
        std::fs::write(&path, &whole).unwrap();
    }
}

#[test]
fn a_damaged_index_gives_no_answers_or_the_right_ones() {
    let folder = index();
    let right = answers(folder.path()).unwrap();
    assert_eq!(right.0, SEGMENTS * PAGES - 1);
    let (mut damaged, mut harmless) = (0, 0);
    with_each_damage(folder.path(), |path, found| match found {
        Ok(same) => {
            assert_eq!(same, right, "{}", path.display());
            harmless += 1;
        }
        Err(Error::Damaged { path: named, what }) => {
            assert!(named == path || path.ends_with(META) || path.ends_with(MANAGED), "{what}");
            damaged += 1;
        }
        Err(other) => panic!("{}: {other:?}", path.display()),
    });
    // No answer depends on versions in a footer or on the list of removable files.
    assert!(damaged > 10 * harmless, "{damaged} and {harmless}");
    assert_eq!(answers(folder.path()).unwrap(), right);
}

#[test]
fn a_damaged_index_is_named_file_by_file_and_takes_no_pages() {
    let folder = index();
    assert!(damaged_files(folder.path()).unwrap().is_empty());
    let index = tantivy::Index::open_in_dir(folder.path()).unwrap();
    let live = index.load_metas().unwrap().list_segment_files();
    let live = |path: &Path| live.iter().any(|name| path.ends_with(name));
    for path in files(folder.path()).iter().filter(|path| live(path)) {
        let whole = std::fs::read(path).unwrap();
        let mut changed = whole.clone();
        changed[whole.len() / 3] ^= 4;
        for content in [Some(changed), None] {
            match content {
                Some(bytes) => std::fs::write(path, bytes).unwrap(),
                None => std::fs::remove_file(path).unwrap(),
            }
            let found = damaged_files(folder.path()).unwrap();
            assert!(
                matches!(&found[..], [Error::Damaged { path: named, .. }] if named == path),
                "{found:?}"
            );
            let writer = Index::open(folder.path(), jieba);
            assert!(matches!(writer, Err(Error::Damaged { .. })), "{writer:?}");
        }
        std::fs::write(path, &whole).unwrap();
    }
    Index::open(folder.path(), jieba).unwrap();
}

#[test]
fn bytes_that_change_while_a_process_works_are_seen_when_the_file_is_opened_again() {
    let folder = index();
    let right = answers(folder.path()).unwrap();
    let store =
        files(folder.path()).into_iter().find(|path| path.extension() == Some("store".as_ref()));
    let store = store.unwrap();
    let whole = std::fs::read(&store).unwrap();
    let mut changed = whole.clone();
    changed[9] ^= 1;
    // The length stays, only bytes and time change.
    std::fs::write(&store, &changed).unwrap();
    std::fs::File::open(&store).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    assert!(matches!(answers(folder.path()), Err(Error::Damaged { path, .. }) if path == store));
    std::fs::write(&store, &whole).unwrap();
    assert_eq!(answers(folder.path()).unwrap(), right);
}

#[test]
fn a_meta_json_without_a_checksum_is_read_and_held_against_the_files() {
    let folder = index();
    let right = answers(folder.path()).unwrap();
    let path = folder.path().join(META);
    let sealed = std::fs::read(&path).unwrap();
    assert!(sealed.starts_with(SEAL), "{}", String::from_utf8_lossy(&sealed));
    let plain = String::from_utf8(unseal(sealed.clone()).unwrap()).unwrap();
    assert!(plain.starts_with("{\n  \"index_settings\""), "{plain}");
    assert_eq!(seal(plain.as_bytes()), sealed);
    std::fs::write(&path, &plain).unwrap();
    assert_eq!(answers(folder.path()).unwrap(), right);
    for (from, to) in [
        ("\"max_doc\": 40", "\"max_doc\": 41"),
        ("\"max_doc\": 40", "\"max_doc\": 39"),
        ("\"max_doc\": 40", "\"max_doc\": 4294967295"),
        ("\"num_deleted_docs\": 1", "\"num_deleted_docs\": 2"),
        ("\"num_deleted_docs\": 1", "\"num_deleted_docs\": 4294967295"),
        ("\"url\"", "\"uri\""),
        ("\"stored\": true", "\"stored\": false"),
        ("\"segments\": [", "\"segments\": {"),
    ] {
        let changed = plain.replacen(from, to, 1);
        assert_ne!(changed, plain, "{from}");
        std::fs::write(&path, &changed).unwrap();
        let found = answers(folder.path());
        assert!(matches!(found, Err(Error::Damaged { .. })), "{to}: {found:?}");
        let writer = Index::open(folder.path(), jieba);
        assert!(matches!(writer, Err(Error::Damaged { .. })), "{to}: {writer:?}");
    }
    // The next commit of a newer version adds the checksum.
    std::fs::write(&path, &plain).unwrap();
    let mut index = Index::open(folder.path(), jieba).unwrap();
    add(&mut index, 900);
    index.commit().unwrap();
    index.close().unwrap();
    assert!(std::fs::read(&path).unwrap().starts_with(SEAL));
}

#[test]
fn a_list_of_files_of_other_folders_is_damage_and_removes_nothing() {
    let folder = index();
    let other = folder.path().with_extension("kept");
    std::fs::write(&other, "kept").unwrap();
    let list = folder.path().join(MANAGED);
    let name = other.file_name().unwrap().to_str().unwrap();
    for name in [format!("../{name}"), other.display().to_string(), "..".to_owned(), String::new()]
    {
        std::fs::write(&list, format!("[{name:?}]")).unwrap();
        let writer = Index::open(folder.path(), jieba);
        assert!(matches!(writer, Err(Error::Damaged { .. })), "{name}: {writer:?}");
    }
    assert_eq!(std::fs::read(&other).unwrap(), b"kept");
    std::fs::remove_file(&other).unwrap();
}

#[test]
fn a_reader_that_opens_while_another_thread_commits_sees_no_damage() {
    let folder = index();
    let ended = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    crate::Searcher::open(folder.path(), jieba).unwrap();
                    while !ended.load(std::sync::atomic::Ordering::Relaxed) {
                        crate::Searcher::open(folder.path(), jieba).unwrap();
                    }
                })
            })
            .collect();
        let mut index = Index::open(folder.path(), jieba).unwrap();
        for id in 0..SEGMENTS * PAGES {
            index.delete(id);
            index.commit().unwrap();
            // A reader waits for a moment without a commit.
            std::thread::sleep(std::time::Duration::from_millis(3));
        }
        ended.store(true, std::sync::atomic::Ordering::Relaxed);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    });
}
