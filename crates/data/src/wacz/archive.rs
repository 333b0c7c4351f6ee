//! The files of an archive, and the lines of their index.

use std::ops::Range;
use std::path::{Path, PathBuf};

use hapax_dedup::Policy;
use hapax_extract::Recipe;
use hapax_warc::{Member, Members, file_name};

use super::cdxj::line_of;
use super::sorted::SortedLines;
use super::wanted::Wanted;
use crate::archived::MAX_RECORD;
use crate::error::{Context, Error, Result};
use crate::files::open_stored;
use crate::positions::{PagePosition, read_position};
use crate::tables::read_only;

/// A file of the archive, and its committed length.
#[derive(Debug)]
pub struct ArchiveFile {
    /// The number in its name.
    pub(crate) number: u32,
    pub(crate) path: PathBuf,
    pub(crate) name: String,
    pub(crate) length: u64,
}

/// Returns the files of the archive up to its committed end. Adds a last file that is shorter to `damaged`.
pub(super) fn archive_files(data: &Path, damaged: &mut Vec<String>) -> Result<Vec<ArchiveFile>> {
    read_folder(&data.join("pages"), archive_end(data)?, |what| {
        damaged.push(what);
        Ok(())
    })
}

/// Returns the files that the archive lacks: a person moved them away.
pub(super) fn missing_files(data: &Path, files: &[ArchiveFile]) -> Result<Vec<PathBuf>> {
    let last = archive_end(data)?.map_or(0, |(last, _)| last);
    let is_missing = |number: &u32| !files.iter().any(|file| file.number == *number);
    let missing = (1..=last).filter(is_missing);
    Ok(missing.map(|number| data.join("pages").join(file_name(number))).collect())
}

/// Returns the committed end of the archive: the last file and its length. `None` without a store.
pub(crate) fn archive_end(data: &Path) -> Result<Option<(u32, u64)>> {
    let store = read_only(data, Policy::default(), Recipe::default().name())?;
    let Some((store, _)) = store else { return Ok(None) };
    let position: PagePosition = read_position(&store.payload())?;
    Ok(Some((position.warc_file, position.warc_length)))
}

/// Returns the files of the archive in a folder up to `end`, the last file and its length. A person may have moved some
/// away.
///
/// # Errors
/// [`Error::Damaged`] if the last file is shorter than that.
pub fn files_to(folder: &Path, end: Option<(u32, u64)>) -> Result<Vec<ArchiveFile>> {
    read_folder(folder, end, |what| Err(Error::Damaged(what)))
}

/// `shorter` handles a last file that is shorter than its committed length.
fn read_folder(
    folder: &Path,
    end: Option<(u32, u64)>,
    mut shorter: impl FnMut(String) -> Result<()>,
) -> Result<Vec<ArchiveFile>> {
    let mut files = Vec::new();
    for number in 1.. {
        let name = file_name(number);
        let path = folder.join(&name);
        if end.is_some_and(|(last, _)| number > last) {
            break;
        }
        let Ok(found) = std::fs::metadata(&path).map(|meta| meta.len()) else {
            match end {
                Some(_) => continue,
                None => break,
            }
        };
        let length = match end {
            Some((last, length)) if number == last && found < length => {
                shorter(format!("{}: has {found} of {length} committed bytes", path.display()))?;
                found
            }
            Some((last, length)) if number == last => length,
            _ => found,
        };
        files.push(ArchiveFile { number, path, name, length });
    }
    Ok(files)
}

impl ArchiveFile {
    /// Calls `visit` with each record up to the committed length, until it returns false. Returns whether all were visited.
    ///
    /// # Errors
    /// [`Error::Damaged`] with the place of a record that cannot be read; otherwise from the file system or `visit`.
    pub fn each_member(&self, visit: impl FnMut(Member) -> Result<bool>) -> Result<bool> {
        let mut damage = None;
        let is_whole = self.read(visit, |place| {
            damage = Some(place);
            false
        })?;
        damage.map_or(Ok(is_whole), |place| Err(Error::Damaged(place)))
    }

