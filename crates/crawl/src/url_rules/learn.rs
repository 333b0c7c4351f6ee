//! Evidence about the parts of a site's URLs, from pages that were found to be duplicates and pages that were not.

use std::collections::{BTreeMap, HashMap};

use hapax_page::HASH;
use serde::{Deserialize, Serialize};
use url::Url;

use super::parts::{Address, Part};

/// Duplicates that differ from the kept page in this part alone: so many are needed.
const ALONE: u32 = 8;
/// The same of parts that are more often than not what pages are told apart by: segments and folders.
const ALONE_IN_PATH: u32 = 16;
/// Duplicates that differ in it, alone or with other parts, where nothing is known against it.
const TOGETHER: u32 = 16;
/// If all of them are duplicates of fewer kept pages than this, they may all say "not found": then so many are needed.
const KEPT_PAGES: usize = 3;
const OF_FEW: u32 = 24;
/// Different values of a host, folder or segment among the duplicates: what is endless has ever new ones, while a print
/// version or a mirror has one, and its pages are few.
const VALUES: usize = 8;
/// Duplicates for each page that differs in this part alone and is another page.
const FOR_EACH_OTHER: u32 = 100;
/// Kept pages that are remembered of a site: the one of each is requested, once a rule is learnt.
const MAX_PAGES: usize = 1_000;
/// Queries of kept pages that are remembered of a path.
const MAX_QUERIES: usize = 4;

/// What is known of one part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Evidence {
    /// Duplicates that differ from the kept page in this part alone.
    pub(crate) alone: u32,
    /// Duplicates that differ in other parts too.
    pub(crate) together: u32,
    /// Kept pages that differ from another kept page in this part alone.
    pub(crate) others: u32,
    /// Kept pages that differ from another kept page in this part and others.
    pub(crate) unclear: u32,
    /// Some of the kept pages of those duplicates.
    #[serde(skip)]
    kept: Vec<u64>,
    /// Some of the values that the part had in those duplicates.
    #[serde(skip)]
    values: Vec<u64>,
}

impl Evidence {
    /// Whether the part does not matter.
    fn suffices(&self, part: &Part) -> bool {
        let few = self.kept.len() < KEPT_PAGES;
        let in_path = matches!(part, Part::Folder | Part::Segment { .. });
        if (in_path || *part == Part::Host) && self.values.len() < VALUES {
            return false;
        }
        let needed = |least: u32| if few { least.max(OF_FEW) } else { least };
        let alone = if in_path { ALONE_IN_PATH } else { ALONE };
        let by_itself =
            self.alone >= needed(alone) && self.alone >= self.others.saturating_mul(FOR_EACH_OTHER);
        let all = self.alone + self.together;
        by_itself || all >= needed(TOGETHER) && self.others + self.unclear == 0 && !in_path
    }
}

/// What is learnt of one site.
#[derive(Debug, Default)]
pub(super) struct Learning {
    evidence: HashMap<Part, Evidence>,
    /// For each URL of a kept page without one part: the part's value.
    values: HashMap<u64, u64>,
    /// The queries of kept pages, by host and path.
    queries: HashMap<u64, Vec<Address>>,
    /// The first kept pages.
    pages: Vec<Url>,
}

fn hash(texts: &[&str]) -> u64 {
    let mut bytes = Vec::new();
    for text in texts {
        bytes.extend(text.as_bytes());
        bytes.push(b'\n');
    }
    HASH.hash(&bytes)
}

impl Learning {
    /// Entries held in memory.
    pub(super) fn size(&self) -> usize {
        self.evidence.len()
            + self.values.len()
            + self.queries.len() * MAX_QUERIES
            + self.pages.len()
    }

    /// The first kept pages, at most a thousand.
    pub(super) fn pages(&self) -> &[Url] {
        &self.pages
    }

    /// Takes in a duplicate. `parts` are those that its address and the kept page's differ in, without those that are known not to
    /// matter. Returns the parts that are known not to matter now.
    pub(super) fn duplicate(
        &mut self,
        address: &Address,
        parts: &[Part],
        kept: u64,
    ) -> Vec<(Part, Evidence)> {
        let mut learnt = Vec::new();
        for part in parts {
            let evidence = self.evidence.entry(part.clone()).or_default();
            if parts.len() == 1 {
                evidence.alone = evidence.alone.saturating_add(1);
            } else {
                evidence.together = evidence.together.saturating_add(1);
            }
            if evidence.kept.len() < KEPT_PAGES && !evidence.kept.contains(&kept) {
                evidence.kept.push(kept);
            }
            let value = hash(&[&address.value(part)]);
            if evidence.values.len() < VALUES && !evidence.values.contains(&value) {
                evidence.values.push(value);
            }
            if evidence.suffices(part) {
                learnt.push((part.clone(), evidence.clone()));
            }
        }
        learnt
    }

    /// Takes in a page that is no duplicate. `stripped` is its address without the parts that are known not to matter.
    pub(super) fn kept(&mut self, url: &Url, stripped: &Address) {
        if self.pages.len() < MAX_PAGES {
            self.pages.push(url.clone());
        }
        let path = stripped.path();
        let query = stripped.query();
        for index in 0..stripped.segments.len() {
            let mut rest = stripped.segments.clone();
            let value = std::mem::take(&mut rest[index]);
            let key =
                hash(&["segment", &index.to_string(), &stripped.host, &rest.join("/"), &query]);
            self.other(key, &value, stripped.segment(index));
        }
        let key = hash(&["folder", &stripped.host, stripped.last(), &query]);
        if !stripped.last().is_empty() {
            self.other(key, &stripped.folder(), Part::Folder);
        }
        self.other(hash(&["host", &path, &query]), &stripped.host, Part::Host);
        if stripped.pairs.is_empty() {
            return;
        }
        let known = self.queries.entry(hash(&[&stripped.host, &path])).or_default();
        for other in known.iter() {
            let names = stripped.differing_parameters(other);
            let alone = names.len() == 1;
            for name in names {
                let evidence = self.evidence.entry(Part::Parameter(name)).or_default();
                let count = if alone { &mut evidence.others } else { &mut evidence.unclear };
                *count = count.saturating_add(1);
            }
        }
        if known.len() < MAX_QUERIES {
            known.push(stripped.clone());
        }
    }

    /// Counts a page against a part, if another kept page differs from it in that part alone.
    fn other(&mut self, key: u64, value: &str, part: Part) {
        let value = hash(&[value]);
        if *self.values.entry(key).or_insert(value) != value {
            let evidence = self.evidence.entry(part).or_default();
            evidence.others = evidence.others.saturating_add(1);
        }
    }

    /// Takes in that a part was wrongly taken for one that does not matter.
    pub(super) fn contradicted(&mut self, part: &Part) {
        let evidence = self.evidence.entry(part.clone()).or_default();
        *evidence = Evidence { others: evidence.others + 1, ..Evidence::default() };
    }
}

/// A part of a site's URLs that does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rule {
    pub(crate) evidence: Evidence,
    /// URLs that were left out by it.
    pub(crate) left_out: u64,
}

/// The rules of a site.
pub(super) type SiteRules = BTreeMap<Part, Rule>;
