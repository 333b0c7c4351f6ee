//! Comparisons ahead, on workers: the commit thread asks the tables again and compares a page only with those that were
//! kept meanwhile.

use std::sync::Arc;

use hapax_data::{Comparison, Findings, TextStore};
use hapax_dedup::Store;

use crate::page::PageWork;

/// What workers need for comparisons ahead.
#[derive(Clone, Debug)]
pub(crate) struct Ahead {
    pub(crate) store: Arc<Store>,
    pub(crate) texts: Arc<TextStore>,
}

impl Ahead {
    /// Compares a page with what is stored now, and compresses its text.
    pub(crate) fn compare(&self, page: &mut PageWork) {
        page.pack_text();
        page.compared.prepare();
        let key = page.key.as_deref().unwrap_or(page.url.as_str()).to_owned();
        let document = page.stored(key.as_bytes());
        let mut comparison = Comparison::new(&self.texts, &page.compared, Findings::new());
        // What fails here fails for the commit thread too, which reports it.
        let _ = self.store.snapshot().first_confirmed(&document, &mut comparison);
        page.findings = comparison.into_findings();
    }
}
