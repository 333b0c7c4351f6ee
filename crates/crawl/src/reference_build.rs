//! Makes a reference (`--against`) from files: texts, pages and JSON lines.

use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use hapax_data::files::Root;
use hapax_data::inputs::{
    Item, MAX_LINE, StoredKind, head_and_whole, is_stop, open_named, read_line, stored_kind,
    unpacked, within,
};
use hapax_data::{Addresses, DataDir, Error as DataError};
use hapax_dedup::MAX_KEY;

use crate::config::Config;
use crate::error::Result;
use crate::offline::{Offline, OfflineParts, StoredDocument, Verdict};

/// Documents committed in one step.
const BATCH: u64 = 4096;

/// Counts of a build.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReferenceCounts {
    /// Documents that were added, duplicates of each other included.
    pub added: u64,
    /// Documents that the reference had before.
    pub known: u64,
    /// Inputs and lines that could not be read.
    pub bad: u64,
    /// Whether a signal ended the build early. The same command continues it.
    pub stopped: bool,
}

/// Adds documents to a reference. All of them are stored, even duplicates: a page may be like one and not the other.
#[derive(Debug)]
pub struct ReferenceBuild {
    offline: Offline,
    addresses: Addresses,
    root: Option<Root>,
    stop: Arc<AtomicBool>,
    counts: ReferenceCounts,
}

impl ReferenceBuild {
    /// Opens or creates a reference in a data directory. JSON lines may name files below `root`. While `stop` is
    /// true, nothing more is read.
    ///
    /// # Errors
    /// [`Error::Data`](crate::Error::Data), also if there is a crawl in the directory.
    pub fn open(
        data: DataDir,
        config: &Config,
        root: Option<Root>,
        stop: Arc<AtomicBool>,
    ) -> Result<Self> {
        if data.root().join("crawl.toml").exists() {
            let what = "it contains a crawl, which is a reference already. Choose another --data";
            let what = format!("{}: {what}", data.root().display());
            return Err(DataError::Invalid(what).into());
        }
        let parts = OfflineParts { archive: false, index: false, keep_duplicates: true };
        let offline = Offline::open(data, config, parts, false)?;
        let addresses = Addresses::open(offline.root(), offline.next_id())?;
        Ok(Self { offline, addresses, root, stop, counts: ReferenceCounts::default() })
    }

    /// Adds the documents of a file: a text or HTML file is one document, a JSONL file (`-` is stdin) has one in each
    /// line. Calls `wrong` with each error of the input.
    ///
    /// # Errors
    /// An error of the stores.
    pub fn add(&mut self, path: &Path, wrong: &mut dyn FnMut(&str)) -> Result<()> {
        let name = if path == Path::new("-") { "stdin".into() } else { path.display().to_string() };
        if path.is_dir() {
            return self.wrong(&format!("{name}: a folder. Name the files in it"), wrong);
        }
        match self.file(path, &name, wrong) {
            Err(Failed::Input(error)) if is_stop(&error) => Ok(()),
            Err(Failed::Input(error)) => self.wrong(&format!("{name}: {error}"), wrong),
            Err(Failed::Own(error)) => Err(error),
            Ok(()) => Ok(()),
        }
    }

    fn file(&mut self, path: &Path, name: &str, wrong: &mut dyn FnMut(&str)) -> Read {
        let (head, whole) = head_and_whole(open_named(path, &self.stop)?)?;
        let is_lines = head.trim_ascii_start().starts_with(b"{") || path == Path::new("-");
        match stored_kind(path, &head) {
            _ if is_lines => {}
            StoredKind::Lines => {}
            StoredKind::Page(kind) | StoredKind::Text(kind) => {
                let body = within(whole)?;
                let recipe = self.offline.recipe();
                let document = StoredDocument::of_body(name, (None, None), (kind, body), recipe);
                return self.offer(document, name, None, name, wrong);
            }
            StoredKind::Warc => {
                let what = "an archive of pages. `crawl pages` makes a data directory from it";
                return Ok(self.wrong(&format!("{name}: {what}"), wrong)?);
            }
            StoredKind::Nothing if head.starts_with(b"PAR1") => {
                let what = "Parquet is not read. Convert it to JSON lines with \"id\" and \"text\"";
                return Ok(self.wrong(&format!("{name}: {what}"), wrong)?);
            }
            StoredKind::Nothing => {
                return Ok(self.wrong(&format!("{name}: neither text, HTML nor JSONL"), wrong)?);
            }
        }
        let mut lines = unpacked(BufReader::new(whole))?;
        self.lines(&mut *lines, name, wrong)
    }

