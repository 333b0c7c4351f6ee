//! Verifies every stored byte of a data directory, and compares its stores.

mod archive;
mod index;
mod logs;
mod part;
mod sites;
mod texts;

use std::io::ErrorKind;
use std::path::Path;

use hapax_data::{Skipped, is_held, locked, must_exist};
use hapax_dedup::{Error as StoreError, Store};
use hapax_extract::Recipe;
use hapax_frontier::{DiskFrontier, Frontier};
use serde_json::Value;

use self::archive::check_warc;
use self::index::check_index;
pub use self::part::{CheckedPart, Contents, Part};
use self::sites::check_sites;
use self::texts::check_texts;

use self::logs::{Lines, check_log, check_logs, committed_of, number_in};
use crate::error::{Error, Result};
use crate::intact::left_without_store;

/// The parts of a data directory that its settings require.
#[derive(Clone, Copy, Debug, Default)]
pub struct Expected {
    /// There are settings: a crawl was begun here.
    pub settings: bool,
    /// The crawl has seeds.
    pub seeds: bool,
    /// Pages are indexed.
    pub index: bool,
}

/// Verifies a data directory. Writes nothing.
///
/// # Errors
/// [`hapax_data::Error::Locked`] if another process uses the directory; another error if it does not exist.
///
/// # Complexity
/// Reads every file whole.
pub fn check(data: &Path, expected: Expected) -> Result<Vec<CheckedPart>> {
    must_exist(data)?;
    let dedup = data.join("dedup");
    if !expected.settings && !dedup.exists() {
        return Err(Error::invalid(format!("{}: contains no crawl", data.display())));
    }
    let mut checked = Checked { data, expected, parts: Vec::new(), skipped: None, written: None };
    match locked(&dedup, Recipe::default().name()) {
        Ok(store) => checked.store(&store),
        // Another process at work is not damage.
        Err(StoreError::Locked { .. }) => return Err(is_held(data).into()),
        Err(StoreError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
            let result = match left_without_store(data) {
                Some(left) => Err(Error::damaged(format!("missing, but {left} exists"))),
                None => Ok(Contents::Nothing),
            };
            checked.add(Part::Dedup, result);
        }
        Err(error) => checked.add(Part::Dedup, Err(error.into())),
    }
    let pages = data.join("pages");
    if pages.exists() {
        checked.add(Part::Pages, check_warc(&pages, checked.written));
    }
    checked.frontier()?;
    checked.files();
    Ok(checked.parts)
}

struct Checked<'a> {
    data: &'a Path,
    expected: Expected,
    parts: Vec<CheckedPart>,
    /// The committed part of skipped.jsonl: from the store or, in a crawl, from the frontier.
    skipped: Option<Lines>,
    /// The committed end of the archive: file and length.
    written: Option<(u64, u64)>,
}

impl Checked<'_> {
    fn add(&mut self, part: Part, result: Result<Contents>) {
        self.parts.push(CheckedPart::new(part, result));
    }

    fn store(&mut self, store: &Store) {
        self.add(Part::Dedup, store.check().map(Contents::Documents).map_err(Into::into));
        if self.data.join("texts").exists() {
            self.add(Part::Texts, check_texts(self.data, store));
        }
        if self.data.join("sites").exists() {
            self.add(Part::Sites, check_sites(self.data, store));
        }
        if self.data.join("index/meta.json").exists() {
            self.add(Part::Index, check_index(self.data, store));
        } else if self.expected.index && !store.is_empty() {
            self.add(Part::Index, Err(Error::damaged("the folder or its meta.json is missing")));
        }
        match serde_json::from_slice(&store.payload()) {
            Ok(position) => {
                self.skipped = Some(committed_of(&position, "skipped"));
                let file = number_in(&position, "warc_file");
                // Files are numbered from 1.
                self.written = Some((file.max(1), number_in(&position, "warc_length")));
                self.parts.extend(check_logs(self.data, &position, store));
            }
            // No crawl has written this store.
            Err(_) if store.payload().is_empty() => {}
            Err(error) => {
                self.add(Part::Dedup, Err(Error::damaged(format!("its positions: {error}"))));
            }
        }
    }

    fn frontier(&mut self) -> Result<()> {
        let folder = self.data.join("frontier");
        if DiskFrontier::is_there(&folder) {
            let options = hapax_frontier::Options::default;
            let open = |()| DiskFrontier::open_read_only(&folder, options());
            let result = match DiskFrontier::verify(&folder).and_then(open) {
                Err(hapax_frontier::Error::Locked(_)) => return Err(is_held(self.data).into()),
                Err(error) => Err(error.into()),
                Ok(frontier) => check_frontier(&frontier).map(|(contents, length)| {
                    self.skipped = self.skipped.map(|other| other.max(length));
                    contents
                }),
            };
            self.add(Part::Frontier, result);
        } else if let Ok(payload) = std::fs::read(folder.join("payload")) {
            // A worker in a cluster stores only its positions.
            let position = serde_json::from_slice(&payload).unwrap_or_default();
            let length = committed_of(&position, "skipped");
            self.skipped = self.skipped.map(|other| other.max(length));
        } else if self.expected.seeds && self.written.is_some() {
            let what =
                "missing: the next run starts again from the seeds and fetches known pages again";
            self.add(Part::Frontier, Err(Error::damaged(what)));
        }
        Ok(())
    }

    fn files(&mut self) {
        if let Ok(summary) = std::fs::read(self.data.join("summary.json")) {
            let read = serde_json::from_slice::<Value>(&summary).map(|_| Contents::Readable);
            let wrong = |error| {
                Error::damaged(format!("summary.json: {error}. The next run writes it again"))
            };
            self.add(Part::Summary, read.map_err(wrong));
        }
        if let Some(committed) = self.skipped {
            let is_right = |line: &[u8]| Ok(serde_json::from_slice::<Skipped>(line).is_ok());
            let result = check_log(&self.data.join("skipped.jsonl"), committed, is_right);
            self.add(Part::Skipped, result);
        }
    }
}

/// Returns the contents of a frontier, and the committed part of skipped.jsonl.
fn check_frontier(frontier: &DiskFrontier) -> Result<(Contents, Lines)> {
    let payload = frontier.payload()?;
    let position = match payload.is_empty() {
        true => Value::Null,
        false => serde_json::from_slice(&payload)
            .map_err(|error| Error::damaged(format!("its positions: {error}")))?,
    };
    let counts = frontier.counts();
    let contents = Contents::Urls { known: counts.known, queued: counts.queued };
    Ok((contents, committed_of(&position, "skipped")))
}
