use std::cell::Cell;
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tantivy::directory::MmapDirectory;
use tantivy::directory::error::{LockError, OpenDirectoryError, OpenReadError, OpenWriteError};
use tantivy::query::RangeQuery;
use tantivy::store::{Compressor, ZstdCompressor};
use tantivy::{Directory, IndexSettings, IndexWriter, TantivyDocument, TantivyError, Term};

use crate::error::{Error, Result};
use crate::marks::{marked, only_lines, unmarked};
use crate::schema::{Fields, TOKENIZER, schemas};
use crate::tokenizer::{Dictionary, MixedTokenizer};
use crate::verify::{Verified, agreeing_reader};

/// Memory of the writer, in bytes, before it writes a segment.
const WRITER_BYTES: usize = 48 << 20;
/// Tries to merge segments that a background merge may have taken, and the wait after a failed one: ten minutes.
const MERGE_TRIES: u32 = 6000;
const MERGE_WAIT: Duration = Duration::from_millis(100);

/// Bytes of stored texts that are compressed together, in an index that this version creates. Reading one page of a
/// search decompresses one block.
const STORE_BLOCK_BYTES: usize = 64 << 10;
/// Compression of stored texts, in an index that this version creates. An earlier one keeps LZ4.
const STORE_COMPRESSION: Compressor =
    Compressor::Zstd(ZstdCompressor { compression_level: Some(1) });

/// A page to be indexed.
#[derive(Clone, Debug, Default)]
pub struct Page<'a> {
    /// The caller's number of the page. Numbers ascend.
    pub id: u64,
    /// Its URL.
    pub url: &'a str,
    /// Its title.
    pub title: &'a str,
    /// Its main text.
    pub text: &'a str,
    /// Other visible text, such as boxes and comments. It weighs less than the main text.
    pub other: &'a str,
    /// Its host, with the port unless it is the default one.
    pub host: &'a str,
    /// Its site: the registrable domain.
    pub site: &'a str,
    /// Seconds since 1970 at the time of the fetch.
    pub time: u64,
    /// Two-letter language code.
    pub language: &'a str,
    /// Time of the fetch.
    pub fetched: &'a str,
    /// Its location in the archive, in the caller's format.
    pub stored_at: &'a str,
    /// Size of its body in bytes.
    pub bytes: u64,
    /// Whether it declares itself as its canonical address.
    pub canonical: bool,
    /// Numbers of lines of `text` that the site repeats, ascending. They are stored in the text, but found as other text.
    pub site_lines: &'a [usize],
    /// More data of the caller. Not stored in an index of version 1.
    pub meta: &'a str,
}

/// The writer of an index. One process at a time.
pub struct Index {
    path: PathBuf,
    index: tantivy::Index,
    writer: IndexWriter,
    fields: Fields,
    /// After a failure tantivy's writer would still accept pages, which no thread writes.
    failed: bool,
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Index").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Index {
    /// Opens or creates the index in `folder`.
    ///
    /// # Errors
    /// [`Error::Locked`], [`Error::Damaged`] or [`Error::Io`].
    pub fn open(folder: &Path, jieba: Dictionary) -> Result<Self> {
        std::fs::create_dir_all(folder)
            .map_err(|source| Error::Io { path: folder.to_owned(), source })?;
        let open = || -> tantivy::Result<(tantivy::Index, IndexWriter, Fields)> {
            let directory = Verified::new(MmapDirectory::open(folder)?, folder);
            let index = if tantivy::Index::exists(&directory)? {
                tantivy::Index::open(directory)?
            } else {
                let [(schema, _), ..] = schemas();
                let settings = IndexSettings {
                    docstore_blocksize: STORE_BLOCK_BYTES,
                    docstore_compression: STORE_COMPRESSION,
                    ..IndexSettings::default()
                };
                tantivy::Index::create(directory, schema, settings)?
            };
            index.tokenizers().register(TOKENIZER, MixedTokenizer::new(jieba));
            // Opens every file: if a merge met a damaged one, tantivy's panic on its thread would end the process.
            let (_, fields) = agreeing_reader(&index)?;
            let writer = index.writer_with_num_threads(1, WRITER_BYTES)?;
            // A crash during a commit leaves files that meta.json does not name. The next commit may need their names.
            writer.garbage_collect_files().wait()?;
            Ok((index, writer, fields))
        };
        let (index, writer, fields) = guarded(folder, open)?;
        Ok(Self { path: folder.to_owned(), index, writer, fields, failed: false })
    }

