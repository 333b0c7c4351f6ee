//! Packs the archive of a data directory into one WACZ file (Web Archive Collection Zipped, version 1.1.1): the WARC
//! files, a compressed CDXJ index, and the list of kept pages. Other programs replay it, discarded pages included.

mod archive;
mod beside;
mod cdxj;
mod output;
mod package;
mod sorted;

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
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
use crate::corpus::{Corpus, CorpusDir};
use crate::error::{Context, Error, Result};
use crate::files::open_stored;

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

/// Writes the archives of a corpus to an output; its path is named by errors. Beside a running crawl they end at the last commit. Of several directories,
/// the files are named `1-pages-00001.warc.gz`, `2-pages-00001.warc.gz`, ..., in the order of the directories. `progress` is
/// called with the bytes that were read, and with all that will be.
///
/// # Errors
/// [`Error::Invalid`] if no directory has an archive.
///
/// # Complexity
/// Reads the archives twice. Memory does not depend on their size; temporary files have the index.
pub fn write_wacz<W: Write + Seek>(
    corpus: &Corpus<'_>,
    (out, to): (W, &Path),
    mut progress: impl FnMut(u64, u64),
) -> Result<(W, WaczCounts)> {
    let (mut lines, mut counts) = (SortedLines::new(), WaczCounts::default());
    // First, so that the archive ends later than these pages, unless the crawl is just committing them.
    let mut list = tempfile::tempfile()?;
    counts.pages = list_pages(corpus, &mut list)?;
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
    let all = 2 * files.iter().map(|file| file.length).sum::<u64>();
    let mut before = 0;
    for file in &files {
        let end = |at: u64| {
            progress(before + at, all);
            true
        };
        let (records, damaged) = index(file, &mut lines, end)?.unwrap_or_default();
        counts.records += records;
        counts.damaged.extend(damaged);
        before += file.length;
    }
    let mut package = Package::new(out, to);
    for file in &files {
        let input = open_stored(&file.path).with_context(|| file.path.display().to_string())?;
        let input = Read::take(input, file.length);
        let length = package.add(&format!("archive/{}", file.name), file.length, input, |at| {
            progress(before + at, all);
        })?;
        before += length;
        if length < file.length {
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

fn joined(dirs: &[PathBuf]) -> String {
    dirs.iter().map(|dir| dir.display().to_string()).collect::<Vec<_>>().join(", ")
}

fn add_file<W: Write + Seek>(package: &mut Package<W>, path: &str, mut file: File) -> Result<()> {
    let length = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(0))?;
    package.add(path, length, file, |_| {})?;
    Ok(())
}

/// Writes the list of kept pages: a header, and an object a page. Returns their number.
fn list_pages(corpus: &Corpus<'_>, out: &mut File) -> Result<u64> {
    let mut out = std::io::BufWriter::new(out);
    let header = json!({"format": "json-pages-1.0", "id": "pages", "title": "Kept pages"});
    writeln!(out, "{header}")?;
    let mut count = 0;
    corpus.pages(|dir, page| -> Result<()> {
        let id = match corpus.is_joined() {
            true => format!("{}-{}", dir + 1, page.id),
            false => page.id.to_string(),
        };
        let line = json!({"id": id, "url": page.url, "ts": page.fetched, "title": page.title});
        count += 1;
        Ok(writeln!(out, "{line}")?)
    })?;
    out.flush()?;
    Ok(count)
}
