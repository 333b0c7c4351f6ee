//! Discards kept pages that are a part of another kept page, at the end of a run (`--parts discard`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use hapax_data::{DecidedBy, Differences, DuplicateKind, Evidence, FoundPart, Texts, find_parts};

use crate::commit::Committer;
use crate::error::Result;

impl Committer {
    /// Finds the parts among all kept pages and discards them in one commit: a crash leaves all of them kept, and the
    /// next run finds the same. Returns whether the search ended; if not, `stop` became true.
    pub(crate) fn discard_parts(&mut self, stop: &Arc<AtomicBool>) -> Result<bool> {
        if stop.load(Relaxed) {
            return Ok(false);
        }
        // The search reads what is committed.
        self.commit_as_it_is()?;
        tracing::info!("searching for pages that are a part of another page");
        let Some(found) = find_parts(&self.root, self.decisions(), stop)? else {
            return Ok(false);
        };
        tracing::info!("{} pages are a part of another page", found.len());
        if found.is_empty() {
            return Ok(true);
        }
        let texts = Texts::open(&self.root)?;
        for part in found {
            self.discard_part(&texts, part)?;
        }
        self.commit_as_it_is()?;
        self.search.look_up_again();
        Ok(true)
    }

    fn discard_part(&mut self, texts: &Texts, part: FoundPart) -> Result<()> {
        let id_of = |key: &[u8]| self.store.id_of(key);
        let (Some(own), Some(other)) = (id_of(&part.key)?, id_of(&part.of)?) else {
            return Ok(());
        };
        let (Some(record), Some(whole)) = (self.store.record(own)?, self.store.record(other)?)
        else {
            return Ok(());
        };
        let pages = (texts.page(own), texts.page(other));
        self.leave_for(&record, other, DecidedBy::Parts, |committer, id| {
            let mut line = committer.line(&record, id, pages.0, &whole, other, pages.1, None);
            line.kind = DuplicateKind::Part;
            // No table proposed the pair, and no threshold of the sketches decided.
            (line.level, line.table, line.threshold) = (None, None, None);
            line.evidence = Some(Evidence::Text);
            line.compared = None;
            line.differences = Differences {
                containment: Some(part.containment),
                part: Some(part.evidence),
                ..Differences::default()
            };
            line.with_cause()
        })
    }
}
