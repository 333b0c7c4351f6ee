//! What `forget --purge` overwrites in an archive, in words.

use std::path::Path;

use hapax_data::{Answer, Decisions, PurgePlan, Purged, Result};

use crate::text::{bytes, counted, line};

/// Longest URL to print.
const URL_WIDTH: usize = 150;

/// Describes the records that a purge of a page or host would overwrite.
///
/// # Errors
/// If archive, index or decisions cannot be read.
pub fn would_purge(data: &Path, url_or_host: &str) -> Result<String> {
    let plan = PurgePlan::of(data, url_or_host, &Decisions::committed(data)?, None)?;
    Ok(format!("{} would be overwritten.", described(plan.counts())))
}

/// Describes a purge; `None` if none was requested.
pub fn purge_done(answer: &Answer) -> Option<String> {
    let purged = answer.purged.as_ref()?;
    if answer.done == 0 && *purged == Purged::default() {
        let what =
            "no stored page, and no record in the archive; the crawl will not fetch it from now on";
        return Some(what.to_owned());
    }
    let purged = described(purged);
    let pages = counted(answer.done, "page");
    Some(format!("removed {pages}; {purged} overwritten: --undo cannot bring them back"))
}

fn described(counts: &Purged) -> String {
    let (records, files) = (counted(counts.records, "record"), counted(counts.files, "file"));
    let mut text = format!("{records} ({}) in {files} of the archive", bytes(counts.bytes));
    if let Some(url) = counts.shared_urls.first() {
        let responses = counted(counts.shared, "response");
        let url = line(url, URL_WIDTH);
        text += &format!(
            " (not {responses}, such as {url}: another page that stays has the same body)"
        );
    }
    text
}
