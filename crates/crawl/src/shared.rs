//! A crawl that several workers share. Frontier and verdicts come from a cluster. WARC, index, logs and a store of
//! this worker's own pages are in its data directory.

use std::collections::HashMap;

use crate::error::Result;
use hapax_data::ELSEWHERE;
use hapax_data::SkipReason;
use hapax_dedup::{Document, Neighbour, Record, Verdict};

use super::commit::{Committer, GROUP_PAGES};
use super::page::PageWork;
use super::verdicts::{Asked, SharedVerdict, Verdicts};

/// Number of the last records to verify at the start: two groups, with a record of another worker's page for each
/// page.
const RECLAIMED: u64 = 4 * GROUP_PAGES;
const RECLAIMED_AT_A_TIME: usize = 256;

impl Committer {
    /// Uses the verdicts of all workers from now on.
    pub(super) fn share(&mut self, verdicts: Box<dyn Verdicts>) -> Result<()> {
        self.shared = Some(Asked { verdicts, ahead: HashMap::new() });
        // Pages that the last run kept but did not settle, or that a lost master had not passed on, may belong to
        // another worker now.
        let last: Vec<u64> =
            (self.store.next_id().saturating_sub(RECLAIMED)..self.store.next_id()).collect();
        for ids in last.chunks(RECLAIMED_AT_A_TIME) {
            self.reclaim(ids)?;
        }
        Ok(())
    }

    /// Requests the cluster's verdicts about pages that this worker keeps, and removes those that another worker
    /// keeps.
    fn reclaim(&mut self, ids: &[u64]) -> Result<()> {
        let mut records = Vec::new();
        for &id in ids {
            let Some(record) = self.store.record(id)? else { continue };
            if record.indexed && record.of.is_none() && !Self::is_elsewhere(&record.key) {
                records.push(record);
            }
        }
        let documents: Vec<_> = records.iter().map(Record::document).collect();
        self.ask_ahead_of(&documents)?;
        for record in &records {
            let who = match self.ask_all(&record.document())? {
                Some(SharedVerdict::Duplicate(of)) => self.url_of(of.id)?,
                Some(SharedVerdict::Taken) if !self.owns(&record.key)? => "the same URL".to_owned(),
                _ => continue,
            };
            let url = String::from_utf8_lossy(&record.key).into_owned();
            self.supersede(record.id, &url)?;
            self.skip(
                &url,
                SkipReason::LeaseLost,
                &format!("another worker keeps the page: {who}"),
            )?;
        }
        Ok(())
    }

    fn owns(&self, key: &[u8]) -> Result<bool> {
        match &self.shared {
            Some(shared) => Ok(shared.verdicts.owns(key)?),
            None => Ok(true),
        }
    }

    /// Requests the verdict of all workers about a page; `None` if the crawl is not shared.
    pub(super) fn ask_all(&mut self, document: &Document<'_>) -> Result<Option<SharedVerdict>> {
        let Some(shared) = &mut self.shared else { return Ok(None) };
        let verdict = match shared.ahead.remove(document.key) {
            Some(verdict) => Some(verdict),
            None => shared.verdicts.documents().offer_many(std::slice::from_ref(document))?.pop(),
        };
        let of = match verdict {
            Some(Verdict::New(_)) => return Ok(Some(SharedVerdict::New)),
            Some(Verdict::Duplicate { of, .. }) => of,
            Some(Verdict::Known(_)) | None => return Ok(Some(SharedVerdict::Taken)),
        };
        let Some(record) = shared.verdicts.documents().record(of.id)? else {
            return Ok(Some(SharedVerdict::New));
        };
        let url = String::from_utf8_lossy(&record.key).into_owned();
        let own = String::from_utf8_lossy(document.key);
        if self.logs.decisions.distinct(&own, &url) {
            // A person declared them distinct.
            if let Some(id) = shared.verdicts.documents().id_of(document.key)? {
                shared.verdicts.documents().restore(id)?;
            }
            return Ok(Some(SharedVerdict::New));
        }
        let id = match self.store.id_of(&record.key)? {
            Some(id) => id,
            None => {
                let key = format!("{ELSEWHERE}{url}").into_bytes();
                self.store.insert(&Document { key: &key, ..record.document() }, None)?
            }
        };
        Ok(Some(SharedVerdict::Duplicate(Neighbour { id, ..of })))
    }

