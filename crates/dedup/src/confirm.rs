//! Lets the caller decide about proposed pairs by their texts, which the store does not keep.

use crate::policy::Neighbour;
use crate::record::{Document, Record};

/// The most proposed documents that the store compares by text for one offer. Beyond them, only documents of equal
/// text and the same name are duplicates.
pub const MAX_COMPARED: usize = 8;
/// The most documents that only a name proposed. They are compared after all others.
pub const MAX_COMPARED_BY_NAME: usize = 4;
/// The limit of both kinds for a look-up of all duplicates without an offer.
pub const MAX_COMPARED_OF_ALL: usize = 64;

/// A stored document that the tables propose for an offered one, with the evidence.
#[derive(Clone, Copy, Debug)]
pub struct Proposal<'a> {
    /// The stored document.
    pub record: &'a Record,
    /// Distance, similarity and level.
    pub neighbour: Neighbour,
    /// The policy's decision from the sketches.
    pub confirmed: bool,
}

/// A caller that keeps texts and compares them.
///
/// A sketch estimates how much two texts share, not where they differ: sizes of a product and revisions of an article
/// have equal similarity. With a `Confirm` the store asks about each proposed document: those of the same name first,
/// then the most similar, at most [`MAX_COMPARED`] for an offer, and at most [`MAX_COMPARED_BY_NAME`] that only a name
/// proposed. The implementation must not call the store.
///
/// ```
/// use std::collections::HashMap;
/// use hapax_dedup::{Confirm, Document, Options, Plain, Proposal, Store, Verdict};
///
/// /// Texts by key, and the text that is offered.
/// struct Texts<'t>(&'t HashMap<Vec<u8>, String>, &'t str);
///
/// impl Confirm for Texts<'_> {
///     fn confirm(&mut self, _: &Document<'_>, proposal: &Proposal<'_>) -> Option<bool> {
///         let stored = self.0.get(&proposal.record.key)?;
///         // Prices tell the pages of this shop apart.
///         let price = |text: &str| text.split(' ').find(|word| word.starts_with('$')).map(str::to_owned);
///         Some(price(stored) == price(self.1))
///     }
/// }
///
/// let (store, mut plain) = (Store::in_memory(Options::default())?, Plain::default());
/// let page = |price: u32| format!(
///     "The lamp stands on the table by the window and gives a warm light in the evening when it is dark \
///      outside and the children read their books before they go to bed. It costs ${price} today and the \
///      parcel is sent on the next day to every address in the country and to all of the islands too."
/// );
/// let mut texts = HashMap::new();
/// for (key, text, new) in [("a", page(20), true), ("b", page(25), true), ("c", page(20), false)] {
///     let verdict = store.offer_confirmed(&plain.document(key.as_bytes(), &text), &mut Texts(&texts, &text))?;
///     assert_eq!(matches!(verdict, Verdict::New(_)), new);
///     texts.insert(key.as_bytes().to_vec(), text);
/// }
/// # Ok::<(), hapax_dedup::Error>(())
/// ```
pub trait Confirm {
    /// Returns whether `document` duplicates the proposed one, or `None` to let the policy decide.
    fn confirm(&mut self, document: &Document<'_>, proposal: &Proposal<'_>) -> Option<bool>;
}
