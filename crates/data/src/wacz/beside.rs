//! The index of one WARC file, in a CDXJ file beside it: `pages-00001.warc.gz.cdxj`. Other programs look records up in it.

use std::fs;
use std::io::{BufRead, BufReader, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use hapax_warc::file_name;
use serde::Deserialize;

use super::archive::{ArchiveFile, index};
use super::sorted::SortedLines;
use super::wanted::Wanted;
use crate::error::{Context, Error, Result};
use crate::files::{NewFile, open_stored};

/// The ending of its name, after that of the WARC file.
const ENDING: &str = ".cdxj";
/// Most bytes of a line: a URL, its key and some numbers.
const MAX_LINE: u64 = 1 << 20;

fn beside(folder: &Path, number: u32) -> PathBuf {
    folder.join(format!("{}{ENDING}", file_name(number)))
}

/// Writes the CDXJ files that are missing of the finished files in `folder`, those before `last`. Each appears when it is
/// complete and durable. A record that cannot be read has no line. `stop` ends the work. Returns how many were written.
///
/// # Errors
/// From the file system.
///
/// # Complexity
/// Reads each of these WARC files once; memory does not depend on their size.
pub fn write_cdxj(folder: &Path, last: u32, stop: impl Fn() -> bool) -> Result<u32> {
    let mut written = 0;
    for number in 1..last {
        let path = beside(folder, number);
        if path.symlink_metadata().is_ok() {
            continue;
        }
        let (name, source) = (file_name(number), folder.join(file_name(number)));
        let length = match fs::metadata(&source) {
            Ok(meta) => meta.len(),
            // A person moved it away.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(error).with_context(|| source.display().to_string()),
        };
        let mut lines = SortedLines::new();
        let file = ArchiveFile { number, path: source, name, length };
        let Some(indexed) = index(&file, &Wanted::all(), &mut lines, |_| !stop())? else {
            return Ok(written);
        };
        for place in indexed.damaged {
            tracing::warn!("{place}: the record is not in the index {}", path.display());
        }
        let what = || path.display().to_string();
        let mut out = BufWriter::new(NewFile::replacing(&path).with_context(what)?);
        lines.finish(|line| writeln!(out, "{line}").with_context(what))?;
        let out = out.into_inner().map_err(|error| error.into_error()).with_context(what)?;
        out.sync().and_then(|()| out.finish()).with_context(what)?;
        written += 1;
    }
    Ok(written)
}

/// Removes the CDXJ files of files from `last` on: they are still being written, and a restored backup may have files that
/// another run wrote.
///
/// # Errors
/// From the file system.
pub fn remove_cdxj(folder: &Path, last: u32) -> Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries.with_context(|| folder.display().to_string())?,
    };
    for entry in entries {
        let name = entry.with_context(|| folder.display().to_string())?.file_name();
        let number = name.to_str().and_then(|name| {
            name.strip_prefix("pages-")?
                .strip_suffix(ENDING)?
                .strip_suffix(".warc.gz")?
                .parse()
                .ok()
        });
        if number.is_some_and(|number: u32| number >= last) {
            let path = folder.join(name);
            fs::remove_file(&path).with_context(|| path.display().to_string())?;
        }
    }
    Ok(())
}

/// Removes the CDXJ file of a WARC file, if there is one.
///
/// # Errors
/// From the file system.
pub(crate) fn remove_cdxj_of(warc: &Path) -> Result<()> {
    let mut path = warc.as_os_str().to_owned();
    path.push(ENDING);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| Path::new(&path).display().to_string())
        }
        _ => Ok(()),
    }
}

#[derive(Deserialize)]
struct Place {
    filename: String,
    offset: String,
    length: String,
}

