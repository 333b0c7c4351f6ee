//! Compares pages ahead, on workers. The commit thread queries the tables again and compares a page only with those
//! that were kept since. References (`--against`) do not change, so the worker's answer about them is final.

use std::sync::Arc;

use hapax_data::{Comparison, Findings, References, TextStore, Wanted};
use hapax_dedup::Store;

use crate::page::PageWork;

#[derive(Clone, Debug)]
pub(crate) struct Ahead {
    pub(crate) store: Arc<Store>,
    pub(crate) texts: Arc<TextStore>,
    /// Whether texts are compared, not only looked up in references.
    pub(crate) compares: bool,
    pub(crate) references: Arc<References>,
}

impl Ahead {
    /// Compares a page with the stored pages and the references, and compresses its text.
    pub(crate) fn compare(&self, page: &mut PageWork) {
        let key = page.key.as_deref().unwrap_or(page.url.as_str()).to_owned();
        let document = page.stored(key.as_bytes());
        page.compared.prepare();
        if self.compares {
            page.pack_text();
            let mut comparison = Comparison::new(&self.texts, &page.compared, Findings::new());
            // The commit thread meets the same error, and reports it.
            let _ = self.store.snapshot().first_confirmed(&document, &mut comparison);
            page.findings = comparison.into_findings();
        }
        if !self.references.is_empty() {
            let former = page.evidence.comparison_text.features.former_digest;
            let wanted = Wanted { document: &document, former, text: &page.compared };
            // After an error the commit thread looks it up again.
            page.against = self.references.find(wanted, None).ok();
        }
    }
}
