//! Evidence from duplicates and kept pages: which parts of a site's URLs matter.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use url::Url;

use super::differing::Differing;
use super::evidence::{ALONE_IN_PATH, Evidence, VALUES, hash};
use super::facets::Facets;
use super::parts::{Address, Part, without_word, words_of};
use super::rows::{OfHost, Rows};
use super::versions::Versions;

/// Required number of different folders if the path grows: links go on below the folder of the page, or below the page.
const VALUES_OF_GROWING: usize = 4;
const VALUES_BELOW_PAGES: usize = 2;
/// Maximum number of kept pages of a site in memory. A new rule makes them the ones that are requested.
const MAX_PAGES: usize = 1_000;
const MAX_QUERIES: usize = 4;
/// Maximum number of sets of parts that differ together.
const MAX_TOGETHER: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Learning {
    evidence: HashMap<Part, Evidence>,
    /// Evidence of parts that differ together.
    together: BTreeMap<Vec<Part>, Evidence>,
    /// The value of a part, by the hash of the rest of the URL.
    values: HashMap<u64, u64>,
    /// Kept pages by the hash of host and path.
    queries: HashMap<u64, Vec<Address>>,
    /// The first kept pages that are no versions of others.
    pages: Vec<Url>,
    /// The first URL that redirects to each of the first targets.
    redirecting: Vec<Url>,
    /// The first kept pages that are versions of others.
    version_pages: Vec<Url>,
    versions: Versions,
    facets: Facets,
    /// Duplicates in a row, by host.
    rows: Rows,
}

impl Learning {
    pub(super) fn size(&self) -> usize {
        self.evidence.len()
            + self.together.len()
            + self.values.len()
            + self.queries.len() * MAX_QUERIES
            + self.pages.len()
            + self.redirecting.len()
            + self.version_pages.len()
            + self.versions.len()
            + self.facets.len()
            + self.rows.len()
    }

    /// Returns URLs that were requested and need not be again under equivalent URLs.
    pub(super) fn requested(&self) -> impl Iterator<Item = &Url> {
        self.pages.iter().chain(&self.redirecting)
    }

    /// Adds the first URL that redirects to a target.
    pub(super) fn redirecting(&mut self, url: &Url) {
        if self.redirecting.len() < MAX_PAGES {
            self.redirecting.push(url.clone());
        }
    }

    /// Adds a duplicate: where its URL differs from the kept page's, without parts that have a rule. Returns the parts
    /// with sufficient evidence.
    pub(super) fn duplicate(
        &mut self,
        address: &Address,
        differing: &Differing,
        kept: u64,
    ) -> Vec<(Part, Evidence)> {
        let mut learnt = Vec::new();
        let values = self.required_values(address, differing);
        let parts = differing.parts.iter().map(|part| (part, differing.parts.len() == 1));
        for (part, alone) in parts.chain(differing.each.iter().map(|part| (part, true))) {
            let evidence = self.evidence.entry(part.clone()).or_default();
            let count = if alone { &mut evidence.alone } else { &mut evidence.together };
            *count = count.saturating_add(1);
            evidence.add(kept, hash(&[&address.value(part)]));
            let values = if *part == Part::Folder { values } else { VALUES };
            if evidence.suffices(part, values) {
                learnt.push((part.clone(), evidence.clone()));
            }
        }
        // One of them may be learnt first, for which less evidence is enough.
        for (part, evidence) in self.parts_together(address, differing, kept) {
            if !learnt.iter().any(|(known, _)| *known == part) {
                learnt.push((part, evidence));
            }
        }
        learnt
    }

    /// Returns the required number of different values of a part of the path.
    fn required_values(&self, address: &Address, differing: &Differing) -> usize {
        if differing.parts != [Part::Folder] {
            return VALUES;
        }
        // The page may be at `/p7` and `/p3/p7`, where `/p3` is another page.
        let names = address.segments.iter().rev().skip(1);
        let is_page = |name: &String| {
            let key = hash(&["folder", &address.host, name, &address.query()]);
            !name.is_empty() && self.values.contains_key(&key)
        };
        match names.take(1).any(is_page) {
            true => VALUES_BELOW_PAGES,
            false if differing.grows => VALUES_OF_GROWING,
            false => VALUES,
        }
    }

