//! The export into a folder: a tree by host and path, index pages, and a list of the files.

use std::io::{Read, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};

use super::listing::Listing;
use super::manifest::{Line, Manifest};
use super::names::Names;
use super::page::{PageFile, page_file};
use crate::error::{Error, Result, unwritable};
use crate::export::{Export, ExportedPage};
use crate::files::{NewFile, lock_folder, open_regular};

/// Pages that are read from the archive at a time, for each thread.
const BATCH: usize = 16;
/// Maximum number of threads.
const MAX_THREADS: usize = 16;

/// Counts of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MarkdownCounts {
    /// Pages.
    pub pages: u64,
    /// Pages of which the archive has no copy: their text has no structure.
    pub flat: u64,
    /// Removed files of pages that earlier exports wrote and this one did not.
    pub removed: u64,
}

/// Writes the pages of an export into a folder. Files that are equal stay untouched. If no page passes a
/// filter, the folder stays as it is; without a filter the files of earlier exports are removed.
///
/// # Errors
/// If a page cannot be read or a file not written, if a file is in the way that no export wrote, or if another export
/// writes to the folder. No file is half-written; the next export goes on.
///
/// # Complexity
/// Reads the pages twice: their URLs first, because names depend on all of them. 16 bytes of memory for each page, and
/// a batch of pages for each thread.
pub fn write_markdown(
    export: &Export<'_>,
    progress: impl FnMut(u64),
    folder: &Path,
) -> Result<MarkdownCounts> {
    let mut names = Names::default();
    let any = export.pages(drop, |page| -> Result<()> {
        names.add(&page.url);
        Ok(())
    })?;
    // A mistake in a filter removes nothing; pages that are gone do.
    if !any && (!export.filter().is_empty() || !Manifest::is_in(folder)) {
        return Ok(MarkdownCounts::default());
    }
    std::fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
    let _lock = lock_folder(folder).map_err(|error| unwritable(folder, &error))?;
    let mut writer = Writer {
        folder,
        data: export.first_dir(),
        manifest: Manifest::open(folder)?,
        names,
        listing: Listing::default(),
        counts: MarkdownCounts::default(),
        threads: std::thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS),
        last: None,
    };
    let most = writer.threads * BATCH;
    let mut batch = Vec::with_capacity(most);
    export.pages(progress, |page| -> Result<()> {
        batch.push(page);
        if batch.len() < most { Ok(()) } else { writer.write(std::mem::take(&mut batch)) }
    })?;
    writer.write(batch)?;
    writer.finish()
}

struct Writer<'a> {
    folder: &'a Path,
    /// The data directory of pages that name none.
    data: PathBuf,
    manifest: Manifest,
    names: Names,
    listing: Listing,
    counts: MarkdownCounts,
    threads: usize,
    /// The folder of the last file, which was checked.
    last: Option<PathBuf>,
}

impl Writer<'_> {
    /// Writes pages in their order; several threads read them from the archive.
    fn write(&mut self, pages: Vec<ExportedPage>) -> Result<()> {
        let share = pages.len().div_ceil(self.threads).max(1);
        let data = &self.data;
        let read = |pages: &[ExportedPage]| -> Vec<Result<PageFile>> {
            pages.iter().map(|page| page_file(&archive_of(data, page), page)).collect()
        };
        let files: Vec<Result<PageFile>> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                pages.chunks(share).map(|pages| scope.spawn(|| read(pages))).collect();
            let joined = threads.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            joined.flatten().collect()
        });
        for (page, file) in pages.iter().zip(files) {
            let file = file?;
            let path = self.names.path(&page.url, page.id);
            self.file(&path, Some(&page.url), &file.text)?;
            self.listing.add(&path, &page.title);
            self.counts.pages += 1;
            self.counts.flat += u64::from(file.is_flat);
        }
        Ok(())
    }

    /// Writes a file, unless it is there with this text.
    fn file(&mut self, path: &str, url: Option<&str>, text: &str) -> Result<()> {
        let full = self.folder.join(path);
        if !self.manifest.has(path) && full.symlink_metadata().is_ok() {
            let what = format!(
                "{} exists, and no export wrote it. Export into an empty folder, or remove it",
                full.display()
            );
            return Err(Error::Invalid(what));
        }
        self.manifest.add(&Line { path: path.to_owned(), url: url.map(str::to_owned) })?;
        self.parents(path)?;
        if is_equal(&full, text) {
            return Ok(());
        }
        let written = NewFile::replacing(&full).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.finish()
        });
        written.map_err(|error| unwritable(&full, &error))
    }

    /// Creates the folders of a file. A link in their place could lead anywhere.
    fn parents(&mut self, path: &str) -> Result<()> {
        let parent = Path::new(path).parent().unwrap_or(Path::new(""));
        if self.last.as_deref() == Some(parent) {
            return Ok(());
        }
        let mut folder = self.folder.to_owned();
        for part in parent.components() {
            folder.push(part);
            match std::fs::create_dir(&folder) {
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                created => created.map_err(|error| unwritable(&folder, &error))?,
            }
            let kind = folder.symlink_metadata().map_err(|error| unwritable(&folder, &error))?;
            if !kind.is_dir() {
                let what = format!("{} is no folder. Remove it", folder.display());
                return Err(Error::Invalid(what));
            }
        }
        self.last = Some(parent.to_owned());
        Ok(())
    }

    fn finish(mut self) -> Result<MarkdownCounts> {
        for (path, text) in std::mem::take(&mut self.listing).finish() {
            self.file(&path, None, &text)?;
        }
        self.counts.removed = self.manifest.finish()?;
        Ok(self.counts)
    }
}

/// Returns the archive of a page: of several data directories, each page names its own.
fn archive_of(data: &Path, page: &ExportedPage) -> PathBuf {
    page.stored.data.as_deref().map_or(data, Path::new).join("pages")
}

/// Returns whether a regular file has this text.
fn is_equal(path: &Path, text: &str) -> bool {
    let Ok(file) = open_regular(path) else { return false };
    if !file.metadata().is_ok_and(|meta| meta.len() == text.len() as u64) {
        return false;
    }
    let mut old = Vec::with_capacity(text.len());
    let read = file.take(text.len() as u64 + 1).read_to_end(&mut old);
    read.is_ok() && old == text.as_bytes()
}
