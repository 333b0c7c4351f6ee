//! Counts the lines of all kept pages, for data directories that were made without the counts or have lost them.

use std::sync::Arc;

use hapax_data::site_of_key;

use crate::commit::Committer;
use crate::error::Result;

/// Counts the lines of all kept pages with a text, unless they are counted. Returns the number of pages.
pub(super) fn count(committer: &mut Committer) -> Result<u64> {
    if committer.sites.is_whole() {
        return Ok(0);
    }
    committer.sites.rebuild();
    let (store, texts) = (Arc::clone(&committer.store), Arc::clone(&committer.compared));
    let mut pages = 0;
    for record in store.snapshot().records() {
        let record = record?;
        if record.of.is_none()
            && record.indexed
            && let Some(site) = site_of_key(&record.key)
            && let Some(text) = texts.get(record.id, &record.key)
        {
            committer.sites.add(site, text.line_hashes());
            pages += 1;
        }
    }
    committer.commit(true)?;
    Ok(pages)
}
