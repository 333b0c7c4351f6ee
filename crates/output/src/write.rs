//! Whole exports.

use std::path::Path;

use hapax_data::{Error, Export, Result};

use crate::discards::{DISCARD_COLUMNS, discard_row};
use crate::kept::{PAGE_COLUMNS, page_row};
use crate::parts::{Limits, Parts, Written};

/// Writes the kept pages of an export to a folder. Continues an export of the same pages that was interrupted. Calls
/// `progress` with the number of pages read.
///
/// # Errors
/// If the data directory cannot be read or the folder cannot be written.
///
/// # Complexity
/// Memory for one row group.
pub fn write_pages(
    export: &Export<'_>,
    folder: &Path,
    limits: Limits,
    progress: impl FnMut(u64),
) -> Result<Written> {
    let mut parts = Parts::resume(folder, PAGE_COLUMNS, limits, &export.state()?)?;
    export.pages(progress, |page| -> Result<()> {
        if parts.has_next() {
            return Ok(());
        }
        let row = page_row(page).map_err(|error| Error::Invalid(error.to_string()))?;
        Ok(parts.push(row)?)
    })?;
    Ok(parts.finish()?)
}

/// Writes the discarded pages that pass the filter of an export to a folder, each with the page that represents it now.
/// Redirects and restored pages are left out. Calls `progress` with the number of lines read.
///
/// # Errors
/// If the data directory cannot be read or the folder cannot be written.
///
/// # Complexity
/// Memory for one row group.
pub fn write_discards(
    export: &Export<'_>,
    folder: &Path,
    limits: Limits,
    mut progress: impl FnMut(u64),
) -> Result<Written> {
    let corpus = export.corpus();
    let mut parts = Parts::create(folder, DISCARD_COLUMNS, limits)?;
    let mut read = 0;
    for (dir, heads) in corpus.heads().iter().enumerate() {
        let data = corpus.dirs().get(dir).filter(|_| corpus.is_joined());
        let data = data.map(|dir| dir.data.display().to_string());
        for row in heads.rows.discarded() {
            read += 1;
            progress(read);
            if !corpus.is_copy(dir, row) {
                continue;
            }
            let mut line = heads.shown(row)?.entry;
            if !export.filter().wants_discarded(&line) {
                continue;
            }
            if let Some(url) = corpus.elsewhere(dir, &line.of.url)? {
                // Its number is that of another directory.
                (line.of.url, line.of.id) = (url, None);
            }
            let row = discard_row(line, data.clone());
            parts.push(row.map_err(|error| Error::Invalid(error.to_string()))?)?;
        }
    }
    Ok(parts.finish()?)
}
