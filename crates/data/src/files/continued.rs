//! A file that an export continues after a kill.
//!
//! Two hidden files beside it: the part, which gets the final name at the end, and a note with the last place that is
//! durable. Their names depend on the final name alone, so that the next export to it finds them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::destination::{Destination, named};
use super::output::{replace, temporary_name};
use super::root::{is_of_system, without_links};
use crate::error::{Result, unwritable};

/// Bytes in memory before they are written.
const BUFFER: usize = 64 << 10;
/// Most bytes of a note.
const MAX_NOTE: u64 = 64 << 10;

/// Both must have passed since the last durable place.
#[derive(Clone, Copy, Debug)]
struct Pace {
    bytes: u64,
    time: Duration,
}

/// What a kill costs: at most this, and what was written in this time.
const PACE: Pace = Pace { bytes: 64 << 20, time: Duration::from_secs(5) };

/// The last durable place of an unfinished file.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    state: String,
    /// Pages read before the next row.
    read: u64,
    /// Bytes of the rows before it.
    bytes: u64,
}

/// A regular file, which appears when it is finished. After an error nothing stays of it; after a kill, another one
/// with the same state continues it.
#[derive(Debug)]
pub struct ContinuedFile {
    out: BufWriter<File>,
    path: PathBuf,
    part: PathBuf,
    note: Note,
    /// What [`read_before`](Destination::read_before) returns.
    read_before: u64,
    /// Bytes written.
    bytes: u64,
    saved: Instant,
    pace: Pace,
    is_open: bool,
}

impl ContinuedFile {
    /// Opens the file `path`, which will be replaced. `state` names all that its content depends on. Returns `None` if
    /// it cannot be continued: it is a pipe or a device, its folder is read-only, or another process is writing it.
    pub fn open(path: &Path, state: &str) -> Option<Self> {
        Self::with_pace(path, state, PACE)
    }

    fn with_pace(path: &Path, state: &str, pace: Pace) -> Option<Self> {
        let old = path.symlink_metadata();
        let is_special = old.as_ref().is_ok_and(|old| !old.is_file() && !old.is_symlink());
        if is_special || is_of_system(path) {
            return None;
        }
        let part = hidden(path, "part")?;
        let (file, found) = own_part(&part, path, state)?;
        // As a file that is replaced at once.
        let mode = old.ok().filter(fs::Metadata::is_file).map(|old| old.permissions());
        if mode.is_some_and(|mode| file.set_permissions(mode).is_err()) {
            let _ = fs::remove_file(&part);
            return None;
        }
        let note = found.unwrap_or_else(|| Note { state: state.to_owned(), read: 0, bytes: 0 });
        Some(Self {
            out: BufWriter::with_capacity(BUFFER, file),
            path: path.to_owned(),
            part,
            read_before: note.read,
            bytes: note.bytes,
            note,
            saved: Instant::now(),
            pace,
            is_open: true,
        })
    }

    fn save(&mut self, read: u64) -> io::Result<()> {
        self.out.flush()?;
        self.out.get_ref().sync_data()?;
        (self.note.read, self.note.bytes, self.saved) = (read, self.bytes, Instant::now());
        write_note(&self.path, &self.note)
    }

    fn complete(&mut self) -> io::Result<()> {
        self.out.flush()?;
        fs::rename(&self.part, &self.path)?;
        self.is_open = false;
        remove_note(&self.path);
        Ok(())
    }

    /// Ends as a kill does.
    #[cfg(test)]
    fn kill(mut self) {
        self.is_open = false;
        let same = BufWriter::new(self.out.get_ref().try_clone().unwrap());
        // Without a flush.
        let _ = std::mem::replace(&mut self.out, same).into_parts();
    }
}

impl Write for ContinuedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes).map_err(|error| named(&self.path, &error))?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush().map_err(|error| named(&self.path, &error))
    }
}

impl Destination for ContinuedFile {
    fn read_before(&self) -> u64 {
        self.read_before
    }

    fn begin_row(&mut self, read: u64) -> Result<()> {
        let is_due = self.bytes - self.note.bytes >= self.pace.bytes
            && self.saved.elapsed() >= self.pace.time;
        let saved = if is_due { self.save(read) } else { Ok(()) };
        saved.map_err(|error| unwritable(&self.path, &error))
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.complete().map_err(|error| unwritable(&self.path, &error))
    }
}

impl Drop for ContinuedFile {
    fn drop(&mut self) {
        if self.is_open {
            remove_note(&self.path);
            let _ = fs::remove_file(&self.part);
        }
    }
}

/// Returns the hidden name beside a file for one purpose. It looks like that of a temporary file.
fn hidden(path: &Path, purpose: &str) -> Option<PathBuf> {
    let mut digest = Sha256::new();
    digest.update(purpose.as_bytes());
    digest.update(path.file_name()?.as_encoded_bytes());
    let letters: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Some(path.with_file_name(temporary_name(&letters)))
}

/// Opens and locks the part of an export of before, cut to its durable bytes, or a new one. `None` if that is impossible.
fn own_part(part: &Path, path: &Path, state: &str) -> Option<(File, Option<Note>)> {
    let mut how = OpenOptions::new();
    without_links(how.read(true).write(true));
    if let Ok(mut file) = how.open(part)
        && is_own(&file)
    {
        // Another export that writes the same file goes on, and its file is not removed.
        file.try_lock().ok()?;
        // The other one may have finished before it was locked: then this is its result.
        if !has_name(&file, part) {
            return None;
        }
        let length = file.metadata().ok()?.len();
        if let Some(note) = read_note(path)
            && note.state == state
            && note.bytes <= length
        {
            file.set_len(note.bytes).ok()?;
            file.seek(SeekFrom::Start(note.bytes)).ok()?;
            return Some((file, Some(note)));
        }
    }
    // A new one has the mode of today's umask.
    remove_note(path);
    let _ = fs::remove_file(part);
    let file = how.create_new(true).open(part).ok()?;
    if file.try_lock().is_err() {
        let _ = fs::remove_file(part);
        return None;
    }
    Some((file, None))
}

