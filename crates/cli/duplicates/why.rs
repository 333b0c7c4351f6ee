//! The texts of a row's pages.

use std::path::Path;

use anyhow::Result;
use hapax_data::{Error, Texts};

use crate::open_index::advised;

/// Where texts of a data directory come from.
///
/// # Errors
/// Where the index is damaged: with what to do.
pub(crate) fn texts(data: &Path) -> Result<Texts> {
    Texts::open(data).map_err(|error| match error {
        Error::Index(error) => advised(data, error),
        other => other.into(),
    })
}
