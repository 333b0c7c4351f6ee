//! The causes of a directory's duplicates: how many, where, of how many pages, and whether the cause ever made a page
//! that is not a duplicate.
//!
//! The log and the tables are read once, and the tables again for each [`MAX_HASHES`] parameters of kept pages. The
//! memory is bounded: [`MAX_CAUSES`], [`MAX_PLACES`], [`MAX_HASHES`].

mod count;
mod pattern;
mod place;
mod variants;

use std::collections::HashMap;
use std::path::Path;

use hapax_dedup::Store;
use hapax_url::{Cause, address_causes};
use serde::Serialize;
use url::Url;

pub use self::count::{CauseCount, CauseExample, CausePattern, CausePlace, DroppedUrls};

use self::count::MAX_EXAMPLE;
use self::pattern::Patterns;
use self::place::{Counts, Places, place_of};
use crate::committed::skipped_lines;
use crate::error::Result;
use crate::lines::Skipped;
use crate::reason::SkipReason;
use crate::rows::{Row, Rows};
use crate::tables::url_of_key;

/// Maximum number of causes: the parameters of further names are counted as `parameter:*`.
const MAX_CAUSES: usize = 2_000;
/// Maximum number of places of all causes. Further ones are counted for the cause only.
const MAX_PLACES: usize = 50_000;
/// Maximum number of parameters of kept pages that are compared in one pass over the tables, of 12 bytes each.
const MAX_HASHES: usize = 2_000_000;
/// Maximum number of rules and parameters that the crawl excluded by itself.
const MAX_RULES: usize = 1_000;
/// Pairs of addresses of each cause.
const EXAMPLES: usize = 3;
/// Places of each cause, those with the most duplicates.
const SHOWN_PLACES: usize = 10;
/// Name of the parameters beyond [`MAX_CAUSES`].
const OTHERS: &str = "*";
/// Marks the hash of a whole address.
const WHOLE: u32 = u32::MAX;

/// The causes of a directory's duplicates.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CauseReport {
    /// Pages that are discarded now.
    pub duplicates: u64,
    /// Addresses that redirect to another page.
    pub redirects: u64,
    /// Bytes of the bodies of these pages.
    pub bytes: u64,
    /// The causes, those with the most duplicates first.
    pub causes: Vec<CauseCount>,
    /// Addresses that the crawl did not request, by the rule that it has learnt, was given, or always applies.
    pub dropped: Vec<DroppedUrls>,
}

#[derive(Debug, Default)]
struct Group {
    counts: Counts,
    redirects: u64,
    bytes: u64,
    examples: Vec<CauseExample>,
    places: Places,
    patterns: Patterns,
}

#[derive(Debug, Default)]
struct Builder {
    groups: HashMap<Cause, Group>,
    /// Pages of each place, whatever the cause.
    pages: Places,
    /// Number of places of all groups.
    places: usize,
}

impl CauseReport {
    /// Reads the log and the tables of a data directory. Without tables kept pages are not counted.
    ///
    /// # Errors
    /// If the log or the tables cannot be read.
    ///
    /// # Complexity
    /// Linear in the lines of the log and the documents of the store.
    pub fn of(data: &Path, rows: &Rows, store: Option<&Store>) -> Result<Self> {
        let mut builder = Builder::default();
        let mut report = Self::default();
        // A part is another page, not a second address of one.
        for row in rows.discarded().filter(|row| !row.is_part()) {
            builder.row(rows, row, &mut report)?;
        }
        let mut parameters = 0;
        kept_urls(store, |url| parameters += 1 + builder.kept(url))?;
        let new = builder.new_pages(store, parameters)?;
        report.causes = builder.finish(&new);
        report.dropped = dropped(data);
        Ok(report)
    }
}

/// Calls `visit` with the address of each kept page.
fn kept_urls(store: Option<&Store>, mut visit: impl FnMut(&Url)) -> Result<()> {
    let Some(store) = store else { return Ok(()) };
    for record in store.snapshot().records() {
        let record = record?;
        // Records of redirects have no tokens.
        if record.of.is_none()
            && record.tokens > 0
            && let Ok(key) = std::str::from_utf8(&record.key)
            && url_of_key(key) == key
            && let Ok(url) = Url::parse(key)
            && url.has_host()
        {
            visit(&url);
        }
    }
    Ok(())
}

impl Builder {
    fn group(&mut self, cause: Cause) -> &mut Group {
        let is_known = self.groups.contains_key(&cause);
        let cause = match self.groups.len() >= MAX_CAUSES && !is_known {
            true => Cause::parameter(OTHERS),
            false => cause,
        };
        self.groups.entry(cause).or_default()
    }

    fn row(&mut self, rows: &Rows, row: &Row, report: &mut CauseReport) -> Result<()> {
        let entry = rows.entry(row)?;
        let Ok(url) = Url::parse(&entry.url) else { return Ok(()) };
        let place = place_of(&url);
        let is_alias = row.is_alias();
        *(if is_alias { &mut report.redirects } else { &mut report.duplicates }) += 1;
        report.bytes += entry.bytes;
        let causes: Vec<Cause> = entry.cause.iter().filter_map(|name| Cause::parse(name)).collect();
        for cause in &causes {
            let may_grow = self.places < MAX_PLACES;
            let group = self.group(cause.clone());
            group.bytes += entry.bytes;
            let is_short = entry.url.len().max(entry.of.url.len()) <= MAX_EXAMPLE;
            if group.examples.len() < EXAMPLES && is_short {
                let (url, of) = (entry.url.clone(), entry.of.url.clone());
                group.examples.push(CauseExample { url, of });
            }
            if is_alias {
                group.redirects += 1;
                continue;
            }
            group.counts.duplicates += 1;
            if *cause == Cause::Other {
                group.patterns.add(&entry.url, &entry.of.url);
            }
            let (at, is_new) = group.places.at(&place, may_grow);
            at.duplicates += 1;
            self.places += usize::from(is_new);
        }
        if !is_alias {
            self.page(&url, &place, false);
        }
        Ok(())
    }

