//! `texts/`: the compressed comparison text of each kept page.
//!
//! `texts/data` has a zstd frame for each page, one after another. `texts/places` has 16 bytes for each document of
//! the dedup store, at its number times 16: the frame's offset (eight bytes, little endian), its length (four), and a
//! CRC-32 of key and frame (four). The CRC does not match a truncated frame or one of another document. So no repair
//! is necessary after a crash, and both files may be deleted: pages without a text are compared by their sketches.
//! `files` writes both files, erases texts and compacts them.

mod files;

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use zstd::bulk::{Compressor, Decompressor};

use crate::comparison::{Compared, PageText};
use files::{Files, MAX_ENCODED, Pending};

/// Compression level. Level 9 would save 5 % of a page of 8 KB, in four times the time.
const LEVEL: i32 = 3;
/// Size of the cache, in bytes of uncompressed texts.
const CACHE_BYTES: usize = 4 << 20;

thread_local! {
    // Reused, because they allocate tables.
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> =
        RefCell::new(Compressor::new(LEVEL).ok());
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> =
        RefCell::new(Decompressor::new().ok());
}

/// Texts of kept pages, by the number of the document.
#[derive(Debug)]
pub struct TextStore {
    folder: PathBuf,
    state: Mutex<State>,
    damaged: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    files: Option<Files>,
    /// The files exist but cannot be opened: nothing is written.
    unusable: bool,
    /// Frames that are not written yet, each with its key.
    pending: Pending,
    /// Documents whose texts are not erased yet.
    removed: Vec<u64>,
    ready: HashMap<u64, Arc<Compared>>,
    order: VecDeque<(u64, usize)>,
    bytes: usize,
}

/// The compressed text of a page; any thread can create it.
#[derive(Clone, Debug, Default)]
pub struct PackedText(Vec<u8>);

impl PackedText {
    /// Compresses a page's text.
    pub fn of(page: &PageText) -> Self {
        // Compression to memory cannot fail at this size. Without a frame the page is compared by its sketch.
        let bytes = page.encode();
        COMPRESSOR.with_borrow_mut(|compressor| {
            let compressed = compressor.as_mut().and_then(|zstd| zstd.compress(&bytes).ok());
            Self(compressed.unwrap_or_default())
        })
    }
}

impl TextStore {
    /// Opens the texts in a folder, which the first commit creates. Files that cannot be opened are reported and not
    /// changed; then pages are compared by their sketches.
    pub fn open(folder: &Path) -> Self {
        if !folder.join("data").exists() {
            return Self::with(folder, None);
        }
        match Files::open(folder).and_then(|files| files.compacted(folder)) {
            Ok(files) => Self::with(folder, Some(files)),
            Err(error) => {
                let store = Self::with(folder, None);
                tracing::warn!("{}: {error}", folder.display());
                store.say_damaged();
                store.state().unusable = true;
                store
            }
        }
    }

    /// Drops the texts of all documents from this number on. A crash between the commit of the texts and that of the dedup
    /// store leaves texts of documents that are not stored; their numbers are given to others.
    pub fn keep_below(&self, next_id: u64) {
        let mut state = self.state();
        let Some(files) = &mut state.files else { return };
        if let Err(error) = files.keep_below(next_id) {
            tracing::warn!("{}: {error}", self.folder.display());
        }
    }

    /// Opens the texts for reading, while another process may write.
    pub fn read_only(folder: &Path) -> Self {
        Self::with(folder, Files::read_only(folder).ok())
    }

    /// Creates a store without files: all texts stay in memory, compressed. [`Self::commit`] must not be called.
    pub fn in_memory() -> Self {
        Self::with(Path::new(""), None)
    }

