//! Compares pages ahead, on workers. The commit thread queries the tables again and compares a page only with those
//! that were kept since.

use std::sync::Arc;

use hapax_data::{Comparison, Findings, TextStore};
use hapax_dedup::Store;

use crate::page::PageWork;

#[derive(Clone, Debug)]
pub(crate) struct Ahead {
    pub(crate) store: Arc<Store>,
    pub(crate) texts: Arc<TextStore>,
}

impl Ahead {
    /// Compares a page with the stored pages, and compresses its text.
    pub(crate) fn compare(&self, page: &mut PageWork) {
        page.pack_text();
        page.compared.prepare();
        let key = page.key.as_deref().unwrap_or(page.url.as_str()).to_owned();
        let document = page.stored(key.as_bytes());
        let mut comparison = Comparison::new(&self.texts, &page.compared, Findings::new());
        // The commit thread meets the same error, and reports it.
        let _ = self.store.snapshot().first_confirmed(&document, &mut comparison);
        page.findings = comparison.into_findings();
    }
}