    /// Calls `visit` as [`each_member`](Self::each_member) does, and `damaged` with the place of each unreadable record.
    ///
    /// # Errors
    /// From the file system or `visit`.
    pub fn each_readable(
        &self,
        visit: impl FnMut(Member) -> Result<bool>,
        mut damaged: impl FnMut(String),
    ) -> Result<bool> {
        self.read(visit, |place| {
            damaged(place);
            true
        })
    }

    /// `damaged` returns whether to go on.
    fn read(
        &self,
        mut visit: impl FnMut(Member) -> Result<bool>,
        mut damaged: impl FnMut(String) -> bool,
    ) -> Result<bool> {
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
                    if !damaged(format!("{}, byte {at}: {error}", name())) {
                        return Ok(false);
                    }
                    if !members.resync().with_context(name)? {
                        return Ok(true);
                    }
                }
            }
        }
    }
}

/// What the index of a file found.
#[derive(Debug, Default)]
pub(super) struct Indexed {
    /// Records with a line.
    pub(super) records: u64,
    /// Places of damage.
    pub(super) damaged: Vec<String>,
    /// Bytes of the wanted records, if not all are wanted.
    pub(super) ranges: Vec<Range<u64>>,
    /// Sum of these bytes.
    pub(super) bytes: u64,
}

impl Indexed {
    /// Adds a record to the ranges. Returns its offset in a file that has these ranges alone.
    fn take(&mut self, member: &Member) -> u64 {
        let (at, end) = (self.bytes, member.offset + member.length);
        self.bytes += member.length;
        match self.ranges.last_mut().filter(|last| last.end == member.offset) {
            Some(last) => last.end = end,
            None => self.ranges.push(member.offset..end),
        }
        at
    }
}

/// Adds a line for each wanted record of a file that can be read. Returns `None` if `visit`, which gets the end of each
/// record, returned false.
pub(super) fn index(
    file: &ArchiveFile,
    wanted: &Wanted,
    lines: &mut SortedLines,
    mut visit: impl FnMut(u64) -> bool,
) -> Result<Option<Indexed>> {
    let (mut indexed, mut damaged) = (Indexed::default(), Vec::new());
    let is_whole = visit(0)
        && file.each_readable(
            |member| {
                if wanted.has(&member.record) {
                    let selected = (!wanted.is_all()).then(|| indexed.take(&member));
                    let offset = selected.unwrap_or(member.offset);
                    if let Some(line) = line_of(&member, offset, &file.name)? {
                        lines.add(line)?;
                        indexed.records += 1;
                    }
                }
                Ok(visit(member.offset + member.length))
            },
            |place| damaged.push(place),
        )?;
    if wanted.is_all() {
        indexed.ranges.push(0..file.length);
        indexed.bytes = file.length;
    }
    Ok(is_whole.then_some(Indexed { damaged, ..indexed }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_keep_their_numbers_if_some_were_moved_away() {
        let folder = tempfile::tempdir().unwrap();
        for number in [2, 3, 5] {
            std::fs::write(folder.path().join(file_name(number)), "bytes").unwrap();
        }
        let of = |end| -> Vec<(u32, String, u64)> {
            let files = files_to(folder.path(), end).unwrap();
            files.into_iter().map(|file| (file.number, file.name, file.length)).collect()
        };
        let whole = |number| (number, file_name(number), 5);
        assert_eq!(of(Some((4, 0))), [whole(2), whole(3)]);
        assert_eq!(of(Some((5, 3))), [whole(2), whole(3), (5, file_name(5), 3)]);
        assert_eq!(of(None), [], "without an end a gap is the end");
        assert!(files_to(folder.path(), Some((5, 6))).is_err(), "shorter than committed");
    }
}
