//! Evidence from kept pages that are versions of another kept page: they have its name and most of its words, but a few
//! words differ at each request, such as the time or the number of a visitor. So they are no duplicates.
//!
//! This alone does not show that a part of the URL is random: the colours of a product are versions too. But pages with
//! a random part are never linked twice, no value belongs to two pages, and it happens to many pages of the site.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::differing::Differing;
use super::parts::{Address, Part, is_named};

/// Required number of versions that differ from the other page in these parts only.
const VERSIONS: u32 = 24;
/// The same for parts of the path.
const VERSIONS_IN_PATH: u32 = 48;
/// Required number of different URLs without these parts.
const RESTS: usize = 6;
/// Required number of different values for each four versions.
const VALUES_OF_FOUR: usize = 3;
/// Maximum number of further links to known URLs for each two versions.
const AGAIN_OF_TWO: u32 = 1;
/// Maximum number of sets of parts.
const MAX_SETS: usize = 32;
/// Versions after which the evidence of a set begins again.
const MAX_VERSIONS: u32 = 512;

#[derive(Debug, Default)]
struct Seen {
    versions: u32,
    /// Further links to known URLs with these parts.
    again: u32,
    rests: HashSet<u64>,
    values: HashSet<u64>,
}

impl Seen {
    fn suffices(&self, parts: &[Part]) -> bool {
        let in_path = parts.iter().any(Part::is_in_path);
        let needed = if in_path { VERSIONS_IN_PATH } else { VERSIONS };
        self.versions >= needed
            && self.rests.len() >= RESTS
            && self.values.len() * 4 >= self.versions as usize * VALUES_OF_FOUR
            && self.again.saturating_mul(2) <= self.versions.saturating_mul(AGAIN_OF_TWO)
    }
}

/// Versions by the parts in which their URLs differ.
#[derive(Debug, Default)]
pub(super) struct Versions {
    sets: BTreeMap<Vec<Part>, Seen>,
    /// Parts whose rule was contradicted.
    refuted: BTreeSet<Part>,
}

impl Versions {
    pub(super) fn len(&self) -> usize {
        let values = self.sets.values().map(|seen| 1 + seen.rests.len() + seen.values.len());
        values.sum::<usize>() + self.refuted.len()
    }

    /// Adds a version. Returns the sets of parts that seem to be random, with their numbers of versions.
    pub(super) fn add(
        &mut self,
        address: &Address,
        differing: &Differing,
        hash: impl Fn(&[&str]) -> u64,
    ) -> Vec<(Vec<Part>, u32)> {
        let sets = differing.each.iter().map(|part| vec![part.clone()]);
        let mut found = Vec::new();
        for set in std::iter::once(differing.parts.clone()).chain(sets) {
            let has_place = self.sets.len() < MAX_SETS || self.sets.contains_key(&set);
            if set.is_empty() || !has_place || set.iter().any(|part| self.refuted.contains(part)) {
                continue;
            }
            let rest = address.without(|part| set.contains(part)).0;
            let values: Vec<String> = set.iter().map(|part| address.value(part)).collect();
            let values = hash(&values.iter().map(String::as_str).collect::<Vec<_>>());
            let seen = self.sets.entry(set.clone()).or_default();
            if seen.versions >= MAX_VERSIONS {
                *seen = Seen::default();
            }
            seen.versions += 1;
            seen.rests.insert(hash(&[&rest]));
            seen.values.insert(values);
            if seen.suffices(&set) {
                found.push((set, seen.versions));
            }
        }
        found
    }

