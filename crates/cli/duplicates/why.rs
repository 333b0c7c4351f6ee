//! The texts of a row's pages.

use std::path::Path;

use anyhow::Result;
use hapax_data::{Error, Texts};

use crate::open_index::advised;

/// Opens the texts of a data directory.
///
/// # Errors
/// The index is damaged; the error contains advice.
pub(crate) fn texts(data: &Path) -> Result<Texts> {
    Texts::open(data).map_err(|error| match error {
        Error::Index(error) => advised(data, error),
        other => other.into(),
    })
}
