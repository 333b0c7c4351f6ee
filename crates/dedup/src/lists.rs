//! The lists by which documents are proposed: those of an equal band of the sketch, and those of an equal name.

use crate::Sketch;
use crate::limits::MAX_NAMED;
use crate::sketch::BANDS;

/// The number of kinds of lists: one per band, then one per name.
pub const LISTS: usize = BANDS + 2;

/// Returns the kind of list and the key of each list that has a document.
///
/// A document is proposed if one key of a kind is equal. A name proposes documents whose texts share less than bands
/// find: two versions of a page, one of them with foreign text.
///
/// ```
/// use hapax_dedup::{LISTS, Sketch, candidate_lists};
/// let sketch = Sketch::from_hashes(0..100).ok_or("empty")?;
/// assert_eq!(candidate_lists(&sketch, [7, 9]).count(), LISTS);
/// assert_eq!(candidate_lists(&sketch, [0, 9]).last(), Some((LISTS - 1, 9)));
/// # Ok::<(), &str>(())
/// ```
pub fn candidate_lists(
    sketch: &Sketch,
    names: [u64; 2],
) -> impl Iterator<Item = (usize, u32)> + use<> {
    let bands = sketch.bands().map(|band| band as u32);
    // The lower half is the hash of the whole name.
    let names = names.into_iter().enumerate().filter(|(_, name)| *name != 0);
    let names = names.map(|(number, name)| (BANDS + number, name as u32));
    bands.into_iter().enumerate().chain(names)
}

/// Returns whether a list of this kind with this number of documents proposes them: each list of a band does, and a
/// name of at most [`MAX_NAMED`] documents.
pub const fn names_a_page(kind: usize, documents: usize) -> bool {
    kind < BANDS || documents <= MAX_NAMED
}