    /// Counts a page for each cause that its address states.
    fn page(&mut self, url: &Url, place: &str, is_kept: bool) -> usize {
        let causes = address_causes(url);
        for cause in &causes {
            let may_grow = self.places < MAX_PLACES;
            let group = self.group(cause.clone());
            group.counts.page(is_kept);
            let (at, is_new) = group.places.at(place, may_grow);
            at.page(is_kept);
            self.places += usize::from(is_new);
        }
        let may_grow = self.places < MAX_PLACES;
        let (at, is_new) = self.pages.at(place, may_grow);
        at.page(is_kept);
        self.places += usize::from(is_new);
        causes.iter().filter(|cause| matches!(cause, Cause::Parameter(_))).count()
    }

    /// Counts a kept page. Returns the number of its parameters.
    fn kept(&mut self, url: &Url) -> usize {
        let place = place_of(url);
        self.page(url, &place, true)
    }

    /// Returns for each parameter the number of kept pages that differ from another one in it alone.
    fn new_pages(&self, store: Option<&Store>, parameters: usize) -> Result<HashMap<Cause, u64>> {
        let names: HashMap<&Cause, u32> = (0..)
            .zip(self.groups.iter().filter(|(_, group)| group.counts.duplicates > 0))
            .map(|(number, (cause, _))| (cause, number))
            .collect();
        let mut new: HashMap<u32, u64> = HashMap::new();
        let passes = parameters.div_ceil(MAX_HASHES).max(1) as u64;
        for pass in 0..passes {
            let mut hashes: Vec<(u64, u32)> = Vec::new();
            kept_urls(store, |url| {
                variants::each(url, |parameter, hash| {
                    let number = parameter.map_or(Some(WHOLE), |name| names.get(&name).copied());
                    hashes.extend(number.filter(|_| hash % passes == pass).map(|n| (hash, n)));
                });
            })?;
            hashes.sort_unstable();
            for pages in hashes.chunk_by(|a, b| a.0 == b.0) {
                let whole = pages.iter().filter(|(_, number)| *number == WHOLE).count();
                let with = pages.len() - whole;
                for same in pages.get(..with).unwrap_or_default().chunk_by(|a, b| a == b) {
                    if let [(_, number), ..] = same
                        && same.len() + whole > 1
                    {
                        *new.entry(*number).or_default() += same.len() as u64;
                    }
                }
            }
        }
        let count = |number: &u32| new.get(number).copied().unwrap_or(0);
        Ok(names.iter().map(|(&cause, number)| (cause.clone(), count(number))).collect())
    }

    fn finish(self, new: &HashMap<Cause, u64>) -> Vec<CauseCount> {
        let Self { groups, pages, .. } = self;
        let mut all: Vec<CauseCount> = groups
            .into_iter()
            .filter(|(_, group)| group.counts.duplicates + group.redirects > 0)
            .map(|(cause, mut group)| {
                if matches!(cause, Cause::Mirror | Cause::Syndication | Cause::Other) {
                    group.counts.pages_of(&mut group.places, &pages);
                }
                let is_parameter = matches!(&cause, Cause::Parameter(name) if name != OTHERS);
                CauseCount {
                    cause: cause.to_string(),
                    duplicates: group.counts.duplicates,
                    redirects: group.redirects,
                    pages: group.counts.pages.max(group.counts.duplicates),
                    kept: group.counts.kept,
                    new_pages: new.get(&cause).copied().filter(|_| is_parameter),
                    bytes: group.bytes,
                    requests: group.counts.duplicates + group.redirects,
                    places: group.places.shown(SHOWN_PLACES),
                    examples: group.examples,
                    patterns: group.patterns.shown(),
                }
            })
            .collect();
        let order = |cause: &CauseCount| std::cmp::Reverse(cause.requests);
        all.sort_by(|a, b| order(a).cmp(&order(b)).then_with(|| a.cause.cmp(&b.cause)));
        all
    }
}

/// Returns the rules by which the crawl did not request addresses, those with the most addresses first.
fn dropped(data: &Path) -> Vec<DroppedUrls> {
    let mut found: HashMap<(SkipReason, String), (u64, String, String)> = HashMap::new();
    skipped_lines(data, None, |line| {
        // Most lines have another reason.
        if !line.contains("\"rule\"")
            && !line.contains("dust-rule")
            && !line.contains("clean-param")
        {
            return;
        }
        let Ok(line) = Skipped::parse(line) else { return };
        let rule = match (line.rule, line.reason) {
            (Some(rule), _) => rule,
            (None, SkipReason::DustRule) => line.detail.clone(),
            (None, SkipReason::CleanParam) => "Clean-param of robots.txt".to_owned(),
            _ => return,
        };
        let key = (line.reason, rule);
        if found.len() < MAX_RULES || found.contains_key(&key) {
            let entry = found.entry(key).or_insert((0, line.url, String::new()));
            entry.0 += line.count.unwrap_or(1);
            // Only a line of many addresses describes its rule.
            entry.2 = if line.count.is_some() { line.detail } else { String::new() };
        }
    });
    let mut all: Vec<DroppedUrls> = found
        .into_iter()
        .map(|((reason, rule), (urls, example, detail))| DroppedUrls {
            reason,
            rule,
            urls,
            example,
            detail,
        })
        .collect();
    all.sort_by(|a, b| b.urls.cmp(&a.urls).then_with(|| a.rule.cmp(&b.rule)));
    all
}

#[cfg(test)]
mod tests;
