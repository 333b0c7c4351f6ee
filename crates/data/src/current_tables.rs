//! The tables of a data directory for a program that shows it for hours: opened again only after their files changed.

use std::path::Path;
use std::time::SystemTime;

use hapax_dedup::Store;

use crate::standing::tables;

/// Name, length and time of a file.
type FileState = (std::ffi::OsString, u64, Option<SystemTime>);

/// The tables of a data directory at their last commit.
#[derive(Debug, Default)]
pub struct CurrentTables {
    store: Option<Store>,
    /// The files before they were opened.
    files: Vec<FileState>,
}

impl CurrentTables {
    /// Opens the tables of `data`, or again after another process has changed them. Call it after the log was read: the
    /// tables must not be older than the log.
    pub fn refresh(&mut self, data: &Path) {
        let files = files_of(&data.join("dedup"));
        if self.store.is_none() || self.files != files {
            // Not both in memory at a time.
            self.store = None;
            self.store = tables(data);
            self.files = files;
        }
    }

    /// Returns the tables, if there are any.
    pub const fn store(&self) -> Option<&Store> {
        self.store.as_ref()
    }
}

fn files_of(folder: &Path) -> Vec<FileState> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<FileState> = entries
        .filter_map(|entry| {
            let meta = entry.metadata().ok()?;
            Some((entry.file_name(), meta.len(), meta.modified().ok()))
        })
        .collect();
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use hapax_dedup::{Document, Fingerprint, Options};

    use super::*;

    #[test]
    fn tables_are_opened_again_after_a_commit_and_only_then() {
        let data = tempfile::tempdir().unwrap();
        let mut current = CurrentTables::default();
        current.refresh(data.path());
        assert!(current.store().is_none());
        let options = Options { recipe: "test".into(), ..Options::default() };
        let store = Store::open(data.path().join("dedup"), options).unwrap();
        for number in 1..4u64 {
            let key = number.to_string();
            let bits = Fingerprint::from_bits(number);
            let document = Document { tokens: 9, ..Document::new(key.as_bytes(), bits) };
            store.insert(&document, None).unwrap();
            current.refresh(data.path());
            let before = current.store().map_or(0, Store::len);
            assert_eq!(before, number - 1, "it is not committed");
            store.commit(b"").unwrap();
            current.refresh(data.path());
            assert_eq!(current.store().map(Store::len), Some(number));
            // A file that is written through a memory map may get its time after the commit.
            let stays = (0..100).any(|_| {
                let files = current.files.clone();
                current.refresh(data.path());
                current.files == files
            });
            assert!(stays, "{:?}", current.files);
        }
    }
}
