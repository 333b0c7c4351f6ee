//! The texts of a row's pages, and what to do about a damaged index.

use std::path::Path;

use hapax_data::{Error, Result, Texts};

use crate::shell::shell_path;

/// Opens the texts of a data directory.
///
/// # Errors
/// The index is damaged; the error contains advice.
pub fn texts(data: &Path) -> Result<Texts> {
    Texts::open(data).map_err(|error| match error {
        Error::Index(error) => advised(data, error),
        other => other,
    })
}

/// Adds advice to the error of a damaged index.
pub fn advised(data: &Path, error: hapax_index::Error) -> Error {
    match error {
        hapax_index::Error::Damaged { .. } => {
            Error::Damaged(format!("{error}; {}", advice_on_index(data)))
        }
        other => other.into(),
    }
}

/// What to do about a damaged index.
pub fn advice_on_index(data: &Path) -> String {
    let pages = data.join("pages");
    let copy = "restore index/ from a backup";
    match pages.is_dir() {
        true => format!(
            "{copy}, or make a new data directory from the stored pages: `crawl pages {} --data NEW`",
            shell_path(&pages)
        ),
        false => format!("{copy}, or crawl again with --fresh (the pages were not archived)"),
    }
}
