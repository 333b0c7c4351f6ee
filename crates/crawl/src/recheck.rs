//! Rechecks stored decisions under another policy: finds changes, and applies them.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use hapax_data::{
    Answer, DecidedBy, Request, Rows, TextStore, Texts, is_reference_key, matches_of_record,
    stored_page,
};
use hapax_dedup::{Confirm, Document, Neighbour, Options, Policy, Proposal, Record, Store};
use hapax_page::comparison::{Compared, PageText, compare_pages};
use url::Url;

use crate::amend::Amend;
use crate::error::Result;
use crate::representative::{Rank, Replaceable, may_replace};

/// A page that would be decided about differently.
#[derive(Clone, Debug)]
pub struct Rechecked {
    /// The page.
    pub record: Record,
    /// The page that it would duplicate; `None` if it would be kept.
    pub of: Option<(Record, Neighbour)>,
    /// Its newest row in the log.
    pub row: Option<u64>,
}

impl Rechecked {
    /// Returns whether it stays discarded as a duplicate of another page: the page that it duplicates now is no
    /// longer similar to it, or no longer kept.
    pub const fn is_for_another(&self) -> bool {
        self.record.of.is_some() && self.of.is_some()
    }
}

impl Amend {
    /// Returns the pages that a policy would decide about differently.
    ///
    /// # Errors
    /// An error of the stores.
    ///
    /// # Complexity
    /// Holds the tables of all documents in memory.
    pub fn recheck(&self, policy: Policy, rows: &Rows) -> Result<Vec<Rechecked>> {
        let newest = newest_rows(rows)?;
        let stored = StoredTexts {
            texts: TextStore::read_only(&self.root().join("texts")),
            pages: self.root().join("pages"),
            kept: Texts::open(self.root())?,
            rows,
            newest: &newest,
            discarded: HashMap::new(),
        };
        let mut changes = Replay::new(self, policy, stored)?.run()?;
        for change in &mut changes {
            change.row = newest.get(&*String::from_utf8_lossy(&change.record.key)).copied();
        }
        Ok(changes)
    }

    /// Decides by this policy from now on, and changes these pages. The answer lists pages that could not be changed.
    ///
    /// # Errors
    /// An error of the stores.
    pub fn apply_recheck(&mut self, policy: Policy, changes: &[Rechecked]) -> Result<Answer> {
        let returns =
            changes.iter().filter(|change| change.of.is_none() || change.is_for_another());
        let ids = returns.filter_map(|change| change.row).collect();
        self.decides_by(policy);
        // Restore first: other pages may become duplicates of the restored ones.
        let answer = self.apply(&Request::Restore { ids }, DecidedBy::Recheck)?;
        // Opened after that commit, to see its result.
        let texts = Texts::open(self.root())?;
        for change in changes {
            if let Some((of, near)) = &change.of {
                self.discard_kept(&texts, &change.record.key, &of.key, near)?;
            }
        }
        Ok(answer)
    }
}

/// Decides again about every stored page: first those that a person chose, then kept pages in order, then discarded
/// ones. Of two pages it keeps the one that a crawl would keep.
struct Replay<'r> {
    amend: &'r Amend,
    stored: StoredTexts<'r>,
    /// The pages that are kept so far, under separate numbers.
    tables: Store,
    /// Maps these numbers to those of the store.
    places: HashMap<u64, u64>,
    /// Kept pages that only a person may change, by their number in the store.
    settled: HashSet<u64>,
    /// A page that a better one replaced, and that page, by their numbers in the store.
    replaced: HashMap<u64, u64>,
    changes: Vec<Rechecked>,
}

impl<'r> Replay<'r> {
    fn new(amend: &'r Amend, policy: Policy, stored: StoredTexts<'r>) -> Result<Self> {
        let options = Options {
            policy,
            recipe: amend.recipe().name().to_owned(),
            strong_digests: true,
            ..Options::default()
        };
        let tables = Store::in_memory(options)?;
        Ok(Self {
            amend,
            stored,
            tables,
            places: HashMap::new(),
            settled: HashSet::new(),
            replaced: HashMap::new(),
            changes: Vec::new(),
        })
    }

    fn run(mut self) -> Result<Vec<Rechecked>> {
        let snapshot = self.amend.store().snapshot();
        let decisions = self.amend.decisions();
        for pass in 0..3 {
            for record in snapshot.records() {
                let record = record?;
                let url = String::from_utf8_lossy(&record.key);
                // Only a person may change this.
                let settled = decisions.chosen(&url) || decisions.was_restored(&url);
                let turn = match record.of {
                    Some(_) => 2,
                    None if settled => 0,
                    None => 1,
                };
                if turn == pass && record.tokens > 0 {
                    self.decide(record, settled)?;
                }
            }
        }
        self.name_better_pages()?;
        Ok(self.changes)
    }

