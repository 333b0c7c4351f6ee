//! The kept pages of a data directory, with their texts: from `texts/`, or from the index.

use std::path::Path;
use std::sync::Arc;

use hapax_dedup::{Policy, Record, Store};
use hapax_extract::{Recipe, jieba};
use hapax_index::Searcher;
use hapax_page::comparison::PageText;
use serde::Serialize;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::tables::{ELSEWHERE, read_only};
use hapax_page::texts::TextStore;

/// Where the texts of kept pages were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TextSources {
    /// Pages with a text in `texts/`.
    pub texts: u64,
    /// Pages whose text came from the index instead.
    pub index: u64,
    /// Pages without a stored text; they were not searched.
    pub none: u64,
}

/// Reads texts of kept pages.
#[derive(Debug)]
pub(crate) struct PageTexts {
    pub(crate) store: Store,
    texts: TextStore,
    searcher: Option<Searcher>,
}

/// Where a text was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextSource {
    Texts,
    Index,
}

impl PageTexts {
    /// Opens a data directory for reading.
    ///
    /// # Errors
    /// If it has no store, or store or index are damaged.
    pub(crate) fn open(data: &Path) -> Result<Self> {
        let store = read_only(data, Policy::default(), Recipe::default().name())?;
        let Some((store, _)) = store else {
            return Err(Error::Invalid(format!("{}: contains no kept pages", data.display())));
        };
        let searcher = match Searcher::open(&data.join("index"), jieba) {
            Err(error @ hapax_index::Error::Damaged { .. }) => return Err(error.into()),
            opened => opened.ok(),
        };
        Ok(Self { store, texts: TextStore::read_only(&data.join("texts")), searcher })
    }

    /// Calls `each` with the record of each kept page, in the order of numbers.
    pub(crate) fn kept(&self, mut each: impl FnMut(Record) -> Result<()>) -> Result<()> {
        for record in self.store.snapshot().records() {
            let record = record?;
            if record.of.is_none()
                && record.indexed
                && !record.key.starts_with(ELSEWHERE.as_bytes())
            {
                each(record)?;
            }
        }
        Ok(())
    }

    /// Returns title and description of a page; the description is in the index only.
    pub(crate) fn named(&self, id: u64, key: &[u8]) -> Result<[String; 2]> {
        let text = self.texts.get(id, key);
        let stored =
            self.searcher.as_ref().map(|searcher| searcher.page(id)).transpose()?.flatten();
        let title = text.map(|text| text.page().title.clone());
        let indexed = || stored.as_ref().map(|page| page.title.clone());
        let title = title.or_else(indexed).unwrap_or_default();
        Ok([title, stored.map(|page| description(&page.meta)).unwrap_or_default()])
    }

    /// Returns the text of a page, and where it was found.
    pub(crate) fn text(&self, id: u64, key: &[u8]) -> Result<Option<(Arc<PageText>, TextSource)>> {
        if let Some(compared) = self.texts.get(id, key) {
            return Ok(Some((Arc::new(compared.page().clone()), TextSource::Texts)));
        }
        let Some(searcher) = &self.searcher else { return Ok(None) };
        Ok(searcher.page(id)?.map(|page| {
            let page = PageText { title: page.title, text: page.text, ..PageText::default() };
            (Arc::new(page), TextSource::Index)
        }))
    }
}

/// Returns the description in the metadata of a page in the index.
fn description(meta: &str) -> String {
    let meta: Value = serde_json::from_str(meta).unwrap_or_default();
    meta.get("description").and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_read_from_any_metadata() {
        assert_eq!(description(r#"{"page_type":"article","description":"A river."}"#), "A river.");
        for meta in ["", "{", "[]", r#"{"description":7}"#, "{}"] {
            assert_eq!(description(meta), "");
        }
    }
}