/// Returns whether no other user could have prepared the file.
fn is_own(file: &File) -> bool {
    let Ok(meta) = file.metadata() else { return false };
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let is_ours = meta.uid() == rustix::process::geteuid().as_raw() && meta.nlink() == 1;
        meta.is_file() && is_ours
    }
    #[cfg(not(unix))]
    meta.is_file()
}

/// Returns whether the file still has this name.
fn has_name(file: &File, name: &Path) -> bool {
    let (Ok(file), Ok(named)) = (file.metadata(), name.symlink_metadata()) else { return false };
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        (file.dev(), file.ino()) == (named.dev(), named.ino())
    }
    #[cfg(not(unix))]
    (file.len() == named.len())
}

fn read_note(path: &Path) -> Option<Note> {
    let mut how = OpenOptions::new();
    without_links(how.read(true));
    let file = how.open(hidden(path, "note")?).ok().filter(is_own)?;
    serde_json::from_reader(io::Read::take(file, MAX_NOTE)).ok()
}

fn write_note(path: &Path, note: &Note) -> io::Result<()> {
    let (Some(hidden), content) = (hidden(path, "note"), serde_json::to_vec(note)?) else {
        return Err(ErrorKind::InvalidFilename.into());
    };
    let folder = hidden.parent().filter(|folder| *folder != Path::new(""));
    let name = hidden.file_name().unwrap_or_default().to_string_lossy();
    replace(folder.unwrap_or(Path::new(".")), &name, &content, false)
}

fn remove_note(path: &Path) {
    if let Some(note) = hidden(path, "note") {
        let _ = fs::remove_file(note);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALWAYS: Pace = Pace { bytes: 1, time: Duration::ZERO };

    fn open(path: &Path, state: &str) -> ContinuedFile {
        ContinuedFile::with_pace(path, state, ALWAYS).unwrap()
    }

    /// Writes rows `first..` and stops before row `end`. Row N has N + 1 bytes.
    fn write(out: &mut ContinuedFile, end: u64) {
        for row in out.read_before()..end {
            out.begin_row(row).unwrap();
            out.write_all(&vec![b'a' + row as u8; row as usize + 1]).unwrap();
        }
    }

    fn names(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn a_file_whose_writer_was_killed_anywhere_is_continued_and_equal() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pages.jsonl");
        let mut whole = open(&path, "one");
        write(&mut whole, 20);
        Box::new(whole).finish().unwrap();
        let expected = fs::read(&path).unwrap();
        for first in 0..20 {
            fs::write(&path, "of before").unwrap();
            let mut before = 0;
            for second in [first, 12, 20] {
                let mut out = open(&path, "one");
                assert!(out.read_before() >= before, "complete rows stay");
                before = out.read_before();
                write(&mut out, second);
                // What no place follows was not durable.
                out.out.get_ref().set_len(out.note.bytes.max(out.bytes.saturating_sub(1))).unwrap();
                out.kill();
                assert_eq!(fs::read(&path).unwrap(), b"of before");
            }
            assert!(before > 0 || first < 2, "{first}");
            let mut out = open(&path, "one");
            write(&mut out, 20);
            Box::new(out).finish().unwrap();
            assert!(fs::read(&path).unwrap() == expected, "{first}");
            assert_eq!(names(folder.path()), 1);
        }
    }

    #[test]
    fn other_pages_begin_again_and_an_error_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pages.csv");
        for (state, damage) in [("two", false), ("one", true)] {
            let mut out = open(&path, "one");
            write(&mut out, 9);
            out.kill();
            if damage {
                fs::write(hidden(&path, "note").unwrap(), "{").unwrap();
            }
            let out = open(&path, state);
            assert_eq!((out.read_before(), out.bytes), (0, 0));
            assert_eq!(fs::metadata(&out.part).unwrap().len(), 0);
            drop(out);
            assert_eq!(names(folder.path()), 0);
        }
        // A note of more bytes than the file has.
        let mut out = open(&path, "one");
        write(&mut out, 9);
        out.out.get_ref().set_len(3).unwrap();
        out.kill();
        assert_eq!(open(&path, "one").read_before(), 0);
    }

    #[test]
    fn a_file_that_is_being_written_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pages.csv");
        let mut first = open(&path, "one");
        write(&mut first, 5);
        assert!(ContinuedFile::open(&path, "one").is_none());
        write(&mut first, 9);
        Box::new(first).finish().unwrap();
        assert_eq!(fs::read(&path).unwrap().len(), 45 + 15);
        for special in [folder.path(), Path::new("/dev/stdout"), Path::new("/dev/fd/1")] {
            assert!(ContinuedFile::open(special, "one").is_none(), "{special:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_part_that_others_prepared_is_not_continued_and_the_old_mode_stays() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pages.csv");
        let (victim, part) = (folder.path().join("victim"), hidden(&path, "part").unwrap());
        fs::write(&victim, "victim").unwrap();
        for prepare in [symlink::<&Path, &Path>, |from, to| fs::hard_link(from, to)] {
            prepare(&victim, &part).unwrap();
            let mut out = open(&path, "one");
            write(&mut out, 3);
            Box::new(out).finish().unwrap();
            assert_eq!(fs::read(&victim).unwrap(), b"victim");
            assert_eq!(fs::read(&path).unwrap().len(), 6);
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        Box::new(open(&path, "one")).finish().unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    }
}
