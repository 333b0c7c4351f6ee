//! Whole exports.

use std::cell::RefCell;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use hapax_data::{Error, Export, Result};

use crate::cell::Cell;
use crate::discards::{DISCARD_COLUMNS, discard_row};
use crate::kept::{PAGE_COLUMNS, page_row};
use crate::parts::{Limits, Parts, Written};
use crate::target::Target;

/// Rows that are handed to the encoder at once, and bytes of their values.
const BATCH_ROWS: usize = 1024;
const BATCH_BYTES: usize = 1 << 20;
/// Batches that wait for the encoder; further pages are not read. Together they are as large as a row group: the encoder
/// writes one at once, and takes no batch meanwhile.
const MAX_BATCHES: usize = 32;
/// Pages after which the encoder learns how many were read, even if a filter leaves all of them out.
const READ_STEP: u64 = 4096;

/// Rows of pages for the encoder, each with the number of pages read before it and with it.
#[derive(Debug, Default)]
struct Batch {
    rows: Vec<(u64, Vec<Cell>)>,
    /// Bytes of their values.
    bytes: usize,
    /// Number of pages read so far.
    read: u64,
    /// All pages were read. Without such a batch the export is incomplete.
    is_last: bool,
}

/// Writes the kept pages of an export to a folder or a store. Continues an export of the same pages that was interrupted. Calls
/// `progress` with the number of pages read. One thread reads pages, another one encodes them and calls `progress`.
///
/// # Errors
/// If the data directory cannot be read or the target cannot be written.
///
/// # Complexity
/// Memory for one row group, and for batches of the same size.
pub fn write_pages(
    export: &Export<'_>,
    target: impl Into<Target>,
    limits: Limits,
    progress: impl FnMut(u64) + Send,
) -> Result<Written> {
    let parts = Parts::resume(target, PAGE_COLUMNS, limits, &export.state()?)?;
    let (send, batches) = sync_channel(MAX_BATCHES);
    std::thread::scope(|scope| {
        let encoder = scope.spawn(move || encode(parts, &batches, progress));
        let read = read(export, &send);
        drop(send);
        // A panic of the encoder is one of this function.
        let written = encoder.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        read?;
        written.ok_or_else(|| Error::Invalid("an export without its last pages".into()))
    })
}

/// Reads all pages and sends their rows in batches.
fn read(export: &Export<'_>, send: &SyncSender<Batch>) -> Result<()> {
    let waiting = RefCell::new(Batch::default());
    let hand_over = |is_last| {
        let batch = Batch { is_last, ..waiting.take() };
        waiting.borrow_mut().read = batch.read;
        // It has failed, and its error is reported.
        send.send(batch).map_err(|_| Error::Invalid("the encoder has stopped".into()))
    };
    let progress = |read: u64| {
        waiting.borrow_mut().read = read;
        if read.is_multiple_of(READ_STEP) {
            // If the encoder has stopped, the next page reports it.
            let _ = hand_over(false);
        }
    };
    export.pages(progress, |page| -> Result<()> {
        let row = page_row(page).map_err(|error| Error::Invalid(error.to_string()))?;
        let is_full = {
            let mut batch = waiting.borrow_mut();
            batch.bytes += row.iter().map(Cell::size).sum::<usize>();
            let read = batch.read;
            batch.rows.push((read, row));
            batch.rows.len() >= BATCH_ROWS || batch.bytes >= BATCH_BYTES
        };
        if is_full { hand_over(false) } else { Ok(()) }
    })?;
    hand_over(true)
}

/// Writes all batches. Returns `None` if the last one is missing, because the pages could not be read.
fn encode(
    mut parts: Parts,
    batches: &Receiver<Batch>,
    mut progress: impl FnMut(u64),
) -> Result<Option<Written>> {
    for batch in batches {
        for (read, row) in batch.rows {
            progress(read);
            if !parts.has_next() {
                parts.push(row)?;
            }
        }
        progress(batch.read);
        if batch.is_last {
            return Ok(Some(parts.finish()?));
        }
    }
    Ok(None)
}

