//! Compares pages ahead, on workers. The commit thread queries the tables again and compares a page only with those
//! that were kept since. References (`--against`) do not change, so the worker's answer about them is final.

use std::sync::Arc;

use hapax_data::{Comparison, Findings, References, TextStore, Wanted, is_of_text, round};
use hapax_dedup::Store;
use hapax_page::difference::{PartKind, compare};

use crate::page::{PageWork, TextDelta};

#[derive(Clone, Debug)]
pub(crate) struct Ahead {
    pub(crate) store: Arc<Store>,
    pub(crate) texts: Arc<TextStore>,
    /// Whether texts are compared, not only looked up in references.
    pub(crate) compares: bool,
    pub(crate) references: Arc<References>,
    /// Whether this is a recrawl, which compares known pages with their texts of before.
    pub(crate) looks: bool,
}

impl Ahead {
    /// Compares a page with the stored pages and the references, and compresses its text.
    pub(crate) fn compare(&self, page: &mut PageWork) {
        let key = page.key.as_deref().unwrap_or(page.url.as_str()).to_owned();
        let document = page.stored(key.as_bytes());
        page.compared.prepare();
        page.delta = self.delta(page, &key);
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

    /// Compares a known page with its stored text. `None` if it is not known or has no text.
    fn delta(&self, page: &PageWork, key: &str) -> Option<TextDelta> {
        if !self.looks || !self.compares {
            return None;
        }
        let id = self.store.id_of(key.as_bytes()).ok()??;
        let record = self.store.record(id).ok()??;
        if is_of_text(&record, &page.evidence.comparison_text.features) {
            // If anything has changed, it is the title.
            return Some(TextDelta { similarity: 1.0, is_volatile: false });
        }
        let before = self.texts.get(id, key.as_bytes())?;
        let difference = compare(before.words(), page.compared.words());
        let is_content = |kind: PartKind| {
            use PartKind::{Added, Number, Removed, Words};
            matches!(kind, Added | Number | Removed | Words)
        };
        let is_volatile = !difference.parts.iter().any(|part| is_content(part.kind));
        Some(TextDelta { similarity: round(difference.jaccard()), is_volatile })
    }
}