    /// Counts a further link to a known URL, or a version to which several pages link.
    pub(super) fn linked_again(&mut self, address: &Address) {
        for (set, seen) in &mut self.sets {
            // Links to other URLs are many; most differ in the names of parameters.
            let names = set.iter().filter_map(|part| match part {
                Part::Parameter(name) => Some(name),
                _ => None,
            });
            let has = |name: &String| address.pairs.iter().any(|pair| is_named(pair, name));
            if seen.again <= MAX_VERSIONS
                && names.clone().all(has)
                && address.without(|part| set.contains(part)).1.len() >= set.len()
            {
                seen.again = seen.again.saturating_add(1);
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// Begins again with parts that distinguish pages.
    pub(super) fn begin_again(&mut self, parts: &[Part]) {
        self.sets.remove(parts);
    }

    /// Forgets a part whose rule was contradicted, and never learns it again.
    pub(super) fn contradicted(&mut self, part: &Part) {
        self.sets.retain(|set, _| !set.contains(part));
        self.refuted.insert(part.clone());
    }
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::super::learn::Learning;
    use super::*;

    fn address(url: &str) -> Address {
        Address::of(&Url::parse(url).unwrap()).unwrap()
    }

    /// Adds pages that are versions of the page at `/p…`, and then finds the links. Returns what is learnt.
    fn learnt(url: impl Fn(u32) -> String, links: &[String], versions: u32) -> BTreeSet<String> {
        let (mut learning, mut found) = (Learning::default(), BTreeSet::new());
        for page in 0..30 {
            let url = url(page);
            learning.kept(&Url::parse(&url).unwrap(), &address(&url), false);
        }
        for version in 30..30 + versions {
            let (own, other) = (url(version), address(&url(version % 30)));
            let own_address = address(&own);
            learning.kept(&Url::parse(&own).unwrap(), &own_address, true);
            let differing = own_address.differing(&other).unwrap();
            let learnt = learning.version(&own_address, &differing);
            found.extend(learnt.into_iter().map(|(part, _)| part.to_string()));
            for link in links {
                learning.linked_again(&address(link));
            }
        }
        found
    }

    #[test]
    fn random_parts_of_noisy_pages_are_learnt() {
        let random = |number: u32| format!("{:08x}", number.wrapping_mul(0x9E37_79B9));
        let query = |n: u32| format!("http://a.example/p{}?visit={}", n % 30, random(n));
        assert!(learnt(query, &[], 23).is_empty());
        assert_eq!(learnt(query, &[], 24), ["the parameter visit".to_owned()].into());
        let two = |n: u32| format!("{}&s={}", query(n), random(n + 7));
        let both = ["the parameter s", "the parameter visit"].map(str::to_owned).into();
        assert_eq!(learnt(two, &[], 24), both);
        let path = |n: u32| format!("http://a.example/{}/p{}", random(n), n % 30);
        let first = ["segment 1 of the path, below /".to_owned()].into();
        assert_eq!(learnt(path, &[], 48), first);
        let host = |n: u32| format!("http://v{}.a.example/p{}", random(n), n % 30);
        assert_eq!(learnt(host, &[], 24), ["the host".to_owned()].into());
    }

    #[test]
    fn versions_that_are_pages_are_not_learnt() {
        // The colours of products: the same values at each.
        let colour = |n: u32| format!("http://a.example/p{}?colour={}", n % 30, n / 30);
        assert!(learnt(colour, &[], 200).is_empty());
        // Each variant has its own number, but all variants of a product link to each other.
        let variant = |n: u32| format!("http://a.example/p{}?sku={n}", n % 30);
        assert!(learnt(variant, &[variant(3)], 200).is_empty());
        // One page of the site has versions, such as a calendar.
        let day = |n: u32| format!("http://a.example/calendar?{}day={n}", "");
        assert!(learnt(day, &[], 200).is_empty());
    }

    #[test]
    fn evidence_is_bounded() {
        let mut versions = Versions::default();
        for number in 0..100_000_u32 {
            let url = format!("http://a.example/p{}?x{}=v{number}", number % 9_000, number % 50);
            let differing = Differing {
                parts: vec![Part::Parameter(format!("x{}", number % 50))],
                each: Vec::new(),
                grows: false,
            };
            versions.add(&address(&url), &differing, |texts| {
                texts.iter().map(|t| t.len()).sum::<usize>() as u64 + u64::from(number)
            });
        }
        assert_eq!(versions.sets.len(), MAX_SETS);
        assert!(versions.len() <= MAX_SETS * (1 + 2 * MAX_VERSIONS as usize));
    }
}
