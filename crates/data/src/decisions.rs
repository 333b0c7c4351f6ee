//! decisions.jsonl: changes by people, or by the rule about kept pages, after a page was discarded.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use hapax_page::HASH;
use serde::{Deserialize, Serialize};

use crate::committed::Committed;
use crate::error::{Context, Error, Result};
use crate::kind::DecidedBy;

/// A decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// A discarded page is indexed; the two pages are distinct.
    Restore,
    /// A restoration is undone.
    Discard,
    /// A discarded page replaces the one that was kept.
    Keep,
    /// A page is removed and never fetched again.
    Forget,
    /// All pages of a host are removed, and never fetched again.
    ForgetHost,
    /// The page of a row was fetched again and has changed.
    Supersede,
    /// A page was removed because it, or its host (`of`), was forgotten. `time` is that of its fetch.
    Removed,
    /// A page or host is no longer forgotten.
    Unforget,
    /// The records of a forgotten page or host are overwritten in the archive.
    Purge,
}

/// One line of decisions.jsonl.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Decision {
    /// The time, in RFC 3339.
    pub time: String,
    /// The decision.
    pub action: Action,
    /// The row of discarded.jsonl, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// The page, or the host.
    pub url: String,
    /// The other page of the pair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// The new number of the page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_id: Option<u64>,
    /// The former number of the other page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_id: Option<u64>,
    /// Of a removed page: `FILE:OFFSET` of the record in the archive that has its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warc: Option<String>,
    /// Of a removed page: the size of its body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The person or rule that decided.
    pub by: DecidedBy,
}

impl Decision {
    /// A decision about a page or a host alone.
    pub fn new(time: String, action: Action, url: String, by: DecidedBy) -> Self {
        let (id, of, new_id, old_id, warc, bytes) = Default::default();
        Self { time, action, id, url, of, new_id, old_id, warc, bytes, by }
    }
}

/// Forgotten URLs and hosts, shared with the fetch tasks.
#[derive(Debug, Default)]
pub struct Forgotten(RwLock<HashSet<String>>);

impl Forgotten {
    fn add(&self, url_or_host: &str) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(url_or_host.to_owned());
    }

    fn remove(&self, url_or_host: &str) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(url_or_host);
    }

    /// Returns a set of one page or host.
    pub(crate) fn of(url_or_host: &str) -> Self {
        let set = Self::default();
        set.add(url_or_host);
        set
    }

    /// Returns whether a page, or its whole host, is forgotten.
    pub fn holds(&self, url: &str, host: &str) -> bool {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        // A host without a port applies to http and https.
        let plain = host.strip_suffix(":443").unwrap_or(host);
        !all.is_empty() && (all.contains(url) || all.contains(host) || all.contains(plain))
    }
}

/// All decisions, by their current effect.
#[derive(Debug, Default)]
pub struct Decisions {
    /// Restored rows, and the time.
    restored: HashMap<u64, String>,
    /// Rows whose page replaced the kept one.
    taken_over: HashSet<u64>,
    /// Rows whose page has changed, or that have a newer row.
    ended: HashSet<u64>,
    /// Of these, rows that have a newer row.
    renewed: HashSet<u64>,
    /// Rows with decisions by page, until they end.
    rows: HashMap<String, Vec<u64>>,
    restored_pages: HashSet<String>,
    /// The number of a replaced page, and the number and URL of the page that replaced it.
    replaced: HashMap<u64, (u64, String)>,
    /// Hashes of the URLs of pages that were kept until another page replaced them.
    replaced_urls: HashSet<u64>,
    /// Pages that a person declared distinct, in both directions.
    distinct: HashMap<String, HashSet<String>>,
    forgotten: Arc<Forgotten>,
    purged: Forgotten,
    /// Pages that were removed for a forgotten page or host.
    removed: HashMap<String, HashSet<u64>>,
    chosen: HashSet<String>,
    lines: u64,
    /// Bytes of the file that were read.
    pub bytes: u64,
}

impl Decisions {
    /// Reads the file in `data`. An incomplete last line is still being written, and ignored.
    pub fn read(data: &Path) -> Result<Self> {
        Self::read_to(data, u64::MAX)
    }

    /// Reads the committed part of the file.
    pub fn committed(data: &Path) -> Result<Self> {
        Self::read_to(data, Committed::of(data).decisions)
    }