/// Verifies the CDXJ file of a WARC file of `length` bytes. Returns its number of lines; `None` if there is no such file.
///
/// # Errors
/// [`Error::Damaged`] if a line is not in order or names no place in the file.
pub fn count_cdxj(warc: &Path, length: u64) -> Result<Option<u64>> {
    let name = warc.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let path = warc.with_file_name(format!("{name}{ENDING}"));
    let file = match open_stored(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        file => file.with_context(|| path.display().to_string())?,
    };
    let (mut input, mut line, mut last, mut count) =
        (BufReader::new(file), Vec::new(), Vec::new(), 0);
    loop {
        line.clear();
        let read = std::io::Read::take(&mut input, MAX_LINE).read_until(b'\n', &mut line);
        if read.with_context(|| path.display().to_string())? == 0 {
            return Ok(Some(count));
        }
        count += 1;
        let place = line.iter().position(|byte| *byte == b'{').and_then(|at| {
            let place: Place = serde_json::from_slice(line.get(at..)?).ok()?;
            let end = place.offset.parse::<u64>().ok()?.checked_add(place.length.parse().ok()?)?;
            (place.filename == name && end <= length).then_some(())
        });
        if place.is_none() || !line.ends_with(b"\n") || line < last {
            let what = "is not a line of its WARC file. Delete it: the next crawl writes it again";
            return Err(Error::Damaged(format!("{}, line {count}: {what}", path.display())));
        }
        std::mem::swap(&mut line, &mut last);
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn archive(folder: &Path, number: u32, pages: u64) {
        let mut out = Vec::new();
        for page in 0..pages {
            let block = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\nbody";
            let mut member = GzEncoder::new(Vec::new(), Compression::fast());
            write!(
                member,
                "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.example/{}\r\nWARC-Date: \
                 2026-03-01T00:00:00Z\r\nContent-Length: {}\r\n\r\n{block}\r\n\r\n",
                page * 7 % pages,
                block.len()
            )
            .unwrap();
            out.extend(member.finish().unwrap());
        }
        fs::write(folder.join(file_name(number)), out).unwrap();
    }

    #[test]
    fn finished_files_get_an_index_once_and_a_missing_one_is_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        for number in 1..=3 {
            archive(folder, number, u64::from(number) * 10);
        }
        assert_eq!(write_cdxj(folder, 3, || true).unwrap(), 0, "it was stopped");
        assert_eq!(fs::read_dir(folder).unwrap().count(), 3, "and left nothing");
        assert_eq!(write_cdxj(folder, 3, || false).unwrap(), 2);
        assert_eq!(write_cdxj(folder, 3, || false).unwrap(), 0);
        assert!(!beside(folder, 3).exists(), "it may grow");
        let text = fs::read_to_string(beside(folder, 2)).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.len() == 20 && lines.is_sorted(), "{text}");
        assert!(
            lines[0].starts_with("example,a)/0 20260301000000 {\"url\":\"http://a.example/0\""),
            "{text}"
        );
        let warc = folder.join(file_name(2));
        let length = fs::metadata(&warc).unwrap().len();
        assert_eq!(count_cdxj(&warc, length).unwrap(), Some(20));
        assert_eq!(count_cdxj(&folder.join(file_name(3)), length).unwrap(), None);
        fs::remove_file(beside(folder, 2)).unwrap();
        assert_eq!(write_cdxj(folder, 3, || false).unwrap(), 1);
        assert_eq!(fs::read_to_string(beside(folder, 2)).unwrap(), text);
        // After a backup was restored, the second file is written again.
        remove_cdxj(folder, 2).unwrap();
        assert!(beside(folder, 1).exists() && !beside(folder, 2).exists());
    }

    #[test]
    fn an_index_that_is_not_that_of_its_file_is_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        archive(folder, 1, 30);
        write_cdxj(folder, 2, || false).unwrap();
        let warc = folder.join(file_name(1));
        let length = fs::metadata(&warc).unwrap().len();
        let text = fs::read_to_string(beside(folder, 1)).unwrap();
        assert!(count_cdxj(&warc, length - 1).is_err(), "a place behind the end");
        let reversed: String = text.lines().rev().map(|line| format!("{line}\n")).collect();
        for wrong in [&text[..text.len() - 1], &reversed, "x\n", &text.replace("00001", "00002")] {
            fs::write(beside(folder, 1), wrong).unwrap();
            let error = count_cdxj(&warc, length).unwrap_err().to_string();
            assert!(error.contains("Delete it"), "{error}");
        }
    }
}
