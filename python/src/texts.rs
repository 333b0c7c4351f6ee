//! Texts of stored documents, and the comparison of an offered page with them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hapax_dedup::{Confirm, Document, Proposal, Store, Verdict};
use hapax_extract::Recipe;
use hapax_page::comparison::{Compared, PageText, compare_pages};
use hapax_page::texts::{PackedText, TextStore};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::Failure;
use crate::page::{Content, Page};
use crate::verdict::PyVerdict;

/// The folder of texts beside a store: that of the program's data directory, if the store is in one.
pub(crate) fn folder_of(store: &Path) -> PathBuf {
    match store.parent() {
        Some(data) if store.ends_with("dedup") => data.join("texts"),
        _ => store.join("texts"),
    }
}

/// Where the texts of stored documents are.
#[derive(Debug)]
enum Source {
    /// In a folder.
    Folder(TextStore),
    /// In memory, compressed.
    Memory(TextStore),
    /// A function of the caller returns them by key.
    Given { function: Py<PyAny>, recipe: Recipe },
}

/// The texts that offered pages are compared with.
#[derive(Debug)]
pub(crate) struct Texts {
    source: Source,
    /// Whether later documents match discarded ones too.
    keep_duplicates: bool,
    /// A text is stored before the next document is offered.
    offering: Mutex<()>,
}

impl Texts {
    /// Texts beside the store in a folder; in memory if the store is. `next_id` is the store's.
    pub(crate) fn stored(store: Option<&Path>, next_id: u64, keep_duplicates: bool) -> Self {
        let source = match store {
            Some(store) => {
                let texts = TextStore::open(&folder_of(store));
                texts.keep_below(next_id);
                Source::Folder(texts)
            }
            None => Source::Memory(TextStore::in_memory()),
        };
        Self { source, keep_duplicates, offering: Mutex::default() }
    }

    /// Texts that a function of the caller returns by key. Texts and HTML are read by this recipe.
    pub(crate) fn given(function: Py<PyAny>, recipe: Recipe) -> Self {
        let source = Source::Given { function, recipe };
        Self { source, keep_duplicates: false, offering: Mutex::default() }
    }

    const fn own(&self) -> Option<&TextStore> {
        match &self.source {
            Source::Folder(texts) | Source::Memory(texts) => Some(texts),
            Source::Given { .. } => None,
        }
    }

    fn offering(&self) -> MutexGuard<'_, ()> {
        // It guards nothing that a panic could break.
        self.offering.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Offers a page, compares it with the texts of similar ones, and stores its own text.
    pub(crate) fn offer(
        &self,
        store: &Store,
        document: &Document<'_>,
        page: &Page,
    ) -> Result<PyVerdict, Failure> {
        let _offering = self.offering();
        let mut comparing = Comparing::new(self, page);
        let verdict = store.offer_confirmed(document, &mut comparing)?;
        if let Some(error) = comparing.failure {
            if let Verdict::New(id) | Verdict::Duplicate { id, .. } = verdict {
                store.delete(id)?;
            }
            return Err(Failure::Python(error));
        }
        let stored = match &verdict {
            Verdict::New(id) => Some(*id),
            Verdict::Duplicate { id, .. } => Some(*id).filter(|_| self.keep_duplicates),
            Verdict::Known(_) => None,
        };
        if let Some((texts, id)) = self.own().zip(stored) {
            let own = Arc::new(comparing.own);
            texts.insert(id, document.key, PackedText::of(own.page()), &own);
            return Ok(PyVerdict::compared(verdict, None));
        }
        let differs = match &verdict {
            Verdict::Duplicate { of, .. } => comparing.same.remove(&of.id),
            _ => None,
        };
        Ok(PyVerdict::compared(verdict, differs))
    }

    /// Returns a comparison of a page with the stored texts.
    pub(crate) fn comparing(&self, page: &Page) -> Comparing<'_> {
        Comparing::new(self, page)
    }

    /// Removes the texts of documents that are no longer stored. [`Self::erase`] erases them on disk.
    pub(crate) fn remove(&self, ids: impl IntoIterator<Item = u64>) {
        if let Some(texts) = self.own() {
            ids.into_iter().for_each(|id| texts.remove(id));
        }
    }

    /// Makes all texts durable; called before the commit of the store.
    pub(crate) fn commit(&self) -> Result<(), Failure> {
        match &self.source {
            Source::Folder(texts) => Ok(texts.commit()?),
            Source::Memory(_) | Source::Given { .. } => Ok(()),
        }
    }

    /// Erases removed texts on disk; called after the commit of the store.
    pub(crate) fn erase(&self) -> Result<(), Failure> {
        self.own().map_or(Ok(()), |texts| Ok(texts.erase()?))
    }
}

/// Compares one page with proposed documents.
pub(crate) struct Comparing<'t> {
    texts: &'t Texts,
    own: Compared,
    /// Documents of the same page, with their differences in words.
    same: HashMap<u64, Vec<String>>,
    /// The first exception of the caller's function. After it the sketch decides.
    pub(crate) failure: Option<PyErr>,
}

impl<'t> Comparing<'t> {
    fn new(texts: &'t Texts, page: &Page) -> Self {
        Self { texts, own: compared(page), same: HashMap::new(), failure: None }
    }

    fn text_of(&mut self, id: u64, key: &[u8]) -> Option<Arc<Compared>> {
        match &self.texts.source {
            Source::Folder(texts) | Source::Memory(texts) => texts.get(id, key),
            Source::Given { function, recipe } if self.failure.is_none() => {
                match Python::attach(|py| text_given(py, function, *recipe, key)) {
                    Ok(text) => text.map(Arc::new),
                    Err(error) => {
                        self.failure = Some(error);
                        None
                    }
                }
            }
            Source::Given { .. } => None,
        }
    }
}

impl Confirm for Comparing<'_> {
    fn confirm(&mut self, document: &Document<'_>, proposal: &Proposal<'_>) -> Option<bool> {
        let record = proposal.record;
        let other = self.text_of(record.id, &record.key)?;
        let outcome = compare_pages(&self.own, &other, document.site == record.site);
        if outcome.same() {
            let differs = outcome.phrases(&self.own, &other, ["this page", "the kept page"]);
            self.same.insert(record.id, differs);
        }
        Some(outcome.same())
    }
}

fn compared(page: &Page) -> Compared {
    Compared::new(PageText::of(&page.document, &page.evidence.comparison_text))
}

/// Calls the caller's function with a key: a string, or bytes that are not UTF-8.
fn text_given(
    py: Python<'_>,
    function: &Py<PyAny>,
    recipe: Recipe,
    key: &[u8],
) -> PyResult<Option<Compared>> {
    let text = match std::str::from_utf8(key) {
        Ok(key) => function.bind(py).call1((key,))?,
        Err(_) => function.bind(py).call1((PyBytes::new(py, key),))?,
    };
    if text.is_none() {
        return Ok(None);
    }
    if let Ok(page) = text.cast::<Page>() {
        return Ok(Some(compared(page.get())));
    }
    let content = Content::of(&text).map_err(|_| {
        PyTypeError::new_err("texts() must return a Page, str, bytes or None for each key")
    })?;
    let url = std::str::from_utf8(key).ok().and_then(|key| url::Url::parse(key).ok());
    let page = Page::read(&content.body(), url, recipe).map_err(|failure| failure.into_py(py))?;
    Ok(Some(compared(&page)))
}
