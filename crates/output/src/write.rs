//! Whole exports.

use hapax_data::{Error, Export, Result};

use crate::discards::{DISCARD_COLUMNS, discard_row};
use crate::kept::{PAGE_COLUMNS, page_row};
use crate::parts::{Limits, Parts, Written};
use crate::target::Target;

/// Writes the kept pages of an export to a folder or a store. Continues an export of the same pages that was interrupted. Calls
/// `progress` with the number of pages read.
///
/// # Errors
/// If the data directory cannot be read or the target cannot be written.
///
/// # Complexity
/// Memory for one row group.
pub fn write_pages(
    export: &Export<'_>,
    target: impl Into<Target>,
    limits: Limits,
    progress: impl FnMut(u64),
) -> Result<Written> {
    let mut parts = Parts::resume(target, PAGE_COLUMNS, limits, &export.state()?)?;
    export.pages(progress, |page| -> Result<()> {
        if parts.has_next() {
            return Ok(());
        }
        let row = page_row(page).map_err(|error| Error::Invalid(error.to_string()))?;
        Ok(parts.push(row)?)
    })?;
    Ok(parts.finish()?)
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
