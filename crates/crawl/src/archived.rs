//! Pages of the archive, read again.

use std::fs::File;
use std::path::{Path, PathBuf};

use hapax_data::files::open_stored;
use hapax_data::{Context, MAX_RECORD};
use hapax_extract::{Document, Limits};
use hapax_fetch::Response;
use hapax_warc::{NEAR_DUPLICATE_PROFILE, Reader, Record, http_parts};
use url::Url;

use crate::error::Result;
use crate::page::read_response;

/// How the reading of an archive ended; the worst result is the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ended {
    Whole,
    /// Some pages cannot be read, or there were too many copies to remember.
    Partly,
    Stopped,
}

/// The greatest value of `--max-encodings`.
const MAX_ENCODINGS: usize = 16;

/// Returns the document of a record without its text; `None` if it has no page.
pub(crate) fn read_record(record: &Record, url: &Url, limits: &Limits) -> Option<Document> {
    let (status, headers, raw) = http_parts(&record.block)?;
    let encoding = headers.iter().find(|(name, _)| name == "content-encoding");
    let encoding = encoding.map(|(_, value)| String::from_utf8_lossy(value).into_owned());
    // The page was within the limits of its crawl.
    let body_limits = hapax_fetch::Limits {
        max_body: MAX_RECORD as usize,
        max_ratio: usize::MAX,
        max_encodings: MAX_ENCODINGS,
        ..hapax_fetch::Limits::default()
    };
    let encoding = encoding.unwrap_or_default();
    let body = hapax_fetch::decode_body_within(raw, &encoding, &body_limits).ok()?;
    let response = Response::stored(url.clone(), status, headers, body.into());
    read_response(url, &response, limits, false).ok()
}

/// Returns the files of an archive, in the order in which they were written.
pub(crate) fn archives_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.to_string_lossy().ends_with(".warc.gz"));
    files.sort();
    Ok(files)
}

/// Opens a file of the archive. `None`, with a warning, if it cannot be read or is a pipe.
pub(crate) fn open(path: &Path) -> Option<Reader<File>> {
    let opened = open_stored(path).and_then(|file| Reader::new(file, MAX_RECORD));
    opened
        .inspect_err(|error| {
            tracing::warn!("{}: {error}. Run `crawl check` for details", path.display())
        })
        .ok()
}

/// Returns the next readable record, also after damage.
pub(crate) fn next_record(
    path: &Path,
    records: &mut Reader<File>,
    ended: &mut Ended,
) -> Option<Record> {
    loop {
        match records.next_record() {
            Ok(record) => return record,
            Err(error) => {
                if *ended == Ended::Whole {
                    tracing::warn!("{}: {error}. Run `crawl check` for details", path.display());
                }
                *ended = Ended::Partly;
                if !records.resync().is_ok_and(|found| found) {
                    return None;
                }
            }
        }
    }
}

/// Returns whether a record of our archive contains a complete page.
pub(crate) fn holds_page(record: &Record) -> bool {
    match record.header("warc-type") {
        Some("response") => true,
        Some("revisit") => record.header("warc-profile") == Some(NEAR_DUPLICATE_PROFILE),
        _ => false,
    }
}

/// Returns the URL of the page whose record has the body of this one.
pub(crate) fn holder_of(record: &Record) -> Option<&str> {
    let same = record.header("warc-type") == Some("revisit")
        && record
            .header("warc-profile")
            .is_some_and(|profile| profile.ends_with("identical-payload-digest"));
    record.header("warc-refers-to-target-uri").filter(|_| same)
}
