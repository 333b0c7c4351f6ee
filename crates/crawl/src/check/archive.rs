//! Verifies every record of the archive.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use hapax_data::{count_cdxj, is_replayed};
use hapax_warc::Reader;

use super::part::{Contents, archive_name};
use crate::error::{Error, Result};

/// Maximum bytes of a block that is kept. Longer blocks are read and dropped.
const MAX_BLOCK: u64 = 64 << 20;

/// Reads every record of every file, up to the committed end. Verifies compression and lengths, and that the index of a
/// finished file has a line for each of its responses.
pub(super) fn check_warc(folder: &Path, written: Option<(u64, u64)>) -> Result<Contents> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)?
        .map(|entry| entry.map(|e| e.path()))
        .collect::<std::io::Result<_>>()?;
    files.retain(|path| path.to_string_lossy().ends_with(".warc.gz"));
    files.sort();
    let (mut records, mut size, mut left) = (0u64, 0u64, 0u64);
    let last = written.map(|(number, length)| (folder.join(archive_name(number)), length));
    for path in &files {
        let wrong = |here: u64, error: &std::io::Error| {
            Error::damaged(format!("{}, after {here} records: {error}", path.display()))
        };
        let file = File::open(path)?;
        let there = file.metadata()?.len();
        let committed = match &last {
            Some((last, _)) if path < last => there,
            Some((last, length)) if path == last => there.min(*length),
            Some(_) => 0,
            None => there,
        };
        size += committed;
        left += there - committed;
        if committed == 0 {
            continue;
        }
        let mut reader =
            Reader::new(file.take(committed), MAX_BLOCK).map_err(|error| wrong(0, &error))?;
        let (mut here, mut replayed) = (0u64, 0u64);
        loop {
            match reader.next_record() {
                Ok(Some(record)) => {
                    here += 1;
                    replayed += u64::from(is_replayed(&record));
                }
                Ok(None) => break,
                Err(error) => return Err(wrong(here, &error)),
            }
        }
        // A missing index is written by the next crawl, and one of the last file is removed by it.
        let is_finished = last.as_ref().is_none_or(|(last, _)| path < last);
        let lines = if is_finished { count_cdxj(path, committed)? } else { None };
        if let Some(lines) = lines.filter(|lines| *lines != replayed) {
            return Err(Error::damaged(format!(
                "{}.cdxj: has {lines} lines for {replayed} records. Delete it: the next crawl writes it again",
                path.display()
            )));
        }
        records += here;
    }
    Ok(Contents::Records { records, files: files.len() as u64, bytes: size, left })
}