    /// Returns whether a page differs from the kept one in a part with few values, such as the version of a manual: a twin
    /// of it. The twins of a page end; a trap does not.
    pub(super) fn is_twin(&self, differing: &Differing) -> bool {
        let [part] = &differing.parts[..] else { return false };
        self.evidence.get(part).is_some_and(|evidence| {
            evidence.alone >= ALONE_IN_PATH && evidence.values.len() < VALUES
        })
    }

    /// Counts a duplicate of another page of the site. Returns the evidence for a rule about its host if there is enough.
    pub(super) fn repeated(&mut self, host: &str, of_host: OfHost) -> Option<Evidence> {
        let in_a_row = self.rows.repeated(host, of_host)?;
        Some(Evidence { alone: in_a_row, ..Evidence::default() })
    }

    /// Adds a duplicate of which several parts differ. They are learnt if no two kept pages differ in these parts only.
    fn parts_together(
        &mut self,
        address: &Address,
        differing: &Differing,
        kept: u64,
    ) -> Vec<(Part, Evidence)> {
        let parts = &differing.parts;
        let has_place = self.together.len() < MAX_TOGETHER || self.together.contains_key(parts);
        if parts.len() < 2 || !has_place {
            return Vec::new();
        }
        let values: Vec<String> = parts.iter().map(|part| address.value(part)).collect();
        let value = hash(&values.iter().map(String::as_str).collect::<Vec<_>>());
        let evidence = self.together.entry(parts.clone()).or_default();
        evidence.alone = evidence.alone.saturating_add(1);
        evidence.add(kept, value);
        if !evidence.suffices_together(parts) {
            return Vec::new();
        }
        let found = Evidence { others: 0, ..evidence.clone() };
        if distinguish(self.pages.iter().chain(&self.version_pages), parts) {
            let evidence = self.together.entry(parts.clone()).or_default();
            evidence.others = evidence.others.saturating_add(1);
            return Vec::new();
        }
        parts.iter().map(|part| (part.clone(), found.clone())).collect()
    }

    /// Adds a kept page that is a version of another one: where their URLs differ, without parts that have a rule. Returns
    /// the parts with sufficient evidence.
    pub(super) fn version(
        &mut self,
        address: &Address,
        differing: &Differing,
    ) -> Vec<(Part, Evidence)> {
        let mut learnt = Vec::new();
        for (parts, versions) in self.versions.add(address, differing, hash) {
            if distinguish(self.pages.iter(), &parts) {
                self.versions.begin_again(&parts);
            } else {
                let evidence = Evidence { versions, ..Evidence::default() };
                learnt.extend(parts.into_iter().map(|part| (part, evidence.clone())));
            }
        }
        learnt
    }

    /// Adds a page as evidence about combined filters; `is_new` means that it has unique text. Returns the evidence for
    /// rules if there is enough.
    pub(super) fn facets(&mut self, address: &Address, is_new: bool) -> Vec<(Part, Evidence)> {
        self.facets.add(address, is_new, hash)
    }

    /// Returns whether the filters of a page may be those of a list.
    pub(super) fn may_combine(&self, address: &Address) -> bool {
        self.facets.may_combine(address)
    }

    /// Counts a further link to a known URL, or a version to which several pages link: it is not random then.
    pub(super) fn linked_again(&mut self, address: &Address) {
        self.versions.linked_again(address);
    }

    /// Returns whether further links to known URLs are evidence.
    pub(super) fn has_versions(&self) -> bool {
        !self.versions.is_empty()
    }

