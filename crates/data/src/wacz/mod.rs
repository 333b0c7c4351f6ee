//! Packs the archive of a data directory into one WACZ file (Web Archive Collection Zipped, version 1.1.1): the WARC
//! files, a compressed CDXJ index, and the list of kept pages. Other programs replay it, discarded pages included.

mod archive;
mod beside;
mod cdxj;
mod output;
mod package;
mod sorted;
mod wanted;

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde_json::json;

pub(crate) use self::archive::archive_end;
pub use self::archive::{ArchiveFile, files_to};
use self::archive::{archive_files, index, missing_files};
pub(crate) use self::beside::remove_cdxj_of;
pub use self::beside::{count_cdxj, remove_cdxj, write_cdxj};
use self::cdxj::Blocks;
pub use self::cdxj::is_replayed;
use self::package::Package;
use self::sorted::SortedLines;
use self::wanted::{Ranges, Wanted};
use crate::corpus::{Corpus, CorpusDir};
use crate::error::{Context, Error, Result};
use crate::export::Export;
use crate::files::open_stored;
use crate::rows::hash_of_url;

/// Counts of a written WACZ file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WaczCounts {
    /// Records that can be replayed.
    pub records: u64,
    /// Kept pages in the list of pages.
    pub pages: u64,
    /// Files that are shorter than committed, and places of unreadable records. Such records are in no index.
    pub damaged: Vec<String>,
    /// Directories without an archive, and files of archives that are missing.
    pub without: Vec<PathBuf>,
}

/// Writes the archives of a corpus to an output; its path is named by errors. With a filter, a WARC file has the records of
/// the pages that pass it, and of their copies. Beside a running crawl the archives end at the last commit. Of several
/// directories, the files are named `1-pages-00001.warc.gz`, `2-pages-00001.warc.gz`, ..., in the order of the directories.
/// `progress` is called with the bytes that were read, and with all that will be.
///
/// # Errors
/// [`Error::Invalid`] if no directory has an archive.
///
/// # Complexity
/// Reads the archives twice. Memory does not depend on their size; it has 16 bytes a page, with a filter some 50. Temporary files have the index.
pub fn write_wacz<W: Write + Seek>(
    export: &Export<'_>,
    (out, to): (W, &Path),
    mut progress: impl FnMut(u64, u64),
) -> Result<(W, WaczCounts)> {
    let corpus = export.corpus();
    let (mut lines, mut counts) = (SortedLines::new(), WaczCounts::default());
    // First, so that the archive ends later than these pages, unless the crawl is just committing them.
    let mut list = tempfile::tempfile()?;
    let pages = list_pages(export, &mut list)?;
    counts.pages = pages.len() as u64;
    let is_filtered = !export.filter().is_empty();
    let wanted = if is_filtered { Wanted::of(corpus, &pages)? } else { Wanted::all() };
    let files = files_of(corpus, &mut counts)?;
    let all: u64 = files.iter().map(|file| file.length).sum();
    let (mut before, mut selected) = (0, Vec::new());
    for file in &files {
        let end = |at: u64| {
            progress(before + at, 2 * all);
            true
        };
        let indexed = index(file, &wanted, &mut lines, end)?.unwrap_or_default();
        counts.records += indexed.records;
        counts.damaged.extend(indexed.damaged);
        selected.push((indexed.ranges, indexed.bytes));
        before += file.length;
    }
    let all = all + selected.iter().map(|(_, bytes)| bytes).sum::<u64>();
    let mut package = Package::new(out, to);
    for (file, (ranges, bytes)) in files.iter().zip(&selected) {
        let input = open_stored(&file.path).with_context(|| file.path.display().to_string())?;
        let input = Ranges::new(input, ranges);
        let length = package.add(&format!("archive/{}", file.name), *bytes, input, |at| {
            progress(before + at, all);
        })?;
        before += length;
        if length < *bytes {
            return Err(Error::Damaged(format!("{}: it became shorter", file.path.display())));
        }
    }
    let mut blocks = Blocks::new(tempfile::tempfile()?, "index.cdx.gz");
    lines.finish(|line| blocks.add(line))?;
    let (compressed, starts) = blocks.finish()?;
    add_file(&mut package, "indexes/index.cdx.gz", compressed)?;
    package.add("indexes/index.idx", starts.len() as u64, starts.as_slice(), |_| {})?;
    add_file(&mut package, "pages/pages.jsonl", list)?;
    let name =
        |dir: &CorpusDir| dir.data.file_name().map(|name| name.to_string_lossy().into_owned());
    let title: Vec<String> = corpus.dirs().iter().filter_map(name).collect();
    Ok((package.finish(&title.join(", "))?, counts))
}

/// Returns the files of all archives.
fn files_of(corpus: &Corpus<'_>, counts: &mut WaczCounts) -> Result<Vec<ArchiveFile>> {
    let mut files = Vec::new();
    for (number, dir) in (1..).zip(corpus.dirs()) {
        let mut own = archive_files(&dir.data, &mut counts.damaged)?;
        if own.is_empty() {
            counts.without.push(dir.data.clone());
        } else {
            counts.without.extend(missing_files(&dir.data, &own)?);
        }
        if corpus.is_joined() {
            own.iter_mut().for_each(|file| file.name = format!("{number}-{}", file.name));
        }
        files.append(&mut own);
    }
    if files.is_empty() {
        return Err(Error::Invalid(format!(
            "{}: has no archive, so there is nothing to pack. A crawl writes one without --no-warc",
            joined(&counts.without)
        )));
    }
    Ok(files)
}

fn joined(dirs: &[PathBuf]) -> String {
    dirs.iter().map(|dir| dir.display().to_string()).collect::<Vec<_>>().join(", ")
}

fn add_file<W: Write + Seek>(package: &mut Package<W>, path: &str, mut file: File) -> Result<()> {
    let length = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(0))?;
    package.add(path, length, file, |_| {})?;
    Ok(())
}

/// Writes the list of kept pages: a header, and an object a page. Returns numbers and hashes of addresses.
fn list_pages(export: &Export<'_>, out: &mut File) -> Result<Vec<(u64, u64)>> {
    let mut out = std::io::BufWriter::new(out);
    let header = json!({"format": "json-pages-1.0", "id": "pages", "title": "Kept pages"});
    writeln!(out, "{header}")?;
    let dirs = export.corpus().dirs();
    let mut pages = Vec::new();
    export.pages(
        |_| {},
        |page| -> Result<()> {
            pages.push((page.id, hash_of_url(&page.url)));
            // Several directories have a name each.
            let is_of =
                |data: &String| dirs.iter().position(|dir| *data == dir.data.display().to_string());
            let id = match page.stored.data.as_ref().and_then(is_of) {
                Some(dir) => format!("{}-{}", dir + 1, page.id),
                None => page.id.to_string(),
            };
            let line = json!({"id": id, "url": page.url, "ts": page.fetched, "title": page.title});
            Ok(writeln!(out, "{line}")?)
        },
    )?;
    out.flush()?;
    Ok(pages)
}
