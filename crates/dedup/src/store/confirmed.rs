//! Decisions of a caller that compares texts.

use super::Store;
use crate::confirm::Confirm;
use crate::error::{Error, Result};
use crate::policy::{Neighbour, Verdict};
use crate::record::Document;

impl Store {
    /// [`offer`](Self::offer), where the caller compares the texts. While it does, no other document is offered.
    ///
    /// # Errors
    /// As [`offer`](Self::offer).
    ///
    /// # Complexity
    /// As [`offer`](Self::offer), and at most [`MAX_COMPARED`](crate::MAX_COMPARED) comparisons.
    pub fn offer_confirmed(
        &self,
        document: &Document<'_>,
        confirm: &mut dyn Confirm,
    ) -> Result<Verdict> {
        let documents = std::slice::from_ref(document);
        let mut writer = self.writer_with_room();
        writer.offer(documents, Some(confirm), &self.options)?.pop().ok_or(Error::Poisoned)
    }

    /// [`matches`](Self::matches), where the caller compares the texts.
    ///
    /// # Errors
    /// [`Error::Corrupt`] from a segment.
    pub fn confirmed_matches(
        &self,
        document: &Document<'_>,
        confirm: &mut dyn Confirm,
    ) -> Result<Vec<Neighbour>> {
        self.snapshot().confirmed_matches(document, confirm)
    }

    /// Returns the best document that the given one duplicates, where the caller compares the texts.
    ///
    /// # Errors
    /// [`Error::Corrupt`] from a segment.
    pub fn first_confirmed(
        &self,
        document: &Document<'_>,
        confirm: &mut dyn Confirm,
    ) -> Result<Option<Neighbour>> {
        self.snapshot().first_confirmed(document, confirm)
    }
}