    pub(super) const fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// Requests the verdicts about the next pages in one batch.
    pub(super) fn ask_ahead(&mut self, pages: &[&PageWork]) -> Result<()> {
        let mut documents = Vec::with_capacity(pages.len());
        for page in pages {
            let key = page.key.as_deref().unwrap_or(page.url.as_str());
            if self.store.id_of(key.as_bytes())?.is_none() {
                documents.push(page.stored(key.as_bytes()));
            }
        }
        self.ask_ahead_of(&documents)
    }

    fn ask_ahead_of(&mut self, documents: &[Document<'_>]) -> Result<()> {
        let Some(shared) = &mut self.shared else { return Ok(()) };
        if documents.len() > 1 {
            let verdicts = shared.verdicts.documents().offer_many(documents)?;
            let keys = documents.iter().map(|document| document.key.to_vec());
            for (key, verdict) in keys.zip(verdicts) {
                // Of two equal keys the first verdict counts: for the second the document is known.
                shared.ahead.entry(key).or_insert(verdict);
            }
        }
        Ok(())
    }

    /// Withdraws documents whose verdict was requested ahead and not used. Must run before a commit, which settles
    /// all.
    pub(super) fn drop_ahead(&mut self) -> Result<()> {
        let Some(shared) = &mut self.shared else { return Ok(()) };
        for (key, verdict) in std::mem::take(&mut shared.ahead) {
            if !matches!(verdict, Verdict::Known(_))
                && let Some(id) = shared.verdicts.documents().id_of(&key)?
            {
                shared.verdicts.documents().delete(id)?;
            }
        }
        Ok(())
    }

    /// Offers a known page again: its lease came again, so the other workers may not know it.
    pub(super) fn tell_known(&mut self, id: u64) -> Result<()> {
        if self.is_shared() { self.reclaim(&[id]) } else { Ok(()) }
    }

    /// Reports that a page of this worker replaced another page of this worker.
    pub(super) fn tell_better(&self, old: &str, new: &str) -> Result<()> {
        let Some(shared) = &self.shared else { return Ok(()) };
        let id = |url: &str| shared.verdicts.documents().id_of(url.as_bytes());
        if let (Some(old), Some(new)) = (id(old)?, id(new)?) {
            shared.verdicts.documents().supersede(old, new)?;
        }
        Ok(())
    }

    pub(super) fn tell_restored(&self, url: &str) -> Result<()> {
        let Some(shared) = &self.shared else { return Ok(()) };
        if let Some(id) = shared.verdicts.documents().id_of(url.as_bytes())? {
            shared.verdicts.documents().restore(id)?;
        }
        Ok(())
    }

    pub(super) fn tell_forgotten(&self, url: &str) -> Result<()> {
        let Some(shared) = &self.shared else { return Ok(()) };
        if let Some(id) = shared.verdicts.documents().id_of(url.as_bytes())? {
            shared.verdicts.documents().delete(id)?;
        }
        Ok(())
    }

    /// Settles what is durable here for all workers. Removes pages that another worker has taken over.
    ///
    /// Returns whether there were such pages: then another commit is needed.
    pub(super) fn settle_shared(&mut self) -> Result<bool> {
        let Some(shared) = &self.shared else { return Ok(false) };
        let lost = shared.verdicts.documents().settle()?;
        shared.verdicts.report(self.stats.pages().fetched);
        let any = !lost.is_empty();
        for key in lost {
            let Some(id) = self.store.id_of(&key)? else { continue };
            let url = String::from_utf8_lossy(&key).into_owned();
            self.supersede(id, &url)?;
            self.event_removed(id, &url, "another worker has it")?;
            self.skip(&url, SkipReason::LeaseLost, "another worker fetched it in the meantime")?;
        }
        Ok(any)
    }

    /// Returns whether a record is another worker's page.
    pub(super) fn is_elsewhere(key: &[u8]) -> bool {
        key.starts_with(ELSEWHERE.as_bytes())
    }
}
