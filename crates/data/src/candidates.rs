//! Names the lists of candidates in words.

use hapax_dedup::BANDS;

/// Describes a kind of list of candidates.
pub(crate) fn list_in_words(kind: usize) -> String {
    match kind.checked_sub(BANDS) {
        None => format!("sketch band {kind}"),
        Some(0) => "an equal heading".to_owned(),
        Some(_) => "an equal title".to_owned(),
    }
}
