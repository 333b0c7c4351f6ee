//! Kept pages that given rules would discard.

use std::collections::HashMap;

use hapax_data::{Heads, Rows, Standing};
use hapax_dedup::{Record, Store};
use hapax_page::HASH;
use hapax_url::{Applied, GivenRules};
use url::Url;

use crate::error::Result;

/// Lost pages that are named.
const NAMED: usize = 20;

/// A unique page that rules would discard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostPage {
    /// Its URL.
    pub url: String,
    /// The rule.
    pub rule: String,
}

/// The unique pages that rules would discard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LostPages {
    /// Number of pages.
    pub count: u64,
    /// The first ones, at most 20.
    pub pages: Vec<LostPage>,
}

/// Whether an address that was never requested may replace a page's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Untried {
    /// Yes, unless it replaces the addresses of two pages.
    Allowed,
    /// No: only a request shows whether it has the text.
    Lost,
}

/// Returns the kept pages that a crawl by these rules would not have. A page is not lost if no rule changes its
/// address, or that of one of its duplicates. `is_seed` returns whether an address is requested whatever the rules.
///
/// # Errors
/// If the log or the store cannot be read.
///
/// # Complexity
/// Two passes over the store and one over the log; 24 bytes for each kept page that a rule is about.
pub fn lost_pages(
    rules: &GivenRules,
    rows: &Rows,
    store: &Store,
    untried: Untried,
    is_seed: impl Fn(&str) -> bool,
) -> Result<LostPages> {
    let changed = |url: &str| match Url::parse(url) {
        Ok(parsed) if !is_seed(url) => rules.apply(&parsed),
        _ => Applied::Unchanged,
    };
    // The hash of the address that is requested instead, if any.
    let mut affected: HashMap<u64, Option<u64>> = HashMap::new();
    for record in store.snapshot().records() {
        let record = record?;
        if is_kept(&record) {
            match changed(&String::from_utf8_lossy(&record.key)) {
                Applied::Unchanged => {}
                Applied::Rewritten { to, .. } => {
                    affected.insert(record.id, Some(HASH.hash(to.as_str().as_bytes())));
                }
                Applied::Skipped { .. } => {
                    affected.insert(record.id, None);
                }
            }
        }
    }
    let heads = Heads::new(rows, Some(store));
    for row in rows.discarded().filter(|row| !row.is_alias() && !row.is_part()) {
        if affected.is_empty() {
            break;
        }
        if let Standing::Page(id) = heads.of(row)?
            && affected.contains_key(&id)
            && changed(&rows.line(row)?.url) == Applied::Unchanged
        {
            affected.remove(&id);
        }
    }
    let mut claims: HashMap<u64, u32> = HashMap::new();
    for target in affected.values().flatten() {
        *claims.entry(*target).or_default() += 1;
    }
    let mut ids: Vec<u64> = affected.into_keys().collect();
    ids.sort_unstable();
    let mut lost = LostPages::default();
    for id in ids {
        let Some(record) = store.record(id)? else { continue };
        let url = String::from_utf8_lossy(&record.key).into_owned();
        let rule = match changed(&url) {
            Applied::Unchanged => continue,
            Applied::Skipped { rule } => rule,
            Applied::Rewritten { to, rule } => {
                let is_alone = claims.get(&HASH.hash(to.as_str().as_bytes())) == Some(&1);
                let is_known = store.id_of(to.as_str().as_bytes())?.is_some();
                if untried == Untried::Allowed && is_alone && !is_known {
                    continue;
                }
                rule
            }
        };
        lost.count += 1;
        if lost.pages.len() < NAMED {
            lost.pages.push(LostPage { url, rule });
        }
    }
    Ok(lost)
}

/// Returns whether a record is that of a kept page. Records of redirects have no tokens.
pub(crate) fn is_kept(record: &Record) -> bool {
    record.of.is_none() && record.tokens > 0
}

impl LostPages {
    /// Describes the pages for an error.
    pub(crate) fn describe(&self) -> String {
        let pages: Vec<String> =
            self.pages.iter().map(|page| format!("{} ({})", page.url, page.rule)).collect();
        let more = self.count.saturating_sub(pages.len() as u64);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        format!(
            "these rules would discard {} that this data directory keeps: {}{more}. Remove the rules, or make them narrower",
            if self.count == 1 {
                "a unique page".to_owned()
            } else {
                format!("{} unique pages", self.count)
            },
            pages.join(", ")
        )
    }
}
