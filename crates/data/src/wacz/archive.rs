//! The files of an archive, and the lines of their index.

use std::path::{Path, PathBuf};

use hapax_dedup::Policy;
use hapax_extract::Recipe;
use hapax_warc::{Member, Members, file_name};

use super::cdxj::line_of;
use super::sorted::SortedLines;
use crate::archived::MAX_RECORD;
use crate::error::{Context, Error, Result};
use crate::files::open_stored;
use crate::positions::{PagePosition, read_position};
use crate::tables::read_only;

/// A file of the archive, and its committed length.
#[derive(Debug)]
pub struct ArchiveFile {
    pub(crate) path: PathBuf,
    pub(crate) name: String,
    pub(crate) length: u64,
}

/// Returns the files of the archive up to its committed end.
pub(super) fn archive_files(data: &Path) -> Result<Vec<ArchiveFile>> {
    let folder = data.join("pages");
    let end = archive_end(data)?;
    let files = files_to(&folder, end)?;
    if files.is_empty() {
        return Err(Error::Invalid(format!(
            "{}: has no archive, so there is nothing to pack. A crawl writes one without --no-warc",
            data.display()
        )));
    }
    Ok(files)
}

/// Returns the committed end of the archive: the last file and its length. `None` without a store.
pub(crate) fn archive_end(data: &Path) -> Result<Option<(u32, u64)>> {
    let store = read_only(data, Policy::default(), Recipe::default().name())?;
    let Some((store, _)) = store else { return Ok(None) };
    let position: PagePosition = read_position(&store.payload())?;
    Ok(Some((position.warc_file, position.warc_length)))
}

/// Returns the files of the archive in a folder up to `end`, the last file and its length.
///
/// # Errors
/// [`Error::Damaged`] if the last file is shorter than that.
pub fn files_to(folder: &Path, end: Option<(u32, u64)>) -> Result<Vec<ArchiveFile>> {
    let mut files = Vec::new();
    for number in 1.. {
        let name = file_name(number);
        let path = folder.join(&name);
        let Ok(found) = std::fs::metadata(&path).map(|meta| meta.len()) else { break };
        let length = match end {
            Some((last, _)) if number > last => break,
            Some((last, length)) if number == last && found < length => {
                let what = format!("{}: has {found} of {length} committed bytes", path.display());
                return Err(Error::Damaged(what));
            }
            Some((last, length)) if number == last => length,
            _ => found,
        };
        files.push(ArchiveFile { path, name, length });
    }
    Ok(files)
}

impl ArchiveFile {
    /// Calls `visit` with each record up to the committed length, until it returns false. Returns whether all were visited.
    ///
    /// # Errors
    /// [`Error::Damaged`] with the place of a record that cannot be read; otherwise from the file system or `visit`.
    pub fn each_member(&self, mut visit: impl FnMut(Member) -> Result<bool>) -> Result<bool> {
        let name = || self.path.display().to_string();
        let input = open_stored(&self.path).with_context(name)?;
        let mut members = Members::new(input, self.length, MAX_RECORD).with_context(name)?;
        loop {
            match members.next_member() {
                Ok(Some(member)) => {
                    if !visit(member)? {
                        return Ok(false);
                    }
                }
                Ok(None) => return Ok(true),
                Err(error) => {
                    let at = members.offset();
                    return Err(Error::Damaged(format!("{}, byte {at}: {error}", name())));
                }
            }
        }
    }
}

/// Adds a line for each record of a file. Returns their number; `None` if `stop` ended it.
pub(super) fn index(
    file: &ArchiveFile,
    lines: &mut SortedLines,
    stop: impl Fn() -> bool,
) -> Result<Option<u64>> {
    let mut records = 0;
    let is_whole = !stop()
        && file.each_member(|member| {
            if let Some(line) = line_of(&member, &file.name)? {
                lines.add(line)?;
                records += 1;
            }
            Ok(!stop())
        })?;
    Ok(is_whole.then_some(records))
}
