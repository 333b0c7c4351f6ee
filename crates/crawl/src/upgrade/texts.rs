//! Adds comparison texts of kept pages from the archive: for data directories that were made without them, or have
//! lost them.

use std::sync::Arc;

use hapax_data::files::open_stored;
use hapax_data::{DataDir, MAX_RECORD, PackedText, page_of_record};
use hapax_page::comparison::{Compared, PageText};
use hapax_warc::{Reader, Record};
use url::Url;

use super::archive_files;
use crate::commit::Committer;
use crate::error::Result;

const GROUP: u64 = 1_000;

/// Adds the missing texts. Returns their number. Skips damaged records: those pages are compared by their sketches.
pub(super) fn add(committer: &Committer, data: &DataDir) -> Result<u64> {
    if !is_any_missing(committer)? {
        return Ok(0);
    }
    let mut added = 0;
    for path in archive_files(data)? {
        let opened = open_stored(&path).and_then(|file| Reader::new(file, MAX_RECORD));
        let Ok(mut records) = opened else { continue };
        loop {
            match records.next_record() {
                Ok(Some(record)) => {
                    added += u64::from(add_record(committer, &record)?);
                    if added % GROUP == GROUP - 1 {
                        committer.texts().commit()?;
                    }
                }
                Ok(None) => break,
                Err(_) if records.resync().is_ok_and(|found| found) => {}
                Err(_) => break,
            }
        }
    }
    committer.texts().commit()?;
    Ok(added)
}

fn is_any_missing(committer: &Committer) -> Result<bool> {
    for record in committer.store().snapshot().records() {
        let record = record?;
        let is_kept = record.of.is_none() && record.indexed;
        if is_kept && committer.texts().get(record.id, &record.key).is_none() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Adds the text of a record if it is missing. Returns whether it did.
fn add_record(committer: &Committer, warc: &Record) -> Result<bool> {
    let url = warc.header("warc-target-uri").and_then(|url| Url::parse(url).ok());
    let Some(url) = url else { return Ok(false) };
    let key = url.as_str().as_bytes();
    let Some(id) = committer.store().id_of(key)? else { return Ok(false) };
    let kept = committer.store().record(id)?.filter(|record| record.of.is_none());
    let Some(kept) = kept.filter(|record| record.indexed) else { return Ok(false) };
    if committer.texts().get(id, key).is_some() {
        return Ok(false);
    }
    let Some((document, comparison_text)) = page_of_record(warc, &url) else { return Ok(false) };
    // The archive may also contain an older version of the page.
    let own = if kept.strong_digest {
        comparison_text.features.digest
    } else {
        comparison_text.features.former_digest
    };
    if kept.digest != own {
        return Ok(false);
    }
    let text = PageText::of(&document, &comparison_text).without_address(&url);
    let packed = PackedText::of(&text);
    committer.texts().insert(id, key, packed, &Arc::new(Compared::new(text)));
    Ok(true)
}
