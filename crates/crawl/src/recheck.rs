//! Rechecks stored decisions under another policy: finds changes, and applies them.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use hapax_data::{
    Answer, DecidedBy, Request, Rows, TextStore, Texts, is_reference_key, matches_of_record,
    stored_page,
};
use hapax_dedup::{Confirm, Document, Level, Neighbour, Options, Policy, Proposal, Record, Store};
use hapax_page::comparison::{Compared, PageText, compare_pages};
use hapax_url::AddressRank;
use url::Url;

use crate::amend::Amend;
use crate::error::Result;
use crate::representative::MIN_SIMILARITY;

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
            rows,
            newest: &newest,
            discarded: HashMap::new(),
        };
        let mut changes = replay(self, policy, stored)?;
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
/// ones.
fn replay(amend: &Amend, policy: Policy, mut stored: StoredTexts<'_>) -> Result<Vec<Rechecked>> {
    let tables = Store::in_memory(options(amend, policy))?;
    // Maps document numbers of the tables to those of the store.
    let mut places: HashMap<u64, u64> = HashMap::new();
    let mut changes: Vec<Rechecked> = Vec::new();
    let snapshot = amend.store().snapshot();
    let decisions = amend.decisions();
    // Only a person may change this.
    let is_settled = |key: &[u8]| {
        let url = String::from_utf8_lossy(key);
        decisions.chosen(&url) || decisions.was_restored(&url)
    };
    for pass in 0..3 {
        let discarded = pass == 2;
        for record in snapshot.records() {
            let record = record?;
            let url = String::from_utf8_lossy(&record.key).into_owned();
            let turn = turn_of(&record, is_settled(&record.key));
            if turn != pass || record.tokens == 0 {
                continue;
            }
            if let Some(of) = record.of
                && amend.store().record(of)?.is_some_and(|of| is_reference_key(&of.key))
            {
                // A reference has it. References are not read here.
                continue;
            }
            let mut best = None;
            // A better page may have replaced the page that it duplicates.
            let now = record.of.map(|of| decisions.representative(of).map_or(of, |(id, _)| id));
            let mut stays = false;
            let own = stored.of(&record)?;
            let mut compare = Replayed { own: own.as_deref(), stored: &stored, places: &places };
            let confirm: &mut dyn Confirm = &mut compare;
            let matches = match pass {
                0 => Vec::new(),
                _ => matches_of_record(&tables, &record, Some(confirm))?,
            };
            for near in matches {
                let Some(id) = places.get(&near.id) else { continue };
                let Some(of) = amend.store().record(*id)? else { continue };
                if !decisions.distinct(&url, &String::from_utf8_lossy(&of.key)) {
                    stays |= now == Some(*id);
                    best = best.or(Some((of, near)));
                    if stays || !discarded {
                        break;
                    }
                }
            }
            if best.is_some() == discarded && (!discarded || stays) {
                if !discarded {
                    places.insert(tables.insert_record(&record, None)?, record.id);
                }
                continue;
            }
            if pass == 1
                && let Some((of, near)) = &best
                && replaces(&record, of, near)
                && !is_settled(&of.key)
            {
                // As in a crawl: the better address of a site is kept, whichever came first.
                tables.delete(near.id)?;
                places.remove(&near.id);
                places.insert(tables.insert_record(&record, None)?, record.id);
                keep_instead(&mut changes, record, of.clone(), *near);
                continue;
            }
            if best.is_none() {
                places.insert(tables.insert_record(&record, None)?, record.id);
                stored.discarded.extend(own.map(|own| (record.id, own)));
            }
            changes.push(Rechecked { record, of: best, row: None });
        }
    }
    Ok(changes)
}

fn options(amend: &Amend, policy: Policy) -> Options {
    let recipe = amend.recipe().name().to_owned();
    Options { policy, recipe, strong_digests: true, ..Options::default() }
}

/// Makes a kept page a duplicate of another one, which its duplicates then name.
fn keep_instead(changes: &mut Vec<Rechecked>, kept: Record, former: Record, near: Neighbour) {
    for (of, _) in changes.iter_mut().filter_map(|change| change.of.as_mut()) {
        if of.id == former.id {
            *of = kept.clone();
        }
    }
    changes.push(Rechecked { record: former, of: Some((kept, near)), row: None });
}

/// Returns the pass in which a record is decided about: chosen by a person, kept, or discarded.
const fn turn_of(record: &Record, settled: bool) -> u32 {
    match record.of {
        Some(_) => 2,
        None if settled => 0,
        None => 1,
    }
}

/// Returns whether a page has a better address than the page of its site that it duplicates.
fn replaces(page: &Record, of: &Record, near: &Neighbour) -> bool {
    let similar = near.similarity.is_some_and(|similarity| similarity >= MIN_SIMILARITY);
    let rank = |record: &Record| AddressRank::of(&String::from_utf8_lossy(&record.key));
    page.site == of.site && (near.level == Level::Text || similar) && rank(page) > rank(of)
}

/// The texts to compare, from where they are stored.
struct StoredTexts<'r> {
    texts: TextStore,
    pages: PathBuf,
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
            let text = Some(PageText::of(&document, &comparison_text))
                .filter(|page| !page.text.trim().is_empty());
            Some(Arc::new(Compared::new(text?)))
        };
        let same = || self.texts.get(entry.of.id?, entry.of.url.as_bytes());
        let equal = entry.level.as_deref() == Some("text");
        Ok(archived().or_else(|| if equal { same() } else { None }))
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