    /// Creates a store; without files, texts stay in memory until a commit.
    fn with(folder: &Path, files: Option<Files>) -> Self {
        let state = Mutex::new(State { files, ..State::default() });
        Self { folder: folder.to_owned(), state, damaged: AtomicBool::new(false) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic while it is locked loses at most a cached text.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the text of a document. The next commit writes it.
    pub fn insert(&self, id: u64, key: &[u8], packed: PackedText, compared: &Arc<Compared>) {
        let mut state = self.state();
        if !packed.0.is_empty() {
            state.pending.insert(id, (key.to_vec(), packed.0));
        }
        state.make_ready(id, compared);
    }

    /// Returns the text of the document with this number and key, if there is one.
    pub fn get(&self, id: u64, key: &[u8]) -> Option<Arc<Compared>> {
        let mut state = self.state();
        if let Some(ready) = state.ready.get(&id) {
            return Some(Arc::clone(ready));
        }
        let frame = match state.pending.get(&id) {
            Some((_, frame)) => frame.clone(),
            None => match state.frame(id, key) {
                Ok(frame) => frame?,
                Err(_) => return self.say_damaged(),
            },
        };
        drop(state);
        let bytes = DECOMPRESSOR.with_borrow_mut(|decompressor| {
            decompressor.as_mut()?.decompress(&frame, MAX_ENCODED).ok()
        });
        let Some(page) = bytes.and_then(|bytes| PageText::decode(&bytes)) else {
            return self.say_damaged();
        };
        let compared = Arc::new(Compared::new(page));
        self.state().make_ready(id, &compared);
        Some(compared)
    }

    /// Returns whether a damaged text was read.
    pub fn is_damaged(&self) -> bool {
        self.damaged.load(Relaxed)
    }

    /// Reports damage, once.
    fn say_damaged(&self) -> Option<Arc<Compared>> {
        if !self.damaged.swap(true, Relaxed) {
            let folder = self.folder.display();
            tracing::warn!(
                "{folder} is damaged. Pages without a text are compared by sketches. To rebuild it, delete \
                 it and run `crawl upgrade`"
            );
        }
        None
    }

    /// Writes all added texts and makes them durable.
    ///
    /// # Errors
    /// From the file system. The next call writes the rest.
    pub fn commit(&self) -> io::Result<()> {
        let mut state = self.state();
        if state.unusable {
            state.pending.clear();
        }
        if state.pending.is_empty() {
            return Ok(());
        }
        if state.files.is_none() {
            let created = std::fs::create_dir_all(&self.folder);
            state.files = Some(self.named(created.and_then(|()| Files::open(&self.folder)))?);
        }
        let State { files, pending, .. } = &mut *state;
        if let Some(files) = files {
            self.named(files.append(pending))?;
        }
        state.pending.clear();
        Ok(())
    }

    /// Removes the text of a document that is no longer stored. [`Self::erase`] erases it on disk.
    pub fn remove(&self, id: u64) {
        let mut state = self.state();
        state.pending.remove(&id);
        state.ready.remove(&id);
        state.removed.push(id);
    }

    /// Erases the removed texts on disk. Called after the commit of the dedup store: until then a crash brings their
    /// documents back.
    ///
    /// # Errors
    /// From the file system. The next call erases the rest.
    pub fn erase(&self) -> io::Result<()> {
        let mut state = self.state();
        let State { files, removed, .. } = &mut *state;
        if let Some(files) = files.as_mut().filter(|_| !removed.is_empty()) {
            self.named(files.erase(removed))?;
        }
        removed.clear();
        Ok(())
    }

    /// Adds the folder to an error.
    fn named<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", self.folder.display()))
        })
    }
}

impl State {
    fn make_ready(&mut self, id: u64, compared: &Arc<Compared>) {
        let page = compared.page();
        let bytes = page.text.len() + page.cells.len() + page.title.len() + page.heading.len();
        if self.ready.insert(id, Arc::clone(compared)).is_none() {
            self.order.push_back((id, bytes));
            self.bytes += bytes;
        }
        while self.bytes > CACHE_BYTES
            && let Some((oldest, bytes)) = self.order.pop_front()
        {
            self.ready.remove(&oldest);
            self.bytes -= bytes;
        }
    }