    /// Reads the first `length` bytes of the file.
    pub fn read_to(data: &Path, length: u64) -> Result<Self> {
        let path = data.join("decisions.jsonl");
        let mut all = Self::default();
        let mut file = match File::open(&path) {
            Ok(file) => BufReader::new(file).take(length),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(all),
            Err(error) => return Err(error).with_context(|| path.display().to_string()),
        };
        let mut line = Vec::new();
        loop {
            line.clear();
            file.read_until(b'\n', &mut line).with_context(|| path.display().to_string())?;
            if !line.ends_with(b"\n") {
                return Ok(all);
            }
            let decision = serde_json::from_slice(&line).map_err(|error| {
                Error::Damaged(format!("{}, line {}: {error}", path.display(), all.lines + 1))
            })?;
            all.add(&decision);
            all.bytes += line.len() as u64;
        }
    }

    /// Applies another decision.
    pub fn add(&mut self, decision: &Decision) {
        self.lines += 1;
        let (url, of) = (&decision.url, decision.of.as_ref());
        match decision.action {
            Action::Restore => {
                if let Some(id) = decision.id {
                    self.restored.insert(id, decision.time.clone());
                    self.remember(url, id);
                }
                // A recheck that restores a page does not declare it distinct forever.
                if decision.by == DecidedBy::Person {
                    self.restored_pages.insert(url.clone());
                }
                if let Some(of) = of.filter(|_| decision.by == DecidedBy::Person) {
                    self.distinct.entry(url.clone()).or_default().insert(of.clone());
                    self.distinct.entry(of.clone()).or_default().insert(url.clone());
                }
            }
            Action::Discard => {
                if let Some(id) = decision.id {
                    self.restored.remove(&id);
                    self.remember(url, id);
                }
                self.restored_pages.remove(url);
                if let (Some(old), Some(new), Some(of)) = (decision.old_id, decision.new_id, of) {
                    self.replaced.insert(old, (new, of.clone()));
                }
                if let Some(of) = of {
                    self.distinct.get_mut(url).map(|set| set.remove(of));
                    self.distinct.get_mut(of).map(|set| set.remove(url));
                }
            }
            Action::Keep => {
                if let Some(of) = of {
                    self.replaced_urls.insert(HASH.hash(of.as_bytes()));
                    // That page is discarded now and has a new row: its older rows no longer apply.
                    for id in self.rows.remove(of).unwrap_or_default() {
                        self.end(id);
                        self.renewed.insert(id);
                    }
                    self.restored_pages.remove(of);
                }
                if let Some(id) = decision.id {
                    self.taken_over.insert(id);
                    self.remember(url, id);
                }
                if let (Some(old), Some(new)) = (decision.old_id, decision.new_id) {
                    self.replaced.insert(old, (new, url.clone()));
                }
                if decision.by == DecidedBy::Person {
                    self.chosen.insert(url.clone());
                    if let Some(of) = of {
                        self.chosen.remove(of);
                    }
                }
            }
            Action::Supersede => {
                // A restored page has another number than its row.
                let rows = self.rows.remove(url).unwrap_or_default();
                rows.into_iter().chain(decision.id).for_each(|id| self.end(id));
            }
            Action::Forget | Action::ForgetHost => self.forgotten.add(url),
            Action::Unforget => {
                self.forgotten.remove(url);
                self.purged.remove(url);
                self.removed.remove(url);
            }
            Action::Purge => self.purged.add(url),
            Action::Removed => {
                if let Some(of) = of {
                    let pages = self.removed.entry(of.clone()).or_default();
                    pages.insert(HASH.hash(url.as_bytes()));
                }
            }
        }
    }

    /// Returns when a row was restored.
    pub fn restored(&self, id: u64) -> Option<&str> {
        self.restored.get(&id).map(String::as_str)
    }

    /// Returns whether the row's page is kept now.
    pub fn took_over(&self, id: u64) -> bool {
        self.taken_over.contains(&id)
    }

    /// Returns whether the row's page has changed, or a newer row replaces it.
    pub fn ended(&self, id: u64) -> bool {
        self.ended.contains(&id)
    }

    /// Returns whether a newer row is about the row's page.
    pub fn renewed(&self, id: u64) -> bool {
        self.renewed.contains(&id)
    }

    /// Returns the newest row with a decision about a page, if it still applies.
    pub fn row_of(&self, url: &str) -> Option<u64> {
        self.rows.get(url)?.iter().max().copied()
    }

    fn remember(&mut self, url: &str, id: u64) {
        let rows = self.rows.entry(url.to_owned()).or_default();
        if !rows.contains(&id) {
            rows.push(id);
        }
    }