    fn lines(
        &mut self,
        mut lines: &mut dyn BufRead,
        name: &str,
        wrong: &mut dyn FnMut(&str),
    ) -> Read {
        let mut number = 0u64;
        while !self.is_stopped()
            && let Some(line) = read_line(&mut lines, MAX_LINE)?
        {
            number += 1;
            if line.trim_ascii().is_empty() {
                continue;
            }
            let place = format!("{name}:{number}");
            let recipe = self.offline.recipe();
            match Item::parse_named(&line, &place) {
                Ok(item) => {
                    let document = StoredDocument::of_item(&item, recipe, self.root.as_ref());
                    self.offer(document, &item.id, item.url.as_deref(), &place, wrong)?;
                }
                Err(what) => self.wrong(&format!("{place}: {what}"), wrong)?,
            }
        }
        Ok(())
    }

    /// Adds a document. If its id belongs to another text, as in two files that both count from 1, it gets its place
    /// as id.
    fn offer(
        &mut self,
        document: Result<StoredDocument, String>,
        id: &str,
        url: Option<&str>,
        place: &str,
        wrong: &mut dyn FnMut(&str),
    ) -> Read {
        let mut document = match document {
            Ok(document) if id.len().max(place.len()) <= MAX_KEY => document,
            Ok(_) => {
                let what = format!("{place}: the id has more than {MAX_KEY} bytes");
                return Ok(self.wrong(&what, wrong)?);
            }
            Err(what) => return Ok(self.wrong(&format!("{place}: {what}"), wrong)?),
        };
        if let Some(known) = self.offline.id_of(id)?
            && let Some(record) = self.offline.record(known)?
        {
            if document.is_text_of(&record) {
                self.counts.known += 1;
                return Ok(());
            }
            document = document.named(place);
        }
        match self.offline.offer(&mut document)? {
            Verdict::Known => self.counts.known += 1,
            _ => self.counts.added += 1,
        }
        if let Some(url) = url
            && let Some(id) = self.offline.id_of(document.key())?
        {
            self.addresses.add(id, url);
        }
        if (self.counts.added + self.counts.known).is_multiple_of(BATCH) {
            self.commit()?;
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        // First, so that addresses after the last document count as uncommitted.
        self.addresses.write()?;
        self.offline.commit()
    }

    fn wrong(&mut self, what: &str, wrong: &mut dyn FnMut(&str)) -> Result<()> {
        self.counts.bad += 1;
        wrong(what);
        Ok(())
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Makes everything durable and closes the reference.
    ///
    /// # Errors
    /// An error of the stores.
    pub fn finish(mut self) -> Result<ReferenceCounts> {
        self.commit()?;
        self.counts.stopped = self.is_stopped();
        if self.counts.added > 0 && !self.counts.stopped {
            // A look-up costs time for each segment, and a reference is read more often than it is written.
            self.offline.compact()?;
        }
        self.offline.close()?;
        Ok(self.counts)
    }
}

/// An error of an input, or of the reference itself.
enum Failed {
    Input(io::Error),
    Own(crate::Error),
}

type Read = std::result::Result<(), Failed>;

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::Input(error)
    }
}

impl From<crate::Error> for Failed {
    fn from(error: crate::Error) -> Self {
        Self::Own(error)
    }
}