    /// Reads the frame of a document, if it has one.
    fn frame(&mut self, id: u64, key: &[u8]) -> io::Result<Option<Vec<u8>>> {
        self.files.as_mut().map_or(Ok(None), |files| files.frame(id, key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> Arc<Compared> {
        Arc::new(Compared::new(PageText { text: text.to_owned(), ..PageText::default() }))
    }

    fn insert(store: &TextStore, id: u64, key: &str, text: &str) {
        let compared = page(text);
        store.insert(id, key.as_bytes(), PackedText::of(compared.page()), &compared);
    }

    fn text(store: &TextStore, id: u64, key: &str) -> Option<String> {
        store.get(id, key.as_bytes()).map(|page| page.page().text.clone())
    }

    #[test]
    fn texts_are_found_before_and_after_a_commit_and_an_open() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("texts");
        let store = TextStore::open(&folder);
        for id in [0, 1, 5, 6, 9] {
            insert(&store, id, &format!("k{id}"), &format!("text {id}"));
        }
        assert_eq!(text(&store, 5, "k5").unwrap(), "text 5");
        assert!(!folder.exists());
        store.commit().unwrap();
        insert(&store, 7, "k7", "text 7");
        store.commit().unwrap();
        for store in [TextStore::open(&folder), TextStore::read_only(&folder)] {
            for id in [0, 1, 5, 6, 7, 9] {
                assert_eq!(text(&store, id, &format!("k{id}")).unwrap(), format!("text {id}"));
            }
            for id in [2, 8, 10, 1 << 30] {
                assert_eq!(text(&store, id, "k"), None);
            }
            assert!(!store.is_damaged());
        }
    }

    #[test]
    fn a_stored_text_of_another_key_or_with_damage_is_not_returned() {
        let folder = tempfile::tempdir().unwrap();
        let store = TextStore::open(folder.path());
        insert(&store, 3, "before the crash", "one");
        insert(&store, 4, "k4", "four");
        store.commit().unwrap();
        let store = TextStore::open(folder.path());
        assert_eq!(text(&store, 3, "the number again"), None);
        assert!(store.is_damaged());
        let store = TextStore::open(folder.path());
        store.keep_below(4);
        assert_eq!(text(&store, 3, "before the crash").unwrap(), "one");
        assert_eq!(text(&store, 4, "the number again"), None);
        assert!(!store.is_damaged());
        insert(&store, 4, "k4", "four");
        store.commit().unwrap();
        let store = TextStore::open(folder.path());
        store.keep_below(5);
        assert_eq!(text(&store, 4, "k4").unwrap(), "four");
        let data = folder.path().join("data");
        let mut bytes = std::fs::read(&data).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(&data, &bytes).unwrap();
        assert_eq!(text(&TextStore::open(folder.path()), 4, "k4"), None);
        std::fs::write(&data, []).unwrap();
        assert_eq!(text(&TextStore::open(folder.path()), 4, "k4"), None);
        std::fs::remove_file(data).unwrap();
        assert_eq!(text(&TextStore::open(folder.path()), 4, "k4"), None);
        let again = TextStore::open(folder.path());
        insert(&again, 4, "k4", "four");
        again.commit().unwrap();
        assert_eq!(text(&TextStore::read_only(folder.path()), 4, "k4").unwrap(), "four");
    }

    #[test]
    fn texts_that_cannot_be_opened_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("data")).unwrap();
        let store = TextStore::open(folder.path());
        assert!(store.is_damaged());
        insert(&store, 1, "k1", "one");
        store.commit().unwrap();
        assert!(!folder.path().join("places").exists());
    }

    #[test]
    fn few_texts_are_held_ready() {
        let folder = tempfile::tempdir().unwrap();
        let store = TextStore::open(folder.path());
        let long = "word ".repeat(40_000);
        for id in 0..60 {
            insert(&store, id, "k", &long);
        }
        assert!(store.state().ready.len() <= CACHE_BYTES / long.len());
        assert_eq!(text(&store, 0, "k").unwrap(), long, "from what is not written yet");
    }

    #[test]
    fn a_removed_text_is_erased_on_disk_and_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let store = TextStore::open(folder.path());
        for id in 0..4 {
            insert(&store, id, &format!("k{id}"), &format!("text {id}"));
        }
        store.commit().unwrap();
        insert(&store, 4, "k4", "never written");
        let frame = |id: u64| {
            let page = page(&format!("text {id}"));
            PackedText::of(page.page()).0
        };
        let holds = |id| {
            let bytes = std::fs::read(folder.path().join("data")).unwrap();
            bytes.windows(frame(id).len()).any(|window| window == frame(id))
        };
        assert!(holds(1));
        for id in [1, 4, 77] {
            store.remove(id);
            assert!(
                !store.state().ready.contains_key(&id) && !store.state().pending.contains_key(&id)
            );
        }
        store.erase().unwrap();
        store.commit().unwrap();
        assert!(!holds(1) && holds(0) && holds(2));
        for store in [&store, &TextStore::open(folder.path())] {
            for id in 0..5 {
                let text = text(store, id, &format!("k{id}"));
                assert_eq!(text.is_some(), ![1, 4].contains(&id), "{id}");
            }
            assert!(!store.is_damaged());
        }
    }
}
