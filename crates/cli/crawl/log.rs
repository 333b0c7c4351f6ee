//! discarded.jsonl and skipped.jsonl: append-only, cut back to the committed length at open.

use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

/// One line of discarded.jsonl.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Discarded {
    pub(crate) time: String,
    pub(crate) id: u64,
    pub(crate) url: String,
    pub(crate) kind: String,
    pub(crate) of: DiscardedOf,
    pub(crate) fingerprint: Option<String>,
    pub(crate) of_fingerprint: Option<String>,
    pub(crate) distance: Option<u32>,
    pub(crate) threshold: Option<u32>,
    pub(crate) similarity: Option<f64>,
    #[serde(default)]
    pub(crate) similarity_threshold: Option<f64>,
    #[serde(default)]
    pub(crate) level: Option<String>,
    pub(crate) table: Option<usize>,
    #[serde(default)]
    pub(crate) recipe: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    pub(crate) title: String,
    pub(crate) language: String,
    pub(crate) host: String,
    pub(crate) bytes: u64,
    #[serde(default)]
    pub(crate) shared: Vec<String>,
    #[serde(default)]
    pub(crate) different: Vec<String>,
    /// Whether the page names itself as its canonical address.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) canonical: bool,
    /// Where the page lies in pages/, as `FILE:OFFSET`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) warc: Option<String>,
}

/// The page that was kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct DiscardedOf {
    pub(crate) id: Option<u64>,
    pub(crate) url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) warc: Option<String>,
}

/// One line of skipped.jsonl.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Skipped<'a> {
    pub(crate) time: Cow<'a, str>,
    pub(crate) url: Cow<'a, str>,
    pub(crate) reason: Cow<'a, str>,
    pub(crate) detail: Cow<'a, str>,
}

/// An append-only file of JSON lines.
#[derive(Debug)]
pub(crate) struct Log {
    file: File,
    length: u64,
    pending: Vec<u8>,
}

impl Log {
    /// Opens the log and cuts it back to `length`, its committed part.
    pub(crate) fn open(path: &Path, length: u64) -> io::Result<Self> {
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        let found = file.metadata()?.len();
        if found > length {
            file.set_len(length)?;
        }
        let length = found.min(length);
        file.seek(SeekFrom::Start(length))?;
        Ok(Self { file, length, pending: Vec::new() })
    }

    pub(crate) fn append(&mut self, line: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.pending, line)?;
        self.pending.push(b'\n');
        Ok(())
    }

    /// Writes and syncs what was appended; returns the new length.
    pub(crate) fn sync(&mut self) -> io::Result<u64> {
        if !self.pending.is_empty() {
            self.file.write_all(&self.pending)?;
            self.file.sync_data()?;
            self.length += self.pending.len() as u64;
            self.pending.clear();
        }
        Ok(self.length)
    }
}
