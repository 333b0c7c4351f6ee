//! Stored decisions under another policy: what would change, and the change.

use std::collections::HashMap;

use hapax_data::{Answer, DecidedBy, Request, Rows, Texts, matches_of_record};
use hapax_dedup::{Neighbour, Options, Policy, Record, Store};

use crate::amend::Amend;
use crate::error::Result;

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
    /// The stores'.
    ///
    /// # Complexity
    /// Holds the tables of all documents in memory.
    pub fn recheck(&self, policy: Policy, rows: &Rows) -> Result<Vec<Rechecked>> {
        let mut changes = replay(self, policy)?;
        let newest = newest_rows(rows)?;
        for change in &mut changes {
            change.row = newest.get(&*String::from_utf8_lossy(&change.record.key)).copied();
        }
        Ok(changes)
    }

    /// Decides by this policy from now on, and changes these pages. The answer lists those that could not be
    /// changed.
    ///
    /// # Errors
    /// The stores'.
    pub fn apply_recheck(&mut self, policy: Policy, changes: &[Rechecked]) -> Result<Answer> {
        let returns =
            changes.iter().filter(|change| change.of.is_none() || change.is_for_another());
        let ids = returns.filter_map(|change| change.row).collect();
        self.decides_by(policy);
        // What takes the place of a duplicate comes first: another may be discarded for it.
        let answer = self.apply(&Request::Restore { ids }, DecidedBy::Recheck)?;
        // Opened after that commit: they are those of now.
        let texts = Texts::open(self.root())?;
        for change in changes {
            if let Some((of, near)) = &change.of {
                self.discard_kept(&texts, &change.record.key, &of.key, near)?;
            }
        }
        Ok(answer)
    }
}

/// Decides about every stored page anew: first what people chose, then what is kept, in order, then
/// what was discarded.
fn replay(amend: &Amend, policy: Policy) -> Result<Vec<Rechecked>> {
    let options = Options {
        policy,
        recipe: amend.recipe().name().to_owned(),
        strong_digests: true,
        ..Options::default()
    };
    let tables = Store::in_memory(options)?;
    // From numbers in the tables to the store's.
    let mut places: HashMap<u64, u64> = HashMap::new();
    let mut changes = Vec::new();
    let snapshot = amend.store().snapshot();
    let decisions = amend.decisions();
    for pass in 0..3 {
        let discarded = pass == 2;
        for record in snapshot.records() {
            let record = record?;
            let url = String::from_utf8_lossy(&record.key).into_owned();
            // Nobody but the person takes that back.
            let settled = decisions.chosen(&url) || decisions.was_restored(&url);
            let turn = match record.of {
                Some(_) => 2,
                None if settled => 0,
                None => 1,
            };
            if turn != pass || record.tokens == 0 {
                continue;
            }
            let mut best = None;
            // What it is discarded for may have lost its place to a better one.
            let now = record.of.map(|of| decisions.survivor(of).map_or(of, |(id, _)| id));
            let mut stays = false;
            let matches =
                if pass == 0 { Vec::new() } else { matches_of_record(&tables, &record, None)? };
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
            if best.is_none() {
                places.insert(tables.insert_record(&record, None)?, record.id);
            }
            changes.push(Rechecked { record, of: best, row: None });
        }
    }
    Ok(changes)
}

/// The newest row of each URL or key.
fn newest_rows(rows: &Rows) -> Result<HashMap<String, u64>> {
    let mut newest = HashMap::new();
    for row in rows.all() {
        let entry = rows.entry(row)?;
        newest.insert(entry.key.unwrap_or(entry.url), row.id);
    }
    Ok(newest)
}