    /// Adds a kept page. `stripped` is its address without the parameters and empty segments that have a rule.
    pub(super) fn kept(&mut self, url: &Url, stripped: &Address, is_version: bool) {
        self.rows.kept(&stripped.host);
        let pages = if is_version { &mut self.version_pages } else { &mut self.pages };
        if pages.len() < MAX_PAGES {
            pages.push(url.clone());
        }
        let path = stripped.path();
        let query = stripped.query();
        for (index, segment) in stripped.segments.iter().enumerate() {
            let rest = |range: Range<usize>, place: &str| {
                let mut rest = stripped.segments.clone();
                rest.splice(range.clone(), [place.to_owned()]);
                let range = format!("{}-{}", range.start, range.end);
                hash(&["segments", &range, &stripped.host, &rest.join("/"), &query])
            };
            self.other(rest(index..index + 1, "*"), segment, stripped.segment(index));
            for (range, part) in stripped.segments_from(index) {
                self.other(rest(range, "*"), &stripped.value(&part), part);
            }
            let words = words_of(segment);
            for (at, word) in words.iter().enumerate() {
                let key = rest(index..index + 1, &without_word(segment, &words, at));
                self.other(key, word, stripped.word(index, at, words.len()));
            }
        }
        for end in 1..stripped.segments.len() {
            let before = stripped.segments.get(..end).unwrap_or_default();
            let key = hash(&["tail", &stripped.host, &before.join("/"), &query]);
            let part = stripped.tail(end);
            self.other(key, &stripped.value(&part), part);
        }
        if let Some(script) = stripped.script() {
            let before = stripped.segments.get(..script).unwrap_or_default();
            let key = hash(&["script", &stripped.host, &before.join("/"), &query]);
            self.other(key, &path, Part::PathInfo);
        }
        self.other(
            hash(&["case", &stripped.host, &path.to_lowercase(), &query]),
            &path,
            Part::Case,
        );
        let named = stripped.named_segments().join("/");
        self.other(hash(&["slashes", &stripped.host, &named, &query]), &path, Part::Slashes);
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
        if let Part::Whole { host } = part {
            return self.rows.contradicted(host);
        }
        if let Part::Facets { path } = part {
            return self.facets.contradicted(path);
        }
        let evidence = self.evidence.entry(part.clone()).or_default();
        *evidence = Evidence { others: evidence.others + 1, ..Evidence::default() };
        self.together.retain(|parts, _| !parts.contains(part));
        self.versions.contradicted(part);
    }
}