    /// Adds a page. It is durable after [`commit`](Self::commit).
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Damaged`] from the writer's threads, and [`Error::Poisoned`] from then on.
    pub fn add(&mut self, page: &Page<'_>) -> Result<()> {
        let mut document = TantivyDocument::new();
        let fields = self.fields;
        document.add_u64(fields.id, page.id);
        document.add_text(fields.url, page.url);
        document.add_text(fields.title, unmarked(page.title));
        // An index of an earlier version has no other text, so the lines stay where they are.
        let lines = if fields.added.is_some() { page.site_lines } else { &[] };
        document.add_text(fields.text, marked(page.text, lines));
        document.add_text(fields.language, page.language);
        document.add_text(fields.fetched, page.fetched);
        document.add_text(fields.stored_at, page.stored_at);
        document.add_u64(fields.bytes, page.bytes);
        document.add_u64(fields.canonical, page.canonical.into());
        if let Some(meta) = fields.meta.filter(|_| !page.meta.is_empty()) {
            document.add_text(meta, page.meta);
        }
        if let Some(added) = fields.added {
            let lines = only_lines(page.text, lines);
            if !page.other.is_empty() || !lines.is_empty() {
                document.add_text(added.other, unmarked(page.other));
            }
            // A second value: what the page has outside its text stays as it is.
            if !lines.is_empty() {
                document.add_text(added.other, lines);
            }
            document.add_text(added.host, page.host);
            document.add_text(added.site, page.site);
            document.add_u64(added.time, page.time);
        }
        self.write(|writer| {
            writer.add_document(document).map(|_| ()).map_err(|error| {
                // After a failure of its thread the writer's error has no cause; `prepare_commit` returns it.
                writer.prepare_commit().err().unwrap_or(error)
            })
        })
    }

    fn write(&mut self, work: impl FnOnce(&mut IndexWriter) -> tantivy::Result<()>) -> Result<()> {
        if self.failed {
            return Err(Error::Poisoned);
        }
        let writer = &mut self.writer;
        guarded(&self.path, || work(writer)).inspect_err(|_| self.failed = true)
    }

    /// Removes a page. Durable after the next [`commit`](Self::commit).
    pub fn delete(&mut self, id: u64) {
        self.writer.delete_term(Term::from_field_u64(self.fields.id, id));
    }

    /// Removes all pages with a number of `first` or above, which a crash left without a counterpart in the other
    /// stores.
    ///
    /// # Errors
    /// From the writer.
    pub fn delete_from(&mut self, first: u64) -> Result<()> {
        let lower = Bound::Included(Term::from_field_u64(self.fields.id, first));
        let query = RangeQuery::new(lower, Bound::Unbounded);
        self.write(|writer| writer.delete_query(Box::new(query)).map(|_| ()))
    }

    /// Makes all earlier changes durable.
    ///
    /// # Errors
    /// From the writer or the file system, and [`Error::Poisoned`] from then on.
    pub fn commit(&mut self) -> Result<()> {
        let index = self.index.clone();
        self.write(|writer| {
            writer.commit()?;
            // The rename of meta.json is durable only after a sync of its folder.
            index.directory().sync_directory()?;
            Ok(())
        })
    }

    /// Rewrites the files that contain removed pages, so that no file has their texts. Commit before.
    ///
    /// # Errors
    /// From the writer or the file system, and [`Error::Poisoned`] from then on.
    ///
    /// # Complexity
    /// Linear in the size of these files.
    pub fn expunge(&mut self) -> Result<()> {
        for _ in 0..MERGE_TRIES {
            let index = self.index.clone();
            let metas = guarded(&self.path, || index.searchable_segment_metas())?;
            let with_removed: Vec<_> = metas.iter().filter(|meta| meta.has_deletes()).collect();
            if with_removed.is_empty() {
                return self.write(|writer| {
                    writer.garbage_collect_files().wait()?;
                    Ok(index.directory().sync_directory()?)
                });
            }
            for meta in with_removed {
                // A background merge may have taken the segment; the next try looks again.
                if guarded(&self.path, || self.writer.merge(&[meta.id()]).wait()).is_err() {
                    std::thread::sleep(MERGE_WAIT);
                }
            }
        }
        let what = "removed pages are still in its files. Run the command again".to_owned();
        Err(Error::Io { path: self.path.clone(), source: std::io::Error::other(what) })
    }

    /// Waits for background merges.
    ///
    /// # Errors
    /// From the merge threads.
    pub fn close(self) -> Result<()> {
        let path = self.path;
        guarded(&path, || self.writer.wait_merging_threads())
    }
}

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether a panic of this thread becomes an [`Error::Damaged`]. A panic hook need not report such a panic.
#[must_use]
pub fn is_guarded() -> bool {
    GUARDED.get()
}

/// Runs `work` and returns its panics as errors: tantivy trusts lengths in its files, and panics if they are wrong.
pub(crate) fn guarded<T>(path: &Path, work: impl FnOnce() -> tantivy::Result<T>) -> Result<T> {
    let before = GUARDED.replace(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(before);
    match done {
        Ok(done) => done.map_err(|error| translate(path, error)),
        Err(panic) => {
            let said = panic.downcast_ref::<String>().map(String::as_str);
            let said = said.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
            let what = format!("its files cannot be read ({said})");
            Err(Error::Damaged { path: path.to_owned(), what })
        }
    }
}

fn translate(path: &Path, error: TantivyError) -> Error {
    let io_of = |path: PathBuf, source: &std::io::Error| match source.kind() {
        // A damaged file has offsets behind its end or before its beginning.
        std::io::ErrorKind::InvalidData
        | std::io::ErrorKind::UnexpectedEof
        | std::io::ErrorKind::InvalidInput => Error::Damaged { path, what: source.to_string() },
        kind => Error::Io { path, source: std::io::Error::new(kind, source.to_string()) },
    };
    let io = |source: &std::io::Error| io_of(path.to_owned(), source);
    match &error {
        TantivyError::LockFailure(LockError::LockBusy, _) => Error::Locked(path.to_owned()),
        TantivyError::LockFailure(LockError::IoError(source), _) => io(source),
        TantivyError::IoError(source) => io(source),
        TantivyError::OpenDirectoryError(OpenDirectoryError::IoError { io_error, .. })
        | TantivyError::OpenWriteError(OpenWriteError::IoError { io_error, .. }) => io(io_error),
        TantivyError::OpenReadError(OpenReadError::IoError { io_error, filepath }) => {
            io_of(path.join(filepath), io_error)
        }
        TantivyError::OpenReadError(OpenReadError::FileDoesNotExist(file)) => {
            Error::Damaged { path: path.join(file), what: "it is missing".to_owned() }
        }
        // The writer's threads report I/O errors as text, if at all.
        other if other.to_string().contains("No space left") => Error::Io {
            path: path.to_owned(),
            source: std::io::Error::new(std::io::ErrorKind::StorageFull, other.to_string()),
        },
        TantivyError::ErrorInThread(what) | TantivyError::SystemError(what) => {
            Error::Io { path: path.to_owned(), source: std::io::Error::other(what.clone()) }
        }
        other => Error::Damaged { path: path.to_owned(), what: other.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::few_words::jieba;
    use crate::request::Request;
    use crate::searcher::{Searcher, damaged_files};
    use crate::snippet::SNIPPET_TEXT;

    fn page<'a>(id: u64, title: &'a str, text: &'a str) -> Page<'a> {
        Page {
            id,
            url: "http://a.example/",
            title,
            text,
            language: "en",
            fetched: "",
            stored_at: "1:0",
            bytes: 9,
            canonical: id == 1,
            meta: "{\"page_type\":\"article\"}",
            ..Page::default()
        }
    }

    #[test]
    fn a_writer_that_cannot_write_says_why_and_calls_nothing_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let mut index = Index::open(folder.path(), jieba).unwrap();
        std::fs::remove_dir_all(folder.path()).unwrap();
        // The writer's thread fails after a number of pages.
        let failed = (0..100_000).find_map(|id| index.add(&page(id, "", "A spring.")).err());
        let Some(Error::Io { source, .. }) = failed else { panic!("{failed:?}") };
        assert!(!source.to_string().contains("was killed"), "{source}");
        assert!(matches!(index.add(&page(0, "", "A spring.")), Err(Error::Poisoned)));
        assert!(matches!(index.commit(), Err(Error::Poisoned)));
    }

    #[test]
    fn an_index_of_an_earlier_version_takes_pages_without_further_data() {
        let meta = "{\"page_type\":\"article\"}";
        // The first has the fields of this version in the smaller blocks of the version before.
        for (former, stored) in [(Some(0), meta), (Some(2), ""), (Some(1), meta), (None, meta)] {
            let folder = tempfile::tempdir().unwrap();
            if let Some(former) = former {
                let (schema, _) = crate::schema::schemas().into_iter().nth(former).unwrap();
                let directory =
                    Verified::new(MmapDirectory::open(folder.path()).unwrap(), folder.path());
                tantivy::Index::open_or_create(directory, schema).unwrap();
            }
            for id in 0..2 {
                let mut index = Index::open(folder.path(), jieba).unwrap();
                index.add(&page(id, "Springs", "A spring.")).unwrap();
                index.commit().unwrap();
                index.close().unwrap();
            }
            let searcher = Searcher::open(folder.path(), jieba).unwrap();
            assert_eq!(searcher.search("spring", 9).unwrap().1, 2);
            let is_current = former.is_none_or(|version| version == 0);
            assert_eq!(searcher.is_current(), is_current);
            let host = Request { host: Some("a.example"), ..Request::words("spring") };
            assert_eq!(searcher.find(&host).is_err(), !is_current, "it has no hosts");
            let english = Request { language: Some("en"), ..Request::words("spring") };
            assert_eq!(searcher.find(&english).unwrap().1, 2);
            let found = searcher.page(1).unwrap().unwrap();
            assert_eq!((found.meta.as_str(), found.canonical), (stored, true));
        }
    }

    #[test]
    fn files_of_a_commit_that_a_crash_ended_are_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut index = Index::open(folder.path(), jieba).unwrap();
        (0..3).for_each(|id| index.add(&page(id, "Springs", "A spring.")).unwrap());
        index.commit().unwrap();
        index.close().unwrap();
        let meta = folder.path().join("meta.json");
        let before = std::fs::read(&meta).unwrap();
        for _ in 0..3 {
            let mut index = Index::open(folder.path(), jieba).unwrap();
            index.delete_from(2).unwrap();
            index.commit().unwrap();
            index.close().unwrap();
            let searcher = Searcher::open(folder.path(), jieba).unwrap();
            assert_eq!(searcher.search("spring", 9).unwrap().1, 2);
            // As if the process had ended before the new one was written.
            std::fs::write(&meta, &before).unwrap();
        }
    }

    #[test]
    fn a_file_that_is_cut_is_damage() {
        let folder = tempfile::tempdir().unwrap();
        let mut index = Index::open(folder.path(), jieba).unwrap();
        index.add(&page(0, "", "A spring.")).unwrap();
        index.commit().unwrap();
        index.close().unwrap();
        let files: Vec<PathBuf> =
            std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        for extension in ["store", "idx"] {
            let file = files.iter().find(|path| path.extension().is_some_and(|e| e == extension));
            let bytes = std::fs::read(file.unwrap()).unwrap();
            for length in 0..bytes.len() {
                std::fs::write(file.unwrap(), &bytes[..length]).unwrap();
                let found = Searcher::open(folder.path(), jieba).and_then(|index| index.page(0));
                assert!(matches!(found, Err(Error::Damaged { .. })), "{extension}: {found:?}");
            }
            std::fs::write(file.unwrap(), bytes).unwrap();
        }
        assert!(Searcher::open(folder.path(), jieba).unwrap().page(0).unwrap().is_some());
    }

    #[test]
    fn texts_of_removed_pages_are_in_no_file_after_expunge() {
        let folder = tempfile::tempdir().unwrap();
        // Without compression, so that the words can be found in the files.
        let [(schema, _), ..] = schemas();
        let settings =
            IndexSettings { docstore_compression: Compressor::None, ..IndexSettings::default() };
        let directory = MmapDirectory::open(folder.path()).unwrap();
        tantivy::Index::create(directory, schema, settings).unwrap();
        let mut index = Index::open(folder.path(), jieba).unwrap();
        // Several segments: one keeps pages, one loses all.
        for group in 0..3 {
            for id in group * 10..group * 10 + 10 {
                let text = if id < 15 { "A quixotrine." } else { "A spring." };
                index.add(&page(id, "Birds", text)).unwrap();
            }
            index.commit().unwrap();
        }
        let has = |word: &[u8]| {
            std::fs::read_dir(folder.path()).unwrap().any(|file| {
                let bytes = std::fs::read(file.unwrap().path()).unwrap_or_default();
                bytes.windows(word.len()).any(|part| part == word)
            })
        };
        (0..15).for_each(|id| index.delete(id));
        index.commit().unwrap();
        assert!(has(b"quixotrine"));
        index.expunge().unwrap();
        assert!(!has(b"quixotrine") && has(b"spring"));
        index.expunge().unwrap();
        index.add(&page(40, "Birds", "A spring.")).unwrap();
        index.commit().unwrap();
        index.close().unwrap();
        let searcher = Searcher::open(folder.path(), jieba).unwrap();
        assert_eq!(searcher.search("spring", 99).unwrap().1, 16);
        assert!(damaged_files(folder.path()).unwrap().is_empty());
    }

    #[test]
    fn words_of_both_languages_are_found_and_what_is_ahead_can_be_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let mut index = Index::open(folder.path(), jieba).unwrap();
        index
            .add(&page(0, "Rivers", "The river rose in the spring and fell in the autumn."))
            .unwrap();
        index.add(&page(1, "编程", "我们在北京大学学习编程语言。")).unwrap();
        index.add(&page(2, "Other", "A spring of steel.")).unwrap();
        index.commit().unwrap();
        assert!(matches!(Index::open(folder.path(), jieba), Err(Error::Locked(_))));

        let searcher = Searcher::open(folder.path(), jieba).unwrap();
        let ids = |query: &str| {
            let mut ids: Vec<u64> =
                searcher.search(query, 9).unwrap().0.iter().map(|h| h.id).collect();
            ids.sort_unstable();
            ids
        };
        assert_eq!(ids("spring"), [0, 2]);
        assert_eq!(ids("SPRING river"), [0]);
        assert_eq!(ids("\"spring and fell\""), [0]);
        assert_eq!(ids("北京大学"), [1]);
        assert_eq!(ids("学习"), [1]);
        // Only exclusions: all other pages match.
        let all = ids("*");
        for without in ["-spring", "NOT spring", "-spring -steel"] {
            let expected: Vec<u64> =
                all.iter().copied().filter(|id| ![0, 2].contains(id)).collect();
            assert_eq!(ids(without), expected, "{without}");
        }
        assert!(matches!(searcher.search("a AND (", 9), Err(Error::Query(_))));
        let page = searcher.page(1).unwrap().unwrap();
        assert_eq!((page.title.as_str(), page.bytes, page.canonical), ("编程", 9, true));
        let mut all = Vec::new();
        searcher
            .pages(|page| {
                all.push(page.id);
                true
            })
            .unwrap();
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2]);
        assert!(searcher.search("river", 1).unwrap().0[0].snippet.contains("river rose"));

        index.delete_from(1).unwrap();
        index.commit().unwrap();
        index.close().unwrap();
        assert_eq!(Searcher::open(folder.path(), jieba).unwrap().len(), 1);
        assert!(matches!(Searcher::open(Path::new("/nonexistent"), jieba), Err(Error::Missing(_))));
    }

    #[test]
    fn long_words_and_the_words_within_have_snippets_wherever_they_stand() {
        let folder = tempfile::tempdir().unwrap();
        let mut index = Index::open(folder.path(), jieba).unwrap();
        // Fragments of snippets are measured in bytes, which may split a character.
        for id in 0..=200 {
            let text =
                format!("{}北京大学在中华人民共和国。", "a ".repeat(id / 2) + &"b".repeat(id % 2));
            index.add(&page(id as u64, "", &text)).unwrap();
        }
        index.commit().unwrap();
        let searcher = Searcher::open(folder.path(), jieba).unwrap();
        for query in ["北京大学", "北京", "大学", "中华人民共和国", "共和国", "\"大学在\""]
        {
            let (hits, count) = searcher.search(query, 300).unwrap();
            assert_eq!((hits.len(), count), (201, 201), "{query}");
            assert!(
                hits.iter().all(|hit| hit.snippet.contains(['北', '京', '大', '国'])),
                "{query}"
            );
        }
    }

    #[test]
    fn only_the_beginning_of_a_long_text_is_searched_for_a_snippet() {
        let folder = tempfile::tempdir().unwrap();
        let mut index = Index::open(folder.path(), jieba).unwrap();
        let before = "The beginning. ".repeat(SNIPPET_TEXT / 15 + 1);
        index.add(&page(0, "", &format!("{before} far"))).unwrap();
        index.add(&page(1, "", "Not far from here.")).unwrap();
        index.commit().unwrap();
        let (mut hits, _) = Searcher::open(folder.path(), jieba).unwrap().search("far", 9).unwrap();
        hits.sort_by_key(|hit| hit.id);
        let snippets: Vec<&str> = hits.iter().map(|hit| hit.snippet.as_str()).collect();
        assert!(snippets[0].starts_with("The beginning.") && !snippets[0].contains("far"));
        assert_eq!(snippets[1], "Not far from here");
    }
}