    /// Names, in all changes, the pages that are kept in the end.
    fn name_better_pages(&mut self) -> Result<()> {
        let mut changes = std::mem::take(&mut self.changes);
        // Discarded pages that would have been restored, before a better page replaced them.
        changes.retain(|page| page.of.is_some() || !self.replaced.contains_key(&page.record.id));
        for (of, _) in changes.iter_mut().filter_map(|change| change.of.as_mut()) {
            let better = self.replaced_by(of.id);
            if better != of.id
                && let Some(record) = self.amend.store().record(better)?
            {
                *of = record;
            }
        }
        self.changes = changes;
        Ok(())
    }

    /// Decides about one page.
    fn decide(&mut self, record: Record, settled: bool) -> Result<()> {
        let discarded = record.of.is_some();
        if let Some(of) = record.of
            && self.amend.store().record(of)?.is_some_and(|of| is_reference_key(&of.key))
        {
            // A reference has it. References are not read here.
            return Ok(());
        }
        if discarded && self.stored.is_part(&record) {
            // The search for parts decided, not the thresholds.
            return Ok(());
        }
        let own = self.stored.of(&record)?;
        let best = if settled && !discarded {
            self.settled.insert(record.id);
            None
        } else {
            match self.best(&record, own.as_deref())? {
                Best::Stays => return Ok(()),
                Best::Of(of, near) => Some((*of, near)),
                Best::None => None,
            }
        };
        let Some((of, near)) = best else {
            self.keep(&record, own)?;
            if discarded {
                self.changes.push(Rechecked { record, of: None, row: None });
            }
            return Ok(());
        };
        if !settled && self.is_better(&record, &of, &near)? {
            return self.replace(record, own, of, near);
        }
        self.changes.push(Rechecked { record, of: Some((of, near)), row: None });
        Ok(())
    }

    /// Returns the best match of a page among the kept ones, or that it stays a duplicate as now.
    fn best(&self, record: &Record, own: Option<&Compared>) -> Result<Best> {
        let decisions = self.amend.decisions();
        let url = String::from_utf8_lossy(&record.key);
        // A better page may have replaced the page that it duplicates.
        let now = record.of.map(|of| decisions.representative(of).map_or(of, |(id, _)| id));
        let now = now.map(|id| self.replaced_by(id));
        let mut compare = Replayed { own, stored: &self.stored, places: &self.places };
        let mut best = Best::None;
        for near in matches_of_record(&self.tables, record, Some(&mut compare))? {
            let Some(id) = self.places.get(&near.id) else { continue };
            let Some(of) = self.amend.store().record(*id)? else { continue };
            if decisions.distinct(&url, &String::from_utf8_lossy(&of.key)) {
                continue;
            }
            if now == Some(*id) {
                return Ok(Best::Stays);
            }
            if matches!(best, Best::None) {
                best = Best::Of(Box::new(of), near);
            }
            if now.is_none() {
                break;
            }
        }
        Ok(best)
    }

    fn replaced_by(&self, mut id: u64) -> u64 {
        // Each page is decided about once, so there is no cycle.
        while let Some(better) = self.replaced.get(&id) {
            id = *better;
        }
        id
    }

    /// Returns whether a crawl would keep this page instead of the one that it duplicates.
    fn is_better(&self, record: &Record, of: &Record, near: &Neighbour) -> Result<bool> {
        let same_site = record.site == of.site;
        if self.settled.contains(&of.id)
            || ![record, of].into_iter().all(is_of_web)
            || may_replace(near, same_site, of.strong_digest) != Replaceable::IfBetter
        {
            return Ok(false);
        }
        let rank = |record: &Record| -> Result<Rank> {
            let (canonical, bytes) = self.stored.details(record)?;
            Ok(Rank::of_record(record, same_site && canonical, bytes))
        };
        Ok(rank(record)? > rank(of)?)
    }

    /// Keeps a page instead of the one that it duplicates.
    fn replace(
        &mut self,
        record: Record,
        own: Option<Arc<Compared>>,
        of: Record,
        near: Neighbour,
    ) -> Result<()> {
        self.tables.delete(near.id)?;
        self.places.remove(&near.id);
        self.replaced.insert(of.id, record.id);
        self.keep(&record, own)?;
        if record.of.is_some() {
            self.changes.push(Rechecked { record: record.clone(), of: None, row: None });
        }
        self.changes.push(Rechecked { record: of, of: Some((record, near)), row: None });
        Ok(())
    }