/// Returns whether two of these pages are equal without these parts of their URLs.
fn distinguish<'u>(pages: impl Iterator<Item = &'u Url>, parts: &[Part]) -> bool {
    let mut seen = HashSet::new();
    let addresses = pages.filter_map(Address::of);
    let mut without = addresses.map(|address| address.without(|part| parts.contains(part)).0);
    !without.all(|rest| seen.insert(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(url: &str) -> Address {
        Address::of(&Url::parse(url).unwrap()).unwrap()
    }

    /// Learns from kept pages, then from duplicates of the first of them. Returns the learnt parts.
    fn learnt(kept: &[String], duplicates: impl Iterator<Item = String>) -> Vec<String> {
        let mut learning = Learning::default();
        for url in kept {
            learning.kept(&Url::parse(url).unwrap(), &address(url), false);
        }
        let mut found = Vec::new();
        for (number, url) in duplicates.enumerate() {
            let (page, first) = (address(&url), address(&kept[number % kept.len()]));
            let Some(differing) = page.differing(&first) else { continue };
            let parts = learning.duplicate(&page, &differing, number as u64 % kept.len() as u64);
            found.extend(parts.into_iter().map(|(part, _)| part.to_string()));
        }
        found.sort();
        found.dedup();
        found
    }

    #[test]
    fn a_host_and_a_folder_that_differ_together_are_learnt_at_once() {
        let page = |at: u32| format!("http://h{at}.a.example/f{at}x/p{}", at % 5);
        let kept: Vec<String> = (0..5).map(page).collect();
        let few = learnt(&kept, (5..20).map(page));
        assert!(few.is_empty(), "{few:?}");
        let parts = learnt(&kept, (5..21).map(page));
        assert_eq!(parts, ["segment 1 of the path, below /", "the host"]);
    }

    #[test]
    fn parameters_that_always_differ_together_are_learnt_unless_they_distinguish_pages() {
        let item =
            |id: u32, sort: u32| format!("http://a.example/i?id={id}&s={sort}&t={}", sort * 7);
        let kept: Vec<String> = (0..20).map(|id| item(id, id)).collect();
        let duplicates = || (0..40).map(|number| item(number % 20, 1000 + number));
        assert_eq!(learnt(&kept, duplicates()), ["the parameter s", "the parameter t"]);
        // Two pages differ in these parameters only.
        let mut others = kept.clone();
        others.push(item(0, 500));
        assert_eq!(learnt(&others, duplicates()), [""; 0]);
        // Articles that are gone answer with one page.
        let article = |id: u32| format!("http://a.example/a?id={id}&title={}", id * 3);
        let kept: Vec<String> = (0..20).map(article).collect();
        assert_eq!(learnt(&kept, (0..40).map(|id| article(100 + id))), [""; 0]);
    }

    #[test]
    fn a_folder_and_a_word_that_differ_together_are_learnt() {
        let random = |number: u32| format!("{:08x}", number.wrapping_mul(0x9E37_79B9));
        let item = |id: u32, number: u32| {
            format!("http://a.example/{}/p{id}-{}", random(number), random(number + 5000))
        };
        let kept: Vec<String> = (0..20).map(|id| item(id, id)).collect();
        let found = learnt(&kept, (0..200).map(|number| item(number % 20, 1000 + number)));
        assert_eq!(
            found,
            ["segment 1 of the path, below /", "word 2 of segment 2 of the path, below /*/"]
        );
    }

    #[test]
    fn paths_that_grow_below_pages_or_folders_are_learnt_early() {
        let number = |kept: &[String], url: &dyn Fn(usize) -> String| {
            (1..600).find(|count| !learnt(kept, (0..*count).map(url)).is_empty())
        };
        let pages: Vec<String> = (0..30).map(|id| format!("http://a.example/p{id}")).collect();
        let below_pages = |n: usize| format!("http://a.example/p{}/p{}", n / 30, n % 30);
        assert_eq!(number(&pages, &below_pages), Some(31));
        let browse: Vec<String> = (0..30).map(|id| format!("http://a.example/b/p{id}")).collect();
        let below_folder = |n: usize| {
            let folder = ["c/b", "d/b", "b/b", "b/c", "b/d"][n / 30 % 5];
            format!("http://a.example/{folder}/p{}", n % 30)
        };
        assert_eq!(number(&browse, &below_folder), Some(91));
        // The print versions of three folders.
        let print = |n: usize| format!("http://a.example/print{}/p{}", n / 30 % 3, n % 30);
        assert_eq!(number(&pages, &print), None);
    }

    #[test]
    fn repeated_slashes_are_learnt_unless_they_distinguish_pages() {
        let page = |id: u32, more: &str| format!("http://a.example/p{id}{more}");
        let kept: Vec<String> = (0..20).map(|id| page(id, "")).collect();
        let duplicates = || (0..40).map(|number| page(number % 20, "/"));
        assert_eq!(learnt(&kept, duplicates()), ["repeated slashes in the path"]);
        let mut others = kept.clone();
        others.push(page(0, "//"));
        assert_eq!(learnt(&others, duplicates()), [""; 0]);
    }

    #[test]
    fn pages_of_few_versions_are_twins() {
        let twin = |versions: u32| {
            let mut learning = Learning::default();
            (0..30).fold(false, |_, number| {
                let page = address(&format!("http://a.example/v{}/p{number}", number % versions));
                let kept = address(&format!("http://a.example/latest/p{number}"));
                let differing = page.differing(&kept).unwrap();
                let is_twin = learning.is_twin(&differing);
                learning.duplicate(&page, &differing, number.into());
                is_twin
            })
        };
        assert!(twin(7));
        assert!(!twin(8));
    }

    #[test]
    fn evidence_is_bounded() {
        let mut learning = Learning::default();
        let name = |at: u64| -> String {
            [at / 676, at / 26, at]
                .iter()
                .map(|part| char::from(b'a' + (part % 26) as u8))
                .collect()
        };
        for number in 0..1000 {
            let names: Vec<String> =
                (0..4).map(|at| format!("{}={number}", name(number * 4 + at))).collect();
            let url = format!("http://a.example/?{}", names.join("&"));
            learning.kept(&Url::parse(&url).unwrap(), &address(&url), false);
            let differing = address(&url).differing(&address("http://a.example/"));
            let differing = differing.unwrap();
            learning.duplicate(&address(&url), &differing, number);
        }
        assert_eq!(learning.together.len(), MAX_TOGETHER);
        assert!(learning.pages.len() <= MAX_PAGES);
    }
}
