//! Filters of a list that links combine without end: `/list?colour=2&size=1&brand=3`. The pages differ, but show nothing
//! that other pages of the site lack.

use std::collections::{HashMap, HashSet};

use super::parts::{Address, Part, name_of, place_of};

/// Required number of pages with combined filters.
const PAGES: u32 = 24;
/// Required number of different sets of filters. Other pages with several parameters have the same names each time.
const SETS: usize = 12;
/// Required number of such pages for each page with unique text.
const FOR_EACH_OWN: u32 = 10;
/// Maximum number of paths of a site. Beyond it all are forgotten.
const MAX_PATHS: usize = 1_000;

#[derive(Debug, Default)]
struct Seen {
    /// Hashes of sets of names, at most [`SETS`].
    sets: HashSet<u64>,
    /// Pages that show nothing new: duplicates, and those that combine lines of other pages.
    combined: u32,
    /// Pages with unique text.
    own: u32,
}

/// Pages with at least two parameters, by host and path.
#[derive(Debug, Default)]
pub(super) struct Facets(HashMap<String, Seen>);

impl Facets {
    pub(super) fn len(&self) -> usize {
        self.0.len() * (1 + SETS)
    }

    /// Adds a page. Returns the part and the number of its pages if they are enough.
    pub(super) fn add(
        &mut self,
        address: &Address,
        is_new: bool,
        hash: impl Fn(&[&str]) -> u64,
    ) -> Option<(Part, u32)> {
        let part = address.facets()?;
        let path = place_of(address);
        if self.0.len() >= MAX_PATHS && !self.0.contains_key(&path) {
            self.0.clear();
        }
        let seen = self.0.entry(path).or_default();
        if is_new {
            seen.own = seen.own.saturating_add(1);
            return None;
        }
        seen.combined = seen.combined.saturating_add(1);
        if seen.sets.len() < SETS {
            let mut names: Vec<&str> = address.pairs.iter().map(|pair| name_of(pair)).collect();
            names.sort_unstable();
            seen.sets.insert(hash(&names));
        }
        let suffices = seen.combined >= PAGES
            && seen.sets.len() >= SETS
            && seen.combined >= seen.own.saturating_mul(FOR_EACH_OWN);
        suffices.then_some((part, seen.combined))
    }

    /// Begins again after a rule was contradicted.
    pub(super) fn contradicted(&mut self, path: &str) {
        let own = self.0.get(path).map_or(0, |seen| seen.own).saturating_add(1);
        self.0.insert(path.to_owned(), Seen { own, ..Seen::default() });
    }
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;

    /// Adds pages; `is_new` returns whether a page has unique text. Returns the number of pages before there was a rule.
    fn learnt(url: impl Fn(u32) -> String, is_new: impl Fn(u32) -> bool) -> Option<u32> {
        let mut facets = Facets::default();
        (0..200).find(|number| {
            let address = Address::of(&Url::parse(&url(*number)).unwrap()).unwrap();
            let hash = |names: &[&str]| hapax_page::HASH.hash(names.join(" ").as_bytes());
            facets.add(&address, is_new(*number), hash).is_some()
        })
    }

    #[test]
    fn combined_filters_are_learnt_and_other_parameters_are_not() {
        let filters =
            |n: u32| format!("http://a.example/list?f{}={}&g{}={}", n % 5, n % 3, n % 7, n % 4);
        assert_eq!(learnt(filters, |_| false), Some(23));
        assert_eq!(learnt(filters, |n| n % 5 == 0), None, "one of five has unique text");
        assert_eq!(learnt(filters, |n| n == 3), Some(24));
        let same = |n: u32| format!("http://a.example/list?item={n}&view={}", n % 4);
        assert_eq!(learnt(same, |_| false), None, "always the same names");
        let one = |n: u32| format!("http://a.example/list?f{n}=1");
        assert_eq!(learnt(one, |_| false), None, "one filter alone leads to the pages");
        let places = |n: u32| format!("http://a.example/p{n}?f{}=1&g{}=1", n % 5, n % 7);
        assert_eq!(learnt(places, |_| false), None);
    }

    #[test]
    fn paths_are_bounded_and_a_contradiction_counts_as_unique_text() {
        let mut facets = Facets::default();
        for number in 0..3_000 {
            let url = Url::parse(&format!("http://a.example/p{number}?a=1&b=1")).unwrap();
            facets.add(&Address::of(&url).unwrap(), false, |_| 1);
        }
        assert!(facets.len() <= MAX_PATHS * (1 + SETS));
        facets.contradicted("a.example/list");
        facets.contradicted("a.example/list");
        assert_eq!(facets.0["a.example/list"].own, 2);
    }
}