/// Writes the discarded pages that pass the filter of an export to a folder or a store, each with the page that represents it now.
/// Redirects and restored pages are left out. Calls `progress` with the number of lines read.
///
/// # Errors
/// If the data directory cannot be read or the target cannot be written.
///
/// # Complexity
/// Memory for one row group.
pub fn write_discards(
    export: &Export<'_>,
    target: impl Into<Target>,
    limits: Limits,
    mut progress: impl FnMut(u64),
) -> Result<Written> {
    let corpus = export.corpus();
    let mut parts = Parts::create(target, DISCARD_COLUMNS, limits)?;
    let mut read = 0;
    for (dir, heads) in corpus.heads().iter().enumerate() {
        let data = corpus.dirs().get(dir).filter(|_| corpus.is_joined());
        let data = data.map(|dir| dir.data.display().to_string());
        for row in heads.rows.discarded() {
            read += 1;
            progress(read);
            if !corpus.is_copy(dir, row) {
                continue;
            }
            let mut line = heads.shown(row)?.entry;
            if !export.filter().wants_discarded(&line) {
                continue;
            }
            if let Some(url) = corpus.elsewhere(dir, &line.of.url)? {
                // Its number is that of another directory.
                (line.of.url, line.of.id) = (url, None);
            }
            let row = discard_row(line, data.clone());
            parts.push(row.map_err(|error| Error::Invalid(error.to_string()))?)?;
        }
    }
    Ok(parts.finish()?)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use hapax_data::{Corpus, CorpusDir, PageFilter};
    use hapax_extract::jieba;
    use hapax_index::{Index, Page, Searcher};

    use super::*;
    use crate::parts::tests::read;

    #[test]
    fn rows_without_the_last_batch_leave_no_finished_export() {
        let row = || {
            let page =
                hapax_index::StoredPage { url: "http://a.example/".into(), ..Default::default() };
            page_row(page.into()).unwrap()
        };
        for (is_last, rows) in [(false, None), (true, Some(3))] {
            let folder = tempfile::tempdir().unwrap();
            let parts = Parts::create(folder.path(), PAGE_COLUMNS, Limits::default()).unwrap();
            let (send, batches) = sync_channel(2);
            let rows_of = |from: u64, to: u64| (from..to).map(|read| (read, row())).collect();
            send.send(Batch { rows: rows_of(1, 3), read: 2, ..Batch::default() }).unwrap();
            send.send(Batch { rows: rows_of(3, 4), read: 4, is_last, ..Batch::default() }).unwrap();
            drop(send);
            let mut seen = Vec::new();
            let written = encode(parts, &batches, |read| seen.push(read)).unwrap();
            assert_eq!(written.map(|written| written.rows), rows);
            assert_eq!(folder.path().join("_SUCCESS").exists(), is_last);
            assert_eq!(seen, [1, 2, 2, 3, 4]);
        }
    }

    #[test]
    fn an_interrupted_export_continues_with_the_same_rows_and_begins_again_after_a_change() {
        let data = tempfile::tempdir().unwrap();
        let folder = data.path().join("index");
        let mut index = Index::open(&folder, jieba).unwrap();
        for id in 0..300 {
            let (url, text) =
                (format!("http://a.example/{id}"), format!("Page {id} {}", id * 7919));
            index.add(&Page { id, url: &url, text: &text, ..Page::default() }).unwrap();
            if id % 70 == 0 {
                index.commit().unwrap();
            }
        }
        index.commit().unwrap();
        let limits = Limits { group_bytes: 30_000, part_bytes: 100 };
        let (whole, killed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let open =
            || CorpusDir::open(data.path(), Searcher::open(&folder, jieba).unwrap()).unwrap();
        let dirs = [open()];
        let corpus = Corpus::new(&dirs).unwrap();
        let export = Export::new(&corpus, PageFilter::default(), false).unwrap();
        // The state of the folder after 200 pages, as after a kill.
        let copy = |count| {
            for entry in fs::read_dir(whole.path()).unwrap().filter(|_| count == 200) {
                let entry = entry.unwrap();
                fs::copy(entry.path(), killed.path().join(entry.file_name())).unwrap();
            }
        };
        let written = write_pages(&export, whole.path(), limits, copy).unwrap();
        assert!(written.rows == 300 && written.parts > 5, "{written:?}");
        let part = killed.path().join("part-00001.parquet");
        let before = fs::metadata(&part).unwrap().modified().unwrap();
        assert!(!killed.path().join("_SUCCESS").exists());
        let again = write_pages(&export, killed.path(), limits, |_| ()).unwrap();
        assert_eq!((again.rows, read(killed.path())), (300, read(whole.path())));
        assert_eq!(
            fs::metadata(&part).unwrap().modified().unwrap(),
            before,
            "it was not written again"
        );
        // Another filter, and another commit, are other exports.
        let filter = PageFilter { min_words: 1, ..PageFilter::default() };
        let filtered = Export::new(&corpus, filter, false).unwrap();
        assert_ne!(filtered.state().unwrap(), export.state().unwrap());
        index.delete(7);
        index.commit().unwrap();
        let later = [open()];
        let corpus = Corpus::new(&later).unwrap();
        let later = Export::new(&corpus, PageFilter::default(), false).unwrap();
        assert_ne!(later.state().unwrap(), export.state().unwrap());
    }
}
