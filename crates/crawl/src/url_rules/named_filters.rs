//! Filters of a list that are parameters: `/list?colour=2&size=1`. Names that come with unique text, such as `page`, are
//! no filters, nor are those that all pages have, such as `id`.

use std::collections::{BTreeSet, HashMap, HashSet};

/// Maximum number of different filters of a list. A longer list has parameters with free values.
pub(super) const MAX_NAMED: usize = 200;
/// Required number of names.
const NAMES: usize = 3;
/// Required number of pages with a name and nothing new, and of pages without the name.
const PAGES: u32 = 3;
/// Required number of pages with a name and nothing new for each one with unique text.
const FOR_EACH_OWN: u32 = 10;

#[derive(Debug, Default)]
struct Name {
    /// Pages with one filter or more.
    pages: u32,
    /// Pages with several filters and nothing new, and with unique text.
    combined: u32,
    own: u32,
    /// Hashes of name and value.
    filters: HashSet<u64>,
}

/// The filters of one list, by hashes of their names.
#[derive(Debug, Default)]
pub(super) struct NamedFilters {
    pages: u32,
    names: HashMap<u64, Name>,
    filters: usize,
}

impl NamedFilters {
    pub(super) fn len(&self) -> usize {
        self.names.len() + self.filters
    }

    /// Adds a page with these hashes of names and filters. `is_new`: whether it has unique text.
    pub(super) fn add(&mut self, filters: &[(u64, u64)], is_new: bool) {
        if self.filters > MAX_NAMED {
            return;
        }
        self.pages = self.pages.saturating_add(1);
        for (at, (name, filter)) in filters.iter().enumerate() {
            let is_first = filters.iter().take(at).all(|(other, _)| other != name);
            let found = self.names.entry(*name).or_default();
            if is_first {
                let combined = u32::from(filters.len() > 1);
                found.pages = found.pages.saturating_add(1);
                let count = if is_new { &mut found.own } else { &mut found.combined };
                *count = count.saturating_add(combined);
            }
            if self.filters <= MAX_NAMED && found.filters.insert(*filter) {
                self.filters += 1;
            }
        }
    }

    /// Returns the hashes of filters that need not be combined; none if there is not enough evidence.
    pub(super) fn combined(&self) -> BTreeSet<u64> {
        let is_filter = |name: &&Name| {
            name.combined >= PAGES
                && name.combined >= name.own.saturating_mul(FOR_EACH_OWN)
                && self.pages - name.pages >= PAGES
        };
        let found: Vec<&Name> = self.names.values().filter(is_filter).collect();
        if self.filters > MAX_NAMED || found.len() < NAMES {
            return BTreeSet::new();
        }
        found.into_iter().flat_map(|name| name.filters.iter().copied()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn filter(name: u64, value: u64) -> (u64, u64) {
        (name, name * 1_000 + value)
    }

    /// Each of three lists with one filter, and lists that combine the first with the others.
    fn list() -> NamedFilters {
        let mut named = NamedFilters::default();
        for name in 0..3 {
            (0..4).for_each(|value| named.add(&[filter(name, value)], true));
        }
        for (name, value) in [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2)] {
            named.add(&[filter(0, 0), filter(name, value)], false);
        }
        named
    }

    #[test]
    fn names_without_unique_text_that_not_all_pages_have_are_filters() {
        let mut named = list();
        assert_eq!(named.combined().len(), 12);
        assert_eq!(named.len(), 3 + 12);
        // Pages of the list have unique text.
        (0..3).for_each(|page| named.add(&[filter(0, 1), filter(9, page)], page == 0));
        assert!(!named.combined().contains(&filter(9, 0).1));
        // Now a filter has too.
        (0..2).for_each(|value| named.add(&[filter(1, 0), filter(2, value)], true));
        assert!(named.combined().is_empty(), "one name is left");
    }

    #[test]
    fn names_that_all_pages_have_are_no_filters() {
        let mut named = NamedFilters::default();
        for number in 0..60 {
            named.add(&[filter(0, number), filter(1, number % 3), filter(2, number % 4)], false);
        }
        assert!(named.combined().is_empty());
        // One page without these names is not enough.
        named.add(&[filter(3, 0)], false);
        assert!(named.combined().is_empty());
    }

    #[test]
    fn free_values_are_no_filters_and_their_number_is_bounded() {
        let mut named = list();
        for number in 0..1_000 {
            named.add(&[filter(0, 0), filter(5, number)], false);
        }
        assert!(named.combined().is_empty());
        assert_eq!(named.len(), 4 + MAX_NAMED + 1);
    }
}