    fn keep(&mut self, record: &Record, own: Option<Arc<Compared>>) -> Result<()> {
        self.places.insert(self.tables.insert_record(record, None)?, record.id);
        if record.of.is_some() {
            self.stored.discarded.extend(own.map(|own| (record.id, own)));
        }
        Ok(())
    }
}

/// The best match of a page.
enum Best {
    /// It is like no kept page.
    None,
    /// The page is discarded, and like the page that it duplicates now.
    Stays,
    /// It is like this page.
    Of(Box<Record>, Neighbour),
}

/// Returns whether a record is a page of the web: documents of other inputs have no better address.
fn is_of_web(record: &Record) -> bool {
    record.key.starts_with(b"http://") || record.key.starts_with(b"https://")
}

/// The texts to compare, from where they are stored.
struct StoredTexts<'r> {
    texts: TextStore,
    pages: PathBuf,
    /// The index, for the size of a kept page and whether it names itself as canonical.
    kept: Texts,
    rows: &'r Rows,
    newest: &'r HashMap<String, u64>,
    /// Texts of discarded pages that would be kept.
    discarded: HashMap<u64, Arc<Compared>>,
}

impl StoredTexts<'_> {
    /// Returns the text of a record: that of a kept page from the text store, that of a discarded page from the
    /// archive.
    fn of(&self, record: &Record) -> Result<Option<Arc<Compared>>> {
        if let Some(text) = self.texts.get(record.id, &record.key) {
            return Ok(Some(text));
        }
        let Some(row) = self.newest.get(&*String::from_utf8_lossy(&record.key)) else {
            return Ok(None);
        };
        let Some(row) = self.rows.by_id(*row) else { return Ok(None) };
        let entry = self.rows.entry(&row)?;
        let archived = || {
            let url = Url::parse(&entry.url).ok()?;
            let (document, comparison_text) =
                stored_page(&self.pages, entry.warc.as_deref()?, &url)?;
            // If the body equals another page's, the archive has only the head.
            let text = Some(PageText::of(&document, &comparison_text).without_address(&url))
                .filter(|page| !page.text.trim().is_empty());
            Some(Arc::new(Compared::new(text?)))
        };
        let same = || self.texts.get(entry.of.id?, entry.of.url.as_bytes());
        let equal = entry.level.as_deref() == Some("text");
        Ok(archived().or_else(|| if equal { same() } else { None }))
    }
}

impl StoredTexts<'_> {
    /// Returns whether a page was discarded as a part of another one.
    fn is_part(&self, record: &Record) -> bool {
        let row = self.newest.get(&*String::from_utf8_lossy(&record.key));
        row.and_then(|row| self.rows.by_id(*row)).is_some_and(|row| row.is_part())
    }

    /// Returns whether a page names itself as canonical, and its bytes.
    fn details(&self, record: &Record) -> Result<(bool, u64)> {
        if record.of.is_none() {
            return Ok(self.kept.page(record.id).map_or((false, 0), |p| (p.canonical, p.bytes)));
        }
        let row = self.newest.get(&*String::from_utf8_lossy(&record.key));
        let entry = row.and_then(|row| self.rows.by_id(*row)).map(|row| self.rows.entry(&row));
        Ok(entry.transpose()?.map_or((false, 0), |entry| (entry.links.canonical, entry.bytes)))
    }
}

/// Compares a record with those that were decided about before.
struct Replayed<'r> {
    own: Option<&'r Compared>,
    stored: &'r StoredTexts<'r>,
    places: &'r HashMap<u64, u64>,
}

impl Confirm for Replayed<'_> {
    fn confirm(&mut self, document: &Document<'_>, proposal: &Proposal<'_>) -> Option<bool> {
        let id = self.places.get(&proposal.record.id)?;
        let other = self.stored.discarded.get(id).cloned();
        let other = other.or_else(|| self.stored.texts.get(*id, &proposal.record.key))?;
        let one_site = document.site == proposal.record.site;
        Some(compare_pages(self.own?, &other, one_site).same())
    }
}

fn newest_rows(rows: &Rows) -> Result<HashMap<String, u64>> {
    let mut newest = HashMap::new();
    for row in rows.all() {
        let entry = rows.entry(row)?;
        newest.insert(entry.key.unwrap_or(entry.url), row.id);
    }
    Ok(newest)
}
