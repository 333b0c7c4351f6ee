//! Whole exports.

use std::path::Path;

use hapax_data::{Discarded, Error, Export, Heads, Result};
use hapax_index::StoredPage;

use crate::discards::{DISCARD_COLUMNS, discard_row};
use crate::kept::{PAGE_COLUMNS, page_row};
use crate::parts::{Limits, Parts, Written};

/// Writes the kept pages that `wanted` selects to a folder.
///
/// # Errors
/// If the data directory cannot be read or the folder cannot be written.
///
/// # Complexity
/// Memory for one row group.
pub fn write_pages(
    export: &Export<'_>,
    wanted: impl Fn(&StoredPage) -> bool,
    folder: &Path,
    limits: Limits,
) -> Result<Written> {
    let mut parts = Parts::create(folder, PAGE_COLUMNS, limits)?;
    export.pages(wanted, |page| -> Result<()> {
        let row = page_row(page).map_err(|error| Error::Invalid(error.to_string()))?;
        Ok(parts.push(row)?)
    })?;
    Ok(parts.finish()?)
}

/// Writes the discarded pages that `wanted` selects to a folder, each with the page that represents it now. Redirects
/// and restored pages are left out.
///
/// # Errors
/// If the data directory cannot be read or the folder cannot be written.
///
/// # Complexity
/// Memory for one row group.
pub fn write_discards(
    heads: &Heads<'_>,
    wanted: impl Fn(&Discarded) -> bool,
    folder: &Path,
    limits: Limits,
) -> Result<Written> {
    let mut parts = Parts::create(folder, DISCARD_COLUMNS, limits)?;
    for row in heads.rows.discarded().filter(|row| !row.is_alias()) {
        let line = heads.shown(row)?.entry;
        if wanted(&line) {
            let row = discard_row(line).map_err(|error| Error::Invalid(error.to_string()))?;
            parts.push(row)?;
        }
    }
    Ok(parts.finish()?)
}
