//! The line tables of all sites, in bounded memory.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::table::LineTable;

/// Maximum size of all tables together: 16 MiB. Beyond it, the sites without a kept page for longest are forgotten.
const MAX_SLOTS: usize = 2 << 20;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SiteCounts {
    sites: HashMap<u64, Site, FixedState>,
    slots: usize,
    clock: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Site {
    table: LineTable,
    /// The clock at its last page.
    last: u64,
}

impl SiteCounts {
    /// Counts a page of a site with these lines, each of which it has once.
    pub(crate) fn add(&mut self, site: u64, lines: impl Iterator<Item = u64>) {
        self.clock += 1;
        let own = self.sites.entry(site).or_default();
        own.last = self.clock;
        let before = own.table.size();
        lines.for_each(|line| own.table.add(line));
        self.slots += own.table.size() - before;
        self.forget_oldest();
    }

    /// Removes a page.
    pub(crate) fn remove(&mut self, site: u64, lines: impl Iterator<Item = u64>) {
        if let Some(own) = self.sites.get_mut(&site) {
            lines.for_each(|line| own.table.remove(line));
        }
    }

    /// Adds a site with its table, as the one with the latest page.
    pub(crate) fn put(&mut self, site: u64, table: LineTable) {
        self.clock += 1;
        self.slots += table.size();
        if let Some(before) = self.sites.insert(site, Site { table, last: self.clock }) {
            self.slots -= before.table.size();
        }
        self.forget_oldest();
    }

    /// Returns the number of counted pages of a site that contain a line.
    pub(crate) fn pages_with(&self, site: u64, line: u64) -> u64 {
        self.sites.get(&site).map_or(0, |own| own.table.count(line))
    }

    /// Returns the sites, that with the oldest last page first.
    pub(crate) fn sites(&self) -> impl Iterator<Item = (u64, &LineTable)> {
        let mut sites: Vec<(u64, u64, &LineTable)> =
            self.sites.iter().map(|(site, own)| (own.last, *site, &own.table)).collect();
        sites.sort_unstable_by_key(|(last, ..)| *last);
        sites.into_iter().map(|(_, site, table)| (site, table))
    }

    /// Forgets a quarter when the limit is exceeded, so that this is rare.
    fn forget_oldest(&mut self) {
        if self.slots <= MAX_SLOTS {
            return;
        }
        let oldest: Vec<(u64, usize)> =
            self.sites().map(|(site, table)| (site, table.size())).collect();
        for (site, size) in oldest {
            if self.slots <= MAX_SLOTS / 4 * 3 {
                break;
            }
            self.sites.remove(&site);
            self.slots -= size;
        }
    }
}

#[cfg(test)]
mod tests {
    use hapax_dedup::mix64;

    use super::*;

    #[test]
    fn memory_is_bounded_and_the_sites_of_longest_ago_are_forgotten() {
        let mut counts = SiteCounts::default();
        let lines = || (0..60u64).map(mix64);
        for site in 0..40_000 {
            counts.add(site, lines());
            // A site with pages all along.
            counts.add(u64::MAX, lines());
            assert!(counts.slots <= MAX_SLOTS);
        }
        let slots: usize = counts.sites().map(|(_, table)| table.size()).sum();
        assert_eq!(slots, counts.slots);
        assert_eq!(counts.pages_with(0, mix64(1)), 0);
        assert_eq!(counts.pages_with(39_999, mix64(1)), 1);
        assert_eq!(counts.pages_with(u64::MAX, mix64(1)), 40_000);
    }
}
