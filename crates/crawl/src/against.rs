//! Pages that a reference (`--against`) has: they are discarded, or kept and marked.

use hapax_data::{DiscardedOf, InReference, Wanted, reference_key};
use hapax_dedup::{Document, Fingerprint};

use crate::commit::Committer;
use crate::error::Result;
use crate::keep::Other;
use crate::page::PageWork;

impl Committer {
    /// Returns the documents of references that a page duplicates, except those from which a person declared it
    /// distinct. `known` is the worker's answer, which is final: references do not change.
    pub(super) fn in_references(
        &self,
        page: &PageWork,
        document: &Document<'_>,
        known: Option<Vec<InReference>>,
    ) -> Result<Vec<InReference>> {
        if self.references.is_empty() {
            return Ok(Vec::new());
        }
        let key = page.key.as_deref().unwrap_or(page.url.as_str());
        let former = page.evidence.comparison_text.features.former_digest;
        let wanted = Wanted { document, former, text: &page.compared };
        if self.logs.decisions.has_distinct(key) {
            let is_distinct = |other: &str| self.logs.decisions.distinct(key, other);
            return Ok(self.references.find(wanted, Some(&is_distinct))?);
        }
        Ok(known.map_or_else(|| self.references.find(wanted, None), Ok)?)
    }

    /// Discards a page that a reference has.
    pub(super) fn discard_against(
        &mut self,
        page: &PageWork,
        document: &Document<'_>,
        found: &InReference,
        time: String,
    ) -> Result<()> {
        let of = self.reference_record(&found.store)?;
        let id = self.store.insert(document, Some(of))?;
        // A whole response: the archive has no record of the other page.
        let location = self.archive(page, id, None)?;
        let other = Other {
            of: DiscardedOf { id: None, url: found.url.clone(), warc: None },
            text: found.text.as_ref().map(|text| text.page().text.clone()),
            against: Some(found.store.clone()),
        };
        let compared = found.compared.clone();
        self.log_discarded(page, id, (&found.near, compared), other, (time, location))
    }

    /// Returns the record that represents a reference. Pages that it has are duplicates of this record, which has no
    /// text, so that no page duplicates it by its text.
    pub(super) fn reference_record(&self, store: &str) -> Result<u64> {
        let key = reference_key(store);
        if let Some(id) = self.store.id_of(&key)? {
            return Ok(id);
        }
        let nothing = Document { tokens: 0, ..Document::new(&key, Fingerprint::default()) };
        Ok(self.store.insert(&nothing, None)?)
    }
}
