//! Evidence that a part of a site's URLs does not change the page.

use std::collections::BTreeSet;

use hapax_page::HASH;
use serde::{Deserialize, Serialize};

use super::parts::Part;

/// Required number of duplicates that differ from the kept page in this part only.
const ALONE: u32 = 8;
/// The same for segments and folders, which identify the page on most sites.
pub(super) const ALONE_IN_PATH: u32 = 16;
/// Required number of duplicates that differ in this part and others, if no evidence is against the part.
const WITH_OTHERS: u32 = 16;
/// Duplicates of fewer kept pages than this may all be one error page: then [`OF_FEW`] duplicates are required.
const KEPT_PAGES: usize = 3;
const OF_FEW: u32 = 16;
/// Required number of different values of a host, a part of the path, or parts that only differ together. A trap has
/// a new value in each URL; a print version or a mirror has one.
pub(super) const VALUES: usize = 8;
/// Required number of duplicates for each kept page that differs from another one in this part only.
const FOR_EACH_OTHER: u32 = 100;
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
    /// Kept pages of the name and most words of another kept page that differ from it in this part only.
    #[serde(default)]
    pub(crate) versions: u32,
    /// Hashes of the filters of a list, if they are not the names of parameters.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) filters: BTreeSet<u64>,
    /// Kept pages of the duplicates, at most [`KEPT_PAGES`].
    #[serde(skip)]
    pub(super) kept: Vec<u64>,
    /// Values of the part in the duplicates, at most [`VALUES`].
    #[serde(skip)]
    pub(super) values: Vec<u64>,
}

impl Evidence {
    pub(super) fn add(&mut self, kept: u64, value: u64) {
        if self.kept.len() < KEPT_PAGES && !self.kept.contains(&kept) {
            self.kept.push(kept);
        }
        if self.values.len() < VALUES && !self.values.contains(&value) {
            self.values.push(value);
        }
    }

    /// Returns whether parts that always differ together seem not to change the page. Each time that kept pages show the
    /// contrary, `others` grows, and twice as many duplicates are required for the next look.
    pub(super) fn suffices_together(&self, parts: &[Part]) -> bool {
        let in_path = parts.iter().any(Part::is_in_path);
        let few = self.kept.len() < KEPT_PAGES;
        let needed = if in_path || few { ALONE_IN_PATH.max(OF_FEW) } else { ALONE };
        let needed = needed.saturating_mul(1 << self.others.min(20));
        self.values.len() >= VALUES && self.alone >= needed
    }

    pub(super) fn suffices(&self, part: &Part, values: usize) -> bool {
        let few = self.kept.len() < KEPT_PAGES;
        let in_path = part.is_in_path();
        if (in_path || *part == Part::Host) && self.values.len() < values {
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

pub(super) fn hash(texts: &[&str]) -> u64 {
    let mut bytes = Vec::new();
    for text in texts {
        bytes.extend(text.as_bytes());
        bytes.push(b'\n');
    }
    HASH.hash(&bytes)
}
