//! The reason of a row in words, and the texts of its pages.

use std::path::Path;

use anyhow::Result;
use hapax_data::{Discarded, DuplicateKind, Error, Texts};

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

/// Why a row was discarded, in words.
pub(crate) fn reason(entry: &Discarded) -> String {
    let similarity = entry.similarity.map_or(String::new(), |similarity| {
        let asked = entry
            .similarity_threshold
            .map_or(String::new(), |t| format!(" (at least {t} was asked for)"));
        format!(", similarity {similarity:.2}{asked}")
    });
    match (entry.kind, entry.level.as_deref()) {
        (DuplicateKind::Alias, _) => "it only leads to the other page".to_owned(),
        (DuplicateKind::Canonical, _) => {
            format!("it names the other page as its canonical address{similarity}")
        }
        (_, Some("text")) => "its text is equal".to_owned(),
        (_, Some(_)) if entry.table.is_none() => format!(
            "the other page of the pair is the better one to keep{similarity}; the fingerprints differ in {} bits",
            entry.distance.unwrap_or(0),
        ),
        (_, Some("sketch")) => format!(
            "proposed by sketch band {}{similarity}; the fingerprints differ in {} bits",
            entry.table.unwrap_or(0),
            entry.distance.unwrap_or(0),
        ),
        _ => format!(
            "proposed by Hamming table {}, distance {} of at most {}{similarity}",
            entry.table.unwrap_or(0),
            entry.distance.unwrap_or(0),
            entry.threshold.unwrap_or(0),
        ),
    }
}
