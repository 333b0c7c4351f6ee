//! Evidence from duplicates and kept pages: which parts of a site's URLs matter.

use std::collections::{BTreeMap, HashMap};

use hapax_page::HASH;
use serde::{Deserialize, Serialize};
use url::Url;

use super::parts::{Address, Part};
use crate::patterns::FIRST_SAMPLE;

/// Required number of duplicates that differ from the kept page in this part only.
const ALONE: u32 = 8;
/// The same for segments and folders, which identify the page on most sites.
const ALONE_IN_PATH: u32 = 16;
/// Required number of duplicates that differ in this part and others, if no evidence is against the part.
const WITH_OTHERS: u32 = 16;
/// Duplicates of fewer kept pages than this may all be one error page: then [`OF_FEW`] duplicates are required.
const KEPT_PAGES: usize = 3;
const OF_FEW: u32 = 16;
/// Required number of different values of a host, folder or segment. A trap has a new value in each URL; a print
/// version or a mirror has one.
const VALUES: usize = 8;
/// Required number of duplicates for each kept page that differs from another one in this part only.
const FOR_EACH_OTHER: u32 = 100;
/// Maximum number of kept pages of a site in memory. A new rule makes them the ones that are requested.
const MAX_PAGES: usize = 1_000;
const MAX_QUERIES: usize = 4;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Evidence {
    /// Duplicates that differ from the kept page in this part only.
    pub(crate) alone: u32,
    /// Duplicates that also differ in other parts.
    pub(crate) together: u32,
    /// Kept pages that differ from another kept page in this part only.
    pub(crate) others: u32,
    /// Kept pages that differ from another kept page in this part and in others.
    pub(crate) unclear: u32,
    /// Kept pages of the duplicates, at most [`KEPT_PAGES`].
    #[serde(skip)]
    kept: Vec<u64>,
    /// Values of the part in the duplicates, at most [`VALUES`].
    #[serde(skip)]
    values: Vec<u64>,
}

impl Evidence {
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
        by_itself || all >= needed(WITH_OTHERS) && self.others + self.unclear == 0 && !in_path
    }
}

#[derive(Debug, Default)]
pub(super) struct Learning {
    evidence: HashMap<Part, Evidence>,
    /// The value of a part, by the hash of the rest of the URL.
    values: HashMap<u64, u64>,
    /// Kept pages by the hash of host and path.
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
    pub(super) fn size(&self) -> usize {
        self.evidence.len()
            + self.values.len()
            + self.queries.len() * MAX_QUERIES
            + self.pages.len()
    }

    pub(super) fn pages(&self) -> &[Url] {
        &self.pages
    }

    /// Adds a duplicate. `parts`: where its URL differs from the kept page's, without parts that have a rule. Returns
    /// the parts with sufficient evidence.
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

    /// Adds a kept page. `stripped` is its address without the parameters that have a rule.
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

    /// Counts evidence against a part if another kept page has the same rest of the URL and another value.
    fn other(&mut self, key: u64, value: &str, part: Part) {
        let value = hash(&[value]);
        if *self.values.entry(key).or_insert(value) != value {
            let evidence = self.evidence.entry(part).or_default();
            evidence.others = evidence.others.saturating_add(1);
        }
    }

    /// Resets the evidence of a part after its rule was contradicted.
    pub(super) fn contradicted(&mut self, part: &Part) {
        let evidence = self.evidence.entry(part.clone()).or_default();
        *evidence = Evidence { others: evidence.others + 1, ..Evidence::default() };
    }
}

/// A rule: this part of the site's URLs does not change the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rule {
    pub(crate) evidence: Evidence,
    /// Number of excluded URLs, samples included.
    left_out: u64,
    /// Value of `left_out` at which the next sample is due.
    due: u64,
}

impl Rule {
    pub(super) const fn new(evidence: Evidence) -> Self {
        Self { evidence, left_out: 0, due: FIRST_SAMPLE }
    }

    /// Counts an excluded URL. Returns whether a sample is due.
    pub(super) const fn leave_out(&mut self) -> bool {
        self.left_out += 1;
        self.left_out >= self.due
    }

    /// Records a sample: the next one is due at twice the number of excluded URLs. A sample of several rules counts
    /// for those that are at least halfway to the next one.
    pub(super) fn sampled(&mut self) {
        if 2 * self.left_out >= self.due {
            self.due = 2 * self.left_out.max(FIRST_SAMPLE);
        }
    }
}

pub(super) type SiteRules = BTreeMap<Part, Rule>;