    fn end(&mut self, id: u64) {
        self.restored.remove(&id);
        self.taken_over.remove(&id);
        self.ended.insert(id);
    }

    /// Returns whether a person restored this page.
    pub fn was_restored(&self, url: &str) -> bool {
        self.restored_pages.contains(url)
    }

    /// Returns the current representative of `id`.
    pub fn representative(&self, id: u64) -> Option<(u64, &str)> {
        let mut now = self.replaced.get(&id)?;
        // A manually edited log may have a cycle.
        for _ in 0..self.replaced.len() {
            let Some(next) = self.replaced.get(&now.0) else { break };
            now = next;
        }
        Some((now.0, &now.1))
    }

    /// Returns whether the page with this hash of its URL was kept until another page replaced it.
    pub(crate) fn was_replaced(&self, url: u64) -> bool {
        self.replaced_urls.contains(&url)
    }

    /// Returns whether two pages were declared distinct.
    pub fn distinct(&self, url: &str, of: &str) -> bool {
        self.distinct.get(url).is_some_and(|set| set.contains(of))
    }

    /// Returns whether any page was declared distinct from this one.
    pub fn has_distinct(&self, url: &str) -> bool {
        self.distinct.get(url).is_some_and(|set| !set.is_empty())
    }

    /// Returns whether a page, or its whole host, is forgotten.
    pub fn forgotten(&self, url: &str, host: &str) -> bool {
        self.forgotten.holds(url, host)
    }

    /// Returns whether a page, or its whole host, is purged.
    pub fn purged(&self, url: &str, host: &str) -> bool {
        self.purged.holds(url, host)
    }

    /// Returns the number of pages that were removed because they, or their hosts, are forgotten.
    pub fn removed_pages(&self) -> u64 {
        self.removed.values().map(|pages| pages.len() as u64).sum()
    }

    /// Returns the forgotten pages and hosts, to be shared.
    pub fn all_forgotten(&self) -> Arc<Forgotten> {
        Arc::clone(&self.forgotten)
    }

    /// Returns whether a person chose to keep this page.
    pub fn chosen(&self, url: &str) -> bool {
        self.chosen.contains(url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decision(action: Action, id: u64, url: &str, of: &str) -> Decision {
        Decision {
            id: Some(id),
            of: Some(of.into()),
            ..Decision::new("2026-11-21T00:00:00Z".into(), action, url.into(), DecidedBy::Person)
        }
    }

    #[test]
    fn the_rows_of_a_page_end_whatever_number_it_has_by_now() {
        let mut all = Decisions::default();
        all.add(&decision(Action::Restore, 7, "a", "b"));
        // With new thresholds the page is discarded again, with a new row.
        let again = Decision { id: None, ..decision(Action::Keep, 0, "b", "a") };
        all.add(&again);
        assert!(all.restored(7).is_none() && all.renewed(7));
        all.add(&decision(Action::Restore, 8, "a", "b"));
        all.add(&decision(Action::Discard, 8, "a", "b"));
        assert_eq!(all.row_of("a"), Some(8));
        // It is superseded under its number in the store.
        all.add(&decision(Action::Supersede, 99, "a", ""));
        assert!(all.ended(8) && all.ended(99) && !all.renewed(8));
        assert_eq!(all.row_of("a"), None);
    }

    #[test]
    fn the_last_decision_about_a_page_wins() {
        let mut all = Decisions::default();
        all.add(&decision(Action::Restore, 7, "a", "b"));
        assert!(all.restored(7).is_some() && all.distinct("b", "a"));
        all.add(&decision(Action::Discard, 7, "a", "b"));
        assert!(all.restored(7).is_none() && !all.distinct("a", "b"));
        let keep = |id, url: &str, of: &str, old, new| Decision {
            old_id: Some(old),
            new_id: Some(new),
            ..decision(Action::Keep, id, url, of)
        };
        all.add(&keep(7, "a", "b", 1, 20));
        all.add(&keep(8, "c", "a", 20, 30));
        assert_eq!(all.representative(1), Some((30, "c")));
        assert!(!all.took_over(7) && all.took_over(8) && all.chosen("c") && !all.chosen("a"));
        // "a" has a new row, so its older one no longer applies.
        assert!(all.ended(7) && all.renewed(7) && !all.ended(8));
        all.add(&decision(Action::ForgetHost, 0, "h:80", ""));
        assert!(all.forgotten("http://h:80/x", "h:80") && !all.forgotten("x", "g"));
    }
}
